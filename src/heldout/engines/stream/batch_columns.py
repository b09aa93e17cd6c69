"""The columns of a table that is read in batches: which has which role, and what is wrong with their values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import reduce
from operator import and_, itemgetter
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from heldout.arguments import LARGEST, SMALLEST, Missing
from heldout.errors import ColumnError, OptionError, ValuesError
from heldout.evidence import Label
from heldout.evidence.consistency import impossible
from heldout.evidence.counted import ROLES, Counted, added_gaps
from heldout.evidence.probabilities import Unfit
from heldout.files.batches import Batches
from heldout.predictions.case_values import (
    RawScores,
    Scores,
    check_weight_range,
    convert_hint,
    refuse_infinite,
    refuse_weights,
    unfit_of,
)
from heldout.predictions.score_columns import describe_unused, guessed_scores, no_scores
from heldout.predictions.slice_plans import (
    EVERY,
    SLICE_BY_REPEATED,
    SLICE_BY_VALUES,
    SlicePlan,
    chosen_slices,
    divisible,
    plan_of,
)
from heldout.predictions.source import Columns, NamedRoles, ReadOptions, roles_of_values
from heldout.predictions.table import Predictions, assemble, check_lost
from heldout.show.escape import visible
from heldout.show.text_width import shorten
from heldout.threads import share_in_turn


@dataclass(frozen=True, eq=False)
class StreamRoles(NamedRoles):
    """The columns of the roles by the names that they have in the files; `note` says why `free` ones are no scores."""

    note: str = ""

    @property
    def called(self) -> dict[str, str]:
        """The role and the column of each, with those of scores, as errors name them."""
        return super().called | {column: f"score (column {column!r})" for column in self.scores}

    def every(self) -> list[str]:
        """All columns to read for counting, each once."""
        return list(dict.fromkeys([*self.taken, *self.slices]))


def stream_roles(batches: Batches, roles: Mapping[str, Any], asked: ReadOptions) -> StreamRoles:
    """The columns of the roles, named or guessed from the names of the columns; no row is read."""
    for role in roles_of_values(roles, asked):
        raise OptionError(
            f"{role}= holds values, and {batches.name} is read in batches, which have no place for them.",
            hint="write them to columns of the files, and name those: slices=['column']."
            if role == "slices"
            else f"write them to a column of the files, and name it: {role}='column'.",
        )
    found = StreamRoles.of(Columns({}, batches.name, from_file=True, every=batches.names), roles, asked)
    batches.keys = frozenset(name for role, name in found.wanted.items() if role != "weight")
    batches.labels = {role: found.wanted[role] for role in ("truth", "predicted") if role in found.wanted}
    return found


def with_scores(batches: Batches, roles: StreamRoles, asked: ReadOptions, labels: Sequence[Label]) -> StreamRoles:
    """The roles with the columns that are scores by their names, or with a note why those cannot be used."""
    if not roles.free:
        if not roles.scores and roles.makes_predicted:
            raise no_scores(roles.columns, dict(roles.wanted))
        return roles
    kinds = batches.kinds(roles.free)
    names, note = guessed_scores(
        roles.free,
        asked.labels or labels,
        asked,
        lambda column: roles.makes_predicted or kinds[column].is_numeric(),
        batches.text_in,
    )
    if not names and roles.makes_predicted:
        raise no_scores(roles.columns, dict(roles.wanted))
    guessed = (*roles.guessed, "score") if names else roles.guessed
    return replace(roles, scores=tuple(names), guessed=guessed, note=note)


def check_numbers(batches: Batches, roles: StreamRoles) -> None:
    """Refuse weights and scores that are no numbers, with the file that holds something else."""
    columns = [*([roles.wanted["weight"]] if "weight" in roles.wanted else []), *roles.scores]
    for name, kind in batches.kinds(columns).items():
        if kind.is_numeric() or str(kind) == "Boolean":
            continue
        called = roles.called.get(name, f"weight (column {name!r})")
        text = batches.text_in(name)
        content = f"{text[0]} holds {text[1]!r}" if text else f"It holds {kind}"
        raise ValuesError(f"{called} must be numbers. {content}.", hint=convert_hint(*(text or ())[1:]))


def absent(name: str, kind: Any) -> pl.Expr:
    """Whether a column of a type has no value."""
    return pl.col(name).is_null() | pl.col(name).is_nan() if kind.is_float() else pl.col(name).is_null()


def present(batches: Batches, roles: StreamRoles) -> pl.Expr:
    """Whether no role of a row lacks its value, and its weight is not 0."""
    there = [~absent(name, kind) for name, kind in batches.kinds(roles.taken).items()]
    if "weight" in roles.wanted:
        there.append(pl.col(roles.wanted["weight"]) != 0)
    return reduce(and_, there)


def combinations_met(frames: Iterable[pl.DataFrame], columns: Sequence[str]) -> pl.DataFrame:
    """Every combination of the values of some columns, as they stand in the files."""
    met = pl.DataFrame()
    for frame in frames:
        here = frame.select(columns).unique()
        met = pl.concat([met, here]).unique() if met.width else here
    return met


def settled(pairs: pl.DataFrame, roles: StreamRoles, asked: ReadOptions, notes: Sequence[str]) -> Predictions:
    """The combinations as if each were two cases: labels, positive class and notes are those of the rows.

    Each stands twice, because what is said of a single case is not said of a combination that stands for many. The
    scores are made up; what depends on their values is found out when they are read.
    """
    twice = pl.concat([pairs, pairs])
    score = None
    if roles.scores:
        k = len(roles.scores)
        scores = np.full(len(twice), 0.5) if k == 1 else np.full((len(twice), k), 1 / k)
        score = RawScores(scores, tuple(roles.scores))
    return assemble(
        twice.get_column(roles.wanted["truth"]),
        None if roles.makes_predicted else twice.get_column(roles.wanted["predicted"]),
        score=score,
        notes=notes,
        called=roles.called,
        whole=False,
        **{**asked.options(), "missing": "refuse"},
    )


# Numbers with more distinct values than this are counted in small bins; so many distinct texts name the cases.
MOST_NUMBERS = 1 << 20
MOST_TEXTS = 1 << 22
# Two numbers are in one small bin where they agree in sign, exponent and the first twenty bits.
DROPPED_BITS = 32


class ValueCounts:
    """How often each value of a column stands, added up batch by batch.

    >>> import polars as pl
    >>> counts = ValueCounts("sex", pl.String())
    >>> counts.add(pl.Series(["f", "m"])), counts.add(pl.Series(["m", None]))
    (None, None)
    >>> counts.plan().labels
    ('f', 'm', '(missing)')
    """

    def __init__(self, name: str, kind: Any) -> None:
        self.name = name
        self._orders = bool(kind.is_numeric() or kind.is_temporal())
        self._held: pl.DataFrame | None = None
        self._binned = False
        # What is wrong with the column, said by whoever asks for its plan.
        self.fault: ColumnError | None = None

    def add(self, column: pl.Series) -> None:
        """Count the values of a batch."""
        self.merge(_count_values(column))

    def merge(self, here: pl.DataFrame) -> None:
        """Add the values of a batch, which were counted."""
        if self._binned:
            here = _binned(here)
        self._held = here if self._held is None else self._joined(self._held, here)
        if len(self._held) <= (MOST_NUMBERS if self._orders else MOST_TEXTS) or self._binned:
            return
        if self._orders:
            self._binned, self._held = True, _binned(self._held)
            return
        self.fault = ColumnError(
            f"The column {shorten(visible(self.name), 60)!r} has more than {MOST_TEXTS:,} different texts, "
            "so it names the cases.",
            hint=SLICE_BY_REPEATED,
        )

    def _joined(self, first: pl.DataFrame, second: pl.DataFrame) -> pl.DataFrame:
        both = pl.concat([first, second])
        if self._binned:
            return both.group_by("bin").agg(pl.col("value").max(), pl.col("times").sum())
        return both.group_by("value").agg(pl.col("times").sum())

    def plan(self) -> SlicePlan:
        """How the column divides the rows."""
        if self.fault is not None:
            raise self.fault
        if self._held is None:
            raise ColumnError(f"The column {self.name!r} is empty.", hint=SLICE_BY_VALUES)
        values = self._held.sort("value")
        return plan_of(values.get_column("value"), values.get_column("times"), self.name, exact=not self._binned)


def _count_values(column: pl.Series) -> pl.DataFrame:
    """How often each value stands in a column."""
    if isinstance(column.dtype, pl.Datetime) and column.dtype.time_zone:
        column = column.dt.replace_time_zone(None)  # slices are days of the clocks there
    counts = column.alias("value").to_frame().group_by("value").len("times")
    return counts.with_columns(pl.col("times").cast(pl.Int64))


def _binned(counts: pl.DataFrame) -> pl.DataFrame:
    """Numbers in small bins, each by the greatest number in it, so that a slice that ends there holds the bin."""
    column = counts.get_column("value")
    numbers = column.to_physical().cast(pl.Float64).fill_null(np.nan).to_numpy()
    bins = np.ascontiguousarray(numbers).view(np.int64) >> DROPPED_BITS
    return (
        counts.with_columns(pl.Series("bin", bins))
        .group_by("bin")
        .agg(pl.col("value").max(), pl.col("times").sum())
        .select("bin", "value", "times")
    )


def slice_plans(batches: Batches, roles: StreamRoles, asked: Any) -> tuple[tuple[SlicePlan, ...], list[str]]:
    """The plans of the slice columns, and sentences about what was put together or left out.

    Rows of weight 0 are not looked at.
    """
    if not roles.slices:
        return (), []
    every, weight = isinstance(asked, str) and asked == EVERY, roles.wanted.get("weight")
    names = divisible(roles.slices, roles.taken) if every else list(roles.slices)
    counts = {name: ValueCounts(name, kind) for name, kind in batches.kinds(names).items()}

    def count_values(whole: pl.DataFrame) -> dict[str, pl.DataFrame]:
        frame = whole.filter(pl.col(weight).is_null() | (pl.col(weight) != 0)) if weight else whole
        return {name: _count_values(frame.get_column(name)) for name in names if counts[name].fault is None}

    frames = batches.frames(list(dict.fromkeys([*names, *([weight] if weight else [])])))
    for counted in share_in_turn(count_values, frames):
        for name, values in counted.items():
            if counts[name].fault is None:
                counts[name].merge(values)
        if not every and any(own.fault for own in counts.values()):
            break
    return chosen_slices(asked, batches.names, batches.name, roles.taken, lambda name: counts[name].plan())


# The row of what was not met.
NEVER = 1 << 62
# Of what was met in two parts these are added up, and of these the greater holds; of all other numbers the lesser does.
ADDED = ("rows", "weightless", "lost", "no_score", "infinite")
GREATEST = ("heavy", "high")


@dataclass(frozen=True, eq=False)
class ValueFaults:
    """What was met in some rows; places of rows are those in the whole.

    `weightless` rows have the weight 0 and are counted nowhere else. `missing` is how often each role lacked a value,
    `lost` in how many rows one did, and `no_score` in how many a score was missing or not finite. `infinite` counts
    scores of whole rows that are not finite. `light` and `heavy` are the ends of the weights above 0. `low` and `high`
    are the ends of the scores, and `furthest` is how far the scores of a row are from a sum of 1 at the most, that sum,
    and the row.
    """

    rows: int = 0
    weightless: int = 0
    lost: int = 0
    missing: Mapping[str, int] = field(default_factory=dict)
    first_lost: int = NEVER
    no_score: int = 0
    first_no_score: int = NEVER
    infinite: int = 0
    first_infinite: int = NEVER
    bad_weight: tuple[int, float] = (NEVER, 0.0)
    light: float = np.inf
    heavy: float = 0.0
    low: float = np.inf
    high: float = -np.inf
    furthest: tuple[float, float, int] = (0.0, 1.0, -1)

    def __add__(self, other: ValueFaults) -> ValueFaults:
        both = {own.name: (getattr(self, own.name), getattr(other, own.name)) for own in fields(self)}
        special = {
            "missing": added_gaps(*both.pop("missing")),
            "furthest": max(both.pop("furthest"), key=itemgetter(0)),
        }
        combine: dict[str, Any] = {**dict.fromkeys(ADDED, sum), **dict.fromkeys(GREATEST, max)}
        return ValueFaults(**special, **{name: combine.get(name, min)(pair) for name, pair in both.items()})

    @property
    def has_bad_weight(self) -> bool:
        """Whether some weight is negative, not finite, or beyond what can be squared."""
        return self.bad_weight[0] < NEVER or self.light < SMALLEST or self.heavy > LARGEST

    def unfit(self, k: int) -> Unfit | None:
        """Why the scores of the whole, of k columns, are no probabilities; None where they are."""
        return unfit_of(self.low, self.high, k, *self.furthest[1:])

    def check_missing(self, batches: Batches, missing: Missing) -> None:
        """Refuse missing values, unless their rows are to be left out and others remain."""
        if self.lost:
            check_lost(self.lost, self.rows, self.in_order(), missing, batches.where(self.first_lost))

    def in_order(self) -> dict[str, int]:
        """How often each role lacked a value, in the order in which they are named."""
        return {role: self.missing[role] for role in ROLES if self.missing.get(role)}

    def check_weight(self, batches: Batches) -> None:
        """Refuse weights that the same rows in memory would be refused for."""
        row, value = self.bad_weight
        if row < NEVER:
            where = batches.where(row)
            raise refuse_weights(f"{where[0].upper()}{where[1:]} has {value:g}.")
        check_weight_range(self.light, self.heavy)

    def check_scores(self, batches: Batches, *, natural: bool) -> None:
        """Refuse scores that are not finite, and with `natural` such as have no natural threshold."""
        if self.infinite:
            raise refuse_infinite(self.infinite, batches.where(self.first_infinite))
        if natural and self.rows > self.lost:
            Scores(np.array([self.low, self.high]), self.unfit(1)).default_threshold()

    def unused(self, names: tuple[str, ...], batches: Batches) -> str:
        """Why guessed scores were not used: some are missing or not finite. Empty where none is."""
        return describe_unused(names, self.no_score, batches.where(self.first_no_score)) if self.no_score else ""


def check_unchanged(counted: Counted, batches: Batches, *, parts: bool = True, weightless: int = 0) -> None:
    """Refuse counts of several readings that do not fit together, because files changed in between.

    `weightless` rows are not among those that were counted. Without `parts` only the numbers of rows are looked at,
    which takes no time.
    """
    why = impossible(counted) if parts else ""
    rows = counted.rows + weightless
    if batches.rows is not None and rows != batches.rows:
        why = f"it had {batches.rows:,} rows and then {rows:,}"
    if why:
        raise ValuesError(
            f"{batches.name} changed while it was read: {why}.",
            hint="evaluate it when nothing writes to it, or a copy.",
        )


def bad_weight(weight: NDArray[np.float64], places: Any) -> ValueFaults:
    """What the weights of some rows are; `places` tells where each of them stands in the whole."""
    if weight.min() > 0 and np.isfinite(high := float(weight.max())):
        return ValueFaults(light=float(weight.min()), heavy=high)
    wrong = np.flatnonzero(~np.isfinite(weight) | (weight < 0))
    bad = (int(places[wrong[0]]), float(weight[wrong[0]])) if len(wrong) else (NEVER, 0.0)
    above = weight[weight > 0]
    return ValueFaults(bad_weight=bad, light=float(above.min(initial=np.inf)), heavy=float(above.max(initial=0.0)))
