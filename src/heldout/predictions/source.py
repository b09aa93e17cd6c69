"""Where predictions come from: arrays, a data frame with named columns, or a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from heldout.arguments import Missing
from heldout.errors import ColumnError, HeldoutError, OptionError, ValuesError
from heldout.evidence import Label
from heldout.files import column_names, read_table
from heldout.files.batches import Batches, many_files
from heldout.predictions.case_values import (
    ROUNDED,
    Confidences,
    RawScores,
    groups,
    is_number,
    raw_scores,
    weighted_rows,
    weights,
)
from heldout.predictions.column_roles import (
    CASE_NAMES,
    USUAL_NAMES,
    check_apart,
    check_column,
    describe_columns,
    group_like,
    guess,
    is_usual,
    may_be_group,
    parts_of,
    repeated_values,
    uses,
)
from heldout.predictions.containers import hint_missing_role, index_notes, unwrap
from heldout.predictions.label_encoding import Coded, encode, is_missing
from heldout.predictions.positive_class import choose_positive
from heldout.predictions.score_columns import (
    class_of,
    describe_unmet,
    describe_unused,
    guessed_scores,
    is_numeric,
    may_be_score,
    no_scores,
    scores_named_as_classes,
    scores_with_unmet_classes,
)
from heldout.predictions.slice_plans import name_slices, slice_names, slices_of_arrays, slices_of_columns
from heldout.predictions.table import KEYS, Predictions, assemble

ROLES = ("truth", "predicted", "weight", *KEYS)
BLOCK = 1 << 16


@dataclass(frozen=True, slots=True)
class Source:
    """What was read: a name, the column of each role, and which of them were guessed.

    `group_like` are columns without a role whose names suggest that rows belong together: name, number of distinct
    values, and rows, where values repeat. `unused` are columns that are called like a role and were not used: the role,
    the column, and the note that says so. `beside` are other columns without a role whose values repeat, of data that
    are small enough to be looked at.
    """

    name: str = ""
    columns: tuple[tuple[str, str], ...] = ()
    guessed: tuple[str, ...] = ()
    group_like: tuple[tuple[str, int, int], ...] = ()
    unused: tuple[tuple[str, str, str], ...] = ()
    beside: tuple[tuple[str, Coded], ...] = field(default=(), repr=False, compare=False)

    def sentence(self) -> str:
        """Which columns were read, e.g. "truth = actual, predicted"."""
        return describe_columns(self.columns)

    def describe_guesses(self, more: str = "", *, without: str = "", spell: Callable[[str], str] = str) -> str:
        """Which columns were read, but for one role, and which of them were guessed; `spell` shortens their names."""
        columns = [(role, spell(column)) for role, column in self.columns if role != without]
        return describe_columns(columns, [role for role in self.guessed if role != without], more)


@dataclass(frozen=True, slots=True)
class NamedFrame:
    """A data frame under the name that a reader knows it by, such as that of the file it was read from."""

    frame: Any
    name: str


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """What was asked for besides the columns of the roles."""

    labels: Sequence[Label] | None
    missing: Missing
    score: Any
    positive: Label | None
    threshold: float | None
    slices: Any = None
    against_rest: bool = False
    guess_fold: bool = False
    own: bool = True
    whole: bool = True
    ranked: bool = False
    class_scores: tuple[Any, ...] = ()
    parted: bool = False
    unmet: tuple[Any, ...] = ()

    def options(self) -> dict[str, Any]:
        """The options that the assembly of the columns takes."""
        return {
            "labels": self.labels,
            "missing": self.missing,
            "positive": self.positive,
            "threshold": self.threshold,
            "against_rest": self.against_rest,
            **({"ranked": True} if self.ranked else {}),
        }

    def score_names(self) -> list[Any]:
        """The columns that were named as scores, or that are named as the classes are."""
        if self.score is None:
            return list(self.class_scores)
        if is_name(self.score):
            return [self.score]
        named = isinstance(self.score, list | tuple) and self.score and all(isinstance(x, str) for x in self.score)
        return list(self.score) if named else []


class Columns:
    """Named columns to choose from: those of a data frame or of a dictionary, or names alone (`every`).

    `notes` are sentences about files that were left out, and `where` says where a row stands.
    """

    def __init__(
        self,
        data: Any,
        name: str,
        *,
        from_file: bool = False,
        every: Sequence[Any] = (),
        notes: Sequence[str] = (),
        where: Callable[[int], str] = lambda row: f"row {row + 1:,}",
    ) -> None:
        self.data = data
        self.name = name
        self.from_file = from_file
        self.notes = tuple(notes)
        self._where = where
        self.names: list[Any] = list(every or (data if isinstance(data, Mapping) else data.columns))

    def values(self, column: Any) -> Any:
        """The values of a column."""
        return self.data[column] if isinstance(self.data, Mapping) else self.data.get_column(column).to_native()

    def lacks_values(self, column: Any) -> bool:
        """Whether values of a column are missing, as far as rows are at hand."""
        if isinstance(self.data, Mapping) and not self.data:
            return False
        try:
            return bool(groups(self.values(column), str(column)).missing)
        except HeldoutError:
            # A column that cannot be read as keys gives no row its fold.
            return True

    def text_in(self, column: Any) -> tuple[str, Any] | None:
        """Where a column first holds something that is no number, and what that is."""
        try:
            series = unwrap(self.values(column), str(column))
        except HeldoutError:
            # It has more than one value per case; nothing was said of what it holds.
            return None
        pointed: tuple[str, Any] | None = None
        # A few at a time: objects of Python for ten million values would take a gigabyte.
        for start in range(0, len(series), BLOCK):
            some = series[start : start + BLOCK]
            for row, value in enumerate(some.tolist() if isinstance(some, np.ndarray) else some.to_list(), start):
                if not (is_missing(value) or is_number(value)):
                    return self._where(row), value
                # Among texts that are all numbers, the points of thousands are what may not be told from others.
                pointed = pointed or ((self._where(row), value) if isinstance(value, str) and "." in value else None)
        return pointed


def gather(
    data: Any,
    roles: dict[str, Any],
    *,
    labels: Sequence[Label] | None = None,
    missing: Missing = "refuse",
    score: Any = None,
    positive: Label | None = None,
    threshold: float | None = None,
    slices: Any = None,
    against_rest: bool = False,
    guess_fold: bool = False,
    own: bool = True,
    whole: bool = True,
    ranked: bool = False,
) -> tuple[Predictions, Source]:
    """Predictions from whatever was given, and where they came from.

    `against_rest` makes two classes of several; `guess_fold` uses a column that is called like folds. Unless `own` is
    false, nothing that is kept is memory of the caller; `whole` says that these are all cases and no batch of them.
    `ranked` scores need no threshold: where they have none of their own, the median serves.

    >>> predictions, source = gather({"y": [0, 1], "p": [0, 1]}, {"truth": "y", "predicted": "p"})
    >>> predictions.n, source.sentence()
    (2, 'truth = y, predicted = p')
    """
    slices = name_slices(slices)
    asked = ReadOptions(
        labels, missing, score, positive, threshold, slices, against_rest, guess_fold, own, whole, ranked
    )
    name = "the data frame"
    if isinstance(data, NamedFrame):
        data, name = data.frame, data.name
    if isinstance(data, str | Path):
        asked = _with_parts(data, asked)
        asked = _with_class_scores(_small_file(data), roles, asked)
        columns: Columns | None = _read_file(data, roles, asked)
    else:
        columns = _read_frame(data, roles, name)
        asked = _with_class_scores(columns, roles, asked)
    if columns is not None:
        return _chosen(columns, roles, asked)
    if data is not None:
        if roles.get("truth") is not None:
            raise OptionError(
                "The truth was given twice: as the first argument and as truth=.", hint="leave out one of them."
            )
        roles = {**roles, "truth": data}
    for role in ("truth", "predicted"):
        if roles.get(role) is None and not (role == "predicted" and score is not None):
            raise OptionError(f"There is no {role} column.", hint=hint_missing_role(role, data))
    for role in ROLES:
        if isinstance(roles.get(role), str):
            raise ColumnError(
                f"{role}={roles[role]!r} names a column, but no data frame or file was given.",
                hint="pass the frame first: evaluate(frame, truth='y', predicted='p').",
            )
    given: dict[str, Any] = {role: roles.get(role) for role in ROLES}
    raw = None if score is None else raw_scores(score)
    notes = index_notes({**given, "score": score, **(slices if isinstance(slices, Mapping) else {"slices": slices})})
    if given["weight"] is not None:
        given["weight"] = weights(given["weight"])
    divided, slice_notes = slices_of_arrays(slices, weighted_rows(given["weight"]))
    notes = [*notes, *slice_notes]
    return assemble(**given, score=raw, notes=notes, slices=divided, own=own, whole=whole, **asked.options()), Source()


def _read_frame(data: Any, roles: dict[str, Any], name: str) -> Columns | None:
    """The columns of a data frame or a dictionary; None where the data is one column itself."""
    if isinstance(data, Mapping):
        return Columns(data, "the dictionary")
    if data is None or isinstance(data, np.ndarray | list | tuple):
        # A column by itself, for which narwhals need not be loaded.
        return None
    import narwhals.stable.v2 as nw

    try:
        frame = nw.from_native(data, pass_through=True)
        if isinstance(frame, nw.LazyFrame):
            raise ColumnError(
                f"The data frame is lazy ({type(data).__name__}): its rows have not been read.",
                hint="read them first: evaluate(frame.collect(), …).",
            )
        if not isinstance(frame, nw.DataFrame):
            return None
        columns = Columns(frame, name)
    except nw.exceptions.DuplicateError:
        raise ColumnError("Two columns of the data frame have the same name.", hint="rename one of them.") from None
    alone = len(columns.names) == 1 and roles.get("truth") is None
    # A frame of one column, given where a column was meant.
    return None if alone and roles.get("predicted") is not None and not is_name(roles["predicted"]) else columns


def _read_file(path: str | Path, roles: dict[str, Any], asked: ReadOptions) -> Columns:
    import narwhals.stable.v2 as nw

    if str(path) == "-":
        return Columns(nw.from_native(read_table(path)), "standard input", from_file=True)
    if _is_pipe(Path(path)):
        # What comes through a pipe can be read only once.
        return Columns(nw.from_native(read_table(path)), str(path), from_file=True)
    if (many := many_files(path)) is not None:
        return _read_many_files(many, roles, asked)
    name, every = Path(path).name, column_names(path)
    named_roles = NamedRoles.of(Columns({}, name, from_file=True, every=every), roles, asked)
    wanted, sliced = named_roles.wanted, named_roles.slices
    beside = [*sliced, *(column for column in every if may_be_group(column))]
    named = list(dict.fromkeys([*named_roles.taken, *named_roles.free, *beside]))
    # Classes and named slices are few; what names cases or groups is not.
    few = [wanted.get("truth"), wanted.get("predicted"), *(() if asked.slices == "all" else sliced)]
    labels = [column for column in few if column is not None]
    table = _read_beside(Path(path), named, [column for column in every if column not in named], labels)
    if table is None:
        table = read_table(path, columns=named, labels=labels)
    return Columns(nw.from_native(table), name, from_file=True, every=every)


def _read_beside(path: Path, named: list[Any], others: list[Any], labels: list[Any]) -> Any:
    """The columns of a small file with some that have no role; None where there are none or they cannot be read."""
    try:
        if not others or path.stat().st_size > LOOKED_BYTES:
            return None
        return read_table(path, columns=[*named, *others[:LOOKED_COLUMNS]], labels=labels)
    except (HeldoutError, OSError):
        # An address has no size here, and of a column that nobody asked for no error is worth a word.
        return None


def _small_file(path: str | Path) -> Columns | None:
    """All columns of a file that is small; None where it is not, and where it cannot be read, which is said later."""
    import narwhals.stable.v2 as nw

    try:
        if str(path) == "-" or not Path(path).is_file() or Path(path).stat().st_size > LOOKED_BYTES:
            return None
        names = column_names(path)
        others = [name for name in names if not any(is_usual(role, name) for role in USUAL_NAMES)]
        if len(others) < 2 or any(map(may_be_score, names)):
            return None
        return Columns(nw.from_native(read_table(path)), Path(path).name, from_file=True)
    except (HeldoutError, OSError, ValueError):
        return None


def _with_parts(path: str | Path, asked: ReadOptions) -> ReadOptions:
    """The same, with the columns of a score that the file holds as an array, one for each class in their order."""
    if not isinstance(asked.score, str) or str(path) == "-" or not Path(path).is_file():
        return asked
    names = column_names(path)
    parts = parts_of(asked.score, names)
    return replace(asked, score=parts, parted=True) if parts else asked


def _with_class_scores(columns: Columns | None, roles: dict[str, Any], asked: ReadOptions) -> ReadOptions:
    """The same, with the columns that are named exactly as the classes as scores, where no others are named."""
    if columns is None or asked.score is not None or not asked.whole or any(map(may_be_score, columns.names)):
        return asked
    named = [roles[role] for role in ROLES if is_name(roles.get(role))]
    free = [column for column in columns.names if column not in named]
    truths = [roles["truth"]] if is_name(roles.get("truth")) else [x for x in free if is_usual("truth", x)]
    if len(truths) != 1 or truths[0] not in columns.names or len(free) < 2:
        return asked

    def numbers(column: Any) -> Any:
        return weights(columns.values(column)) if is_numeric(columns.values(column)) else None

    try:
        texts = {str(column) for column in free}
        head = unwrap(columns.values(truths[0]), "truth")[:LOOKED_COLUMNS]
        # Most tables have no such columns, which the first cases show.
        if not {str(x) for x in (head.tolist() if isinstance(head, np.ndarray) else head.to_list())} <= texts:
            return asked
        labels = asked.labels or encode(columns.values(truths[0]), "truth").classes()
        others = [x for x in free if x != truths[0]]
        by_class = scores_named_as_classes(others, labels, numbers)
        unmet = [] if by_class or asked.labels else scores_with_unmet_classes(others, labels, numbers)
    except (HeldoutError, TypeError, ValueError):
        return asked
    return replace(asked, class_scores=tuple(by_class), unmet=tuple(unmet))


def _read_many_files(batches: Batches, roles: dict[str, Any], asked: ReadOptions) -> Columns:
    """The columns that are used of many files, held together; the files need not agree in the others."""
    import narwhals.stable.v2 as nw
    import polars as pl

    name, every = batches.name, list(batches.names)
    named_roles = NamedRoles.of(Columns({}, name, from_file=True, every=every), roles, asked)
    wanted, named = named_roles.wanted, [*named_roles.taken, *named_roles.free, *named_roles.slices]
    # Columns that look like groups are looked at by themselves, so those in which the files differ are passed over.
    apart = [column for column in every if may_be_group(column) and column not in named and _differs(batches, column)]
    named += [column for column in every if may_be_group(column) and column not in apart]
    batches.labels = {role: wanted[role] for role in ("truth", "predicted") if role in wanted}
    table = pl.concat(batches.frames(list(dict.fromkeys(named))))
    kept = [column for column in every if column not in apart]
    return Columns(nw.from_native(table), name, from_file=True, every=kept, notes=batches.notes, where=batches.where)


def _differs(batches: Batches, column: str) -> bool:
    try:
        batches.kinds([column])
    except HeldoutError:
        return True
    return False


def _is_pipe(path: Path) -> bool:
    try:
        return path.exists() and not path.is_file() and not path.is_dir()
    except (OSError, ValueError):
        # No file can have such a name; the reader says so.
        return False


def is_name(asked: Any) -> bool:
    """Whether what was given for a role is the name of a column."""
    return isinstance(asked, str | int) and not isinstance(asked, bool)


def columns_of_roles(columns: Columns, roles: dict[str, Any], asked: ReadOptions) -> tuple[dict[str, Any], list[str]]:
    """The column of each role that is named or can be guessed, and which were guessed."""
    wanted: dict[str, Any] = {}
    guessed: list[str] = []
    # What was named for one role is not guessed for another.
    named_ones = [roles[role] for role in ROLES if is_name(roles.get(role))] + asked.score_names()
    free = [column for column in columns.names if column not in named_ones]
    for role in ROLES:
        given = roles.get(role)
        if is_name(given):
            wanted[role] = check_column(given, columns.names, columns.name)
        elif given is None and role in ("truth", "predicted"):
            if role == "predicted" and not _needs_predicted(free, asked):
                continue
            # If only a column that was named for another role fits, that is the fault, and the error below says so.
            among = free if any(is_usual(role, column) for column in free) else columns.names
            wanted[role] = guess(role, columns.names, columns.name, from_file=columns.from_file, free=among)
            guessed.append(role)
    if asked.guess_fold and roles.get("fold") is None:
        folds = _guess_fold(columns, wanted, asked)
        wanted |= folds
        guessed += folds
    named = [column for column in columns.names if str(column).strip().casefold() in CASE_NAMES]
    by_fold = roles.get("fold") is not None or "fold" in wanted
    if by_fold and roles.get("id") is None and len(named) == 1:
        # Predictions of repeated folds name a case more than once: each is one case, however often predicted.
        wanted["id"] = named[0]
        guessed.append("id")
    check_apart(wanted, columns.name)
    return wanted, guessed


@dataclass(frozen=True, eq=False)
class NamedRoles:
    """Which columns have which role, by their names alone.

    `wanted` are the columns of the roles, `guessed` the roles of which nobody named the column. `scores` were named, or
    `free` may be scores by their names; `slices` divide the cases.
    """

    columns: Columns
    wanted: Mapping[str, Any]
    guessed: tuple[str, ...] = ()
    scores: tuple[Any, ...] = ()
    free: tuple[Any, ...] = ()
    slices: tuple[Any, ...] = ()

    @classmethod
    def of(cls, columns: Columns, roles: Mapping[str, Any], asked: ReadOptions, **more: Any) -> Self:
        """The columns of the roles, named or guessed from the names of the columns; no row is read.

        >>> asked = ReadOptions(None, "refuse", None, None, None)
        >>> NamedRoles.of(Columns({}, "a.csv", every=["y", "p", "p_yes"]), {"predicted": "p"}, asked).free
        ('p_yes',)
        """
        wanted, guessed = columns_of_roles(columns, dict(roles), asked)
        names, name = columns.names, columns.name
        scores = tuple(check_column(column, names, name) for column in asked.score_names())
        free = () if scores else tuple(x for x in names if may_be_score(x) and x not in wanted.values())
        return cls(columns, wanted, tuple(guessed), scores, free, tuple(slice_names(asked.slices, names, name)), **more)

    @property
    def called(self) -> dict[str, str]:
        """The role and the column of each, as errors name them."""
        return {role: f"{role} (column {column!r})" for role, column in self.wanted.items()}

    @property
    def makes_predicted(self) -> bool:
        """Whether the predicted class comes from the scores."""
        return "predicted" not in self.wanted

    @property
    def taken(self) -> list[Any]:
        """The columns that have a role, or are scores."""
        return list(dict.fromkeys([*self.wanted.values(), *self.scores]))

    @property
    def idle(self) -> list[tuple[str, str, str]]:
        """Columns that are called like a role and are not used for it: the role, the column, and a note."""
        return idle_columns(self.columns, list(self.wanted), list(map(str, self.slices)))

    def source(self, predictions: Predictions, group_like: tuple[tuple[str, int, int], ...] = ()) -> Source:
        """What was read, once the predictions are known."""
        scores = list(map(str, self.scores))
        named = named_roles(dict(self.wanted), scores, predictions, made=self.makes_predicted)
        return Source(self.columns.name, tuple(named), self.guessed, group_like, tuple(self.idle))


def roles_of_values(roles: Mapping[str, Any], asked: ReadOptions) -> list[str]:
    """The roles for which values were given, and not the name of a column."""
    given = [role for role in ROLES if roles.get(role) is not None and not is_name(roles[role])]
    given += ["score"] * (asked.score is not None and not asked.score_names())
    return given + ["slices"] * isinstance(asked.slices, Mapping)


def _guess_fold(columns: Columns, wanted: dict[str, Any], asked: ReadOptions) -> dict[str, Any]:
    """The one column that is called like folds, where it has no other use; with rows at hand, one that is complete."""
    sliced = [] if asked.slices == "all" else slice_names(asked.slices, columns.names, columns.name)
    taken = [*wanted.values(), *sliced, *asked.score_names()]
    folds = [column for column in columns.names if is_usual("fold", column) and column not in taken]
    return {"fold": folds[0]} if len(folds) == 1 and not columns.lacks_values(folds[0]) else {}


def idle_columns(columns: Columns, roles: Sequence[str], sliced: Sequence[str]) -> list[tuple[str, str, str]]:
    """Columns that are called like a role and are not used for it: the role, the column, and a note that says so."""
    return [
        (role, str(column), _not_used(columns, role, column, sliced=str(column) in sliced))
        for role in ("weight", "fold")
        for column in columns.names
        if role not in roles and is_usual(role, column)
    ]


def _needs_predicted(free: Sequence[Any], asked: ReadOptions) -> bool:
    """Whether the predicted class must come from a column without another role: not where scores can give it."""
    if asked.threshold is not None:
        return False
    given = bool(asked.score is not None or asked.class_scores or asked.unmet)
    has_scores = given or any(may_be_score(column) for column in free)
    return not has_scores or any(is_usual("predicted", column) for column in free)


def _chosen(columns: Columns, roles: dict[str, Any], asked: ReadOptions) -> tuple[Predictions, Source]:
    wanted, guessed = columns_of_roles(columns, roles, asked)
    values: dict[str, Any] = {
        role: columns.values(wanted[role]) if role in wanted else roles.get(role) for role in ROLES
    }
    scores = _scores(columns, values, wanted, asked)
    raw = scores.raw
    if values["predicted"] is None and raw is None:
        raise no_scores(columns, wanted, scores.note)
    if values["predicted"] is None and raw is not None and raw.values.ndim == 1:
        _refuse_confidences(columns, values["truth"], raw, [*wanted.values(), *scores.names], asked)
        if scores.guessed and "truth" in guessed and asked.threshold is None:
            _refuse_sure_answers(wanted["truth"], values["truth"], raw)
    used = [*wanted.values(), *scores.names]
    called = {role: f"{role} (column {column!r})" for role, column in wanted.items()}
    indexes = index_notes(
        {
            **(columns.data if isinstance(columns.data, Mapping) else {"the data frame": columns.data.to_native()}),
            **{role: values[role] for role in ROLES if role not in wanted},
            "score": None if asked.score_names() else asked.score,
            **(asked.slices if isinstance(asked.slices, Mapping) else {"slices": asked.slices}),
        }
    )
    if values["weight"] is not None:
        values["weight"] = weights(values["weight"], called.get("weight", "weight"))
    keep = weighted_rows(values["weight"])
    divided, slice_notes = slices_of_columns(asked.slices, columns.names, columns.name, used, columns.values, keep)
    sliced = [x.name for x in divided]
    idle = idle_columns(columns, [role for role in ROLES if values[role] is not None], sliced)
    notes = [*columns.notes, *(note for *_, note in idle), *([scores.note] if scores.note else []), *indexes]
    predictions = assemble(
        **values,
        score=raw,
        notes=[*notes, *slice_notes],
        called=called,
        slices=divided,
        # The columns of a file are nobody else's.
        own=asked.own and not columns.from_file,
        whole=asked.whole,
        **asked.options(),
    )
    named = named_roles(wanted, scores.names, predictions, made=values["predicted"] is None)
    guessed += ["score"] * scores.guessed
    unused = [column for column in columns.names if column not in wanted.values() and str(column) not in scores.names]
    alike = () if values["group"] is not None else group_like(unused, columns.values)
    beside = () if values["group"] is not None else _look_beside(columns, [x for x in unused if str(x) not in sliced])
    return predictions, Source(columns.name, tuple(named), tuple(guessed), alike, tuple(idle), beside)


def _refuse_sure_answers(truth: Any, values: Any, raw: RawScores) -> None:
    """Refuse guessed columns where no score is below one half: answers and how sure they are, without the truth."""
    sure = len(raw) > 1 and float(raw.values.min()) >= 0.5 - ROUNDED and float(raw.values.max()) <= 1 + ROUNDED
    if sure and len(encode(values, "truth").met()) > 1:
        raise ColumnError(
            f"No score in {raw.names[0]!r} is below one half, whichever class {truth!r} holds: those may be answers "
            "and how sure they are, and the true class is missing.",
            hint=f"name the columns if they are what they seem: --truth {truth} --score {raw.names[0]}.",
        )


def _refuse_confidences(columns: Columns, truth: Any, raw: RawScores, used: list[Any], asked: ReadOptions) -> None:
    """Refuse to cut scores at a threshold that are the confidence in the predictions of a column that is not used."""
    known = columns.data if isinstance(columns.data, Mapping) else columns.data.columns
    answers = [name for name in columns.names if is_usual("predicted", name) and name in known and name not in used]
    if len(answers) != 1 or not raw.names:
        return
    try:
        labels = encode(truth, "truth").classes()
        positive = choose_positive(asked.positive, labels)
        coded = encode(columns.values(answers[0]), "predicted")
    except HeldoutError:
        # No answers, or a fault in the truth of which others speak.
        return
    if positive is None or len(labels) != 2 or class_of(raw.names[0], labels) is not None or coded.missing:
        return
    is_positive = np.array([str(label) == str(positive) for label in coded.labels], dtype=bool)
    if Confidences.of(raw.values, is_positive[coded.codes.astype(np.int64) - coded.offset]) is not None:
        raise ValuesError(
            f"The scores in {raw.names[0]!r} are the confidence in the prediction of {answers[0]!r}, whichever it is.",
            hint=f"give the score of {positive!r} instead, 1 − score where the other class was predicted; or evaluate "
            f"with --predicted {answers[0]} and no threshold, which turns them.",
        )


# Columns that were not used are looked at only in data so small that it costs next to nothing.
LOOKED_BYTES, LOOKED_ROWS, LOOKED_COLUMNS = 1 << 24, 100_000, 50


def _look_beside(columns: Columns, unused: Sequence[Any]) -> tuple[tuple[str, Coded], ...]:
    """The values of columns without a role, nor a name that suggests one, where they repeat."""
    known = columns.data if isinstance(columns.data, Mapping) else columns.data.columns
    named = [x for x in unused if x in known and not may_be_group(x) and not any(is_usual(r, x) for r in USUAL_NAMES)]
    return repeated_values(named[:LOOKED_COLUMNS], columns.values, LOOKED_ROWS)


def named_roles(
    wanted: dict[str, Any], scores: Sequence[str], predictions: Predictions, *, made: bool
) -> list[tuple[str, str]]:
    """The column of each role; `made` says that the predicted class comes from the scores."""
    named = [(role, str(column)) for role, column in wanted.items()]
    if made and predictions.scores is not None:
        cut = predictions.threshold
        named.append(("predicted", "the highest score" if cut is None else f"score >= {cut:g}"))
    return [*named, ("score", _score_name(scores, predictions))] if scores else named


def _not_used(columns: Columns, role: str, column: Any, *, sliced: bool) -> str:
    """That a column that is called like a role was not used for it."""
    what = f"not used as {role}" if sliced else "not used"
    how = uses(role, column)[0 if columns.from_file else 1]
    return f"the column {column!r} of {columns.name} was {what}; {how}{' so' * sliced}"


def _score_name(names: Sequence[str], predictions: Predictions) -> str:
    """The columns of scores; of several, where one serves for all classes, only that one, or it less the other."""
    scores, positive = predictions.scores, predictions.positive
    if scores is not None and not scores.per_class and len(names) > 1:
        own = next((name for name in names if class_of(name, predictions.labels) == positive), names[-1])
        differs = scores.unfit is not None and scores.unfit.decision
        return " − ".join([own, *(name for name in names if name != own)]) if differs else own
    return ", ".join(names)


@dataclass(frozen=True, slots=True)
class FoundScores:
    """The columns of scores that were named or guessed, or a note why a likely one was not used."""

    raw: RawScores | None = None
    names: tuple[str, ...] = ()
    guessed: bool = False
    note: str = ""


def _scores(columns: Columns, values: dict[str, Any], wanted: dict[str, Any], asked: ReadOptions) -> FoundScores:
    """The scores that were asked for, or those that usual names point to."""
    if asked.score is not None and not asked.score_names():
        return FoundScores(raw_scores(asked.score))
    names = [check_column(column, columns.names, columns.name) for column in asked.score_names()]
    if names:
        raw = raw_scores({str(column): columns.values(column) for column in names})
        raw = RawScores(raw.values) if asked.parted else raw
        return FoundScores(raw, tuple(map(str, names)), guessed=asked.score is None)
    free = [column for column in columns.names if may_be_score(column) and column not in wanted.values()]
    if asked.unmet and not free:
        return FoundScores(note=describe_unmet(asked.unmet))
    return _guessed(columns, values, free, asked) if free else FoundScores()


def _guessed(columns: Columns, values: dict[str, Any], free: list[Any], asked: ReadOptions) -> FoundScores:
    """The columns that are scores by their names, if they can be used."""
    labels = asked.labels or encode(values["truth"], "truth").classes()
    # A guess must not stop an evaluation that does not need it; where it is needed, what is wrong with it is the error.
    needed = values["predicted"] is None
    names, note = guessed_scores(
        free, labels, asked, lambda column: needed or is_numeric(columns.values(column)), columns.text_in
    )
    if note:
        return FoundScores(note=note)
    raw = raw_scores({str(column): columns.values(column) for column in names})
    bad = ~np.isfinite(raw.values).reshape(len(raw), -1).all(axis=1)
    if bad.any() and asked.missing != "drop" and not needed:
        return FoundScores(note=describe_unused(names, int(bad.sum()), f"row {int(bad.argmax()) + 1:,}"))
    return FoundScores(raw, tuple(map(str, names)), guessed=True)
