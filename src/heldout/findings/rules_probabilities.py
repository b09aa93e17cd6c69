"""Rules about predicted probabilities: whether they come true, and certainties that did not."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from heldout.engines.score_evidence import ScoreEvidence
from heldout.findings.evaluation_evidence import (
    MATTERS,
    Calibration,
    calibration_of,
    case_number,
    probabilities_of,
    reported,
)
from heldout.findings.rule import Answer, Fired, NotApplicable, Passed, between, rule
from heldout.intervals.estimate import Estimate
from heldout.intervals.proportion import wilson_at
from heldout.intervals.quantiles import z_value
from heldout.results.evaluation import Evaluation
from heldout.review import QUESTIONS
from heldout.show.numbers import number_of, percent, share

if TYPE_CHECKING:
    from heldout.curves.curve import Curve

RIGHT, OFF, NOT_KNOWN = QUESTIONS["probabilities"]
HALF = 0.5
# With this many decimals or fewer, a probability of 0 is taken for a rounded one.
COARSE = 2


@rule(
    "H012",
    about="evaluation",
    title="Probabilities are miscalibrated",
    severity="act",
    advice="Calibrate them on other cases (Platt's or isotonic), or use them for ranking only.",
    reference="Niculescu-Mizil & Caruana (2005), ICML; Bröcker & Smith (2007), Weather and Forecasting 22(3)",
    limits={"error": "convention: probabilities that are off by .02 on average seldom change a decision"},
    claims=(OFF,),
)
def miscalibrated(subject: Evaluation, *, error: float = MATTERS) -> Answer:
    """The expected calibration error is above what chance gives and what matters.

    Costs, thresholds by rule, and any sentence such as "80 % sure" need probabilities that come true as often as
    they say; many good rankings do not have them.
    """
    seen = calibration_of(subject)
    if isinstance(seen, str):
        return NotApplicable(seen)
    facts: dict[str, object] = {"error": seen.value, "low": seen.low, "high": seen.high}
    sentence = f"expected calibration error {share(seen.value)}{between(seen.low, seen.high)}"
    if not seen.is_off(error):
        return Passed(_not_off(subject, seen, error, sentence), facts, (RIGHT if seen.high <= error else NOT_KNOWN,))
    from heldout.curves.reliability import reliability

    curve = reliability(seen.probabilities, level=subject.level)
    if curve.band is not None and case_number(subject) < seen.probabilities.n:
        # A case that was predicted several times is one case, so that there are fewer in every bin.
        cases = curve.extra["n"] * case_number(subject) / seen.probabilities.n
        low, high = wilson_at(curve.y, cases, z_value(subject.level))
        curve = replace(curve, band=replace(curve.band, low=low, high=high), low=low, high=high)
    weight = _weight(curve)
    at = int(weight.argmax())
    facts |= _bin(curve, at)
    words = _one_bin(curve, at, top_label=seen.probabilities.top_label)
    other = None if seen.probabilities.top_label else _other_end(curve, weight, at)
    if other is not None:
        facts["other_end"] = _bin(curve, other)
        # Two bins in the middle may cross by chance where the ranking as a whole is right.
        area = _area_of(subject)
        words = _both_ends(curve, at, other, turned=area is not None and area.value < HALF)
    elif curve.band is not None and curve.band.low[at] <= curve.x[at] <= curve.band.high[at]:
        words = "Probabilities are off, though no bin alone shows it"
    return Fired(f"{words}; {sentence}.", facts, _advice(subject))


def _not_off(subject: Evaluation, seen: Calibration, error: float, said: str) -> str:
    """What is known of probabilities that nothing shows to be off, which is not that they are calibrated."""
    if seen.high <= error:
        return f"They are off by less than {share(error)} on average: {said}."
    cases = number_of(case_number(subject), "case")
    if math.isnan(seen.high):
        return f"Nothing shows that they are off in these {cases}: {said}, which has no interval here."
    if seen.low > 0:
        return (
            f"These {cases} do not show that they are off by {share(error)} or more on average, but they may be off by "
            f"up to {share(seen.high)}: {said}."
        )
    return f"Nothing in these {cases} shows that they are off, but they may be off by up to {share(seen.high)}: {said}."


def _weight(curve: Curve) -> NDArray[np.float64]:
    """What each bin adds to the error; hardly anything where its interval holds what was predicted."""
    gaps = np.abs(curve.x - curve.y) * curve.extra["n"]
    if curve.band is None:
        return np.asarray(gaps)
    outside = (curve.x < curve.band.low) | (curve.x > curve.band.high)
    return np.asarray(gaps * np.where(outside, 1.0, 1e-9))


def _bin(curve: Curve, at: int) -> dict[str, object]:
    """The numbers of one bin."""
    band = curve.band
    return {
        "from": float(curve.extra["bin_low"][at]),
        "to": float(curve.extra["bin_high"][at]),
        "predicted": float(curve.x[at]),
        "observed": float(curve.y[at]),
        "observed_low": math.nan if band is None else float(band.low[at]),
        "observed_high": math.nan if band is None else float(band.high[at]),
        "n": float(curve.extra["n"][at]),
    }


def _one_bin(curve: Curve, at: int, *, top_label: bool) -> str:
    start, end = float(curve.extra["bin_low"][at]), float(curve.extra["bin_high"][at])
    way = "high" if curve.x[at] > curve.y[at] else "low"
    what = "Highest probabilities" if top_label else "Probabilities"
    range_ = f"above {share(start)}" if end >= 1 else f"from {share(start)} to {share(end)}"
    ends = "" if curve.band is None else between(float(curve.band.low[at]), float(curve.band.high[at]))
    seen = f"observed {share(float(curve.y[at]))}{ends}"
    return f"{what} {range_} are too {way}: predicted {share(float(curve.x[at]))}, {seen}"


def _other_end(curve: Curve, weight: NDArray[np.float64], at: int) -> int | None:
    """The worst bin beyond one half that is off the opposite way; none where no interval shows one."""
    if curve.band is None:
        return None
    outside = (curve.x < curve.band.low) | (curve.x > curve.band.high)
    opposite = (curve.x > HALF) != (curve.x[at] > HALF)
    turned = (curve.x > curve.y) != (curve.x[at] > curve.y[at])
    there = np.flatnonzero(outside & opposite & turned)
    return int(there[weight[there].argmax()]) if len(there) else None


def _both_ends(curve: Curve, at: int, other: int, *, turned: bool) -> str:
    """Probabilities that are too extreme, or not extreme enough, on both sides of one half; or `turned` as a whole."""
    low, high = sorted((at, other), key=lambda place: float(curve.x[place]))
    how = "too extreme" if curve.x[high] > curve.y[high] else "not extreme enough"
    if turned:
        how = "the wrong way round"
    ends = [f"{share(float(curve.x[place]))} came true {share(float(curve.y[place]))}" for place in (low, high)]
    return f"Probabilities are {how} at both ends: {ends[0]} of the time, {ends[1]}"


def _area_of(subject: Evaluation) -> Estimate | None:
    """The ROC area of all classes together, or of the positive one."""
    areas = {e.average or e.class_: e for e in reported(subject, "roc_auc")}
    return areas.get("macro", areas.get(subject.positive))


def _advice(subject: Evaluation) -> str:
    """Other words than the rule's where the scores do not rank either."""
    area = _area_of(subject)
    if area is not None and area.high < HALF:
        return "Look at which class is the positive one, and which way the scores run, before anything else (H004)."
    if area is None or not area.low <= HALF <= area.high:
        return ""
    ends = between(area.low, area.high)
    return f"Calibrate them on other cases; nor is it shown that they rank: the ROC area is {share(area.value)}{ends}."


