"""`heldout learning-curve` and `bias-variance` as a person meets them: what they print, draw and refuse; interrupts."""

from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.surface.learning_files import FILES, WRONG, check_two_sentences, flags, interrupt

import heldout
from heldout.cli.learners import read_sizes
from heldout.errors import HeldoutError

HELDOUT = Path(sys.executable).with_name("heldout")
KNN = ("ok.csv", "knn:5")

WRONG_SIZES: dict[str, Any] = {
    "a size beyond the rows": (*KNN, {"sizes": [100_000]}, "has 40 rows, and a training set of 100,000", "up to 40"),
    "a share beyond all": (*KNN, {"sizes": [0.5, 2.5]}, "Got 2.5", ""),
    "a size of nothing": (*KNN, {"sizes": [0]}, "0", ""),
    "one point": (*KNN, {"points": 1}, "points must be a whole number from 2 up. Got 1", "points"),
    "no draws": (*KNN, {"draws": 0}, "draws must be a whole number from 1 up. Got 0", "draws"),
}
EVERY: dict[str, Any] = {**WRONG, **WRONG_SIZES}

# What only the command line can get wrong.
CALLS = {
    "no file": ("--learner knn:5", "There is no file to learn from.", "heldout learning-curve data.csv"),
    "no learner": ("ok.csv", "There is no learner: say what to fit.", "--learner knn:5"),
    "sizes of words": ("ok.csv --learner knn:5 --sizes big", "Got 'big'", "--sizes 50,100,200"),
    "sizes of nothing": ("ok.csv --learner knn:5 --sizes ,", "Got ','", "--sizes 50,100,200"),
    "jobs of words": ("ok.csv --learner knn:5 --jobs x", "--jobs must be auto", "--jobs 4"),
    "points of words": (
        "ok.csv --learner knn:5 --points x",
        "--points must be a whole number. Got 'x'",
        "for example --points",
    ),
    "a measure of no name": (
        "ok.csv --learner own_failing:Fails() --measure acuracy",
        "There is no measure 'acuracy'",
        "did you mean 'accuracy'?",
    ),
    "a positive class of no row": (
        "ok.csv --learner own_failing:Fails() --measure recall --positive none",
        "'none' is not among the labels",
        "",
    ),
    "a chart of no kind": (
        "ok.csv --learner own_failing:Fails() --chart x.zip",
        "--chart x.zip ends in '.zip'",
        "x.svg",
    ),
    "a chart in no folder": (
        "ok.csv --learner own_failing:Fails() --chart none/x.svg",
        "--chart cannot write none/x.svg: there is no folder none",
        "folder that exists",
    ),
    "JSON in no folder": (
        "ok.csv --learner knn:5 --json none/x.json",
        "--json cannot write none/x.json: there is no folder none",
        "folder that exists",
    ),
}


@pytest.fixture
def here(tmp_path, monkeypatch):
    for name, content in FILES.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def written(options):
    """Options as flags; sizes are one list."""
    plain = {name: value for name, value in options.items() if name != "sizes"}
    sizes = ["--sizes", ",".join(map(str, options["sizes"]))] if "sizes" in options else []
    return [*flags(plain), *sizes]


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("wrong", EVERY)
def test_the_command_refuses_in_two_sentences_and_status_2(wrong, run):
    data, learner, options, what, hint = EVERY[wrong]
    status, output, said = run("learning-curve", data, "--learner", learner, *written(options))
    assert (status, output) == (2, "")
    check_two_sentences(said, what, hint)


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("wrong", EVERY)
def test_the_library_refuses_the_same(wrong):
    data, learner, options, what, hint = EVERY[wrong]
    with pytest.raises(HeldoutError) as caught:
        heldout.learning_curve(learner, data, **options)
    assert what in caught.value.what
    assert hint in caught.value.hint


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("wrong", [name for name in WRONG if "error" not in name])
def test_bias_and_variance_refuse_the_same_data(wrong):
    data, learner, options, what, hint = WRONG[wrong]
    with pytest.raises(HeldoutError) as caught:
        heldout.bias_variance(learner, data, rounds=5, **options)
    assert what in caught.value.what
    assert caught.value.hint
    assert hint in caught.value.hint or wrong == "a learner that fails"


@pytest.mark.parametrize("wrong", CALLS)
def test_a_wrong_call_ends_in_two_sentences_and_status_2(wrong, here, run):
    call, what, hint = CALLS[wrong]
    status, output, said = run("learning-curve", *call.split())
    assert (status, output) == (2, "")
    check_two_sentences(said, what, hint)
    assert sorted(path.name for path in here.iterdir() if path.name != "__pycache__") == sorted(FILES)


def test_one_learner_at_a_time():
    for door in (heldout.learning_curve, heldout.bias_variance):
        with pytest.raises(HeldoutError, match="takes one learner, and 2 were given"):
            door(["knn:5", "tree"], np.ones((4, 1)), [0, 1, 0, 1])


@pytest.mark.usefixtures("here")
def test_the_curve_is_printed_and_its_figures_are_those_of_the_library(run):
    call = shlex.split("learning-curve ok.csv --learner naive-bayes --sizes 10,20,40 --draws 4 --seed 3")
    status, output, said = run(*call)
    assert (status, said) == (0, "")
    assert output.startswith("Learning curve of naive-bayes")
    assert "Verdict" in output
    assert max(map(len, output.splitlines())) <= 100
    document = json.loads(run(*call, "--json", "-")[1])
    assert document["schema"] == "heldout/learning-curve@1"
    curve = heldout.learning_curve("naive-bayes", "ok.csv", sizes=[10, 20, 40], draws=4, seed=3)
    assert document == json.loads(curve.to_json())
    assert document["sizes"] == [10, 20, 40]


