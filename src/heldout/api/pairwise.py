"""Every pair by every measure: tested, corrected for their number, and put into words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from heldout.api.design import CompareOptions, PairingDesign, is_score
from heldout.arguments import listing
from heldout.comparisons.comparison import Alike, Known, Outcome, Pair
from heldout.comparisons.corrections import adjust_p_values, describe_left_out, find_correction, is_significant
from heldout.comparisons.fold_tests import CERTAIN, Posterior
from heldout.comparisons.pair_test import PROCEDURES, check_margin, interval_level, judge_margin
from heldout.comparisons.sample_size import cases_needed
from heldout.errors import OptionError
from heldout.intervals.quantiles import z_value
from heldout.measures.declare import Direction
from heldout.measures.quantity import Quantity
from heldout.report.comparison import p_text
from heldout.results.difference import PairTest
from heldout.show.blocks import Style
from heldout.show.numbers import count, digits_between, limits, number

# What a test comes to: which of two is better, how sure that is in words, and how many cases would show it.

NO_SPREAD = "all splits differ by the same amount, so their spread says nothing of how sure that is"


def list_known_limits(methods: list[str], asked: str | None) -> tuple[Known, ...]:
    """What is known of the methods that were used because somebody named one."""
    if asked is None:
        return ()
    known = [PROCEDURES[name] for name in dict.fromkeys(methods) if name in PROCEDURES]
    return tuple(Known(found.name, found.finding.rstrip(".")) for found in known if found.finding)


def decide_winner(tested: PairTest, p: float, direction: Direction = "higher") -> Outcome:
    """Which of the two is better beyond doubt, if any; `p` is corrected.

    >>> seen = PairTest(difference=0.04, low=0.01, high=0.07, level=0.95, method="tango", p=0.01, n=500)
    >>> decide_winner(seen, 0.01), decide_winner(seen, 0.01, "lower"), decide_winner(seen, 0.06)
    ('a', 'b', 'undecided')
    """
    if lacks_spread(tested):
        return "undecided"
    if isinstance(tested, Posterior):
        if tested.difference == tested.low == tested.high == 0:
            return "same"
        first, second = tested.a_higher >= tested.level, tested.b_higher >= tested.level
    elif tested.difference == 0 and p == 1:
        return "same"
    else:
        clear = is_significant(p, tested.level)
        first, second = clear and tested.difference > 0, clear and tested.difference < 0
    if direction == "lower":
        first, second = second, first
    return "a" if first else "b" if second else "undecided"


def lacks_spread(tested: PairTest) -> bool:
    """Whether all splits differ by the same amount: an infinite statistic is no certainty."""
    if tested.difference == 0 or tested.method not in PROCEDURES:
        return False
    of_splits = PROCEDURES[tested.method].setting == "same splits"
    return of_splits and (math.isinf(tested.statistic) or CERTAIN in tested.note)


def describe_certainty(tested: PairTest, p: float, better: Outcome) -> str:
    """How sure it is: probabilities, or p, with what the correction has changed.

    The winner stands first, so for "b" the probabilities are those of B.

    >>> seen = PairTest(difference=0.04, low=0.01, high=0.07, level=0.95, method="tango", p=0.02, n=500)
    >>> describe_certainty(seen, 0.06, "undecided")
    'p = .060 (before correction p = .020)'
    """
    if isinstance(tested, Posterior):
        above, within, below = tested.odds[::-1] if better == "b" else tested.odds
        said = f"probability {above:.3f} that it is positive, {below:.3f} that it is negative"
        said += f", {within:.3f} that it is within {tested.rope:g}" if tested.rope else ""
    else:
        said = _p(p)
        apart = is_significant(tested.p, tested.level) or tested.low > 0 or tested.high < 0
        if better == "undecided" and apart and p > tested.p:
            said += f" (before correction {_p(tested.p)})"
    return f"{said}; {NO_SPREAD}" if lacks_spread(tested) else said


def qualify_interval(tested: PairTest, p: float, better: Outcome) -> str:
    """What is said after an interval that leaves out zero where p, which is corrected for all pairs, decides nothing.

    >>> seen = PairTest(difference=0.04, low=0.01, high=0.07, level=0.95, method="tango", p=0.02, n=500)
    >>> qualify_interval(seen, 0.06, "undecided"), qualify_interval(seen, 0.02, "a")
    (' for this pair alone', '')
    """
    apart = tested.low > 0 or tested.high < 0
    return " for this pair alone" if better == "undecided" and apart and p > tested.p else ""


def _p(p: float) -> str:
    return "p < .001" if p < 0.001 else f"p = {p_text(p)}"


def count_cases_needed(tested: PairTest, p: float) -> int | None:
    """How many cases would show the difference at the level that the correction leaves; None where that is no news.

    >>> seen = PairTest(difference=0.02, low=-0.01, high=0.05, level=0.95, method="tango", p=0.19, n=500)
    >>> count_cases_needed(seen, 0.19), count_cases_needed(seen, 0.57)
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


