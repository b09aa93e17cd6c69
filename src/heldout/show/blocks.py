"""The parts a reader sees, before it is known whether as text, Markdown, HTML or LaTeX."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from heldout.show.chart import Chart
    from heldout.show.explorer import Explorer
    from heldout.show.heatmap import Heatmap

Align: TypeAlias = Literal["left", "right", "center"]
Style: TypeAlias = Literal["share", "plain", "count", "percent"]
Severity: TypeAlias = Literal["note", "warning"]


@dataclass(frozen=True, slots=True)
class Number:
    """A number and how it is written; without `digits`, as its style usually is.

    `digits` are decimals, except for the style "plain", where they are significant digits. `how` is the name of the
    section that says how the number was made, where the page has one. A `marked` one stands out among its like: bold,
    or with a star where there is no bold.
    """

    value: float
    style: Style = "share"
    digits: int | None = None
    how: str = ""
    marked: bool = False


@dataclass(frozen=True, slots=True)
class Range:
    """Two limits, written as one cell."""

    low: float
    high: float
    style: Style = "share"
    digits: int | None = None


@dataclass(frozen=True, slots=True)
class Span:
    """A value and its interval, drawn on a track that runs from `floor` to `ceiling`.

    It repeats what other columns say in figures, so forms that cannot draw leave its column out.
    """

    value: float
    low: float
    high: float
    floor: float = 0.0
    ceiling: float = 1.0

    def find_fraction(self, value: float) -> float:
        """Where on the track a value stands, from 0 to 1.

        >>> Span(0.5, 0.4, 0.6, floor=0.0, ceiling=0.5).find_fraction(0.25), Span(0.5, 0.4, 0.6).find_fraction(7)
        (0.5, 1.0)
        """
        if value <= self.floor:
            return 0.0
        return 1.0 if value >= self.ceiling else (value - self.floor) / (self.ceiling - self.floor)


@dataclass(frozen=True, slots=True)
class Heat:
    """A count on a shade between 0 (none) and 1 (full)."""

    count: float
    share: float


Cell: TypeAlias = str | int | Number | Range | Span | Heat | None


@dataclass(frozen=True, slots=True)
class Column:
    """How one column of a table is headed and aligned.

    Long text in a cell is cut in the middle, or, with `wrap`, continued on the next line. The header stands over so
    many columns as `spans` says, and those after the first have none of their own.
    """

    header: str
    align: Align = "left"
    wrap: bool = False
    spans: int = 1


def value_and_interval(header: str) -> list[Column]:
    """A column of values and one of their intervals, under one header.

    >>> [column.header for column in value_and_interval("F1")]
    ['F1', '']
    """
    return [Column(header, "right", spans=2), Column("")]


def head_columns(*parts: str | Column) -> tuple[Column, ...]:
    """Columns by their headers, of which those that begin with > are aligned to the right.

    >>> head_columns("class", ">n") == (Column("class"), Column("n", "right"))
    True
    """
    return tuple(
        part if isinstance(part, Column) else Column(part.removeprefix(">"), "right" if part[:1] == ">" else "left")
        for part in parts
    )


def head_interval(level: float) -> str:
    """The header of a column of intervals.

    >>> head_interval(0.95)
    '95 % interval'
    """
    return f"{100 * level:g} % interval"


@dataclass(frozen=True, slots=True)
class Title:
    """What the page is about, with a quieter line below."""

    text: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Prose:
    """Sentences, with a label such as "Verdict" beside them; a newline begins a new line."""

    text: str
    label: str = ""


@dataclass(frozen=True, slots=True)
class Note:
    """One remark, with a code by which it can be looked up."""

    text: str
    severity: Severity = "note"
    code: str = ""


@dataclass(frozen=True, slots=True)
class Facts:
    """Names and values, one pair to a line."""

    pairs: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under headed columns; `name` is what it is called where a form needs a name and there is no caption.

    >>> Table((Column("class"), Column("n", "right")), (("a", 3), ("b", 4))).rows[1]
    ('b', 4)
    """

    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    caption: str = ""
    name: str = ""

    def __post_init__(self) -> None:
        for at, row in enumerate(self.rows):
            if len(row) != len(self.columns):
                raise ValueError(f"Row {at} has {len(row)} cells under {len(self.columns)} columns.")


