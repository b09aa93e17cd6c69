"""Features: a file, a data frame, a matrix or a list of rows as one matrix of numbers with named columns."""

from __future__ import annotations

import datetime as dt
import numbers
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.arguments import capitalize, listing
from heldout.arrays import Codes, Floats, make_objects
from heldout.errors import ColumnError, HeldoutError, ValuesError, first_line
from heldout.files import read_table
from heldout.files.arff import read_header
from heldout.files.input_stream import STANDARD_INPUT, inner_ending, load, utf8_text
from heldout.learners.problem import Nominal
from heldout.predictions.case_values import groups, weights
from heldout.predictions.column_roles import begin_sentence, is_usual
from heldout.predictions.containers import index_notes, unwrap
from heldout.predictions.label_encoding import is_missing
from heldout.predictions.score_columns import class_of, may_be_score

_TWO_SIDES = "pass one row per case and one column per feature."


@dataclass(frozen=True, eq=False)
class FeatureTable:
    """Named columns of equal length; `native` is what was given, and `frame` the same for narwhals, if it is a frame.

    `source` is what messages call it. An ARFF file has its class last by custom, and may have weights of rows.
    `indexed` are the columns of a dictionary, which may have pandas indexes of their own.
    """

    native: Any
    columns: tuple[Any, ...]
    n: int
    source: str
    frame: Any = None
    from_file: bool = False
    class_last: bool = False
    row_weight: str | None = None
    indexed: Mapping[Any, Any] = field(default_factory=dict)

    @property
    def sparse(self) -> bool:
        """Whether it is a sparse matrix."""
        return hasattr(self.native, "tocsr")

    @property
    def numeric(self) -> bool:
        """Whether it is a matrix of numbers throughout."""
        return self.sparse or (self.frame is None and self.native.dtype.kind in "iufb")

    def values(self, column: Any) -> Any:
        """The values of one column."""
        if self.frame is not None:
            return self.frame.get_column(column).to_native()
        if self.native.ndim == 1:
            return self.native
        index = self.columns.index(column)
        return self.native[:, [index]].toarray().ravel() if self.sparse else _as_numbers(self.native[:, index])

    def note_indexes(self, given: Mapping[str, Any]) -> list[str]:
        """What is to be said of pandas indexes that differ from those of the features; another order is refused."""
        return index_notes({**(self.indexed or {"X": self.native}), **given})

    def taken(self, rows: NDArray[np.int64]) -> FeatureTable:
        """Only these rows."""
        from sklearn.utils import _safe_indexing

        native = _safe_indexing(self.native, rows)
        frame = None
        if self.frame is not None:
            import narwhals.stable.v2 as nw

            frame = nw.from_native(native, eager_only=True)
        return replace(self, native=native, frame=frame, n=len(rows))

    def selected(self, columns: Sequence[Any]) -> Any:
        """The object that was given, with these columns only; a copy of it where these are all.

        A review reads the features after the caller may have changed them. Frames that have no `copy` do not change.
        """
        if list(columns) == list(self.columns):
            return self.native.copy() if hasattr(self.native, "copy") else self.native
        if self.frame is not None:
            return self.frame.select(*[self.frame.get_column(column) for column in columns]).to_native()
        return self.native[:, [self.columns.index(column) for column in columns]]


def as_table(data: Any) -> FeatureTable:
    """Take whatever holds features; files are read.

    >>> as_table([[1, 2], [3, 4], [5, 6]]).columns
    ('x0', 'x1')
    """
    if isinstance(data, str | Path):
        return _from_file(data)
    if hasattr(data, "tocsr"):
        return _from_array(data.tocsr(), "the sparse matrix")
    if isinstance(data, Mapping):
        return _from_mapping(data)
    if isinstance(data, np.ndarray):
        return _from_array(data, "the array")
    if isinstance(data, list | tuple):
        return _from_array(_stack_rows(data), "the list of rows")
    return _from_frame(data)


def _from_file(path: str | Path) -> FeatureTable:
    import narwhals.stable.v2 as nw

    frame = nw.from_native(read_table(path), eager_only=True)
    name = "standard input" if str(path) == STANDARD_INPUT else str(path)
    arff = name != "standard input" and inner_ending(Path(path)) == ".arff"
    weight = "weight" if arff and frame.columns[-1] == "weight" and not _declares_weight(path) else None
    return FeatureTable(
        frame.to_native(),
        tuple(frame.columns),
        len(frame),
        name,
        frame,
        from_file=True,
        class_last=arff,
        row_weight=weight,
    )


