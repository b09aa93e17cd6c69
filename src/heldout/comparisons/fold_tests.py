"""Two learners over the same splits of one data set: Student's t, the corrected t, 5 × 2 folds, and beliefs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.arguments import check_level, check_whole, listing
from heldout.arrays import Floats
from heldout.comparisons.pair_test import ROUNDING, Procedure, find_procedure, register_procedure
from heldout.errors import OptionError, ValuesError
from heldout.evidence import Label
from heldout.intervals.estimate import PairTest, join_notes, undefined_test
from heldout.intervals.quantiles import t_value
from heldout.measures.quantity import Average, Quantity
from heldout.threads import cached_property

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
        missing = np.flatnonzero(~self._there) + 1
        if not len(missing):
            return ""
        which = f"{len(missing)} of {len(self.a)} splits (number {listing(missing, most=6)})"
        return f"undefined in {which}, which are left out"

    @property
    def beyond_one_pass(self) -> bool:
        """Whether there are more splits than test every case once, which repeated folds and random splits have."""
        return len(self.differences) > count_one_pass(self.ratio) * (1 + 1e-9)

    @property
    def rounding(self) -> float:
        """The largest difference that rounding of the values can make."""
        largest = float(np.nanmax(np.abs([self.a, self.b]))) if self._there.any() else 0.0
        return max(ROUNDING * largest, NOTHING)

    @property
    def constant(self) -> bool:
        """Whether A and B differ by the same amount in every split."""
        return float(np.ptp(self.differences)) <= self.rounding


MeasureKey = tuple[str, Label | None, Average | None]


@dataclass(frozen=True, eq=False)
class SplitResults:
    """The values of learners in every split of one data set, repetition by repetition and fold by fold.

    `values` has an array of learners × splits for the key of every quantity. `ratio` is the size of a test part over
    that of its training part and `origin` where it is known from, or nan and why it is not; random splits are
    repetitions of one fold each.
    """

    data_set: str
    learners: tuple[str, ...]
    quantities: tuple[Quantity, ...]
    values: Mapping[MeasureKey, Floats] = field(repr=False)
    folds: int
    repeats: int
    ratio: float
    origin: str
    notes: tuple[str, ...] = ()

    @property
    def plan(self) -> str:
        """How the splits were made, as far as that is known."""
        if self.folds < 2:
            return f"{self.repeats:,} random splits"
        return f"{self.folds} folds" if self.repeats == 1 else f"{self.repeats} × {self.folds} folds"


def count_one_pass(ratio: float) -> float:
    """How many splits test every case once: k of k folds, three where a third of the cases is tested.

    `ratio` is the size of a test part over that of its training part.

    >>> count_one_pass(1 / 9), count_one_pass(0.5)
    (10.0, 3.0)
    """
    return 1 + 1 / ratio


def find_one_pass_factor(splits: int, ratio: float) -> float:
    """The variance of the mean over one pass of the cases, in variances of a single split (Nadeau & Bengio 2003)."""
    return 1 / max(min(splits, count_one_pass(ratio)), 1) + ratio


def _numbers(values: Any, name: str) -> Floats:
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValuesError(
            f"The values of {name} are not numbers.", hint="give one number for every split, such as its accuracy."
        ) from None
    if array.ndim != 1 or np.isinf(array).any():
        problem = "an infinite value" if array.ndim == 1 else f"an array of {array.ndim} dimensions"
        raise ValuesError(
            f"The values of {name} must be finite numbers, one for every split. Got {problem}.",
            hint="give repetitions one after the other, in one list; a split where the measure is undefined is nan.",
        )
    return array


def student_t(values: FoldValues, method: str, factor: float, level: float, note: str = "") -> PairTest:
    """Student's t of the mean difference, whose variance is `factor` times that of a single split."""
    check_level(level, derived=True)
    differences = values.differences
    n = len(differences)
    notes = [values.left_out, note]
    if n < 2:
        return undefined_test(TOO_FEW, level, method, n, note=join_notes(*notes))
    mean, df = float(differences.mean()), n - 1
    if values.constant:
        return constant(values, method, level, notes, df=df)
    deviation = float(differences.std(ddof=1))
    error = deviation * math.sqrt(factor)
    half = float(t_value(level, df)) * error
    return PairTest(
        mean, mean - half, mean + half, level, method, t_tails(mean / error, df), n, statistic=mean / error, df=df,
        effect=mean / deviation, effect_name=EFFECT, note=join_notes(*notes), interval_method=method,
    )  # fmt: skip


