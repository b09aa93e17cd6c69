"""The page of an evaluation: what is on it, in which order, and that every link leads somewhere."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pytest
from tests.report.moved import COSTS, churn

import heldout
from heldout.intervals.fold_estimates import FOLD_METHODS
from heldout.intervals.methods import METHODS
from heldout.intervals.score_methods import ONE_SIDED_AREAS, ONE_SIDED_COMPONENTS, score_method_names
from heldout.measures.catalogue import CATALOGUE
from heldout.report.explanations import QUALIFIERS, explain_qualifier, method_words
from heldout.show.blocks import Block, Facts, Note, Number, Overview, Prose, Section, Table, Title
from heldout.show.chart import Chart
from heldout.show.explorer import Explorer

HOSTILE = (
    "<script>alert(1)</script>",
    '"; DROP TABLE cases; --',
    "x" * 10_000,
    "\u202e\u05e9\u05dc\u05d5\u05dd",
    "🙂👩‍👩‍👧",
    "=cmd()|'/C calc'!A0",
    "</script><img src=x onerror=alert(1)>",
)


def walked(blocks: Iterable[Block]) -> Iterator[Block]:
    """Every block, those inside sections too."""
    for block in blocks:
        yield block
        if isinstance(block, Section):
            yield from walked(block.blocks)
        elif isinstance(block, Overview):
            yield from (part for part in (block.figures, block.more, block.below) if part is not None)


def of(kind: Any, blocks: Iterable[Block]) -> list[Any]:
    return [block for block in walked(blocks) if isinstance(block, kind)]


def links(blocks: Iterable[Block]) -> set[str]:
    """Every section that a number leads to."""
    held = list(walked(blocks))
    numbers = [c for t in of(Table, held) for row in t.rows for c in row if isinstance(c, Number)]
    return {n.how for n in numbers if n.how} | {f.how for e in of(Explorer, held) for f in e.figures if f.how}


def checked(blocks: list[Block]) -> list[str]:
    """The names of the sections: each once, and every link among them."""
    names = [section.name for section in of(Section, blocks) if section.name]
    assert len(names) == len(set(names))
    assert links(blocks) <= set(names)
    return names


@pytest.fixture(scope="module")
def evaluation() -> heldout.Evaluation:
    truth, score = churn(150)
    return heldout.evaluate(truth, score=score, positive="yes", costs=COSTS)


@pytest.fixture(scope="module")
def blocks(evaluation) -> list[Block]:
    return evaluation.page_blocks()


def test_a_page_is_in_reading_order(blocks):
    assert isinstance(blocks[0], Title)
    assert any(isinstance(block, Prose) and block.label == "Verdict" for block in blocks[:3])
    order = [section.name for section in blocks if isinstance(section, Section)]
    wanted = ["findings", "threshold", "curves", "classes", "hardest", "how", "provenance"]
    assert [name for name in order if name in wanted] == [name for name in wanted if name in order]
    assert set(wanted) - {"hardest"} <= set(order)
    checked(blocks)


def test_it_shows_every_curve_and_marks_the_threshold_on_each(blocks):
    charts = of(Chart, blocks)
    titles = {chart.title: chart for chart in charts}
    for title in ("ROC curve", "Precision-recall curve", "Cost curve", "Decision curve"):
        assert titles[title].moves is not None
    assert titles["Reliability diagram"].moves is None
    assert all(chart.points for chart in charts)


def test_every_finding_is_there_whatever_came_of_it(evaluation, blocks):
    section = next(s for s in blocks if isinstance(s, Section) and s.name == "findings")
    codes = {note.code for note in of(Note, [section])} | {row[0] for t in of(Table, [section]) for row in t.rows}
    assert codes == {finding.code for finding in evaluation.review.findings}


def test_how_a_number_was_made_says_formula_counts_method_and_source(evaluation, blocks):
    section = next(s for s in of(Section, blocks) if s.name == "how-recall")
    facts = {key: text for block in section.blocks if isinstance(block, Facts) for key, text in block.pairs}
    assert facts["formula"] == "TP / (TP + FN)"
    assert "Wilson (1927)" in facts["interval"]
    assert "Fawcett" in facts["reference"]
    table = next(block for block in section.blocks if isinstance(block, Table))
    tp, fn, _, _ = evaluation.confusion.corners[evaluation.confusion.index("yes")].astype(int).tolist()
    put_in = {row[0]: row[1] for row in table.rows}
    assert put_in["yes"] == f"{tp} / ({tp} + {fn})"


def test_provenance_names_versions_seed_level_and_fingerprint(evaluation, blocks):
    section = next(s for s in blocks if isinstance(s, Section) and s.name == "provenance")
    facts = dict(of(Facts, [section])[0].pairs)
    assert facts["fingerprint of the cases"] == evaluation.fingerprint
    assert facts["seed"] == "0"
    assert facts["level"] == "0.95"
    assert all(name in facts["computed with"] for name in ("heldout", "numpy", "polars", "scikit-learn", "Python"))


def test_several_classes_show_the_matrix_three_ways_and_their_curves_together():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 90)
    score = rng.dirichlet([1, 1, 1], 90)
    blocks = heldout.evaluate(np.array(["a", "b", "c"])[truth], score=score).page_blocks()
    names = checked(blocks)
    assert {"matrix", "matrix-rows", "matrix-columns"} <= set(names)
    charts = {chart.title: chart for chart in of(Chart, blocks)}
    roc = charts["ROC curve of each class against the rest"]
    assert len([stroke for stroke in roc.strokes if not stroke.dashed]) == 3
    assert not of(Explorer, blocks)


def test_a_matrix_of_many_classes_gives_way_to_the_most_confused_pairs():
    rng = np.random.default_rng(0)
    labels = np.array([f"c{at}" for at in range(60)])
    blocks = heldout.evaluate(labels[rng.integers(0, 60, 500)], labels[rng.integers(0, 60, 500)]).page_blocks()
    assert "matrix-rows" not in checked(blocks)
    matrix = next(section for section in of(Section, blocks) if section.name == "matrix")
    assert "confused with" in {column.header for table in of(Table, [matrix]) for column in table.columns}


def test_a_column_of_dates_is_drawn_over_time():
    truth, score = churn(300)
    days = np.datetime64("2024-01-01") + np.arange(300)
    evaluation = heldout.evaluate(truth, score=score, positive="yes", slices={"day": days})
    section = next(s for s in evaluation.page_blocks() if isinstance(s, Section) and s.name == "time")
    charts = of(Chart, [section])
    assert [chart.title for chart in charts] == ["accuracy over day", "recall (yes) over day"]
    found = evaluation.slices("accuracy", columns="day")
    assert charts[0].dots[0].y == tuple(one.estimate.value for one in found)
    assert charts[0].dots[0].low == tuple(one.estimate.low for one in found)
    assert charts[0].x.ticks[0][1] == "2024-01"


def test_rows_of_the_matrix_add_up_to_everything():
    blocks = heldout.evaluate(matrix=[[50, 3], [5, 40]], labels=["a", "b"]).page_blocks()
    rows = next(s for s in of(Section, blocks) if s.name == "matrix-rows").blocks[0].rows
    assert [sum(cell.value for cell in row[1:]) for row in rows] == pytest.approx([1.0, 1.0])
    columns = next(s for s in of(Section, blocks) if s.name == "matrix-columns").blocks[0].rows
    assert [sum(row[at].value for row in columns) for at in (1, 2)] == pytest.approx([1.0, 1.0])


@pytest.mark.parametrize("label", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_labels_stay_text_in_every_form(label, tmp_path):
    truth, score = churn(30)
    told = np.where(truth == "yes", label, "no").astype(object)
    evaluation = heldout.evaluate(told.tolist(), score=score, positive=label)
    text = evaluation.write(tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<script>alert(1)" not in text
    assert "<img src=x" not in text
    assert len(text) < 2_000_000
    for form in (evaluation.to_markdown(), evaluation.to_latex(), evaluation.to_html()):
        assert "<script>alert(1)" not in form
    checked(evaluation.page_blocks())


def test_a_million_distinct_scores_make_a_page_of_less_than_two_megabytes(tmp_path):
    rng = np.random.default_rng(0)
    n = 1_000_000
    positive = rng.random(n) < 0.2
    score = 1 / (1 + np.exp(1.5 - 2 * positive - rng.normal(size=n)))
    page = heldout.evaluate(positive, score=score, positive=True).write(tmp_path / "page.html")
    assert page.stat().st_size < 2_000_000
    assert "points are drawn" in page.read_text(encoding="utf-8")


def test_only_the_measures_asked_for_make_a_short_page():
    truth, score = churn(60)
    blocks = heldout.evaluate(truth, score=score, positive="yes", measures=["recall", "roc_auc"]).chosen_page_blocks()
    names = checked(blocks)
    assert [name for name in names if name.startswith("how-")] == ["how-recall", "how-roc_auc"]
    assert not of(Explorer, blocks)


@pytest.mark.parametrize("beside", ["weight", "group", "fold"])
def test_weights_groups_and_folds_make_a_page_too(beside, tmp_path):
    truth, score = churn(30)
    values = np.arange(30) % 5 + 1
    asked: dict[str, Any] = {beside: values}
    evaluation = heldout.evaluate(truth, score=score, positive="yes", **asked)
    checked(evaluation.page_blocks())
    assert evaluation.write(tmp_path / "page.html").stat().st_size > 10_000


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_column_names_stay_text_and_short(name, tmp_path):
    truth, score = churn(30)
    frame = {name: truth, "score": score}
    evaluation = heldout.evaluate(frame, truth=name, score="score", positive="yes")
    page = evaluation.write(tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<script>alert(1)" not in page
    assert "<img src=x" not in page
    assert "x" * 300 not in page


FOLDS = [0, 1, 2] * 30


def printed_methods() -> set[str]:
    """The methods of real estimates: of files, folds, weights, groups, bins and several classes, and those of gates."""
    truth, score = churn(90)
    rng = np.random.default_rng(0)
    several = rng.dirichlet(np.ones(3), 90)
    kinds = (several.cumsum(axis=1) < rng.random((90, 1))).sum(axis=1)
    beside: list[dict[str, Any]] = [{}, {"fold": FOLDS}, {"weight": rng.random(90)}, {"group": np.arange(90) // 3}]
    beside += [{"weight": rng.random(90), "fold": FOLDS}, {"group": FOLDS, "fold": FOLDS}]
    seen = [heldout.evaluate(truth, score=score, positive="yes", **more) for more in beside]
    seen += [heldout.evaluate(kinds, score=several, **more) for more in beside]
    seen += [heldout.evaluate("examples/diabetes.csv"), heldout.evaluate("examples/diabetes.csv", engine="stream")]
    estimates = [each for one in seen for each in one.estimates]
    gates = [
        seen[0].one_sided(name) for name in ("recall", "roc_auc", "average_precision", "brier", "brier_skill", "ece")
    ]
    return {each.method for each in [*estimates, *gates]}


def test_every_interval_method_that_is_printed_is_explained():
    named = {found.name for kind in (ONE_SIDED_AREAS, ONE_SIDED_COMPONENTS) for found in kind.values()}
    over_folds = {measure.fold_interval for measure in CATALOGUE.values() if measure.fold_interval}
    named |= {*METHODS, *FOLD_METHODS, *score_method_names()} | {f"{name} over folds" for name in over_folds}
    printed = printed_methods() - {"none"}
    assert {"over folds", "n/", "threshold shift", "effective n", "groups"} <= {
        part for name in printed for part in QUALIFIERS if part in name
    }
    for name in named | printed:
        words = method_words(name)
        assert words.startswith(f"{name}: "), name
        assert words.endswith(")"), name
        for rest in name.split(", ")[1:]:
            assert explain_qualifier(rest), name
            assert explain_qualifier(rest) in words, name
