"""Measures of one's own: formulas and functions declared by a person, in every place where measures are used."""

from __future__ import annotations

import math
import pickle
import sys
from functools import partial
from typing import Any

import numpy as np
import pytest
from sklearn import metrics

import heldout
from heldout.errors import OptionError
from heldout.imports import folder_modules
from heldout.measures.catalogue import CATALOGUE, find, unregister

RNG = np.random.default_rng(3)
TRUTH = RNG.choice(["ham", "spam"], 240, p=[0.6, 0.4])
SCORE = np.clip(np.where(TRUTH == "spam", 0.6, 0.35) + RNG.normal(0, 0.2, 240), 0, 1)
FIRST = np.where(SCORE >= 0.5, "spam", "ham")
SECOND = np.where(RNG.random(240) < 0.3, "spam", TRUTH)
GROUP = np.arange(240) // 8

MODULE = """
import heldout

@heldout.measure(direction="lower", low=0)
def cost_per_alarm(tp, fp, fn):
    '''What an alarm costs: 1 where it is false, 5 for each that was missed.'''
    return fp + 5 * fn, tp + fp

def share_right(y_true, y_pred):
    return (y_true == y_pred).mean()

number = 3

def impossible(y_true, y_pred):
    raise RuntimeError("no such luck")
"""


@pytest.fixture(autouse=True)
def catalogue():
    """The catalogue as it was, after each test."""
    before = set(CATALOGUE)
    yield
    for name in set(CATALOGUE) - before:
        unregister(name)


@pytest.fixture
def judged():
    return heldout.evaluate(TRUTH, FIRST, score=SCORE, positive="spam")


def declare_alarms():
    @heldout.measure(direction="lower", low=0)
    def alarms_per_find(tp, fp):
        """How many alarms it takes to find one."""
        return tp + fp, tp

    return alarms_per_find


def compare(*sides, **options) -> Any:
    return heldout.compare(*sides, **options)


def limits(estimate):
    return estimate.value, estimate.low, estimate.high, estimate.n


def test_a_share_of_the_cases_is_the_measure_that_it_repeats(judged):
    @heldout.measure
    def found(tp, fn):
        return tp, tp + fn

    assert (found.kind, found.range) == ("proportion", (0.0, 1.0))
    again = heldout.evaluate(TRUTH, FIRST, positive="spam")
    for own, known in (("found", "recall"), ("found[ham]", "recall[ham]"), ("micro found", "micro recall")):
        assert limits(again[own]) == limits(judged[known])
    sides = heldout.evaluate(TRUTH, FIRST, positive="spam"), heldout.evaluate(TRUTH, SECOND, positive="spam")
    first, second = (compare(*sides, measures=name).pairs[0].tested for name in ("found", "recall"))
    assert first == second


def test_any_other_formula_has_the_interval_of_the_posterior(judged):
    @heldout.measure(low=-1, high=1)
    def association(tp, fn, fp, tn):
        root = ((tp + fn) * (tp + fp) * (tn + fn) * (tn + fp)) ** 0.5
        return (tp * tn - fp * fn) / root

    own, known = heldout.evaluate(TRUTH, FIRST, positive="spam")["association"], judged["matthews"]
    assert own.method == known.method == "dirichlet"
    assert [own.value, own.low, own.high] == pytest.approx([known.value, known.low, known.high])
    grouped = heldout.evaluate(TRUTH, FIRST, positive="spam", group=GROUP)
    assert limits(grouped["association"]) == pytest.approx(limits(grouped["matthews"]))


def test_a_formula_of_the_whole_table_is_told_the_table(judged):
    @heldout.measure(low=0, high=1)
    def right(table):
        return np.trace(table) / table.sum()

    evaluation = heldout.evaluate(TRUTH, FIRST, positive="spam")
    assert evaluation.value("right") == judged.value("accuracy")
    grouped = heldout.evaluate(TRUTH, FIRST, positive="spam", group=GROUP)
    assert limits(grouped["right"]) == pytest.approx(limits(grouped["accuracy"]), rel=1e-6)
    sides = evaluation, heldout.evaluate(TRUTH, SECOND, positive="spam")
    own, known = (compare(*sides, measures=name).pairs[0].tested for name in ("right", "accuracy"))
    assert own.difference == pytest.approx(known.difference)


