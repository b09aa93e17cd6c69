"""Reading confusion and cost matrices with the names of their axes, from frames, files or text, and checking them."""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heldout.arguments import Rows, counted, listing
from heldout.errors import MatrixError
from heldout.files.delimited import separator_of, split_cells
from heldout.files.input_stream import existing_file, load, utf8_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

_INLINE = "write rows separated by semicolons, such as '50 3; 2 45'."
_ONCE = "give each class one row and one column, with its label."
# A whole number with decimals that say nothing, or one with a point for thousands.
THOUSAND = r"[1-9][0-9]{0,2}\.000"
_IN_FILE = "give the file a header of labels, and one row per label with that label first."
# What the axis of a matrix is, by its name.
_TRUTH = re.compile(r"truth|true|actual|reference|observed|gold|expected|target|y_test", re.IGNORECASE)
_PREDICTED = re.compile(r"pred", re.IGNORECASE)
# More cases than any test set has; sums of counts below this fit 64 bits.
MOST_CASES = 1 << 62
# The names of sums at the end of a table, as pandas and spreadsheets write them.
_SUMS = frozenset({"all", "total", "totals", "sum", "row_total", "column_total", "grand total"})


@dataclass(frozen=True, eq=False)
class NamedMatrix:
    """A square matrix with its labels, where it has any, and what its rows are, where the name of an axis says so.

    `notes` say what was done to make it square.
    """

    labels: tuple[Any, ...] | None
    table: NDArray[np.int64] | NDArray[np.float64]
    rows: Rows | None = None
    notes: tuple[str, ...] = ()

    def arranged(self, labels: Sequence[Any]) -> NDArray[np.int64] | NDArray[np.float64]:
        """The entries in the order of these labels, which must be the classes of the matrix and may be more.

        >>> import numpy as np
        >>> NamedMatrix(("b", "a"), np.array([[4, 0], [1, 5]])).arranged(["a", "b"])
        array([[5, 1],
               [0, 4]])
        """
        import numpy as np

        if self.labels is None:
            return self.table
        position_of = {str(label): position for position, label in enumerate(labels)}
        unknown = [label for label in self.labels if str(label) not in position_of]
        if len(unknown) == len(labels) == len(self.labels) and _is_numbered(self.labels):
            # Codes of classes that are named here for the first time.
            return self.table
        if unknown:
            raise MatrixError(
                f"The matrix has the labels {listing(self.labels)}, and {listing(labels)} were named.",
                hint="name the same classes, in any order, or leave out labels= (--labels).",
            )
        where = [position_of[str(label)] for label in self.labels]
        table: NDArray[Any] = np.zeros((len(labels), len(labels)), dtype=self.table.dtype)
        table[np.ix_(where, where)] = self.table
        return table


def _is_numbered(labels: Sequence[Any]) -> bool:
    """Whether labels only count the classes, as an array without names does."""
    return list(labels) == list(range(len(labels))) and not any(isinstance(label, bool) for label in labels)


def read_matrix(source: str | Path) -> tuple[tuple[str, ...] | None, NDArray[np.int64] | NDArray[np.float64]]:
    """Read a square matrix and its labels, where it has any, from a file or from the text itself.

    >>> read_matrix("50 3; 2 45")
    (None, array([[50,  3],
           [ 2, 45]]))
    """
    named = _read_named(source)
    return named.labels, named.table


def _read_named(source: str | Path) -> NamedMatrix:
    if isinstance(source, str) and not _names_file(source):
        return NamedMatrix(None, _square(parse_matrix(source), "The matrix"))
    content = load(existing_file(source))
    lines = utf8_text(content).decode("utf-8").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    lines = [line for line in lines if line.strip()]
    if not lines:
        raise MatrixError(f"{source} is empty.", hint=_IN_FILE)
    return _labelled(_cells(lines, content.ending, str(source)), str(source))


