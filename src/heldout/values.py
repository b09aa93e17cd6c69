"""Values: whether two hold the same, field by field, and their state without what was computed from it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import cached_property
from types import MethodType
from typing import Any

import numpy as np


def differing(first: Any, second: Any, *, relative: float = 0.0) -> tuple[str, ...]:
    """The names of the fields that differ; floating-point numbers may do so by a share of the largest beside them.

    >>> differing({"a": np.array([1, 2]), "b": 0.1 + 0.2}, {"a": np.array([1, 3]), "b": 0.3}, relative=1e-12)
    ('a',)
    """
    return tuple(_fields(first, second, "", relative))


def _fields(left: Any, right: Any, name: str, relative: float) -> Iterator[str]:
    parts = _parts(left, right, name)
    if parts is None:
        if not _same(left, right, relative):
            yield name
        return
    for part, first, second in parts:
        yield from _fields(first, second, part, relative)


def _parts(first: Any, second: Any, name: str) -> list[tuple[str, Any, Any]] | None:
    """The parts of both, with their names, where both are made of the same parts."""
    if is_dataclass(first) and type(first) is type(second):
        compared = [part.name for part in fields(first) if part.compare]
        return [(_under(name, part), getattr(first, part), getattr(second, part)) for part in compared]
    if isinstance(first, Mapping) and isinstance(second, Mapping) and set(first) == set(second):
        return [(_under(name, str(key)), first[key], second[key]) for key in first]
    if isinstance(first, tuple | list) and isinstance(second, tuple | list) and len(first) == len(second):
        return [(f"{name}[{at}]", *both) for at, both in enumerate(zip(first, second, strict=True))]
    return _object_parts(first, second, name) if type(first) is type(second) else None


def _object_parts(left: Any, right: Any, name: str) -> list[tuple[str, Any, Any]] | None:
    """The attributes of two objects that say nothing of equality themselves."""
    if isinstance(left, MethodType):
        return [(name, left.__func__, right.__func__), (name, left.__self__, right.__self__)]
    silent = getattr(type(left), "__eq__", None) is getattr(object, "__eq__", None)
    if not silent or callable(left) or not isinstance(getattr(left, "__dict__", None), dict):
        return None
    first, second = state_of(left), state_of(right)
    return [(_under(name, part), first[part], second[part]) for part in first] if set(first) == set(second) else None


def _same(first: Any, second: Any, relative: float) -> bool:
    if first is second:
        return True
    if isinstance(first, np.ndarray) and isinstance(second, np.ndarray):
        return _same_arrays(first, second, relative)
    if type(first) is type(second) and callable(getattr(first, "equals", None)):
        return bool(first.equals(second))  # a data frame or one of its columns
    return _same_values(first, second, relative)


def _under(name: str, part: str) -> str:
    return f"{name}.{part}" if name else part


def _same_arrays(first: Any, second: Any, relative: float) -> bool:
    if first.shape != second.shape:
        return False
    if "f" not in (first.dtype.kind, second.dtype.kind) or not {first.dtype.kind, second.dtype.kind} <= set("iufb"):
        return bool(np.array_equal(first, second))
    if not relative or not first.size:
        return bool(np.array_equal(first, second, equal_nan=True))
    # The error of a sum that cancels depends on its largest terms, so the tolerance does too.
    largest = float(np.nanmax(np.abs(first), initial=0.0))
    return bool(np.allclose(first, second, rtol=0.0, atol=relative * max(largest, 1.0), equal_nan=True))


def _same_values(first: Any, second: Any, relative: float) -> bool:
    if isinstance(first, float) and isinstance(second, float):
        if math.isnan(first) or math.isnan(second) or math.isinf(first) or math.isinf(second):
            return first == second or (math.isnan(first) and math.isnan(second))
        return abs(first - second) <= relative * max(abs(first), 1.0)
    return type(first) is type(second) and bool(first == second)


def state_of(value: Any) -> dict[str, Any]:
    """What an object was made with: its attributes without those that a cached property has computed.

    As `__getstate__` it makes copies small, and keeps what cannot be pickled out of them.
    """
    kind = type(value)
    return {
        name: attribute
        for name, attribute in vars(value).items()
        if not isinstance(getattr(kind, name, None), cached_property)
    }
