"""Scores counted by the workers of a cluster, each the rows that it holds, where heldout is installed on them.

Every column of scores, its losses, groups and folds are counted in one reading, and only what was counted travels. It
stands apart from the expressions of `score_pass`, which need nothing of ours where the rows are.
"""

from __future__ import annotations

import pickle
import sys
import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from heldout.engines.bins import bins_of
from heldout.engines.lazy.label_pass import SettledLabels, places_of
from heldout.engines.lazy.passes import begin_pass
from heldout.engines.lazy.sum_tables import keyed
from heldout.engines.memory import most_bins
from heldout.engines.probability_sums import tally, tally_classes
from heldout.engines.score_tallies import LabelledScores, ScoreKind, Tallies
from heldout.engines.spark import is_spark
from heldout.errors import ValuesError
from heldout.evidence import Label
from heldout.evidence.bin_grid import POINT, Ladder, distinct
from heldout.evidence.counted import ScoreTally, class_columns, sided
from heldout.evidence.score_bins import MOST, ScoreBins
from heldout.predictions.case_values import groups
from heldout.predictions.label_encoding import encode

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw

# Rows that are counted at once: Spark hands over ten thousand at a time, which is too few to be worth a pass.
ROWS_AT_ONCE = 1 << 18
# Counters for a million bins are not worth their while for fewer rows.
FEW_ROWS = 1 << 14
# What more workers than this counted is merged by some of them before it travels.
MOST_PARTS = 16


@dataclass(frozen=True, eq=False)
class PartTallies:
    """What was counted of some of the rows: all of them together, and those of each fold that was met."""

    whole: ScoreTally
    folds: Mapping[Any, ScoreTally] = field(default_factory=dict)

    def __add__(self, other: object) -> PartTallies:
        if not isinstance(other, PartTallies):
            return NotImplemented
        folds = dict(self.folds)
        for key, part in other.folds.items():
            folds[key] = add_tallies(folds[key], part) if key in folds else part
        return PartTallies(add_tallies(self.whole, other.whole), folds)

    def packed(self) -> bytes:
        """The same as few bytes; the quickest compression, because bins that were not met are many zeros."""
        return zlib.compress(pickle.dumps(self, protocol=5), 1)


def add_tallies(left: ScoreTally, right: ScoreTally) -> ScoreTally:
    """What was counted of two parts; too many distinct scores go to the bins in which one reader would count them."""
    if left.labels or left.bins[0].weights is not None or left.bins[0].groups is not None:
        return left + right
    sides = [left.bins[0], right.bins[0]]
    ladder = Ladder.of(min(side.most for side in sides))
    single = all(side.base == POINT for side in sides)
    if ladder is None or (single and len(distinct(np.concatenate([side.low for side in sides]))) <= sides[0].most):
        return left + right
    lifted = [_lift_to(side, ladder) for side in sides]
    return replace(left, bins=(lifted[0],)) + replace(right, bins=(lifted[1],))


def _lift_to(bins: ScoreBins, ladder: Ladder) -> ScoreBins:
    """Distinct scores between 0 and 1 in the bins of a ladder; what is in bins already, or beyond, as it is."""
    if bins.base != POINT or not len(bins) or bins.least < 0 or bins.greatest > 1:
        return bins
    cells = ladder.cells(bins.low)
    starts = np.flatnonzero(np.diff(cells, prepend=-1))
    low, exponent = ladder.edges(cells[starts])
    counts = np.stack([np.add.reduceat(column, starts) for column in bins.counts.T], axis=1)
    return replace(bins, low=low, exponent=exponent, counts=counts, base=-ladder.bits)


def merge_packed(parts: Iterable[bytes]) -> PartTallies | None:
    """What was counted of all parts, merged in the order of the parts; None where there are none."""
    merged: PartTallies | None = None
    for part in parts:
        # Written by our own workers a moment ago, over the cluster's own channel, which carries programs as well.
        tallies: PartTallies = pickle.loads(zlib.decompress(part))  # noqa: S301
        merged = tallies if merged is None else merged + tallies
    return merged


