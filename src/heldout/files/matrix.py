"""Reading confusion and cost matrices, from a file or from the command line, and checking them."""

from __future__ import annotations

import csv
import math
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heldout.arguments import listing
from heldout.errors import MatrixError
from heldout.files.delimited import separator_of
from heldout.files.input_stream import existing_file, load, utf8_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import ArrayLike, NDArray

_INLINE = "write rows separated by semicolons, such as '50 3; 2 45'."
_IN_FILE = "give the file a header of labels, and one row per label with that label first."


def read_matrix(source: str | Path) -> tuple[tuple[str, ...] | None, NDArray[np.int64] | NDArray[np.float64]]:
    """Read a square matrix and its labels, where it has any, from a file or from the text itself.

    >>> read_matrix("50 3; 2 45")
    (None, array([[50,  3],
           [ 2, 45]]))
    """
    if isinstance(source, str) and not _names_file(source):
        return None, _square(parse_matrix(source), "The matrix")
    content = load(existing_file(source))
    lines = utf8_text(content).decode("utf-8").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    lines = [line for line in lines if line.strip()]
    return _labelled(_cells(lines, content.ending), str(source))


def parse_matrix(text: str) -> NDArray[np.int64] | NDArray[np.float64]:
    """Read a matrix from text: rows end at semicolons or newlines, entries at blanks or commas.

    >>> parse_matrix("50 0 0; 0 47 3; 0 2 48").sum()
    np.int64(150)
    """
    rows = [re.split(r"[\s,]+", row.strip(" \t\r,[]")) for row in re.split(r"[;\n]", text) if row.strip(" \t\r,[]")]
    if not rows:
        raise MatrixError("The matrix is empty.", hint=_INLINE)
    return _numbers(rows, "The matrix", _INLINE)


def check_matrix(
    matrix: ArrayLike, labels: Sequence[object] | None = None, *, cases_needed: bool = True
) -> NDArray[np.int64] | NDArray[np.float64]:
    """Return `matrix` as an array of counts or weights, or say which entry cannot be one.

    >>> check_matrix([[5, 1], [0, 4]], labels=["no", "yes"])
    array([[5, 1],
           [0, 4]])
    """
    import numpy as np

    array = _as_numbers(matrix)
    if array.ndim != 2:
        raise MatrixError(
            f"The matrix has {array.ndim} dimensions, expected 2.", hint="give one row for each true class."
        )
    if array.size == 0:
        raise MatrixError("The matrix is empty.", hint=_INLINE)
    _square(array, "The matrix")
    for wrong, is_wrong in (("not finite", ~np.isfinite(array)), ("negative", array < 0)):
        if is_wrong.any():
            row, column = (int(index) for index in np.argwhere(is_wrong)[0])
            raise MatrixError(
                f"The entry in row {row + 1}, column {column + 1} of the matrix is {array[row, column]}, "
                f"which is {wrong}.",
                hint="give counts or total weights of cases, which are 0 or more.",
            )
    if cases_needed and not array.any():
        raise MatrixError("Every entry of the matrix is 0.", hint="give at least one case.")
    if labels is not None and len(labels) != len(array):
        raise MatrixError(
            f"The matrix has {len(array)} rows but there are {len(labels)} labels ({listing(labels)}).",
            hint="give one label for each row, in the order of the rows.",
        )
    return array


def _as_numbers(matrix: ArrayLike) -> NDArray[np.int64] | NDArray[np.float64]:
    import numpy as np

    try:
        array = np.asarray(matrix)
    except ValueError:
        raise MatrixError("The rows of the matrix have different lengths.", hint=_INLINE) from None
    if array.dtype.kind == "O" and array.ndim == 2:
        texts = [[str(entry) for entry in row] for row in array.tolist()]
        return _numbers(texts, "The matrix", _INLINE)
    if array.dtype.kind == "f":
        return array.astype(np.float64)
    if array.dtype.kind in "iu" and (array.size == 0 or int(array.max()) < 2**63):
        return array.astype(np.int64)
    if array.size == 0:
        return np.zeros(array.shape)
    first = array.reshape(-1)[int(array.argmax()) if array.dtype.kind == "u" else 0]
    raise MatrixError(
        f"The matrix holds {array.dtype} values such as {first}, expected numbers of at most 64 bits.",
        hint="give counts (integers) or total weights (floats).",
    )


def _names_file(source: str) -> bool:
    """Whether a text names a file: it exists, or it is nothing like rows of numbers but like a name."""
    if not source.strip():
        return False
    try:
        if Path(source).exists():
            return True
    except (OSError, ValueError):
        return False
    text = source.strip()
    stem, _, ending = text.rpartition(".")
    named = re.search("[A-Za-z]", stem) is not None and re.fullmatch(r"[A-Za-z]\w*", ending) is not None
    # A slash in the first word, or an ending.
    return not {"\n", ";"} & set(text) and (named or bool({"/", "\\"} & set(text.partition(" ")[0])))


