"""What is declared of a kind of curve is what errors, the page and the help say of it."""

from __future__ import annotations

import inspect

import pytest
from tests.curves.scored_cases import diabetes

import heldout.curves
from heldout.cli.flags import OPTIONS
from heldout.curves.declare import CURVE_KINDS, find_curve, find_kind, list_kinds


def test_every_kind_is_exported_and_found_by_all_its_names():
    for kind in CURVE_KINDS.values():
        assert kind.function in vars(heldout.curves).values()
    for kind in list_kinds():
        assert {find_curve(name) for name in (kind.name, *kind.aliases)} == {kind}


@pytest.mark.parametrize("kind", list_kinds(), ids=lambda kind: kind.name)
def test_a_curve_has_the_title_the_axes_and_the_references_of_its_kind(kind):
    curve = kind.compute(diabetes(), {"level": 0.9, "seed": 1, "positive": "tested_positive", "unknown": 0})
    assert find_kind(curve) is kind
    assert (curve.title, curve.x_scale, curve.y_scale) == (kind.title, kind.x, kind.y)
    assert curve.positive == "tested_positive"
    if "bands" in inspect.signature(kind.function).parameters:
        assert curve.band is not None
        assert curve.band.kind in kind.bands
        assert curve.band.level == 0.9
    assert len(curve.references) >= len(kind.references(0.5))


def test_the_help_names_every_curve():
    # Written there, not read: importing the curves would triple the time that `heldout --help` takes to start.
    names = ", ".join(min((kind.name, *kind.aliases), key=len) for kind in list_kinds())
    assert f": {names}, or a measure" in OPTIONS["charts"].help
