"""What kind of table a file holds, from its ending or from its first bytes, and how its text is separated."""

from __future__ import annotations

import csv
import io
from typing import Literal

from heldout.errors import FileError

Kind = Literal["delimited", "parquet", "json lines", "npz", "arff"]

GZIP_MAGIC = b"\x1f\x8b"
PARQUET_MAGIC = b"PAR1"
ZIP_MAGIC = b"PK"
BOM = b"\xef\xbb\xbf"

KIND_BY_ENDING: dict[str, Kind] = {
    ".csv": "delimited",
    ".tsv": "delimited",
    ".tab": "delimited",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".jsonl": "json lines",
    ".ndjson": "json lines",
    ".npz": "npz",
    ".arff": "arff",
}
SEPARATORS = (",", ";", "\t", "|")


def kind_of(name: str, ending: str, head: bytes) -> Kind:
    """Decide the kind of table by the ending where it is known, and by the first bytes otherwise.

    A text ending on a binary file is refused: the file was most likely renamed by mistake.

    >>> kind_of("scores.csv", ".csv", b"id,p"), kind_of("scores", "", b"PAR1...")
    ('delimited', 'parquet')
    """
    by_ending = KIND_BY_ENDING.get(ending)
    by_magic = _kind_by_magic(head)
    if by_ending is None:
        return by_magic or _kind_by_text(head)
    if by_magic is not None and by_ending not in {"parquet", "npz"}:
        held = "a Parquet table" if by_magic == "parquet" else "a zip archive (NPZ or a workbook)"
        raise FileError(
            f"{name} is named like a text file ({ending}) but holds {held}.",
            hint="give it the ending of what it holds (.parquet or .npz); save a workbook as CSV first.",
        )
    return by_ending


def _kind_by_magic(head: bytes) -> Kind | None:
    if head.startswith(PARQUET_MAGIC):
        return "parquet"
    return "npz" if head.startswith(ZIP_MAGIC + b"\x03\x04") else None


def _kind_by_text(head: bytes) -> Kind:
    for line in head.removeprefix(BOM).splitlines():
        bare = line.strip()
        if bare.startswith(b"{"):
            return "json lines"
        if bare.lower().startswith(b"@relation"):
            return "arff"
        # An ARFF file often opens with pages of % comments, so these decide nothing yet.
        if bare and not bare.startswith(b"%"):
            break
    return "delimited"


def separator_of(header: str, following: str, ending: str) -> str:
    r"""Find the separator of a header line; a separator that also fits the line after it goes first.

    >>> separator_of("id;p, yes;label", "1;0,5;x", ".csv")
    ';'
    """
    usual = "\t" if ending in {".tsv", ".tab"} else ","
    if usual == "\t" and "\t" in header:
        return usual
    counts = {mark: field_count(header, mark) for mark in SEPARATORS}
    fitting = {m: n for m, n in counts.items() if n > 1 and following and field_count(following, m) == n}
    candidates = fitting or counts
    return max(candidates, key=lambda mark: (candidates[mark], mark == usual))


def field_count(line: str, separator: str) -> int:
    """The number of fields that `line` has when it is cut at `separator` outside quotes.

    >>> field_count('"a;b";c', ";")
    2
    """
    try:
        return len(next(csv.reader(io.StringIO(line, newline=""), delimiter=separator), []))
    except csv.Error:
        return 0
