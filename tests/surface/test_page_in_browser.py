"""The page of an evaluation in a real browser: what the slider shows is what the library gives."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.browsing import DESKTOP, PHONE, Watched, slid, violations
from tests.report.moved import COSTS, churn, spread

import heldout
from heldout.curves import net_benefit, normalized_cost

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser, Page

READ = """() => ({
  position: Number(document.querySelector('[data-typed]').value),
  figures: Object.fromEntries([...document.querySelectorAll('tr[data-name]')].map(
    (row) => [row.dataset.name, [row.dataset.value, row.dataset.low, row.dataset.high]])),
  cells: Object.fromEntries([...document.querySelectorAll('[data-cell]')].map(
    (cell) => [cell.dataset.cell, cell.dataset.value])),
  marks: [...document.querySelectorAll('[data-moves]')].map((chart) => {
    const mark = chart.querySelector('.heldout-mark');
    const figure = chart.closest('figure') || chart;
    return [figure.textContent.trim().split('\\n')[0], mark.dataset.x, mark.dataset.y];
  }),
})"""


@pytest.fixture(scope="module")
def cases() -> tuple[Any, Any]:
    return churn(240)


@pytest.fixture(scope="module")
def written(cases, tmp_path_factory) -> Path:
    truth, score = cases
    path: Path = tmp_path_factory.mktemp("page") / "page.html"
    heldout.evaluate(truth, score=score, positive="yes", costs=COSTS).write(path)
    return path


def number(text: str) -> float:
    return math.nan if text in ("", "NaN", "nan") else float(text)


def at_position(page: Page, at: int) -> dict[str, Any]:
    slid(page, at)
    found: dict[str, Any] = page.evaluate(READ)
    return found


def test_the_slider_shows_what_the_library_gives_at_fifty_thresholds(page, written, cases):
    truth, score = cases
    page.goto(written.as_uri())
    last = int(page.locator("[data-slider]").get_attribute("max") or 0)
    positions = page.evaluate("() => JSON.parse(document.querySelector('[data-payload]').textContent).positions")
    places = spread(last + 1, 50)
    assert len(places) == 50
    for at in places:
        shown = at_position(page, at)
        threshold = float(positions[at])
        there = heldout.evaluate(
            truth, score=score, positive="yes", threshold=threshold, costs=COSTS, measures=["accuracy"]
        )
        for name, (value, low, high) in shown["figures"].items():
            if name == "net_benefit":
                continue
            estimate = there[name]
            exact = number(value)
            assert exact == estimate.value or (math.isnan(exact) and math.isnan(estimate.value)), name
            assert number(low) == pytest.approx(estimate.low, abs=1e-12, nan_ok=True), name
            assert number(high) == pytest.approx(estimate.high, abs=1e-12, nan_ok=True), name
        corners = there.confusion.corners[there.confusion.index("yes")].tolist()
        assert [float(shown["cells"][cell]) for cell in ("0,0", "0,1", "1,0", "1,1")] == corners


def test_the_mark_stands_on_every_curve_at_the_threshold(page, written, cases):
    truth, score = cases
    positive = truth == "yes"
    p, n = int(positive.sum()), int((~positive).sum())
    page.goto(written.as_uri())
    positions = page.evaluate("() => JSON.parse(document.querySelector('[data-payload]').textContent).positions")
    for at in spread(len(positions), 7)[1:-1]:
        shown = at_position(page, at)
        threshold = float(positions[at])
        called = score >= threshold
        tp, fp = int((called & positive).sum()), int((called & ~positive).sum())
        pc = p * 10 / (p * 10 + n)
        expected = {
            "ROC curve": (fp / n, tp / p),
            "Precision-recall curve": (tp / p, tp / (tp + fp)),
            "Cost curve": (pc, float(normalized_cost(tp / p, fp / n, pc))),
            "Decision curve": (threshold, float(net_benefit(tp, fp, p + n, threshold))),
            "Cumulative gains": ((tp + fp) / (p + n), tp / p),
            "Lift curve": ((tp + fp) / (p + n), tp / (tp + fp) * (p + n) / p),
        }
        assert len(shown["marks"]) == len(expected)
        found = {
            title: (float(x), float(y)) for title in expected for text, x, y in shown["marks"] if text.startswith(title)
        }
        assert found.keys() == expected.keys()
        for title, place in expected.items():
            assert found[title] == pytest.approx(place), title


def test_knobs_give_what_the_library_gives_for_weighted_cases(page, written, cases):
    truth, score = cases
    share = float((truth == "yes").mean())
    page.goto(written.as_uri())
    knobs = page.locator("[data-knob]")
    for knob, value in enumerate(("0.05", "3", "2")):
        knobs.nth(knob).fill(value)
    shown = page.evaluate(READ)
    weight = np.where(truth == "yes", 0.05 / share, 0.95 / (1 - share))
    costs = {("no", "yes"): 2.0, ("yes", "no"): 3.0}
    there = heldout.evaluate(
        truth, score=score, positive="yes", weight=weight, threshold=0.5, costs=costs, measures=["accuracy"]
    )
    for name, (value, low, _) in shown["figures"].items():
        assert math.isnan(number(low)), name
        if name != "net_benefit":
            assert number(value) == pytest.approx(there[name].value, rel=1e-9), name
    assert page.locator("[data-changed]").is_visible()
    page.locator("[data-reset]").click()
    assert not page.locator("[data-changed]").is_visible()
    assert not math.isnan(number(page.evaluate(READ)["figures"]["accuracy"][1]))


@pytest.mark.parametrize("size", [PHONE, DESKTOP], ids=["phone", "desktop"])
def test_the_page_is_accessible_and_never_wider_than_the_screen(browser: Browser, written: Path, size: dict[str, int]):
    watched = Watched(browser, viewport=size)
    watched.page.goto(written.as_uri())
    assert watched.page.evaluate("document.documentElement.scrollWidth") <= size["width"]
    assert violations(watched.page) == []
    watched.close()


def test_a_number_opens_how_it_was_made(page, written):
    page.goto(written.as_uri())
    page.locator("tr[data-name=recall] a").click()
    told = page.locator("dialog[open]")
    assert "TP / (TP + FN)" in told.inner_text()
    assert "Wilson (1927)" in told.inner_text()
