"""Options and inputs that contradict each other: each is refused, or said, and never left out without a word."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import heldout

ROWS = 120


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the predictions of two models, of part of the cases too, and with data to learn from."""
    rng = np.random.default_rng(2)
    truth = np.where(np.arange(ROWS) % 3 == 0, "yes", "no")
    for name, noise in (("a", 0.8), ("b", 1.1)):
        score = 1 / (1 + np.exp(-np.where(truth == "yes", 1.0, -1.0) - rng.normal(0, noise, ROWS)))
        predicted = np.where(score > 0.5, "yes", "no")
        lines = ["id,truth,predicted,p_yes"]
        lines += [f"{at},{truth[at]},{predicted[at]},{score[at]:.4f}" for at in range(ROWS)]
        (tmp_path / f"{name}.csv").write_text("\n".join(lines) + "\n")
        (tmp_path / f"{name}-short.csv").write_text("\n".join(lines[:100]) + "\n")
    data = [f"{x:.3f},{t}" for x, t in zip(rng.normal(0, 1, ROWS), truth, strict=True)]
    (tmp_path / "data.csv").write_text("\n".join(["x,class", *data]) + "\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("words", "flag"),
    [
        (["--costs", "yes,no:10; no,yes:1"], "--costs"),
        (["--honest"], "--honest"),
        (["--require", "recall >= 0.9"], "--require"),
        (["--maximize", "f1"], "--maximize"),
        (["--current", "0"], "--current"),
    ],
)
def test_a_grid_takes_no_option_that_chooses(run, words, flag):
    status, output, said = run("thresholds", "a.csv", "--score", "p_yes", "--positive", "yes", "--grid", "5", *words)
    assert (status, output) == (2, "")
    assert said.startswith(f"--grid lists thresholds and chooses none, so {flag} has no effect on it.\nHint: leave out")


@pytest.mark.usefixtures("here")
def test_a_margin_beyond_all_differences_is_refused_in_compare_and_plan(run):
    for call in (
        ["compare", "a.csv", "b.csv", "--positive", "yes", "--margin", "5"],
        ["plan", "accuracy", "--value", ".9", "--margin", "5", "--discordance", ".1"],
    ):
        status, output, said = run(*call)
        assert (status, output) == (2, "")
        assert said == (
            "A margin of 5 says nothing: two values differ by at most 1.\nHint: did you mean 0.05, which is 5%?\n"
        )


@pytest.mark.usefixtures("here")
def test_a_gate_against_other_cases_advises_what_a_gate_has(run):
    required = "accuracy >= baseline - 0.02"
    call = ["check", "a.csv", "--positive", "yes", "--require", required]
    status, output, said = run(*call, "--baseline", "b-short.csv")
    assert (status, output) == (2, "")
    assert "--different-cases" not in said
    assert "heldout evaluate FILE --json baseline.json" in said
    assert run("evaluate", "b-short.csv", "--positive", "yes", "--json", "old.json")[0] == 0
    status, output, said = run(*call, "--baseline", "old.json")
    assert status in (0, 1)
    assert "accuracy" in output


@pytest.mark.usefixtures("here")
def test_cases_with_the_same_ids_are_not_taken_as_different_in_silence(run):
    call = ["compare", "a.csv", "b-short.csv", "--id", "id", "--positive", "yes", "--different-cases"]
    status, output, _ = run(*call)
    assert status == 0
    assert "99 ids stand in both a.csv and b-short.csv, which are taken as different cases" in " ".join(output.split())


@pytest.mark.usefixtures("here")
def test_the_target_cannot_be_dropped(run):
    status, output, said = run("validate", "data.csv", "--target", "class", "--learner", "tree:2", "--drop", "class")
    assert (status, output) == (2, "")
    assert said.startswith("The target 'class' is among the columns to drop.\nHint: ")


def test_no_mean_over_some_folds_of_one_case(here):
    judged = heldout.validate("tree:2", here / "data.csv", target="class", plan="loo", positive="no")
    table = {row["measure"]: row for row in judged.rows() if row["class"] is None or row["class"] == "no"}
    # F1 is defined in most of the folds of one case, but not in true negatives: their mean would be the Jaccard index.
    assert table["f1"]["other"] is None or table["f1"]["other"] != table["f1"]["other"]
    assert table["accuracy"]["other"] == pytest.approx(table["accuracy"]["value"])
