"""Why scores are no probabilities: the words, and the same facts of the whole whatever the parts and their order."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heldout.engines.memory import counted
from heldout.errors import ValuesError
from heldout.evidence.consistency import impossible
from heldout.evidence.probabilities import Unfit, joined
from heldout.evidence.storage import as_bytes, from_bytes
from heldout.predictions.case_values import Scores
from heldout.predictions.source import gather

LABELS = ["a", "b", "c"]
# Sums of these are exact in any order.
EIGHTHS = st.integers(0, 8).map(lambda number: number / 8)
FINE = st.sampled_from([[0.25, 0.25, 0.5], [0.0, 1.0, 0.0], [0.125, 0.375, 0.5]])
OFF = st.tuples(EIGHTHS, EIGHTHS, EIGHTHS).map(list)
BEYOND = st.tuples(st.sampled_from([-1.5, 1.25, 4.0]), EIGHTHS, EIGHTHS).flatmap(st.permutations)


def part_of(rows, *, decision=False, per_class=True):
    """What is counted of rows of scores, of two classes or three; `decision` says that they are decision values."""
    table = np.array(rows)
    if not per_class:
        # Of two classes the column of the second is kept, and the other is looked at all the same.
        table = table[:, :2]
    labels = LABELS[: table.shape[1]]
    truth = np.array(labels)[np.arange(len(table)) % len(labels)]
    roles = {"predicted": truth, "fold": np.arange(len(table)) % 2}
    predictions = gather(truth, roles, score=table, labels=labels, positive=None if per_class else "b")[0]
    held = predictions.scores
    if decision and held is not None:
        predictions = replace(predictions, scores=Scores(held.values, Unfit(decision=True)))
    return counted(predictions)


# The rows of a part, and whether they are decision values.
KINDS = ((FINE, False), (OFF, False), (BEYOND, False), (FINE, True))
PARTS = st.lists(
    st.sampled_from(KINDS).flatmap(lambda kind: st.tuples(st.lists(kind[0], min_size=1, max_size=4), st.just(kind[1]))),
    min_size=2,
    max_size=6,
)


@settings(max_examples=80, deadline=None)
@given(PARTS, st.booleans(), st.randoms(use_true_random=False))
def test_parts_in_any_order_and_grouping_and_through_files_have_one_reason(drawn, per_class, random):
    def merged():
        held = [part_of(rows, decision=decision, per_class=per_class) for rows, decision in drawn]
        random.shuffle(held)
        while len(held) > 1:
            at = random.randrange(len(held) - 1)
            held[at : at + 2] = [held[at] + from_bytes(as_bytes(held[at + 1]), "part")]
        return held[0]

    reasons = [part_of(rows, decision=decision, per_class=per_class).scores.unfit for rows, decision in drawn]
    if not per_class and len({reason is not None and reason.decision for reason in reasons}) > 1:
        # Of two columns some parts hold one as it was, and others the difference of both.
        with pytest.raises(ValuesError, match="some parts hold probabilities and others do not"):
            merged()
        return
    one, two = merged(), merged()
    assert one.scores.unfit == two.scores.unfit
    assert (one.scores.unfit is None) == (one.scores.probabilities is not None)
    assert {tally.unfit for tally in one.fold_scores} == {one.scores.unfit}
    assert impossible(one) == ""


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(FINE | OFF | BEYOND, min_size=1, max_size=4), min_size=2, max_size=5))
def test_the_reason_of_the_parts_is_that_of_all_their_rows(drawn):
    found = sum(part_of(rows) for rows in drawn).scores.unfit
    table = np.array([row for rows in drawn for row in rows])
    gap = np.abs(table.sum(axis=1) - 1)
    if table.min() < 0 or table.max() > 1:
        assert found == Unfit(ends=(table.min(), table.max()))
    elif gap.any():
        # The sum that is furthest off is named; its row is not, because the parts do not know where they stand.
        assert found == Unfit(total=found.total)
        assert found.total in table.sum(axis=1)[gap == gap.max()]
    else:
        assert found is None


def test_the_reason_is_that_of_all_rows_together():
    assert joined([Unfit(ends=(0.0, 7.0))], 0.0, 9.0).sentence() == "the scores run from 0 to 9"
    sums = [Unfit(total=1.1, row=3), Unfit(total=0.2, row=9)]
    for both in (sums, sums[::-1]):
        assert joined(both, 0, 1).sentence() == "the scores of a row sum to 0.2 instead of 1"
    assert joined([Unfit(decision=True), *sums], 0, 1).sentence() == "the scores are decision values"


def test_the_row_is_named_where_rows_are_known():
    assert part_of([[0.5, 0.5, 0.0], [0.5, 0.5, 0.25]]).scores.not_probability == (
        "the scores of row 2 sum to 1.25 instead of 1"
    )


@pytest.mark.parametrize(
    "wrong",
    [
        Unfit(),
        Unfit(ends=(0.0, 1.0)),
        Unfit(ends=(3.0, -2.0)),
        Unfit(ends=(-np.inf, 2.0)),
        Unfit(ends=(-1.0, 2.0), decision=True),
        Unfit(total=np.nan),
        Unfit(total=0.5, row=0),
        Unfit(decision=True, row=3),
    ],
    ids=str,
)
def test_a_reason_that_cannot_be_is_refused(wrong):
    made = part_of([[0.5, 0.5, 0.25], [0.5, 0.25, 0.25]])
    assert impossible(made) == ""
    assert "why the scores are no" in impossible(replace(made, scores=made.scores.without_probabilities(wrong)))
    folds = tuple(tally.without_probabilities(wrong) for tally in made.fold_scores)
    assert "why the scores of a fold are no" in impossible(replace(made, fold_scores=folds))
