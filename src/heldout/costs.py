"""The cost matrix: what each kind of error costs, read from one line of text, a small table or a TOML file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.arguments import AXES, LARGEST, SMALLEST, Rows, as_float, counted, listing, split_outside_quotes, suggest
from heldout.errors import MatrixError
from heldout.evidence import Label
from heldout.files.delimited import separator_of, split_cells
from heldout.files.matrix import NamedMatrix, name_matrix, read_corner
from heldout.show.numbers import digits_between, plain, share

__all__ = ["Costs", "more_accurate_costs_more", "read_costs", "settle_costs"]


# Which class a written name means, and what it most likely meant where it means none.


def class_index(name: Any, labels: Sequence[Label]) -> int:
    """The place of the class that a text or a label names; the number 1 is also called "1" and "1.0".

    >>> class_index("yes", ["no", "yes"]), class_index("1.0", [0, 1])
    (1, 1)
    """
    by_text = {str(label): position for position, label in enumerate(labels)}
    text = str(name).strip()
    if text in by_text:
        return by_text[text]
    value = _parse_value(text)
    if value is not None:
        same = [position for position, label in enumerate(labels) if _parse_value(str(label)) == value]
        if len(same) == 1:
            return same[0]
    raise MatrixError(
        f"The costs name the class {name!r}, which is not among the classes: {listing(labels)}.",
        hint=suggest(text, by_text),
    )


def _parse_value(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


# The cost matrix: what each kind of error costs, with the axis of the truth always named.


@dataclass(frozen=True, eq=False)
class Costs:
    """What a case of each true class costs when each class is predicted; rows are the truth.

    A negative cost is a gain.

    >>> Costs.of([[-1, 100], [1, 0]], ["+", "-"], rows="truth").of_error("+", "-")
    100.0
    """

    labels: tuple[Label, ...]
    matrix: NDArray[np.float64]

    @classmethod
    def of(cls, matrix: Any, labels: Sequence[Label], *, rows: str) -> Costs:
        """From a square table; `rows` must say what its rows are, because textbooks differ."""
        _check_rows(rows)
        if isinstance(matrix, Mapping) or hasattr(matrix, "columns"):
            matrix = _by_labels(name_matrix(matrix), labels)
        try:
            table = np.asarray(matrix, dtype=np.float64)
        except (TypeError, ValueError):
            raise MatrixError(
                "The cost matrix holds something that is not a number, or its rows differ in length.",
                hint="give one row of numbers per class.",
            ) from None
        k = len(labels)
        if table.shape != (k, k):
            shape = " × ".join(map(str, table.shape))
            raise MatrixError(
                f"The cost matrix must be {k} × {k}, one row and column for each of {listing(labels)}. Got {shape}.",
                hint="give one row and one column per class, in the order of the labels.",
            )
        twice = [label for label in labels if list(labels).count(label) > 1]
        if twice:
            raise MatrixError(f"The costs name the class {twice[0]!r} twice.", hint="name each class once.")
        if not np.isfinite(table).all():
            row, column = np.argwhere(~np.isfinite(table))[0]
            raise MatrixError(
                f"The cost in row {row + 1}, column {column + 1} is {table[row, column]}, which is not finite.",
                hint="costs are plain numbers.",
            )
        table = table if rows == "truth" else table.T
        sizes = np.abs(table)
        beyond = np.argwhere((sizes > LARGEST) | ((sizes > 0) & (sizes < SMALLEST)))
        if len(beyond):
            truth, predicted = beyond[0]
            raise MatrixError(
                f"Costs must lie between {SMALLEST:g} and {LARGEST:g} in size, or be 0. That of truth "
                f"{labels[truth]!r} predicted {labels[predicted]!r} is {table[truth, predicted]:g}.",
                hint="divide all of them by the largest: only their ratios count.",
            )
        return cls(tuple(labels), table)

    @classmethod
    def of_pairs(cls, pairs: Mapping[tuple[Any, Any], float], labels: Sequence[Label]) -> Costs:
        """From costs by (truth, predicted); what is right costs nothing unless it is named."""
        table = np.full((len(labels), len(labels)), np.nan)
        np.fill_diagonal(table, 0.0)
        named: set[tuple[int, int]] = set()
        for pair, cost in pairs.items():
            if not isinstance(pair, tuple) or len(pair) != 2:
                raise MatrixError(
                    f"The costs name {pair!r}, which is not a pair of classes. The classes are: {listing(labels)}.",
                    hint="write each cost as (truth, predicted).",
                )
            cell = class_index(pair[0], labels), class_index(pair[1], labels)
            if cell in named:
                raise MatrixError(
                    f"The costs name truth {labels[cell[0]]!r} predicted {labels[cell[1]]!r} twice.",
                    hint="name each kind of error once.",
                )
            named.add(cell)
            name = f"The cost of truth {pair[0]!r} predicted {pair[1]!r}"
            table[cell] = _read_number(cost, name, "costs are plain numbers; a negative one is a gain.")
        absent = np.argwhere(np.isnan(table))
        if len(absent):
            truth, predicted = absent[0]
            kinds = "1 kind" if len(absent) == 1 else f"{len(absent)} kinds"
            raise MatrixError(
                f"The costs leave out {kinds} of error, such as truth {labels[truth]!r} "
                f"predicted {labels[predicted]!r}.",
                hint="give a cost for every kind of error, 0 if it costs nothing.",
            )
        return cls.of(table, labels, rows="truth")

    @property
    def symmetric(self) -> bool:
        """Whether all errors cost the same and all right predictions cost the same, and less.

        Then the cost of a case is a straight line in the accuracy, and the costs rank models exactly as accuracy does.

        >>> Costs.of([[0, 1], [1, 0]], [0, 1], rows="truth").symmetric
        True
        >>> Costs.of([[0, 1], [100, 0]], [0, 1], rows="truth").symmetric
        False
        """
        if len(self.labels) < 2:
            return False
        right = np.diagonal(self.matrix)
        wrong = self.matrix[~np.eye(len(self.labels), dtype=bool)]
        return bool((right == right[0]).all() and (wrong == wrong[0]).all() and right[0] < wrong[0])

    def of_error(self, truth: Label, predicted: Label) -> float:
        """What a case of class `truth` costs when `predicted` is answered."""
        return float(self.matrix[self.labels.index(truth), self.labels.index(predicted)])

    def arranged(self, labels: Sequence[Label]) -> NDArray[np.float64]:
        """The matrix in the order of these labels."""
        index_of = {str(label): position for position, label in enumerate(self.labels)}
        unknown = [label for label in labels if str(label) not in index_of]
        if unknown or len(labels) != len(self.labels):
            raise MatrixError(
                f"The cost matrix is for the classes {listing(self.labels)}. The cases have {listing(labels)}.",
                hint="give costs for exactly the classes of the cases.",
            )
        order = [index_of[str(label)] for label in labels]
        return self.matrix[np.ix_(order, order)]


def _by_labels(named: NamedMatrix, labels: Sequence[Label]) -> NDArray[Any]:
    """The table of a frame in the order of the labels, of which it must name every one."""
    given = named.labels or ()
    if {str(label) for label in given} != {str(label) for label in labels} or named.notes:
        raise MatrixError(
            f"The cost matrix is for the classes {listing(given)}, expected each of {listing(labels)} on both axes.",
            hint="give one row and one column per class, with its label.",
        )
    return named.arranged(labels)


def _check_rows(rows: str) -> None:
    if rows not in AXES:
        raise MatrixError(
            f"The rows of a cost matrix are 'truth' or 'predicted'. Got {rows!r}.",
            hint="textbooks write both; say which yours is.",
        )


def _read_number(cost: Any, name: str, hint: str) -> float:
    """A finite number; `name` is what an error calls it."""
    try:
        number = as_float(cost)
    except (TypeError, ValueError):
        number = np.nan
    if isinstance(cost, bool) or not np.isfinite(number):
        raise MatrixError(f"{name} is {number if np.isinf(number) else cost!r}, expected a finite number.", hint=hint)
    return number


def settle_costs(costs: Any, labels: Sequence[Label], rows: str | None = None) -> NDArray[np.float64]:
    """A cost matrix in the order of the labels, from what a person may pass as costs; `rows` of a table or a file.

    >>> settle_costs({(1, 0): 100, (0, 1): 1}, [0, 1])
    array([[  0.,   1.],
           [100.,   0.]])
    """
    if isinstance(costs, Costs):
        return costs.arranged(labels)
    if isinstance(costs, Mapping):
        return Costs.of_pairs(costs, labels).matrix
    if isinstance(costs, str | Path):
        return read_costs(costs, labels, rows).matrix
    if rows is not None:
        return Costs.of(costs, labels, rows=rows).matrix
    raise MatrixError(
        "A bare table of costs does not say whether its rows are the truth or the prediction.",
        hint="say it with cost_rows='truth', or write Costs.of(table, labels, rows='truth'), or costs by "
        "{(truth, predicted): cost}.",
    )


# Costs written in one line: `truth,predicted:cost` for each kind of error, separated by semicolons.

COSTS_FORM = "write truth,predicted:cost and separate them by semicolons, such as '1,0:100; 0,1:1'."
# Every quote is closed.
BALANCED = re.compile(r"""(?:"[^"]*+"|'[^']*+'|[^"'])*+""")