@rule(
    "H022",
    about="evaluation",
    title="A probability of 0 for what came true",
    severity="act",
    advice="Look at these cases; smooth or clip the probabilities, or give more decimals if they were rounded.",
    reference="Good (1952), JRSS B 14(1); Lindley (1985), Making Decisions, p. 104 (Cromwell's rule)",
    limits={"cases": "one such case makes the log loss infinite"},
)
def impossible_came_true(subject: Evaluation, *, cases: float = 1) -> Answer:
    """Cases came true to which the model gave a probability of 0.

    The log loss of such a case is infinite; the reported log loss uses the smallest probability that its number type
    can tell from 0.
    """
    probabilities = probabilities_of(subject)
    if isinstance(probabilities, str):
        return NotApplicable(probabilities)
    facts = {
        "cases": probabilities.clipped,
        "n": probabilities.n,
        "share": probabilities.clipped / probabilities.n if probabilities.n else math.nan,
    }
    if probabilities.clipped < cases:
        return Passed("Nothing came true that had a probability of 0.", facts)
    unit = "case" if case_number(subject) >= probabilities.n else "prediction"
    sentence = (
        f"For {number_of(probabilities.clipped, unit)} ({percent(float(facts['share']), 1)}) what came true had a "
    )
    decimals = None if subject.scores is None else _decimals(subject.scores.evidence)
    if decimals is None:
        return Fired(f"{sentence}probability of 0.", facts)
    return Fired(
        f"{sentence}probability of 0, rounded to {number_of(decimals, 'decimal')}.",
        facts | {"decimals": decimals},
        "Give more decimals: less than half of the last one became 0.",
        "know",
    )


def _decimals(held: ScoreEvidence) -> int | None:
    """How many decimals all scores are written with, where it is one or two and all of them are known."""
    least = 1
    for block in held.every_score():
        part = np.asarray(block, dtype=np.float64)
        while not _written_with(part, least):
            least += 1
            if least > COARSE:
                return None
    # Scores of 0 and 1 alone are answers, and were not rounded from anything.
    return least if any(bool(((part > 0) & (part < 1)).any()) for part in held.every_score()) else None


def _written_with(scores: NDArray[np.float64], decimals: int) -> bool:
    """Whether scores have so many decimals, up to what narrow floats make of them; what is nearly 0 or 1 has more."""
    rounded = np.round(scores, decimals)
    ends = np.isin(rounded, (0.0, 1.0)) == np.isin(scores, (0.0, 1.0))
    return bool(ends.all()) and np.allclose(scores, rounded, rtol=0, atol=1e-7)
