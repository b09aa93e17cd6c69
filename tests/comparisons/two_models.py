"""Cases with the scores of two models that the tests of comparisons share."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
from hypothesis import strategies as st

from heldout.comparisons.delong import find_influence, resolve_scores

DATA = Path(__file__).parents[1] / "oracles" / "data" / "r"


def columns(name):
    with (DATA / name).open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return {key: [row[key] for row in rows] for key in rows[0]}


def asah():
    """Scores by name, and which cases had a poor outcome."""
    held = columns("aSAH.csv")
    scores = {name: np.array(held[name], dtype=np.float64) for name in ("s100b", "wfns", "ndka")}
    return scores, np.array(held["outcome"]) == "Poor"


def drawn(n=120, seed=0, distance=1.0, other=1.0, share=0.35, digits=6):
    """Two models whose scores of one case are correlated, and the mask of the positives."""
    rng = np.random.default_rng(seed)
    positive = rng.random(n) < share
    positive[:3], positive[3:6] = True, False
    easy = rng.normal(size=n)
    a, b = (
        (0.7 * easy + 0.7 * rng.normal(size=n) + gap * positive).round(digits) for gap in (distance, other)
    )  # fmt: skip
    return a, b, positive


def model_areas(scores, positive, *, weight=None, groups=None):
    """The areas of several models with their covariance, from one row of scores to a model."""
    rows, mask = resolve_scores(scores, positive)
    return find_influence(rows, mask, weight, groups).areas(len(mask))


def as_probabilities(scores):
    return 1 / (1 + np.exp(-(scores - 0.5)))


@st.composite
def two_models(draw):
    """Scores of two models with many ties, and the mask; each class has at least two cases."""
    n = draw(st.integers(6, 30))
    positive = np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    positive[:2], positive[2:4] = True, False
    levels = draw(st.integers(1, 15))
    a, b = (
        np.array(draw(st.lists(st.integers(0, levels), min_size=n, max_size=n)), dtype=np.float64) for _ in range(2)
    )
    return a, b, positive
