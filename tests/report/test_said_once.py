"""A column of folds that was not used is said once: as the finding where it is made, as a note where it is not."""

from __future__ import annotations

import numpy as np
import pytest

from heldout.api.check import check
from heldout.api.evaluate import evaluate
from heldout.report.evaluation import chosen_blocks
from heldout.show.blocks import Note


@pytest.fixture
def scored() -> dict[str, np.ndarray]:
    truth = np.tile([0, 1, 1], 40)
    return {
        "truth": truth,
        "predicted": truth,
        "p_1": np.clip(truth + np.linspace(-0.3, 0.3, 120), 0, 1),
        "Folds": np.repeat([1, 2, 3], 40),
    }


def test_the_column_is_carried_as_a_field(scored):
    ((role, column, note),) = evaluate(scored, fold="none").source.unused
    assert (role, column) == ("fold", "Folds")
    assert note in evaluate(scored, fold="none").notes


def test_the_screen_and_the_page_say_it_once(scored):
    seen = evaluate(scored, fold="none")
    assert seen.review["H034"].facts == {"column": "Folds"}
    said = " ".join(str(seen).split())
    assert "H034 The column" in said
    assert "'Folds' of the dictionary was not used" not in said
    assert "of the dictionary was not used" not in seen.to_html()


def test_without_the_finding_the_note_stands(scored):
    seen = evaluate(scored, ignore="H034", fold="none")
    assert "'Folds' of the dictionary was not used" in " ".join(str(seen).split())
    # Only what was asked for is shown here, and no finding.
    notes = [
        block.text
        for block in chosen_blocks(evaluate(scored, measures="accuracy", fold="none"))
        if isinstance(block, Note)
    ]
    assert any("'Folds' of the dictionary was not used" in text for text in notes)
    gate = check(scored, require="accuracy > 0.1", fold="none")
    assert "'Folds' of the dictionary was not used" in " ".join(str(gate).split())


def test_without_scores_the_finding_says_that_intervals_are_too_narrow(scored):
    unscored = {name: values for name, values in scored.items() if name != "p_1"}
    found = evaluate(unscored, fold="none").review["H034"]
    assert (found.outcome, found.facts) == ("fired", {"column": "Folds"})
    assert found.title.endswith("every interval is too narrow.")


def test_a_gate_that_forbids_the_finding_says_it_once(scored):
    assert not check(scored, forbid="H034", fold="none").notes


def test_slicing_by_it_does_not_disable_the_finding(scored):
    assert evaluate(scored, slices=["Folds"]).review["H034"].outcome == "fired"
