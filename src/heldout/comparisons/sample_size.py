"""Sample sizes: how many cases until an interval is narrow enough, or a difference can be shown."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from heldout.arguments import check_level, check_share, listing, method_key, suggest
from heldout.arrays import Floats
from heldout.errors import OptionError
from heldout.intervals import proportion
from heldout.intervals.areas import hanley_mcneil_variance
from heldout.intervals.quantiles import z_value
from heldout.result import Result, make_row
from heldout.show.blocks import Block, Note, Prose


@dataclass(frozen=True, slots=True, eq=False)
class SampleSize(Result):
    """The number of cases that a question takes.

    `n` is the number of what `unit` says, such as "cases" or "cases in each of the two test sets". `assumed` holds what
    was taken as given, `reached` the width or the power that n cases come to. `int(size)` is n.
    """

    schema: ClassVar[str] = "heldout/sample-size@1"

    n: int
    question: str
    method: str
    level: float
    reached: float
    unit: str = "cases"
    power: float = math.nan
    assumed: Mapping[str, float] = field(default_factory=dict)
    note: str = ""

    @property
    def sentence(self) -> str:
        """The answer in one sentence."""
        return f"{self.n:,} {self.unit} are needed {self.question}."

    def __int__(self) -> int:
        return self.n

    def rows(self) -> list[dict[str, object]]:
        """One row."""
        how = {"unit": self.unit, "power": self.power, "reached": self.reached, **self.assumed}
        return [make_row("cases_needed", float(self.n), level=self.level, method=self.method, n=self.n) | how]

    def facts(self) -> dict[str, object]:
        """The question beside its answer."""
        return {"n": self.n, "unit": self.unit, "question": self.question, "sentence": self.sentence, "note": self.note}

    def blocks(self) -> list[Block]:
        """The sentence, and what it rests on."""
        return [Prose(self.sentence), *([Note(self.note)] if self.note else [])]


METHODS: dict[str, Callable[..., tuple[Floats, Floats]]] = {
    "wilson": proportion.wilson,
    "wilson-cc": proportion.wilson_cc,
    "clopper-pearson": proportion.clopper_pearson,
    "jeffreys": proportion.jeffreys,
    "agresti-coull": proportion.agresti_coull,
    "mid-p": proportion.mid_p,
    "normal": proportion.normal,
}
# Up to this many cases the expected width is summed over every number of successes; beyond, it is the width at the
# rate itself: the answer differs by about one case in a million.
EXACT_WIDTH = 1_000_000
# Up to this many cases the power of McNemar's test is summed exactly; beyond, Connor's formula is as good.
EXACT_POWER = 5_000
# More cases than this is no plan.
MOST = 10**15


def cases_for_width(p: float, width: float, level: float = 0.95, method: str = "wilson") -> SampleSize:
    """The fewest cases whose interval of a share near p is expected to be at most so wide.

    >>> cases_for_width(0.9, 0.05).sentence
    '554 cases are needed for a 95 % interval (wilson) of a share near .900 that is at most .050 wide on average.'
    """
    level = check_level(level)
    check_share("p", p, "write 90 % as 0.9.", ends=True)
    check_share("The width", width, "for example 0.05 for ± .025.")
    key = method_key(method)
    if key not in METHODS:
        raise OptionError(
            f"There is no interval method {method!r} to plan with. There are: {listing(METHODS)}.",
            hint=suggest(key, METHODS, "leave method out for wilson."),
        )
    if key == "normal":
        # Its expected width is no guide: with a handful of cases all right it has no width at all.
        n = max(1, math.ceil(4 * z_value(level) ** 2 * p * (1 - p) / width**2 - 1e-9))
        reached = 2 * z_value(level) * math.sqrt(p * (1 - p) / n)
    else:
        n = _fewest(lambda size: expected_width(p, size, level, key) <= width)
        reached = expected_width(p, n, level, key)
    return SampleSize(
        n, f"for a {_percent(level)} interval ({key}) of a share near {_brief(p)} that is at most {_brief(width)} wide "
        "on average", key, level, reached, assumed={"p": float(p), "width": float(width)},
    )  # fmt: skip


def expected_width(p: float, n: int, level: float = 0.95, method: str = "wilson") -> float:
    """The mean width of the interval over all samples of n cases, each a success with probability p.

    >>> round(expected_width(0.5, 1), 3), round(expected_width(0.9, 554), 4)
    (0.793, 0.05)
    """
    find = METHODS[method]
    if n > EXACT_WIDTH:
        low, high = find(p * n, n, level)
        return float(high - low)
    hits = _likely(n, p)
    low, high = find(hits, n, level)
    return float((_binomial(hits, n, p) * (high - low)).sum())


def cases_for_difference(
    discordant_share: float, difference: float, power: float = 0.8, level: float = 0.95
) -> SampleSize:
    """The fewest cases, judged by both classifiers, on which McNemar's test shows a difference of accuracies.

    `discordant_share` is the share of cases that exactly one of the two gets right. Connor's formula; up to a few
    thousand cases the power of the mid-p test itself, summed over everything that can happen.

    >>> cases_for_difference(0.1, 0.04).n
    475
    """
    level, power = check_level(level), _power(power)
    gap = abs(difference)
    if not 0 < gap <= discordant_share <= 1:
        raise OptionError(
            f"A difference of {difference:g} cannot come from {discordant_share:g} of the cases.",
            hint="the share of cases that only one gets right is at least the difference, which is not 0.",
        )
    za, zb = z_value(level), _quantile(power)
    root = za * math.sqrt(discordant_share) + zb * math.sqrt(max(discordant_share - gap * gap, 0.0))
    n = max(1, math.ceil((root / gap) ** 2))
    reached = _connor_power(n, discordant_share, gap, za)
    how = "Connor's formula"
    if n <= EXACT_POWER:
        n, reached, how = *_exact_cases(n, discordant_share, gap, power, level), "exact power of the mid-p test"
    return SampleSize(
        n, f"to show a difference of {_brief(gap)} between two accuracies on the same cases, where "
        f"{_brief(discordant_share)} of the cases are right by one classifier alone, with {_percent(power)} power at "
        f"level {level:g} (McNemar's mid-p test)",
        how, level, reached, power=power, assumed={"discordant_share": float(discordant_share), "difference": gap},
    )  # fmt: skip


def mcnemar_power(n: int, discordant_share: float, difference: float, level: float = 0.95) -> float:
    """The probability that McNemar's mid-p test rejects, summed over the number of discordant cases and their split.

    >>> round(mcnemar_power(475, 0.1, 0.04), 3)
    0.801
    """
    number = _likely(n, discordant_share)
    return _rejects(number, _critical(number, level), n, discordant_share, difference)


def _rejects(number: Floats, most: Floats, n: int, discordant_share: float, difference: float) -> float:
    from scipy.special import betainc

    to_a = (discordant_share + difference) / (2 * discordant_share)
    at_most = np.maximum(most, 0.0)
    # At most so many on one side, or at most so many on the other: P(X ≤ x) = I_{1−p}(n − x, x + 1).
    either = sum(betainc(np.maximum(number - at_most, 0.5), at_most + 1, share) for share in (to_a, 1 - to_a))
    rejects = np.where(most >= 0, either, 0.0)
    return float((_binomial(number, n, discordant_share) * rejects).sum())


def cases_for_two(p1: float, p2: float, power: float = 0.8, level: float = 0.95) -> SampleSize:
    """The fewest cases in each of two test sets on which a z test shows that two shares differ.

    Pooled variance under no difference, each share's own under the difference: Fleiss, Levin & Paik (2003), ch. 4.

    >>> print(cases_for_two(0.9, 0.85))
    686 cases in each of the two test sets are needed to show a difference between shares of .900 and
    .850, with 80 % power at level 0.95.
    """
    level, power = check_level(level), _power(power)
    check_share("p1", p1, "write 90 % as 0.9.", ends=True)
    check_share("p2", p2, "write 90 % as 0.9.", ends=True)
    if p1 == p2:
        raise OptionError(f"Both shares are {p1:g}: no number of cases shows a difference.", hint="give two shares.")
    mean = (p1 + p2) / 2
    null, own = math.sqrt(2 * mean * (1 - mean)), math.sqrt(p1 * (1 - p1) + p2 * (1 - p2))
    za, zb = z_value(level), _quantile(power)
    n = max(1, math.ceil(((za * null + zb * own) / (p1 - p2)) ** 2))
    reached = _phi((abs(p1 - p2) * math.sqrt(n) - za * null) / own) if own else 1.0
    return SampleSize(
        n, f"to show a difference between shares of {_brief(p1)} and {_brief(p2)}, with {_percent(power)} power at "
        f"level {level:g}", "pooled z test", level, reached, unit="cases in each of the two test sets", power=power,
        assumed={"p1": float(p1), "p2": float(p2)},
    )  # fmt: skip


def cases_for_auc_difference(
    auc_a: float,
    auc_b: float,
    correlation: float = 0.5,
    positives_share: float = 0.5,
    power: float = 0.8,
    level: float = 0.95,
) -> SampleSize:
    """The fewest cases, scored by both classifiers, on which two areas under the ROC curve are told apart.

    Variances by Hanley & McNeil (1982), which need the areas only; `correlation` is that of the two estimated areas,
    not of the scores: Hanley & McNeil (1983). On different test sets it is 0, and each set has that many cases.

    >>> cases_for_auc_difference(0.85, 0.80, correlation=0.5, positives_share=0.3).n
    781
    """
    level, power = check_level(level), _power(power)
    for name, value in (("auc_a", auc_a), ("auc_b", auc_b), ("positives_share", positives_share)):
        check_share(name, value, "write 90 % as 0.9.")
    if not 0 <= correlation < 1:
        raise OptionError(f"The correlation must be from 0 up and below 1. Got {correlation!r}.", hint="use about 0.5.")
    if auc_a == auc_b:
        raise OptionError(f"Both areas are {auc_a:g}: no number of cases shows a difference.", hint="give two areas.")
    za, mean = z_value(level), (auc_a + auc_b) / 2

    def reached(n: int) -> float:
        sizes = max(n * positives_share, 1.0), max(n * (1 - positives_share), 1.0)
        a, b, both = (hanley_mcneil_variance(area, *sizes) for area in (auc_a, auc_b, mean))
        own = math.sqrt(a + b - 2 * correlation * math.sqrt(a * b))
        null = math.sqrt(2 * both * (1 - correlation))
        return _phi((abs(auc_a - auc_b) - za * null) / own)

    n = _fewest(lambda size: reached(size) >= power, least=2)
    return SampleSize(
        n, f"to tell areas under the ROC curve of {_brief(auc_a)} and {_brief(auc_b)} apart, with "
        f"{_brief(positives_share)} of the cases positive and a correlation of {_brief(correlation)} of the areas, "
        f"with {_percent(power)} power at level {level:g}", "Hanley & McNeil", level, reached(n), power=power,
        assumed={"auc_a": float(auc_a), "auc_b": float(auc_b), "correlation": float(correlation),
                 "positives_share": float(positives_share)},
    )  # fmt: skip


def _exact_cases(start: int, discordant: float, gap: float, power: float, level: float) -> tuple[int, float]:
    """The fewest cases from which on the exact power stays, searched around an approximate answer."""
    # Power moves in small waves around a rising line: from well above, down to the first number that falls short.
    n = start + 20 + start // 20
    while mcnemar_power(n, discordant, gap, level) < power:
        n += 10 + n // 10
    most = _critical(np.arange(n + 1, dtype=np.float64), level)

    def reached(size: int) -> float:
        number = _likely(size, discordant)
        return _rejects(number, most[number.astype(np.int64)], size, discordant, gap)

    while n > 1 and reached(n - 1) >= power:
        n -= 1
    return n, reached(n)


def _critical(number: Floats, level: float) -> Floats:
    """For each number of discordant cases the most that may fall to one side for the mid-p test to reject, or −1."""
    from scipy.special import bdtrik, betainc

    def p(least: Floats) -> Floats:
        # The two terms of mcnemar_p; P(X ≤ −1) is 0.
        inside = np.maximum(least, 0.0)
        below = np.where(inside > 0, betainc(number - inside + 1, np.maximum(inside, 1.0), 0.5), 0.0)
        return np.where(2 * least < number, betainc(np.maximum(number - inside, 0.5), inside + 1, 0.5) + below, 1.0)

    # Near the quantile of the exact test, then one step up or down where the mid-p test says otherwise.
    least = np.floor(np.nan_to_num(bdtrik((1 - level) / 2, np.maximum(number, 1.0), 0.5), nan=0.0)) + 1
    for _ in range(3):
        least = np.where((least >= 0) & (p(least) > 1 - level), least - 1, least)
    return np.where((number > 0) & (least >= 0), least, -1.0)


def _connor_power(n: int, discordant: float, gap: float, za: float) -> float:
    own = math.sqrt(max(discordant - gap * gap, 0.0))
    return _phi((gap * math.sqrt(n) - za * math.sqrt(discordant)) / own) if own else 1.0


def _fewest(enough: Callable[[int], bool], least: int = 1) -> int:
    """The smallest number that is enough, where every larger one is enough too."""
    high = least
    while not enough(high):
        high *= 2
        if high > MOST:
            raise OptionError(f"More than {MOST:,} cases would be needed.", hint="ask for less.")
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return max(high, least)


def _likely(n: int, p: float) -> Floats:
    """Every number of successes that n trials come to with more than a vanishing probability."""
    middle, reach = n * p, 10 * math.sqrt(n * p * (1 - p)) + 10
    return np.arange(max(0, math.floor(middle - reach)), min(n, math.ceil(middle + reach)) + 1, dtype=np.float64)


def _binomial(hits: Floats, n: int, p: float) -> Floats:
    from scipy.special import gammaln, xlog1py, xlogy

    ways = gammaln(n + 1) - gammaln(hits + 1) - gammaln(n - hits + 1)
    return np.asarray(np.exp(ways + xlogy(hits, p) + xlog1py(n - hits, -p)))


def _phi(z: float) -> float:
    return math.erfc(-z / math.sqrt(2)) / 2


def _quantile(power: float) -> float:
    # The one-sided quantile at the power is the two-sided one at 2·power − 1, with its sign.
    return z_value(2 * power - 1) if power > 0.5 else 0.0 if power == 0.5 else -z_value(1 - 2 * power)


def _power(power: float) -> float:
    return check_share("The power", power, "for example 0.8.")


def _brief(value: float) -> str:
    """A share with three decimals, or as many as it was given with.

    >>> _brief(0.9), _brief(0.00125)
    ('.900', '.00125')
    """
    text = f"{value:.10f}".rstrip("0")
    whole, _, decimals = text.partition(".")
    return ("" if whole == "0" else whole) + "." + decimals.ljust(3, "0")


def _percent(value: float) -> str:
    return f"{round(100 * value, 6):g} %"
