"""Sums of losses and calibration of probabilities that are tensors: added up on their device, in floats of 64 bits.

Every sum is kept by a key: whether what a probability spoke for came true, and its bin. So one product of matrices, of
what is summed and of where it belongs, makes all of them. Sums differ from those of the engine in memory by rounding
alone: by less than 1e-12 of their size.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from heldout.arrays import Floats
from heldout.evidence.losses import LOSSES, CaseProbabilities
from heldout.evidence.probabilities import Moments, Probabilities

BINS = 10
KEYS = 2 * BINS
POWERS = 3
# The weight, y − p and its square, and three powers of every loss about its centre.
TERMS = 3 + POWERS * len(LOSSES)
# Numbers of a table of probabilities, and rows of a column of them, that are worked on at once.
TABLE_AT_ONCE = 1 << 24
ROWS_AT_ONCE = 1 << 19

State = dict[str, Any]


def begin(k: int, device: Any, *, weighted: bool) -> State:
    """Nothing summed yet, of `k` classes: for two, the probabilities are of the positive class."""
    kinds = {"dtype": torch.float64, "device": device}
    state = {
        "sums": torch.zeros((POWERS if weighted else 1, TERMS, KEYS), **kinds),
        "centre": torch.zeros(len(LOSSES), **kinds),
        "cases": torch.zeros(KEYS, dtype=torch.int64, device=device),
        "clipped": torch.zeros((), dtype=torch.int64, device=device),
    }
    if k > 2:
        state["by_class"] = torch.zeros((1 + len(LOSSES), k), **kinds)
        state["ranks"] = torch.zeros((2, k), **kinds)
    return state


def add_positive(state: State, p: Any, positive: Any, eps: float, weight: Any = None, valid: Any = None) -> None:
    """Add probabilities of the positive class, floats of 64 bits; only `valid` rows count, where that is given."""
    for start in range(0, len(p), ROWS_AT_ONCE):
        rows = slice(start, start + ROWS_AT_ONCE)
        _add_positive(state, p[rows], positive[rows], eps, _part(weight, rows), _part(valid, rows))


def _part(column: Any, rows: slice) -> Any:
    return None if column is None else column[rows]


def _add_positive(state: State, p: Any, positive: Any, eps: float, weight: Any, valid: Any) -> None:
    case, gap = _of_positive(p, positive, eps)
    _add(state, case, p, positive, gap, case.right < eps, weight, valid)


def _of_positive(p: Any, positive: Any, eps: float) -> tuple[CaseProbabilities, Any]:
    gap = positive.double() - p
    right = torch.where(positive, p, 1.0 - p)
    return CaseProbabilities(right, right.clamp(min=eps), gap * gap), gap


def find_centre(p: Any, positive: Any, eps: float) -> Any:
    """The mean of every loss over some rows, about which those of all rows are then summed."""
    case, _ = _of_positive(p, positive, eps)
    return torch.stack([loss.formula(case).mean() for loss in LOSSES.values()])


def add_classes(state: State, table: Any, true: Any, eps: float, weight: Any = None, valid: Any = None) -> None:
    """Add one probability per class, a column each, and the column of the true class of every case."""
    at_once = max(TABLE_AT_ONCE // table.shape[1], 1)
    for start in range(0, len(table), at_once):
        rows = slice(start, start + at_once)
        _add_classes(state, table[rows].double(), true[rows], eps, _part(weight, rows), _part(valid, rows))


def _add_classes(state: State, table: Any, true: Any, eps: float, weight: Any, valid: Any) -> None:
    right = table.gather(1, true[:, None])
    # Classes above the true one, and those level with it that stand further right.
    later = torch.arange(table.shape[1], device=table.device) > true[:, None]
    rank = ((table > right) | ((table == right) & later)).sum(dim=1)
    highest, right = table.amax(dim=1), right[:, 0]
    squares = table * table
    norm = squares.sum(dim=1)
    # Term by term, so that nothing cancels.
    distance = squares.scatter(1, true[:, None], ((1.0 - right) ** 2)[:, None]).sum(dim=1)
    case = CaseProbabilities(right, right.clamp(min=eps), distance, norm)
    hit = rank == 0
    losses, row_weight = _add(state, case, highest, hit, hit.double() - highest, right < eps, weight, valid)
    for row, values in enumerate((row_weight, *(losses * row_weight))):
        state["by_class"][row].scatter_add_(0, true, values)
    state["ranks"][0].scatter_add_(0, rank, row_weight)
    state["ranks"][1].scatter_add_(0, rank, row_weight * row_weight)


def _add(
    state: State, case: CaseProbabilities, p: Any, hit: Any, gap: Any, low: Any, weight: Any, valid: Any
) -> tuple[Any, Any]:
    """Add what is summed of every case by its key; gives the losses, and what each case counts."""
    counting = torch.ones_like(p) if valid is None else valid.double()
    losses = torch.stack([loss.formula(case) for loss in LOSSES.values()])
    number = counting.sum()
    # The first rows tell the centre; where none of them counts, the next ones do.
    mean = (losses * counting).sum(dim=1) / number.clamp(min=1)
    centre = torch.where(state["cases"].sum() > 0, state["centre"], mean)
    state["centre"].copy_(centre)
    away = losses - centre[:, None]
    powers = [away, away * away, away * away * away]
    terms = torch.cat([torch.stack([torch.ones_like(p), gap, gap * gap]), torch.stack(powers, dim=1).flatten(0, 1)])
    key = torch.bucketize(p, torch.linspace(0, 1, BINS + 1, dtype=p.dtype, device=p.device)[1:-1]) + BINS * hit.long()
    where = (key[:, None] == torch.arange(KEYS, device=p.device)).double()
    row_weight = counting if weight is None else counting * weight
    factor = counting
    for power in range(len(state["sums"])):
        factor = factor * (counting if weight is None else weight)
        state["sums"][power] += (terms * factor) @ where
    state["cases"] += (where * counting[:, None]).sum(dim=0).long()
    state["clipped"] += (low & (counting > 0)).sum()
    return losses, row_weight


def merge(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The sums of several processes, each about its own centre, about that of the first that counted a case."""
    counting = [part for part in parts if part["sums"][0, 0].any()] or list(parts[:1])
    centre = counting[0]["centre"]
    return {"centre": centre, "sums": np.sum([_about(part, centre) for part in counting], axis=0)}


