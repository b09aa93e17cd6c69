"""Gates: what the one-sided limits say of each requirement, checked against the beta quantiles of SciPy and laws."""

from __future__ import annotations

import json
import math
import pickle
from contextlib import suppress

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import beta

from heldout.api.check import check
from heldout.api.evaluate import evaluate
from heldout.errors import HeldoutError, OptionError
from heldout.gates.gate import decide
from heldout.result import ROW_KEYS
from heldout.thresholds.requirement import read_all, read_written

RANK = {"failed": 0, "undecided": 1, "passed": 2}
SIGNS = (">=", ">", "<=", "<")


def right(hits: int, n: int) -> tuple[list[str], list[str]]:
    """Cases of one class each way, of which so many are right."""
    truth = ["no", "yes"] * (n // 2) + ["no"] * (n % 2)
    other = {"no": "yes", "yes": "no"}
    return truth, [label if at < hits else other[label] for at, label in enumerate(truth)]


def exact(hits: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """The one-sided limits of Clopper and Pearson, each of the level: SciPy's quantiles of the beta distribution."""
    low = beta.ppf(1 - level, hits, n - hits + 1) if hits else 0.0
    return low, beta.ppf(level, hits + 1, n - hits) if hits < n else 1.0


def expected(sign: str, bound: float, low: float, high: float) -> str:
    """The outcome as the guide defines it."""
    if sign in (">=", ">"):
        whole, none = low >= bound if sign == ">=" else low > bound, high < bound if sign == ">=" else high <= bound
    else:
        whole, none = high <= bound if sign == "<=" else high < bound, low > bound if sign == "<=" else low >= bound
    return "passed" if whole else "failed" if none else "undecided"


@pytest.mark.parametrize("sign", SIGNS)
@settings(max_examples=40)
@given(hits=st.integers(0, 60), n=st.integers(1, 60), bound=st.integers(0, 40))
def test_the_outcome_is_that_of_the_exact_limits(sign, hits, n, bound):
    hits, limit = min(hits, n), bound / 40
    low, high = exact(hits, n)
    # Not where an end equals the bound but for rounding.
    assume(min(abs(end - limit) for end in (low, high)) >= 1e-9)
    gate = check(*right(hits, n), require=f"accuracy {sign} {limit}", labels=["no", "yes"])
    (found,), outcome = gate.requirements, expected(sign, limit, low, high)
    assert (found.outcome, found.fails) == (outcome, outcome != "passed")
    assert gate.passed is not found.fails
    row = found.row()
    ends = (row["pass_limit"], row["fail_limit"]) if sign[0] == ">" else (row["fail_limit"], row["pass_limit"])
    assert ends == pytest.approx((low, high), abs=1e-9)
    assert (row["pass_level"], row["pass_method"]) == (0.95, "clopper-pearson")
    assert row["pass_side"] == ("lower" if sign[0] == ">" else "upper")


def test_a_class_has_the_limits_of_its_own_cases():
    truth, predicted = ["spam"] * 50 + ["ham"] * 200, ["spam"] * 45 + ["ham"] * 205
    low, high = exact(45, 50)
    for bound, outcome in ((low - 1e-6, "passed"), (low + 1e-6, "undecided"), (high + 1e-6, "failed")):
        assert check(truth, predicted, require=f"recall[spam] >= {bound:.9f}").requirements[0].outcome == outcome


def test_failures_are_corrected_together():
    cases = right(80, 100)
    alone, corrected = exact(80, 100)[1], exact(80, 100, 1 - 0.05 / 3)[1]
    between = (alone + corrected) / 2
    assert check(*cases, require=f"accuracy >= {between}").requirements[0].outcome == "failed"
    others = ["accuracy >= 0.5", "recall >= 0.5"]
    gate = check(*cases, require=[f"accuracy >= {between}", *others])
    assert [one.outcome for one in gate] == ["undecided", "passed", "passed"]
    assert gate.requirements[0].row()["fail_level"] == pytest.approx(1 - 0.05 / 3)
    assert "Holm-corrected for 3 requirements" in gate.requirements[0].why
    # The one beyond doubt makes room for the next, as Holm's method has it.
    two = exact(80, 100, 1 - 0.05 / 2)[1] + 1e-6
    gate = check(*cases, require=["accuracy >= 0.99", f"accuracy >= {two}", "accuracy >= 0.5"])
    assert [one.outcome for one in gate] == ["failed", "failed", "passed"]
    assert "corrected for all 3 together (Holm)" in " ".join(str(gate).split())


def test_passing_is_not_corrected_because_all_must_pass():
    low = exact(80, 100)[0] - 1e-6
    gate = check(*right(80, 100), require=[f"accuracy >= {low}"] * 5)
    assert gate.passed
    assert {one.row()["pass_level"] for one in gate} == {0.95}
    assert "intersection-union" in str(gate)


intervals = st.tuples(*[st.floats(-1, 1)] * 3).map(sorted)


@given(ends=intervals, one=st.floats(-1, 1), two=st.floats(-1, 1), sign=st.sampled_from(SIGNS))
def test_a_tighter_bound_never_does_better(ends, one, two, sign):
    low, value, high = ends
    easy, hard = sorted((one, two), reverse=sign[0] == "<")
    outcomes = [decide(read_written(f"accuracy {sign} {bound:.17f}"), value, low, high) for bound in (easy, hard)]
    assert RANK[outcomes[1]] <= RANK[outcomes[0]]


@given(ends=intervals, wider=intervals, bound=st.floats(-1, 1), sign=st.sampled_from(SIGNS))
def test_a_wider_interval_never_decides_otherwise(ends, wider, bound, sign):
    low, value, high = ends
    wanted = read_written(f"accuracy {sign} {bound:.17f}")
    narrow = decide(wanted, value, low, high)
    wide = decide(wanted, value, min(low, wider[0]), max(high, wider[2]))
    assert wide in (narrow, "undecided")


@settings(max_examples=40)
@given(hits=st.integers(0, 40), n=st.integers(1, 40), bounds=st.tuples(st.integers(0, 50), st.integers(0, 50)))
def test_a_gate_that_fails_does_not_pass_by_a_tighter_bound(hits, n, bounds):
    cases = right(min(hits, n), n)
    easy, hard = (check(*cases, require=f"accuracy >= {b / 50}", labels=["no", "yes"]) for b in sorted(bounds))
    assert easy.passed or not hard.passed
    assert easy.passed == (easy.requirements[0].outcome == "passed")


@pytest.mark.parametrize(
    ("undecided", "bound", "passes"),
    [
        ("fail", 0.8, False),
        ("warn", 0.8, True),
        ("pass", 0.8, True),
        # The value itself misses these.
        ("fail", 0.88, False),
        ("warn", 0.88, False),
        ("pass", 0.88, True),
    ],
)
def test_what_is_undecided_fails_unless_told_otherwise(undecided, bound, passes):
    low, high = exact(85, 100)
    assert low < bound < high
    gate = check(*right(85, 100), require=f"accuracy >= {bound}", undecided=undecided)
    assert (gate.passed, gate.requirements[0].outcome) == (passes, "undecided")
    assert gate.cautions == (gate.requirements if passes else ())
    assert gate.failing == (() if passes else gate.requirements)
    assert "but not beyond chance" in gate.requirements[0].why
    assert gate.to_dict()["undecided"] == undecided
    assert ("promises nothing" in str(gate)) is (undecided != "fail")


def test_what_is_said_of_the_limit_is_the_limit():
    low, high = exact(85, 100)
    passed, open_, missed, failed = (
        check(*right(85, 100), require=f"accuracy >= {bound}").requirements[0].why for bound in (0.7, 0.8, 0.88, 0.95)
    )
    at_least, at_most = (f"with 95 % confidence it is at {way} .{round(1000 * end)}" for way, end in
                         (("least", low), ("most", high)))  # fmt: skip
    how = "(one-sided limit, clopper-pearson)"
    assert passed == f"accuracy .850 meets it: {at_least}, which clears 0.7 {how}."
    assert open_.startswith(
        f"accuracy .850 meets it, but not beyond chance: {at_least}, which does not clear 0.8 {how}"
    )
    assert missed.startswith(f"accuracy .850 misses it, but not beyond chance: {at_most}, which does not rule out 0.88")
    assert failed == f"accuracy .850 misses it: {at_most}, which misses 0.95 {how}."


def test_the_level_must_leave_a_side_to_be_on():
    with pytest.raises(OptionError, match=r"level above 0\.5"):
        check(*right(85, 100), require="accuracy >= 0.8", level=0.5)
    low = exact(85, 100, 0.99)[0]
    for bound, outcome in ((low - 1e-6, "passed"), (low + 1e-6, "undecided")):
        assert check(*right(85, 100), require=f"accuracy >= {bound}", level=0.99).requirements[0].outcome == outcome


def test_an_unknown_way_with_what_is_undecided_is_refused():
    with pytest.raises(OptionError, match="undecided must be one of 'fail', 'warn', 'pass'") as raised:
        check(*right(85, 100), require="accuracy >= 0.8", undecided="wran")  # type: ignore[arg-type]
    assert "did you mean 'warn'" in raised.value.hint


def test_the_cases_that_would_decide_do_decide():
    requirement = check(*right(170, 200), require="accuracy >= 0.82").requirements[0]
    needed = requirement.needed
    assert needed is not None
    # The truth may be at the bound itself, where no number of cases decides.
    assert needed.high is None
    assert "and more than a million such cases would decide it (now 200)" in requirement.why
    # For a truth at the far end of the interval 80 % power takes that many cases: there it is clear of the bound.
    assert requirement.estimate is not None
    far = requirement.estimate.high
    assert exact(round(far * needed.low), needed.low)[0] > 0.82


def test_no_number_of_cases_decides_what_is_exactly_at_the_bound():
    found = check(*right(80, 100), require="accuracy >= 0.8").requirements[0]
    assert found.outcome == "undecided"
    assert found.needed is not None
    assert found.needed.high is None
    assert found.row()["cases_needed_low"] >= 100
    assert found.row()["cases_needed_high"] is None
    strictly = check(*right(80, 100), require=["accuracy > 0.8", "accuracy >= 0.8"], undecided="warn")
    assert [one.fails for one in strictly] == [True, False]


def test_an_undefined_measure_fails_with_its_reason():
    gate = check(["no"] * 5, ["no"] * 5, require="precision[yes] >= 0.1", labels=["no", "yes"])
    found = gate.requirements[0]
    assert (found.outcome, gate.passed) == ("failed", False)
    assert math.isnan(found.row()["value"])
    assert found.row()["undefined"]
    assert found.row()["undefined"] in found.why
    # Also where any value would do.
    assert not check(["no"] * 5, ["no"] * 5, require="precision[yes] <= 1", labels=["no", "yes"]).passed


def test_a_value_that_misses_by_little_is_not_shown_as_the_bound():
    gate = check(*right(7996, 10_000), require="accuracy >= 0.8")
    assert "accuracy .7996 misses it" in gate.requirements[0].why
    assert ".7996" in str(gate)


@pytest.mark.parametrize(
    ("text", "name", "sign", "limit"),
    [
        ("recall[spam] >= 0.80", "recall[spam]", ">=", 0.8),
        ("macro f1 > .7", "macro f1", ">", 0.7),
        ("error_rate <= 5%", "error_rate", "<=", 0.05),
        ("error rate ≤ 5 %", "error rate", "<=", 0.05),
        ("log_loss<4e-1", "log_loss", "<", 0.4),
        ("matthews >= -0.1", "matthews", ">=", -0.1),
        ("f_score(beta=2)[a] ≥ .5", "f_score(beta=2)[a]", ">=", 0.5),
        ("recall[<=50K] >= 0.8", "recall[<=50K]", ">=", 0.8),
        ("recall[a > 3, b] >= 0.8", "recall[a > 3, b]", ">=", 0.8),
        ("recall[yes, maybe (unsure)] >= 0.8", "recall[yes, maybe (unsure)]", ">=", 0.8),
        ("accuracy >= baseline", "accuracy", ">=", 0.0),
        ("accuracy >= Baseline - 0.02", "accuracy", ">=", -0.02),
        ("accuracy >= baseline − 2%", "accuracy", ">=", -0.02),
        ("error_rate <= baseline + .01", "error_rate", "<=", 0.01),
    ],
)
def test_requirements_are_read(text, name, sign, limit):
    (found,) = read_all(text)
    assert (found.name, found.sign) == (name, sign)
    assert found.limit == pytest.approx(limit)
    assert found.baseline is ("baseline" in text.lower())


def test_several_requirements_in_one_text():
    names = [found.name for found in read_all(["recall[salt and pepper] >= .1 and accuracy > .2", "f1 >= .3, mcc > 0"])]
    assert names == ["recall[salt and pepper]", "accuracy", "f1", "mcc"]


@pytest.mark.parametrize(
    ("text", "what", "hint"),
    [
        ("recall => 0.8", "no sign '=>'", "'recall >= 0.8'"),
        ("recall =< 0.8", "no sign '=<'", "'recall <= 0.8'"),
        ("recall == 0.8", "no sign '=='", "'recall >= 0.8'"),
        ("recall > = 0.8", "no sign '> ='", "'recall >= 0.8'"),
        ("recall != 0.8", "no sign '!='", "recall"),
        ("recall at least 0.8", "none of >=", "'>=' instead of 'at least'"),
        ("recall", "none of >=", "write for example"),
        ("", "none of >=", "write for example"),
        ("recall >=", "no number after >=", "write for example"),
        (">= 0.8", "no measure before >=", "write for example"),
        ("recall >= 0,8", "'8' is not a requirement", "decimals have a point"),
        ("recall >= nan", "'nan' in .* is not a number", "write for example"),
        ("recall >= inf", "'inf' in .* is not a number", "write for example"),
        ("recall >= 1e999", "not a number that can be reached", "write for example"),
        ("recall >= basline", "'basline' in .* is not a number", "recall >= baseline"),
        ("recall >= baseline 0.02", "which side of the baseline", "baseline - 0.02"),
        ("0.8 <= recall", "'recall' in .* is not a number", "'recall >= 0.8'"),
        ("0.7 <= recall <= 0.9", "2 signs", "write two"),
        ("recal >= 0.8", "no measure 'recal'", "did you mean 'recall'"),
        ("recall[yess] >= 0.8", "no class 'yess'", "did you mean 'yes'"),
        ("accuracy >= 80", "between 0 and 1", "did you mean 0.8"),
        ("error_rate <= 5", "between 0 and 1", "did you mean 0.05"),
        ("accuracy >= -0.5", "between 0 and 1", "within that range"),
        ("roc_auc >= 0.8", "measure of scores", "score="),
        ("expected_cost <= 2", "needs costs", "costs="),
        ("macro accuracy >= 0.8", "no macro average", "alone"),
        ("accuracy >= baseline", "needs a baseline", "--baseline"),
        ("accuracy >= baseline - 2", "needs a baseline", "--baseline"),
    ],
)
def test_what_is_refused_and_what_to_write_instead(text, what, hint):
    with pytest.raises(OptionError, match=what) as raised:
        check(["no", "yes"] * 5, ["no", "yes"] * 5, require=text)
    assert hint in raised.value.hint


def test_a_measure_of_one_class_needs_one():
    with pytest.raises(OptionError, match="none was named"):
        check(["a", "b", "c"], ["a", "b", "b"], require="recall >= 0.1")


@pytest.mark.parametrize("require", [(), [], None, 3, [3]])
def test_nothing_to_check_is_refused(require):
    with pytest.raises(OptionError, match=r"nothing to check|is a text|are texts"):
        check([0, 1], [0, 1], require=require)


def test_an_evaluation_can_be_judged_and_takes_no_options():
    seen = evaluate(*right(90, 100))
    assert check(seen, require="accuracy >= 0.8").passed
    with pytest.raises(OptionError, match="together with level"):
        check(seen, require="accuracy >= 0.8", level=0.9)


def test_scores_costs_and_a_matrix():
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 2, 400)
    score = np.clip(truth * 0.5 + rng.random(400) * 0.5, 0, 1)
    gate = check(
        truth, score=score, costs={(1, 0): 5, (0, 1): 1},
        require=["roc_auc >= 0.9", "log_loss < 0.7", "expected_cost <= 2", "total_cost <= 5000"],
    )  # fmt: skip
    assert [one.outcome for one in gate] == ["passed"] * 4
    assert check(matrix=[[50, 0], [2, 48]], labels=["no", "yes"], require="recall >= 0.8").passed


def test_the_document_and_the_rows():
    gate = check(*right(85, 100), require=["accuracy >= 0.8", "recall <= 0.5"])
    document = json.loads(gate.to_json())
    assert document["schema"] == "heldout/gate@1"
    assert document["passed"] is False
    assert [row["outcome"] for row in document["requirements"]] == ["undecided", "failed"]
    assert [row["text"] for row in document["requirements"]] == ["accuracy >= 0.8", "recall <= 0.5"]
    assert tuple(document["requirements"][0])[:9] == ROW_KEYS
    assert isinstance(gate.to_frame(), pl.DataFrame)
    assert pickle.loads(pickle.dumps(gate)).to_dict() == document
    assert bool(gate) is gate.passed is False


@pytest.mark.parametrize("form", ["to_markdown", "to_latex", "to_html", "__str__"])
def test_every_form_says_the_outcome(form):
    text = getattr(check(*right(85, 100), require="accuracy >= 0.8"), form)()
    assert "undecided" in text
    assert "FAILED" in text


@given(st.text(alphabet=">=<! .5eE%[](),-+baseline recall≥", max_size=24))
def test_whatever_is_written_is_read_or_refused_in_words(text):
    # Any other error would end the test.
    with suppress(HeldoutError):
        check(["no", "yes"], ["no", "yes"], require=text)


@pytest.mark.parametrize(
    "label", ["<script>alert(1)</script>", '"; DROP TABLE', "=cmd()", "a | b", "\u202eevil", "x" * 10_000]
)
def test_labels_cannot_break_out_of_any_form(label):
    gate = check(["ham", label] * 20, ["ham", label] * 20, require=f"recall[{label}] >= 0.5")
    assert gate.rows()[0]["class"] == label
    assert "<script>" not in gate.to_html()
    assert "\u202e" not in gate.to_html() + gate.to_markdown() + str(gate)
    # One row of a table: an unescaped bar would add a cell.
    (row,) = [line for line in gate.to_markdown().splitlines() if line.startswith("| + passed")]
    assert row.replace("\\|", "").count("|") == 5
    assert max(map(len, str(gate).splitlines())) <= 100
