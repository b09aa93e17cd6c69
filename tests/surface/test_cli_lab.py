"""`heldout lab` as a person meets it: the list, an experiment on the terminal and in files, and what is refused."""

from __future__ import annotations

import csv
import json

import pytest

from heldout import lab
from heldout.lab.parameters import FLAGS

QUICK = ("best-of-k", "--models", "1,20", "--draws", "50")


def test_without_a_name_every_experiment_is_listed_with_its_question(run):
    status, out, err = run("lab")
    assert (status, err) == (0, "")
    in_one_line = " ".join(out.split())
    for name, experiment in lab.find_experiments().items():
        assert f" {name} " in in_one_line
        assert experiment.question.split()[0] in in_one_line
        assert set(experiment.flags) <= set(FLAGS)


def test_the_command_says_what_the_function_says(run):
    status, out, err = run("lab", *QUICK, "--seed", "3")
    expected = lab.best_of_k((1, 20), draws=50, seed=3)
    assert (status, err) == (0, "")
    assert " ".join(out.split()) == " ".join(str(expected).split())
    assert "Monte Carlo error of 50 draws" in out
    other = run("lab", *QUICK, "--seed", "4")[1]
    assert other != out


def test_words_of_other_spellings_and_lists_are_read(run):
    status, out, _ = run(
        "lab", "type_one_error", "--n", "40", "--plan", "5-fold", "--method", "paired-t", "--draws", "3"
    )
    assert status == 0
    assert "paired-t, 5-fold" in out
    status, out, _ = run(
        "laboratory", "optimism", "--world", "noise", "--learner", "knn:1", "--n", "20", "--draws", "2"
    )
    assert status == 0
    assert "5 features" in out


def test_files_are_what_their_endings_say(run, tmp_path):
    files = {ending: tmp_path / f"best.{ending}" for ending in ("json", "csv", "svg", "html", "md")}
    status, _, err = run("lab", *QUICK, *(word for path in files.values() for word in ("-o", str(path))))
    assert status == 0
    assert err.count("Wrote ") == len(files)
    document = json.loads(files["json"].read_text(encoding="utf-8"))
    assert document["schema"] == "heldout/lab@1"
    assert document["experiment"] == "best-of-k"
    assert document["parameters"]["draws"] == 50
    rows = list(csv.DictReader(files["csv"].read_text(encoding="utf-8").splitlines()))
    assert [row["models"] for row in rows[:2]] == ["1.0", "20.0"]
    assert rows[0]["measure"] == "accuracy"
    assert files["svg"].read_text(encoding="utf-8").startswith("<svg")
    assert "<svg" in files["html"].read_text(encoding="utf-8")
    assert document["shown"] in files["md"].read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "what", "hint"),
    [
        ("covrage", "There is no experiment 'covrage'. There are: coverage,", "did you mean 'coverage'?"),
        ("--draws 5", "There is no experiment to run: name one.", "'heldout lab' lists them all."),
        ("optimism --models 3", "The experiment optimism does not take --models. It takes: --world,", "leave out"),
        ("coverage --n few", "--n must be whole numbers, several of them", "for example --n 20,50,100."),
        ("coverage --method wilsen", "There is no interval method 'wilsen'", "use 'wilson'."),
        ("imbalance --prevalence 0,1", "prevalence must lie between 0 and 1. Got 0.0.", "write 20 % as 0.2."),
        ("best-of-k --p 0.1,0.2", "best-of-k takes one p. Got 0.1, 0.2.", "such as 0.2."),
        ("optimism --jobs none", "--jobs must be auto or a whole number, not 0.", "for example --jobs 4."),
        (
            "optimism -o figures.doc",
            "-o figures.doc ends in '.doc', but a result",
            "name the file",
        ),
    ],
)
def test_a_wrong_call_is_two_sentences_and_status_2(run, words, what, hint):
    status, out, err = run("lab", *words.split())
    said, _, advice = err.partition("\nHint: ")
    assert (status, out) == (2, "")
    assert said.startswith(what)
    assert advice.startswith(hint)
