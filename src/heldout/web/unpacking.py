"""Unpacking what was sent, up to a limit: a small file must not become one that fills the disk or the memory."""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

from heldout.errors import FileError
from heldout.files.sniff import GZIP_MAGIC, PARQUET_MAGIC, ZIP_MAGIC
from heldout.web.limits import size_words

PIECE = 1 << 20
# zlib's name for a stream with the header of gzip (zlib manual, inflateInit2).
GZIP_WINDOW = 16 + zlib.MAX_WBITS


# Is told how many bytes are about to be written, and raises a FileError where there is no room for them.
Room = Callable[[int], None]


def unpack(path: Path, most: int, shown: str, room: Room) -> int:
    """Unpack a gzip-compressed file in its place, and refuse what holds more than `most` bytes; its size then."""
    with path.open("rb") as file:
        head = file.read(2)
    if head == GZIP_MAGIC:
        beside = path.with_name(f"unpacked-{path.name}")
        try:
            _inflate(path, beside, most, shown, room)
            beside.replace(path)
        finally:
            beside.unlink(missing_ok=True)
        with path.open("rb") as file:
            head = file.read(2)
        if head == GZIP_MAGIC:
            raise FileError(f"{shown} is gzip-compressed twice.", hint="unpack it once with gunzip before sending it.")
    if head == ZIP_MAGIC:
        _check_archive(path, most, shown)
    if PARQUET_MAGIC.startswith(head):
        _check_parquet(path, most, shown)
    return path.stat().st_size


def _inflate(packed: Path, target: Path, most: int, shown: str, room: Room) -> None:
    """Write what the file unpacks to, never holding more than one piece of it."""
    written, whole, unpacker = 0, False, zlib.decompressobj(GZIP_WINDOW)
    try:
        with packed.open("rb") as source, target.open("xb") as out:
            while rest := source.read(PIECE):
                if whole:
                    # Members may follow each other, and zeros may fill the last block.
                    rest = rest.lstrip(b"\0")
                while rest:
                    piece = unpacker.decompress(rest, PIECE)
                    written += len(piece)
                    if written > most:
                        raise _too_much(shown, most)
                    room(len(piece))
                    out.write(piece)
                    whole, rest = unpacker.eof, unpacker.unconsumed_tail
                    if whole:
                        rest = unpacker.unused_data.lstrip(b"\0")
                        unpacker = zlib.decompressobj(GZIP_WINDOW)
    except zlib.error as error:
        raise _broken(shown, f"cannot be unpacked ({error})") from None
    if not whole:
        raise _broken(shown, "ends too early")


def _check_archive(path: Path, most: int, shown: str) -> None:
    """Refuse an archive (NPZ) whose members hold too much; Python unpacks no more than the sizes they declare."""
    try:
        with zipfile.ZipFile(path) as archive:
            total = sum(member.file_size for member in archive.infolist())
    except (zipfile.BadZipFile, OSError, NotImplementedError, ValueError):
        return  # the reader says what is wrong with it
    if total > most:
        raise _too_much(shown, most)


def _check_parquet(path: Path, most: int, shown: str) -> None:
    """Refuse a Parquet file whose rows take too much, by its footer alone: a value that repeats packs to nothing."""
    import polars as pl

    try:
        frame = pl.scan_parquet(path)
        widths = [_width(kind) for kind in frame.collect_schema().dtypes()]
        rows = frame.select(pl.len()).collect().item()
    except (pl.exceptions.PolarsError, OSError, ValueError):
        return  # the reader says what is wrong with it
    if rows * sum(widths) > most:
        raise _too_much(shown, most)


def _width(kind: object) -> int:
    """The bytes that a value takes at least; of a text, the 16 that point to it (Arrow's string views)."""
    digits = re.search(r"(?:Int|Float|Decimal)(\d*)", str(kind))
    if digits is not None:
        return int(digits[1] or 128) // 8
    return {"Boolean": 1, "Date": 4, "Categorical": 4}.get(str(kind), 16)


def _too_much(shown: str, most: int) -> FileError:
    return FileError(
        f"{shown} unpacks to more than {size_words(most)}, which is the most that is taken here.",
        hint="send fewer rows or columns, or start the server with a larger --max-upload.",
    )


def _broken(shown: str, how: str) -> FileError:
    return FileError(
        f"{shown} is gzip-compressed but {how}.", hint="copy or download it again, and check it with gzip -t."
    )
