"""A small table of costs in a delimited file, whose corner says which axis is the truth."""

from __future__ import annotations

import csv
import re
from typing import Literal

from heldout.arguments import listing
from heldout.errors import MatrixError
from heldout.files.sniff import separator_of

Rows = Literal["truth", "predicted"]

SHAPE = "give a header with the classes, and one row per class with that class first."
CORNER = (
    r"write truth\predicted in the corner of the table if its rows are the truth, or predicted\truth, "
    "or name the rows (cost_rows=, --cost-rows)."
)
TRUTH = re.compile(r"truth|true|actual", re.IGNORECASE)
PREDICTED = re.compile(r"predict", re.IGNORECASE)


def parse_table(text: str, name: str, ending: str, rows: str | None) -> tuple[list[str], list[list[str]], Rows]:
    r"""The labels, the entries as they are written and what the rows are.

    >>> parse_table("truth\\predicted,no,yes\nyes,100,0\nno,0,1\n", "c.csv", ".csv", None)
    (['no', 'yes'], [['0', '1'], ['100', '0']], 'truth')
    """
    lines = [line for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n") if line.strip()]
    separator = separator_of(lines[0], lines[1] if len(lines) > 1 else "", ending)
    cells = [[cell.strip() for cell in row] for row in csv.reader(lines, delimiter=separator)]
    header, body = cells[0], cells[1:]
    labels = header[1:]
    odd = next((at for at, row in enumerate(body) if len(row) != len(header)), None)
    if not labels or len(body) != len(labels) or odd is not None:
        found = f"row {odd + 2} has {len(body[odd])} cells" if odd is not None else f"it has {len(body)} rows"
        raise MatrixError(
            f"{name} does not hold a square table of costs: its header names {len(labels)} classes "
            f"({listing(labels)}), but {found}.",
            hint=SHAPE,
        )
    entries = {row[0]: row[1:] for row in body}
    if len(set(labels)) < len(labels) or set(entries) != set(labels):
        raise MatrixError(
            f"The rows of {name} are for {listing(row[0] for row in body)}, its columns for {listing(labels)}.",
            hint="give the rows and the columns the same classes, each once.",
        )
    return labels, [entries[label] for label in labels], settle_rows(corner_rows(header[0]), rows, name)


def corner_rows(corner: str) -> Rows | None:
    r"""What the rows are, by the corner cell: the axis that it names first, or alone.

    >>> corner_rows("truth\\predicted"), corner_rows("Predicted / actual"), corner_rows("class")
    ('truth', 'predicted', None)
    """
    truth, predicted = TRUTH.search(corner), PREDICTED.search(corner)
    if truth is None:
        return None if predicted is None else "predicted"
    return "truth" if predicted is None or truth.start() < predicted.start() else "predicted"


def settle_rows(written: str | None, asked: str | None, name: str) -> Rows:
    """What the rows are, by the file and by the caller, who must not disagree."""
    for said in (written, asked):
        if said is not None and said not in ("truth", "predicted"):
            raise MatrixError(
                f"The rows of a cost matrix are 'truth' or 'predicted'. Got {said!r}.",
                hint="text books write both; say which yours is.",
            )
    if written is not None and asked is not None and written != asked:
        raise MatrixError(
            f"{name} says that its rows are the {_called(written)}, the call that they are the {_called(asked)}.",
            hint="leave out rows, or mend the file.",
        )
    chosen = written or asked
    if chosen is None:
        raise MatrixError(
            f"{name} does not say whether its rows are the truth or the prediction, and text books write both.",
            hint=CORNER,
        )
    return "truth" if chosen == "truth" else "predicted"


def _called(rows: str) -> str:
    return "truth" if rows == "truth" else "prediction"