def test_it_is_used_everywhere_at_once(tmp_path):
    alarms = declare_alarms()
    assert alarms(30, 10) == pytest.approx(4 / 3)
    evaluation = heldout.evaluate(TRUTH, FIRST, score=SCORE, positive="spam")
    assert "alarms per find" in str(evaluation)
    assert "alarms_per_find_spam_high" in evaluation.metrics()
    assert heldout.evaluate(TRUTH, FIRST, positive="spam", measures=[alarms]).estimates[0] == evaluation[alarms]
    assert evaluation.get(alarms, class_="spam") == evaluation[alarms]
    assert "How many alarms it takes to find one." in evaluation.write(tmp_path / "page.html").read_text()
    assert heldout.check(evaluation, require="alarms_per_find <= 3").passed
    assert heldout.assert_at_most(evaluation["alarms_per_find"], 3).outcome == "passed"
    other = heldout.evaluate(TRUTH, SECOND, positive="spam")
    compared = compare(evaluation, other, measures=alarms).pairs[0]
    assert compared.value_a - compared.value_b == pytest.approx(compared.tested.difference)
    assert any(pair.measure == "alarms_per_find" for pair in compare(evaluation, other).pairs)
    chosen = heldout.choose_threshold(TRUTH, score=SCORE, positive="spam", by="alarms_per_find")
    assert "alarms per find" in str(chosen)
    assert evaluation.curve("alarms_per_find").y.min() >= 1

    class Said:
        """A model that says the same of these cases again."""

        classes_ = np.array(["ham", "spam"])

        def predict(self, X):
            return X

    scorer = heldout.scorer(alarms, positive="spam")
    assert scorer(Said(), FIRST, TRUTH) == -evaluation.value("alarms_per_find")
    share = heldout.metric(right)
    assert heldout.scorer(share)(Said(), FIRST, TRUTH) == evaluation.value("accuracy")


def test_with_very_many_cases_it_keeps_an_interval():
    declare_alarms()
    estimate = heldout.evaluate(matrix=[[90_000, 10_000], [9_000, 70_000]], positive=1)["alarms_per_find"]
    assert estimate.method == "logit"
    assert 1 < estimate.low < estimate.value < estimate.high < 1.2


def test_parameters_are_those_that_stand_alone():
    @heldout.measure(low=0, high=1)
    def weighed(tp, fp, fn, *, beta=2.0):
        return (1 + beta) * tp, (1 + beta) * tp + fp + fn

    evaluation = heldout.evaluate(TRUTH, FIRST, positive="spam")
    assert evaluation.value("weighed(beta=1)") == evaluation.value("f1")
    assert evaluation.value("weighed") != evaluation.value("f1")


def test_what_is_undefined_has_a_reason():
    @heldout.measure(undefined="nothing was called positive")
    def miss_ratio(fn, fp, tp):
        return fn / (tp + fp)

    estimate = heldout.evaluate(["no", "yes"], ["no", "no"])["miss_ratio"]
    assert np.isnan(estimate.value)
    assert estimate.undefined == "nothing was called positive"


def test_errors_name_the_measure():
    def half(tp, fp):
        return max(tp, fp)

    with pytest.raises(OptionError, match="The formula of half cannot be run on arrays"):
        heldout.measure(half)
    with pytest.raises(OptionError, match="needs a name"):
        heldout.measure(lambda tp, fp: (tp, fp))
    with pytest.raises(OptionError, match="'recall' belongs to a measure that there is already"):
        heldout.measure(lambda_named(lambda tp, fn: (tp, fn), "recall"))
    with pytest.raises(OptionError, match="did you mean 'tp'"):
        heldout.measure(lambda_named(lambda tpp, fp: (tpp, fp), "slip"))
    heldout.metric(lambda_named(lambda y_true, y_pred: len(y_true) / (len(y_pred) - 240), "division"))
    with pytest.raises(OptionError, match="The measure division failed: ZeroDivisionError"):
        heldout.evaluate(TRUTH, FIRST, measures="division")
    heldout.metric(lambda_named(lambda y_true, y_pred: f"{len(y_true)} of {len(y_pred)}", "wordy"))
    with pytest.raises(OptionError, match="returned '240 of 240'"):
        heldout.evaluate(TRUTH, FIRST, measures="wordy")


