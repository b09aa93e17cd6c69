"""The answer about many learners: which differ, which cannot be told apart, in words, rows and pictures."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heldout.comparisons.comparison import Comparison
from heldout.comparisons.corrections import CORRECTIONS
from heldout.comparisons.learner_ranks import groups_of, rank_learners
from heldout.errors import FileError, OptionError, ValuesError
from heldout.report.learner_ranks import lay_out_diagram
from heldout.result import ROW_KEYS

R = Path(__file__).parents[1] / "oracles" / "data" / "r"
DEMSAR = json.loads((R / "friedman_cochran.json").read_text(encoding="utf-8"))["demsar"]
FILE = R / "demsar_table6_auc.csv"
NASTY = ["a_b & 50 %", "{\\x} $y$", "<b>#~^</b>", "\x1b[31mred"]


def clear_winner(n=30, k=4):
    """Each learner beats the next on nearly every data set."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, k)) * 0.3 - np.arange(k)


@pytest.mark.parametrize("correction", ["holm", "hochberg", "bonferroni"])
def test_a_control_is_compared_as_in_r(correction):
    found = rank_learners(FILE, control="C4.5", correction=correction)
    key = {"bonferroni": "p_bonf"}.get(correction, f"p_{correction}")
    assert {pair.b: pair.p for pair in found.pairs} == pytest.approx(DEMSAR[key], rel=1e-9)
    assert {pair.a for pair in found.pairs} == {"C4.5"}


def test_demsars_verdicts():
    found = rank_learners(FILE, control="C4.5")
    assert found.correction == "holm"
    assert "C4.5+m is better than C4.5" in found.verdict
    assert "C4.5+m+cf is better than C4.5" in found.verdict
    assert "C4.5+cf is" not in found.verdict
    assert found.groups == (("C4.5+cf", "C4.5"),)
    pairs = rank_learners(FILE)
    assert pairs.correction == "nemenyi"
    assert pairs.critical_difference == pytest.approx(DEMSAR["CD_nemenyi_05"], rel=1e-7)
    assert "The learners differ over these 14 data sets (Iman–Davenport F 3.69, p .020)" in pairs.verdict
    assert "No pair can be told apart (Nemenyi, level 0.95)" in pairs.verdict
    # At 10 % the critical difference 1.118 is small enough for the best and the second against the worst.
    bolder = rank_learners(FILE, level=0.9)
    assert {(pair.ahead, pair.behind) for pair in bolder.pairs if pair.different} == {
        ("C4.5+m", "C4.5"),
        ("C4.5+m+cf", "C4.5"),
    }
    assert bolder.groups == (("C4.5+m+cf", "C4.5+m", "C4.5+cf"), ("C4.5+cf", "C4.5"))


def test_nothing_to_tell():
    found = rank_learners(np.random.default_rng(2).normal(size=(8, 3)))
    assert "cannot be told from these 8 data sets" in found.verdict
    assert "No pair" in found.verdict
    same = rank_learners(np.ones((6, 3)))
    assert {pair.p for pair in same.pairs} == {1}
    assert any("no difference between any of the learners" in note for note in same.notes)
    assert "equal on every data set" in str(same)
    assert "None can be told from learner 1" in rank_learners(np.ones((6, 3)), control="learner 1").verdict


@pytest.mark.parametrize("correction", [None, *CORRECTIONS])
def test_clear_differences_are_found_by_every_correction(correction):
    found = rank_learners(clear_winner(), correction=correction)
    assert "learner 1 is better than" in found.verdict
    assert all(pair.ahead < pair.behind for pair in found.pairs)
    extremes = next(pair for pair in found.pairs if (pair.a, pair.b) == ("learner 1", "learner 4"))
    assert extremes.different
    assert extremes.difference < 0
    assert extremes.wins + extremes.ties + extremes.losses == 30
    # Whoever stands in one group is not called different, and the other way round.
    together = {(a, b) for group in found.groups for a in group for b in group}
    for pair in found.pairs:
        assert ((pair.a, pair.b) in together) != pair.different


