"""How predictions of one data set by many models depend on each other, and what that does to an interval.

Models of one plan share training rows, so their errors go together and the usual intervals are too narrow. The
number of distinct cases is divided by a factor, which was measured for some plans and taken over from the nearest of
them for the others (docs/statistics.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from heldout.arrays import Codes
from heldout.engines import memory
from heldout.errors import OptionError, ValuesError
from heldout.evidence import Confusion
from heldout.evidence.counted import Counted
from heldout.measures.declare import Measure
from heldout.predictions.label_encoding import Coded
from heldout.predictions.table import Predictions


@dataclass(frozen=True, slots=True)
class Dependence:
    """What intervals must know of a plan.

    `n` is the number of distinct cases that were tested. `factor` divides it. `ratio` is the size of a test part over
    that of its training part, and `independent` the number of splits of one repetition. `target` says which error is
    estimated; `refused` says why there is no interval, where there is none. `alike` says that the factor is that of
    every measure, also of those that ask of the classes.
    """

    n: int
    factor: float = 1.0
    ratio: float = 0.0
    independent: int = 1
    target: str = ""
    refused: str = ""
    alike: bool = False

    def scale(self, measure: Measure, axis: str = "") -> float:
        """What to multiply the counts by, so that they count independent cases.

        >>> from heldout.measures.catalogue import find
        >>> plan = Dependence(150, factor=1.5)
        >>> [round(1 / plan.scale(find(name).measure, "class"), 3) for name in ("precision", "recall", "f1")]
        [1.5, 1.5, 1.5]
        >>> [round(1 / plan.scale(find(name).measure), 3) for name in ("accuracy", "matthews", "expected_cost")]
        [1.5, 1.5, 2.0]
        """
        if self.factor <= 1 or self.alike or _is_plain(measure) or axis == "micro":
            return 1 / self.factor
        return 1 / max(self.factor, BY_CLASS if _asks_of_classes(measure, axis) else UNMEASURED)

    def shifts(self, measure: Measure, axis: str) -> bool:
        """Whether calling a class more readily or less moves a measure, which then widens it (`threshold_shift`)."""
        alike = self.factor <= 1 or self.alike or _is_plain(measure) or axis == "micro"
        return not alike and _asks_of_classes(measure, axis)

    @property
    def ranked(self) -> float:
        """The factor of areas under curves, which repetitions do not make surer than a single partition does."""
        return max(self.factor, ONCE) if self.factor > 1 and not self.alike else self.factor


# What the number of distinct cases is divided by for an interval (docs/statistics.md): where every case is tested once,
# and where it is tested again and again, which averages out the luck of one partition.
ONCE, AGAIN = 1.5, 1.2
# The same for what is asked of the classes, beside what calling a class more readily does to it (`threshold_shift`).
# Repetitions share the training cases, so they do not average out what another training set would change.
BY_CLASS = ONCE
# Costs, ratios and a user's own formulas, of which no other factor was measured.
UNMEASURED = 2.0
BY_AXIS = ("class", "macro", "weighted")
# What counts the cases that are called so or not, such as precision.
OF_CALLS = ({"tp", "fp"}, {"tn", "fn"})


def _is_plain(measure: Measure) -> bool:
    """Whether a measure is a share of all cases or of those that are called alike, which has the plan's factor."""
    return measure.kind == "proportion" and (measure.scope == "table" or set(measure.cells) in OF_CALLS)


def _asks_of_classes(measure: Measure, axis: str) -> bool:
    """Whether a measure asks of the classes; a formula of one's own without an end may ask of anything."""
    if measure.kind == "agreement":
        return measure.bounded and measure.scope != "cases"
    return measure.kind in ("proportion", "f") and axis in BY_AXIS


@dataclass(frozen=True, slots=True)
class Sharing:
    """What predictions that come in splits share, as far as the case and the split of each tell.

    `n` is the number of distinct cases, `sizes` the number that each split tests. `even` says that every case is tested
    equally often, as in one or more partitions; otherwise each split is a draw of its own. `independent` is the number
    of splits in one partition, or of all draws.
    """

    n: int
    sizes: Codes
    even: bool
    independent: int

    @property
    def ratio(self) -> float:
        """The size of a test part over that of its training part, where each trains on all cases that it lacks."""
        return size_ratio(self.sizes, self.n - self.sizes)

    @property
    def once(self) -> bool:
        """Whether every case is to count once, however often it was tested.

        Draws of one size are pooled, which gives the mean over them; of draws that differ in size, as those of a
        bootstrap do, every case has the same weight (Efron's leave-one-out bootstrap).
        """
        return not self.even and bool((self.sizes != self.sizes[0]).any())


def size_ratio(tested: Codes, trained: Codes) -> float:
    """The mean size of the test parts over that of the training parts: 1 / (k − 1) for any partition into k folds."""
    return float(tested.mean() / max(float(trained.mean()), 1.0))