def lambda_named(function, name):
    function.__name__ = name
    return function


def right(y_true, y_pred, sample_weight=None):
    """Share of the cases that were predicted right."""
    return np.average(y_true == y_pred, weights=sample_weight)


def test_a_function_of_the_cases_has_a_bootstrap_interval(judged):
    share = heldout.metric(right, low=0, high=1)
    estimate, known = judged[share], judged["accuracy"]
    assert (estimate.value, estimate.method) == (known.value, "bootstrap")
    assert [estimate.low, estimate.high] == pytest.approx([known.low, known.high], abs=0.02)
    drawn = [heldout.evaluate(TRUTH, FIRST, measures=[share], replicates=99, seed=seed)[share] for seed in (0, 0, 1)]
    assert limits(drawn[0]) == limits(drawn[1])
    assert drawn[2].low != drawn[0].low
    rand = heldout.metric(metrics.adjusted_rand_score)
    again = heldout.evaluate(TRUTH, FIRST, positive="spam", measures=[rand], replicates=50)
    assert again.value("adjusted_rand_score") == metrics.adjusted_rand_score(TRUTH, FIRST)


def test_groups_are_drawn_whole_and_weights_are_passed():
    heldout.metric(right, name="agreement", low=0, high=1)
    # Eight copies of each case are no more than one.
    once = heldout.evaluate(TRUTH[::8], FIRST[::8], measures="agreement", replicates=500)["agreement"]
    copies, group = np.repeat(np.arange(0, 240, 8), 8), np.repeat(np.arange(30), 8)
    grouped = heldout.evaluate(TRUTH[copies], FIRST[copies], group=group, measures="agreement", replicates=500)
    assert grouped["agreement"].method == "cluster-bootstrap"
    assert grouped["agreement"].width == pytest.approx(once.width, rel=0.15)
    weight = RNG.random(240)
    weighted = heldout.evaluate(TRUTH, FIRST, weight=weight, measures="agreement", replicates=50)
    assert weighted.value("agreement") == pytest.approx(weighted.value("accuracy"))
    heldout.metric(lambda_named(lambda y_true, y_pred: float(y_true[0] == y_pred[0]), "weightless"))
    with pytest.raises(OptionError, match="The cases have weights, and weightless takes none"):
        heldout.evaluate(TRUTH, FIRST, weight=weight, measures="weightless")


def test_a_function_of_scores_is_compared_by_drawing_the_same_cases():
    def gap(truth, score):
        """How far the mean scores of the two classes are apart."""
        return score[truth == "spam"].mean() - score[truth == "ham"].mean()

    heldout.metric(gap)
    assert find("gap").measure.cells == ("truth", "score")
    noisy = np.clip(SCORE + RNG.normal(0, 0.02, 240), 0, 1)
    sides = [heldout.evaluate(TRUTH, score=score, positive="spam", threshold=0.5) for score in (SCORE, noisy)]
    tested = compare(*sides, measures="gap", replicates=300).pairs[0].tested
    assert tested.method == "paired-bootstrap"
    assert tested.difference == pytest.approx(sides[0].value("gap") - sides[1].value("gap"))
    # What is common to both cancels: alone, each is far less certain.
    assert tested.high - tested.low < sides[0]["gap"].width / 4
    with pytest.raises(OptionError, match="is a function of scores, and none were given"):
        heldout.evaluate(TRUTH, FIRST, measures="gap")


