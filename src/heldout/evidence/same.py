"""Whether two pieces of evidence hold the same, field by field."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np


def differing(one: Any, two: Any, *, relative: float = 0.0) -> tuple[str, ...]:
    """The names of the fields that differ; floating-point numbers may do so by a share of the largest beside them.

    >>> differing({"a": np.array([1, 2]), "b": 0.1 + 0.2}, {"a": np.array([1, 3]), "b": 0.3}, relative=1e-12)
    ('a',)
    """
    return tuple(_fields(one, two, "", relative))


def _fields(one: Any, two: Any, name: str, relative: float) -> Iterator[str]:
    parts = _parts(one, two, name)
    if parts is None:
        if not _same(one, two, relative):
            yield name
        return
    for part, first, second in parts:
        yield from _fields(first, second, part, relative)


def _parts(one: Any, two: Any, name: str) -> list[tuple[str, Any, Any]] | None:
    """The parts of both, with their names, where both are made of the same parts."""
    if is_dataclass(one) and type(one) is type(two):
        return [(_under(name, part.name), getattr(one, part.name), getattr(two, part.name)) for part in fields(one)]
    if isinstance(one, Mapping) and isinstance(two, Mapping) and set(one) == set(two):
        return [(_under(name, str(key)), one[key], two[key]) for key in one]
    if isinstance(one, tuple | list) and isinstance(two, tuple | list) and len(one) == len(two):
        return [(f"{name}[{at}]", *both) for at, both in enumerate(zip(one, two, strict=True))]
    return None


def _same(one: Any, two: Any, relative: float) -> bool:
    if isinstance(one, np.ndarray) and isinstance(two, np.ndarray):
        return _same_arrays(one, two, relative)
    return _same_values(one, two, relative)


def _under(name: str, part: str) -> str:
    return f"{name}.{part}" if name else part


def _same_arrays(one: Any, two: Any, relative: float) -> bool:
    if one.shape != two.shape:
        return False
    if "f" not in (one.dtype.kind, two.dtype.kind) or not {one.dtype.kind, two.dtype.kind} <= set("iufb"):
        return bool(np.array_equal(one, two))
    if not relative or not one.size:
        return bool(np.array_equal(one, two, equal_nan=True))
    # Sums that cancel are as exact as what they were made of, which stands beside them.
    largest = float(np.nanmax(np.abs(one), initial=0.0))
    return bool(np.allclose(one, two, rtol=0.0, atol=relative * max(largest, 1.0), equal_nan=True))


def _same_values(one: Any, two: Any, relative: float) -> bool:
    if isinstance(one, float) and isinstance(two, float):
        if math.isnan(one) or math.isnan(two) or math.isinf(one) or math.isinf(two):
            return one == two or (math.isnan(one) and math.isnan(two))
        return abs(one - two) <= relative * max(abs(one), 1.0)
    return type(one) is type(two) and bool(one == two)
