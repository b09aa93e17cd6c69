"""The predictions of several classifiers to the same cases, joined and counted where the rows are.

Two readings: the joint counts of truth and answers, and, where scores are compared, sums over the joined cases. One
more looks for groups that differ. Only tables of distinct labels, of groups and of bins travel.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import combinations
from operator import mul
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from heldout.arguments import listing, require
from heldout.arrays import Codes
from heldout.engines.lazy.label_pass import highest_place, lacks, places_of
from heldout.engines.lazy.roles import as_text
from heldout.engines.lazy.score_pass import times
from heldout.engines.lazy.sum_tables import collect_polars, send_table, two_class_case
from heldout.errors import OptionError, ValuesError
from heldout.evidence import Label
from heldout.evidence.joint_counts import GapSums, GroupedSums, IndexPair, JointScores, PairCounts, Placements
from heldout.evidence.losses import LOSSES
from heldout.evidence.score_bins import POINT, ScoreBins
from heldout.predictions.alignment import common_labels, other_cases, other_sizes, other_truth, other_units
from heldout.threads import cached_property

# The columns of a side are t, p, s and g with its place: truth, answer, score and group. This one names the case.
CASE = "case"


@dataclass(frozen=True, eq=False)
class LazySide:
    """One classifier: a narwhals lazy frame, the names of its columns, and what was counted of them before.

    Without a column of predictions the answer is the positive class from the threshold on or, where there are `each`, a
    column of scores for each label, the class with the highest. `in_order` says that `id` is the number of the row, for
    want of a name of the case. No id stands twice: whoever counted the rows has looked.
    """

    name: str
    frame: Any
    labels: tuple[Label, ...]
    n: int
    truth: str
    predicted: str | None = None
    score: str | None = None
    id: str | None = None
    positive: Label | None = None
    threshold: float | None = None
    bins: ScoreBins | None = None
    losses: Mapping[str, float] | None = None
    in_order: bool = False
    group: str | None = None
    each: tuple[str, ...] = ()


def columns_of(side: LazySide, at: int, *more: LazySide) -> Any:
    """The columns of one side under names of our own, without rows that lack a value; of several in one frame too."""
    schema = side.frame.collect_schema()
    expressions: dict[str, Any] = {f"t{at}": as_text(side.truth, schema)}
    used = [side.truth]
    if side.id is not None:
        expressions[CASE] = nw.col(side.id)
        used.append(side.id)
    if side.group is not None:
        expressions[f"g{at}"] = as_text(side.group, schema)
        used.append(side.group)
    for index, own in enumerate((side, *more), start=at):
        if own.predicted is not None:
            expressions[f"p{index}"] = as_text(own.predicted, schema)
            used.append(own.predicted)
        elif own.each:
            scores = [nw.col(column).cast(nw.Float64) for column in own.each]
            expressions[f"p{index}"] = highest_place(scores, nw.max_horizontal(*scores))
            used += own.each
        if own.score is not None:
            score = nw.col(own.score).cast(nw.Float64)
            # −0 and 0 are one score.
            expressions[f"s{index}"] = score + 0.0
            used.append(own.score)
            if own.predicted is None and own.threshold is not None:
                expressions[f"p{index}"] = (score >= own.threshold).cast(nw.Int64)
    return without_gaps(side.frame, used).select(**expressions)


def without_gaps(frame: Any, columns: Sequence[str]) -> Any:
    """The rows of a narwhals frame in which all of these columns have a value.

    >>> import narwhals.stable.v2 as nw
    >>> import polars as pl
    >>> whole = without_gaps(nw.from_native(pl.LazyFrame({"x": [1.0, None, float("nan")]})), ["x"])
    >>> whole.collect().to_dict(as_series=False)
    {'x': [1.0]}
    """
    schema = frame.collect_schema()
    wanted = dict.fromkeys(columns)
    return frame.filter(*(~lacks(nw.col(column), floats=schema[column].is_float()) for column in wanted))


N = "n"


def rows_counted() -> Any:
    """The number of rows, under the name that tables have for it here."""
    return nw.len().alias(N)


def alike_ids(parts: Sequence[Any], sides: Sequence[LazySide]) -> list[Any]:
    """The parts with ids of one type: 7 in one frame may be "7" or 7.0 in the other."""
    kinds = [part.collect_schema()[CASE] for part in parts]
    if all(map(_fits, kinds)):
        wanted: Any = nw.Int64
    elif len(set(kinds)) == 1 and not kinds[0].is_float() and kinds[0] not in (nw.Categorical, nw.Enum):
        return list(parts)
    elif all(kind.is_integer() or _is_whole(kind) for kind in kinds):
        # As floats, large numbers would fall together; of another sign or width they do not fit.
        wanted = nw.String
    elif all(kind.is_numeric() for kind in kinds):
        wanted = nw.Float64
    elif any(kind.is_float() for kind in kinds):
        shown = ", ".join(f"{side.name} {kind}" for side, kind in zip(sides, kinds, strict=True))
        raise ValuesError(
            f"The ids are numbers with a point in one frame and text in another: {shown}.",
            hint="make both whole numbers, or both text.",
        )
    else:
        wanted = nw.String
    return [part.with_columns(nw.col(CASE).cast(wanted)) for part in parts]


def _fits(kind: Any) -> bool:
    """Whether every number of a type is a signed one of 64 bits; hashes may be larger."""
    return bool(kind.is_integer()) and kind not in (nw.UInt64, nw.Int128, nw.UInt128)


def _is_whole(kind: Any) -> bool:
    """Whether a type is of decimals without a point, as Spark has for unsigned numbers of 64 bits."""
    return bool(kind.is_decimal()) and getattr(kind, "scale", None) == 0


def _shown(frame: Any, number: int) -> str:
    ids = collect_polars(frame.select(CASE).sort(CASE).head(3))[CASE].to_list()
    texts = [str(int(x) if isinstance(x, float) and x.is_integer() else x) for x in ids]
    return listing(texts, most=3) + (f" and {number - len(texts):,} more" if number > len(texts) else "")


def check_matched(sides: Sequence[LazySide], matched: int) -> None:
    """Refuse cases that not all of them judged."""
    if all(side.n == matched for side in sides):
        return
    if all(side.in_order for side in sides):
        raise other_sizes({side.name: side.n for side in sides})
    parts = alike_ids([columns_of(side, at) for at, side in enumerate(sides)], sides)
    for index in range(1, len(sides)):
        gone = []
        for there, here in ((0, index), (index, 0)):
            left = parts[there].join(parts[here].select(CASE), on=CASE, how="anti")
            number = int(collect_polars(left.select(nw.len().alias(N)))[N][0])
            gone.append((number, _shown(left, number) if number else "", sides[there].name, sides[here].name))
        if any(number for number, *_ in gone):
            raise other_cases(gone)
    shown = ", ".join(f"{side.name} has {side.n:,}" for side in sides)
    raise ValuesError(
        f"The rows changed while they were counted: {shown} cases, and {matched:,} were matched.",
        hint="compare data that nobody writes to meanwhile.",
    )


def check_truths(
    sides: Sequence[LazySide], frame: Any, table: Any, truths: Sequence[Codes], counts: Codes, labels: Sequence[Label]
) -> None:
    """Refuse cases of which two sides hold a different truth; `table` has the values that the codes stand for."""
    for at in range(1, len(sides)):
        wrong = np.flatnonzero(truths[0] != truths[at])
        if not len(wrong):
            continue
        row = int(wrong[0])
        raw = table["t0"][row], table[f"t{at}"][row]
        cases = frame.filter(nw.col("t0") == raw[0], nw.col(f"t{at}") == raw[1]).select(CASE).sort(CASE).head(1)
        case = collect_polars(cases)[CASE][0]
        raise other_truth(
            (sides[0].name, sides[at].name), int(counts[wrong].sum()), int(counts.sum()),
            str(int(case) if isinstance(case, float) and case.is_integer() else case),
            (labels[truths[0][row]], labels[truths[at][row]]),
        )  # fmt: skip


def check_groups(sides: Sequence[LazySide], frame: Any) -> None:
    """Refuse groups that are not the same for all of them, whatever they are called."""
    if sides[0].group is None:
        return
    for at in range(1, len(sides)):
        table = collect_polars(frame.group_by("g0", f"g{at}").agg(rows_counted()))
        if not len(table) == table["g0"].n_unique() == table[f"g{at}"].n_unique():
            raise other_units(sides[0].name, sides[at].name, "group")


def joint_scores(frame: Any, sides: Sequence[LazySide], positives: Sequence[Any]) -> JointScores:
    """Join every case with its placements, and sum up by class; a narwhals lazy frame with t0, s0, s1 … is given.

    `positives` are the values of t0 that stand for the positive class. Where it has a column g0, sums are also made by
    its groups.
    """
    placed = tuple(Placements.of(require(side.bins, "these have scores")) for side in sides)
    frame = frame.with_columns(up=nw.col("t0").is_in(list(positives)))
    for at, own in enumerate(placed):
        frame = frame.with_columns(_key(at, own.base)).join(_table(at, own, frame), on=f"k{at}", how="inner")
    losses = [side.losses for side in sides if side.losses is not None]
    duels = list(combinations(range(len(sides)), 2))
    likely = len(losses) == len(sides)
    means = {name: [own.get(name, 0.0) for own in losses] for name in LOSSES if likely}
    shifts = {(name, (a, b)): own[a] - own[b] for a, b in duels for name, own in means.items()}
    frame = frame.with_columns(*_each_side(len(sides), likely=likely))
    terms = {name: term for duel in duels for name, term in _terms(duel, shifts).items()}
    keys = ["up", *(["g0"] if sides[0].group is not None else [])]
    terms |= {f"v{at}": nw.col(f"v{at}") for at in range(len(sides)) if "g0" in keys}
    rows = frame.select(*keys, **terms)
    table = collect_polars(rows.group_by(keys).agg(nw.len().alias("n"), nw.col(*terms).sum()))
    sums = _by_class(table, list(terms))
    _check_same_rows(sums, sides)
    joint = _made(placed, duels, sums, shifts)
    return replace(joint, groups=_by_group(table, len(sides), shifts)) if "g0" in keys else joint


def _by_class(table: Any, wanted: Sequence[str]) -> dict[bool, dict[str, Any]]:
    """The sums of each class; sums of many groups are added with care, as every engine adds its own."""
    by_class = {}
    for up in (True, False):
        part = table.filter(table["up"] == up)
        by_class[up] = {"n": int(part["n"].sum())} | {name: math.fsum(map(float, part[name])) for name in wanted}
    return by_class


def _check_same_rows(sums: dict[bool, dict[str, Any]], sides: Sequence[LazySide]) -> None:
    """Refuse sums over other rows than those whose scores were counted before."""
    numbers = sums[False]["n"], sums[True]["n"]
    for side in sides:
        before = tuple(require(side.bins, "these have scores").counts.sum(axis=0).tolist())
        if numbers != before:
            raise ValuesError(
                f"The rows changed while they were compared: {before[1]:,} positive and {before[0]:,} negative cases "
                f"were counted first, and {numbers[1]:,} and {numbers[0]:,} were met later.",
                hint="compare data that nobody writes to meanwhile.",
            )


def _by_group(table: Any, m: int, shifts: dict[tuple[str, IndexPair], float]) -> GroupedSums:
    up = table["up"].to_numpy().astype(bool)
    keys, code = np.unique(table["g0"].cast(str).to_numpy(), return_inverse=True)

    def summed(name: str, rows: NDArray[np.bool_]) -> NDArray[np.float64]:
        values = table[name].to_numpy().astype(np.float64)
        return np.bincount(code[rows], weights=values[rows], minlength=len(keys)).astype(np.float64)

    every = np.ones(len(up), dtype=np.bool_)
    gaps: dict[str, dict[IndexPair, NDArray[np.float64]]] = {}
    for name, duel in shifts:
        gaps.setdefault(name, {})[duel] = summed(_named(name, duel), every)
    sides = [np.stack([summed(f"v{at}", rows) for at in range(m)]) for rows in (up, ~up)]
    positives, negatives = (summed("n", rows).astype(np.int64) for rows in (up, ~up))
    return GroupedSums(positives, negatives, sides[0], sides[1], gaps)


def _key(at: int, base: int) -> Any:
    score = nw.col(f"s{at}")
    return (score if base == POINT else times(score, -base).floor() + 0.0).alias(f"k{at}")


def _table(at: int, placed: Placements, beside: Any) -> Any:
    import polars as pl

    columns = {f"k{at}": placed.key, f"u{at}": placed.up, f"d{at}": placed.down, f"o{at}": np.arange(len(placed.key))}
    return send_table(pl.DataFrame(columns), beside)


def _each_side(m: int, *, likely: bool) -> list[Any]:
    """The placement of every case by each score, and its losses."""
    expressions = []
    for at in range(m):
        expressions.append(nw.when(nw.col("up")).then(nw.col(f"u{at}")).otherwise(nw.col(f"d{at}")).alias(f"v{at}"))
        if likely:
            score = nw.col(f"s{at}")
            case = two_class_case(score, nw.col("up").cast(nw.Int64).cast(nw.Float64))
            expressions += [loss.formula(case).alias(f"{name}{at}") for name, loss in LOSSES.items()]
    return expressions


def _named(name: str, duel: IndexPair, power: int = 1) -> str:
    """The column of a power of the difference of two classifiers in something."""
    return f"{name}{duel[0]}_{duel[1]}_{power}"


def _terms(duel: IndexPair, shifts: Mapping[tuple[str, IndexPair], float]) -> dict[str, Any]:
    """What is summed of two classifiers, by name."""

    def both(name: str) -> tuple[Any, Any]:
        return nw.col(f"{name}{duel[0]}"), nw.col(f"{name}{duel[1]}")

    first, second = both("v")
    terms = {_named("area", duel, 2): (first - second) * (first - second)}
    for name, column in (("apart", "s"), ("moved", "o")):
        first, second = both(column)
        terms[_named(name, duel)] = (first != second).cast(nw.Int64)
    for name in (name for name, own in shifts if own == duel):
        first, second = both(name)
        gap = first - second - shifts[name, duel]
        terms |= {_named(name, duel, power): reduce(mul, [gap] * power) for power in (1, 2, 3)}
    return terms


def _made(
    placed: tuple[Placements, ...],
    duels: Sequence[IndexPair],
    rows: dict[bool, dict[str, Any]],
    shifts: dict[tuple[str, IndexPair], float],
) -> JointScores:
    def total(name: str, duel: IndexPair, power: int = 1) -> float:
        return float(sum(own[_named(name, duel, power)] for own in rows.values()))

    n = sum(int(row["n"]) for row in rows.values())
    losses: dict[str, dict[IndexPair, GapSums]] = {}
    for (name, duel), shift in shifts.items():
        sums = (total(name, duel, power) for power in (1, 2, 3))
        losses.setdefault(name, {})[duel] = GapSums(n, shift, *sums)
    up, down = ({duel: float(rows[side][_named("area", duel, 2)]) for duel in duels} for side in (True, False))
    apart, moved = ({duel: round(total(name, duel)) for duel in duels} for name in ("apart", "moved"))
    return JointScores(placed, up, down, apart, moved, losses)


@dataclass(frozen=True, eq=False)
class LazyCases:
    """The same cases as all classifiers judged them: places among `labels`, with how often each combination stands.

    `by` says how the cases were matched. `frame` is the joined frame, one row to a case.
    """

    sides: tuple[LazySide, ...]
    frame: Any
    labels: tuple[Label, ...]
    truth: Codes
    predicted: tuple[Codes, ...]
    counts: Codes
    positives: tuple[Any, ...]
    by: str
    notes: tuple[str, ...] = ()

    @property
    def n(self) -> int:
        """The number of cases."""
        return int(self.counts.sum())

    @property
    def engine(self) -> str:
        """The name of the engine that holds the rows."""
        return str(self.frame.implementation.value)

    def pairs(self, one: int, two: int) -> PairCounts:
        """The joint counts of two of them."""
        return PairCounts.of(self.truth, self.predicted[one], self.predicted[two], self.labels, self.counts)

    @cached_property
    def scores(self) -> JointScores:
        """What the scores of all of them tell together."""
        return joint_scores(self.frame, self.sides, self.positives)


def lazy_cases(sides: Sequence[LazySide]) -> LazyCases:
    """Join the cases of several classifiers by id, or take them from the one frame that holds them all.

    >>> import narwhals.stable.v2 as nw
    >>> import polars as pl
    >>> one = nw.from_native(pl.LazyFrame({"id": [1, 2], "y": ["a", "b"], "p": ["a", "a"]}))
    >>> two = nw.from_native(pl.LazyFrame({"id": [2, 1], "y": ["b", "a"], "p": ["b", "b"]}))
    >>> held = [LazySide(name, frame, ("a", "b"), 2, "y", "p", id="id") for name, frame in (("A", one), ("B", two))]
    >>> seen = lazy_cases(held).pairs(0, 1)
    >>> seen.only_a, seen.only_b
    (1, 1)
    """
    alone = all(side.frame is sides[0].frame for side in sides)
    by = "id" if all(side.id is not None and not side.in_order for side in sides) else "order"
    frame = columns_of(sides[0], 0, *sides[1:]) if alone else _joined(sides)
    keys = [column for column in frame.collect_schema().names() if column[0] in "tp"]
    table = collect_polars(frame.group_by(keys).agg(rows_counted()))
    counts = table[N].cast(int).to_numpy().astype(np.int64)
    labels, moves, notes = common_labels([side.labels for side in sides], [side.name for side in sides])
    truths = [
        move[places_of(table[f"t{0 if alone else at}"], side.labels)]
        for at, (side, move) in enumerate(zip(sides, moves, strict=True))
    ]
    if not alone:
        check_matched(sides, int(counts.sum()))
        check_truths(sides, frame, table, truths, counts, labels)
        check_groups(sides, frame)
    predicted = tuple(
        move[_answers(table[f"p{at}"], side)] for at, (side, move) in enumerate(zip(sides, moves, strict=True))
    )
    positive = sides[0].positive
    positive_index = -1 if positive is None else labels.index(positive)
    raw = table["t0"].filter(truths[0] == positive_index).unique(maintain_order=True).to_list()
    return LazyCases(tuple(sides), frame, labels, truths[0], predicted, counts, tuple(raw), by, notes)


def _joined(sides: Sequence[LazySide]) -> Any:
    lacking = [side.name for side in sides if side.id is None]
    if lacking:
        raise OptionError(
            f"Rows that are counted where they are have no order, and these do not name their cases: "
            f"{listing(lacking)}.",
            hint="name the column with the id of each case (id=, --id).",
        )
    kinds = {side.frame.implementation for side in sides}
    if len(kinds) > 1:
        raise OptionError(
            f"Frames of different engines cannot be joined: {listing(kind.value for kind in kinds)}.",
            hint="give all of them in one engine, or read their rows into memory.",
        )
    parts = alike_ids([columns_of(side, at) for at, side in enumerate(sides)], sides)
    frame = parts[0]
    for part in parts[1:]:
        try:
            frame = frame.join(part, on=CASE, how="inner")
        except Exception as error:
            if "different connections" not in str(error):
                raise
            raise OptionError(
                f"Relations of different connections of DuckDB cannot be joined: {listing(s.name for s in sides)}.",
                hint="make all of them from one connection.",
            ) from None
    return frame


def _answers(column: Any, side: LazySide) -> Codes:
    """The places of the answers among the labels of their side."""
    if side.predicted is not None:
        return places_of(column, side.labels)
    if side.each:
        return np.asarray(column.to_numpy(), dtype=np.int64)
    positive_index = 1 if side.positive is None else side.labels.index(side.positive)
    return np.where(column.to_numpy() == 1, positive_index, 1 - positive_index)
