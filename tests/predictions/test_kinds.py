"""Every container of labels gives the same count as plain lists."""

from __future__ import annotations

import array
import collections
import decimal
import enum
import fractions

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]
import pytest

import heldout
from heldout.predictions.label_encoding import encode

# Counted by hand: rows are the truth.
TRUTH = ["b", "a", "b", "c", "a", "b", "a"]
PREDICTED = ["b", "a", "a", "c", "c", "b", "a"]
MATRIX = [[2, 0, 1], [1, 2, 0], [0, 0, 1]]
NUMBER = {"a": 1, "b": 2, "c": 3}
DECLARED = ["c", "b", "zz", "a"]
DECLARED_MATRIX = [[1, 0, 0, 0], [0, 2, 0, 1], [0, 0, 0, 0], [1, 0, 0, 2]]

Grade = enum.IntEnum("Grade", "LOW MIDDLE HIGH")


class Word(enum.StrEnum):
    a = "a"
    b = "b"
    c = "c"


def fresh(values):
    """Equal values, no two of them the same object."""
    return np.array([f"{v} "[:-1] if isinstance(v, str) else int(f"{v}") for v in values * 1], dtype=object)


def many(values):
    """So many distinct objects that they are told apart by value, not by address."""
    return [int(f"{v}") if isinstance(v, int) else f"{v} "[:-1] for v in values * 1000]


class OnlyDlpack:
    def __init__(self, values):
        self.held = np.array(values)

    def __dlpack__(self, **options):
        return self.held.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.held.__dlpack_device__()


class Tensor:
    """Like torch's: NumPy may look only once it is detached and on the processor."""

    def __init__(self, values, *, tracked=True, there=True):
        self.held, self.tracked, self.there = values, tracked, there

    def detach(self):
        return Tensor(self.held, tracked=False, there=self.there)

    def cpu(self):
        return Tensor(self.held, tracked=self.tracked, there=False)

    def __array__(self, dtype=None, copy=None):
        if self.tracked or self.there:
            raise RuntimeError("on the device")
        return np.array(self.held, dtype=dtype)


def cupy(values):
    class Device:
        def get(self):
            return np.array(values)

        def __array__(self, dtype=None, copy=None):
            raise TypeError("implicit conversion is not allowed")

    Device.__module__ = "cupy"
    return Device()


def one_number(value):
    """Like a tensor of one number, as a loop over batches collects them."""

    class Scalar:
        shape = ()

        def item(self):
            return value

        def __eq__(self, other):
            return self is other

        def __hash__(self):
            return 1

    return Scalar()


