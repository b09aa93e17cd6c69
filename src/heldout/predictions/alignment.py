"""Bringing the predictions of several classifiers together, case by case."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from heldout.arguments import listing
from heldout.arrays import Codes
from heldout.errors import LabelError, ValuesError
from heldout.evidence import Label, join_labels
from heldout.predictions.label_encoding import Coded
from heldout.predictions.positive_class import renamed
from heldout.predictions.table import Predictions

# Whole numbers up to here fit the integers of NumPy.
LARGEST = 2**62


@dataclass(frozen=True, eq=False)
class Paired:
    """What several classifiers say of the same cases: places among `labels`, one column each, in one order of cases.

    `rows` says, for each classifier, which of its own rows stands in each place, and `by` how the cases were matched.
    """

    labels: tuple[Label, ...]
    truth: Codes
    predicted: tuple[Codes, ...]
    rows: tuple[Codes, ...]
    by: str
    notes: tuple[str, ...] = ()

    @property
    def n(self) -> int:
        """The number of cases."""
        return len(self.truth)


def pair(tables: Sequence[Predictions], names: Sequence[str]) -> Paired:
    """Match the cases of several classifiers by their ids, or by their order where none has ids.

    >>> from heldout.predictions.table import assemble
    >>> one = assemble(["a", "b"], ["a", "a"], id=[1, 2])
    >>> two = assemble(["b", "a"], ["b", "b"], id=[2, 1])
    >>> paired = pair([one, two], ["one", "two"])
    >>> [column.tolist() for column in paired.predicted]
    [[0, 0], [1, 1]]
    """
    with_ids = [predictions.id is not None for predictions in tables]
    if any(with_ids) and not all(with_ids):
        lacking = [name for name, there in zip(names, with_ids, strict=True) if not there]
        raise ValuesError(
            f"Some classifiers name their cases, and these do not: {listing(lacking)}.",
            hint="give all of them the id of each case, or none.",
        )
    rows, keys = _by_id(tables, names) if all(with_ids) else (_by_order(tables, names), None)
    labels, moves, notes = common_labels([predictions.labels for predictions in tables], names)
    truths = [move[_codes(p.truth, p.truth_place)][at] for p, move, at in zip(tables, moves, rows, strict=True)]
    for name, truth in zip(names[1:], truths[1:], strict=True):
        _same_truth(truths[0], truth, labels, (names[0], name), keys)
    predicted = tuple(
        move[_codes(p.predicted, p.predicted_place)][at] for p, move, at in zip(tables, moves, rows, strict=True)
    )
    return Paired(labels, truths[0], predicted, rows, "id" if all(with_ids) else "order", notes)


def _codes(column: Coded, place: NDArray[np.int64]) -> Codes:
    return np.asarray(place[column.codes.astype(np.int64) - column.offset])


def common_labels(
    label_lists: Sequence[tuple[Label, ...]], names: Sequence[str]
) -> tuple[tuple[Label, ...], list[Codes], tuple[str, ...]]:
    """The labels of all classifiers together, where each one's own stand among them, and what to say of joined ones.

    >>> labels, moves, _ = common_labels([("a", "b"), ("b", "c")], ["one", "two"])
    >>> labels, [move.tolist() for move in moves]
    (('a', 'b', 'c'), [[0, 1], [1, 2]])
    """
    labels, notes = label_lists[0], []
    renames: list[dict[Label, Label]] = [{}]
    for name, other in zip(names[1:], label_lists[1:], strict=True):
        note = ""
        rename: dict[Label, Label] = {}
        if {type(label) for label in labels} != {type(label) for label in other}:
            translated, note = renamed(labels, other)
            rename = dict(translated)
        if note:
            notes.append(f"{name}: {note}")
        renames.append(rename)
        labels = join_labels(labels, tuple(dict.fromkeys(rename.get(label, label) for label in other)))
    index_of = {label: position for position, label in enumerate(labels)}
    moves = [
        np.array([index_of[rename.get(label, label)] for label in own], dtype=np.int64)
        for own, rename in zip(label_lists, renames, strict=True)
    ]
    return labels, moves, tuple(notes)


def _by_order(tables: Sequence[Predictions], names: Sequence[str]) -> tuple[Codes, ...]:
    lost = [name for name, predictions in zip(names, tables, strict=True) if lost_rows(predictions)]
    if lost:
        raise lost_order(lost)
    sizes = {name: predictions.n for name, predictions in zip(names, tables, strict=True)}
    if len(set(sizes.values())) > 1:
        raise other_sizes(sizes)
    kept = [np.arange(predictions.n) if predictions.rows is None else predictions.rows for predictions in tables]
    if not all(np.array_equal(kept[0], own) for own in kept[1:]):
        raise ValuesError(
            "Other rows have the weight 0, and were left out, of one classifier than of another.",
            hint="give all classifiers the same weights, or name the id of each case (id=, --id).",
        )
    return tuple(np.arange(predictions.n) for predictions in tables)


def lost_order(names: Sequence[str]) -> ValuesError:
    """What is said of classifiers that lost rows, where only the order tells which case is which."""
    return ValuesError(
        f"Rows with missing values were dropped from {listing(names)}, so the order of the rest does not say which "
        "case is which.",
        hint="name the id of each case (id=, --id), or leave out the same rows of all of them beforehand.",
    )


def other_sizes(sizes: Mapping[str, int]) -> ValuesError:
    """What is said of classifiers with different numbers of cases, where only the order tells which is which."""
    shown = ", ".join(f"{name} has {size:,}" for name, size in sizes.items())
    return ValuesError(
        f"The classifiers were not tested on the same cases: {shown} cases.",
        hint="name the id of each case (id=, --id) to match them, or, for different test sets, "
        "say so (paired=False, --different-cases).",
    )


def lost_rows(predictions: Predictions) -> bool:
    """Whether rows were dropped because of missing values.

    >>> from heldout.predictions.table import assemble
    >>> lost_rows(assemble([0, 1, 0], [0, 1, None], missing="drop")), lost_rows(assemble([0, 1], [0, 1]))
    (True, False)
    """
    return predictions.lost > 0


@dataclass(frozen=True, eq=False)
class _NumberKeys:
    """Keys that are whole numbers, put into words only where they are shown."""

    values: Codes

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, place: int) -> str:
        return str(self.values[place])


@dataclass(frozen=True, eq=False)
class _Keys:
    """The keys of the cases of all classifiers, as codes that mean the same for each of them.

    Where a case stands once for each fold, `both` holds the places of case and fold that a code stands for.
    """

    codes: tuple[Codes, ...]
    ids: tuple[str, ...] | _NumberKeys
    folds: tuple[str, ...] | _NumberKeys = ()
    both: Codes | None = None

    @property
    def kinds(self) -> int:
        """How many keys there are."""
        return len(self.ids) if self.both is None else len(self.both)

    def text(self, code: int) -> str:
        """A key as a person reads it."""
        if self.both is None:
            return self.ids[code]
        case, fold = divmod(int(self.both[code]), len(self.folds))
        return f"{self.ids[case]} in fold {self.folds[fold]}"

    def shown(self, codes: Codes) -> str:
        """The first few of some keys."""
        return listing((self.text(code) for code in codes.tolist()), most=3)


def _by_id(tables: Sequence[Predictions], names: Sequence[str]) -> tuple[tuple[Codes, ...], _Keys]:
    # Where every row says which model made it, a case may stand once for each model.
    by_fold = all(p.fold is not None for p in tables) and any(_repeated(p.id) for p in tables)
    keys = _keys(tables, by_fold=by_fold)
    places: list[Codes] = []
    for name, own in zip(names, keys.codes, strict=True):
        row_of_key = np.full(keys.kinds, -1, dtype=np.int64)
        # Of repeated ids the first row is kept, so that the others can be found.
        row_of_key[own[::-1]] = np.arange(len(own) - 1, -1, -1)
        copies = own[row_of_key[own] != np.arange(len(own))]
        if len(copies):
            twice = own[np.isin(own, copies) & (row_of_key[own] == np.arange(len(own)))]
            raise copied_ids(name, len(twice), keys.shown(twice))
        places.append(row_of_key)
    first = keys.codes[0]
    for name, own, row_of_key in zip(names[1:], keys.codes[1:], places[1:], strict=True):
        absent, extra = first[row_of_key[first] < 0], own[places[0][own] < 0]
        gone = [
            (len(left), keys.shown(left) if len(left) else "", there, here)
            for left, there, here in ((absent, names[0], name), (extra, name, names[0]))
        ]
        if any(number for number, *_ in gone):
            raise other_cases(gone)
    return tuple(row_of_key[first] for row_of_key in places), keys


# Epochs and seeds that predict every case are no folds, and must not be named as such.
WITH_COPIES = (
    "leave out the copies, so that every case stands once; of repeated cross-validation, where each row was predicted "
    "by a model of the other folds, name the column of folds (fold=, --fold)."
)


def copied_ids(name: str, number: int, shown: str) -> ValuesError:
    """What is said of ids that stand in several rows of one classifier."""
    return ValuesError(
        f"{name} has {number:,} ids that stand in more than one row: {shown}.",
        hint=WITH_COPIES,
    )


def other_cases(gone: Iterable[tuple[int, str, str, str]]) -> ValuesError:
    """What is said of ids that one has and the other has not: how many, some of them, who has them, and who lacks."""
    parts = [
        f"{number:,} ids of {there} are missing from {here} ({shown})" for number, shown, there, here in gone if number
    ]
    return ValuesError(
        f"The classifiers were not tested on the same cases: {'; '.join(parts)}.",
        hint="leave the other cases out of both, or say that the test sets differ (paired=False, --different-cases).",
    )


def other_truth(
    names: tuple[str, str], number: int, n: int, case: str, truths: tuple[Label, Label], *, by_id: bool = True
) -> LabelError:
    """What is said of cases of which two classifiers hold a different truth: how many of n, and one of them."""
    return LabelError(
        f"{names[0]} and {names[1]} do not agree on the truth in {number:,} of {n:,} cases: in case "
        f"{case} it is {truths[0]!r} for the one and {truths[1]!r} for the other.",
        hint="check that both were tested on the same cases"
        + ("." if by_id else " in the same order; with ids (id=, --id) the order does not matter."),
    )


def other_units(first: str, second: str, of: str) -> ValuesError:
    """What is said of two classifiers whose cases have different weights or groups, as `of` says."""
    return ValuesError(
        f"{first} and {second} do not agree on the {of}s of the cases.",
        hint=f"give both the same {of}s ({of}=, --{of}), or leave them out.",
    )


def _repeated(column: Coded | None) -> bool:
    return column is not None and bool((np.bincount(column.codes.astype(np.int64) - column.offset) > 1).any())


def _keys(tables: Sequence[Predictions], *, by_fold: bool) -> _Keys:
    ids, cases = _joined([p.id for p in tables if p.id is not None])
    if not by_fold:
        return _Keys(cases, ids)
    folds, names = _joined([p.fold for p in tables if p.fold is not None])
    both, places = np.unique(
        np.concatenate([case * len(folds) + fold for case, fold in zip(cases, names, strict=True)]), return_inverse=True
    )
    ends = np.cumsum([len(case) for case in cases])[:-1]
    return _Keys(tuple(np.split(places.reshape(-1), ends)), ids, folds, both)


def _joined(columns: Sequence[Coded]) -> tuple[tuple[str, ...] | _NumberKeys, tuple[Codes, ...]]:
    """The texts of all columns together, and the place among them of every row of each."""
    if all(type(label) is int and abs(label) < LARGEST for column in columns for label in column.labels):
        return _joined_numbers(columns)
    index_of: dict[str, int] = {}
    coded = []
    for column in columns:
        # One look-up for each distinct value, none for each row.
        move = np.array([index_of.setdefault(text, len(index_of)) for text in _texts(column)], dtype=np.int64)
        coded.append(move[column.codes.astype(np.int64) - column.offset])
    return tuple(index_of), tuple(coded)


def _joined_numbers(columns: Sequence[Coded]) -> tuple[tuple[str, ...] | _NumberKeys, tuple[Codes, ...]]:
    """The same for whole numbers, which are sorted without being put into words."""
    values = [np.array(column.labels, dtype=np.int64) for column in columns]
    known, places = np.unique(np.concatenate(values), return_inverse=True)
    ends = np.cumsum([len(own) for own in values])[:-1]
    moves = np.split(places.reshape(-1), ends)
    rows = (move[column.codes.astype(np.int64) - column.offset] for move, column in zip(moves, columns, strict=True))
    return _NumberKeys(known), tuple(rows)


def _texts(column: Coded) -> list[str]:
    return [str(int(x) if isinstance(x, float) and x.is_integer() else x) for x in column.labels]


def key_texts(column: Coded | None) -> list[str]:
    """The ids or folds of all rows as text: 7 in one file may be "7" or 7.0 in the other.

    >>> from heldout.predictions.table import assemble
    >>> key_texts(assemble([0, 1], [0, 1], id=[7.0, 8.5]).id)
    ['7', '8.5']
    """
    if column is None:
        return []
    texts = _texts(column)
    return [texts[code] for code in (column.codes.astype(np.int64) - column.offset).tolist()]


def _same_truth(
    first: Codes, other: Codes, labels: tuple[Label, ...], names: tuple[str, str], keys: _Keys | None
) -> None:
    wrong = np.flatnonzero(first != other)
    if not len(wrong):
        return
    row = int(wrong[0])
    case = f"{row + 1:,}" if keys is None else keys.text(int(keys.codes[0][row]))
    classes = labels[first[row]], labels[other[row]]
    raise other_truth(names, len(wrong), len(first), case, classes, by_id=keys is not None)
