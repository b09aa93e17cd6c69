"""What a notebook shows: the answer of an evaluation first, in few bytes, and charts as matplotlib draws them."""

from __future__ import annotations

import re
import sys
import xml.etree.ElementTree as ET
from functools import cache
from typing import Any

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from tests.report import moved

import heldout
from heldout.curves.curve_chart import chart_of
from heldout.errors import OptionError
from heldout.report.evaluation_charts import draw_classes, draw_confusion
from heldout.show.altair import altair_chart
from heldout.show.chart import Axis, Chart, Dots, Stroke
from heldout.show.figure import figure_svg
from heldout.show.matplotlib import plot_chart

NAMES = ("bus", "<b>", "van")


@cache
def churn() -> heldout.Evaluation:
    truth, score = moved.churn()
    return heldout.evaluate(truth, score=score, positive="yes")


def many_classes(n: int = 300) -> heldout.Evaluation:
    rng = np.random.default_rng(0)
    truth = rng.choice(3, n, p=[0.2, 0.3, 0.5])
    scores = rng.dirichlet([1, 1, 1], n) + 0.8 * np.eye(3)[truth]
    named = np.array(NAMES)[truth]
    return heldout.evaluate(named, score=scores / scores.sum(axis=1, keepdims=True), labels=list(NAMES))


def charts_in(shown: str) -> list[str]:
    return re.findall(r'<svg class="heldout-chart[^>]*aria-label="([^"]*)"', shown)


def test_an_evaluation_shows_its_answer() -> None:
    shown = churn()._repr_html_()
    order = ['class="heldout-label">Verdict', ">accuracy<", "truth ↓", "ROC curve", "Findings", "<details"]
    places = [shown.index(part) for part in order]
    assert places == sorted(places)
    assert charts_in(shown) == ["ROC curve", "Precision-recall curve", "Reliability diagram"]
    assert shown.count("heldout-bar") > 5
    folded = re.findall(r"<details.*?heldout-heading[^>]*>([^<]*)<", shown, re.DOTALL)
    assert {"Classes", "Every measure", "Provenance"} <= set(folded)


def test_of_several_classes_every_curve_is_shown_in_the_order_of_the_labels() -> None:
    seen = many_classes()
    shown = seen._repr_html_()
    assert charts_in(shown)[:2] == ["ROC curve of each class against the rest", "Precision-recall curve of each class"]
    assert "<b>" not in shown.replace("</b>", "")
    names = [stroke.name.partition(" ")[0] for stroke in draw_classes(seen, "roc").strokes if stroke.tone != "quiet"]
    assert names == [str(label) for label in seen.labels]
    # What the highest probability was right about is not "positive".
    (said,) = re.findall(r"Reliability diagram</span> <span[^>]*>([^<]*)", shown)
    assert re.match(r"\d+ right, \d+ wrong\.", said)


def test_of_several_models_no_curve_is_drawn_of_all_together() -> None:
    truth, score = moved.churn()
    folds = heldout.evaluate(truth, score=score, positive="yes", fold=[at % 3 for at in range(len(truth))])
    shown = folds._repr_html_()
    assert charts_in(shown) == ["ROC curve of every fold", "Reliability diagram"]
    assert folds.chart_kinds[:2] == ("roc", "reliability")


def test_a_validation_says_once_what_it_says_and_what_it_estimates() -> None:
    truth, score = moved.churn(120)
    validation: Any = heldout.validate("naive-bayes", score.reshape(-1, 1), truth, plan="3-fold", positive="yes")
    shown = validation._repr_html_()
    assert [shown.count(f">{label}</span>") for label in ("Verdict", "Estimates")] == [1, 1]


@pytest.mark.parametrize(
    "made",
    [
        lambda: heldout.evaluate(matrix=[[40, 10], [5, 45]]),
        lambda: heldout.evaluate([0, 1, 1, 0], [0, 1, 0, 0], measures=["accuracy"]),
        lambda: heldout.evaluate(["a"] * 5, score=[0.1, 0.2, 0.3, 0.4, 0.5], labels=["a", "b"], positive="b"),
        lambda: heldout.evaluate(list(range(60)), [*range(1, 60), 0]),
    ],
    ids=["counts", "asked", "one class", "many classes"],
)
def test_little_evidence_is_shown_too(made: Any) -> None:
    shown = made()._repr_html_()
    assert "heldout-doc" in shown
    assert ">nan<" not in shown


def test_a_million_rows_are_shown_in_few_bytes() -> None:
    rng = np.random.default_rng(0)
    truth = rng.random(1_000_000) < 0.1
    score = 1 / (1 + np.exp(3 - 3 * truth - rng.normal(size=1_000_000)))
    shown = heldout.evaluate(truth, score=score)._repr_html_()
    assert len(charts_in(shown)) == 3
    assert len(shown.encode()) < 200_000


