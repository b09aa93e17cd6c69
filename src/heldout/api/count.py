"""The front door to counting: from predictions, in any form, to evidence that merges, is saved, and is evaluated."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Unpack

from heldout.api.options import CountArguments, takes
from heldout.engines.accumulator import Evidence, checked_threshold
from heldout.engines.engine_choice import EngineOptions, counted_elsewhere
from heldout.engines.memory import counted
from heldout.errors import FileError, HeldoutError, OptionError
from heldout.evidence.storage import loaded
from heldout.predictions.case_values import take_as_scores
from heldout.predictions.column_roles import is_no_column
from heldout.predictions.slice_plans import name_slices
from heldout.predictions.source import ReadOptions, Source, gather


@takes(CountArguments)
def count(data: Any = None, predicted: Any = None, **options: Unpack[CountArguments]) -> Evidence:
    """Only count: evidence that merges with +, is saved to a small file, and can be evaluated later.

    Where not every part shows all classes, or scores speak for one of two, name them with `labels` and `positive`, so
    that parts that were counted apart fit together.

    Parameters
    ----------
    data : array, data frame, lazy frame, path, evidence or fitted model
        The true classes, one per case; or a data frame (of pandas, Polars, PyArrow, DuckDB, Ibis, Spark or Dask) or the
        path of a file or folder whose columns are then named; or what was counted before.
    predicted : array or column name, optional
        The predicted classes. Fractions, or a table with a column for each class, are taken as scores.
    truth : array or column name, optional
        The true classes, where they are not the first argument.
    score : array, table or column names, optional
        A score or probability of the positive class for each case, or one for each case and class. Without predictions,
        these follow from it.
    threshold : float, optional
        The score from which the positive class is predicted; 0.5 for probabilities by default.
    weight : array or column name, optional
        How much each case counts.
    group : array or column name, optional
        Which cases belong together, such as those of one patient. Intervals take whole groups as the cases.
    fold : array or column name, optional
        Which model of a resampling plan made each prediction. A column that is called fold is used unless this is
        "none".
    slices : column names, dictionary of arrays or "all", optional
        Columns that divide the cases, to see where the classifier fails.
    positive : label, optional
        The positive class; known for usual pairs such as no and yes, or 0 and 1.
    labels : sequence of labels, optional
        The classes in the order to show them; by default those that occur.
    missing : {"refuse", "drop"}
        What to do with rows with missing values: refuse them, or drop them and say how many.
    engine : str, optional
        What reads and counts a path: memory, stream, polars, duckdb, dask or spark; by default chosen by its size.
    master : str, optional
        The cluster that the engine runs on, such as "spark://host:7077"; by default this machine.
    tolerance : float, optional
        How far areas may be off where scores are counted in bins.
    passes : int
        How often the scores may be read to reach the tolerance.
    threads : int, optional
        How many threads count; by default as many as there are cores.

    Returns
    -------
    Evidence
        What was counted; it merges with +, is saved to a file, and evaluated as the cases would be.

    Examples
    --------
    >>> first, second = count([0, 1], [0, 0]), count([1, 2], [1, 2])
    >>> (first + second).matrix
    array([[1, 0, 0],
           [1, 1, 0],
           [0, 0, 1]])

    """
    return count_with_source(data, predicted, **options)[0]


@takes(CountArguments)
def count_with_source(data: Any, predicted: Any = None, **options: Unpack[CountArguments]) -> tuple[Evidence, Source]:
    """The evidence of predictions in any form, and where they came from."""
    where = EngineOptions.from_options(options).checked()
    predicted, options["score"], _ = take_as_scores(predicted, options["score"])
    roles = {"truth": options["truth"], "predicted": predicted, "weight": options["weight"], "group": options["group"]}
    roles |= {"fold": None if is_no_column(options["fold"]) else options["fold"]}
    cut = checked_threshold(options["threshold"], predicted)
    slices = name_slices(options["slices"])
    asked = ReadOptions(options["labels"], options["missing"], options["score"], options["positive"], cut, slices)
    elsewhere = counted_elsewhere(data, roles, asked, where)
    if elsewhere is not None:
        return Evidence.of(elsewhere[0]), elsewhere[1]
    reading = {name: value for name, value in asked.options().items() if name != "against_rest"}
    predictions, source = gather(data, roles, score=asked.score, slices=asked.slices, own=False, **reading)
    return Evidence.of(counted(predictions, pairs=len(predictions.slices) > 1)), source


def merge(paths: Sequence[str | Path], *, same: bool = False) -> Evidence:
    """The evidence of all files together; what does not fit is named, and so is a file that is there twice.

    `same` says that files of the same content are meant to count, each for itself.

    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> parts = [pathlib.Path(folder.name, f"{day}.evidence") for day in ("monday", "tuesday")]
    >>> written = [Evidence().update([day, 1], [0, 1]).write(part) for day, part in enumerate(parts)]
    >>> merge(written).n
    4
    >>> folder.cleanup()
    """
    if not paths:
        raise OptionError("There is nothing to merge: no file of evidence.", hint="heldout merge part-*.evidence")
    total: Evidence | None = None
    checksums: dict[str, str | Path] = {}
    for path in paths:
        counted, checksum = loaded(path)
        if checksum in checksums and not same:
            twice = (
                "is there twice"
                if str(checksums[checksum]) == str(path)
                else f"has the same content as {checksums[checksum]}"
            )
            raise FileError(
                f"{path} {twice}, so its cases would count twice.",
                hint="leave one of them out; --same counts both, if they are different cases.",
            )
        checksums[checksum] = path
        part = Evidence.of(counted)
        try:
            total = part if total is None else total + part
        except HeldoutError as error:
            raise type(error)(
                f"{path} does not fit {paths[0]}{' and what follows it' if len(checksums) > 2 else ''}. {error.what}",
                hint=error.hint,
            ) from None
    return total if total is not None else Evidence()
