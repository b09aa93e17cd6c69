"""From requirements and an evaluation to their outcomes: what each is about, how it is judged, and why it came out."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from heldout.arguments import require
from heldout.comparisons.cases_needed import CasesNeeded, cases_needed
from heldout.comparisons.pair_test import PROCEDURES
from heldout.errors import OptionError
from heldout.gates.gate import Against, Baseline, Outcome, Reached, Requirement, Undecided, decide
from heldout.gates.requirements import SlicedQuantity, SliceTerm, read_slice_term
from heldout.intervals.estimate import Estimate, PairTest
from heldout.measures.catalogue import find, read_quantity
from heldout.measures.declare import Measure
from heldout.measures.quantity import IN_ORDER, Quantity
from heldout.results.evaluation import Evaluation
from heldout.show.blocks import Style
from heldout.show.escape import visible
from heldout.show.numbers import count, number
from heldout.show.text_width import shorten
from heldout.threads import cached_property
from heldout.thresholds.requirement import TIE, Written

# Both ends at a level, with the method: of a value, or of a difference from a baseline.
FindEnds = Callable[[float], tuple[float, float, str]]


@dataclass(frozen=True)
class Claim:
    """A requirement with the value it is about, and its one-sided limits at any level."""

    written: Written
    name: str
    estimate: Estimate
    find: FindEnds
    against: Against | None = None
    slice: str = ""

    @property
    def value(self) -> float:
        """The value that is held against the bound: the estimate, or the difference from the baseline."""
        return self.estimate.value if self.against is None else self.against.tested.difference

    @cached_property
    def _known(self) -> dict[float, tuple[float, float, str]]:
        return {}

    def ends(self, level: float) -> tuple[float, float, str]:
        """The lower and the upper one-sided limit of a level, and their method."""
        if level not in self._known:
            self._known[level] = self.find(level)
        return self._known[level]

    def is_missed(self, level: float) -> bool:
        """Whether the limit on the far side of the bound misses it, at a level."""
        if math.isnan(self.value) or self.written.is_met(self.value):
            return False
        low, high, _ = self.ends(level)
        far = high if self.written.sign[0] == ">" else low
        return not math.isnan(far) and not self.written.is_met(far)


@dataclass(frozen=True, slots=True)
class Ends:
    """The limits by which one requirement was judged; `corrected` is how many were corrected together.

    `two_sided` is the level of the interval that they are the ends of, where nothing else is known.
    """

    low: float
    high: float
    low_level: float
    high_level: float
    method: str
    corrected: int = 1
    two_sided: float | None = None


def judge_claims(claims: Sequence[Claim], level: float) -> list[tuple[Outcome, Ends]]:
    """The outcome of each, and the limits that decided it.

    To pass, each must clear its bound at the level: all of them have to, so the gate as a whole passes falsely no more
    often than one of them would. To have failed, each must miss it at a level that Holm's method corrects for their
    number, because "this one failed" is read of each by itself: Holm (1979), Scandinavian Journal of Statistics 6.
    """
    levels = holm_levels([claim.is_missed for claim in claims], level)
    judged: list[tuple[Outcome, Ends]] = []
    for claim, corrected in zip(claims, levels, strict=True):
        low, high, method = claim.ends(level)
        if claim.written.is_met(claim.value) or math.isnan(claim.value):
            ends = Ends(low, high, level, level, method)
        elif claim.written.sign[0] == ">":
            ends = Ends(low, claim.ends(corrected)[1], level, corrected, method, len(claims))
        else:
            ends = Ends(claim.ends(corrected)[0], high, corrected, level, method, len(claims))
        judged.append((decide(claim.written, claim.value, ends.low, ends.high), ends))
    return judged


def holm_levels(rejects: Sequence[Callable[[float], bool]], level: float) -> list[float]:
    """The level at which each of several tests was last looked at, by Holm's method from the strictest down.

    >>> holm_levels([lambda level: level < 0.99, lambda level: level < 0.96], 0.95)
    [0.975, 0.95]
    """
    at = [level] * len(rejects)
    left = set(range(len(rejects)))
    while left:
        strict = 1 - (1 - level) / len(left)
        for index in left:
            at[index] = strict
        rejected = {index for index in left if rejects[index](strict)}
        if not rejected:
            break
        left -= rejected
    return at


def find_deciding_limits(claim: Claim, ends: Ends) -> tuple[Reached, Reached]:
    """The limit that must clear the bound for a requirement to pass, and the one that must miss it for it to fail."""
    low = Reached("lower", ends.low, ends.low_level, ends.method)
    high = Reached("upper", ends.high, ends.high_level, ends.method)
    return (low, high) if claim.written.sign[0] == ">" else (high, low)


def gate_fails(claim: Claim, outcome: Outcome, undecided: Undecided) -> bool:
    """Whether the gate fails by a requirement."""
    if outcome != "undecided":
        return outcome == "failed"
    return undecided == "fail" or (undecided == "warn" and not claim.written.is_met(claim.value))


@dataclass(frozen=True)
class Wanted:
    """A requirement as it was written, what it is about, and on which slice."""

    written: Written
    quantity: Quantity
    slice: SliceTerm

    @property
    def asked(self) -> str:
        """The quantity as it can be asked for by name."""
        name = self.quantity.bound.name
        if self.quantity.class_ is not None:
            return f"{name}[{self.quantity.class_}]"
        return f"{self.quantity.average} {name}" if self.quantity.average else name


def resolve_wanted(written: Written, evaluation: Evaluation) -> Wanted:
    """What a requirement is about; a bound that no value can reach or miss is refused."""
    name, term = read_slice_term(written.name)
    if term and written.baseline:
        raise OptionError(
            f"{written.text!r} compares a slice with a baseline, of which only all cases are known.",
            hint="check the slice by itself: filter both files to its rows first.",
        )
    quantity = read_quantity(name, evaluation.labels, costs=evaluation.costs).resolve(evaluation.positive)
    check_bound(written, quantity.bound.measure)
    return Wanted(written, quantity, term)


def check_bound(written: Written, measure: Measure) -> None:
    """Refuse a bound that no value of the measure can reach or miss."""
    if not measure.bounded:
        return
    low, high = measure.range
    if written.baseline:
        low, high = low - high, high - low
    if not low <= written.limit <= high:
        what = f"a difference of {measure.name}" if written.baseline else measure.name
        near = f"{written.limit / 100:g}" if 1 < abs(written.limit) <= 100 else ""
        raise OptionError(
            f"{written.text!r} says nothing: {what} lies between {low:g} and {high:g}.",
            hint=f"did you mean {near}, which is {written.limit:g}%?" if near else "give a bound within that range.",
        )


def judge_estimate(estimate: Estimate, sign: str, bound: float, undecided: Undecided = "fail") -> Requirement:
    """A requirement on one estimate with its outcome, by the one-sided limit of its level.

    An estimate that was stored has only its own interval, each end of which keeps half of the error: it asks for more.
    """
    written = Written(f"{estimate.name} {sign} {bound:g}", estimate.name, sign, f"{bound:g}", float(bound))
    check_bound(written, find(estimate.measure).measure)
    ask = estimate.one_sided
    if ask is None:
        level, ends = (1 + estimate.level) / 2, (estimate.low, estimate.high, estimate.method)
        claim = Claim(written, estimate.name, estimate, lambda _level: ends)
    else:
        check_gate_level(estimate.level)
        level = estimate.level
        claim = Claim(written, estimate.name, estimate, lambda level: _ends_of(ask(level)))
    ((outcome, limits),) = judge_claims([claim], level)
    limits = limits if ask is not None else replace(limits, two_sided=estimate.level)
    return _requirement(claim, outcome, limits, undecided)


def judge_requirements(
    wanted: Sequence[Wanted], evaluation: Evaluation, baseline: Baseline | None, undecided: Undecided
) -> list[Requirement]:
    """Every requirement with its outcome."""
    if not wanted:
        return []
    check_gate_level(evaluation.level)
    claims = [_claim(asked, evaluation, baseline) for asked in wanted]
    judged = judge_claims(claims, evaluation.level)
    return [_requirement(claim, *judgement, undecided) for claim, judgement in zip(claims, judged, strict=True)]


def check_gate_level(level: float) -> None:
    """Refuse a level at which a one-sided limit lies on the wrong side of the value."""
    if level <= 0.5:
        raise OptionError(
            f"A gate needs a level above 0.5. Got {level:g}: its limits would lie beyond the value itself.",
            hint="leave level out for 0.95.",
        )


def _claim(wanted: Wanted, evaluation: Evaluation, baseline: Baseline | None) -> Claim:
    written, quantity = wanted.written, wanted.quantity
    if wanted.slice:
        sliced = SlicedQuantity(evaluation, quantity, wanted.slice)
        estimate = sliced.estimate(evaluation.level, one_sided=False)
        name = _sliced_name(estimate, wanted.slice)
        return Claim(written, name, estimate, partial(_sliced_ends, sliced), slice=wanted.slice.text)
    estimate = evaluation[wanted.asked]
    if not written.baseline or baseline is None:
        return Claim(written, estimate.name, estimate, partial(_value_ends, evaluation, quantity))
    ends = partial(_difference_ends, baseline, estimate, evaluation, quantity)
    return Claim(written, estimate.name, estimate, ends, baseline.against(estimate))


def _sliced_name(estimate: Estimate, term: SliceTerm) -> str:
    if estimate.class_ is not None:
        return f"{estimate.measure}[{estimate.class_}, {term.text}]"
    return f"{estimate.name}[{term.text}]"


def _value_ends(evaluation: Evaluation, quantity: Quantity, level: float) -> tuple[float, float, str]:
    return _ends_of(evaluation.one_sided(quantity, level))


def _sliced_ends(sliced: SlicedQuantity, level: float) -> tuple[float, float, str]:
    return _ends_of(sliced.estimate(2 * level - 1, one_sided=True))


def _ends_of(estimate: Estimate) -> tuple[float, float, str]:
    return estimate.low, estimate.high, estimate.method


def _difference_ends(
    baseline: Baseline, estimate: Estimate, evaluation: Evaluation, quantity: Quantity, level: float
) -> tuple[float, float, str]:
    tested = baseline.tested(estimate, lambda: evaluation.one_sided(quantity, level), 2 * level - 1)
    return tested.low, tested.high, tested.interval_method or tested.method


def _requirement(claim: Claim, outcome: Outcome, ends: Ends, undecided: Undecided) -> Requirement:
    needed, unit, tested = None, "such cases", _as_tested(claim.estimate)
    if claim.against is not None:
        tested = claim.against.tested
        unit = _unit(tested, paired=claim.against.paired)
    if outcome == "undecided":
        needed = _needed(claim.written, tested)
    how_many = "" if needed is None else f"{needed.describe(unit)} would decide it (now {count(tested.n)})"
    describe = describe_value if claim.against is None else describe_difference
    cleared, missed = find_deciding_limits(claim, ends)
    return Requirement(
        claim.written.text,
        outcome,
        gate_fails(claim, outcome, undecided),
        describe(claim, ends, outcome, how_many),
        claim.written,
        claim.estimate,
        claim.against,
        needed,
        pass_limit=cleared,
        fail_limit=missed,
        slice=claim.slice,
    )


def _as_tested(estimate: Estimate) -> PairTest:
    return PairTest(
        estimate.value, estimate.low, estimate.high, estimate.level, estimate.method, math.nan, int(estimate.n)
    )


def _unit(tested: PairTest, *, paired: bool) -> str:
    if _is_of_splits(tested):
        return "splits"
    return "cases" if paired else "cases of both together"


def _is_of_splits(tested: PairTest) -> bool:
    procedure = PROCEDURES.get(tested.method)
    return procedure is not None and procedure.setting == "same splits"


def _needed(written: Written, tested: PairTest) -> CasesNeeded | None:
    """How many cases would decide it with 80 % power, for a value as far or as near as the interval allows."""
    moved = replace(
        tested,
        difference=tested.difference - written.limit,
        low=tested.low - written.limit,
        high=tested.high - written.limit,
    )
    # More splits of the same cases would show no more: only more cases would.
    return None if _is_of_splits(tested) else cases_needed(moved)


MOST_DIGITS = 7
LONGEST_NAME = 60


def describe_value(claim: Claim, ends: Ends, outcome: str, needed: str) -> str:
    """Why a requirement on a value came out so."""
    e, written = claim.estimate, claim.written
    name = shorten_name(claim.name)
    if math.isnan(e.value):
        return f"{name} has no value, because {e.undefined or 'it is undefined here'}."
    digits = enough_digits(written.limit, (e.value, ends.low, ends.high), e.style)
    start = f"{name} {number(e.value, e.style, digits)}"
    if math.isnan(ends.low) or math.isnan(ends.high):
        verb = "meets" if written.is_met(e.value) else "misses"
        return f"{start} {verb} it, but it has no interval{_because(e.note)}, so chance is not ruled out."
    order = f" C{e.note[at + 1 :]}." if (at := e.note.find(IN_ORDER)) >= 0 else ""
    return f"{_sentence(claim, ends, outcome, start, written.bound, needed)}{order}"


def describe_difference(claim: Claim, ends: Ends, outcome: str, needed: str) -> str:
    """Why a requirement against a baseline came out so."""
    e, written = claim.estimate, claim.written
    against = require(claim.against, "there is no baseline")
    tested, name = against.tested, shorten_name(claim.name)
    if math.isnan(tested.difference):
        return f"{name} cannot be compared with the baseline, because {tested.undefined or 'it is undefined'}."
    digits = enough_digits(written.limit, (tested.difference, ends.low, ends.high), e.style)
    own, other, gap = (number(value, e.style, digits) for value in (e.value, against.value, tested.difference))
    start = f"{name} {own} against {other} of the baseline, a difference of {gap}"
    if math.isnan(ends.low) or math.isnan(ends.high):
        verb = "meets" if written.is_met(tested.difference) else "misses"
        return f"{start}, {verb} it, but the difference has no interval{_because(tested.note)}."
    if outcome == "undecided" and against.alike:
        start += f" because both give the same {against.alike}"
    return _sentence(claim, ends, outcome, f"{start},", f"{written.limit:g}", needed)


def _sentence(claim: Claim, ends: Ends, outcome: str, start: str, bound: str, needed: str) -> str:
    """What is known of the side that counts: of the good one where it passed, or the value meets the bound."""
    written, e = claim.written, claim.estimate
    meets = written.is_met(claim.value)
    good_is_low = written.sign[0] == ">"
    is_low = good_is_low == (outcome == "passed" or meets)
    end, level = (ends.low, ends.low_level) if is_low else (ends.high, ends.high_level)
    digits = enough_digits(written.limit, (claim.value, ends.low, ends.high), e.style)
    clears = {"passed": "clears", "failed": "misses"}.get(outcome, "does not clear" if meets else "does not rule out")
    way = "at least" if is_low else "at most"
    verb = {"passed": "meets it: ", "failed": "misses it: "}.get(
        outcome, "meets it, but not beyond chance: " if meets else "misses it, but not beyond chance: "
    )
    value = number(end, e.style, digits)
    if ends.two_sided is not None:
        side = "lower" if is_low else "upper"
        by = f"by the {side} end of its two-sided {percentage(ends.two_sided)} interval"
        known, how = f"{by} it is {way} {value}, which {clears} {bound}", ends.method
    else:
        known = f"with {percentage(level)} confidence it is {way} {value}, which {clears} {bound}"
        how = f"one-sided limit, {ends.method}"
    if ends.corrected > 1 and not (outcome == "passed" or meets):
        how += f", Holm-corrected for {ends.corrected} requirements"
    return f"{start} {verb}{known} ({how}){f'; {needed}' if needed else ''}."


def percentage(level: float) -> str:
    """A level in percent, with four digits, or as many as it takes to stay below 100.

    >>> percentage(0.95), percentage(1 - 0.05 / 3), percentage(0.99999)
    ('95 %', '98.33 %', '99.999 %')
    """
    # Seventeen tell every number from the next.
    texts = (f"{100 * level:.{digits}g}" for digits in range(4, 18))
    return f"{next((text for text in texts if float(text) < 100), '100')} %"


def _because(note: str) -> str:
    return f" ({visible(note)})" if note else ""


def enough_digits(limit: float, values: Sequence[float], style: Style) -> int | None:
    """Digits that tell every value from the limit, so that .7996 is not shown to miss 0.8 as .800.

    >>> enough_digits(0.8, [0.7996, 0.75, 0.84], "share"), enough_digits(0.8, [0.8, 0.75], "share")
    (4, 3)
    """
    apart = [v for v in values if not math.isnan(v) and abs(v - limit) > TIE * max(1.0, abs(limit))]
    for digits in range(3, MOST_DIGITS):
        if all(number(v, style, digits) != number(limit, style, digits) for v in apart):
            return digits if style == "share" or digits > 3 else None
    return MOST_DIGITS


def shorten_name(name: str) -> str:
    """A name that fits into a sentence, whatever a label holds."""
    return shorten(visible(name), LONGEST_NAME)
