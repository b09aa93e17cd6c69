"""Dates in ARFF files, whose formats are those of Java's SimpleDateFormat."""

from __future__ import annotations

import re
from datetime import datetime

DEFAULT_FORMAT = "yyyy-MM-dd'T'HH:mm:ss"

_FIELDS = {"y": "year", "M": "month", "d": "day", "H": "hour", "m": "minute", "s": "second", "S": "milli"}
_WIDTHS = {"y": {4}, "M": {1, 2}, "S": {1, 2, 3}}
# A run of one letter, a quoted literal ('' is a quote itself), or any other character.
_PART = re.compile(r"([A-Za-z])\1*|'((?:[^']|'')*)'|(.)", re.DOTALL)


class DateFormatError(Exception):
    """A date format that uses a letter which is not supported."""


def date_pattern(java: str) -> re.Pattern[str]:
    """Translate a SimpleDateFormat of years to milliseconds into a regular expression.

    >>> date_pattern("dd.MM.yyyy").fullmatch("24.12.2003").groupdict()
    {'day': '24', 'month': '12', 'year': '2003'}
    """
    parts = list(_PART.finditer(java))
    pieces: list[str] = []
    for index, part in enumerate(parts):
        letter = part[1]
        if letter is None:
            literal = part[3] if part[3] is not None else part[2].replace("''", "'") or "'"
            pieces.append(re.escape(literal))
            continue
        run = part[0]
        if letter not in _FIELDS or len(run) not in _WIDTHS.get(letter, {1, 2}):
            raise DateFormatError(run)
        followed = index + 1 < len(parts) and parts[index + 1][1] is not None
        # Digits run together, as in yyyyMMdd, can only be told apart by their number.
        digits = f"{{{len(run)}}}" if followed else "{1,4}" if letter == "y" else "{1,3}"
        pieces.append(f"(?P<{_FIELDS[letter]}>[0-9]{digits})")
    try:
        return re.compile("".join(pieces))
    except re.error:
        raise DateFormatError(java) from None


def parse_date(pattern: re.Pattern[str], text: str) -> datetime | None:
    """The moment that `text` names, or None where it does not fit the pattern.

    >>> parse_date(date_pattern(DEFAULT_FORMAT), "2001-04-03T12:12:12")
    datetime.datetime(2001, 4, 3, 12, 12, 12)
    """
    match = pattern.fullmatch(text.strip())
    if match is None:
        return None
    # What a format leaves out is the beginning of 1970, as it is in Java.
    parts = {"year": 1970, "month": 1, "day": 1} | {name: int(digits) for name, digits in match.groupdict().items()}
    milli = parts.pop("milli", 0)
    try:
        return datetime(**parts, microsecond=1000 * milli)  # type: ignore[arg-type]  # noqa: DTZ001
    except ValueError:
        return None
