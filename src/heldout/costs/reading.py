"""Reading costs from one line of text, a small CSV table or a TOML file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from heldout.arguments import listing
from heldout.costs.inline import parse_costs
from heldout.costs.matrix import Costs
from heldout.costs.naming import class_index
from heldout.costs.table import parse_table, settle_rows
from heldout.costs.toml import parse_toml
from heldout.errors import MatrixError
from heldout.evidence import Label

FILE = re.compile(r"[^\n;]*\.(?:csv|tsv|txt|toml)(?:\.gz)?\s*", re.IGNORECASE)


def read_costs(source: str | Path, labels: Sequence[Label] | None = None, rows: str | None = None) -> Costs:
    r"""Costs from a text such as "1,0:100; 0,1:1" (truth,predicted:cost), or from a CSV or TOML file.

    A table in a file must say which of its axes is the truth, in its corner (`truth\predicted`), as `rows = "truth"`
    (TOML), or by `rows=` here: some text books write C(truth, predicted), some C(predicted | actual). Without
    `labels` the classes are those that the source names, as text.

    >>> read_costs("1,0:100; 0,1:1", [0, 1]).matrix
    array([[  0.,   1.],
           [100.,   0.]])
    """
    if isinstance(source, str) and not _names_file(source):
        if rows is not None:
            raise MatrixError(
                "Costs in one line name the truth first, and rows= was given as well.",
                hint="leave out rows, or write truth=…,predicted=…:cost.",
            )
        return _of_pairs(parse_costs(source), labels)
    from heldout.files.opening import load, utf8_text

    content = load(source)
    text = utf8_text(content).decode("utf-8")
    if content.ending == ".toml":
        found = parse_toml(text, content.name)
        if "matrix" not in found:
            return _of_pairs({pair: cost for pair, cost in found.items() if isinstance(pair, tuple)}, labels)
        table: Any = found
        settled = settle_rows(table.get("rows"), rows, content.name)
        return _of_table(table["labels"], table["matrix"], settled, labels, content.name)
    named, entries, settled = parse_table(text, content.name, content.ending, rows)
    return _of_table(named, entries, settled, labels, content.name)


def _names_file(source: str) -> bool:
    if FILE.fullmatch(source):
        return True
    try:
        return Path(source).is_file()
    except (OSError, ValueError):
        return False


def _of_pairs(pairs: Mapping[tuple[str, str], Any], labels: Sequence[Label] | None) -> Costs:
    if labels is None:
        labels = list(dict.fromkeys(name for pair in pairs for name in pair))
    return Costs.of_pairs(pairs, labels)


def _of_table(
    named: Sequence[Any], entries: Iterable[Sequence[Any]], rows: str, labels: Sequence[Label] | None, file: str
) -> Costs:
    table = [[_number(cell, file, row, column) for column, cell in enumerate(line)] for row, line in enumerate(entries)]
    if any(len(line) != len(named) for line in table) or len(table) != len(named):
        widths = listing(sorted({len(line) for line in table}))
        raise MatrixError(
            f"{file} names {len(named)} classes ({listing(named)}), but its matrix has {len(table)} rows of {widths}.",
            hint="give one row and one column per class, in the order of the labels.",
        )
    if labels is None:
        return Costs.of(table, [str(name) for name in named], rows=rows)
    places = [class_index(name, labels) for name in named]
    absent = [label for at, label in enumerate(labels) if at not in places]
    if absent or len(set(places)) < len(places):
        raise MatrixError(
            f"{file} has costs for the classes {listing(named)}, but the cases have {listing(labels)}.",
            hint="give one row and one column for each class of the cases.",
        )
    order = np.argsort(places)
    return Costs.of(np.asarray(table)[np.ix_(order, order)], labels, rows=rows)


def _number(cell: Any, file: str, row: int, column: int) -> float:
    try:
        number = float(cell)
    except (TypeError, ValueError):
        number = np.nan
    if isinstance(cell, bool) or not np.isfinite(number):
        raise MatrixError(
            f"The cost in row {row + 1}, column {column + 1} of {file} is {cell!r}, expected a finite number.",
            hint="costs are plain numbers with a point for decimals; a negative one is a gain.",
        )
    return number
