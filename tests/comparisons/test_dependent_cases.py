"""Paired differences where cases come in groups or have weights, against groups left out and formulas by hand."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats
from sklearn.metrics import average_precision_score, f1_score, matthews_corrcoef, roc_auc_score
from tests.intervals.group_oracle import class_parts, deviations, spread
from typer.testing import CliRunner

import heldout
from heldout.cli.app import app
from heldout.comparisons.paired_influence import CaseUnits, compare_averaged_areas, compare_dependent_counts
from heldout.comparisons.paired_losses import MeanMoments
from heldout.errors import OptionError
from heldout.intervals.estimate import PairTest
from heldout.measures.catalogue import read_quantity

GROUPS = 24


def cases(seed: int = 2) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Truth, the scores of two models and groups of 2 to about 60 rows."""
    rng = np.random.default_rng(seed)
    group = np.repeat(np.arange(GROUPS), 2 + rng.lognormal(2, 0.8, GROUPS).astype(int))
    truth = (rng.random(len(group)) < 0.4).astype(int)
    sign = np.where(truth == 1, 1.0, -1.0)
    a, b = (sign * rng.normal(0.8, 0.7, GROUPS)[group] + rng.normal(size=len(group)) for _ in range(2))
    return truth, 1 / (1 + np.exp(-a)), 1 / (1 + np.exp(-b)), group


def evaluations(**options: Any) -> list[heldout.Evaluation]:
    truth, a, b, group = cases()
    return [heldout.evaluate(truth, score=p, positive=1, **{"group": group, **options}) for p in (a, b)]


def compared(*given: Any, measure: str, **options: Any) -> PairTest:
    """The test of one measure."""
    seen = heldout.compare(*given, measures=measure, **options)
    assert isinstance(seen, heldout.PairwiseComparison)
    return seen[measure].tested


FORMULAS: dict[str, Callable[[np.ndarray, np.ndarray], float]] = {
    "accuracy": lambda y, p: float(np.mean(y == p)),
    "f1[1]": f1_score,
    "matthews": matthews_corrcoef,
    "macro f1": lambda y, p: f1_score(y, p, average="macro"),
}


@pytest.mark.parametrize("name", list(FORMULAS))
def test_a_difference_moves_as_when_a_group_is_left_out(name):
    truth, a, b, group = cases()
    value = FORMULAS[name]
    answers = (a >= 0.5).astype(int), (b >= 0.5).astype(int)

    def difference(rows):
        return value(truth[rows], answers[0][rows]) - value(truth[rows], answers[1][rows])

    every = difference(np.ones(len(truth), dtype=bool))
    deleted = np.array([difference(group != g) for g in range(GROUPS)])
    jackknife = math.sqrt((GROUPS - 1) / GROUPS * ((deleted - every) ** 2).sum())
    test = compared(*evaluations(), measure=name)
    assert test.difference == pytest.approx(every, abs=1e-12)
    assert test.method == "influence-t"
    assert test.difference / test.statistic == pytest.approx(jackknife, rel=0.06)
    # The test is that of the interval.
    half = float(stats.t.ppf(0.975, test.df)) * jackknife
    assert (test.high - test.low) / 2 == pytest.approx(half, rel=0.06)
    assert test.p == pytest.approx(2 * float(stats.t.sf(abs(test.statistic), test.df)))
    assert test.df < GROUPS - 1


def test_accuracy_with_groups_by_hand():
    truth, a, b, group = cases()
    gain = ((a >= 0.5) == truth).astype(float) - ((b >= 0.5) == truth)
    n = len(truth)
    influence = (gain - gain.mean()) / n
    ones = np.ones(n)
    shares = class_parts(influence, truth, ones, group)
    variance, df = spread(influence, group, shares, deviations(influence, truth, ones))
    test = compared(*evaluations(), measure="accuracy")
    assert test.df == pytest.approx(df)
    assert test.statistic == pytest.approx(gain.mean() / math.sqrt(variance))


