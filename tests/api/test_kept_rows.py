"""A result is made of the values that were given: what a caller does to the arrays later changes nothing."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]
import pytest

import heldout

N = 60
rng = np.random.default_rng(5)
TRUTH = rng.integers(0, 2, N)
SCORE = np.clip(TRUTH * 0.3 + rng.random(N) * 0.7, 0, 1)
GIVEN = {
    "truth": TRUTH,
    "predicted": (SCORE > 0.5).astype(np.int64),
    "score": SCORE,
    "weight": rng.random(N) + 0.5,
    "group": rng.integers(0, 9, N),
    "fold": np.arange(N) % 3,
    "id": np.arange(N),
    "slices": rng.integers(0, 3, N),
}


def spoil(values: np.ndarray) -> None:
    values[:] = values[::-1].copy() if len(set(values.tolist())) > 2 else 1 - values


def as_arrays(column):
    values = column.copy()
    return values, lambda: spoil(values)


def as_narrow_arrays(column):
    narrow = np.float32 if column.dtype.kind == "f" else np.int8
    return as_arrays(column.astype(narrow))


def as_booleans(column):
    return as_arrays(column.astype(bool) if set(column.tolist()) == {0, 1} else column)


def as_lists(column):
    values = column.tolist()
    return values, values.reverse


def as_pandas(column):
    array = column.copy()
    values = pd.Series(array, copy=False)

    def change():
        values.iloc[:] = values.to_numpy()[::-1].copy()
        spoil(array)

    return values, change


def as_categories(column):
    if column.dtype.kind == "f":
        return as_pandas(column)
    values = pd.Series(pd.Categorical(column))

    def change():
        values.iloc[:] = values.to_numpy()[::-1].copy()
        if values.array.codes.flags.writeable:
            spoil(values.array.codes)

    return values, change


def as_arrow(column):
    array = column.copy()
    # Arrow and Polars take the memory of NumPy as it is.
    return pl.Series(pa.array(array)), lambda: spoil(array)


CONTAINERS = [as_arrays, as_narrow_arrays, as_booleans, as_lists, as_pandas, as_categories, as_arrow]


def everything(evaluation) -> str:
    asked = ["accuracy", "recall", "roc_auc", "brier", "average_precision", "ece"]
    values = [evaluation[name].to_dict() for name in asked]
    slices = evaluation.slices().rows()
    curve = evaluation.curve("roc").rows()
    return json.dumps([values, slices, curve, evaluation.fingerprint], default=str)


def given(container):
    made = {role: container(column) for role, column in GIVEN.items()}
    roles = {role: values for role, (values, _) in made.items()}
    roles["slices"] = {"site": roles["slices"]}
    return roles, {role: change for role, (_, change) in made.items()}


@pytest.mark.parametrize("role", GIVEN)
@pytest.mark.parametrize("container", CONTAINERS)
def test_an_evaluation_never_reads_the_arrays_of_the_caller_again(container, role):
    folded = role in ("fold", "id")

    def evaluated():
        roles, change = given(container)
        used = {name: values for name, values in roles.items() if folded or name not in ("fold", "id")}
        return heldout.evaluate(**used, measures=["accuracy"]), change

    expected = everything(evaluated()[0])
    result, change = evaluated()
    change[role]()
    assert everything(result) == expected


def test_scores_per_class_and_columns_of_a_frame_are_kept_too():
    truth = rng.integers(0, 3, N)
    scores = rng.dirichlet(np.ones(3), N)
    first = heldout.evaluate(truth, score=scores, measures=["accuracy"])
    expected = heldout.evaluate(truth, score=scores.copy())["macro roc_auc"].value
    scores[:] = scores[:, ::-1].copy()
    assert first["macro roc_auc"].value == expected
    frame = pd.DataFrame({"truth": TRUTH, "score": SCORE})
    second = heldout.evaluate(frame, measures=["accuracy"])
    expected = heldout.evaluate(TRUTH, score=SCORE)["roc_auc"].value
    frame.loc[:, "score"] = 1 - SCORE
    frame["truth"].array[:] = 1 - TRUTH
    assert second["roc_auc"].value == expected


def test_evidence_that_waits_for_its_classes_keeps_the_batch():
    def counted(spoiled):
        truth, score, weight = np.ones(4, dtype=int), np.array([0.9, 0.4, 0.8, 0.6]), np.array([1.0, 2, 1, 1])
        evidence = heldout.Evidence().update(truth, score=score, weight=weight)
        if spoiled:
            score[:], truth[:], weight[:] = 0.01, 0, 9
        return heldout.evaluate(evidence.update([0, 1], score=[0.2, 0.7], weight=[1.0, 1]))

    assert counted(spoiled=True)["roc_auc"].to_dict() == counted(spoiled=False)["roc_auc"].to_dict()


def test_comparisons_decisions_and_validations_keep_what_they_were_given():
    def made(spoiled):
        truth, a, b = TRUTH.copy(), SCORE.copy(), GIVEN["weight"] / 2
        first, second = (heldout.evaluate(truth, score=x, measures=["accuracy"]) for x in (a, b))
        compared = heldout.compare(first, second, measures="roc_auc")
        decision = heldout.choose_threshold(truth, score=a, by="f1")
        features, target = np.c_[SCORE, GIVEN["weight"]], TRUTH.copy()
        validation = heldout.validate("knn:3", features, target, plan="3-fold")
        if spoiled:
            truth[:], a[:], b[:] = 1 - truth, 1 - a, 1 - b
            features[:], target[:] = 0, 1 - target
        late = heldout.compare(first, second, measures="roc_auc")
        return [
            result.to_dict() for result in (compared, late, decision, validation, validation["roc_auc"], first["f1"])
        ] + [str(compared), str(decision), str(validation)]

    assert json.dumps(made(spoiled=True), default=str) == json.dumps(made(spoiled=False), default=str)
