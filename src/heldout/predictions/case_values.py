"""The numbers of each case: its weight, its group, and its scores, one for the positive class or one per class."""

from __future__ import annotations

import math
import numbers
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.arguments import LARGEST, SMALLEST, as_float, counted, listing
from heldout.errors import ColumnError, LabelError, OptionError, ValuesError
from heldout.evidence import Label
from heldout.evidence.probabilities import Unfit, format_end
from heldout.files.column_types import THOUSANDS
from heldout.predictions.containers import readable, unwrap
from heldout.predictions.device_arrays import device_tensor, holds_fractions
from heldout.predictions.label_encoding import Coded, encode, is_missing
from heldout.predictions.score_columns import class_of, sum_tolerance

# One message for a fault that several functions can find.
CONVERT_TO_NUMBERS = "choose another column, or convert it to numbers."
POINTS = "the points may mark thousands or decimals: write 1200, or 1,2 between semicolons; or part columns by commas."


def weights(values: Any, name: str = "weight") -> NDArray[np.float64]:
    """A column of numbers, NaN where one is missing.

    >>> weights([1, None, 2.5])
    array([1. , nan, 2.5])
    """
    column = unwrap(values, name)
    if not isinstance(column, np.ndarray):
        column = np.asarray(column.to_numpy())
    if hasattr(column, "filled"):
        column = column.astype(np.float64).filled(np.nan)
    if column.dtype.kind in "iufb":
        return np.asarray(column, dtype=np.float64)
    # Text is refused even where NumPy would read it as a number, and so are dates, which it takes for nanoseconds.
    values_or_nan = [np.nan if is_missing(value) else value for value in column.tolist()]
    if column.dtype.kind != "O" or not all(isinstance(value, numbers.Real | Decimal) for value in values_or_nan):
        raise _no_numbers(values_or_nan, name)
    return np.array([as_float(value) for value in values_or_nan], dtype=np.float64)


def _no_numbers(values: list[Any], name: str) -> ValuesError:
    """What a column holds that should be numbers, and where that begins."""
    bad = [index for index, value in enumerate(values) if not is_number(value)]
    if not bad:
        return refuse_content(name, listing(map(repr, values), most=3), convert_hint(*values))
    examples = listing(dict.fromkeys(repr(values[index]) for index in bad), most=3)
    return ValuesError(
        f"{name} must be numbers. {len(bad):,} of {len(values):,} {'values is' if len(bad) == 1 else 'values are'} "
        f"not: {examples}; {'it is' if len(bad) == 1 else 'the first is'} in row {bad[0] + 1:,}.",
        hint=CONVERT_TO_NUMBERS,
    )


def convert_hint(*values: Any) -> str:
    """What to do about a column that should be numbers and holds these values."""
    points = any(isinstance(value, str) and re.fullmatch(THOUSANDS, value.strip()) for value in values)
    return POINTS if points else CONVERT_TO_NUMBERS


def refuse_content(name: str, content: object, hint: str) -> ValuesError:
    """The error of a column that should be numbers and holds something else throughout."""
    return ValuesError(f"{name} must be numbers. It holds {content}.", hint=hint)


def is_number(value: Any) -> bool:
    """Whether a value is a number, or text that files mean by one.

    >>> is_number("1e-3"), is_number("1_000"), is_number("nan"), is_number("9" * 400)
    (True, False, True, False)
    """
    try:
        number = as_float(value)
    except (TypeError, ValueError):
        return False
    # Python reads more than files hold: 1_000, digits of other scripts, and as infinite what is too large for a float.
    written = not isinstance(value, str) or (value.isascii() and "_" not in value)
    return written and not (isinstance(value, str) and math.isinf(number) and "n" not in value.casefold())


def weighted_rows(weight: NDArray[np.float64] | None) -> NDArray[np.bool_] | None:
    """Which rows have another weight than 0; None where all have one, and where none has, which is refused later.

    >>> weighted_rows(np.array([1.0, 0.0, np.nan])).tolist()
    [True, False, True]
    """
    if weight is None:
        return None
    keep = weight != 0
    return None if keep.all() or not keep.any() else np.asarray(keep)