def name_matrix(matrix: Any) -> NamedMatrix:
    """A matrix with the names of its axes, from a data frame, a dictionary of rows, a file, text, or a plain table.

    Rows and columns are matched by their labels. A class that is on one axis only has zeros on the other.

    >>> name_matrix({"a": {"b": 3}, "b": {"b": 2}}).table
    array([[0, 3],
           [0, 2]])
    """
    if isinstance(matrix, NamedMatrix):
        return matrix
    if isinstance(matrix, str | Path):
        return _read_named(matrix)
    if isinstance(matrix, Mapping):
        return _of_mapping(matrix)
    if hasattr(matrix, "columns") and not hasattr(matrix, "dtype"):
        return _of_frame(matrix)
    return NamedMatrix(None, _as_numbers(matrix))


def _of_mapping(matrix: Mapping[Any, Any]) -> NamedMatrix:
    if not matrix or not all(isinstance(row, Mapping) for row in matrix.values()):
        raise MatrixError(
            "A dictionary as matrix must hold one dictionary of counts for each row.",
            hint="write {'no': {'no': 50, 'yes': 3}, 'yes': {'no': 2, 'yes': 45}}.",
        )
    columns = list(dict.fromkeys(label for row in matrix.values() for label in row))
    entries = [[row.get(label, 0) for label in columns] for row in matrix.values()]
    return _join_axes(list(matrix), columns, _as_numbers(entries), None)


def _of_frame(matrix: Any) -> NamedMatrix:
    """A data frame: labels are the index of pandas, or a first column that is none of the classes."""
    import narwhals.stable.v2 as nw
    import numpy as np

    try:
        frame = nw.from_native(matrix, eager_only=True)
    except nw.exceptions.DuplicateError:
        raise MatrixError("Two columns of the matrix have the same label.", hint=_ONCE) from None
    except TypeError:
        raise MatrixError(
            f"A {type(matrix).__name__} cannot be read as a matrix.", hint="collect it into a data frame first."
        ) from None
    index, columns = getattr(matrix, "index", None), matrix.columns
    axes = getattr(index, "name", None), getattr(columns, "name", None)
    names = columns.tolist() if hasattr(columns, "tolist") else list(frame.columns)
    if index is not None and hasattr(index, "tolist") and type(index).__name__ != "RangeIndex":
        entries = np.asarray(frame.to_numpy())
        return _join_axes(index.tolist(), names, _as_numbers(entries), _rows_by_axes(*axes))
    first = frame.get_column(frame.columns[0]) if names else None
    if first is not None and (not first.dtype.is_numeric() or len(names) == len(frame) + 1):
        entries = np.asarray(frame.drop(frame.columns[0]).to_numpy())
        named = NamedMatrix(None, _as_numbers(entries))
        return _join_axes(first.to_list(), names[1:], named.table, _rows_by_axes(names[0], axes[1]))
    table = _square(_as_numbers(np.asarray(frame.to_numpy())), "The matrix")
    if index is not None and _is_numbered(names):
        return NamedMatrix(None, table, _rows_by_axes(*axes))
    return _join_axes(names, names, table, _rows_by_axes(*axes))


def _rows_by_axes(down: Any, across: Any) -> Rows | None:
    """What the rows are, by the names of both axes; None where neither says so, or both say the same."""
    first, second = (None if name is None else read_corner(str(name)) for name in (down, across))
    if first is not None and first != second:
        return first
    return None if second is None or first == second else "predicted" if second == "truth" else "truth"


def read_corner(corner: str) -> Rows | None:
    r"""What the rows are, by the corner cell: the axis that it names first, or alone.

    >>> read_corner("truth\\predicted"), read_corner("Predicted / actual"), read_corner("class")
    ('truth', 'predicted', None)
    """
    truth, predicted = _TRUTH.search(corner), _PREDICTED.search(corner)
    if truth is None:
        return None if predicted is None else "predicted"
    return "truth" if predicted is None or truth.start() < predicted.start() else "predicted"


