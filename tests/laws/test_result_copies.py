"""Laws of every kind of result: it is copied, equal to its copy, unequal to another answer, drawn and shown."""

from __future__ import annotations

import copy
import pickle
import pkgutil
import re
from collections.abc import Callable
from functools import cache
from importlib import import_module
from inspect import isabstract
from typing import Any

import numpy as np
import pytest

import heldout
from heldout import lab
from heldout.errors import OptionError
from heldout.result import Result, bound_late
from heldout.thresholds.classes import cost_of_decision

N = 120
LEARNER = "naive-bayes"


@cache
def data(seed: int) -> dict[str, Any]:
    random = np.random.default_rng(seed)
    truth = random.integers(0, 2, N)
    return {
        "truth": truth,
        "score": np.clip(0.3 * truth + 0.7 * random.random(N), 0, 1),
        "other": np.clip(0.2 * truth + 0.8 * random.random(N), 0, 1),
        "features": random.normal(size=(N, 3)) + truth[:, None],
        "region": random.choice(["north", "south"], N).tolist(),
    }


@cache
def evaluation(seed: int) -> heldout.Evaluation:
    given = data(seed)
    return heldout.evaluate(given["truth"], score=given["score"], slices={"region": given["region"]})


@cache
def comparison(seed: int) -> Any:
    given = data(seed)
    scores = (given["score"], given["other"])
    return heldout.compare(*(heldout.evaluate(given["truth"], score=score) for score in scores))


@cache
def best(seed: int) -> Any:
    given = data(seed)
    scores = (given["score"], given["other"], given["other"][::-1])
    comparison: Any = heldout.compare(*(heldout.evaluate(given["truth"], score=score) for score in scores))
    return comparison.best


@cache
def learnt(make: Callable[..., Any], learner: Any, seed: int, **options: Any) -> Any:
    given = data(seed)
    return make(learner, given["features"], given["truth"], **options)


def table(seed: int) -> dict[str, dict[str, float]]:
    random = np.random.default_rng(seed)
    return {f"set {i}": dict(zip("abc", random.random(3).tolist(), strict=True)) for i in range(8)}


def decided(seed: int) -> Result:
    given = data(seed)
    both = np.column_stack([1 - given["score"], given["score"]])
    return cost_of_decision(both, given["truth"], heldout.Costs.of([[0, 1], [5, 0]], [0, 1], rows="truth"))


def chosen(seed: int) -> Result:
    return heldout.choose_threshold(data(seed)["truth"], score=data(seed)["score"], by="f1")


KINDS: dict[str, Callable[[int], Any]] = {
    "Evaluation": evaluation,
    "Estimate": lambda seed: evaluation(seed)["accuracy"],
    "Review": lambda seed: evaluation(seed).review,
    "Slices": lambda seed: evaluation(seed).slices(),
    "HardCases": lambda seed: evaluation(seed).hardest(),
    "Confused": lambda seed: evaluation(seed).confused(),
    "Curve": lambda seed: evaluation(seed).curve("roc"),
    "ThresholdTable": lambda seed: evaluation(seed).threshold_table(),
    "Validation": lambda seed: learnt(heldout.validate, LEARNER, seed, plan=".632+ 20"),
    "SeveralValidations": lambda seed: learnt(heldout.validate, (LEARNER, "knn:3"), seed, plan="5-fold"),
    "FoldEstimate": lambda seed: learnt(heldout.validate, LEARNER, seed, plan="5-fold")["accuracy"],
    "LearningCurve": lambda seed: learnt(heldout.learning_curve, LEARNER, seed, draws=3, points=4),
    "BiasVariance": lambda seed: learnt(heldout.bias_variance, LEARNER, seed),
    "Card": lambda seed: learnt(heldout.card, LEARNER, seed),
    "CardPair": lambda seed: learnt(heldout.card, LEARNER, seed).beside(learnt(heldout.card, "knn:3", seed)),
    "PairwiseComparison": comparison,
    "Best": best,
    "ModelTable": lambda seed: comparison(seed).models(),
    "RocComparison": lambda seed: comparison(seed).roc(),
    "OptimalRanges": lambda seed: comparison(seed).optimal_ranges(),
    "LearnerRanks": lambda seed: heldout.compare(table(seed)),
    "Recalibration": lambda seed: heldout.recalibrate(evaluation(seed), calibrators=["temperature"], folds=3),
    "StudyPlan": lambda seed: heldout.plan_study("accuracy", value=0.8, width=0.05 + 0.01 * seed),
    "Gate": lambda seed: heldout.check(evaluation(seed), require="accuracy >= 0.5"),
    "ThresholdDecision": chosen,
    "CostOfDecision": decided,
    "Report": lambda seed: heldout.Report([evaluation(seed), heldout.check(evaluation(seed), require="recall >= 0.5")]),
    "Demonstration": lambda seed: lab.optimism(lab.Gaussians(), LEARNER, n=20, draws=9, seed=seed),
}
COPIES: dict[str, Callable[[Any], Any]] = {
    "pickle": lambda result: pickle.loads(pickle.dumps(result)),
    "deepcopy": copy.deepcopy,
    "copy": copy.copy,
}


