"""Everything that was counted of one set of predictions, without the rows: frozen, small, merged with +."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from heldout.arguments import Label, listing
from heldout.errors import MatrixError
from heldout.evidence.confusion import Confusion
from heldout.evidence.labels import join_keys
from heldout.evidence.partitions import FoldCounts, SliceCounts, join_slices, moved
from heldout.evidence.probabilities import Probabilities, Unfit, check_alike, joined
from heldout.evidence.score_bins import MOST, ScoreBins
from heldout.threads import cached_property
from heldout.values import differing

# The order in which roles are named where values are missing.
ROLES = ("truth", "predicted", "weight", "group", "fold", "id", "score")
# With a score for each of more classes than this, only each class against the rest is kept.
MOST_PAIRWISE = 50
WEIGHTLESS = re.compile(r"([\d,]+) rows? of weight 0 (?:was|were) left out")


def weightless_note(number: int) -> str:
    """What is said of rows that were left out because their weight is 0.

    >>> weightless_note(5)
    '5 rows of weight 0 were left out'
    """
    return f"{number:,} {'row of weight 0 was' if number == 1 else 'rows of weight 0 were'} left out"


def join_notes(*notes: str) -> tuple[str, ...]:
    """The notes on several parts of the rows, each once; rows of weight 0 are added up.

    >>> join_notes("1 row of weight 0 was left out", "another", "2 rows of weight 0 were left out")
    ('3 rows of weight 0 were left out', 'another')
    """
    numbers = {note: int(told[1].replace(",", "")) for note in notes if (told := WEIGHTLESS.fullmatch(note))}
    total = weightless_note(sum(numbers.get(note, 0) for note in notes))
    return tuple(dict.fromkeys(total if note in numbers else note for note in notes))


def class_columns(classes: int) -> int:
    """How many classes the bins of each of so many columns of scores tell apart.

    >>> class_columns(3), class_columns(1000)
    (3, 2)
    """
    return classes if classes <= MOST_PAIRWISE else 2


# With a score for each of very many classes every one still has this many bins.
LEAST_BINS = 4096


def most_bins(classes: int, most: int | None = None) -> int:
    """How many bins each of so many columns of scores may have; of one column if there are 0, which has `most`.

    >>> most_bins(0), most_bins(2), most_bins(1000)
    (1048577, 524288, 4096)
    """
    most = MOST if most is None else most
    return max(min(LEAST_BINS, most), most // classes) if classes else most


def sided(codes: NDArray[Any], at: int, classes: int) -> NDArray[Any]:
    """The class of each row as the bins of the class at a place tell it.

    >>> sided(np.array([0, 7]), 7, 1000).tolist()
    [False, True]
    """
    return codes if class_columns(classes) == classes else codes == at


@dataclass(frozen=True, eq=False)
class ScoreTally:
    """What the scores tell: bins, and the sums of their losses where they are probabilities.

    One column of scores speaks for the positive class: `bins` has one entry, whose classes are the negative (0) and the
    positive one (1). With a column for each class there is an entry for each, in the order of `labels`, and the
    classes of every entry are these labels; of more than MOST_PAIRWISE an entry tells its own class (1) from the rest
    (0), because a count of each class in each bin of every class would not fit in memory. `unfit` says why the scores
    are no probabilities, else it is None and `probabilities` are there. `labels` are empty where there is one column;
    they may name classes of which there is no case.
    """

    bins: tuple[ScoreBins, ...]
    probabilities: Probabilities | None = None
    unfit: Unfit | None = None
    labels: tuple[Label, ...] = ()

    @property
    def per_class(self) -> bool:
        """Whether there are bins for every class."""
        return len(self.bins) > 1

    @property
    def pairwise(self) -> bool:
        """Whether every two classes can be compared by their scores; with very many, only each with the rest."""
        return self.bins[0].k == len(self.bins)

    def place(self, at: int) -> int:
        """Where the class at a place among the labels, or the positive one, is among the classes of its bins."""
        return at if self.per_class and self.pairwise else 1

    def count_classes(self) -> NDArray[np.int64]:
        """The number of rows of each class: of the negative and the positive one, or of every label."""
        if self.per_class and not self.pairwise:
            return np.array([bins.counts[:, 1].sum() for bins in self.bins], dtype=np.int64)
        return np.asarray(self.bins[0].counts.sum(axis=0))

    @property
    def not_probability(self) -> str:
        """Why the scores are no probabilities, in words; empty where they are."""
        return "" if self.unfit is None else self.unfit.sentence()

    @cached_property
    def memo(self) -> dict[str, Any]:
        """What was derived from all columns and will be asked for again."""
        return {}

    def __add__(self, other: object) -> ScoreTally:
        if not isinstance(other, ScoreTally):
            return NotImplemented
        if len(self.bins) != len(other.bins) or self.labels != other.labels:
            raise MatrixError(
                f"Scores of different classes cannot be merged: {self._classes()}, and {other._classes()}.",
                hint="name all classes with labels= (--labels), in one order, wherever scores of every class are "
                "counted.",
            )
        bins = tuple(own + others for own, others in zip(self.bins, other.bins, strict=True))
        if not self.per_class:
            check_alike((self.unfit, other.unfit))
        reasons = [part.unfit for part in (self, other) if part.unfit is not None]
        if reasons:
            ends = min(part.least for part in bins), max(part.greatest for part in bins)
            return replace(self, bins=bins).without_probabilities(joined(reasons, *ends))
        both = self.probabilities, other.probabilities
        return replace(self, bins=bins, probabilities=None if None in both else _added(*both))

    def without_probabilities(self, why: Unfit) -> ScoreTally:
        """The same bins, with the reason why the scores are no probabilities."""
        return replace(self, probabilities=None, unfit=why)

    def _classes(self) -> str:
        return f"a score for each of {listing(self.labels, most=6)}" if self.per_class else "one score per case"


def _added(first: Probabilities | None, second: Probabilities | None) -> Probabilities | None:
    return None if first is None or second is None else first + second


@dataclass(frozen=True, eq=False)
class CountedColumn:
    """The slices of one column: their names, how they were made, and the counts of each.

    The keys of `counts` are places among `labels`. `kind` is "bins" where numbers were cut at quantiles, and
    "periods" where dates were cut by the calendar.
    """

    name: str
    labels: tuple[str, ...]
    counts: SliceCounts
    kind: Literal["values", "bins", "periods"] = "values"
    note: str = ""

    def __add__(self, other: object) -> CountedColumn:
        if not isinstance(other, CountedColumn):
            return NotImplemented
        if self.labels == other.labels:
            return replace(self, counts=self.counts + other.counts, note=self.note or other.note)
        if {self.kind, other.kind} != {"values"} or self.note or other.note:
            raise MatrixError(
                f"The slices of {self.name!r} were cut in different places: {listing(self.labels, most=4)}; "
                f"{listing(other.labels, most=4)}.",
                hint="cut the column into the same few named parts before counting.",
            )
        labels = join_slices(self.labels, other.labels)
        counts = moved(self.counts, self.labels, labels) + moved(other.counts, other.labels, labels)
        return replace(self, labels=labels, counts=counts)


@dataclass(frozen=True, eq=False)
class Counted:
    """What was counted: the confusion matrix, and scores, folds and slices where there are any.

    `fold_scores` has one tally for each key of `folds`. `pairs` are the counts of the combinations of two slice
    columns, by their names; a key is code of the first · number of slices of the second + code of the second.
    `rows` is how many rows were given, `missing` in how many of them each role lacked a value, and `lost` how many were
    left out for it. `threshold` is set where the predicted class was made from the scores, and `declared` where the
    labels were named beforehand. `notes` are sentences that a reader must see and that do not follow from the counts;
    `joined_types` are those on labels of different types that were joined.
    """

    confusion: Confusion
    positive: Label | None = None
    threshold: float | None = None
    scores: ScoreTally | None = None
    folds: FoldCounts | None = None
    fold_scores: tuple[ScoreTally, ...] = ()
    slices: tuple[CountedColumn, ...] = ()
    pairs: Mapping[tuple[str, str], SliceCounts] = field(default_factory=dict)
    rows: int = 0
    lost: int = 0
    missing: Mapping[str, int] = field(default_factory=dict)
    declared: bool = False
    notes: tuple[str, ...] = ()
    joined_types: tuple[str, ...] = ()

    @property
    def labels(self) -> tuple[Label, ...]:
        """The classes."""
        return self.confusion.labels

    @property
    def n(self) -> int:
        """The number of rows in the confusion."""
        return self.confusion.n_cases

    def __add__(self, other: object) -> Counted:
        if not isinstance(other, Counted):
            return NotImplemented
        confusion = self.confusion + other.confusion
        _check_alike(self, other)
        scores = None if self.scores is None or other.scores is None else self.scores + other.scores
        if scores is not None and not scores.per_class and confusion.n_classes > 2:
            raise MatrixError(
                f"One score per case was counted, and together there are {confusion.n_classes:,} classes: "
                f"{listing(confusion.labels)}.",
                hint="count with one score per class and labels= (--labels), or leave out the scores.",
            )
        folds = None if self.folds is None or other.folds is None else self.folds + other.folds
        return Counted(
            confusion=confusion,
            positive=_positive(self, other),
            threshold=self.threshold,
            scores=scores,
            folds=folds,
            fold_scores=() if scores is None else _fold_scores(self, other, scores),
            slices=tuple(own + others for own, others in zip(self.slices, _in_order(self, other), strict=True)),
            pairs=_pairs(self, other),
            rows=self.rows + other.rows,
            lost=self.lost + other.lost,
            missing=added_gaps(self.missing, other.missing),
            declared=self.declared or other.declared,
            notes=join_notes(*self.notes, *other.notes),
            joined_types=tuple(dict.fromkeys([*self.joined_types, *other.joined_types])),
        )

    def __radd__(self, other: object) -> Counted:
        # sum() begins with 0.
        return self if other == 0 else NotImplemented

    def differing(self, other: Counted, *, relative: float = 0.0) -> tuple[str, ...]:
        """Which fields differ; floating-point sums may do so by a share of their size.

        >>> one = Counted(Confusion.of([[5, 1], [0, 4]]), rows=10)
        >>> one.differing(Counted(Confusion.of([[5, 1], [0, 3]]), rows=10))
        ('confusion.counts',)
        """
        return differing(self, other, relative=relative)

    def __eq__(self, other: object) -> bool:
        return not self.differing(other) if isinstance(other, Counted) else NotImplemented

    __hash__ = None  # type: ignore[assignment]


def added_gaps(first: Mapping[str, int], second: Mapping[str, int]) -> dict[str, int]:
    """In how many rows of both each role lacks a value, in the order in which roles are named.

    >>> added_gaps({"score": 1}, {"truth": 2, "score": 3})
    {'truth': 2, 'score': 4}
    """
    known = [*ROLES, *first, *second]
    return {
        role: first.get(role, 0) + second.get(role, 0)
        for role in dict.fromkeys(known)
        if role in first or role in second
    }


def _check_alike(left: Counted, right: Counted) -> None:
    """Refuse to merge what was counted in different ways; of weights and groups the confusion matrices say so."""
    for what, options, first, second in (
        ("scores", "score=", left.scores is not None, right.scores is not None),
        ("folds", "fold=", left.folds is not None, right.folds is not None),
    ):
        if first != second:
            raise MatrixError(
                f"Evidence with {what} and evidence without cannot be merged. One side has {what}, the other has none.",
                hint=f"count both with {options}, or both without.",
            )
    if left.threshold != right.threshold:
        raise MatrixError(
            f"The predicted classes were made in different ways: {_made(left.threshold)} on one side, "
            f"{_made(right.threshold)} on the other.",
            hint="count both at the same threshold= (--threshold), or both from a column of predicted classes.",
        )
    scored = left.scores is not None
    clash = left.positive != right.positive and (scored or None not in (left.positive, right.positive))
    if clash:
        raise MatrixError(
            f"The positive class is {left.positive!r} on one side and {right.positive!r} on the other.",
            hint="name it with positive= (--positive) wherever cases are counted.",
        )
    sliced = [[column.name for column in part.slices] for part in (left, right)]
    if sorted(sliced[0]) != sorted(sliced[1]):
        shown = [listing(map(repr, names)) if names else "none" for names in sliced]
        raise MatrixError(
            f"Evidence with different slice columns cannot be merged. One side has {shown[0]}, the other {shown[1]}.",
            hint="count both with the same slices= (--slice).",
        )


def _made(threshold: float | None) -> str:
    return "given in a column" if threshold is None else f"from scores of at least {threshold:g}"


def _positive(first: Counted, second: Counted) -> Label | None:
    """The positive class of both; one that only its side knows is the usual one, as long as there are its two."""
    if first.positive == second.positive:
        return first.positive
    known, unknown = (second, first) if first.positive is None else (first, second)
    return known.positive if set(unknown.labels) <= set(known.labels) else None


def _fold_scores(first: Counted, second: Counted, whole: ScoreTally) -> tuple[ScoreTally, ...]:
    """The tallies of every fold of both, in the order of their merged keys."""
    if first.folds is None or second.folds is None or not (first.fold_scores or second.fold_scores):
        return ()
    keys, code = join_keys([first.folds.keys, second.folds.keys])
    tallies: list[ScoreTally | None] = [None] * len(keys)
    for at, tally in zip(code.tolist(), [*first.fold_scores, *second.fold_scores], strict=True):
        earlier = tallies[at]
        tallies[at] = tally if earlier is None else earlier + tally
    why = whole.unfit
    return tuple(tally if why is None else tally.without_probabilities(why) for tally in tallies if tally is not None)


def _in_order(first: Counted, second: Counted) -> list[CountedColumn]:
    """The slice columns of the second in the order of those of the first."""
    by_name = {column.name: column for column in second.slices}
    return [by_name[column.name] for column in first.slices]


def _pairs(left: Counted, right: Counted) -> dict[tuple[str, str], SliceCounts]:
    """The pairs of slice columns that both have counted, with the codes of the merged slices."""
    labels = {
        name: join_slices(first.labels, second.labels)
        for first, second in zip(left.slices, _in_order(left, right), strict=True)
        for name in [first.name]
    }
    before = [{column.name: column.labels for column in part.slices} for part in (left, right)]
    pairs: dict[tuple[str, str], SliceCounts] = {}
    for key in left.pairs:
        if key not in right.pairs:
            continue
        parts = [
            moved(part.pairs[key], names[key[0]], labels[key[0]], names[key[1]], labels[key[1]])
            for part, names in zip((left, right), before, strict=True)
        ]
        pairs[key] = parts[0] + parts[1]
    return pairs
