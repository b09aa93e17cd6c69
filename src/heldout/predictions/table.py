"""One checked set of predictions: truth, prediction, weight and group of every case."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from heldout.errors import LabelError, OptionError, ValuesError, listing
from heldout.evidence import Label
from heldout.predictions.encode import Coded, encode, unwrap
from heldout.predictions.match import joint_labels, look_alike

Missing = Literal["refuse", "drop"]


@dataclass(frozen=True, eq=False)
class Predictions:
    """What a classifier said about each case, and what was true.

    `notes` are sentences a reader must see: labels that were joined, rows that were dropped. `keep_labels` says
    that the labels were declared, so that classes without a case stay classes.
    """

    truth: Coded
    predicted: Coded
    labels: tuple[Label, ...]
    truth_place: NDArray[np.int64]
    predicted_place: NDArray[np.int64]
    weight: NDArray[np.float64] | None = None
    group: Coded | None = None
    notes: tuple[str, ...] = ()
    keep_labels: bool = False

    @property
    def n(self) -> int:
        """The number of cases."""
        return len(self.truth)

    def fingerprint(self) -> str:
        """A short hash of the true labels in their order: equal for predictions of the same cases."""
        digest = hashlib.blake2b(digest_size=8)
        names = [str(label) for label in self.labels]
        order = np.argsort(np.array(names, dtype=object))
        digest.update("\x1f".join(names[i] for i in order).encode())
        rank = np.empty(len(order), dtype=np.uint8 if len(order) <= 256 else np.int32)
        rank[order] = np.arange(len(order))
        place = rank[self.truth_place]
        block = 1 << 18
        for start in range(0, self.n, block):
            codes = self.truth.codes[start : start + block].astype(np.int64) - self.truth.offset
            digest.update(place[codes].tobytes())
        return digest.hexdigest()


def assemble(
    truth: Any,
    predicted: Any,
    *,
    weight: Any = None,
    group: Any = None,
    labels: Sequence[Label] | None = None,
    missing: Missing = "refuse",
    notes: Sequence[str] = (),
) -> Predictions:
    """Check the columns and bring them together.

    >>> assemble(["no", "yes"], ["yes", "yes"]).labels
    ('no', 'yes')
    """
    if missing not in ("refuse", "drop"):
        raise OptionError(
            f"missing must be 'refuse' or 'drop'. Got {missing!r}.",
            hint="missing='drop' leaves out rows without truth or prediction, and says how many.",
        )
    columns: dict[str, Any] = {"truth": encode(truth, "truth"), "predicted": encode(predicted, "predicted")}
    if weight is not None:
        columns["weight"] = _numbers(weight, "weight")
    if group is not None:
        columns["group"] = encode_keys(group)
    _same_length(columns)
    columns, dropped = _without_missing(columns, missing)
    said = [*notes, *dropped]
    if columns.get("weight") is not None:
        _check_weight(columns["weight"])
    names, rename, joined = joint_labels(columns["truth"].labels, columns["predicted"].labels)
    if joined:
        said.append(joined)
    if rename:
        columns["predicted"] = replace(
            columns["predicted"], labels=tuple(rename[label] for label in columns["predicted"].labels)
        )
    said += [f"the labels {a!r} and {b!r} differ only in case or spaces" for a, b in look_alike(names)]
    if labels is not None:
        names = _given(labels, columns, names)
    place = {label: position for position, label in enumerate(names)}
    return Predictions(
        truth=columns["truth"],
        predicted=columns["predicted"],
        labels=names,
        truth_place=np.array([place.get(label, -1) for label in columns["truth"].labels], dtype=np.int64),
        predicted_place=np.array([place.get(label, -1) for label in columns["predicted"].labels], dtype=np.int64),
        weight=columns.get("weight"),
        group=columns.get("group"),
        notes=tuple(said),
        keep_labels=labels is not None or columns["truth"].declared or columns["predicted"].declared,
    )


def encode_keys(values: Any) -> Coded:
    """Encode a column of group keys: anything that can be compared, in no particular order."""
    column = unwrap(values)
    if isinstance(column, np.ndarray) and column.dtype.kind == "f":
        absent = np.isnan(column)
        keys, codes = np.unique(column, return_inverse=True)
        if absent.any():
            codes = np.where(absent, -1, codes)
            keys = keys[~np.isnan(keys)]
        return Coded(codes, 0, tuple(keys.tolist()), missing=int(absent.sum()))
    return encode(values, "group")


def _numbers(values: Any, name: str) -> NDArray[np.float64]:
    column = unwrap(values)
    array = column if isinstance(column, np.ndarray) else np.asarray(column.to_numpy())
    if array.dtype.kind not in "iufb":
        try:
            # None and NaN in a column of numbers are missing values, which are counted later.
            array = np.array([np.nan if value is None else value for value in array.tolist()], dtype=np.float64)
        except (TypeError, ValueError):
            raise ValuesError(
                f"{name} must be numbers. It holds {listing(map(repr, array[:3].tolist()))}.",
                hint=f"choose another column as {name}.",
            ) from None
    if array.ndim != 1:
        raise ValuesError(f"{name} must be one column. Got {array.ndim} dimensions.", hint="pass one number per case.")
    return array.astype(np.float64, copy=False)


def _same_length(columns: dict[str, Any]) -> None:
    sizes = {name: len(column) for name, column in columns.items()}
    if len(set(sizes.values())) > 1:
        shown = ", ".join(f"{name} has {size:,}" for name, size in sizes.items())
        raise ValuesError(f"The columns differ in length: {shown}.", hint="pass one value per case in each.")
    if not sizes["truth"]:
        raise ValuesError("There are no cases: truth is empty.", hint="pass at least one case.")


def _without_missing(columns: dict[str, Any], missing: Missing) -> tuple[dict[str, Any], list[str]]:
    gaps: dict[str, NDArray[np.bool_]] = {}
    for name, column in columns.items():
        if isinstance(column, Coded):
            if column.missing:
                gaps[name] = column.is_missing
        elif np.isnan(column).any():
            gaps[name] = np.isnan(column)
    if not gaps:
        return columns, []
    counts = ", ".join(f"{name} in {int(where.sum()):,}" for name, where in gaps.items())
    lost = np.logical_or.reduce(list(gaps.values()))
    if missing == "refuse":
        first = int(np.flatnonzero(lost)[0])
        raise ValuesError(
            f"{int(lost.sum()):,} of {len(lost):,} rows have missing values: {counts}; the first is row {first + 1:,}.",
            hint="missing='drop' (--missing drop) leaves them out and says so; better is to find out why.",
        )
    if lost.all():
        raise ValuesError(
            f"Every one of the {len(lost):,} rows has a missing value: {counts}.",
            hint="check which columns were chosen.",
        )
    keep = ~lost
    kept = {name: column.taken(keep) if isinstance(column, Coded) else column[keep] for name, column in columns.items()}
    return kept, [f"{int(lost.sum()):,} of {len(lost):,} rows were dropped because of missing values: {counts}"]


def _check_weight(weight: NDArray[np.float64]) -> None:
    bad = np.flatnonzero(~np.isfinite(weight) | (weight < 0))
    if len(bad):
        raise ValuesError(
            f"Weights must be finite and not negative. Row {int(bad[0]) + 1:,} has {weight[bad[0]]:g}.",
            hint="give weight 0 to a case that should not count.",
        )
    if not weight.any():
        raise ValuesError("All weights are zero, so no case counts.", hint="give at least one case a weight.")


def _given(labels: Sequence[Label], columns: dict[str, Any], names: tuple[Label, ...]) -> tuple[Label, ...]:
    given = tuple(labels)
    if len(set(given)) != len(given):
        twice = sorted({str(label) for label in given if given.count(label) > 1})
        raise LabelError(f"Labels are named twice: {listing(twice)}.", hint="name each class once.")
    met = set(_met(columns["truth"])) | set(_met(columns["predicted"]))
    by_text = {str(label): label for label in names}
    fitted = tuple(label if label in names else by_text.get(str(label), label) for label in given)
    left = [label for label in names if label in met and label not in fitted]
    if left:
        raise LabelError(
            f"The labels given leave out classes that occur: {listing(map(repr, left))}. "
            f"Given were: {listing(map(repr, given))}.",
            hint="name every class that occurs in truth or prediction.",
        )
    return fitted


def _met(column: Coded) -> list[Label]:
    counts = np.bincount(column.codes.astype(np.int64) - column.offset, minlength=len(column.labels))
    return [label for label, count in zip(column.labels, counts.tolist(), strict=True) if count]
