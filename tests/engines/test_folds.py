"""Counting fold by fold gives what counting each fold by itself gives, in place or by sorting."""

from __future__ import annotations

import numpy as np
import pytest

from heldout import count
from heldout.engines import memory as engine
from heldout.engines.memory import count_folds
from heldout.predictions.table import assemble

RNG = np.random.default_rng(11)
N = 500
TRUTH = RNG.choice(["a", "b", "c", "d"], N, p=[0.5, 0.3, 0.15, 0.05])
PREDICTED = np.where(RNG.random(N) < 0.6, TRUTH, RNG.choice(["a", "b", "c", "d"], N))
WEIGHT = RNG.integers(1, 9, N) / 4
FOLDS = {
    "numbers": RNG.integers(1, 8, N),
    "text": RNG.choice(["first", "second", "third"], N),
    "numbers that are not whole": RNG.choice([0.5, 1.5, 2.25], N),
    "a fold per row": np.arange(N),
    "one fold": np.ones(N, dtype=int),
}


@pytest.mark.parametrize("direct", [True, False], ids=["in place", "sorted"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", FOLDS)
def test_every_fold_is_counted_as_if_alone(name, weighted, direct, monkeypatch):
    if not direct:
        monkeypatch.setattr(engine, "DIRECT_PART_CELLS", 0)
    fold, labels = FOLDS[name], ("a", "b", "c", "d")
    weight = WEIGHT if weighted else None
    seen = count_folds(assemble(TRUTH, PREDICTED, fold=fold, weight=weight), labels)
    assert len(seen) == len(np.unique(fold))
    for key, one in zip(seen.keys.tolist(), seen, strict=True):
        here = fold == key
        alone = count(TRUTH[here], PREDICTED[here], labels=labels, weight=WEIGHT[here] if weighted else None).confusion
        np.testing.assert_array_equal(one.matrix, alone.matrix)


def test_the_order_of_the_labels_is_that_which_was_asked_for():
    seen = count_folds(assemble(["a", "b"], ["b", "b"], fold=[1, 1]), ("c", "b", "a"))
    assert seen[0].matrix.tolist() == [[0, 0, 0], [0, 1, 0], [0, 1, 0]]


def test_a_fold_that_no_row_has_is_no_fold():
    import polars as pl

    fold = pl.Series(["x", "z"], dtype=pl.Enum(["x", "y", "z"]))
    seen = count_folds(assemble(["a", "b"], ["b", "b"], fold=fold), ("a", "b"))
    assert seen.keys.tolist() == ["x", "z"]
    assert [one.n for one in seen] == [1, 1]


def test_without_folds_there_is_nothing_to_count():
    with pytest.raises(TypeError, match="no folds"):
        count_folds(assemble(["a"], ["a"]), ("a",))
