"""Which columns divide the cases: those that were named, or every one that has no other role."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from heldout.arguments import listing
from heldout.errors import ColumnError, OptionError
from heldout.predictions.guess import check_column, is_usual
from heldout.predictions.slice_plan import SlicePlan
from heldout.predictions.slices import SliceColumn, slice_column
from heldout.show.fitting import shorten
from heldout.show.printable import visible

Divided = TypeVar("Divided", SliceColumn, SlicePlan)

EVERY = "all"
# Whole numbers, each in one row, under such a name count the cases.
NUMBERING = ("id", "row", "index", "rownumber", "row_number", "unnamed: 0")


def slice_names(asked: Any, names: Sequence[Any], source: str) -> list[Any]:
    """The columns that were named as slices, each of which must exist; with "all", every column there is.

    >>> slice_names("sex", ["y", "sex"], "churn.csv")
    ['sex']
    """
    if asked is None or isinstance(asked, Mapping):
        return []
    if isinstance(asked, str) and asked == EVERY:
        return list(names)
    single = isinstance(asked, str | int) and not isinstance(asked, bool)
    wanted = [asked] if single else list(asked) if isinstance(asked, Iterable) else None
    if wanted is None or not all(isinstance(name, str | int) and not isinstance(name, bool) for name in wanted):
        raise OptionError(
            f"slices must be names of columns, or 'all'. Got {asked!r}.",
            hint="for example slices=['sex', 'age'], or slices={'age': ages} for arrays.",
        )
    return list(dict.fromkeys(check_column(name, names, source) for name in wanted))


def slices_of_columns(
    asked: Any, names: Sequence[Any], source: str, taken: Iterable[Any], values: Callable[[Any], Any]
) -> tuple[tuple[SliceColumn, ...], list[str]]:
    """The slices of a table, and sentences about what was put together or left out; `taken` have another role."""
    if isinstance(asked, Mapping):
        return slices_of_arrays(asked)
    return chosen_slices(asked, names, source, taken, lambda name: slice_column(values(name), str(name)))


def chosen_slices(
    asked: Any, names: Sequence[Any], source: str, taken: Iterable[Any], make: Callable[[Any], Divided]
) -> tuple[tuple[Divided, ...], list[str]]:
    """The same where `make` divides the cases by the column of a name, whatever it makes for that."""
    if asked is None:
        return (), []
    wanted = slice_names(asked, names, source)
    if not (isinstance(asked, str) and asked == EVERY):
        return _noted([make(name) for name in wanted])
    held = {str(name) for name in taken}
    free = [name for name in wanted if str(name) not in held]
    roles = [name for name in free if is_usual("truth", name) or is_usual("predicted", name)]
    made: list[Divided] = []
    out: list[str] = []
    for name in free:
        column = None if name in roles else _if_possible(make, name)
        if column is None:
            out.append(_called(name))
        else:
            made.append(column)
    columns, said = _noted(made)
    if out:
        said.append(
            "left out of the slices, because they name the cases, are classes or have one value: "
            f"{listing(out, most=len(out))}"
        )
    if not columns:
        raise ColumnError(
            f"No column of {source} is left to slice by: all have another role or name the cases.",
            hint="name one with slices= (--slice COLUMN), or leave it out.",
        )
    return columns, said


def slices_of_arrays(asked: Any) -> tuple[tuple[SliceColumn, ...], list[str]]:
    """The slices of arrays, given by name.

    >>> slices_of_arrays({"sex": ["f", "m", "f"]})[0][0].labels
    ('f', 'm')
    """
    if asked is None:
        return (), []
    if not isinstance(asked, Mapping):
        raise ColumnError(
            f"slices={shorten(visible(repr(asked)), 60)} names columns, but no data frame or file was given.",
            hint="give the values by name: slices={'age': ages, 'sex': sexes}.",
        )
    return _noted([slice_column(values, str(name)) for name, values in asked.items()])


def _noted(columns: list[Divided]) -> tuple[tuple[Divided, ...], list[str]]:
    return tuple(columns), [column.note for column in columns if column.note]


def _if_possible(make: Callable[[Any], Divided], name: Any) -> Divided | None:
    """The slices of a column, if it divides the cases at all."""
    try:
        column = make(name)
    except ColumnError:
        return None
    numbered = column.kind == "bins" and str(name).strip().casefold() in NUMBERING
    return None if len(column.labels) < 2 or numbered else column


def _called(name: Any) -> str:
    return shorten(visible(str(name)), 40)
