"""The predictions of several classifiers to the same cases, joined and counted where the rows are.

Two readings: the joint counts of truth and answers, and, where scores are compared, sums over the joined cases. One
more looks for ids that stand twice, unless that is known, and one for groups that differ. Only tables of distinct
labels, of groups and of bins travel.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.arguments import listing
from heldout.arrays import Codes
from heldout.engines.lazy.label_pass import is_nan
from heldout.engines.lazy.sum_tables import LEAST, collect_polars, raised, send_table
from heldout.errors import OptionError, ValuesError
from heldout.evidence import Label
from heldout.evidence.joint_counts import GapSums, GroupedSums, IndexPair, JointScores, PairCounts, Placements
from heldout.evidence.losses import LOSSES, CaseProbabilities
from heldout.evidence.score_bins import POINT, ScoreBins
from heldout.predictions.alignment import common_labels, copied_ids, other_cases, other_sizes, other_truth, other_units
from heldout.predictions.label_encoding import encode
from heldout.predictions.positive_class import renamed

# The columns of a side are t, p, s and g with its place: truth, answer, score and group. This one names the case.
CASE = "case"


@dataclass(frozen=True, eq=False)
class LazySide:
    """One classifier: a narwhals lazy frame, the names of its columns, and what was counted of them before.

    Without a column of predictions the answer is the positive class from the threshold on or, where there are `each`, a
    column of scores for each label, the class with the highest. `in_order` says that `id`
    is the number of the row, for want of a name of the case, and `distinct` that no id stands twice.
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
    distinct: bool = False
    each: tuple[str, ...] = ()


def columns_of(side: LazySide, at: int, *more: LazySide) -> Any:
    """The columns of one side under names of our own, without rows that lack a value; of several in one frame too."""
    import narwhals.stable.v2 as nw

    schema = side.frame.collect_schema()
    expressions: dict[str, Any] = {f"t{at}": _label(side.truth, schema)}
    used = [side.truth]
    if side.id is not None:
        expressions[CASE] = nw.col(side.id)
        used.append(side.id)
    if side.group is not None:
        expressions[f"g{at}"] = _label(side.group, schema)
        used.append(side.group)
    for index, own in enumerate((side, *more), start=at):
        if own.predicted is not None:
            expressions[f"p{index}"] = _label(own.predicted, schema)
            used.append(own.predicted)
        elif own.each:
            expressions[f"p{index}"] = _highest(own.each)
            used += own.each
        if own.score is not None:
            score = nw.col(own.score).cast(nw.Float64)
            # −0 and 0 are one score.
            expressions[f"s{index}"] = score + 0.0
            used.append(own.score)
            if own.predicted is None and own.threshold is not None:
                expressions[f"p{index}"] = (score >= own.threshold).cast(nw.Int64)
    return without_gaps(side.frame, used).select(**expressions)


def _highest(columns: Sequence[str]) -> Any:
    """The place of the highest of several columns, the first of equal ones."""
    import narwhals.stable.v2 as nw

    each = [nw.col(column).cast(nw.Float64) for column in columns]
    highest, best = nw.max_horizontal(*each), nw.lit(len(each) - 1)
    for index in range(len(each) - 2, -1, -1):
        best = nw.when(each[index] == highest).then(nw.lit(index)).otherwise(best)
    return best


def without_gaps(frame: Any, columns: Sequence[str]) -> Any:
    """The rows of a narwhals frame in which all of these columns have a value.

    >>> import narwhals.stable.v2 as nw
    >>> import polars as pl
    >>> whole = without_gaps(nw.from_native(pl.LazyFrame({"x": [1.0, None, float("nan")]})), ["x"])
    >>> whole.collect().to_dict(as_series=False)
    {'x': [1.0]}
    """
    schema = frame.collect_schema()
    return frame.filter(*(~_lacks(column, schema) for column in dict.fromkeys(columns)))


def _label(column: str, schema: Any) -> Any:
    import narwhals.stable.v2 as nw

    kind = schema[column]
    return nw.col(column).cast(nw.String) if kind in (nw.Categorical, nw.Enum) else nw.col(column)


def _lacks(column: str, schema: Any) -> Any:
    import narwhals.stable.v2 as nw

    null = nw.col(column).is_null()
    return null | is_nan(nw.col(column)) if schema[column].is_float() else null


N = "n"


def rows_counted() -> Any:
    """The number of rows, under the name that tables have for it here."""
    import narwhals.stable.v2 as nw

    return nw.len().alias(N)


def alike_ids(parts: Sequence[Any], sides: Sequence[LazySide]) -> list[Any]:
    """The parts with ids of one type: 7 in one frame may be "7" or 7.0 in the other."""
    import narwhals.stable.v2 as nw

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
    import narwhals.stable.v2 as nw

    return bool(kind.is_integer()) and kind not in (nw.UInt64, nw.Int128, nw.UInt128)


def _is_whole(kind: Any) -> bool:
    """Whether a type is of decimals without a point, as Spark has for unsigned numbers of 64 bits."""
    return bool(kind.is_decimal()) and getattr(kind, "scale", None) == 0


