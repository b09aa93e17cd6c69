"""The exact ROC area of scores on a device: one sort of keys that carry the class, and one sum."""

from __future__ import annotations

from typing import Any

from heldout.engines.tensors.column_bins import sort_keys


def measure_area(scores: Any, positive: Any) -> float:
    """The share of pairs of a positive and a negative case that floats of 32 bits rank right; ties count half.

    Within a tie the keys put negatives first. So positives at the places i, from 0, stand above Σi − P(P − 1)/2
    negatives in all, and half of the pairs in ties are taken off again.
    """
    import torch

    keys = sort_keys(scores, positive, 2)
    label = keys & 1
    n, positives = len(keys), int(label.sum(dtype=torch.int64))
    negatives = n - positives
    if not positives or not negatives:
        return float("nan")
    above = _sum_places(label) - positives * (positives - 1) // 2
    return (above - _count_ties(keys) / 2) / (positives * negatives)


def _sum_places(label: Any) -> int:
    """The sum of the places of the ones, some at a time: places of eight bytes would take more room than the keys."""
    import torch

    total, at_once = 0, 1 << 27
    for start in range(0, len(label), at_once):
        part = label[start : start + at_once]
        places = torch.arange(len(part), device=part.device, dtype=torch.int32)
        total = total + (places * part).sum(dtype=torch.int64) + part.sum(dtype=torch.int64) * start
    return int(total)


def _count_ties(keys: Any) -> int:
    """How many pairs of a positive and a negative case have one score."""
    import torch

    # Where a key is followed by the one that differs in the class alone, a tie of both classes is in between.
    last = ((keys[:-1] & 1) < (keys[1:] & 1)) & ((keys[:-1] ^ keys[1:]) == 1)
    at = last.nonzero()[:, 0]
    if not len(at):
        return 0
    before = torch.searchsorted(keys, keys[at])
    after = torch.searchsorted(keys, keys[at + 1], right=True)
    return int(((at + 1 - before) * (after - at - 1)).sum())
