"""Evidence in a file: compact, checked, and written whole or not at all."""

from __future__ import annotations

import hashlib
import json
import math
import struct
import types
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from heldout.arguments import listing
from heldout.atomic_write import write_whole
from heldout.errors import FileError
from heldout.evidence.confusion import Clusters, Confusion
from heldout.evidence.consistency import impossible
from heldout.evidence.counted import Counted, CountedColumn, ScoreTally
from heldout.evidence.labels import key_array
from heldout.evidence.partitions import FoldCounts, SliceCounts, SliceGroups
from heldout.evidence.probabilities import Moments, Probabilities, ProbabilityGroups, Reliability, SparseSums, Unfit
from heldout.evidence.score_bins import BinGroups, ScoreBins
from heldout.files.input_stream import existing_file

# Evidence in a file: small, versioned, checked, and never code.
#
# Bytes 0 to 15: the words `heldout evidence`.
# Bytes 16 to 19: the version of the format.
# Bytes 20 to 27: how many bytes of content follow the checksum.
# Bytes 28 to 59: SHA-256 of everything else in the file.
# From byte 60: the content, which is the length of the header (8 bytes), the header, and the arrays, each compressed.
#
# All numbers are little-endian. The header is compressed JSON: the evidence as plain values, and of each array how it
# is packed and how many bytes it takes.


# Evidence as plain values and a list of arrays, and back: only the kinds that are named here, never code.

WRITTEN: dict[str, Any] = {
    kind.__name__: kind
    for kind in (
        *(BinGroups, Clusters, Confusion, Counted, CountedColumn, FoldCounts, Moments, Probabilities),
        *(ProbabilityGroups, Reliability, ScoreBins, ScoreTally, SliceCounts, SliceGroups, SparseSums, Unfit),
    )
}
# Beside the parts of a piece of evidence, what it is; no part has such a name.
OF = "="
# The kinds of numbers that an annotation of an array allows.
_KINDS = {np.int64: "iu", np.int16: "iu", np.float64: "f", np.bool_: "b"}


def written(value: Any, arrays: list[NDArray[Any]]) -> Any:
    """A value in forms that JSON has; arrays of numbers go into the list, and their place there is written."""
    if value is None or isinstance(value, bool | int | float | str):
        # NumPy's own numbers are instances of Python's, and must not look different when they are read.
        return value.item() if isinstance(value, np.generic) else value
    if is_dataclass(value) and type(value).__name__ in WRITTEN:
        parts = {part.name: written(getattr(value, part.name), arrays) for part in fields(value)}
        return {OF: type(value).__name__, **parts}
    if isinstance(value, np.ndarray):
        if value.dtype.kind in "UO":
            return {"values": [written(item, arrays) for item in value.tolist()], "text": value.dtype.kind == "U"}
        arrays.append(value)
        return {"array": len(arrays) - 1}
    if isinstance(value, Mapping):
        return {"pairs": [[written(key, arrays), written(item, arrays)] for key, item in value.items()]}
    if isinstance(value, tuple | list):
        return [written(item, arrays) for item in value]
    raise TypeError(f"a {type(value).__name__} is not written")


def read(value: Any, arrays: Sequence[NDArray[Any]]) -> Any:
    """The value again; anything that was not written by `written` raises a ValueError."""
    if isinstance(value, list):
        return tuple(read(item, arrays) for item in value)
    if not isinstance(value, dict):
        return value
    if set(value) == {"array"}:
        index = value["array"]
        if type(index) is not int or not 0 <= index < len(arrays):
            raise ValueError(f"there is no array {index!r}")
        return arrays[index]
    if set(value) == {"values", "text"}:
        return _keys(value["values"], as_text=value["text"] is True)
    if set(value) == {"pairs"}:
        return {read(key, arrays): read(item, arrays) for key, item in value["pairs"]}
    value = _by_loss(value)
    kind = WRITTEN.get(str(value.get(OF)))
    if kind is None or set(value) != {OF, *(part.name for part in fields(kind))}:
        raise ValueError(f"there is no evidence of the kind {value.get(OF)!r} with these parts")
    result = kind(**{name: read(item, arrays) for name, item in value.items() if name != OF})
    hints = get_type_hints(kind)
    for part in fields(kind):
        if not _fits(getattr(result, part.name), hints[part.name]):
            raise ValueError(f"{value[OF]}.{part.name} is not what it should be")
    return result


