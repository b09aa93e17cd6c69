"""The cases that go wrong: the most confidently wrong, doubtful labels, and the classes confused with each other."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from heldout.arguments import check_whole, counted, require
from heldout.evidence import Confusion, Label
from heldout.intervals.proportion import wilson
from heldout.predictions.label_encoding import Coded
from heldout.predictions.table import Predictions
from heldout.result import Result, make_row
from heldout.show.blocks import (
    Block,
    Cell,
    Column,
    Note,
    Number,
    Prose,
    Range,
    Style,
    Table,
    head_columns,
    head_interval,
)

Kind = Literal["confidently wrong", "hardest"]
# Scores are looked through in blocks: no array as long as the data is made.
BLOCK = 1 << 16
NO_SCORES = "there are no scores, so it is not known how sure the classifier was of each case"
NO_CASES = "only counts were given, so single cases are not known"
NOT_KEPT = "the rows were counted and not kept, so single cases are not known"
COUNTED = "Rows are counted from 1 for the first row of data, in the order in which they were given."


@dataclass(frozen=True, slots=True)
class HardCase:
    """One case: its row in the data, its classes, and how far the scores were from the truth.

    `score` is that of the predicted class, or with one column of scores the score itself. `loss` is −log of the
    probability of the truth where scores are probabilities, otherwise by how much the truth fell short.
    """

    kind: Kind
    row: int
    truth: Label
    predicted: Label
    score: float
    loss: float
    id: Label | None = None
    slices: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class HardCases(Result):
    """The most confidently wrong and the hardest cases; `unavailable` says why there are none, where that is so."""

    schema: ClassVar[str] = "heldout/hard-cases@1"
    rows_name: ClassVar[str] = "cases"

    cases: tuple[HardCase, ...] = ()
    wrong: int = 0
    n: int = 0
    loss: str = ""
    unavailable: str = ""
    named: bool = field(default=False)

    def of(self, kind: Kind) -> tuple[HardCase, ...]:
        """The cases of one kind, the worst first."""
        return tuple(case for case in self.cases if case.kind == kind)

    def rows(self) -> list[dict[str, object]]:
        """One row per case."""
        return [
            make_row(
                self.loss,
                case.loss,
                class_=case.truth,
                n=1,
                kind=case.kind,
                row=case.row,
                id=case.id,
                truth=case.truth,
                predicted=case.predicted,
                score=case.score,
            )
            | {f"slice {name}": value for name, value in case.slices}
            for case in self.cases
        ]

    def facts(self) -> dict[str, object]:
        """What stands beside the cases in the document."""
        return {"n": self.n, "wrong": self.wrong, "rows": COUNTED, "unavailable": self.unavailable}

    def table(self, kind: Kind, most: int | None = None) -> Table | None:
        """The cases of one kind, one line each; none where there are no such cases."""
        return self._tabulate(self.of(kind)[:most], TITLES[kind])

    def _tabulate(self, shown: Sequence[HardCase], caption: str) -> Table | None:
        if not shown:
            return None
        style: Style = "share" if self.loss == "log_loss" else "plain"
        columns = [Column("row", "right"), *([Column("id")] if self.named else [])]
        columns += [*head_columns("truth", "predicted", ">score", ">loss")]
        columns += [Column(name) for name, _ in shown[0].slices]
        rows: list[tuple[Cell, ...]] = [
            (
                Number(case.row, "count"),
                *([str(case.id)] if self.named else []),
                str(case.truth),
                str(case.predicted),
                Number(case.score, style),
                Number(case.loss, "plain"),
                *(value for _, value in case.slices),
            )
            for case in shown
        ]
        return Table(tuple(columns), tuple(rows), caption)

    def blocks(self) -> list[Block]:
        """Both lists, and how rows are counted."""
        if self.unavailable:
            return [Note(f"Hardest cases: {self.unavailable}.")]
        wrong, hard = (self.of(kind) for kind in TITLES)
        # Of two classes the two lists are often the same: no case is listed twice.
        listed = {case.row for case in wrong}
        others = [case for case in hard if case.row not in listed]
        first, second = TITLES.values()
        captions = (first, f"{second}, of the others") if wrong else (first, second)
        if wrong and hard and not others:
            captions = (f"{first}: in these the truth also had the least support", second)
        lists = zip((wrong, others), captions, strict=True)
        tables: list[Block] = [table for cases, caption in lists if (table := self._tabulate(cases, caption))]
        summary = f"{self.wrong:,} of {counted(self.n, 'case')} {'is' if self.wrong == 1 else 'are'} wrong."
        return [Prose(summary, label="Hardest cases"), *tables, Note(COUNTED)]


TITLES: dict[Kind, str] = {
    "confidently wrong": "Most confidently wrong",
    "hardest": "Hardest: the truth had the least support",
}


def hardest(predictions: Predictions | None, most: int = 20, *, kept: bool = True) -> HardCases:
    """The cases that go most wrong, at most `most` of each kind; of equals, the first.

    `kept` says that there are no predictions because only counts were given, not because rows were counted.

    >>> from heldout.predictions.case_values import raw_scores
    >>> from heldout.predictions.table import assemble
    >>> seen = assemble(["no", "yes", "no"], score=raw_scores([0.9, 0.2, 0.1]), positive="yes")
    >>> [(case.row, case.truth, case.predicted) for case in hardest(seen).of("confidently wrong")]
    [(1, 'no', 'yes'), (2, 'yes', 'no')]
    """
    check_whole("most", most, 1)
    if predictions is None:
        return HardCases(unavailable=NO_CASES if kept else NOT_KEPT)
    if predictions.scores is None:
        return HardCases(unavailable=NO_SCORES, n=predictions.n)
    lists = _Best(most), _Best(most)
    wrong = 0
    find = _support(predictions)
    for start in range(0, predictions.n, BLOCK):
        rows = slice(start, start + BLOCK)
        truth = _places(predictions.truth, predictions.truth_place, rows)
        predicted = _places(predictions.predicted, predictions.predicted_place, rows)
        for_truth, for_predicted = find(truth, rows), find(predicted, rows)
        missed = truth != predicted
        wrong += int(missed.sum())
        lists[0].offer(start, np.where(missed, for_predicted, -np.inf))
        lists[1].offer(start, -for_truth)
    cases = tuple(
        _case(predictions, find, kind, place)
        for kind, best in zip(get_args(Kind), lists, strict=True)
        for place in best.places.tolist()
    )
    loss = "log_loss" if predictions.scores.is_probability else "margin"
    return HardCases(cases, wrong, predictions.n, loss, named=predictions.id is not None)


class _Best:
    """The places of the largest values met so far; of equals, the first."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.places = np.empty(0, dtype=np.int64)
        self.values = np.empty(0)

    def offer(self, start: int, values: NDArray[np.float64]) -> None:
        """Look through the values of rows that follow those already seen."""
        floor = self.values[-1] if len(self.values) == self.most else -np.inf
        better = np.flatnonzero(values > floor)
        if not len(better):
            return
        values = np.concatenate([self.values, values[better]])
        places = np.concatenate([self.places, start + better])
        order = np.argsort(-values, kind="stable")[: self.most]
        self.places, self.values = places[order], values[order]