@pytest.mark.parametrize("given", [None, "x", [0.1, 0.2], 1 + 2j, np.array([[1.0, 2.0]])])
def test_what_is_no_number_is_refused(given):
    broken = heldout.metric(lambda_named(lambda *_: given, "broken"))
    with pytest.raises(OptionError, match=r"The measure broken returned .* and no number"):
        heldout.evaluate(TRUTH, FIRST, measures=[broken])
    with pytest.raises(OptionError, match=r"cannot be run on arrays|does not give one number"):
        heldout.measure(lambda_named(lambda tp: given if tp is not None else tp, "odd"))


def test_a_function_for_other_data_is_no_hindrance_where_nobody_asks_for_it():
    heldout.metric(lambda_named(lambda y_true, y_pred: float(y_true[0]) - float(y_pred[0]), "of_numbers"))
    judged = heldout.evaluate(TRUTH, FIRST, positive="spam")
    assert judged["accuracy"].value == np.mean(TRUTH == FIRST)
    row: dict[str, Any] = next(row for row in judged.rows() if row["measure"] == "of_numbers")
    assert math.isnan(row["value"])
    assert row["undefined"].startswith("the measure of_numbers failed: ValueError")
    assert compare(judged, heldout.evaluate(TRUTH, SECOND, positive="spam")).pairs
    with pytest.raises(OptionError, match="The measure of_numbers failed"):
        heldout.evaluate(TRUTH, FIRST, measures="of_numbers")


@pytest.mark.parametrize("positive", ["ham", "spam"])
def test_functions_of_scikit_learn_are_told_the_positive_class(positive):
    """Otherwise they take the last of the classes in the alphabet for it."""
    score = SCORE if positive == "spam" else 1 - SCORE
    functions = {
        "roc_auc": metrics.roc_auc_score,
        "average_precision": metrics.average_precision_score,
        "brier": metrics.brier_score_loss,
        "log_loss": metrics.log_loss,
        "f1": metrics.f1_score,
        "macro f1": partial(metrics.f1_score, average="macro"),
        "recall[ham]": partial(metrics.recall_score, pos_label="ham"),
    }
    theirs = {
        name: heldout.metric(function, name=f"theirs_{at}", needs="score" if at < 4 else "predicted")
        for at, (name, function) in enumerate(functions.items())
    }
    judged = heldout.evaluate(
        TRUTH, score=score, positive=positive, threshold=0.5, measures=[*theirs, *theirs.values()], replicates=40
    )
    for ours, measure in theirs.items():
        assert judged[measure].value == pytest.approx(judged[ours].value), ours


def test_a_function_that_writes_into_what_it_is_given_changes_nothing_for_the_next():
    def spoil(y_true, y_pred):
        y_true[:] = y_pred
        return 0.0

    chosen = [heldout.metric(spoil), heldout.metric(right)]
    judged = heldout.evaluate(TRUTH, FIRST, measures=chosen, replicates=50)
    assert judged["right"].value == judged["accuracy"].value


def test_two_functions_of_one_name_are_refused():
    first = heldout.metric(right, name="mine")
    second = heldout.metric(metrics.zero_one_loss, name="mine")
    with pytest.raises(OptionError, match="The measure 'mine' was declared anew after this one"):
        heldout.evaluate(TRUTH, FIRST, measures=[first, second])
    with pytest.raises(OptionError, match="The measure 'mine' was declared anew after this one"):
        heldout.evaluate(TRUTH, FIRST, measures="accuracy").interval(first)
    with pytest.raises(OptionError, match="is asked for by its name") as refused:
        heldout.evaluate(TRUTH, FIRST, measures="accuracy").interval(right)  # type: ignore[arg-type]
    assert "heldout.metric" in refused.value.hint
    assert heldout.evaluate(TRUTH, FIRST, measures=[second], replicates=50)["mine"].value == pytest.approx(
        np.mean(TRUTH != FIRST)
    )


