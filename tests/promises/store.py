"""The results that were measured: one JSON line for each finished piece of work, kept until the code changes.

A piece of work is known by a fingerprint of the sources of heldout, of the files that declare its family, and of its
cell's settings; results of other code are left in the file and not read.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from tests.promises.cell import LEVELS, Cell, Tally, Truth
from tests.promises.register import FAMILIES, list_cells, load_family

import heldout

FOLDER = Path("build/promises")


@cache
def hash_sources() -> str:
    """A hash of all sources of heldout."""
    folder = Path(heldout.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        digest.update(path.relative_to(folder).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


@cache
def _hash_family(family: str) -> str:
    """A hash of the file of the family, and of those that draw for all families."""
    here = Path(__file__).parent
    paths = [here / "cell.py", *sorted(here.glob("*_worlds.py")), Path(str(load_family(family).__file__))]
    return hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()[:12]


def fingerprint(family: str, cell: Cell) -> str:
    """What a result depends on, in one word."""
    text = f"{hash_sources()} {_hash_family(family)} {cell!r}"
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass
class Measured:
    """What is known of one cell: its tally, the chunks that are done, and the seconds of processor time a draw took."""

    tally: Tally = field(default_factory=Tally)
    chunks: set[int] = field(default_factory=set)
    seconds: float = 0.0
    last: str = ""

    @property
    def seconds_per_draw(self) -> float:
        """Processor time of one draw."""
        return self.seconds / self.tally.draws if self.tally.draws else float("nan")


class Store:
    """The results in a folder, for cells that are measured at these levels."""

    def __init__(self, folder: Path = FOLDER, levels: tuple[float, ...] = LEVELS) -> None:
        self.folder = folder
        self.levels = levels
        self.path = folder / "results.jsonl"

    def list_cells(self, family: str) -> dict[str, Cell]:
        """The cells of a family by name."""
        return list_cells(family, self.levels)

    def read(self, families: tuple[str, ...] = FAMILIES) -> dict[tuple[str, str], Measured]:
        """What the code as it stands has measured, by family and cell; cells without results are there too."""
        cells = {(family, name): cell for family in families for name, cell in self.list_cells(family).items()}
        measured = {place: Measured() for place in cells}
        wanted = {fingerprint(place[0], cell): place for place, cell in cells.items()}
        for line in self._lines():
            place = wanted.get(line["fingerprint"])
            if place is None or line["chunk"] in measured[place].chunks:
                continue
            known = measured[place]
            known.tally.add_document(line)
            known.chunks.add(line["chunk"])
            known.seconds += line["seconds"]
            known.last = max(known.last, line["date"])
        return measured

    def _lines(self) -> Iterator[dict[str, Any]]:
        if not self.path.exists():
            return
        with self.path.open(encoding="utf-8") as lines:
            for line in lines:
                try:
                    yield json.loads(line)
                except json.JSONDecodeError:
                    continue  # a line that was cut off when a run was stopped

    def append(self, family: str, cell: Cell, chunk: int, tally: Tally, seconds: float) -> None:
        """Write one finished piece of work."""
        self.folder.mkdir(parents=True, exist_ok=True)
        line = {
            "fingerprint": fingerprint(family, cell),
            "family": family,
            "cell": str(cell),
            "chunk": chunk,
            "seconds": round(seconds, 4),
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
            **tally.document(),
        }
        with self.path.open("ab+") as lines:
            # What was cut off when a run was stopped must not take this line with it.
            ended = not lines.tell() or (lines.seek(-1, os.SEEK_END), lines.read(1))[1] == b"\n"
            lines.write(f"{'' if ended else chr(10)}{json.dumps(line)}\n".encode())

    def truth(self, family: str, cell: Cell) -> Truth:
        """The true values of a cell, found once and kept."""
        path = self.folder / "truths" / f"{fingerprint(family, cell)}.json"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            # Another process may write the same at the same time: the last one to finish replaces the whole file.
            part = path.with_suffix(f".{os.getpid()}")
            part.write_text(json.dumps(dict(cell.find_truth())), encoding="utf-8")
            part.replace(path)
        known: dict[str, float] = json.loads(path.read_text(encoding="utf-8"))
        return known
