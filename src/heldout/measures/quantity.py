"""A quantity: one measure with its parameters settled, of one class, of the whole table, or averaged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

from heldout.arguments import listing
from heldout.errors import OptionError
from heldout.evidence import Confusion, Label
from heldout.measures.cells import (
    CORNERS,
    GAPS,
    SUMS,
    TWO,
    WHOLE_TABLE,
    Cells,
    TableBatch,
    batch_cells,
    class_cells,
    evidence_cells,
    slopes,
)
from heldout.measures.declare import Measure
from heldout.show.escape import visible
from heldout.show.text_width import shorten

Average = Literal["macro", "micro", "weighted"]
AVERAGES: tuple[Average, ...] = get_args(Average)


# F scores are called f1, f2, f0.5 up to this beta; a larger one in a name is more likely a slip, as in f11.
LARGEST_WRITTEN_BETA = 10


IN_ORDER, SHOWN_IN_ORDER = "classes in the order", 8


def is_of_order(measure: Measure) -> bool:
    """Whether the order of the classes matters to a measure: it asks how far apart two of them are."""
    return not GAPS.keys().isdisjoint(measure.cells)


def note_class_order(measure: Measure, labels: Sequence[Label]) -> str:
    """In which order a measure of ordered classes takes texts, which need not be the one that is meant.

    >>> from heldout.measures.catalogue import find
    >>> note_class_order(find("quadratic_kappa").measure, ("high", "low", "mid"))
    'classes in the order high, low, mid; another is given by labels= (--labels)'
    """
    if len(labels) < 3 or not is_of_order(measure) or not any(isinstance(x, str) for x in labels):
        return ""
    # Only those that are shown are made fit to be shown: there may be a million.
    shown = [shorten(visible(str(label)), 40) for label in labels[:SHOWN_IN_ORDER]]
    return (
        f"{IN_ORDER} {listing([*shown, *labels[SHOWN_IN_ORDER:]], most=SHOWN_IN_ORDER)}; another is given by labels= "
        "(--labels)"
    )


@dataclass(frozen=True, slots=True)
class Bound:
    """A measure with its parameters settled, e.g. the F-score with beta 2."""

    measure: Measure
    parameters: dict[str, Any] = field(default_factory=dict)
    costs: NDArray[np.float64] | None = None
    name: str = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self._name())

    @property
    def key(self) -> tuple[Any, str]:
        """What tells it from others among what is kept of counts: a name may be declared anew with another formula."""
        return self.measure.function, self.name

    def _name(self) -> str:
        """The name in rows: the measure's, with parameters that are not the default ones.

        >>> from heldout.measures.catalogue import find
        >>> find("f2").name, find("recall").name
        ('f2', 'recall')
        """
        if self.measure.name == "f_score":
            beta = self.parameters.get("beta", 1.0)
            return f"f{_brief(beta)}" if beta <= LARGEST_WRITTEN_BETA else f"f_score(beta={_brief(beta)})"
        inside = ", ".join(f"{key}={_brief(value)}" for key, value in self._settled.items())
        return f"{self.measure.name}({inside})" if inside else self.measure.name

    @property
    def _settled(self) -> dict[str, Any]:
        """The parameters that are not the default ones."""
        return {k: v for k, v in self.parameters.items() if v != self.measure.parameters[k]}

    @property
    def title(self) -> str:
        """The name as it is written in a table.

        >>> from heldout.measures.catalogue import find
        >>> find("precision_at(k=50)").title, find("top_k_accuracy(k=5)").title, find("partial_auc(high=0.2)").title
        ('precision at 50', 'top-5 accuracy', 'partial AUC (high 0.2)')
        """
        title = self.measure.title
        if self.measure.name == "f_score":
            return self.name.upper()
        if len(self.measure.parameters) == 1:
            # At what is part of what it is, the default included: a title that ends in "at" is none.
            ((key, usual),) = self.measure.parameters.items()
            value, letter = _brief(self.parameters.get(key, usual)), f"-{key} "
            return title.replace(letter, f"-{value} ") if letter in title else f"{title} {value}"
        inside = ", ".join(f"{key} {_brief(value)}" for key, value in self._settled.items())
        return f"{title} ({inside})" if inside else title

    @property
    def undefined(self) -> str:
        """Why it has no value where it has none."""
        return self.measure.undefined

    def pair(self, cells: dict[str, Any]) -> tuple[Any, Any]:
        """Numerator and denominator."""
        return self.measure.function(*map(cells.__getitem__, self.measure.cells), **self.parameters)

    def value(self, cells: dict[str, Any]) -> Any:
        """The value, nan where the denominator is zero."""
        top, bottom = self.measure.function(*map(cells.__getitem__, self.measure.cells), **self.parameters)
        value = divide(top, bottom)
        if value.dtype.kind == "c":
            return value
        return self.within_range(value)

    def within_range(self, value: Any) -> Any:
        """The value without what rounding carried past an end of the range; of one's own measure it may be refused."""
        value = drop_rounding(value, self.measure.range)
        return self._check_declared(value) if self.measure.own else value

    def _check_declared(self, value: Any) -> Any:
        """Refuse a value of a measure of one's own outside the range that was declared for it."""
        low, high = self.measure.range
        outside = np.asarray(value)[(value < low) | (value > high)]
        if outside.size:
            raise OptionError(
                f"The measure {self.name} has the value {float(outside.flat[0]):.4g}, outside its declared range from "
                f"{low:g} to {high:g}.",
                hint="declare the range that it has: low= and high=.",
            )
        return value

    def of_classes(self, tables: NDArray[Any]) -> Any:
        """The value for an array of TP, FN, FP, TN (…, 4)."""
        return self.value(class_cells(*np.moveaxis(tables, -1, 0)))

    def of_tables(self, batch: TableBatch) -> Any:
        """The value for each square table of a batch."""
        return self.value(batch_cells(self.measure, batch, self.costs))

    def of_evidence(self, confusion: Confusion) -> float:
        """The value for the whole table."""
        return float(self.value(evidence_cells(self.measure, confusion, self.costs)))

    def class_gradient(self, tables: NDArray[np.float64]) -> NDArray[np.float64]:
        """Derivatives by TP, FN, FP and TN, exact to rounding, for an array (…, 4)."""
        # The complex step has no subtraction, so no digits are lost: Squire & Trapp (1998).
        step = 1e-30
        moved = np.repeat(tables[None].astype(np.complex128), len(CORNERS), axis=0)
        for position in range(len(CORNERS)):
            moved[position, ..., position] += 1j * step
        gradient = np.empty_like(tables)
        gradient[...] = np.moveaxis(np.imag(self.of_classes(moved)) / step, 0, -1)
        return gradient

    def table_gradient(self, confusion: Confusion) -> NDArray[np.float64]:
        """Derivative by the count of each cell that was met, through the sums that the formula names."""
        if WHOLE_TABLE in self.measure.cells:
            return self._cell_by_cell(confusion)
        step = 1e-30
        cells = evidence_cells(self.measure, confusion, self.costs)
        total = np.zeros(len(confusion.counts))
        for name, slope in slopes(self.measure, confusion, self.costs).items():
            moved = {key: complex(value) for key, value in cells.items()}
            moved[name] += 1j * step
            total += float(np.imag(self.value(moved))) / step * slope
        return total

    def _cell_by_cell(self, confusion: Confusion) -> NDArray[np.float64]:
        """The same by central differences, for a formula of the table itself, which need not know complex numbers."""
        i, j, n = confusion.truth, confusion.predicted, len(confusion.counts)
        step = 1e-4 * np.maximum(confusion.counts.astype(np.float64), 1e-3)
        moved = np.repeat(confusion.matrix.astype(np.float64)[None], 2 * n, axis=0)
        moved[np.arange(n), i, j] += step
        moved[np.arange(n, 2 * n), i, j] -= step
        values = np.asarray(self.of_tables(TableBatch(moved)))
        return np.asarray((values[:n] - values[n:]) / (2 * step))


