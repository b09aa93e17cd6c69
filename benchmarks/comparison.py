"""Comparisons against the usual ways: a bootstrap that resamples rows, and DeLong's test pair by pair of cases."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import f1_score

from benchmarks.timing import Contender, Race, race
from heldout.comparisons.delong import delong_pairs
from heldout.comparisons.paired_counts import compare_counts
from heldout.evidence.joint_counts import PairCounts
from heldout.measures.catalogue import read_quantity

Codes = NDArray[np.int64]
REPLICATES = 2000
CLASSES = 10
MODELS = 20
# The naive way compares every positive with every negative: it is timed on fewer cases and scaled up.
NAIVE_CASES = 2000


def answers(n: int) -> tuple[Codes, Codes, Codes]:
    """The truth of n cases of ten classes, and the answers of two classifiers of which one is a little better."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, CLASSES, n)
    first = np.where(rng.random(n) < 0.80, truth, rng.integers(0, CLASSES, n))
    second = np.where(rng.random(n) < 0.79, truth, rng.integers(0, CLASSES, n))
    return truth, first, second


def races(shrink: int) -> Iterator[tuple[str, Race]]:
    """The paired bootstrap and DeLong's test of many models."""
    yield _bootstrap(1_000_000 // shrink)
    for cases in (10_000, 100_000):
        yield _delong(cases // shrink)


def _bootstrap(n: int) -> tuple[str, Race]:
    truth, first, second = answers(n)
    labels = tuple(range(CLASSES))

    def ours() -> object:
        pairs = PairCounts.of(truth, first, second, labels)
        return compare_counts(pairs, read_quantity("macro f1"), method="bootstrap", replicates=REPLICATES)

    rng = np.random.default_rng(0)

    def rows() -> float:
        drawn = rng.integers(0, n, n)
        sides = (f1_score(truth[drawn], side[drawn], average="macro") for side in (first, second))
        return float(next(sides) - next(sides))

    return (
        "paired-bootstrap",
        race(
            f"{REPLICATES:,} paired bootstrap replicates of the macro F1 difference, {n:,} cases of {CLASSES} classes",
            [
                Contender("heldout, counting included", ours),
                Contender("f1_score on redrawn rows", rows, most=2, factor=REPLICATES, note="from one replicate"),
            ],
            rounds=7,
        ),
    )


def _delong(n: int) -> tuple[str, Race]:
    rng = np.random.default_rng(1)
    positive = rng.random(n) < 0.5
    scores = positive + rng.normal(size=(MODELS, n)) * np.linspace(0.8, 1.6, MODELS)[:, None]
    few = min(n, NAIVE_CASES)

    def naive() -> float:
        mask, held = positive[:few], scores[:, :few]
        placed = []
        for one in held:
            above = (one[mask][:, None] > one[~mask][None, :]) + 0.5 * (one[mask][:, None] == one[~mask][None, :])
            placed.append((above.mean(axis=1), above.mean(axis=0)))
        covariance = (
            np.cov([up for up, _ in placed]) / mask.sum() + np.cov([down for _, down in placed]) / (~mask).sum()
        )
        return float(covariance[0, 1])

    return (
        f"delong-{MODELS}-models-{n}",
        race(
            f"DeLong's test of all pairs of {MODELS} models, {n:,} cases",
            [
                Contender("heldout", lambda: delong_pairs(scores, positive)),
                Contender(
                    "every positive with every negative",
                    naive,
                    most=3,
                    factor=(n / few) ** 2,
                    note=f"from {few:,} cases, times {(n / few) ** 2:,.0f}",
                ),
            ],
            rounds=5,
        ),
    )
