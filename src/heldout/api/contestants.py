"""Who is compared: evaluations, validations, files or columns of one file, each under a name of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from heldout.api.evaluate import evaluate
from heldout.api.fitted_model import is_model
from heldout.api.options import EngineArguments, defaults_of
from heldout.arguments import Missing, listing
from heldout.comparisons.design_choice import Contestant
from heldout.comparisons.lazy_cases import LazyContestant
from heldout.engines.engine_choice import ELSEWHERE, LazyTable, check_no_engine, lazy_frame
from heldout.errors import OptionError
from heldout.evidence import Confusion, Label
from heldout.files import column_names, read_table
from heldout.files.batches import Batches, batches_of, many_files
from heldout.predictions.alignment import lost_rows
from heldout.predictions.column_roles import NO_COLUMN, check_column, guess, is_usual
from heldout.predictions.score_columns import may_be_score
from heldout.predictions.source import NamedFrame, gather
from heldout.results.evaluation import Evaluation
from heldout.results.validation import Validation, Validations


def drop_missing_rows(evaluations: Sequence[Any], contestants: Sequence[FileContestant]) -> list[Any]:
    """The evaluations without the rows that any contestant lacks, where all have equally many rows.

    Contestants with different numbers of rows stay as they are: only ids can match their cases.
    """
    if not any(own.predictions is not None and lost_rows(own.predictions) for own in evaluations):
        return list(evaluations)
    frames = [_read_again(contestant.data) for contestant in contestants]
    sizes = {_count_rows(frame) for frame in frames}
    if len(sizes) > 1 or None in sizes:
        return list(evaluations)
    n = sizes.pop() or 0
    complete = [contestant.complete_rows(frame, n) for contestant, frame in zip(contestants, frames, strict=True)]
    keep = np.bincount(np.concatenate(complete), minlength=n) == len(contestants)
    if not keep.any():
        return list(evaluations)
    dropped = n - int(keep.sum())
    return [
        note_dropped_rows(contestant.filtered(frame, keep).evaluation(), dropped, n, n - len(own))
        for contestant, frame, own in zip(contestants, frames, complete, strict=True)
    ]


def note_dropped_rows(evaluation: Evaluation, dropped: int, n: int, own: int) -> Evaluation:
    """The evaluation with a note on the rows that were dropped from all, and how many lack a value of its own."""
    note = (
        f"{dropped:,} of {n:,} rows were dropped from all classifiers, because one or more of them lacks a value "
        f"there; this one in {own:,}"
    )
    return replace(evaluation, notes=(*evaluation.notes, note))


def _read_again(data: Any) -> Any:
    """The frame; a file is read again, and None where it can be read only once."""
    if not isinstance(data, str | Path):
        return data
    return read_table(data) if str(data) != "-" and Path(data).is_file() else None


def _count_rows(frame: Any) -> int | None:
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


class OpenConnections(ExitStack):
    """The connections that engines have opened for a comparison, closed when all is counted."""

    def __init__(self) -> None:
        super().__init__()
        self._first: Any = None

    def lazy(self, path: str | Path, engine: str, master: str | None) -> LazyTable:
        """The lazy frame of a path, in the same database as the frames before it where the engine has databases."""
        from heldout.engines.backends import open_table

        files = open_table(path, engine, master)
        self.callback(files.close)
        if engine != "duckdb":
            return files
        if self._first is None:
            self._first = files.frame
            return files
        # Relations of two connections cannot be joined, so the first connection reads these files too.
        return replace(files, frame=self._first.query("heldout_beside", files.frame.sql_query()))


@dataclass(frozen=True, eq=False)
class LazySource:
    """Data that are not read into memory: what `evaluate` is given, and how the rows become a lazy frame."""

    given: Any
    frame: Any = None
    batches: Batches | None = None

    def part(self, frame: Any, name: str) -> Any:
        """What `evaluate` is given of some of the rows, which are in this narwhals frame."""
        native = frame.to_native()
        if isinstance(self.given, LazyTable):
            return replace(self.given, frame=native)
        # Batches give only the columns that are used, so the files agree in all of them.
        return NamedFrame(native, name) if self.batches is None else LazyTable(native, name, notes=self.batches.notes)

    def rows(self, columns: Sequence[str], *, numbered: bool = False) -> Any:
        """The rows as a narwhals lazy frame with at least these columns, numbered on request."""
        import narwhals.stable.v2 as nw

        if self.batches is None:
            return self.frame

        return nw.from_native(self.batches.scan(columns, numbered=numbered))


def find_lazy_source(data: Any, engine: str | None, master: str | None, opened: OpenConnections) -> LazySource | None:
    """The source, where the data are lazy or too large for memory; None where they are to be read."""
    if not isinstance(data, str | Path):
        frame = lazy_frame(data)
        if frame is None:
            return None
        check_no_engine(data, engine)
        return LazySource(data, frame)
    if _is_evidence(data):
        # The reader of evidence refuses an engine itself.
        return None
    if engine in ELSEWHERE:
        import narwhals.stable.v2 as nw

        files = opened.lazy(data, engine, master)
        return LazySource(files, nw.from_native(files.frame))
    if str(data) == "-":
        return None
    batches = batches_of(data, engine=engine)
    return None if batches is None else LazySource(data, batches=batches)


def _is_evidence(path: str | Path) -> bool:
    from heldout.evidence.storage import is_evidence_file

    return is_evidence_file(path)


def count_lazy(
    source: LazySource, read: Callable[..., Evaluation], columns: dict[str, Any] | None = None
) -> LazyContestant:
    """One contestant with data of its own; without ids, rows are matched by their order, which only files have."""
    evaluation = read(source.given, **(columns or {}))
    numbered = "id" not in dict(evaluation.source.columns) and source.batches is not None
    return LazyContestant(evaluation, source.rows(_used_columns(evaluation, source), numbered=numbered), numbered)


def count_lazy_columns(
    source: LazySource, read: Callable[..., Evaluation], columns: Sequence[dict[str, Any]]
) -> list[LazyContestant]:
    """Several contestants in one frame, each with columns of its own; a row that one lacks is left out of all."""
    evaluations = [read(source.given, **own) for own in columns]
    used = list(dict.fromkeys(name for evaluation in evaluations for name in _used_columns(evaluation, source)))
    frame = source.rows(used)
    lost = [0 if evaluation.counted is None else evaluation.counted.lost for evaluation in evaluations]
    if not any(lost):
        return [LazyContestant(evaluation, frame) for evaluation in evaluations]
    from heldout.engines.lazy.pairs import without_gaps

    complete = without_gaps(frame, used)
    recounted = [
        _with_unused(read(source.part(complete, evaluation.source.name), **own), evaluation)
        for evaluation, own in zip(evaluations, columns, strict=True)
    ]
    n = 0 if evaluations[0].counted is None else evaluations[0].counted.rows
    return [
        LazyContestant(note_dropped_rows(evaluation, n - int(evaluation.confusion.n_cases), n, own), complete)
        for evaluation, own in zip(recounted, lost, strict=True)
    ]


def _with_unused(evaluation: Evaluation, first: Evaluation) -> Evaluation:
    """The evaluation of the used columns alone, with the first one's notes on columns that are not used."""
    notes = [note for *_, note in first.source.unused if note not in evaluation.notes]
    return replace(evaluation, notes=(*evaluation.notes, *notes))