def _brief(number: float) -> str:
    """A number as short as it can be written without becoming another one."""
    return repr(float(number)).removesuffix(".0")


def divide(top: Any, bottom: Any) -> Any:
    """Top over bottom, nan where the bottom is zero, without a warning."""
    if isinstance(top, float) and isinstance(bottom, float):
        return np.float64(float(top) / float(bottom) if bottom else np.nan)
    bottom = np.asarray(bottom)
    # A drawn denominator may be so close to zero that the ratio has no limit.
    if bottom.all():
        # Nearly every call: no denominator is zero, and nothing needs masking.
        with np.errstate(over="ignore"):
            return np.asarray(top) / bottom
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        value = np.asarray(top) / bottom
    return np.where(bottom == 0, np.nan, value)[()]


# A value this little beyond an end of its range is at the end, but for rounding.
TOLERANCE = 1e-9
# The least and the largest value, by what an array without any has; the functions of NumPy for it take twice as long.
_EXTREMES = (np.minimum, np.inf), (np.maximum, -np.inf)


def drop_rounding(value: Any, ends: tuple[float, float]) -> Any:
    """A value, or an array of them, that rounding carried past an end of its range, brought back to that end.

    >>> [float(drop_rounding(np.float64(x), (0.0, 1.0))) for x in (1.0000000000000002, 1.5)]
    [1.0, 1.5]
    """
    low, high = ends
    # Mostly there are none; nan hides the others. Beyond an end that is infinite nothing lies, and the infinite less
    # itself would be a warning.
    if isinstance(value, float):
        least = most = value
    else:
        least, most = (turn.reduce(value, axis=None, initial=first) for turn, first in _EXTREMES)
    if high < np.inf and not most <= high:
        value = np.where((value > high) & (value - high < TOLERANCE), high, value)[()]
    if low > -np.inf and not least >= low:
        value = np.where((value < low) & (low - value < TOLERANCE), low, value)[()]
    return value


