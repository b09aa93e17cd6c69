"""An evaluation of counts says what one of the rows says, but for what only rows can tell."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from heldout.api.check import check
from heldout.api.evaluate import evaluate
from heldout.engines.memory import counted
from heldout.errors import OptionError
from heldout.evidence.counted import Counted
from heldout.predictions.source import gather
from heldout.results.evaluation import Evaluation
from heldout.show.blocks import Section
from heldout.show.html import render_html

N = 400
NAMES = np.array(["no", "yes"])
COSTS = {("yes", "no"): 10, ("no", "yes"): 1}
# Rules that look at single rows unless the predicted classes were made from the scores at a threshold.
ROWS = ("H011", "H023")
# Rules that look at nothing but single rows.
ROWS_ALONE = ("H029", "H065", "H067", "H075")
ROLES = ("truth", "predicted", "weight", "group", "fold", "id")


def two_classes(**more: Any) -> dict[str, Any]:
    """Columns of a binary problem; those that `more` names as True are added."""
    draw = np.random.default_rng(7)
    truth = draw.integers(0, 2, N)
    score = np.clip(0.5 + 0.3 * (truth - 0.5) + draw.normal(0, 0.25, N), 0, 1).round(3)
    columns: dict[str, Any] = {
        "predicted": NAMES[(score + draw.normal(0, 0.1, N) > 0.5).astype(int)],
        "score": score,
        "weight": draw.integers(1, 9, N) / 8,
        "group": draw.integers(0, 60, N),
        "fold": np.arange(N) % 5,
        "slices": {
            "sex": NAMES[draw.integers(0, 2, N)],
            "age": draw.integers(18, 80, N),
            "site": np.array(list("abc"))[draw.integers(0, 3, N)],
        },
        "costs": COSTS,
    }
    given = {name: columns[name] if value is True else value for name, value in more.items()}
    return {"data": NAMES[truth], **given}


def three_classes(times: float = 1.0, **more: Any) -> dict[str, Any]:
    """Columns of a problem of three classes with a score for each."""
    draw = np.random.default_rng(8)
    truth = draw.integers(0, 3, N)
    score = draw.dirichlet([1, 1, 1], N)
    score[np.arange(N), truth] += 0.5
    score = (score / score.sum(axis=1, keepdims=True)).round(3)
    columns = {"weight": draw.integers(1, 9, N) / 8, "group": draw.integers(0, 60, N), "fold": np.arange(N) % 4}
    given = {name: columns[name] if value is True else value for name, value in more.items()}
    labels = np.array(["x", "y", "z"])
    return {"data": labels[truth], "score": times * score / score.sum(axis=1, keepdims=True), **given}


def without_some() -> dict[str, Any]:
    """Columns of which rows lack values."""
    made = two_classes(score=True, predicted=True)
    truth, score = made["data"].astype(object), made["score"].copy()
    truth[[3, 7]], score[[7, 9]] = None, np.nan
    return {**made, "data": truth, "score": score, "missing": "drop"}


def many_classes() -> dict[str, Any]:
    """Many classes, none of which is positive."""
    draw = np.random.default_rng(9)
    truth = draw.permutation(np.repeat(np.arange(101), 4))
    return {"data": truth, "predicted": np.where(draw.random(404) < 0.6, truth, draw.permutation(truth))}


SCENARIOS: dict[str, Callable[[], dict[str, Any]]] = {
    "two classes": lambda: two_classes(predicted=True),
    "with scores": lambda: two_classes(predicted=True, score=True),
    "from scores": lambda: two_classes(score=True),
    "at a threshold": lambda: two_classes(score=True, threshold=0.3),
    "the first class is positive": lambda: two_classes(score=True, positive="no"),
    "scores that are no probabilities": lambda: {
        "data": [0, 1] * 50,
        "score": np.arange(100) % 37 - 9.0,
        "threshold": 0,
    },
    "single precision": lambda: {
        "data": np.arange(300) % 2,
        "score": np.random.default_rng(1).random(300).astype(np.float32),
        "threshold": 0.3,
    },
    "weights": lambda: two_classes(score=True, weight=True),
    "groups": lambda: two_classes(score=True, group=True),
    "weights and groups": lambda: two_classes(predicted=True, score=True, group=True, weight=True),
    "folds": lambda: two_classes(predicted=True, score=True, fold=True),
    "folds of counts": lambda: two_classes(predicted=True, fold=True),
    "folds and weights": lambda: two_classes(score=True, fold=True, weight=True),
    "folds and groups": lambda: two_classes(score=True, fold=True, group=True),
    "folds, the first class positive": lambda: two_classes(score=True, fold=True, positive="no"),
    "one fold": lambda: two_classes(score=True, fold=["a"] * N),
    "slices": lambda: two_classes(predicted=True, slices=True),
    "slices and weights": lambda: two_classes(predicted=True, score=True, slices=True, weight=True),
    "slices and groups": lambda: two_classes(predicted=True, slices=True, group=True),
    "slices and folds": lambda: two_classes(predicted=True, slices=True, fold=True),
    "costs": lambda: two_classes(score=True, costs=True),
    "costs of given classes": lambda: two_classes(predicted=True, score=True, costs=True),
    "some measures": lambda: two_classes(predicted=True, score=True, measures=["recall", "roc_auc", "brier"]),
    "rows left out": without_some,
    "many classes": many_classes,
    "labels that were named": lambda: {"data": ["a", "b"] * 30, "predicted": ["b"] * 60, "labels": ["b", "a", "c"]},
    "no label in common": lambda: {"data": ["a"] * 30, "predicted": ["A"] * 30},
    "suspicious labels": lambda: {"data": ["Spam", "spam", "?"] * 20, "predicted": ["Spam", "?", "?"] * 20},
    "labels of two types": lambda: {"data": [0, 1] * 20, "predicted": ["0", "1"] * 20},
    "one class": lambda: {"data": ["yes"] * 20, "predicted": ["yes"] * 20, "score": np.arange(20) / 20},
    "groups and a score for each class": lambda: three_classes(group=True),
}
PER_CLASS: dict[str, Callable[[], dict[str, Any]]] = {
    "plain": three_classes,
    "no probabilities": lambda: three_classes(times=7.0),
    "weights": lambda: three_classes(weight=True),
    "folds": lambda: three_classes(fold=True),
    "two classes, none positive": lambda: {
        "data": np.array(["cat", "dog"])[np.arange(N) % 2],
        "score": np.stack([1 - np.arange(N) % 83 / 83, np.arange(N) % 83 / 83], axis=1),
    },
}


NEEDS_ROWS = ", which needs the rows (--engine memory)"


def count_rows(columns: dict[str, Any], **options: Any) -> Counted:
    """What the streaming engines would have counted of these columns."""
    reading: dict[str, Any] = {
        name: columns.get(name) for name in ("labels", "score", "positive", "threshold", "slices")
    }
    roles = {role: columns.get(role) for role in ROLES}
    held, _ = gather(columns["data"], roles, missing=columns.get("missing", "refuse"), **reading)
    return counted(held, **{"pairs": True, **options})


def both(columns: dict[str, Any]) -> tuple[Evaluation, Evaluation]:
    """The evaluation of the rows and that of what was counted of them."""
    judged = {name: columns[name] for name in ("costs", "measures") if name in columns}
    return evaluate(**columns, ignore=ROWS_ALONE), evaluate(count_rows(columns), **judged, ignore=ROWS_ALONE)


def document(seen: Evaluation, without: tuple[str, ...]) -> dict[str, Any]:
    """The JSON document without the fingerprint and without some rules."""
    made = seen.to_dict()
    del made["fingerprint"]
    made["findings"] = [one for one in made["findings"] if one["code"] not in without]
    made["passed"] = [code for code in made["passed"] if code not in without]
    made["not_applicable"] = {code: why for code, why in made["not_applicable"].items() if code not in without}
    return made


def differences(one: Any, two: Any, path: str = "") -> Iterator[str]:
    """Where two documents differ, floats by more than 1e-12 of their size."""
    if isinstance(one, dict) and isinstance(two, dict):
        yield from (f"{path}/{key}: only in one" for key in one.keys() ^ two.keys())
        for key in one.keys() & two.keys():
            yield from differences(one[key], two[key], f"{path}/{key}")
    elif isinstance(one, list) and isinstance(two, list) and len(one) == len(two):
        for place, (a, b) in enumerate(zip(one, two, strict=True)):
            yield from differences(a, b, f"{path}/{place}")
    elif isinstance(one, float) and isinstance(two, float):
        if not math.isclose(one, two, rel_tol=1e-12, abs_tol=1e-12):
            yield f"{path}: {one!r} and {two!r}"
    elif one != two:
        yield f"{path}: {one!r} and {two!r}"


@pytest.mark.parametrize("name", SCENARIOS)
def test_counts_say_what_rows_say(name: str) -> None:
    rows, counts = both(SCENARIOS[name]())
    without = ROWS if counts.threshold is None else ()
    assert counts.fingerprint == "" != rows.fingerprint
    made = document(counts, without)
    # Advice that only rows can follow says of counts how to have them, and nothing else.
    longer = [one for one in made["findings"] if NEEDS_ROWS in one["advice"]]
    assert bool(longer) == (name == "costs")
    for one in longer:
        one["advice"] = one["advice"].replace(NEEDS_ROWS, "")
    assert list(differences(document(rows, without), made)) == []
    if not without and not longer:
        assert str(counts) == str(rows)
        assert counts.to_markdown() == rows.to_markdown()


def page_parts(seen: Evaluation) -> dict[str, str]:
    """The parts of the page by name, as they are written."""
    blocks = [block for block in seen.page_blocks() if isinstance(block, Section)]
    return {block.name: render_html([block]) for block in blocks}


@pytest.mark.parametrize("name", ["at a threshold", "weights", "folds and groups", "slices and groups"])
def test_the_page_of_counts_is_that_of_rows_but_for_single_cases(name: str) -> None:
    columns = SCENARIOS[name]()
    if "score" in columns:
        # Few distinct scores, so that there are few positions of the threshold to find limits for.
        columns["score"] = columns["score"].round(1)
    rows, counts = (page_parts(seen) for seen in both(columns))
    assert rows.keys() == counts.keys()
    alike = {part for part in rows if rows[part] == counts[part]}
    assert rows.keys() - alike == ({"hardest", "provenance"} if "hardest" in rows else {"provenance"})
    assert "rows were counted and not kept" in counts.get("hardest", "rows were counted and not kept")
    assert "fingerprint" not in counts["provenance"]


@pytest.mark.parametrize("name", PER_CLASS)
def test_areas_of_many_columns_are_the_same_and_their_limits_never_narrower(name: str) -> None:
    rows, counts = both(PER_CLASS[name]())
    assert len(rows.estimates) == len(counts.estimates)
    for one, two in zip(rows.estimates, counts.estimates, strict=True):
        assert one.name == two.name
        assert two.value == pytest.approx(one.value, rel=1e-12, nan_ok=True)
        if one.method == two.method:
            assert (two.low, two.high) == pytest.approx((one.low, one.high), rel=1e-12, nan_ok=True)
            continue
        assert two.method == f"{one.method}, at most"
        assert two.low <= one.low + 1e-12 <= one.high <= two.high + 1e-12
    assert any(e.method.endswith("at most") for e in counts.estimates)


def test_limits_of_areas_are_those_of_rows_where_all_columns_go_together() -> None:
    """The bound is reached where every case has the same influence by each column."""
    rows, counts = both(PER_CLASS["two classes, none positive"]())
    one, two = (seen.get("roc_auc", average="macro") for seen in (rows, counts))
    assert (two.low, two.high) == pytest.approx((one.low, one.high), rel=1e-9)


def test_areas_at_the_edge_have_the_limits_of_rows() -> None:
    """Where nothing varies the limits come from the rankings of two classes, which bins know."""
    truth = np.repeat(["x", "y", "z"], 12)
    score = np.eye(3)[np.repeat([0, 1, 2], 12)]
    rows, counts = both({"data": truth, "score": score})
    for name in ("macro roc_auc", "weighted roc_auc", "hand_till_auc"):
        one, two = rows[name], counts[name]
        assert (two.value, two.low, two.high) == pytest.approx((1.0, one.low, one.high), rel=1e-12)


@pytest.mark.parametrize("measure", ["recall[yes]", "macro f1", "expected_cost"])
def test_slices_can_be_asked_for_any_measure_of_counts(measure: str) -> None:
    columns = two_classes(predicted=True, slices=True, costs=True)
    rows, counts = both(columns)
    for ask in ("slices", "worst_slices"):
        one, two = (getattr(seen, ask)(measure).to_dict() for seen in (rows, counts))
        assert list(differences(one, two)) == []


def test_scores_in_single_slices_are_refused_with_a_way_out() -> None:
    seen = both(two_classes(predicted=True, score=True, slices=True))[1]
    with pytest.raises(OptionError, match="of scores in single slices nothing was kept") as caught:
        seen.slices("roc_auc")
    assert "filter the data" in caught.value.hint


def test_slices_of_two_columns_that_were_not_counted_are_said_to_be_left_out() -> None:
    seen = evaluate(count_rows(two_classes(predicted=True, slices=True), pairs=False))
    found = seen.worst_slices(depth=2)
    assert found.depth == 1
    assert any("two columns were not counted" in note for note in found.notes)
    assert "Slices of two columns were not counted" in str(seen)


def test_folds_with_weights_alone_do_not_tell_how_many_cases_they_have() -> None:
    rows, counts = both(two_classes(predicted=True, fold=True, weight=True))
    assert rows.review["H033"].outcome == "passed"
    assert counts.review["H033"].outcome == "not applicable"
    assert "not kept" in counts.review["H033"].title
    without = (*ROWS, "H033")
    assert list(differences(document(rows, without), document(counts, without))) == []


def test_the_hardest_cases_are_not_known() -> None:
    seen = both(two_classes(score=True))[1]
    assert "rows were counted and not kept" in seen.hardest().unavailable


def test_scores_of_one_class_are_not_taken_for_those_of_the_other() -> None:
    counts = count_rows(two_classes(score=True))
    with pytest.raises(OptionError, match="counted as those of the class 'yes', and 'no' was named") as caught:
        evaluate(counts, positive="no")
    assert "count again" in caught.value.hint
    assert evaluate(count_rows(two_classes(predicted=True)), positive="no").positive == "no"


def test_measures_of_the_class_that_scores_speak_against_are_those_of_rows() -> None:
    rows, counts = both(two_classes(score=True))
    for name in ("roc_auc[no]", "average_precision[no]"):
        one, two = rows[name], counts[name]
        assert (two.value, two.low, two.high) == pytest.approx((one.value, one.low, one.high), rel=1e-12)


@pytest.mark.parametrize("method", ["bootstrap", "delong", "hanley-mcneil"])
def test_other_methods_give_the_limits_of_rows(method: str) -> None:
    rows, counts = both(two_classes(score=True))
    one, two = (seen.interval("roc_auc", method=method, replicates=50) for seen in (rows, counts))
    assert (two.low, two.high) == pytest.approx((one.low, one.high), rel=1e-9)


def test_methods_over_folds_work_from_counts() -> None:
    columns = two_classes(predicted=True, score=True, fold=True)
    for name in ("accuracy", "roc_auc"):
        one, two = (seen.interval(name, method="corrected-t") for seen in both(columns))
        assert (two.value, two.low, two.high) == pytest.approx((one.value, one.low, one.high), rel=1e-12)
    values = [seen.per_fold("roc_auc") for seen in both(columns)]
    np.testing.assert_allclose(values[1], values[0], rtol=1e-12)


def test_a_gate_decides_by_counts() -> None:
    rows, counts = (check(seen, require=["recall >= 0.2", "roc_auc > 0.99"]) for seen in both(two_classes(score=True)))
    assert [one.outcome for one in counts.requirements] == [one.outcome for one in rows.requirements]