TEXT = {
    "tuple": tuple,
    "generator": lambda x: (v for v in x),
    "deque": collections.deque,
    "dict values": lambda x: dict(enumerate(x)).values(),
    "U": np.array,
    "U, big-endian": lambda x: np.array(x).astype(">U3"),
    "U, every other": lambda x: np.repeat(np.array(x), 2)[::2],
    "U, backwards": lambda x: np.array(x[::-1])[::-1],
    "U, one column": lambda x: np.array(x).reshape(-1, 1),
    "U, one row": lambda x: np.array(x).reshape(1, -1),
    "S": lambda x: np.array(x).astype("S"),
    "objects, shared": lambda x: np.array(x, dtype=object),
    "objects, distinct": fresh,
    "StringDType": lambda x: np.array(x, dtype=np.dtypes.StringDType()),
    "StringDType, None": lambda x: np.array(x, dtype=np.dtypes.StringDType(na_object=None)),
    "np.str_": lambda x: [np.str_(v) for v in x],
    "bytes": lambda x: [v.encode() for v in x],
    "StrEnum": lambda x: [Word(v) for v in x],
    "pandas, default": pd.Series,
    "pandas, object": lambda x: pd.Series(x, dtype=object),
    "pandas, string[python]": lambda x: pd.Series(x, dtype="string[python]"),
    "pandas, string[pyarrow]": lambda x: pd.Series(x, dtype="string[pyarrow]"),
    "pandas, Arrow": lambda x: pd.Series(x, dtype=pd.ArrowDtype(pa.string())),
    "pandas, category": lambda x: pd.Series(x, dtype="category"),
    "pandas Categorical": pd.Categorical,
    "pandas Index": pd.Index,
    "pandas array": pd.array,
    "Polars": pl.Series,
    "Polars, Categorical": lambda x: pl.Series(x, dtype=pl.Categorical),
    "Polars, Object": lambda x: pl.Series(x, dtype=pl.Object),
    "PyArrow": pa.array,
    "PyArrow, large": lambda x: pa.array(x, pa.large_string()),
    "PyArrow, view": lambda x: pa.array(x, pa.string_view()),
    "PyArrow, chunks": lambda x: pa.chunked_array([x[:3], [], x[3:]]),
    "PyArrow, dictionary": lambda x: pa.array(x).dictionary_encode(),
    "PyArrow, unsigned dictionary": lambda x: pl.Series(x, dtype=pl.Categorical).to_arrow(),
    "PyArrow, dictionaries that differ": lambda x: pa.chunked_array(
        [pa.array(x[:3]).dictionary_encode(), pa.array(x[3:]).dictionary_encode()]
    ),
    "narwhals": lambda x: nw.from_native(pl.Series(x), series_only=True),
}

NUMBERS = {
    **{
        kind: lambda x, kind=kind: np.array(x, dtype=kind)
        for kind in (
            *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
            *("float16", "float32", "float64", "longdouble", ">i4"),
        )
    },
    "range": lambda x: range(1, 4) if x == [1, 2, 3] else x,
    "array.array": lambda x: array.array("i", x),
    "memoryview": lambda x: memoryview(bytes(x)),
    "objects, distinct": fresh,
    "NumPy scalars": lambda x: [np.int16(v) for v in x],
    "arrays of one number": lambda x: [np.array(v) for v in x],
    "tensors of one number": lambda x: [one_number(v) for v in x],
    "int and float": lambda x: [float(v) if i % 2 else v for i, v in enumerate(x)],
    "Decimal": lambda x: [decimal.Decimal(v) for v in x],
    "Fraction": lambda x: [fractions.Fraction(v) for v in x],
    "IntEnum": lambda x: [Grade(v) for v in x],
    "masked": lambda x: np.ma.masked_array(x, mask=[False] * len(x)),
    "pandas": pd.Series,
    "pandas, Int64": lambda x: pd.Series(x, dtype="Int64"),
    "pandas, float": lambda x: pd.Series(x, dtype=float),
    "pandas, category": lambda x: pd.Series(x, dtype="category"),
    "pandas, Arrow": lambda x: pd.Series(x, dtype="int64[pyarrow]"),
    "Polars": pl.Series,
    "Polars, Int8": lambda x: pl.Series(x, dtype=pl.Int8),
    "Polars, UInt64": lambda x: pl.Series(x, dtype=pl.UInt64),
    "Polars, Int128": lambda x: pl.Series(x, dtype=pl.Int128),
    "Polars, Float32": lambda x: pl.Series(x, dtype=pl.Float32),
    "Polars, Decimal": lambda x: pl.Series(x, dtype=pl.Decimal(10, 2)),
    "PyArrow": pa.array,
    "PyArrow, chunks": lambda x: pa.chunked_array([x[:2], x[2:]]),
    "PyArrow, dictionary": lambda x: pa.array(x).dictionary_encode(),
    "PyArrow, decimal": lambda x: pa.array(x, pa.decimal128(10, 2)),
    "DLPack": OnlyDlpack,
    "tensor": Tensor,
    "CuPy": cupy,
}