def _join_axes(
    down: Sequence[Any], across: Sequence[Any], table: NDArray[Any], rows: Rows | None, where: str = "the matrix"
) -> NamedMatrix:
    """The square matrix over the labels of both axes, each entry at the place of its two labels."""
    import numpy as np

    if table.ndim != 2 or table.shape != (len(down), len(across)):
        raise MatrixError(f"{_begin(where)} has no entry for each pair of labels.", hint=_ONCE)
    shape = table.shape
    down, across, table = _without_sums([_plain(x) for x in down], [_plain(x) for x in across], table)
    notes = ["the sums at the end of the matrix were left out"] if table.shape != shape else []
    (down, across), by_words = _without_axis_words(down, across)
    for labels in (down, across):
        times = Counter(map(str, labels))
        twice = next((label for label in labels if times[str(label)] > 1), None)
        if twice is not None:
            axis = "rows" if labels is down else "columns"
            raise MatrixError(f"{_begin(where)} has two {axis} labelled {twice!r}.", hint=_ONCE)
    # The number 1 and the text "1" are one class where the axes write it differently; the number stands.
    label_of: dict[str, Any] = {}
    for label in (*across, *down):
        if isinstance(label_of.get(str(label), ""), str):
            label_of[str(label)] = label
    if down and across and not {str(x) for x in down} & {str(x) for x in across}:
        raise MatrixError(
            f"The rows of {where} are labelled {listing(down)} but its columns {listing(across)}: "
            "they have no label in common.",
            hint="give the rows and the columns the same labels.",
        )
    for side, name in ((down, "row"), (across, "column")):
        there = set(map(str, side))
        absent = [label for text, label in label_of.items() if text not in there]
        if absent:
            notes.append(f"the matrix has no {name} for {listing(map(repr, absent))}, which was taken as zeros")
    order = list(label_of)
    if all(_ascends([label_of[str(x)] for x in axis]) for axis in (down, across)):
        order = [str(x) for x in sorted(label_of.values(), key=lambda x: (isinstance(x, str), x))]
    position_of = {text: position for position, text in enumerate(order)}
    square = np.zeros((len(order), len(order)), dtype=table.dtype)
    square[np.ix_([position_of[str(x)] for x in down], [position_of[str(x)] for x in across])] = table
    return NamedMatrix(tuple(label_of[text] for text in order), square, by_words or rows, tuple(notes))


def _plain(label: Any) -> Any:
    """A label as Python has it: a whole number of any type as an integer."""
    value = label.item() if hasattr(label, "item") else label
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _ascends(labels: Sequence[Any]) -> bool:
    kinds = {isinstance(label, str) for label in labels}
    return len(kinds) < 2 and all(a < b for a, b in itertools.pairwise(labels))


def _without_sums(down: list[Any], across: list[Any], table: NDArray[Any]) -> tuple[list[Any], list[Any], NDArray[Any]]:
    """The matrix without a last row and a last column that hold the sums of the others and are called so."""
    if len(down) > 1 and str(down[-1]).strip().casefold() in _SUMS and (table[:-1].sum(axis=0) == table[-1]).all():
        down, table = down[:-1], table[:-1]
    last = table[:, :-1].sum(axis=1) == table[:, -1] if len(across) > 1 else None
    if last is not None and str(across[-1]).strip().casefold() in _SUMS and last.all():
        across, table = across[:-1], table[:, :-1]
    return down, across, table


def _without_axis_words(down: list[Any], across: list[Any]) -> tuple[tuple[list[Any], list[Any]], Rows | None]:
    """Labels such as "actual yes" and "predicted yes" without the word that only says which axis it is."""
    parts = [[re.fullmatch(r"(\w+?)[\s:_.=-]+(.+)", str(label)) for label in axis] for axis in (down, across)]
    words = [{part[1].casefold() if part else "" for part in axis} for axis in parts]
    if any(len(axis) != 1 for axis in words):
        return (down, across), None
    rows, columns = (read_corner(axis.pop()) for axis in words)
    if rows is None or columns is None or rows == columns:
        return (down, across), None
    first, second = ([part[2] for part in axis if part] for axis in parts)
    return (first, second), rows


