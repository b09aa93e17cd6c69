"""The page's slider in a real browser: what it shows is what the formulas give, to the bit and to the letter."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page
from tests.browsing import opened, slid
from tests.show.sample_page import charts, explorer

from heldout.report.explanations import worded
from heldout.show.blocks import Prose, Section
from heldout.show.chart import Axis, Chart
from heldout.show.explorer import OPERATORS, Explorer, Knob, Moving, evaluated, names_at
from heldout.show.numbers import limits, number, percent

NAN, INF = math.nan, math.inf
# Moves the slider along and keeps, at each stop, everything that the page then says.
WALK = """stops => stops.map(at => {
  const slider = document.querySelector('[data-slider]');
  slider.value = at;
  slider.dispatchEvent(new Event('input', {bubbles: true}));
  const rows = [...document.querySelectorAll('tr[data-name]')];
  return {
    figures: Object.fromEntries(rows.map(row => [row.dataset.name, {
      value: row.dataset.value, low: row.dataset.low, high: row.dataset.high,
      text: row.querySelector('[data-text]').textContent,
      limits: row.querySelector('[data-part=limits]')?.textContent,
      bar: row.querySelector('.heldout-bar circle')?.getAttribute('cx'),
    }])),
    cells: Object.fromEntries([...document.querySelectorAll('[data-cell]')].map(
      cell => [cell.dataset.cell, [cell.dataset.value, cell.textContent]])),
    marks: [...document.querySelectorAll('.heldout-mark')].map(
      mark => [mark.dataset.x, mark.dataset.y, mark.getAttribute('transform'), mark.getAttribute('visibility')]),
  };
})"""


def same(shown: str, value: float) -> bool:
    return float(shown) == value or (math.isnan(float(shown)) and math.isnan(value))


def walked(page: Page, stops: list[int]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = page.evaluate(WALK, stops)
    return found


def test_every_figure_the_matrix_and_the_marks_move_together(page: Page, tmp_path: Path) -> None:
    moved = explorer()
    roc, reliability, _ = charts(moved)
    opened(page, tmp_path, [Section("Threshold", (moved,)), roc, reliability])
    stops = list(range(0, len(moved.positions), 3))
    for at, seen in zip(stops, walked(page, stops), strict=True):
        names = names_at(moved, at)
        for one in moved.figures:
            shown, value = seen["figures"][one.name], evaluated(one.formula, names)
            low, high = (one.low[at], one.high[at]) if one.low else (NAN, NAN)
            assert same(shown["value"], value)
            assert same(shown["low"], low)
            assert same(shown["high"], high)
            assert shown["text"] == number(value, one.style)  # type: ignore[arg-type]
            assert shown["limits"] == (limits(low, high) if one.low else "")
        for i, row in enumerate(moved.matrix):
            for j, formula in enumerate(row):
                value = evaluated(formula, names)
                assert same(seen["cells"][f"{i},{j}"][0], value)
                assert seen["cells"][f"{i},{j}"][1] == number(value, "count")
        for chart, (x, y, _, _) in zip((roc, reliability), seen["marks"], strict=True):
            assert chart.moves is not None
            assert same(x, evaluated(chart.moves[0], names))
            assert same(y, evaluated(chart.moves[1], names))


def test_a_mark_stands_on_its_curve(page: Page, tmp_path: Path) -> None:
    moved = explorer()
    roc = charts(moved)[0]
    opened(page, tmp_path, [moved, roc])
    at = len(moved.positions) // 3
    slid(page, at)
    # The browser's own geometry: the distance from the mark to the nearest point of the drawn curve, in its units.
    distance = page.evaluate("""() => {
      const curve = document.querySelector('.heldout-stroke.heldout-tone-accent');
      const [x, y] = document.querySelector('.heldout-mark').getAttribute('transform').match(/[-\\d.]+/g).map(Number);
      let nearest = Infinity;
      for (let s = 0; s <= curve.getTotalLength(); s += 0.25) {
        const point = curve.getPointAtLength(s);
        nearest = Math.min(nearest, Math.hypot(point.x - x, point.y - y));
      }
      return nearest;
    }""")
    assert distance < 0.5


VALUES = [
    *(0.0, -0.0, 1.0, -1.0, 0.5, 0.0005, 0.0015, 0.0025, 0.9995, 0.99949999, 0.125, 0.0625, 1.0005, 2.5, 12.25, 12.35),
    *(
        0.005,
        0.015,
        0.025,
        0.035,
        0.045,
        0.5 - 2**-54,
        1 - 2**-53,
        5e-324,
        1e-5,
        1.5e-5,
        9.995e-5,
        9.9995e-5,
        0.00012345,
    ),
    *(
        0.045,
        0.995,
        99.5,
        100.5,
        99.95,
        99.995,
        100.05,
        100.25,
        999.95,
        1234.5,
        1234.25,
        12345.65,
        999999.5,
        1e6,
        123456789.125,
    ),
    *(1e15, 999999999999999.9, 1e15 - 0.5, 1.5e15, 2.5e15, 1e16, 3.5e20, 1e21, 1.25e22, 1e300),
    *(
        0.1 * 3 * 10,
        3 - 1e-10,
        2.675,
        1.005,
        8.811,
        162.71,
        1.2e6,
        0.01234,
        3.2e-9,
        9.999,
        9.995,
        99.995,
        0.3,
        NAN,
        INF,
        -INF,
    ),
]


def test_numbers_are_written_as_python_writes_them(page: Page, tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    drawn = [
        *rng.random(150).tolist(),
        *np.round(rng.random(100), 4).tolist(),
        *(rng.integers(0, 20_000, 150) / 16).tolist(),
        *np.exp(rng.normal(0, 12, 200)).tolist(),
        *(rng.integers(0, 2**20, 100) / 2**10).tolist(),
    ]
    values = tuple(sign * value for value in [*VALUES, *drawn] for sign in (1, -1))
    styles = ("share", "percent", "count", "plain")
    shown = Explorer(
        "n",
        tuple(map(float, range(len(values)))),
        0,
        (("v", values),),
        (),
        figures=tuple(Moving(style, style, "v", values, values, style=style) for style in styles),
    )
    opened(page, tmp_path, [shown])
    stops = list(range(len(values)))
    wrong = [
        (value, style, seen["figures"][style]["text"])
        for value, seen in zip(values, walked(page, stops), strict=True)
        for style in styles
        if seen["figures"][style]["text"] != number(value, style)  # type: ignore[arg-type]
    ]
    assert wrong == []


def test_formulas_give_what_python_gives(page: Page, tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    a = (3.0, 0.0, -1.0, 2.0, 0.0, 9.0, NAN, 1e300, *rng.normal(0, 100, 60).tolist())
    b = (NAN, 0.0, 0.5, 0.0, -1.0, 0.5, 1.0, 2.0, *rng.normal(0, 2, 30).tolist(), *([2.0, 0.5] * 15))
    alone = {"neg", "sqrt", "log", "abs"}
    formulas = {name: (name, "a") if name in alone else (name, "a", "b") for name in OPERATORS}
    figures = tuple(Moving(name, name, formula) for name, formula in formulas.items())
    opened(
        page, tmp_path, [Explorer("n", tuple(map(float, range(len(a)))), 0, (("a", a), ("b", b)), (), figures=figures)]
    )
    for at, seen in enumerate(walked(page, list(range(len(a))))):
        for name, formula in formulas.items():
            value, shown = evaluated(formula, {"a": a[at], "b": b[at]}), seen["figures"][name]["value"]
            if name in {"log", "pow"}:
                # No standard says how the last bit of these is rounded.
                assert float(shown) == pytest.approx(value, rel=4e-16, nan_ok=True)
            else:
                assert same(shown, value)


def test_knobs_move_the_figures_and_take_away_limits_that_no_longer_hold(page: Page, tmp_path: Path) -> None:
    moved = explorer()
    opened(page, tmp_path, [moved])

    def seen() -> dict[str, Any]:
        found: dict[str, Any] = walked(page, [moved.start])[0]["figures"]
        return found

    page.get_by_label("Cost of a miss").fill("12,5")
    assert same(
        seen()["cost"]["value"], evaluated(moved.figures[4].formula, names_at(moved, moved.start, {"miss": 12.5}))
    )
    assert seen()["recall"]["limits"] != ""
    assert page.locator("[data-changed]").is_hidden()
    page.get_by_label("Prevalence").fill("0.1")
    names = names_at(moved, moved.start, {"miss": 12.5, "prevalence": 0.1})
    for one in moved.figures:
        assert same(seen()[one.name]["value"], evaluated(one.formula, names))
        assert seen()[one.name]["limits"] == ""
        assert seen()[one.name]["low"] == "NaN"
    assert page.locator("[data-changed]").is_visible()
    page.get_by_role("button", name="Reset").click()
    assert page.locator("[data-changed]").is_hidden()
    assert same(seen()["recall"]["value"], evaluated(moved.figures[0].formula, names_at(moved, moved.start)))
    assert seen()["recall"]["limits"] != ""


def test_a_limit_leaves_with_any_knob_that_its_figure_leans_on(page: Page, tmp_path: Path) -> None:
    knob = Knob("k", "Weight", 2.0)
    lean = Moving("lean", "lean", "d", (1.0,), (3.0,))
    free = Moving("free", "free", 0.5, (0.4,), (0.6,))
    opened(page, tmp_path, [Explorer("t", (1.0,), 0, (), (), (("d", ("*", "k", 1)),), (knob,), (lean, free))])
    page.get_by_label("Weight").fill("3")
    shown = walked(page, [0])[0]["figures"]
    assert (shown["lean"]["value"], shown["lean"]["limits"], shown["free"]["limits"]) == ("3", "", ".400 – .600")


def test_a_clicked_figure_says_how_it_was_made_where_the_slider_stands(page: Page, tmp_path: Path) -> None:
    formula = ("-", ("/", ("*", "a", 2.0), ("+", "a", "position")), ("neg", ("sqrt", ("-", "a", ("-", "b", "k")))))
    figure = Moving("f", "F", formula, (0.1, 0.2, 0.3), (0.4, 0.5, 0.6), ("drawn: one", "closed: two", "closed: two"))
    moved = replace(
        Explorer("Threshold", (0.25, 0.5, 0.75), 1, (("a", (1234, 20, 3)), ("b", (-7, 8.5, 0.25))), ()),
        knobs=(Knob("k", "Weight", 4.0),),
        figures=(replace(figure, how="how-f"),),
        left_out=1,
    )
    opened(page, tmp_path, [moved, Section("F", (Prose("What it is."),), "how-f", folded=True)])
    for at, method in enumerate(("drawn: one", "closed: two", "closed: two")):
        slid(page, at)
        page.locator("tr[data-name=f] a").click()
        told = page.locator("dialog dl").inner_text()
        names = names_at(moved, at)
        words = {name: f"({number(v, 'count')})" if v < 0 else number(v, "count") for name, v in names.items()}
        assert worded(formula, words | {"position": str(moved.positions[at])}) in told
        assert number(evaluated(formula, names)) in told
        assert limits(figure.low[at], figure.high[at]) in told
        assert method in told
        assert page.locator("tr[data-name=f] [data-part=limits]").get_attribute("title") == method
        dialog = page.locator("dialog").inner_text()
        assert f"Threshold {moved.positions[at]}" in dialog
        assert "What it is." in dialog
        page.keyboard.press("Escape")
        assert page.locator("[data-outside]").is_hidden() == (at == moved.start)
    page.get_by_label("Weight").fill("5")
    page.locator("tr[data-name=f] a").click()
    assert "holds for the cases as they are" in page.locator("dialog dl").inner_text()


def test_what_is_wrong_in_one_field_stays_said_while_another_changes(page: Page, tmp_path: Path) -> None:
    opened(page, tmp_path, [explorer()])
    share, miss = page.get_by_label("Prevalence"), page.get_by_label("Cost of a miss")
    share.fill("2")
    miss.fill("3")
    assert "Prevalence: a number" in page.locator("[data-told]").inner_text()
    told = page.locator("[data-told]").get_attribute("id")
    assert told in (share.get_attribute("aria-describedby") or "").split()
    assert told not in (miss.get_attribute("aria-describedby") or "").split()
    share.fill("0.2")
    assert page.locator("[data-told]").is_hidden()
    assert told not in (share.get_attribute("aria-describedby") or "").split()


def test_what_cannot_be_read_changes_nothing_and_is_said(page: Page, tmp_path: Path) -> None:
    moved = explorer()
    opened(page, tmp_path, [moved])
    before = walked(page, [moved.start])
    for text in ("", "x", "-1", "2"):
        page.get_by_label("Prevalence").fill(text)
        assert page.get_by_label("Prevalence").get_attribute("aria-invalid") == "true"
        assert "at least 0 and at most 1" in page.locator("[data-told]").inner_text()
    assert walked(page, [moved.start]) == before
    page.get_by_label("Threshold, typed").fill("many")
    page.get_by_label("Threshold, typed").press("Enter")
    assert '"many" is not a number.' in page.locator("[data-told]").inner_text()


@pytest.mark.parametrize("left_out", [0, 40])
def test_a_typed_value_goes_to_the_smallest_kept_position_at_or_above_it(
    page: Page, tmp_path: Path, left_out: int
) -> None:
    moved = explorer(left_out=left_out)
    opened(page, tmp_path, [moved])
    field = page.get_by_label("Threshold, typed")
    for wanted in (moved.positions[0], -3.0, 0.5, moved.positions[40], moved.positions[40] + 1e-9, 0.2, 7.0):
        field.fill(repr(wanted))
        field.press("Enter")
        at = min((i for i, t in enumerate(moved.positions) if t >= wanted), default=len(moved.positions) - 1)
        assert page.locator("[data-slider]").input_value() == str(at)
        told = page.locator("[data-told]").inner_text() if page.locator("[data-told]").is_visible() else ""
        # Below the lowest score every case is taken, as at it.
        between = wanted <= 1 and wanted != moved.positions[at] and at > 0
        assert ("nearest kept" in told) == (bool(left_out) and between)
        assert ("above the highest" in told) == (wanted == 7.0)


def test_the_shown_threshold_makes_the_same_cut(page: Page, tmp_path: Path) -> None:
    moved = replace(explorer(), positions=tuple(sorted({p + 1e-7 * i for i, p in enumerate(explorer().positions)})))
    opened(page, tmp_path, [moved])
    for at in range(0, len(moved.positions), 25):
        slid(page, at)
        text = page.get_by_label("Threshold, typed").input_value()
        assert next(i for i, position in enumerate(moved.positions) if position >= float(text)) == at
    assert len(text) < 9


def test_positions_from_high_to_low_are_turned_round(page: Page, tmp_path: Path) -> None:
    figure = Moving("f", "f", ("+", "a", "position"), (0.1, 0.2, 0.3), (0.4, 0.5, 0.6))
    opened(page, tmp_path, [Explorer("t", (0.9, 0.5, 0.1), 0, (("a", (1, 2, 3)),), (), figures=(figure,))])
    assert page.locator("[data-slider]").input_value() == "2"
    shown = [seen["figures"]["f"] for seen in walked(page, [0, 1, 2])]
    assert [(float(one["value"]), one["low"]) for one in shown] == [(3.1, "0.3"), (2.5, "0.2"), (1.9, "0.1")]


def test_the_matrix_shows_counts_or_shares_of_rows_or_columns(page: Page, tmp_path: Path) -> None:
    moved = explorer()
    opened(page, tmp_path, [moved])
    (tp, fn), (fp, _) = [[evaluated(f, names_at(moved, moved.start)) for f in row] for row in moved.matrix]
    cell = page.locator('[data-cell="0,0"]')
    assert cell.inner_text() == number(tp, "count")
    page.get_by_label("row %").check()
    assert cell.inner_text() == percent(tp / (tp + fn), 1)
    page.get_by_label("column %").check()
    assert cell.inner_text() == percent(tp / (tp + fp), 1)
    assert float(cell.get_attribute("data-value") or "") == tp


def test_each_explorer_moves_the_charts_after_it_and_the_first_also_those_before(page: Page, tmp_path: Path) -> None:
    def one(name: str, *values: float) -> Explorer:
        return Explorer(name, tuple(map(float, range(len(values)))), 0, (("a", values),), ())

    chart = [Chart(str(at), "", Axis("x"), Axis("y"), moves=("a", 0.5)) for at in range(3)]
    opened(page, tmp_path, [chart[0], one("first", 0.1, 0.2), chart[1], one("second", 0.6, 0.7), chart[2]])
    marks = page.locator(".heldout-mark")
    assert [marks.nth(at).get_attribute("data-x") for at in range(3)] == ["0.1", "0.1", "0.6"]
    slid(page, 1, 1)
    assert [marks.nth(at).get_attribute("data-x") for at in range(3)] == ["0.1", "0.1", "0.7"]
    slid(page, 1, 0)
    assert [marks.nth(at).get_attribute("data-x") for at in range(3)] == ["0.2", "0.2", "0.7"]


def test_what_is_undefined_says_why_and_hides_its_mark(page: Page, tmp_path: Path) -> None:
    figure = Moving("f", "precision", ("/", "tp", "tp"), (0.1, 0.2), (0.4, 0.5), undefined="nothing was predicted")
    chart = Chart("c", "", Axis("x"), Axis("y"), moves=(("/", "tp", "tp"), 0.5))
    opened(page, tmp_path, [Explorer("t", (0.1, 0.2), 1, (("tp", (3, 0)),), (), figures=(figure,)), chart])
    text = page.locator("tr[data-name] [data-text]")
    assert text.inner_text() == "– (nothing was predicted)"
    assert page.locator(".heldout-mark").get_attribute("visibility") == "hidden"
    slid(page, 0)
    assert text.inner_text() == "1.000"
    assert page.locator(".heldout-mark").get_attribute("visibility") == "visible"
