"""The features: one matrix of numbers with the roles of its columns, and what looks odd in them."""

from __future__ import annotations

import datetime as dt
import numbers
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.arguments import listing
from heldout.arrays import Codes, Floats
from heldout.errors import ColumnError, ValuesError
from heldout.learners.feature_table import Table
from heldout.learners.learner import Learner, is_wrapper, takes_missing
from heldout.learners.problem import Nominal, Problem
from heldout.learners.registry import shortcut_like
from heldout.predictions.containers import unwrap
from heldout.predictions.label_encoding import is_missing
from heldout.predictions.weights import groups, weights

# One column of a table as the numbers that learners take: amounts as they are, categories as codes.

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
        return _checked_column(Column(name, weights(values, name)))
    if kind in ("text", "categories"):
        return _checked_column(_coded(values, name, kind))
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


def _checked_column(column: Column) -> Column:
    if np.isnan(column.values).all():
        return Column(column.name, column.values, useless="it holds no value at all")
    return column


# Names under which tables number their rows; pandas writes an index as "Unnamed: 0".
NUMBERING = frozenset({"id", "index", "row", "rowid", "rownumber", "no", "nr", "number", "unnamed0", "caseid"})
# With fewer rows, a column may tell the classes apart by chance.
TELLING_ROWS = 10
TELLING_HEAD = 1000


@dataclass(frozen=True, eq=False)
class Features:
    """A matrix, dense or sparse; the names of its columns, and the categories of those that are nominal."""

    matrix: Any
    names: tuple[str, ...]
    nominal: dict[int, Nominal] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    times_left_out: tuple[str, ...] = ()


def read_features(table: Table, columns: Sequence[Any], *, asked: bool) -> Features:
    """The matrix of some columns; those of no use are left out, or refused when they were asked for by name.

    >>> from heldout.learners.feature_table import as_table
    >>> read_features(as_table({"a": [1, 2], "b": ["x", None]}), ["a", "b"], asked=True).matrix
    array([[ 1.,  0.],
           [ 2., nan]])
    """
    times: tuple[str, ...] = ()
    if table.sparse:
        matrix = table.selected(columns)
        return Features(matrix, tuple(map(str, columns)), notes=_checked(matrix.data, (), table))
    if table.numeric:
        matrix = np.ascontiguousarray(table.selected(columns), dtype=np.float64)
        empty = np.isnan(matrix).all(axis=0)
        kept = [column for column, none in zip(columns, empty, strict=True) if not none]
        left = [
            f"the column {str(column)!r} was left out: it holds no value at all"
            for column in columns
            if column not in kept
        ]
        matrix = np.ascontiguousarray(matrix[:, ~empty]) if empty.any() else matrix
        read = [Column(str(column), np.empty(0)) for column in kept]
    else:
        found = [read_column(table.values(column), str(column)) for column in columns]
        if asked:
            _refuse_useless(found, table)
        read = [column for column in found if not column.useless and (asked or not column.identifies)]
        left = [
            f"the column {column.name!r} was left out: {column.useless or column.identifies}"
            for column in found
            if column.useless or (column.identifies and not asked)
        ]
        times = tuple(column.name for column in found if column.temporal)
        matrix = np.empty((table.n, len(read)))
        for place, column in enumerate(read):
            matrix[:, place] = column.values
    if not matrix.shape[1]:
        raise _nothing_left(table, left)
    nominal = {place: column.nominal for place, column in enumerate(read) if column.nominal is not None}
    notes = (*left, *_checked(matrix, [column.name for column in read], table))
    return Features(matrix, tuple(column.name for column in read), nominal, notes, times)


def given_features(table: Table, columns: Sequence[Any], *, asked: bool) -> Features:  # noqa: ARG001 - one call for both
    """What was given, with these columns only; checked for infinite values but otherwise as it is."""
    native, names = table.selected(columns), tuple(map(str, columns))
    if table.numeric:
        held = native.data if table.sparse else native
        return Features(native, names, notes=_checked(held, names, table))
    for column in columns if table.frame is not None else ():
        series = table.frame.get_column(column)
        if series.dtype.is_float():
            _refuse_infinite(weights(series.to_native()).reshape(-1, 1), [str(column)], table)
    return Features(native, names)


def _refuse_useless(found: Sequence[Column], table: Table) -> None:
    for column in found:
        if column.useless:
            raise ColumnError(
                f"The column {column.name!r} of {table.source} cannot be a feature: {column.useless}.",
                hint="leave it out of the features, or make numbers or categories of it first.",
            )


def _nothing_left(table: Table, left: Sequence[str]) -> ColumnError:
    why = f" {listing((f'{said[0].upper()}{said[1:]}' for said in left), most=3)}." if left else ""
    return ColumnError(
        f"{table.start} has no features to learn from besides the class.{why}",
        hint="check which column is the target, and which columns were left out.",
    )


def _checked(matrix: NDArray[Any], names: Sequence[str], table: Table) -> tuple[str, ...]:
    """Refuse infinite values, and say which columns are constant or number the rows."""
    _refuse_infinite(matrix, names, table)
    if matrix.ndim == 1 or len(matrix) < 2:
        return ()
    said: list[str] = []
    # A gap is one more value, so a column with gaps is not constant.
    # The first rows tell for nearly every column that it is none.
    likely = (matrix[:TELLING_HEAD] == matrix[0]).all(axis=0)
    constant = [name for at, name in enumerate(names) if likely[at] and bool((matrix[:, at] == matrix[0, at]).all())]
    if constant:
        said.append(f"{_columns(constant)} the same value in every row, which tells nothing: {listing(constant)}")
    numbering = [name for place, name in enumerate(names) if _numbers_rows(name) and _all_distinct(matrix[:, place])]
    said += [
        f"the column {name!r} has a different whole number in every row and may only number them; leave it out with "
        f"drop={name!r} (--drop {name}) unless it means something"
        for name in numbering
    ]
    return tuple(said)


