"""The command line of comparisons: every form, every output, and what is wrong in two sentences."""

from __future__ import annotations

import json
import re
from functools import partial

import numpy as np
import pytest
from statsmodels.stats.proportion import proportions_ztest
from tests.oracles.figures import DATA
from tests.surface.learning_files import OK, table

RNG = np.random.default_rng(2)
N = 80
TRUTH = RNG.integers(0, 2, N)
SCORES = {name: np.round(1 / (1 + np.exp(-(2 * TRUTH - 1 + RNG.normal(0, spread, N)))), 4) for name, spread in
          (("a", 0.8), ("b", 3.0), ("c", 1.5))}  # fmt: skip
ANSWERS = {name: np.where(score >= 0.5, "yes", "no") for name, score in SCORES.items()}
WORDS = np.where(TRUTH == 1, "yes", "no")
ORDER = RNG.permutation(N)

FILES = {
    **{f"{name}.csv": table("truth,predicted", WORDS, answers) for name, answers in ANSWERS.items()},
    "short.csv": table("truth,predicted", WORDS[:50], ANSWERS["b"][:50]),
    "a_id.csv": table("case,truth,predicted,fold", range(N), WORDS, ANSWERS["a"], np.arange(N) % 8),
    "b_id.csv": table("case,truth,predicted,fold", ORDER, WORDS[ORDER], ANSWERS["b"][ORDER], ORDER % 8),
    "several.csv": table("outcome,first,second,third", WORDS, *ANSWERS.values()),
    "scores.csv": table("outcome,p_a,p_b,p_c", WORDS, *SCORES.values()),
    "größe ☃.csv": table("truth,predicted", WORDS, ANSWERS["a"]),
    "unnamed.csv": table("tree,bayes", [0.7, 0.8, 0.6, 0.9], [0.8, 0.9, 0.7, 0.8]),
    "results.csv": table("data set,tree,bayes,knn", ["w", "x", "y", "z"], [0.7, 0.8, 0.6, 0.9], [0.8, 0.9, 0.7, 0.8],
                         [0.6, 0.7, 0.5, 0.7]),
    "gaps.csv": table("data set,tree,bayes", ["w", "x", "y"], [0.7, 0.8, ""], [0.8, 0.9, 0.7]),
    "folds.csv": table("run,fold,tree,bayes", [1, 1, 1, 2, 2, 2], [1, 2, 3] * 2, [0.9, 0.85, 0.88, 0.91, 0.84, 0.87],
                       [0.8, 0.82, 0.83, 0.81, 0.83, 0.8]),
    "seeds.csv": table("seed,tree,bayes", [1, 2, 3], [0.9, 0.85, 0.88], [0.8, 0.82, 0.83]),
    "40.csv": ",no,yes\nno,40,20\nyes,5,60\n",
    "data.csv": OK,
    "words.txt": "no table at all\n",
}  # fmt: skip


@pytest.fixture
def run(run, monkeypatch, tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)

    return partial(run, "compare")


def document(run, *words):
    status, out, err = run(*words, "--json", "-")
    assert (status, err) == (0, "")
    return json.loads(out)


def test_the_help_shows_every_option(run):
    status, out, _ = run("--help")
    assert status == 0
    for word in ("--predicted", "--different-cases", "--learner", "--control", "--correction", "--margin", "--chart"):
        assert word in out
    assert "heldout compare model_a.csv model_b.csv" in out


def test_two_files(run):
    status, out, err = run("a.csv", "b.csv")
    assert (status, err) == (0, "")
    assert out.startswith("a.csv against b.csv")
    assert "a.csv is better than b.csv" in out
    found = document(run, "a.csv", "b.csv")
    right = [float((ANSWERS[name] == WORDS).mean()) for name in "ab"]
    assert found["schema"] == "heldout/comparison@1"
    assert found["comparisons"][0]["difference"] == pytest.approx(right[0] - right[1])


