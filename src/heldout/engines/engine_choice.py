"""Predictions that are not held in memory: which data are counted where they are, and by which engine."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from heldout.arguments import as_float, check_whole, listing, show_given, suggest
from heldout.engines.accumulator import Evidence, count_on_device
from heldout.engines.engine_errors import engine_errors
from heldout.errors import HeldoutError, OptionError
from heldout.evidence.counted import Counted
from heldout.evidence.storage import is_evidence_file
from heldout.predictions.source import NamedFrame, ReadOptions, Source

# Engines that aggregate where the data are.
ELSEWHERE = ("polars", "duckdb", "dask", "spark")
# Those that run on a cluster, and so may be told where it is.
WITH_MASTER = ("dask", "spark")
# What reads a path: rows in memory, batch by batch, or an engine that aggregates where the data are.
HERE = ("memory", "stream")
ENGINES = (*HERE, *ELSEWHERE)
# Only what comes from these packages can be a frame whose rows have not been read.
LAZY = frozenset({"_duckdb", "dask", "duckdb", "ibis", "narwhals", "polars", "pyspark", "sqlframe"})


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """Where and how carefully to count: the engine, its cluster, and the certificate to reach in so many passes."""

    engine: str | None = None
    master: str | None = None
    tolerance: float | None = None
    passes: int = 3

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> EngineOptions:
        """What was said of large data among the options of a call."""
        return cls(**{field.name: options[field.name] for field in fields(cls) if field.name in options})

    def checked(self) -> EngineOptions:
        """The same, refused where a word or a number makes no sense."""
        if self.engine is not None and self.engine not in ENGINES:
            raise OptionError(
                f"There is no engine {self.engine!r}. There are: {listing(ENGINES)}.",
                hint=suggest(str(self.engine), ENGINES, "leave it out, and it is chosen by the data."),
            )
        if self.master is not None and self.engine not in WITH_MASTER:
            raise OptionError(
                f"A master was named ({self.master}), and the engine is {self.engine or 'not said'}.",
                hint=f"name one that runs on a cluster: {' or '.join(WITH_MASTER)} (--engine spark).",
            )
        wide = self.tolerance
        if wide is not None and (isinstance(wide, bool) or not 0 <= _number(wide) < math.inf):
            raise OptionError(
                f"The tolerance is a width of areas, 0 or more. Got {show_given(wide)}.", hint="for example 1e-6."
            )
        check_whole("passes", self.passes, 1)
        if self.engine == "memory" and (careful := self.careful()):
            raise OptionError(
                f"Rows that are held are not counted in bins, so {listing(careful)} would have no effect.",
                hint=f"leave out {_options(careful)}, or engine='memory' (--engine memory).",
            )
        return self

    def careful(self) -> list[str]:
        """What was said of areas of scores that are counted in bins, by name."""
        return [option.name for option in fields(self)[2:] if getattr(self, option.name) != option.default]


def leave_open() -> None:
    """There is nothing to close."""


@dataclass(frozen=True, eq=False)
class LazyTable:
    """A lazy frame that an engine has opened from files, what these are called, and how to close it.

    `withheld` are columns in which the files do not agree: they are not in the frame, and each comes with the error for
    whoever wants it. `notes` are sentences about files that were left out.
    """

    frame: Any
    name: str
    withheld: Mapping[str, HeldoutError] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    close: Callable[[], None] = leave_open


def _number(given: Any) -> float:
    return as_float(given) if isinstance(given, numbers.Real) else math.nan


def known_evidence(data: Any) -> tuple[Counted, Source] | None:
    """Evidence that was counted before, given itself or as the file that it was saved in; None for anything else."""
    if isinstance(data, Counted):
        return data, Source()
    if isinstance(data, Evidence):
        return data.counted, Source()
    if isinstance(data, str | Path) and is_evidence_file(data):
        return Evidence.load(data).counted, Source(Path(data).name)
    return None


def only_evidence(given: Mapping[str, Any], where: EngineOptions) -> None:
    """Refuse what is said of rows beside evidence: its cases were counted already."""
    named = {name: value for name, value in given.items() if value is not None}
    if named:
        flags = " ".join(f"--{name.removesuffix('s')} {_shown(value)}" for name, value in named.items())
        python = ", ".join(f"{name}=" for name in named)
        hint = (
            f"columns and thresholds are chosen when counting: heldout count … {flags} (in Python count(…, {python}…))."
        )
        if "id" in named:
            hint = "leave out id (--id): which row is about which case is not kept when rows are counted."
        if "matrix" in named:
            hint = "give the evidence or the matrix."
        raise OptionError(f"Counted evidence was given together with {listing(named)}.", hint=hint)
    if where.engine is not None:
        raise OptionError(
            f"The engine {where.engine!r} reads rows, and counted evidence has none.",
            hint="leave out engine= (--engine); an engine is named when counting.",
        )
    if careful := where.careful():
        raise OptionError(
            f"The scores of counted evidence are in their bins already, so {listing(careful)} would have no effect.",
            hint=f"leave out {_options(careful)}; they are named when counting.",
        )


def _options(names: Sequence[str]) -> str:
    """Options as they are written in Python and on the command line."""
    return f"{', '.join(f'{name}=' for name in names)} ({', '.join(f'--{name}' for name in names)})"


def _shown(value: Any) -> str:
    """A name or a number as it is typed; of several names the first."""
    if isinstance(value, list | tuple) and value:
        value = value[0]
    return str(value) if isinstance(value, str | int | float) else "…"


def counted_elsewhere(
    data: Any, roles: dict[str, Any], asked: ReadOptions, where: EngineOptions
) -> tuple[Counted, Source] | None:
    """What was counted of data that are not to be held; None where their rows fit in memory."""
    if isinstance(data, LazyTable):
        return _count_table(data, roles, asked, where)
    name = "the data frame"
    if isinstance(data, NamedFrame):
        data, name = data.frame, data.name
    if isinstance(data, str | Path):
        return _count_path(data, roles, asked, where)
    if where.engine is None and (found := count_on_device(data, roles, asked)) is not None:
        return found
    frame = lazy_frame(data)
    if frame is None:
        if where.engine not in (None, "memory"):
            raise OptionError(
                f"The engine {where.engine!r} reads files, and the data are in memory already.",
                hint="give a path, or leave out engine=.",
            )
        return None
    check_no_engine(data, where.engine)
    return _count_table(LazyTable(frame, name), roles, asked, where, from_file=False)


def check_no_engine(data: Any, engine: str | None) -> None:
    """Refuse an engine that is named beside a lazy data frame."""
    if engine is not None:
        raise OptionError(
            f"A lazy data frame ({type(data).__name__}) brings its own engine, and {engine!r} was named.",
            hint="leave out engine=.",
        )


def lazy_frame(data: Any) -> Any:
    """The narwhals frame of data whose rows have not been read; None for everything else.

    >>> lazy_frame([1, 2]) is None
    True
    """
    if type(data).__module__.partition(".")[0] not in LAZY:
        return None
    import narwhals.stable.v2 as nw

    try:
        frame = nw.from_native(data, pass_through=True)
    except nw.exceptions.DuplicateError:
        # Two columns of one name; what reads the rows says so.
        return None
    return frame if isinstance(frame, nw.LazyFrame) else None


def _count_path(
    path: str | Path, roles: dict[str, Any], asked: ReadOptions, where: EngineOptions
) -> tuple[Counted, Source] | None:
    if where.engine in ELSEWHERE:
        from heldout.engines.backends import open_table

        opened = open_table(path, where.engine, where.master)
        try:
            return _count_table(opened, roles, asked, where)
        finally:
            opened.close()
    if str(path) == "-" or where.engine == "memory":
        return None
    from heldout.files.batches import batches_of

    batches = batches_of(path, engine=where.engine)
    if batches is None:
        return None
    from heldout.engines.stream.batch_engine import count_stream

    return count_stream(batches, roles, asked, tolerance=where.tolerance, passes=where.passes)


def _count_table(
    data: LazyTable, roles: dict[str, Any], asked: ReadOptions, where: EngineOptions, *, from_file: bool = True
) -> tuple[Counted, Source]:
    import narwhals.stable.v2 as nw

    from heldout.engines.lazy.engine import count_lazy

    frame = nw.from_native(data.frame)
    with engine_errors(data.name, polars=frame.implementation.is_polars()):
        counted, source = count_lazy(
            frame,
            data.name,
            roles,
            asked,
            tolerance=where.tolerance,
            passes=where.passes,
            from_file=from_file,
            withheld=data.withheld,
        )
    return replace(counted, notes=(*data.notes, *counted.notes)), source