DEFAULT_CORRECTION = "holm"
DEFAULT_KIND = "non-inferiority"


@dataclass(frozen=True)
class Claims:
    """How strong a claim may be: the correction for many pairs, and the margin to be judged."""

    correction: str | None = None
    margin: float | None = None
    margin_kind: str = DEFAULT_KIND

    def used(self, duels: int) -> str:
        """The correction that was used, empty where there was nothing to correct for or nobody wanted it."""
        name = find_correction(DEFAULT_CORRECTION if self.correction is None else self.correction).name
        return "" if duels < 2 or name == "none" else name

    def check(self, control: object = None) -> None:
        """Refuse a margin that is none, a kind of claim without one, and a correction that a control rules out."""
        if self.margin is not None:
            check_margin(self.margin)
        elif self.margin_kind != DEFAULT_KIND:
            raise OptionError(
                f"There is no margin for {self.margin_kind}.", hint="say how much does not matter (margin=, --margin)."
            )
        if control is not None and str(self.correction).strip().casefold() == "shaffer":
            raise OptionError(
                "Shaffer's correction is for all pairs, and here all are compared with one control.",
                hint="use 'holm', 'hommel' or 'bonferroni', or leave out the control.",
            )


def run_pairwise_tests(
    meeting: PairingDesign,
    names: Sequence[str],
    duels: Sequence[tuple[int, int]],
    quantities: Sequence[Quantity],
    rules: CompareOptions,
    claims: Claims,
) -> tuple[Pair, ...]:
    """Compare every pair by every quantity."""
    used = claims.used(len(duels))
    made: list[Pair] = []
    for quantity in quantities:
        tested = [meeting.test(one, two, quantity, rules) for one, two in duels]
        raw = [test.p for test in tested]
        corrected = adjust_p_values(raw, used, pairs_of=_learners(names, duels)) if used else raw
        for (one, two), test, p in zip(duels, tested, corrected, strict=True):
            values = meeting.value(one, quantity), meeting.value(two, quantity)
            # Only where there is no difference is it worth looking at every case.
            alike = "" if test.difference else meeting.alike(one, two, quantity)
            pair = _pair((names[one], names[two]), quantity, values, test, float(p), alike)
            pair = pair if is_score(quantity) else replace(pair, apart=meeting.apart(one, two))
            pair = replace(pair, pooled=_pooled(meeting, (one, two), quantity))
            if claims.margin is not None:
                pair = _with_margin(pair, meeting, (one, two), quantity, rules, claims)
            made.append(pair)
    return tuple(made)


def keep_applicable(
    meeting: PairingDesign, duel: tuple[int, int], quantities: Sequence[Quantity], rules: CompareOptions
) -> list[Quantity]:
    """The quantities, of those that nobody asked for by name, that the method applies to; at least one must be."""
    kept: list[Quantity] = []
    first: OptionError | None = None
    for quantity in quantities:
        try:
            meeting.test(*duel, quantity, rules)
        except OptionError as error:
            first = first or error
        else:
            kept.append(quantity)
    if not kept and first is not None:
        raise first
    return kept


def _learners(names: Sequence[str], duels: Sequence[tuple[int, int]]) -> int | None:
    """The number of classifiers, where all pairs of them are compared."""
    return len(names) if len(duels) == len(names) * (len(names) - 1) // 2 else None


def _with_margin(
    pair: Pair, meeting: PairingDesign, duel: tuple[int, int], quantity: Quantity, rules: CompareOptions, claims: Claims
) -> Pair:
    """The pair judged against the margin, by an interval whose one-sided error is that of the level."""
    wide = meeting.test(*duel, quantity, replace(rules, level=interval_level(rules.level)))
    direction = quantity.bound.measure.direction
    found = judge_margin(wide, claims.margin or 0.0, direction, claims.margin_kind, names=(pair.a, pair.b))
    return replace(pair, margin=found)


def _pooled(meeting: PairingDesign, duel: tuple[int, int], quantity: Quantity) -> tuple[float, float] | None:
    one, two = (meeting.pooled(place, quantity) for place in duel)
    return None if one is None or two is None else (one, two)


def _pair(
    names: tuple[str, str], quantity: Quantity, values: tuple[float, float], tested: PairTest, p: float, alike: Alike
) -> Pair:
    better = decide_winner(tested, p, quantity.bound.measure.direction)
    cases = count_cases_needed(tested, p) if better == "undecided" else None
    return Pair(
        *names,
        quantity.bound.name,
        quantity.class_,
        quantity.average,
        *values,
        tested,
        p,
        better,
        _verdict(names, quantity, values, tested, p, better, cases, alike),
        cases,
        alike=alike,
    )


