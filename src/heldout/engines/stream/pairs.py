"""Files that are read in batches as one lazy frame of Polars, so that they can be joined."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from heldout.files.batches import Batches

# What the number of a row is called where cases have no name.
ROW = "row number"


def scanned(batches: Batches, columns: Sequence[str], *, numbered: bool = False) -> Any:
    r"""These columns as a lazy frame; where it is `numbered`, with the number of each row.

    >>> import pathlib, tempfile
    >>> from heldout.files.batches import batches_of
    >>> folder = tempfile.TemporaryDirectory()
    >>> _ = pathlib.Path(folder.name, "part.csv").write_text("truth,predicted\nyes,no\nno,no\n")
    >>> scanned(batches_of(folder.name), ["predicted"], numbered=True).collect().rows()
    [(0, 'no'), (1, 'no')]
    >>> folder.cleanup()
    """
    import polars as pl
    from polars.io.plugins import register_io_source

    wanted = list(dict.fromkeys(columns))

    def read(
        with_columns: list[str] | None, predicate: pl.Expr | None, n_rows: int | None, batch_size: int | None
    ) -> Iterator[pl.DataFrame]:
        del batch_size
        # A condition may look at columns that are not asked for; a source without columns would have no rows.
        held = wanted if predicate is not None or not with_columns else with_columns
        for frame in batches.frames(held):
            part = frame.select(held)
            if predicate is not None:
                part = part.filter(predicate)
            if n_rows is not None:
                part, n_rows = part.head(n_rows), n_rows - min(n_rows, len(part))
            yield part if with_columns is None else part.select(with_columns)
            if n_rows == 0:
                break

    kinds = batches.kinds(wanted)
    frame = register_io_source(read, schema={column: kinds[column] for column in wanted})
    return frame.with_row_index(ROW) if numbered else frame
