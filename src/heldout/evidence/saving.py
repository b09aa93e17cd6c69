"""Evidence in a file: small, versioned, checked, and never code.

    bytes 0 … 15    the words `heldout evidence`
    16 … 19         the version of the format
    20 … 27         how many bytes of content follow the checksum
    28 … 59         SHA-256 of everything else in the file
    60 …            the content: how long the header is (8 bytes), the header, and the arrays, each compressed

All numbers are little-endian. The header is compressed JSON: the evidence as plain values, and of each array how it is
packed and how many bytes it takes.
"""

from __future__ import annotations

import hashlib
import json
import struct
import zlib
from pathlib import Path
from typing import Any

from heldout.errors import FileError
from heldout.evidence.counted import Counted
from heldout.evidence.packing import BESIDE, TIMES, compressed, packed, unpacked
from heldout.evidence.possible import impossible
from heldout.evidence.written import read, written
from heldout.files.opening import existing_file
from heldout.files.whole import write_whole

MAGIC = b"heldout evidence"
VERSION = 2
ENDING = ".evidence"
_FRONT = struct.Struct("<16sIQ")
_DIGEST = 32
START = _FRONT.size + _DIGEST
_LENGTH = struct.Struct("<Q")
# A letter of the header becomes at most about so many bytes: an empty list is written with three and takes 64.
IN_MEMORY = 24
MOST_SAID = 200
AGAIN = "count it again, or copy the file again from where it was made."


def is_evidence_file(path: str | Path) -> bool:
    """Whether a path names a file of evidence: by its ending, or by the words that it begins with.

    >>> is_evidence_file("part-1.evidence"), is_evidence_file("predictions.csv")
    (True, False)
    """
    place = Path(path)
    try:
        if place.is_dir():
            return False
        if place.suffix.lower() == ENDING:
            return True
        if not place.is_file():
            return False
        with place.open("rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except (OSError, ValueError):
        # No such file, or none that can be read: whoever reads it says so.
        return False


def save(counted: Counted, path: str | Path) -> None:
    """Write evidence to a file, whole or not at all.

    >>> import pathlib, tempfile
    >>> from heldout.evidence.confusion import Confusion
    >>> folder = tempfile.TemporaryDirectory()
    >>> place = pathlib.Path(folder.name, "all.evidence")
    >>> save(Counted(Confusion.of([[5, 1], [0, 4]]), rows=10), place)
    >>> load(place).n
    10
    >>> folder.cleanup()
    """
    write_whole(path, as_bytes(counted))


def load(path: str | Path) -> Counted:
    """Read evidence from a file, or say why it cannot be used."""
    return loaded(path)[0]


def loaded(path: str | Path) -> tuple[Counted, str]:
    """The evidence of a file, and the checksum of the file: equal for copies of it."""
    place = existing_file(path)
    try:
        data = place.read_bytes()
    except OSError as error:
        raise FileError(
            f"{path} cannot be read: {error.strerror or error}.", hint="check that the file is there and open to you."
        ) from None
    return from_bytes(data, str(path)), data[_FRONT.size : START].hex()


def as_bytes(counted: Counted) -> bytes:
    """The bytes of a file of evidence; the same evidence has the same bytes."""
    arrays: list[Any] = []
    header: dict[str, Any] = {"evidence": written(counted, arrays)}
    parts = [packed(array) for array in arrays]
    header["arrays"] = [{**how, "bytes": len(data)} for how, data in parts]
    plain = json.dumps(header, ensure_ascii=True, separators=(",", ":")).encode("ascii")
    text = compressed(plain, IN_MEMORY * len(plain))
    content = b"".join([_LENGTH.pack(len(text)), text, *(data for _, data in parts)])
    front = _FRONT.pack(MAGIC, VERSION, len(content))
    return front + _digest(front, content) + content


def from_bytes(data: bytes, name: str) -> Counted:
    """The evidence in the bytes of a file; `name` is what an error calls it."""
    _check_front(data, name)
    front, content = data[: _FRONT.size], data[START:]
    if _digest(front, content) != data[_FRONT.size : START]:
        raise FileError(f"{name} is damaged: its checksum does not fit its content.", hint=AGAIN)
    try:
        counted = _read(content)
    except (
        ValueError,
        TypeError,
        KeyError,
        AttributeError,
        IndexError,
        RecursionError,
        OverflowError,
        struct.error,
        zlib.error,
    ) as why:
        raise FileError(f"{name} is no evidence that can be read: {_short(why)}.", hint=AGAIN) from None
    except MemoryError:
        raise FileError(
            f"{name} needs more memory than there is: it has {len(data):,} bytes, and more when it is unpacked.",
            hint="read it on a machine with more memory, or count fewer cases into one file.",
        ) from None
    if reason := impossible(counted):
        raise FileError(f"{name} holds what cannot be: {reason}.", hint=AGAIN)
    return counted


def _short(why: Exception) -> str:
    """What went wrong, in a few words: what a file says of itself may be long."""
    text = str(why)
    return text if len(text) <= MOST_SAID else f"{text[:MOST_SAID]} …"


def _digest(front: bytes, content: bytes) -> bytes:
    return hashlib.sha256(front + content).digest()


def _check_front(data: bytes, name: str) -> None:
    """Refuse what is no evidence, of another version, or not whole."""
    if data[: len(MAGIC)] != MAGIC[: len(data)] or not data:
        raise FileError(
            f"{name} is not a file of evidence: it does not begin as one.",
            hint="give files that heldout count or Evidence.save wrote; heldout evaluate reads predictions.",
        )
    if len(data) < START:
        raise FileError(f"{name} is cut short: it ends after {len(data):,} bytes.", hint=AGAIN)
    _, version, length = _FRONT.unpack_from(data)
    if version != VERSION:
        older = version < VERSION
        raise FileError(
            f"{name} has version {version} of the format, which is {'older' if older else 'newer'} than version "
            f"{VERSION} that is read here.",
            hint="count it again with this heldout." if older else "install a newer heldout to read it.",
        )
    held = len(data) - START
    if held != length:
        what = "is cut short" if held < length else "has more behind its end"
        raise FileError(f"{name} {what}: {held:,} of {length:,} bytes of content are there.", hint=AGAIN)


def _read(content: bytes) -> Counted:
    (size,) = _LENGTH.unpack_from(content)
    at = _LENGTH.size + size
    if at > len(content):
        message = "its header is not whole"
        raise ValueError(message)
    most = (BESIDE + TIMES * size) // IN_MEMORY
    reader = zlib.decompressobj()
    text = reader.decompress(content[_LENGTH.size : at], most + 1)
    if len(text) > most:
        message = f"{size:,} bytes of its header claim to hold more than {most:,}"
        raise ValueError(message)
    if not reader.eof:
        message = "its header is not whole"
        raise ValueError(message)
    header = json.loads(text)
    arrays = []
    for how in header["arrays"]:
        held = how["bytes"]
        if type(held) is not int or not 0 <= held <= len(content) - at:
            message = f"an array of {held!r} bytes"
            raise ValueError(message)
        arrays.append(unpacked(how, content[at : at + held]))
        at += held
    if at != len(content):
        message = f"{len(content) - at:,} bytes belong to no array"
        raise ValueError(message)
    counted = read(header["evidence"], arrays)
    if not isinstance(counted, Counted):
        message = f"it holds a {type(counted).__name__}"
        raise TypeError(message)
    return counted
