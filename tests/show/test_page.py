"""The page as a file: its policy, its names, its links and its size."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html import unescape

import pytest
from tests.show.sample_page import explorer, sample_page

from heldout.show.blocks import Column, Note, Number, Prose, Section, Span, Table, Title
from heldout.show.chart import Axis, Chart
from heldout.show.explorer import Explorer, Moving
from heldout.show.heatmap import SHADES
from heldout.show.html import FOLDER, page_policy, render_html, render_page


def test_the_policy_names_the_hashes_of_the_one_script_and_the_one_style() -> None:
    page = render_page(sample_page(), title="x")
    (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    (style,) = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    (meta,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    assert unescape(meta) == page_policy()
    for kind, text in (("script", script), ("style", style)):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in page_policy()
    assert page_policy().startswith("default-src 'none'; ")
    assert "unsafe" not in page_policy()
    # The policy must come before anything that it is to govern.
    assert page.index("Content-Security-Policy") < page.index("<link") < page.index("<style")


def test_nothing_on_the_page_names_another_place_or_carries_a_style() -> None:
    page = render_page(sample_page(), title="x")
    markup = re.sub(r"<(script|style)[^>]*>.*?</\1>", "", page, flags=re.DOTALL)
    assert not re.search(r"\sstyle=|\son\w+=|\ssrc=", markup)
    assert {address[:1] for address in re.findall(r'\shref="([^"]*)"', markup)} == {"#", "d"}
    assert "url(" not in page
    assert "@import" not in page


def test_every_link_points_to_something() -> None:
    page = render_page(sample_page(), title="x")
    ids = re.findall(r'\sid="([^"]*)"', page)
    assert len(set(ids)) == len(ids)
    assert set(re.findall(r'href="#([^"]*)"', page)) <= set(ids)
    assert 'href="#how-recall"' in page


def test_numbers_link_only_to_sections_that_are_there() -> None:
    table = Table((Column("n"),), ((Number(0.5, how="there"),), (Number(0.6, how="nowhere"),)))
    page = render_page([table, Section("There", (Prose("x"),), "there"), Note("y", code="there")], title="x")
    assert page.count('<a class="heldout-how" href="#there">.500</a>') == 1
    assert '<td class="heldout-figure">.600</td>' in page
    assert '<a class="heldout-how" href="#there">there</a>' in page
    assert "<a" not in render_html([table], style=False)


@pytest.mark.parametrize("name", ["a b", "heldout-main", "é<>", "", "x" * 500])
def test_names_become_ids_of_their_own(name: str) -> None:
    page = render_page([Section("s", (Prose("x"),), name), Section("t", (Prose("y"),), name)], title="x")
    ids = re.findall(r'<section id="([^"]*)"', page)
    assert len(set(ids)) == 2
    assert all(re.fullmatch(r"[\w.-]{1,70}", made, re.ASCII) for made in ids)
    assert "heldout-main" not in ids


def test_the_first_title_is_the_heading_and_otherwise_the_name_of_the_page() -> None:
    headed = render_page([Prose("x"), Title("one"), Title("two")], title="t")
    assert re.findall(r"<h(\d)[^>]*>(\w+)</h", headed)[:2] == [("1", "one"), ("2", "two")]
    assert '<h1 class="heldout-title" dir="auto">t</h1>' in render_page([Prose("x")], title="t")


def test_positions_and_limits_survive_the_payload_to_the_bit() -> None:
    moved = explorer()
    (text,) = re.findall(r"data-payload>(.*?)</script>", render_page([moved], title="x"), re.DOTALL)
    given = json.loads(text)
    assert tuple(given["positions"]) == moved.positions
    assert tuple(given["figures"][0]["low"]) == moved.figures[0].low
    assert given["knobs"][1] == ["miss", 5, 0, "Infinity"]


def test_a_long_explorer_stays_small() -> None:
    values = tuple(at / 1000 + 1e-17 for at in range(1000))
    figures = tuple(Moving(f"f{at}", f"f{at}", "a", values, values) for at in range(15))
    page = render_page([Explorer("t", values, 0, (("a", values),), (), figures=figures)], title="x")
    assert len(page.encode()) < 1_000_000


def test_under_the_slider_stand_the_values_of_even_places() -> None:
    values = tuple((at / 100) ** 2 for at in range(101))
    page = render_page([Explorer("t", values, 0, (("a", values),), ())], title="x")
    (scale,) = re.findall(r'class="heldout-scale"[^>]*>(.*?)</span></span>', page)
    assert re.findall(r"<span>([^<]*)", scale) == ["0", "0.062", "0.25", "0.56", "1"]
    assert re.findall(r'<option value="(\d+)">', page) == ["0", "25", "50", "75", "100"]
    one = render_page([Explorer("t", (0.5,), 0, (("a", (0.5,)),), ())], title="x")
    assert re.findall(r'<option value="(\d+)">', one) == ["0"]


def test_a_fragment_holds_an_explorer_still_and_runs_nothing() -> None:
    moved = explorer()
    chart = Chart("c", "d", Axis("x"), Axis("y"), moves=("position", 0.5))
    page = render_html([moved, chart])
    assert "<script" not in page
    assert "<input" not in page
    assert page.count("heldout-mark") > 0
    assert f"Threshold {moved.positions[moved.start]}" in page


def test_a_class_stands_for_every_shade() -> None:
    style = (FOLDER / "drawing.css").read_text(encoding="utf-8")
    assert {int(step) for step in re.findall(r"\.heldout-heat-(\d+)\{", style)} == set(range(1, SHADES + 1))
    assert f"const SHADES = {SHADES};" in (FOLDER / "explorer.js").read_text(encoding="utf-8")


def test_the_parts_of_a_long_title_stand_below_the_heading() -> None:
    page = render_page([Title("gate.csv · 12 cases · baseline: old", "seed 0")], title="t")
    assert '<h1 class="heldout-title" dir="auto">gate.csv</h1>' in page
    assert "12 cases · baseline: old · seed 0" in page


def test_drawn_intervals_stand_under_the_ends_of_their_track() -> None:
    table = Table((Column("a"), Column("")), (("x", Span(0.1, 0.0, 0.2, -0.5, 0.5)), ("y", None)))
    assert '<span class="heldout-ends"><span>-.5</span><span>.5</span></span>' in render_page([table], title="t")


def test_a_method_for_each_position_is_written_once_and_turned_round_with_them() -> None:
    figure = Moving("f", "f", 1.0, (0.1, 0.2, 0.3), (0.4, 0.5, 0.6), ("one", "two", "one"))
    page = render_page([Explorer("t", (0.3, 0.2, 0.1), 0, (), (), figures=(figure,))], title="t")
    (text,) = re.findall(r"data-payload>(.*?)</script>", page, re.DOTALL)
    given = json.loads(text)["figures"][0]
    assert [given["methods"][used] for used in given["used"]] == ["one", "two", "one"][::-1]
    assert page.count('title="one"') == 1
