"""Two learners over the same splits of one data set: Student's t, naive, or corrected for the rows they share."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.arguments import check_level, check_whole, listing
from heldout.arrays import Floats
from heldout.comparisons.procedure import find_procedure, procedure
from heldout.comparisons.tested import Tested
from heldout.errors import OptionError, ValuesError
from heldout.estimates.quantiles import t_value

# What rounding leaves of a difference is no difference.
ROUNDING = 1e-12
# Squares of numbers below this are 0 to a computer.
NOTHING = 1e-150
EFFECT = "mean difference in standard deviations over the splits"
TOO_FEW = "the measure is defined for both in fewer than two splits"
SAME = "both have the same value in every split"
# Splits share rows, so the chance that all their signs agree is not known: the sign test, which stands in where single
# cases differ by the same amount (paired_losses.py), does not help here.
CONSTANT = (
    "all splits differ by the same amount, so their spread says nothing of how sure the difference is: by Weka's "
    "convention the statistic is infinite and p is 0, and there is no interval"
)


@dataclass(frozen=True, eq=False)
class FoldValues:
    """A measure of A and of B in every split: repetition by repetition, and fold by fold in each.

    `ratio` is the size of a test part over that of its training part, `folds` the number of splits of one repetition;
    random splits are repetitions of one fold each.

    >>> FoldValues.of([0.8, 0.9, 0.7], [0.7, 0.9, 0.6], folds=3).ratio
    0.5
    """

    a: Floats = field(repr=False)
    b: Floats = field(repr=False)
    ratio: float
    folds: int
    repeats: int = 1

    @classmethod
    def of(
        cls, a: Any, b: Any, *, ratio: float | None = None, folds: int | None = None, repeats: int = 1
    ) -> FoldValues:
        """Check the values of both; without `ratio`, that of k folds, which is 1 / (k − 1)."""
        first, second = _numbers(a, "A"), _numbers(b, "B")
        if len(first) != len(second):
            raise ValuesError(
                f"A has values in {len(first)} splits and B in {len(second)}.",
                hint="compare over the same splits, one value of each in every split.",
            )
        repeats = check_whole("repeats", repeats, 1)
        per = len(first) // repeats if folds is None else check_whole("folds", folds, 1)
        if len(first) < 2:
            raise OptionError(
                f"There {'is one split' if len(first) else 'are no splits'}: that cannot say how sure a difference is.",
                hint="use a plan with more splits, or compare the predictions case by case.",
            )
        if per * repeats != len(first):
            raise OptionError(
                f"There are {len(first)} splits, and {repeats} x {per} folds would make {per * repeats}.",
                hint="name the number of folds of one repetition, and how often it was repeated.",
            )
        if ratio is None and per < 2:
            raise OptionError(
                "Random splits do not say how many rows they train on.",
                hint="give ratio, the size of a test part over that of its training part.",
            )
        used = 1 / (per - 1) if ratio is None else float(ratio)
        if not (math.isfinite(used) and used > 0):
            raise OptionError(
                f"The ratio of test to training rows must be above 0. Got {ratio!r}.", hint="2/3 to train makes it 0.5."
            )
        return cls(first, second, used, per, repeats)

    @cached_property
    def differences(self) -> Floats:
        """A − B in the splits where both are defined."""
        return np.asarray((self.a - self.b)[self._there])

    @cached_property
    def _there(self) -> NDArray[np.bool_]:
        return ~(np.isnan(self.a) | np.isnan(self.b))

    @property
    def complete(self) -> bool:
        """Whether both are defined in every split."""
        return bool(self._there.all())

    @property
    def left_out(self) -> str:
        """Which splits are left out because the measure is undefined there, or nothing."""
        gone = np.flatnonzero(~self._there) + 1
        if not len(gone):
            return ""
        return f"undefined in {len(gone)} of {len(self.a)} splits (number {listing(gone, most=6)}), which are left out"

    @property
    def rounding(self) -> float:
        """The largest difference that rounding of the values can make."""
        largest = float(np.nanmax(np.abs([self.a, self.b]))) if self._there.any() else 0.0
        return max(ROUNDING * largest, NOTHING)

    @property
    def constant(self) -> bool:
        """Whether A and B differ by the same amount in every split."""
        return float(np.ptp(self.differences)) <= self.rounding


def _numbers(values: Any, name: str) -> Floats:
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValuesError(
            f"The values of {name} are not numbers.", hint="give one number for every split, such as its accuracy."
        ) from None
    if array.ndim != 1 or np.isinf(array).any():
        found = "an infinite value" if array.ndim == 1 else f"an array of {array.ndim} dimensions"
        raise ValuesError(
            f"The values of {name} must be finite numbers, one for every split. Got {found}.",
            hint="give repetitions one after the other, in one list; a split where the measure is undefined is nan.",
        )
    return array


def student_t(values: FoldValues, method: str, factor: float, level: float, note: str = "") -> Tested:
    """Student's t of the mean difference, whose variance is `factor` times that of a single split."""
    check_level(level)
    found = values.differences
    n = len(found)
    notes = [values.left_out, note]
    if n < 2:
        return undefined(method, level, n, TOO_FEW, _joined(notes))
    mean, df = float(found.mean()), n - 1
    if values.constant:
        return constant(values, method, level, notes, df=df)
    deviation = float(found.std(ddof=1))
    error = deviation * math.sqrt(factor)
    half = float(t_value(level, df)) * error
    return Tested(
        mean, mean - half, mean + half, level, method, t_tails(mean / error, df), n, statistic=mean / error, df=df,
        effect=mean / deviation, effect_name=EFFECT, note=_joined(notes), interval_method=method,
    )  # fmt: skip


