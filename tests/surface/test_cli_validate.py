"""`heldout validate` as a person meets it: what it prints and writes, what it refuses, and how it is interrupted."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.surface.learning_files import FILES, WRONG, check_two_sentences, flags, interrupt

import heldout
from heldout.cli.flags import read_jobs
from heldout.cli.learners import read_grid
from heldout.errors import HeldoutError

HELDOUT = Path(sys.executable).with_name("heldout")
KNN = ("ok.csv", "knn:5")

WRONG_PLANS = {
    "a class with fewer cases than folds": (
        "rare.csv",
        "knn:5",
        {},
        "Class 'maybe' (2 cases) has too few cases",
        "'10-fold unstratified'",
    ),
    "ten folds of eleven rows": ("eleven.csv", "knn:1", {}, "'no' (6 cases), 'yes' (5 cases)", "at most 5 folds"),
    "fewer groups than folds": (
        "groups.csv",
        "knn:5",
        {"group": "place", "plan": "5-fold"},
        "There are 3 groups, and a plan of 5 folds needs at least 5",
        "fewer folds",
    ),
    "one fold": (*KNN, {"plan": "1-fold"}, "The number of folds must be at least 2. Got 1", "such as 10"),
    "a share above one": (*KNN, {"plan": "holdout 1.5"}, "must lie between 0 and 1. Got 1.5", "2/3"),
    "a share of nothing": (*KNN, {"plan": "holdout 0"}, "must lie between 0 and 1. Got 0", "2/3"),
    "more folds than rows": (*KNN, {"plan": "61-fold unstratified"}, "61", ""),
    "a slip in the plan": (*KNN, {"plan": "10-fodl"}, "There is no plan '10-fodl'.", "'10-fold'"),
    "no plan at all": (*KNN, {"plan": "xyz"}, "There is no plan 'xyz'.", "'leave-one-out'"),
    "nothing to tune": (*KNN, {"plan": "nested 5-fold / 3-fold"}, "there is nothing to tune", "--grid"),
    "no such fold column": (*KNN, {"fold": "clas"}, "no column 'clas'", "mean 'class'?"),
    "a fold column and a plan": (*KNN, {"fold": "b", "plan": "5-fold"}, "by a column and by the plan", "leave out"),
    "one fold in a column": ("one-fold.csv", "knn:5", {"fold": "part"}, "holds 1 value, and at least 2", "10-fold"),
    "unknown measure": (*KNN, {"measures": ["acuracy"]}, "no measure 'acuracy'", "did you mean 'accuracy'?"),
    "unknown class": (*KNN, {"measures": ["recall[maybe]"]}, "no class 'maybe'", "these"),
    "costs that nobody gave": (*KNN, {"measures": ["total_cost"]}, "needs costs", "--costs"),
    "no file of costs": (*KNN, {"costs": "cost.csv"}, "no file cost.csv", ""),
    "unknown positive": (*KNN, {"positive": "maybe"}, "'maybe' is not among the labels: 'no', 'yes'", "one of these"),
    "unknown method": (*KNN, {"method": "wilsn"}, "no interval method 'wilsn'", "did you mean 'wilson'?"),
    "a method of one model": (*KNN, {"method": "delong", "measures": ["roc_auc"]}, "those of one model", "corrected-t"),
}
EVERY: dict[str, Any] = {**WRONG, **WRONG_PLANS}

# What only the command line can get wrong.
CALLS = {
    "no file": ("--learner knn:5", "There is no file to learn from.", "heldout validate data.csv"),
    "no learner": ("ok.csv", "There is no learner: say what to fit.", "--learner knn:5"),
    "jobs of words": ("ok.csv --learner knn:5 --jobs many", "Got 'many'", "--jobs 4"),
    "no jobs": ("ok.csv --learner knn:5 --jobs 0", "--jobs must be auto or a whole number", "--jobs 4"),
    "a grid without values": (
        "ok.csv --learner knn:5 --grid n_neighbors",
        "--grid 'n_neighbors' is not SETTING=VALUE,VALUE",
        "n_neighbors=1,3,5",
    ),
    "a slip in the grid": (
        "ok.csv --learner knn:5 --grid n_neighbours=1,3",
        "no setting 'n_neighbours'",
        "did you mean 'n_neighbors'?",
    ),
    "a grid of wrong values": (
        "ok.csv --learner knn:5 --grid n_neighbors=0",
        "The 'n_neighbors' parameter of KNeighborsClassifier must be an int",
        "",
    ),
    "no such folder": ("ok.csv --learner knn:5 --json none/x.json", "there is no folder none", "folder that exists"),
    "predictions into no folder": (
        "ok.csv --learner knn:5 --predictions none/x.csv",
        "--predictions cannot write none/x.csv: there is no folder none",
        "folder that exists",
    ),
    "predictions over the data": (
        "ok.csv --learner knn:5 --predictions ok.csv",
        "--predictions would overwrite the input",
        "its own name",
    ),
    "predictions of two learners": (
        "ok.csv --learner knn:5 --learner tree --predictions p.csv",
        "there are several",
        "each learner by itself",
    ),
    "a level that is no number": (
        "ok.csv --learner knn:5 --level high",
        "--level must be a number. Got 'high'",
        "--level 0",
    ),
    "a slip in an option": ("ok.csv --lerner knn:5", "no option --lerner", "did you mean --learner"),
}


@pytest.fixture
def here(tmp_path, monkeypatch):
    for name, content in FILES.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    (tmp_path / "one-fold.csv").write_text(
        FILES["ok.csv"].replace("class\n", "class,part\n").replace("no\n", "no,1\n").replace("yes\n", "yes,1\n"),
        encoding="utf-8",
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


def names(folder):
    return sorted(path.name for path in folder.iterdir() if path.name != "__pycache__")


@pytest.mark.parametrize("wrong", EVERY)
def test_the_command_refuses_in_two_sentences_and_status_2(wrong, here, run):
    data, learner, options, what, hint = EVERY[wrong]
    before = names(here)
    status, output, said = run("validate", data, "--learner", learner, *flags(options))
    assert (status, output) == (2, "")
    check_two_sentences(said, what, hint)
    assert names(here) == before


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("wrong", EVERY)
def test_the_library_refuses_the_same(wrong):
    data, learner, options, what, hint = EVERY[wrong]
    with pytest.raises(HeldoutError) as caught:
        heldout.validate(learner, data, **options).rows()
    assert what in caught.value.what
    assert hint in caught.value.hint


@pytest.mark.parametrize("wrong", CALLS)
def test_a_wrong_call_ends_in_two_sentences_and_status_2(wrong, here, run):
    call, what, hint = CALLS[wrong]
    before = names(here)
    status, output, said = run("validate", *call.split())
    assert (status, output) == (2, "")
    check_two_sentences(said, what, hint)
    assert names(here) == before


@pytest.mark.parametrize(
    ("X", "y", "learner", "what", "hint"),
    [
        (np.ones((5, 2)), [0, 1, 0, 1], "knn:1", "The features have 5 rows, but y has 4 values", "one value per row"),
        (np.ones((40, 2)), np.linspace(0, 1, 40), "knn:1", "The target looks continuous", "regression"),
        (np.ones((4, 2)), [0, 0, 0, 0], "knn:1", "has one class only: all 4 rows are 0", "two classes"),
        (np.ones((4, 2)), None, "knn:1", "holds features but no classes", "second argument"),
        (None, None, "knn:1", "There is no data to learn from", "features and the classes"),
        (np.ones((4, 2)), [0, 1, 0, 1], [], "There is no learner", "knn:5"),
        (np.ones((4, 2)), [0, 1, 0, 1], object(), "has no fit", "fit and predict"),
        (np.ones((0, 2)), [], "knn:1", "no rows", ""),
    ],
)
def test_arrays_that_cannot_be_right_are_refused(X, y, learner, what, hint):
    with pytest.raises(HeldoutError) as caught:
        print(heldout.validate(learner, X, y, plan="2-fold"))
    assert what in caught.value.what
    assert hint in caught.value.hint


@pytest.mark.usefixtures("here")
def test_what_stratifying_cannot_do_goes_without(run):
    status, output, _ = run("validate", "rare.csv", "--learner", "knn:5", "--plan", "10-fold unstratified")
    assert status == 0
    assert output.startswith("knn:5 · rare.csv · 10-fold unstratified · 62 cases · 3 classes")
    assert run("validate", "eleven.csv", "--learner", "knn:1", "--plan", "10-fold unstratified")[0] == 0


@pytest.mark.usefixtures("here")
def test_odd_names_and_numbers_as_classes_are_taken_as_they_are(run):
    status, output, said = run("validate", "odd.csv", "--learner", "knn:5", "--target", "klasse ☃", "--full")
    assert (status, said) == (0, "")
    assert "ja 👍" in output
    assert "n[e]in" in output
    call = ["validate", "odd.csv", "--learner", "tree", "--target", "klasse ☃", "--measure", "recall[n[e]in]"]
    assert "n[e]in" in run(*call)[1]
    status, output, _ = run("validate", "numbers.csv", "--learner", "knn:5", "--measure", "recall[2]", "--json", "-")
    held = json.loads(output)["validations"][0]
    assert (held["estimates"][0]["measure"], held["estimates"][0]["class"]) == ("recall", 2)
    assert held["confusion"]["labels"] == [0, 1, 2]


@pytest.mark.usefixtures("here")
def test_gaps_are_filled_inside_the_folds_for_short_names(run):
    status, output, _ = run("validate", "gaps.csv", "--learner", "knn:5", "--measure", "accuracy")
    assert status == 0
    assert "40 cases" in output
    status, output, _ = run("validate", "no-class.csv", "--learner", "knn:1", "--plan", "3-fold", "--missing", "drop")
    assert "1 of 20 rows were dropped" in output


@pytest.mark.usefixtures("here")
def test_several_learners_stand_in_one_table(run):
    status, output, said = run(
        "validate", "ok.csv", "--learner", "knn:5", "--learner", "naive-bayes", "--plan", "5-fold"
    )
    assert (status, said) == (0, "")
    assert output.startswith("2 learners · ok.csv · 5-fold · 60 cases · 2 classes · positive class: yes")
    assert re.search(r"^knn:5 +\.\d\d\d", output, re.MULTILINE)
    assert re.search(r"^naive-bayes +\.\d\d\d", output, re.MULTILINE)
    assert max(map(len, output.splitlines())) <= 100


def test_every_form_goes_to_its_file(here, run):
    call = shlex.split("validate ok.csv --learner naive-bayes --plan 5-fold --json a.json --html b.html")
    call += ["--markdown", "c.md", "--latex", "d.tex", "--predictions", "e.csv"]
    status, output, said = run(*call)
    assert status == 0
    assert said.splitlines() == ["Wrote a.json", "Wrote b.html", "Wrote c.md", "Wrote d.tex", "Wrote e.csv"]
    document = json.loads((here / "a.json").read_text(encoding="utf-8"))
    assert document["schema"] == "heldout/validation@1"
    assert document["validations"][0]["learner"] == "naive-bayes"
    assert "Every split" in (here / "b.html").read_text(encoding="utf-8"), "the page holds everything"
    assert (here / "c.md").read_text(encoding="utf-8").startswith("#")
    assert "tabular" in (here / "d.tex").read_text(encoding="utf-8")
    assert len(pl.read_csv(here / "e.csv")) == 60
    assert "Overfitting" in output


@pytest.mark.parametrize("plan", ["5-fold", "3x4-fold"])
def test_the_predictions_are_read_back_to_the_same_figures(plan, here, run):
    call = ["validate", "ok.csv", "--learner", "naive-bayes", "--plan", plan, "--predictions", "p.csv"]
    first = json.loads(run(*call, "--json", "-")[1])["validations"][0]
    again = json.loads(run("evaluate", "p.csv", "--fold", "fold", "--id", "row", "--json", "-")[1])
    assert again["confusion"] == first["confusion"]
    assert (again["n"], again["positive"]) == (first["n"], first["positive"])
    figures = [
        {
            (e["measure"], e["class"], e["average"]): [e[key] for key in ("value", "low", "high", "other", "spread")]
            for e in document["estimates"]
            if e["measure"] != "overfitting_gap"
        }
        for document in (first, again)
    ]
    assert set(figures[0]) == set(figures[1])
    for name, values in figures[0].items():
        both = zip(values, figures[1][name], strict=True)
        for one, other in both:
            assert (one is None) == (other is None), name
            assert one is None or one == pytest.approx(other, rel=1e-9, abs=1e-9), name
    assert (here / "p.csv").exists()


@pytest.mark.usefixtures("here")
def test_settings_are_searched(run):
    call = ["validate", "ok.csv", "--learner", "knn:5", "--plan", "nested 4-fold / 3-fold"]
    call += ["--grid", "n_neighbors=1,9", "--grid", "weights=uniform,distance"]
    assert "Chosen in the splits: n_neighbors = " in run(*call)[1]
    held = json.loads(run(*call, "--json", "-")[1])["validations"][0]
    assert len(held["chosen"]) == 4
    assert all(set(chosen) == {"n_neighbors", "weights"} for chosen in held["chosen"])


def test_grids_and_jobs_are_read_as_they_are_written():
    assert read_grid(["a=1,2.5,None", "b=x, True", "c=(1, 2),(3,)", "d='x,y','z'"]) == {
        "a": [1, 2.5, None],
        "b": ["x", True],
        "c": [(1, 2), (3,)],
        "d": ["x,y", "z"],
    }
    assert (read_jobs(" AUTO "), read_jobs("-1")) == ("auto", -1)
    for wrong in ("x", "1.5", "", "0"):
        with pytest.raises(HeldoutError, match="--jobs"):
            read_jobs(wrong)
    for empty in ("=1,2", "a=", "a", " =3"):
        with pytest.raises(HeldoutError, match="--grid"):
            read_grid([empty])


@pytest.mark.usefixtures("here")
def test_splits_that_fail_are_recorded(run):
    call = ["validate", "groups.csv", "--learner", "knn:21", "--fold", "place", "--on-error", "record"]
    status, _, said = run(*call)
    assert status == 2
    assert "failed in all 3 folds" in said


def test_an_interrupt_shows_what_was_finished_and_ends_with_130(here):
    call = ["validate", "ok.csv", "--learner", "naive-bayes", "--learner", "own_slow:Slow()", "--learner", "tree"]
    status, output, said = interrupt([HELDOUT, *call, "--jobs", "1", "--json", "x.json"], here, 4)
    assert (status, said) == (130, "Wrote x.json\nInterrupted.\n")
    text = " ".join(output.split())
    assert text.startswith("2 learners · ok.csv · 10-fold")
    assert "own_slow:Slow(): Incomplete: 3 of 10 splits were finished before it was interrupted." in text
    assert "Incomplete: interrupted before tree." in text
    document = json.loads((here / "x.json").read_text(encoding="utf-8"))
    assert [held["complete"] for held in document["validations"]] == [True, False]
    assert document["validations"][1]["finished"] == 3
    assert document["missing"] == ["tree"]


def test_an_interrupt_before_anything_was_finished_says_so(here):
    status, output, said = interrupt([HELDOUT, "validate", "ok.csv", "--learner", "own_slow:Slow(quick=0)"], here, 1)
    assert (status, output, said) == (130, "", "Interrupted.\n")


@pytest.mark.usefixtures("here")
def test_an_interrupt_while_an_object_is_freed_is_not_lost():
    call: list[Any] = [HELDOUT, "validate", "ok.csv", "--learner", "own_freed:Slow()", "--jobs", "1"]
    ended = subprocess.run(call, capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "Interrupted.\n")


@pytest.mark.usefixtures("here")
def test_weka_s_layout_is_that_of_the_library_and_takes_no_choice_of_measures(run):
    call = ["validate", "ok.csv", "--learner", "weka-naive-bayes", "--plan", "5-fold", "--format", "weka"]
    status, output, said = run(*call)
    assert (status, said) == (0, "")
    assert output == heldout.validate("weka-naive-bayes", "ok.csv", plan="5-fold").to_weka() + "\n"
    for word in (["--full"], ["--measure", "accuracy"]):
        status, output, said = run(*call, *word)
        assert (status, output) == (2, "")
        assert said.startswith(f"Weka's layout is always the same, so {word[0]} has no effect on it.")
