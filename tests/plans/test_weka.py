"""Weka's folds: the rows of its own predictions in their order, and Java's random numbers."""

from __future__ import annotations

import csv
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from tests.oracles.figures import WEKA, WEKA_RUNS
from tests.plans.drawn_cases import is_partition

from heldout import plans
from heldout.files import read_table
from heldout.plans import Cases
from heldout.plans.folds import JavaRandom


def weka_cases(data: str) -> Cases:
    column = read_table(WEKA / f"{data}.arff").to_series(-1)
    assert isinstance(column.dtype, pl.Enum)
    labels = tuple(column.dtype.categories)
    return Cases(np.array([labels.index(value) for value in column]), labels)


@pytest.mark.parametrize("run", WEKA_RUNS)
def test_folds_are_wekas_row_by_row(run):
    with (WEKA / f"{run}_predictions.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    cases = weka_cases(run.split("__")[0])
    splits = plans.weka(10, 1).splits(cases)
    assert splits.test_rows.tolist() == [int(row["row"]) for row in rows]
    assert splits.split_of.tolist() == [int(row["fold"]) for row in rows]
    assert [cases.labels[code] for code in cases.truth[splits.test_rows]] == [row["actual"] for row in rows]
    assert is_partition(splits)


def test_java_documents_these_numbers():
    # new Random(42).nextInt(10), five times; and nextInt(16), where the bound is a power of two.
    random = JavaRandom(42)
    assert [random.below(10) for _ in range(5)] == [0, 3, 8, 4, 0]
    # Java's first nextInt() of seed 42 is −1170105035; its upper 4 bits are nextInt(16).
    assert JavaRandom(42).below(16) == ((-1170105035) % 2**32) >> 28


def test_numbers_from_the_incomplete_stretch_are_drawn_again():
    # With a bound just over half the range every second number falls there.
    random, bound = JavaRandom(7), 2**30 + 1
    drawn = [random.below(bound) for _ in range(2000)]
    assert all(0 <= value < bound for value in drawn)
    assert np.mean(drawn) == pytest.approx(bound / 2, abs=5 * bound / np.sqrt(12 * 2000))
    # A plain remainder would send all of the upper half down again, and use each number.
    plain, used = JavaRandom(7), 0
    for value in drawn:
        while plain._bits() % bound != value:
            used += 1
    assert used > 500


def plainly(truth: list[int], k: int, seed: int) -> list[list[int]]:
    """Weka's two loops as they stand in its documentation, one row at a time."""
    random, rows = JavaRandom(seed), list(range(len(truth)))
    for j in range(len(rows) - 1, 0, -1):
        other = random.below(j + 1)
        rows[j], rows[other] = rows[other], rows[j]
    index = 1
    while index < len(rows):
        first = truth[rows[index - 1]]
        for j in range(index, len(rows)):
            if truth[rows[j]] == first:
                rows[index], rows[j] = rows[j], rows[index]
                index += 1
        index += 1
    dealt = [rows[j] for start in range(k) for j in range(start, len(rows), k)]
    size, more = divmod(len(rows), k)
    begins = [fold * size + min(fold, more) for fold in range(k + 1)]
    return [dealt[begin:end] for begin, end in pairwise(begins)]


@pytest.mark.parametrize(("k", "seed", "classes"), [(2, 1, 2), (3, 5, 3), (7, -4, 5), (10, 2**33, 11)])
def test_gathering_by_class_is_the_loop_that_weka_has(k, seed, classes):
    truth = np.random.default_rng(seed % 97).integers(0, classes, 101)
    splits = plans.weka(k, seed).splits(Cases(truth, tuple(range(classes))))
    assert [test.tolist() for _, test in splits] == plainly(truth.tolist(), k, seed)


def test_without_classes_nothing_is_stratified():
    splits = plans.weka(3).splits(Cases(np.zeros(8, dtype=np.int64), ("only",)))
    random, rows = JavaRandom(1), list(range(8))
    for j in range(7, 0, -1):
        other = random.below(j + 1)
        rows[j], rows[other] = rows[other], rows[j]
    assert splits.test_rows.tolist() == rows
    assert splits.sizes.tolist() == [3, 3, 2]


def test_a_class_may_be_rarer_than_the_folds_are_many():
    assert len(plans.weka(5).splits(Cases(np.array([0, 0, 0, 0, 0, 1]), ("a", "b")))) == 5
