"""Where predictions come from: arrays, a data frame with named columns, or a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from heldout.errors import ColumnError, OptionError
from heldout.evidence import Label
from heldout.files import column_names, read_table
from heldout.predictions.guess import check_column, choose
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


def gather(
    data: Any,
    roles: dict[str, Any],
    *,
    labels: Sequence[Label] | None = None,
    missing: Missing = "refuse",
) -> tuple[Predictions, Source]:
    """Predictions from whatever was given, and where they came from.

    >>> predictions, source = gather(None, {"truth": [0, 1], "predicted": [0, 1]})
    >>> predictions.n
    2
    """
    if isinstance(data, str | Path):
        return _from_file(data, roles, labels, missing)
    frame = None if data is None else _as_frame(data)
    if frame is not None:
        return _from_frame(frame, roles, labels, missing, name="the data frame")
    if data is not None:
        if roles.get("truth") is not None:
            raise OptionError(
                "The truth was given twice: as the first argument and as truth=.",
                hint="leave out one of them.",
            )
        roles = {**roles, "truth": data}
    for role in ("truth", "predicted"):
        if roles.get(role) is None:
            raise OptionError(
                f"There is no {role} column.", hint=f"pass it: evaluate(truth, predicted); {role} is missing."
            )
    for role in ROLES:
        if isinstance(roles.get(role), str):
            raise ColumnError(
                f"{role}={roles[role]!r} names a column, but no data frame or file was given.",
                hint="pass the frame first: evaluate(frame, truth='y', predicted='p').",
            )
    given: dict[str, Any] = {role: roles.get(role) for role in ROLES}
    return assemble(**given, labels=labels, missing=missing), Source()


def _as_frame(data: Any) -> Any:
    import narwhals.stable.v2 as nw

    if isinstance(data, dict):
        return None
    frame = nw.from_native(data, pass_through=True)
    return frame if isinstance(frame, nw.DataFrame) else None


def _from_file(
    path: str | Path, roles: dict[str, Any], labels: Sequence[Label] | None, missing: Missing
) -> tuple[Predictions, Source]:
    import narwhals.stable.v2 as nw

    name = "standard input" if str(path) == "-" else Path(path).name
    if str(path) == "-" or (Path(path).exists() and not (Path(path).is_file() or Path(path).is_dir())):
        # Standard input and pipes can be read only once.
        frame = nw.from_native(read_table(path))
        return _from_frame(frame, roles, labels, missing, name=name)
    columns = column_names(path)
    wanted, _ = _chosen(roles, columns, name)
    named = list(dict.fromkeys(column for column in wanted.values() if isinstance(column, str)))
    frame = nw.from_native(read_table(path, columns=named))
    return _from_frame(frame, roles, labels, missing, name=name, every=columns)


def _chosen(roles: dict[str, Any], columns: Sequence[str], name: str) -> tuple[dict[str, Any], list[str]]:
    wanted: dict[str, Any] = {}
    guessed: list[str] = []
    for role in ROLES:
        asked = roles.get(role)
        if asked is not None and not isinstance(asked, str):
            wanted[role] = asked
        elif role in ("truth", "predicted"):
            wanted[role], by_name = choose(role, asked, columns, name)
            guessed += [role] * by_name
        elif asked is not None:
            wanted[role] = check_column(asked, columns, name)
    return wanted, guessed


def _from_frame(
    frame: Any,
    roles: dict[str, Any],
    labels: Sequence[Label] | None,
    missing: Missing,
    *,
    name: str,
    every: Sequence[str] = (),
) -> tuple[Predictions, Source]:
    columns = list(every or frame.columns)
    wanted, guessed = _chosen(roles, columns, name)
    values = {role: frame[column].to_native() if isinstance(column, str) else column for role, column in wanted.items()}
    notes = [
        f"the file has a column {column!r} that was not used; --{role} {column} would use it"
        for role in ("weight", "group")
        for column in columns
        if role not in wanted and column.strip().casefold() in (role, f"{role}s")
    ]
    predictions = assemble(**values, labels=labels, missing=missing, notes=notes)
    named = tuple((role, column) for role, column in wanted.items() if isinstance(column, str))
    return predictions, Source(name, named, tuple(guessed))