def _by_loss(value: dict[str, Any]) -> dict[str, Any]:
    """The parts with sums by the name of the loss; version 2 had a part for each of the two losses of its day."""
    parts = dict(value)
    if value.get(OF) in ("Probabilities", "ProbabilityGroups"):
        for name, prefix in (("losses", ""), ("class_losses", "class_")):
            named = {loss: parts.pop(prefix + loss) for loss in ("brier", "log_loss") if prefix + loss in parts}
            if named:
                parts[name] = {"pairs": [list(pair) for pair in named.items()]}
    return parts


def _keys(values: Any, *, as_text: bool) -> NDArray[Any]:
    if not isinstance(values, list) or not all(isinstance(value, str | int | float) for value in values):
        raise ValueError("keys must be text or numbers")
    if as_text:
        if not all(isinstance(value, str) for value in values):
            raise ValueError("keys that are said to be text are not")
        return key_array(values) if values else np.array([], dtype=np.str_)
    keys = np.empty(len(values), dtype=object)
    keys[:] = values
    return keys


def _fits(value: Any, hint: Any) -> bool:
    """Whether a value is of the kind that the annotation of its field says."""
    origin, parts = get_origin(hint), get_args(hint)
    if hasattr(origin, "__value__"):
        # From NumPy 2.5 on, NDArray is an alias that names its meaning (PEP 695).
        hint = origin.__value__[parts]
        origin, parts = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return any(_fits(value, part) for part in parts)
    if origin is Literal:
        return value in parts
    if origin is tuple:
        return isinstance(value, tuple) and _each_fits(value, parts)
    if origin is np.ndarray:
        allowed = get_args(parts[1])[0] if get_args(parts[1]) else Any
        return isinstance(value, np.ndarray) and value.dtype.kind in _KINDS.get(allowed, "iufbUO")
    if origin is not None:
        # A mapping: there is no other kind of part.
        return isinstance(value, Mapping) and all(_each_fits(pair, parts) for pair in value.items())
    # Whole numbers may stand for floating-point ones, and nothing else for anything.
    return hint is Any or type(value) is hint or (hint is float and type(value) is int)


def _each_fits(values: tuple[Any, ...], hints: tuple[Any, ...]) -> bool:
    if len(hints) == 2 and hints[1] is Ellipsis:
        return all(_fits(value, hints[0]) for value in values)
    return len(values) == len(hints) and all(_fits(value, hint) for value, hint in zip(values, hints, strict=True))


# The types that are stored: whole numbers of any width, floating-point numbers, and truth values.
KINDS = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64")
LEVEL = 6
# The longest side of an array; a file that claims more is refused.
MOST_SIDE = 1 << 40
# An array takes at most TIMES its stored bytes, plus BESIDE. Where packing would shrink it more than that, it is
# stored in a way that shrinks less. So a file that would unpack to more is refused: we did not write it.
TIMES = 1024
BESIDE = 4096


