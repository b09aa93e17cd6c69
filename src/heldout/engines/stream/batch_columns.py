"""The columns of a table that is read in batches: which has which role, and what is wrong with their values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from heldout.arguments import Missing
from heldout.errors import ColumnError, OptionError, ValuesError
from heldout.evidence import Label
from heldout.evidence.consistency import impossible
from heldout.evidence.counted import ROLES, Counted
from heldout.evidence.probabilities import Unfit
from heldout.files.batches import Batches
from heldout.predictions.case_values import (
    LARGEST,
    REPLACE_INFINITIES,
    SMALLEST,
    RawScores,
    Scores,
    check_weight_range,
    convert_hint,
    refuse_weights,
)
from heldout.predictions.column_roles import NUMBERING, check_column, describe_unused, is_usual
from heldout.predictions.label_encoding import encode
from heldout.predictions.score_columns import may_be_score, sum_tolerance
from heldout.predictions.slice_plans import (
    EVERY,
    SLICE_BY_REPEATED,
    SLICE_BY_VALUES,
    SlicePlan,
    describe_left_out,
    lack_slices,
    plan_of,
    slice_names,
)
from heldout.predictions.source import (
    Columns,
    ReadOptions,
    columns_of_roles,
    guessed_scores,
    is_name,
    no_scores,
)
from heldout.predictions.table import DROP_MISSING, NothingWholeError, Predictions, assemble
from heldout.show.escape import visible
from heldout.show.text_width import shorten
from heldout.threads import share_in_turn

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, eq=False)
class StreamRoles:
    """The columns of the roles by the names that they have in the files.

    `scores` are named, or guessed from `free`, which may be scores by their names; `note` says why they are not.
    `slices` divide the cases.
    """

    columns: Columns
    wanted: Mapping[str, str]
    guessed: tuple[str, ...]
    scores: tuple[str, ...] = ()
    free: tuple[str, ...] = ()
    slices: tuple[str, ...] = ()
    note: str = ""

    @property
    def called(self) -> dict[str, str]:
        """The role and the column of each, with those of scores, as errors name them."""
        named = {role: f"{role} (column {column!r})" for role, column in self.wanted.items()}
        return named | {column: f"score (column {column!r})" for column in self.scores}

    @property
    def makes_predicted(self) -> bool:
        """Whether the predicted class comes from the scores."""
        return "predicted" not in self.wanted

    def every(self) -> list[str]:
        """All columns to read for counting, each once."""
        return list(dict.fromkeys([*self.wanted.values(), *self.scores, *self.slices]))


def stream_roles(batches: Batches, roles: Mapping[str, Any], asked: ReadOptions) -> StreamRoles:
    """The columns of the roles, named or guessed from the names of the columns; no row is read."""
    given = {**roles, "score": asked.score}
    for role, value in given.items():
        named = role == "score" and bool(asked.score_names())
        if value is not None and not is_name(value) and not named:
            raise OptionError(
                f"{role}= holds values, and {batches.name} is read in batches, which have no place for them.",
                hint=f"write them to a column of the files, and name it: {role}='column'.",
            )
    if isinstance(asked.slices, Mapping):
        raise OptionError(
            f"slices= holds values, and {batches.name} is read in batches, which have no place for them.",
            hint="write them to columns of the files, and name those: slices=['column'].",
        )
    columns = Columns({}, batches.name, from_file=True, every=batches.names)
    wanted, guessed = columns_of_roles(columns, dict(roles), asked)
    batches.keys = frozenset(name for role, name in wanted.items() if role != "weight")
    batches.labels = {role: wanted[role] for role in ("truth", "predicted") if role in wanted}
    scores = [check_column(column, columns.names, columns.name) for column in asked.score_names()]
    free = [name for name in batches.names if may_be_score(name) and name not in wanted.values()]
    taken = {str(name) for name in (*wanted.values(), *scores)}
    slices = slice_names(asked.slices, batches.names, batches.name)
    if asked.slices == "all":
        slices = [name for name in slices if str(name) not in taken]
    return StreamRoles(columns, wanted, tuple(guessed), tuple(scores), () if scores else tuple(free), tuple(slices))


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
    slices = tuple(name for name in roles.slices if asked.slices != "all" or name not in names)
    guessed = (*roles.guessed, "score") if names else roles.guessed
    return replace(roles, scores=tuple(names), slices=slices, guessed=guessed, note=note)


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


def present(batches: Batches, roles: StreamRoles) -> pl.Expr:
    """Whether no role of a row lacks its value, and its weight is not 0."""
    import polars as pl

    columns = [*roles.wanted.values(), *roles.scores]
    kinds = batches.kinds(columns)
    there = [
        pl.col(name).is_not_null() & pl.col(name).is_not_nan() if kinds[name].is_float() else pl.col(name).is_not_null()
        for name in columns
    ]
    if "weight" in roles.wanted:
        there.append(pl.col(roles.wanted["weight"]) != 0)
    return reduce(and_, there)


def classes_met(frames: Iterable[pl.DataFrame], column: str, called: str) -> tuple[Label, ...]:
    """The classes of a column, of all its rows that have one."""
    import polars as pl

    classes: pl.DataFrame | None = None
    for frame in frames:
        here = frame.select(column).unique()
        classes = here if classes is None else pl.concat([classes, here]).unique()
    return () if classes is None else encode(classes.get_column(column), called).classes()


def pairs_met(frames: Iterable[pl.DataFrame], roles: StreamRoles, there: pl.Expr) -> pl.DataFrame:
    """Every combination of the true and the predicted class, as they stand in the files, that some whole row has."""
    import polars as pl

    columns = [roles.wanted[role] for role in ("truth", "predicted") if role in roles.wanted]
    pairs: pl.DataFrame | None = None
    for frame in frames:
        here = frame.filter(there).select(columns).unique()
        pairs = here if pairs is None else pl.concat([pairs, here]).unique()
    return pl.DataFrame(schema=columns) if pairs is None else pairs.sort(columns)


def settled(pairs: pl.DataFrame, roles: StreamRoles, asked: ReadOptions, notes: Sequence[str]) -> Predictions:
    """The combinations as if each were two cases: labels, positive class and notes are those of the rows.

    Each stands twice, because what is said of a single case is not said of a combination that stands for many. The
    scores are made up; what depends on their values is found out when they are read.
    """
    import polars as pl

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
        if not self._orders:
            raise ColumnError(
                f"The column {shorten(visible(self.name), 60)!r} has more than {MOST_TEXTS:,} different texts, "
                "so it names the cases.",
                hint=SLICE_BY_REPEATED,
            )
        self._binned, self._held = True, _binned(self._held)

    def _joined(self, first: pl.DataFrame, second: pl.DataFrame) -> pl.DataFrame:
        import polars as pl

        both = pl.concat([first, second])
        if self._binned:
            return both.group_by("bin").agg(pl.col("value").max(), pl.col("times").sum())
        return both.group_by("value").agg(pl.col("times").sum())

    def plan(self) -> SlicePlan:
        """How the column divides the rows."""
        if self._held is None:
            raise ColumnError(f"The column {self.name!r} is empty.", hint=SLICE_BY_VALUES)
        values = self._held.sort("value")
        return plan_of(values.get_column("value"), values.get_column("times"), self.name, exact=not self._binned)


def _count_values(column: pl.Series) -> pl.DataFrame:
    """How often each value stands in a column."""
    import polars as pl

    if isinstance(column.dtype, pl.Datetime) and column.dtype.time_zone:
        column = column.dt.replace_time_zone(None)  # slices are days of the clocks there
    counts = column.alias("value").to_frame().group_by("value").len("times")
    return counts.with_columns(pl.col("times").cast(pl.Int64))


def _binned(counts: pl.DataFrame) -> pl.DataFrame:
    """Numbers in small bins, each by the greatest number in it, so that a slice that ends there holds the bin."""
    import polars as pl

    column = counts.get_column("value")
    numbers = column.to_physical().cast(pl.Float64).fill_null(np.nan).to_numpy()
    bins = np.ascontiguousarray(numbers).view(np.int64) >> DROPPED_BITS
    return (
        counts.with_columns(pl.Series("bin", bins))
        .group_by("bin")
        .agg(pl.col("value").max(), pl.col("times").sum())
        .select("bin", "value", "times")
    )


def slice_plans(
    batches: Batches, names: Sequence[str], asked: Any, weight: str | None = None
) -> tuple[tuple[SlicePlan, ...], list[str]]:
    """The plans of the slice columns, and sentences about what was put together or left out.

    Rows whose `weight`, by the name of its column, is 0 are not looked at.
    """
    import polars as pl

    if not names:
        return (), []
    every = isinstance(asked, str) and asked == EVERY
    classes = [name for name in names if every and (is_usual("truth", name) or is_usual("predicted", name))]
    kinds = batches.kinds(names)
    counts = {name: ValueCounts(name, kinds[name]) for name in names if name not in classes}
    out: set[str] = set(classes)

    def count_values(whole: pl.DataFrame) -> dict[str, pl.DataFrame]:
        frame = whole.filter(pl.col(weight).is_null() | (pl.col(weight) != 0)) if weight else whole
        return {name: _count_values(frame.get_column(name)) for name in counts if name not in out}

    frames = batches.frames(list(dict.fromkeys([*counts, *([weight] if weight else [])])))
    for counted in share_in_turn(count_values, frames):
        for name, values in counted.items():
            try:
                if name not in out:
                    counts[name].merge(values)
            except ColumnError:
                if not every:
                    raise
                out.add(name)
    plans: list[SlicePlan] = []
    for name, value_counts in counts.items():
        plan = None if name in out else _plan(value_counts, every=every)
        if plan is None:
            out.add(name)
        else:
            plans.append(plan)
    notes = [plan.note for plan in plans if plan.note]
    if out:
        shown = [shorten(visible(name), 40) for name in names if name in out]
        notes.append(describe_left_out(shown))
    if not plans:
        raise lack_slices(batches.name)
    return tuple(plans), notes


def _plan(counts: ValueCounts, *, every: bool) -> SlicePlan | None:
    """The plan of a column; of every column, only if it divides the rows at all."""
    if not every:
        return counts.plan()
    try:
        plan = counts.plan()
    except ColumnError:
        return None
    numbered = plan.kind == "bins" and counts.name.strip().casefold() in NUMBERING
    return None if len(plan.labels) < 2 or numbered else plan


@dataclass(frozen=True, eq=False)
class ValueFaults:
    """What was met in some rows; places of rows are those in the whole, and -1 where there is none.

    `weightless` rows have the weight 0 and are counted nowhere else. `missing` is how often each role lacked a value,
    `lost` in how many rows one did, and `no_score` in how many a score was missing or not finite. `infinite` counts
    scores of whole rows that are not finite. `light` and `heavy` are the ends of the weights above 0. `low` and `high`
    are the ends of the scores, `off` how far the scores of a row are from a sum of 1 at the most, and `total` that sum.
    """

    rows: int = 0
    weightless: int = 0
    lost: int = 0
    missing: Mapping[str, int] = field(default_factory=dict)
    first_lost: int = -1
    no_score: int = 0
    first_no_score: int = -1
    infinite: int = 0
    first_infinite: int = -1
    bad_weight: tuple[int, float] = (-1, 0.0)
    light: float = np.inf
    heavy: float = 0.0
    low: float = np.inf
    high: float = -np.inf
    off: float = 0.0
    total: float = 1.0
    worst: int = -1

    def __add__(self, other: ValueFaults) -> ValueFaults:
        further = other if other.off > self.off else self
        return ValueFaults(
            rows=self.rows + other.rows,
            weightless=self.weightless + other.weightless,
            lost=self.lost + other.lost,
            missing={
                role: self.missing.get(role, 0) + other.missing.get(role, 0)
                for role in dict.fromkeys([*self.missing, *other.missing])
            },
            first_lost=_first(self.first_lost, other.first_lost),
            no_score=self.no_score + other.no_score,
            first_no_score=_first(self.first_no_score, other.first_no_score),
            infinite=self.infinite + other.infinite,
            first_infinite=_first(self.first_infinite, other.first_infinite),
            bad_weight=self.bad_weight if self.bad_weight[0] >= 0 else other.bad_weight,
            light=min(self.light, other.light),
            heavy=max(self.heavy, other.heavy),
            low=min(self.low, other.low),
            high=max(self.high, other.high),
            off=further.off,
            total=further.total,
            worst=further.worst,
        )

    @property
    def has_bad_weight(self) -> bool:
        """Whether some weight is negative, not finite, or beyond what can be squared."""
        return self.bad_weight[0] >= 0 or self.light < SMALLEST or self.heavy > LARGEST

    def unfit(self, k: int) -> Unfit | None:
        """Why the scores of the whole, of k columns, are no probabilities; None where they are."""
        beyond = Unfit.of_ends(self.low, self.high)
        if beyond is None and k > 1 and self.off > sum_tolerance(k):
            return Unfit(total=self.total, row=self.worst + 1)
        return beyond

    def check_missing(self, batches: Batches, missing: Missing) -> None:
        """Refuse missing values, unless their rows are to be left out and others remain."""
        if not self.lost:
            return
        counts = ", ".join(f"{role} in {number:,}" for role, number in self.in_order().items())
        if missing == "refuse":
            what = "rows has a missing value" if self.lost == 1 else "rows have missing values"
            where = f"{'it' if self.lost == 1 else 'the first'} is {batches.where(self.first_lost)}"
            raise ValuesError(
                f"{self.lost:,} of {self.rows:,} {what}: {counts}; {where}.",
                hint=DROP_MISSING,
            )
        if self.lost == self.rows:
            raise NothingWholeError.of(self.rows, self.in_order())

    def in_order(self) -> dict[str, int]:
        """How often each role lacked a value, in the order in which they are named."""
        return {role: self.missing[role] for role in ROLES if self.missing.get(role)}

    def check_weight(self, batches: Batches) -> None:
        """Refuse weights that the same rows in memory would be refused for."""
        row, value = self.bad_weight
        if row >= 0:
            where = batches.where(row)
            raise refuse_weights(f"{where[0].upper()}{where[1:]} has {value:g}.")
        check_weight_range(self.light, self.heavy)

    def check_scores(self, batches: Batches, *, natural: bool) -> None:
        """Refuse scores that are not finite, and with `natural` such as have no natural threshold."""
        if self.infinite:
            where = batches.where(self.first_infinite)
            raise ValuesError(
                f"1 score is not finite, in {where}."
                if self.infinite == 1
                else f"{self.infinite:,} scores are not finite; the first is in {where}.",
                hint=REPLACE_INFINITIES,
            )
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
    bad = (int(places[wrong[0]]), float(weight[wrong[0]])) if len(wrong) else (-1, 0.0)
    above = weight[weight > 0]
    return ValueFaults(bad_weight=bad, light=float(above.min(initial=np.inf)), heavy=float(above.max(initial=0.0)))


def _first(first: int, second: int) -> int:
    return second if first < 0 else first if second < 0 else min(first, second)