def test_weights_without_groups_are_never_worth_more_than_kish():
    truth, a, b, _ = cases()
    weight = np.random.default_rng(4).lognormal(0, 1, len(truth))
    gain = ((a >= 0.5) == truth).astype(float) - ((b >= 0.5) == truth)
    mean = np.average(gain, weights=weight)
    n, kish = len(truth), weight.sum() ** 2 / (weight**2).sum()
    linear = (weight**2 * (gain - mean) ** 2).sum() / weight.sum() ** 2
    equal = np.average((gain - mean) ** 2, weights=weight) / kish
    test = compared(*evaluations(group=None, weight=weight), measure="accuracy")
    assert test.difference == pytest.approx(mean)
    assert test.difference / test.statistic == pytest.approx(math.sqrt(max(linear, equal) * n / (n - 1)))
    assert 1 <= test.df <= kish


@pytest.mark.parametrize("name", ["average_precision[1]", "roc_auc[1]"])
def test_areas_move_as_when_a_group_is_left_out(name):
    truth, a, b, group = cases()
    value = average_precision_score if name.startswith("average") else roc_auc_score

    def difference(rows):
        return value(truth[rows], a[rows]) - value(truth[rows], b[rows])

    every = difference(np.ones(len(truth), dtype=bool))
    deleted = np.array([difference(group != g) for g in range(GROUPS)])
    jackknife = math.sqrt((GROUPS - 1) / GROUPS * ((deleted - every) ** 2).sum())
    test = compared(*evaluations(), measure=name)
    assert test.difference == pytest.approx(every, abs=1e-12)
    assert test.difference / test.statistic == pytest.approx(jackknife, rel=0.08)
    assert (test.low > 0 or test.high < 0) == (test.p < 0.05)


@pytest.mark.parametrize("average", ["macro", "hand_till"])
@pytest.mark.parametrize("grouped", [False, True])
def test_averaged_areas_move_as_when_a_case_or_group_is_left_out(average, grouped):
    rng = np.random.default_rng(6)
    group = np.repeat(np.arange(20), rng.integers(3, 12, 20)) if grouped else np.arange(140)
    codes = rng.integers(0, 3, len(group))
    scores = []
    for _ in range(2):
        own = rng.normal(size=(len(group), 3))
        own[np.arange(len(group)), codes] += 1.2 + 0.5 * rng.normal(size=group.max() + 1)[group] * grouped
        scores.append(own / 1.0)

    def value(own, rows):
        y, s = codes[rows], own[rows]
        if average == "macro":
            return np.mean([roc_auc_score(y == c, s[:, c]) for c in range(3)])
        pairs = [(c, d) for c in range(3) for d in range(3) if c != d]
        return np.mean([roc_auc_score(y[(y == c) | (y == d)] == c, s[(y == c) | (y == d), c]) for c, d in pairs])

    def difference(rows):
        return value(scores[0], rows) - value(scores[1], rows)

    every, units = difference(codes >= 0), group.max() + 1
    deleted = np.array([difference(group != g) for g in range(units)])
    jackknife = math.sqrt((units - 1) / units * ((deleted - every) ** 2).sum())
    test = compare_averaged_areas((scores[0], scores[1]), CaseUnits(codes, group=group if grouped else None), average)
    assert test.difference == pytest.approx(every, abs=1e-12)
    assert test.difference / test.statistic == pytest.approx(jackknife, rel=0.06)


def test_averaged_areas_are_compared_through_the_front_door():
    rng = np.random.default_rng(7)
    codes = rng.integers(0, 3, 150)
    sides = []
    for _ in range(2):
        scores = rng.random((150, 3)) + 0.6 * np.eye(3)[codes]
        table = {f"score_{c}": scores[:, c] / scores.sum(axis=1) for c in range(3)}
        sides.append(heldout.evaluate({"truth": codes, **table}, truth="truth"))
    for name in ("macro roc_auc", "hand_till_auc"):
        test = compared(*sides, measure=name)
        assert test.difference == pytest.approx(float(sides[0][name]) - float(sides[1][name]))
        assert test.method == "influence-t"


def test_losses_have_leverage_and_fewer_degrees_of_freedom_with_unequal_groups():
    truth, a, b, group = cases()
    gaps = (a - truth) ** 2 - (b - truth) ** 2
    deleted = np.array([gaps[group != g].mean() for g in range(GROUPS)])
    jackknife = (GROUPS - 1) / GROUPS * ((deleted - gaps.mean()) ** 2).sum()
    seen = MeanMoments.of(gaps, groups=group)
    assert seen.variance == pytest.approx(jackknife)
    sizes = np.bincount(group) / len(group)
    assert seen.df == pytest.approx(spread((gaps - gaps.mean()) / len(gaps), group, sizes, len(gaps) ** -0.5)[1])