def _declares_weight(path: str | Path) -> bool:
    """Whether `weight` is an attribute of an ARFF file; otherwise it holds the weights that stand behind the rows."""
    content = load(path)
    header = read_header(utf8_text(content).replace(b"\r\n", b"\n").replace(b"\r", b"\n"), content.name)
    return any(attribute.name == "weight" for attribute in header.attributes)


def _from_mapping(data: Mapping[Any, Any]) -> FeatureTable:
    import polars as pl

    try:
        table = _from_frame(pl.DataFrame({str(name): values for name, values in data.items()}, strict=False))
        return replace(table, indexed=data)
    except HeldoutError:
        raise
    except Exception as error:
        raise ColumnError(
            f"The dictionary is no table: {first_line(error)}.",
            hint="pass one list of values for each column, all of the same length.",
        ) from error


def _from_frame(data: Any) -> FeatureTable:
    import narwhals.stable.v2 as nw

    try:
        frame = nw.from_native(data, allow_series=True, pass_through=True)
    except Exception as error:
        twice = "unique column names" in str(error)
        raise ColumnError(
            f"The data frame has two columns of the same name ({_list_repeated(data)})."
            if twice
            else f"The data frame cannot be read: {first_line(error)}.",
            hint="rename one of them, so that each can be asked for." if twice else _TWO_SIDES,
        ) from error
    if isinstance(frame, nw.LazyFrame):
        raise ColumnError("The data frame is lazy, so it holds no rows yet.", hint="call .collect() on it first.")
    if isinstance(frame, nw.Series):
        return _from_array(np.asarray(frame.to_list(), dtype=object), "the column")
    if not isinstance(frame, nw.DataFrame):
        return _from_array(_from_tensor(data), "the array")
    if not len(frame):
        raise ValuesError("The data frame has no rows.", hint="pass at least two cases of each class.")
    return FeatureTable(data, tuple(frame.columns), len(frame), "the data frame", frame)


def _list_repeated(data: Any) -> str:
    names = [str(name) for name in data.columns]
    return ", ".join(sorted({name for name in names if names.count(name) > 1}))


def _from_tensor(data: Any) -> NDArray[Any]:
    try:
        if hasattr(data, "detach"):
            data = data.detach()
        if hasattr(data, "cpu"):
            data = data.cpu()
        array = np.asarray(data)
    except Exception as error:
        raise ValuesError(
            f"The features are a {type(data).__name__} that NumPy cannot read: {first_line(error)}.", hint=_TWO_SIDES
        ) from error
    if array.ndim == 0:
        raise ValuesError(
            f"The features must be a table: an array, a data frame or a file. Got {type(data).__name__}.",
            hint=_TWO_SIDES,
        )
    return array


def _stack_rows(data: Sequence[Any]) -> NDArray[Any]:
    """A list of rows as an array: of numbers where all are, otherwise of objects."""
    if data and isinstance(data[0], Mapping):
        raise ValuesError(
            "The features are a list of dictionaries.",
            hint="make a data frame of them first, for example polars.DataFrame(rows).",
        )
    if all(isinstance(value, str) for value in data):
        return np.array(data, dtype=object)
    lengths = [len(row) if hasattr(row, "__len__") and not isinstance(row, str) else -1 for row in data]
    if -1 in lengths:
        raise _one_side_error(len(data))
    if len(set(lengths)) > 1:
        at = next(i for i, length in enumerate(lengths) if length != lengths[0])
        raise ValuesError(
            f"The rows differ in length: row 1 has {lengths[0]:,} values, row {at + 1:,} has {lengths[at]:,}.",
            hint=_TWO_SIDES,
        )
    try:
        array = np.asarray(data)
    except ValueError:
        array = np.empty((len(data), lengths[0] if lengths else 0), dtype=object)
        for i, row in enumerate(data):
            array[i, :] = list(row)
    # NumPy would write [1, "a"] as two texts.
    return array if array.dtype.kind in "iufbc" or array.ndim != 2 else np.array(data, dtype=object)