def test_rows_say_everything():
    found = rank_learners(FILE, correction="bonferroni")
    rows = found.rows()
    assert [row["measure"] for row in rows] == ["average_rank"] * 4 + ["rank_difference"] * 6
    assert all(tuple(row)[: len(ROW_KEYS)] == ROW_KEYS for row in rows)
    assert all(tuple(row) == tuple(rows[0]) for row in rows)
    for row in rows[4:]:
        low, value, high = (float(str(row[key])) for key in ("low", "value", "high"))
        assert low < value < high
        assert (low <= 0 <= high) != row["different"]
    assert json.loads(found.to_json()) == found.to_dict()
    assert found.to_dict()["schema"] == "heldout/ranks@1"
    assert found.to_frame().height == 10
    assert found.to_frame("pandas").shape[0] == 10
    nothing = rank_learners(FILE, correction="holm").rows()[4]
    assert np.isnan(float(str(nothing["low"])))


def test_every_form_reads():
    found = rank_learners(FILE)
    for text in (str(found), found.to_markdown(), found.to_html(), found.to_latex()):
        assert "C4.5+m+cf" in text
        assert "1.96" in text
        assert "Friedman" in text
    many = rank_learners(np.random.default_rng(1).normal(size=(10, 12)))
    assert "38 more pairs" in str(many)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"control": "C4.6"}, "no learner 'C4.6'"),
        ({"control": "C4.5", "correction": "nemenyi"}, "for all pairs"),
        ({"control": "C4.5", "correction": "shaffer"}, "for all pairs"),
        ({"correction": "nemeny"}, "nemenyi"),
        ({"correction": "holms"}, "no correction 'holms'"),
        ({"level": 95}, "between 0 and 1"),
    ],
)
def test_wrong_options_are_refused(options, said):
    with pytest.raises(OptionError, match=said):
        rank_learners(FILE, **options)


def groups_within(ranks, difference):
    """The groups of learners whose ranks lie less than a critical difference apart."""
    average = np.asarray(ranks, dtype=np.float64)
    return groups_of(average, np.abs(average[:, None] - average[None, :]) < difference)


def test_groups_of_those_within_a_critical_difference():
    ranks = [1.0, 1.5, 2.4, 4.0]
    assert groups_within(ranks, 1.0) == ((0, 1), (1, 2))
    assert groups_within(ranks, 2.0) == ((0, 1, 2), (2, 3))
    assert groups_within(ranks, 0.2) == ()
    assert groups_within(ranks, 9.0) == ((0, 1, 2, 3),)
    # A difference as large as the critical one is a difference.
    assert groups_within([1.0, 2.0], 1.0) == ()


@given(st.lists(st.integers(0, 40), min_size=2, max_size=9), st.integers(1, 40))
def test_groups_are_all_longest_runs(ranks, difference):
    found = groups_within(ranks, difference)
    ordered = sorted(ranks)
    ends = {(ordered[i], max(x for x in ordered if x - ordered[i] < difference)) for i in range(len(ranks))}
    longest = {(a, b) for a, b in ends if not any((c <= a and b <= d and (c, d) != (a, b)) for c, d in ends)}
    sizes = {(a, b): sum(a <= x <= b for x in ranks) for a, b in longest}
    assert {(ranks[g[0]], ranks[g[-1]]): len(g) for g in found} == {run: n for run, n in sizes.items() if n > 1}


def test_groups_of_a_table_need_not_be_runs():
    # The first and the third are alike, but neither is like the second.
    p = np.array([[1, 0.01, 0.5], [0.01, 1, 0.01], [0.5, 0.01, 1]])
    assert groups_of([1, 2, 3], p > 0.05) == ((0, 2),)
    with pytest.raises(ValuesError, match="symmetric"):
        groups_of([1, 2], [[True, False], [True, True]])


def test_critical_difference_and_p_values_make_the_same_groups():
    found = rank_learners(np.random.default_rng(5).normal(size=(20, 7)) - 0.4 * np.arange(7))
    names = found.table.learners
    by_difference = groups_within(list(found.average_ranks.values()), found.critical_difference)
    assert found.groups == tuple(tuple(names[at] for at in group) for group in by_difference)
    assert len(found.groups) > 1


