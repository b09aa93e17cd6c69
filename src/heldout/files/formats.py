"""The formats of tables: what each is called, how it is told by ending or first bytes, and how it is read.

A format is one `Format` among the FORMATS of the module that reads it; `MODULES` names those modules.
Everything else (reading, folders of many files, batches, engines, help, errors) asks the declaration.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Literal

from heldout.errors import FileError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    import polars as pl

    from heldout.files.batches import Batches
    from heldout.files.input_stream import Content
    from heldout.files.paths import Listing

# In the order in which lists of formats name them. A file of unknown format is read as the first.
MODULES = ("delimited", "columnar", "json_tables", "npz", "arff")


_UNPACK = "unpack it first: CSV may stay packed with gzip (.csv.gz), Parquet is packed by itself."
_AS_TABLE = "save it as CSV or Parquet, one row for each case: frame.to_csv('cases.csv') in pandas."
# Files that people have at hand and that are no tables here: their first bytes, the endings that are needed beside
# these where others begin alike, what they are, and what to do.
FOREIGN: tuple[tuple[bytes, tuple[str, ...], str, str], ...] = (
    (b"\x93NUMPY", (), "a single NumPy array (.npy)", "save all columns together: numpy.savez('cases.npz', truth=…)."),
    (b"PK\x03\x04", (".xlsx", ".xlsm"), "a workbook of Excel", "save the sheet as CSV."),
    (b"PK\x03\x04", (".ods",), "a workbook", "save the sheet as CSV."),
    (b"PK\x03\x04", (".zip",), "a zip archive", _UNPACK),
    (b"\xd0\xcf\x11\xe0", (), "a workbook of old Excel (.xls)", "save the sheet as CSV."),
    (b"BZh", (), "text packed with bzip2", _UNPACK),
    (b"\xfd7zXZ", (), "something packed with xz", _UNPACK),
    (b"\x28\xb5\x2f\xfd", (), "something packed with zstd", _UNPACK),
    (b"7z\xbc\xaf", (), "a 7z archive", _UNPACK),
    (b"\x89HDF", (), "an HDF5 file", _AS_TABLE),
    (b"SQLite format 3", (), "an SQLite database", _AS_TABLE),
    (b"\x80\x04\x95", (), "a pickle of Python, which may run code when it is opened, and", _AS_TABLE),
    (b"\x80\x05\x95", (), "a pickle of Python, which may run code when it is opened, and", _AS_TABLE),
)


def refuse_foreign(name: str, ending: str, head: bytes) -> None:
    """Refuse a file that is no table, with what it is and how to make a table of it."""
    for magic, endings, what, hint in FOREIGN:
        if head.startswith(magic) and (not endings or ending in endings):
            raise FileError(f"{name} is {what}, which cannot be read here.", hint=hint)


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """One format of tables.

    `titles` are what people call it, in help and errors; `endings` are without `.gz`, which every format may have.
    `magic` are the first bytes of a binary format, and `holds` says in words what has them; `is_like` judges the first
    bytes of text. Where two formats share an ending, the first bytes decide, and else the first of them has it.
    `header_line` says that the names of columns stand in the first line, `never_empty` that a file of no bytes was not
    written to its end, `remote` that Polars reads it from addresses, and `scan` how engines that can be named read it.
    """

    name: str
    titles: tuple[str, ...]
    endings: tuple[str, ...]
    read: Callable[[Content, Sequence[str] | None], pl.DataFrame]
    names: Callable[[Content], tuple[str, ...]]
    # Of a file that need not be loaded only the wanted columns are read, and labels that repeat are compressed.
    read_in_place: Callable[[Content, Sequence[str] | None, Sequence[str]], pl.DataFrame] | None = None
    batches: Callable[[Listing], Batches] | None = None
    magic: tuple[bytes, ...] = ()
    holds: str = ""
    is_like: Callable[[bytes], bool] | None = None
    header_line: bool = False
    never_empty: bool = False
    remote: bool = False
    # The library that reads it takes sizes in a file for true, and ends the process where there is no such memory.
    may_abort: bool = False
    scan: Literal["parquet", "text"] | None = None
    # The number of rows, where a file tells it without being read; 0 where it cannot be told.
    count_rows: Callable[[Path], int] | None = None
    # The bytes that the rows take at least once they are unpacked; 0 where it cannot be told.
    unpacked_bytes: Callable[[Path], int] | None = None


@cache
def formats() -> tuple[Format, ...]:
    """All formats, in the order in which lists name them.

    >>> [fmt.name for fmt in formats()][:2]
    ['delimited', 'parquet']
    """
    return tuple(fmt for module in MODULES for fmt in import_module(f"heldout.files.{module}").FORMATS)


def format_by_ending(ending: str) -> Format | None:
    """The format with this ending, as far as the ending alone can tell.

    >>> format_by_ending(".pq").name, format_by_ending(".txt")
    ('parquet', None)
    """
    return next(iter(_with_ending(ending)), None)


def format_by_magic(head: bytes) -> Format | None:
    """The binary format whose files begin with these bytes.

    >>> format_by_magic(b"PAR1...").name
    'parquet'
    """
    return next((fmt for fmt in formats() if fmt.magic and head.startswith(fmt.magic)), None)


def format_of(name: str, ending: str, head: bytes) -> Format:
    """Decide the format of a table by the ending where it is known, and by the first bytes otherwise.

    A text ending on a binary file is refused: the file was most likely renamed by mistake.

    >>> format_of("scores.csv", ".csv", b"id,p").name, format_of("scores", "", b"PAR1...").name
    ('delimited', 'parquet')
    """
    refuse_foreign(name, ending, head)
    by_ending = _with_ending(ending)
    by_magic = format_by_magic(head)
    if not by_ending:
        return by_magic or next((fmt for fmt in formats() if _is_like(fmt, head)), formats()[0])
    if by_magic is not None and not any(fmt.magic for fmt in by_ending):
        binary = [fmt.endings[0] for fmt in formats() if fmt.magic]
        raise FileError(
            f"{name} is named like a text file ({ending}) but holds {by_magic.holds}.",
            hint=f"give it the ending of what it holds ({either(binary)}); save a workbook as CSV first.",
        )
    return next((fmt for fmt in by_ending if _is_like(fmt, head)), by_ending[0])


def may_abort(path: str) -> bool:
    """Whether reading what a path names may end the process, as far as the name and the first bytes tell.

    >>> may_abort("scores.parquet"), may_abort("scores.csv")
    (True, False)
    """
    ending = os.path.splitext(path.lower().removesuffix(".gz"))[1]  # noqa: PTH122 - a pattern or an address, too
    if path == "-" or any(fmt.may_abort for fmt in _with_ending(ending)):
        return True
    try:
        if os.path.isdir(path):  # noqa: PTH112 - as above
            return True
        if not os.path.isfile(path):  # noqa: PTH113 - as above
            # A pipe can be read once, and may bring anything.
            return os.path.exists(path)  # noqa: PTH110 - as above
        with open(path, "rb") as file:  # noqa: PTH123 - as above
            fmt = format_by_magic(file.read(8))
    except (OSError, ValueError):
        return False
    return fmt is not None and fmt.may_abort


def is_shared(ending: str) -> bool:
    """Whether several formats have an ending, so that the first bytes must tell."""
    return len(_with_ending(ending)) > 1


def has_ending(fmt: Format, ending: str) -> bool:
    """Whether files with an ending may hold a format; without a known ending they may.

    >>> has_ending(formats()[0], ".tsv"), has_ending(formats()[0], ".npz"), has_ending(formats()[0], "")
    (True, False, True)
    """
    return fmt in (_with_ending(ending) or formats())


def known_endings() -> tuple[str, ...]:
    """The endings of all formats."""
    return tuple(dict.fromkeys(ending for fmt in formats() for ending in fmt.endings))


def titles_of_formats() -> str:
    """What one file may hold, in words for help.

    >>> titles_of_formats().startswith("CSV, TSV, Parquet, ")
    True
    """
    return either(title for fmt in formats() for title in fmt.titles)


def titles_in_batches() -> str:
    """What the files of a folder may hold, in words for help and hints.

    >>> titles_in_batches().startswith("CSV, Parquet")
    True
    """
    return either(fmt.titles[0] for fmt in formats() if fmt.batches)


def either(names: Iterable[str], word: str = "or") -> str:
    """Join names with commas, and the last one with a word.

    >>> either(["CSV", "NPZ", "ARFF"])
    'CSV, NPZ or ARFF'
    """
    *others, last = names
    return f"{', '.join(others)} {word} {last}" if others else last


def _with_ending(ending: str) -> list[Format]:
    return [fmt for fmt in formats() if ending in fmt.endings]


def _is_like(fmt: Format, head: bytes) -> bool:
    return fmt.is_like is not None and fmt.is_like(head)
