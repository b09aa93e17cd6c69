"""Evidence that grows batch by batch, in memory that does not grow with the cases, unless they come in groups."""

from __future__ import annotations

import copy
import math
import numbers
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from heldout.arguments import listing
from heldout.engines.batch import Batch
from heldout.engines.growing import ROWS_AT_ONCE, Growing
from heldout.errors import HeldoutError, LabelError, MatrixError, OptionError
from heldout.evidence import Confusion, Label, join_labels
from heldout.evidence.confusion import Counts
from heldout.evidence.counted import Counted
from heldout.evidence.saving import load, save
from heldout.predictions.match import choose_positive, fitted, quoted, usual_pair, usual_positive
from heldout.predictions.source import Asked
from heldout.predictions.table import Missing, NothingWholeError, check_missing_word

# Rows that wait until it is known which classes there are; beyond, that must be said.
MOST_WAITING = 1 << 21


class Evidence:
    """What is counted of cases that come in batches; merged with +, saved to a small file, and evaluated like rows.

    `labels` names the classes where not every batch shows them all, `positive` the class that scores speak for, and
    `threshold` the score from which on it is predicted. Without them the first batches tell. Labels that come later
    join; rows that lack a value are refused, or left out and counted (`missing="drop"`).

    Memory is bounded however many cases come, with one exception: with `group` there is an entry for every group and
    cell of the confusion matrix, and with scores for every group, class and bin of scores, which of scores that hardly
    repeat is nearly one for each case (about 200 bytes). Round the scores, to three digits say, to keep few.

    >>> seen = Evidence()
    >>> for truth, predicted in [([0, 1], [0, 0]), ([1, 2], [1, 2])]:
    ...     seen = seen.update(truth, predicted)
    >>> seen.n, seen.matrix.tolist()
    (4, [[1, 0, 0], [1, 1, 0], [0, 0, 1]])
    """

    def __init__(
        self,
        labels: Sequence[Label] | None = None,
        positive: Label | None = None,
        threshold: float | None = None,
        missing: Missing = "refuse",
    ) -> None:
        check_missing_word(missing)
        if isinstance(labels, str):
            raise LabelError(f"labels must be a list of the classes. Got {labels!r}.", hint="write ['no', 'yes'].")
        self._labels = None if labels is None else _checked_labels(labels, positive)
        self._positive = positive
        self._threshold = checked_threshold(threshold)
        self._missing: Missing = missing
        # The classes that were met, the one that a single column of scores speaks for once that is settled, and
        # batches that wait until their classes are known.
        self._known: tuple[Label, ...] = ()
        self._settled: Label | None = None
        self._unsettled: list[Batch] = []
        self._grown = Growing()

    @classmethod
    def of(cls, counted: Counted) -> Evidence:
        """Evidence from what was counted already.

        >>> Evidence.of(Counted(Confusion.of([[5, 1], [0, 4]]), rows=10)).n
        10
        """
        scores = counted.scores
        # The usual positive class of two may be none of three, so it counts as named only where it is not the usual.
        named = counted.positive if scores is not None or counted.positive != usual_positive(counted.labels) else None
        made = cls(positive=named, threshold=counted.threshold)
        made._known = counted.labels if scores is None or not scores.per_class else scores.labels
        made._settled = None if scores is None or scores.per_class else counted.positive
        made._grown = Growing.of(counted)
        return made

    def update(
        self,
        data: Any = None,
        predicted: Any = None,
        *,
        truth: Any = None,
        score: Any = None,
        weight: Any = None,
        group: Any = None,
        fold: Any = None,
        slices: Any = None,
    ) -> Evidence:
        """Count one more batch, given as `evaluate` takes it; after an error everything is as it was before.

        >>> Evidence().update([0, 1, 1], score=[0.2, 0.9, 0.4]).matrix
        array([[1, 0],
               [1, 1]])
        """
        checked_threshold(self._threshold, predicted)
        if isinstance(slices, str) and slices == "all":
            raise OptionError(
                "Which columns divide the cases cannot be told from one batch.",
                hint="name them: slices=['sex', 'age'], or slices={'age': ages} for arrays.",
            )
        roles = {"truth": truth, "predicted": predicted, "weight": weight, "group": group, "fold": fold}
        batch = Batch(data, roles, score, slices)
        if not batch.is_empty():
            self._take(batch)
        return self

    def _take(self, batch: Batch) -> None:
        """Count a batch, or keep it until it is known which classes there are."""
        columns = batch.score_columns()
        if not columns:
            self._add(batch, self._labels)
            return
        if self._grown.n and self._known:
            try:
                self._add(batch, self._known)
            except LabelError:
                # Other classes than those before, or labels that are wrong in any case.
                pass
            else:
                return
        known = self._classes(batch)
        if self._must_wait(known, columns):
            self._wait(batch, known)
            return
        before = self._before() if self._unsettled else {}
        waiting, self._unsettled = self._unsettled, []
        try:
            for one in [*waiting, batch]:
                self._add(one, known)
        except HeldoutError:
            # A batch that is wrong itself settles nothing.
            vars(self).update(before)
            raise
        self._known = known

    def _wait(self, batch: Batch, known: tuple[Label, ...]) -> None:
        """Keep a batch until its classes are known, or until too many rows wait for that."""
        before = self._before()
        self._unsettled.append(batch.copied())
        self._known = known
        if sum(one.size() for one in self._unsettled) > MOST_WAITING:
            try:
                self._settle()
            except HeldoutError:
                vars(self).update(before)
                raise

    def _must_wait(self, known: Sequence[Label], columns: int) -> bool:
        if self._labels is not None or self._grown.n or len(known) >= columns:
            return False
        guessed = len(known) >= 2 and sum(batch.size() for batch in self._unsettled) > ROWS_AT_ONCE
        return not guessed

    def _classes(self, batch: Batch) -> tuple[Label, ...]:
        """The classes that are known when this batch is, too."""
        if self._labels is not None:
            return self._labels
        met = batch.classes(self._asked(None))
        new = [label for label in met if label not in self._known]
        if self._settled is not None and new:
            raise LabelError(
                f"The scores speak for {quoted(self._settled)}, one of the classes "
                f"{listing(map(quoted, self._known))}, and this batch has others: {listing(map(quoted, new))}.",
                hint="leave those rows out, or give one score per class and name all classes with labels=.",
            )
        known = join_labels(self._known, met) if self._known else met
        if self._positive is not None and known:
            named = fitted([self._positive], known)
            known = known if named[0] in known else join_labels(known, named)
        return known

    def _asked(self, labels: tuple[Label, ...] | None) -> Asked:
        positive = self._settled if self._settled is not None else self._positive
        return Asked(labels, self._missing, None, None if labels is None else positive, self._threshold)

    def _add(self, batch: Batch, labels: tuple[Label, ...] | None) -> None:
        """Take a batch whose classes are known; nothing is changed where it is refused."""
        if labels is not None and self._is_unclear(batch, labels):
            raise OptionError(
                f"The scores speak for one class, and it is not known which of {listing(labels)}.",
                hint=f"name it before the first batch: Evidence(labels={list(labels)!r}, positive=…).",
            )
        try:
            predictions = batch.gathered(self._asked(labels))
        except NothingWholeError as error:
            if self._missing == "refuse":
                raise
            self._grown.leave_out(error.rows, error.missing)
            return
        declared = self._labels is not None or predictions.truth.declared or predictions.predicted.declared
        self._grown.add(predictions, declared=declared, numbers=batch.number_slices())
        if predictions.scores is not None and not predictions.scores.per_class:
            self._settled = predictions.positive

    def _is_unclear(self, batch: Batch, labels: tuple[Label, ...]) -> bool:
        """Whether a batch has one column of scores, and nothing tells which of two classes it is for."""
        named = self._positive is not None or self._settled is not None or usual_positive(labels) is not None
        return len(labels) == 2 and not named and batch.has_one_score()

    def _settle(self) -> None:
        """Take what waits with the classes that are known, or say what must be named."""
        known = self._known
        rows = sum(batch.size() for batch in self._unsettled)
        columns = max(batch.score_columns() for batch in self._unsettled)
        if len(known) == 1 and columns == 2:
            pair = usual_pair(known[0])
            if pair is None:
                raise LabelError(
                    f"All {rows:,} cases so far are of class {quoted(known[0])}, and it is not known what the other "
                    "class is.",
                    hint="name both before the first batch: Evidence(labels=…, positive=…).",
                )
            known = pair
        elif len(known) < columns and self._unsettled[0].score is not None:
            raise LabelError(
                f"There are {columns} columns of scores, and the {rows:,} cases so far show "
                f"{len(known)} {'class' if len(known) == 1 else 'classes'}: {listing(map(quoted, known))}.",
                hint="name all classes with labels=, in the order of the columns.",
            )
        waiting, self._unsettled = self._unsettled, []
        for batch in waiting:
            self._add(batch, known)
        self._known = known

    def _before(self) -> dict[str, Any]:
        """Everything as it is now, to be put back."""
        return {**vars(self), "_unsettled": list(self._unsettled), "_grown": self._grown.copied()}

    @property
    def counted(self) -> Counted:
        """Everything that was counted so far, frozen."""
        if self._unsettled:
            # What comes later may still show other classes, so nothing is settled by asking.
            before = self._before()
            try:
                self._settle()
                return self.counted
            finally:
                vars(self).update(before)
        total = self._grown.counted()
        if total.scores is not None and not total.scores.per_class:
            return total
        return replace(total, positive=choose_positive(self._positive, total.labels))

    @property
    def confusion(self) -> Confusion:
        """How often each class was predicted for each true class."""
        return self.counted.confusion

    @property
    def labels(self) -> tuple[Label, ...]:
        """The classes."""
        return self.counted.labels

    @property
    def n(self) -> int:
        """The number of rows that were counted."""
        return self.counted.n if self._unsettled else self._grown.n

    @property
    def matrix(self) -> Counts:
        """The square table, rows are the truth; refused where it would not fit in memory."""
        return self.confusion.matrix

    def save(self, path: str | Path) -> None:
        """Write what was counted to a small file, whole or not at all; `Evidence.load` reads it."""
        save(self.counted, path)

    @classmethod
    def load(cls, path: str | Path) -> Evidence:
        """Read evidence from a file, or say why it cannot be used."""
        return cls.of(load(path))

    def __add__(self, other: object) -> Evidence:
        if not isinstance(other, Evidence):
            return NotImplemented
        if other is self:
            raise OptionError(
                f"This would count the same {self._grown.n:,} rows twice: both sides are the same evidence.",
                hint="add evidence of other cases; to multiply cases, give them weights.",
            )
        if self._positive is not None and other._positive is not None and self._positive != other._positive:
            raise MatrixError(
                f"The positive class is {self._positive!r} on one side and {other._positive!r} on the other.",
                hint="name the same with positive= (--positive) wherever cases are counted.",
            )
        made = copy.copy(self)
        made._grown = self._grown.merged(other._grown)
        made._labels = None if self._labels is None or other._labels is None else _both(self._labels, other._labels)
        made._known = _both(self._known, other._known)
        made._settled = self._settled if self._settled is not None else other._settled
        made._positive = self._positive if self._positive is not None else other._positive
        made._threshold = self._threshold if self._threshold is not None else other._threshold
        made._unsettled = []
        for batch in [*self._unsettled, *other._unsettled]:
            made._take(batch)
        return made

    def __radd__(self, other: object) -> Evidence:
        # sum() begins with 0.
        return self if other == 0 else NotImplemented

    def __eq__(self, other: object) -> bool:
        return self.counted == other.counted if isinstance(other, Evidence) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        waiting = sum(batch.size() for batch in self._unsettled)
        return f"<heldout.Evidence of {self._grown.n + waiting:,} rows>"


