"""Arrays of numbers as few bytes, and back."""

from __future__ import annotations

import math
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.arguments import listing

# The types that are stored: whole numbers of any width, floating-point numbers, and truth values.
KINDS = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64")
LEVEL = 6
# No side of an array is longer: a file that says so is not believed.
MOST_SIDE = 1 << 40
# What is unpacked takes at most so many times the bytes that are stored, beside some for small things. Where it would
# be more, it is stored in a way that shrinks less, so that a file that asks for more is not believed.
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
    found = {form: compressed(data, array.nbytes) for form, data in forms.items()}
    form = min(found, key=lambda name: len(found[name]))
    how = {"type": array.dtype.name, "kept": kept.dtype.name, "shape": list(array.shape), "form": form}
    return how, found[form]


def unpacked(how: dict[str, Any], data: bytes) -> NDArray[Any]:
    """The array; anything that does not fit raises a ValueError."""
    names, shape = (how["type"], how["kept"]), tuple(how["shape"])
    if not all(name in KINDS for name in names) or how["form"] not in ("plain", "steps"):
        message = f"an array of type {names[0]!r}, stored as {names[1]!r} ({how['form']!r})"
        raise ValueError(message)
    if len(shape) > 2 or not all(type(side) is int and 0 <= side < MOST_SIDE for side in shape):
        message = f"an array of the shape {listing(how['shape'], most=6)}"
        raise ValueError(message)
    kept, size = np.dtype(names[1]).newbyteorder("<"), math.prod(shape)
    check_size(size * max(kept.itemsize, np.dtype(names[0]).itemsize), len(data))
    reader = zlib.decompressobj()
    raw = reader.decompress(data, size * kept.itemsize + 1)
    if len(raw) != size * kept.itemsize or reader.unconsumed_tail or not reader.eof:
        message = f"{len(raw):,} bytes instead of the {size * kept.itemsize:,} of an array"
        raise ValueError(message)
    flat = np.frombuffer(raw, dtype=np.uint8).reshape(kept.itemsize, size).T.copy().view(kept).reshape(size)
    if how["form"] == "steps":
        flat = np.add.accumulate(flat.view(f"<u{kept.itemsize}"), dtype=f"<u{kept.itemsize}").view(kept)
    made: NDArray[Any] = flat.reshape(shape).astype(np.dtype(names[0]))
    return made


def compressed(data: bytes, size: int) -> bytes:
    """The bytes of what takes `size` bytes when it is unpacked, shrunk no further than `check_size` allows.

    >>> len(compressed(bytes(10**6), 10**6)) < 1000 < len(compressed(bytes(10**6), 8 * 10**6))
    True
    """
    made = zlib.compress(data, LEVEL)
    if size <= BESIDE + TIMES * len(made):
        return made
    # Without repeats, a byte takes at least a bit.
    packer = zlib.compressobj(LEVEL, strategy=zlib.Z_HUFFMAN_ONLY)
    return packer.compress(data) + packer.flush()


def check_size(size: int, stored: int) -> None:
    """Refuse what would take far more memory than any evidence that was stored in so many bytes."""
    if size > BESIDE + TIMES * stored:
        message = f"{stored:,} bytes claim to hold {size:,}"
        raise ValueError(message)


def _narrow(array: NDArray[Any]) -> NDArray[Any]:
    """Whole numbers in the narrowest type that holds them, all in the order of bytes that is stored."""
    if array.dtype.name not in KINDS:
        message = f"an array of type {array.dtype} is not stored"
        raise TypeError(message)
    if array.dtype.kind in "iu" and array.size:
        low, high = int(array.min()), int(array.max())
        fitting = [np.dtype(name) for name in KINDS[5:9] if low >= 0 and high <= np.iinfo(name).max]
        fitting += [np.dtype(name) for name in KINDS[1:5] if np.iinfo(name).min <= low and high <= np.iinfo(name).max]
        array = array.astype(min(fitting, key=lambda kind: kind.itemsize))
    return array.astype(array.dtype.newbyteorder("<"), copy=False)


def _steps(array: NDArray[Any]) -> NDArray[Any]:
    """The difference of the bits of each number from those of the one before; sums of them wrap back exactly."""
    bits = array.view(f"<u{array.dtype.itemsize}")
    made = bits.copy()
    made[1:] -= bits[:-1]
    return made


def _shuffled(array: NDArray[Any]) -> bytes:
    return array.reshape(-1).view(np.uint8).reshape(-1, array.dtype.itemsize).T.tobytes()
