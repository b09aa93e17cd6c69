"""The kinds of error that occur most: which class is taken for which other, how often, and how sure that is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from heldout.arguments import check_whole
from heldout.estimates.proportion import wilson
from heldout.evidence import Confusion, Label
from heldout.result import Result
from heldout.show.blocks import Block, Column, Note, Number, Prose, Range, Table


@dataclass(frozen=True, slots=True)
class ConfusedPair:
    """One class taken for another: the cases, and their share of the true class with its interval."""

    truth: Label
    predicted: Label
    count: float
    total: float
    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Confused(Result):
    """The most confused pairs of classes, the most frequent first; `kinds` is how many kinds of error there are."""

    schema: ClassVar[str] = "heldout/confused@1"
    rows_name: ClassVar[str] = "pairs"

    pairs: tuple[ConfusedPair, ...]
    kinds: int
    level: float
    method: str

    def rows(self) -> list[dict[str, object]]:
        """One row per pair."""
        return [
            {
                "measure": "taken for another class",
                "class": pair.truth,
                "average": None,
                "value": pair.value,
                "low": pair.low,
                "high": pair.high,
                "level": self.level,
                "method": self.method,
                "n": pair.total,
                "predicted": pair.predicted,
                "count": pair.count,
            }
            for pair in self.pairs
        ]

    def table(self, caption: str = "Most confused") -> Table:
        """One line per pair."""
        columns = (
            Column("truth"),
            Column("taken for"),
            Column("cases", "right"),
            Column("of the class", "right"),
            Column(f"{100 * self.level:g} % interval"),
        )
        rows = tuple(
            (
                str(pair.truth),
                str(pair.predicted),
                Number(pair.count, "count"),
                Number(pair.value, "percent"),
                Range(pair.low, pair.high, "percent"),
            )
            for pair in self.pairs
        )
        return Table(columns, rows, caption)

    def blocks(self) -> list[Block]:
        """The pairs, and how many other kinds of error there are."""
        if not self.pairs:
            return [Prose("No class was taken for another.", label="Confused")]
        more = self.kinds - len(self.pairs)
        said = f"{more:,} other kind{'s' * (more != 1)} of error {'occur' if more != 1 else 'occurs'} less often."
        return [self.table(), *([Note(said)] if more else [])]


def confused(confusion: Confusion, most: int = 10, *, level: float = 0.95, independent: float = 1.0) -> Confused:
    """The errors that occur most, each as a share of its true class with Wilson's interval.

    `independent` is the share of the cases that counts as independent. Weighted cases and cases in groups count as
    many as leave the same standard error.

    >>> found = confused(Confusion.of([[8, 2, 0], [1, 9, 0], [0, 4, 6]], ["a", "b", "c"]), 1)
    >>> [(pair.truth, pair.predicted, pair.value) for pair in found.pairs]
    [('c', 'b', 0.4)]
    """
    check_whole("most", most, 1)
    wrong = np.flatnonzero((confusion.truth != confusion.predicted) & (confusion.counts > 0))
    top = wrong[np.argsort(-confusion.counts[wrong], kind="stable")[:most]]
    pairs = []
    for cell in top.tolist():
        truth = int(confusion.truth[cell])
        count, total = float(confusion.counts[cell]), float(confusion.truth_totals[truth])
        n = _effective(confusion, cell) * independent
        low, high = (np.nan, np.nan) if not n else wilson(count / total * n, n, level)
        labels = confusion.labels[truth], confusion.labels[int(confusion.predicted[cell])]
        pairs.append(ConfusedPair(*labels, count, total, count / total, float(low), float(high)))
    plain = not confusion.weighted and confusion.clusters is None and independent == 1
    return Confused(tuple(pairs), len(wrong), level, "wilson" if plain else "wilson, effective n")


def _effective(confusion: Confusion, cell: int) -> float:
    """How many independent cases of equal weight know the share of a cell in its true class as well."""
    own = confusion.truth == confusion.truth[cell]
    total = float(confusion.counts[own].sum())
    share = float(confusion.counts[cell]) / total
    # What a case adds to the share: 1 − share in the cell, −share elsewhere in the class, over the total.
    slope = np.where(own, -share, 0.0) / total
    slope[cell] += 1 / total
    clusters = confusion.clusters
    if clusters is not None:
        pull = np.bincount(clusters.group, weights=clusters.count * slope[clusters.cell])
        held = len(np.unique(clusters.group[own[clusters.cell]]))
        variance = float((pull**2).sum()) * held / (held - 1) if held > 1 else 0.0
        if not variance:
            return float(held) if held > 1 else 0.0
        return min(total, share * (1 - share) / variance)
    if confusion.squares is None:
        return total
    kish = total**2 / float(confusion.squares[own].sum())
    variance = float((confusion.squares * slope**2).sum())
    return min(kish, share * (1 - share) / variance) if variance else kish