def _cells(lines: list[str], ending: str) -> list[list[str]]:
    separator = separator_of(lines[0], lines[1] if len(lines) > 1 else "", ending)
    if separator in lines[0]:
        return [[cell.strip() for cell in row] for row in csv.reader(lines, delimiter=separator)]
    return [line.split() for line in lines]


def _labelled(
    cells: list[list[str]], file: str
) -> tuple[tuple[str, ...] | None, NDArray[np.int64] | NDArray[np.float64]]:
    """Tell labels from entries by the shape; a square without a label in its first row has no header."""
    top, rows = cells[0], cells[1:]
    widths = {len(row) for row in rows}
    if not rows or (widths == {len(top)} == {len(cells)} and all(map(_is_number, top))):
        return None, _square(_numbers(cells, file, _IN_FILE), file)
    if len(widths) != 1:
        raise MatrixError(f"The rows of {file} have different lengths: {listing(sorted(widths))}.", hint=_IN_FILE)
    width = widths.pop()
    if width == len(top) == len(rows):
        return _distinct(top, file), _numbers(rows, file, _IN_FILE)
    if width == len(rows) + 1 and len(top) in {width, width - 1}:
        labels = _distinct(top[-len(rows) :], file)
        matched = _in_order(rows, labels, file)
        return labels, _numbers(matched, file, _IN_FILE)
    raise MatrixError(
        f"{file} does not hold a square matrix: it has a header of {len(top)} cells and {len(rows)} rows of {width}.",
        hint=_IN_FILE,
    )


def _in_order(rows: list[list[str]], labels: tuple[str, ...], file: str) -> list[list[str]]:
    """The entries of the rows, put in the order of the column labels."""
    named = [row[0] for row in rows]
    entries = {row[0]: row[1:] for row in rows}
    if len(entries) < len(rows) or set(entries) != set(labels):
        odd = next((name for name in named if name not in labels or named.count(name) > 1), named[0])
        raise MatrixError(
            f"The rows of {file} are labelled {listing(named)} but its columns {listing(labels)}; "
            f"{odd!r} is not once in each.",
            hint="give the rows and the columns the same labels.",
        )
    return [entries[label] for label in labels]


def _distinct(labels: list[str], file: str) -> tuple[str, ...]:
    for label in labels:
        if labels.count(label) > 1:
            raise MatrixError(f"{file} has two columns labelled {label!r}.", hint="give each class its own label.")
    return tuple(labels)


def _numbers(rows: Sequence[Sequence[str]], where: str, hint: str) -> NDArray[np.int64] | NDArray[np.float64]:
    """An array of the entries: integers when every one of them is whole."""
    import numpy as np

    widths = [len(row) for row in rows]
    if len(set(widths)) > 1:
        odd = next(index for index, width in enumerate(widths) if width != widths[0])
        raise MatrixError(f"{where} has {widths[0]} entries in row 1 but {widths[odd]} in row {odd + 1}.", hint=hint)
    entries: list[list[Any]] = [
        [_number(cell, where, row, column) for column, cell in enumerate(line, start=1)]
        for row, line in enumerate(rows, start=1)
    ]
    whole = all(isinstance(entry, int) for line in entries for entry in line)
    return np.array(entries, dtype=np.int64) if whole else np.array(entries, dtype=np.float64)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _number(cell: str, where: str, row: int, column: int) -> int | float:
    entry = f"The entry in row {row}, column {column} of {where.replace('The m', 'the m')}"
    try:
        if re.fullmatch(r"[+-]?[0-9]+", cell):
            number: int | float = int(cell)
        else:
            number = float(cell.replace("_", "?"))
    except ValueError:
        raise MatrixError(
            f"{entry} is {cell!r}, expected a number.",
            hint="write 0 for an empty entry; use a point for decimals.",
        ) from None
    if isinstance(number, float) and number.is_integer() and math.fabs(number) <= 2**53:
        number = int(number)
    if isinstance(number, int) and not -(2**63) <= number < 2**63:
        raise MatrixError(f"{entry} is {cell}, which does not fit 64 bits.", hint="give counts below 2**63.")
    return number


def _square(array: NDArray[np.int64] | NDArray[np.float64], where: str) -> NDArray[np.int64] | NDArray[np.float64]:
    if array.shape[0] != array.shape[1]:
        raise MatrixError(
            f"{where} has {array.shape[0]} rows and {array.shape[1]} columns, expected as many of both.",
            hint="give one row and one column for each class, in the same order.",
        )
    return array