def parse_costs(text: str) -> dict[tuple[str, str], float]:
    """Costs by (truth, predicted), from one line of text.

    >>> parse_costs("1,0:100; 0,1:1")
    {('1', '0'): 100.0, ('0', '1'): 1.0}
    >>> parse_costs("predicted='no, never', truth=yes: 2.5")
    {('yes', 'no, never'): 2.5}
    """
    pairs: dict[tuple[str, str], float] = {}
    # Text between quotes is taken as it stands, so that a label may hold a comma, a colon or a semicolon.
    for entry in filter(str.strip, split_outside_quotes(text, ";")):
        pair, cost = _split_entry(entry)
        if pair in pairs:
            raise MatrixError(
                f"The costs name truth {pair[0]!r} predicted {pair[1]!r} twice.",
                hint="name each kind of error once.",
            )
        pairs[pair] = _parse_cost(cost, entry)
    if not pairs:
        raise MatrixError("The costs are empty.", hint=COSTS_FORM)
    return pairs


def _split_entry(entry: str) -> tuple[tuple[str, str], str]:
    """The classes of `truth,predicted:cost`, and its cost as it is written."""
    named, *costs = split_outside_quotes(entry, ":")
    classes = split_outside_quotes(named, ",")
    quoted = all(BALANCED.fullmatch(part) for part in classes) and not {"'", '"'} & set("".join(costs))
    if len(costs) != 1 or len(classes) != 2 or not all(classes) or not quoted:
        raise MatrixError(f"{entry.strip()!r} is not a cost.", hint=COSTS_FORM)
    return _parse_pair(classes[0], classes[1], entry), costs[0]


