"""The results that were measured: one JSON line for each finished piece of work, kept until what decides it changes.

A piece of work is known by a fingerprint of the sources of heldout that its family declares as deciding its numbers, of
the code of the family itself, and of its cell's settings. Comments and docstrings do not count. The first piece of
every cell is reviewed too, so that it also depends on the rules. Results of other code are left in the file, unread,
unless they are confirmed: a piece of the cell that is measured again gives the same, so the others would too. Where it
gives the same for some quantities only, the others are left out until the pieces are measured again.
"""

from __future__ import annotations

import ast
import hashlib
import json
import math
import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from tests.promises.cell import LEVELS, REVIEW, Cell, Tally, Truth
from tests.promises.register import FAMILIES, list_cells, load_family

import heldout
from heldout.api.options import EvaluateArguments, defaults_of

FOLDER = Path("build/promises")
SOURCES = Path(heldout.__file__).parent
# What every evaluation of arrays goes through; a family declares in PACKAGES what it needs beyond.
EVALUATION = (
    "arguments", "arrays", "threads", "values", "costs", "evidence", "predictions", "engines", "measures", "intervals",
    "results", "api/evaluate",
)  # fmt: skip
# The cells of a family are in the fingerprint one by one, so that another cell can be added without loss.
LISTS = ("CELLS", "_cells")