def test_the_chart_and_every_form_go_to_their_files(here, run):
    call = shlex.split("learning-curve ok.csv --learner naive-bayes --points 3 --draws 3 --chart curve.svg")
    status, _, said = run(*call, "--json", "a.json", "--html", "b.html", "--markdown", "c.md", "--latex", "d.tex")
    assert status == 0
    assert said.splitlines() == ["Wrote a.json", "Wrote b.html", "Wrote c.md", "Wrote d.tex", "Wrote curve.svg"]
    assert (here / "curve.svg").read_text(encoding="utf-8").startswith("<svg")
    assert "<html" in (here / "b.html").read_text(encoding="utf-8")


def test_the_curve_of_another_measure_is_printed_drawn_and_written(here, run):
    call = shlex.split("learning-curve ok.csv --learner naive-bayes --points 3 --draws 3 --measure accuracy")
    status, output, said = run(*call, "--chart", "curve.svg")
    assert (status, said) == (0, "Wrote curve.svg\n")
    assert re.search(r"^size +training accuracy +test accuracy +spread +gap +below$", output, re.MULTILINE)
    assert "Accuracy" in (here / "curve.svg").read_text(encoding="utf-8")
    document = json.loads(run(*call, "--json", "-")[1])
    assert {point["measure"] for point in document["points"]} == {"accuracy"}
    assert document == json.loads(
        heldout.learning_curve("naive-bayes", "ok.csv", points=3, draws=3, measure="accuracy").to_json()
    )
    document = json.loads(run(*call[:-1], "macro recall", "--json", "-")[1])
    assert {(point["measure"], point["average"]) for point in document["points"]} == {("recall", "macro")}


@pytest.mark.usefixtures("here")
def test_odd_names_and_rare_classes_are_taken_as_they_are(run):
    call = ["--learner", "tree", "--points", "3", "--draws", "2"]
    assert run("learning-curve", "odd.csv", "--target", "klasse ☃", *call)[0] == 0
    assert run("learning-curve", "eleven.csv", *call)[0] == 0
    assert run("learning-curve", "gaps.csv", *call)[0] == 0
    assert run("learning-curve", "groups.csv", "--group", "place", *call)[0] == 0


@pytest.mark.usefixtures("here")
def test_bias_and_variance_are_printed_and_written_as_the_library_finds_them(run):
    call = ["bias-variance", "ok.csv", "--learner", "tree", "--rounds", "12", "--seed", "3", "--level", "0.9"]
    status, output, said = run(*call)
    assert (status, said) == (0, "")
    assert output.startswith("Bias and variance of tree")
    assert "Verdict" in output
    assert max(map(len, output.splitlines())) <= 100
    found = heldout.bias_variance("tree", "ok.csv", rounds=12, seed=3, level=0.9)
    assert json.loads(run(*call, "--json", "-")[1]) == json.loads(found.to_json())
    status, _, said = run(*call, "--html", "b.html", "--markdown", "c.md", "--latex", "d.tex")
    assert (status, said.splitlines()) == (0, ["Wrote b.html", "Wrote c.md", "Wrote d.tex"])


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("wrong", [name for name in WRONG if "error" not in name])
def test_the_command_for_bias_and_variance_refuses_the_same_data(wrong, run):
    data, learner, options, what, _ = WRONG[wrong]
    status, output, said = run("bias-variance", data, "--learner", learner, "--rounds", "5", *written(options))
    assert (status, output) == (2, "")
    check_two_sentences(said, what, "")


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("words", "what", "hint"),
    [
        (["--learner", "knn:5"], "There is no file to learn from.", "heldout bias-variance data.csv"),
        (["ok.csv"], "There is no learner: say what to fit.", "--learner knn:5"),
        (["ok.csv", "--learner", "knn:5", "--rounds", "1"], "rounds must be a whole number from 2 up. Got 1", "rounds"),
        (["ok.csv", "--learner", "knn:5", "--draws", "3"], "heldout bias-variance has no option --draws", "--help"),
        (["ok.csv", "--learner", "own_failing:Fails()", "--json", "none/x.json"], "there is no folder none", "folder"),
    ],
)
def test_a_wrong_call_of_bias_and_variance_ends_in_two_sentences(words, what, hint, run):
    status, output, said = run("bias-variance", *words)
    assert (status, output) == (2, "")
    check_two_sentences(said, what, hint)


def test_an_interrupt_of_bias_and_variance_shows_what_was_finished_and_ends_with_130(here):
    call = ["bias-variance", "ok.csv", "--learner", "own_slow:Slow(quick=9)", "--rounds", "20", "--jobs", "1"]
    status, output, said = interrupt([sys.executable, "-m", "heldout", *call], here, 10)
    assert (status, said) == (130, "Interrupted.\n")
    assert "Interrupted: 9 of 20 models were trained." in " ".join(output.split())


def test_sizes_are_read_as_they_are_written():
    assert read_sizes(" Geometric ") == "geometric"
    assert read_sizes("arithmetic") == "arithmetic"
    assert read_sizes("10, 20,0.5") == [10, 20, 0.5]
    for wrong in ("", "a", "10;20", "10,,20"):
        with pytest.raises(HeldoutError, match="--sizes must be"):
            read_sizes(wrong)


def test_an_interrupt_shows_what_was_finished_and_ends_with_130(here):
    call = shlex.split("learning-curve ok.csv --learner 'own_slow:Slow(quick=9)' --points 4 --draws 5 --jobs 1")
    status, output, said = interrupt([HELDOUT, *call], here, 10)
    assert (status, said) == (130, "Interrupted.\n")
    assert "Interrupted: 9 of 20 models were trained." in " ".join(output.split())