def _columns(names: Sequence[str]) -> str:
    return "one column has" if len(names) == 1 else f"{len(names):,} columns have"


def _refuse_infinite(matrix: NDArray[Any], names: Sequence[str], table: Table) -> None:
    if matrix.dtype.kind != "f" or not np.isinf(matrix).any():
        return
    counts = np.isinf(matrix).sum(axis=0)
    if matrix.ndim == 1:
        where = f"{int(counts):,} infinite values"
    else:
        shown = [f"{name} ({count:,})" for name, count in zip(names, counts.tolist(), strict=True) if count]
        where = f"infinite values in {listing(shown)}"
    raise ValuesError(
        f"{table.start} holds {where}.", hint="mend them, or make them missing (NaN) and let them be filled."
    )


def _numbers_rows(name: str) -> bool:
    return re.sub(r"[\W_]+", "", name.casefold()) in NUMBERING


def _all_distinct(column: Floats) -> bool:
    whole = bool(np.isfinite(column).all() and (column == np.floor(column)).all())
    return whole and len(column) > 2 and len(np.unique(column)) == len(column)


def telling(matrix: Floats, names: Sequence[str], truth: Codes) -> tuple[str, ...]:
    """A note on every column that holds one value for each class, and so gives the class away.

    >>> telling(np.array([[5.0], [7.0]] * 5), ["kind"], np.array([0, 1] * 5))
    ("the column 'kind' has one value for each class and so tells it; leave it out if it was made from the class",)
    """
    if len(truth) < TELLING_ROWS:
        return ()
    said: list[str] = []
    # The first rows tell for nearly every column that it does not.
    head = slice(0, TELLING_HEAD)
    likely = [at for at in range(len(names)) if _tells(matrix[head, at], truth[head])]
    for column, name in ((at, names[at]) for at in likely):
        if _tells(matrix[:, column], truth):
            said.append(
                f"the column {name!r} has one value for each class and so tells it; leave it out if it was made from "
                "the class"
            )
    return tuple(said)


def _tells(values: Floats, truth: Codes) -> bool:
    """Whether there is one value for each class, and another one for every other."""
    classes, first = np.unique(truth, return_index=True)
    held = values[first]
    if np.isnan(held).any() or len(np.unique(held)) < len(held):
        return False
    return bool(np.array_equal(values, held[np.searchsorted(classes, truth)]))


# Missing values among the features, where nothing fills them before the learner sees them.


def check_gaps(problem: Problem, learner: Learner) -> None:
    """Refuse features with gaps for a learner that says it cannot take them.

    Pipelines, searches and objects that say nothing of the kind are let pass: they may know what to do.

    >>> from heldout.learners.data import read_problem
    >>> from heldout.learners.learner import read_learner
    >>> check_gaps(read_problem([[1.0], [2.0]], ["no", "yes"]), read_learner("knn:1"))
    """
    estimator = learner.estimator
    if is_wrapper(estimator) or takes_missing(estimator) is not False:
        return
    rows, columns = _gaps(problem)
    if not rows:
        return
    names = problem.names or [f"x{i}" for i in range(len(columns))]
    counts = [f"{name} ({count:,})" for name, count in zip(names, columns, strict=True) if count]
    known = shortcut_like(estimator)
    raise ValuesError(
        f"{rows:,} of {problem.n:,} rows have missing values, in {listing(counts)}, and a "
        f"{type(estimator).__name__} cannot take them.",
        hint=f"put an imputer before it, make_pipeline(SimpleImputer(), {type(estimator).__name__}()), or name the "
        f"learner {known or 'logistic'!r}, which fills gaps inside the folds.",
    )


def _gaps(problem: Problem) -> tuple[int, list[int]]:
    """How many rows have a missing value, and how many values each column misses."""
    features: Any = problem.features
    if hasattr(features, "tocoo"):
        entries = features.tocoo()
        bad = np.isnan(entries.data)
        return len(np.unique(entries.row[bad])), np.bincount(entries.col[bad], minlength=features.shape[1]).tolist()
    if isinstance(features, np.ndarray) and features.dtype.kind == "f":
        with np.errstate(over="ignore", invalid="ignore"):
            # One missing value makes the sum missing, so a sum that is none needs no second look.
            if not np.isnan(features.sum()):
                return 0, [0] * features.shape[1]
    missing = _is_missing(features)
    return int(missing.any(axis=1).sum()), missing.sum(axis=0).tolist()


def _is_missing(features: Any) -> NDArray[np.bool_]:
    if isinstance(features, np.ndarray):
        if features.dtype.kind == "f":
            return np.isnan(features)
        if features.dtype.kind != "O":
            return np.zeros(features.shape, dtype=bool)
        return np.array([[is_missing(value) for value in row] for row in features.tolist()], dtype=bool)
    import narwhals.stable.v2 as nw

    columns = nw.from_native(features, eager_only=True).iter_columns()
    return np.column_stack(
        [(c.is_null() | c.is_nan() if c.dtype.is_float() else c.is_null()).to_numpy() for c in columns]
    )
