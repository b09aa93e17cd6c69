"""The engine for tensors: predictions on a device are counted there, and only the evidence travels.

Rows are looked at once for their ends and for what is wrong with them. Which classes there are, which of them is the
positive one and whether scores are probabilities is then settled as for any other rows, on a few of them that show all
of it. Whatever is rare (missing values, infinite scores, rows of weight 0, confidences) is left to rows in memory.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from heldout.arguments import require
from heldout.engines.confusion_cells import ConfusionCells
from heldout.engines.memory import positive_among
from heldout.engines.tensors import loss_sums
from heldout.engines.tensors.column_bins import columns_bins, positive_bins
from heldout.engines.tensors.kernels import AT_ONCE, count_cells
from heldout.engines.tensors.transfers import fetch
from heldout.evidence.counted import Counted, CountedColumn, ScoreTally, class_columns, most_bins
from heldout.evidence.partitions import SliceCounts
from heldout.evidence.probabilities import Probabilities
from heldout.predictions.case_values import NOISE, RawScores, check_weight_range, noise_note, whole_of
from heldout.predictions.device_arrays import as_tensor, device_tensor
from heldout.predictions.label_encoding import DIRECT_RANGE, Coded
from heldout.predictions.slice_plans import SliceColumn, slices_of_arrays
from heldout.predictions.source import ReadOptions, Source
from heldout.predictions.table import Predictions, assemble, narrow_note

# What is no larger is brought to rows in memory in a millisecond or two, and can then be asked everything: the evidence
# of exact scores would be as large.
FETCHED = 1 << 24


def count_tensors(
    data: Any, roles: Mapping[str, Any], asked: ReadOptions, *, anywhere: bool = False
) -> tuple[Counted, Source] | None:
    """What was counted of tensors on a device; None where there are none, or where their rows are better held.

    With `anywhere` tensors are counted where they are even if that is the processor's memory, or if they are few.
    """
    batch = _Batch.read(data, roles, asked, anywhere=anywhere)
    if batch is None:
        return None
    ends = batch.look()
    if ends is None:
        return None
    settled = _settle(batch, ends, asked)
    return None if settled is None else (_count(batch, ends, settled), Source())


@dataclass(frozen=True, eq=False)
class _Batch:
    """The columns of a call, all on one device; slices are made of arrays in memory."""

    truth: Any
    predicted: Any
    score: Any
    weight: Any
    slices: tuple[SliceColumn, ...] = ()
    notes: tuple[str, ...] = ()
    # Whether scores are floats of 32 bits; of shorter ones, which are worked on as such, rows in memory make 64.
    single: bool = False

    @classmethod
    def read(cls, data: Any, roles: Mapping[str, Any], asked: ReadOptions, *, anywhere: bool) -> _Batch | None:
        """The columns, if some are on a device and all are numbers that can go there."""
        given = {role: values for role, values in roles.items() if values is not None}
        given |= {"score": asked.score} if asked.score is not None else {}
        given |= {"truth": data} if data is not None and "truth" not in given else {}
        find = as_tensor if anywhere else device_tensor
        there = [tensor for values in given.values() if (tensor := find(values)) is not None]
        rows_alone = {"group", "fold", "id"} & set(given) or asked.against_rest or asked.ranked
        if not there or rows_alone or "truth" not in given or (data is not None and given["truth"] is not data):
            return None
        if "predicted" not in given and "score" not in given:
            return None
        tensors = {role: _moved(values, role, there[0].device) for role, values in given.items()}
        if any(tensor is None for tensor in tensors.values()):
            return None
        size = sum(tensor.numel() * tensor.element_size() for tensor in tensors.values())
        lengths = {len(tensor) for tensor in tensors.values()}
        if (size <= FETCHED and not anywhere) or len(lengths) != 1 or not lengths.pop():
            return None
        slices, notes = slices_of_arrays(_fetched(asked.slices))
        if any(len(column) != len(tensors["truth"]) for column in slices):
            return None
        truth, predicted, score, weight = (tensors.get(role) for role in ("truth", "predicted", "score", "weight"))
        single = "score" in given and str(getattr(given["score"], "dtype", "")).endswith("float32")
        return cls(truth, predicted, score, weight, slices, tuple(notes), single)

    def look(self) -> _Ends | None:
        """The ends of every column, all read at once; None where a value is missing, or is none."""
        labels = [column for column in (self.truth, self.predicted) if column is not None]
        found = [end for column in labels for end in _numbers(column).aminmax()]
        # Nan and infinities are not whole either.
        found += [(column == column.floor()).all() for column in labels if column.is_floating_point()]
        found += [] if self.weight is None else list(self.weight.aminmax())
        numbers = [number.double().reshape(1) for number in found]
        if self.score is not None:
            places = self._extremes()
            numbers += [places.double(), self.score[places].double().reshape(-1)]
        # One message, and one wait.
        read = fetch(torch.cat(numbers))
        extreme = None
        if self.score is not None:
            extreme = read[len(found) + 3 :].reshape(3, -1), read[len(found) : len(found) + 3].astype(np.int64)
        return _Ends.of(self, read[: len(found)].tolist(), extreme)

    def _extremes(self) -> Any:
        """The rows with the lowest score, the highest, and the sum that is farthest from 1; nan is beyond all."""
        if self.score.ndim == 1:
            low, high = self.score.argmin(), self.score.argmax()
            return torch.stack([low, high, high])
        at_once = max(AT_ONCE // self.score.shape[1], 1)
        # Some rows at a time: the sum would take a copy of all of them.
        sums = [part.sum(dim=1, dtype=torch.float64) for part in self.score.split(at_once)]
        gap = (torch.cat(sums) - 1).abs()
        low, high = torch.aminmax(self.score, dim=1)
        return torch.stack([low.argmin(), high.argmax(), gap.argmax()])


@dataclass(frozen=True, eq=False)
class _Ends:
    """How far labels run, and the rows whose scores run farthest: lowest, highest, farthest from a sum of 1."""

    truth: tuple[int, int]
    predicted: tuple[int, int]
    rows: Any = None
    places: Any = None

    @classmethod
    def of(cls, batch: _Batch, numbers: list[float], extreme: Any) -> _Ends | None:
        """From the numbers that were read back; None where the rows must be looked at one by one."""
        labels = 1 if batch.predicted is None else 2
        weights = [] if batch.weight is None else numbers[-2:]
        spans, whole = numbers[: 2 * labels], numbers[2 * labels : len(numbers) - len(weights)]
        if not all(whole) or not all(np.isfinite(spans)) or max(map(abs, spans)) >= 2.0**53:
            return None
        ends = [(int(spans[2 * at]), int(spans[2 * at + 1])) for at in range(labels)]
        if any(high - low >= DIRECT_RANGE for low, high in ends):
            return None
        if weights:
            if not (weights[0] > 0 and np.isfinite(weights[1])):
                return None
            check_weight_range(weights[0], weights[1])
        if extreme is not None and not np.isfinite(extreme[0]).all():
            return None
        rows, places = extreme or (None, None)
        return cls(ends[0], ends[-1], rows, places)


def _moved(values: Any, role: str, device: Any) -> Any:
    """A column as a tensor of numbers on the device: one axis, or of scores two; None where it is none."""
    tensor = _tensor_of(values)
    if tensor is None or tensor.is_complex() or tensor.is_sparse or tensor.is_quantized:
        return None
    if tensor.ndim == 2 and (1 in tensor.shape if role != "score" else tensor.shape[1] == 1):
        tensor = tensor.reshape(-1)
    if tensor.ndim != 1 and (role != "score" or tensor.ndim != 2):
        return None
    return _as_role(tensor.to(device), role)


def _tensor_of(values: Any) -> Any:
    """A tensor, or what an array of numbers becomes as one."""
    tensor = as_tensor(values)
    if tensor is not None or not isinstance(values, np.ndarray | list) or hasattr(values, "mask"):
        return tensor
    array = np.asarray(values)
    if array.dtype.kind not in "iufb" or not array.dtype.isnative:
        return None
    try:
        return torch.as_tensor(np.ascontiguousarray(array))
    except TypeError:
        return None


def _as_role(tensor: Any, role: str) -> Any:
    """The kind of numbers in which a column is worked on; None where labels are whole numbers that torch cannot add."""
    if role == "weight":
        return tensor.double()
    if role != "score":
        unsigned = {torch.uint16: torch.int32, torch.uint32: torch.int64, torch.uint64: None}
        kind = unsigned.get(tensor.dtype, tensor.dtype)
        return None if kind is None else tensor.to(kind)
    if tensor.dtype in (torch.float16, torch.bfloat16):
        # Differences of two are made in 64 bits, as they are of rows in memory.
        return tensor.double() if tensor.ndim == 2 and tensor.shape[1] == 2 else tensor.float()
    return tensor if tensor.dtype in (torch.float32, torch.float64) else tensor.double()


def _fetched(slices: Any) -> Any:
    """Slices by name with what is on a device brought to memory."""
    if not isinstance(slices, Mapping):
        return slices
    return {name: values if (tensor := as_tensor(values)) is None else fetch(tensor) for name, values in slices.items()}


@dataclass(frozen=True, eq=False)
class _Settled:
    """What the labels and scores were found to be, on a few rows that show all of it.

    `truth` and `predicted` are the labels of these rows, `cells` how many rows of the batch each of their pairs stands
    for, where a prediction was given, and `clip` says that arithmetic carried probabilities beyond 0 or 1.
    """

    rows: Predictions
    truth: NDArray[np.int64]
    predicted: NDArray[np.int64] | None
    cells: NDArray[np.int64] | None
    clip: bool


def _settle(batch: _Batch, ends: _Ends, asked: ReadOptions) -> _Settled | None:
    """A few rows that stand for all: every pair of classes that was met, and the scores that run farthest."""
    cells = predicted = None
    if batch.predicted is None:
        truth = fetch(count_cells(batch.truth, None, ends.truth, None).nonzero()[:, 0]) + ends.truth[0]
    else:
        shape = [high - low + 1 for low, high in (ends.truth, ends.predicted)]
        table = count_cells(batch.truth, batch.predicted, ends.truth, ends.predicted).reshape(shape)
        met = table.nonzero()
        truth, predicted = (fetch(met[:, at]) + low for at, low in ((0, ends.truth[0]), (1, ends.predicted[0])))
        cells = fetch(table[met[:, 0], met[:, 1]])
    size, clip = max(len(truth), 3), False
    raw, notes = None, list(batch.notes)
    if batch.score is not None:
        low, high = float(ends.rows.min()), float(ends.rows.max())
        if predicted is not None and batch.score.ndim == 1 and whole_of(low, high) is not None:
            # They may be confidences in the answers, which takes all rows to find out.
            return None
        clip = (low < 0 or high > 1) and low >= -NOISE and NOISE < high <= 1 + NOISE
        if clip:
            notes.append(noise_note(int(((batch.score < 0) | (batch.score > 1)).sum()), low, high))
        rows = ends.rows if batch.score.ndim == 2 else ends.rows[:, 0]
        raw = RawScores(np.resize(rows, (size, *rows.shape[1:])).astype(np.float32 if batch.single else np.float64))
    truth = np.resize(truth, size)
    predicted = None if predicted is None else np.resize(predicted, size)
    columns = [None if values is None else _as_given(values, column)
               for values, column in ((truth, batch.truth), (predicted, batch.predicted))]  # fmt: skip
    options = {name: value for name, value in asked.options().items() if name != "against_rest"}
    seen = assemble(columns[0], columns[1], score=raw, own=False, whole=False, **options)
    scores = seen.scores
    if scores is not None and scores.unfit is not None and scores.unfit.row is not None:
        scores = replace(scores, unfit=replace(scores.unfit, row=int(ends.places[2]) + 1))
    if scores is not None and batch.score.ndim == 1 and asked.threshold is not None and predicted is None:
        notes += _narrow(batch, asked.threshold)
    if scores is not None and scores.per_class and scores.unfit is None:
        notes += [note for note in scores.notes if note not in notes and not clip]
    return _Settled(replace(seen, scores=scores, notes=tuple(notes)), truth, predicted, cells, clip)


def _numbers(column: Any) -> Any:
    """Booleans as numbers, which have ends."""
    return column.byte() if column.dtype == column.new_empty(0).bool().dtype else column


def _as_given(values: NDArray[np.int64], column: Any) -> NDArray[Any]:
    """Labels as an array of the kind that was given: booleans are other labels than 0 and 1."""
    return values.astype(bool) if column.dtype == torch.bool else values


def _narrow(batch: _Batch, threshold: float) -> list[str]:
    """That scores of four bytes are the threshold but for their rounding, and lie below it."""
    narrow = float(np.float32(threshold))
    if not batch.single or narrow >= threshold:
        return []
    equal = int((batch.score == narrow).sum())
    return [narrow_note(equal, threshold, narrow)] if equal else []


def _count(batch: _Batch, ends: _Ends, settled: _Settled) -> Counted:
    """Count what was settled."""
    seen = settled.rows
    values = _scores(batch, settled)
    plain = batch.predicted is not None and batch.weight is None and not batch.slices
    true = called = None
    if values is not None or not plain:
        true = _places(batch.truth, ends.truth, settled.truth, _rows_places(seen.truth, seen.truth_place))
    if plain and settled.cells is not None:
        confusion = _settled_cells(settled).confusion()
    else:
        called = _called(batch, ends, settled, values)
        confusion = _count_cells(true, called, batch, seen).confusion()

    def divide(*columns: SliceColumn) -> SliceCounts:
        return _count_cells(true, called, batch, seen, *columns).slices()

    return Counted(
        confusion=confusion,
        positive=positive_among(seen, confusion.labels),
        threshold=seen.threshold if seen.scores is not None else None,
        scores=None if values is None else _tally(values, true, batch, seen),
        slices=tuple(
            CountedColumn(column.name, column.labels, divide(column), column.kind, column.note)
            for column in batch.slices
        ),
        pairs={(one.name, two.name): divide(one, two) for one, two in itertools.combinations(batch.slices, 2)},
        rows=len(batch.truth),
        declared=seen.keep_labels,
        notes=seen.notes,
        joined_types=seen.joined_types,
    )


def _rows_places(column: Coded, place: NDArray[np.int64]) -> NDArray[np.int64]:
    """The class of each of the few rows, as a place among the labels."""
    return place[column.codes.astype(np.int64) - column.offset]


def _places(column: Any, ends: tuple[int, int], values: NDArray[np.int64], places: NDArray[np.int64]) -> Any:
    """The class of every row of the batch, as a place among the labels."""
    table = np.zeros(ends[1] - ends[0] + 1, dtype=np.int16)
    table[values - ends[0]] = places
    whole = column.to(torch.int32) if column.is_floating_point() else _numbers(column)
    if np.array_equal(table, np.arange(len(table)) + ends[0]):
        return whole
    if len(table) <= 2:
        # A byte a row: rows may be very many.
        return torch.where(whole == ends[0], int(table[0]), int(table[-1])).to(torch.uint8)
    moves = torch.as_tensor(table, device=column.device)
    parts = [moves[part.long() - ends[0]] for part in whole.split(AT_ONCE)]
    return torch.cat(parts)


def _scores(batch: _Batch, settled: _Settled) -> Any:
    """The scores as they are judged: those of the positive class of two, or a column for each class."""
    scores, labels, positive = settled.rows.scores, settled.rows.labels, settled.rows.positive
    if scores is None:
        return None
    values = batch.score.clamp(0, 1) if settled.clip else batch.score
    if scores.per_class or values.ndim == 1:
        return values
    at = labels.index(positive) if positive is not None else 1
    return values[:, at].contiguous() if scores.is_probability else values[:, at] - values[:, 1 - at]


def _called(batch: _Batch, ends: _Ends, settled: _Settled, values: Any) -> Any:
    """The predicted class of every row, as a place among the labels."""
    seen = settled.rows
    if batch.predicted is not None:
        places = _rows_places(seen.predicted, seen.predicted_place)
        return _places(batch.predicted, ends.predicted, require(settled.predicted, "there is a prediction"), places)
    if values.ndim == 2:
        return values.argmax(dim=1)
    cut = require(seen.threshold, "classes are made from scores at a threshold")
    if values.dtype == torch.float32:
        # The least float of 32 bits that reaches it: the comparison is then that of 64 bits.
        narrow = np.float32(cut)
        cut = float(narrow if narrow >= cut else np.nextafter(narrow, np.float32(np.inf)))
    at = seen.labels.index(seen.positive) if seen.positive is not None else 1
    called = values >= cut
    return (called if at else ~called).view(torch.uint8)


def _count_cells(true: Any, called: Any, batch: _Batch, seen: Predictions, *columns: SliceColumn) -> ConfusionCells:
    """The cells that rows with these places of classes meet, in every slice or every combination of slices."""
    k, parts, rows = len(seen.labels), 1, true
    if columns:
        part: Any = 0
        for column in columns:
            part = part * len(column.labels) + torch.as_tensor(column.codes.astype(np.int64), device=true.device)
            parts *= len(column.labels)
        rows = part * k + true.long()
    cases = count_cells(rows, called, (0, parts * k - 1), (0, k - 1))
    there, sums = cases.nonzero()[:, 0], []
    if batch.weight is not None:
        key = rows.long() * k + called
        powers = batch.weight, batch.weight * batch.weight
        sums = [key.new_zeros(len(cases), dtype=own.dtype).scatter_add_(0, key, own)[there] for own in powers]
    cell, *found = (fetch(numbers) for numbers in (there, cases[there], *sums))
    weights, squares = found[1:] or (None, None)
    cells = ConfusionCells(seen.labels, cell // k % k, cell % k, found[0], weights, squares, cell // (k * k))
    return cells.among(declared=seen.keep_labels)


def _settled_cells(settled: _Settled) -> ConfusionCells:
    """The cells of rows that were counted by their labels already."""
    seen, cells = settled.rows, require(settled.cells, "labels were counted")
    sides = (seen.truth, seen.truth_place), (seen.predicted, seen.predicted_place)
    truth, predicted = (_rows_places(*side)[: len(cells)] for side in sides)
    return ConfusionCells(seen.labels, truth, predicted, cells).among(declared=seen.keep_labels)


def _tally(values: Any, true: Any, batch: _Batch, seen: Predictions) -> ScoreTally:
    """What the scores tell."""
    scores, labels, weight = require(seen.scores, "there are scores"), seen.labels, batch.weight
    eps = float(np.finfo(np.float32 if batch.single else np.float64).eps)
    if not scores.per_class:
        positive = true == (labels.index(seen.positive) if seen.positive is not None else 1)
        if not scores.is_probability:
            return ScoreTally(columns_bins(values[:, None], positive, 2, weight=weight), None, scores.unfit)
        own_bins, sums = positive_bins(values, positive, eps, weight=weight)
        return ScoreTally((own_bins,), _probabilities(sums), scores.unfit)
    k, state = len(labels), None
    sided = class_columns(k) != k
    bins = columns_bins(values, true, k, weight=weight, most=most_bins(k), sided=sided)
    if scores.is_probability:
        state = loss_sums.begin(k, values.device, weighted=weight is not None)
        loss_sums.add_classes(state, values, true.long(), eps, weight)
    return ScoreTally(bins, _probabilities(state), scores.unfit, labels)


def _probabilities(state: dict[str, Any] | None) -> Probabilities | None:
    return None if state is None else loss_sums.probabilities({name: fetch(part) for name, part in state.items()})