BOOLEANS = {
    "list": list,
    "NumPy": np.array,
    "objects": lambda x: np.array(x, dtype=object),
    "np.bool_": lambda x: [np.bool_(v) for v in x],
    "pandas": pd.Series,
    "pandas, boolean": lambda x: pd.Series(x, dtype="boolean"),
    "pandas, object": lambda x: pd.Series(x, dtype=object),
    "pandas, category": lambda x: pd.Series(x, dtype="category"),
    "Polars": pl.Series,
    "PyArrow": pa.array,
    "PyArrow, dictionary": lambda x: pa.array(x).dictionary_encode(),
}

ORDERED = {
    "pandas, category": lambda x: pd.Series(pd.Categorical(x, categories=DECLARED)),
    "pandas, ordered": lambda x: pd.Series(pd.Categorical(x, categories=DECLARED, ordered=True)),
    "pandas Categorical": lambda x: pd.Categorical(x, categories=DECLARED),
    "Polars, Enum": lambda x: pl.Series(x, dtype=pl.Enum(DECLARED)),
    "PyArrow, ordered dictionary": lambda x: pa.DictionaryArray.from_arrays(
        [DECLARED.index(v) for v in x], DECLARED, ordered=True
    ),
}


def assert_counted(seen, labels, matrix):
    assert seen.labels == tuple(labels)
    assert [type(label) for label in seen.labels] == [type(label) for label in labels]
    assert seen.matrix.tolist() == matrix


@pytest.mark.parametrize("kind", TEXT)
def test_text_of_any_kind_counts_the_same(kind):
    make = TEXT[kind]
    assert_counted(heldout.count(make(TRUTH), make(PREDICTED)).confusion, "abc", MATRIX)
    assert_counted(heldout.count(TRUTH, make(PREDICTED)).confusion, "abc", MATRIX)
    assert_counted(heldout.count(make(TRUTH), PREDICTED).confusion, "abc", MATRIX)


@pytest.mark.parametrize("kind", NUMBERS)
def test_numbers_of_any_kind_count_the_same(kind):
    make = NUMBERS[kind]
    truth, predicted = [NUMBER[v] for v in TRUTH], [NUMBER[v] for v in PREDICTED]
    assert_counted(heldout.count(make(truth), make(predicted)).confusion, (1, 2, 3), MATRIX)
    assert_counted(heldout.count(truth, make(predicted)).confusion, (1, 2, 3), MATRIX)


@pytest.mark.parametrize("kind", BOOLEANS)
def test_booleans_of_any_kind_are_two_classes(kind):
    make = BOOLEANS[kind]
    truth, predicted = [True, False, True], [True, True, True]
    assert_counted(heldout.count(make(truth), make(predicted)).confusion, (False, True), [[0, 1], [0, 2]])
    # Even where only one of the two occurs.
    assert_counted(heldout.count(make([True]), make([True])).confusion, (False, True), [[0, 0], [0, 1]])


@pytest.mark.parametrize("kind", ORDERED)
def test_declared_categories_keep_their_order_and_stay_without_a_case(kind):
    make = ORDERED[kind]
    assert_counted(heldout.count(make(TRUTH), make(PREDICTED)).confusion, DECLARED, DECLARED_MATRIX)
    assert_counted(heldout.count(make(TRUTH), PREDICTED).confusion, DECLARED, DECLARED_MATRIX)
    assert_counted(heldout.count(TRUTH, make(PREDICTED)).confusion, DECLARED, DECLARED_MATRIX)


def test_declared_categories_do_not_bring_in_numbers_that_do_not_occur():
    seen = heldout.count(np.array([5, 900]), pd.Categorical([5, 5], categories=[900, 5])).confusion
    assert_counted(seen, (900, 5), [[0, 1], [0, 1]])