def test_the_style_touches_nothing_else() -> None:
    (style,) = re.findall(r"<style>(.*?)</style>", churn()._repr_html_(), re.DOTALL)
    rules = re.sub(r"/\*.*?\*/", "", style, flags=re.DOTALL)
    selectors = [one for rule in re.findall(r"([^{}]+)\{", rules) for one in _apart(rule)]
    assert len(selectors) > 30
    assert [one for one in selectors if ".heldout-doc" not in one] == []


def _apart(rule: str) -> list[str]:
    """The selectors of a rule; commas within brackets divide none."""
    return [one.strip() for one in re.split(r",(?![^()]*\))", rule)]


def test_a_curve_shows_its_chart_and_names_every_column() -> None:
    curve = churn().curve("roc")
    shown = curve._repr_html_()
    assert charts_in(shown) == ["ROC curve"]
    heads = re.findall(r"<thead>(.*?)</thead>", shown, re.DOTALL)[0]
    assert "95 % limits" in heads
    assert "<td" not in heads


def test_a_matrix_and_an_estimate_show_themselves() -> None:
    seen = many_classes()
    assert "heldout-heat-" in seen.confusion._repr_html_()
    assert "heldout-bar" in seen["accuracy"]._repr_html_()
    large = heldout.evaluate(list(range(60)), [*range(1, 60), 0]).confusion._repr_html_()
    assert "Most confused" in large


def test_squares_stand_where_their_classes_do() -> None:
    chart = draw_confusion(many_classes().confusion)
    (tiles,) = chart.tiles
    assert [label for _, label in chart.x.ticks] == [label for _, label in chart.y.ticks]
    assert chart.y.ticks[0][0] == 3.0, "the first class stands on top"
    assert tiles.texts[0] == str(many_classes().confusion.matrix[0, 0])
    drawing = ET.fromstring(figure_svg(chart))
    assert len([cell for cell in drawing.iter() if cell.get("class") == "heldout-cell"]) == 9
    layers = altair_chart(chart).to_dict()["layer"]
    assert [layer["mark"]["type"] for layer in layers[:2]] == ["rect", "text"]


def test_a_plot_is_for_papers() -> None:
    seen = churn()
    axes = seen.plot("roc")
    assert axes.get_title() == axes.get_title("left") == ""
    assert axes.get_xlabel().startswith("False positive rate")
    assert [label.get_text() for label in axes.get_xticklabels()] == ["0", ".2", ".4", ".6", ".8", "1"]
    assert axes.collections, "the band"
    assert seen.plot("roc", title=True).get_title("left") == "ROC curve"
    lines = [(tuple(np.asarray(line.get_xdata())), tuple(np.asarray(line.get_ydata()))) for line in axes.lines]
    drawn = chart_of(seen.curve("roc")).strokes[-1]
    assert (drawn.x, drawn.y) in lines
    plt.close("all")


def test_a_plot_stays_within_the_axes_that_were_given() -> None:
    seen = churn()
    figure, (first, second) = plt.subplots(1, 2, layout="constrained")
    assert seen.plot("reliability", first) is first
    figure.canvas.draw()
    assert len(figure.axes) == 3
    assert all(axes.get_position().x1 < second.get_position().x0 for axes in figure.axes if axes is not second)
    # Axes that are part of no grid are divided where they stand.
    free = Figure()
    placed = free.add_axes((0.2, 0.2, 0.6, 0.6))
    seen.plot("reliability", placed)
    assert free.axes[1].get_position().y0 == pytest.approx(0.2)
    assert placed.get_position().y1 == pytest.approx(0.8)
    plt.close("all")


def test_names_are_written_as_they_are() -> None:
    chart = Chart(
        "t", "", Axis("cost in $ of $"), Axis("y"), (Stroke((0, 1), (0, 1), "_hidden"),), (), (Dots((0.5,), (0.5,)),)
    )
    axes = plot_chart(chart)
    axes.figure.canvas.draw()
    legend = axes.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == [" _hidden"]
    assert axes.get_xlabel() == r"cost in \$ of \$"
    plt.close("all")


def test_without_matplotlib_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(OptionError, match=r'pip install "heldout\[plot\]"'):
        churn().plot("roc")


def test_the_fragment_is_what_a_notebook_shows() -> None:
    truth, score = [0, 1, 1, 0] * 15, [0.2, 0.9, 0.6, 0.7] * 15
    evaluation = heldout.evaluate(truth, score=score)
    results = (evaluation, evaluation["recall"], evaluation.curve("roc"), heldout.compare(evaluation, evaluation))
    for result in (*results, heldout.check(evaluation, require="recall >= 0.5")):
        assert result.to_html() == result._repr_html_()
    assert "<svg" in evaluation.to_html()


def test_where_no_html_is_shown_a_result_reads_as_printed():
    from IPython.core.formatters import DisplayFormatter

    curve = churn().curve("roc")
    shown, _ = DisplayFormatter().format(curve)
    assert shown["text/plain"] == str(curve)
    assert shown["text/html"].startswith("<")
