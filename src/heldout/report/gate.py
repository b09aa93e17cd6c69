"""The report of a gate: whether it lets the classifier through, and every requirement with its interval and bound."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Protocol

from heldout.evidence import Label
from heldout.findings.catalogue import RULE_CATALOGUE
from heldout.intervals.estimate import Estimate
from heldout.results.difference import PairTest
from heldout.review import Finding
from heldout.show.blocks import Block, Cell, Column, Note, Number, Prose, Range, Severity, Span, Style, Table, Title
from heldout.show.escape import visible
from heldout.show.numbers import count, limits, number
from heldout.show.text_width import shorten
from heldout.thresholds.requirement import SAME, Written

# Why a requirement came out as it did, in a sentence with the numbers in it.

# What is said of values that meet a sign, and of values that miss it.
MEETS = {">=": "at least", ">": "above", "<=": "at most", "<": "below"}
MISSES = {">=": "below", ">": "at or below", "<=": "above", "<": "at or above"}
MOST_DIGITS = 7
LONGEST_NAME = 60


def why_value(written: Written, estimate: Estimate, outcome: str, needed: int | None) -> str:
    """Why a requirement on a value came out so.

    >>> from heldout.thresholds.requirement import read_written
    >>> seen = Estimate("recall", "spam", None, 0.85, 0.78, 0.9, 0.95, "wilson", 120)
    >>> why_value(read_written("recall >= 0.8"), seen, "undecided", 391).partition(": ")[0]
    'recall[spam] .850 meets it, but its 95 % interval [.780 – .900] also holds values below 0.8'
    """
    name = brief(estimate.name)
    if math.isnan(estimate.value):
        return f"{name} has no value, because {estimate.undefined or 'it is undefined here'}."
    digits = enough_digits(written.limit, (estimate.value, estimate.low, estimate.high), estimate.style)
    value = number(estimate.value, estimate.style, digits)
    start = f"{name} {value}"
    met = "meets" if written.is_met(estimate.value) else "misses"
    if math.isnan(estimate.low) or math.isnan(estimate.high):
        return f"{start} {met} it, but it has no interval{_because(estimate.note)}, so chance is not ruled out."
    span = f"{100 * estimate.level:g} % interval [{limits(estimate.low, estimate.high, estimate.style, digits)}]"
    return _sentence(start, met, span, written, written.bound, outcome, _more(needed, estimate.n, "such cases"))


def why_baseline(
    written: Written,
    estimate: Estimate,
    baseline: float,
    tested: PairTest,
    outcome: str,
    needed: int | None,
    unit: str,
    alike: str = "",
) -> str:
    """Why a requirement against a baseline came out so; `unit` is what it counts, `alike` what both give."""
    name, style = estimate.name, estimate.style
    if math.isnan(tested.difference):
        return f"{brief(name)} cannot be compared with the baseline, because {tested.undefined or 'it is undefined'}."
    digits = enough_digits(written.limit, (tested.difference, tested.low, tested.high), style)
    own, other, gap = (number(value, style, digits) for value in (estimate.value, baseline, tested.difference))
    start = f"{brief(name)} {own} against {other} of the baseline, a difference of {gap},"
    met = "meets" if written.is_met(tested.difference) else "misses"
    if math.isnan(tested.low) or math.isnan(tested.high):
        return f"{start} {met} it, but the difference has no interval{_because(tested.note)}."
    span = f"{100 * tested.level:g} % interval [{limits(tested.low, tested.high, style, digits)}]"
    if outcome == "undecided" and alike:
        start = f"{start[:-1]} because both give the same {alike},"
    return _sentence(start, met, span, written, f"{written.limit:g}", outcome, _more(needed, tested.n, unit))


def _sentence(start: str, met: str, span: str, written: Written, bound: str, outcome: str, more: str) -> str:
    good, bad = MEETS[written.sign], MISSES[written.sign]
    if outcome == "passed":
        return f"{start} meets it: its whole {span} is {good} {bound}."
    if outcome == "failed":
        return f"{start} misses it: its whole {span} is {bad} {bound}."
    other = bad if met == "meets" else f"of {good}" if good.startswith("at") else good
    return f"{start} {met} it, but its {span} also holds values {other} {bound}: {more}."


def _more(needed: int | None, n: float, unit: str) -> str:
    if needed is None:
        return f"these {count(n)} {unit} cannot decide it, and a few more would not either"
    # Two digits: the number rests on what was seen on few cases.
    step = 10 ** max(len(str(needed)) - 2, 0)
    return f"about {count(-(-needed // step) * step)} {unit} would decide it (now {count(n)})"


def _because(note: str) -> str:
    return f" ({visible(note)})" if note else ""


def enough_digits(limit: float, values: Sequence[float], style: Style) -> int | None:
    """Digits that tell every value from the limit, so that .7996 is not shown to miss 0.8 as .800.

    >>> enough_digits(0.8, [0.7996, 0.75, 0.84], "share"), enough_digits(0.8, [0.8, 0.75], "share")
    (4, 3)
    """
    apart = [v for v in values if not math.isnan(v) and abs(v - limit) > SAME * max(1.0, abs(limit))]
    for digits in range(3, MOST_DIGITS):
        if all(number(v, style, digits) != number(limit, style, digits) for v in apart):
            return digits if style == "share" or digits > 3 else None
    return MOST_DIGITS


def brief(name: str) -> str:
    """A name that fits into a sentence, whatever a label holds."""
    return shorten(visible(name), LONGEST_NAME)


# What the track of an interval shows.
DRAWN = "distance from the bound"
# What is said of one alone, and of one of several.
REQUIRED = {"passed": ("passed", "passed"), "failed": ("failed", "failed"), "undecided": ("is undecided", "undecided")}
FORBIDDEN = {
    "passed": ("was not found", "not found"),
    "failed": ("was found", "found"),
    "undecided": ("was not checked", "not checked"),
}


class AgainstView(Protocol):
    """A baseline, as the report sees it."""

    @property
    def value(self) -> float:
        """Its value."""

    @property
    def tested(self) -> PairTest:
        """The difference from it."""


class RequirementView(Protocol):
    """A requirement, as the report sees it."""

    @property
    def text(self) -> str:
        """As it was written."""

    @property
    def outcome(self) -> str:
        """What became of it."""

    @property
    def fails(self) -> bool:
        """Whether the gate fails by it."""

    @property
    def why(self) -> str:
        """Why it came out so."""

    @property
    def written(self) -> Written | None:
        """What was required, of a measure."""

    @property
    def estimate(self) -> Estimate | None:
        """The measure."""

    @property
    def against(self) -> AgainstView | None:
        """The baseline, where it was required against one."""

    @property
    def finding(self) -> Finding | None:
        """The finding that was forbidden, if it is there."""


class GateView(Protocol):
    """A gate, as its report sees it."""

    @property
    def requirements(self) -> Sequence[RequirementView]:
        """The requirements."""

    @property
    def passed(self) -> bool:
        """Whether the gate lets it through."""

    @property
    def strict(self) -> bool:
        """Whether undecided fails."""

    @property
    def level(self) -> float:
        """The level of the intervals."""

    @property
    def n(self) -> int | float:
        """The number of cases."""

    @property
    def name(self) -> str:
        """The file that was judged."""

    @property
    def columns(self) -> str:
        """The columns that were read."""

    @property
    def labels(self) -> Sequence[Label]:
        """The classes."""

    @property
    def positive(self) -> Label | None:
        """The positive class, if there is one."""

    @property
    def baseline(self) -> str:
        """The name of the baseline."""

    @property
    def baseline_how(self) -> str:
        """How it was compared."""

    @property
    def notes(self) -> Sequence[str]:
        """What else was said."""


def gate_blocks(gate: GateView) -> list[Block]:
    """The verdict, a line for each requirement, and why each came out so."""
    blocks: list[Block] = [Title(_title(gate))]
    if gate.columns:
        blocks.append(Prose(gate.columns))
    blocks.append(Prose(_verdict(gate), label="Gate"))
    fixed = [one for one in gate.requirements if one.written is not None and one.against is None]
    blocks += [_values(fixed, gate.level)] if fixed else []
    relative = [one for one in gate.requirements if one.against is not None]
    if relative:
        blocks.append(_differences(relative, gate))
    found = [one for one in gate.requirements if one.written is None]
    if found:
        rows = tuple((_mark(one), _short(one.text), _about(one)) for one in found)
        blocks.append(Table((Column("outcome"), Column("forbidden"), Column("finding", wrap=True)), rows))
    blocks += [_why(one) for one in gate.requirements]
    if gate.baseline_how:
        blocks.append(Note(gate.baseline_how))
    blocks += [Note(f"{note[0].upper()}{note[1:]}.", "warning") for note in gate.notes if note]
    return blocks


def _about(one: RequirementView) -> str:
    return "" if one.finding is None else RULE_CATALOGUE[one.finding.code].title


def _why(one: RequirementView) -> Note:
    severity: Severity = "note" if one.outcome == "passed" else "warning"
    if one.finding is not None:
        return Note(one.why, severity, one.finding.code)
    return Note(f"{_short(one.text)}: {one.why}", severity)


def _title(gate: GateView) -> str:
    parts = [gate.name] if gate.name else []
    parts.append(f"{count(gate.n)} case" + "s" * (gate.n != 1))
    if gate.labels:
        parts.append(f"{count(len(gate.labels))} class" + "es" * (len(gate.labels) != 1))
    if gate.positive is not None:
        parts.append(f"positive class: {_short(str(gate.positive))}")
    if gate.baseline:
        parts.append(f"baseline: {gate.baseline}")
    return " · ".join(parts)


def _verdict(gate: GateView) -> str:
    required = [one for one in gate.requirements if one.written is not None]
    forbidden = [one for one in gate.requirements if one.written is None]
    counts = [_counted(required, "requirement", REQUIRED), _counted(forbidden, "forbidden finding", FORBIDDEN)]
    said = f"{'PASSED' if gate.passed else 'FAILED'}: {'; '.join(filter(None, counts))}."
    open_ = [one for one in required if one.outcome == "undecided"]
    missed = sum(one.fails for one in open_)
    unseen = any(one.outcome == "undecided" for one in forbidden)
    if (open_ or unseen) and gate.strict:
        what = "undecided or not checked" if open_ and unseen else "undecided" if open_ else "not checked"
        return f"{said} With --strict what is {what} fails."
    if unseen:
        said += " What was not checked is let through, and fails with --strict."
    if missed:
        said += " What is undecided fails where the value itself misses it."
    elif open_:
        said += " What is undecided is let through with caution: the value meets it, the interval does not."
    return said


def _counted(held: Sequence[RequirementView], what: str, words: dict[str, tuple[str, str]]) -> str:
    """How many of each outcome, in words: one by itself, or so many of so many."""
    if len(held) == 1:
        return f"the {what} {words[held[0].outcome][0]}"
    numbers = {outcome: sum(one.outcome == outcome for one in held) for outcome in words}
    shown = ", ".join(f"{number} {words[outcome][1]}" for outcome, number in numbers.items() if number)
    return f"of {len(held)} {what}s {shown}" if held else ""


def _values(held: Sequence[RequirementView], level: float) -> Table:
    columns = (
        Column("outcome"),
        Column("requirement"),
        Column("value", "right"),
        Column(f"{100 * level:g} % interval"),
    )
    shares = [(one.written.limit, one.estimate) for one in held if one.written is not None and one.estimate is not None]
    spans = _spans([(limit, e.value, e.low, e.high) if e.style == "share" else None for limit, e in shares])
    rows: list[tuple[Cell, ...]] = []
    for one, (limit, e), span in zip(held, shares, spans, strict=True):
        digits = enough_digits(limit, (e.value, e.low, e.high), e.style)
        shown = Number(e.value, e.style, digits), Range(e.low, e.high, e.style, digits)
        rows.append((_mark(one), _short(one.text), *shown, span))
    return _drawn((*columns, Column("")), rows)


def _differences(held: Sequence[RequirementView], gate: GateView) -> Table:
    columns = (
        Column("outcome"),
        Column("requirement"),
        Column("value", "right"),
        Column("baseline", "right"),
        Column("difference", "right"),
        Column(f"{100 * gate.level:g} % interval"),
        Column(""),
    )
    rows: list[tuple[Cell, ...]] = []
    ends: list[tuple[float, float, float, float] | None] = []
    for one in held:
        if one.against is None or one.estimate is None or one.written is None:
            continue
        t, e, limit = one.against.tested, one.estimate, one.written.limit
        digits = enough_digits(limit, (t.difference, t.low, t.high), e.style)
        figures = [Number(value, e.style, digits) for value in (e.value, one.against.value, t.difference)]
        rows.append((_mark(one), _short(one.text), *figures, Range(t.low, t.high, e.style, digits)))
        ends.append((limit, t.difference, t.low, t.high) if e.style == "share" else None)
    return _drawn(columns, [(*row, span) for row, span in zip(rows, _spans(ends), strict=True)])


def _drawn(columns: tuple[Column, ...], rows: Sequence[tuple[Cell, ...]]) -> Table:
    """The table, its last column left out where there is nothing to draw."""
    drawn = [row[-1] for row in rows if isinstance(row[-1], Span)]
    if drawn:
        low, high = (f"{end:g}".replace("0.", ".") for end in (drawn[0].floor, drawn[0].ceiling))
        return Table((*columns[:-1], Column(f"{low} {DRAWN} {high}")), tuple(rows))
    return Table(columns[:-1], tuple(row[:-1] for row in rows))


def _spans(ends: Iterable[tuple[float, float, float, float] | None]) -> list[Cell]:
    """Each interval on one track of distances from the bound, which is the zero that a track marks."""
    held = [None if one is None or any(map(math.isnan, one)) else one for one in ends]
    far = max((abs(end - one[0]) for one in held if one is not None for end in one[1:]), default=0.0)
    # Twentieths, so that the ends of the track are numbers that can be read.
    reach = max(math.ceil(far * 20 - 1e-9), 1) / 20
    return [None if o is None else Span(o[1] - o[0], o[2] - o[0], o[3] - o[0], -reach, reach) for o in held]


def _mark(one: RequirementView) -> str:
    """The outcome with a sign before it: what fails has the same sign, whether it failed or is undecided."""
    # Signs that a terminal without Unicode can show too.
    said = "not checked" if one.written is None and one.outcome == "undecided" else one.outcome
    return f"{'×' if one.fails else '+' if one.outcome == 'passed' else '?'} {said}"


def _short(text: str) -> str:
    return shorten(visible(text), LONGEST_NAME)
