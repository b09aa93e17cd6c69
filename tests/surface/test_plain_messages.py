"""Messages that name what was given, in the words of the door that was used, and say what to do."""

from __future__ import annotations

import pickle

import numpy as np
import polars as pl
import pytest

import heldout
from heldout.engines.memory import refuse_copies

TRUTH, PREDICTED = [0, 1] * 20, [0, 1, 1, 1] * 10


def test_guessed_columns_of_a_frame_are_changed_by_arguments(run, tmp_path):
    frame = pl.DataFrame({"y_true": TRUTH, "y_pred": PREDICTED})
    assert "truth=, predicted= to change" in " ".join(str(heldout.evaluate(frame)).split())
    frame.write_csv(tmp_path / "cases.csv")
    assert "--truth, --predicted to change" in " ".join(run("evaluate", str(tmp_path / "cases.csv"))[1].split())


def test_display_names_are_no_labels():
    with pytest.raises(heldout.HeldoutError, match=r"Hint: labels are values that occur, such as 0, 1, and no names"):
        heldout.evaluate(TRUTH, PREDICTED, target_names=["n", "y"])  # type: ignore[call-arg]
    with pytest.raises(heldout.HeldoutError, match=r"leave out classes that occur: 1\. .*\nHint: name every"):
        heldout.evaluate(TRUTH, PREDICTED, labels=[0])


def test_batches_of_single_values():
    with pytest.raises(
        heldout.HeldoutError, match=r"^Batch 1 is no pair of two columns.* It is a pair of single values"
    ):
        heldout.evaluate(zip([0, 1], [0, 1], strict=True))


def test_the_flag_that_was_given_is_named(run, tmp_path):
    pl.DataFrame({"y_true": TRUTH, "y_pred": PREDICTED}).write_csv(tmp_path / "cases.csv")
    for flag, said in (("-o", "--output"), ("--html", "--html")):
        status, _, err = run("evaluate", str(tmp_path / "cases.csv"), flag, str(tmp_path / "none" / "x.html"))
        assert (status, err.split(" cannot write")[0]) == (2, said)


def test_one_of_something_is_singular():
    assert "1 id stands in more than one" in refuse_copies("a", 2, 1).what
    assert "3 ids stand in more than one" in refuse_copies("a", 2, 3).what
    score = np.array([0.9, 0.1] * 20)
    score[0] = 0.0
    note = heldout.evaluate([1, 0] * 20, score=score).interval("log_loss").note
    assert "1 of the probabilities of what came true is 0, and counts" in note


def test_a_pickle_is_refused_in_one_sentence(run, tmp_path):
    (tmp_path / "x.pkl").write_bytes(pickle.dumps({"a": [1] * 100}))
    status, _, err = run("evaluate", str(tmp_path / "x.pkl"))
    assert status == 2
    assert err.startswith(f"{tmp_path / 'x.pkl'} is a pickle of Python, which ")
    assert "code, which cannot" not in err