def _used_columns(evaluation: Evaluation, source: LazySource) -> list[str]:
    """The columns that an evaluation read; "score >= 0.5" is none."""
    every = source.frame.collect_schema().names() if source.batches is None else source.batches.names
    return [column for _, column in evaluation.source.columns if column in every]


# A note says that columns of these names are not used unless they are given.
NOTED = ("weight", "group", "fold")


@dataclass(frozen=True)
class ContestantOptions:
    """How files and frames are read; `ranked` where only measures of scores are asked for."""

    truth: Any = None
    predicted: Any = None
    score: Any = None
    threshold: float | None = None
    id: Any = None
    fold: Any = None
    group: Any = None
    weight: Any = None
    positive: Label | None = None
    labels: Sequence[Label] | None = None
    costs: Any = None
    level: float = 0.95
    missing: Missing = "refuse"
    seed: int = 0
    ranked: bool = False
    large: Mapping[str, Any] = field(default_factory=lambda: defaults_of(EngineArguments))
    opened: OpenConnections = field(default_factory=OpenConnections)
    X: Any = None
    cost_rows: str | None = None

    def given(self) -> list[str]:
        """The names of the options that were given."""
        default = ContestantOptions(
            level=self.level, seed=self.seed, ranked=self.ranked, opened=self.opened, large=self.large
        )
        given = [part.name for part in fields(self) if getattr(self, part.name) is not getattr(default, part.name)]
        return [*given, *(name for name in ("engine", "master") if self.large[name] is not None)]

    @property
    def truth_is_given(self) -> bool:
        """Whether the truth is an array of its own, and not a column of what is read."""
        return self.truth is not None and not isinstance(self.truth, str)

    def judge(self, item: Any) -> Evaluation:
        """The evaluation of a fitted model, or of an array of predictions or scores, without any measure yet."""
        if self.predicted is not None or self.score is not None:
            raise OptionError(
                "Predictions were given by their place, and predicted or score by name.",
                hint="give them once: compare(first, second, truth=y), or columns of one table by name.",
            )
        if not self.truth_is_given or (is_model(item) and self.X is None):
            what = "A model" if is_model(item) else f"Predictions alone (of type {type(item).__name__})"
            lacking = "features" if self.truth_is_given else "true classes"
            raise OptionError(
                f"{what} cannot be compared without the {lacking} of the cases.",
                hint="pass compare(model, other, X=X, y=y), or predictions: compare(first, second, truth=y).",
            )
        # A number for each case is a score where it is no class, as evaluate() takes it.
        own = {"predicted": self.X, "y": self.truth, "truth": None} if is_model(item) else {"predicted": item}
        return self._evaluate(item if is_model(item) else None, {**self.named({}), **own})

    def read(self, data: Any, **columns: Any) -> Evaluation:
        """The evaluation of a file or a frame, without any measure yet."""
        named = self.named(columns)
        try:
            return self._evaluate(data, named)
        except OptionError as error:
            if not (_has_scores_alone(self.named(columns, ranked=False)) and "threshold=" in error.hint):
                raise
            hint = f"{error.hint} Or compare the scores alone: measures='roc_auc' (--measure roc_auc)."
            raise OptionError(error.what, hint=hint) from None

    def named(self, columns: Mapping[str, Any], *, ranked: bool | None = None) -> dict[str, Any]:
        """The columns of a contestant: those that all share, and its own."""
        named = {
            "truth": self.truth,
            "predicted": self.predicted,
            "score": self.score,
            "threshold": self.threshold,
            "id": self.id,
            "fold": self.fold,
            "group": self.group,
            "weight": self.weight,
        } | dict(columns)
        if (self.ranked if ranked is None else ranked) and _has_scores_alone(named):
            # The predicted classes are not used, so any threshold will do.
            named["threshold"] = 0.0
        return named

    def _evaluate(self, data: Any, named: dict[str, Any]) -> Evaluation:
        # Folds that were not named would make this a comparison fold by fold.
        unnamed = {"fold": NO_COLUMN} if named.get("fold") is None else {}
        return evaluate(
            data,
            **{**named, **unnamed},
            positive=self.positive,
            labels=self.labels,
            costs=self.costs,
            cost_rows=self.cost_rows,
            level=self.level,
            missing=self.missing,
            seed=self.seed,
            measures=[],
            **self.large,
        )

    def lazy_source(self, data: Any) -> LazySource | None:
        """The lazy source of the data, where they are not read into memory."""
        return find_lazy_source(data, self.large["engine"], self.large["master"], self.opened)

    def for_source(self, source: LazySource) -> ContestantOptions:
        """The options for a lazy source: a frame brings its own engine."""
        own = {**self.large, "engine": None, "master": None}
        return self if source.batches is not None else replace(self, large=own)


