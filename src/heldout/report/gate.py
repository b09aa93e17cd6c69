"""The report of a gate: whether it lets the classifier through, and every requirement with its interval and bound."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from xml.etree import ElementTree as ET

from heldout.arguments import write_sentence
from heldout.findings.review import RULE_CATALOGUE
from heldout.gates.gate import Gate, Requirement
from heldout.gates.outcomes import LONGEST_NAME, enough_digits, percentage
from heldout.report.interval_chart import Mark, forest_chart
from heldout.result import Form
from heldout.show.blocks import Block, Cell, Column, Note, Number, Prose, Severity, Span, Table, Title, head_columns
from heldout.show.chart import Chart
from heldout.show.escape import visible
from heldout.show.numbers import count, number, number_of
from heldout.show.text_width import shorten

# What the track of an interval shows.
DRAWN = "distance from the bound"
UNDECIDED_WORDS = {
    "fail": "fails.",
    "warn": "is let through with caution where the value itself meets the bound, and fails where it misses it.",
    "pass": "is let through.",
}
# The words for one requirement alone, and for one of several.
REQUIRED = {"passed": ("passed", "passed"), "failed": ("failed", "failed"), "undecided": ("is undecided", "undecided")}
FORBIDDEN = {
    "passed": ("was not found", "not found"),
    "failed": ("was found", "found"),
    "undecided": ("was not checked", "not checked"),
}


def render_gate(gate: Gate, form: Form) -> list[Block]:  # noqa: ARG001
    """The report, which is the same on a screen and on a page."""
    return gate_blocks(gate)


def gate_blocks(gate: Gate) -> list[Block]:
    """The verdict, a line for each requirement, and why each came out so."""
    blocks: list[Block] = [Title(_title(gate))]
    if gate.columns:
        blocks.append(Prose(gate.columns, label="Read"))
    blocks.append(Prose(phrase_verdict(gate), label="Gate"))
    fixed = [
        requirement
        for requirement in gate.requirements
        if requirement.written is not None and requirement.against is None
    ]
    blocks += [_values(fixed, gate.level)] if fixed else []
    relative = [requirement for requirement in gate.requirements if requirement.against is not None]
    if relative:
        blocks.append(_differences(relative, gate))
    forbidden = [requirement for requirement in gate.requirements if requirement.written is None]
    if forbidden:
        rows = tuple((_mark(requirement), _short(requirement.text), _about(requirement)) for requirement in forbidden)
        blocks.append(Table((Column("outcome"), Column("forbidden"), Column("finding", wrap=True)), rows))
    blocks += [_why(requirement) for requirement in gate.requirements]
    blocks += [Note(promise)] if (promise := _promise(gate)) else []
    if gate.baseline_how:
        blocks.append(Note(gate.baseline_how))
    blocks += [Note(write_sentence(note), "warning") for note in gate.notes if note]
    return blocks


def _about(one: Requirement) -> str:
    return "" if one.finding is None else RULE_CATALOGUE[one.finding.code].title


def _why(one: Requirement) -> Note:
    severity: Severity = "note" if one.outcome == "passed" else "warning"
    if one.finding is not None:
        return Note(one.why, severity, one.finding.code)
    return Note(f"{_short(one.text)}: {one.why}", severity)


def _title(gate: Gate) -> str:
    parts = [gate.name] if gate.name else []
    parts.append(number_of(gate.n if gate.cases is None else gate.cases, "case"))
    if gate.cases is not None:
        parts.append(f"weight {count(gate.n)}")
    if gate.labels:
        parts.append(number_of(len(gate.labels), "class", "classes"))
    if gate.positive is not None:
        parts.append(f"positive class: {_short(str(gate.positive))}")
    if gate.baseline:
        parts.append(f"baseline: {gate.baseline}")
    return " · ".join(parts)


def phrase_verdict(gate: Gate) -> str:
    """Whether it passed, and what became of the requirements and forbidden findings."""
    required = [requirement for requirement in gate.requirements if requirement.written is not None]
    forbidden = [requirement for requirement in gate.requirements if requirement.written is None]
    counts = [_counted(required, "requirement", REQUIRED), _counted(forbidden, "forbidden finding", FORBIDDEN)]
    verdict = f"{'PASSED' if gate.passed else 'FAILED'}: {'; '.join(filter(None, counts))}."
    open_ = [requirement for requirement in required if requirement.outcome == "undecided"]
    unseen = any(requirement.outcome == "undecided" for requirement in forbidden)
    if required and not open_ and all(requirement.outcome == "passed" for requirement in required):
        ways = "Its bound is" if len(required) == 1 else "Every bound is"
        verdict += f" {ways} cleared by a one-sided {percentage(gate.level)} limit."
    if open_ or unseen:
        what = "undecided or not checked" if open_ and unseen else "undecided" if open_ else "not checked"
        verdict += f" What is {what} {UNDECIDED_WORDS[gate.undecided_rule]}"
    return verdict


def _promise(gate: Gate) -> str:
    """What the outcomes promise together, in words; empty without requirements."""
    required = [requirement for requirement in gate.requirements if requirement.written is not None]
    if not required:
        return ""
    risk = f"{100 * (1 - gate.level):.3g} in 100"
    several = len(required) > 1
    if gate.undecided_rule == "fail":
        which = "any of them" if several else "it"
        promise = f"A classifier whose true value misses {which} passes on at most {risk} test sets"
        promise += ": all must pass, so no correction is needed (intersection-union test)." if several else "."
    else:
        promise = (
            f"With undecided={gate.undecided_rule!r} a pass promises nothing: what is undecided may miss its bound."
        )
    if several:
        promise += (
            f" Any requirement that is truly met is called failed on at most {risk}: failures are corrected for all "
            f"{len(required)} together (Holm)."
        )
    return promise


def _counted(requirements: Sequence[Requirement], what: str, words: dict[str, tuple[str, str]]) -> str:
    """How many of each outcome, in words: one by itself, or so many of so many."""
    if len(requirements) == 1:
        return f"the {what} {words[requirements[0].outcome][0]}"
    numbers = {outcome: sum(requirement.outcome == outcome for requirement in requirements) for outcome in words}
    shown = ", ".join(f"{number} {words[outcome][1]}" for outcome, number in numbers.items() if number)
    return f"of {len(requirements)} {what}s {shown}" if requirements else ""


def _values(requirements: Sequence[Requirement], level: float) -> Table:
    columns = head_columns("outcome", "requirement", ">value", f"one-sided {percentage(level)} limit")
    shares = [
        (requirement.written.limit, requirement.estimate)
        for requirement in requirements
        if requirement.written is not None and requirement.estimate is not None
    ]
    ends = [_ends(requirement) for requirement in requirements]
    drawn = [
        (limit, e.value, *pair) if e.style == "share" else None for (limit, e), pair in zip(shares, ends, strict=True)
    ]
    rows: list[tuple[Cell, ...]] = []
    for one, (limit, e), pair, span in zip(requirements, shares, ends, _spans(drawn), strict=True):
        digits = enough_digits(limit, (e.value, *pair), e.style)
        rows.append((_mark(one), _short(one.text), Number(e.value, e.style, digits), _limit(one, digits), span))
    return _drawn((*columns, Column("")), rows)


def _ends(one: Requirement) -> tuple[float, float]:
    """The lower and the upper limit by which a requirement was judged."""
    if one.pass_limit is None or one.fail_limit is None:
        return math.nan, math.nan
    first, second = one.pass_limit.value, one.fail_limit.value
    return (first, second) if one.pass_limit.side == "lower" else (second, first)


def _limit(one: Requirement, digits: int | None) -> str:
    """The limit that must clear the bound, in words."""
    if one.pass_limit is None or one.estimate is None or math.isnan(one.pass_limit.value):
        return "none"
    way = "at least" if one.pass_limit.side == "lower" else "at most"
    return f"{way} {number(one.pass_limit.value, one.estimate.style, digits)}"


def _differences(requirements: Sequence[Requirement], gate: Gate) -> Table:
    columns = head_columns(
        "outcome", "requirement", ">value", ">baseline", ">difference", f"one-sided {percentage(gate.level)} limit", ""
    )
    rows: list[tuple[Cell, ...]] = []
    ends: list[tuple[float, float, float, float] | None] = []
    for requirement in requirements:
        if requirement.against is None or requirement.estimate is None or requirement.written is None:
            continue
        t, e, limit = requirement.against.tested, requirement.estimate, requirement.written.limit
        digits = enough_digits(limit, (t.difference, *_ends(requirement)), e.style)
        figures = [Number(value, e.style, digits) for value in (e.value, requirement.against.value, t.difference)]
        rows.append((_mark(requirement), _short(requirement.text), *figures, _limit(requirement, digits)))
        ends.append((limit, t.difference, *_ends(requirement)) if e.style == "share" else None)
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
    drawn = [None if span is None or any(map(math.isnan, span)) else span for span in ends]
    far = max((abs(end - span[0]) for span in drawn if span is not None for end in span[1:]), default=0.0)
    # Twentieths, so that the ends of the track are numbers that can be read.
    reach = max(math.ceil(far * 20 - 1e-9), 1) / 20
    return [None if o is None else Span(o[1] - o[0], o[2] - o[0], o[3] - o[0], -reach, reach) for o in drawn]


def draw_requirements(gate: Gate) -> Chart:
    """How far each value and its limits are from the bound that was asked for; right of 0 is cleared."""
    marks = []
    for requirement in gate.requirements:
        if requirement.written is None or requirement.estimate is None or requirement.estimate.style != "share":
            continue
        value = requirement.estimate.value if requirement.against is None else requirement.against.tested.difference
        bound, (low, high) = requirement.written.limit, _ends(requirement)
        # An upper bound is met to its left, so the axis is mirrored: right is always good.
        turned = requirement.pass_limit is not None and requirement.pass_limit.side == "upper"
        low, high = (bound - high, bound - low) if turned else (low - bound, high - bound)
        marks.append(
            Mark(
                f"{_mark(requirement)}  {_short(requirement.text)}",
                bound - value if turned else value - bound,
                low,
                high,
            )
        )
    detail = f"Right of 0 the bound is cleared. Bars: one-sided {percentage(gate.level)} limits on both sides."
    return forest_chart(marks, "Requirements", "distance from the bound", lines=[("bound", 0.0)], detail=detail)


def _mark(one: Requirement) -> str:
    """The outcome with a sign before it: what fails has the same sign, whether it failed or is undecided."""
    # Signs that a terminal without Unicode can show too.
    word = "not checked" if one.written is None and one.outcome == "undecided" else one.outcome
    return f"{'×' if one.fails else '+' if one.outcome == 'passed' else '?'} {word}"


def _short(text: str) -> str:
    return shorten(visible(text), LONGEST_NAME)


# What XML 1.0 cannot hold in any form, also not as a reference; `visible` spells out all but the last two.
NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
SUITE = "heldout check"


def junit_xml(gate: Gate) -> str:
    """The XML: a test case for each requirement, with a failure where the gate fails by it."""
    failing = sum(requirement.fails for requirement in gate.requirements)
    counts = {"tests": str(len(gate.requirements)), "failures": str(failing), "errors": "0", "skipped": "0"}
    root = ET.Element("testsuites", {"name": SUITE, **counts, "time": "0"})
    suite = ET.SubElement(root, "testsuite", {"name": allowed(gate.name) or SUITE, **counts, "time": "0"})
    for requirement in gate.requirements:
        case = ET.SubElement(
            suite, "testcase", {"classname": "heldout.check", "name": allowed(requirement.text), "time": "0"}
        )  # fmt: skip
        why = allowed(requirement.why)
        if requirement.fails:
            ET.SubElement(
                case, "failure", {"message": f"{requirement.outcome}: {why}", "type": requirement.outcome}
            ).text = why
        else:
            # Undecided is no failure, but whoever reads the report must see it.
            ET.SubElement(case, "system-out").text = f"{requirement.outcome}: {why}"
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def allowed(text: str) -> str:
    r"""The text without what XML forbids, spelled out.

    >>> print(allowed("a\x00b\ufffe"))
    a\x00b\ufffe
    """
    return NOT_IN_XML.sub(lambda found: f"\\u{ord(found[0]):04x}", visible(text))