def constant(values: FoldValues, method: str, level: float, notes: list[str], df: float = math.nan) -> Tested:
    """What a test says where every split differs by the same amount: Weka's p, and no interval."""
    found = values.differences
    mean = float(found.mean())
    same = bool((np.abs(found) <= values.rounding).all())
    figures = (0.0, 1.0, 0.0) if same else (mean, 0.0, math.copysign(math.inf, mean))
    notes = [SAME if same else CONSTANT, *notes]
    return Tested(
        figures[0], math.nan, math.nan, level, method, figures[1], len(found), statistic=figures[2], df=df,
        note=_joined(notes),
    )  # fmt: skip


def undefined(method: str, level: float, n: int, why: str, note: str = "") -> Tested:
    """A test without a difference, and why."""
    nan = math.nan
    return Tested(nan, nan, nan, level, method, nan, n, undefined=why, note=note)


def t_tails(statistic: float, df: float) -> float:
    """The two-sided p of Student's t.

    >>> round(t_tails(2.262157, 9), 6)
    0.05
    """
    from scipy.special import stdtr

    return float(2 * stdtr(df, -abs(statistic)))


def _joined(notes: list[str]) -> str:
    return "; ".join(filter(None, notes))


PAIRED_T = procedure(
    "paired-t",
    "same splits",
    "Student's t over the splits as if they were independent.",
    "Dietterich (1998)",
    "it takes the splits as independent, which they are not: at 5 % it rejected a true null .06–.08 of the time with "
    "naive Bayes and .12–.14 with 1-NN over 10 folds, .54–.65 over 10 × 10 folds, .60–.68 over 30 random splits",
)
CORRECTED_T = procedure(
    "corrected-t",
    "same splits",
    "Student's t with the variance raised for the training rows that the splits share.",
    "Nadeau & Bengio (2003)",
    "at 5 % it rejected a true null .04–.06 of the time with naive Bayes over 30 random splits of two thirds to train "
    "and over 10 × 10 folds, but .04–.10 and .08–.12 with 1-NN; over 10 folds alone it is cautious, .01–.05",
)
CORRECTED_REPEATED_T = procedure(
    "corrected-repeated-t",
    "same splits",
    "The formula of corrected-t, over all the folds of a k-fold cross-validation repeated r times: the same figures.",
    "Bouckaert & Frank (2004)",
    "at 5 % it rejected a true null .04–.06 of the time with naive Bayes over 10 × 10 folds, but .08–.12 with 1-NN",
)


def paired_t(values: FoldValues, level: float = 0.95) -> Tested:
    """The paired t over folds of the text books: mean δ ± t · s / √k.

    >>> found = paired_t(FoldValues.of([0.9, 0.8, 0.9, 0.7], [0.8, 0.8, 0.7, 0.6]))
    >>> round(found.difference, 3), round(found.statistic, 3), found.df
    (0.1, 2.449, 3)
    """
    return student_t(values, PAIRED_T.name, 1 / max(len(values.differences), 1), level, PAIRED_T.finding)


def corrected_t(values: FoldValues, level: float = 0.95) -> Tested:
    """The corrected resampled t: the variance is s² (1/J + test/train), with J − 1 degrees of freedom.

    >>> found = corrected_t(FoldValues.of([0.9, 0.8, 0.9, 0.7], [0.8, 0.8, 0.7, 0.6], folds=1, repeats=4, ratio=0.5))
    >>> round(found.difference, 3), round(found.statistic, 3), round(found.p, 3)
    (0.1, 1.414, 0.252)
    """
    return student_t(values, CORRECTED_T.name, 1 / max(len(values.differences), 1) + values.ratio, level)


def corrected_repeated_t(values: FoldValues, level: float = 0.95) -> Tested:
    """The corrected t for k folds repeated r times, with k·r − 1 degrees of freedom."""
    if values.folds < 2:
        raise OptionError(
            f"The method {CORRECTED_REPEATED_T.name!r} is for folds, and these are random splits.",
            hint=f"use {CORRECTED_T.name!r}.",
        )
    return student_t(
        values,
        CORRECTED_REPEATED_T.name,
        1 / max(len(values.differences), 1) + values.ratio,
        level,
        CORRECTED_REPEATED_T.finding,
    )


FOLD_TESTS: dict[str, Callable[[FoldValues, float], Tested]] = {
    PAIRED_T.name: paired_t,
    CORRECTED_T.name: corrected_t,
    CORRECTED_REPEATED_T.name: corrected_repeated_t,
}


def compare_folds(
    values: FoldValues, method: str = "corrected-t", *, level: float = 0.95, rope: float | None = None
) -> Tested:
    """The test of that name over the same splits; `rope` is for the Bayesian one alone.

    >>> compare_folds(FoldValues.of([0.9, 0.8, 0.9], [0.8, 0.8, 0.7]), "paired-t").n
    3
    """
    # Each enters its methods into the catalogue, and stands on this module.
    from heldout.comparisons import five_by_two
    from heldout.comparisons.bayes_folds import BAYES_T, bayes_correlated_t

    name = find_procedure(method, "same splits").name
    if name == BAYES_T.name:
        return bayes_correlated_t(values, rope=0.0 if rope is None else rope, level=level)
    if rope is not None:
        raise OptionError(
            f"The method {name!r} knows no region of practical equivalence.",
            hint=f"use {BAYES_T.name!r}, or leave out rope.",
        )
    tests = FOLD_TESTS | five_by_two.FOLD_TESTS
    if name not in tests:
        raise OptionError(
            f"The method {name!r} does not work on the values of single splits.",
            hint=f"use one of: {listing([*tests, BAYES_T.name])}.",
        )
    return tests[name](values, level)
