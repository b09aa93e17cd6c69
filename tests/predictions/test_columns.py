"""Which column is which: guessed from usual names, and never in doubt."""

from __future__ import annotations

import pandas as pd
import pytest

import heldout
from heldout.predictions.column_roles import USUAL_NAMES, guess


@pytest.mark.parametrize("role", USUAL_NAMES)
def test_every_usual_name_is_found_in_any_spelling(role):
    for name in USUAL_NAMES[role]:
        for written in (name, name.upper(), name.replace("_", " "), name.replace("_", "-"), f" {name}."):
            assert guess(role, ["id", written, "note"], "x.csv") == written


def test_no_name_is_usual_for_both():
    assert not set(USUAL_NAMES["truth"]) & set(USUAL_NAMES["predicted"])


def test_several_candidates_are_named():
    with pytest.raises(heldout.HeldoutError) as refused:
        guess("truth", ["label", "pred", "class"], "x.csv")
    assert refused.value.what == "x.csv has several columns that may be truth: label, class."
    assert refused.value.hint == "choose one, for example --truth label."


def test_no_candidate_lists_what_there_is():
    with pytest.raises(heldout.HeldoutError) as refused:
        guess("predicted", ["id", "a b"], "x.csv")
    assert "It has: id, a b." in refused.value.what
    assert "--predicted COLUMN" in refused.value.hint


def test_a_column_that_is_not_there_is_likely_a_slip():
    frame = pd.DataFrame({"y": [1], "pred": [1]})
    with pytest.raises(heldout.HeldoutError) as refused:
        heldout.count(frame, predicted="perd")
    assert str(refused.value) == "The data frame has no column 'perd'. It has: y, pred.\nHint: did you mean 'pred'?"


def test_errors_name_the_role_and_the_column():
    frame = pd.DataFrame({"y": [1, 0], "p": [0.25, 1.5]})
    with pytest.raises(heldout.HeldoutError, match=r"predicted \(column 'p'\) holds numbers that are not whole"):
        heldout.count(frame, predicted="p")


def test_what_was_guessed_and_what_was_not_used_is_said():
    frame = pd.DataFrame({"y_true": [1, 0], "y_pred": [1, 0], "Weight": [1, 2]})
    seen = heldout.evaluate(frame)
    assert seen.source.guessed == ("truth", "predicted")
    assert seen.source.sentence() == "truth = y_true, predicted = y_pred"
    assert seen.notes == ("the column 'Weight' of the data frame was not used; weight='Weight' would use it",)
    assert heldout.evaluate(frame, weight="Weight").notes == ()


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ({}, "no truth column"),
        ({"truth": [1]}, "no predicted column"),
        ({"data": [1], "truth": [1], "predicted": [1]}, "truth was given twice"),
        ({"truth": "y", "predicted": "p"}, "no data frame or file was given"),
        ({"data": pd.DataFrame([[1, 1]], columns=["y", "y"])}, "same name"),
        ({"data": {"y": [1]}, "truth": "y", "predicted": "y"}, "same column of the dictionary"),
        ({"data": pd.DataFrame([[1, 1]])}, "It has: 0, 1."),
        ({"data": {"y": [1], "p": [1, 2]}, "predicted": "p"}, "truth has 1, predicted has 2"),
        ({"data": "\0"}, "There is no file"),
        ({"data": "x" * 5000}, "There is no file"),
    ],
    ids=lambda x: str(x)[:40],
)
def test_calls_that_make_no_sense_are_refused(call, said):
    with pytest.raises(heldout.HeldoutError) as refused:
        heldout.count(**call)
    assert said in refused.value.what
