"""`heldout card` as a person meets it: what it prints and writes, and what it refuses."""

from __future__ import annotations

import csv
import json
import tomllib

import pytest
from tests.cards.drawn_data import mixed_table
from tests.surface.learning_files import check_two_sentences

from heldout.cards.api import card
from heldout.cards.questions import NAMES

CALL = ("card", "sales.csv", "--target", "bought", "--learner", "tree:2", "--plan", "2-fold", "--no-timing")


@pytest.fixture
def here(tmp_path, monkeypatch):
    table = mixed_table(40)
    with (tmp_path / "sales.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(table)
        writer.writerows(zip(*table.values(), strict=True))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("here")
def test_the_card_is_printed_and_its_document_is_that_of_the_library(run):
    status, output, said = run(*CALL)
    assert (status, said) == (0, "")
    assert output.startswith("tree:2 · sales.csv · 2-fold · 40 cases")
    assert "unanswered" in output
    assert max(map(len, output.splitlines())) <= 100
    status, output, said = run(*CALL, "--json", "-")
    assert (status, said) == (0, "")
    found = card("tree:2", "sales.csv", target="bought", plan="2-fold", timing=False)
    assert json.loads(output) == found.to_dict()


def test_every_form_is_written(here, run):
    forms = {"json": "{", "html": "<!", "markdown": "#", "latex": "%"}
    status, _, said = run(*CALL, *(word for form in forms for word in (f"--{form}", f"card.{form}")))
    assert status == 0
    assert said.count("Wrote ") == 4
    for form, start in forms.items():
        assert (here / f"card.{form}").read_text(encoding="utf-8").lstrip().lower().startswith(start)


def test_questions_are_written_answered_and_read(here, run):
    status, output, said = run("card", "--questions", "answers.toml")
    assert (status, output, said) == (0, "", "Wrote answers.toml\n")
    text = (here / "answers.toml").read_text(encoding="utf-8")
    assert list(tomllib.loads(text)["answers"]) == list(NAMES)
    filled = text.replace('labels = ""', 'labels = "By the till."')
    (here / "answers.toml").write_text(filled, encoding="utf-8")
    status, output, _ = run(*CALL, "--answers", "answers.toml", "--full")
    assert status == 0
    assert "By the till." in output
    assert "13 of 14" in output
    # Questions with the answers so far, beside the card.
    status, _, said = run(*CALL, "--answers", "answers.toml", "--questions", "more.toml")
    assert (status, said) == (0, "Wrote more.toml\n")
    assert (here / "more.toml").read_text(encoding="utf-8") == filled


def test_questions_alone_may_go_to_standard_output(run):
    status, output, _ = run("card", "--questions", "-")
    assert status == 0
    assert tomllib.loads(output)["answers"]["intended_use"] == ""


CALLS = {
    "no file": (["card", "--learner", "tree"], "There is no file to learn from.", "heldout card data.csv"),
    "no learner": (["card", "sales.csv"], "There is no learner: say what to fit.", "--learner knn:5"),
    "no such column": ([*CALL, "--target", "bougt"], "has no column 'bougt'", "bought"),
    "no such feature": ([*CALL, "--permute", "color"], "There is no feature 'color' to shuffle", "'colour'"),
    "no such measure": ([*CALL, "--measure", "acuracy"], "There is no importance by 'acuracy'", "'accuracy'"),
    "no shuffles": ([*CALL, "--shuffles", "0"], "shuffles must be a whole number from 1 up", "shuffles"),
    "no such answers": ([*CALL, "--answers", "none.toml"], "none.toml", ""),
    "answers in the wrong form": ([*CALL, "--answers", "sales.csv"], "sales.csv is not TOML", "intended_use"),
    "questions over a file": ([*CALL, "--questions", "sales.csv"], "--questions would overwrite sales.csv", "new"),
    "questions in no folder": (["card", "--questions", "no/q.toml"], "there is no folder no", "folder that exists"),
    "two on standard output": ([*CALL, "--questions", "-", "--json", "-"], "cannot share standard output", "a file"),
}


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("wrong", CALLS)
def test_a_wrong_call_ends_in_two_sentences_and_status_2(wrong, run):
    call, what, hint = CALLS[wrong]
    status, output, said = run(*call)
    assert (status, output) == (2, "")
    check_two_sentences(said, what, hint)
