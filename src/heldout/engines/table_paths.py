"""Which files a path names that an engine is to read, what they hold, and in which columns they agree.

It stands apart from `backends`, which opens files in an engine: here they are only listed and compared.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import unquote

import polars as pl

from heldout.arguments import listing
from heldout.errors import FileError, HeldoutError
from heldout.files.batches import SAME_COLUMNS
from heldout.files.columnar import ColumnarBatches
from heldout.files.delimited import load_header, usual_separator
from heldout.files.formats import either, format_by_ending, formats
from heldout.files.input_stream import inner_ending
from heldout.files.paths import KEY, FilePart, Listing, is_address, list_files

if TYPE_CHECKING:
    from heldout.files.batches import Batches


@dataclass(frozen=True, slots=True)
class FileGroup:
    """Files that an engine can read at once: of text their separator, of Parquet the columns to be widened.

    Of text files on this machine `names` are the columns in their order, and `skip` the lines up to the first row.
    """

    files: tuple[str, ...]
    separator: str = ","
    names: tuple[str, ...] = ()
    skip: int = 1
    widened: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TableFiles:
    """The files to read: their kind, and those that are alike together.

    `columns` are those that all files have, and `keys` those that only the names of their folders hold, each with the
    type of Polars that it has as a whole; `by_file` are the values of each key. The other columns are `withheld`,
    with the error for whoever wants one. A place elsewhere is the address itself, as it was given; nothing else is
    known of it. `batches` reads text files as the stream does. `root` is a folder in which others named key=value
    divide the files, and empty where there is none.
    `notes` are sentences about files that were left out.
    """

    groups: tuple[FileGroup, ...]
    kind: Literal["parquet", "text"]
    root: str = ""
    local: bool = True
    columns: Mapping[str, Any] = field(default_factory=dict)
    keys: Mapping[str, Any] = field(default_factory=dict)
    by_file: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    withheld: Mapping[str, HeldoutError] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    batches: Batches | None = None

    @property
    def files(self) -> tuple[str, ...]:
        """All files."""
        return tuple(file for group in self.groups for file in group.files)

    @property
    def folders(self) -> tuple[str, ...]:
        """What all folders called key=value hold in the paths of the files, also those above the one that was named."""
        matches = (match for name in Path(self.files[0]).parent.parts if (match := KEY.fullmatch(name)))
        return tuple(dict.fromkeys(unquote(match[1]) for match in matches))

    @property
    def texts(self) -> tuple[str, ...]:
        """The columns that hold text."""
        return tuple(name for name, kind in self.columns.items() if kind == pl.String)

    @property
    def fractions(self) -> tuple[str, ...]:
        """The columns of numbers that are not all whole."""
        return tuple(name for name, kind in self.columns.items() if kind == pl.Float64)

    @property
    def is_plain(self) -> bool:
        """Whether an engine can read all files at once, with all columns and none beside them."""
        return len(self.groups) == 1 and not self.withheld and not self.keys


def find_table_files(path: str) -> TableFiles:
    """The place that a path names on this machine, or an address.

    Engines fill up columns that a file lacks, cast those of another type, or go by position, all in silence; so that is
    looked at first.
    """
    if is_address(path) and not path.startswith("file://"):
        return table_files_at(path)
    files = list_files(path)
    if files.format.scan is None or files.format.batches is None:
        raise FileError(
            f"{path} holds {files.format.titles[0]}, which the engines that can be named do not read.",
            hint="leave out engine (--engine), or save it as Parquet.",
        )
    batches = files.format.batches(files)
    return _parquet(files, batches) if isinstance(batches, ColumnarBatches) else _text(files, batches)


def _parquet(listed: Listing, batches: ColumnarBatches) -> TableFiles:
    # Files without rows have no types to speak of.
    parts = _parts(listed, batches.files)
    columns: dict[str, Any] = {}
    withheld: dict[str, HeldoutError] = {}
    for name in batches.names:
        try:
            columns |= batches.kinds([name])
        except FileError as error:
            withheld[name] = error
    stored = {name: kind for name, kind in columns.items() if name not in batches.by_folder}
    types = batches.types
    widened = tuple(name for name in stored if len({str(own_types[name]) for own_types in types}) > 1)
    by_file = {
        part: tuple(str(own_types[name]) for name in widened) for part, own_types in zip(parts, types, strict=True)
    }
    groups = tuple(FileGroup(files, widened=widened) for files in _grouped(parts, lambda part: by_file[part]).values())
    return _place(groups, "parquet", batches, parts, columns, withheld)


def _text(listed: Listing, batches: Batches) -> TableFiles:
    parts = _parts(listed, batches.files)
    forms = {part: load_header(part.path) for part in parts}
    headers = {part: form.names for part, form in forms.items()}
    columns = {name for header in headers.values() for name in header}
    withheld = _lacking(batches, headers, columns)
    kinds = batches.kinds([name for name in batches.names if name not in withheld])
    alike = _grouped(parts, lambda part: (forms[part].separator, forms[part].names, forms[part].first_line - 1))
    groups = tuple(FileGroup(files, form[0], form[1], form[2]) for form, files in alike.items())
    return replace(_place(groups, "text", batches, parts, kinds, withheld), batches=batches)


def _place(
    groups: tuple[FileGroup, ...],
    kind: Literal["parquet", "text"],
    batches: Batches,
    parts: Sequence[FilePart],
    kinds: Mapping[str, Any],
    withheld: Mapping[str, HeldoutError],
) -> TableFiles:
    """The place of these files: of columns with these types, those that stand in them apart from those of folders."""
    keys_by_file = batches.by_folder
    keys = {name: kind for name, kind in kinds.items() if name in keys_by_file}
    return TableFiles(
        groups,
        kind,
        _root(parts[0], keys),
        columns={name: kind for name, kind in kinds.items() if name not in keys_by_file},
        keys=keys,
        by_file={name: dict(zip(map(_named, parts), keys_by_file[name], strict=True)) for name in keys},
        withheld=withheld,
        notes=batches.notes,
    )


def _lacking(
    batches: Batches, headers: Mapping[FilePart, tuple[str, ...]], columns: set[str]
) -> dict[str, HeldoutError]:
    """The columns that not all text files have, each with the error that says so."""
    absent: dict[str, HeldoutError] = {}
    for name in (name for name in batches.names if name in columns):
        bare = next((part.name for part, header in headers.items() if name not in header), None)
        if bare is not None:
            other = next(part.name for part, header in headers.items() if name in header)
            absent[name] = FileError(
                f"{bare} has no column {name!r}, and {other} has one.",
                hint=SAME_COLUMNS,
            )
    return absent


def _parts(listed: Listing, files: Sequence[str]) -> list[FilePart]:
    read = set(files)
    return [part for part in listed.parts if part.name in read]


def _root(part: FilePart, keys: Mapping[str, Any]) -> str:
    """The folder in which the first folder called key=value lies; empty where no column comes from such names."""
    if not keys:
        return ""
    above = list(Path(_named(part)).parents)[len(part.keys) - 1 :]
    first = next(folder for folder in above if unquote(folder.name).startswith(f"{part.keys[0][0]}="))
    return str(first.parent)


def _named(part: FilePart) -> str:
    """The path of a file by which engines find the folders that it was found in, even where it is a link."""
    return os.path.abspath(part.name)  # noqa: PTH100 - resolve() would follow the link


def _grouped(parts: Sequence[FilePart], key: Callable[[FilePart], Hashable]) -> dict[Any, tuple[str, ...]]:
    groups: dict[Any, list[str]] = {}
    for part in parts:
        groups.setdefault(key(part), []).append(_named(part))
    return {form: tuple(files) for form, files in groups.items()}


def table_files_at(path: str) -> TableFiles:
    """A path as it is; the kind is that of its ending, and a folder is taken for one of Parquet.

    >>> table_files_at("hdfs://name/preds").kind, table_files_at("s3a://bucket/*.csv.gz").kind
    ('parquet', 'text')
    """
    ending = inner_ending(Path(path))
    fmt = format_by_ending(ending)
    scan = "parquet" if fmt is None else fmt.scan
    if scan is None:
        readable = either([known.titles[0] for known in formats() if known.scan], "and")
        raise FileError(
            f"{path} ends in {ending}, and engines read {readable}.", hint="save it as Parquet, or copy it here."
        )
    return TableFiles((FileGroup((path,), usual_separator(ending)),), scan, local=False)


def check_same(file: str, columns: Mapping[str, str], other: str, expected: Mapping[str, str]) -> None:
    """Refuse a file whose columns are not those of another, naming both."""
    for with_column, has, without, lacks in ((other, expected, file, columns), (file, columns, other, expected)):
        missing = [column for column in has if column not in lacks]
        if missing:
            raise FileError(
                f"{without} has no column {listing(map(repr, missing))}, and {with_column} has.",
                hint="write all files with the same columns, or leave out those that differ.",
            )
    for column, kind in columns.items():
        if kind != expected[column]:
            raise FileError(
                f"The column {column!r} holds {kind} in {file}, and {expected[column]} in {other}.",
                hint="write it with one type in all files.",
            )