def _begin(where: str) -> str:
    return f"T{where[1:]}" if where.startswith("the ") else where


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
    matrix: Any, labels: Sequence[object] | None = None, *, cases_needed: bool = True
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
    check_total(float(array.sum(dtype=np.float64)), "The matrix holds", "give counts whose sum is below 2**62.")
    if cases_needed and not array.any():
        raise MatrixError("Every entry of the matrix is 0.", hint="give at least one case.")
    if labels is not None and len(labels) != len(array):
        raise MatrixError(
            f"The matrix has {counted(len(array), 'row')} but there {'is' if len(labels) == 1 else 'are'} "
            f"{counted(len(labels), 'label')} ({listing(labels)}).",
            hint="give one label for each row, in the order of the rows.",
        )
    return array


def check_total(cases: float, what: str, hint: str) -> None:
    """Refuse more cases than can be counted exactly."""
    if cases >= MOST_CASES:
        raise MatrixError(
            f"{what} {cases:.3g} cases, and fewer than 2**62 ({MOST_CASES:.2g}) can be counted.", hint=hint
        )


def _as_numbers(matrix: Any) -> NDArray[np.int64] | NDArray[np.float64]:
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


def _cells(lines: list[str], ending: str, file: str) -> list[list[str]]:
    separator = separator_of(lines[0], lines[1] if len(lines) > 1 else "", ending)
    if separator in lines[0]:
        return split_cells(lines, separator, file)
    return [line.split() for line in lines]


def _labelled(cells: list[list[str]], file: str) -> NamedMatrix:
    """Tell labels from entries by the shape; a square without a label in its first row has no header."""
    top, rows = cells[0], cells[1:]
    widths = {len(row) for row in rows}
    if not rows or (widths == {len(top)} == {len(cells)} and all(map(_is_number, top))):
        return NamedMatrix(None, _square(_numbers(cells, file, _IN_FILE), file))
    if len(widths) != 1:
        raise MatrixError(f"The rows of {file} have different lengths: {listing(sorted(widths))}.", hint=_IN_FILE)
    width = widths.pop()
    is_corner = len(top) == width and (not top[0] or read_corner(top[0]) is not None)
    if width == len(top) == len(rows) and not is_corner and all(_is_number(row[0]) for row in rows):
        return NamedMatrix(_distinct(top, file), _numbers(rows, file, _IN_FILE))
    corner = top[0] if len(top) == width else ""
    first = [row[0] for row in rows]
    named = is_corner or width == len(rows) + 1 or not all(map(_is_number, first))
    if len(top) in {width, width - 1} and width > 1 and named:
        entries = _numbers([row[1:] for row in rows], file, _IN_FILE)
        across = _distinct(top[len(top) - width + 1 :], file)
        return _join_axes(first, across, entries, read_corner(corner), file)
    raise MatrixError(
        f"{file} does not hold a square matrix: it has a header of {counted(len(top), 'cell')} and "
        f"{counted(len(rows), 'row')} of {width}.",
        hint=_IN_FILE,
    )


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
        raise MatrixError(
            f"{where} has {counted(widths[0], 'entry', 'entries')} in row 1 but {widths[odd]} in row {odd + 1}.",
            hint=hint,
        )
    cells = [cell for row in rows for cell in row]
    mark = next((cell for cell in cells if re.fullmatch(THOUSAND, cell)), None)
    if mark is not None and any(cell.isdecimal() and cell != "0" for cell in cells):
        raise MatrixError(
            f"{where} holds {mark} beside numbers without a point, and it is not known whether that is a thousand.",
            hint=f"write {mark.replace('.', '')}, or {mark[:-4]}.",
        )
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
        # Of more digits Python makes no number.
        if re.fullmatch(r"[+-]?[0-9]{1,400}", cell):
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
            f"{where} has {counted(array.shape[0], 'row')} and {counted(array.shape[1], 'column')}, "
            "expected as many of both.",
            hint="give one row and one column for each class, in the same order.",
        )
    return array