@dataclass(frozen=True, eq=False)
class ScoreTask:
    """What a worker has to know to count scores: the classes, which columns there are, and what the scores are.

    `columns` are the scores in the order of the classes, or the one of the positive class, whose place among the labels
    is `positive`. Scores that are no probabilities (`unfit`) have no losses.
    """

    labels: tuple[Label, ...]
    columns: tuple[str, ...]
    positive: int
    weighted: bool
    grouped: bool
    folded: bool
    unfit: Any
    called: Mapping[str, str]

    @classmethod
    def of(cls, settled: SettledLabels, *, folded: bool) -> ScoreTask:
        """The task for the rows of a lazy frame whose labels are known."""
        scores = settled.predictions.scores
        return cls(
            settled.labels,
            tuple(f"score_{column}" for column in settled.columns),
            settled.positive,
            settled.weighted,
            settled.grouped,
            folded,
            None if scores is None else scores.unfit,
            settled.roles.called,
        )

    @property
    def needed(self) -> list[str]:
        """The columns that are read."""
        named = {"weight": self.weighted, "group": self.grouped, "fold": self.folded}
        return ["truth", *(role for role, is_there in named.items() if is_there), *dict.fromkeys(self.columns)]

    @property
    def per_class(self) -> bool:
        """Whether every class has a column of scores."""
        return len(self.columns) > 1

    def count(self, frames: Iterable[Any]) -> PartTallies | None:
        """Count frames of any library, one after the other; None where they have no rows."""
        kept_labels = self.labels if self.per_class else ()
        tallies = Tallies(ScoreKind(kept_labels, self.weighted))
        folds: dict[Any, None] = {}
        apart: list[PartTallies] = []
        rows = 0
        for native in frames:
            scored = self._read(native)
            if self.grouped or len(scored.codes) < FEW_ROWS:
                apart += [self._count_apart(scored)] if len(scored.codes) else []
                continue
            rows += len(scored.codes)
            tallies.add(scored)
            folds |= dict.fromkeys(() if scored.fold is None else scored.fold.met())
        if rows:
            whole, parts = tallies.made(tuple(folds), self.unfit)
            apart = [PartTallies(whole, dict(zip(folds, parts, strict=True))), *apart]
        return reduce(add, apart) if apart else None

    def _read(self, native: Any) -> LabelledScores:
        import narwhals.stable.v2 as nw

        frame: nw.DataFrame[Any] = nw.from_native(native, eager_only=True)

        def numbers(name: str) -> NDArray[np.float64]:
            return np.asarray(frame.get_column(name).to_numpy()).astype(np.float64)

        codes = places_of(encode(frame.get_column("truth").to_native(), "truth"), self.labels)
        if len(codes) and int(codes.min()) < 0:
            raise ValuesError(
                "The rows changed between one reading and the next. A class was not met in the first.",
                hint="count data that nobody writes to meanwhile, and write down rows that are drawn at random first.",
            )
        columns = [numbers(name) for name in self.columns]
        group = keyed(groups(frame.get_column("group").to_native(), self.called["group"])) if self.grouped else None
        return LabelledScores(
            np.stack(columns, axis=1) if self.per_class else columns[0],
            codes if self.per_class else codes == self.positive,
            numbers("weight") if self.weighted else None,
            group,
            groups(frame.get_column("fold").to_native(), self.called["fold"]) if self.folded else None,
            self.unfit is None,
        )

    def _count_apart(self, scored: LabelledScores) -> PartTallies:
        """Rows in groups, each of which has its own counts, and rows that are so few that they are sorted instead."""
        folds = {key: self._tally(rows) for key, rows in scored.folds().items()}
        return PartTallies(self._tally(scored), folds)

    def _tally(self, scored: LabelledScores) -> ScoreTally:
        weight, group, k = scored.weight, scored.group, len(self.labels)
        losses = None
        if not self.per_class:
            if scored.probable:
                losses = tally(scored.scores, scored.codes, weight, group=group)
            bins = bins_of(scored.scores, scored.codes, 2, weight=weight, group=group)
            return ScoreTally((bins,), losses, self.unfit)
        if scored.probable:
            losses = tally_classes(scored.scores, scored.codes, weight, group=group, n_classes=k)
        every = tuple(
            bins_of(
                np.ascontiguousarray(scored.scores[:, at]), sided(scored.codes, at, k), class_columns(k),
                weight=weight, group=group, most=most_bins(k),
            )
            for at in range(k)
        )  # fmt: skip
        return ScoreTally(every, losses, self.unfit, self.labels)


def count_on_workers(rows: nw.LazyFrame[Any], task: ScoreTask, most: int, needed: int = 0) -> PartTallies | None:
    """What the workers of Spark or Dask count of these rows; None where they cannot, so that expressions must.

    `needed` are the bytes that the counts may take here.
    """
    on_dask = rows.implementation.is_dask()
    if most != MOST or not (on_dask or is_spark(rows)):
        return None
    native: Any = rows.select(*task.needed).to_native()
    if not (is_on_dask() if on_dask else is_on_spark(native.sparkSession)):
        return None
    begin_pass(needed=needed)
    return _count_on_dask(native, task) if on_dask else _count_on_spark(native, task)