def every_kind() -> set[type]:
    for module in pkgutil.walk_packages(heldout.__path__, "heldout."):
        if not module.name.endswith("__main__"):
            import_module(module.name)
    known: set[type] = set()
    waiting: list[Any] = [Result]
    while waiting:
        below = [kind for kind in waiting.pop().__subclasses__() if kind.__module__.startswith("heldout.")]
        known.update(below)
        waiting += below
    return {kind for kind in known if not isabstract(kind)}


def test_every_kind_of_result_is_looked_at():
    assert {kind.__name__ for kind in every_kind()} == set(KINDS)


def test_equality_is_said_once():
    assert [kind.__name__ for kind in every_kind() if "__eq__" in vars(kind) or "__hash__" in vars(kind)] == []


def test_what_a_result_names_above_it_is_there():
    bound = {part for kind in every_kind() for part in dir(kind) if part.startswith("_") and part.endswith("_by")}
    assert {"_rendered_by", "_weka_by", "_phrased_by"} <= bound
    named = [getattr(kind, part) for kind in every_kind() for part in bound if getattr(kind, part, "")]
    named += [name for kind in every_kind() for name in kind._charts.values()]  # type: ignore[attr-defined]
    assert len(named) > 5
    assert all(callable(bound_late(name)) for name in named)


@cache
def result_of(kind: str, seed: int) -> Any:
    return KINDS[kind](seed)


@pytest.mark.parametrize("kind", KINDS)
def test_a_copy_is_equal_and_reads_the_same(kind):
    result = result_of(kind, 1)
    assert type(result).__name__ == kind
    # What was computed on the way must not stand in the way.
    text = str(result)
    for make in COPIES.values():
        copied = make(result)
        assert copied == result
        assert hash(copied) == hash(result)
        assert str(copied) == text


@pytest.mark.parametrize("kind", KINDS)
def test_every_result_has_a_verdict_a_summary_and_a_file_of_every_form(kind, tmp_path):
    result = result_of(kind, 1)
    assert isinstance(result.verdict, str)
    assert result.summary().strip()
    for ending in (".json", ".md", ".csv", ".txt"):
        assert result.write(tmp_path / f"answer{ending}").stat().st_size
    if kind == "Review":
        return
    drawn = result.write(tmp_path / "answer.svg")
    assert "<svg" in drawn.read_text(encoding="utf-8")
    assert result.save(tmp_path / "again.svg").read_bytes() == drawn.read_bytes()
    # A chart of that kind, whatever the ending.
    chart = result.write(tmp_path / "chart.json", result.chart_kinds[0])
    assert "vega-lite" in chart.read_text(encoding="utf-8")


@pytest.mark.parametrize("kind", KINDS)
def test_another_answer_is_unequal(kind):
    assert result_of(kind, 1) != result_of(kind, 2)
    assert result_of(kind, 1) != "an answer"


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "Review"])
def test_every_chart_of_a_result_is_drawn_by_every_library(kind):
    from matplotlib import pyplot as plt

    result = result_of(kind, 1)
    assert result.chart_kinds
    for name in result.chart_kinds:
        assert "vega-lite" in result.chart(name).to_dict(validate=False)["$schema"]
        _, given = plt.subplots()
        drawn = result.plot(name, given, title="A title of one's own")
        assert drawn is given
        assert drawn.get_title("left") == "A title of one's own"
        # Something stands in the axes, and they say what runs along them.
        assert drawn.lines or drawn.collections or drawn.patches or drawn.texts
        drawn.figure.canvas.draw()
        plt.close("all")
    with pytest.raises(OptionError, match=r"There is no (chart|curve) 'rok'"):
        result.chart("rok")


@pytest.mark.parametrize("kind", KINDS)
def test_every_result_is_shown_in_a_notebook(kind):
    shown = result_of(kind, 1)._repr_html_()
    assert shown.count('<div class="heldout-doc">') == 1
    assert len(shown) < 200_000
    # Nothing runs, is fetched, or has a name that a second cell would have too.
    assert not re.search(r"<script|<link|<img|\son\w+=|\bid=|https?://(?!www\.w3\.org)", shown)
