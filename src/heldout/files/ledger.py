"""The ledger: a file of JSON lines that says how often a test set was used, and for which models.

It is kept by a person and never looked for: only a file that is named is read or written. An entry is one line, written
at the end of the file by one call and flushed to the disk, so that two programs that write at once lose nothing
(POSIX `open`, O_APPEND: the offset is set to the end before each write).
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from heldout.errors import FileError

SCHEMA = "heldout/ledger@1"
UNTOUCHED = "nothing was written; name another file, or mend or remove that line."


@dataclass(frozen=True, slots=True)
class LedgerValue:
    """The value of one model by one measure."""

    name: str
    measure: str
    value: float


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """One use of a test set: when, which cases, what was asked, and what came of it.

    `cases` are the fingerprints of the test sets, empty where rows were not kept.
    """

    time: str
    asked: str
    cases: tuple[str, ...]
    values: tuple[LedgerValue, ...]
    version: str

    def to_line(self) -> bytes:
        """The entry as a line of JSON."""
        document = {
            "schema": SCHEMA,
            "time": self.time,
            "asked": self.asked,
            "cases": list(self.cases),
            "values": [
                {"name": one.name, "measure": one.measure, "value": one.value if math.isfinite(one.value) else None}
                for one in self.values
            ],
            "version": self.version,
        }
        return (json.dumps(document, allow_nan=False) + "\n").encode("ascii")

    @classmethod
    def from_document(cls, document: Any) -> LedgerEntry:
        """The entry of a JSON object; a KeyError, TypeError or ValueError where it is none."""
        if document["schema"] != SCHEMA:
            raise ValueError("another schema")
        values = tuple(
            LedgerValue(
                str(one["name"]), str(one["measure"]), math.nan if one["value"] is None else float(one["value"])
            )
            for one in document["values"]
        )
        cases = tuple(str(one) for one in document["cases"])
        return cls(str(document["time"]), str(document["asked"]), cases, values, str(document["version"]))


@dataclass(frozen=True, slots=True)
class EarlierUses:
    """What a ledger says of the cases of a result: how often they were used before, and for how many other models.

    `known` is False where the cases have no fingerprint, so that nothing can be said; `measure` is the one by which
    models are told apart, and `now` the number of those in the result.
    """

    path: str
    known: bool
    uses: int
    others: int
    now: int
    measure: str
    first: str = ""


def read_ledger(path: str | Path) -> tuple[LedgerEntry, ...]:
    """All entries of a ledger, the oldest first; none where there is no such file yet."""
    target = Path(path)
    try:
        lines = target.read_bytes().split(b"\n")
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise FileError(
            f"The ledger {target} cannot be read: {error.strerror or error}.", hint="name a file of your own."
        ) from error
    if lines and lines[-1]:
        raise FileError(f"The ledger {target} ends in a line that is not whole ({len(lines):,}).", hint=UNTOUCHED)
    entries = []
    for place, line in enumerate(lines[:-1], 1):
        try:
            entries.append(LedgerEntry.from_document(json.loads(line)))
        except (KeyError, TypeError, ValueError, RecursionError):
            raise FileError(f"{target} is not a ledger: line {place:,} is no entry of one.", hint=UNTOUCHED) from None
    return tuple(entries)


def append_entry(path: str | Path, entry: LedgerEntry) -> None:
    """Write an entry at the end of a ledger, which is made where there is none."""
    target, line = Path(path), entry.to_line()
    try:
        descriptor = os.open(target, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
        try:
            whole = _write_line(descriptor, line)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise FileError(
            f"The ledger {target} cannot be written: {error.strerror or error}.",
            hint="check that the folder exists and that you may write there.",
        ) from error
    if not whole:
        raise FileError(
            f"The ledger {target} took only a part of the entry, which was taken back.", hint="make room on the disk."
        )


def _write_line(descriptor: int, line: bytes) -> bool:
    """Write a line at the end of a file; whether it is there whole, and otherwise it is not there at all."""
    if os.name == "posix":
        import fcntl

        # Locked, so that no other process writes between a half-written line and its removal.
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    before = os.fstat(descriptor).st_size
    try:
        whole = os.write(descriptor, line) == len(line)
    except OSError:
        os.ftruncate(descriptor, before)
        raise
    if not whole:
        os.ftruncate(descriptor, before)
    return whole


def enter_use(
    path: str | Path, asked: str, cases: Sequence[str], values: Mapping[tuple[str, str], float]
) -> EarlierUses:
    """Say how often these cases were used before, then enter this use; `values` are by name and measure.

    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = Path(folder.name, "ledger.jsonl")
    >>> enter_use(path, "evaluate", ["c0ffee"], {("a.csv", "accuracy"): 0.8}).uses
    0
    >>> again = enter_use(path, "evaluate", ["c0ffee"], {("b.csv", "accuracy"): 0.9})
    >>> again.uses, again.others
    (1, 1)
    >>> folder.cleanup()
    """
    from importlib.metadata import version

    fingerprints = tuple(dict.fromkeys(case for case in cases if case))
    before = [entry for entry in read_ledger(path) if set(entry.cases) & set(fingerprints)]
    judged = tuple(LedgerValue(name, measure, float(value)) for (name, measure), value in values.items())
    measure = judged[0].measure if judged else ""
    now = {_model(judgement) for judgement in judged if judgement.measure == measure}
    # A model that is judged once more is no further choice: models count by their names and values.
    seen = {_model(judgement) for entry in before for judgement in entry.values if judgement.measure == measure}
    time = datetime.now(UTC).isoformat(timespec="seconds")
    append_entry(path, LedgerEntry(time, asked, fingerprints, judged, version("heldout")))
    first = before[0].time if before else ""
    return EarlierUses(str(path), bool(fingerprints), len(before), len(seen - now), len(now), measure, first)


def _model(value: LedgerValue) -> tuple[str, str]:
    return value.name, f"{value.value:.10g}"
