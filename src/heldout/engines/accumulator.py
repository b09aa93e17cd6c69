"""Evidence that grows batch by batch, in memory that does not grow with the cases, unless they come in groups."""

from __future__ import annotations

import copy
import math
import numbers
from collections.abc import Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from heldout.arguments import Missing, as_float, counted, listing
from heldout.engines.row_buffer import ROWS_AT_ONCE, BufferedCounts
from heldout.errors import HeldoutError, LabelError, MatrixError, OptionError, ValuesError
from heldout.evidence import Confusion, Label, join_labels, sort_labels
from heldout.evidence.confusion import Counts
from heldout.evidence.counted import Counted
from heldout.evidence.storage import load, save
from heldout.predictions.case_values import ask_for_positive, raw_scores, take_as_scores, weighted_rows, weights
from heldout.predictions.device_arrays import device_tensor
from heldout.predictions.label_encoding import check_label_list, encode
from heldout.predictions.positive_class import choose_positive, fitted, quoted, usual_pair, usual_positive
from heldout.predictions.score_columns import NoScoresError, class_of, may_be_score
from heldout.predictions.slice_plans import name_slices, slice_values, slices_of_arrays
from heldout.predictions.source import Columns, ReadOptions, Source, columns_of_roles, gather
from heldout.predictions.table import NothingWholeError, Predictions, ask_for_other_class, assemble, check_missing_word
from heldout.synonyms import takes_synonyms