def constant(values: FoldValues, method: str, level: float, notes: list[str], df: float = math.nan) -> PairTest:
    """What a test says where every split differs by the same amount: Weka's p, and no interval."""
    differences = values.differences
    mean = float(differences.mean())
    same = bool((np.abs(differences) <= values.rounding).all())
    figures = (0.0, 1.0, 0.0) if same else (mean, 0.0, math.copysign(math.inf, mean))
    notes = [SAME if same else CONSTANT, *notes]
    return PairTest(
        figures[0], math.nan, math.nan, level, method, figures[1], len(differences), statistic=figures[2], df=df,
        note=join_notes(*notes),
    )  # fmt: skip


def t_tails(statistic: float, df: float) -> float:
    """The two-sided p of Student's t.

    >>> round(t_tails(2.262157, 9), 6)
    0.05
    """
    from scipy.special import stdtr

    return float(2 * stdtr(df, -abs(statistic)))


PAIRED_T = register_procedure(
    "paired-t",
    "same splits",
    "Student's t over the splits as if they were independent.",
    "Dietterich (1998)",
    "it takes the splits as independent, which they are not: at 5 % it rejected a true null .06–.08 of the time with "
    "naive Bayes and .12–.14 with 1-NN over 10 folds, .54–.65 over 10 × 10 folds, .60–.68 over 30 random splits",
)
CORRECTED_T = register_procedure(
    "corrected-t",
    "same splits",
    "Student's t with the variance raised for the training rows that the splits share.",
    "Nadeau & Bengio (2003)",
    "at 5 % it rejected a true null .04–.06 of the time with naive Bayes over 30 random splits of two thirds to train "
    "and over 10 × 10 folds, but .04–.10 and .08–.12 with 1-NN; over 10 folds alone it is cautious, .01–.05",
)
ONE_PASS_T = register_procedure(
    "one-pass-t",
    "same splits",
    "The corrected t with the variance of one pass over the cases: testing them again and again adds none.",
    "Nadeau & Bengio (2003), for one pass",
)
CORRECTED_REPEATED_T = register_procedure(
    "corrected-repeated-t",
    "same splits",
    "The formula of corrected-t, over all the folds of a k-fold cross-validation repeated r times: the same figures.",
    "Bouckaert & Frank (2004)",
    "at 5 % it rejected a true null .04–.06 of the time with naive Bayes over 10 × 10 folds, but .08–.12 with 1-NN",
)


def paired_t(values: FoldValues, level: float = 0.95) -> PairTest:
    """The paired t over folds of the textbooks: mean δ ± t · s / √k.

    >>> result = paired_t(FoldValues.of([0.9, 0.8, 0.9, 0.7], [0.8, 0.8, 0.7, 0.6]))
    >>> round(result.difference, 3), round(result.statistic, 3), result.df
    (0.1, 2.449, 3)
    """
    return student_t(values, PAIRED_T.name, 1 / max(len(values.differences), 1), level, PAIRED_T.finding)