FORMS: dict[str, tuple[list[str], str]] = {
    "by id": (["a_id.csv", "b_id.csv", "--id", "case"], "matched by id"),
    "by fold": (["a_id.csv", "b_id.csv", "--id", "case", "--fold", "fold"], "the same 8 splits"),
    "three files": (["a.csv", "b.csv", "c.csv"], "80 cases"),
    "several predictions": (["several.csv", "--truth", "outcome", "--predicted", "first", "--predicted", "second"], ""),
    "several scores": (["scores.csv", "--truth", "outcome", "--score", "p_a", "--score", "p_b"], "80 cases"),
    "different cases": (["a.csv", "short.csv", "--different-cases"], "different test sets of 80, 50 cases"),
    "a control": (["a.csv", "b.csv", "c.csv", "--control", "b.csv"], "80 cases"),
    "a method": (["a.csv", "b.csv", "--method", "mcnemar-exact"], "80 cases"),
    "a margin": (["a.csv", "b.csv", "--margin", "0.02"], "80 cases"),
    "equivalence": (["a.csv", "b.csv", "--margin", "0.02", "--equivalence"], "80 cases"),
    "costs": (["a.csv", "b.csv", "--costs", "yes,no:5; no,yes:1"], "80 cases"),
    "splits": (["folds.csv", "--splits", "--measure", "accuracy"], "the same 6 splits (2 × 3 folds)"),
    "splits that columns tell": (["folds.csv"], "the same 6 splits"),
    "a share of tests": (["seeds.csv", "--test-share", "1/3"], "3 random splits"),
    "a data set of Weka's": ([str(DATA / "weka/experiment/split66x30_raw.csv"), "--data-set", "iris"],
                             "30 splits of iris"),
    "matrices": (["--matrix", "50 10; 5 60", "--matrix", "40.csv", "--labels", "no,yes", "--positive", "yes"],
                 "different test sets of 125, 125 cases"),
    "a matrix beside a file": (["a.csv", "--matrix", "40.csv"], "different test sets of 80, 125 cases"),
    "learners": (["data.csv", "--learner", "naive-bayes", "--learner", "knn:3", "--plan", "6 x holdout 2/3"],
                 "the same 6 splits"),
    "a rope": (["data.csv", "--learner", "naive-bayes", "--learner", "knn:3", "--plan", "5-fold",
                "--method", "bayes-correlated-t", "--rope", "0.01"], "the same 5 splits"),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_a_comparison(run, form):
    words, setting = FORMS[form]
    found = document(run, *words)
    assert found["schema"] == "heldout/comparison@1"
    assert setting in found["setting"]
    assert found["comparisons"]
    plain = document(run, "a.csv", "b.csv")["comparisons"][0]
    first = found["comparisons"][0]
    if form in ("by id", "several predictions", "several scores", "a margin", "equivalence", "costs"):
        assert (first["difference"], first["p"]) == pytest.approx((plain["difference"], plain["p"]))
    if form == "three files":
        assert found["correction"] == "holm"
        assert len({(row["a"], row["b"]) for row in found["comparisons"]}) == 3
    if form == "matrices":
        assert found["models"] == ["matrix 1", "40.csv"]
        assert first["difference"] == pytest.approx(110 / 125 - 100 / 125)
        assert first["p"] == pytest.approx(proportions_ztest([110, 100], [125, 125])[1])
        assert found["comparisons"][1]["class"] == "yes"
    if form == "a control":
        assert {row["b"] for row in found["comparisons"]} == {"b.csv"}
    if form == "a method":
        assert {row["method"] for row in found["comparisons"]} == {"mcnemar-exact"}
    if form in ("a margin", "equivalence"):
        assert first["margin_kind"] == ("equivalence" if form == "equivalence" else "non-inferiority")


def test_a_table_of_results(run):
    found = document(run, "results.csv")
    assert found["schema"] == "heldout/ranks@1"
    ranks = {row["learner"]: row["value"] for row in found["ranks"] if row["measure"] == "average_rank"}
    assert ranks == {"tree": 1.75, "bayes": 1.25, "knn": 3.0}
    turned = document(run, "results.csv", "--measure", "error_rate", "--control", "tree")
    assert turned["higher_is_better"] is False
    assert turned["control"] == "tree"
    demsar = document(run, str(DATA / "r" / "demsar_table6_auc.csv"))
    assert demsar["critical_difference"] == pytest.approx(1.254, abs=5e-4)


def test_no_correction_is_said_aloud(run):
    assert "NOT corrected" in run("a.csv", "b.csv", "c.csv", "--correction", "none")[1]


def test_odd_names_are_kept(run):
    status, out, err = run("größe ☃.csv", "b.csv")
    assert (status, err) == (0, "")
    assert "größe ☃.csv against b.csv" in out
    assert document(run, "größe ☃.csv", "b.csv")["models"] == ["größe ☃.csv", "b.csv"]


def test_every_output_is_written(run, tmp_path):
    words = ["--json", "x.json", "--html", "x.html", "--markdown", "x.md", "--latex", "x.tex", "--chart", "x.svg"]
    status, out, err = run("scores.csv", "--truth", "outcome", "--score", "p_a", "--score", "p_b", *words)
    assert status == 0
    assert "p_a against p_b" in out
    for name in ("x.json", "x.html", "x.md", "x.tex", "x.svg"):
        assert f"Wrote {name}" in err
        assert (tmp_path / name).stat().st_size > 200
    assert json.loads((tmp_path / "x.json").read_text(encoding="utf-8"))["schema"] == "heldout/comparison@1"
    assert "<svg" in (tmp_path / "x.svg").read_text(encoding="utf-8")


def test_the_diagram_of_ranks_is_drawn(run, tmp_path):
    assert run("results.csv", "--chart", "ranks.tex")[0] == 0
    assert "tikzpicture" in (tmp_path / "ranks.tex").read_text(encoding="utf-8")


def test_more_is_shown_in_full(run):
    plain, full = run("a.csv", "b.csv")[1], run("a.csv", "b.csv", "--full")[1]
    assert "The tests" in full
    assert "The tests" not in plain


SCORED = ["scores.csv", "--truth", "outcome", "--score", "p_a", "--score", "p_b"]
WRONG: dict[str, tuple[list[str], str, str]] = {
    "nothing": ([], "nothing to compare", "model_a.csv"),
    "no such file": (["gap.csv", "b.csv"], "There is no file gap.csv", "gaps.csv"),
    "one file that is no table": (["words.txt"], "words.txt", ""),
    "one file of predictions": (["a.csv"], "predictions of cases and no results", "--predicted A --predicted B"),
    "rows without names": (["unnamed.csv"], "have no names", "--no-splits"),
    "splits and none": (["unnamed.csv", "--splits", "--no-splits"], "splits of a data set or data sets", "leave out"),
    "gaps in a table": (["gaps.csv"], "tree on y", "leave out"),
    "a column with a slip": (["a.csv", "b.csv", "--truth", "trut"], "'trut'", "'truth'"),
    "one of several columns with a slip": (["several.csv", "--truth", "outcome", "--predicted", "first",
                                            "--predicted", "secnd"], "'secnd'", "'second'"),
    "one column only": (["several.csv", "--truth", "outcome", "--predicted", "first"], "One predicted column",
                        "--predicted A"),
    "several columns of several files": (["a.csv", "b.csv", "--predicted", "x", "--predicted", "y"],
                                         "Several columns", "one file"),
    "a slip in the method": (["a.csv", "b.csv", "--method", "mcnemer"], "no method 'mcnemer'", "'mcnemar'"),
    "a method of another setting": (["a.csv", "b.csv", "--method", "corrected-t"], "for same splits", "use one of"),
    "a slip in the measure": (["a.csv", "b.csv", "--measure", "acuracy"], "acuracy", "accuracy"),
    "scores that are not there": (["a.csv", "b.csv", "--measure", "roc_auc"], "measure of scores", "--score"),
    "a slip in the control": (["a.csv", "b.csv", "--control", "bb.csv"], "'bb.csv'", "'b.csv'"),
    "a slip in the correction": (["a.csv", "b.csv", "--correction", "hollm"], "'hollm'", "'holm'"),
    "a negative margin": (["a.csv", "b.csv", "--margin", "-0.1"], "positive number. Got -0.1", "write 0.1"),
    "equivalence without a margin": (["a.csv", "b.csv", "--equivalence"], "no margin", "--margin"),
    "a rope for cases": (["a.csv", "b.csv", "--rope", "0.1"], "A rope is for", "--margin"),
    "one learner": (["data.csv", "--learner", "knn:3"], "Only one learner was given: knn:3.", "at least two"),
    "learners on two files": (["data.csv", "a.csv", "--learner", "knn:3", "--learner", "tree"], "one file", "one file"),
    "learners and predictions": (["data.csv", "--learner", "knn:3", "--learner", "tree", "--id", "x"], "--id",
                                 "--learner"),
    "learners on different cases": (["data.csv", "--learner", "knn:3", "--learner", "tree", "--different-cases"],
                                    "--different-cases", "--learner"),
    "a plan without learners": (["a.csv", "b.csv", "--plan", "10-fold"], "--plan", "--learner"),
    "different lengths": (["a.csv", "short.csv"], "a.csv has 80, short.csv has 50 cases", "--different-cases"),
    "a level of 95": (["a.csv", "b.csv", "--level", "95"], "between 0 and 1", "0.95"),
    "a number that is none": (["a.csv", "b.csv", "--margin", "much"], "--margin must be a number", "--margin 0.5"),
    "options that a table has not": (["results.csv", "--margin", "0.1", "--id", "x"], "margin, id", "leave them out"),
    "one matrix only": (["--matrix", "50 0; 2 48"], "Only one classifier was given: matrix 1.", "two"),
    "a matrix of learners": (["data.csv", "--learner", "knn:3", "--learner", "tree", "--matrix", "5 0; 0 5"],
                             "--matrix", "leave"),
    "rows without a matrix": (["a.csv", "b.csv", "--rows", "predicted"], "--rows", "leave out"),
    "a matrix of ids": (["--matrix", "5 0; 0 5", "--matrix", "4 1; 1 4", "--id", "x"], "id", "evaluate()"),
    "splits of unknown size": (["seeds.csv"], "is not known", "--test-share"),
    "a share of tests without splits": (["results.csv", "--test-share", "0.1"], "single splits", "--splits"),
    "splits of predictions": (["a.csv", "b.csv", "--splits"], "here are predictions", "--fold"),
    "no curves to draw": (["a.csv", "b.csv", "--chart", "roc.svg"], "no ROC curves", "--score"),
    "a chart of learners": (["data.csv", "--learner", "knn:3", "--learner", "tree", "--chart", "x.svg"],
                            "no ROC curves", "--chart"),
    "a chart without a folder": ([*SCORED, "--chart", "none/roc.svg"], "there is no folder none", "folder"),
    "a chart that is a folder": ([*SCORED, "--chart", "."], "it is a folder", "file"),
    "a chart of no kind": ([*SCORED, "--chart", "roc.svgg"], "ends in '.svgg'", "roc.svg"),
    "a chart over the input": ([*SCORED, "--json", "x.svg", "--chart", "x.svg"], "overwrite", "its own name"),
    "json over the input": (["a.csv", "b.csv", "--json", "a.csv"], "overwrite the input", "its own name"),
    "two forms on the screen": (["a.csv", "b.csv", "--json", "-", "--html", "-"], "--json and --html", "a file"),
    "no such option": (["a.csv", "b.csv", "--marign", "1"], "--marign", "--margin"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_said_in_two_sentences(run, case, tmp_path):
    words, what, hint = WRONG[case]
    status, out, err = run(*words)
    assert (status, out) == (2, "")
    first, second = re.split(r"\nHint: ", err.strip(), maxsplit=1)
    assert what in first
    assert hint in second
    assert "Traceback" not in err
    assert {path.name for path in tmp_path.iterdir()} == set(FILES)


@pytest.mark.parametrize("place", ["none/roc.svg", "roc.svgg"])
def test_a_chart_that_cannot_be_written_is_refused_before_anything_is_read(run, place):
    # The file of scores is not there either, but nobody has looked for it yet.
    _, _, err = run("nowhere.csv", "--truth", "y", "--score", "p", "--score", "q", "--chart", place)
    assert "nowhere.csv" not in err
    assert place.rpartition("/")[2] in err


def test_the_help_names_the_default_correction_of_pairs_and_of_tables(run):
    status, out, _ = run("--help")
    # The frame of the help stands between the words.
    words = " ".join(re.sub(r"[│|]", " ", out).split())
    assert status == 0
    assert "holm (the default for pairs), nemenyi (for a table of results)" in words


def test_rows_that_one_column_lacks_are_dropped_for_all(run, tmp_path):
    answers = [*("" if row in (3, 60) else value for row, value in enumerate(ANSWERS["b"]))]
    (tmp_path / "lacking.csv").write_text(table("outcome,first,second", WORDS, ANSWERS["a"], answers), encoding="utf-8")
    found = document(
        run, "lacking.csv", "--truth", "outcome", "--predicted", "first", "--predicted", "second", "--missing", "drop"
    )
    assert {row["n"] for row in found["comparisons"]} == {N - 2}
    assert any("2 of 80 rows were dropped from all classifiers" in note for note in found["notes"])


@pytest.mark.parametrize("engine", ["memory", "stream", "duckdb"])
def test_notes_name_the_options_that_would_use_a_column(engine, run, tmp_path):
    for name in ("a", "b"):
        text = table("case,truth,predicted,weight,fold", range(N), WORDS, ANSWERS[name], [1] * N, np.arange(N) % 8)
        (tmp_path / f"{name}_weight.csv").write_text(text, encoding="utf-8")
    said = document(run, "a_weight.csv", "b_weight.csv", "--id", "case", "--engine", engine)["notes"]
    for name in ("a_weight.csv", "b_weight.csv"):
        assert f"{name}: the column 'weight' of {name} was not used; --weight weight would use it" in said
        assert f"{name}: the column 'fold' of {name} was not used; --fold fold would use it" in said


def test_columns_of_rows_that_are_read_again_are_told_of_once(run, tmp_path):
    for name, gap in (("a", 3), ("b", 5)):
        answers = ["" if row == gap else answer for row, answer in enumerate(ANSWERS[name])]
        text = table("truth,predicted,weight", WORDS, answers, [1] * N)
        (tmp_path / f"{name}_gap.csv").write_text(text, encoding="utf-8")
    said = document(run, "a_gap.csv", "b_gap.csv", "--missing", "drop")["notes"]
    assert any("2 of 80 rows were dropped from all classifiers" in note for note in said)
    assert sum("the column 'weight' of" in note for note in said) == 2
