"""Rules about validations and learning curves: tested on training cases, missing splits, over- and underfitting."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from heldout.arguments import write_sentence
from heldout.arrays import Floats
from heldout.findings.rule import Answer, Fired, NotApplicable, Passed, between, rule
from heldout.findings.rules_data import KOHAVI, SPARSE, TRAINING_CASES, feature_column, same_rows
from heldout.review import QUESTIONS
from heldout.show.numbers import in_brackets, share

if TYPE_CHECKING:
    from heldout.learners.problem import Problem
    from heldout.resampling.learning_curve import LearningCurve
    from heldout.results.validation import Validation

HELPS, HARDLY, UNKNOWN = QUESTIONS["more data"]
RESUBSTITUTION = "resubstitution"
CANNOT_BE_TOLD = "whether more data would help cannot be told"


@rule(
    "H030",
    about="validation",
    title="Tested on the cases it was trained on",
    severity="act",
    advice="Use 10-fold.",
    reference="Mitchell (1997), Machine Learning, ch. 5; Efron (1983), JASA 78",
    erratum="Which cases the Iris matrix was counted on",
)
def tested_on_training_cases(seen: Validation) -> Answer:
    """The plan tests the model on the very cases that it was trained on.

    The error of a model on its own training cases is too low, and a model that memorises them has none: the nearest
    neighbour is never wrong there.
    """
    facts: dict[str, object] = {"plan": seen.plan.text}
    if seen.plan.judging.kind == RESUBSTITUTION:
        error = 1 - float(seen.confusion.hits.sum()) / float(seen.confusion.n)
        facts |= {"error": error, "cases": seen.problem.n}
        return Fired(
            f"Tested on the cases it was trained on: the error is optimistic ({share(error)} of {seen.problem.n:,} "
            "cases), and says nothing of new ones.",
            facts,
        )
    return Passed(f"{seen.plan.text} tests no case by a model that was trained on it.", facts)


@rule(
    "H031",
    about="validation",
    title="Training and test error are identical",
    severity="act",
    advice="Check that the learner is trained anew in every split; only a very simple one may answer so by itself.",
    reference="Kaufman, Rosset, Perlich & Stitelman (2012), ACM TKDD 6(4)",
    limits={"chance": "the usual 5 %, here of two errors of so many cases being equal by chance (de Moivre & Laplace)"},
)
def identical_errors(seen: Validation, *, chance: float = 0.05) -> Answer:
    """Every case gets the same answer from models that were trained on it and from those that were not.

    A model that was trained before the splits were made answers as it always does, whichever split tests it. Where both
    errors are 0, or the prediction is constant, they are equal for another reason; with few errors, by chance.
    """
    why = _no_two_errors(seen)
    if why:
        return NotApplicable(why)
    run, truth = seen.run, seen.problem.truth
    times = np.bincount(run.rows, minlength=seen.problem.n)
    known = times[run.training_rows] > 0
    rows, answers = run.training_rows[known], run.training_predicted[known]
    if not len(rows):
        return NotApplicable("no case was both trained on and tested")
    wrong = np.bincount(run.rows, weights=run.predicted != truth[run.rows], minlength=seen.problem.n)
    tested, trained = float((wrong[rows] / times[rows]).mean()), float((answers != truth[rows]).mean())
    # The answers that a case got when it was tested; of one alone the lowest and the highest are the same.
    lowest = np.full(seen.problem.n, len(seen.problem.labels))
    highest = np.full(seen.problem.n, -1)
    np.minimum.at(lowest, run.rows, run.predicted)
    np.maximum.at(highest, run.rows, run.predicted)
    differ = int(((lowest[rows] != answers) | (highest[rows] != answers)).sum())
    spread = len(np.unique(rows)) * tested * (1 - tested)
    # The most likely number of errors of a binomial has about this probability.
    likely = 1 / math.sqrt(2 * math.pi * spread) if spread > 1 else 1.0
    facts = {"training_error": trained, "test_error": tested, "answers": len(rows), "differ": differ, "chance": likely}
    sentence = (
        f"{differ:,} of {len(rows):,} predictions of training cases differ from those of the same cases when tested"
    )
    if not differ and likely < chance:
        return Fired(
            f"Training and test error are identical, {share(tested)}: all {len(rows):,} predictions of training cases "
            "are those of the test.",
            facts,
        )
    return Passed(f"{sentence}.", facts)


@rule(
    "H039",
    about="validation",
    title="It overfits: much less error on training cases than on others",
    severity="know",
    advice="Make the model simpler, regularise it, or train it on more cases, and see whether the test error falls.",
    reference="Mitchell (1997), Machine Learning, ch. 3; Hastie, Tibshirani & Friedman (2009), ch. 7",
    limits={"gap": "five points of error beyond doubt: a convention"},
    claims=("overfits",),
)
def overfitting(seen: Validation, *, gap: float = 0.05) -> Answer:
    """The error on test cases is higher than that on training cases, by more than a limit and beyond doubt.

    The training error of such a model says nothing about new cases, and a simpler model with more training error may
    have less test error.
    """
    excess = seen.gap
    if seen.plan.judging.kind == RESUBSTITUTION:
        return NotApplicable(TRAINING_CASES)
    if math.isnan(excess.value):
        return NotApplicable(excess.undefined or "the gap is not defined")
    if math.isnan(excess.low):
        return NotApplicable("the gap between training and test error has no interval here")
    facts = {"gap": excess.value, "low": excess.low, "high": excess.high, "limit": gap}
    figures = f"{share(excess.value)} {in_brackets(excess.low, excess.high)}"
    if excess.low > gap:
        return Fired(f"It overfits: the test error is higher than the training error by {figures}.", facts)
    return Passed(f"The test error less the training error is {figures}.", facts)


@rule(
    "H068",
    about="validation",
    title="It underfits: many errors on training cases, and nearest neighbours make fewer on new ones",
    severity="know",
    advice="Try a more flexible model or less regularisation: more cases will hardly help this one.",
    reference="Hastie, Tibshirani & Friedman (2009), ch. 7; Cover & Hart (1967), IEEE Transactions IT-13",
    limits={
        "gap": "five points: less than that apart, the errors on training and on test cases are about the same",
        "excess": "five points more errors than a plain vote of neighbours: a convention",
        "chance": "convention: one in a thousand that neighbours are ahead by so much (McNemar 1947)",
    },
    claims=("underfits",),
)
def underfitting(seen: Validation, *, gap: float = 0.05, excess: float = 0.05, chance: float = 0.001) -> Answer:
    """Training and test error are about the same, and the vote of the nearest neighbours has clearly fewer errors.

    Then it is not the number of cases that holds the model back: it cannot follow what the features tell. Neighbours
    are those of other cases, of another group where there are groups, in features brought to one scale.
    """
    why = _no_two_errors(seen)
    if why:
        return NotApplicable(why)
    if math.isnan(seen.gap.value):
        return NotApplicable(seen.gap.undefined or "the gap is not defined")
    reference = vote_of_neighbours(seen.problem)
    if isinstance(reference, str):
        return NotApplicable(reference)
    rows, wrong = reference
    run, truth = seen.run, seen.problem.truth
    times = np.bincount(run.rows, minlength=seen.problem.n)
    missed = np.bincount(run.rows, weights=run.predicted != truth[run.rows], minlength=seen.problem.n)
    known = times[rows] > 0
    own = missed[rows[known]] / times[rows[known]]
    more = own - wrong[known]
    facts = {"error": float(own.mean()), "neighbours": float(wrong[known].mean()), "gap": seen.gap.value}
    # The differences of single cases are those of McNemar's test, where every case was tested once.
    spread = math.sqrt(float((more**2).sum()))
    facts["chance"] = 0.5 * math.erfc(float(more.sum()) / (math.sqrt(2) * spread)) if spread else 1.0
    sentence = f"test error {share(facts['error'])}, that of {VOTERS} nearest neighbours {share(facts['neighbours'])}"
    if seen.gap.value < gap and float(more.mean()) > excess and facts["chance"] < chance:
        trained = share(seen.evaluation["error_rate"].value - seen.gap.value)
        return Fired(f"It underfits: training error {trained}, {sentence}.", facts)
    return Passed(f"Nothing shows that it underfits: {sentence}.", facts)


# A plain vote that needs no fitting: an error that the features allow, whatever the learner makes of them.
VOTERS = 5
MOST_VOTES = 2000


def vote_of_neighbours(problem: Problem) -> tuple[NDArray[np.int64], Floats] | str:
    """For some rows whether the vote of the nearest others is wrong; or why there is none.

    >>> from heldout.learners.problem import Problem
    >>> corners = np.repeat([[0.0, 0.0], [0.0, 9.0], [9.0, 0.0], [9.0, 9.0]], 8, axis=0) + np.arange(32)[:, None] / 99
    >>> truth = np.repeat([0, 1, 1, 0], 8)
    >>> float(vote_of_neighbours(Problem(corners, truth, truth, (0, 1)))[1].sum())
    0.0
    """
    if hasattr(problem.features, "tocsr"):
        return SPARSE
    if len(np.unique(same_rows(problem))) < 0.99 * problem.n:
        return "rows stand more than once, so that neighbours are copies"
    step = max(1, math.ceil(problem.n / MOST_VOTES))
    rows = np.arange(0, problem.n, step)
    truth, k = problem.truth[rows], len(problem.labels)
    group = rows if problem.group is None else problem.group[rows]
    apart = np.zeros((len(rows), len(rows)), dtype=np.float32)
    for place in range(problem.width):
        column = feature_column(problem, place)[rows]
        if place in problem.nominal or column.dtype.kind not in "iuf":
            apart += column[:, None] != column[None, :]
            continue
        spread = float(np.nanstd(column)) or 1.0
        scaled = np.nan_to_num((column - np.nanmean(column)) / spread).astype(np.float32)
        apart += (scaled[:, None] - scaled[None, :]) ** 2 / 2
    apart[group[:, None] == group[None, :]] = np.inf
    if len(rows) <= VOTERS:
        return "there are too few cases"
    near = np.argpartition(apart, VOTERS, axis=1)[:, :VOTERS]
    votes = np.zeros((len(rows), k))
    np.add.at(votes, (np.arange(len(rows))[:, None], truth[near]), 1.0)
    return rows, (votes.argmax(axis=1) != truth).astype(np.float64)


@rule(
    "H040",
    about="validation",
    title="Splits are missing",
    severity="act",
    advice="Find out why, and run it again: what is missing may be what is hard.",
    reference="Little & Rubin (2002), Statistical Analysis with Missing Data, ch. 1",
)
def missing_splits(seen: Validation) -> Answer:
    """The learner failed in some splits, or was interrupted before the last.

    The splits that are missing are not missing at random where the learner failed because of what is in them.
    """
    run, number = seen.run, len(seen.run.splits)
    facts: dict[str, object] = {"splits": number, "finished": len(run.finished), "failed": len(run.failures)}
    if run.failures:
        first = run.failures[0]
        facts |= {"where": first.where, "message": first.message}
        message = first.message.rstrip(".")
        return Fired(
            f"The learner failed in {len(run.failures):,} of {number:,} splits, which are missing here; the first was "
            f"{first.where}: {message}.",
            facts,
        )
    if not run.complete:
        return Fired(
            f"Incomplete: {len(run.finished):,} of {number:,} splits were finished before it was interrupted.", facts
        )
    return Passed(f"{_all(number)} finished.", facts)


@rule(
    "H043",
    about="validation",
    title="One holdout of few cases",
    severity="know",
    advice="Use 10-fold, which tests every case once, or 30 x holdout 2/3.",
    reference=KOHAVI,
    limits={"cases": "convention: with 1,000 test cases the 95 % interval of a share is at most 6.2 points wide"},
)
def one_holdout(seen: Validation, *, cases: float = 1000) -> Answer:
    """One part of the data is tested, once, though there are few enough cases to test them all.

    What is tested does not train and what trains is not tested: with little data both suffer, and another draw of the
    test part would give another answer.
    """
    if seen.plan.judging.kind != "holdout":
        return NotApplicable("the plan is no single holdout")
    tested, n = int(seen.run.splits.sizes[0]), seen.problem.n
    facts = {"tested": tested, "cases": n, "limit": cases}
    if tested < cases:
        return Fired(f"One holdout tests {tested:,} of {n:,} cases, and the others never.", facts)
    return Passed(f"The holdout tests {tested:,} cases.", facts)


def _no_two_errors(seen: Validation) -> str:
    """Why there are no two errors to compare, where there are none."""
    from heldout.results.validation import NO_TRAINING_PREDICTIONS

    if seen.plan.judging.kind == RESUBSTITUTION:
        return TRAINING_CASES
    if seen.optimism is not None:
        return ".632 rules mix the two errors"
    if not len(seen.run.training_rows):
        return NO_TRAINING_PREDICTIONS
    if len(np.unique(seen.run.predicted)) < 2:
        return "it predicts one class only, so that both errors are the share of the other classes"
    return ""


def _all(number: int) -> str:
    return "The one split was" if number == 1 else f"All {number:,} splits were"


@rule(
    "H045",
    about="learning curve",
    title="The learning curve is still falling",
    severity="know",
    advice="Collect more cases before trying more learners.",
    reference="Cortes, Jackel, Solla, Vapnik & Denker (1993), NIPS 6; Perlich, Provost & Simonoff (2003), JMLR 4",
    limits={"drop": "one point of error for a doubling of the data: a convention"},
    claims=(HELPS,),
)
def still_falling(curve: LearningCurve, *, drop: float = 0.01) -> Answer:
    """With twice as many cases the error would be clearly lower.

    A learner that is judged on too few cases looks worse than it is, and the ranking of learners may turn with more.
    """
    law = curve.law
    if law.shape == "unknown":
        return NotApplicable(f"no law was fitted: {law.undefined}")
    slope = {"per_doubling": law.slope.value, "low": law.slope.low, "high": law.slope.high}
    if curve.claim == UNKNOWN:
        return NotApplicable(CANNOT_BE_TOLD)
    if law.shape != "falling":
        course = "is flat within its noise" if law.shape == "flat" else "rises"
        return Passed(f"The curve {course}: {_points(law.slope.value)} per doubling.", slope, (curve.claim,))
    now, later = law.at(law.present).value, law.at(2 * law.present)
    twice = later.value
    facts = {"rows": law.present, "error": now, "error_at_twice": twice, "drop": now - twice, **slope}
    facts |= {"low_at_twice": later.low, "high_at_twice": later.high}
    if now - twice < drop:
        return Passed(f"Twice the {law.present:,.0f} rows would bring {_points(now - twice)} less error.", facts)
    return Fired(
        f"The test error is still falling: twice the {law.present:,.0f} rows would take it from {share(now)} to about "
        f"{share(twice)}{between(later.low, later.high)}.",
        facts,
    )


@rule(
    "H046",
    about="learning curve",
    title="It memorises: no error on training cases, many on others",
    severity="know",
    advice="Make the model simpler, or regularise it, and see whether the test error falls.",
    reference="Mitchell (1997), Machine Learning, ch. 3 and 5; Hastie, Tibshirani & Friedman (2009), ch. 7",
    limits={
        "training": "one error in two hundred training cases counts as none: a convention",
        "test": "one error in ten test cases, beyond doubt: a convention",
    },
)
def memorising(curve: LearningCurve, *, training: float = 0.005, test: float = 0.1) -> Answer:
    """At the largest training set the training error is nil and the test error is high.

    The training error then says nothing, and the model has learned the cases themselves rather than what they have in
    common.
    """
    largest = _errors_at_largest(curve)
    if largest is None:
        return NotApplicable("no model of the largest size was finished with predictions of its training cases")
    facts, sentence = largest
    if facts["training_error"] <= training and facts["test_low"] > test:
        return Fired(f"It memorises: {sentence}.", facts)
    return Passed(write_sentence(sentence), facts)


@rule(
    "H047",
    about="learning curve",
    title="Too few draws to know the course of the curve",
    severity="know",
    advice="Ask for more draws (draws=10, --draws 10).",
    reference="Hall (1992), The Bootstrap and Edgeworth Expansion, app. I",
    limits={"draws": "five draws can be resampled in 126 ways, three in only ten (Hall, 1992, app. I)"},
)
def few_draws(curve: LearningCurve, *, draws: float = 5) -> Answer:
    """There are too few training sets of each size to tell the course of the curve from its noise.

    The limits of the law come from resampling the draws, and with a handful of them there is little to resample.
    """
    facts = {"draws": curve.draws}
    sentence = f"{curve.draws:,} training set{'s' * (curve.draws != 1)} of each size"
    if curve.draws < draws:
        return Fired(f"There {'is' if curve.draws == 1 else 'are'} only {sentence}.", facts)
    return Passed(f"There are {sentence}.", facts)


@rule(
    "H069",
    about="learning curve",
    title="Training and test error have met",
    severity="know",
    advice="For fewer errors use other features or a more flexible model: more cases will not help.",
    reference="Hastie, Tibshirani & Friedman (2009), ch. 7; Cortes, Jackel, Solla, Vapnik & Denker (1993), NIPS 6",
    limits={
        "gap": "convention: two points of error apart, the two curves have met",
        "test": "one error in ten test cases, beyond doubt: a convention",
    },
    claims=(HARDLY,),
)
def curves_have_met(curve: LearningCurve, *, gap: float = 0.02, test: float = 0.1) -> Answer:
    """With all cases the training error is about the test error, which is high and falls no more.

    What is left is noise that no model removes, or structure that this model is too simple to follow; more cases of the
    same kind change neither.
    """
    largest = _errors_at_largest(curve)
    if largest is None:
        return NotApplicable("no model of the largest size was finished with predictions of its training cases")
    if curve.claim == UNKNOWN:
        return NotApplicable(CANNOT_BE_TOLD)
    facts, sentence = largest
    apart = abs(facts["test_error"] - facts["training_error"])
    if curve.claim == HARDLY and apart < gap and facts["test_low"] > test:
        return Fired(f"Training and test error have met: {sentence}.", facts)
    return Passed(write_sentence(sentence), facts)


def _errors_at_largest(curve: LearningCurve) -> tuple[dict[str, float], str] | None:
    """Both errors at the largest size, as facts and in words; None where one is not known."""
    trained, tested = float(curve.mean("training")[-1]), float(curve.mean("test")[-1])
    if math.isnan(trained) or math.isnan(tested):
        return None
    size = curve.sizes[-1]
    facts = {"size": size, "training_error": trained, "test_error": tested, "test_low": float(curve.low[-1])}
    return facts, f"training error {share(trained)}, test error {share(tested)} with {size:,} training cases"


def _points(change: float) -> str:
    return f"{100 * change:.2g} points"