def corrected_t(values: FoldValues, level: float = 0.95) -> PairTest:
    """The corrected resampled t: the variance is s² (1/J + test/train), with J − 1 degrees of freedom.

    >>> result = corrected_t(FoldValues.of([0.9, 0.8, 0.9, 0.7], [0.8, 0.8, 0.7, 0.6], folds=1, repeats=4, ratio=0.5))
    >>> round(result.difference, 3), round(result.statistic, 3), round(result.p, 3)
    (0.1, 1.414, 0.252)
    """
    return student_t(values, CORRECTED_T.name, 1 / max(len(values.differences), 1) + values.ratio, level)


def one_pass_t(values: FoldValues, level: float = 0.95) -> PairTest:
    """The corrected t with the variance of a mean over splits that test every case once, J − 1 degrees of freedom.

    The mean over more splits varies no more than that over one pass, and how much less depends on the learner: with
    1-NN hardly any less, so that the corrected t of all splits rejects true nulls too often. Over one pass, such as a
    single run of k folds, it is the corrected t.

    >>> values = FoldValues.of([0.9, 0.8, 0.9, 0.7], [0.8, 0.8, 0.7, 0.6], folds=2, repeats=2)
    >>> [round(test(values).p, 3) for test in (corrected_t, one_pass_t)]
    [0.353, 0.391]
    """
    factor = find_one_pass_factor(len(values.differences), values.ratio)
    return student_t(values, ONE_PASS_T.name, factor, level)


def corrected_repeated_t(values: FoldValues, level: float = 0.95) -> PairTest:
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


FOLD_TESTS: dict[str, Callable[[FoldValues, float], PairTest]] = {
    PAIRED_T.name: paired_t,
    CORRECTED_T.name: corrected_t,
    ONE_PASS_T.name: one_pass_t,
    CORRECTED_REPEATED_T.name: corrected_repeated_t,
}


def compare_folds(
    values: FoldValues, method: str | None = None, *, level: float = 0.95, rope: float | None = None
) -> PairTest:
    """The test of that name over the same splits; `rope` is for the Bayesian one alone.

    Without a name it is the corrected t, and the one of a single pass where there are more splits than that.

    >>> compare_folds(FoldValues.of([0.9, 0.8, 0.9], [0.8, 0.8, 0.7]), "paired-t").n
    3
    """
    usual = ONE_PASS_T if values.beyond_one_pass else CORRECTED_T
    name = usual.name if method is None else find_procedure(method, "same splits").name
    if name == BAYES_T.name:
        return bayes_correlated_t(values, rope=0.0 if rope is None else rope, level=level)
    if rope is not None:
        raise make_rope_error(name, hint=f"use {BAYES_T.name!r}, or leave out rope.")
    tests = FOLD_TESTS | FIVE_BY_TWO_TESTS
    if name not in tests:
        raise OptionError(
            f"The method {name!r} does not work on the values of single splits.",
            hint=f"use one of: {listing([*tests, BAYES_T.name])}.",
        )
    return tests[name](values, level)


# Two learners over two-fold cross-validation repeated five times: Dietterich's t and Alpaydın's combined F.


# The two folds of a repetition swap their parts, so that rows which favour A do so twice, once in training and once in
# the test: the two differences go together, and their spread is too small.
FINDING = (
    "at 5 % it rejected a true null .03–.05 of the time where the classes lie well apart, but up to .16 where they "
    "overlap, and .08–.15 with 1-NN"
)
FIVE_BY_TWO_T = register_procedure(
    "5x2cv-t",
    "same splits",
    "The first difference of five times two folds, over the spread within the five pairs.",
    "Dietterich (1998)",
    FINDING,
)
FIVE_BY_TWO_F = register_procedure(
    "5x2cv-f",
    "same splits",
    "All ten squared differences of five times two folds, over the spread within the five pairs.",
    "Alpaydın (1999)",
    FINDING,
)
UNSPREAD = (
    "the two folds agree in every repetition, so their spread says nothing of how sure the difference is: the "
    "statistic is infinite and p is 0"
)
NO_FIRST = "the two folds agree in every repetition, and in the first, which the statistic rests on, A and B are equal"


