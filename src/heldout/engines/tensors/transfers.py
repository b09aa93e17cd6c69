"""Bringing tensors to the processor's memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

# What is smaller is brought at once; bytes of a larger tensor that are brought at a time.
SMALL, AT_ONCE = 1 << 20, 1 << 24


def fetch(tensor: Any) -> NDArray[Any]:
    """A tensor as an array of NumPy.

    A device writes into memory of its own choosing, which is kept for the next time, and several times as fast as into
    memory that nobody has touched yet.
    """
    if not tensor.is_cuda or tensor.nbytes <= SMALL:
        array: NDArray[Any] = tensor.cpu().numpy()
        return array
    parts = tensor.contiguous().reshape(-1).split(AT_ONCE // tensor.element_size())
    staged = torch.empty(len(parts[0]), dtype=tensor.dtype, pin_memory=True)
    array = np.empty(tensor.numel(), dtype=staged.numpy().dtype)
    start = 0
    for part in parts:
        staged[: len(part)].copy_(part)
        array[start : start + len(part)] = staged[: len(part)].numpy()
        start += len(part)
    return array.reshape(tuple(tensor.shape))
