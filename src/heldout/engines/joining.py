"""Several small sets of predictions as one, so that they are counted together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.evidence import Label, join_labels
from heldout.evidence.slice_labels import join_slices
from heldout.evidence.unfit import joined as joined_reasons
from heldout.predictions.encode import Coded
from heldout.predictions.scores import Scores
from heldout.predictions.slices import SliceColumn
from heldout.predictions.table import KEYS, Predictions


def compact(predictions: Predictions) -> Predictions:
    """The same predictions in arrays of their own, which nobody else can change, as narrow as they can be."""
    labels = predictions.labels
    kind = np.uint8 if len(labels) < 256 else np.int32
    places: dict[str, Any] = {}
    for name in ("truth", "predicted"):
        coded: Coded = getattr(predictions, name)
        place: NDArray[np.int64] = getattr(predictions, f"{name}_place")
        codes = place[coded.codes.astype(np.int64) - coded.offset].astype(kind)
        places[name] = Coded(codes, 0, labels, coded.declared)
    keys: dict[str, Any] = {name: _compact_keys(getattr(predictions, name)) for name in KEYS}
    scores, weight, own = predictions.scores, predictions.weight, np.arange(len(labels))
    return replace(
        predictions,
        **places,
        **keys,
        truth_place=own,
        predicted_place=own,
        weight=None if weight is None else weight.copy(),
        scores=None if scores is None else replace(scores, values=scores.values.copy()),
        rows=None,
        notes=(),
        joined_types=(),
        of_labels=(),
        given=None,
        lost=0,
        missing={},
    )


def _compact_keys(coded: Coded | None) -> Coded | None:
    if coded is None:
        return None
    met, codes = np.unique(coded.codes.astype(np.int64) - coded.offset, return_inverse=True)
    return Coded(codes.astype(np.int32), 0, tuple(coded.labels[code] for code in met.tolist()))


def joined(parts: Sequence[Predictions]) -> Predictions:
    """All the rows of compact predictions, which agree in what they hold, one after another.

    >>> from heldout.predictions.table import assemble
    >>> parts = [compact(assemble(["a", "b"], ["a", "a"])), compact(assemble(["c"], ["a"]))]
    >>> joined(parts).labels, joined(parts).truth.codes.tolist()
    (('a', 'b', 'c'), [0, 1, 2])
    """
    if len(parts) == 1:
        return parts[0]
    labels = _labels([part.labels for part in parts])
    own = np.arange(len(labels))
    first = parts[0]
    keys: dict[str, Any] = {name: _joined_keys([getattr(part, name) for part in parts]) for name in KEYS}
    return replace(
        first,
        truth=_joined_codes([part.truth for part in parts], labels),
        predicted=_joined_codes([part.predicted for part in parts], labels),
        labels=labels,
        truth_place=own,
        predicted_place=own,
        weight=None if first.weight is None else np.concatenate([_held(part.weight) for part in parts]),
        scores=None if first.scores is None else _joined_scores([part.scores for part in parts]),
        keep_labels=any(part.keep_labels for part in parts),
        slices=tuple(_joined_slices([part.slices[at] for part in parts]) for at in range(len(first.slices))),
        **keys,
    )


def _held(values: Any) -> Any:
    if values is None:
        message = "some of the predictions lack what the others have"
        raise TypeError(message)
    return values


def _labels(each: Sequence[tuple[Label, ...]]) -> tuple[Label, ...]:
    return reduce(join_labels, dict.fromkeys(each))


def _joined_codes(columns: Sequence[Coded], labels: tuple[Label, ...]) -> Coded:
    place = {label: at for at, label in enumerate(labels)}
    kind = np.uint8 if len(labels) < 256 else np.int32
    moves = {held: np.array([place[label] for label in held], dtype=kind) for held in {one.labels for one in columns}}
    codes = np.concatenate([moves[column.labels][column.codes] for column in columns])
    return Coded(codes, 0, labels, any(column.declared for column in columns))


def _joined_keys(columns: Sequence[Coded | None]) -> Coded | None:
    if columns[0] is None:
        return None
    place: dict[Any, int] = {}
    parts = []
    for column in map(_held, columns):
        # 1 and "1" are two keys.
        move = np.array(
            [place.setdefault((type(key) is str, key), len(place)) for key in column.labels], dtype=np.int64
        )
        parts.append(move[column.codes])
    names = tuple(key for _, key in place)
    try:
        order = sorted(range(len(names)), key=lambda at: (isinstance(names[at], str), names[at]))
    except TypeError:
        order = list(range(len(names)))
    back = np.empty(len(order), dtype=np.int64)
    back[order] = np.arange(len(order))
    return Coded(back[np.concatenate(parts)], 0, tuple(names[at] for at in order))


def _joined_scores(columns: Sequence[Scores | None]) -> Scores:
    held = [_held(column) for column in columns]
    values = np.concatenate([column.values for column in held])
    reasons = [column.unfit for column in held if column.unfit is not None]
    return Scores(values, joined_reasons(reasons, float(values.min()), float(values.max())) if reasons else None)


def _joined_slices(columns: Sequence[SliceColumn]) -> SliceColumn:
    labels = reduce(join_slices, dict.fromkeys(column.labels for column in columns))
    place = {label: at for at, label in enumerate(labels)}
    codes = [np.array([place[label] for label in column.labels], dtype=np.uint8)[column.codes] for column in columns]
    return replace(columns[0], codes=np.concatenate(codes), labels=labels)
