"""Costs written in one line: `truth,predicted:cost` for each kind of error, separated by semicolons."""

from __future__ import annotations

import re

from heldout.errors import MatrixError

HOW = "write truth,predicted:cost and separate them by semicolons, such as '1,0:100; 0,1:1'."
AXES = ("truth", "predicted")
# Text between quotes is taken as it stands, so that a label may hold a comma, a colon or a semicolon.
PIECE = r"""(?:"[^"]*"|'[^']*'|[^"',:;])+"""
ENTRY = re.compile(rf"\s*(?P<first>{PIECE}),(?P<second>{PIECE}):(?P<cost>[^:;\"']*)\s*")
AXIS = re.compile(r"\s*(?P<axis>truth|predicted)\s*=(?P<label>.*)", re.DOTALL)


def parse_costs(text: str) -> dict[tuple[str, str], float]:
    """Costs by (truth, predicted), from one line of text.

    >>> parse_costs("1,0:100; 0,1:1")
    {('1', '0'): 100.0, ('0', '1'): 1.0}
    >>> parse_costs("predicted='no, never', truth=yes: 2.5")
    {('yes', 'no, never'): 2.5}
    """
    pairs: dict[tuple[str, str], float] = {}
    for entry in _entries(text):
        match = ENTRY.fullmatch(entry)
        if match is None:
            raise MatrixError(f"{entry.strip()!r} is not a cost.", hint=HOW)
        pair = _pair(match["first"], match["second"], entry)
        if pair in pairs:
            raise MatrixError(
                f"The costs name truth {pair[0]!r} predicted {pair[1]!r} twice.",
                hint="name each kind of error once.",
            )
        pairs[pair] = _cost(match["cost"], entry)
    if not pairs:
        raise MatrixError("The costs are empty.", hint=HOW)
    return pairs


def _entries(text: str) -> list[str]:
    parts = re.findall(r"""(?:"[^"]*"|'[^']*'|[^;"']|["'])+""", text)
    return [part for part in parts if part.strip()]


def _pair(first: str, second: str, entry: str) -> tuple[str, str]:
    matches = [AXIS.fullmatch(part) for part in (first, second)]
    if not any(matches):
        return _bare(first), _bare(second)
    named = {match["axis"]: _bare(match["label"]) for match in matches if match is not None}
    if len(named) != 2:
        raise MatrixError(
            f"{entry.strip()!r} does not name both axes once.",
            hint="write truth=…,predicted=…:cost, or neither name: truth,predicted:cost.",
        )
    return named["truth"], named["predicted"]


def _bare(text: str) -> str:
    stripped = text.strip()
    if len(stripped) >= 2 and stripped[0] == stripped[-1] and stripped[0] in "\"'":
        return stripped[1:-1]
    return stripped


def _cost(text: str, entry: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise MatrixError(f"The cost in {entry.strip()!r} is {text.strip()!r}, expected a number.", hint=HOW) from None
