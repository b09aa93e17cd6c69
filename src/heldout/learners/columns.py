"""One column of a table as the numbers that learners take: amounts as they are, categories as codes."""

from __future__ import annotations

import datetime as dt
import numbers
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.arrays import Floats
from heldout.learners.problem import Nominal
from heldout.predictions.case_values import groups, weights
from heldout.predictions.containers import unwrap
from heldout.predictions.encode import is_missing

# Texts of which more than this share are distinct, and at least so many, name cases and not kinds of cases.
DISTINCT_SHARE = 0.9
DISTINCT_LEAST = 10


DATES, TIMES, DATES_OR_TIMES = "it holds dates", "it holds times", "it holds dates or times"


@dataclass(frozen=True, eq=False)
class Column:
    """The values of a column, NaN where one is missing; or in `useless` why a learner can make nothing of it."""

    name: str
    values: Floats
    nominal: Nominal | None = None
    useless: str = ""
    identifies: str = ""

    @property
    def temporal(self) -> bool:
        """Whether it is of no use because it holds dates or times."""
        return self.useless in (DATES, TIMES, DATES_OR_TIMES)


def read_column(values: Any, name: str) -> Column:
    """Read a column of a data frame or an array of objects.

    >>> read_column(["a", None, "b", "a"], "colour").values
    array([ 0., nan,  1.,  0.])
    """
    column = unwrap(values, name)
    if isinstance(column, np.ndarray):
        kind = _kind_of_array(column)
    else:
        kind = _kind_of_series(column)
        values = column.to_native()
    if kind == "objects":
        held = column if isinstance(column, np.ndarray) else _objects(column.to_list())
        kind, values = _kind_of_objects(held), held
    if kind == "numbers":
        return _checked(Column(name, weights(values, name)))
    if kind in ("text", "categories"):
        return _checked(_coded(values, name, kind))
    return Column(name, np.empty(0), useless=kind)


def _kind_of_array(array: NDArray[Any]) -> str:
    if isinstance(array.dtype, np.dtypes.StringDType):
        return "text"
    kinds = {"i": "numbers", "u": "numbers", "f": "numbers", "b": "categories", "U": "text", "S": "text"}
    kinds |= {"M": DATES, "m": TIMES, "O": "objects"}
    return kinds.get(array.dtype.kind, f"it holds values of type {array.dtype}")


def _kind_of_series(series: Any) -> str:
    import narwhals.stable.v2 as nw

    kind = series.dtype
    if kind.is_numeric():
        return "numbers"
    if kind == nw.String:
        return "text"
    if kind in (nw.Categorical, nw.Enum, nw.Boolean):
        # Polars' own Categorical only compresses text.
        compressed = kind == nw.Categorical and series.implementation.is_polars()
        return "text" if compressed else "categories"
    if kind.is_temporal():
        return DATES_OR_TIMES
    if kind in (nw.Object, nw.Unknown):
        return "objects"
    return f"it holds values of type {kind}"


def _kind_of_objects(held: NDArray[Any]) -> str:
    """What single objects are, the missing ones left aside."""
    sample = [value for value in held.tolist() if not is_missing(value)]
    if not sample:
        return "numbers"
    if all(isinstance(value, bool | np.bool_) for value in sample):
        return "categories"
    if all(isinstance(value, numbers.Real | Decimal) and not isinstance(value, bool) for value in sample):
        return "numbers"
    if all(isinstance(value, dt.date | dt.time | dt.timedelta | np.datetime64) for value in sample):
        return DATES_OR_TIMES
    strange = next((value for value in sample if not isinstance(value, str | bytes | numbers.Real | Decimal)), None)
    if isinstance(strange, list | tuple | dict | set | np.ndarray):
        return f"it holds values of type {type(strange).__name__}"
    return "text"


def _objects(values: list[Any]) -> NDArray[Any]:
    held = np.empty(len(values), dtype=object)
    held[:] = values
    return held


def _coded(values: Any, name: str, kind: str) -> Column:
    coded = groups(values, name)
    codes = coded.codes.astype(np.float64) - coded.offset
    if coded.missing:
        codes[coded.is_missing] = np.nan
    nominal = Nominal(coded.labels, declared=coded.declared)
    held = len(codes) - coded.missing
    identifies = ""
    if kind == "text" and len(coded.labels) >= max(DISTINCT_LEAST, DISTINCT_SHARE * held):
        identifies = f"{len(coded.labels):,} different texts in {held:,} rows look like identifiers"
    return Column(name, codes, nominal, identifies=identifies)


def _checked(column: Column) -> Column:
    if np.isnan(column.values).all():
        return Column(column.name, column.values, useless="it holds no value at all")
    return column