def packed(array: NDArray[Any]) -> tuple[dict[str, Any], bytes]:
    """What tells how to unpack an array, and its bytes.

    Whole numbers are stored in the narrowest type that holds them. Of sorted columns the steps are smaller than the
    values, so of both the shorter is taken; bytes of equal weight stand together, where zeros meet zeros.

    >>> how, data = packed(np.arange(1000))
    >>> len(data) < 100, bool((unpacked(how, data) == np.arange(1000)).all())
    (True, True)
    """
    kept = _narrow(np.ascontiguousarray(array))
    forms = {"plain": _shuffled(kept)}
    if kept.dtype.kind != "b" and kept.ndim == 1 and kept.size > 1:
        forms["steps"] = _shuffled(_steps(kept))
    candidates = {form: compressed(data, array.nbytes) for form, data in forms.items()}
    form = min(candidates, key=lambda name: len(candidates[name]))
    how = {"type": array.dtype.name, "kept": kept.dtype.name, "shape": list(array.shape), "form": form}
    return how, candidates[form]


def unpacked(how: dict[str, Any], data: bytes) -> NDArray[Any]:
    """The array; anything that does not fit raises a ValueError."""
    names, shape = (how["type"], how["kept"]), tuple(how["shape"])
    if not all(name in KINDS for name in names) or how["form"] not in ("plain", "steps"):
        raise ValueError(f"an array of type {names[0]!r}, stored as {names[1]!r} ({how['form']!r})")
    if len(shape) > 2 or not all(type(side) is int and 0 <= side < MOST_SIDE for side in shape):
        raise ValueError(f"an array of the shape {listing(how['shape'], most=6)}")
    kept, size = np.dtype(names[1]).newbyteorder("<"), math.prod(shape)
    check_size(size * max(kept.itemsize, np.dtype(names[0]).itemsize), len(data))
    reader = zlib.decompressobj()
    raw = reader.decompress(data, size * kept.itemsize + 1)
    if len(raw) != size * kept.itemsize or reader.unconsumed_tail or not reader.eof:
        raise ValueError(f"{len(raw):,} bytes instead of the {size * kept.itemsize:,} of an array")
    flat = np.frombuffer(raw, dtype=np.uint8).reshape(kept.itemsize, size).T.copy().view(kept).reshape(size)
    if how["form"] == "steps":
        flat = np.add.accumulate(flat.view(f"<u{kept.itemsize}"), dtype=f"<u{kept.itemsize}").view(kept)
    array: NDArray[Any] = flat.reshape(shape).astype(np.dtype(names[0]))
    return array


def compressed(data: bytes, size: int) -> bytes:
    """The bytes of what takes `size` bytes when it is unpacked, shrunk no further than `check_size` allows.

    >>> len(compressed(bytes(10**6), 10**6)) < 1000 < len(compressed(bytes(10**6), 8 * 10**6))
    True
    """
    shorter = zlib.compress(data, LEVEL)
    if size <= BESIDE + TIMES * len(shorter):
        return shorter
    # Without repeats, a byte takes at least a bit.
    packer = zlib.compressobj(LEVEL, strategy=zlib.Z_HUFFMAN_ONLY)
    return packer.compress(data) + packer.flush()


def check_size(size: int, stored: int) -> None:
    """Refuse what would take far more memory than any evidence that was stored in so many bytes."""
    if size > BESIDE + TIMES * stored:
        raise ValueError(f"{stored:,} bytes claim to hold {size:,}")


def _narrow(array: NDArray[Any]) -> NDArray[Any]:
    """Whole numbers in the narrowest type that holds them, all in the order of bytes that is stored."""
    if array.dtype.name not in KINDS:
        raise TypeError(f"an array of type {array.dtype} is not stored")
    if array.dtype.kind in "iu" and array.size:
        low, high = int(array.min()), int(array.max())
        fitting = [np.dtype(name) for name in KINDS[5:9] if low >= 0 and high <= np.iinfo(name).max]
        fitting += [np.dtype(name) for name in KINDS[1:5] if np.iinfo(name).min <= low and high <= np.iinfo(name).max]
        array = array.astype(min(fitting, key=lambda kind: kind.itemsize))
    return array.astype(array.dtype.newbyteorder("<"), copy=False)


def _steps(array: NDArray[Any]) -> NDArray[Any]:
    """The difference of the bits of each number from those of the one before; sums of them wrap back exactly."""
    bits = array.view(f"<u{array.dtype.itemsize}")
    steps = bits.copy()
    steps[1:] -= bits[:-1]
    return steps


