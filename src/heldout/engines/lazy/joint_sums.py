"""Sums over cases that compare two scores: differences of placements and of losses, made where the rows are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.engines.lazy.probabilities import LEAST
from heldout.engines.lazy.pushed_tables import fetched, pushed
from heldout.errors import ValuesError
from heldout.evidence.joint_scores import Duel, GapSums, GroupedSums, JointScores, Placements
from heldout.evidence.score_bins import POINT, ScoreBins

LOSSES = ("brier", "log_loss")
# No power of two beyond these is finite, so a wide step is made in two.
LARGEST = 1000


@dataclass(frozen=True, eq=False)
class ScoredSide:
    """The scores of one classifier: their bins, its Brier score and log loss if they are probabilities."""

    bins: ScoreBins
    losses: tuple[float, float] | None = None


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
    shifts = {(name, duel): _shift(sides, duel, place) for duel in duels for place, name in enumerate(LOSSES) if likely}
    frame = frame.with_columns(*_each_side(len(sides), likely=likely))
    frame = frame.with_columns(*(expression for duel in duels for expression in _gaps(duel, shifts, likely=likely)))
    frame = frame.with_columns(*(expression for duel in duels for expression in _powers(duel, likely=likely)))
    wanted = [name for duel in duels for name in _names(duel, likely=likely)]
    grouped = "g0" in frame.collect_schema().names()
    keys = ["up", "g0"] if grouped else ["up"]
    wanted += [f"v{at}" for at in range(len(sides)) if grouped]
    table = frame.group_by(keys).agg(nw.len().alias("n"), *(nw.col(name).sum() for name in wanted))
    held = fetched(table)
    sums = _by_class(held, wanted)
    _check_same_rows(sums, sides)
    joint = _made(placed, duels, sums, shifts)
    return replace(joint, groups=_by_group(held, len(sides), shifts)) if grouped else joint


def _by_class(table: Any, wanted: Sequence[str]) -> dict[bool, dict[str, Any]]:
    """The sums of each class; sums of many groups are added with care, as every engine adds its own."""
    made = {}
    for up in (True, False):
        part = table.filter(table["up"] == up)
        made[up] = {"n": int(part["n"].sum())} | {name: math.fsum(map(float, part[name])) for name in wanted}
    return made


def _check_same_rows(sums: dict[bool, dict[str, Any]], sides: Sequence[ScoredSide]) -> None:
    """Refuse sums over other rows than those whose scores were counted before."""
    found = sums[False]["n"], sums[True]["n"]
    for side in sides:
        before = tuple(side.bins.counts.sum(axis=0).tolist())
        if found != before:
            raise ValuesError(
                f"The rows changed while they were compared: {before[1]:,} positive and {before[0]:,} negative cases "
                f"were counted first, and {found[1]:,} and {found[0]:,} were met later.",
                hint="compare data that nobody writes to meanwhile.",
            )


def _by_group(table: Any, m: int, shifts: dict[tuple[str, Duel], float]) -> GroupedSums:
    up = table["up"].to_numpy().astype(bool)
    keys, code = np.unique(table["g0"].cast(str).to_numpy(), return_inverse=True)

    def summed(name: str, rows: NDArray[np.bool_]) -> NDArray[np.float64]:
        held = table[name].to_numpy().astype(np.float64)
        return np.bincount(code[rows], weights=held[rows], minlength=len(keys)).astype(np.float64)

    every = np.ones(len(up), dtype=np.bool_)
    gaps: dict[str, dict[Duel, NDArray[np.float64]]] = {}
    for name, duel in shifts:
        gaps.setdefault(name, {})[duel] = summed(f"{name}{duel[0]}_{duel[1]}", every)
    sides = [np.stack([summed(f"v{at}", rows) for at in range(m)]) for rows in (up, ~up)]
    sizes = len(np.unique(code[up])), len(np.unique(code[~up]))
    return GroupedSums(summed("n", every).astype(np.int64), sides[0], sides[1], sizes, gaps)


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
    return pushed(pl.DataFrame(columns), beside)


def _shift(sides: Sequence[ScoredSide], duel: Duel, place: int) -> float:
    one, two = (sides[at].losses or (0.0, 0.0) for at in duel)
    return one[place] - two[place]


def _each_side(m: int, *, likely: bool) -> list[Any]:
    """The placement of every case by each score, and its losses."""
    import narwhals.stable.v2 as nw

    made = []
    for at in range(m):
        made.append(nw.when(nw.col("up")).then(nw.col(f"u{at}")).otherwise(nw.col(f"d{at}")).alias(f"v{at}"))
        if likely:
            score = nw.col(f"s{at}")
            right = nw.when(nw.col("up")).then(score).otherwise(1.0 - score)
            # Not 1 less the other, of which nothing would be left where that is rounded to 1.
            wrong = nw.when(nw.col("up")).then(1.0 - score).otherwise(score)
            # As in the log loss itself: a probability of 0 is taken for the rounding error of a float.
            kept = nw.when(right < LEAST).then(nw.lit(LEAST)).otherwise(right)
            made += [(wrong * wrong).alias(f"brier{at}"), (-1.0 * kept.log()).alias(f"log_loss{at}")]
    return made


def _gaps(duel: Duel, shifts: dict[tuple[str, Duel], float], *, likely: bool) -> list[Any]:
    import narwhals.stable.v2 as nw

    one, two = duel
    own = f"{one}_{two}"
    made = [
        (nw.col(f"v{one}") - nw.col(f"v{two}")).alias(f"area{own}"),
        (nw.col(f"s{one}") != nw.col(f"s{two}")).cast(nw.Int64).alias(f"apart{own}"),
        (nw.col(f"o{one}") != nw.col(f"o{two}")).cast(nw.Int64).alias(f"moved{own}"),
    ]
    for name in LOSSES if likely else ():
        gap = nw.col(f"{name}{one}") - nw.col(f"{name}{two}") - shifts[name, duel]
        made += [gap.alias(f"{name}{own}")]
    return made


def _powers(duel: Duel, *, likely: bool) -> list[Any]:
    import narwhals.stable.v2 as nw

    own = f"{duel[0]}_{duel[1]}"
    made = [(nw.col(f"area{own}") * nw.col(f"area{own}")).alias(f"area{own}_2")]
    for name in LOSSES if likely else ():
        gap = nw.col(f"{name}{own}")
        made += [(gap * gap).alias(f"{name}{own}_2"), (gap * gap * gap).alias(f"{name}{own}_3")]
    return made


def _names(duel: Duel, *, likely: bool) -> list[str]:
    own = f"{duel[0]}_{duel[1]}"
    made = [f"area{own}_2", f"apart{own}", f"moved{own}"]
    return made + [f"{name}{own}{power}" for name in LOSSES if likely for power in ("", "_2", "_3")]


def _made(
    placed: tuple[Placements, ...],
    duels: Sequence[Duel],
    rows: dict[bool, dict[str, Any]],
    shifts: dict[tuple[str, Duel], float],
) -> JointScores:
    def total(name: str, duel: Duel, power: str = "", up: bool | None = None) -> float:
        chosen = [row for side, row in rows.items() if up is None or side is up]
        return float(sum(row[f"{name}{duel[0]}_{duel[1]}{power}"] for row in chosen))

    n = sum(int(row["n"]) for row in rows.values())
    losses: dict[str, dict[Duel, GapSums]] = {}
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