def check_copies(side: LazySide, part: Any) -> None:
    """Refuse ids that stand in several rows of one side."""
    import narwhals.stable.v2 as nw

    twice = part.group_by(CASE).agg(rows_counted()).filter(nw.col(N) > 1)
    number = int(collect_polars(twice.select(nw.len().alias(N)))[N][0])
    if number:
        raise copied_ids(side.name, number, _shown(twice, number))


def _shown(frame: Any, number: int) -> str:
    ids = collect_polars(frame.select(CASE).sort(CASE).head(3))[CASE].to_list()
    texts = [str(int(x) if isinstance(x, float) and x.is_integer() else x) for x in ids]
    return listing(texts, most=3) + (f" and {number - len(texts):,} more" if number > len(texts) else "")


def check_matched(sides: Sequence[LazySide], matched: int) -> None:
    """Refuse cases that not all of them judged."""
    import narwhals.stable.v2 as nw

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
    import narwhals.stable.v2 as nw

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


# No power of two beyond these is finite, so a wide step is made in two.
LARGEST = 1000


@dataclass(frozen=True, eq=False)
class ScoredSide:
    """The scores of one classifier: their bins, and its mean losses if they are probabilities."""

    bins: ScoreBins
    losses: Mapping[str, float] | None = None


def joint_scores(frame: Any, sides: Sequence[ScoredSide], positives: Sequence[Any]) -> JointScores:
    """Join every case with its placements, and sum up by class; a narwhals lazy frame with t0, s0, s1 … is given.

    `positives` are the values of t0 that stand for the positive class. Where it has a column g0, sums are also made by
    its groups.
    """
    import narwhals.stable.v2 as nw

    placed = tuple(Placements.of(side.bins) for side in sides)
    frame = frame.with_columns(up=nw.col("t0").is_in(list(positives)))
    for at, own in enumerate(placed):
        frame = frame.with_columns(_key(at, own.base)).join(_table(at, own, frame), on=f"k{at}", how="inner")
    likely = all(side.losses is not None for side in sides)
    duels = list(combinations(range(len(sides)), 2))
    shifts = {(name, duel): _shift(sides, duel, name) for duel in duels for name in LOSSES if likely}
    frame = frame.with_columns(*_each_side(len(sides), likely=likely))
    frame = frame.with_columns(*(expression for duel in duels for expression in _gaps(duel, shifts, likely=likely)))
    frame = frame.with_columns(*(expression for duel in duels for expression in _powers(duel, likely=likely)))
    wanted = [name for duel in duels for name in _names(duel, likely=likely)]
    grouped = "g0" in frame.collect_schema().names()
    keys = ["up", "g0"] if grouped else ["up"]
    wanted += [f"v{at}" for at in range(len(sides)) if grouped]
    table = frame.group_by(keys).agg(nw.len().alias("n"), *(nw.col(name).sum() for name in wanted))
    collected = collect_polars(table)
    sums = _by_class(collected, wanted)
    _check_same_rows(sums, sides)
    joint = _made(placed, duels, sums, shifts)
    return replace(joint, groups=_by_group(collected, len(sides), shifts)) if grouped else joint


def _by_class(table: Any, wanted: Sequence[str]) -> dict[bool, dict[str, Any]]:
    """The sums of each class; sums of many groups are added with care, as every engine adds its own."""
    by_class = {}
    for up in (True, False):
        part = table.filter(table["up"] == up)
        by_class[up] = {"n": int(part["n"].sum())} | {name: math.fsum(map(float, part[name])) for name in wanted}
    return by_class


def _check_same_rows(sums: dict[bool, dict[str, Any]], sides: Sequence[ScoredSide]) -> None:
    """Refuse sums over other rows than those whose scores were counted before."""
    numbers = sums[False]["n"], sums[True]["n"]
    for side in sides:
        before = tuple(side.bins.counts.sum(axis=0).tolist())
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
        gaps.setdefault(name, {})[duel] = summed(f"{name}{duel[0]}_{duel[1]}", every)
    sides = [np.stack([summed(f"v{at}", rows) for at in range(m)]) for rows in (up, ~up)]
    positives, negatives = (summed("n", rows).astype(np.int64) for rows in (up, ~up))
    return GroupedSums(positives, negatives, sides[0], sides[1], gaps)


def _key(at: int, base: int) -> Any:
    import narwhals.stable.v2 as nw

    score = nw.col(f"s{at}")
    if base == POINT:
        return score.alias(f"k{at}")
    first = max(min(-base, LARGEST), -LARGEST)
    step = score * math.ldexp(1.0, first)
    rest = -base - first
    return ((step * math.ldexp(1.0, rest) if rest else step).floor() + 0.0).alias(f"k{at}")


def _table(at: int, placed: Placements, beside: Any) -> Any:
    import polars as pl

    columns = {f"k{at}": placed.key, f"u{at}": placed.up, f"d{at}": placed.down, f"o{at}": np.arange(len(placed.key))}
    return send_table(pl.DataFrame(columns), beside)


