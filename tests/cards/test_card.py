"""The card as a whole: its forms, its rows, its seeds, two of them side by side, and names that mean harm."""

from __future__ import annotations

import dataclasses
import json
import math
import re
import tracemalloc
from typing import Any

import joblib
import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.tree import DecisionTreeClassifier
from tests.cards.drawn_data import mixed_table, one_that_matters

import heldout
from heldout.cards.api import card
from heldout.cards.card import Card
from heldout.cards.questions import NAMES
from heldout.cards.size_and_speed import measure_speed
from heldout.errors import HeldoutError
from heldout.result import ROW_KEYS
from heldout.show.blocks import Section
from heldout.show.chart import Chart
from heldout.show.text import render_text

X, Y = one_that_matters(80)
QUICK: dict[str, Any] = {"plan": "3-fold", "shuffles": 2, "timing": False}


@pytest.fixture(scope="module")
def forest() -> Card:
    return card("forest:5", X, Y, **QUICK)


@pytest.fixture(scope="module")
def logistic() -> Card:
    return card("logistic", X, Y, **QUICK)


def test_rows_begin_alike_and_hold_every_part(forest):
    rows = forest.rows()
    assert all(tuple(row)[: len(ROW_KEYS)] == ROW_KEYS for row in rows)
    parts = ["performance", "size", "importance", "fidelity", "speed", "usefulness", "questions"]
    assert list(dict.fromkeys(row["part"] for row in rows)) == parts
    features = [row["feature"] for row in rows if row["measure"] == "brier_importance"]
    assert sorted(features) == ["x0", "x1", "x2"]
    assert len(forest.to_frame()) == len(rows)


@pytest.fixture(scope="module")
def majority() -> Card:
    return card("majority", X, Y, **QUICK)


def test_what_is_undefined_says_why_in_every_row(forest, majority):
    undefined = [row for row in [*forest.rows(), *majority.rows()] if math.isnan(row["value"])]
    assert undefined
    assert [row["measure"] for row in undefined if not row["undefined"]] == []


def test_the_document_survives_json_and_holds_the_whole_card(forest):
    document = json.loads(forest.to_json(), parse_constant=pytest.fail)
    assert document == forest.to_dict()
    assert document["schema"] == "heldout/card@1"
    assert document["size"]["trees"] == 5
    assert document["fidelity"]["text"] == forest.fidelity.text
    assert len(document["questions"]) == len(NAMES)
    assert len(document["usefulness"]["points"]) == 99


def test_the_same_seed_gives_the_same_card_and_another_another(forest):
    again, other = card("forest:5", X, Y, **QUICK), card("forest:5", X, Y, **QUICK, seed=1)
    assert again.to_json() == forest.to_json()
    assert other.importance.features != forest.importance.features


def test_the_performance_is_that_of_the_validation(logistic):
    validation: Any = heldout.validate("logistic", X, Y, plan="3-fold")
    found = dict(zip(logistic.performance.named, logistic.performance.estimates, strict=True))
    for name, estimate in (("accuracy", validation["accuracy"]), ("Brier score", validation["brier"])):
        assert (found[name].value, found[name].low, found[name].high) == pytest.approx(
            (estimate.value, estimate.low, estimate.high)
        )
    assert logistic.performance.commonest_share == pytest.approx(max(np.mean(Y), 1 - np.mean(Y)))
    assert "Better than always predicting" in logistic.performance.verdict
    assert logistic.fingerprint == validation.fingerprint


def test_the_screen_fits_a_page_and_full_shows_everything(forest):
    lines = str(forest).splitlines()
    assert max(map(len, lines)) <= 100
    assert len(lines) <= 60
    assert "14 of 14 questions that only a person can answer are unanswered: intended use" in " ".join(
        str(forest).split()
    )
    full = heldout_text(forest.full_blocks())
    assert full.count("unanswered") >= len(NAMES)
    assert "who makes that decision" in full


def heldout_text(blocks):
    return render_text(blocks)


def test_answers_make_a_new_card(forest):
    told = forest.answered(intended_use="Whom to call first.")
    assert len(forest.unanswered) == 14
    assert len(told.unanswered) == 13
    assert "Whom to call first." in heldout_text(told.full_blocks())
    (open_,) = (block for block in told.blocks() if getattr(block, "label", "") == "Open")
    assert "intended use" not in open_.text
    assert "Whom to call first." in str(told)
    with pytest.raises(HeldoutError, match="There is no question 'intended_usage'"):
        forest.answered(intended_usage="x")
    with pytest.raises(dataclasses.FrozenInstanceError):
        forest.answers = told.answers
    assert 'intended_use = "Whom to call first."' in told.questions()


