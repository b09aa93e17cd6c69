"""Cases with scores that the tests of curves share."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

from heldout.engines.score_sort import rank

DATA = Path(__file__).parents[1] / "oracles" / "data"


def read(path):
    with (DATA / path).open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def band_of(curve) -> Any:
    """The band of a curve that has one."""
    assert curve.band is not None
    return curve.band


def diabetes():
    rows = read("weka/diabetes__NaiveBayes_predictions.csv")
    scores = np.array([float(row["p_tested_positive"]) for row in rows])
    return rank(scores, np.array([row["actual"] == "tested_positive" for row in rows]))


@st.composite
def scored(draw, *, weights=True):
    """Truth, scores with many ties, and weights or none; both classes occur."""
    n = draw(st.integers(2, 40))
    truth = np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    truth[:2] = True, False
    levels = draw(st.integers(1, 12))
    scores = np.array(draw(st.lists(st.integers(0, levels), min_size=n, max_size=n))) / max(levels, 1)
    weight = None
    if weights and draw(st.booleans()):
        weight = np.array(draw(st.lists(st.integers(1, 9), min_size=n, max_size=n))) / 4
    return truth, scores, weight
