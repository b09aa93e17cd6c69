"""The generator behind each repetition of a plan: independent streams of one seed."""

from __future__ import annotations

import numpy as np

from heldout.plans.options import whole


def stream(seed: int, number: int) -> np.random.Generator:
    """The generator of repetition `number`, counted from 0: the stream that `SeedSequence.spawn` gives it.

    Repetition 0 is the same however many follow it, so "10-fold" is the first repetition of "10x10-fold".

    >>> int(stream(7, 0).integers(100)) == int(stream(7, 0).integers(100)), stream(7, 0) is stream(7, 1)
    (True, False)
    """
    return np.random.default_rng(np.random.SeedSequence(whole(seed, "The seed", 0, 1, most=None), spawn_key=(number,)))
