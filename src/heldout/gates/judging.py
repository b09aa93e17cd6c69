"""From requirements and an evaluation to their outcomes: what each is about, how it is judged, and why it came out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from heldout.comparisons.cases_needed import CasesNeeded, cases_needed
from heldout.comparisons.pair_test import PROCEDURES
from heldout.errors import OptionError
from heldout.gates.claims import Claim, Ends, gate_fails, judge, reached
from heldout.gates.gate import Baseline, Outcome, Requirement, Undecided
from heldout.gates.requirements import describe_difference, describe_needed, describe_value
from heldout.gates.slice_terms import SlicedQuantity, SliceTerm, read_slice_term
from heldout.intervals.estimate import Estimate
from heldout.measures.catalogue import read_quantity
from heldout.measures.quantity import Quantity
from heldout.results.difference import PairTest
from heldout.results.evaluation import Evaluation
from heldout.thresholds.requirement import Written


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
    quantity = read_quantity(name, evaluation.labels, costs=evaluation.costs).check(evaluation.positive)
    measure = quantity.bound.measure
    if not measure.bounded:
        return Wanted(written, quantity, term)
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
    return Wanted(written, quantity, term)


def judge_requirements(
    wanted: Sequence[Wanted], evaluation: Evaluation, baseline: Baseline | None, undecided: Undecided
) -> list[Requirement]:
    """Every requirement with its outcome."""
    if not wanted:
        return []
    check_gate_level(evaluation.level)
    claims = [_claim(one, evaluation, baseline) for one in wanted]
    judged = judge(claims, evaluation.level)
    return [_requirement(claim, *found, undecided) for claim, found in zip(claims, judged, strict=True)]


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
    found = evaluation.one_sided(quantity, level)
    return found.low, found.high, found.method


def _sliced_ends(sliced: SlicedQuantity, level: float) -> tuple[float, float, str]:
    found = sliced.estimate(2 * level - 1, one_sided=True)
    return found.low, found.high, found.method


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
    said = describe_needed(needed, tested.n, unit)
    describe = describe_value if claim.against is None else describe_difference
    cleared, missed = reached(claim, ends)
    return Requirement(
        claim.written.text,
        outcome,
        gate_fails(claim, outcome, undecided),
        describe(claim, ends, outcome, said),
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
    if _of_splits(tested):
        return "splits"
    return "cases" if paired else "cases of both together"


def _of_splits(tested: PairTest) -> bool:
    found = PROCEDURES.get(tested.method)
    return found is not None and found.setting == "same splits"


def _needed(written: Written, tested: PairTest) -> CasesNeeded | None:
    """How many cases would decide it with 80 % power, for a value as far or as near as the interval allows."""
    moved = replace(
        tested,
        difference=tested.difference - written.limit,
        low=tested.low - written.limit,
        high=tested.high - written.limit,
    )
    # More splits of the same cases would show no more: only more cases would.
    return None if _of_splits(tested) else cases_needed(moved)