@dataclass(frozen=True, eq=False)
class FileContestant:
    """A contestant in a file or a frame: the data, the options, and the columns of its own."""

    data: Any
    reading: ContestantOptions
    columns: Mapping[str, Any] = field(default_factory=dict)

    def evaluation(self) -> Evaluation:
        """Read it and count."""
        return self.reading.read(self.data, **self.columns)

    def complete_rows(self, frame: Any, n: int) -> NDArray[np.int64]:
        """Which of the n rows of a frame have all values that this contestant needs."""
        named = self.reading.named(self.columns)
        # The ids are row numbers, which survive the reading.
        roles = {
            **{role: named[role] for role in ("truth", "predicted", "group", "weight", "fold")},
            "id": np.arange(n),
        }
        predictions, _ = gather(
            frame,
            roles,
            labels=self.reading.labels,
            missing="drop",
            score=named["score"],
            positive=self.reading.positive,
            threshold=named["threshold"],
        )
        if predictions.id is None:
            return np.arange(n)
        return np.asarray(predictions.id.labels)[predictions.id.codes.astype(np.int64) - predictions.id.offset]

    def filtered(self, frame: Any, keep: NDArray[np.bool_]) -> FileContestant:
        """The same with these rows of the frame only."""
        shared = ("truth", "id", "fold", "group", "weight")
        roles = {role: filter_column(getattr(self.reading, role), keep) for role in shared}
        return replace(self, data=filter_frame(frame, keep), reading=replace(self.reading, **roles))


