"""One batch of cases as it was given to be counted: its scores, its classes, and a copy that outlives it."""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Sized
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from heldout.errors import ValuesError
from heldout.evidence import Label, sort_labels
from heldout.predictions.encode import encode
from heldout.predictions.scores import may_be_score, raw_scores
from heldout.predictions.slice_choice import slices_of_arrays
from heldout.predictions.slice_values import slice_values
from heldout.predictions.source import Asked, Columns, columns_of_roles, gather
from heldout.predictions.table import Predictions, assemble


@dataclass(frozen=True)
class Batch:
    """What was given of some cases, in the words of `evaluate`."""

    data: Any
    roles: dict[str, Any]
    score: Any = None
    slices: Any = None

    def columns(self) -> Columns | None:
        """The columns of a data frame or of a dictionary; None for arrays and files."""
        if isinstance(self.data, Mapping):
            return Columns(self.data, "the dictionary")
        if self.data is None or isinstance(self.data, np.ndarray | list | tuple | str | Path):
            return None
        import narwhals.stable.v2 as nw

        frame = nw.from_native(self.data, pass_through=True)
        return Columns(frame, "the data frame") if isinstance(frame, nw.DataFrame) else None

    def gathered(self, asked: Asked) -> Predictions:
        """The checked predictions."""
        if self._is_plain():
            # The same as below, without asking what kind of frame an array is, which takes longer than a small batch.
            raw = None if self.score is None else raw_scores(self.score)
            divided, said = slices_of_arrays(self.slices)
            given = {role: values for role, values in self.roles.items() if values is not None}
            given |= {} if self.data is None else {"truth": self.data}
            return assemble(**given, score=raw, notes=said, slices=divided, **asked.options())
        options = {name: value for name, value in asked.options().items() if name != "against_rest"}
        return gather(self.data, dict(self.roles), score=self.score, slices=self.slices, **options)[0]

    def is_empty(self) -> bool:
        """Whether there are columns and none of them has a row, as what a filter leaves over of a batch may be."""
        truth = self.data if self.data is not None else self.roles.get("truth")
        if isinstance(truth, np.ndarray | list) and len(truth):
            return False
        frame = self.columns()
        if frame is None and hasattr(type(self.data), "columns"):
            # A lazy frame, whose length would have to be worked out.
            return False
        given = [*self.roles.values(), *(self.slices.values() if isinstance(self.slices, Mapping) else ())]
        given += [self.data] if frame is None else [frame.values(name) for name in frame.names]
        scores = list(self.score.values()) if isinstance(self.score, Mapping) else [self.score]
        names = isinstance(self.score, list | tuple) and len(self.score) > 0 and isinstance(self.score[0], str)
        given += [] if names else scores
        lengths = {len(values) for values in given if isinstance(values, Sized) and not isinstance(values, str)}
        return lengths == {0}

    def has_one_score(self) -> bool:
        """Whether one column of scores was given."""
        if self.score is None or isinstance(self.score, Mapping):
            return False
        if isinstance(self.score, str):
            return True
        shape = getattr(self.score, "shape", None)
        if shape is not None:
            return len(shape) == 1
        first = self.score[0] if isinstance(self.score, list | tuple) and len(self.score) else None
        return isinstance(first, numbers.Real)

    def _is_plain(self) -> bool:
        """Whether there are arrays and lists alone, each in one place."""
        held = [values for values in (self.data, *self.roles.values()) if values is not None]
        truths = [values for values in (self.data, self.roles.get("truth")) if values is not None]
        enough = len(truths) == 1 and (self.roles.get("predicted") is not None or self.score is not None)
        return enough and all(isinstance(values, np.ndarray | list) for values in held)

    def score_columns(self) -> int:
        """How many columns of scores there are, or may be; 0 for none."""
        if self.score is None:
            columns = self.columns()
            if columns is None:
                return 0
            named = list(self.roles.values())
            free = [name for name in columns.names if may_be_score(name) and not any(name is one for one in named)]
            # One column speaks for one of two classes.
            return max(2, len(free)) if free else 0
        shape = getattr(self.score, "shape", None)
        if shape is not None and len(shape) == 2:
            return max(int(shape[1]), 2)
        nested = isinstance(self.score, list | tuple) and len(self.score) > 0
        if nested and isinstance(self.score[0], list | tuple | np.ndarray):
            return max(len(self.score[0]), 2)
        several = (nested and isinstance(self.score[0], str)) or isinstance(self.score, Mapping)
        return max(len(self.score), 2) if several else 2

    def classes(self, asked: Asked) -> tuple[Label, ...]:
        """The classes that occur in truth or prediction, those of the prediction as the truth writes them."""
        truth, predicted = self._label_columns(asked)
        if predicted is None:
            coded = encode(truth, "truth")
            return coded.met() if coded.declared else sort_labels(coded.met())
        try:
            seen = assemble(truth, predicted, missing="drop")
        except ValuesError:
            # No row is whole, or the columns differ in length: whoever counts them says so.
            return ()
        met = {*seen.truth.met(), *seen.predicted.met()}
        return tuple(label for label in seen.labels if label in met)

    def _label_columns(self, asked: Asked) -> tuple[Any, Any]:
        columns = self.columns()
        if columns is None:
            truth = self.roles.get("truth") if self.data is None else self.data
            return truth, self.roles.get("predicted")
        wanted, _ = columns_of_roles(columns, self.roles, asked)
        truth, predicted = (
            columns.values(wanted[role]) if role in wanted else self.roles.get(role) for role in ("truth", "predicted")
        )
        return truth, predicted

    def number_slices(self) -> set[str]:
        """The slice columns that hold numbers or dates."""
        if self.slices is None:
            return set()
        if isinstance(self.slices, Mapping):
            return {str(name) for name, values in self.slices.items() if _holds_numbers(values)}
        columns = self.columns()
        names = [self.slices] if isinstance(self.slices, str | int) else list(self.slices)
        return set() if columns is None else {str(name) for name in names if _holds_numbers(columns.values(name))}

    def size(self) -> int:
        """The number of rows, as far as it is known before they are read."""
        columns = self.columns()
        values: Any = self.data if self.data is not None else self.roles.get("truth")
        if columns is not None and columns.names:
            values = columns.values(columns.names[0])
        return len(values) if isinstance(values, Sized) else 0

    def copied(self) -> Batch:
        """The same, safe from whoever fills the given arrays anew."""
        roles = {role: _copy(values) for role, values in self.roles.items()}
        return Batch(_copy(self.data), roles, _copy(self.score), _copy(self.slices))


def _holds_numbers(values: Any) -> bool:
    if isinstance(values, np.ndarray) and values.dtype.kind != "O":
        return values.dtype.kind in "iufmM"
    column = slice_values(values, "slices")
    return isinstance(column, np.ndarray) and column.dtype.kind in "iufmM"


def _copy(values: Any) -> Any:
    if values is None or isinstance(values, str | Path | int | float | tuple):
        return values
    if isinstance(values, Mapping):
        return {name: _copy(column) for name, column in values.items()}
    if isinstance(values, list):
        return [_copy(one) if isinstance(one, np.ndarray | list) else one for one in values]
    # Tensors and Polars frames have the one, arrays and pandas frames the other; Arrow's cannot be changed.
    for name in ("detach", "clone", "copy"):
        method = getattr(values, name, None)
        if callable(method):
            values = method()
            if name != "detach":
                return values
    return values