def _about(part: Mapping[str, Any], centre: Floats) -> Floats:
    """The sums about another centre."""
    sums = np.array(part["sums"])
    for at, step in enumerate((part["centre"] - centre).tolist()):
        first = 3 + POWERS * at
        weight, *powers = part["sums"][:, [0, *range(first, first + POWERS)]].swapaxes(0, 1)
        one, two, three = powers
        sums[:, first] = one + step * weight
        sums[:, first + 1] = two + 2 * step * one + step**2 * weight
        sums[:, first + 2] = three + 3 * step * two + 3 * step**2 * one + step**3 * weight
    return sums


def probabilities(state: Mapping[str, Any]) -> Probabilities:
    """What was summed, as arrays of NumPy, in the form of evidence."""
    sums, centres = np.asarray(state["sums"], dtype=np.float64), np.asarray(state["centre"])
    firsts = range(3, TERMS, POWERS)
    by_power = [sums[:, [0, *range(first, first + POWERS)]].sum(axis=2) for first in firsts]
    losses = [Moments.of_powers(*own) for own in zip(centres.tolist(), by_power, strict=True)]
    ranks = np.asarray(state["ranks"], dtype=np.float64) if "ranks" in state else None
    by_class = _by_class(sums[0], centres) if ranks is None else np.asarray(state["by_class"], dtype=np.float64)
    # The weight, y − p and its square; these two with the squares of weights as well, where there are weights.
    binned = np.concatenate([sums[0, :3], *sums[1:2, 1:3]]).reshape(-1, 2, BINS)
    cases = np.asarray(state["cases"]).reshape(2, BINS)
    return Probabilities.of_sums(cases, binned, losses, by_class, int(state["clipped"]), ranks)


def _by_class(sums: Floats, centre: Floats) -> Iterable[Floats]:
    """Weight and losses of the negative and the positive class."""
    by_class = sums.reshape(TERMS, 2, BINS).sum(axis=2)
    weight = by_class[0]
    return [weight, *(middle * weight + away for middle, away in zip(centre, by_class[3::POWERS], strict=True))]