@dataclass(frozen=True)
class Batch:
    """What was given of some cases, in the words of `evaluate`."""

    data: Any
    roles: dict[str, Any]
    score: Any = None
    slices: Any = None

    def columns(self) -> Columns | None:
        """The columns of a data frame or of a dictionary; None for arrays and files."""
        if isinstance(self.data, Mapping):
            return Columns(self.data, "the dictionary")
        if self.data is None or isinstance(self.data, np.ndarray | list | tuple | str | Path):
            return None
        import narwhals.stable.v2 as nw

        frame = nw.from_native(self.data, pass_through=True)
        return Columns(frame, "the data frame") if isinstance(frame, nw.DataFrame) else None

    def gathered(self, asked: ReadOptions) -> Predictions:
        """The checked predictions."""
        if self._is_plain():
            # The same as below, without asking what kind of frame an array is, which takes longer than a small batch.
            raw = None if self.score is None else raw_scores(self.score)
            given = {role: values for role, values in self.roles.items() if values is not None}
            given |= {} if self.data is None else {"truth": self.data}
            given |= {"weight": weights(given["weight"])} if "weight" in given else {}
            divided, notes = slices_of_arrays(self.slices, weighted_rows(given.get("weight")))
            return assemble(**given, score=raw, notes=notes, slices=divided, own=False, whole=False, **asked.options())
        options = {name: value for name, value in asked.options().items() if name != "against_rest"}
        given = {"score": self.score, "slices": self.slices, "own": False, "whole": False}
        return gather(self.data, dict(self.roles), **given, **options)[0]

    def is_empty(self) -> bool:
        """Whether there are columns and none of them has a row, as what a filter leaves over of a batch may be."""
        truth = self.data if self.data is not None else self.roles.get("truth")
        if isinstance(truth, np.ndarray | list) and len(truth):
            return False
        frame = self.columns()
        if frame is None and hasattr(type(self.data), "columns"):
            # A lazy frame, whose length would have to be worked out.
            return False
        given = [*self.roles.values(), *(self.slices.values() if isinstance(self.slices, Mapping) else ())]
        given += [self.data] if frame is None else [frame.values(name) for name in frame.names]
        scores = list(self.score.values()) if isinstance(self.score, Mapping) else [self.score]
        names = isinstance(self.score, list | tuple) and len(self.score) > 0 and isinstance(self.score[0], str)
        given += [] if names else scores
        lengths = {len(values) for values in given if isinstance(values, Sized) and not isinstance(values, str)}
        return lengths == {0}

    def _is_plain(self) -> bool:
        """Whether there are arrays and lists alone, each in one place."""
        given = [values for values in (self.data, *self.roles.values()) if values is not None]
        truths = [values for values in (self.data, self.roles.get("truth")) if values is not None]
        enough = len(truths) == 1 and (self.roles.get("predicted") is not None or self.score is not None)
        return enough and all(isinstance(values, np.ndarray | list) for values in given)

    def score_columns(self) -> int:
        """How many columns of scores there are, or may be: 0 for none, 1 for one that speaks for one of two classes."""
        if self.score is None:
            columns = self.columns()
            named = list(self.roles.values())
            free = [] if columns is None else [name for name in columns.names if may_be_score(name)]
            free = [name for name in free if not any(name is role for role in named)]
            return max(2, len(free)) if free else 0
        shape = getattr(self.score, "shape", None)
        if shape is not None:
            return max(int(shape[1]), 2) if len(shape) == 2 else 1
        if isinstance(self.score, str):
            return 1
        first = self.score[0] if isinstance(self.score, list | tuple) and len(self.score) else None
        if isinstance(first, list | tuple | np.ndarray):
            return max(len(first), 2)
        several = isinstance(first, str) or isinstance(self.score, Mapping)
        return max(len(self.score), 2) if several else 1

    def stand_ins(self, known: tuple[Label, ...], columns: int) -> tuple[Label, ...]:
        """The classes that are known, with others in the place of those that so many columns of scores also speak of.

        The names of the columns stand for the classes that they may be named after.
        """
        names = self._score_names()
        pair = usual_pair(known[0]) if len(known) == 1 and columns == 2 and len(names) < 2 else None
        if pair is not None:
            return pair
        made = [name for name in names if class_of(name, known) is None]
        made += [f"class {number}" for number in range(columns + 1)]
        return (*known, *[label for label in dict.fromkeys(made) if label not in known][: columns - len(known)])

    def _score_names(self) -> list[str]:
        """The columns of scores that have names: those that were named, or that are called like scores."""
        if isinstance(self.score, str):
            return [self.score]
        if isinstance(self.score, list | tuple):
            return [name for name in self.score if isinstance(name, str)]
        if self.score is not None:
            named = self.score if isinstance(self.score, Mapping) else getattr(self.score, "columns", ())
            return list(map(str, named))
        columns = self.columns()
        return [] if columns is None else [str(name) for name in columns.names if may_be_score(name)]

    def classes(self, asked: ReadOptions) -> tuple[Label, ...]:
        """The classes that occur in truth or prediction, those of the prediction as the truth writes them."""
        truth, predicted = self._label_columns(asked)
        if predicted is None:
            coded = encode(truth, "truth")
            return coded.met() if coded.declared else sort_labels(coded.met())
        try:
            seen = assemble(truth, predicted, missing="drop")
        except ValuesError:
            # No row is whole, or the columns differ in length: whoever counts them says so.
            return ()
        classes = {*seen.truth.met(), *seen.predicted.met()}
        return tuple(label for label in seen.labels if label in classes)

    def _label_columns(self, asked: ReadOptions) -> tuple[Any, Any]:
        columns = self.columns()
        if columns is None:
            truth = self.roles.get("truth") if self.data is None else self.data
            return truth, self.roles.get("predicted")
        wanted, _ = columns_of_roles(columns, self.roles, asked)
        truth, predicted = (
            columns.values(wanted[role]) if role in wanted else self.roles.get(role) for role in ("truth", "predicted")
        )
        return truth, predicted

    def number_slices(self) -> set[str]:
        """The slice columns that hold numbers or dates."""
        if self.slices is None:
            return set()
        if isinstance(self.slices, Mapping):
            return {str(name) for name, values in self.slices.items() if _holds_numbers(values)}
        columns = self.columns()
        names = [self.slices] if isinstance(self.slices, str | int) else list(self.slices)
        return set() if columns is None else {str(name) for name in names if _holds_numbers(columns.values(name))}

    def size(self) -> int:
        """The number of rows, as far as it is known before they are read."""
        columns = self.columns()
        values: Any = self.data if self.data is not None else self.roles.get("truth")
        if columns is not None and columns.names:
            values = columns.values(columns.names[0])
        return len(values) if isinstance(values, Sized) else 0

    def copied(self) -> Batch:
        """The same, safe from whoever fills the given arrays anew."""
        roles = {role: _copy(values) for role, values in self.roles.items()}
        return Batch(_copy(self.data), roles, _copy(self.score), _copy(self.slices))


def _holds_numbers(values: Any) -> bool:
    if isinstance(values, np.ndarray) and values.dtype.kind != "O":
        return values.dtype.kind in "iufmM"
    column = slice_values(values, "slices")
    return isinstance(column, np.ndarray) and column.dtype.kind in "iufmM"


def _copy(values: Any) -> Any:
    if values is None or isinstance(values, str | Path | int | float | tuple):
        return values
    if isinstance(values, Mapping):
        return {name: _copy(column) for name, column in values.items()}
    if isinstance(values, list):
        return [_copy(item) if isinstance(item, np.ndarray | list) else item for item in values]
    # Tensors and Polars frames have the one, arrays and pandas frames the other; Arrow's cannot be changed.
    for name in ("detach", "clone", "copy"):
        method = getattr(values, name, None)
        if callable(method):
            values = method()
            if name != "detach":
                return values
    return values