def _from_array(array: Any, source: str) -> FeatureTable:
    if not array.shape[0]:
        raise ValuesError("The features have no rows.", hint="pass at least two cases of each class.")
    if array.ndim == 1 and array.dtype.names is None:
        if not all(isinstance(value, str) for value in array):
            raise _one_side_error(len(array))
        # What a pipeline that begins with a vectorizer takes: one text for each case.
        return FeatureTable(array.astype(object), ("text",), len(array), "the texts")
    if array.ndim != 2:
        shape = " × ".join(f"{side:,}" for side in array.shape)
        shown = f"records with {len(array.dtype.names)} fields" if array.ndim == 1 else f"{array.ndim} sides ({shape})"
        raise ValuesError(
            f"The features must have two sides, rows and columns. Got {shown}.",
            hint="flatten each case into one row: X.reshape(len(X), -1)."
            if array.ndim > 2
            else "make a data frame of them first, for example polars.DataFrame(X).",
        )
    if isinstance(array, np.ma.MaskedArray):
        array = np.ma.filled(array.astype(np.float64), np.nan)
    if array.dtype.kind in "cmMV":
        raise ValuesError(
            f"The features hold values of type {array.dtype}, which no learner takes.",
            hint="turn them into plain numbers first.",
        )
    return FeatureTable(array, tuple(f"x{i}" for i in range(array.shape[1])), array.shape[0], source)


def _one_side_error(n: int) -> ValuesError:
    return ValuesError(
        f"The features must have two sides, rows and columns. Got one row of {n:,} values.",
        hint="a single feature is a column: X.reshape(-1, 1), or [[value] for value in X].",
    )


def _as_numbers(column: NDArray[Any]) -> NDArray[Any]:
    """Text that is all numbers as numbers: np.array([[1, "a"]]) has written them so."""
    if column.dtype.kind not in "US":
        return column
    try:
        return column.astype(np.float64)
    except ValueError:
        return column


# One column of a table as the numbers that learners take: amounts as they are, categories as codes.

# Where more than this share of the texts, and at least this many, are distinct, they identify cases, not categories.
DISTINCT_SHARE = 0.9
DISTINCT_LEAST = 10


# A year, or the year last; what follows a date is a time of day, perhaps with its zone.
_DAY, _MONTH, _YEAR = r"(?:0?[1-9]|[12]\d|3[01])", r"(?:0?[1-9]|1[0-2])", r"(?:1[5-9]|2\d)\d\d"
DATE = re.compile(
    rf"(?:{_YEAR}([-/.]){_MONTH}(?:\1{_DAY})?|{_DAY}([-/.]){_MONTH}\2{_YEAR}|{_MONTH}/{_DAY}/{_YEAR})"
    r"(?:[T ]+\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?\s*(?:Z|UTC|[+-]\d{2}:?\d{2})?)?"
)
DATES, TIMES, DATES_OR_TIMES = "it holds dates", "it holds times", "it holds dates or times"


@dataclass(frozen=True, eq=False)
class FeatureColumn:
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


def read_column(values: Any, name: str) -> FeatureColumn:
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
        objects = column if isinstance(column, np.ndarray) else make_objects(column.to_list())
        kind, values = _kind_of_objects(objects), objects
    if kind == "numbers":
        return _mark_empty(FeatureColumn(name, weights(values, name)))
    if kind in ("text", "categories"):
        encoded = _encode_column(values, name, kind)
        if kind == "text" and are_dates(() if encoded.nominal is None else encoded.nominal.categories):
            # Files of text have no type for dates: the same table must read alike from CSV and from Parquet.
            return FeatureColumn(name, np.empty(0), useless=DATES)
        return _mark_empty(encoded)
    return FeatureColumn(name, np.empty(0), useless=kind)


def are_dates(texts: Sequence[Any]) -> bool:
    """Whether texts are all dates, by year, month and day or the other way round, with or without a time.

    >>> are_dates(["2024-01-31", "2024-02-01 12:30"]), are_dates(["31.1.2024"]), are_dates(["2024-01", "12-13"])
    (True, True, False)
    """
    return bool(texts) and all(isinstance(text, str) and DATE.fullmatch(text.strip()) for text in texts)


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


def _kind_of_objects(objects: NDArray[Any]) -> str:
    """What single objects are, the missing ones left aside."""
    sample = [value for value in objects.tolist() if not is_missing(value)]
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