def five_by_two_t(values: FoldValues, level: float = 0.95) -> PairTest:
    """Dietterich's 5×2cv t: its statistic takes the first of the ten differences, with 5 degrees of freedom.

    The interval is that of the corrected t over the ten, because the statistic has none for their mean.

    >>> a = [0.87, 0.84, 0.80, 0.79, 0.82, 0.81, 0.88, 0.80, 0.81, 0.82]
    >>> result = five_by_two_t(FoldValues.of(a, [0.8] * 10, folds=2, repeats=5))
    >>> round(result.statistic, 3), result.df
    (2.539, 5.0)
    """
    pairs, shared = _pairs(values, FIVE_BY_TWO_T, level)
    if pairs is None:
        return shared
    return _tested(shared, float(pairs[0, 0]), math.sqrt(float(pairs.var(axis=1, ddof=1).mean())), 5.0, _t_p)


def five_by_two_f(values: FoldValues, level: float = 0.95) -> PairTest:
    """Alpaydın's combined 5×2cv F, with 10 and 5 degrees of freedom, of which `df` is the second.

    >>> a = [0.87, 0.84, 0.80, 0.79, 0.82, 0.81, 0.88, 0.80, 0.81, 0.82]
    >>> result = five_by_two_f(FoldValues.of(a, [0.8] * 10, folds=2, repeats=5))
    >>> round(result.statistic, 3), round(result.p, 3)
    (1.842, 0.259)
    """
    pairs, shared = _pairs(values, FIVE_BY_TWO_F, level)
    if pairs is None:
        return shared
    return _tested(shared, float((pairs**2).sum()), 2 * float(pairs.var(axis=1, ddof=1).sum()), 5.0, _f_p)


def _pairs(values: FoldValues, used: Procedure, level: float) -> tuple[Floats | None, PairTest]:
    """The differences, a row per repetition, and what both tests share; None where there is nothing to test."""
    check_level(level, derived=True)
    if (values.folds, values.repeats) != (2, 5):
        raise OptionError(
            f"The method {used.name!r} needs 2 folds repeated 5 times. Got {values.folds} repeated {values.repeats}.",
            hint="use the plan '5 x 2-fold', or the method 'corrected-t'.",
        )
    if not values.complete:
        why = f"{used.name} needs all ten folds, and the measure is {values.left_out.partition(',')[0]}"
        n = len(values.differences)
        return None, undefined_test(why, level, used.name, n)
    if values.constant:
        return None, constant(values, used.name, level, [used.finding], df=5.0)
    pairs = values.differences.reshape(5, 2)
    shared = replace(corrected_t(values, level), method=used.name, note=used.finding)
    if float(np.abs(np.ptp(pairs, axis=1)).max()) <= values.rounding:
        none = {"low": math.nan, "high": math.nan, "interval_method": "", "df": 5.0}
        sign = 1.0 if used is FIVE_BY_TWO_F else float(np.sign(pairs[0, 0]))
        figures = {"statistic": sign * math.inf, "p": 0.0} if sign else {"statistic": 0.0, "p": 1.0}
        note = f"{UNSPREAD if sign else NO_FIRST}; {used.finding}"
        return None, replace(shared, **none, **figures, note=note)  # type: ignore[arg-type]
    return pairs, shared


def _tested(shared: PairTest, above: float, below: float, df: float, tail: Callable[[float], float]) -> PairTest:
    statistic = above / below
    return replace(shared, statistic=statistic, p=tail(statistic), df=df)


def _t_p(statistic: float) -> float:
    return t_tails(statistic, 5)


def _f_p(statistic: float) -> float:
    from scipy.special import fdtrc

    return float(fdtrc(10, 5, statistic))


FIVE_BY_TWO_TESTS = {FIVE_BY_TWO_T.name: five_by_two_t, FIVE_BY_TWO_F.name: five_by_two_f}