def take_rows(values: Any, keep: NDArray[np.bool_] | None, name: str) -> Any:
    """The rows to keep of any column; a column of another length is as it was, and is refused later.

    >>> take_rows(["a", "b", "c"], np.array([True, False, True]), "truth").tolist()
    ['a', 'c']
    """
    if values is None or keep is None:
        return values
    column = unwrap(values, name)
    if len(column) == len(keep):
        column = column[keep] if isinstance(column, np.ndarray) else column.filter(keep.tolist())
    return column if isinstance(column, np.ndarray) else column.to_native()


def check_weight(weight: NDArray[np.float64], rows: NDArray[Any] | None = None) -> None:
    """Refuse weights that are negative, not finite, all zero, or beyond what can be squared.

    `rows` are the places of the cases among the rows that were given, where some were left out.
    """
    bad = np.flatnonzero(~np.isfinite(weight) | (weight < 0))
    if len(bad):
        row = int(bad[0]) if rows is None else int(rows[bad[0]])
        raise refuse_weights(f"Row {row + 1:,} has {weight[bad[0]]:g}.")
    check_weight_range(float(weight[weight > 0].min(initial=np.inf)), float(weight.max(initial=0.0)))


def refuse_weights(what: str) -> ValuesError:
    """The error of weights that are negative or not finite; `what` says which."""
    return ValuesError(
        f"Weights must be finite and not negative. {what}", hint="give weight 0 to a case that should not count."
    )


def check_weight_range(low: float, high: float) -> None:
    """Refuse weights that are all zero, or beyond what can be squared, by the least and the greatest above zero."""
    if not high:
        raise ValuesError("All weights are zero, so no case counts.", hint="give at least one case a weight.")
    if low < SMALLEST or high > LARGEST:
        raise ValuesError(
            f"Weights must lie between {SMALLEST:g} and {LARGEST:g}, or be 0. They run from {low:g} to {high:g}.",
            hint="divide all of them by their mean: only their ratios count.",
        )


def groups(values: Any, name: str = "group") -> Coded:
    """Encode a column of group keys of any kind: numbers, text, dates, pairs.

    >>> groups([0.5, 0.25, 0.5]).codes.tolist()
    [1, 0, 1]
    """
    column = unwrap(values, name)
    if not isinstance(column, np.ndarray) and column.dtype.is_float():
        column = column.to_numpy()
    if isinstance(column, np.ndarray) and column.dtype.kind in "fmM" and not hasattr(column, "filled"):
        return _sorted_keys(column)
    try:
        return encode(column if isinstance(column, np.ndarray) else column.to_native(), name)
    except LabelError:
        # No label, but a key all the same: its text tells it from the others.
        keys = column.tolist() if isinstance(column, np.ndarray) else column.to_list()
        return encode([None if is_missing(value) else str(value) for value in keys], name)


def _sorted_keys(column: NDArray[Any]) -> Coded:
    absent = np.isnat(column) if column.dtype.kind in "mM" else np.isnan(column)
    keys, key_index = np.unique(column[~absent], return_inverse=True)
    codes = np.full(len(column), -1, dtype=np.int64)
    codes[~absent] = key_index
    labels = [str(key) for key in keys] if keys.dtype.kind in "mM" else keys.tolist()
    return Coded(codes, 0, tuple(labels), missing=int(absent.sum()))


# Rounding may carry a probability this far beyond 0 or 1.
NOISE = 1e-6


def refuse_confidences(column: Any = None) -> ValuesError:
    """The error of confidences in predictions where rows are counted and not kept, so that they cannot be turned.

    Without the name of a `column`, they came in batches.
    """
    where = "" if column is None else f" in {str(column)!r}"
    turned = "all cases at once (evaluate)" if column is None else "in memory (--engine memory)"
    return ValuesError(
        f"The scores{where} are the confidence in the predicted class: none is below one half, whichever class was "
        "predicted.",
        hint=f"give the score of the positive class, 1 − score where the other was predicted; {turned} they are "
        "turned.",
    )


