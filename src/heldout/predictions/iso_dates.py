"""Dates that came as text: recognised where every text is one in the form of ISO 8601, such as 2024-03-31."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

# A whole day, or a moment of one; a year or a month alone could be any number.
FORM = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?(?:Z|[+-]\d{2}:?\d{2})?)?", re.ASCII)


def moments(texts: Sequence[Any]) -> NDArray[np.datetime64] | None:
    """The moments that texts are, in microseconds and UTC; None where one of them is anything else.

    >>> moments(["2024-03-31", "2024-03-31T12:00+02:00"]).astype(str).tolist()
    ['2024-03-31T00:00:00.000000', '2024-03-31T10:00:00.000000']
    >>> moments(["2024-03-31", "soon"]) is None
    True
    """
    found = []
    for text in texts:
        moment = _moment(text) if isinstance(text, str) else None
        if moment is None:
            return None
        found.append(moment)
    return np.array(found, dtype="datetime64[us]") if found else None


def _moment(text: str) -> dt.datetime | None:
    text = text.strip()
    if FORM.fullmatch(text) is None:
        return None
    try:
        moment = dt.datetime.fromisoformat(text)
        return moment if moment.tzinfo is None else moment.astimezone(dt.UTC).replace(tzinfo=None)
    except (OverflowError, ValueError):
        # The thirtieth of February, or a moment that leaves the calendar when its zone is taken off.
        return None
