"""How findings write labels, numbers and intervals: short, and the same in all of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from heldout.evidence import Label
from heldout.show.escape import visible
from heldout.show.numbers import plain, share
from heldout.show.text_width import shorten

LONGEST = 30


def quoted(label: Label) -> str:
    """A label in quotes, its middle left out where it is long.

    >>> quoted("yes"), quoted(1)
    ('"yes"', '"1"')
    """
    return f'"{shorten(visible(str(label)), LONGEST)}"'


def several(labels: Iterable[Label], most: int = 3) -> str:
    """Some labels in quotes, and how many are left.

    >>> several(["a", "b", "c", "d"])
    '"a", "b", "c" and 1 more'
    """
    held = list(labels)
    said = ", ".join(quoted(label) for label in held[:most])
    return said if len(held) <= most else f"{said} and {len(held) - most:,} more"


def between(low: float, high: float) -> str:
    """An interval in brackets with a space before it, nothing where there is none.

    >>> f".77{between(0.68, 0.85)}", between(float("nan"), float("nan"))
    ('.77 [.680, .850]', '')
    """
    return "" if math.isnan(low) or math.isnan(high) else f" [{share(low)}, {share(high)}]"


def listed(names: Sequence[str], most: int = 3) -> str:
    """Some names, and how many are left.

    >>> listed(["recall", "f1"]), listed(["a", "b"], most=1)
    ('recall, f1', 'a and 1 more')
    """
    said = ", ".join(names[:most])
    return said if len(names) <= most else f"{said} and {len(names) - most:,} more"


def figure(value: float) -> str:
    """A threshold or a cost, without decimals that say nothing.

    >>> figure(0.5), figure(0.1 + 0.2), figure(0.1818181818), figure(10.0), figure(4255.0)
    ('0.5', '0.3', '0.182', '10', '4,255')
    """
    # Sums such as 0.1 + 0.2 miss a short number by rounding only.
    if math.isfinite(value) and abs(value) < 1e15 and math.isclose(value, round(value, 2), rel_tol=1e-12):
        return f"{value:,.2f}".rstrip("0").rstrip(".")
    return plain(value)
