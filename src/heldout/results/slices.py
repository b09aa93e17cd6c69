"""Measures by slice: what each part of the cases shows, how it differs from the rest, and what chance would show."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from heldout.arguments import listing, suggest, write_sentence
from heldout.errors import ColumnError, OptionError
from heldout.evidence.counted import CountedColumn
from heldout.intervals.estimate import Estimate, PairTest
from heldout.measures.catalogue import find
from heldout.measures.declare import Direction
from heldout.predictions.slice_plans import SliceColumn
from heldout.result import Result
from heldout.show.blocks import Block, Cell, Column, Note, Number, Prose, Range, Table, head_columns, head_interval
from heldout.show.escape import visible
from heldout.show.numbers import in_brackets, number, number_of, percent
from heldout.show.text_width import shorten

NOT_CLEAR = "no clear difference"
NOT_COUNTED = "slices of two columns were not counted, because there are many rows"
SHOWN_VALUE = 40
# A column that divides the cases, whether or not it is known which rows are in which slice.
Divided: TypeAlias = SliceColumn | CountedColumn


@dataclass(frozen=True, slots=True)
class Slice:
    """One part of the cases: which columns have which values there, and how it differs from all other cases.

    `cases` is its number of rows and `share` what part of all cases it is. `excess` says how many cases fewer would be
    wrong, for a share of errors, if the slice were as good as the rest. `p_corrected` is `tested.p` after the
    correction for all slices that were looked at.
    """

    columns: tuple[str, ...]
    values: tuple[str, ...]
    cases: int
    share: float
    estimate: Estimate
    tested: PairTest
    p_corrected: float
    verdict: str
    excess: float = math.nan

    @property
    def clear(self) -> bool:
        """Whether it differs from the rest beyond chance, all slices that were looked at considered."""
        return self.verdict.startswith("clearly")

    @property
    def worse(self) -> bool:
        """Whether it is clearly worse than the rest."""
        return self.verdict == verdict_word("worse")

    @property
    def name(self) -> str:
        """The slice in words, short enough for a sentence: "sex = f and age = 18 to 34"."""
        pairs = zip(self.columns, self.values, strict=True)
        return " and ".join(
            f"{shorten(visible(column), SHOWN_VALUE)} = {shorten(visible(value), SHOWN_VALUE)}"
            for column, value in pairs
        )

    def row(self) -> dict[str, object]:
        """The slice as one flat row."""
        (first,) = self.estimate.rows()
        difference = self.tested
        return {
            **{key: value for key, value in first.items() if key not in ("undefined", "note")},
            "column": " & ".join(self.columns),
            "slice": " & ".join(self.values),
            "cases": self.cases,
            "share": self.share,
            "difference": difference.difference,
            "difference_low": difference.low,
            "difference_high": difference.high,
            "p": difference.p,
            "p_corrected": self.p_corrected,
            "test": difference.method,
            "excess": self.excess,
            "verdict": self.verdict,
            "undefined": first["undefined"],
            "note": difference.undefined or difference.note,
        }


def verdict_word(way: str) -> str:
    """What is said of a slice that differs beyond chance.

    >>> verdict_word("worse")
    'clearly worse than the rest'
    """
    return f"clearly {way} than the rest"


def verdict(difference: float, p_corrected: float, direction: Direction, level: float) -> str:
    """What a difference comes to, in words.

    >>> verdict(0.2, 0.001, "lower", 0.95), verdict(0.2, 0.3, "lower", 0.95)
    ('clearly worse than the rest', 'no clear difference')
    """
    if math.isnan(difference):
        return "undefined"
    if math.isnan(p_corrected):
        return "not tested"
    if p_corrected > 1 - level:
        return NOT_CLEAR
    if direction in ("higher", "lower"):
        return verdict_word("better" if (difference > 0) == (direction == "higher") else "worse")
    return verdict_word("higher" if difference > 0 else "lower")


@dataclass(frozen=True, slots=True, eq=False)
class Slices(Result):
    """A measure by slice; `searched` is the number of slices whose tests were corrected for each other.

    `n_worse` is the number of those that are clearly worse than the rest, whether or not they are listed here.
    `least` is the least number of cases that a slice had to have to be looked at, 0 where all were. `untested` says why
    no test was made, where none was, and `single` names the columns that do not divide the cases: they have one value
    or none.
    """

    schema: ClassVar[str] = "heldout/slices@1"
    _charts: ClassVar[Mapping[str, str]] = {"slices": "heldout.report.interval_chart:draw_slices"}
    rows_name: ClassVar[str] = "slices"

    whole: Estimate
    slices: tuple[Slice, ...]
    searched: int
    level: float
    n_worse: int
    worst: bool = False
    depth: int = 1
    least: int = 0
    notes: tuple[str, ...] = ()
    untested: str = ""
    single: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.slices)

    def __iter__(self) -> Iterator[Slice]:
        return iter(self.slices)

    @property
    def clear(self) -> tuple[Slice, ...]:
        """The slices that differ from the rest beyond chance."""
        return tuple(slice_ for slice_ in self.slices if slice_.clear)

    @property
    def worse(self) -> tuple[Slice, ...]:
        """The slices that are clearly worse than the rest."""
        return tuple(slice_ for slice_ in self.slices if slice_.worse)

    def rows(self) -> list[dict[str, object]]:
        """One row per slice."""
        return [slice_.row() for slice_ in self.slices]

    def facts(self) -> dict[str, object]:
        """What stands beside the slices in the document."""
        return {
            "measure": self.whole.name,
            "value": self.whole.value,
            "searched": self.searched,
            "correction": "holm",
            "depth": self.depth,
            "least": self.least,
            "untested": self.untested,
            "one_value": list(self.single),
            "notes": list(self.notes),
        }

    @property
    def looked(self) -> str:
        """How many slices were looked at, and of which kind."""
        kind = "one column" if self.depth == 1 else "one or two columns"
        least = f" with at least {self.least:,} cases" if self.least else ""
        return f"{number_of(self.searched, 'slice')} of {kind}{least}"

    def nothing(self) -> str:
        """Why there is nothing to compare, where there is not; empty otherwise."""
        if self.searched > 1 or any(not math.isnan(slice_.tested.difference) for slice_ in self.slices):
            return ""
        if self.single:
            names = listing([shorten(visible(name), SHOWN_VALUE) for name in self.single])
            verb, them = ("has", "it does") if len(self.single) == 1 else ("have", "they do")
            return f"{names} {verb} one value or none, so {them} not divide the cases: there are no slices to compare."
        if self.searched:
            return ""
        return f"No slice has at least {self.least:,} cases inside and outside, so none is compared."

    def sentence(self, among: Sequence[Slice] | None = None) -> str:
        """What the slices, or some of them, come to, in words with numbers."""
        worse = self.worse if among is None else among
        looked, name = self.looked, titled(self.whole)
        if nothing := self.nothing():
            return nothing
        if self.slices and all(math.isnan(slice_.p_corrected) for slice_ in self.slices):
            return f"The {name} in {looked}; whether they differ beyond chance was not tested."
        if not worse:
            where = f"Not in the {looked}" if self.searched == 1 else f"In none of {looked}"
            return f"{where} is the {name} worse than in the rest beyond what chance would show."
        first = min(worse, key=lambda slice_: -slice_.excess if slice_.excess == slice_.excess else slice_.p_corrected)
        e, tested = first.estimate, first.tested
        many = number_of(self.searched, "slice")
        p = f"< {number(0.001)}" if first.p_corrected < 0.001 else f"= {number(first.p_corrected)}"
        others = (self.n_worse if among is None else len(among)) - 1
        more = f" {others:,} more {'is' if others == 1 else 'are'} clearly worse too." if others else ""
        return (
            f"Where {first.name} ({number_of(first.cases, 'case')}, {percent(first.share)} of all) the {name} is "
            f"{number(e.value, e.style)}, {_away(tested, e)}; corrected for {many}, p {p}.{more}"
        )

    @property
    def verdict(self) -> str:
        """How many slices are clearly worse."""
        return self.summary()

    def summary(self) -> str:
        """How many slices are clearly worse, in one line."""
        looked = self.looked
        if self.nothing() or not any(slice_.p_corrected == slice_.p_corrected for slice_ in self.slices):
            return self.sentence()
        if self.searched == 1:
            return f"The {looked} is {'' if self.n_worse else 'not '}clearly worse than the rest."
        worse = f"{self.n_worse:,}" if self.n_worse else "None"
        return f"{worse} of {looked} {'is' if self.n_worse < 2 else 'are'} clearly worse than the rest."

    def table(self, most: int | None = None) -> Table:
        """One line per slice."""
        e = self.whole
        columns = head_columns(
            Column("worst slices" if self.worst else "slice", wrap=True),
            ">cases",
            Column(titled(e), "right"),
            head_interval(self.level),
            ">difference",
            "",
            ">p (Holm)",
        )
        rows: list[tuple[Cell, ...]] = [
            (
                f"{slice_.name}{' *' if slice_.clear else ''}",
                slice_.cases,
                Number(slice_.estimate.value, e.style, slice_.estimate.digits),
                Range(slice_.estimate.low, slice_.estimate.high, e.style, slice_.estimate.digits),
                Number(slice_.tested.difference, e.style, slice_.estimate.digits),
                Range(slice_.tested.low, slice_.tested.high, e.style, slice_.estimate.digits),
                Number(slice_.p_corrected),
            )
            for slice_ in self.slices[:most]
        ]
        return Table(columns, tuple(rows), "* differs from the rest beyond chance" if self.clear else "")

    def blocks(self) -> list[Block]:
        """What the slices come to, and one line for each."""
        if not self.slices:
            return [Prose(self.sentence(), label="Slices"), *(Note(write_sentence(note)) for note in self.notes)]
        return [
            Prose(self.sentence(), label="Slices"),
            self.table(),
            *(Note(write_sentence(note)) for note in self.notes),
        ]


def choose_columns(known: tuple[Divided, ...], columns: str | Iterable[str] | None) -> tuple[Divided, ...]:
    """Of the slice columns those of these names, or all of them."""
    if not known:
        raise OptionError(
            "There are no slices: no columns were named that divide the cases.",
            hint="name them: evaluate(…, slices=['sex', 'age']), --slice COLUMN, or 'all'.",
        )
    if columns is None:
        return known
    by_name = {column.name: column for column in known}
    wanted = [columns] if isinstance(columns, str) else list(columns)
    for name in wanted:
        if name not in by_name:
            raise ColumnError(
                f"{shorten(repr(name), 60)} is none of the slice columns. There are: {listing(by_name)}.",
                hint=suggest(name, by_name),
            )
    return tuple(by_name[name] for name in dict.fromkeys(wanted))


def titled(e: Estimate) -> str:
    """The name of an estimate as a sentence or a table writes it."""
    title = find(e.measure).title
    if e.class_ is not None:
        return f"{title} ({shorten(visible(str(e.class_)), SHOWN_VALUE)})"
    return f"{e.average} {title}" if e.average else title


def _away(tested: PairTest, e: Estimate) -> str:
    way = "more" if tested.difference > 0 else "less"
    low, high = sorted((abs(tested.low), abs(tested.high)))
    return f"{number(abs(tested.difference), e.style)} {way} than elsewhere {in_brackets(low, high, e.style)}"
