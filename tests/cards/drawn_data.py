"""Small data sets whose secrets are known, for the tests of cards."""

from __future__ import annotations

import numpy as np


def one_that_matters(n=120, seed=0, noise=2, wrong=0.1):
    """The first column decides but for a share of wrong labels; the others are noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 1 + noise))
    y = (X[:, 0] > 0).astype(int)
    flipped = rng.random(n) < wrong
    return X, np.where(flipped, 1 - y, y)


def mixed_table(n=120, seed=0):
    """Categories, amounts and gaps, as a dictionary of columns; colour decides nearly alone."""
    rng = np.random.default_rng(seed)
    colour = rng.choice(["red", "green", "blue"], n)
    size = np.round(rng.normal(10, 3, n), 2)
    y = np.where((colour == "red") ^ (rng.random(n) < 0.05), "yes", "no")
    return {
        "colour": colour.tolist(),
        "size": [None if at % 17 == 0 else value for at, value in enumerate(size.tolist())],
        "bought": y.tolist(),
    }