@cache
def hash_file(path: Path) -> str:
    """A hash of what a file does: its syntax tree without docstrings, and without the list of a family's cells."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    tree.body = [node for node in tree.body if not _is_list(node)]
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and type(first.value.value) is str:
                node.body = node.body[1:]
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest()


def _is_list(node: ast.stmt) -> bool:
    """Whether a statement only lists the cells of a family."""
    if isinstance(node, ast.FunctionDef):
        return node.name in LISTS
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return any(isinstance(target, ast.Name) and target.id in LISTS for target in targets)


@cache
def hash_sources(packages: tuple[str, ...]) -> str:
    """A hash of some packages and modules of heldout."""
    digest = hashlib.sha256()
    for name in sorted(set(packages)):
        path = SOURCES / name
        files = sorted(path.rglob("*.py")) if path.is_dir() else [path.with_suffix(".py")]
        for file in files:
            digest.update(f"{file.relative_to(SOURCES).as_posix()} {hash_file(file)}".encode())
    return digest.hexdigest()[:12]


def list_packages(family: str, chunk: int = 1) -> tuple[str, ...]:
    """The packages and modules that decide what a piece of work of a family finds."""
    declared: tuple[str, ...] = getattr(load_family(family), "PACKAGES", ())
    return (*EVALUATION, *declared, *(REVIEW if chunk == 0 else ()))


@cache
def _hash_family(family: str) -> str:
    """A hash of the file of the family, and of the files of this folder that it imports."""
    here = Path(__file__).parent
    waiting, known = [Path(str(load_family(family).__file__))], set[Path]()
    while waiting:
        path = waiting.pop()
        known.add(path)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and str(node.module).startswith("tests.promises."):
                parts = str(node.module).split(".")[2:]
                waiting += {here.joinpath(*parts).with_suffix(".py")} - known
    return hashlib.sha256("".join(hash_file(path) for path in sorted(known)).encode()).hexdigest()[:12]


def fingerprint(family: str, cell: Cell, chunk: int) -> str:
    """What a result depends on, in one word; how many draws are planned does not matter."""
    code = hash_sources(list_packages(family, chunk))
    text = f"{code} {defaults_of(EvaluateArguments)} {_hash_family(family)} {replace(cell, draws=0)!r}"
    return hashlib.sha256(text.encode()).hexdigest()[:16]


# A piece of which a part is known gives way to the whole.
PART = {"part": True}
# The lines of the pieces of one cell by one code, by number.
Pieces = dict[int, dict[str, Any]]


def _find_same(line: dict[str, Any], other: dict[str, Any]) -> set[Any]:
    """What two codes counted the same: all numbers of a quantity at a level, and its widths but for rounding."""
    if any(line[name] != other[name] for name in ("draws", "refused")):
        return set()
    first, second = ({tuple(o[:3]): o[3:] for o in one["outcomes"]} for one in (line, other))
    return {
        key
        for key in first.keys() & second.keys()
        if all(
            math.isclose(mine, theirs, rel_tol=1e-9, abs_tol=1e-12)
            for mine, theirs in zip(first[key], second[key], strict=True)
        )
    }


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
        # The first piece of a cell has a fingerprint of its own.
        wanted = {
            (fingerprint(place[0], cell, chunk), chunk == 0): place for place, cell in cells.items() for chunk in (0, 1)
        }
        pieces: dict[tuple[tuple[str, str], int], dict[str, Any]] = {}
        for line in self._lines():
            place = wanted.get((line["fingerprint"], line["chunk"] == 0))
            if place is not None and pieces.get((place, line["chunk"]), PART).get("part"):
                pieces[place, line["chunk"]] = line
        for (place, chunk), line in pieces.items():
            known = measured[place]
            known.tally.add_document(line)
            known.chunks |= {chunk} if not line.get("part") else set()
            known.seconds += line["seconds"]
            known.last = max(known.last, line["date"])
        return measured

    def find_unconfirmed(self, families: tuple[str, ...] = FAMILIES) -> dict[tuple[str, str], Pieces]:
        """The pieces that other code measured last, of the cells of which the code as it stands measured none.

        The reviewed piece is left out: its outcome depends on the rules too, and it is short.
        """
        known = {place: measured.chunks - {0} for place, measured in self.read(families).items()}
        by_code: dict[tuple[str, str], dict[str, Pieces]] = {}
        for line in self._lines():
            place = line["family"], line["cell"]
            if line["chunk"] and place in known and not known[place]:
                pieces = by_code.setdefault(place, {})
                # What was written last comes last.
                pieces[line["fingerprint"]] = pieces.pop(line["fingerprint"], {}) | {line["chunk"]: line}
        return {place: list(pieces.values())[-1] for place, pieces in by_code.items()}

    def confirm(self, family: str, cell: Cell, pieces: Pieces) -> bool:
        """Take over of other code's pieces what is the same in one that was measured again; whether all is."""
        own = fingerprint(family, cell, 1)
        again = {
            line["chunk"]: line for line in self._lines() if line["fingerprint"] == own and line["chunk"] in pieces
        }
        if not again:
            return False
        same = set.intersection(*(_find_same(line, pieces[chunk]) for chunk, line in again.items()))
        every = all(len(same) == len(one["outcomes"]) for chunk, line in again.items() for one in (line, pieces[chunk]))
        for chunk in sorted(set(pieces) - set(again)) if same else ():
            line = pieces[chunk]
            outcomes = [outcome for outcome in line["outcomes"] if tuple(outcome[:3]) in same]
            kept = {"fingerprint": own, "confirmed": line["fingerprint"], "outcomes": outcomes}
            self._write(line | kept | ({} if every else {"part": True}))
        return every

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
        self._write({
            "fingerprint": fingerprint(family, cell, chunk), "family": family, "cell": str(cell), "chunk": chunk,
            "seconds": round(seconds, 4), "date": datetime.now(UTC).isoformat(timespec="seconds"), **tally.document(),
        })  # fmt: skip

    def _write(self, line: dict[str, Any]) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab+") as lines:
            # What was cut off when a run was stopped must not take this line with it.
            ended = not lines.tell() or (lines.seek(-1, os.SEEK_END), lines.read(1))[1] == b"\n"
            lines.write(f"{'' if ended else chr(10)}{json.dumps(line)}\n".encode())

    def truth(self, family: str, cell: Cell) -> Truth:
        """The true values of a cell, found once and kept."""
        path = self.folder / "truths" / f"{fingerprint(family, cell, 1)}.json"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            # Another process may write the same at the same time: the last one to finish replaces the whole file.
            part = path.with_suffix(f".{os.getpid()}")
            part.write_text(json.dumps(dict(cell.find_truth())), encoding="utf-8")
            part.replace(path)
        known: dict[str, float] = json.loads(path.read_text(encoding="utf-8"))
        return known