def _encode_column(values: Any, name: str, kind: str) -> FeatureColumn:
    coded = groups(values, name)
    codes = coded.codes.astype(np.float64) - coded.offset
    if coded.missing:
        codes[coded.is_missing] = np.nan
    nominal = Nominal(coded.labels, declared=coded.declared)
    known = len(codes) - coded.missing
    identifies = ""
    if kind == "text" and len(coded.labels) >= max(DISTINCT_LEAST, DISTINCT_SHARE * known):
        identifies = f"{len(coded.labels):,} different texts in {known:,} rows look like identifiers"
    return FeatureColumn(name, codes, nominal, identifies=identifies)


def _mark_empty(column: FeatureColumn) -> FeatureColumn:
    if np.isnan(column.values).all():
        return FeatureColumn(column.name, column.values, useless="it holds no value at all")
    return column


# Names under which tables number their rows. pandas writes an index without a name, which is read as column_1 here.
# It reads it itself as "Unnamed: 0".
NUMBERING = frozenset(
    {"", "column1", "id", "index", "row", "rowid", "rownumber", "no", "nr", "number", "unnamed0", "caseid"}
)
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


def read_features(table: FeatureTable, columns: Sequence[Any], *, by_name: bool) -> Features:
    """The matrix of some columns; those of no use are left out, or refused when they were asked for by name.

    >>> from heldout.learners.features import as_table
    >>> read_features(as_table({"a": [1, 2], "b": ["x", None]}), ["a", "b"], by_name=True).matrix
    array([[ 1.,  0.],
           [ 2., nan]])
    """
    times: tuple[str, ...] = ()
    if table.sparse:
        matrix = table.selected(columns)
        return Features(matrix, tuple(map(str, columns)), notes=_check_matrix(matrix.data, (), table))
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
        read = [FeatureColumn(str(column), np.empty(0)) for column in kept]
    else:
        candidates = [read_column(table.values(column), str(column)) for column in columns]
        if by_name:
            _check_useful(candidates, table)
        read = [column for column in candidates if not column.useless and (by_name or not column.identifies)]
        left = [
            f"the column {column.name!r} was left out: {column.useless or column.identifies}"
            for column in candidates
            if column.useless or (column.identifies and not by_name)
        ]
        times = tuple(column.name for column in candidates if column.temporal)
        matrix = np.empty((table.n, len(read)))
        for index, column in enumerate(read):
            matrix[:, index] = column.values
    if not matrix.shape[1]:
        raise _no_features_error(table, left)
    nominal = {index: column.nominal for index, column in enumerate(read) if column.nominal is not None}
    notes = (*left, *_check_matrix(matrix, [column.name for column in read], table))
    return Features(matrix, tuple(column.name for column in read), nominal, notes, times)


def keep_features(table: FeatureTable, columns: Sequence[Any], *, by_name: bool) -> Features:  # noqa: ARG001 - one call for both
    """What was given, with these columns only; checked for infinite values but otherwise as it is."""
    native, names = table.selected(columns), tuple(map(str, columns))
    if table.numeric:
        values = native.data if table.sparse else native
        return Features(native, names, notes=_check_matrix(values, names, table))
    for column in columns if table.frame is not None else ():
        series = table.frame.get_column(column)
        if series.dtype.is_float():
            _check_finite(weights(series.to_native()).reshape(-1, 1), [str(column)], table)
    return Features(native, names)


def _check_useful(columns: Sequence[FeatureColumn], table: FeatureTable) -> None:
    for column in columns:
        if column.useless:
            raise ColumnError(
                f"The column {column.name!r} of {table.source} cannot be a feature: {column.useless}.",
                hint="leave it out of the features, or make numbers or categories of it first.",
            )


def _no_features_error(table: FeatureTable, left: Sequence[str]) -> ColumnError:
    why = f" {listing((capitalize(note) for note in left), most=3)}." if left else ""
    return ColumnError(
        f"{begin_sentence(table.source)} has no features to learn from besides the class.{why}",
        hint="check which column is the target, and which columns were left out.",
    )