def count_on_device(data: Any, roles: Mapping[str, Any], asked: ReadOptions) -> tuple[Counted, Source] | None:
    """What was counted of tensors where they are; None where there are none on an accelerator."""
    given = [data, asked.score, *roles.values()]
    if not any(values is not None and device_tensor(values) is not None for values in given):
        return None
    from heldout.engines.tensors.engine import count_tensors

    return count_tensors(data, roles, asked)


# Rows that wait until it is known which classes there are; beyond, that must be said.
MOST_WAITING = 1 << 21


class Evidence:
    """What is counted of cases that come in batches; merged with +, saved to a small file, and evaluated like rows.

    What is not given is taken from the first batches. Labels that come later are added.

    Memory is bounded however many cases come, with one exception: with `group` there is an entry for every group and
    cell of the confusion matrix, and with scores for every group, class and bin of scores, which of scores that hardly
    repeat is nearly one for each case (about 200 bytes). Round the scores, to three digits say, to keep few.

    Parameters
    ----------
    labels : sequence of labels, optional
        The classes, where not every batch shows them all.
    positive : label, optional
        The class that scores speak for.
    threshold : float, optional
        The score from which the positive class is predicted.
    missing : {"refuse", "drop"}
        What to do with rows that lack a value: refuse them, or leave them out and count them.

    Examples
    --------
    >>> seen = Evidence()
    >>> for truth, predicted in [([0, 1], [0, 0]), ([1, 2], [1, 2])]:
    ...     seen = seen.update(truth, predicted)
    >>> seen.n, seen.matrix.tolist()
    (4, [[1, 0, 0], [1, 1, 0], [0, 0, 1]])

    """

    @takes_synonyms
    def __init__(
        self,
        labels: Sequence[Label] | None = None,
        positive: Label | None = None,
        threshold: float | None = None,
        missing: Missing = "refuse",
    ) -> None:
        check_missing_word(missing)
        if labels is not None:
            check_label_list(labels, "write ['no', 'yes'].")
        self._labels = None if labels is None else _checked_labels(labels, positive)
        self._positive = positive
        self._threshold = checked_threshold(threshold)
        self._missing: Missing = missing
        # The classes that were met, the one that a single column of scores speaks for once that is settled, and
        # batches that wait until their classes are known.
        self._known: tuple[Label, ...] = ()
        self._settled: Label | None = None
        self._unsettled: list[Batch] = []
        self._unsettled_rows = 0
        self._grown = BufferedCounts()

    @classmethod
    def of(cls, counted: Counted) -> Evidence:
        """Evidence from what was counted already.

        >>> Evidence.of(Counted(Confusion.of([[5, 1], [0, 4]]), rows=10)).n
        10
        """
        scores = counted.scores
        # The usual positive class of two may be none of three, so it counts as named only where it is not the usual.
        named = counted.positive if scores is not None or counted.positive != usual_positive(counted.labels) else None
        evidence = cls(positive=named, threshold=counted.threshold)
        evidence._known = counted.labels if scores is None or not scores.per_class else scores.labels
        evidence._settled = None if scores is None or scores.per_class else counted.positive
        evidence._grown = BufferedCounts.of(counted)
        return evidence

    @takes_synonyms
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

        Parameters
        ----------
        data : array or data frame
            The true classes, one per case; or a data frame whose columns are then named.
        predicted : array or column name, optional
            The predicted classes. Fractions, or a table with a column for each class, are taken as scores.
        truth : array or column name, optional
            The true classes, where they are not the first argument.
        score : array, table or column names, optional
            A score or probability of the positive class for each case, or one for each case and class.
        weight : array or column name, optional
            How much each case counts.
        group : array or column name, optional
            Which cases belong together, such as those of one patient.
        fold : array or column name, optional
            Which model of a resampling plan made each prediction.
        slices : column names or dictionary of arrays, optional
            What divides the cases.

        Examples
        --------
        >>> Evidence().update([0, 1, 1], score=[0.2, 0.9, 0.4]).matrix
        array([[1, 0],
               [1, 1]])

        """
        predicted, score, _ = take_as_scores(predicted, score)
        checked_threshold(self._threshold, predicted)
        if isinstance(slices, str) and slices == "all":
            raise OptionError(
                "Which columns divide the cases cannot be told from one batch.",
                hint="name them: slices=['sex', 'age'], or slices={'age': ages} for arrays.",
            )
        roles = {"truth": truth, "predicted": predicted, "weight": weight, "group": group, "fold": fold}
        # An iterator can be read only once, and what a batch holds is looked at more than once.
        read = {role: list(values) if isinstance(values, Iterator) else values for role, values in roles.items()}
        data, score = (list(values) if isinstance(values, Iterator) else values for values in (data, score))
        batch = Batch(data, read, score, name_slices(slices))
        if not batch.is_empty():
            self._take(batch)
        return self

    def _take(self, batch: Batch) -> None:
        """Count a batch, or keep it until it is known which classes there are."""
        if self._labels is not None and self._count_on_device(batch, self._labels):
            return
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
        if self._must_wait(known, max(columns, 2)):
            self._expect(batch, known, max(columns, 2))
            self._wait(batch, known)
            return
        before = self._before() if self._unsettled else {}
        waiting = self._take_unsettled()
        try:
            for waited in [*waiting, batch]:
                self._add(waited, known)
        except HeldoutError:
            # A batch that is wrong itself settles nothing.
            vars(self).update(before)
            raise
        self._known = known

    def _count_on_device(self, batch: Batch, labels: tuple[Label, ...]) -> bool:
        """Count a large batch of tensors on their accelerator; False where it is none, and is read as rows."""
        asked = replace(self._asked(labels), score=batch.score, slices=batch.slices)
        found = count_on_device(batch.data, batch.roles, asked)
        if found is None:
            return False
        counted = found[0]
        self._grown = self._grown.merged(BufferedCounts.of(counted))
        if counted.scores is not None and not counted.scores.per_class:
            self._settled = counted.positive
        return True

    def _expect(self, batch: Batch, known: tuple[Label, ...], columns: int) -> None:
        """Refuse a batch that is wrong whatever its other classes are, before it waits for them."""
        named = () if self._positive is None else (self._positive,)
        labels = batch.stand_ins(known or named, columns)
        positive = choose_positive(self._positive, labels)
        if positive is None and batch.score is not None:
            # Which of the classes it is will be asked when they are known.
            positive = labels[-1]
        try:
            predictions = batch.gathered(replace(self._asked(labels), positive=positive))
        except NoScoresError:
            # By the names of its columns, which other classes may fit.
            return
        except NothingWholeError:
            if self._missing == "refuse":
                raise
            return
        self._grown.expect(predictions, labels=known, numbers=batch.number_slices())

    def _wait(self, batch: Batch, known: tuple[Label, ...]) -> None:
        """Keep a batch until its classes are known, or until too many rows wait for that."""
        copied, rows = batch.copied(), self._unsettled_rows + batch.size()
        before = self._before() if rows > MOST_WAITING else {}
        self._unsettled.append(copied)
        self._unsettled_rows, self._known = rows, known
        if before:
            try:
                self._settle()
            except HeldoutError:
                vars(self).update(before)
                raise

    def _take_unsettled(self) -> list[Batch]:
        """The batches that waited; none waits any more."""
        waiting, self._unsettled, self._unsettled_rows = self._unsettled, [], 0
        if waiting:
            self._grown.forget_expected()
        return waiting

    def _must_wait(self, known: Sequence[Label], columns: int) -> bool:
        if self._labels is not None or self._grown.n or len(known) >= columns:
            return False
        guessed = len(known) >= 2 and self._unsettled_rows > ROWS_AT_ONCE
        return not guessed

    def _classes(self, batch: Batch) -> tuple[Label, ...]:
        """The classes that are known when this batch is, too."""
        if self._labels is not None:
            return self._labels
        classes = batch.classes(self._asked(None))
        new = [label for label in classes if label not in self._known]
        if self._settled is not None and new:
            raise LabelError(
                f"The scores speak for {quoted(self._settled)}, one of the classes "
                f"{listing(map(quoted, self._known))}, and this batch has others: {listing(map(quoted, new))}.",
                hint="leave those rows out, or give one score per class and name all classes with labels=.",
            )
        known = join_labels(self._known, classes) if self._known else classes
        if self._positive is not None and known:
            named = fitted([self._positive], known)
            known = known if named[0] in known else join_labels(known, named)
        return known

    def _asked(self, labels: tuple[Label, ...] | None) -> ReadOptions:
        positive = self._settled if self._settled is not None else self._positive
        return ReadOptions(labels, self._missing, None, None if labels is None else positive, self._threshold)

    def _add(self, batch: Batch, labels: tuple[Label, ...] | None) -> None:
        """Take a batch whose classes are known; nothing is changed where it is refused."""
        if labels is not None and self._is_unclear(batch, labels):
            hint = f"name it before the first batch: Evidence(labels={list(labels)!r}, positive=…)."
            raise ask_for_positive(labels, hint)
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
        return len(labels) == 2 and not named and batch.score_columns() == 1

    def _settle(self) -> None:
        """Take what waits with the classes that are known, or say what must be named."""
        known = self._known
        rows = self._unsettled_rows
        columns = max(2, *(batch.score_columns() for batch in self._unsettled))
        if len(known) == 1 and columns == 2:
            pair = usual_pair(known[0])
            if pair is None:
                hint = "name both before the first batch: Evidence(labels=…, positive=…)."
                what = "The case so far is" if rows == 1 else f"All {rows:,} cases so far are"
                raise ask_for_other_class(f"{what} of class {quoted(known[0])}", hint)
            known = pair
        elif len(known) < columns and self._unsettled[0].score is not None:
            raise LabelError(
                f"There are {columns} columns of scores, and the {counted(rows, 'case')} so far "
                f"{'shows' if rows == 1 else 'show'} {counted(len(known), 'class', 'classes')}: "
                f"{listing(map(quoted, known))}.",
                hint="name all classes with labels=, in the order of the columns.",
            )
        for batch in self._take_unsettled():
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
        """The number of rows in all batches so far."""
        return self.counted.n if self._unsettled else self._grown.n

    @property
    def matrix(self) -> Counts:
        """The square table of the confusion; rows are the truth."""
        return self.confusion.matrix

    def write(self, path: str | Path) -> Path:
        """Write what was counted to a small file, whole or not at all; `Evidence.load` reads it."""
        return save(self.counted, path)

    def save(self, path: str | Path) -> Path:
        """The same as `write`."""
        return self.write(path)

    @classmethod
    def load(cls, path: str | Path) -> Evidence:
        """Evidence that was saved in a file."""
        return cls.of(load(path))

    def __add__(self, other: object) -> Evidence:
        if not isinstance(other, Evidence):
            return NotImplemented
        if other is self:
            raise OptionError(
                f"This would count the same {self._grown.n:,} rows twice: both sides are the same evidence.",
                hint="add evidence of other cases; to multiply cases, give them weights.",
            )
        _check_positive(self, other)
        merged = copy.copy(self)
        merged._grown = self._grown.merged(other._grown)
        merged._labels = None if self._labels is None or other._labels is None else _both(self._labels, other._labels)
        merged._known = _both(self._known, other._known)
        merged._settled = self._settled if self._settled is not None else other._settled
        merged._positive = self._positive if self._positive is not None else other._positive
        merged._threshold = self._threshold if self._threshold is not None else other._threshold
        merged._unsettled, merged._unsettled_rows = [], 0
        for batch in [*self._unsettled, *other._unsettled]:
            merged._take(batch)
        return merged

    def __radd__(self, other: object) -> Evidence:
        # sum() begins with 0.
        return self if other == 0 else NotImplemented

    def __eq__(self, other: object) -> bool:
        return self.counted == other.counted if isinstance(other, Evidence) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<heldout.Evidence of {counted(self._grown.n + self._unsettled_rows, 'row')}>"


def _check_positive(first: Evidence, second: Evidence) -> None:
    """Refuse two positive classes: named ones, or a named one and another that is the usual one of the same classes."""
    sides = first._positive, second._positive  # noqa: SLF001 - of the same class
    if sides == (None, None):
        return
    named = sides[1] if sides[0] is None else sides[0]
    found = [
        usual_positive(each._known) if side is None and named in each._known else side  # noqa: SLF001
        for side, each in zip(sides, (first, second), strict=True)
    ]
    if None not in found and found[0] != found[1]:
        raise MatrixError(
            f"The positive class is {found[0]!r} on one side and {found[1]!r} on the other.",
            hint="name the same with positive= (--positive) wherever cases are counted.",
        )


def _checked_labels(labels: Sequence[Label], positive: Label | None) -> tuple[Label, ...]:
    """The classes as they were named, each once and the positive one among them."""
    classes = tuple(labels)
    twice = [label for index, label in enumerate(classes) if label in classes[:index]]
    if twice or not classes:
        raise LabelError(
            f"Labels are named twice: {listing(map(quoted, dict.fromkeys(twice)))}." if twice else "labels is empty.",
            hint="name each class once, as in labels=['no', 'yes'].",
        )
    choose_positive(positive, classes)
    return classes


def _both(first: tuple[Label, ...], second: tuple[Label, ...]) -> tuple[Label, ...]:
    return join_labels(first, second) if first and second else first or second


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
    number = as_float(threshold) if is_number else math.nan
    if not math.isfinite(number):
        shown = number if math.isinf(number) else threshold
        raise OptionError(f"The threshold must be a number. Got {shown!r}.", hint="for example 0.5.")
    return number