def find_sharing(case: Codes, split: Codes) -> Sharing:
    """What splits share, from the number of the case and of the split of every prediction.

    >>> found = find_sharing(np.array([0, 1, 2, 0, 1, 2]), np.array([0, 0, 1, 2, 3, 3]))
    >>> found.n, found.even, found.independent
    (3, True, 2)
    """
    times, sizes = (counts[counts > 0] for counts in (np.bincount(case), np.bincount(split)))
    often = int(times[0])
    even = bool((times == often).all()) and len(sizes) % often == 0
    return Sharing(len(times), sizes, even, len(sizes) // often if even else len(sizes))


def count_cases(predictions: Predictions, *, once: bool = False) -> Confusion:
    """The counts of distinct cases, where a case may have several predictions; `once` weighs all cases alike."""
    plain = memory.count(predictions)
    if predictions.id is None or predictions.fold is None:
        return plain
    case, split = zero_based_codes(predictions.id), zero_based_codes(predictions.fold)
    shared_cases = find_sharing(case, split)
    if not once and not shared_cases.once:
        return plain.thinned(shared_cases.n)
    part = 1 / np.bincount(case)[case]
    weight = predictions.weight
    shared = memory.count(replace(predictions, weight=part if weight is None else part * weight))
    # Parts of a case are no weights that somebody gave.
    return shared if weight is not None else replace(shared, squares=None, rows=None)


def zero_based_codes(coded: Coded) -> Codes:
    """The codes of a column counted from 0."""
    return coded.codes.astype(np.int64) - coded.offset


# Cross-validation estimates Err, the error of the learner, more closely than that of the one model which is trained on
# all cases: Bates, Hastie & Tibshirani (2023), JASA 119.
FOLD_TARGET = (
    "the error that the learner has on average over training sets like this one, judged by models trained without the "
    "fold that they predict"
)


def fold_dependence(predictions: Predictions) -> Dependence:
    """The dependence of predictions that come in folds; with `id`, a case may have several.

    From ids and folds one can see the size of each fold and how often each case was tested: equally often in partitions
    of the cases, once or repeated, and unequally often where every fold is a random draw. What cannot be seen is how
    the models were trained: each fold is taken to be tested by a model of all other cases, which of a time-ordered plan
    and of training parts that leave rows out is not so. Nor can cases be seen that were never tested, nor groups unless
    their column is named too, nor which folds of a repetition are missing.

    >>> from heldout.predictions.table import assemble
    >>> fold_dependence(assemble([0, 1, 0, 1], [0, 1, 1, 1], fold=[1, 1, 2, 2], id=["a", "b", "a", "b"])).n
    2
    """
    check_one_truth_per_case(predictions)
    check_one_prediction_per_fold(predictions)
    case = np.arange(predictions.n) if predictions.id is None else zero_based_codes(predictions.id)
    fold = np.zeros(predictions.n, dtype=np.int64) if predictions.fold is None else zero_based_codes(predictions.fold)
    sharing = find_sharing(case, fold)
    if len(sharing.sizes) == 1:
        return Dependence(sharing.n)
    once = predictions.n == sharing.n or _every_set(sharing.n, sharing.sizes)
    return Dependence(sharing.n, ONCE if once else AGAIN, sharing.ratio, sharing.independent, FOLD_TARGET)


def counted_dependence(counted: Counted) -> Dependence:
    """The dependence of counted predictions that come in folds, each case in one of them.

    With one prediction per case the folds are one partition of the cases, whose mean sizes tell all there is to know.

    >>> from heldout.evidence.partitions import FoldCounts
    >>> folds = FoldCounts(("a", "b"), np.array([1, 2]), *(np.array(x) for x in ([0, 1], [0, 1], [0, 1], [3, 1])))
    >>> counted_dependence(Counted(folds[0] + folds[1], folds=folds)).independent
    2
    """
    number, n = 0 if counted.folds is None else len(counted.folds), counted.n
    if number < 2:
        return Dependence(n)
    return Dependence(n, ONCE, n / number / max((n * number - n) / number, 1.0), number, FOLD_TARGET)


def _every_set(n: int, sizes: NDArray[np.int64]) -> bool:
    """Whether the folds are as many as there are sets of that many cases, as those of leave-2-out."""
    p = int(sizes[0])
    return bool((sizes == p).all()) and len(sizes) == math.comb(n, p)


def check_one_truth_per_case(predictions: Predictions) -> None:
    """One case has one truth, however often it was predicted."""
    if predictions.id is None:
        return
    case = zero_based_codes(predictions.id)
    truth = zero_based_codes(predictions.truth)
    pairs = np.unique(np.stack([case, truth]), axis=1)
    twice = np.flatnonzero(np.bincount(pairs[0]) > 1)
    if len(twice):
        raise ValuesError(
            f"The id {predictions.id.labels[twice[0]]!r} has two different truths"
            + (f", and so have {len(twice) - 1:,} others." if len(twice) > 1 else "."),
            hint="give every case an id of its own.",
        )


def check_one_prediction_per_fold(predictions: Predictions) -> None:
    """A model predicts a case once: an id that stands twice in a fold means that two models share its name."""
    if predictions.id is None or predictions.fold is None:
        return
    case = zero_based_codes(predictions.id)
    fold = zero_based_codes(predictions.fold)
    pairs, counts = np.unique(np.stack([case, fold]), axis=1, return_counts=True)
    twice = np.flatnonzero(counts > 1)
    if len(twice):
        at, there = pairs[:, twice[0]].tolist()
        raise ValuesError(
            f"The id {predictions.id.labels[at]!r} stands {counts[twice[0]]:,} times in the fold "
            f"{predictions.fold.labels[there]!r}, and a model predicts a case once.",
            hint="give every model a fold of its own, such as '2.1' for fold 1 of repetition 2, and every case an id.",
        )


def refuse_independent_rows(method: str, hint: str) -> OptionError:
    """The error of a method that takes rows as independent where they come in groups."""
    return OptionError(f"The cases come in groups, and {method!r} takes rows as independent.", hint=hint)