def test_answers_come_from_a_file_or_a_dictionary(forest, tmp_path):
    place = tmp_path / "a.toml"
    place.write_text('labels = "By hand."', encoding="utf-8")
    assert "labels" not in forest.with_answers(place).unanswered
    given = card("majority", X, Y, **QUICK, answers={"labels": "By hand."})
    assert "labels" not in given.unanswered
    # An answer that was given stays unless another takes its place.
    assert len(forest.answered(consent="Yes.").with_answers(place).unanswered) == 12


def test_the_page_draws_importance_and_net_benefit(forest, tmp_path):
    sections = [block for block in forest.page_blocks() if isinstance(block, Section)]
    charts = {block.title: block for section in sections for block in section.blocks if isinstance(block, Chart)}
    assert list(charts) == ["Importance of the features", "Net benefit"]
    dots = charts["Importance of the features"].dots[0]
    assert dots.x == tuple(one.value for one in forest.importance.features)
    ticks = charts["Importance of the features"].y.ticks
    assert [name for _, name in ticks] == [one.feature for one in forest.importance.features]
    assert charts["Net benefit"].strokes[0].x == tuple(point.threshold for point in forest.usefulness.points)
    page = forest.write(tmp_path / "card.html").read_text(encoding="utf-8")
    assert "For a person to answer" in page


def test_two_cards_stand_side_by_side(forest, logistic):
    pair = forest.beside(logistic)
    text = str(pair)
    assert text.startswith("forest:5 beside logistic")
    assert re.search(r"trees +5 +0", text)
    assert "opaque" in text
    assert pair.differences == ()
    assert {row["learner"] for row in pair.rows()} == {"forest:5", "logistic"}
    assert json.loads(pair.to_json())["cards"][1]["learner"] == "logistic"
    assert forest.beside(forest).names == ("forest:5 (1)", "forest:5 (2)")
    with pytest.raises(HeldoutError, match="Got a str"):
        forest.beside("logistic")


def test_cards_that_do_not_compare_say_so(forest):
    fewer = card("tree:1", X[:60], Y[:60], **QUICK)
    other = card("svm", X, Y, **(QUICK | {"plan": "2-fold"}))
    assert forest.beside(fewer).differences[0].startswith("the cards are of different data")
    said = forest.beside(other).differences
    assert said[0].startswith("the models were tested on different splits")
    assert said[1] == "importance is a rise of the Brier score on one card and a drop in accuracy on the other"
    assert "! The models were tested on different splits" in str(forest.beside(other))


NAMES_THAT_MEAN_HARM = [
    "<script>alert(1)</script>",
    '"; DROP TABLE x',
    "=cmd()",
    "\x1b[2J",
    "עברית",
    "👩‍👩‍👧 & \\textbf{_}$",
    "|pipe|\nline",
    "long" * 2500,
]


def test_hostile_names_are_escaped_in_every_form(tmp_path):
    rng = np.random.default_rng(0)
    table = {name: rng.normal(size=60).tolist() for name in NAMES_THAT_MEAN_HARM}
    kind = np.where(rng.random(60) < 0.5, "<b>1</b>", "\\item | x")
    table["<i>"] = kind.tolist()
    target = np.where(kind == "<b>1</b>", "<img src=x onerror=alert(1)>", "a|b\n\x1b[31m").tolist()
    found = card("tree:2", table, target, plan="2-fold", shuffles=1, timing=False)
    found = found.answered(labels="<script>alert(2)</script> | \\input{x}")
    page = found.write(tmp_path / "c.html").read_text(encoding="utf-8")
    for form in (found.to_html(), page):
        assert "<script>alert" not in form
        assert "<img src=x" not in form
        assert "<b>1" not in form
    text = heldout_text(found.full_blocks())
    assert "\x1b" not in text
    assert max(map(len, text.splitlines())) <= 100
    assert "\x1b" not in found.to_markdown()
    assert "\\input{x}" not in found.write(tmp_path / "c.tex").read_text(encoding="utf-8")
    assert json.loads(found.to_json())["features"][0] == NAMES_THAT_MEAN_HARM[0]
    assert max(map(len, str(found.beside(found)).splitlines())) <= 100


