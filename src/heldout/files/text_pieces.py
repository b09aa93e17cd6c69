"""Text files cut into pieces of whole records, also while they are unpacked."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path

from heldout.errors import FileError
from heldout.files.many import Part
from heldout.files.opening import load_head
from heldout.files.sniff import GZIP_MAGIC

# Bytes of a piece. A record may be as long as a few of them, and then a quote was not closed.
PIECE = 1 << 25
MOST_PIECES = 8


def pieces(part: Part, *, quoted: bool, size: int = PIECE) -> Iterator[bytes]:
    """The bytes of a text file in pieces that end with a line; with `quoted`, a line inside quotes does not end one."""
    rest = b""
    for block in _blocks(part, size):
        # Files that end their lines as computers of the last century did have no newline at all.
        data = rest + (block.replace(b"\r", b"\n") if b"\r" in block and b"\n" not in block else block)
        cut = _cut(data, quoted=quoted)
        if not cut and len(data) > MOST_PIECES * size:
            raise FileError(
                f"{part.name} holds a record of more than {len(data) >> 20:,} MB, which no record is.",
                hint='look for a quote (") that is not closed.',
            )
        if cut:
            yield data[:cut]
        rest = data[cut:]
    if rest:
        yield rest


def _cut(data: bytes, *, quoted: bool) -> int:
    """Where the last whole record ends."""
    end = data.rfind(b"\n")
    if not quoted or b'"' not in data:
        return end + 1
    quotes = data.count(b'"', 0, end + 1)
    while end >= 0 and quotes % 2:
        before = data.rfind(b"\n", 0, end)
        quotes -= data.count(b'"', before + 1, end + 1)
        end = before
    return end + 1


def _blocks(part: Part, size: int) -> Iterator[bytes]:
    path = Path(part.path)
    # Says what is wrong with a file that cannot be opened.
    head = load_head(path, 4) if path.suffix.lower() == ".gz" else None
    try:
        with path.open("rb") as plain:
            packed = head is not None or plain.read(2) == GZIP_MAGIC
        with gzip.open(path, "rb") if packed else path.open("rb") as file:
            while block := file.read(size):
                yield block
    except PermissionError:
        raise FileError(
            f"{part.name} cannot be opened: no permission to read it.",
            hint="ask its owner for read access, or change it with chmod u+r.",
        ) from None
    except (OSError, EOFError, zlib.error) as error:
        how = "ends too early" if isinstance(error, EOFError) else f"cannot be read ({error})"
        raise FileError(
            f"{part.name} {how}.",
            hint="copy or download it again; of a packed file, gzip -t tells whether it is whole.",
        ) from None
