"""The catalogue: every name leads to its measure and to no other, and what people write is read as they mean it."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from heldout import evaluate
from heldout.errors import OptionError
from heldout.measures.catalogue import CATALOGUE, every_name, find, read_quantity
from heldout.measures.declare import Measure
from heldout.measures.quantity import AVERAGES

MEASURES = list(CATALOGUE.values())
every_measure = pytest.mark.parametrize("measure", MEASURES, ids=CATALOGUE)


def ways_to_write(name: str) -> set[str]:
    return {name, name.upper(), name.replace("_", " "), name.replace("_", "-"), f"  {name.title()} "}


@every_measure
def test_every_name_and_alias_finds_the_measure(measure: Measure) -> None:
    for name in (measure.name, *measure.aliases):
        for written in ways_to_write(name):
            assert find(written).measure is measure, written


@every_measure
def test_every_measure_of_one_class_has_a_value_or_is_refused(measure: Measure) -> None:
    # Warnings are errors here: of the third class, which nobody met, much is infinite or has no value.
    costs = {(a, b): 1 for a in "abc" for b in "abc" if a != b}
    truth, score = ["a", "a", "b", "b"], [[0.8, 0.2, 0.0], [0.6, 0.3, 0.1], [0.1, 0.9, 0.0], [0.7, 0.2, 0.1]]
    seen = evaluate(truth, score=score, labels=["a", "b", "c"], costs=costs)
    asked = 0
    for average in (None, *AVERAGES):
        for label in (None, *seen.labels):
            try:
                estimate = seen.get(measure.name, class_=label, average=average)
            except OptionError:
                continue
            asked += 1
            assert math.isnan(estimate.value) == bool(estimate.undefined)
    assert asked


@pytest.mark.parametrize("weighted", [False, True])
def test_kappas_of_one_class_are_those_of_two_classes(weighted: bool) -> None:
    rng = np.random.default_rng(1)
    truth, predicted, weight = rng.integers(3, size=60), rng.integers(3, size=60), rng.random(60)
    given = weight if weighted else None
    seen = evaluate(truth, predicted, weight=given)
    for label in seen.labels:
        kappa = cohen_kappa_score(truth == label, predicted == label, sample_weight=given)
        for name in ("linear_kappa", "quadratic_kappa"):
            assert seen[f"{name}[{label}]"].value == pytest.approx(kappa)
    with pytest.raises(OptionError, match="not a measure of one class"):
        seen["no_information_rate[1]"]


@every_measure
def test_every_name_and_alias_is_read_as_the_measure(measure: Measure) -> None:
    # weighted_accuracy is a measure, not the weighted average of accuracy.
    for name in (measure.name, *measure.aliases):
        for written in ways_to_write(name):
            read = read_quantity(written)
            assert read.bound.measure is measure, written
            assert read.average is None


def test_no_alias_is_shared() -> None:
    given = Counter(name for measure in MEASURES for name in {measure.name, *measure.aliases})
    assert [name for name, times in given.items() if times > 1] == []


def test_no_symbol_of_one_measure_is_the_name_of_another() -> None:
    symbols = [(measure.symbol.casefold(), measure.name) for measure in MEASURES]
    long = [(symbol, name) for symbol, name in symbols if len(symbol) > 1]
    assert long
    assert [(symbol, every_name()[symbol]) for symbol, _ in long] == long


@every_measure
def test_averages_and_classes_are_read(measure: Measure) -> None:
    labels = ["spam", "ham [old]", 3]
    for label in labels:
        read = read_quantity(f"{measure.name}[{label}]", labels)
        assert (read.bound.measure, read.class_, read.average) == (measure, label, None)
    for average in AVERAGES if measure.averages else ():
        for written in (f"{average} {measure.name}", f"{average.upper()}_{measure.name}"):
            read = read_quantity(written)
            assert (read.bound.measure, read.class_, read.average) == (measure, None, average)


@every_measure
def test_every_declaration_says_what_it_is(measure: Measure) -> None:
    assert measure.summary.endswith(".")
    assert measure.undefined
    assert measure.reference
    assert " / " in measure.formula or measure.formula_text
    assert measure.low < measure.high
    # The reason stands after "because" and "when": "because there are no cases".
    assert measure.undefined[0].islower()
    assert not measure.undefined.endswith(".")


@pytest.mark.parametrize(
    ("written", "beta"),
    [("f1", 1), ("F2", 2), ("f0.5", 0.5), ("f_3", 3), ("F-measure", 1), ("f_score(beta=4)", 4), ("F1[a]", 1)],
)
def test_f_scores(written: str, beta: float) -> None:
    assert read_quantity(written, ["a"]).bound.parameters == {"beta": beta}


def test_names_in_rows_can_be_read_again() -> None:
    for bound in (find("f2"), find("f0.5"), find("weighted_accuracy", w2=3), find("LR+")):
        again = read_quantity(f"{bound.name}[a]", ["a"]).bound
        assert (again.measure, again.parameters) == (bound.measure, bound.parameters)


def test_betas_that_print_alike_are_not_the_same_measure() -> None:
    result = evaluate(matrix=[[30, 10], [5, 55]], labels=["a", "b"])
    wanted = {}
    for beta in (1.5, 1.5000004):
        square = beta * beta
        wanted[beta] = (1 + square) * 30 / ((1 + square) * 30 + square * 10 + 5)
    for beta, value in wanted.items():
        assert result[f"f_score(beta={beta})[a]"].value == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("acuracy", "did you mean 'accuracy'"),
        ("recall[c]", "There is no class 'c'"),
        ("macro recall[a]", "asks for one class and for an average"),
        ("f_score(2)", "is not a parameter"),
        ("f_score(gamma=2)", "f_score has no parameter 'gamma'"),
        ("f_score(beta=0)", "beta of f_score must be a positive number"),
        ("f_score(beta=-1)", "beta of f_score must be a positive number"),
        ("f_score(beta=nan)", "beta of f_score must be a positive number"),
        ("kappa(weights=cubic)", "kappa has no weights 'cubic'"),
        ("weighted_accuracy(w1=0, w2=0, w3=0, w4=0)", "are all zero"),
        ("", "does not name a measure"),
    ],
)
def test_what_cannot_be_read_is_refused_by_name(written: str, text: str) -> None:
    with pytest.raises(OptionError, match=text.replace("(", r"\(")):
        read_quantity(written, ["a", "b"])


def test_averages_that_do_not_exist_are_refused() -> None:
    result = evaluate(matrix=[[3, 1], [2, 5]])
    with pytest.raises(OptionError, match="accuracy has no macro average"):
        _ = result["macro accuracy"]
    with pytest.raises(OptionError, match="There is no average 'median'"):
        result.get("recall", average="median")  # type: ignore[arg-type]


def test_the_range_of_every_measure_is_reached() -> None:
    # Everything right reaches one end, everything wrong the other.
    tables = ([[20, 0], [0, 30]], [[0, 20], [30, 0]])
    results = [evaluate(matrix=table, measures="accuracy") for table in tables]
    bounded = [measure for measure in MEASURES if measure.scope == "class" and math.isfinite(measure.high)]
    directed = [measure for measure in bounded if measure.direction in ("higher", "lower")]
    assert directed
    for measure in directed:
        values = {result.get(measure.name, class_=0).value for result in results}
        assert {measure.low, measure.high} <= values, measure.name


@pytest.mark.parametrize("name", ["f11", "f99999", "macro f11", "f_20"])
def test_a_beta_that_nobody_writes_in_a_name_is_a_slip(name: str) -> None:
    with pytest.raises(OptionError, match=r"(?s)There is no measure 'f.*With a beta of \d+ it is f_score\(beta=\d+\)"):
        read_quantity(name, (0, 1))
    # Names that are printed are read again.
    for beta in (0.5, 1, 2, 10, 11, 99999):
        bound = find("f_score", beta=beta)
        assert find(bound.name).parameters == bound.parameters
