"""Several answers on one page, and the pages of the other answers."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from tests.report.moved import churn
from tests.report.test_page import checked, of

import heldout
from heldout.comparisons.learner_ranks import rank_learners
from heldout.comparisons.ranks import ResultTable
from heldout.errors import OptionError
from heldout.report.report import Report
from heldout.result import ROW_KEYS
from heldout.show.blocks import Note, Section, Table, Title
from heldout.show.chart import Chart


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(4)
    truth = np.array(["no", "yes"])[rng.integers(0, 2, 90)]
    return rng.normal(size=(90, 3)) + (truth == "yes")[:, None], truth


@pytest.fixture(scope="module")
def answers(data):
    truth, score = churn(80)
    first = heldout.evaluate(truth, score=score, positive="yes")
    second = heldout.evaluate(truth, score=1 - score, positive="yes")
    return {
        "evaluation": first,
        "comparison": heldout.compare(first, second, names=["first", "second"]),
        "validation": heldout.validate(GaussianNB(), *data, plan="5-fold", positive="yes"),
        "validations": heldout.validate([GaussianNB(), KNeighborsClassifier()], *data, plan="5-fold"),
        "learning": heldout.learning_curve(GaussianNB(), *data, points=4, draws=4),
    }


@pytest.mark.parametrize("name", ["evaluation", "comparison", "validation", "validations", "learning"])
def test_every_answer_has_a_page_with_findings_and_provenance(name, answers, tmp_path):
    blocks = answers[name].page_blocks()
    names = checked(blocks)
    assert {"findings", "provenance"} <= set(names)
    assert of(Chart, blocks)
    found = [s for s in blocks if isinstance(s, Section) and s.name == "findings"]
    codes = {note.code for note in of(Note, found)} | {row[0] for t in of(Table, found) for row in t.rows}
    assert {finding.code for finding in answers[name].review.findings} <= codes
    assert answers[name].write(tmp_path / "page.html").stat().st_size < 2_000_000


@pytest.mark.parametrize("name", ["evaluation", "comparison", "validation", "validations"])
def test_figures_come_first_then_findings_and_splits_later(name, answers):
    kinds = [
        block.name if isinstance(block, Section) else type(block).__name__ for block in answers[name].page_blocks()
    ]
    assert kinds[0] == "Title"
    assert kinds.index("Overview") <= 3
    assert kinds.index("Overview") < kinds.index("findings")
    for later in ("threshold", "measures", "curves", "differences", "splits", "Chart"):
        assert later not in kinds or kinds.index("findings") < kinds.index(later)
    if name == "validation":
        assert kinds.index("measures") < kinds.index("splits")


def test_the_dots_of_a_validation_are_its_folds(answers):
    chart = next(c for c in of(Chart, answers["validation"].page_blocks()) if c.title == "accuracy in every split")
    assert chart.dots[0].y == tuple(answers["validation"].per_fold("accuracy").tolist())
    assert chart.strokes[0].y[0] == answers["validation"]["accuracy"].value


def test_the_dots_of_a_comparison_are_its_differences(answers):
    chart = next(c for c in of(Chart, answers["comparison"].page_blocks()) if c.title.startswith("Differences"))
    pairs = [pair.tested for pair in answers["comparison"].pairs]
    assert chart.dots[0].y == tuple(test.difference for test in pairs)
    assert chart.dots[0].low == tuple(test.low for test in pairs)


def test_a_learning_curve_is_drawn_with_its_limits(answers):
    curve = answers["learning"]
    chart = of(Chart, curve.page_blocks())[0]
    assert chart.strokes[0].y == tuple(curve.mean("test").tolist())
    assert chart.ribbons[0].high == tuple(curve.high.tolist())
    assert chart.points[0][0] == curve.sizes[0]


def test_a_report_holds_all_parts_in_every_form(answers, tmp_path):
    report = Report(answers.values(), title="All of it")
    document = json.loads(report.to_json())
    assert document["schema"] == "heldout/report@1"
    assert [part["schema"] for part in document["parts"]] == [part.schema for part in answers.values()]
    assert "estimates" not in document
    rows = report.rows()
    assert len(rows) == sum(len(part.rows()) for part in answers.values())
    assert all(list(row)[: len(ROW_KEYS)] == list(ROW_KEYS) for row in rows)
    assert {row["answer"] for row in rows} == {1, 2, 3, 4, 5}
    checked(report.page_blocks())
    for ending in ("html", "md", "tex", "txt", "csv", "json"):
        assert report.write(tmp_path / f"report.{ending}").stat().st_size > 0
    assert "All of it" in str(report)


def test_a_report_of_nothing_or_of_something_else_is_refused():
    with pytest.raises(OptionError, match="needs a part"):
        Report([])
    with pytest.raises(OptionError, match="made of results"):
        Report([3])  # type: ignore[list-item]


def test_each_fold_has_a_roc_curve_of_its_own(answers):
    chart = next(c for c in of(Chart, answers["validation"].page_blocks()) if c.title == "ROC curve of every fold")
    assert len([stroke for stroke in chart.strokes if not stroke.dashed]) == 5
    assert f"{answers['validation'].per_fold('roc_auc').mean():.3f}"[1:] in chart.detail


def test_a_chosen_threshold_and_ranks_have_pages_too(tmp_path):
    truth, score = churn(80)
    decision = heldout.choose_threshold(truth, score, positive="yes", by="f1")
    assert {"everything", "provenance"} <= set(checked(decision.page_blocks()))
    values = np.random.default_rng(0).random((9, 3)) / 4 + [0.5, 0.6, 0.7]
    ranks = rank_learners(ResultTable(values, tuple("abcdefghi"), ("knn", "bayes", "forest")))
    chart = of(Chart, ranks.page_blocks())[0]
    assert chart.dots[0].x == tuple(sorted(ranks.average_ranks.values()))
    assert len(chart.strokes) == len(ranks.groups)
    for number, answer in enumerate((decision, ranks)):
        assert answer.write(tmp_path / f"{number}.html").stat().st_size > 10_000


def test_only_the_measures_that_were_named_are_shown_however_it_is_written():
    seen = heldout.evaluate([0, 1, 1, 0, 1, 0], [0, 1, 0, 0, 1, 1], measures=["kappa", "recall[1]"])
    for text in (str(seen), seen.to_markdown(), seen.to_latex(), seen.to_html()):
        assert "kappa" in text
        assert "recall" in text
        assert not any(other in text for other in ("accuracy", "MCC", "matthews", "specificity"))
    assert [row["measure"] for row in seen.rows()] == ["kappa", "recall"]
    assert "accuracy" in str(heldout.evaluate([0, 1, 1, 0, 1, 0], [0, 1, 0, 0, 1, 1]))


def test_a_validation_shows_only_the_measures_that_were_named():
    rng = np.random.default_rng(0)
    rows = {"x": rng.normal(size=60), "y": rng.integers(0, 2, 60)}
    seen = heldout.validate("naive-bayes", rows, target="y", plan="5-fold", measures=["kappa"])
    for text in (str(seen), seen.to_markdown(), seen.to_latex(), seen.to_html()):
        assert "kappa" in text
        assert "MCC" not in text
        assert "specificity" not in text


def test_an_evaluation_of_folds_names_what_it_estimates():
    truth, predicted = [0, 1] * 30, [0, 1, 1] * 20
    folded = heldout.evaluate(truth, predicted, fold=[at % 5 for at in range(60)])
    line = "the learner has on average over training sets like this one"
    for text in (str(folded), folded.to_html(), folded.to_json()):
        assert line in " ".join(text.split())
    assert line not in " ".join(str(heldout.evaluate(truth, predicted)).split())
    assert not heldout.evaluate(truth, predicted).target


def test_one_group_is_not_counted_in_the_plural():
    grouped = heldout.evaluate([0, 1] * 4, [0, 1, 1, 1] * 2, group=["a"] * 8)
    title = of(Title, grouped.page_blocks())[0]
    assert title.detail.startswith("8 cases · 1 group · 2 classes")
