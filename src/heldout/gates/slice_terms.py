"""Slices in requirements: `recall[spam, sex=f]` is the recall of spam among the cases where sex is f."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from heldout.arguments import closest, listing, split_outside_quotes
from heldout.errors import ColumnError, OptionError
from heldout.findings.slice_search import SliceSearch
from heldout.intervals.estimate import Estimate
from heldout.measures.quantity import Quantity
from heldout.results.evaluation import Evaluation
from heldout.results.slices import Divided, choose_columns
from heldout.show.escape import visible
from heldout.show.text_width import shorten

QUOTED = "quote a class whose name holds an equals sign: recall['a=b']."
HOW = "write for example recall[spam, sex=f], or recall[sex=f] for the positive class."
MOST = 2
SHOWN = 60


@dataclass(frozen=True, slots=True)
class SliceTerm:
    """Which columns must have which values, as they were written."""

    columns: tuple[str, ...] = ()
    values: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.columns)

    @property
    def text(self) -> str:
        """The slice as it is written inside the brackets."""
        pairs = zip(self.columns, self.values, strict=True)
        return ", ".join(f"{shorten(visible(c), SHOWN)}={shorten(visible(v), SHOWN)}" for c, v in pairs)


def read_slice_term(name: str) -> tuple[str, SliceTerm]:
    """The quantity without its slice, and the slice.

    >>> read_slice_term("recall[spam, sex=f]")
    ('recall[spam]', SliceTerm(columns=('sex',), values=('f',)))
    >>> read_slice_term("macro f1[region = 'north, east']")
    ('macro f1', SliceTerm(columns=('region',), values=('north, east',)))
    """
    measure, bracket, inside = name.rstrip().partition("[")
    if not bracket or not inside.endswith("]"):
        return name, SliceTerm()
    rest: list[str] = []
    pairs: list[tuple[str, str]] = []
    for part in split_outside_quotes(inside[:-1], ","):
        condition = _read_condition(part)
        if condition is None:
            rest.append(part)
            continue
        column, value = condition
        if not value:
            raise OptionError(f"{part.strip()!r} in {shorten(name, SHOWN)!r} names no value of the column.", hint=HOW)
        pairs.append((_unquoted(column), _unquoted(value)))
    if not pairs:
        return name, SliceTerm()
    columns = tuple(column for column, _ in pairs)
    if len(pairs) > MOST or len(set(columns)) < len(columns):
        what = f"{len(pairs)} columns" if len(pairs) > MOST else f"{columns[0]!r} twice"
        raise OptionError(
            f"{shorten(name, SHOWN)!r} names {what}, and a slice has one column, or two different ones.", hint=HOW
        )
    class_ = ",".join(rest).strip()
    quantity = f"{measure}[{class_}]" if class_ else measure.strip()
    return quantity, SliceTerm(columns, tuple(value for _, value in pairs))


def _read_condition(part: str) -> tuple[str, str] | None:
    """The column and the value of `column=value`, either of them in quotes or not; None where it is no condition."""
    text = part.strip()
    end = text.find(text[0], 1) + 1 if text[:1] in ("'", '"') else text.find("=")
    column, rest = text[: max(end, 0)].rstrip(), text[max(end, 0) :].lstrip()
    quoted = column[:1] in ("'", '"')
    if not rest.startswith("=") or not column.strip("'\"") or (not quoted and set(column) & set("<>!'\"")):
        return None
    return column, rest[1:].removeprefix("=").strip()


def _unquoted(text: str) -> str:
    text = text.strip()
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"" else text


def slices_to_read(terms: Iterable[SliceTerm], asked: Any) -> Any:
    """The slice columns that must be read: those that were asked for, and those of the requirements."""
    wanted = list(dict.fromkeys(column for term in terms for column in term.columns))
    if not wanted or isinstance(asked, dict) or asked == "all":
        return asked
    given = [asked] if isinstance(asked, str | int) else list(asked or [])
    return list(dict.fromkeys([*given, *wanted]))


@dataclass(frozen=True)
class SlicedQuantity:
    """A quantity among the cases of one slice."""

    evaluation: Evaluation
    quantity: Quantity
    term: SliceTerm

    def estimate(self, level: float, *, one_sided: bool) -> Estimate:
        """The estimate on the cases of the slice."""
        columns, places = self._found
        return self._search.single(self.quantity, columns, places, level, one_sided=one_sided)

    @cached_property
    def _search(self) -> SliceSearch:
        return SliceSearch(self.evaluation)

    @cached_property
    def _found(self) -> tuple[tuple[Divided, ...], tuple[int, ...]]:
        held = self.evaluation.slice_columns
        if not held:
            raise OptionError(
                f"[{self.term.text}] names a slice, and no columns divide these cases.",
                hint=f"give the rows in a file or a data frame, or slices={{'{self.term.columns[0]}': values}}.",
            )
        columns = tuple(choose_columns(held, [name])[0] for name in self.term.columns)
        pairs = zip(columns, self.term.values, strict=True)
        return columns, tuple(_place(column.labels, value, column.name) for column, value in pairs)


def _place(labels: Sequence[str], value: str, column: str) -> int:
    """Where a value is among the slices of a column: as written, or in another case where that leaves no doubt."""
    if value in labels:
        return labels.index(value)
    folded = [at for at, label in enumerate(labels) if label.casefold() == value.casefold()]
    if len(folded) == 1:
        return folded[0]
    near = closest(value, labels)
    raise OptionError(
        f"The column {shorten(visible(column), SHOWN)!r} has no slice {shorten(visible(value), SHOWN)!r}. "
        f"It has: {listing([shorten(visible(label), SHOWN) for label in labels], most=12)}.",
        hint=f"did you mean {near!r}?" if near else "use one of these.",
    )


def explain_unknown_column(error: ColumnError, terms: Iterable[SliceTerm]) -> ColumnError:
    """The error of a column that is not there, with what to do if it was meant to be a class."""
    named = any(repr(column) in error.what for term in terms for column in term.columns)
    return ColumnError(error.what, hint=f"{error.hint.rstrip('.')}; or {QUOTED}") if named else error