def _places(coded: Coded, place: NDArray[np.int64], rows: slice) -> NDArray[np.int64]:
    return np.asarray(place[coded.codes[rows].astype(np.int64) - coded.offset])


Support = Callable[[NDArray[np.int64], slice], NDArray[np.float64]]


def _support(predictions: Predictions) -> Support:
    """How much the scores of some rows speak for a class of each: a probability, or the lead over the others."""
    scores = require(predictions.scores, "there are no scores")
    values = scores.values
    if values.ndim == 2:
        return lambda classes, rows: _support_in_columns(values[rows], classes, lead=not scores.is_probability)
    positive = 1 if predictions.positive is None else predictions.labels.index(predictions.positive)
    # Scores that are no probabilities speak against the positive class below the threshold.
    middle = 0.5 if scores.is_probability else (predictions.threshold or 0.0)

    def find(classes: NDArray[np.int64], rows: slice) -> NDArray[np.float64]:
        block = np.asarray(values[rows], dtype=np.float64)
        if scores.is_probability:
            return np.where(classes == positive, block, 1 - block)
        return np.where(classes == positive, block - middle, middle - block)

    return find


def _support_in_columns(values: NDArray[Any], classes: NDArray[np.int64], *, lead: bool) -> NDArray[np.float64]:
    at = np.arange(len(classes))
    own = np.asarray(values[at, classes], dtype=np.float64)
    if not lead:
        return own
    others = np.array(values, dtype=np.float64)
    others[at, classes] = -np.inf
    return np.asarray(own - others.max(axis=1))


