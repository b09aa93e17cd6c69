"""Counts as they would be with another share of positives."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from heldout.evidence import Confusion


def at_prevalence(confusion: Confusion, prevalence: float) -> Confusion:
    """The same cases, weighted by class so that this share of them is of the second class.

    >>> at_prevalence(Confusion.of([[60, 20], [5, 15]]), 0.4).matrix
    array([[45., 15.],
           [10., 30.]])
    """
    n = float(confusion.n)
    factor = np.array([1 - prevalence, prevalence]) * n / confusion.truth_totals
    by_cell = factor[confusion.truth]
    squares = confusion.counts if confusion.squares is None else confusion.squares
    clusters = confusion.clusters
    if clusters is not None:
        clusters = replace(clusters, count=clusters.count * by_cell[clusters.cell])
    return replace(
        confusion,
        counts=confusion.counts * by_cell,
        squares=squares * by_cell**2,
        rows=confusion.cases,
        clusters=clusters,
    )
