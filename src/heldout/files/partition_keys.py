"""Columns that the folders of a table hold in their names, such as year=2026/region=north."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from heldout.errors import FileError
from heldout.files.column_types import typed
from heldout.files.many import NO_VALUE, Part

if TYPE_CHECKING:
    import polars as pl


def key_columns(parts: Sequence[Part], held: Sequence[Collection[str]] = ()) -> dict[str, list[Any]]:
    """The value of every key for each part, with the type that all values of the key share.

    `held` are the columns in each of the files: one that is called like a key must hold what the folder says.

    >>> key_columns([Part("a", "a", (("year", "2025"),)), Part("b", "b", (("year", "2026"),))])
    {'year': [2025, 2026]}
    """
    import polars as pl

    names = dict.fromkeys(key for part in parts for key, _ in part.keys)
    columns: dict[str, list[Any]] = {}
    for name in names:
        bare = next((part for part in parts if name not in dict(part.keys)), None)
        if bare is not None:
            other = next(part for part in parts if name in dict(part.keys))
            raise FileError(
                f"{bare.name} has no folder {name}=… in its path, and {other.name} has one.",
                hint="read the partitions of one table at a time, with a pattern or from their own folder.",
            )
        texts = pl.Series(name, [dict(part.keys)[name] for part in parts], dtype=pl.String)
        columns[name] = typed(texts).to_list()
        for part, own in zip(parts, held, strict=False):
            if name in own:
                _check_column(part, name)
    return columns


def key_type(values: Sequence[Any]) -> pl.DataType:
    """The type of Polars that the values of a key have; text where all of them are missing.

    >>> key_type([2025, None]), key_type([None])
    (Int64, String)
    """
    import polars as pl

    held = pl.Series(values).dtype
    return pl.String() if held == pl.Null else held


def _check_column(part: Part, name: str) -> None:
    """Refuse a file whose column of the name of a key holds something else: programs differ in which they believe."""
    import polars as pl

    from heldout.files.batches import batches_of

    said = dict(part.keys)[name]
    value = typed(pl.Series([said], dtype=pl.String))[0]
    batches = batches_of(part.path, engine="stream")
    for frame in batches.frames([name]) if batches is not None else ():
        for found in frame.get_column(name).unique(maintain_order=True).to_list():
            if found != value and (found is None or str(found) != said):
                raise FileError(
                    f"{part.name} lies in the folder {name}={NO_VALUE if said is None else said}, "
                    f"and its column {name!r} holds {'a missing value' if found is None else repr(found)}.",
                    hint="write the file without the column, or give one of the two another name.",
                )
