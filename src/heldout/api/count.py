"""The front door to counting: from predictions, in any form, to evidence that merges, is saved, and is evaluated."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from heldout.api.engine_choice import Where, counted_elsewhere
from heldout.engines.accumulator import Evidence, checked_threshold
from heldout.engines.memory import counted
from heldout.errors import FileError, HeldoutError, OptionError
from heldout.evidence import Label
from heldout.evidence.storage import loaded
from heldout.predictions.source import Asked, Source, gather
from heldout.predictions.table import Missing

# Only counting: from predictions, in any form, to evidence that merges, is saved, and is evaluated later.


def count(
    data: Any = None,
    predicted: Any = None,
    *,
    truth: Any = None,
    score: Any = None,
    threshold: float | None = None,
    weight: Any = None,
    group: Any = None,
    fold: Any = None,
    slices: Any = None,
    positive: Label | None = None,
    labels: Sequence[Label] | None = None,
    missing: Missing = "refuse",
    engine: str | None = None,
    master: str | None = None,
    tolerance: float = 1e-6,
    passes: int = 3,
) -> Evidence:
    """Only count: evidence that merges with +, is saved to a small file, and can be evaluated later.

    Takes what `evaluate` takes. Where not every part shows all classes, or scores speak for one of two, name them with
    `labels` and `positive`, so that parts that were counted apart fit together.

    >>> first, second = count([0, 1], [0, 0]), count([1, 2], [1, 2])
    >>> (first + second).matrix
    array([[1, 0, 0],
           [1, 1, 0],
           [0, 0, 1]])
    """
    roles = {"truth": truth, "predicted": predicted, "weight": weight, "group": group, "fold": fold}
    cut = checked_threshold(threshold, predicted)
    asked = Asked(labels, missing, score, positive, cut, slices)
    return count_with_source(data, roles, asked, Where(engine, master, tolerance, passes))[0]


def count_with_source(data: Any, roles: dict[str, Any], asked: Asked, where: Where) -> tuple[Evidence, Source]:
    """The evidence of predictions in any form, and where they came from."""
    elsewhere = counted_elsewhere(data, roles, asked, where.checked())
    if elsewhere is not None:
        return Evidence.of(elsewhere[0]), elsewhere[1]
    options = {name: value for name, value in asked.options().items() if name != "against_rest"}
    predictions, source = gather(data, roles, score=asked.score, slices=asked.slices, **options)
    return Evidence.of(counted(predictions, pairs=len(predictions.slices) > 1)), source


# Files of evidence that were counted apart, as one.


def merge(paths: Sequence[str | Path], *, same: bool = False) -> Evidence:
    """The evidence of all files together; what does not fit is named, and so is a file that is there twice.

    `same` says that files of the same content are meant to count, each for itself.

    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> parts = [pathlib.Path(folder.name, f"{day}.evidence") for day in ("monday", "tuesday")]
    >>> Evidence().update([0, 1], [0, 0]).save(parts[0])
    >>> Evidence().update([1, 2], [1, 2]).save(parts[1])
    >>> merge(parts).n
    4
    >>> folder.cleanup()
    """
    if not paths:
        raise OptionError("There is nothing to merge: no file of evidence.", hint="heldout merge part-*.evidence")
    total: Evidence | None = None
    met: dict[str, str | Path] = {}
    for path in paths:
        counted, checksum = loaded(path)
        if checksum in met and not same:
            twice = "is there twice" if str(met[checksum]) == str(path) else f"has the same content as {met[checksum]}"
            raise FileError(
                f"{path} {twice}, so its cases would count twice.",
                hint="leave one of them out; --same counts both, if they are different cases.",
            )
        met[checksum] = path
        part = Evidence.of(counted)
        try:
            total = part if total is None else total + part
        except HeldoutError as error:
            raise type(error)(
                f"{path} does not fit {paths[0]}{' and what follows it' if len(met) > 2 else ''}. {error.what}",
                hint=error.hint,
            ) from None
    return total if total is not None else Evidence()