BAYES_T = register_procedure(
    "bayes-correlated-t",
    "same splits",
    "The posterior of the mean difference, with a region of practical equivalence.",
    "Corani & Benavoli (2015)",
)
CERTAIN = "all splits differ by the same amount, so the posterior is a single point: do not take it for certainty"


@dataclass(frozen=True, slots=True)
class Posterior(PairTest):
    """What to believe of the difference A − B, which is given between `low` and `high` with probability `level`.

    `a_higher`, `within` and `b_higher` are the probabilities that the difference is above `rope`, within ± `rope`, and
    below −`rope`; they sum to 1, and without a rope `within` is 0. There is no p.
    """

    rope: float = 0.0
    a_higher: float = math.nan
    within: float = math.nan
    b_higher: float = math.nan

    @property
    def odds(self) -> tuple[float, float, float]:
        """The three probabilities, A's first."""
        return self.a_higher, self.within, self.b_higher


def check_rope(rope: Any) -> float:
    """Half the width of the region of practical equivalence, in units of the measure.

    >>> check_rope(0.01)
    0.01
    """
    try:
        value = float(rope)
    except (TypeError, ValueError):
        value = math.nan
    if not 0 <= value < math.inf:
        raise OptionError(
            f"The rope, the largest difference that does not matter, must be 0 or more. Got {rope!r}.",
            hint="0.01 takes accuracies as equal that differ by less than one point.",
        )
    return value


def make_rope_error(method: str, hint: str) -> OptionError:
    """The error for a rope with a method that has none."""
    return OptionError(f"The method {method!r} knows no region of practical equivalence.", hint=hint)


def bayes_correlated_t(values: FoldValues, *, rope: float = 0.0, level: float = 0.95) -> Posterior:
    """The Bayesian correlated t: Student's t around the mean difference, with the variance of the corrected t.

    The correlation of the splits is the share of the rows that are tested, so that ρ/(1 − ρ) = test/train.

    >>> a, b = [0.91, 0.83, 0.94, 0.72, 0.88], [0.85, 0.80, 0.87, 0.73, 0.80]
    >>> [round(p, 2) for p in bayes_correlated_t(FoldValues.of(a, b), rope=0.01).odds]
    [0.89, 0.07, 0.04]
    """
    from scipy.special import stdtr

    rope, differences = check_rope(rope), values.differences
    n, nan = len(differences), math.nan
    check_level(level, derived=True)
    if n < 2:
        return Posterior(nan, nan, nan, level, BAYES_T.name, nan, n, undefined=TOO_FEW, note=values.left_out, rope=rope)
    mean = float(differences.mean())
    if values.constant:
        mean = 0.0 if abs(mean) <= values.rounding else mean
        note = join_notes(CERTAIN, values.left_out)
        above, within, below = _at_point(mean, rope)
        return Posterior(
            mean, mean, mean, level, BAYES_T.name, nan, n, df=n - 1, note=note, rope=rope,
            a_higher=above, within=within, b_higher=below,
        )  # fmt: skip
    deviation, df = float(differences.std(ddof=1)), n - 1
    error = deviation * math.sqrt(1 / n + values.ratio)
    half = float(t_value(level, df)) * error
    above, below = float(stdtr(df, (mean - rope) / error)), float(stdtr(df, (-rope - mean) / error))
    return Posterior(
        mean, mean - half, mean + half, level, BAYES_T.name, math.nan, n, df=df, effect=mean / deviation,
        effect_name=EFFECT, note=values.left_out, interval_method="posterior", rope=rope,
        a_higher=above, within=max(1 - above - below, 0.0) if rope else 0.0, b_higher=below,
    )  # fmt: skip


def _at_point(mean: float, rope: float) -> tuple[float, float, float]:
    """All belief in one place; without a rope, no difference is shared between the two."""
    if mean == 0 and not rope:
        return 0.5, 0.0, 0.5
    above, below = float(mean > rope), float(mean < -rope)
    return above, 1 - above - below, below