def test_many_distinct_objects_are_told_apart_by_value():
    times = [[1000 * cell for cell in row] for row in MATRIX]
    assert_counted(heldout.count(many(TRUTH), many(PREDICTED)).confusion, "abc", times)
    numbers = [[NUMBER[v] * 1000 for v in column] for column in (TRUTH, PREDICTED)]
    mixed = [np.array([float(v) if i % 2 else v for i, v in enumerate(many(n))], dtype=object) for n in numbers]
    assert_counted(heldout.count(*mixed).confusion, (1000, 2000, 3000), times)


FRAMES = {
    "pandas": pd.DataFrame,
    "Polars": pl.DataFrame,
    "PyArrow": pa.table,
    "dictionary": dict,
    "narwhals": lambda x: nw.from_native(pl.DataFrame(x)),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_frames_of_any_kind_count_the_same(kind):
    frame = FRAMES[kind]({"y": TRUTH, "p": PREDICTED, "w": [1, 2, 3, 4, 5, 6, 7]})
    assert_counted(heldout.count(frame, truth="y", predicted="p").confusion, "abc", MATRIX)
    seen = heldout.evaluate(frame, truth="y", predicted="p", weight="w")
    assert seen.confusion.matrix.tolist() == [[2 + 7, 0, 5], [3, 1 + 6, 0], [0, 0, 4]]
    assert dict(seen.source.columns) == {"truth": "y", "predicted": "p", "weight": "w"}
    # A column may also be given as values.
    assert_counted(heldout.count(frame, truth="y", predicted=PREDICTED).confusion, "abc", MATRIX)


def test_frames_of_one_column_are_columns():
    assert_counted(heldout.count(pd.DataFrame({"x": TRUTH}), pd.DataFrame({"z": PREDICTED})).confusion, "abc", MATRIX)


def test_columns_named_by_numbers_can_be_asked_for():
    frame = pd.DataFrame(list(zip(TRUTH, PREDICTED, strict=True)))
    assert_counted(heldout.count(frame, truth=0, predicted=1).confusion, "abc", MATRIX)


def test_rows_are_matched_by_position_and_never_by_an_index():
    backwards = list(range(10, 10 + len(TRUTH)))[::-1]
    truth, predicted = pd.Series(TRUTH, index=backwards), pd.Series(PREDICTED)
    assert_counted(heldout.count(truth, predicted).confusion, "abc", MATRIX)
    weight = pd.Series([1.0, 2, 3, 4, 5, 6, 7], index=backwards)
    assert heldout.count(truth, predicted, weight=weight).matrix.tolist() == [[9, 0, 5], [3, 7, 0], [0, 0, 4]]
    group = pd.Series([1, 1, 2, 2, 3, 3, 4], index=backwards)
    clusters = heldout.count(truth, predicted, group=group).confusion.clusters
    assert clusters is not None
    assert clusters.number == 4


@pytest.mark.parametrize(
    "values",
    [
        [2**63, 2**63 + 1],
        [1, 2**63 + 1],
        [2**70, -(2**70)],
        [-(2**63), 2**63 - 1],
        np.array([0, 2**64 - 1], dtype=np.uint64),
        np.array([2**64 - 2, 2**64 - 1], dtype=np.uint64),
        np.array([-128, 127], dtype=np.int8),
        np.array([-1e30, 1e30]),
    ],
    ids=str,
)
def test_numbers_at_the_ends_of_their_types_stay_apart(values):
    labels = tuple(sorted(int(v) for v in values))
    assert_counted(heldout.count(values, values).confusion, labels, [[1, 0], [0, 1]])


def test_half_a_surrogate_pair_is_a_label_like_any_other():
    values = ["\udc80", "\ud800", "\udc80"]
    for make in (list, np.array, fresh):
        seen = heldout.evaluate(make(values), make(values))
        assert_counted(seen.confusion, ("\ud800", "\udc80"), [[1, 0], [0, 2]])
        assert len(seen.fingerprint) == 16
    assert_counted(heldout.count(many(values), many(values)).confusion, ("\ud800", "\udc80"), [[1000, 0], [0, 2000]])


def test_the_fingerprint_is_of_the_truth_alone():
    first = heldout.evaluate(["a", "b"], ["a", "b"])
    assert first.fingerprint == heldout.evaluate(np.array(["a", "b"]), ["b", "z"]).fingerprint
    declared = pd.Categorical(["a", "b"], categories=["x", "b", "a"])
    assert first.fingerprint == heldout.evaluate(declared, ["a", "a"]).fingerprint
    assert first.fingerprint != heldout.evaluate(["b", "a"], ["a", "b"]).fingerprint
    assert heldout.evaluate([0, 7], [0, 3]).fingerprint == heldout.evaluate(["0", "7"], ["0", "7"]).fingerprint


@pytest.mark.parametrize("kind", ["a set", "text", "bytes", "a number", "a table", "nothing"])
def test_what_is_no_column_is_refused(kind):
    values = {
        "a set": {"a", "b"},
        "text": "ab",
        "bytes": b"ab",
        "a number": 3,
        "a table": np.ones((2, 2, 2)),
        "nothing": np.array(1),
    }[kind]
    with pytest.raises(heldout.HeldoutError) as refused:
        heldout.count(["a", "b"], values)
    assert "predicted" in refused.value.what


def test_a_tensor_that_stays_on_its_device_says_so():
    class Stuck:
        def __array__(self, dtype=None, copy=None):
            raise TypeError("cannot leave the device")

    with pytest.raises(heldout.HeldoutError, match="truth is a Stuck that NumPy cannot read: cannot leave the device"):
        heldout.count(Stuck(), [1])


def test_a_lazy_frame_is_counted_where_it_is_and_is_no_batch():
    lazy = pl.LazyFrame({"y": TRUTH, "p": PREDICTED})
    assert_counted(heldout.count(lazy, truth="y", predicted="p").confusion, "abc", MATRIX)
    with pytest.raises(heldout.HeldoutError, match="lazy") as refused:
        heldout.Evidence().update(lazy, truth="y", predicted="p")
    assert "collect()" in refused.value.hint


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([0.5, 1.0], "such as 0.5: those are scores, not labels"),
        ([0, 0.25], "such as 0.25: those are scores, not labels"),
        (np.array([1.0, np.inf]), "such as inf: those are scores"),
        ([[1], [0]], "a list"),
        ([(1, 2), (0, 1)], "a tuple"),
        ([np.array([1, 2]), np.array([0, 3])], "a ndarray"),
        ([{}, {}], "a dict"),
        (np.array(["2020-01-01", "2021-01-01"], dtype="M8[D]"), "datetime64"),
        ([np.datetime64("2020-01-01"), "a"], "datetime64"),
        (np.array([1j, 2]), "complex128"),
        (pl.Series([[1], [2]]), "List"),
        ([1, "a"], "mixes labels of different types"),
        ([True, 1], "mixes labels of different types"),
        ([b"\xe9", b"\xe8"], "bytes that are not UTF-8"),
        (np.array([b"\xe9", b"\xe8"]), "bytes that are not UTF-8"),
        ([[i] for i in range(5000)], "a list"),
    ],
    ids=lambda x: str(x)[:30],
)
def test_values_that_are_no_labels_are_refused(values, said):
    with pytest.raises(heldout.HeldoutError) as refused:
        encode(values, "truth")
    assert refused.value.what.startswith("truth ")
    assert said in refused.value.what
    assert refused.value.hint.endswith(".")
    assert len(str(refused.value)) < 400


def test_whole_numbers_beyond_signed_ones_are_labels_of_their_own():
    column = np.arange(10_000, dtype=np.uint64)[::-1] * np.uint64(2) + np.uint64(2**63)
    coded = encode(column, "truth")
    assert [coded.labels[code - coded.offset] for code in coded.codes[:3].tolist()] == column[:3].tolist()
    assert len(coded.labels) == 10_000