# The note on scores of which none is below one half; where rows are counted and not kept, it is the whole note.
NONE_BELOW_HALF = "no score is below one half: "
TAKEN_AS_SCORES = (
    f"{NONE_BELOW_HALF}they were taken as scores of the positive class, and not as a confidence in the prediction, "
    "whichever it is"
)


class NoThresholdError(OptionError):
    """Scores that are no probabilities, and no threshold to make classes of them."""


@dataclass(frozen=True, eq=False)
class RawScores:
    """Columns of scores as they were given, before it is known which class each belongs to."""

    values: NDArray[Any]
    names: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.values)


# Confidences that were rounded to two decimals may be this far below the least that they can be.
ROUNDED = 0.005
# The share of answers that no threshold on the scores would give; rounding alone causes fewer.
ASTRAY = 0.05
# With fewer answers of each kind, all scores may be this high by chance.
FEWEST = 3
# About so many rows, evenly spaced, are enough to compare the answers with a threshold.
LOOKED = 200_000


@dataclass(frozen=True, slots=True)
class Confidences:
    """Scores that are of the predicted class, whichever it is: their ends, and the share of answers beside them."""

    least: float
    most: float
    astray: float
    whole: float = 1.0

    @classmethod
    def of(cls, values: NDArray[Any], called: NDArray[np.bool_]) -> Confidences | None:
        """What scores of two classes are where they can only be confidences in predictions; None where they need not.

        The likelier of two classes has at least one half, whichever it is, and then no threshold gives the answers.

        >>> sure, called = np.tile([0.9, 0.6], 20), np.repeat([True, False], 20)
        >>> Confidences.of(sure, called)
        Confidences(least=0.6, most=0.9, astray=0.5, whole=1.0)
        """
        if not len(values) or len(values) != len(called):
            return None
        least, most = float(values.min()), float(values.max())
        whole = whole_of(least, most)
        if whole is None or min(np.count_nonzero(called), np.count_nonzero(~called)) < FEWEST:
            return None
        step = len(values) // LOOKED + 1
        values, called = values[::step], called[::step]
        order = np.argsort(-values, kind="stable")
        ends = np.append(np.diff(values[order]) != 0, True)
        # Of the k highest: how many more were called positive than not.
        gain = np.cumsum(np.where(called[order], 1, -1))[ends].max()
        right = max(int(gain), 0) + np.count_nonzero(~called)
        astray = 1 - right / len(values)
        return cls(least, most, float(astray), whole) if astray > ASTRAY else None

    @property
    def note(self) -> str:
        """What is said of scores that were turned."""
        return (
            "the scores are the confidence in the predicted class, so they were turned into scores of the positive "
            f"class: {self.whole:g} − score where the other was predicted"
        )


def whole_of(least: float, most: float) -> float | None:
    """What confidences that run so far are parts of: 1, or 100 of per cent; None where they can be none.

    >>> whole_of(0.5, 0.99), whole_of(51.0, 99.0), whole_of(0.1, 0.9)
    (1.0, 100.0, None)
    """
    wholes = (1.0, 100.0)
    return next((x for x in wholes if least / x >= 0.5 - ROUNDED and most / x <= 1 + ROUNDED), None)


