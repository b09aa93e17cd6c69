"""Everything that was counted: what merges, what is refused and how, and what the whole says of its parts."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from heldout.engines.memory import counted, left_out
from heldout.errors import HeldoutError, MatrixError
from heldout.evidence.confusion import Confusion
from heldout.evidence.counted import Counted
from heldout.evidence.partitions import join_slices, natural
from heldout.predictions.source import gather

RNG = np.random.default_rng(7)
N = 400
TRUTH = RNG.choice(["no", "yes"], N)
SCORE = np.round(RNG.random(N), 2)
SEX = RNG.choice(["f", "m"], N)
AGE = RNG.choice([20, 30, 100], N)
FOLD = RNG.integers(1, 4, N)
WEIGHT = RNG.integers(1, 9, N) / 8
GROUP = RNG.integers(0, 30, N)


def of(rows, pairs=True, **other):
    given = {"weight": WEIGHT[rows], "fold": FOLD[rows], **other}
    roles = {role: given.get(role) for role in ("weight", "fold", "group", "predicted")}
    slices = other.get("slices", {"sex": SEX[rows], "age": AGE[rows]})
    options = {name: other[name] for name in ("labels", "positive", "threshold", "missing") if name in other}
    return counted(
        gather(TRUTH[rows], roles, score=other.get("score", SCORE[rows]), slices=slices, **options)[0], pairs=pairs
    )


def plain(truth, predicted, **options):
    return counted(gather(truth, {"predicted": predicted}, **options)[0])


@pytest.mark.parametrize("grouped", [False, True])
def test_parts_are_the_whole(grouped):
    def part(rows):
        return of(rows, group=GROUP[rows]) if grouped else of(rows)

    whole = part(slice(None))
    parts = [part(slice(0, 7)), part(slice(7, 200)), part(slice(200, None))]
    assert whole.differing(sum(parts), relative=1e-12) == ()
    assert whole.differing(parts[2] + (parts[0] + parts[1]), relative=1e-12) == ()
    assert whole.rows == whole.n == N
    assert set(whole.pairs) == {("sex", "age")}


def test_every_field_that_differs_is_named():
    whole = of(slice(None))
    assert whole == of(slice(None))
    assert whole != "something else"
    other = dataclasses.replace(whole, rows=1, positive="no")
    assert whole.differing(other) == ("positive", "rows")
    bins = dataclasses.replace(whole.scores.bins[0], least=-1.0)
    changed = dataclasses.replace(whole, scores=dataclasses.replace(whole.scores, bins=(bins,)))
    assert whole.differing(changed) == ("scores.bins[0].least",)


@pytest.mark.parametrize(
    ("one", "two", "said"),
    [
        ({}, {"score": None, "predicted": TRUTH}, "with scores and evidence without"),
        ({}, {"fold": None}, "with folds and evidence without"),
        ({}, {"weight": None}, "Weighted and unweighted"),
        ({}, {"group": GROUP}, "with groups and evidence without"),
        ({}, {"threshold": 0.3}, "from scores of at least 0.5 on one side, from scores of at least 0.3 on the other"),
        ({}, {"predicted": TRUTH}, "from scores of at least 0.5 on one side, given in a column on the other"),
        ({}, {"positive": "no"}, "'yes' on one side and 'no' on the other"),
        ({}, {"slices": {"sex": SEX}}, "One side has 'sex', 'age', the other 'sex'"),
        ({}, {"slices": None}, "the other none"),
    ],
)
def test_what_was_counted_in_different_ways_is_refused(one, two, said):
    with pytest.raises(MatrixError, match=said) as caught:
        of(slice(None), **one) + of(slice(None), **two)
    assert caught.value.hint
    with pytest.raises(TypeError):
        of(slice(None)) + 1


def test_a_class_that_one_part_lacks_joins():
    first, second = plain(["a", "b"], ["a", "a"]), plain(["c", "a"], ["b", "a"])
    assert (first + second).confusion.matrix.tolist() == [[2, 0, 0], [1, 0, 0], [0, 1, 0]]


def test_the_usual_positive_class_is_that_of_all_labels():
    both, one, other = plain(["no", "yes"], ["no", "no"]), plain(["no"], ["no"]), plain(["maybe"], ["no"])
    assert (both + one).positive == (one + both).positive == "yes"
    assert (both + other).positive is None
    assert (both + (one + other)).positive is ((both + one) + other).positive is None


def test_one_score_is_not_for_three_classes():
    with pytest.raises(HeldoutError, match="3 classes: no, surely, yes"):
        counted(gather(["no", "yes"], {}, score=[0.1, 0.9])[0]) + counted(
            gather(["surely", "yes"], {}, score=[0.1, 0.9], positive="yes")[0]
        )


def test_scores_of_every_class_need_the_same_labels():
    table = RNG.dirichlet(np.ones(3), 9)
    codes = np.arange(9) % 3

    def part(labels):
        return counted(gather(np.array(labels)[codes], {}, score=table, labels=labels)[0])

    assert (part(["a", "b", "c"]) + part(["a", "b", "c"])).scores.bins[0].n == 18
    with pytest.raises(MatrixError, match="a score for each of a, b, c, and a score for each of c, b, a") as caught:
        part(["a", "b", "c"]) + part(["c", "b", "a"])
    assert "labels=" in caught.value.hint


def test_scores_that_are_no_probabilities_leave_no_losses():
    def part(scores):
        return counted(
            gather(["no", "yes"] * 2, {"predicted": ["no", "yes"] * 2, "fold": [1, 1, 2, 2]}, score=scores)[0]
        )

    fine, wide = part([0.1, 0.9, 0.2, 0.7]), part([-2.0, 3.5, 0.1, 0.2])
    for both in (fine + wide, wide + fine):
        assert both.scores.probabilities is None
        assert both.scores.not_probability == "the scores run from -2 to 3.5"
        assert [tally.probabilities for tally in both.fold_scores] == [None, None]
        assert both.scores.bins[0].n == 8


def test_rows_that_were_left_out_add_up_in_the_order_of_the_roles():
    def part(truth, score):
        return counted(gather(truth, {}, score=score, missing="drop")[0])

    both = part([0, 1, 1], [0.1, np.nan, 0.3]) + part([0, None, 1, 1], [0.1, 0.2, np.nan, 0.8])
    assert (both.rows, both.lost, both.n) == (7, 3, 4)
    assert list(both.missing.items()) == [("truth", 1), ("score", 2)]


def test_what_was_left_out_is_known_whatever_the_notes_say():
    gaps = [None, 1, None, 0] * 1000
    predictions = gather(gaps, {"predicted": [1, None, None, 0] * 1000}, missing="drop")[0]
    assert left_out(predictions) == (4000, 3000, {"truth": 2000, "predicted": 2000})
    assert left_out(dataclasses.replace(predictions, notes=("said",))) == left_out(predictions)
    assert counted(predictions).notes == ()
    assert left_out(gather([1, 0], {"predicted": [1, 0]})[0]) == (2, 0, {})


def test_slices_join_by_their_names_wherever_they_stand():
    first = counted(gather([0, 1, 1], {"predicted": [0, 1, 0]}, slices={"age": [9, 11, 9]})[0])
    second = counted(gather([0, 1, 1], {"predicted": [1, 1, 0]}, slices={"age": [10, 9, None]})[0])
    both = first + second
    assert both.slices[0].labels == ("9", "10", "11", "(missing)")
    assert [both.slices[0].counts[at].n_cases for at in range(4)] == [3, 1, 1, 1]
    assert both == second + first


def test_bins_that_were_cut_in_different_places_are_refused():
    def part(low):
        ages = np.arange(low, low + 40)
        return counted(gather([0, 1] * 20, {"predicted": [0, 1] * 20}, slices={"age": ages})[0])

    assert (part(0) + part(0)).slices[0].kind == "bins"
    with pytest.raises(MatrixError, match="The slices of 'age' were cut in different places") as caught:
        part(0) + part(20)
    assert "before counting" in caught.value.hint


@pytest.mark.parametrize(
    ("one", "two", "joined"),
    [
        (("a", "c"), ("b",), ("a", "b", "c")),
        (("2", "10"), ("9.5",), ("2", "9.5", "10")),
        (("low", "high"), ("high", "top", "(missing)"), ("low", "high", "top", "(missing)")),
        (("a", "(missing)"), ("b", "(other)"), ("a", "b", "(other)", "(missing)")),
    ],
)
def test_names_of_slices_join_in_their_natural_order(one, two, joined):
    assert join_slices(one, two) == joined
    assert natural(natural(one)) == natural(one)


def test_a_case_that_stands_twice_is_no_count():
    twice = gather([0, 1, 0, 1], {"predicted": [0, 1, 1, 1], "fold": [1, 1, 2, 2], "id": ["a", "b", "a", "b"]})[0]
    with pytest.raises(HeldoutError, match="'a' stands in 2 rows"):
        counted(twice)
    assert counted(gather([0, 1], {"predicted": [0, 1], "fold": [1, 2], "id": ["a", "b"]})[0]).n == 2


def test_counts_need_no_rows_to_be_one():
    assert Counted(Confusion.of([[3, 1], [0, 2]])).labels == (0, 1)
