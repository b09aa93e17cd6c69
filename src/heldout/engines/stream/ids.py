"""Whether every case of a table that is read in batches stands in one row."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from heldout.engines.stream.roles import StreamRoles
from heldout.errors import OptionError, ValuesError
from heldout.files.batches import Batches

if TYPE_CHECKING:
    import polars as pl

# Of every id eight bytes are kept, and twice that when they are put together at the end.
MOST_IDS = 250_000_000


def check_ids(batches: Batches, roles: StreamRoles) -> None:
    """Refuse ids that stand in several rows: counts do not tell which predictions are of one case."""
    import polars as pl

    column = roles.wanted["id"]
    hashes: list[np.ndarray[tuple[int], np.dtype[np.uint64]]] = []
    rows = 0
    for frame in batches.frames([column]):
        rows += len(frame)
        if rows > MOST_IDS:
            raise OptionError(
                f"There are more than {MOST_IDS:,} rows, too many to see whether an id stands twice.",
                hint="leave out id= (--id), if every row is a case.",
            )
        hashes.append(frame.get_column(column).drop_nulls().hash().to_numpy())
    held = np.concatenate(hashes) if hashes else np.empty(0, dtype=np.uint64)
    held.sort()
    again = np.unique(held[1:][held[1:] == held[:-1]])
    if not len(again):
        return
    suspects = pl.Series(again)
    found: pl.DataFrame | None = None
    for frame in batches.frames([column]):
        values = frame.get_column(column).drop_nulls()
        here = values.filter(values.hash().is_in(suspects)).alias("id").to_frame().group_by("id").len("times")
        found = here if found is None else pl.concat([found, here])
    if found is None:
        return
    # Different ids may share a hash; only those that stand twice themselves count.
    twice = found.group_by("id").agg(pl.col("times").sum()).filter(pl.col("times") > 1).sort("id")
    if not len(twice):
        return
    name, times = twice.row(0)
    if "fold" in roles.wanted:
        raise ValuesError(
            f"The id {name!r} stands in {times:,} rows, and counts do not tell which predictions are of one case.",
            hint="evaluate cases that were predicted more than once from their rows: engine='memory' (--engine "
            "memory).",
        )
    raise ValuesError(
        f"The id {name!r} stands in {times:,} rows; {len(twice):,} ids stand in more than one.",
        hint="leave out the copies, or say with fold= (--fold) which model made which prediction.",
    )
