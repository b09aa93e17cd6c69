"""Merging tallied probabilities: parts add up to the whole, in any order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heldout.engines.probability_sums import tally, tally_classes
from heldout.engines.score_sort import rank
from heldout.errors import ValuesError
from heldout.evidence.losses import LOSSES
from heldout.evidence.probabilities import Moments
from heldout.evidence.probability_bins import BinChoice, with_bins

SIZES = st.integers(1, 40)


def same(one, two):
    """All sums alike, apart from the order of adding."""
    assert (one.n, one.clipped, one.weighted) == (two.n, two.clipped, two.weighted)
    for name in LOSSES:
        first, second = one.losses[name], two.losses[name]
        assert first.total == pytest.approx(second.total, rel=1e-12, abs=1e-12)
        np.testing.assert_allclose(first.about(0.5), second.about(0.5), rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(one.class_losses[name], two.class_losses[name], rtol=1e-11, atol=1e-11)
    for name in ("class_weight", "ranks", "rank_squares"):
        if getattr(one, name) is not None:
            np.testing.assert_allclose(getattr(one, name), getattr(two, name), rtol=1e-11, atol=1e-11)
    for name in ("cases", "weight", "observed", "gap", "squares", "spread", "noise", "expected_noise"):
        np.testing.assert_allclose(
            getattr(one.reliability, name), getattr(two.reliability, name), rtol=1e-9, atol=1e-11, err_msg=name
        )


def cases(seed: int, n: int, *, weighted: bool, grouped: bool, classes: int):
    rng = np.random.default_rng(seed)
    weight = rng.integers(0, 4, n) / 2 + 0.5 if weighted else None
    group = rng.integers(0, 3, n) if grouped else None
    if classes == 2:
        return np.round(rng.random(n), 2), rng.random(n) < 0.4, weight, group
    table = rng.integers(1, 5, (n, classes)).astype(float)
    return table / table.sum(axis=1, keepdims=True), rng.integers(0, classes, n), weight, group


def counted(part, data, classes: int):
    p, truth, weight, group = data
    keys = np.array(["a", "b", "c"])
    return (tally if classes == 2 else tally_classes)(
        p[part],
        truth[part],
        None if weight is None else weight[part],
        None if group is None else (group[part], keys),
    )


@given(st.integers(0, 10_000), SIZES, SIZES, SIZES, st.booleans(), st.booleans(), st.sampled_from([2, 4]))
def test_parts_add_up_to_the_whole(seed, a, b, c, weighted, grouped, classes):
    data = cases(seed, a + b + c, weighted=weighted, grouped=grouped, classes=classes)
    whole = counted(slice(None), data, classes)
    one, two, three = (counted(part, data, classes) for part in (slice(a), slice(a, a + b), slice(a + b, None)))
    same((one + two) + three, whole)
    same(one + (two + three), whole)
    same(two + three + one, whole)
    if grouped:
        merged = (one + two + three).groups
        np.testing.assert_allclose(merged.weight, whole.groups.weight, atol=1e-11)
        for name in LOSSES:
            np.testing.assert_allclose(merged.losses[name], whole.groups.losses[name], atol=1e-11)
        for sparse, other in ((merged.gaps, whole.groups.gaps), (merged.ranks, whole.groups.ranks)):
            if sparse is not None:
                assert sparse.group.tolist() == other.group.tolist()
                assert sparse.place.tolist() == other.place.tolist()
                np.testing.assert_allclose(sparse.total, other.total, atol=1e-11)


@given(st.integers(0, 10_000), SIZES, st.sampled_from([2, 4]))
def test_weights_are_repetitions(seed, n, classes):
    p, truth, _, _ = cases(seed, n, weighted=False, grouped=False, classes=classes)
    times = np.random.default_rng(seed).integers(1, 4, n)
    one = counted(slice(None), (p, truth, times.astype(float), None), classes)
    many = counted(slice(None), (np.repeat(p, times, axis=0), np.repeat(truth, times), None, None), classes)
    for name in LOSSES:
        np.testing.assert_allclose(one.losses[name].about(0.1)[0], many.losses[name].about(0.1)[0], atol=1e-10)
    for name in ("weight", "observed", "gap", "squares", "spread"):
        np.testing.assert_allclose(getattr(one.reliability, name), getattr(many.reliability, name), atol=1e-10)
    if classes > 2:
        np.testing.assert_allclose(one.ranks, many.ranks)


@given(st.lists(st.floats(0, 40), min_size=1, max_size=30), st.floats(-5, 5), st.integers(0, 1000))
def test_moments_about_any_centre(losses, centre, seed):
    loss = np.array(losses)
    weight = np.random.default_rng(seed).random(len(loss)) + 0.1
    found = Moments.of(loss, weight).about(centre)
    for a in (1, 2, 3):
        for b in range(4):
            wanted = sum(w**a * (x - centre) ** b for w, x in zip(weight, loss, strict=True))
            assert found[a - 1, b] == pytest.approx(wanted, rel=1e-9, abs=1e-6)


def test_what_was_tallied_differently_does_not_merge():
    p, truth = np.array([0.2, 0.7]), np.array([False, True])
    seen = tally(p, truth)
    for other in (
        with_bins(seen, rank(p, truth), BinChoice(5, "uniform")),
        tally(p, truth, np.ones(2)),
        tally(p, truth, group=(np.array([0, 1]), np.array([0, 1]))),
        tally_classes(np.stack([1 - p, p], axis=1), truth.astype(int)),
    ):
        with pytest.raises(ValuesError, match="cannot be merged"):
            seen + other


def test_keys_of_two_kinds_stay_apart():
    p, truth, group = np.array([0.2, 0.7]), np.array([False, True]), np.array([0, 1])
    numbers, texts = (tally(p, truth, group=(group, np.array(keys))) for keys in ([1, 2], ["1", "2"]))
    groups = (numbers + texts + numbers).groups
    assert groups is not None
    assert groups.keys.tolist() == [1, 2, "1", "2"]
    assert groups.weight.tolist() == [2, 2, 1, 1]