def per_class(bound: Bound, confusion: Confusion) -> NDArray[np.float64]:
    """The value of each class against the rest."""
    memo, key = confusion.memo, ("per class", bound.key)
    if key not in memo:
        memo[key] = _expanded(confusion, _kind_values(bound, confusion))
    values: NDArray[np.float64] = memo[key]
    return values


def per_class_gradient(bound: Bound, confusion: Confusion) -> NDArray[np.float64]:
    """The derivatives of the value of each class by its TP, FN, FP and TN; 0 where it has no value."""
    return _expanded(confusion, _kind_gradient(bound, confusion))


def settle_classes(bounds: Iterable[Bound], confusion: Confusion) -> None:
    """Work out the value of every class by several measures, and keep it with the counts for whoever asks for one.

    Of few classes one call for all measures takes hardly longer than one for each.
    """
    memo = confusion.memo
    wanted = [bound for bound in bounds if ("kind values", bound.key) not in memo]
    if not wanted:
        return
    kinds, *_ = _kinds(confusion)
    cells = class_cells(*np.ascontiguousarray(kinds.T))
    pairs = np.empty((2, len(wanted), len(kinds)))
    for at, bound in enumerate(wanted):
        pairs[0, at], pairs[1, at] = bound.pair(cells)
    values = divide(*pairs)
    low, high = np.array([bound.measure.range for bound in wanted]).T[:, :, None]
    outside = ((values < low) | (values > high)).any(axis=1).tolist()
    for bound, value, top, bottom, beyond in zip(wanted, values, *pairs, outside, strict=True):
        memo["kind values", bound.key] = bound.within_range(value) if beyond else value
        memo["kind pair", bound.key] = top, bottom


