"""How the slice columns of a table that is read in batches divide its rows, found in one pass over those columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from heldout.arguments import listing
from heldout.errors import ColumnError
from heldout.files.batches import Batches
from heldout.predictions.guess import is_usual
from heldout.predictions.slice_choice import EVERY, NUMBERING
from heldout.predictions.slice_plan import SlicePlan, plan_of
from heldout.show.fitting import shorten
from heldout.show.printable import visible

if TYPE_CHECKING:
    import polars as pl

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
        import polars as pl

        here = column.alias("value").to_frame().group_by("value").len("times")
        here = here.with_columns(pl.col("times").cast(pl.Int64))
        if self._binned:
            here = _binned(here)
        self._held = here if self._held is None else self._joined(self._held, here)
        if len(self._held) <= (MOST_NUMBERS if self._orders else MOST_TEXTS) or self._binned:
            return
        if not self._orders:
            raise ColumnError(
                f"The column {shorten(visible(self.name), 60)!r} has more than {MOST_TEXTS:,} different texts, "
                "so it names the cases.",
                hint="slice by a column whose values repeat; id= takes a column that names the cases.",
            )
        self._binned, self._held = True, _binned(self._held)

    def _joined(self, one: pl.DataFrame, two: pl.DataFrame) -> pl.DataFrame:
        import polars as pl

        both = pl.concat([one, two])
        if self._binned:
            return both.group_by("bin").agg(pl.col("value").max(), pl.col("times").sum())
        return both.group_by("value").agg(pl.col("times").sum())

    def plan(self) -> SlicePlan:
        """How the column divides the rows."""
        if self._held is None:
            raise ColumnError(f"The column {self.name!r} is empty.", hint="slice by a column that has values.")
        held = self._held.sort("value")
        return plan_of(held.get_column("value"), held.get_column("times"), self.name, exact=not self._binned)


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


def slice_plans(batches: Batches, names: Sequence[str], asked: Any) -> tuple[tuple[SlicePlan, ...], list[str]]:
    """The plans of the slice columns, and sentences about what was put together or left out."""
    if not names:
        return (), []
    every = isinstance(asked, str) and asked == EVERY
    classes = [name for name in names if every and (is_usual("truth", name) or is_usual("predicted", name))]
    kinds = batches.kinds(names)
    counts = {name: ValueCounts(name, kinds[name]) for name in names if name not in classes}
    out: set[str] = set(classes)
    for frame in batches.frames([name for name in names if name in counts]):
        for name, held in counts.items():
            try:
                if name not in out:
                    held.add(frame.get_column(name))
            except ColumnError:
                if not every:
                    raise
                out.add(name)
    plans: list[SlicePlan] = []
    for name, held in counts.items():
        plan = None if name in out else _plan(held, every=every)
        if plan is None:
            out.add(name)
        else:
            plans.append(plan)
    said = [plan.note for plan in plans if plan.note]
    if out:
        shown = [shorten(visible(name), 40) for name in names if name in out]
        said.append(
            "left out of the slices, because they name the cases, are classes or have one value: "
            f"{listing(shown, most=len(shown))}"
        )
    if not plans:
        raise ColumnError(
            f"No column of {batches.name} is left to slice by: all have another role or name the cases.",
            hint="name one with slices= (--slice COLUMN), or leave it out.",
        )
    return tuple(plans), said


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
