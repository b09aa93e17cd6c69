"""What a test comes to: which of two is better, how sure that is in words, and how many cases would show it."""

from __future__ import annotations

import math
from dataclasses import replace

from heldout.comparison import Known, Outcome
from heldout.comparisons.bayes_folds import CERTAIN, Posterior
from heldout.comparisons.deciding import decides
from heldout.comparisons.planning import cases_needed
from heldout.comparisons.procedure import PROCEDURES
from heldout.comparisons.tested import Tested
from heldout.estimates.quantiles import z_value
from heldout.measures.declare import Direction
from heldout.report.comparison import p_text

NO_SPREAD = "all splits differ by the same amount, so their spread says nothing of how sure that is"


def known_of(methods: list[str], asked: str | None) -> tuple[Known, ...]:
    """What is known of the methods that were used because somebody named one."""
    if asked is None:
        return ()
    known = [PROCEDURES[name] for name in dict.fromkeys(methods) if name in PROCEDURES]
    return tuple(Known(found.name, found.finding.rstrip(".")) for found in known if found.finding)


def outcome(tested: Tested, p: float, direction: Direction = "higher") -> Outcome:
    """Which of the two is better beyond doubt, if any; `p` is corrected.

    >>> seen = Tested(difference=0.04, low=0.01, high=0.07, level=0.95, method="tango", p=0.01, n=500)
    >>> outcome(seen, 0.01), outcome(seen, 0.01, "lower"), outcome(seen, 0.06)
    ('a', 'b', 'undecided')
    """
    if without_spread(tested):
        return "undecided"
    if isinstance(tested, Posterior):
        if tested.difference == tested.low == tested.high == 0:
            return "same"
        first, second = tested.a_higher >= tested.level, tested.b_higher >= tested.level
    elif tested.difference == 0 and p == 1:
        return "same"
    else:
        clear = decides(p, tested.level)
        first, second = clear and tested.difference > 0, clear and tested.difference < 0
    if direction == "lower":
        first, second = second, first
    return "a" if first else "b" if second else "undecided"


def without_spread(tested: Tested) -> bool:
    """Whether all splits differ by the same amount: an infinite statistic is no certainty."""
    if tested.difference == 0 or tested.method not in PROCEDURES:
        return False
    of_splits = PROCEDURES[tested.method].setting == "same splits"
    return of_splits and (math.isinf(tested.statistic) or CERTAIN in tested.note)


def chance(tested: Tested, p: float, better: Outcome) -> str:
    """How sure it is: probabilities, or p, with what the correction has changed.

    The winner stands first, so for "b" the probabilities are those of B.

    >>> seen = Tested(difference=0.04, low=0.01, high=0.07, level=0.95, method="tango", p=0.02, n=500)
    >>> chance(seen, 0.06, "undecided")
    'p = .060 (before correction p = .020)'
    """
    if isinstance(tested, Posterior):
        above, within, below = tested.odds[::-1] if better == "b" else tested.odds
        said = f"probability {above:.3f} that it is positive, {below:.3f} that it is negative"
        said += f", {within:.3f} that it is within {tested.rope:g}" if tested.rope else ""
    else:
        said = _p(p)
        apart = decides(tested.p, tested.level) or tested.low > 0 or tested.high < 0
        if better == "undecided" and apart and p > tested.p:
            said += f" (before correction {_p(tested.p)})"
    return f"{said}; {NO_SPREAD}" if without_spread(tested) else said


def alone(tested: Tested, p: float, better: Outcome) -> str:
    """What is said after an interval that leaves out zero where p, which is corrected for all pairs, decides nothing.

    >>> seen = Tested(difference=0.04, low=0.01, high=0.07, level=0.95, method="tango", p=0.02, n=500)
    >>> alone(seen, 0.06, "undecided"), alone(seen, 0.02, "a")
    (' for this pair alone', '')
    """
    apart = tested.low > 0 or tested.high < 0
    return " for this pair alone" if better == "undecided" and apart and p > tested.p else ""


def _p(p: float) -> str:
    return "p < .001" if p < 0.001 else f"p = {p_text(p)}"


def needed(tested: Tested, p: float) -> int | None:
    """How many cases would show the difference at the level that the correction leaves; None where that is no news.

    >>> seen = Tested(difference=0.02, low=-0.01, high=0.05, level=0.95, method="tango", p=0.19, n=500)
    >>> needed(seen, 0.19), needed(seen, 0.57)
    (2299, 3066)
    """
    # More splits of the same cases would show no more: only more cases would.
    of_cases = tested.method not in PROCEDURES or PROCEDURES[tested.method].setting in ("same cases", "different cases")
    if not (of_cases and tested.p > 0 and p > 0):
        return None
    level = 1 - (1 - tested.level) * min(tested.p / p, 1.0)
    # The standard error stays what it was; only the level is another.
    widened = z_value(level) / z_value(tested.level)
    ends = (tested.difference - tested.low) * widened, (tested.high - tested.difference) * widened
    at_level = replace(tested, level=level, low=tested.difference - ends[0], high=tested.difference + ends[1])
    found = cases_needed(at_level)
    return found if found is not None and found > tested.n else None
