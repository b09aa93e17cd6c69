"""Where rules about evaluations must keep quiet or say less: sound models, chance, what another rule says better."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.metrics import f1_score
from tests.findings.evaluation_cases import certain, of_file, of_matrix, overconfident, ranked, separated

import heldout


def test_labels_that_are_exchanged_are_asked_about():
    found = of_matrix([70, 230], [180, 40]).review["H001"]
    assert found.title.startswith('Accuracy .212 is clearly worse than always predicting "no" (.577)')
    assert found.title.endswith("are the labels exchanged?")
    assert found.facts["high"] < 0
    assert f"the accuracy is {410 / 520:.3f}".replace("0.", ".") in found.advice
    # Worse than the commonest class, but no better the other way round.
    merely = of_matrix([300, 200], [10, 40]).review["H001"]
    assert "clearly worse" in merely.title
    assert "exchanged" not in merely.title + merely.advice


def test_a_low_f1_of_a_rare_class_is_one_to_act_on_only_where_its_answers_are_guesses():
    # A precision of one half where one case in a hundred is of the class is fifty times what guesses reach.
    good = of_matrix([9990, 10], [90, 10]).review
    assert (good["H002"].outcome, good["H002"].severity) == ("fired", "know")
    assert good["H002"].facts["lift"] == pytest.approx(0.5 / (100 / 10_100))
    # No better than the commonest answer, but the classes are told apart: Matthews correlation is above 0.
    assert (good["H001"].severity, "Matthews correlation" in good["H001"].advice) == ("know", True)
    guesses = of_matrix([8910, 990], [180, 20]).review
    assert (guesses["H002"].severity, guesses["H001"].severity) == ("act", "act")
    assert guesses["H002"].facts["lift"] == pytest.approx((20 / 1010) / (200 / 10_100))


def test_a_class_that_is_never_predicted_is_one_to_know_where_its_probability_is_right_and_never_highest():
    rng = np.random.default_rng(0)
    # One case in twenty, told apart too little to be ever more likely than not.
    score = 1 / (1 + np.exp(3.2 - 0.6 * rng.normal(size=4000).clip(-3, 3)))
    truth = (rng.random(4000) < score).astype(int)
    seen = heldout.evaluate(truth, score=score, positive=1).review
    assert (seen["H007"].outcome, seen["H007"].severity) == ("fired", "know")
    assert seen["H001"].severity == "know"
    alone = heldout.evaluate(truth, (score >= 0.5).astype(int), labels=[0, 1], positive=1).review
    assert (alone["H007"].severity, alone["H001"].severity) == ("act", "act")
    # Of scores that do not rank, the same.
    none = heldout.evaluate(truth, score=np.full(4000, truth.mean()), positive=1).review
    assert (none["H007"].severity, none["H001"].severity) == ("act", "act")
    assert of_matrix([95, 0], [5, 0]).review["H007"].severity == "know"


@pytest.mark.parametrize(("n", "said"), [(30, "Nothing in these 30 cases shows"), (20_000, "off by less than .020")])
def test_probabilities_are_never_called_calibrated_without_saying_how_far_off_they_may_be(n, said):
    truth, score = ranked.__wrapped__(n=n)
    found = heldout.evaluate(truth, score=score, positive=1).review["H012"]
    assert found.outcome == "passed"
    assert said in found.title
    assert "They are calibrated" not in found.title
    assert f"{found.facts['high']:.3f}".lstrip("0") in found.title


def test_what_a_constant_answer_saves_must_be_clear():
    # It costs 11, always predicting "yes" 10: one false alarm more or less, which is chance.
    close = of_matrix([9, 1], [1, 9], costs={("yes", "no"): 10, ("no", "yes"): 1}).review["H016"]
    assert close.outcome == "passed"
    assert close.facts["cost"] > close.facts["constant_cost"]
    clear = of_matrix([4900, 100], [100, 900], costs={("yes", "no"): 60, ("no", "yes"): 1}).review["H016"]
    assert clear.outcome == "fired"
    assert clear.facts["low"] > 0


@pytest.mark.parametrize(
    ("truth", "called", "why"),
    [
        (["Yes", "No"] * 50, ["yes", "no"] * 50, "they differ in letter case or spaces only."),
        ([0, 1] * 50, list(range(20, 95)) + [20] * 25, "wrong column, or letter case?"),
    ],
)
def test_classes_of_another_column_stand_first_and_other_rules_leave_it_to_them(truth, called, why):
    review = heldout.evaluate(truth, called).review
    assert review.fired[0].code == "H028"
    assert review.fired[0].title.startswith("No predicted class occurs in the truth")
    assert review.fired[0].title.endswith(why)
    for code in ("H006", "H007", "H008"):
        assert review[code].outcome == "not applicable"
        assert "H028" in review[code].title


def test_a_few_answers_of_a_class_without_cases_are_no_wrong_column():
    seen = heldout.evaluate(["a", "b"] * 50, ["a", "b"] * 45 + ["c"] * 10)
    assert seen.review["H028"].facts["share"] == pytest.approx(0.1)
    assert seen.review["H028"].outcome == "passed"
    assert seen.review["H006"].facts["cases"] == {"c": 0.0}


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_rows_copied_in_part_are_seen_by_scores_of_full_precision(kind):
    truth, score = ranked.__wrapped__(n=1000)
    rows = np.r_[0:1000, 0:500]
    found = heldout.evaluate(truth[rows], score=score.astype(kind)[rows]).review["H020"]
    assert found.outcome == "fired"
    assert (found.facts["repeated"], found.facts["mixed"]) == (500, 0)


@pytest.mark.parametrize("times", [2, 5])
def test_a_class_that_was_copied_is_seen_though_its_scores_were_rounded(times):
    truth, score = ranked.__wrapped__(n=900, share=0.2, seed=3)
    score = np.round(score, 2)
    rows = np.r_[0:900, np.repeat(np.flatnonzero(truth == 1), times - 1)]
    found = heldout.evaluate(truth[rows], score=score[rows]).review["H020"]
    assert (found.outcome, found.facts["times"]) == ("fired", times)
    assert heldout.evaluate(truth, score=score).review["H020"].outcome != "fired"
    # One case more of one score, and nothing was copied throughout.
    once = np.r_[rows, np.flatnonzero(truth == 1)[:1]]
    assert heldout.evaluate(truth[once], score=score[once]).review["H020"].outcome != "fired"


@pytest.mark.parametrize("size", [1, 7, 1 << 16])
def test_copies_are_counted_alike_in_blocks_of_any_size(size, monkeypatch):
    from heldout.findings import rules_scores

    truth, score = ranked.__wrapped__(n=300)
    rows = np.r_[0:300, 0:200]
    ranking = heldout.evaluate(truth[rows], score=score[rows]).ranking()
    whole = rules_scores.copies_of(ranking)
    monkeypatch.setattr(rules_scores, "BLOCK", size)
    found = rules_scores.copies_of(ranking)
    assert (found.repeated, found.mixed) == (200, 0)
    assert found.chance == pytest.approx(whole.chance)


@pytest.mark.parametrize("digits", [2, 3, 4, 6])
def test_rounded_scores_are_no_copies(digits):
    for seed in range(5):
        truth, score = ranked.__wrapped__(n=1500, seed=seed)
        seen = heldout.evaluate(truth, score=np.round(score, digits))
        assert seen.review["H020"].outcome != "fired"
        assert not seen.review["H020"].facts.get("repeated")


def test_scores_that_a_model_gives_to_many_cases_are_no_copies():
    # Leaves of a tree: scores of 16 digits that repeat, and the truth does not repeat with them.
    rng = np.random.default_rng(0)
    score = (rng.integers(1, 600, 1500) / 601.0).astype(float)
    truth = (rng.random(1500) < score).astype(int)
    seen = heldout.evaluate(truth, score=score, positive=1).review["H020"]
    assert (seen.outcome, seen.facts["repeated"] > 300) == ("passed", True)


def test_a_column_of_groups_that_is_a_slice_or_has_few_values_is_not_unused():
    def rows(groups: int) -> str:
        lines = [f"{at % 2},{(at + at // 7) % 2},p{at % groups}" for at in range(300)]
        return "\n".join(["truth,predicted,patient", *lines])

    assert of_file(rows(60)).review["H015"].outcome == "fired"
    assert of_file(rows(60)).review["H015"].severity == "know"
    assert of_file(rows(60), slices=["patient"]).review["H015"].outcome == "passed"
    assert of_file(rows(5)).review["H015"].outcome == "passed"


def test_the_f1_of_the_positive_class_must_be_clearly_below_that_of_always_answering_it():
    # A good model of a common class, by chance a little below: 2·172/(2·172 + 12 + 8) against 2·.9/1.9.
    near = of_matrix([8, 12], [8, 172], positive="yes").review["H027"]
    assert near.facts["f1"] == pytest.approx(172 / 182)
    assert near.facts["f1"] < near.facts["always"]
    assert near.outcome == "passed"
    # Always predicting it is no better than always predicting it.
    always = of_matrix([0, 20], [0, 180], positive="yes").review["H027"]
    assert always.outcome == "fired"
    assert always.advice.startswith("Name the rarer class")
    rare = of_matrix([150, 150], [60, 40], positive="yes").review["H027"]
    truth = np.repeat([0, 1], [300, 100])
    assert rare.facts["always"] == pytest.approx(f1_score(truth, np.ones(400)))
    assert rare.outcome == "fired"
    assert rare.advice.startswith("Move the threshold")
    never = of_matrix([300, 0], [100, 0], positive="yes").review["H027"]
    assert (never.outcome, "H007" in never.title) == ("not applicable", True)


def test_the_gain_over_always_positive_is_that_of_f1():
    # The sign of what decides is the sign of F1 less that of always predicting the positive class.
    rng = np.random.default_rng(1)
    for _ in range(200):
        tn, fp, fn, tp = rng.integers(1, 60, 4)
        positives, n = tp + fn, tn + fp + fn + tp
        always = 2 * positives / (positives + n)
        f1 = 2 * tp / (2 * tp + fp + fn)
        assert np.sign(f1 - always) == pytest.approx(np.sign(round(always * tn - (2 - always) * fn, 9)))


def test_the_advice_about_costs_names_the_threshold_unless_probabilities_are_off():
    truth, score = ranked()
    costs = {(1, 0): 10, (0, 1): 1}
    good = heldout.evaluate(truth, score=score, costs=costs).review["H011"]
    assert good.advice.startswith("Use threshold 0.0909,")
    extreme = 1 / (1 + ((1 - score) / score) ** 4)
    off = heldout.evaluate(truth, score=extreme, costs=costs).review
    assert off["H012"].outcome == off["H011"].outcome == "fired"
    assert "Use threshold" not in off["H011"].advice
    assert "heldout thresholds --costs … --honest" in off["H011"].advice


def test_a_threshold_that_only_the_predicted_classes_imply_is_called_so():
    truth, score = ranked()
    review = heldout.evaluate(truth, (score >= 0.5).astype(int), score=score, costs={(1, 0): 10, (0, 1): 1}).review
    assert review["H011"].title.startswith("At 0.5, where the predicted classes cut the scores, the costs")
    assert review["H009"].title == "the predicted classes were given, and no threshold"


def test_probabilities_too_extreme_at_both_ends_are_called_so():
    found = overconfident().review["H012"]
    assert found.title.startswith("Probabilities are too extreme at both ends: ")
    ends = found.facts, found.facts["other_end"]
    low, high = sorted(ends, key=lambda end: end["predicted"])
    assert low["predicted"] < low["observed_low"]
    assert high["predicted"] > high["observed_high"]


def test_scores_that_do_not_rank_are_not_recommended_for_ranking():
    rng = np.random.default_rng(2)
    truth, score = rng.integers(0, 2, 400), rng.random(400)
    found = heldout.evaluate(truth, score=score, positive=1).review["H012"]
    assert found.outcome == "fired"
    assert "ranking only" not in found.advice
    assert "nor is it shown that they rank" in found.advice
    assert "ranking only" in overconfident().review["H012"].advice


def test_a_probability_that_was_rounded_to_0_is_one_to_know():
    truth, score = ranked()
    rounded = np.round(score, 1)
    assert ((rounded == 0) & (truth == 1)).any()
    found = heldout.evaluate(truth, score=rounded).review["H022"]
    assert (found.severity, found.facts["decimals"]) == ("know", 1)
    assert certain(3).review["H022"].severity == "act"
    answers = np.where(np.arange(400) < 9, 1 - truth, truth).astype(float)
    assert heldout.evaluate(truth, score=answers).review["H022"].severity == "act"
    # Nearly 0 is not rounded to it.
    assert heldout.evaluate(truth, score=np.append(score[1:], 0.5) * 1e-20).review["H022"].severity == "act"


def test_the_width_of_an_interval_in_words():
    found = of_matrix([90, 10], [8, 12]).review["H014"]
    assert found.title.startswith('The interval of recall of "yes" is .395 wide [.387, .781]; half that width takes')
    assert found.title.endswith(" cases of it.")
    few = of_matrix([90, 8], [20, 16]).review["H014"]
    assert few.title.endswith(' cases that it calls "yes".')


def test_the_worst_of_many_classes_without_any_skill_is_seldom_called_reversed():
    alarms, areas = 0, [f"roc_auc[{label}]" for label in range(20)]
    for seed in range(40):
        rng = np.random.default_rng(seed)
        truth = rng.integers(0, 20, 400)
        seen = heldout.evaluate(truth, score=rng.dirichlet(np.ones(20), 400), measures=areas)
        alarms += seen.review["H004"].outcome == "fired"
    # At 2.5 % six or more of 40 have a probability of .0004; without the correction there were 15.
    assert alarms < 6
    turned = np.eye(20)[np.random.default_rng(0).integers(0, 20, 400)]
    truth = turned.argmax(axis=1)
    score = np.random.default_rng(1).random((400, 20))
    score[truth == 7, 7] *= 0.2
    found = heldout.evaluate(truth, score=score / score.sum(axis=1, keepdims=True)).review["H004"]
    assert (found.outcome, found.facts["classes"]) == ("fired", [7])


def test_a_round_threshold_that_is_best_for_one_aim_is_one_to_know():
    truth, score = ranked()
    rounded = np.round(score, 2)
    values = {}
    for t in np.unique(rounded):
        called = rounded >= t
        values[float(t)] = (
            (called == truth).mean(),
            f1_score(truth, called),
            called[truth == 1].mean() - called[truth == 0].mean(),
        )
    best = [max(held[at] for held in values.values()) for at in range(3)]
    reached = {t: sum(math.isclose(x, b) for x, b in zip(held, best, strict=True)) for t, held in values.items()}
    for t, number in reached.items():
        if number and t != 0.5:
            found = heldout.evaluate(truth, score=rounded, threshold=t).review["H009"]
            assert (found.outcome, found.severity) == ("fired", "act" if number > 1 else "know")
    assert max(reached.values()) >= 1


def test_the_f1_of_a_rare_class_must_lie_below_the_accuracy_by_the_gap_beyond_doubt():
    found = of_matrix([160, 10], [16, 14]).review["H002"]
    assert found.facts["f1"] < found.facts["accuracy"] - 0.3 < found.facts["high"] < found.facts["accuracy"]
    assert found.outcome == "passed"


def test_a_perfect_result_on_few_cases_is_not_too_good():
    few = separated(100).review["H018"]
    assert (few.outcome, few.facts["value"]) == ("passed", 1.0)
    assert few.facts["low"] < 0.98
    assert separated(400).review["H018"].outcome == "fired"


def test_exact_balance_is_noted_where_chance_hardly_does_it():
    from scipy.stats import binom

    found = of_matrix([20, 5], [5, 20]).review["H026"]
    assert (found.outcome, found.facts["chance"]) == ("passed", pytest.approx(binom.pmf(25, 50, 0.5)))
    assert of_matrix([100, 50], [50, 100]).review["H026"].outcome == "fired"


@pytest.mark.parametrize(("hit", "said"), [(3, "cannot tell models apart"), (5, "ranks the more accurate model lower")])
def test_costs_by_which_a_hit_is_no_cheaper_than_an_error_do_not_rank_as_accuracy_does(hit, said):
    costs = heldout.Costs.of([[hit, 3], [3, hit]], ["no", "yes"], rows="truth")
    found = of_matrix([90, 10], [20, 80], costs=costs).review["H010"]
    assert said in found.title
    assert "as the accuracy does" not in found.title


@pytest.mark.parametrize("code", ["H009", "H011"])
def test_advice_that_needs_the_rows_says_how_to_have_them_where_they_were_counted(code):
    truth, score = ranked()
    cost = [(truth[score < t].sum() * 10 + (1 - truth)[score >= t].sum(), t) for t in score.tolist()]
    chosen = {"threshold": min(cost)[1]} if code == "H009" else {}
    held = heldout.evaluate(truth, score=score, costs={(1, 0): 10, (0, 1): 1}, **chosen)
    counted = heldout.evaluate(heldout.count(truth, score=score, positive=1, **chosen), costs={(1, 0): 10, (0, 1): 1})
    assert held.review[code].outcome == counted.review[code].outcome == "fired"
    assert held.review[code].advice.endswith("--honest.")
    assert counted.review[code].advice.endswith("--honest, which needs the rows (--engine memory).")
    assert counted.review[code].advice.startswith(held.review[code].advice.rstrip("."))


def test_a_threshold_that_follows_the_costs_is_not_blamed_for_what_a_search_finds():
    truth, score = ranked.__wrapped__(n=60, share=0.1, apart=1.0, seed=45)
    costs = {(1, 0): 10, (0, 1): 1}
    seen = heldout.evaluate(truth, score=score, positive=1, threshold=1 / 11, costs=costs)
    # On these cases another threshold is cheaper, clearly so even when corrected for the search.
    assert seen.review["H011"].outcome == "passed"
    # The same scores as no probabilities leave nothing but the search.
    unlike = heldout.evaluate(truth, score=10 * score, positive=1, threshold=10 / 11, costs=costs)
    assert unlike.review["H011"].outcome == "fired"
