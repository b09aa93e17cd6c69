"""Probabilities tallied in long blocks, and in parts that are merged, are those tallied at once."""

from dataclasses import fields

import numpy as np
import pytest

from heldout.engines.probability_sums import LONG_BLOCK, SHORT, dot, tally


@pytest.mark.parametrize("size", [10_000, 80_000, 300_000])
def test_pieces_of_any_length_give_what_one_column_gives(size):
    rng = np.random.default_rng(5)
    p = rng.random(300_000)
    # Certain ones, which are clipped when wrong, and some on the borders of bins and next to them.
    p[::50], p[1::50] = 0.0, 1.0
    p[2::50] = rng.integers(0, 11, 6000) / 10
    p[3::50] = np.nextafter(np.linspace(0, 1, 11)[rng.integers(0, 10, 6000)], 1)
    y = rng.random(300_000) < 0.5
    parts = [tally(p[at : at + size], y[at : at + size], block=LONG_BLOCK) for at in range(0, len(p), size)]
    seen, expected = sum(parts[1:], parts[0]), tally(p, y)
    assert len(p) > LONG_BLOCK
    assert (seen.n, seen.clipped) == (expected.n, expected.clipped)
    assert seen.clipped > 1000
    assert np.array_equal(seen.reliability.cases, expected.reliability.cases)
    for name in ("brier", "log_loss"):
        one, two = seen.losses[name], expected.losses[name]
        assert one.total == pytest.approx(two.total, rel=1e-12)
        assert one.sums[:, [0, 2, 3]] == pytest.approx(two.sums[:, [0, 2, 3]], rel=1e-11)
        assert seen.class_losses[name] == pytest.approx(expected.class_losses[name], rel=1e-12)
    assert seen.class_weight == pytest.approx(expected.class_weight, rel=1e-12)
    for field in fields(seen.reliability):
        one, two = (getattr(held.reliability, field.name) for held in (seen, expected))
        assert one == pytest.approx(two, rel=1e-10, abs=1e-9)


@pytest.mark.parametrize("size", [0, 3, SHORT, SHORT + 1, 5 * SHORT - 1])
def test_a_long_product_is_the_sum_of_products(size):
    whole = np.random.default_rng(6).integers(-9, 9, (2, size)).astype(float)
    assert dot(*whole) == (whole[0] * whole[1]).sum()
