"""Where predictions come from: arrays, a data frame with named columns, or a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from heldout.errors import ColumnError, OptionError
from heldout.evidence import Label
from heldout.files import column_names, read_table
from heldout.predictions.guess import check_column, guess
from heldout.predictions.table import Missing, Predictions, assemble

ROLES = ("truth", "predicted", "weight", "group")


@dataclass(frozen=True, slots=True)
class Source:
    """What was read: a name, the column of each role, and which of them were guessed."""

    name: str = ""
    columns: tuple[tuple[str, str], ...] = ()
    guessed: tuple[str, ...] = ()

    def sentence(self) -> str:
        """Which columns were read, e.g. "truth = actual, predicted = predicted"."""
        return ", ".join(f"{role} = {column}" for role, column in self.columns)


class _Columns:
    """Named columns to choose from: those of a data frame or of a dictionary."""

    def __init__(self, data: Any, name: str, *, from_file: bool = False, every: Sequence[Any] = ()) -> None:
        self.data = data
        self.name = name
        self.from_file = from_file
        self.names: list[Any] = list(every or (data if isinstance(data, Mapping) else data.columns))

    def values(self, column: Any) -> Any:
        """The values of a column."""
        return self.data[column] if isinstance(self.data, Mapping) else self.data.get_column(column).to_native()


def gather(
    data: Any,
    roles: dict[str, Any],
    *,
    labels: Sequence[Label] | None = None,
    missing: Missing = "refuse",
) -> tuple[Predictions, Source]:
    """Predictions from whatever was given, and where they came from.

    >>> predictions, source = gather({"y": [0, 1], "p": [0, 1]}, {"truth": "y", "predicted": "p"})
    >>> predictions.n, source.sentence()
    (2, 'truth = y, predicted = p')
    """
    columns = _of_file(data, roles) if isinstance(data, str | Path) else _of_frame(data, roles)
    if columns is not None:
        return _chosen(columns, roles, labels, missing)
    if data is not None:
        if roles.get("truth") is not None:
            raise OptionError(
                "The truth was given twice: as the first argument and as truth=.",
                hint="leave out one of them.",
            )
        roles = {**roles, "truth": data}
    for role in ("truth", "predicted"):
        if roles.get(role) is None:
            raise OptionError(f"There is no {role} column.", hint=f"pass it as {role}=, one value per case.")
    for role in ROLES:
        if isinstance(roles.get(role), str):
            raise ColumnError(
                f"{role}={roles[role]!r} names a column, but no data frame or file was given.",
                hint="pass the frame first: evaluate(frame, truth='y', predicted='p').",
            )
    given: dict[str, Any] = {role: roles.get(role) for role in ROLES}
    return assemble(**given, labels=labels, missing=missing), Source()


def _of_frame(data: Any, roles: dict[str, Any]) -> _Columns | None:
    """The columns of a data frame or a dictionary; None where the data is one column itself."""
    import narwhals.stable.v2 as nw

    if isinstance(data, Mapping):
        return _Columns(data, "the dictionary")
    try:
        frame = nw.from_native(data, pass_through=True)
        if isinstance(frame, nw.LazyFrame):
            raise ColumnError(
                f"The data frame is lazy ({type(data).__name__}): its rows have not been read.",
                hint="read them first: evaluate(frame.collect(), …).",
            )
        if not isinstance(frame, nw.DataFrame):
            return None
        columns = _Columns(frame, "the data frame")
    except nw.exceptions.DuplicateError:
        raise ColumnError("Two columns of the data frame have the same name.", hint="rename one of them.") from None
    alone = len(columns.names) == 1 and roles.get("truth") is None
    # A frame of one column, given where a column was meant.
    return None if alone and roles.get("predicted") is not None and not _is_name(roles["predicted"]) else columns


def _of_file(path: str | Path, roles: dict[str, Any]) -> _Columns:
    import narwhals.stable.v2 as nw

    if str(path) == "-":
        return _Columns(nw.from_native(read_table(path)), "standard input", from_file=True)
    if _is_pipe(Path(path)):
        # What comes through a pipe can be read only once.
        return _Columns(nw.from_native(read_table(path)), str(path), from_file=True)
    name, every = Path(path).name, column_names(path)
    wanted, _ = _columns_of_roles(_Columns({}, name, from_file=True, every=every), roles)
    named = list(dict.fromkeys(wanted.values()))
    return _Columns(nw.from_native(read_table(path, columns=named)), name, from_file=True, every=every)


def _is_pipe(path: Path) -> bool:
    try:
        return path.exists() and not path.is_file() and not path.is_dir()
    except (OSError, ValueError):
        # No file can have such a name; the reader says so.
        return False


def _is_name(asked: Any) -> bool:
    return isinstance(asked, str | int) and not isinstance(asked, bool)


def _columns_of_roles(columns: _Columns, roles: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The column of each role that is named or can be guessed, and which were guessed."""
    wanted: dict[str, Any] = {}
    guessed: list[str] = []
    for role in ROLES:
        asked = roles.get(role)
        if _is_name(asked):
            wanted[role] = check_column(asked, columns.names, columns.name)
        elif asked is None and role in ("truth", "predicted"):
            wanted[role] = guess(role, columns.names, columns.name, from_file=columns.from_file)
            guessed.append(role)
    return wanted, guessed


def _chosen(
    columns: _Columns, roles: dict[str, Any], labels: Sequence[Label] | None, missing: Missing
) -> tuple[Predictions, Source]:
    wanted, guessed = _columns_of_roles(columns, roles)
    if wanted.get("truth") is not None and wanted.get("truth") == wanted.get("predicted"):
        raise ColumnError(
            f"Truth and prediction are the same column of {columns.name}: {wanted['truth']!r}.",
            hint="choose two columns: --truth and --predicted (in Python truth= and predicted=).",
        )
    values = {role: columns.values(wanted[role]) if role in wanted else roles.get(role) for role in ROLES}
    notes = [
        f"{columns.name} has a column {column!r} that was not used; "
        + (f"--{role} {column} would use it" if columns.from_file else f"{role}={column!r} would use it")
        for role in ("weight", "group")
        for column in columns.names
        if values[role] is None and str(column).strip().casefold() in (role, f"{role}s")
    ]
    called = {role: f"{role} (column {column!r})" for role, column in wanted.items()}
    predictions = assemble(**values, labels=labels, missing=missing, notes=notes, called=called)
    named = tuple((role, str(column)) for role, column in wanted.items())
    return predictions, Source(columns.name, named, tuple(guessed))