def _has_scores_alone(named: Mapping[str, Any]) -> bool:
    """Whether there is one column of scores, and neither predicted classes nor a threshold."""
    return named["threshold"] is None and named["predicted"] is None and isinstance(named["score"], str)


def gather_contestants(
    given: Sequence[Any], names: Sequence[str] | None, reading: ContestantOptions, *, same_cases: bool = True
) -> dict[str, Contestant]:
    """The contestants by name, in the order they were given; `same_cases` where all of them judged the same cases.

    >>> from heldout.api.evaluate import evaluate
    >>> one, two = evaluate([0, 1], [0, 1]), evaluate([0, 1], [1, 1])
    >>> list(gather_contestants([one, two], None, ContestantOptions()))
    ['A', 'B']
    """
    items = _flatten(given)
    _check_options([item for _, item in items], reading)
    contestants = [_make_contestant(item, reading) for _, item in items]
    lazy = any(isinstance(contestant, LazyContestant) for contestant in contestants)
    if same_cases and not lazy and reading.id is None and all(is_readable(item) for _, item in items):
        contestants = drop_missing_rows(contestants, [FileContestant(item, reading) for _, item in items])
    return _by_name([name or _letter(index) for index, (name, _) in enumerate(items)], contestants, names)


Named = TypeVar("Named")


def name_items(contestants: Sequence[Named], names: Sequence[str] | None) -> dict[str, Named]:
    """The contestants by the given names, or by letters."""
    return _by_name([_letter(index) for index in range(len(contestants))], contestants, names)


def _by_name(default: Sequence[str], contestants: Sequence[Named], names: Sequence[str] | None) -> dict[str, Named]:
    """The contestants by the given names or their default ones; a repeated name gets a number."""
    if names is None:
        names = default
    elif isinstance(names, str) or len(names) != len(contestants):
        raise OptionError(
            f"There are {len(contestants)} classifiers to compare, and names= gives {names!r}.",
            hint="give one name to each, in their order.",
        )
    by_name: dict[str, Named] = {}
    for name, contestant in zip(map(str, names), contestants, strict=True):
        unique, number = name, 2
        while unique in by_name:
            unique, number = f"{name} ({number})", number + 1
        by_name[unique] = contestant
    return by_name


def _check_options(items: Sequence[Any], reading: ContestantOptions) -> None:
    """Refuse options of reading where nothing is read."""
    if any(is_readable(item) or is_judged_here(item) for item in items):
        return
    counted = any(isinstance(item, Confusion) for item in items)
    unused = [
        name for name in reading.given() if not (counted and name in ("positive", "labels", "costs", "cost_rows"))
    ]
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


def is_judged_here(item: Any) -> bool:
    """Whether an item is a fitted model or an array, of which the true classes stand beside it."""
    return is_model(item) or (isinstance(item, list | tuple | np.ndarray) or hasattr(item, "__array__"))


def is_contestant(item: Any) -> bool:
    """Whether an item can be compared with others by itself, or with the features of the cases."""
    return isinstance(item, Evaluation | Validation | Confusion) or is_readable(item) or is_model(item)


