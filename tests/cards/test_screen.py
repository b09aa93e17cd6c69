"""What of a card is shown on a screen: the answers always, and of features that tell nothing all or none."""

from __future__ import annotations

import re

import numpy as np
import pytest

from heldout.cards.api import card
from heldout.cards.card import Card
from heldout.show.text import render_text


@pytest.fixture(scope="module")
def stump() -> Card:
    rng = np.random.default_rng(2)
    X = rng.standard_normal((90, 16))
    truth = np.where(X[:, 3] > 0, "yes", "no")
    return card("tree:1", X, truth, plan="3-fold", shuffles=2, timing=False)


def test_answers_stand_on_every_form_of_the_card(stump):
    told = stump.answered(intended_use="Whom to call first.")
    for text in (str(told), told.to_markdown(), told.to_latex(), told.to_html()):
        assert "Whom to call first." in text
    shown = " ".join(str(told).split())
    assert "13 of 14 questions" in shown
    assert "Whom to call first." not in str(stump)


def test_features_of_no_importance_are_shown_all_or_not_at_all(stump):
    zeros = [one for one in stump.importance.features if one.value == 0]
    assert len(zeros) == 15
    text = " ".join(str(stump).split())
    assert "15 features with an importance of at most 0 are not shown." in text
    assert len(re.findall(r"^x\d+ ", str(stump), re.MULTILINE)) <= 1
    assert "are not shown" not in render_text(stump.full_blocks())