@dataclass(frozen=True, slots=True)
class Verbatim:
    """Text in a fixed-width face, with its own spaces and line ends."""

    text: str


@dataclass(frozen=True, slots=True)
class Section:
    """Blocks under a heading of their own; a `folded` one is closed at first where pages can fold.

    `name` is what links on the page point to. `Span` and other cells inside tables follow the same rules as outside.
    """

    title: str
    blocks: tuple[Block, ...]
    name: str = ""
    folded: bool = False


@dataclass(frozen=True, slots=True)
class Overview:
    """What the first screen of a page answers with: key figures, the confusion matrix and one chart.

    `found` counts the findings and leads to their section, named `findings`; `more` stands under the figures, `below`
    takes the whole width. Forms that cannot draw keep the figures.
    """

    figures: Table
    matrix: Heatmap | None = None
    chart: Chart | None = None
    found: str = ""
    more: Table | None = None
    below: Table | None = None
    findings: str = "findings"


Block: TypeAlias = "Title | Prose | Note | Facts | Table | Verbatim | Section | Chart | Explorer | Heatmap | Overview"


# A label in a cell is cut in the middle beyond this, in every form that has no width of its own.
LONGEST_LABEL = 80


def drawn_columns(table: Table) -> frozenset[int]:
    """The positions of the columns that hold nothing but intervals to be drawn.

    >>> sorted(drawn_columns(Table((Column("a"), Column("")), (("x", Span(0.5, 0.4, 0.6)), ("y", None)))))
    [1]
    """
    drawn = set()
    for at in range(len(table.columns)):
        cells = [row[at] for row in table.rows]
        if any(isinstance(cell, Span) for cell in cells) and all(
            cell is None or isinstance(cell, Span) for cell in cells
        ):
            drawn.add(at)
    return frozenset(drawn)


def header_places(table: Table) -> list[range]:
    """The columns under each header, from left to right.

    >>> header_places(Table((Column("class"), *value_and_interval("F1")), ()))
    [range(0, 1), range(1, 3)]
    """
    places: list[range] = []
    for at, column in enumerate(table.columns):
        if not places or at >= places[-1].stop:
            places.append(range(at, min(at + column.spans, len(table.columns))))
    return places


def without_drawn(table: Table) -> Table:
    """The same table in words and figures only.

    >>> without_drawn(Table((Column("a"), Column("")), (("x", Span(0.5, 0.4, 0.6)),))).rows
    (('x',),)
    """
    drawn = drawn_columns(table)
    kept = [at for at in range(len(table.columns)) if at not in drawn]
    return pick(table, kept) if drawn else table


def pick(table: Table, kept: list[int]) -> Table:
    """The table with only these columns, in this order.

    >>> pick(Table((Column("a"), Column("b")), ((1, 2),)), [1]).rows
    ((2,),)
    """
    return Table(
        tuple(table.columns[at] for at in kept),
        tuple(tuple(row[at] for at in kept) for row in table.rows),
        table.caption,
        table.name,
    )


PACKAGES = ("heldout", "numpy", "scipy", "polars", "scikit-learn")
# The name of the section that says where a page comes from.
PROVENANCE = "provenance"


@cache
def versions() -> str:
    """The versions of what computed the page, in one line.

    >>> "Python" in versions()
    True
    """
    import platform
    from importlib.metadata import PackageNotFoundError, version

    names: list[str] = []
    for package in PACKAGES:
        try:
            names.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            continue
    return ", ".join([*names, f"Python {platform.python_version()}"])


def provenance_section(facts: Sequence[tuple[str, str]]) -> Section:
    """The facts, and the versions that every page states."""
    return Section("Provenance", (Facts((*facts, ("computed with", versions()))),), PROVENANCE)