def _check_matrix(matrix: NDArray[Any], names: Sequence[str], table: FeatureTable) -> tuple[str, ...]:
    """Refuse infinite values, and say which columns are constant or number the rows."""
    _check_finite(matrix, names, table)
    if matrix.ndim == 1 or len(matrix) < 2:
        return ()
    notes: list[str] = []
    # A gap is one more value, so a column with gaps is not constant.
    # The first rows tell for nearly every column that it is none.
    likely = (matrix[:TELLING_HEAD] == matrix[0]).all(axis=0)
    constant = [name for at, name in enumerate(names) if likely[at] and bool((matrix[:, at] == matrix[0, at]).all())]
    if constant:
        notes.append(
            f"{_count_columns(constant)} the same value in every row, which tells nothing: {listing(constant)}"
        )
    numbering = [name for at, name in enumerate(names) if _numbers_rows(name) and _all_distinct(matrix[:, at])]
    notes += [
        f"the column {name!r} has a different whole number in every row and may only number them; leave it out with "
        f"drop={name!r} (--drop {name}) unless it means something"
        for name in numbering
    ]
    return tuple(notes)


def _count_columns(names: Sequence[str]) -> str:
    return "one column has" if len(names) == 1 else f"{len(names):,} columns have"


def _check_finite(matrix: NDArray[Any], names: Sequence[str], table: FeatureTable) -> None:
    if matrix.dtype.kind != "f" or not np.isinf(matrix).any():
        return
    counts = np.isinf(matrix).sum(axis=0)
    if matrix.ndim == 1:
        where = f"{int(counts):,} infinite values"
    else:
        shown = [f"{name} ({count:,})" for name, count in zip(names, counts.tolist(), strict=True) if count]
        where = f"infinite values in {listing(shown)}"
    raise ValuesError(
        f"{begin_sentence(table.source)} holds {where}.",
        hint="mend them, or make them missing (NaN) and let them be filled.",
    )


def _numbers_rows(name: str) -> bool:
    return re.sub(r"[\W_]+", "", name.casefold()) in NUMBERING


def _all_distinct(column: Floats) -> bool:
    whole = bool(np.isfinite(column).all() and (column == np.floor(column)).all())
    return whole and len(column) > 2 and len(np.unique(column)) == len(column)


def note_outcome_columns(names: Sequence[str], labels: Sequence[Any]) -> tuple[str, ...]:
    """A note on every column that is called like a prediction or a fold of an earlier model, and not like a feature.

    >>> note_outcome_columns(["age", "y_pred"], ["no", "yes"])[0].partition(",")[0]
    "the column 'y_pred' is called like a prediction"
    """
    called = {name: role for name in names for role in ("predicted", "fold") if is_usual(role, name)}
    scores = [name for name in names if may_be_score(name)]
    owned = {class_of(name, labels) for name in scores} - {None}
    # Of p_0 to p_63 ten are called like the scores of ten digits, and are none.
    if len(owned) == len(scores) and len(scores) in {len(labels), 1 if len(labels) == 2 else len(labels)}:
        called |= dict.fromkeys(scores, "score")
    words = {"predicted": "a prediction", "fold": "a fold", "score": "the score of a class"}
    return tuple(
        f"the column {name!r} is called like {words[role]}, and was learned from; leave it out with drop={name!r} "
        f"(--drop {name}) unless it is known before the class is"
        for name, role in called.items()
    )


def note_telling_columns(matrix: Floats, names: Sequence[str], truth: Codes) -> tuple[str, ...]:
    """A note on every column that holds one value for each class, and so gives the class away.

    >>> note_telling_columns(np.array([[5.0], [7.0]] * 5), ["kind"], np.array([0, 1] * 5))
    ("the column 'kind' has one value for each class and so tells it; leave it out if it was made from the class",)
    """
    if len(truth) < TELLING_ROWS:
        return ()
    notes: list[str] = []
    # The first rows tell for nearly every column that it does not.
    head = slice(0, TELLING_HEAD)
    likely = [at for at in range(len(names)) if _tells_class(matrix[head, at], truth[head])]
    for column, name in ((at, names[at]) for at in likely):
        if _tells_class(matrix[:, column], truth):
            notes.append(
                f"the column {name!r} has one value for each class and so tells it; leave it out if it was made from "
                "the class"
            )
    return tuple(notes)


def _tells_class(values: Floats, truth: Codes) -> bool:
    """Whether there is one value for each class, and another one for every other."""
    classes, first = np.unique(truth, return_index=True)
    value_of_class = values[first]
    if np.isnan(value_of_class).any() or len(np.unique(value_of_class)) < len(value_of_class):
        return False
    return bool(np.array_equal(values, value_of_class[np.searchsorted(classes, truth)]))
