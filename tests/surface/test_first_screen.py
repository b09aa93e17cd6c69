"""The first screen of a page in a real browser: what answers is in sight at once, at a desk and on a phone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.browsing import slid, violations
from tests.report.moved import churn

import heldout
from heldout.report.evaluation_page import curve_blocks
from heldout.report.overview import make_overview

if TYPE_CHECKING:
    from playwright.sync_api import Page

DESK, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
WIDTHS = (1280, 768, 390)
# The parts, by what finds them; each must end within the first screen.
PARTS = {
    "what was judged": "h1",
    "what was read": ".heldout-top .heldout-detail",
    "verdict": ".heldout-verdict",
    "figures": "[data-overview] .heldout-key table tbody tr:nth-child(5)",
    "matrix": "[data-overview] .heldout-small :is(table, svg)",
    "curve": "[data-overview] figure svg.heldout-chart",
}
PLACES = """(parts) => Object.fromEntries(Object.entries(parts).map(([name, found]) => {
  const box = document.querySelector(found)?.getBoundingClientRect();
  return [name, box ? [box.left, box.top, box.right, box.bottom, box.width, box.height] : null];
}))"""


def many_classes(k: int, n: int) -> tuple[Any, Any]:
    """Truth and predictions of k classes, each taken for the next one or two now and then."""
    rng = np.random.default_rng(3)
    names = np.array([f"class {at:03d}" for at in range(k)])
    truth = rng.integers(0, k, n)
    wrong = (truth + rng.integers(1, 3, n)) % k
    return names[truth], names[np.where(rng.random(n) < rng.uniform(0.5, 0.95, k)[truth], truth, wrong)]


@pytest.fixture(scope="module")
def pages(tmp_path_factory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("first")
    truth, score = churn(240)
    rng = np.random.default_rng(1)
    dirichlet = rng.dirichlet([1, 1, 1], 150)
    answers: dict[str, Any] = {
        "two": heldout.evaluate(truth, score=score, positive="yes"),
        "three": heldout.evaluate(np.array(["a", "b", "c"])[rng.integers(0, 3, 150)], score=dirichlet),
        "twenty": heldout.evaluate(*many_classes(20, 1500)),
        "many": heldout.evaluate(*many_classes(200, 12_000)),
    }
    rare = np.where(rng.random(600) < 0.08, "fraud", "fine")
    shift = np.where(rare == "fraud", 1.6, -2.0)
    models = [
        heldout.evaluate(rare, score=1 / (1 + np.exp(-rng.normal(shift, s))), positive="fraud") for s in (1, 2, 3)
    ]
    answers["compared"] = heldout.compare(*models, names=["good", "fair", "poor"], replicates=99)
    for name, answer in answers.items():
        answer.write(folder / f"{name}.html")
    return {name: folder / f"{name}.html" for name in answers}


def opened(page: Page, file: Path, size: dict[str, int]) -> Page:
    page.set_viewport_size({"width": size["width"], "height": size["height"]})
    page.goto(file.as_uri())
    return page


@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
@pytest.mark.parametrize("name", ["two", "three", "twenty"])
def test_everything_that_answers_is_in_the_first_screen(page, pages, name, size):
    opened(page, pages[name], size)
    parts = {part: found for part, found in PARTS.items() if name != "twenty" or part != "curve"}
    for part, box in page.evaluate(PLACES, parts).items():
        assert box is not None, part
        left, top, right, bottom, width, height = box
        assert width > 20, part
        assert height > 10, part
        assert left >= 0, part
        assert top >= 0, part
        assert right <= size["width"], part
        assert bottom <= size["height"], (part, box)


@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
def test_a_comparison_answers_on_its_first_screen(page, pages, size):
    opened(page, pages["compared"], size)
    parts = {name: PARTS[name] for name in ("what was judged", "verdict", "curve")}
    parts["figures"] = "[data-overview] .heldout-key table tbody tr:nth-child(3)"
    for part, box in page.evaluate(PLACES, parts).items():
        assert box is not None, part
        assert box[3] <= size["height"], (part, box)
    assert page.inner_text("[data-overview] .heldout-key thead").startswith("model\taverage precision")
    assert page.inner_text("[data-overview] strong >> nth=0")
    titles = page.locator("#curves .heldout-caption").all_inner_texts()
    assert titles == ["Precision-recall curve", "ROC curve", "Reliability diagram"]
    assert page.locator("#matrices .heldout-counted").count() == 3
    assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]


@pytest.mark.parametrize("name", ["two", "twenty", "many", "compared"])
def test_nothing_is_wider_than_the_page(page, pages, name):
    opened(page, pages[name], DESK)
    page.evaluate("document.querySelectorAll('details').forEach(e => { e.open = true; })")
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_the_first_screen_and_the_map_are_accessible(page, pages):
    opened(page, pages["three"], DESK)
    assert violations(page, "[data-overview]") == []
    page.emulate_media(color_scheme="dark")
    opened(page, pages["twenty"], PHONE)
    assert violations(page, "[data-overview]") == []
    assert violations(page, "[data-heatmap]") == []


def test_findings_come_after_the_figures_and_before_the_rest(page, pages):
    opened(page, pages["two"], DESK)
    tops = page.evaluate("""() => ["[data-overview]", "#findings", "#threshold", "#curves", "#classes"].map(
      (found) => document.querySelector(found).getBoundingClientRect().top)""")
    assert tops == sorted(tops)
    page.click(".heldout-found a")
    assert page.evaluate("location.hash") == "#findings"


def test_the_figures_and_the_matrix_follow_the_slider_and_come_back(page, pages):
    opened(page, pages["two"], DESK)
    read = """() => [...document.querySelectorAll('[data-overview] tbody tr')].map((row) => row.innerText)"""
    moving = """() => Object.fromEntries([...document.querySelectorAll('tr[data-name]')].map(
      (row) => [row.dataset.name, row.querySelector('[data-text]').textContent]))"""
    before = page.evaluate(read)
    slid(page, 3)
    after, figures = page.evaluate(read), page.evaluate(moving)
    assert before != after
    recall = next(line for line in after if line.startswith("recall"))
    assert figures["recall"] in recall
    cells = page.evaluate("() => [...document.querySelectorAll('[data-small] span')].map((e) => e.textContent)")
    assert cells == page.evaluate("() => [...document.querySelectorAll('[data-cell]')].map((e) => e.textContent)")
    assert page.is_visible("[data-moved]")
    page.click("[data-reset]")
    assert page.evaluate(read) == before
    assert not page.is_visible("[data-moved]")


def test_a_matrix_of_twenty_classes_is_wholly_in_sight_and_tells_its_counts(page, pages):
    evaluation = heldout.evaluate(*many_classes(20, 1500))
    opened(page, pages["twenty"], DESK)
    frame = page.locator("[data-frame]")
    drawn = frame.locator("svg").bounding_box()
    held = frame.bounding_box()
    assert drawn is not None
    assert held is not None
    assert drawn["width"] <= held["width"]
    assert drawn["height"] <= DESK["height"]
    assert frame.locator("text").count() == 2 * 20 + 2
    frame.focus()
    page.keyboard.press("ArrowRight")
    matrix = evaluation.confusion.matrix
    said = page.inner_text("[data-spoken]")
    assert said.startswith(f"truth class 000, predicted class 001: {int(matrix[0, 1])} of {int(matrix[0].sum())} cases")
    # The pointer over the last cell of the diagonal.
    frame.locator("svg").hover(position={"x": drawn["width"] - 6, "y": drawn["height"] - 6})
    assert f"predicted class 019: {int(matrix[19, 19])} of" in page.inner_text("[data-pointed]")


def test_the_classes_can_be_put_in_another_order(page, pages):
    evaluation = heldout.evaluate(*many_classes(20, 1500))
    matrix = evaluation.confusion.matrix
    weakest = int((np.diag(matrix) / matrix.sum(axis=1)).argmin())
    opened(page, pages["twenty"], DESK)
    first = "() => document.querySelector('[data-frame] text').textContent"
    assert page.evaluate(first) == "class 000"
    page.get_by_label("weakest recall first").check()
    assert page.evaluate(first) == f"class {weakest:03d}"
    page.locator("[data-frame]").focus()
    page.keyboard.press("ArrowUp")
    assert f"truth class {weakest:03d}, predicted class {weakest:03d}: {int(matrix[weakest, weakest])} of" in (
        page.inner_text("[data-spoken]")
    )


def test_two_hundred_classes_are_drawn_and_can_be_enlarged_until_their_names_are_read(page, pages):
    opened(page, pages["many"], PHONE)
    width = "() => document.querySelector('[data-frame] svg').getBoundingClientRect().width"
    fitted = page.evaluate(width)
    assert fitted <= PHONE["width"] + 60
    assert page.locator("[data-frame] text").count() == 2
    for _ in range(5):
        page.click("[data-zoom='1']")
    assert page.evaluate(width) > 4 * fitted
    assert page.locator("[data-frame] text").count() == 2 * 200 + 2
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    page.click("[data-zoom='0']")
    assert page.evaluate(width) == fitted
    assert pages["many"].stat().st_size < 2_000_000


def test_without_a_script_the_map_is_drawn_too(browser, pages):
    context = browser.new_context(java_script_enabled=False, viewport=DESK)
    page = context.new_page()
    page.goto(pages["twenty"].as_uri())
    assert page.locator("[data-frame] svg path").count() > 5
    assert page.locator("[data-frame] text").count() == 2 * 20 + 2
    assert not page.is_visible("[data-heatmap] form")
    context.close()


def test_rare_positives_are_answered_with_precision_and_recall():
    rng = np.random.default_rng(0)
    truth = np.where(rng.random(900) < 0.05, "yes", "no")
    score = 1 / (1 + np.exp(-rng.normal(np.where(truth == "yes", 0.5, -2), 1)))
    evaluation = heldout.evaluate(truth, score=score, positive="yes")
    shown = make_overview(evaluation, curve_blocks(evaluation, moves=False))
    assert shown.chart is not None
    assert shown.figures.rows[0][0] == "average precision"
    assert "accuracy" not in {row[0] for row in shown.figures.rows}
    assert shown.chart.title == "Precision-recall curve"