def area_of(values: NDArray[Any], positive: NDArray[np.bool_], weight: NDArray[np.float64] | None = None) -> float:
    """The share of pairs that scores rank right, ties counting half; NaN where a class is missing.

    >>> area_of(np.array([0.9, 0.2, 0.2]), np.array([True, True, False]))
    0.75
    """
    _, value_index = np.unique(values, return_inverse=True)
    heavy = np.ones(len(values)) if weight is None else weight
    up, down = (np.bincount(value_index, weights=heavy * rows) for rows in (positive, ~positive))
    pairs = up.sum() * down.sum()
    return float(np.dot(up, np.cumsum(down) - down / 2) / pairs) if pairs else float("nan")


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores that fit the labels: `values` (n,) for the positive class, or (n, k) in the order of the labels.

    `unfit` says why the values are no probabilities, and is None where they are. `turned` is set where confidences in
    the answers were given, and were turned into scores of the positive class. `unsure` is set of a batch of one column
    of scores that may be such, which only all batches can tell. `notes` say what was done to them.
    """

    values: NDArray[Any]
    unfit: Unfit | None = None
    turned: Confidences | None = None
    notes: tuple[str, ...] = ()
    unsure: bool = False

    @property
    def is_probability(self) -> bool:
        """Whether the values are probabilities."""
        return self.unfit is None

    @property
    def not_probability(self) -> str:
        """Why the values are no probabilities, in words; empty where they are."""
        return "" if self.unfit is None else self.unfit.sentence()

    @property
    def per_class(self) -> bool:
        """Whether there is a column for every class, not one for the positive class."""
        return self.values.ndim == 2

    def predicted(self, labels: Sequence[Label], positive: Label | None, threshold: float | None) -> Coded:
        """The class that the scores speak for: at least the threshold, or the highest of all classes."""
        if self.per_class:
            if threshold is not None:
                raise OptionError(
                    "A threshold tells two classes apart, and there is a score for each of several.",
                    hint="leave out the threshold (--threshold, --grid), and the class with the highest score is "
                    "predicted; 'heldout thresholds FILE --positive CLASS' tells one class from the others.",
                )
            return Coded(self.values.argmax(axis=1), 0, tuple(labels), declared=True)
        cut = self.default_threshold() if threshold is None else threshold
        positive_index = list(labels).index(positive) if positive is not None else 1
        # A score of four bytes is the number it stands for: a plain threshold would be rounded to its length.
        cut = np.float64(cut)
        # One byte a case.
        codes = (self.values >= cut if positive_index else self.values < cut).view(np.uint8)
        return Coded(codes, 0, tuple(labels), declared=True)

    def default_threshold(self) -> float:
        """Half for probabilities, 0 for decision values; other scores have no natural threshold."""
        if self.is_probability:
            return 0.5
        if self.unfit is not None and self.unfit.decision:
            return 0.0
        low, high = float(self.values.min()), float(self.values.max())
        raise NoThresholdError(
            f"The scores run from {format_end(low)} to {format_end(high)}, so they are no probabilities and have no "
            "natural threshold.",
            hint="give one with threshold= (--threshold), for example 0 for decision values; areas need none: "
            "measures=['roc_auc'] (--measure roc_auc).",
        )


def raw_scores(values: Any, called: str = "score") -> RawScores:
    """Columns of numbers from an array, a tensor, a data frame column, or a list of columns.

    >>> raw_scores([0.9, 0.2]).values
    array([0.9, 0.2])
    """
    if isinstance(values, Iterator):
        # It can be read only once.
        values = list(values)
    if isinstance(values, Mapping):
        # Named columns are those of a data frame, whichever library holds them: all of eight bytes.
        columns = [weights(column, f"{called} (column {name!r})") for name, column in values.items()]
        return RawScores(np.column_stack(columns) if len(columns) > 1 else columns[0], tuple(map(str, values)))
    if hasattr(values, "columns") and not hasattr(values, "dtype"):
        import narwhals.stable.v2 as nw

        frame = nw.from_native(values, eager_only=True)
        return raw_scores({str(name): frame.get_column(name).to_native() for name in frame.columns}, called=called)
    array = _square(values, called)
    return RawScores(_column(values, called) if array is None else array)


def _square(values: Any, called: str) -> NDArray[Any] | None:
    """A table of scores, if that is what was given."""
    if hasattr(values, "tocsr"):
        raise ValuesError(f"{called} is a sparse matrix.", hint="make an array of it first: .toarray().")
    if hasattr(values, "detach"):
        values = values.detach()
        values = values.cpu() if hasattr(values, "cpu") else values
        values = readable(values)
    nested = isinstance(values, list | tuple) and values and isinstance(values[0], list | tuple | np.ndarray)
    if not nested and getattr(values, "ndim", 1) != 2:
        return None
    try:
        masked = isinstance(values, np.ma.MaskedArray) and values.dtype.kind in "iufb"
        array = values.astype(np.float64).filled(np.nan) if masked else np.asarray(values)
    except ValueError:
        raise ValuesError(
            f"The rows of {called} differ in length.", hint="give every case one score per class."
        ) from None
    if array.dtype.kind not in "iufb":
        raise refuse_content(called, array.dtype, "convert it to numbers.")
    array = array if array.dtype in (np.float32, np.float64) else array.astype(np.float64)
    return array[:, 0] if array.shape[1] == 1 else array


def _column(values: Any, called: str) -> NDArray[Any]:
    column = unwrap(values, called)
    if isinstance(column, np.ndarray) and column.dtype == np.float32 and not hasattr(column, "filled"):
        return column
    return weights(values, called)


# Python's own lists are looked at this far to see whether they hold fractions.
LOOKED_AT = 1000
SCORES_IN_PLACE = "the numbers in the place of the predictions are not classes, so they are taken as scores"


def take_as_scores(predicted: Any, score: Any) -> tuple[Any, Any, tuple[str, ...]]:
    """The predictions and the scores, and a note where scores were given in the place of predictions.

    >>> take_as_scores([0.2, 0.9], None)[1:]
    ([0.2, 0.9], ('the numbers in the place of the predictions are not classes, so they are taken as scores',))
    >>> take_as_scores([0, 1], None)
    ([0, 1], None, ())
    """
    if score is not None or not _are_scores(predicted):
        return predicted, score, ()
    return None, predicted, (SCORES_IN_PLACE,)


def _are_scores(values: Any) -> bool:
    """Whether values cannot be labels but can be scores: fractions, or a table of them with a column for each class."""
    if isinstance(values, list | tuple):
        begun = values[:LOOKED_AT]
        if begun and isinstance(begun[0], list | tuple | np.ndarray):
            return np.size(begun[0]) > 1 and any(map(_are_scores, begun))
        return any(isinstance(value, float) and math.isfinite(value) and not value.is_integer() for value in begun)
    if hasattr(values, "columns") and not hasattr(values, "dtype"):
        return len(values.columns) > 1
    if "float" not in str(getattr(values, "dtype", "")).casefold():
        return False
    return _holds_fractions(values)


def _holds_fractions(values: Any) -> bool:
    """Whether an array of floats has a column for each class, or numbers that are not whole."""
    if (tensor := device_tensor(values)) is not None:
        return holds_fractions(tensor)
    square = _square(values, "predicted")
    if square is not None and square.ndim == 2:
        return True
    column = np.asarray(_column(values, "predicted") if square is None else square)
    return bool((np.isfinite(column) & (column != np.floor(column))).any())


def settle_scores(
    raw: RawScores, labels: Sequence[Label], positive: Label | None, rows: NDArray[Any] | None = None
) -> Scores:
    """Give each column its class, and find out whether the values are probabilities.

    `rows` are the places of the cases among the rows that were given, where some were left out.

    >>> settle_scores(raw_scores([[0.2, 0.8], [0.6, 0.4]]), ["no", "yes"], "yes").values
    array([0.8, 0.4])
    """
    bad = ~np.isfinite(raw.values)
    if bad.any():
        row = int(np.flatnonzero(bad.any(axis=-1) if bad.ndim == 2 else bad)[0])
        row, number = row if rows is None else int(rows[row]), int(bad.sum())
        raise refuse_infinite(number, row)
    raw, notes = _without_noise(raw)
    values = raw.values
    if values.ndim == 1:
        return replace(_one_column(raw, labels, positive), notes=notes)
    if values.shape[1] != len(labels):
        raise ColumnError(
            f"There are {values.shape[1]} columns of scores and {counted(len(labels), 'class', 'classes')}: "
            f"{listing(labels)}.",
            hint="give one column per class, or for two classes the column of the positive one; classes without a case "
            "are named with labels= (--labels), in the order of the columns.",
        )
    if raw.names:
        values = values[:, _order(raw.names, labels)]
    reason = _unfit(values)
    if len(labels) == 2 and positive is not None:
        index = list(labels).index(positive)
        own = np.ascontiguousarray(values[:, index])
        if reason is None:
            return Scores(own, notes=notes)
        # Of two logits neither alone says which class is the more probable: their difference does.
        return Scores(own - values[:, 1 - index], Unfit(decision=True))
    return Scores(values, reason, notes=notes if reason else (*notes, *_rounded_note(values)))


def row_name(place: int | str) -> str:
    """What errors call a row: its number by its place from 0, or what whoever reads it calls it.

    >>> row_name(0), row_name("row 1 of a.csv")
    ('row 1', 'row 1 of a.csv')
    """
    return place if isinstance(place, str) else f"row {place + 1:,}"


def refuse_infinite(number: int, first: int | str | None = None) -> ValuesError:
    """The error of so many scores that are not finite; `first` is the place of the first, as `row_name` takes it."""
    what = "1 score is not finite" if number == 1 else f"{number:,} scores are not finite"
    where = "" if first is None else f"{', in' if number == 1 else '; the first is in'} {row_name(first)}"
    return ValuesError(
        f"{what}{where}.", hint="replace infinities by the largest finite score, or leave those rows out."
    )


def _without_noise(raw: RawScores) -> tuple[RawScores, tuple[str, ...]]:
    """Probabilities that arithmetic carried a little beyond 0 or 1 moved back to these, and a note that says so."""
    low, high = float(raw.values.min(initial=0.0)), float(raw.values.max(initial=1.0))
    if not (low < 0 or high > 1) or low < -NOISE or high > 1 + NOISE:
        return raw, ()
    beyond = int(np.count_nonzero((raw.values < 0) | (raw.values > 1)))
    # A few numbers around 0 alone are scores of another kind.
    if float(raw.values.max()) <= NOISE:
        return raw, ()
    return RawScores(np.clip(raw.values, 0, 1), raw.names), (noise_note(beyond, low, high),)


def noise_note(beyond: int, low: float, high: float) -> str:
    """What is said of so many probabilities that arithmetic carried beyond 0 or 1, which run from `low` to `high`."""
    worst = format_end(low if -low > high - 1 else high)
    are = "is" if beyond == 1 else "are"
    return f"{counted(beyond, 'score')} beyond 0 or 1 by rounding, such as {worst}, {are} taken as 0 or 1"


# Probabilities that sum to 1 up to this, for each class, need no word.
UNSAID = 5e-4


def _rounded_note(values: NDArray[Any]) -> list[str]:
    """That probabilities do not sum to 1, as rounded ones do not; they are taken as they are."""
    gap = np.abs(values.sum(axis=1, dtype=np.float64) - 1)
    worst = int(gap.argmax())
    if gap[worst] <= UNSAID * values.shape[1] + 1e-9:
        return []
    total = float(values[worst].sum(dtype=np.float64))
    return [f"the probabilities of a case sum to {total:g}, as rounded ones do; they are taken as they are"]


def refuse_two_columns(names: Sequence[Any], reason: Unfit) -> ValuesError:
    """The error of two columns of scores that are no probabilities, where rows are counted and not kept."""
    return ValuesError(
        f"The two score columns {listing(names)} are no probabilities: {reason.sentence()}.",
        hint="write their difference, positive class less the other, as one score, or read all rows with --engine "
        "memory, which does that.",
    )


def ask_for_positive(labels: Sequence[Label], hint: str) -> OptionError:
    """The error where one column of scores was given for two classes, and none of them is the positive one."""
    return OptionError(f"The scores speak for one class, and it is not known which of {listing(labels)}.", hint=hint)


def _of_another_class(column: str, owner: Label | None, positive: Label | None) -> ColumnError:
    return ColumnError(
        f"The column {column!r} looks like the score of class {owner!r}, but the positive class is {positive!r}.",
        hint=f"use the column of {positive!r}, or name {owner!r} as the positive class.",
    )


def _one_column(raw: RawScores, labels: Sequence[Label], positive: Label | None) -> Scores:
    if len(labels) > 2:
        raise ColumnError(
            f"One column of scores was given for {len(labels)} classes: {listing(labels)}.",
            hint="give one column of scores per class.",
        )
    if positive is None and len(labels) == 2:
        raise ask_for_positive(labels, "name it with positive= (--positive).")
    owner = class_of(raw.names[0], labels) if raw.names else None
    if owner is not None and owner != positive:
        raise _of_another_class(raw.names[0], owner, positive)
    return Scores(raw.values, _unfit(raw.values))


def refuse_several(names: Sequence[Label], instead: str = "") -> OptionError:
    """What is said where a threshold is wanted for more than two classes; `instead` says what else there is."""
    return OptionError(
        f"A threshold tells two classes apart, and there are {len(names)}: {listing(names)}.",
        hint=f"name the one that is to be told from all the others: --positive CLASS (in Python positive=){instead}.",
    )


def against_rest(
    truth: Coded, names: Sequence[Label], positive: Label | None, score: RawScores
) -> tuple[Coded, tuple[Label, ...], RawScores]:
    """One class against all the others together: the truth, the two classes, and the score of the one.

    >>> seen = Coded(np.array([0, 1, 2]), 0, ("a", "b", "c"))
    >>> truth, names, _ = against_rest(seen, seen.labels, "b", raw_scores([0.1, 0.8, 0.3]))
    >>> names, truth.codes.tolist()
    (('not b', 'b'), [0, 1, 0])
    """
    if positive is None:
        raise refuse_several(names)
    owners = [class_of(name, names) for name in score.names]
    if score.values.ndim == 2:
        columns = score.values.shape[1]
        if score.names and positive not in owners:
            raise ColumnError(
                f"None of the score columns {listing(score.names)} is named after the class {positive!r}.",
                hint="name the one of that class with --score COLUMN (in Python score=).",
            )
        if not score.names and columns != len(names):
            raise ColumnError(
                f"There are {columns} columns of scores and {len(names)} classes: {listing(names)}.",
                hint=f"give the column of {positive!r} alone.",
            )
        positive_index = owners.index(positive) if score.names else list(names).index(positive)
        score = RawScores(np.ascontiguousarray(score.values[:, positive_index]))
    elif owners and owners[0] not in (None, positive):
        raise _of_another_class(score.names[0], owners[0], positive)
    codes = np.array([label == positive for label in truth.labels])[truth.codes.astype(np.int64) - truth.offset]
    both = (f"not {positive}", positive)
    return Coded(codes.astype(np.uint8), 0, both, declared=True), both, RawScores(score.values)


def _order(names: Sequence[str], labels: Sequence[Label]) -> list[int]:
    owners = {class_of(name, labels): position for position, name in enumerate(names)}
    absent = [label for label in labels if label not in owners]
    if absent:
        raise ColumnError(
            f"The score columns {listing(names)} do not match the classes {listing(labels)}: "
            f"none is named after {listing(map(repr, absent))}.",
            hint="name each column after its class, such as p_CLASS, or pass an array in the order of the classes.",
        )
    return [owners[label] for label in labels]


def _unfit(values: NDArray[Any]) -> Unfit | None:
    """Why values are no probabilities, if they are none."""
    ends = float(values.min()), float(values.max())
    if values.ndim == 1 or Unfit.of_ends(*ends) is not None:
        return Unfit.of_ends(*ends)
    sums = values.sum(axis=1, dtype=np.float64)
    worst = int(np.abs(sums - 1).argmax())
    return unfit_of(*ends, values.shape[1], float(sums[worst]), worst)


def unfit_of(low: float, high: float, columns: int, total: float, row: int | None = None) -> Unfit | None:
    """Why scores are no probabilities, by their ends and of several columns by the sum that is farthest from 1.

    `row` is the place of that sum, where it is known.

    >>> unfit_of(0.1, 0.8, 2, 0.7, 4).sentence(), unfit_of(0.1, 0.8, 2, 1.0)
    ('the scores of row 5 sum to 0.7 instead of 1', None)
    """
    beyond = Unfit.of_ends(low, high)
    if beyond is None and columns > 1 and abs(total - 1) > sum_tolerance(columns):
        return Unfit(total=total, row=None if row is None else row + 1)
    return beyond
