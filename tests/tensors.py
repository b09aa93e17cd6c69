"""Rows for tests of tensors, in NumPy, and the devices on which they are counted."""

from __future__ import annotations

import numpy as np
import torch

DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
# Sums on a device differ from those of NumPy by less than this part of their size.
BOUND = 1e-12
N = 4000

_rng = np.random.default_rng(9)
# Of two classes: logits, probabilities, and the class; of four: logits, probabilities in floats of 32 bits, the class.
X = _rng.normal(size=N) * 3
P = 1 / (1 + np.exp(-X))
Y = (_rng.random(N) < P).astype(np.int64)
LOGITS = _rng.normal(size=(N, 4)).astype(np.float32) * 2
TABLE = torch.softmax(torch.from_numpy(LOGITS), dim=1).numpy()
K = _rng.integers(0, 4, N)
W = _rng.random(N) + 0.1


def moved(values, device):
    """An array as a tensor on a device; anything else as it is."""
    return torch.from_numpy(np.ascontiguousarray(values)).to(device) if isinstance(values, np.ndarray) else values