def _shuffled(array: NDArray[Any]) -> bytes:
    return array.reshape(-1).view(np.uint8).reshape(-1, array.dtype.itemsize).T.tobytes()


MAGIC = b"heldout evidence"
VERSION = 3
# The oldest that is still read.
OLDEST = 2
STORAGE_ENDING = ".evidence"
_FRONT = struct.Struct("<16sIQ")
_DIGEST = 32
START = _FRONT.size + _DIGEST
_LENGTH = struct.Struct("<Q")
# A letter of the header takes at most about this many bytes in memory: an empty list has three and takes 64.
IN_MEMORY = 24
MOST_SAID = 200
AGAIN = "count it again, or copy the file again from where it was made."


def is_evidence_file(path: str | Path) -> bool:
    """Whether a path names a file of evidence: by its ending, or by the words that it begins with.

    >>> is_evidence_file("part-1.evidence"), is_evidence_file("predictions.csv")
    (True, False)
    """
    location = Path(path)
    try:
        if location.is_dir():
            return False
        if location.suffix.lower() == STORAGE_ENDING:
            return True
        if not location.is_file():
            return False
        with location.open("rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except (OSError, ValueError):
        # No such file, or none that can be read: whoever reads it says so.
        return False


def save(counted: Counted, path: str | Path) -> Path:
    """Write evidence to a file, whole or not at all.

    >>> import pathlib, tempfile
    >>> from heldout.evidence.confusion import Confusion
    >>> folder = tempfile.TemporaryDirectory()
    >>> place = pathlib.Path(folder.name, "all.evidence")
    >>> load(save(Counted(Confusion.of([[5, 1], [0, 4]]), rows=10), place)).n
    10
    >>> folder.cleanup()
    """
    return write_whole(path, as_bytes(counted))


def load(path: str | Path) -> Counted:
    """Read evidence from a file, or say why it cannot be used."""
    return loaded(path)[0]


def loaded(path: str | Path) -> tuple[Counted, str]:
    """The evidence of a file, and the checksum of the file: equal for copies of it."""
    file = existing_file(path)
    try:
        data = file.read_bytes()
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
    if not OLDEST <= version <= VERSION:
        older = version < OLDEST
        raise FileError(
            f"{name} has version {version} of the format, which is {'older' if older else 'newer'} than version "
            f"{OLDEST if older else VERSION} that is read here.",
            hint="count it again with this heldout." if older else "install a newer heldout to read it.",
        )
    size = len(data) - START
    if size != length:
        what = "is cut short" if size < length else "has more behind its end"
        raise FileError(f"{name} {what}: {size:,} of {length:,} bytes of content are there.", hint=AGAIN)


def _read(content: bytes) -> Counted:
    (size,) = _LENGTH.unpack_from(content)
    at = _LENGTH.size + size
    if at > len(content):
        raise ValueError("its header is not whole")
    most = (BESIDE + TIMES * size) // IN_MEMORY
    reader = zlib.decompressobj()
    text = reader.decompress(content[_LENGTH.size : at], most + 1)
    if len(text) > most:
        raise ValueError(f"{size:,} bytes of its header claim to hold more than {most:,}")
    if not reader.eof:
        raise ValueError("its header is not whole")
    header = json.loads(text)
    arrays = []
    for how in header["arrays"]:
        length = how["bytes"]
        if type(length) is not int or not 0 <= length <= len(content) - at:
            raise ValueError(f"an array of {length!r} bytes")
        arrays.append(unpacked(how, content[at : at + length]))
        at += length
    if at != len(content):
        raise ValueError(f"{len(content) - at:,} bytes belong to no array")
    counted = read(header["evidence"], arrays)
    if not isinstance(counted, Counted):
        raise TypeError(f"it holds a {type(counted).__name__}")
    return counted
