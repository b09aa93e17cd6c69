"""Two learners over many data sets: Wilcoxon's signed ranks, and the signs alone.

The tests themselves; which of them is made is decided in `comparisons.pairwise`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from heldout.arguments import check_level, check_whole, listing, suggest
from heldout.arrays import Floats
from heldout.comparisons.fold_tests import Posterior, check_rope
from heldout.comparisons.pair_test import ROUNDING, find_procedure, register_procedure
from heldout.comparisons.ranks import ON_ONE_DATA_SET, ONE_NUMBER, normal_p, tied_ranks
from heldout.errors import OptionError, ValuesError
from heldout.intervals.estimate import PairTest, join_notes
from heldout.intervals.quantiles import z_value

Zeros = Literal["drop", "split"]
Form = Literal["auto", "exact", "normal"]
# The exact distribution is used up to this many differences, as in R and SciPy, and here with ties and zeros too: where
# few differences share a rank the normal one gives p-values that no signs could have (.037, not .062, for 5 equal).
EXACT = 50
EQUAL = "A and B are equal on every data set"

WILCOXON = register_procedure(
    "wilcoxon",
    "data sets",
    "The signed ranks of the differences: exact for up to 50 of them, ties or not, otherwise normal.",
    "Wilcoxon (1945), Demšar (2006)",
)
SIGN = register_procedure(
    "sign",
    "data sets",
    "On how many data sets A wins, against a fair coin; ties are shared.",
    "Demšar (2006)",
    "weak: for normal differences it needs half as many data sets again as the signed ranks (Hodges & Lehmann, 1956)",
)


@dataclass(frozen=True, eq=False, slots=True)
class SignedRanks:
    """The ranks of the absolute differences, summed over those where A is higher (`plus`) and lower (`minus`).

    `signed` are the ranks of the differences that are not zero; `zeros` counts those that are.
    """

    plus: float
    minus: float
    signed: Floats
    zeros: int

    @property
    def smaller(self) -> float:
        """T, the smaller of the two sums."""
        return min(self.plus, self.minus)


def paired_values(a: Any, b: Any) -> tuple[Floats, Floats, Floats]:
    """The differences A − B, those that are rounding alone made 0, with both sides; refused unless they pair."""
    try:
        first, second = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValuesError("The results are not numbers.", hint=ONE_NUMBER) from None
    if first.ndim != 1 or first.shape != second.shape:
        raise ValuesError(
            f"Results must come in pairs. Got {first.size} of A and {second.size} of B.",
            hint="give one result of each learner for every data set, in the same order.",
        )
    wrong = np.flatnonzero(~(np.isfinite(first) & np.isfinite(second)))
    if len(wrong):
        raise ValuesError(
            f"Every learner needs a finite result on every data set. Not so on number {listing(wrong + 1)}.",
            hint="leave out these data sets.",
        )
    if len(first) < 2:
        raise OptionError(
            f"A comparison over data sets needs at least 2. Got {len(first)}.",
            hint=ON_ONE_DATA_SET,
        )
    scale = np.maximum(np.abs(first), np.abs(second))
    differences = first - second
    differences[np.abs(differences) <= ROUNDING * scale] = 0.0
    return differences, first, second


def signed_ranks(a: Any, b: Any, *, zeros: Zeros = "drop") -> SignedRanks:
    """Rank the absolute differences; zeros are dropped, or their ranks are split, but for one of an odd number.

    >>> result = signed_ranks([5.0, 3.0, 4.0], [1.0, 3.0, 6.0])
    >>> result.plus, result.minus
    (2.0, 1.0)
    """
    check_zeros(zeros)
    differences, first, second = paired_values(a, b)
    scale = np.maximum(np.abs(first), np.abs(second))
    none = np.flatnonzero(differences == 0)
    drop = none if zeros == "drop" else none[: len(none) % 2]
    kept = np.setdiff1d(np.arange(len(differences)), drop)
    d, size = differences[kept], scale[kept]
    if not len(kept):
        return SignedRanks(0.0, 0.0, np.empty(0), len(none))
    ranks = tied_ranks(np.abs(d), size)
    shared = float(ranks[d == 0].sum()) / 2
    signed = ranks[d != 0] * np.sign(d[d != 0])
    plus, minus = float(signed[signed > 0].sum()), -float(signed[signed < 0].sum())
    return SignedRanks(plus + shared, minus + shared, signed, len(none))


def check_zeros(zeros: object) -> None:
    """Refuse a name that is none of the two."""
    if zeros not in get_args(Zeros):
        raise OptionError(
            f"Differences of zero are treated by {listing(get_args(Zeros))}. Got {zeros!r}.",
            hint=suggest(zeros, get_args(Zeros), "leave zeros out for 'drop'."),
        )


def wilcoxon(
    a: Any,
    b: Any,
    *,
    zeros: Zeros = "drop",
    form: Form = "auto",
    continuity: bool | None = None,
    level: float = 0.95,
) -> PairTest:
    """Wilcoxon's signed-rank test, with the median of all averages of two differences and its interval.

    `zeros` "drop" is what R and SciPy do; "split" is Demšar's, whose normal form corrects neither for ties nor for
    continuity. `form` "exact" counts all signs of the ranks that there are, ties or not; "auto" does so for up to 50.

    >>> a, b = [0.77, 0.91, 0.83, 0.66, 0.95, 0.71], [0.74, 0.90, 0.78, 0.59, 0.93, 0.67]
    >>> result = wilcoxon(a, b)
    >>> result.statistic, result.p, round(result.difference, 4)
    (0.0, 0.03125, 0.035)
    """
    check_level(level, derived=True)
    if form not in get_args(Form):
        raise OptionError(
            f"The distribution is one of {listing(get_args(Form))}. Got {form!r}.", hint="leave form out for 'auto'."
        )
    differences, _, _ = paired_values(a, b)
    ranked = signed_ranks(a, b, zeros=zeros)
    median, low, high, note = pseudomedian(differences, level)
    exact = form == "exact" or (form == "auto" and len(ranked.signed) <= EXACT)
    total = ranked.plus + ranked.minus
    if not len(ranked.signed):
        p, effect, notes = 1.0, 0.0, [EQUAL]
    else:
        normal = _normal_split if zeros == "split" else _normal
        p = _exact(ranked) if exact else normal(ranked, (zeros == "drop") if continuity is None else continuity)
        effect, notes = (ranked.plus - ranked.minus) / total, [_zero_note(ranked.zeros, zeros)]
    return PairTest(
        median, low, high, level, WILCOXON.name, p, len(differences), statistic=ranked.smaller, effect=effect,
        effect_name="rank-biserial correlation", note=join_notes(*notes, note),
        interval_method="walsh-averages" if not math.isnan(low) else "",
    )  # fmt: skip


def _zero_note(zeros: int, how: Zeros) -> str:
    if not zeros:
        return ""
    are = "data set shows" if zeros == 1 else "data sets show"
    return f"{zeros} {are} no difference and {'is' if zeros == 1 else 'are'} {'left out' if how == 'drop' else 'split'}"


def _exact(ranked: SignedRanks) -> float:
    """Twice the smaller tail over all signs that the ranks could have had."""
    chance, steps = _distribution(np.abs(ranked.signed))
    at = round(2 * float(ranked.signed[ranked.signed > 0].sum()) / steps)
    return min(1.0, 2 * min(float(chance[: at + 1].sum()), float(chance[at:].sum())))


def _distribution(ranks: Floats) -> tuple[Floats, int]:
    """The chance of every sum of positive ranks when signs are tossed; sums count in halves where ranks are halves."""
    doubled = np.rint(2 * ranks).astype(np.int64)
    steps = 2 if not (doubled % 2).any() else 1
    units = doubled // steps
    chance = np.zeros(int(units.sum()) + 1)
    chance[0] = 1.0
    for unit in units:
        moved = chance[: len(chance) - unit].copy()
        chance *= 0.5
        chance[unit:] += 0.5 * moved
    return chance, steps


def _normal(ranked: SignedRanks, continuity: bool) -> float:
    # The variance given the ranks that there are, which is the tie-corrected one.
    spread = math.sqrt(float((ranked.signed**2).sum()) / 4)
    away = abs(ranked.plus - ranked.minus) / 2 - (0.5 if continuity else 0.0)
    return float(normal_p(max(away, 0.0) / spread))


def _normal_split(ranked: SignedRanks, continuity: bool) -> float:
    n = len(ranked.signed) + ranked.zeros - ranked.zeros % 2
    spread = math.sqrt(n * (n + 1) * (2 * n + 1) / 24)
    away = abs(ranked.plus - ranked.minus) / 2 - (0.5 if continuity else 0.0)
    return float(normal_p(max(away, 0.0) / spread))


def pseudomedian(differences: Floats, level: float) -> tuple[float, float, float, str]:
    """The median of the averages of all pairs of differences, its interval, and why it has none where it has none.

    Hodges & Lehmann (1963); the interval holds what the signed ranks would not reject.

    >>> pseudomedian(np.array([1.0, 2.0, 6.0, 4.0, 3.0, 5.0]), 0.95)[:3]
    (3.5, 1.0, 6.0)
    """
    n = len(differences)
    rows, columns = np.triu_indices(n)
    averages = np.sort((differences[rows] + differences[columns]) / 2)
    tail = (1 - level) / 2
    if n <= EXACT:
        chance, _ = _distribution(np.arange(1, n + 1, dtype=np.float64))
        rank = int((np.cumsum(chance) < tail).sum())
    else:
        rank = math.floor(n * (n + 1) / 4 - z_value(level) * math.sqrt(n * (n + 1) * (2 * n + 1) / 24))
    median = float(np.median(averages))
    if rank < 1:
        return median, math.nan, math.nan, f"{n} data sets are too few for a {100 * level:g} % interval"
    return median, float(averages[rank - 1]), float(averages[-rank]), ""


def sign_test(a: Any, b: Any, *, ties: Zeros = "split", level: float = 0.95) -> PairTest:
    """On how many data sets A is higher, against a fair coin; ties are split (one of an odd number goes) or dropped.

    The difference is the median one, with the interval that the same test gives it.

    >>> result = sign_test([0.8, 0.9, 0.7, 0.9, 0.8, 0.6], [0.7, 0.8, 0.6, 0.7, 0.7, 0.6])
    >>> result.statistic, result.p
    (5.0, 0.0625)
    """
    from scipy.special import bdtr

    check_zeros(ties)
    check_level(level, derived=True)
    differences, _, _ = paired_values(a, b)
    above, below = int((differences > 0).sum()), int((differences < 0).sum())
    none = len(differences) - above - below
    shared = none // 2 if ties == "split" else 0
    n = above + below + 2 * shared
    p = min(1.0, 2 * float(bdtr(min(above, below) + shared, n, 0.5))) if n else 1.0
    ordered = np.sort(differences)
    chance = bdtr(np.arange(len(differences)), len(differences), 0.5)
    rank = int((chance < (1 - level) / 2).sum())
    enough = 0 < rank <= len(differences) // 2
    low, high = (float(ordered[rank - 1]), float(ordered[-rank])) if enough else (math.nan, math.nan)
    notes = [EQUAL if none == len(differences) else _zero_note(none, ties)]
    if not enough:
        notes.append(f"{len(differences)} data sets are too few for a {100 * level:g} % interval")
    return PairTest(
        float(np.median(differences)), low, high, level, SIGN.name, p, len(differences),
        statistic=float(above + shared), effect=(above - below) / len(differences),
        effect_name="wins less losses, as a share of the data sets",
        note=join_notes(*notes), interval_method="median-order" if enough else "",
    )  # fmt: skip


# Draws at a time hold at most this many numbers.
AT_ONCE = 1 << 22


# Draws that the limits of an interval are taken from; sorting more takes longer and changes little.
FOR_LIMITS = 4000


BAYES_SIGNED_RANK = register_procedure(
    "bayes-signed-rank",
    "data sets",
    "The posterior of the signed ranks under a Dirichlet process, with a region of practical equivalence.",
    "Benavoli et al. (2014, 2017)",
)


def bayes_signed_rank(
    a: Any,
    b: Any,
    *,
    rope: float = 0.0,
    prior: float = 0.5,
    draws: int = 50_000,
    seed: int = 0,
    level: float = 0.95,
) -> Posterior:
    """How likely A is higher, B is higher, or the difference stays within ± `rope`, on a further data set.

    Each draw weighs the data sets anew, together with one of no difference whose weight is `prior`, and asks which of
    the three most averages of two differences fall into. The probabilities are the shares of draws.

    >>> a, b = [0.81, 0.92, 0.73, 0.88, 0.79, 0.85], [0.75, 0.90, 0.66, 0.83, 0.80, 0.79]
    >>> result = bayes_signed_rank(a, b, rope=0.01, draws=5_000)
    >>> result.a_higher > 0.95, round(sum(result.odds), 9)
    (True, 1.0)
    """
    rope, draws = check_rope(rope), check_whole("draws", draws, 1)
    check_level(level, derived=True)
    if not (isinstance(prior, int | float) and 0 < prior < math.inf):
        raise OptionError(f"The weight of the prior must be above 0. Got {prior!r}.", hint="leave prior out for 0.5.")
    differences, _, _ = paired_values(a, b)
    with_prior = np.concatenate([[0.0], differences])
    sums = with_prior[:, None] + with_prior[None, :]
    # An average that lies on the edge counts half on either side of it.
    above = (sums > 2 * rope) + 0.5 * (sums == 2 * rope)
    below = (sums < -2 * rope) + 0.5 * (sums == -2 * rope)
    weights = np.concatenate([[prior], np.ones(len(differences))])
    random = np.random.default_rng(check_whole("seed", seed, 0))
    counts, limits = np.zeros(3), _MedianDraws(sums / 2, min(draws, FOR_LIMITS))
    for begin in range(0, draws, step := max(AT_ONCE // len(weights), 1)):
        drawn = random.dirichlet(weights, min(step, draws - begin))
        higher, lower = (((drawn @ side) * drawn).sum(axis=1) for side in (above, below))
        counts += _winners(higher, lower, rope)
        limits.add(drawn)
    odds = counts / draws
    low, high = limits.between(level)
    note = "A and B are equal on every data set" if not differences.any() else ""
    return Posterior(
        pseudomedian(differences, level)[0], low, high, level, BAYES_SIGNED_RANK.name, math.nan, len(differences),
        note=note, interval_method="posterior", rope=rope,
        a_higher=float(odds[0]), within=float(odds[1]), b_higher=float(odds[2]),
    )  # fmt: skip


def _winners(higher: Floats, lower: Floats, rope: float) -> Floats:
    """How many draws each of the three has the most of; equal shares are divided."""
    shares = np.stack([higher, 1 - higher - lower if rope else np.full(len(higher), -1.0), lower], axis=1)
    best = shares >= shares.max(axis=1, keepdims=True) - 1e-12
    return np.asarray((best / best.sum(axis=1, keepdims=True)).sum(axis=0))


class _MedianDraws:
    """The median average of two differences in each of the first draws."""

    def __init__(self, averages: Floats, wanted: int) -> None:
        self.rows, self.columns = np.triu_indices(len(averages))
        flat = averages[self.rows, self.columns]
        order = np.argsort(flat, kind="stable")
        self.rows, self.columns, self.ordered = self.rows[order], self.columns[order], flat[order]
        self.twice = np.where(self.rows == self.columns, 1.0, 2.0)
        self.wanted = wanted
        self.medians: list[float] = []

    def add(self, drawn: Floats) -> None:
        step = max(AT_ONCE // len(self.ordered), 1)
        for begin in range(0, min(len(drawn), self.wanted - len(self.medians)), step):
            part = drawn[begin : min(begin + step, begin + self.wanted - len(self.medians), len(drawn))]
            reached = np.cumsum(part[:, self.rows] * part[:, self.columns] * self.twice, axis=1) >= 0.5
            self.medians += self.ordered[reached.argmax(axis=1)].tolist()

    def between(self, level: float) -> tuple[float, float]:
        low, high = np.quantile(self.medians, [(1 - level) / 2, (1 + level) / 2])
        return float(low), float(high)


DATA_SET_TESTS: dict[str, Callable[..., PairTest]] = {
    WILCOXON.name: wilcoxon,
    SIGN.name: sign_test,
    BAYES_SIGNED_RANK.name: bayes_signed_rank,
}


def compare_over_data_sets(
    a: Any, b: Any, method: str = "wilcoxon", *, level: float = 0.95, **options: Any
) -> PairTest:
    """Two learners over data sets, one value of each per data set; `options` are those of the test.

    >>> compare_over_data_sets([0.8, 0.9, 0.7, 0.9], [0.7, 0.8, 0.7, 0.8], "sign").statistic
    3.0
    """
    used = find_procedure(method, "data sets")
    if used.name not in DATA_SET_TESTS:
        raise OptionError(
            f"The method {used.name!r} is for a table of learners, and here are two.",
            hint=f"use one of: {listing(DATA_SET_TESTS)}; or rank_learners.",
        )
    return DATA_SET_TESTS[used.name](a, b, level=level, **options)