def _checked_labels(labels: Sequence[Label], positive: Label | None) -> tuple[Label, ...]:
    """The classes as they were named, each once and the positive one among them."""
    held = tuple(labels)
    twice = [label for place, label in enumerate(held) if label in held[:place]]
    if twice or not held:
        raise LabelError(
            f"Labels are named twice: {listing(map(quoted, dict.fromkeys(twice)))}." if twice else "labels is empty.",
            hint="name each class once, as in labels=['no', 'yes'].",
        )
    choose_positive(positive, held)
    return held


def _both(one: tuple[Label, ...], two: tuple[Label, ...]) -> tuple[Label, ...]:
    return join_labels(one, two) if one and two else one or two


def checked_threshold(threshold: Any, predicted: Any = None) -> float | None:
    """The threshold as a number, refused where it is none or where classes were predicted already.

    >>> checked_threshold(1)
    1.0
    """
    if threshold is None:
        return None
    if predicted is not None:
        raise OptionError(
            "A threshold was given together with the predicted classes.",
            hint="leave out predicted to judge the classes that the scores give at the threshold.",
        )
    is_number = isinstance(threshold, numbers.Real) and not isinstance(threshold, bool | np.bool_)
    if not is_number or not math.isfinite(float(threshold)):
        raise OptionError(f"The threshold must be a number. Got {threshold!r}.", hint="for example 0.5.")
    return float(threshold)