def test_pairs_are_asked_for_as_those_of_a_comparison():
    found = rank_learners(FILE)
    first = found.pairs[0]
    assert found.get(first.a, first.b) is first
    assert (list(found), len(found), found.names) == (list(found.pairs), len(found.pairs), found.table.learners)
    assert found.p == found.tests[0].p
    with pytest.raises(OptionError, match="no comparison of 'x' with 'y'"):
        found.get("x", "y")


def test_the_diagram_is_drawn(tmp_path):
    found = rank_learners(FILE)
    for ending in ("svg", "json", "tex"):
        assert found.write(tmp_path / f"ranks.{ending}", "ranks").stat().st_size > 500
    svg = (tmp_path / "ranks.svg").read_text(encoding="utf-8")
    for name in found.table.learners:
        assert f"{name} (" in svg
    assert "critical difference 1.25" in svg
    assert found.chart().to_dict()["description"].endswith(found.verdict)
    # All differ: no bars, no ruler where the correction has none.
    plain = rank_learners(clear_winner(60, 3), correction="holm")
    assert plain.groups == ()
    assert "critical difference" not in plain.to_tikz()
    assert "All differ" in json.dumps(plain.chart().to_dict())
    with pytest.raises(FileError, match="cannot be written"):
        found.write(tmp_path / "nowhere" / "ranks.tex", "ranks")
    with pytest.raises(OptionError, match="a chart is written as"):
        found.write(tmp_path / "ranks.pgn", "ranks")


def test_names_and_bars_of_the_diagram_do_not_cover_each_other():
    found = rank_learners(np.random.default_rng(5).normal(size=(20, 9)) - 0.3 * np.arange(9))
    drawn = lay_out_diagram(found)
    assert {label.name for label in drawn.labels} == set(found.table.learners)
    places = {(label.side, label.depth) for label in drawn.labels}
    assert len(places) == 9
    assert len(drawn.bars) == len(found.groups) > 1
    for i, (left, right, depth) in enumerate(drawn.bars):
        assert depth < min(label.depth for label in drawn.labels)
        for other_left, other_right, other_depth in drawn.bars[:i]:
            assert depth != other_depth or right < other_left or other_right < left


def test_tikz_keeps_any_name_as_text():
    found = rank_learners(clear_winner(12, 4), correction="bonferroni")
    text = rank_learners({name: found.table.values[:, at] for at, name in enumerate(NASTY)}).to_tikz()
    assert r"a\_b \& 50 \%" in text
    assert r"\{\textbackslash{}x\} \$y\$" in text
    assert r"\textless{}b\textgreater{}\#\textasciitilde{}\textasciicircum{}" in text
    assert "\x1b" not in text
    assert text.count(r"\begin{tikzpicture}") == text.count(r"\end{tikzpicture}") == 1
    unescaped = re.sub(r"\\[{}]", "", text)
    assert unescaped.count("{") == unescaped.count("}")
    # Every statement ends, and is one of two that TikZ has by itself.
    body = [line for line in text.splitlines()[2:-1] if line]
    assert all(line.startswith((r"\draw", r"\node")) and line.endswith(";") for line in body)
    assert len([line for line in body if "node[left" in line or "node[right" in line]) == 4


def test_ranks_are_a_comparison_like_any_other():
    found = rank_learners(clear_winner())
    assert isinstance(found, Comparison)
    assert found.names == ("learner 1", "learner 2", "learner 3", "learner 4")
    first = found.get("learner 1", "learner 4")
    assert first.better == "a"
    assert first.p < 0.05
    assert first.verdict.startswith("learner 1 is better than learner 4: average ranks apart by ")
    same = rank_learners(np.ones((6, 3))).pairs[0]
    assert same.better == "undecided"
    assert same.verdict.startswith("learner 1 and learner 2 cannot be told apart")
    assert found.best is None
    with pytest.raises(OptionError, match="no value of its own"):
        found.models()
    with pytest.raises(OptionError, match="ranked over data sets by one measure"):
        found["accuracy"]