def test_where_there_are_no_rows_a_function_of_the_cases_is_refused():
    heldout.metric(lambda_named(lambda y_true, y_pred: (y_true == y_pred).mean(), "share_right"))
    with pytest.raises(OptionError, match="needs the rows"):
        heldout.evaluate(matrix=[[5, 1], [1, 5]])["share_right"]
    first, second = (heldout.evaluate(TRUTH, side) for side in (FIRST, SECOND))
    with pytest.raises(OptionError, match="compared on the same cases in memory"):
        heldout.compare(first, second, measures="share_right", paired=False)
    sliced = heldout.evaluate(TRUTH, FIRST, slices={"half": np.arange(240) % 2})
    with pytest.raises(OptionError, match="has no value in slices"):
        sliced.slices("share_right")
    assert sliced.value("share_right") == sliced.value("accuracy")


def test_results_with_functions_of_the_cases_are_copied():
    kappa = heldout.metric(right, name="agreement")
    assert pickle.loads(pickle.dumps(kappa)) == kappa
    evaluation = heldout.evaluate(TRUTH, FIRST, positive="spam", measures=[kappa], replicates=50)
    assert pickle.loads(pickle.dumps(evaluation)) == evaluation


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a person's own measures and predictions, as the current one."""
    (tmp_path / "my_measures.py").write_text(MODULE)
    rows = "\n".join(f"{truth},{answer}" for truth, answer in zip(TRUTH, FIRST, strict=True))
    (tmp_path / "mail.csv").write_text(f"truth,predicted\n{rows}\n")
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    sys.meta_path[:] = [finder for finder in sys.meta_path if finder not in folder_modules()]
    sys.modules.pop("my_measures", None)


@pytest.mark.usefixtures("folder")
def test_the_command_line_imports_them_by_module_and_name(run):
    status, out, _ = run("evaluate", "mail.csv", "--positive", "spam", "--measure", "my_measures:cost_per_alarm")
    assert (status, "cost per alarm" in out) == (0, True)
    status, out, _ = run("evaluate", "mail.csv", "--measure", "my_measures:share_right", "--json", "-")
    assert (status, '"measure": "share_right"' in out) == (0, True)
    status, out, _ = run(
        "check", "mail.csv", "--positive", "spam", "--require", "my_measures:cost_per_alarm <= 9, recall >= 0.1"
    )
    assert (status, "cost_per_alarm <= 9" in out) == (0, True)
    status, out, _ = run("measures", "my_measures:cost_per_alarm")
    assert (status, "(FP + 5 · FN) / (TP + FP)" in out) == (0, True)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("named", "said"),
    [
        ("my_measures:number", "is of type int, and no measure"),
        ("my_measures:impossible", "The measure impossible failed: RuntimeError: no such luck"),
        ("my_measures:cost_per_alarn", "The module 'my_measures' has no 'cost_per_alarn'"),
        ("my_measure:cost", "There is no module 'my_measure', which the measure 'my_measure:cost' names"),
    ],
)
def test_what_cannot_be_imported_is_said(run, named, said):
    status, out, error = run("evaluate", "mail.csv", "--measure", named)
    assert (status, out) == (2, "")
    assert said in error
    assert "Hint: " in error


def test_a_column_of_a_table_imports_nothing(tmp_path, monkeypatch):
    (tmp_path / "trap.py").write_text("raise SystemExit(5)")
    monkeypatch.chdir(tmp_path)
    table = {"fold": [1, 2, 3], "model": ["a", "a", "a"], "trap:x": [0.5, 0.6, 0.7]}
    with pytest.raises(OptionError):
        heldout.compare(table)
    with pytest.raises(OptionError, match="There is no measure 'trap:x'"):
        heldout.evaluate(TRUTH, FIRST, measures="trap:x")
    assert "trap" not in sys.modules