def test_speed_is_told_and_the_machine_is_named_only_by_cores_and_python(majority):
    found = measure_speed(DummyClassifier().fit(X, Y), X, len(X))
    assert 0 < found.single.median <= found.single.slow
    assert found.batch.rows == 1000
    assert found.batch.rows_per_second == pytest.approx(1000 / found.batch.median)
    assert found.peak_bytes > 0
    assert set(found.document()) == {"single", "batch", "peak_bytes", "cores", "python", "undefined", "note"}
    assert majority.speed.undefined == "it was not asked for"
    timed = card("majority", X, Y, **(QUICK | {"timing": True}))
    assert "timings vary" in str(timed)


def test_memory_is_not_measured_where_somebody_else_is_measuring():
    tracemalloc.start()
    try:
        found = measure_speed(DummyClassifier().fit(X, Y), X, len(X))
        assert tracemalloc.is_tracing()
    finally:
        tracemalloc.stop()
    assert math.isnan(found.peak_bytes)


def test_objects_searches_and_workers_give_the_same_answers():
    search = GridSearchCV(DecisionTreeClassifier(random_state=0), {"max_depth": [1, 2]}, cv=2)
    found = card(search, X, Y, **(QUICK | {"plan": "holdout 1/2"}))
    assert found.size.trees == 1
    assert found.learner.startswith("GridSearchCV(")
    nested = card(search, X, Y, **(QUICK | {"plan": "nested 2-fold / 2-fold"}))
    assert nested.size.depth in (1, 2)
    model = RandomForestClassifier(3, random_state=0)
    with joblib.parallel_config("threading"):
        together = card(model, X, Y, **QUICK, jobs=2)
    assert together.to_json() == card(model, X, Y, **QUICK, jobs=1).to_json()


def test_groups_stay_together_and_positive_is_taken():
    table = mixed_table(60)
    group = (np.arange(60) // 3).tolist()
    found = card("tree:2", {**table, "who": group}, target="bought", group="who", positive="no", **QUICK)
    assert found.positive == "no"
    assert found.features == ("colour", "size")
    assert found.fidelity.method == "corrected-t"
    assert found.usefulness.method == "cluster-robust t"


class FailsWhenShuffled(DummyClassifier):  # type: ignore[misc]
    """Works on cases as they are, and not on mixtures of them."""

    def predict_proba(self, features):
        if len(features) and not np.isin(np.asarray(features).sum(axis=1), X.sum(axis=1)).all():
            raise RuntimeError("no such case")
        return super().predict_proba(features)


WRONG: dict[str, Any] = {
    "neither learner nor model": ({}, "Neither a learner nor a model was given", "model="),
    "both": ({"learner": "tree", "model": DummyClassifier()}, "A learner and a model were both given", "model="),
    "several learners": ({"learner": ["tree", "svm"]}, "A card is of one learner, and 2 were given", "beside"),
    "a learner of no name": ({"learner": "tre"}, "There is no learner 'tre'", "did you mean 'tree'?"),
    "no shuffles": ({"learner": "tree", "shuffles": 0}, "shuffles must be a whole number from 1 up", "shuffles"),
    "a level beyond all": ({"learner": "tree", "level": 95}, "level", "0.95"),
    "a plan of no name": ({"learner": "tree", "plan": "ten"}, "ten", ""),
    "no such positive": ({"learner": "tree", "positive": 7}, "The positive class 7 is not among the labels", ""),
    "answers of no kind": ({"learner": "tree", "answers": 3}, "The answers must be a dictionary", "answers="),
    "shuffled cases": ({"learner": FailsWhenShuffled()}, "failed in fold 1, when it was looked into", "predict rows"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_wrong_calls_are_refused_in_two_sentences(wrong):
    options, what, hint = WRONG[wrong]
    with pytest.raises(HeldoutError) as caught:
        card(**{"data": X, "y": Y, **options})
    assert what in caught.value.what
    assert hint in caught.value.hint
    assert caught.value.what.rstrip().endswith((".", "?"))


class FailsInOneFold(DummyClassifier):  # type: ignore[misc]
    def fit(self, features, y):
        if len(y) < 80 and features[0, 0] == X[0, 0]:
            raise RuntimeError("not these")
        return super().fit(features, y)


def test_folds_that_fail_are_left_out_and_counted_where_that_was_asked_for():
    with pytest.raises(HeldoutError, match="not these"):
        card(FailsInOneFold(), X, Y, **QUICK)
    found = card(FailsInOneFold(), X, Y, **QUICK, on_error="record")
    assert found.importance.folds == 1
    assert "1 of 3 splits gave predictions; the others are missing here" in found.notes
