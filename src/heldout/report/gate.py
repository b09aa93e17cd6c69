"""The report of a gate: whether it lets the classifier through, and every requirement with its interval and bound."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from xml.etree import ElementTree as ET

from heldout.findings.review import RULE_CATALOGUE
from heldout.gates.gate import Gate, Requirement
from heldout.gates.judging import LONGEST_NAME, enough_digits, percentage
from heldout.report.interval_chart import Mark, forest_chart
from heldout.result import Form
from heldout.show.blocks import Block, Cell, Column, Note, Number, Prose, Severity, Span, Table, Title
from heldout.show.chart import Chart
from heldout.show.escape import visible
from heldout.show.numbers import count, number
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
        blocks.append(Prose(gate.columns))
    blocks.append(Prose(phrase_verdict(gate), label="Gate"))
    fixed = [one for one in gate.requirements if one.written is not None and one.against is None]
    blocks += [_values(fixed, gate.level)] if fixed else []
    relative = [one for one in gate.requirements if one.against is not None]
    if relative:
        blocks.append(_differences(relative, gate))
    forbidden = [one for one in gate.requirements if one.written is None]
    if forbidden:
        rows = tuple((_mark(one), _short(one.text), _about(one)) for one in forbidden)
        blocks.append(Table((Column("outcome"), Column("forbidden"), Column("finding", wrap=True)), rows))
    blocks += [_why(one) for one in gate.requirements]
    blocks += [Note(promise)] if (promise := _promise(gate)) else []
    if gate.baseline_how:
        blocks.append(Note(gate.baseline_how))
    blocks += [Note(f"{note[0].upper()}{note[1:]}.", "warning") for note in gate.notes if note]
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
    parts.append(f"{count(gate.n)} case" + "s" * (gate.n != 1))
    if gate.labels:
        parts.append(f"{count(len(gate.labels))} class" + "es" * (len(gate.labels) != 1))
    if gate.positive is not None:
        parts.append(f"positive class: {_short(str(gate.positive))}")
    if gate.baseline:
        parts.append(f"baseline: {gate.baseline}")
    return " · ".join(parts)


def phrase_verdict(gate: Gate) -> str:
    """Whether it passed, and what became of the requirements and forbidden findings."""
    required = [one for one in gate.requirements if one.written is not None]
    forbidden = [one for one in gate.requirements if one.written is None]
    counts = [_counted(required, "requirement", REQUIRED), _counted(forbidden, "forbidden finding", FORBIDDEN)]
    verdict = f"{'PASSED' if gate.passed else 'FAILED'}: {'; '.join(filter(None, counts))}."
    open_ = [one for one in required if one.outcome == "undecided"]
    unseen = any(one.outcome == "undecided" for one in forbidden)
    if required and not open_ and all(one.outcome == "passed" for one in required):
        ways = "Its bound is" if len(required) == 1 else "Every bound is"
        verdict += f" {ways} cleared by a one-sided {percentage(gate.level)} limit."
    if open_ or unseen:
        what = "undecided or not checked" if open_ and unseen else "undecided" if open_ else "not checked"
        verdict += f" What is {what} {UNDECIDED_WORDS[gate.undecided_rule]}"
    return verdict


def _promise(gate: Gate) -> str:
    """What the outcomes promise together, in words; empty without requirements."""
    required = [one for one in gate.requirements if one.written is not None]
    if not required:
        return ""
    risk = f"{100 * (1 - gate.level):.3g} in 100"
    several = len(required) > 1
    if gate.undecided_rule == "fail":
        which = "any of them" if several else "it"
        promise = f"A classifier whose true value misses {which} passes on at most {risk} test sets"
        promise += ": all must pass, so none needs a correction (intersection-union test)." if several else "."
    else:
        promise = (
            f"With undecided={gate.undecided_rule!r} a pass promises nothing: what is undecided may miss its bound."
        )
    if several:
        promise += (
            f" That any requirement is said to have failed which is truly met happens on at most {risk}: "
            f"failures are corrected together for all {len(required)} (Holm)."
        )
    return promise


def _counted(requirements: Sequence[Requirement], what: str, words: dict[str, tuple[str, str]]) -> str:
    """How many of each outcome, in words: one by itself, or so many of so many."""
    if len(requirements) == 1:
        return f"the {what} {words[requirements[0].outcome][0]}"
    numbers = {outcome: sum(one.outcome == outcome for one in requirements) for outcome in words}
    shown = ", ".join(f"{number} {words[outcome][1]}" for outcome, number in numbers.items() if number)
    return f"of {len(requirements)} {what}s {shown}" if requirements else ""


def _values(requirements: Sequence[Requirement], level: float) -> Table:
    columns = (
        Column("outcome"),
        Column("requirement"),
        Column("value", "right"),
        Column(f"one-sided {percentage(level)} limit"),
    )
    shares = [
        (one.written.limit, one.estimate)
        for one in requirements
        if one.written is not None and one.estimate is not None
    ]
    ends = [_ends(one) for one in requirements]
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
    columns = (
        Column("outcome"),
        Column("requirement"),
        Column("value", "right"),
        Column("baseline", "right"),
        Column("difference", "right"),
        Column(f"one-sided {percentage(gate.level)} limit"),
        Column(""),
    )
    rows: list[tuple[Cell, ...]] = []
    ends: list[tuple[float, float, float, float] | None] = []
    for one in requirements:
        if one.against is None or one.estimate is None or one.written is None:
            continue
        t, e, limit = one.against.tested, one.estimate, one.written.limit
        digits = enough_digits(limit, (t.difference, *_ends(one)), e.style)
        figures = [Number(value, e.style, digits) for value in (e.value, one.against.value, t.difference)]
        rows.append((_mark(one), _short(one.text), *figures, _limit(one, digits)))
        ends.append((limit, t.difference, *_ends(one)) if e.style == "share" else None)
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
    drawn = [None if one is None or any(map(math.isnan, one)) else one for one in ends]
    far = max((abs(end - one[0]) for one in drawn if one is not None for end in one[1:]), default=0.0)
    # Twentieths, so that the ends of the track are numbers that can be read.
    reach = max(math.ceil(far * 20 - 1e-9), 1) / 20
    return [None if o is None else Span(o[1] - o[0], o[2] - o[0], o[3] - o[0], -reach, reach) for o in drawn]


def draw_requirements(gate: Gate) -> Chart:
    """How far each value and its limits are from the bound that was asked for; right of 0 is cleared."""
    marks = []
    for one in gate.requirements:
        if one.written is None or one.estimate is None or one.estimate.style != "share":
            continue
        value = one.estimate.value if one.against is None else one.against.tested.difference
        bound, (low, high) = one.written.limit, _ends(one)
        # An upper bound is met to its left, so the axis is mirrored: right is always good.
        turned = one.pass_limit is not None and one.pass_limit.side == "upper"
        low, high = (bound - high, bound - low) if turned else (low - bound, high - bound)
        marks.append(Mark(f"{_mark(one)}  {_short(one.text)}", bound - value if turned else value - bound, low, high))
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
    failing = sum(one.fails for one in gate.requirements)
    counts = {"tests": str(len(gate.requirements)), "failures": str(failing), "errors": "0", "skipped": "0"}
    root = ET.Element("testsuites", {"name": SUITE, **counts, "time": "0"})
    suite = ET.SubElement(root, "testsuite", {"name": allowed(gate.name) or SUITE, **counts, "time": "0"})
    for one in gate.requirements:
        case = ET.SubElement(
            suite, "testcase", {"classname": "heldout.check", "name": allowed(one.text), "time": "0"}
        )  # fmt: skip
        why = allowed(one.why)
        if one.fails:
            ET.SubElement(case, "failure", {"message": f"{one.outcome}: {why}", "type": one.outcome}).text = why
        else:
            # Undecided is no failure, but whoever reads the report must see it.
            ET.SubElement(case, "system-out").text = f"{one.outcome}: {why}"
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def allowed(text: str) -> str:
    r"""The text without what XML forbids, spelled out.

    >>> print(allowed("a\x00b\ufffe"))
    a\x00b\ufffe
    """
    return NOT_IN_XML.sub(lambda found: f"\\u{ord(found[0]):04x}", visible(text))
