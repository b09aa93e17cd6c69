"""Rows with missing values: what one contestant lacks is dropped from all, so that the rest stay the same cases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from heldout.evaluation import Evaluation
from heldout.files import read_table
from heldout.predictions.pairing import lost_rows


class Reader(Protocol):
    """A contestant that can be read again, with fewer rows."""

    @property
    def data(self) -> Any:
        """The file or the frame."""

    def evaluation(self) -> Evaluation:
        """What it comes to."""

    def rows_kept(self, frame: Any, n: int) -> NDArray[np.int64]:
        """Which rows have all values."""

    def part(self, frame: Any, keep: NDArray[np.bool_]) -> Reader:
        """The same with these rows only."""


def without_lost_rows(made: Sequence[Any], readers: Sequence[Reader]) -> list[Any]:
    """The contestants without the rows that any of them lacks, where all had as many rows to begin with.

    Where they had not, they stay as they are, and nothing but ids can say which case is which.
    """
    if not any(one.predictions is not None and lost_rows(one.predictions) for one in made):
        return list(made)
    frames = _frames([reader.data for reader in readers])
    sizes = {_rows(frame) for frame in frames}
    if len(sizes) > 1 or None in sizes:
        return list(made)
    n = sizes.pop() or 0
    kept = [reader.rows_kept(frame, n) for reader, frame in zip(readers, frames, strict=True)]
    keep = np.bincount(np.concatenate(kept), minlength=n) == len(readers)
    if not keep.any():
        return list(made)
    gone = n - int(keep.sum())
    return [
        noted(reader.part(frame, keep).evaluation(), gone, n, n - len(own))
        for reader, frame, own in zip(readers, frames, kept, strict=True)
    ]


def noted(evaluation: Evaluation, gone: int, n: int, own: int) -> Evaluation:
    """The evaluation with a note of the rows that were left out of all, and in how many it lacks a value itself."""
    said = (
        f"{gone:,} of {n:,} rows were dropped from all classifiers, because one or more of them lacks a value there; "
        f"this one in {own:,}"
    )
    return replace(evaluation, notes=(*evaluation.notes, said))


def _frames(given: Sequence[Any]) -> list[Any]:
    """The frames; a file is read again, unless it can be read only once."""
    return [
        one if not isinstance(one, str | Path) else read_table(one) if str(one) != "-" and Path(one).is_file() else None
        for one in given
    ]


def _rows(frame: Any) -> int | None:
    if isinstance(frame, Mapping):
        sizes = {len(column) for column in frame.values()}
        return sizes.pop() if len(sizes) == 1 else None
    return None if frame is None else len(frame)


def frame_part(frame: Any, keep: NDArray[np.bool_]) -> Any:
    """Some rows of a frame or of a dictionary of columns.

    >>> frame_part({"truth": [0, 1, 1]}, np.array([True, False, True]))["truth"]
    [0, 1]
    """
    if isinstance(frame, Mapping):
        return {name: rows_of(column, keep) for name, column in frame.items()}
    import narwhals.stable.v2 as nw

    return nw.from_native(frame).filter(keep.tolist()).to_native()


def rows_of(column: Any, keep: NDArray[np.bool_]) -> Any:
    """Some rows of a column; the name of one stays as it is.

    >>> rows_of("truth", np.array([True])), rows_of(("a", "b"), np.array([False, True]))
    ('truth', ['b'])
    """
    if column is None or isinstance(column, str | int):
        return column
    if isinstance(column, list | tuple):
        return [value for value, kept in zip(column, keep.tolist(), strict=True) if kept]
    import narwhals.stable.v2 as nw

    series = nw.from_native(column, allow_series=True, pass_through=True)
    return series.filter(keep.tolist()).to_native() if isinstance(series, nw.Series) else np.asarray(column)[keep]
