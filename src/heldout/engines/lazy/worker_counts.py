"""Scores counted by the workers of a cluster, each the rows that it holds, where heldout is installed on them.

Every column of scores, its losses, groups and folds are counted in one reading, and only what was counted travels. It
stands apart from the expressions of `score_pass`, which need nothing of ours where the rows are.
"""

from __future__ import annotations

import pickle
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add
from typing import Any
from weakref import WeakKeyDictionary

import narwhals.stable.v2 as nw
import numpy as np

from heldout.engines.labelled_scores import LabelledScores
from heldout.engines.lazy.dask_workers import find_client
from heldout.engines.lazy.label_pass import SettledLabels, places_of
from heldout.engines.lazy.passes import begin_pass
from heldout.engines.lazy.sum_tables import group_codes, numbers
from heldout.engines.score_tallies import ScoreKind, Tallies
from heldout.engines.spark import is_spark, without_pandas_warning
from heldout.errors import ValuesError
from heldout.evidence import Label
from heldout.evidence.bin_grid import POINT, Ladder, distinct
from heldout.evidence.counted import ScoreTally
from heldout.evidence.score_bins import MOST, ScoreBins
from heldout.predictions.case_values import groups

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


def pack(counted: PartTallies | None) -> bytes:
    """What was counted as few bytes; the quickest compression, because bins that were not met are many zeros."""
    return b"" if counted is None else zlib.compress(pickle.dumps(counted, protocol=5), 1)


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
    for part in filter(None, parts):
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
        frame: nw.DataFrame[Any] = nw.from_native(native, eager_only=True)
        codes = places_of(frame.get_column("truth").to_native(), self.labels)
        if len(codes) and int(codes.min()) < 0:
            raise ValuesError(
                "The rows changed between one reading and the next. A class was not met in the first.",
                hint="count data that nobody writes to meanwhile, and write down rows that are drawn at random first.",
            )
        columns = [numbers(frame, name) for name in self.columns]
        group = group_codes(frame, self.called["group"]) if self.grouped else None
        return LabelledScores(
            np.stack(columns, axis=1) if self.per_class else columns[0],
            codes if self.per_class else codes == self.positive,
            numbers(frame, "weight") if self.weighted else None,
            group,
            groups(frame.get_column("fold").to_native(), self.called["fold"]) if self.folded else None,
            self.unfit,
        )

    def _count_apart(self, scored: LabelledScores) -> PartTallies:
        """Rows in groups, each of which has its own counts, and rows that are so few that they are sorted instead."""
        labels = self.labels if self.per_class else ()
        return PartTallies(scored.tally(labels), {key: rows.tally(labels) for key, rows in scored.folds().items()})


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
    client = find_client()
    return client is None or set(client.run(_version_teller()).values()) == {_our_version()}


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
            with without_pandas_warning():
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
    with without_pandas_warning():
        counted = native.mapInArrow(_counting(task), "nest long, part long, counted binary")
        parts = counted.groupBy("nest").applyInArrow(_merge_nest, "nest long, counted binary").collect()
    return merge_packed(bytes(row["counted"]) for row in sorted(parts, key=lambda row: int(row["nest"])))


def _counting(task: ScoreTask) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """What a worker of Spark does with the batches of its rows."""

    def count(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa
        from pyspark import TaskContext

        if counted := pack(task.count(_gathered(batches))):
            context = TaskContext.get()
            part = 0 if context is None else context.partitionId()
            yield pa.RecordBatch.from_pydict({"nest": [part % MOST_PARTS], "part": [part], "counted": [counted]})

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
    merged = pack(merge_packed(ordered.column("counted").to_pylist()))
    return pa.Table.from_pydict({"nest": ordered.column("nest").to_pylist()[:1], "counted": [merged]})


def _count_on_dask(native: Any, task: ScoreTask) -> PartTallies | None:
    """The partitions of a Dask frame, counted where they are and merged a few at a time."""
    from dask.base import compute
    from dask.delayed import delayed

    count, merge = delayed(_count_partition), delayed(lambda parts: pack(merge_packed(parts)))
    parts = [count(task, part) for part in native.to_delayed()]
    while len(parts) > MOST_PARTS:
        parts = [merge(parts[at : at + MOST_PARTS]) for at in range(0, len(parts), MOST_PARTS)]
    counted: Sequence[bytes] = compute(*parts)  # type: ignore[no-untyped-call]
    return merge_packed(counted)


def _count_partition(task: ScoreTask, part: Any) -> bytes:
    return pack(task.count([part]))