def read_columns(
    data: Any, reading: ContestantOptions, names: Sequence[str] | None, *, same_cases: bool
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
    own_columns = [{role: each[index] for role, each in given.items()} for index in range(len(columns))]
    source = reading.lazy_source(data)
    if source is not None:
        counted = count_lazy_columns(source, reading.for_source(source).read, own_columns)
        return _by_name(list(map(str, columns)), counted, names)
    data, reading = _read_once(data, reading, [column for each in given.values() for column in each])
    contestants = [FileContestant(data, reading, own) for own in own_columns]
    evaluations = [contestant.evaluation() for contestant in contestants]
    if same_cases:
        evaluations = drop_missing_rows(evaluations, contestants)
    return _by_name(list(map(str, columns)), evaluations, names)


def _read_once(data: Any, reading: ContestantOptions, columns: Sequence[Any]) -> tuple[Any, ContestantOptions]:
    """A file as a frame, so that it is read once for all columns; errors name the file."""
    if not isinstance(data, str | Path):
        return data, reading
    name = "standard input" if str(data) == "-" else Path(data).name
    if many_files(data) is not None:
        return data, reading
    # A pipe can be read only once, so it is read whole.
    frame = None if str(data) != "-" and Path(data).is_file() else read_table(data)
    every = list(column_names(data) if frame is None else frame.columns)
    shared = (reading.truth, reading.id, reading.fold, reading.group, reading.weight)
    named = [column for column in (*columns, *shared) if column is not None]
    for column in named:
        if isinstance(column, str):
            check_column(column, every, name)
    if reading.truth is None:
        free = [column for column in every if column not in named]
        reading = replace(reading, truth=guess("truth", every, name, free=free))
    if frame is None:
        wanted = {*filter(_is_text, named), reading.truth}
        frame = read_table(data, columns=[column for column in every if column in wanted or _may_be_used(column)])
    return frame, reading


def _is_text(column: Any) -> bool:
    return isinstance(column, str)


def _may_be_used(column: str) -> bool:
    """Whether a column that was not named is used, or mentioned in a note."""
    return may_be_score(column) or is_usual("predicted", column) or column.strip().casefold().rstrip("s") in NOTED


def _several(columns: Any) -> bool:
    return isinstance(columns, list | tuple)


def _shown(columns: Any) -> str:
    return "nothing" if columns is None else listing(columns if _several(columns) else [columns])


def _flatten(given: Sequence[Any]) -> list[tuple[str, Any]]:
    """Each item with its name, empty where it has none."""
    items: list[tuple[str, Any]] = []
    for item in given:
        if isinstance(item, Mapping):
            items += [(str(name), each) for name, each in item.items()]
        elif isinstance(item, Validations):
            items += [(validation.learner, validation) for validation in item]
        elif isinstance(item, str | Path):
            items.append((Path(item).name, item))
        else:
            items.append((item.source.name if isinstance(item, Evaluation) else _name_model(item), item))
    return items


def _name_model(item: Any) -> str:
    """A fitted model by its class, a pipeline by that of its last step; empty of anything else."""
    if not is_model(item):
        return ""
    steps = getattr(item, "steps", None)
    return type(steps[-1][1] if steps else item).__name__


def _make_contestant(item: Any, reading: ContestantOptions) -> Contestant:
    if isinstance(item, Evaluation | Validation):
        return item
    if isinstance(item, Confusion):
        return evaluate(
            item,
            positive=reading.positive,
            labels=reading.labels,
            costs=reading.costs,
            cost_rows=reading.cost_rows,
            level=reading.level,
            measures=[],
        )
    if is_readable(item):
        source = reading.lazy_source(item)
        return reading.read(item) if source is None else count_lazy(source, reading.for_source(source).read)
    if is_judged_here(item):
        return reading.judge(item)
    raise OptionError(
        f"A {type(item).__name__} cannot be compared.",
        hint="give evaluations, validations, fitted models, files of predictions, or one table of results.",
    )


def _letter(index: int) -> str:
    return chr(ord("A") + index) if index < 26 else f"model {index + 1}"