def _verdict(
    names: tuple[str, str],
    quantity: Quantity,
    values: tuple[float, float],
    tested: PairTest,
    p: float,
    better: Outcome,
    cases: int | None,
    alike: Alike,
) -> str:
    measure = quantity.bound.title
    measure = f"{quantity.average} {measure}" if quantity.average else measure
    measure += f" ({quantity.class_})" if quantity.class_ is not None else ""
    if math.isnan(tested.difference):
        return f"{names[0]} and {names[1]} cannot be compared by {measure}: {tested.undefined}."
    sure = describe_certainty(tested, p, better)
    if better == "b":
        # The winner stands first.
        names, values = names[::-1], values[::-1]
        tested = replace(tested, difference=-tested.difference, low=-tested.high, high=-tested.low)
    style: Style = "share" if quantity.bound.measure.bounded else "plain"
    digits = digits_between(tested.low, tested.high) if style == "share" and not math.isnan(tested.low) else None
    first, second, gap = (number(value, style, digits) for value in (*values, tested.difference))
    ends = "" if math.isnan(tested.low) else f" [{limits(tested.low, tested.high, style, digits)}]"
    ends += qualify_interval(tested, p, better)
    figures = f"{measure} {first} against {second}, a difference of {gap}{ends}, {sure}"
    directed = quantity.bound.measure.direction in ("higher", "lower")
    if better in ("a", "b"):
        return f"{names[0]} {'is better than' if directed else 'differs from'} {names[1]}: {figures}."
    if alike:
        return f"{names[0]} and {names[1]} give the same {alike}: {figures}."
    more = f" About {count(cases)} cases would be needed to show a difference of this size." if cases else ""
    return f"{names[0]} and {names[1]} cannot be told apart: {figures}.{more}"


def note_uncorrected(pairs: Sequence[Pair]) -> tuple[str, ...]:
    """What is said of pairs without a p-value, which a correction leaves out."""
    by_measure: dict[str, list[float]] = {}
    for pair in pairs:
        by_measure.setdefault(pair.name, []).append(pair.tested.p)
    gaps = {name: describe_left_out(ps) for name, ps in by_measure.items() if not all(math.isnan(p) for p in ps)}
    return tuple(f"{name}: {said}" for name, said in gaps.items() if said)


def note_multiplicity(pairs: Sequence[Pair]) -> tuple[str, ...]:
    """What is said of several measures and of several pairs, which no correction covers."""
    measures = dict.fromkeys(pair.name for pair in pairs)
    duels = dict.fromkeys((pair.a, pair.b) for pair in pairs)
    said: list[str] = []
    if len(measures) > 1 and not all(math.isnan(pair.p) for pair in pairs):
        alarm = 1 - pairs[0].tested.level ** len(measures)
        said.append(
            f"{len(measures)} measures were compared, and their p-values are not corrected for that: without any "
            f"difference, up to {100 * alarm:.0f} % of such studies would have a false alarm"
        )
    if len(duels) > 1:
        what = "margins and intervals are" if any(pair.margin is not None for pair in pairs) else "intervals are"
        said.append(f"{what} for each pair alone")
    return tuple(said)


def note_pooled_values(pairs: Sequence[Pair]) -> tuple[str, ...]:
    """What is said of means over splits that are not what the counts of all splits give."""
    said: dict[str, list[str]] = {}
    for pair in pairs:
        for name, mean, pooled in zip((pair.a, pair.b), (pair.value_a, pair.value_b), pair.pooled or (), strict=False):
            if not math.isnan(pooled) and number(mean) != number(pooled):
                said.setdefault(pair.name, []).append(f"{number(pooled)} for {name}")
    if not said:
        return ()
    shown = "; ".join(f"{measure} {listing(dict.fromkeys(figures))}" for measure, figures in said.items())
    return (f"values are means over the splits, as the test needs them; from all counts together: {shown}",)


def describe_procedures(meeting: PairingDesign, pairs: Sequence[Pair]) -> str:
    """Which procedures were used for what, and why, in a sentence or two."""
    by_method: dict[tuple[str, str], list[str]] = {}
    for pair in pairs:
        interval = pair.tested.interval_method
        # A test of values that do not differ has no interval, and is the same test.
        key = pair.tested.method, "" if interval == pair.tested.method else interval
        by_method.setdefault(key, []).append(pair.name)
    parts = []
    for (method, interval), measures in by_method.items():
        found = PROCEDURES.get(method)
        source = f" ({found.reference})" if found is not None and found.reference else ""
        by = f", interval by {interval}" if interval else ""
        parts.append(f"{', '.join(dict.fromkeys(measures))} by {method}{source}{by}")
    return f"{meeting.why()}: {'; '.join(parts)}."
