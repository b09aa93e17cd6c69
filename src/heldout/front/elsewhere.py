"""Contestants whose rows are not held: lazy frames, and files that are too large for memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from heldout.engines.clusters.engine_names import ELSEWHERE
from heldout.errors import OptionError
from heldout.evaluation import Evaluation
from heldout.evidence.counted import Counted
from heldout.files.batches import Batches, batches_of
from heldout.front.large import FromFiles, from_files, lazy_frame
from heldout.predictions.source import Named


class Opened(ExitStack):
    """What engines have opened for a comparison, to be closed when all is counted."""

    def __init__(self) -> None:
        super().__init__()
        self._first: Any = None

    def lazy(self, path: str | Path, engine: str, master: str | None) -> FromFiles:
        """The lazy frame of a path, in one database with those before where the engine has databases."""
        from heldout.engines.clusters.opening import open_table

        opened = open_table(path, engine, master)
        self.callback(opened.close)
        found = from_files(path, opened)
        if engine != "duckdb":
            return found
        if self._first is None:
            self._first = found.frame
            return found
        # Relations of two connections cannot be joined; this one reads files only, which the first can too.
        return replace(found, frame=self._first.query("heldout_beside", found.frame.sql_query()))


@dataclass(frozen=True, eq=False)
class Elsewhere:
    """A contestant that was counted where its rows are: what it comes to, and the narwhals lazy frame of the rows.

    `in_order` says that cases have no names, and that the frame numbers its rows instead.
    """

    evaluation: Evaluation
    frame: Any
    in_order: bool = False

    @property
    def counted(self) -> Counted:
        """What was counted."""
        if self.evaluation.counted is None:
            message = "a contestant that is elsewhere was counted"
            raise TypeError(message)
        return self.evaluation.counted

    @property
    def names(self) -> list[str]:
        """The columns of the frame."""
        return list(self.frame.collect_schema().names())


@dataclass(frozen=True, eq=False)
class Away:
    """Data whose rows are not to be held: what an evaluation of them is given, and how their rows become a frame."""

    given: Any
    frame: Any = None
    batches: Batches | None = None

    def part(self, frame: Any, name: str) -> Any:
        """What an evaluation is given of some of the rows, which are in this narwhals frame."""
        native = frame.to_native()
        if isinstance(self.given, FromFiles):
            return replace(self.given, frame=native)
        # Batches give only the columns that are used, so the files agree in all of them.
        return Named(native, name) if self.batches is None else FromFiles(native, name, notes=self.batches.notes)

    def rows(self, columns: Sequence[str], *, numbered: bool = False) -> Any:
        """The rows as a narwhals lazy frame with at least these columns, and their numbers where they are wanted."""
        import narwhals.stable.v2 as nw

        if self.batches is None:
            return self.frame
        from heldout.engines.stream.pairs import scanned

        return nw.from_native(scanned(self.batches, columns, numbered=numbered))


def away(data: Any, engine: str | None, master: str | None, opened: Opened) -> Away | None:
    """The data, where their rows are not to be held; None where they fit in memory."""
    if not isinstance(data, str | Path):
        frame = lazy_frame(data)
        if frame is not None and engine is not None:
            raise OptionError(
                f"A lazy data frame ({type(data).__name__}) brings its own engine, and {engine!r} was named.",
                hint="leave out engine=.",
            )
        return None if frame is None else Away(data, frame)
    if _is_evidence(data):
        # Whoever reads it says that no engine is needed.
        return None
    if engine in ELSEWHERE:
        import narwhals.stable.v2 as nw

        found = opened.lazy(data, engine, master)
        return Away(found, nw.from_native(found.frame))
    if str(data) == "-":
        return None
    batches = batches_of(data, engine=engine)
    return None if batches is None else Away(data, batches=batches)


def _is_evidence(path: str | Path) -> bool:
    from heldout.evidence.saving import is_evidence_file

    return is_evidence_file(path)


def counted_there(found: Away, read: Callable[..., Evaluation], columns: dict[str, Any] | None = None) -> Elsewhere:
    """One contestant with data of its own; without ids the rows of files have an order, those of frames none."""
    evaluation = read(found.given, **(columns or {}))
    used = dict(evaluation.source.columns)
    numbered = "id" not in used and found.batches is not None
    return Elsewhere(evaluation, found.rows(_named(evaluation, found), numbered=numbered), numbered)


def counted_together(
    found: Away, read: Callable[..., Evaluation], columns: Sequence[dict[str, Any]]
) -> list[Elsewhere]:
    """Several contestants in one frame, each with columns of its own; a row that one lacks is left out of all."""
    made = [read(found.given, **own) for own in columns]
    used = list(dict.fromkeys(name for one in made for name in _named(one, found)))
    frame = found.rows(used)
    lost = [0 if one.counted is None else one.counted.lost for one in made]
    if not any(lost):
        return [Elsewhere(one, frame) for one in made]
    from heldout.engines.lazy.sides import without_gaps
    from heldout.front.lost_rows import noted

    whole = without_gaps(frame, used)
    again = [
        _with_unused(read(found.part(whole, one.source.name), **own), one)
        for one, own in zip(made, columns, strict=True)
    ]
    n = 0 if made[0].counted is None else made[0].counted.rows
    return [
        Elsewhere(noted(one, n - int(one.confusion.n_cases), n, own), whole)
        for one, own in zip(again, lost, strict=True)
    ]


def _with_unused(evaluation: Evaluation, first: Evaluation) -> Evaluation:
    """An evaluation of columns that are used alone, with what the first one said of those that are not."""
    said = [note for *_, note in first.source.unused if note not in evaluation.notes]
    return replace(evaluation, notes=(*evaluation.notes, *said))


def _named(evaluation: Evaluation, found: Away) -> list[str]:
    """The columns that an evaluation read; "score >= 0.5" is none."""
    every = found.frame.collect_schema().names() if found.batches is None else found.batches.names
    return [column for _, column in evaluation.source.columns if column in every]