def _parse_pair(first: str, second: str, entry: str) -> tuple[str, str]:
    parts = [part.partition("=") for part in (first, second)]
    named = {axis.strip(): _strip_quotes(label) for axis, sign, label in parts if sign and axis.strip() in AXES}
    if not named:
        return _strip_quotes(first), _strip_quotes(second)
    if len(named) != 2:
        raise MatrixError(
            f"{entry.strip()!r} does not name both axes once.",
            hint="write truth=…,predicted=…:cost, or neither name: truth,predicted:cost.",
        )
    return named["truth"], named["predicted"]


def _strip_quotes(text: str) -> str:
    stripped = text.strip()
    if len(stripped) >= 2 and stripped[0] == stripped[-1] and stripped[0] in "\"'":
        return stripped[1:-1]
    return stripped


def _parse_cost(text: str, entry: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise MatrixError(
            f"The cost in {entry.strip()!r} is {text.strip()!r}, expected a number.", hint=COSTS_FORM
        ) from None


SHAPE = "give a header with the classes, and one row per class with that class first."
CORNER = (
    r"write truth\predicted in the corner of the table if its rows are the truth, or predicted\truth, "
    "or name the rows (cost_rows=, --cost-rows)."
)


def parse_table(text: str, name: str, ending: str, rows: str | None) -> tuple[list[str], list[list[str]], Rows]:
    r"""The labels, the entries as they are written and what the rows are.

    >>> parse_table("truth\\predicted,no,yes\nyes,100,0\nno,0,1\n", "c.csv", ".csv", None)
    (['no', 'yes'], [['0', '1'], ['100', '0']], 'truth')
    """
    lines = [line for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n") if line.strip()]
    separator = separator_of(lines[0], lines[1] if len(lines) > 1 else "", ending)
    cells = split_cells(lines, separator, name)
    header, body = cells[0], cells[1:]
    labels = header[1:]
    odd = next((at for at, row in enumerate(body) if len(row) != len(header)), None)
    if not labels or len(body) != len(labels) or odd is not None:
        problem = (
            f"row {odd + 2} has {counted(len(body[odd]), 'cell')}"
            if odd is not None
            else f"it has {counted(len(body), 'row')}"
        )
        raise MatrixError(
            f"{name} does not hold a square table of costs: its header names "
            f"{counted(len(labels), 'class', 'classes')} ({listing(labels)}), but {problem}.",
            hint=SHAPE,
        )
    entries = {row[0]: row[1:] for row in body}
    if len(set(labels)) < len(labels) or set(entries) != set(labels):
        raise MatrixError(
            f"The rows of {name} are for {listing(row[0] for row in body)}, its columns for {listing(labels)}.",
            hint="give the rows and the columns the same classes, each once.",
        )
    return labels, [entries[label] for label in labels], resolve_rows(read_corner(header[0]), rows, name)


def resolve_rows(written: str | None, given: str | None, name: str) -> Rows:
    """What the rows are, by the file and by the caller, who must not disagree."""
    for rows in (written, given):
        if rows is not None:
            _check_rows(rows)
    if written is not None and given is not None and written != given:
        raise MatrixError(
            f"{name} says that its rows are the {_name_axis(written)}, the call that they are the {_name_axis(given)}.",
            hint="leave out rows, or mend the file.",
        )
    chosen = written or given
    if chosen is None:
        raise MatrixError(
            f"{name} does not say whether its rows are the truth or the prediction, and textbooks write both.",
            hint=CORNER,
        )
    return "truth" if chosen == "truth" else "predicted"


def _name_axis(rows: str) -> str:
    return "truth" if rows == "truth" else "prediction"


TOML_EXAMPLE = (
    'write [costs] with rows = "truth", labels = […] and matrix = [[…]], or [[cost]] with truth, predicted and cost.'
)


def parse_costs_toml(text: str, name: str) -> dict[str, Any] | dict[tuple[str, str], Any]:
    r"""Costs by (truth, predicted), or the table `costs` with its keys rows, labels and matrix.

    >>> parse_costs_toml('[[cost]]\ntruth = 1\npredicted = 0\ncost = 100', "c.toml")
    {('1', '0'): 100}
    """
    from heldout.files.input_stream import parse_toml

    document = parse_toml(text, name, TOML_EXAMPLE, MatrixError)
    table, entries = document.get("costs"), document.get("cost")
    if isinstance(table, dict) and entries is None:
        for key in ("labels", "matrix"):
            if not isinstance(table.get(key), list):
                raise MatrixError(f"The table [costs] of {name} has no list {key!r}.", hint=TOML_EXAMPLE)
        return table
    if not isinstance(entries, list) or table is not None:
        raise MatrixError(f"{name} must hold either one table [costs] or entries [[cost]].", hint=TOML_EXAMPLE)
    return _read_toml_entries(entries, name)


def _read_toml_entries(entries: list[Any], name: str) -> dict[tuple[str, str], Any]:
    pairs: dict[tuple[str, str], Any] = {}
    for at, entry in enumerate(entries, start=1):
        absent = [key for key in ("truth", "predicted", "cost") if not isinstance(entry, dict) or key not in entry]
        if absent:
            raise MatrixError(f"Entry {at} of [[cost]] in {name} has no {absent[0]!r}.", hint=TOML_EXAMPLE)
        pair = str(entry["truth"]), str(entry["predicted"])
        if pair in pairs:
            raise MatrixError(
                f"{name} gives the cost of truth {pair[0]!r} predicted {pair[1]!r} twice.",
                hint="name each kind of error once.",
            )
        pairs[pair] = entry["cost"]
    return pairs


ENDINGS = (".csv", ".tsv", ".txt", ".toml")


def read_costs(source: str | Path, labels: Sequence[Label] | None = None, rows: str | None = None) -> Costs:
    r"""Costs from a text such as "1,0:100; 0,1:1" (truth,predicted:cost), or from a CSV or TOML file.

    A table in a file must say which of its axes is the truth, in its corner (`truth\predicted`), as `rows = "truth"`
    (TOML), or by `rows=` here: some textbooks write C(truth, predicted), some C(predicted | actual). Without
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
        return _from_pairs(parse_costs(source), labels)
    from heldout.files.input_stream import load, utf8_text

    content = load(source)
    text = utf8_text(content).decode("utf-8")
    if content.ending == ".toml":
        document = parse_costs_toml(text, content.name)
        if "matrix" not in document:
            return _from_pairs({pair: cost for pair, cost in document.items() if isinstance(pair, tuple)}, labels)
        table: Any = document
        settled = resolve_rows(table.get("rows"), rows, content.name)
        return _from_table(table["labels"], table["matrix"], settled, labels, content.name)
    named, entries, settled = parse_table(text, content.name, content.ending, rows)
    return _from_table(named, entries, settled, labels, content.name)


def _names_file(source: str) -> bool:
    if source.strip().casefold().removesuffix(".gz").endswith(ENDINGS) and not {"\n", ";"} & set(source.strip()):
        return True
    try:
        return Path(source).is_file()
    except (OSError, ValueError):
        return False


def _from_pairs(pairs: Mapping[tuple[str, str], Any], labels: Sequence[Label] | None) -> Costs:
    if labels is None:
        labels = list(dict.fromkeys(name for pair in pairs for name in pair))
    return Costs.of_pairs(pairs, labels)


def _from_table(
    named: Sequence[Any], entries: Iterable[Sequence[Any]], rows: str, labels: Sequence[Label] | None, file: str
) -> Costs:
    hint = "costs are plain numbers with a point for decimals; a negative one is a gain."
    table = [
        [_read_number(cell, f"The cost in row {i}, column {j} of {file}", hint) for j, cell in enumerate(line, start=1)]
        for i, line in enumerate(entries, start=1)
    ]
    if any(len(line) != len(named) for line in table) or len(table) != len(named):
        widths = listing(sorted({len(line) for line in table}))
        raise MatrixError(
            f"{file} names {counted(len(named), 'class', 'classes')} ({listing(named)}), but its matrix has "
            f"{counted(len(table), 'row')} of {widths}.",
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


def more_accurate_costs_more(
    first: tuple[float, float], second: tuple[float, float], names: tuple[str, str] = ("the first", "the second")
) -> str:
    """A sentence where, of two (accuracy, cost) pairs, the more accurate one costs more; empty otherwise.

    >>> more_accurate_costs_more((0.80, 3910), (0.90, 4255), ("M1", "M2"))
    'M2 is more accurate than M1 (.900 against .800), but it costs more: 4,255 against 3,910.'
    """
    if first[0] > second[0]:
        first, second = second, first
        names = names[1], names[0]
    # Comparisons with nan are false: what is undefined is never said to be better.
    if not (second[0] > first[0] and second[1] > first[1]):
        return ""
    digits = digits_between(first[0], second[0])
    worse, better = share(first[0], digits), share(second[0], digits)
    # The name of a model keeps its own case.
    start = names[1][0].upper() + names[1][1:] if names[1].startswith(("the ", "always ")) else names[1]
    return (
        f"{start} is more accurate than {names[0]} ({better} against {worse}), "
        f"but it costs more: {plain(second[1])} against {plain(first[1])}."
    )
