"""Costs in a TOML file: a table with its axis named, or one entry per kind of error."""

from __future__ import annotations

from typing import Any

from heldout.errors import MatrixError

HOW = 'write [costs] with rows = "truth", labels = […] and matrix = [[…]], or [[cost]] with truth, predicted and cost.'


def parse_toml(text: str, name: str) -> dict[str, Any] | dict[tuple[str, str], Any]:
    r"""Costs by (truth, predicted), or the table `costs` with its keys rows, labels and matrix.

    >>> parse_toml('[[cost]]\ntruth = 1\npredicted = 0\ncost = 100', "c.toml")
    {('1', '0'): 100}
    """
    import tomllib

    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise MatrixError(f"{name} is not TOML: {error}.", hint=HOW) from None
    table, entries = document.get("costs"), document.get("cost")
    if isinstance(table, dict) and entries is None:
        for key in ("labels", "matrix"):
            if not isinstance(table.get(key), list):
                raise MatrixError(f"The table [costs] of {name} has no list {key!r}.", hint=HOW)
        return table
    if not isinstance(entries, list) or table is not None:
        raise MatrixError(f"{name} must hold either one table [costs] or entries [[cost]].", hint=HOW)
    return _entries(entries, name)


def _entries(entries: list[Any], name: str) -> dict[tuple[str, str], Any]:
    pairs: dict[tuple[str, str], Any] = {}
    for at, entry in enumerate(entries, start=1):
        absent = [key for key in ("truth", "predicted", "cost") if not isinstance(entry, dict) or key not in entry]
        if absent:
            raise MatrixError(f"Entry {at} of [[cost]] in {name} has no {absent[0]!r}.", hint=HOW)
        pair = str(entry["truth"]), str(entry["predicted"])
        if pair in pairs:
            raise MatrixError(
                f"{name} gives the cost of truth {pair[0]!r} predicted {pair[1]!r} twice.",
                hint="name each kind of error once.",
            )
        pairs[pair] = entry["cost"]
    return pairs
