"""Two classifiers by the mean of their losses (Brier score, log loss): tests of the mean of the differences.

A mean of losses needs no resampling: the differences of the cases are independent numbers, and their mean has a t
statistic. Hall's transformation, which takes the skewness out of it and is right for the losses of one model, is here
by name only: differences are nearly symmetric, and correcting for a skewness that is noise rejects too often. Hall
(1992), JRSS B 54, 221-228. With groups, whole groups are the independent units.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from heldout.arrays import Floats
from heldout.comparisons.pair_test import ONE_UNIT, PER_CASE, per_case_of_two, register_procedure, two_sided
from heldout.engines.probability_sums import check_probabilities
from heldout.errors import OptionError, ValuesError
from heldout.evidence.joint_counts import GapSums
from heldout.evidence.losses import LOSSES, CaseProbabilities
from heldout.evidence.probabilities import sums_by
from heldout.intervals.estimate import PairTest, undefined_test
from heldout.intervals.group_leverage import even_pulls, group_spread
from heldout.intervals.losses import NEGLIGIBLE, hall
from heldout.intervals.quantiles import t_value, z_value
from heldout.measures.declare import NO_CASES
from heldout.measures.quantity import Bound

Form = Literal["hall", "t"]

PAIRED_LOSS_T = register_procedure(
    "paired-loss-t",
    "same cases",
    "Mean losses (Brier score, log loss): Student's t of the cases' differences.",
    "Student (1908), The probable error of a mean",
    "With 50 overconfident probabilities the interval of a difference of log losses held the truth .87 of the time.",
)
PAIRED_HALL = register_procedure(
    "paired-hall",
    "same cases",
    "Mean losses (Brier score, log loss): t of the cases' differences, with their skewness taken out.",
    "Hall (1992), On the removal of skewness by transformation",
    "Rejects a true null .048 to .105 of the time with 100 to 400 cases, where paired-loss-t rejects .041 to .060.",
)
UNPAIRED_LOSS_T = register_procedure(
    "unpaired-loss-t",
    "different cases",
    "Mean losses (Brier score, log loss) of two sets of cases: Welch's t.",
    "Welch (1947), The generalization of Student's problem when several different population variances are involved",
)
UNPAIRED_HALL = register_procedure(
    "unpaired-hall",
    "different cases",
    "Mean losses (Brier score, log loss) of two sets of cases: Welch's t, with the skewness taken out.",
    "Hall (1992), On the removal of skewness by transformation; Welch (1947)",
    "With 50 to 100 cases each its interval held the truth .83 to .96 of the time, Welch's own .87 to .98.",
)
MATCH_FIRST = "match the cases first, or compare as different cases."
EFFECT = "mean difference / standard deviation of the differences"
# Cases are independent, so their signs have a chance that can be told; splits are not, and follow Weka (folds.py).
BY_SIGNS = (
    "t is infinite, so by the convention of the sign test p is that of so many equal signs, and the interval has no "
    "width; over splits Weka's convention is p = 0."
)


def case_losses(scores: NDArray[Any], truth: NDArray[Any], bound: Bound) -> Floats:
    """The loss of each case: that of a probability, or of a row of them (one to a class).

    `truth` is the mask of the positives, or for rows the place of the true class.

    >>> from heldout.measures.catalogue import find
    >>> case_losses(np.array([0.9, 0.2]), np.array([True, True]), find("brier")).round(2)
    array([0.01, 0.64])
    """
    if bound.measure.name not in LOSSES:
        raise OptionError(
            f"{bound.name} is not a mean of the losses of single cases.", hint="use brier or log_loss, or resampling."
        )
    check_probabilities(scores)
    if scores.ndim == 2:
        codes = np.asarray(truth, dtype=np.int64)
        case = CaseProbabilities.of_classes(scores, codes)
    else:
        mask = np.asarray(truth, dtype=np.bool_)
        case = CaseProbabilities.of_positive(scores, mask)
    return np.asarray(LOSSES[bound.measure.name].formula(case))


def largest_loss(scores: NDArray[Any], bound: Bound) -> float:
    """The largest value that a mean loss can have."""
    return LOSSES[bound.measure.name].largest(scores.shape[1] if scores.ndim == 2 else 2)


@dataclass(frozen=True, slots=True)
class MeanMoments:
    """The mean of some numbers, the variance and third moment of that mean, and the number of independent units.

    `spread` is the standard deviation of one unit's number, 0 where they are all alike; `df` are the degrees of freedom
    of the variance.
    """

    mean: float
    variance: float
    third: float
    units: int
    spread: float
    df: float

    @classmethod
    def of(cls, values: Floats, weight: Floats | None = None, groups: NDArray[Any] | None = None) -> MeanMoments:
        """From the numbers of the cases, with weights and groups where there are any.

        >>> MeanMoments.of(np.array([1.0, 2.0, 3.0])).variance
        0.333...
        """
        own = np.ones(len(values)) if weight is None else np.asarray(weight, dtype=np.float64)
        total = float(own.sum())
        if not total > 0:
            return cls(math.nan, math.nan, math.nan, 0, math.nan, math.nan)
        mean = float(own @ values / total)
        away = values - mean
        spread = math.sqrt(float(own @ away**2) / total)
        pull, kish = own * away / total, total**2 / float(own @ own)
        units, df = len(pull), kish - 1
        factor = units / (units - 1) if units > 1 else math.nan
        # The larger of the variance that heavy cases show and that of Kish's effective number of equal cases.
        variance = factor * max(float(pull @ pull), spread**2 / kish)
        if groups is not None:
            keys, code = np.unique(groups, return_inverse=True)
            sums, shares = sums_by(code, pull, len(keys)), sums_by(code, own, len(keys)) / total
            grouped = group_spread(sums, shares, even_pulls(shares, kish), independent=float(pull @ pull))
            pull, units, variance, df = sums, len(keys), grouped.variance, grouped.df
        third = float((pull**3).sum())
        # Relative to the numbers themselves: what is left of the variance is then rounding.
        if spread**2 <= NEGLIGIBLE * float(own @ values**2) / total:
            variance, third, spread = 0.0, 0.0, 0.0
        return cls(mean, variance, third, units, spread, df)

    @classmethod
    def from_sums(cls, sums: GapSums, groups: tuple[Floats, NDArray[np.int64]] | None = None) -> MeanMoments:
        """From sums over the cases; with groups, also the sum of each group and the number of its cases.

        >>> MeanMoments.from_sums(GapSums(3, 2.0, 0.0, 2.0, 0.0)).variance
        0.333...
        """
        n = sums.n
        if not n:
            return cls(math.nan, math.nan, math.nan, 0, math.nan, math.nan)
        off = sums.total / n
        square = max(sums.squares - n * off * off, 0.0)
        cube = sums.cubes - 3 * off * sums.squares + 2 * n * off**3
        whole = sums.squares + 2 * sums.shift * sums.total + n * sums.shift**2
        if square <= NEGLIGIBLE * whole:
            units = n if groups is None else len(groups[1])
            return cls(sums.shift + off, 0.0, 0.0, units, 0.0, units - 1.0)
        spread = math.sqrt(square / n)
        if groups is not None:
            pull = (groups[0] - off * groups[1]) / n
            shares = groups[1] / n
            grouped = group_spread(pull, shares, even_pulls(shares, n), independent=square / n**2)
            third = float((pull**3).sum())
            return cls(sums.shift + off, grouped.variance, third, len(pull), spread, grouped.df)
        factor = n / (n - 1) if n > 1 else math.nan
        return cls(sums.shift + off, factor * square / n**2, cube / n**3, n, spread, n - 1.0)


def paired_loss_test(
    losses_a: Floats,
    losses_b: Floats,
    *,
    form: Form = "t",
    level: float = 0.95,
    largest: float = math.inf,
    weight: Floats | None = None,
    groups: NDArray[Any] | None = None,
) -> PairTest:
    """The mean loss of A less that of B on the same cases; a negative difference speaks for A.

    >>> result = paired_loss_test(np.array([0.1, 0.2, 0.3, 0.1]), np.array([0.2, 0.4, 0.3, 0.3]))
    >>> print(f"{result.difference:.3f} [{result.low:.3f}, {result.high:.3f}] p = {result.p:.3f}")
    -0.125 [-0.277, 0.027] p = 0.080
    """
    if len(losses_a) != len(losses_b):
        raise ValuesError(
            f"A has {len(losses_a):,} losses and B {len(losses_b):,}, and the same cases are needed.",
            hint=MATCH_FIRST,
        )
    moments = MeanMoments.of(losses_a - losses_b, weight, groups)
    return paired_mean_test(
        moments, len(losses_a), form=form, level=level, largest=largest, grouped=groups is not None
    )  # fmt: skip


def paired_mean_test(
    moments: MeanMoments, n: int, *, form: Form, level: float, largest: float,
    grouped: bool,
) -> PairTest:  # fmt: skip
    """The same from the moments of the differences of n cases."""
    procedure = PAIRED_HALL if form == "hall" else PAIRED_LOSS_T
    df = moments.df
    # Hall's correction is for z; with few groups t of their number stands in, as in the intervals of one loss.
    normal = form == "hall" and not grouped
    tested = _tested(moments, procedure.name, n, level, math.inf if normal else df, form, largest)
    if moments.spread > 0:
        tested = replace(tested, effect=moments.mean / moments.spread, effect_name=EFFECT)
    return replace(tested, df=math.nan if normal else df)


def unpaired_loss_test(
    losses_a: Floats,
    losses_b: Floats,
    *,
    form: Form = "t",
    level: float = 0.95,
    largest: float = math.inf,
    groups_a: NDArray[Any] | None = None,
    groups_b: NDArray[Any] | None = None,
) -> PairTest:
    """The mean loss of A less that of B, each on cases of its own.

    >>> result = unpaired_loss_test(np.array([0.1, 0.2, 0.3, 0.1]), np.array([0.2, 0.4, 0.3, 0.3, 0.5]))
    >>> print(f"{result.difference:.3f} [{result.low:.3f}, {result.high:.3f}] p = {result.p:.3f}")
    -0.165 [-0.331, 0.001] p = 0.051
    """
    a, b = MeanMoments.of(losses_a, groups=groups_a), MeanMoments.of(losses_b, groups=groups_b)
    return unpaired_mean_test(a, b, (len(losses_a), len(losses_b)), form=form, level=level, largest=largest)


def unpaired_mean_test(
    a: MeanMoments, b: MeanMoments, sizes: tuple[int, int], *, form: Form, level: float,
    largest: float,
) -> PairTest:  # fmt: skip
    """The same from the moments of the losses of so many cases."""
    variance = a.variance + b.variance
    parts = [side.variance**2 / side.df for side in (a, b) if side.units > 1]
    df = variance**2 / sum(parts) if sum(parts) > 0 else math.nan
    both = MeanMoments(a.mean - b.mean, variance, a.third - b.third, min(a.units, b.units), a.spread + b.spread, df)
    name = UNPAIRED_HALL.name if form == "hall" else UNPAIRED_LOSS_T.name
    n_a, n_b = sizes
    tested = _tested(both, name, n_a + n_b, level, df, form, largest)
    if variance > 0:
        effect = per_case_of_two(both.mean, math.sqrt(variance), n_a, n_b)
        tested = replace(tested, effect=effect, effect_name=PER_CASE)
    elif both.mean:
        tested = replace(tested, note=f"Each has the same loss in all of its cases. {BY_SIGNS}")
    return replace(tested, df=df)


def _tested(
    moments: MeanMoments, method: str, n: int, level: float, df: float, form: Form, largest: float
) -> PairTest:  # fmt: skip
    """The test of a mean of 0; `df` is infinite for the normal distribution."""
    if math.isnan(moments.mean):
        return undefined_test(NO_CASES, level, method, n, reach=largest)
    if moments.units < 2:
        return PairTest(
            moments.mean, -largest, largest, level, method, math.nan, n, note=ONE_UNIT
        )  # fmt: skip
    if moments.variance == 0:
        return _constant(moments, method, n, level)
    error = math.sqrt(moments.variance)
    statistic = moments.mean / error
    critical = z_value(level) if math.isinf(df) else float(t_value(level, df))
    third = moments.third if form == "hall" else 0.0
    low, high = hall(moments.mean, moments.variance, third, critical)
    p = two_sided(_bent(statistic, third / error**3), df)
    return PairTest(moments.mean, max(low, -largest), min(high, largest), level, method, p, n, statistic)


def _constant(moments: MeanMoments, method: str, n: int, level: float) -> PairTest:
    if moments.mean == 0:
        note = "Both have the same loss in every case."
        return PairTest(0.0, 0.0, 0.0, level, method, 1.0, n, 0.0, note=note)
    # No t statistic exists; that all signs agree has this chance if either sign is as likely.
    p = 2.0 ** (1 - moments.units)
    note = f"All {moments.units:,} differences are the same. {BY_SIGNS}"
    return PairTest(
        moments.mean, moments.mean, moments.mean, level, method, p, n, math.copysign(math.inf, moments.mean), note=note
    )


def _bent(t: float, a: float) -> float:
    """Hall's transformation of a t statistic whose numerator has the skewness `a`: the one that `hall` bends back."""
    return t + a * t * t / 3 + a * a * t**3 / 27 + a / 6
