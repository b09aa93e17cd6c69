"""From a file, a data frame or arrays to a problem: features, classes and groups, all of them checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.arguments import Missing, counted, listing
from heldout.arrays import Codes
from heldout.errors import ColumnError, OptionError, ValuesError
from heldout.evidence import Label
from heldout.learners.features import (
    FeatureTable,
    as_table,
    keep_features,
    note_outcome_columns,
    note_telling_columns,
    read_features,
)
from heldout.learners.learner import Learner
from heldout.learners.problem import Problem, encode_target, settle_target
from heldout.predictions.case_values import groups
from heldout.predictions.column_roles import begin_sentence, check_column
from heldout.predictions.label_encoding import Coded
from heldout.predictions.table import CHECK_COLUMNS, check_missing_word

# How the target was guessed: the last column of an ARFF file is the class by custom, as it is in Weka.
FROM_PLACE, FROM_NAME = "guessed from its place", "guessed from its name"
USUAL_TARGETS = ("class", "target", "label", "y", "outcome")


@dataclass(frozen=True, slots=True)
class Roles:
    """Which columns are what, after guessing: the target and group where they are columns, and the features."""

    target: Any
    group: Any
    features: tuple[Any, ...]
    by_name: bool
    notes: tuple[str, ...] = ()
    target_name: str = ""


def read_problem(
    X: Any,
    y: Any = None,
    *,
    target: Any = None,
    group: Any = None,
    features: Sequence[Any] | None = None,
    drop: Any = (),
    labels: Sequence[Label] | None = None,
    missing: Missing = "refuse",
    as_given: bool = False,
) -> Problem:
    """Read and check the data to learn from.

    `X` is a file or a data frame with a `target` column, or the features alone with the classes in `y`. `group` is a
    column, or one value per row. `missing` is about rows without a class or a group; gaps among the features stay.
    `as_given` keeps `X` itself, less the columns that are no features, for learners that do with it what they want.

    >>> problem = read_problem({"size": [1.0, 2.5, 4.0], "kind": ["a", "b", "b"]}, target="kind")
    >>> problem.names, problem.labels, problem.truth.tolist()
    (('size',), ('a', 'b'), [0, 1, 1])
    """
    check_missing_word(missing, "a class")
    y, target = _resolve_target(y, target)
    table = X if isinstance(X, FeatureTable) else as_table(X)
    roles = _resolve_roles(table, y, target, group, features, drop)
    called = f"The target {roles.target_name!r}" if roles.target_name else "The target"
    classes = encode_target(table.values(roles.target) if y is None else y, called)
    keys = _read_group(table, roles, group)
    _check_lengths(table, classes, keys)
    indexes = table.note_indexes({"y": y, "group": None if roles.group is not None else group})
    if y is not None:
        _check_target_apart(table, y, roles)
    complete, dropped = _find_complete_rows(classes, keys, missing, called)
    if complete is not None:
        table, classes, keys = (
            table.taken(complete),
            classes.taken(complete),
            None if keys is None else keys.taken(complete),
        )
    settled = settle_target(classes, called, labels)
    read = (keep_features if as_given else read_features)(table, roles.features, by_name=roles.by_name)
    dense = not table.sparse and (table.numeric or not as_given)
    told = () if roles.by_name else note_outcome_columns(read.names, settled.labels)
    told += note_telling_columns(read.matrix, read.names, settled.truth) if dense else ()
    places, names = (None, ()) if keys is None else _number_groups(keys)
    return Problem(
        read.matrix,
        settled.values,
        settled.truth,
        settled.labels,
        places,
        names,
        read.names,
        table.source,
        (*roles.notes, *indexes, *dropped, *read.notes, *told, *settled.notes),
        read.nominal,
        roles.target_name,
        complete,
        as_given,
        read.times_left_out,
    )


def _resolve_target(y: Any, target: Any) -> tuple[Any, Any]:
    """A text for y names a column."""
    if y is not None and target is not None:
        raise OptionError(
            "The classes were given twice: as the second argument and as target=.", hint="leave out one of them."
        )
    if target is not None and not isinstance(target, str | int | tuple):
        raise OptionError(
            f"target is the name of a column. Got a {type(target).__name__}.",
            hint="pass the classes themselves as the second argument.",
        )
    return (None, y) if isinstance(y, str) else (y, target)


def _resolve_roles(table: FeatureTable, y: Any, target: Any, group: Any, features: Any, drop: Any) -> Roles:
    notes: list[str] = []
    if y is None:
        if table.frame is None:
            raise OptionError(
                f"{begin_sentence(table.source)} holds features but no classes.",
                hint="pass the classes as the second argument, one per row.",
            )
        if target is None:
            target = _guess_target(table)
            notes.append(f"the target is {target!r}, {FROM_PLACE if table.class_last else FROM_NAME}")
        else:
            check_column(target, table.columns, table.source)
    group_column = check_column(group, table.columns, table.source) if isinstance(group, str) else None
    if group_column is not None and group_column == target:
        raise ColumnError(
            f"The target and the group are the same column: {target!r}.", hint="choose another column for one of them."
        )
    dropped = [check_column(name, table.columns, table.source) for name in _list_columns(drop, table)]
    if target in dropped:
        raise ColumnError(f"The target {target!r} is among the columns to drop.", hint="drop other columns.")
    if table.row_weight is not None and table.row_weight not in (target, group_column, *dropped):
        notes.append("the weights of the rows were not used: every row counts once, in training and in testing")
        dropped.append(table.row_weight)
    requested = (
        None
        if features is None
        else [check_column(x, table.columns, table.source) for x in _list_columns(features, table)]
    )
    if requested is not None and target is not None and target in requested:
        raise _target_among_features(target, "leave it out of the features.")
    taken = (target, group_column, *dropped)
    chosen = [name for name in (table.columns if requested is None else dict.fromkeys(requested)) if name not in taken]
    if not chosen:
        raise ColumnError(
            f"{begin_sentence(table.source)} has no features left to learn from. It has: "
            f"{listing(table.columns) or 'no columns'}.",
            hint="name fewer columns to drop, or more features.",
        )
    called = target if y is None else getattr(y, "name", None)
    return Roles(
        target, group_column, tuple(chosen), requested is not None, tuple(notes), "" if called is None else str(called)
    )


def _list_columns(names: Any, table: FeatureTable) -> list[Any]:
    """Names of columns; those of a matrix may be given as their numbers."""
    listed = [names] if isinstance(names, str | int) else list(names)
    return [f"x{name}" if table.frame is None and not isinstance(name, str) else name for name in listed]


def _guess_target(table: FeatureTable) -> Any:
    if table.class_last:
        return [name for name in table.columns if name != table.row_weight][-1]
    candidates = [name for name in table.columns if str(name).strip().casefold() in USUAL_TARGETS]
    if len(candidates) == 1:
        return candidates[0]
    how = "--target COLUMN" if table.from_file else "target="
    if candidates:
        raise ColumnError(
            f"{begin_sentence(table.source)} has several columns that may be the target: {listing(candidates)}.",
            hint=f"choose one with {how}.",
        )
    raise ColumnError(
        f"{begin_sentence(table.source)} has no column named {', '.join(USUAL_TARGETS[:-1])} or {USUAL_TARGETS[-1]}. "
        f"It has: {listing(table.columns)}.",
        hint=f"say which column holds the classes with {how}.",
    )


def _read_group(table: FeatureTable, roles: Roles, group: Any) -> Coded | None:
    if group is None:
        return None
    return groups(group if roles.group is None else table.values(roles.group), "group")


def _check_lengths(table: FeatureTable, classes: Coded, keys: Coded | None) -> None:
    for name, size in (("y", len(classes)), ("group", table.n if keys is None else len(keys))):
        if size != table.n:
            raise ValuesError(
                f"The features have {counted(table.n, 'row')}, but {name} has {counted(size, 'value')}.",
                hint="pass one value per row, in the same order.",
            )


def _check_target_apart(table: FeatureTable, y: Any, roles: Roles) -> None:
    """Refuse features that hold the classes themselves, under the same name."""
    name = getattr(y, "name", None)
    if name is None or name not in roles.features or table.frame is None:
        return
    if list(table.frame.get_column(name).to_list()) == list(y):
        raise _target_among_features(name, f"leave it out of the features: drop={name!r}.")


def _target_among_features(name: Any, hint: str) -> ColumnError:
    return ColumnError(
        f"The target {name!r} is also among the features, so every class would be known beforehand.", hint=hint
    )


def _find_complete_rows(
    classes: Coded, keys: Coded | None, missing: Missing, called: str
) -> tuple[Codes | None, tuple[str, ...]]:
    """The rows that have a class and a group, None where all have."""
    gaps = {called: classes.is_missing} if classes.missing else {}
    if keys is not None and keys.missing:
        gaps["The group"] = keys.is_missing
    if not gaps:
        return None, ()
    message = " and ".join(
        f"{name if first else name[0].lower() + name[1:]} is missing in {int(where.sum()):,} of {len(where):,} rows"
        for first, (name, where) in zip((True, False), gaps.items(), strict=False)
    )
    lost: NDArray[np.bool_] = np.logical_or.reduce(list(gaps.values()))
    if missing == "refuse":
        row = int(np.flatnonzero(lost)[0]) + 1
        raise ValuesError(
            f"{message}; the first is row {row:,}.",
            hint="missing='drop' (--missing drop) leaves these rows out and says so; better is to find out why.",
        )
    if lost.all():
        raise ValuesError(f"{message}, so no row is left.", hint=CHECK_COLUMNS)
    return np.flatnonzero(~lost), (
        f"{int(lost.sum()):,} of {len(lost):,} rows were dropped: {message[0].lower()}{message[1:]}",
    )


def _number_groups(keys: Coded) -> tuple[Codes, tuple[Any, ...]]:
    """The group of each row as a place among the groups that are met."""
    present, places = np.unique(keys.codes.astype(np.int64) - keys.offset, return_inverse=True)
    return places.astype(np.int64), tuple(keys.labels[code] for code in present.tolist())


@dataclass(frozen=True)
class LearningData:
    """The data as they were given, and in the two forms that learners take them."""

    X: Any
    y: Any
    target: Any
    group: Any
    features: Sequence[Any] | None
    drop: Any
    labels: Sequence[Label] | None
    missing: Missing

    def __post_init__(self) -> None:
        if self.X is None:
            raise OptionError("There is no data to learn from.", hint="pass the features and the classes, or a file.")
        object.__setattr__(self, "drop", (self.drop,) if isinstance(self.drop, str) else tuple(self.drop))

    @cached_property
    def table(self) -> FeatureTable:
        """The data as columns; a file, or standard input, is read once."""
        return as_table(self.X)

    def _read(self, *, as_given: bool) -> Problem:
        return read_problem(
            self.table,
            self.y,
            target=self.target,
            group=self.group,
            features=self.features,
            drop=self.drop,
            labels=self.labels,
            missing=self.missing,
            as_given=as_given,
        )

    @cached_property
    def _coded(self) -> Problem:
        """Numbers and codes of categories, for learners that are prepared inside the folds."""
        return self._read(as_given=False)

    @cached_property
    def _given(self) -> Problem:
        """The data frame or the array itself, for learners that do with it what they want."""
        return self._read(as_given=True)

    def form_for(self, learner: Learner) -> Problem:
        """The form that a learner takes: an object gets what it was given with, and the other form is never read."""
        read_here = self.table.from_file or isinstance(self.X, Mapping)
        return self._coded if learner.shortcut or read_here else self._given

    def fold(self, fold: Any, problem: Problem) -> Any:
        """The fold of every row that is left, from a column or one value for each row that was given."""
        if isinstance(fold, str):
            check_column(fold, self.table.columns, self.table.source)
            return (self.table if problem.kept is None else self.table.taken(problem.kept)).values(fold)
        self.table.note_indexes({"fold": fold})
        if problem.kept is None or len(fold) != self.table.n:
            return fold
        from sklearn.utils import _safe_indexing

        # Not by way of an array of objects: dates and numbers must stay what they are.
        return _safe_indexing(fold, problem.kept)
