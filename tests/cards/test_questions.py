"""The questions that only a person can answer: open until answered, and kept in files by hand."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heldout.cards.questions import NAMES, QUESTIONS, Answers, questionnaire, read_answers
from heldout.errors import HeldoutError


def test_every_question_is_open_until_it_is_answered():
    held = Answers()
    assert held.unanswered == NAMES
    assert len(set(NAMES)) == len(QUESTIONS) >= 9
    one = held.given(labels="Two nurses, by the handbook.")
    assert held.unanswered == NAMES
    assert set(NAMES) - set(one.unanswered) == {"labels"}
    assert one.given(labels="  ").unanswered == NAMES
    assert one.given(labels=None).unanswered == NAMES
    assert [entry["answered"] for entry in one.document()].count(True) == 1


def test_a_name_that_does_not_exist_is_refused_with_the_nearest():
    with pytest.raises(HeldoutError, match="There is no question 'intended_uses'") as caught:
        Answers().given(intended_uses="x")
    assert caught.value.hint == "did you mean 'intended_use'?"
    with pytest.raises(HeldoutError, match=r"must be a text\. Got int"):
        Answers().given(labels=3)  # type: ignore[arg-type]
    with pytest.raises(HeldoutError, match=r"a dictionary or the name of a TOML file\. Got list"):
        read_answers(["x"])


@given(st.dictionaries(st.sampled_from(NAMES), st.text(st.characters(exclude_categories=["Cs"]))))
def test_answers_survive_their_file(answers):
    held = Answers().given(**answers)
    document = tomllib.loads(questionnaire(held))
    again = Answers().given(**document["answers"])
    assert again == held
    assert list(document["answers"]) == list(NAMES)


def test_files_are_read_with_and_without_their_heading(tmp_path):
    place = tmp_path / "answers.toml"
    place.write_text(questionnaire(), encoding="utf-8")
    assert read_answers(place) == Answers()
    place.write_text('labels = "By hand."\n', encoding="utf-8")
    assert read_answers(str(place)).unanswered == tuple(name for name in NAMES if name != "labels")


WRONG = {
    "not TOML": ("labels = ", "is not TOML"),
    "another name": ('labls = "x"', "There is no question 'labls'"),
    "a number": ("labels = 3", "must be a text. Got int"),
    "no table": ("answers = 3", "something else than a table"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_file_that_cannot_be_used_is_named(wrong, tmp_path):
    text, what = WRONG[wrong]
    place = tmp_path / "mine.toml"
    place.write_text(text, encoding="utf-8")
    with pytest.raises(HeldoutError) as caught:
        read_answers(place)
    assert "mine.toml" in caught.value.what
    assert what in caught.value.what
    assert caught.value.hint


def test_a_file_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(HeldoutError, match=r"none\.toml"):
        read_answers(tmp_path / "none.toml")