def _kind_values(bound: Bound, confusion: Confusion) -> NDArray[np.float64]:
    """The value of each kind of class."""
    settle_classes([bound], confusion)
    values: NDArray[np.float64] = confusion.memo["kind values", bound.key]
    return values


def class_pair(bound: Bound, confusion: Confusion) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Numerator and denominator of each class against the rest."""
    settle_classes([bound], confusion)
    top, bottom = confusion.memo["kind pair", bound.key]
    return _expanded(confusion, top), _expanded(confusion, bottom)


def _kind_gradient(bound: Bound, confusion: Confusion) -> NDArray[np.float64]:
    memo, key = confusion.memo, ("kind gradient", bound.key)
    if key not in memo:
        by_kind = bound.class_gradient(_kinds(confusion)[0])
        memo[key] = by_kind if np.isfinite(by_kind).all() else np.nan_to_num(by_kind)
    gradient: NDArray[np.float64] = memo[key]
    return gradient


def _expanded(confusion: Confusion, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """What was found for each kind of class, for each class."""
    return values if confusion.alike is None else values[confusion.alike[1]]


def for_each_class(
    confusion: Confusion, find: Callable[[NDArray[np.float64]], NDArray[np.float64]]
) -> NDArray[np.float64]:
    """What `find` makes of TP, FN, FP and TN of each class, one row each; found once for classes that are alike."""
    return _expanded(confusion, find(_kinds(confusion)[0]))


def _kinds(confusion: Confusion) -> tuple[NDArray[Any], Any, NDArray[np.int64], NDArray[np.int64]]:
    """Kinds of classes with the same counts, how many there are of each, and those of the two classes of every cell."""
    if confusion.alike is None:
        return confusion.corners, 1.0, confusion.truth, confusion.predicted
    kinds, kind = confusion.alike
    if "kinds" not in confusion.memo:
        times = np.bincount(kind, minlength=len(kinds))
        confusion.memo["kinds"] = times, kind[confusion.truth], kind[confusion.predicted]
    return kinds, *confusion.memo["kinds"]


def micro_cells(correct: Any, wrong: Any, k: int) -> Cells:
    """TP, FN, FP, TN summed over k classes: each wrong case is one miss and one false alarm."""
    # A right case is a true negative of k - 1 classes, a wrong one of k - 2.
    return Cells(tp=correct, fn=wrong, fp=wrong, tn=(k - 1) * correct + max(k - 2, 0) * wrong)


def averaged(bound: Bound, average: Average, confusion: Confusion) -> float:
    """The average over the classes; classes where it is undefined are left out."""
    if average == "micro":
        return float(bound.value(micro_cells(confusion.right, confusion.wrong, confusion.n_classes)))
    settle_averages([bound], average, confusion)
    value: float = confusion.memo["average", average, bound.key]
    return value


def settle_averages(bounds: Iterable[Bound], average: Average, confusion: Confusion) -> None:
    """Work out an average of several measures over the classes, like `settle_classes`."""
    memo = confusion.memo
    wanted = [bound for bound in bounds if ("average", average, bound.key) not in memo]
    if not wanted:
        return
    values = np.array([per_class(bound, confusion) for bound in wanted])
    weights = _average_weights(average, confusion)
    # A row that lacks a class is added up in another way, which rounds in another way.
    parts = [values] if not np.isnan(values).any() else values[:, None]
    means = np.concatenate([_mean(part, *weights) for part in parts])
    # Rounding must not carry a mean past all that it is the mean of; fmin and fmax pass over classes without a value.
    means = np.minimum(np.maximum(means, np.fmin.reduce(values, axis=1)), np.fmax.reduce(values, axis=1))
    for bound, mean in zip(wanted, means.tolist(), strict=True):
        memo["average", average, bound.key] = mean


def _average_weights(average: Average, confusion: Confusion) -> tuple[NDArray[np.float64], Any]:
    """The weight of each class in an average, and the sum of the weights."""
    memo, key = confusion.memo, ("average weights", average)
    if key not in memo:
        totals = confusion.truth_totals if average == "weighted" else np.ones(confusion.n_classes)
        memo[key] = np.asarray(totals, dtype=np.float64), np.asarray(totals, dtype=np.float64).sum()
    weights: tuple[NDArray[np.float64], Any] = memo[key]
    return weights


def averaged_tables(bound: Bound, average: Average, batch: TableBatch) -> Any:
    """The average for each table of a batch."""
    if average == "micro":
        return bound.value(micro_cells(batch.margins.correct, batch.margins.wrong, batch.k))
    key, values = batch.latest
    if key != bound.key:
        # The averages of a measure are asked for one after the other; of all measures this would be megabytes.
        values = bound.value(batch.classes)
        batch.latest = bound.key, values
    if average == "weighted":
        return _mean(values, batch.margins.rows, batch.margins.total)
    return _mean(values, np.ones(batch.k), np.float64(batch.k))


def _mean(values: Any, weights: Any, total: Any) -> Any:
    """The mean over the last axis; `total` is the sum of the weights. What has no value is left out."""
    if not np.isnan(np.minimum.reduce(values, axis=None, initial=np.inf)):
        if np.shape(values)[-1] != TWO:
            weights = np.broadcast_to(weights, np.shape(values))
        return divide(np.einsum("...k,...k->...", values, weights), total)
    there = ~np.isnan(values)
    used = np.where(there, weights, 0.0)
    return divide((np.where(there, values, 0.0) * used).sum(axis=-1), used.sum(axis=-1))


def averaged_gradient(bound: Bound, average: Average, confusion: Confusion) -> NDArray[np.float64]:
    """Derivative of an average by the count of each cell that was met.

    A case in cell (i, j), i ≠ j, is a miss of i, a false alarm of j and a true negative of every other class.
    """
    i, j = confusion.truth, confusion.predicted
    if average == "micro":
        step = 1e-30
        correct, wrong = confusion.right, confusion.wrong
        moved = micro_cells(correct + 1j * step, wrong - 1j * step, confusion.n_classes)
        by_correct = np.imag(bound.value(moved)) / step
        # Averages do not change with the size of the sample: the derivative by n follows from Euler's identity.
        return np.asarray(by_correct * np.where(i == j, wrong, -correct) / (correct + wrong))
    kinds, times, of_truth, of_predicted = _kinds(confusion)
    values = _kind_values(bound, confusion)
    there = ~np.isnan(values)
    weights = np.where(there, kinds[:, 0] + kinds[:, 1] if average == "weighted" else 1.0, 0.0)
    total = (weights * times).sum()
    if not total:
        return np.zeros(len(i))
    share = weights / total
    # A class that is left out has no share.
    tp, fn, fp, tn = (column * share for column in _kind_gradient(bound, confusion).T)
    slope = (tn * times).sum() + np.where(i == j, (tp - tn)[of_truth], (fn - tn)[of_truth] + (fp - tn)[of_predicted])
    if average == "weighted":
        known = np.where(there, values, 0.0)
        slope = slope + np.where(there, known - (known * share * times).sum(), 0.0)[of_truth] / total
    return np.asarray(slope)


Scores = TypeVar("Scores")


def lack_costs(asked: str, hint: str) -> OptionError:
    """The error where a cost is asked for and no costs were given."""
    return OptionError(f"{asked} needs costs, and none were given.", hint=hint)


def name_quantity(measure: str, class_: Label | None, average: str | None) -> str:
    """A quantity as a person would ask for it.

    >>> name_quantity("recall", "spam", None), name_quantity("f1", None, "macro"), name_quantity("mcc", None, None)
    ('recall[spam]', 'macro f1', 'mcc')
    """
    if class_ is not None:
        return f"{measure}[{class_}]"
    return f"{average} {measure}" if average else measure


@dataclass(frozen=True, slots=True)
class Quantity:
    """What is asked for: a measure of one class, an average, or (neither) of the whole table."""

    bound: Bound
    class_: Label | None = None
    average: Average | None = None

    @property
    def key(self) -> tuple[str, Label | None, Average | None]:
        """What tells its estimate from others: measure, class and average."""
        return self.bound.name, self.class_, self.average

    def check_divisible(self, where: str) -> Quantity:
        """The same quantity, refused where it is a function of all cases and only parts of them are looked at."""
        if self.is_of_cases:
            raise OptionError(
                f"{self.bound.name} is a function of all cases together, and has no value {where}.",
                hint="declare a formula of the counts with heldout.measure, or evaluate each part by itself.",
            )
        return self

    def check_costs(self, costs: Any) -> Quantity:
        """The same quantity, refused where it is a cost and no costs were given."""
        if self.bound.measure.kind == "cost" and costs is None:
            raise lack_costs(self.bound.name, "pass costs= (--costs).")
        return self

    @property
    def is_score(self) -> bool:
        """Whether it is made from scores, and not from counts."""
        return self.bound.measure.scope not in ("class", "table", "cases")

    @property
    def is_of_cases(self) -> bool:
        """Whether it is a function of one's own of the single cases, which nothing that was counted can stand for."""
        return self.bound.measure.scope == "cases"

    def check_scored(self, scores: Scores | None) -> Scores:
        """What holds the scores that this measure is of; refused where there are none."""
        if scores is None:
            raise OptionError(
                f"{self.bound.name} is a measure of scores, and none were given.",
                hint="pass score= (--score COLUMN), one score per case or one per class.",
            )
        return scores

    def times(self, n: Any) -> float:
        """What the mean over n cases is multiplied with: by their number for a total, else by 1."""
        return float(n) if self.bound.measure.total else 1.0

    def resolve(self, positive: Label | None) -> Quantity:
        """The same quantity, with the positive class filled in where one is needed."""
        measure = self.bound.measure
        if self.is_score:
            return self._resolve_score_class(positive)
        if self.average is not None and not measure.averages:
            raise OptionError(
                f"{measure.name} has no {self.average} average.",
                hint=f"averages exist for measures of one class; ask for {measure.name} alone.",
            )
        if self.class_ is not None and not {*CORNERS, *SUMS}.issuperset(measure.cells):
            raise self._refuse_class()
        if self.class_ is None and self.average is None and measure.scope == "class" and not measure.overall:
            if positive is None:
                averages = listing(f"{a} {self.bound.name}" for a in AVERAGES)
                raise refuse_no_class(self.bound, f"one of: {averages}")
            return Quantity(self.bound, class_=positive)
        return self

    def _refuse_class(self) -> OptionError:
        name = self.bound.measure.name
        return OptionError(f"{name} is not a measure of one class.", hint=f"ask for {name} alone.")

    def _resolve_score_class(self, positive: Label | None) -> Quantity:
        """The same for a measure of scores: of the positive class unless another one or an average is asked for."""
        measure = self.bound.measure
        if measure.scope != "ranking" and self.class_ is not None:
            raise self._refuse_class()
        if measure.scope == "pairs" and self.average is not None:
            if self.average != "macro":
                raise OptionError(
                    f"{measure.name} has no {self.average} average: every pair of classes counts alike.",
                    hint=f"ask for {measure.name} alone, or for '{self.average} roc_auc', each class against the rest.",
                )
            return Quantity(self.bound)
        if measure.scope == "ranking" and self.class_ is None and self.average is None and positive is not None:
            return Quantity(self.bound, class_=positive)
        return self


def refuse_no_class(bound: Bound, instead: str) -> OptionError:
    """The error of a measure of one class where none was named; `instead` is what else can be asked for."""
    return OptionError(
        f"{bound.name} is a measure of one class, and none was named.",
        hint=f"write {bound.name}[CLASS], or {instead}.",
    )