def _case(predictions: Predictions, find: Support, kind: Kind, place: int) -> HardCase:
    rows = slice(place, place + 1)
    truth = _places(predictions.truth, predictions.truth_place, rows)
    predicted = _places(predictions.predicted, predictions.predicted_place, rows)
    scores = require(predictions.scores, "there are no scores")
    support = float(find(truth, rows)[0])
    loss = -support if not scores.is_probability else (-math.log(support) if support > 0 else math.inf)
    score = scores.values[place] if scores.values.ndim == 1 else scores.values[place, predicted[0]]
    named = predictions.id
    return HardCase(
        kind,
        int(predictions.row_numbers(np.array([place]))[0]),
        predictions.labels[int(truth[0])],
        predictions.labels[int(predicted[0])],
        float(score),
        loss,
        None if named is None else named.labels[int(named.codes[place]) - named.offset],
        tuple((column.name, column.labels[int(column.codes[place])]) for column in predictions.slices),
    )


@dataclass(frozen=True, slots=True)
class ConfusedPair:
    """One class confused with another: the cases, and their share of the true class with its interval.

    With weights `count` and `total` are sums of weights; `n` is the number of cases of the true class.
    """

    truth: Label
    predicted: Label
    count: float
    total: float
    value: float
    low: float
    high: float
    n: int


@dataclass(frozen=True, slots=True, eq=False)
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
            make_row(
                "confused with another class",
                pair.value,
                pair.low,
                pair.high,
                class_=pair.truth,
                level=self.level,
                method=self.method,
                n=pair.n,
                predicted=pair.predicted,
                count=pair.count,
            )
            for pair in self.pairs
        ]

    def table(self, caption: str = "Most confused") -> Table:
        """One line per pair."""
        columns = head_columns("truth", "confused with", ">cases", ">of the class", head_interval(self.level))
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
        summary = f"{more:,} other kind{'s' * (more != 1)} of error {'occur' if more != 1 else 'occurs'} less often."
        return [self.table(), *([Note(summary)] if more else [])]


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
        cases = int(confusion.cases[confusion.truth == truth].sum())
        pairs.append(ConfusedPair(*labels, count, total, count / total, float(low), float(high), cases))
    plain = not confusion.weighted and confusion.clusters is None and independent == 1
    return Confused(tuple(pairs), len(wrong), level, "wilson" if plain else "wilson, effective n")


def _effective(confusion: Confusion, cell: int) -> float:
    """How many independent cases of equal weight know the share of a cell in its true class as well."""
    own = confusion.truth == confusion.truth[cell]
    total = float(confusion.counts[own].sum())
    share = float(confusion.counts[cell]) / total
    kish = total if confusion.squares is None else total**2 / float(confusion.squares[own].sum())
    # What a case adds to the share: 1 − share in the cell, −share elsewhere in the class, over the total.
    slope = np.where(own, -share, 0.0) / total
    slope[cell] += 1 / total
    clusters = confusion.clusters
    if clusters is not None:
        pull = np.bincount(clusters.group, weights=clusters.count * slope[clusters.cell])
        groups = len(np.unique(clusters.group[own[clusters.cell]]))
        variance = float((pull**2).sum()) * groups / (groups - 1) if groups > 1 else 0.0
        if not variance:
            return float(groups) if groups > 1 else 0.0
        return min(kish, share * (1 - share) / variance)
    if confusion.squares is None:
        return kish
    variance = float((confusion.squares * slope**2).sum())
    return min(kish, share * (1 - share) / variance) if variance else kish