def is_on_dask() -> bool:
    """Whether the workers of Dask have heldout, in the version that asks; without a cluster they are this process."""
    try:
        from distributed import get_client

        client = get_client()
    except (ImportError, ValueError):
        return True
    return set(client.run(_version_teller()).values()) == {_our_version()}


# Whether the workers of a Spark session have this version of heldout; asked once of each.
_ASKED: WeakKeyDictionary[Any, bool] = WeakKeyDictionary()


def is_on_spark(session: Any) -> bool:
    """Whether the workers of a Spark session have heldout, in the version that asks."""
    if session not in _ASKED:
        tell = _version_teller()

        def tell_batches(batches: Iterator[Any]) -> Iterator[Any]:
            import pyarrow as pa  # type: ignore[import-untyped]

            for _ in batches:
                yield pa.RecordBatch.from_pydict({"version": [tell()]})

        try:
            with _without_warnings():
                told = session.range(1, numPartitions=1).mapInArrow(tell_batches, "version string").collect()
        except Exception:  # noqa: BLE001 - no Python or no Arrow there: whatever is missing, expressions do without
            told = []
        _ASKED[session] = [row["version"] for row in told] == [_our_version()]
    return _ASKED[session]


def _our_version() -> str:
    """The version that is running; not asked of what is installed, which need not be the same."""
    return str(sys.modules["heldout"].__dict__["__version__"])


def _version_teller() -> Callable[[], str]:
    """Says which heldout a worker has, none where it has none; it travels as it is, because it has no name there."""

    def tell() -> str:
        import importlib

        try:
            return str(importlib.import_module("heldout").__dict__["__version__"])
        except ImportError:
            return ""

    return tell


def _count_on_spark(native: Any, task: ScoreTask) -> PartTallies | None:
    with _without_warnings():
        counted = native.mapInArrow(_counting(task), "nest int, part int, counted binary")
        parts = counted.groupBy("nest").applyInArrow(_merge_nest, "nest int, counted binary").collect()
    return merge_packed(bytes(row["counted"]) for row in sorted(parts, key=lambda row: int(row["nest"])))


@contextmanager
def _without_warnings() -> Iterator[None]:
    """Spark says of every new pandas, which is not used here, that it does not know it yet."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        yield


def _counting(task: ScoreTask) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """What a worker of Spark does with the batches of its rows."""

    def count(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa
        from pyspark import TaskContext

        counted = task.count(_gathered(batches))
        if counted is not None:
            context = TaskContext.get()
            part = 0 if context is None else context.partitionId()
            kinds = pa.schema({"nest": pa.int32(), "part": pa.int32(), "counted": pa.binary()})
            row = {"nest": [part % MOST_PARTS], "part": [part], "counted": [counted.packed()]}
            yield pa.RecordBatch.from_pydict(row, kinds)

    return count


def _gathered(batches: Iterable[Any]) -> Iterator[Any]:
    """Batches of Arrow put together, so many rows at once."""
    import pyarrow as pa

    held: list[Any] = []
    rows = 0
    for batch in batches:
        held.append(batch)
        rows += batch.num_rows
        if rows >= ROWS_AT_ONCE:
            yield pa.Table.from_batches(held)
            held, rows = [], 0
    if rows:
        yield pa.Table.from_batches(held)


def _merge_nest(table: Any) -> Any:
    """What was counted of some parts, merged in their order by the worker that it was sent to."""
    import pyarrow as pa

    ordered = table.sort_by("part")
    merged = merge_packed(ordered.column("counted").to_pylist())
    columns = {"nest": ordered.column("nest").to_pylist()[:1], "counted": [] if merged is None else [merged.packed()]}
    return pa.Table.from_pydict(columns, pa.schema({"nest": pa.int32(), "counted": pa.binary()}))


def _count_on_dask(native: Any, task: ScoreTask) -> PartTallies | None:
    """The partitions of a Dask frame, counted where they are and merged a few at a time."""
    from dask.base import compute
    from dask.delayed import delayed

    count, merge = delayed(_count_partition), delayed(_merge_parts)
    parts = [count(task, part) for part in native.to_delayed()]
    while len(parts) > MOST_PARTS:
        parts = [merge(parts[at : at + MOST_PARTS]) for at in range(0, len(parts), MOST_PARTS)]
    counted: Sequence[bytes] = compute(*parts)  # type: ignore[no-untyped-call]
    return merge_packed(part for part in counted if part)


def _count_partition(task: ScoreTask, part: Any) -> bytes:
    counted = task.count([part])
    return b"" if counted is None else counted.packed()


def _merge_parts(parts: Sequence[bytes]) -> bytes:
    merged = merge_packed(part for part in parts if part)
    return b"" if merged is None else merged.packed()
