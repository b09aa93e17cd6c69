"""Rules about learning curves: still falling, memorising, and too few draws."""

from __future__ import annotations

import math

from heldout.findings.rule import Answer, Fired, NotApplicable, Passed, rule
from heldout.findings.wording import between
from heldout.resampling.learning_curve import LearningCurve
from heldout.show.numbers import share


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
