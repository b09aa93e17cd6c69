"""What slices are called: values as text, and the ends of bins with as many digits as tell them apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

MISSING, OTHER, EMPTY = "(missing)", "(other)", "(empty)"


def value_text(value: Any) -> str:
    """One value as the name of a slice."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) or EMPTY


def apart(label: str, labels: Sequence[str]) -> str:
    """The label, in brackets once more while a value of the column reads just so.

    >>> apart(MISSING, ["yes", "(missing)"])
    '((missing))'
    """
    while label in labels:
        label = f"({label})"
    return label


def distinct(labels: Sequence[str]) -> tuple[str, ...]:
    """Labels that can be told apart: an empty text and the text that stands for it are two values."""
    made: list[str] = []
    for label in labels:
        made.append(apart(label, made))
    return tuple(made)


def ranges(spans: Sequence[tuple[Any, Any]], as_text: Callable[[Any], str] | None) -> list[str]:
    """The lowest and the highest number of each bin in words, with as many digits as tell the bins apart.

    >>> ranges([(0.25, 1.5), (2.0, 3.0)], None)
    ['0.25 to 1.5', '2 to 3']
    """
    if as_text is not None:
        return [_between(as_text(low), as_text(high)) for low, high in spans]
    for digits in range(3, 18):
        texts = [(number_text(low, digits), number_text(high, digits)) for low, high in spans]
        labels = [_between(low, high) for low, high in texts]
        collapsed = any(low == high and span[0] != span[1] for (low, high), span in zip(texts, spans, strict=True))
        if len(set(labels)) == len(labels) and not collapsed:
            break
    return labels


def _between(low: str, high: str) -> str:
    return low if low == high else f"{low} to {high}"


def number_text(value: float, digits: int = 17) -> str:
    """A number as the name of a slice, or as one end of it."""
    if isinstance(value, int) or (abs(value) < 1e15 and value == int(value)):
        return str(int(value))
    return f"{value:.{digits}g}" if digits < 17 else repr(float(value))


def date_text(kind: np.dtype[Any]) -> Callable[[Any], str]:
    """How a moment, a whole number in the unit of the type, is written: without a time of day where it has none."""

    def write(value: int) -> str:
        day, _, time = str(np.int64(value).view(kind)).partition("T")
        time = time.partition(".")[0]
        return f"{day} {time}" if time.replace(":", "").strip("0") else day

    return write