def test_a_validation_and_repeated_predictions_have_them_too():
    share = heldout.metric(right, low=0, high=1)
    declare_alarms()
    validation: Any = heldout.validate(
        "naive-bayes", np.c_[SCORE, RNG.random(240)], TRUTH, plan="2x5-fold", measures=[share, "alarms_per_find"],
        positive="spam",
    )  # fmt: skip
    estimate = validation[share]
    assert estimate.value == pytest.approx(validation["accuracy"].value)
    assert "bootstrap, n/" in estimate.method
    # Two predictions of a case are no two cases, and the models of one plan depend on each other.
    assert estimate.width > 0.9 * validation["accuracy"].width
    assert validation["alarms_per_find"].value > 1


def test_a_formula_can_be_written_as_text(judged):
    told, spam = FIRST == "spam", TRUTH == "spam"
    tp, fp, fn = (int(cell.sum()) for cell in (told & spam, told & ~spam, ~told & spam))
    asked = heldout.evaluate(TRUTH, FIRST, positive="spam", measures=["alarm_cost = (fp + 5 * fn) / (TP + fp)", "f1"])
    assert [e.measure for e in asked.estimates] == ["alarm_cost", "f1"]
    assert asked["alarm_cost"].value == pytest.approx((fp + 5 * fn) / (tp + fp))
    declared = find("alarm_cost").measure
    assert (declared.direction, declared.formula_text) == ("lower", "(FP + 5 · FN) / (TP + FP)")
    # A share of the cases has the interval of one, and a quotient without cases a reason.
    share = heldout.measure("found = tp / (tp + fn)", undefined="nobody is ill")
    assert (judged[share].value, judged[share].low) == (judged["recall"].value, judged["recall"].low)
    assert heldout.evaluate([0, 0], [0, 1], positive=1)["found"].undefined == "nobody is ill"
    assert pickle.loads(pickle.dumps(share)).function(1.0, 3.0) == (1.0, 4.0)
    pair = heldout.compare(FIRST, SECOND, truth=TRUTH, positive="spam", measures="wrongs = 2 * wrong / n")
    assert pair["wrongs"].value_a == pytest.approx(2 * judged["error_rate"].value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a = max(tp, fp)", "'max\\(tp, fp\\)' in the formula of a is no arithmetic"),
        ("a = __import__('os').getcwd()", "is no arithmetic"),
        ("a = tp ** fp", "is no arithmetic"),
        ("a = 9 ** 9 ** 9", "is no arithmetic"),
        ("a = tp if fp else 1", "is no arithmetic"),
        ("a = 'tp'", "is no arithmetic"),
        ("a = tp +", "is no formula"),
        ("a = " + "(" * 300 + "tp" + ")" * 300, "is no formula"),
        ("a = xx / tp", "names 'xx', which is no count"),
        ("recall = tp / n", "belongs to a measure"),
    ],
)
def test_a_text_that_is_no_arithmetic_is_refused(text, said):
    with pytest.raises(OptionError, match=said):
        heldout.measure(text)


@pytest.mark.usefixtures("folder")
def test_a_formula_can_be_typed(run):
    status, out, _ = run("evaluate", "mail.csv", "--positive", "spam", "--measure", "miss_cost = 5 * fn / n")
    assert (status, "miss cost" in out) == (0, True)


def test_a_value_outside_the_declared_range_is_refused():
    def share_found(tp, fn):
        return tp, tp + fn

    heldout.measure(low=0, high=0.1)(share_found)
    with pytest.raises(OptionError, match=r"has the value .*, outside its declared range from 0 to 0\.1\.\nHint: "):
        heldout.evaluate([0, 1] * 20, [0, 1, 1, 1] * 10, measures="share_found")


def test_a_measure_that_is_declared_anew_is_worked_out_anew_from_the_same_counts():
    counted = heldout.count(TRUTH, FIRST, positive="spam")
    heldout.measure("declared_twice = tp / (tp + fn)")
    first = heldout.evaluate(counted, positive="spam")["declared_twice"]
    heldout.measure("declared_twice = tn / (tn + fp)")
    second = heldout.evaluate(counted, positive="spam")["declared_twice"]
    fresh = heldout.evaluate(TRUTH, FIRST, positive="spam")
    assert (first.value, second.value) == (fresh["recall"].value, fresh["specificity"].value)
    assert first.value != second.value
