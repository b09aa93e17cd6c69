"""Charts are drawn for real: SVG, PNG, a page without the network, and the Vega-Lite document."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import numpy as np
import pytest
from tests.curves.scored_cases import diabetes, read

from heldout.curves import (
    cost_curve,
    decision_curve,
    det,
    gain,
    interpolated,
    lift,
    measure_curve,
    overlay,
    precision_recall,
    reliability,
    roc,
    save_chart,
)
from heldout.curves.curve_chart import draw_alone
from heldout.engines.score_sort import rank
from heldout.errors import FileError, OptionError
from heldout.evidence.ranking import Ranking

PNG = b"\x89PNG\r\n\x1a\n"
MADE = {
    "roc": roc,
    "simultaneous": lambda r: roc(r, "simultaneous"),
    "hull": lambda r: roc(r).hull(),
    "det": det,
    "precision-recall": precision_recall,
    "interpolated": lambda r: interpolated(precision_recall(r)),
    "gain": gain,
    "lift": lift,
    "cost": cost_curve,
    "decision": decision_curve,
    "reliability": reliability,
    "f1": lambda r: measure_curve(r, "f1"),
    "mcc": lambda r: measure_curve(r, "mcc", 21),
}
UNBANDED = ("hull", "interpolated", "cost", "reliability")


@pytest.mark.parametrize("kind", MADE)
def test_every_curve_is_drawn(kind, tmp_path):
    curve = MADE[kind](diabetes())
    svg = curve.save(tmp_path / "curve.svg").read_text(encoding="utf-8")
    percent = ", in %" if curve.x_scale.drawn == "probit" else ""
    axes = (f"{scale.title}{percent}" for scale in (curve.x_scale, curve.y_scale))
    for words in (curve.title, *axes, *(line.name for line in curve.references)):
        assert f">{words}</text>" in svg
    assert re.search(r'<svg role="img" aria-label="[^"]{40,}"', svg)
    # A line of the accent colour with many corners, or the dots of the bins.
    lines = re.findall(r'class="heldout-stroke heldout-tone-accent" d="([^"]*)"', svg)
    assert max(map(len, lines), default=0) > 80 or kind == "reliability"
    assert ".heldout-tone-accent{color:#0072B2}" in svg
    png = curve.save(tmp_path / "curve.PNG").read_bytes()
    assert png.startswith(PNG)
    width, height = (int.from_bytes(png[at : at + 4], "big") for at in (16, 20))
    assert width > 700
    assert height > 600
    assert len(png) > 10_000


@pytest.mark.parametrize("kind", [kind for kind in MADE if kind not in UNBANDED])
def test_the_band_is_drawn(kind):
    spec = MADE[kind](diabetes()).chart().to_dict()
    (area,) = (layer for layer in spec["layer"] if layer.get("mark", {}).get("type") == "area")
    values = spec["datasets"][area["data"]["name"]] if "name" in area["data"] else area["data"]["values"]
    assert len(values) > 10
    assert all(record["low"] <= record["high"] for record in values)


def test_the_page_needs_no_network(tmp_path):
    page = roc(diabetes()).write(tmp_path / "roc.html", "roc").read_text(encoding="utf-8")
    assert "<script" not in page
    outside = re.findall(r"<(?:script|link|img|iframe)\b[^>]*\b(?:src|href)\s*=\s*[\"']?(?:https?:)?//[^>]*>", page)
    assert outside == []
    assert re.search(r"@import|import\s*\(\s*[\"']https?:|fetch\(\s*[\"']https?:", page) is None
    assert "<title>ROC curve" in page
    assert re.search(r"<title>threshold: [\d.]+\ntrue positives: \d+\n", page), "what is told of a point"


def test_the_document_is_vega_lite(tmp_path):
    curve = precision_recall(diabetes())
    spec = json.loads(curve.write(tmp_path / "pr.json", curve.kind).read_text(encoding="utf-8"))
    assert spec["$schema"].endswith(".json")
    assert "vega-lite" in spec["$schema"]
    assert "Average precision" in spec["title"]["subtitle"][0]
    assert spec["description"].startswith("Precision-recall curve")


def test_tooltips_tell_the_threshold_and_the_counts():
    spec = roc(diabetes()).chart().to_dict()
    assert spec["usermeta"]["embedOptions"]["actions"]["editor"] is False
    titles = {tip["title"] for layer in spec["layer"] for tip in layer.get("encoding", {}).get("tooltip", [])}
    assert {"threshold", "true positives", "false positives", "recall", "low", "high"} <= titles


def test_a_long_curve_reaches_vega_thinned():
    rng = np.random.default_rng(0)
    truth = rng.random(200_000) < 0.3
    spec = roc(rank(rng.normal(size=200_000) + truth, truth)).chart().to_json()
    assert len(spec) < 500_000


def test_a_hull_can_stand_beside_the_curve():
    curve = roc(diabetes())
    assert [stroke.name for stroke in draw_alone(curve, hull=True).strokes] == ["chance", "", "convex hull"]
    assert "convex hull" in json.dumps(curve.chart(hull=True).to_dict())


def test_overlay(tmp_path):
    rows = read("r/aSAH.csv")
    truth = np.array([row["outcome"] == "Poor" for row in rows])
    names = ["s100b", "wfns", "ndka"]
    curves = [roc(rank(np.array([float(row[name]) for row in rows]), truth)) for name in names]
    svg = save_chart(overlay(curves, names), tmp_path / "all.svg").read_text(encoding="utf-8")
    for words in ("s100b (.731)", "wfns (.824)", "ndka (.612)", "chance", "Beside each name: area under the curve."):
        assert f">{words}</text>" in svg
    for colour in ("#0072B2", "#D55E00", "#009E73"):
        assert colour in svg
    for made in (precision_recall, det, reliability):
        both = [made(Ranking(np.array([0.9, 0.1]), np.array([3, 1]), np.array([a, 4]))) for a in (1, 2)]
        assert "<svg" in save_chart(overlay(both, ["a", "b"]), tmp_path / "both.svg").read_text(encoding="utf-8")


def test_overlays_that_make_no_sense_are_refused():
    curve = roc(diabetes())
    with pytest.raises(OptionError, match="different kinds"):
        overlay([curve, gain(diabetes())], ["a", "b"])
    with pytest.raises(OptionError, match="different kinds"):
        overlay([measure_curve(diabetes(), "f1"), measure_curve(diabetes(), "mcc")], ["a", "b"])
    with pytest.raises(OptionError, match="Got 2 curves and 1 different names"):
        overlay([curve, curve], ["a", "a"])
    with pytest.raises(OptionError, match="8 curves in one chart"):
        overlay([curve] * 8, list("abcdefgh"))


def test_small_curves_are_drawn(tmp_path):
    one = Ranking(np.array([0.5]), np.array([1]), np.array([1]))
    two = Ranking(np.array([0.9, 0.1]), np.array([1, 0]), np.array([0, 1]))
    for ranking in (one, two):
        curves = [made(ranking) for made in MADE.values()]
        defined = [curve for curve in curves if not curve.undefined]
        assert len(defined) >= len(MADE) - 1
        for curve in defined:
            spec = curve.chart().to_dict()
            assert spec["vconcat" if curve.kind == "reliability" else "layer"]
    for made in (roc, det, reliability):
        assert made(two).save(tmp_path / "small.svg").stat().st_size > 1000


def test_endings_and_folders(tmp_path):
    curve = roc(diabetes())
    with pytest.raises(OptionError, match=r"roc\.jpg ends in '\.jpg'"):
        curve.write(tmp_path / "roc.jpg", curve.kind)
    with pytest.raises(FileError, match="cannot be written"):
        curve.write(tmp_path / "missing" / "roc.json")


def test_curves_are_made_without_loading_altair():
    code = (
        "import sys, numpy as np; from heldout.curves import roc; from heldout.evidence.ranking import Ranking; "
        "roc(Ranking(np.array([0.9, 0.1]), np.array([3, 1]), np.array([1, 4]))).to_json(); "
        "print(sorted({'altair', 'vl_convert', 'scipy.stats', 'sklearn', 'pandas'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
