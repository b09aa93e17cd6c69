"""Which class a written name means, and what it most likely meant where it means none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from heldout.arguments import closest, listing
from heldout.errors import MatrixError
from heldout.evidence import Label


def class_index(name: Any, labels: Sequence[Label]) -> int:
    """The place of the class that a text or a label names; the number 1 is also called "1" and "1.0".

    >>> class_index("yes", ["no", "yes"]), class_index("1.0", [0, 1])
    (1, 1)
    """
    by_text = {str(label): position for position, label in enumerate(labels)}
    text = str(name).strip()
    if text in by_text:
        return by_text[text]
    value = _value(text)
    if value is not None:
        same = [position for position, label in enumerate(labels) if _value(str(label)) == value]
        if len(same) == 1:
            return same[0]
    near = closest(text, by_text)
    raise MatrixError(
        f"The costs name the class {name!r}, which is not among the classes: {listing(labels)}.",
        hint=f"did you mean {near!r}?" if near else "use one of these.",
    )


def _value(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