def test_swapping_the_two_changes_the_sign_alone():
    truth, a, b, group = cases()
    units, answers = CaseUnits(truth, group=group), ((a >= 0.5).astype(int), (b >= 0.5).astype(int))
    quantity = read_quantity("f1[1]", (0, 1))
    one, two = (compare_dependent_counts(given, units, (0, 1), quantity) for given in (answers, answers[::-1]))
    assert (two.difference, two.low, two.high) == pytest.approx((-one.difference, -one.high, -one.low))
    assert one.p == pytest.approx(two.p)


def test_the_same_answers_everywhere_leave_room_for_what_was_not_seen():
    truth, a, _, group = cases()
    sides = [heldout.evaluate(truth, score=a, positive=1, group=group) for _ in range(2)]
    test = compared(*sides, measure="accuracy")
    assert (test.difference, test.p) == (0.0, 1.0)
    assert test.low == -test.high < -0.05


def test_a_method_for_independent_cases_is_refused():
    with pytest.raises(OptionError, match="takes cases as independent") as refused:
        heldout.compare(*evaluations(), measures="accuracy", method="mcnemar-exact")
    assert "influence-t" in refused.value.hint


def test_columns_of_groups_and_weights_are_named_for_frames():
    truth, a, b, group = cases()
    weight = np.random.default_rng(5).uniform(0.5, 2, len(truth))
    frame = {"truth": truth, "a": a, "b": b, "patient": group, "w": weight}
    columns: dict[str, Any] = {"truth": "truth", "score": ["a", "b"], "group": "patient", "weight": "w"}
    named = compared(frame, **columns, threshold=0.5, positive=1, measure="accuracy")
    assert named == compared(*evaluations(weight=weight), measure="accuracy")


def written(path: Path) -> list[str]:
    """Two files of the same cases with a column of groups and one of weights."""
    truth, a, b, group = cases()
    weight = np.random.default_rng(5).uniform(0.5, 2, len(truth))
    files = []
    for name, p in (("a", a), ("b", b)):
        file = path / f"{name}.csv"
        rows = zip(truth, (p >= 0.5).astype(int), p, group, weight, strict=True)
        file.write_text("\n".join(["truth,predicted,score,patient,w", *(",".join(map(str, row)) for row in rows)]))
        files.append(str(file))
    return files


def test_groups_and_weights_on_the_command_line(tmp_path):
    files, saved = written(tmp_path), tmp_path / "found.json"
    command = ["compare", *files, "--group", "patient", "--weight", "w", "--measure", "accuracy", "--json", str(saved)]
    ended = CliRunner().invoke(app, command)
    assert ended.exit_code == 0, ended.output
    (row,) = [row for row in json.loads(saved.read_text())["comparisons"] if row["measure"] == "accuracy"]
    weight = np.random.default_rng(5).uniform(0.5, 2, len(cases()[0]))
    wanted = compared(*evaluations(weight=weight), measure="accuracy")
    assert (row["difference"], row["p"]) == pytest.approx((wanted.difference, wanted.p))
    assert row["method"] == "influence-t"


def test_weights_of_a_table_of_results_and_of_learners_are_refused(tmp_path):
    results = tmp_path / "results.csv"
    results.write_text("data,one,two\nx,0.9,0.8\ny,0.7,0.6\n")
    ended = CliRunner().invoke(app, ["compare", str(results), "--weight", "w"])
    assert isinstance(ended.exception, OptionError)
    assert "weight" in ended.exception.what


@pytest.mark.parametrize(("options", "text"), [
    ({"group": "patient"}, "come in groups is compared by their rows"),
    ({"weight": "w"}, "have weights, and comparing weighted cases needs their rows"),
])  # fmt: skip
def test_rows_that_are_counted_elsewhere_are_refused(tmp_path, options, text):
    frames = [pl.scan_csv(file).with_row_index("case") for file in written(tmp_path)]
    with pytest.raises(OptionError, match=text) as refused:
        heldout.compare(*frames, id="case", truth="truth", predicted="predicted", measures="accuracy", **options)
    assert "--engine memory" in refused.value.hint
