"""Learners over many data sets: the table of results, average ranks, Friedman's and Nemenyi's tests."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np

from heldout.arguments import as_float, listing, suggest
from heldout.arrays import Floats, Integers
from heldout.comparisons.pair_test import ROUNDING, register_procedure
from heldout.errors import ColumnError, OptionError, ValuesError
from heldout.intervals.quantiles import z_value
from heldout.predictions.containers import index_notes

# Headers of a first column that holds names even where the names are numbers.
NAME_HEADERS = frozenset({
    "", "data set", "data_set", "dataset", "data", "name", "column_1", "unnamed: 0", "id", "index", "row", "dataset_id",
    "data_id", "task_id",
})  # fmt: skip
ONE_NUMBER = "give one number for every data set."
ON_ONE_DATA_SET = "compare on a single data set with the predictions or the folds of both learners."
EXAMPLE = "{'C4.5': {'iris': 0.76, 'wine': 0.60}, 'naive Bayes': {'iris': 0.75, 'wine': 0.63}}"


@dataclass(frozen=True, eq=False)
class ResultTable:
    """The value of a measure for every data set (rows) and learner (columns)."""

    values: Floats = field(repr=False)
    data_sets: tuple[str, ...]
    learners: tuple[str, ...]
    higher_is_better: bool = True

    @property
    def n(self) -> int:
        """The number of data sets."""
        return len(self.data_sets)

    def place(self, learner: object) -> int:
        """The column of a learner."""
        name = str(learner)
        if name not in self.learners:
            raise OptionError(
                f"There is no learner {name!r} in the table. There are: {listing(self.learners)}.",
                hint=suggest(name, self.learners, "name a column of the table."),
            )
        return self.learners.index(name)

    def of(self, learner: object) -> Floats:
        """The values of one learner, a data set each."""
        return np.asarray(self.values[:, self.place(learner)])


def read_results(source: Any, *, higher_is_better: bool | None = None) -> ResultTable:
    """A table of results from a mapping of learners to values, a data frame, a two-dimensional array or a file.

    In a frame or a file one column may hold the names of the data sets; all others are learners. A mapping may hold
    a list for every learner, or a mapping from the names of the data sets. Higher is better unless it is said.

    >>> table = read_results({"tree": {"iris": 0.95, "wine": 0.91}, "bayes": {"wine": 0.97, "iris": 0.96}})
    >>> table.data_sets, table.of("bayes").tolist()
    (('iris', 'wine'), [0.96, 0.97])
    """
    if isinstance(source, ResultTable):
        return source if higher_is_better is None else replace(source, higher_is_better=higher_is_better)
    columns, rows, table = _read(source)
    names = _names(columns, table.shape[1], "learner")
    cases = _names(rows, table.shape[0], "data set")
    _check(table, names, cases)
    return ResultTable(table, cases, names, higher_is_better is not False)


def _read(source: Any) -> tuple[Sequence[object] | None, Sequence[object] | None, Floats]:
    if isinstance(source, str | Path):
        from heldout.files import read_table

        return _from_frame(read_table(source))
    if isinstance(source, Mapping):
        return _from_mapping(source)
    if hasattr(source, "columns") or hasattr(source, "column_names"):
        return _from_frame(source)
    try:
        table = np.asarray(source, dtype=np.float64)
    except (TypeError, ValueError):
        table = np.empty(0)
    if table.ndim != 2:
        raise ValuesError(
            f"Results are a table with a row for every data set and a column for every learner. Got {_kind(source)}.",
            hint=f"give a data frame, a two-dimensional array of numbers, a file, or a mapping such as {EXAMPLE}.",
        )
    return None, None, table


def _kind(source: Any) -> str:
    shape = np.shape(source) if isinstance(source, np.ndarray) else None
    return f"an array of {len(shape)} dimensions" if shape is not None and len(shape) != 2 else type(source).__name__


def _from_mapping(source: Mapping[Any, Any]) -> tuple[Sequence[object], Sequence[object] | None, Floats]:
    if not source:
        raise OptionError("There are no results.", hint=f"give a mapping such as {EXAMPLE}.")
    source = {name: _by_row_name(values) for name, values in source.items()}
    named = [isinstance(values, Mapping) for values in source.values()]
    first = next(iter(source))
    if not any(named):
        index_notes({str(name): values for name, values in source.items()})
        sizes = {str(name): np.size(values) for name, values in source.items()}
        if len(set(sizes.values())) > 1:
            shown = listing(f"{name} {size}" for name, size in sizes.items())
            raise ValuesError(
                f"The learners have results on different numbers of data sets: {shown}.",
                hint="give one value for every data set, in the same order.",
            )
        rows = list(source.pop(first)) if len(source) > 1 and str(first).strip().casefold() in NAME_HEADERS else None
        return list(source), rows, np.column_stack([_column(values, name) for name, values in source.items()])
    if not all(named):
        raise ValuesError(
            "Some learners have a list of results and some a mapping from data sets.", hint="give all in one form."
        )
    rows = list(dict.fromkeys(data_set for values in source.values() for data_set in values))
    missing = [
        f"{name} on {data_set}" for name, values in source.items() for data_set in rows if data_set not in values
    ]
    if missing:
        raise ValuesError(
            f"These results are missing: {listing(missing)}.", hint="give every learner a result on every data set."
        )
    columns = [_column([values[data_set] for data_set in rows], name) for name, values in source.items()]
    return list(source), rows, np.column_stack(columns)


def _by_row_name(values: Any) -> Any:
    """A series of pandas whose index holds names as a mapping from these; anything else as it is."""
    index = row_index(values) if np.ndim(values) == 1 else None
    named = index is not None and any(isinstance(name, str) for name in index) and values.index.is_unique
    return dict(zip(index or (), values.tolist(), strict=True)) if named else values


def _column(values: Any, name: object) -> Floats:
    try:
        # None is a missing number, which is refused by name below.
        column = np.asarray(values, dtype=np.float64)
    except OverflowError:
        column = np.array([as_float(value) for value in values])
    except (TypeError, ValueError):
        column = np.empty((0, 0))
    if column.ndim != 1:
        raise ValuesError(f"The results of {name} are not a list of numbers.", hint=ONE_NUMBER)
    return column


def _from_frame(source: Any) -> tuple[Sequence[object], Sequence[object] | None, Floats]:
    import narwhals.stable.v2 as nw

    frame = nw.from_native(source, eager_only=True)
    columns = list(frame.columns)
    texts = [name for name in columns if not frame[name].dtype.is_numeric()]
    first = columns[0] if columns else None
    if not texts and first is not None and str(first).strip().casefold() in NAME_HEADERS:
        texts = [first]
    if len(texts) > 1:
        raise ColumnError(
            f"One column may hold the names of the data sets, the others hold numbers. Got text in {listing(texts)}.",
            hint="leave the columns out that are no results, and check the others for text such as '?' or '0,9'.",
        )
    rows: Sequence[object] | None = frame[texts[0]].to_list() if texts else row_index(source)
    kept = [name for name in columns if name not in texts]
    values = [frame[name].cast(nw.Float64).to_numpy() for name in kept]
    return kept, rows, np.column_stack(values) if values else np.empty((len(frame), 0))


def list_columns(source: Any) -> dict[str, list[Any]] | None:
    """The columns of a frame, of a mapping of lists or of a table of numbers by name; None for anything else.

    The names of the levels of a pandas index are columns too, and so are the names of rows.

    >>> list_columns({"run": [1, 2], "tree": [0.9, 0.8]})
    {'run': [1, 2], 'tree': [0.9, 0.8]}
    >>> list_columns({"tree": {"iris": 0.9, "wine": 0.8}})
    {'index': ['iris', 'wine'], 'tree': [0.9, 0.8]}
    """
    if isinstance(source, Mapping):
        lists = {str(name): _by_row_name(values) for name, values in source.items()}
        rows = row_index(lists)
        if rows is not None:
            full = all(set(values) == set(rows) and not any(map(np.ndim, values.values())) for values in lists.values())
            by_name = {name: [values[row] for row in rows] for name, values in lists.items()} if full else None
            return None if by_name is None else {"index": list(rows), **by_name}
        if not lists or any(isinstance(values, Mapping) or np.ndim(values) != 1 for values in lists.values()):
            return None
        index_notes(lists)
        return (
            {name: list(values) for name, values in lists.items()} if len(set(map(len, lists.values()))) == 1 else None
        )
    if hasattr(source, "columns") or hasattr(source, "column_names"):
        import narwhals.stable.v2 as nw

        called = any(name is not None for name in getattr(getattr(source, "index", None), "names", ()))
        if called or any(isinstance(name, str) for name in row_index(source) or ()):
            source = source.reset_index()
        frame = nw.from_native(source, eager_only=True)
        return {str(name): frame[name].to_list() for name in frame.columns}
    if isinstance(source, np.ndarray | list | tuple):
        _, _, table = _read(source)
        return {f"learner {at + 1}": column.tolist() for at, column in enumerate(table.T)}
    return None


def row_index(source: Any) -> Sequence[object] | None:
    """The row names of a pandas frame or of a mapping of mappings, unless pandas itself has counted them."""
    if isinstance(source, Mapping):
        inner = list(source.values())
        named = bool(inner) and all(isinstance(values, Mapping) for values in inner)
        return list(dict.fromkeys(key for values in inner for key in values)) if named else None
    index = getattr(source, "index", None)
    if index is None or callable(index) or type(index).__name__ == "RangeIndex":
        return None
    return list(index)


def _names(given: Sequence[object] | None, size: int, kind: str) -> tuple[str, ...]:
    names = [f"{kind} {i + 1}" for i in range(size)] if given is None else given
    texts = tuple(str(name) for name in names)
    empty = [row + 1 for row, name in enumerate(names) if str(name).strip() in ("", "None", "nan")]
    if empty and kind == "data set":
        raise OptionError(
            f"There is no name in the rows {listing(empty, most=5)}, while others have one.",
            hint="name every data set, and leave out rows that sum up the others.",
        )
    twice = [name for name in dict.fromkeys(texts) if texts.count(name) > 1]
    if twice:
        raise OptionError(
            f"Names of {kind}s must differ. These stand more than once: {listing(twice)}.", hint="rename them."
        )
    return texts


def _check(table: Floats, learners: tuple[str, ...], data_sets: tuple[str, ...]) -> None:
    for kind, names in (("data sets", data_sets), ("learners", learners)):
        if len(names) < 2:
            raise OptionError(
                f"A comparison over data sets needs at least 2 {kind}. Got {len(names)}.",
                hint=ON_ONE_DATA_SET if kind == "data sets" else "give every learner a column of its own.",
            )
    wrong = np.argwhere(~np.isfinite(table))
    if len(wrong):
        cells = [f"{learners[column]} on {data_sets[row]} ({table[row, column]})" for row, column in wrong.tolist()]
        raise ValuesError(
            f"Every learner needs a finite result on every data set. Not so: {listing(cells, most=8)}.",
            hint="leave out these data sets or these learners; ranks of incomplete rows would not be comparable.",
        )


FRIEDMAN = register_procedure(
    "friedman",
    "data sets",
    "Chi-square of the average ranks, without a correction for ties.",
    "Friedman (1937)",
    "conservative, the more so with ties and with few data sets",
)
FRIEDMAN_TIES = register_procedure(
    "friedman-ties",
    "data sets",
    "Friedman's chi-square divided by what ties take away from it.",
    "Conover (1999)",
    "conservative with few data sets",
)
IMAN_DAVENPORT = register_procedure(
    "iman-davenport",
    "data sets",
    "Friedman's chi-square, without a correction for ties, turned into an F.",
    "Iman & Davenport (1980)",
)
NEMENYI = register_procedure(
    "nemenyi",
    "data sets",
    "Every pair of average ranks against the studentized range.",
    "Nemenyi (1963)",
    "whether two learners differ depends on which others stand in the table (Benavoli, Corani & Mangili, 2016)",
)


@dataclass(frozen=True, slots=True)
class RankTest:
    """A test of whether any learner differs from the others; `df` has one figure, or two for an F."""

    method: str
    statistic: float
    df: tuple[float, ...]
    p: float
    n: int
    note: str = ""


def tied_ranks(values: Any, scale: Any = None) -> Floats:
    """Ranks from the smallest up, ties getting their mean; what differs by rounding alone is a tie.

    `scale` is the size of the numbers that the values are differences of.

    >>> tied_ranks([0.3, 0.1, 0.1 + 0.2]).tolist()
    [2.5, 1.0, 2.5]
    """
    x = np.asarray(values, dtype=np.float64)
    size = np.abs(x) if scale is None else np.broadcast_to(np.asarray(scale, dtype=np.float64), x.shape)
    order = np.argsort(x, kind="stable")
    near = ROUNDING * np.maximum(size[order][1:], size[order][:-1])
    begins = np.concatenate([[True], np.diff(x[order]) > near])
    group = np.cumsum(begins) - 1
    count = np.bincount(group)
    last = np.cumsum(count)
    ranks = np.empty(len(x))
    ranks[order] = (last - (count - 1) / 2)[group]
    return ranks


def rank_table(table: ResultTable) -> Floats:
    """The rank of every learner on every data set, 1 for the best."""
    sign = -1.0 if table.higher_is_better else 1.0
    return np.array([tied_ranks(sign * row) for row in table.values])


def friedman(ranks: Floats, *, ties: bool = True) -> RankTest:
    """Friedman's chi-square, with or without the correction for ties.

    >>> result = friedman(np.array([[1.0, 2.0, 3.0], [1.0, 3.0, 2.0], [1.0, 2.0, 3.0]]))
    >>> round(result.statistic, 3), round(result.p, 3)
    (4.667, 0.097)
    """
    from scipy.special import chdtrc

    n, k = ranks.shape
    used = FRIEDMAN_TIES if ties else FRIEDMAN
    chi = _chi_square(ranks)
    if ties:
        # The ranks of a row without ties have the sum of squares k(k + 1)(2k + 1)/6; each tie takes something away.
        kept = (float((ranks**2).sum()) - n * k * (k + 1) ** 2 / 4) / (n * k * (k * k - 1) / 12)
        if kept <= ROUNDING:
            return RankTest(used.name, 0.0, (k - 1.0,), 1.0, n, "all learners are equal on every data set")
        chi /= kept
    return RankTest(used.name, chi, (k - 1.0,), float(chdtrc(k - 1, chi)), n)


def _chi_square(ranks: Floats) -> float:
    n, k = ranks.shape
    return float(12 * n / (k * (k + 1)) * ((ranks.mean(axis=0) - (k + 1) / 2) ** 2).sum())


def iman_davenport(ranks: Floats) -> RankTest:
    """Iman and Davenport's F, from Friedman's chi-square without the correction for ties, as Demšar (2006) has it.

    Where all data sets rank alike F is infinite, and p is that of so many equal orders by chance.

    >>> result = iman_davenport(np.array([[1.0, 2.0, 3.0], [1.0, 3.0, 2.0], [1.0, 2.0, 3.0]]))
    >>> round(result.statistic, 3), result.df
    (7.0, (2.0, 4.0))
    """
    from scipy.special import fdtrc

    n, k = ranks.shape
    chi, df = _chi_square(ranks), (k - 1.0, (k - 1.0) * (n - 1))
    left = n * (k - 1) - chi
    if left <= ROUNDING * n * k:
        p = math.exp(-(n - 1) * math.lgamma(k + 1))
        return RankTest(IMAN_DAVENPORT.name, math.inf, df, p, n, "all data sets rank the learners alike; p is exact")
    statistic = (n - 1) * chi / left
    exact = exact_rank_chance(ranks)
    if exact is not None:
        return RankTest(IMAN_DAVENPORT.name, statistic, df, exact, n, "p is exact: of all orders on every data set")
    return RankTest(IMAN_DAVENPORT.name, statistic, df, float(fdtrc(*df, statistic)), n)


# Up to this many data sets and rank sums, p is exact, from all orders: with 3 data sets and 3 learners F at .05
# rejects 19 % of true nulls, with 4 data sets 7 %.
MOST_EXACT, MOST_SUMS = 12, 200_000


def exact_rank_chance(ranks: Floats) -> float | None:
    """The chance of rank sums that differ at least as much, if every order of a row is as likely; None where too many.

    >>> round(exact_rank_chance(np.array([[1.0, 2.0, 3.0], [1.0, 3.0, 2.0], [1.0, 2.0, 3.0]])), 3)
    0.194
    """
    n, k = ranks.shape
    if n > MOST_EXACT or math.factorial(k) > MOST_SUMS:
        return None
    # Twice the ranks are whole numbers, ties included.
    rows = np.rint(2 * ranks).astype(np.int64)
    orders = np.array(list(permutations(range(k))))
    sums, chance = rows[:1], np.ones(1)
    for row in rows[1:]:
        steps, times = np.unique(row[orders], axis=0, return_counts=True)
        if len(sums) * len(steps) > MOST_SUMS:
            return None
        every = (sums[:, None, :] + steps[None, :, :]).reshape(-1, k)
        sums, sum_index = np.unique(every, axis=0, return_inverse=True)
        weights = np.outer(chance, times / times.sum()).ravel()
        chance = np.asarray(np.bincount(sum_index.ravel(), weights=weights, minlength=len(sums)), dtype=np.float64)
    spread = (sums**2).sum(axis=1)
    return float(chance[spread >= (rows.sum(axis=0) ** 2).sum()].sum())


def rank_error(n: int, k: int) -> float:
    """The standard error of the difference of two average ranks of k learners over n data sets.

    >>> round(rank_error(14, 4), 3)
    0.488
    """
    return math.sqrt(k * (k + 1) / (6 * n))


def rank_z(ranks: Floats) -> Floats:
    """The difference of every pair of average ranks in standard errors: row less column."""
    mean = ranks.mean(axis=0)
    return np.asarray((mean[:, None] - mean[None, :]) / rank_error(*ranks.shape))


def normal_p(z: Any) -> Floats:
    """The two-sided p of a standard normal figure.

    >>> normal_p([0.0, 1.959964]).round(4).tolist()
    [1.0, 0.05]
    """
    from scipy.special import ndtr

    return np.asarray(2 * ndtr(-np.abs(np.asarray(z, dtype=np.float64))))


def nemenyi_p(z: Any, k: int) -> Floats:
    """Nemenyi's p of differences of ranks in standard errors, among k learners.

    >>> nemenyi_p([0.0, 2.569032], 4).round(4).tolist()
    [1.0, 0.05]
    """
    from scipy.stats import studentized_range

    size = np.abs(np.asarray(z, dtype=np.float64))
    distinct, back = np.unique(size, return_inverse=True)
    # The integral is slow, so each figure is worked out once; its rounding may reach past 0.
    tails = np.array([1.0 if not x else float(studentized_range.sf(x * math.sqrt(2), k, np.inf)) for x in distinct])
    return np.asarray(np.clip(tails[back].reshape(size.shape), 0.0, 1.0))


def nemenyi_difference(n: int, k: int, level: float = 0.95) -> float:
    """The critical difference: how far two average ranks must lie apart, among all pairs.

    >>> round(nemenyi_difference(14, 4), 3)
    1.254
    """
    from scipy.stats import studentized_range

    return float(studentized_range.ppf(level, k, np.inf)) / math.sqrt(2) * rank_error(n, k)


def dunn_difference(n: int, k: int, level: float = 0.95, comparisons: int | None = None) -> float:
    """Bonferroni and Dunn's critical difference from one control, or among so many comparisons.

    >>> round(dunn_difference(14, 4), 3)
    1.168
    """
    return z_value(1 - (1 - level) / (comparisons or k - 1)) * rank_error(n, k)


def wins_and_ties(ranks: Floats) -> tuple[Integers, Integers]:
    """On how many data sets the learner of the row beats that of the column, and on how many they are equal.

    >>> wins, ties = wins_and_ties(np.array([[1.0, 2.0], [1.5, 1.5], [1.0, 2.0]]))
    >>> int(wins[0, 1]), int(ties[0, 1]), int(wins[1, 0])
    (2, 1, 0)
    """
    wins = (ranks[:, :, None] < ranks[:, None, :]).sum(axis=0)
    ties = (ranks[:, :, None] == ranks[:, None, :]).sum(axis=0)
    np.fill_diagonal(ties, 0)
    return wins.astype(np.int64), ties.astype(np.int64)
