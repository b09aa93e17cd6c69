"""The page of an evaluation in a real browser: what the slider shows is what the library gives."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.browsing import everywhere_readable, slid
from tests.report.moved import COSTS, churn, spread

import heldout
from heldout.curves import net_benefit, normalized_cost

if TYPE_CHECKING:
    from playwright.sync_api import Page

READ = """() => ({
  position: Number(document.querySelector('[data-typed]').value),
  figures: Object.fromEntries([...document.querySelectorAll('tr[data-name]')].map(
    (row) => [row.dataset.name, [row.dataset.value, row.dataset.low, row.dataset.high]])),
  cells: [...document.querySelectorAll('[data-cell]')].map((cell) => Number(cell.dataset.value)),
  marks: [...document.querySelectorAll('[data-moves]')].map((chart) => {
    const mark = chart.querySelector('.heldout-mark');
    const figure = chart.closest('figure') || chart;
    return [figure.textContent.trim().split('\\n')[0], mark.dataset.x, mark.dataset.y];
  }),
})"""
# At each stop of the slider, everything that the page then says.
WALK = f"""(stops) => stops.map((at) => {{
  const slider = document.querySelector('[data-slider]');
  slider.value = at;
  slider.dispatchEvent(new Event('input', {{bubbles: true}}));
  return ({READ})();
}})"""
POSITIONS = "() => JSON.parse(document.querySelector('[data-payload]').textContent).positions"
# A page that keeps every score, one of more scores than it keeps, and one of weighted cases.
PAGES = ("every score", "thinned", "weighted")


@dataclass(frozen=True)
class Cases:
    """What a page was made of."""

    truth: Any
    score: Any
    asked: dict[str, Any]
    file: Path

    def at(self, threshold: float) -> heldout.Evaluation:
        """What the library gives at a threshold."""
        return heldout.evaluate(self.truth, score=self.score, threshold=threshold, measures=["accuracy"], **self.asked)


def made(name: str, folder: Path) -> Cases:
    """The cases of a page, and the page."""
    asked: dict[str, Any] = {"positive": "yes", "costs": COSTS}
    truth, score = churn(240)
    if name == "thinned":
        truth, score = churn(8_000, seed=5)
        score = score * 0.998 + np.random.default_rng(0).uniform(0, 1e-3, len(score))
    elif name == "weighted":
        truth, score = churn(90, seed=6)
        asked["weight"] = np.random.default_rng(2).integers(1, 9, len(score)) / 4
    file = folder / "page.html"
    heldout.evaluate(truth, score=score, **asked).write(file)
    return Cases(truth, score, asked, file)


@pytest.fixture(scope="module")
def shelf(tmp_path_factory) -> dict[str, Cases]:
    return {name: made(name, tmp_path_factory.mktemp("page")) for name in PAGES}


@pytest.fixture
def cases(shelf) -> tuple[Any, Any]:
    return shelf["every score"].truth, shelf["every score"].score


@pytest.fixture
def written(shelf) -> Path:
    path: Path = shelf["every score"].file
    return path


def number(text: str) -> float:
    return math.nan if text in ("", "NaN", "nan") else float(text)


def walked(page: Page, stops: list[int]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = page.evaluate(WALK, stops)
    return found


@pytest.mark.parametrize("name", PAGES)
def test_the_slider_shows_what_the_library_gives_at_fifty_thresholds(page, shelf, name):
    cases = shelf[name]
    page.goto(cases.file.as_uri())
    positions = page.evaluate(POSITIONS)
    scores = np.unique(cases.score)
    assert (len(positions) < len(scores)) == (name == "thinned")
    assert (len(scores) > 1_000) == (name == "thinned")
    # Sums of weights depend on their order in the last digits; counts do not.
    near = 1e-9 if name == "weighted" else 0.0
    places = spread(len(positions), 50)
    assert len(places) == 50
    for at, shown in zip(places, walked(page, places), strict=True):
        threshold = float(positions[at])
        there = cases.at(threshold)
        tp, fn, fp, tn = there.confusion.corners[there.confusion.index("yes")].tolist()
        assert shown["cells"] == pytest.approx([tp, fn, fp, tn], rel=near, abs=near)
        for figure, (value, low, high) in shown["figures"].items():
            if figure == "net_benefit":
                worth = float(net_benefit(tp, fp, tp + fn + fp + tn, threshold))
                assert number(value) == pytest.approx(worth, rel=near, abs=near)
                continue
            estimate = there[figure]
            assert number(value) == pytest.approx(estimate.value, rel=near, abs=near, nan_ok=True), figure
            assert number(low) == pytest.approx(estimate.low, abs=1e-12 + near, nan_ok=True), figure
            assert number(high) == pytest.approx(estimate.high, abs=1e-12 + near, nan_ok=True), figure


def test_a_thinned_page_keeps_round_thresholds_and_calling_nobody(page, shelf):
    page.goto(shelf["thinned"].file.as_uri())
    typed = page.get_by_label("Threshold, typed")
    for threshold in (0.05, 0.3, 0.95):
        typed.fill(str(threshold))
        typed.press("Enter")
        assert typed.input_value() == str(threshold)
        assert page.locator("[data-told]").is_hidden()
        assert sum(page.evaluate(READ)["cells"][::2]) == (shelf["thinned"].score >= threshold).sum()
    page.locator("[data-slider]").press("End")
    assert page.evaluate(READ)["cells"][::2] == [0, 0]


def test_the_mark_stands_on_every_curve_at_the_threshold(page, written, cases):
    truth, score = cases
    positive = truth == "yes"
    p, n = int(positive.sum()), int((~positive).sum())
    page.goto(written.as_uri())
    positions = page.evaluate(POSITIONS)
    stops = spread(len(positions), 7)[1:-1]
    for at, shown in zip(stops, walked(page, stops), strict=True):
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
        # The ROC curve stands on the first screen, too.
        assert len(shown["marks"]) == len(expected) + 1
        found = [
            (title, float(x), float(y)) for title in expected for text, x, y in shown["marks"] if text.startswith(title)
        ]
        assert {title for title, _, _ in found} == expected.keys()
        for title, x, y in found:
            assert (x, y) == pytest.approx(expected[title]), title


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


def test_the_page_is_accessible_and_never_wider_than_the_screen(page, written):
    page.goto(written.as_uri())
    everywhere_readable(page)


def test_a_number_opens_how_it_was_made(page, written):
    page.goto(written.as_uri())
    page.locator("tr[data-name=recall] a").click()
    told = page.locator("dialog[open]")
    assert "TP / (TP + FN)" in told.inner_text()
    assert "Wilson (1927)" in told.inner_text()


def test_a_number_says_which_method_made_it_where_the_slider_stands(page, shelf):
    cases = shelf["thinned"]
    page.goto(cases.file.as_uri())
    positions = page.evaluate(POSITIONS)
    methods = set()
    for at in (2, int(np.searchsorted(positions, 0.6))):
        slid(page, at)
        page.locator("tr[data-name=matthews] a").click()
        method = cases.at(float(positions[at]))["matthews"].method
        assert f"made by\n{method}: " in page.locator("dialog").inner_text().replace("\n\n", "\n")
        methods.add(method)
        page.keyboard.press("Escape")
    assert len(methods) == 2