def _shift(sides: Sequence[ScoredSide], duel: IndexPair, name: str) -> float:
    first, second = ((sides[at].losses or {}).get(name, 0.0) for at in duel)
    return first - second


def _each_side(m: int, *, likely: bool) -> list[Any]:
    """The placement of every case by each score, and its losses."""
    import narwhals.stable.v2 as nw

    expressions = []
    for at in range(m):
        expressions.append(nw.when(nw.col("up")).then(nw.col(f"u{at}")).otherwise(nw.col(f"d{at}")).alias(f"v{at}"))
        if likely:
            score = nw.col(f"s{at}")
            right = nw.when(nw.col("up")).then(score).otherwise(1.0 - score)
            # Not 1 less the other, of which nothing would be left where that is rounded to 1.
            wrong = nw.when(nw.col("up")).then(1.0 - score).otherwise(score)
            case = CaseProbabilities(right, raised(right, LEAST), wrong * wrong)
            expressions += [loss.formula(case).alias(f"{name}{at}") for name, loss in LOSSES.items()]
    return expressions


def _gaps(duel: IndexPair, shifts: dict[tuple[str, IndexPair], float], *, likely: bool) -> list[Any]:
    import narwhals.stable.v2 as nw

    first, second = duel
    own = f"{first}_{second}"
    expressions = [
        (nw.col(f"v{first}") - nw.col(f"v{second}")).alias(f"area{own}"),
        (nw.col(f"s{first}") != nw.col(f"s{second}")).cast(nw.Int64).alias(f"apart{own}"),
        (nw.col(f"o{first}") != nw.col(f"o{second}")).cast(nw.Int64).alias(f"moved{own}"),
    ]
    for name in LOSSES if likely else ():
        gap = nw.col(f"{name}{first}") - nw.col(f"{name}{second}") - shifts[name, duel]
        expressions += [gap.alias(f"{name}{own}")]
    return expressions


def _powers(duel: IndexPair, *, likely: bool) -> list[Any]:
    import narwhals.stable.v2 as nw

    own = f"{duel[0]}_{duel[1]}"
    expressions = [(nw.col(f"area{own}") * nw.col(f"area{own}")).alias(f"area{own}_2")]
    for name in LOSSES if likely else ():
        gap = nw.col(f"{name}{own}")
        expressions += [(gap * gap).alias(f"{name}{own}_2"), (gap * gap * gap).alias(f"{name}{own}_3")]
    return expressions


def _names(duel: IndexPair, *, likely: bool) -> list[str]:
    own = f"{duel[0]}_{duel[1]}"
    names = [f"area{own}_2", f"apart{own}", f"moved{own}"]
    return names + [f"{name}{own}{power}" for name in LOSSES if likely for power in ("", "_2", "_3")]


def _made(
    placed: tuple[Placements, ...],
    duels: Sequence[IndexPair],
    rows: dict[bool, dict[str, Any]],
    shifts: dict[tuple[str, IndexPair], float],
) -> JointScores:
    def total(name: str, duel: IndexPair, power: str = "", up: bool | None = None) -> float:
        chosen = [row for side, row in rows.items() if up is None or side is up]
        return float(sum(row[f"{name}{duel[0]}_{duel[1]}{power}"] for row in chosen))

    n = sum(int(row["n"]) for row in rows.values())
    losses: dict[str, dict[IndexPair, GapSums]] = {}
    for (name, duel), shift in shifts.items():
        sums = (total(name, duel, power) for power in ("", "_2", "_3"))
        losses.setdefault(name, {})[duel] = GapSums(n, shift, *sums)
    return JointScores(
        placed,
        {duel: total("area", duel, "_2", up=True) for duel in duels},
        {duel: total("area", duel, "_2", up=False) for duel in duels},
        {duel: round(total("apart", duel)) for duel in duels},
        {duel: round(total("moved", duel)) for duel in duels},
        losses,
    )


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
        sides = [ScoredSide(side.bins, side.losses) for side in self.sides if side.bins is not None]
        return joint_scores(self.frame, sides, self.positives)


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
        move[_places(table[f"t{0 if alone else at}"], side.labels)]
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
    for side, part in zip(sides, parts, strict=True):
        if not (side.distinct or side.in_order):
            check_copies(side, part)
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
        return _places(column, side.labels)
    if side.each:
        return np.asarray(column.to_numpy(), dtype=np.int64)
    positive_index = 1 if side.positive is None else side.labels.index(side.positive)
    return np.where(column.to_numpy() == 1, positive_index, 1 - positive_index)


def _places(column: Any, labels: tuple[Label, ...]) -> Codes:
    """The places of raw values among labels, which may write them in another type: 1 for "1"."""
    coded = encode(column, "label")
    rename = renamed(labels, coded.labels)[0]
    index_of = {label: position for position, label in enumerate(labels)}
    moved = np.array([index_of.get(rename.get(label, label), -1) for label in coded.labels], dtype=np.int64)
    return np.asarray(moved[coded.codes.astype(np.int64) - coded.offset])
