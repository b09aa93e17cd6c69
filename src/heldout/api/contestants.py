"""Who is compared: evaluations, validations, files or columns of one file, each under a name of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from heldout.api.engine_choice import lazy_frame
from heldout.api.evaluate import evaluate
from heldout.api.external_cases import (
    LazyContestant,
    LazySource,
    OpenConnections,
    count_lazy,
    count_lazy_columns,
    find_lazy_source,
)
from heldout.arguments import listing
from heldout.errors import OptionError
from heldout.evidence import Confusion, Label
from heldout.files import column_names, read_table
from heldout.files.batches import many_files
from heldout.predictions.alignment import lost_rows
from heldout.predictions.columns import check_column, guess, is_usual
from heldout.predictions.scores import may_be_score
from heldout.predictions.source import gather, without_use
from heldout.predictions.table import Missing
from heldout.results.evaluation import Evaluation
from heldout.results.validation import Validation, Validations

# Rows with missing values: what one contestant lacks is dropped from all, so that the rest stay the same cases.


class Reader(Protocol):
    """A contestant that can be read again, with fewer rows."""

    @property
    def data(self) -> Any:
        """The file or the frame."""

    def evaluation(self) -> Evaluation:
        """What it comes to."""

    def rows_kept(self, frame: Any, n: int) -> NDArray[np.int64]:
        """Which rows have all values."""

    def part(self, frame: Any, keep: NDArray[np.bool_]) -> Reader:
        """The same with these rows only."""


def drop_missing_rows(made: Sequence[Any], readers: Sequence[Reader]) -> list[Any]:
    """The contestants without the rows that any of them lacks, where all had as many rows to begin with.

    Where they had not, they stay as they are, and nothing but ids can say which case is which.
    """
    if not any(one.predictions is not None and lost_rows(one.predictions) for one in made):
        return list(made)
    frames = _frames([reader.data for reader in readers])
    sizes = {_rows(frame) for frame in frames}
    if len(sizes) > 1 or None in sizes:
        return list(made)
    n = sizes.pop() or 0
    kept = [reader.rows_kept(frame, n) for reader, frame in zip(readers, frames, strict=True)]
    keep = np.bincount(np.concatenate(kept), minlength=n) == len(readers)
    if not keep.any():
        return list(made)
    gone = n - int(keep.sum())
    return [
        note_dropped_rows(reader.part(frame, keep).evaluation(), gone, n, n - len(own))
        for reader, frame, own in zip(readers, frames, kept, strict=True)
    ]


def note_dropped_rows(evaluation: Evaluation, gone: int, n: int, own: int) -> Evaluation:
    """The evaluation with a note of the rows that were left out of all, and in how many it lacks a value itself."""
    said = (
        f"{gone:,} of {n:,} rows were dropped from all classifiers, because one or more of them lacks a value there; "
        f"this one in {own:,}"
    )
    return replace(evaluation, notes=(*evaluation.notes, said))


def _frames(given: Sequence[Any]) -> list[Any]:
    """The frames; a file is read again, unless it can be read only once."""
    return [
        one if not isinstance(one, str | Path) else read_table(one) if str(one) != "-" and Path(one).is_file() else None
        for one in given
    ]


def _rows(frame: Any) -> int | None:
    if isinstance(frame, Mapping):
        sizes = {len(column) for column in frame.values()}
        return sizes.pop() if len(sizes) == 1 else None
    return None if frame is None else len(frame)


def filter_frame(frame: Any, keep: NDArray[np.bool_]) -> Any:
    """Some rows of a frame or of a dictionary of columns.

    >>> filter_frame({"truth": [0, 1, 1]}, np.array([True, False, True]))["truth"]
    [0, 1]
    """
    if isinstance(frame, Mapping):
        return {name: filter_column(column, keep) for name, column in frame.items()}
    import narwhals.stable.v2 as nw

    return nw.from_native(frame).filter(keep.tolist()).to_native()


def filter_column(column: Any, keep: NDArray[np.bool_]) -> Any:
    """Some rows of a column; the name of one stays as it is.

    >>> filter_column("truth", np.array([True])), filter_column(("a", "b"), np.array([False, True]))
    ('truth', ['b'])
    """
    if column is None or isinstance(column, str | int):
        return column
    if isinstance(column, list | tuple):
        return [value for value, kept in zip(column, keep.tolist(), strict=True) if kept]
    import narwhals.stable.v2 as nw

    series = nw.from_native(column, allow_series=True, pass_through=True)
    return series.filter(keep.tolist()).to_native() if isinstance(series, nw.Series) else np.asarray(column)[keep]


Contestant = Evaluation | Validation | LazyContestant
# Columns of these names are said not to be used where nobody names them.
NOTED = ("weight", "group", "fold")


@dataclass(frozen=True)
class ReadOptions:
    """How files and frames among the contestants are to be read; `ranked` where only the scores are asked for.

    `opened` is what engines have opened for it.
    """

    truth: Any = None
    predicted: Any = None
    score: Any = None
    threshold: float | None = None
    id: Any = None
    fold: Any = None
    group: Any = None
    positive: Label | None = None
    labels: Sequence[Label] | None = None
    costs: Any = None
    level: float = 0.95
    missing: Missing = "refuse"
    seed: int = 0
    ranked: bool = False
    engine: str | None = None
    master: str | None = None
    tolerance: float = 1e-6
    passes: int = 3
    opened: OpenConnections = field(default_factory=OpenConnections)

    def said(self) -> list[str]:
        """What was said of how to read files."""
        usual = ReadOptions(
            level=self.level, seed=self.seed, ranked=self.ranked, tolerance=self.tolerance, passes=self.passes,
            opened=self.opened,
        )  # fmt: skip
        return [part.name for part in fields(self) if getattr(self, part.name) is not getattr(usual, part.name)]

    def read(self, data: Any, **columns: Any) -> Evaluation:
        """The predictions in a file or a frame; no measure is worked out yet."""
        named = self.named(columns)
        try:
            return _unweighted(self._evaluated(data, named))
        except OptionError as error:
            if not (_bare(self.named(columns, ranked=False)) and "threshold=" in error.hint):
                raise
            hint = f"{error.hint} Or compare the scores alone: measure='roc_auc' (--measure roc_auc)."
            raise OptionError(error.what, hint=hint) from None

    def named(self, columns: Mapping[str, Any], *, ranked: bool | None = None) -> dict[str, Any]:
        """The columns of a contestant: those that all share, and its own."""
        held = {
            "truth": self.truth,
            "predicted": self.predicted,
            "score": self.score,
            "threshold": self.threshold,
            "id": self.id,
            "fold": self.fold,
            "group": self.group,
        } | dict(columns)
        if (self.ranked if ranked is None else ranked) and _bare(held):
            # Nobody asks for the classes, so scores without a natural threshold may have any.
            held["threshold"] = 0.0
        return held

    def _evaluated(self, data: Any, named: dict[str, Any]) -> Evaluation:
        return evaluate(
            data,
            **named,
            positive=self.positive,
            labels=self.labels,
            costs=self.costs,
            level=self.level,
            missing=self.missing,
            seed=self.seed,
            measures=[],
            engine=self.engine,
            master=self.master,
            tolerance=self.tolerance,
            passes=self.passes,
        )

    def away(self, data: Any) -> LazySource | None:
        """The data, where their rows are not to be held."""
        return find_lazy_source(data, self.engine, self.master, self.opened)

    def there(self, found: LazySource) -> ReadOptions:
        """How such data are read: a frame brings its own engine."""
        return self if found.batches is not None else replace(self, engine=None, master=None)


def _unweighted(evaluation: Evaluation) -> Evaluation:
    """The evaluation, with no word of an option for weights, which comparisons have none of."""
    source = evaluation.source
    unused = tuple(without_use(one) if one[0] == "weight" else one for one in source.unused)
    new = {before[-1]: now[-1] for before, now in zip(source.unused, unused, strict=True)}
    notes = tuple(new.get(note, note) for note in evaluation.notes)
    return replace(evaluation, notes=notes, source=replace(source, unused=unused)) if unused else evaluation


@dataclass(frozen=True, eq=False)
class FileContestant:
    """A contestant that is read: from what, how, and which columns are its own."""

    data: Any
    reading: ReadOptions
    columns: Mapping[str, Any] = field(default_factory=dict)

    def evaluation(self) -> Evaluation:
        """What it comes to."""
        return self.reading.read(self.data, **self.columns)

    def rows_kept(self, frame: Any, n: int) -> NDArray[np.int64]:
        """Which of n rows of a frame have all values that this contestant needs."""
        named = self.reading.named(self.columns)
        # Its rows carry their numbers through the reading as ids.
        roles = {**{role: named[role] for role in ("truth", "predicted", "group", "fold")}, "id": np.arange(n)}
        found, _ = gather(
            frame,
            roles,
            labels=self.reading.labels,
            missing="drop",
            score=named["score"],
            positive=self.reading.positive,
            threshold=named["threshold"],
        )
        if found.id is None:
            return np.arange(n)
        return np.asarray(found.id.labels)[found.id.codes.astype(np.int64) - found.id.offset]

    def part(self, frame: Any, keep: NDArray[np.bool_]) -> FileContestant:
        """The same with these rows of the frame only."""
        roles = {role: filter_column(getattr(self.reading, role), keep) for role in ("truth", "id", "fold", "group")}
        return replace(self, data=filter_frame(frame, keep), reading=replace(self.reading, **roles))


def _bare(named: Mapping[str, Any]) -> bool:
    """Whether there is one column of scores, and nothing that says which class they mean."""
    return named["threshold"] is None and named["predicted"] is None and isinstance(named["score"], str)


def gather_contestants(
    given: Sequence[Any], names: Sequence[str] | None, reading: ReadOptions, *, together: bool = True
) -> dict[str, Contestant]:
    """The contestants by name, in the order they were given; `together` where all of them judged the same cases.

    >>> from heldout.api.evaluate import evaluate
    >>> one, two = evaluate([0, 1], [0, 1]), evaluate([0, 1], [1, 1])
    >>> list(gather_contestants([one, two], None, ReadOptions()))
    ['A', 'B']
    """
    held: list[tuple[str, Contestant]] = []
    spread = _spread(given)
    _check_said([item for _, item in spread], reading)
    for position, (name, item) in enumerate(spread):
        held.append((name or _letter(position), _contestant(item, reading)))
    gone = any(isinstance(one, LazyContestant) for _, one in held)
    if together and not gone and reading.id is None and all(is_readable(item) for _, item in spread):
        whole = drop_missing_rows([one for _, one in held], [FileContestant(item, reading) for _, item in spread])
        held = [(name, one) for (name, _), one in zip(held, whole, strict=True)]
    return _told_apart(_named(held, names))


def _named(held: list[tuple[str, Contestant]], names: Sequence[str] | None) -> list[tuple[str, Contestant]]:
    if names is None:
        return held
    if isinstance(names, str) or len(names) != len(held):
        raise OptionError(
            f"There are {len(held)} classifiers to compare, and names= gives {names!r}.",
            hint="give one name to each, in their order.",
        )
    return [(str(name), item) for name, (_, item) in zip(names, held, strict=True)]


def _check_said(items: Sequence[Any], reading: ReadOptions) -> None:
    """Refuse options about reading where nothing is read."""
    if any(is_readable(item) for item in items):
        return
    counted = any(isinstance(item, Confusion) for item in items)
    unused = [name for name in reading.said() if not (counted and name in ("positive", "labels", "costs"))]
    if unused:
        raise OptionError(
            f"These options are for files and frames, and here are none to read: {listing(unused)}.",
            hint="give them to evaluate() or validate(), whose results are compared.",
        )


def is_readable(item: Any) -> bool:
    """Whether an item is a file or a frame of predictions."""
    if isinstance(item, str | Path) or lazy_frame(item) is not None:
        return True
    return hasattr(item, "columns") and not isinstance(item, Mapping)


def is_contestant(item: Any) -> bool:
    """Whether an item can be compared with others."""
    return isinstance(item, Evaluation | Validation | Confusion) or is_readable(item)


def read_columns(
    data: Any, reading: ReadOptions, names: Sequence[str] | None = None, *, together: bool = True
) -> dict[str, Contestant]:
    """Several classifiers in one file: a column of predictions, or of scores, or one of both, each."""
    given = {by: list(getattr(reading, by)) for by in ("predicted", "score") if _several(getattr(reading, by))}
    alone = [by for by in ("predicted", "score") if by not in given and getattr(reading, by) is not None]
    if alone or len({len(columns) for columns in given.values()}) > 1:
        raise OptionError(
            "The columns of predictions and of scores do not pair up: "
            f"predicted names {_shown(reading.predicted)}, score names {_shown(reading.score)}.",
            hint="name one of both for each classifier, in the same order, or leave one of them out.",
        )
    by, columns = next(iter(given.items()))
    if len(columns) < 2:
        raise OptionError(
            f"One {by} column was named, and there is nothing to compare it with: {listing(columns)}.",
            hint=f"name several, as in --{by} A --{by} B.",
        )
    twice = [column for each in given.values() for column in dict.fromkeys(each) if each.count(column) > 1]
    if twice:
        raise OptionError(f"A column is named twice: {listing(twice)}.", hint="name each classifier once.")
    found = reading.away(data)
    if found is not None:
        own = [{role: column[place] for role, column in given.items()} for place in range(len(columns))]
        counted = count_lazy_columns(found, reading.there(found).read, own)
        return _told_apart(_named(list(zip(map(str, columns), counted, strict=True)), names))
    data, reading = _read_once(data, reading, [column for each in given.values() for column in each])
    each = [
        FileContestant(data, reading, {role: own[place] for role, own in given.items()})
        for place in range(len(columns))
    ]
    made = [one.evaluation() for one in each]
    held = list(zip(map(str, columns), drop_missing_rows(made, each) if together else made, strict=True))
    return _told_apart(_named(held, names))


def _read_once(data: Any, reading: ReadOptions, columns: Sequence[Any]) -> tuple[Any, ReadOptions]:
    """A file as a frame, so that it is read once for all columns; what is missing is said with the name of the file."""
    if not isinstance(data, str | Path):
        return data, reading
    name = "standard input" if str(data) == "-" else Path(data).name
    if many_files(data) is not None:
        return data, reading
    # What comes through a pipe can be read only once, so it is read whole.
    frame = None if str(data) != "-" and Path(data).is_file() else read_table(data)
    every = list(column_names(data) if frame is None else frame.columns)
    named = [
        column for column in (*columns, reading.truth, reading.id, reading.fold, reading.group) if column is not None
    ]
    for column in named:
        if isinstance(column, str):
            check_column(column, every, name)
    if reading.truth is None:
        reading = replace(reading, truth=guess("truth", every, name))
    if frame is None:
        wanted = {*filter(_is_text, named), reading.truth}
        frame = read_table(data, columns=[column for column in every if column in wanted or _may_be_used(column)])
    return frame, reading


def _is_text(column: Any) -> bool:
    return isinstance(column, str)


def _may_be_used(column: str) -> bool:
    """Whether a column that nobody named is used, or is said not to be."""
    return may_be_score(column) or is_usual("predicted", column) or column.strip().casefold().rstrip("s") in NOTED


def _several(columns: Any) -> bool:
    return isinstance(columns, list | tuple)


def _shown(columns: Any) -> str:
    return "nothing" if columns is None else listing(columns if _several(columns) else [columns])


def _spread(given: Sequence[Any]) -> list[tuple[str, Any]]:
    """Each contestant with its name, where it has one."""
    held: list[tuple[str, Any]] = []
    for one in given:
        if isinstance(one, Mapping):
            held += [(str(name), item) for name, item in one.items()]
        elif isinstance(one, Validations):
            held += [(validation.learner, validation) for validation in one]
        elif isinstance(one, Validation):
            held.append((one.learner, one))
        elif isinstance(one, str | Path):
            held.append((Path(one).name, one))
        else:
            held.append((one.source.name if isinstance(one, Evaluation) else "", one))
    return held


def _contestant(item: Any, reading: ReadOptions) -> Contestant:
    if isinstance(item, Evaluation | Validation):
        return item
    if isinstance(item, Confusion):
        return evaluate(
            item,
            positive=reading.positive,
            labels=reading.labels,
            costs=reading.costs,
            level=reading.level,
            measures=[],
        )
    if is_readable(item):
        found = reading.away(item)
        return reading.read(item) if found is None else count_lazy(found, reading.there(found).read)
    raise OptionError(
        f"A {type(item).__name__} cannot be compared.",
        hint="give evaluations, validations, files of predictions, or one table of results.",
    )


def _letter(position: int) -> str:
    return chr(ord("A") + position) if position < 26 else f"model {position + 1}"


def _told_apart(held: list[tuple[str, Contestant]]) -> dict[str, Contestant]:
    made: dict[str, Contestant] = {}
    for name, item in held:
        own, number = name, 2
        while own in made:
            own, number = f"{name} ({number})", number + 1
        made[own] = item
    return made
