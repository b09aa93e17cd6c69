"""Which files a path stands for: one file, all of a folder, those that a pattern matches, or an address elsewhere."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from heldout.arguments import listing
from heldout.errors import FileError
from heldout.files.formats import (
    Format,
    either,
    format_by_ending,
    format_of,
    formats,
    has_ending,
    is_shared,
    known_endings,
    titles_in_batches,
)
from heldout.files.input_stream import MEND_LINK, existing_file, inner_ending, load_head

# Addresses that Polars reads by itself.
REMOTE = ("s3", "s3a", "gs", "gcs", "az", "azure", "abfs", "abfss", "adl", "http", "https")
# What programs that write folders put into the path in place of a missing value.
NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
# A folder that holds a value of a column in its name.
KEY = re.compile(r"([^=/]+)=(.*)")
_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")
# Two names of one folder each.
Links = list[tuple[Path, Path]]


@dataclass(frozen=True, slots=True)
class FilePart:
    """One file, the name that messages call it by, and the keys that its path holds, such as region=north.

    `inside` is its name in the folder that was given.
    """

    path: str
    name: str
    keys: tuple[tuple[str, str | None], ...] = ()
    inside: str = ""


@dataclass(frozen=True, slots=True)
class Listing:
    """The files behind one path, in the order in which they are read, and what to say of those left out."""

    name: str
    format: Format
    parts: tuple[FilePart, ...]
    notes: tuple[str, ...] = ()
    remote: bool = False


def is_address(path: str) -> bool:
    """Whether a path is an address such as s3://bucket/key.

    >>> is_address("s3://bucket/key"), is_address("preds/part-1.parquet")
    (True, False)
    """
    return _ADDRESS.match(path) is not None


def is_pattern(path: str) -> bool:
    """Whether a path is a pattern; the name of a file that exists is none, whatever characters it has."""
    return glob.has_magic(path) and not _exists(path)


def list_files(path: str | Path) -> Listing:
    r"""The files that a path stands for.

    Files whose names begin with a dot or an underscore, and checksums, belong to the programs that wrote the others.

    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> for name in ("part-1.csv", "part-2.csv", "_SUCCESS"):
    ...     _ = pathlib.Path(folder.name, name).write_text("truth,predicted\n0,1\n")
    >>> [pathlib.Path(part.path).name for part in list_files(folder.name).parts]
    ['part-1.csv', 'part-2.csv']
    >>> folder.cleanup()
    """
    text = os.fspath(path)
    if text.startswith("file://"):
        text = unquote(text.removeprefix("file://"))
    if is_address(text):
        return _elsewhere(text)
    if is_pattern(text):
        return _matching(text)
    if Path(text).is_dir():
        return _list_folder(Path(text))
    file = existing_file(text)
    return Listing(file.name, _format(file, text), (FilePart(str(file.resolve()), text),))


def _exists(path: str) -> bool:
    try:
        return Path(path).exists()
    except (OSError, ValueError):
        return False


def _elsewhere(address: str) -> Listing:
    scheme = address.partition("://")[0].casefold()
    if scheme not in REMOTE:
        hint = "let Spark read it: engine='spark' (--engine spark)."
        raise FileError(f"Addresses that begin with {scheme}:// cannot be read here. Got {address}.", hint=hint)
    ending = inner_ending(Path(address))
    remote = [fmt for fmt in formats() if fmt.remote]
    fmt = format_by_ending(ending) or remote[0]
    if fmt not in remote:
        titles = either((known.titles[0] for known in remote), "and")
        raise FileError(
            f"Only {titles} is read from elsewhere, and {address} ends in {ending}.",
            hint="copy the file to this machine, or let DuckDB or Spark read it (--engine duckdb).",
        )
    name = address.rstrip("/").rpartition("/")[2]
    return Listing(name, fmt, (FilePart(address, address),), remote=True)


def _matching(pattern: str) -> Listing:
    again: Links = []
    paths = sorted({path for path in _found(pattern, again) if not _is_bookkeeping(path.name)})
    files, folders = [path for path in paths if path.is_file()], [path for path in paths if path.is_dir()]
    # Of a pattern that matches folders, such as year=*, the files inside are meant; ** matches both.
    inside = [file for folder in folders for file in _inside(folder) if inner_ending(file) in known_endings()]
    files = sorted(set(files) | set(inside))
    _refuse_again(again, files)
    if not files:
        raise FileError(
            f"No file matches the pattern {pattern}.",
            hint="check the folder and the ending; in a shell, put the pattern into quotes.",
        )
    fixed = pattern[: re.search(r"[*?\[]", pattern).start()]  # type: ignore[union-attr]
    root = Path(fixed).parent if not fixed.endswith("/") else Path(fixed)
    return _together(pattern, files, root)


def _list_folder(folder: Path) -> Listing:
    everything = _inside(folder)
    files = [file for file in everything if inner_ending(file) in known_endings()]
    if not files:
        content = listing((file.name for file in everything), most=4) if everything else "nothing"
        raise FileError(
            f"The folder {folder} has no table that can be read: it holds {content}.",
            hint=f"give a folder of {titles_in_batches()} files, or the path of one file.",
        )
    left = [file.name for file in everything if file not in set(files)]
    notes = (f"left out of {folder.name}, because they are no tables: {listing(left, most=4)}",) if left else ()
    return _together(str(folder), files, folder, notes)


def _inside(folder: Path) -> list[Path]:
    """All files below a folder in order, without those that belong to the programs that wrote them."""
    again: Links = []
    files = [Path(top, name) for top, names in _walked(folder, again) for name in names]
    _refuse_again(again, [file for file in files if inner_ending(file) in known_endings()])
    return sorted(files)


def _walked(folder: Path, again: Links) -> Iterator[tuple[Path, list[str]]]:
    """A folder and all those below it, each with the names of its files.

    Links to folders are followed, and each folder is entered once: a link to one that the link is in leads to nothing
    new, and other links to where one has been before are put into `again`.
    """

    def refused(error: OSError) -> None:
        raise FileError(
            f"The folder {error.filename} cannot be opened: {error.strerror}.",
            hint="ask its owner for read access, or name the files that are wanted with a pattern.",
        )

    first = {_place(folder): folder}
    for top, folders, names in os.walk(folder, followlinks=True, onerror=refused):
        new: list[str] = []
        for name in sorted(name for name in folders if not _is_bookkeeping(name)):
            inner = Path(top, name)
            known = first.setdefault(_place(inner), inner)
            if known is inner:
                new.append(name)
            elif known not in inner.parents:
                again.append((known, inner))
        folders[:] = new
        yield Path(top), [name for name in names if not _is_bookkeeping(name)]


def _found(pattern: str, again: Links) -> list[Path]:
    """What matches a pattern; ** stands for any folders, and goes through none of them twice."""
    head, stars, tail = pattern.partition("**")
    if not stars or (head and not head.endswith("/")) or (tail and not tail.startswith("/")):
        return [Path(name) for name in glob.glob(pattern)]  # noqa: PTH207 - Path.glob takes no absolute pattern
    tops = [Path(name) for name in glob.glob(head)] if head else [Path()]  # noqa: PTH207
    if not tail.strip("/"):
        return tops
    folders = [folder for top in tops if top.is_dir() for folder, _ in _walked(top, again)]
    return [path for folder in folders for path in _found(os.path.join(glob.escape(str(folder)), tail[1:]), again)]  # noqa: PTH118


def _refuse_again(again: Links, tables: Sequence[Path]) -> None:
    for known, inner in again:
        if any(known in file.parents for file in tables):
            raise _twice(known, inner)


def _place(folder: Path) -> tuple[int, int]:
    """What tells a folder from every other, whatever links lead to it."""
    status = folder.stat()
    return status.st_dev, status.st_ino


def _twice(first: Path, second: Path) -> FileError:
    return FileError(
        f"{first} and {second} are the same {'folder' if first.is_dir() else 'file'}, so its rows would count twice.",
        hint="remove the link, or name the files that are wanted with a pattern.",
    )


def _is_bookkeeping(name: str) -> bool:
    # A partition may be called _day=3; a file or folder of the writer holds no such sign.
    return name.startswith(".") or (name.startswith("_") and "=" not in name) or name.endswith((".crc", ".tmp"))


def _together(path: str, files: Sequence[Path], root: Path, notes: tuple[str, ...] = ()) -> Listing:
    """The files as one table, and what was said of it; text of no bytes is left out, and no other file may be so."""
    for file in files:
        if not file.exists():
            raise FileError(
                f"{file} is a link to {file.readlink()}, which is not there."
                if file.is_symlink()
                else f"{file} is no longer there.",
                hint=MEND_LINK if file.is_symlink() else "read again.",
            )
    empty = [file for file in files if file.stat().st_size == 0]
    filled = [file for file in files if file not in set(empty)]
    if not filled:
        raise FileError(
            f"All {len(files):,} files of {path} are empty.", hint="check that whatever writes them has finished."
        )
    examples: dict[Format, Path] = {}
    for file in filled:
        examples.setdefault(_format(file, str(file)), file)
    if len(examples) > 1:
        shown = "; ".join(f"{file.name} is {fmt.name}" for fmt, file in examples.items())
        raise FileError(
            f"The files of {path} are of different kinds: {shown}.",
            hint="name those of one kind with a pattern, such as '*.parquet'.",
        )
    if empty:
        _refuse_cut(empty, next(iter(examples)))
        notes = (*notes, empty_note([_inside_of(root, file) for file in empty], "bytes"))
    parts = tuple(
        FilePart(str(file.resolve()), str(file), _keys(file, root), _inside_of(root, file)) for file in filled
    )
    first: dict[str, FilePart] = {}
    for part in parts:
        if first.setdefault(part.path, part) is not part:
            raise _twice(Path(first[part.path].name), Path(part.name))
    return Listing(Path(path).name, next(iter(examples)), parts, notes)


def empty_note(names: Sequence[str], lacking: str = "rows") -> str:
    """The sentence about files without a row, or without a byte.

    >>> empty_note(["day=1/part.csv"])
    '1 file has no rows and was left out: day=1/part.csv'
    """
    what = f"1 file has no {lacking} and was" if len(names) == 1 else f"{len(names):,} files have no {lacking} and were"
    return f"{what} left out: {listing(names, most=4)}"


def _refuse_cut(empty: Sequence[Path], fmt: Format) -> None:
    """Refuse files of no bytes of a format that writes some also without rows: so rows may be lost."""
    own = {file: fmt if has_ending(fmt, inner_ending(file)) else format_by_ending(inner_ending(file)) for file in empty}
    lost = [(file, kind) for file, kind in own.items() if kind is not None and kind.never_empty]
    if lost:
        file, kind = lost[0]
        more = f" So are {len(lost) - 1:,} more." if len(lost) > 1 else ""
        raise FileError(
            f"{file} is empty (0 bytes), which no {kind.titles[0]} file is that was written to its end.{more}",
            hint="write it again; if no rows belong there, remove it, or name the other files with a pattern.",
        )


def _inside_of(root: Path, file: Path) -> str:
    return str(file.relative_to(root)) if file.is_relative_to(root) else file.name


def _format(file: Path, name: str) -> Format:
    ending = inner_ending(file)
    fmt = format_by_ending(ending)
    if fmt is None or is_shared(ending):
        fmt = format_of(name, ending, load_head(file, 1 << 16).data)
    if fmt.batches is None:
        raise FileError(
            f"{name} holds {fmt.titles[0]}, which cannot be read piece by piece.",
            hint="save it as Parquet or CSV, or read it alone: engine='memory' (--engine memory).",
        )
    return fmt


def _keys(file: Path, root: Path) -> tuple[tuple[str, str | None], ...]:
    """The keys in the folders between the root and the file."""
    try:
        between = file.relative_to(root).parent.parts
    except ValueError:
        between = ()
    pairs = [match.groups() for name in between if (match := KEY.fullmatch(name))]
    return tuple((unquote(key), None if value == NO_VALUE else unquote(value)) for key, value in pairs)
