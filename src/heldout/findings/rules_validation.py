"""Rules about validations and learning curves: tested on training cases, missing splits, overfitting, still falling."""

from __future__ import annotations

import math

import numpy as np

from heldout.findings.rule import Answer, Fired, NotApplicable, Passed, between, rule
from heldout.findings.rules_data import KOHAVI, TRAINING_CASES
from heldout.resampling.learning_curve import LearningCurve
from heldout.results.validation import NO_TRAINING_PREDICTIONS, Validation
from heldout.show.numbers import limits, share

RESUBSTITUTION = "resubstitution"


@rule(
    "H030",
    about="validation",
    title="Tested on the cases it was trained on",
    severity="act",
    advice="Use 10-fold.",
    reference="Mitchell (1997), Machine Learning, ch. 5; Efron (1983), JASA 78",
)
def tested_on_training_cases(seen: Validation) -> Answer:
    """The plan tests the model on the very cases that it was trained on.

    The error of a model on its own training cases is too low, and for one that remembers them it is nothing at all: the
    nearest neighbour is never wrong there.
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

    A model that was trained before the splits were made answers as it always does, whichever split tests it. Where
    neither error is above 0, or a constant is answered, the errors are equal for another reason; with few, by chance.
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
    said = f"{differ:,} of {len(rows):,} answers to training cases differ from those to the same cases when tested"
    if not differ and likely < chance:
        return Fired(
            f"Training and test error are identical, {share(tested)}: all {len(rows):,} answers to training cases are "
            "those of the test.",
            facts,
        )
    return Passed(f"{said}.", facts)


@rule(
    "H039",
    about="validation",
    title="It overfits: much less error on training cases than on others",
    severity="know",
    advice="Make the model simpler, regularise it, or train it on more cases, and see whether the test error falls.",
    reference="Mitchell (1997), Machine Learning, ch. 3; Hastie, Tibshirani & Friedman (2009), ch. 7",
    limits={"gap": "five points of error beyond doubt: a convention"},
)
def overfitting(seen: Validation, *, gap: float = 0.05) -> Answer:
    """The error on test cases is higher than that on training cases, by more than a limit and beyond doubt.

    The training error of such a model says nothing of new cases; and a simpler one, with more training error, may have
    less test error.
    """
    found = seen.gap
    if seen.plan.judging.kind == RESUBSTITUTION:
        return NotApplicable(TRAINING_CASES)
    if math.isnan(found.value):
        return NotApplicable(found.undefined or "the gap is not defined")
    if math.isnan(found.low):
        return NotApplicable("the gap between training and test error has no interval here")
    facts = {"gap": found.value, "low": found.low, "high": found.high, "limit": gap}
    said = f"{share(found.value)} [{limits(found.low, found.high)}]"
    if found.low > gap:
        return Fired(f"It overfits: the test error is higher than the training error by {said}.", facts)
    return Passed(f"The test error less the training error is {said}.", facts)


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
    if seen.plan.judging.kind == RESUBSTITUTION:
        return TRAINING_CASES
    if seen.optimism is not None:
        return ".632 rules mix the two errors"
    if not len(seen.run.training_rows):
        return NO_TRAINING_PREDICTIONS
    if len(np.unique(seen.run.predicted)) < 2:
        return "it answers one class only, so that both errors are the share of the other classes"
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
)
def still_falling(curve: LearningCurve, *, drop: float = 0.01) -> Answer:
    """With twice as many cases the error would be clearly lower.

    A learner that is judged on too few cases looks worse than it is, and the ranking of learners may turn with more.
    """
    law = curve.law
    if law.shape == "unknown":
        return NotApplicable(f"no law was fitted: {law.undefined}")
    slope = {"per_doubling": law.slope.value, "low": law.slope.low, "high": law.slope.high}
    if law.shape != "falling":
        said = "is flat within its noise" if law.shape == "flat" else "rises"
        return Passed(f"The curve {said}: {_points(law.slope.value)} per doubling.", slope)
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

    The training error then says nothing, and what is learned is the cases themselves more than what they have in
    common.
    """
    trained, tested = float(curve.mean("training")[-1]), float(curve.mean("test")[-1])
    if math.isnan(trained) or math.isnan(tested):
        return NotApplicable("no model of the largest size was finished with predictions of its training cases")
    low = float(curve.low[-1])
    facts = {"size": curve.sizes[-1], "training_error": trained, "test_error": tested, "test_low": low}
    said = f"training error {share(trained)}, test error {share(tested)} with {curve.sizes[-1]:,} training cases"
    if trained <= training and low > test:
        return Fired(f"It memorises: {said}.", facts)
    return Passed(f"{said[0].upper()}{said[1:]}.", facts)


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
    said = f"{curve.draws:,} training set{'s' * (curve.draws != 1)} of each size"
    if curve.draws < draws:
        return Fired(f"There {'is' if curve.draws == 1 else 'are'} only {said}.", facts)
    return Passed(f"There are {said}.", facts)


def _points(change: float) -> str:
    return f"{100 * change:.2g} points"
