"""Charts as drawn: every place is where its numbers say, and nothing is drawn where there is none."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heldout.show.chart import Axis, Chart, Dots, Ribbon, Stroke, Tone
from heldout.show.svg import DASHES, chart_svg, find_ticks, frame_chart

NAN = float("nan")
EMPTY = Chart("title", "what it shows", Axis("x", 0, 10), Axis("y", -1, 1))


def drawn(chart: Chart) -> ET.Element:
    return ET.fromstring(chart_svg(chart))


def walked(path: str) -> list[list[tuple[float, float]]]:
    """The places of a path made of absolute moves and relative lines."""
    runs: list[list[tuple[float, float]]] = []
    for command, text in re.findall(r"([MlZh])([^MlZh]*)", path):
        steps = [float(part) for part in text.split()]
        if command == "M":
            runs.append([(steps[0], steps[1])])
        elif command == "l":
            x, y = runs[-1][-1]
            runs[-1].append((x + steps[0], y + steps[1]))
    return runs


@given(st.lists(st.tuples(st.floats(0, 10), st.floats(-1, 1)), min_size=2, max_size=200))
def test_a_line_goes_through_its_points_to_a_tenth_of_a_unit(points: list[tuple[float, float]]) -> None:
    x, y = zip(*points, strict=True)
    chart = replace(EMPTY, strokes=(Stroke(x, y),))
    frame = frame_chart(chart)
    path = next(e for e in drawn(chart).iter("path") if "heldout-stroke" in e.get("class", ""))
    (run,) = walked(path.get("d", ""))
    wanted = [(frame.across(a), frame.down(b)) for a, b in points]
    # Points that fall on the same tenth are written once.
    for place in wanted:
        assert min(abs(place[0] - a) + abs(place[1] - b) for a, b in run) <= 0.11
    for a, b in run:
        assert min(abs(a - place[0]) + abs(b - place[1]) for place in wanted) <= 0.11


def test_axes_run_from_their_low_to_their_high_end() -> None:
    frame = frame_chart(EMPTY)
    assert (frame.across(0), frame.across(10)) == (frame.left, frame.left + frame.width)
    assert (frame.down(1), frame.down(-1)) == (frame.top, frame.top + frame.height)
    turned = frame_chart(replace(EMPTY, x=Axis("x", 10, 0)))
    assert turned.across(10) == turned.left


def test_what_is_undefined_breaks_a_line() -> None:
    chart = replace(EMPTY, strokes=(Stroke((0, 1, 2, 3, 4), (0, 0.5, NAN, 0.5, 0)),))
    path = next(e for e in drawn(chart).iter("path") if "heldout-stroke" in e.get("class", ""))
    assert [len(run) for run in walked(path.get("d", ""))] == [2, 2]


def test_a_ribbon_goes_there_and_back() -> None:
    chart = replace(EMPTY, ribbons=(Ribbon((0, 10), (-0.5, -0.5), (0.5, 1)),))
    frame = frame_chart(chart)
    path = next(e for e in drawn(chart).iter("path") if "heldout-ribbon" in e.get("class", ""))
    (run,) = walked(path.get("d", ""))
    corners = [(0, 0.5), (10, 1), (10, -0.5), (0, -0.5)]
    for (x, y), (a, b) in zip(run, corners, strict=True):
        assert (x, y) == pytest.approx((frame.across(a), frame.down(b)), abs=0.11)


def test_dots_have_limits_where_they_are_known_and_areas_in_proportion() -> None:
    dots = Dots((1, 2, 3), (0.1, 0.2, NAN), (0.0, NAN, 0), (0.2, NAN, 0), size=(1, 4, 9))
    group = next(e for e in drawn(replace(EMPTY, dots=(dots,))).iter("g") if "heldout-dots" in e.get("class", ""))
    assert [("reach" in e.get("class", "")) for e in group] == [True, False, False]
    scales = [float(re.findall(r"scale\(([\d.]+)\)", e.get("transform", ""))[0]) for e in group[1:]]
    assert scales[0] < scales[1]


def test_lines_are_told_apart_without_colour() -> None:
    tones: tuple[Tone, ...] = ("accent", "second", "third", "fourth", "fifth", "sixth", "seventh")
    assert len({DASHES[tone] for tone in tones}) == len(tones)
    chart = replace(EMPTY, strokes=tuple(Stroke((0, 1), (0, 1), tone, tone) for tone in tones))
    lines = [e for e in drawn(chart).iter("path") if "heldout-stroke" in e.get("class", "")]
    assert len({e.get("stroke-dasharray", "") for e in lines}) == len(tones)


def test_a_chart_is_named_and_described() -> None:
    svg = drawn(replace(EMPTY, title='a "b" <c>'))
    assert (svg.get("role"), svg.get("aria-label"), svg.findtext("desc")) == ("img", 'a "b" <c>', "what it shows")


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6))
def test_ticks_are_few_even_and_within_the_axis(low: float, length: float) -> None:
    marked = find_ticks(Axis("x", low, low + length))
    assert 2 <= len(marked) <= 11
    places = [place for place, _ in marked]
    assert all(low - 1e-6 * length <= place <= low + length * (1 + 1e-6) for place in places)
    gaps = [b - a for a, b in pairwise(places)]
    assert gaps == pytest.approx([gaps[0]] * len(gaps), rel=1e-3)
    assert len({label for _, label in marked}) == len(marked)


def test_ticks_that_were_given_are_kept() -> None:
    given_ticks = ((0.0, "none"), (1.0, "all"))
    assert find_ticks(Axis("x", 0, 1, given_ticks)) == given_ticks
    assert find_ticks(Axis("x", 0, 0.5, given_ticks)) == given_ticks[:1]
