"""Curves keep the contract of results: rows, documents, frames and text."""

from __future__ import annotations

import json

import numpy as np
import pytest
from tests.curves.scored_cases import diabetes

from heldout.curves import (
    cost_curve,
    decision_curve,
    det,
    gain,
    lift,
    measure_curve,
    precision_recall,
    reliability,
    roc,
)

MADE = [
    roc,
    det,
    precision_recall,
    gain,
    lift,
    cost_curve,
    decision_curve,
    reliability,
    lambda r, **k: measure_curve(r, "f1", **k),
]


@pytest.mark.parametrize("made", MADE)
def test_rows_documents_and_frames(made):
    curve = made(diabetes(), positive="tested_positive")
    rows = curve.rows()
    assert len(rows) == len(curve)
    assert {"curve", "class", "x", "y"} <= set(rows[0])
    assert rows[0]["class"] == "tested_positive"
    document = json.loads(curve.to_json(), parse_constant=pytest.fail)
    assert document["schema"] == "heldout/curve@1"
    assert document["kind"] == curve.kind
    assert len(document["points"]) == len(curve)
    assert document["x"]["name"] == curve.x_scale.name
    frame = curve.to_frame()
    np.testing.assert_allclose(frame["y"].to_numpy(), curve.y)
    assert curve.title in str(curve)
    assert "positive is tested_positive" in str(curve)
    assert "<table" in curve.to_html()


def test_the_start_of_a_roc_curve_is_an_infinite_threshold():
    document = roc(diabetes()).to_dict()
    assert document["points"][0] == {
        "curve": "roc", "class": None, "threshold": "Infinity", "tp": 0, "fp": 0, "x": 0.0, "y": 0.0,
        "low": 0.0, "high": pytest.approx(0.01, abs=0.02), "level": 0.95, "method": "order-beta",
    }  # fmt: skip


def test_without_bands_there_are_no_limits():
    curve = roc(diabetes(), bands=None)
    assert "low" not in curve.rows()[0]
    assert np.isnan(curve.low).all()
    assert curve.to_dict()["band"] is None


def test_bins_stand_at_no_threshold():
    row = reliability(diabetes()).rows()[0]
    assert list(row) == [
        "curve",
        "class",
        "x",
        "y",
        "low",
        "high",
        "bin_low",
        "bin_high",
        "positives",
        "n",
        "level",
        "method",
    ]
