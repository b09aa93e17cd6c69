"""Curves as charts of a page: what is drawn, what is said of it, and where the threshold is marked."""

from __future__ import annotations

import re

import numpy as np
import pytest

from heldout.curves import (
    cost_curve,
    decision_curve,
    gain,
    lift,
    net_benefit,
    normalized_cost,
    precision_recall,
    reliability,
    roc,
)
from heldout.curves.curve_chart import SHOWN, chart_of, draw_together
from heldout.curves.declare import CURVE_KINDS
from heldout.curves.threshold_counts import counts_at
from heldout.engines.score_sort import rank
from heldout.errors import OptionError
from heldout.show.altair import altair_chart
from heldout.show.explorer import evaluated
from heldout.show.svg import chart_svg, find_dash

DRAWS = {
    "roc": roc,
    "precision_recall": precision_recall,
    "cost": cost_curve,
    "decision": decision_curve,
    "gain": gain,
    "lift": lift,
}


def ranking(n=400, seed=0):
    rng = np.random.default_rng(seed)
    positive = rng.random(n) < 0.3
    return rank(np.round(1 / (1 + np.exp(1 - 2 * positive - rng.normal(size=n))), 2), positive)


def inside(chart):
    """Whether all that a chart draws has a place on its axes, but for what is cut on purpose."""
    return all(chart.x.low <= x <= chart.x.high for stroke in chart.strokes for x in stroke.x)


@pytest.mark.parametrize("kind", DRAWS)
def test_every_curve_has_a_line_words_a_table_and_its_references(kind):
    curve = DRAWS[kind](ranking())
    chart = chart_of(curve, moves=True)
    assert inside(chart)
    assert [stroke.name for stroke in chart.strokes if stroke.dashed] == [line.name for line in curve.references]
    assert len(chart.points) <= SHOWN
    assert all(len(row) == len(chart.headers) for row in chart.points)
    assert curve.title in chart.description
    assert chart.ribbons or curve.band is None


@pytest.mark.parametrize("kind", DRAWS)
def test_the_mark_stands_where_the_threshold_stands_on_the_curve(kind):
    seen = ranking()
    for threshold in (0.2, 0.5, 0.73):
        tp, fp = (float(held[0]) for held in counts_at(seen, [threshold]))
        p, n = float(seen.n_positive), float(seen.n_negative)
        costs = {"cost_miss": 5.0, "cost_alarm": 1.0, "prevalence": 0.3}
        names = {"raw_tp": tp, "raw_fp": fp, "raw_positives": p, "raw_negatives": n, "position": threshold, **costs}
        found = [evaluated(formula, names) for formula in CURVE_KINDS[kind].slider or ()]
        pc = 0.3 * 5 / (0.3 * 5 + 0.7)
        expected = {
            "roc": (fp / n, tp / p),
            "precision_recall": (tp / p, tp / (tp + fp)),
            "gain": ((tp + fp) / (p + n), tp / p),
            "lift": ((tp + fp) / (p + n), tp / (tp + fp) / (p / (p + n))),
            "cost": (pc, float(normalized_cost(tp / p, fp / n, pc))),
            "decision": (threshold, float(net_benefit(tp, fp, p + n, threshold))),
        }[kind]
        assert found == pytest.approx(expected)


def test_a_reliability_diagram_has_dots_with_limits_and_sizes():
    curve = reliability(ranking())
    chart = chart_of(curve)
    assert chart.dots[0].size == tuple(curve.extra["n"].tolist())
    assert chart.dots[0].low == tuple(curve.low.tolist())
    assert chart.moves is None


def test_below_a_reliability_diagram_stands_how_many_cases_each_bin_holds(tmp_path):
    curve = reliability(ranking())
    chart = chart_of(curve)
    assert chart.below is not None
    (bars,) = chart.below.bars
    assert bars.height == tuple(curve.extra["n"].tolist())
    assert sum(bars.height) == 400
    assert (bars.start[0], bars.end[-1]) == (0.0, 1.0)
    drawing = chart_svg(chart)
    assert drawing.count("heldout-bars") == 1
    assert ">Cases</text>" in drawing
    # Only the lower plot names the places along x, and both begin at the same place.
    assert drawing.count(f">{curve.x_scale.title}</text>") == 1
    spec = curve.chart().to_dict()
    assert len(spec["vconcat"]) == 2
    assert [curve.save(tmp_path / f"r.{ending}").stat().st_size > 2000 for ending in ("svg", "png")] == [True, True]


def test_the_sizes_of_dots_are_told_and_drawn_alike_everywhere():
    chart = chart_of(reliability(ranking()))
    largest = max(chart.dots[0].size)
    assert f"Area of a dot: the cases of its bin, {largest:.0f} in the largest." in chart.detail
    grown = [float(size) for size in re.findall(r"scale\(([\d.]+)\)", chart_svg(chart))]
    spec = altair_chart(chart).to_dict()
    (layer,) = (one for one in spec["vconcat"][0]["layer"] if one["mark"]["type"] == "point")
    areas = [point["area"] for point in spec["datasets"][layer["data"]["name"]]]
    assert [50 * scale**2 for scale in grown] == pytest.approx(areas, abs=1.0)


def test_lines_to_compare_with_have_dashes_of_their_own():
    references = [stroke for stroke in chart_of(decision_curve(ranking())).strokes if stroke.tone == "quiet"]
    assert [stroke.name for stroke in references] == ["treat all", "treat none"]
    assert len({find_dash(stroke) for stroke in references}) == 2


def test_what_is_left_out_is_said():
    rng = np.random.default_rng(0)
    many = rank(rng.random(20_000), rng.random(20_000) < 0.5)
    chart = chart_of(roc(many), whole=1_000_001)
    assert "of 1,000,001 points are drawn" in chart.detail


def test_a_curve_that_is_undefined_says_why_and_draws_no_line():
    chart = chart_of(roc(rank(np.array([0.2, 0.7]), np.array([True, True]))))
    assert "there are no actual negatives" in chart.detail
    assert [stroke.name for stroke in chart.strokes] == ["chance"]


def test_curves_that_cannot_be_told_apart_are_refused():
    one = roc(ranking(), bands=None)
    with pytest.raises(OptionError, match="cannot be told apart"):
        draw_together([one] * 8, [str(at) for at in range(8)])
    chart = draw_together([one] * 7, [str(at) for at in range(7)])
    assert len({stroke.tone for stroke in chart.strokes if not stroke.dashed}) == 7
