"""Arrays on an accelerator: tensors of torch, and what CuPy and JAX hold there, taken over without copying."""

from __future__ import annotations

import sys
from typing import Any


def as_tensor(values: Any) -> Any:
    """The tensor of torch that values are or, by way of DLPack, share memory with; None for everything else.

    Nothing is imported for a look: what no library made that is loaded already is not from it.

    >>> as_tensor([0, 1]) is None
    True
    """
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(values, torch.Tensor):
        return values.detach()
    library = type(values).__module__.partition(".")[0]
    if library not in ("cupy", "jaxlib", "jax") or not hasattr(values, "__dlpack__"):
        return None
    try:
        from torch.utils import dlpack
    except ImportError:
        return None
    try:
        return dlpack.from_dlpack(values)
    except (BufferError, RuntimeError, TypeError, ValueError):
        # A kind of number that DLPack does not carry; as an array of NumPy it may be read.
        return None


def device_tensor(values: Any) -> Any:
    """The same, only where it lies on an accelerator that counts: not in the processor's memory, and not on Metal.

    Metal has no floats of 64 bits, in which sums are made, and its memory is the processor's.
    """
    tensor = as_tensor(values)
    return None if tensor is None or tensor.device.type in ("cpu", "mps", "meta") else tensor


def holds_fractions(tensor: Any) -> bool:
    """Whether a tensor can be scores and no labels: floats of which some are not whole, or a column for each class."""
    if not tensor.is_floating_point():
        return False
    if tensor.ndim == 2 and tensor.shape[1] > 1:
        return True
    return bool((tensor.isfinite() & (tensor != tensor.floor())).any())
