"""The exact ROC area of scores on a device: one sort of keys that carry the class, and a few sums."""

from __future__ import annotations

from typing import Any

import torch

from heldout.engines.tensors.column_bins import count_keys


def measure_area(scores: Any, positive: Any) -> float:
    """The share of pairs of a positive and a negative case that floats of 32 bits rank right; ties count half.

    Within a tie the keys put negatives first, so the negatives up to a positive are those below it and those that tie
    with it, of which half are taken off again. A tie of both classes is two keys that differ in the class alone.
    """
    keys, rows = count_keys(scores, positive, 2)
    label = keys & 1
    up, down = rows * label, rows * (1 - label)
    tied = (up[1:] * down[:-1]) * ((keys[1:] ^ keys[:-1]) == 1)
    numbers = torch.stack([up.sum(), down.sum(), (up * down.cumsum(0)).sum(), tied.sum()]).tolist()
    positives, negatives, pairs, ties = numbers
    return (pairs - ties / 2) / (positives * negatives) if positives and negatives else float("nan")
