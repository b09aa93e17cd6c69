"""Rules about predicted probabilities: whether they come true, and certainties that did not."""

from __future__ import annotations

import math

import numpy as np

from heldout.curves.reliability import reliability
from heldout.estimates.score_methods import score_limits
from heldout.evidence.probabilities import Probabilities
from heldout.findings.rule import Answer, Fired, NotApplicable, Passed, rule
from heldout.findings.subjects import Judged, probabilities_of, reported
from heldout.findings.wording import between, figure, number_of
from heldout.measures.catalogue import find
from heldout.show.numbers import percent, share


@rule(
    "H012",
    about="evaluation",
    title="Probabilities are miscalibrated",
    severity="act",
    advice="Calibrate them on other cases (Platt's or isotonic), or use them for ranking only.",
    reference="Niculescu-Mizil & Caruana (2005), ICML; Bröcker & Smith (2007), Weather and Forecasting 22(3)",
    limits={"error": "convention: probabilities that are off by .02 on average seldom change a decision"},
)
def miscalibrated(subject: Judged, *, error: float = 0.02) -> Answer:
    """The expected calibration error is above what chance gives and what matters.

    Costs, thresholds by rule, and any sentence such as "80 % sure" need probabilities that come true as often as
    they say; many good rankings do not have them.
    """
    found = probabilities_of(subject)
    if isinstance(found, str):
        return NotApplicable(found)
    made = reported(subject, "expected_calibration_error")
    if made:
        value, low, high = made[0].value, made[0].low, made[0].high
    else:
        bound = find("expected_calibration_error")
        value = float(bound.value({bound.measure.cells[0]: found}))
        ends = score_limits(bound, found, subject.level)
        low, high = ends.low, ends.high
    facts: dict[str, object] = {"error": value, "low": low, "high": high}
    said = f"expected calibration error {share(value)}{between(low, high)}"
    if not low > error:
        known = "Nothing shows that they are off" if value > error else "They are calibrated"
        return Passed(f"{known}: {said}.", facts)
    where, words = _worst_bin(found, subject.level)
    return Fired(f"{words}; {said}.", facts | where)


def _worst_bin(found: Probabilities, level: float) -> tuple[dict[str, object], str]:
    """The bin that adds most to the error, of those whose interval leaves out what was predicted if there are any."""
    curve = reliability(found, level=level)
    predicted, observed, n = curve.x, curve.y, curve.extra["n"]
    low, high = (np.full(len(predicted), np.nan),) * 2 if curve.band is None else (curve.band.low, curve.band.high)
    outside = (predicted < low) | (predicted > high)
    weight = np.abs(predicted - observed) * n * np.where(outside, 1.0, 1e-9)
    at = int(weight.argmax())
    start, end = float(curve.extra["bin_low"][at]), float(curve.extra["bin_high"][at])
    facts: dict[str, object] = {
        "from": start,
        "to": end,
        "predicted": float(predicted[at]),
        "observed": float(observed[at]),
        "observed_low": float(low[at]),
        "observed_high": float(high[at]),
        "n": float(n[at]),
    }
    way = "high" if predicted[at] > observed[at] else "low"
    what = "Highest probabilities" if found.top_label else "Probabilities"
    range_ = f"above {figure(start)}" if end >= 1 else f"from {figure(start)} to {figure(end)}"
    seen = f"observed {share(float(observed[at]))}{between(float(low[at]), float(high[at]))}"
    return facts, f"{what} {range_} are too {way}: predicted {share(float(predicted[at]))}, {seen}"


@rule(
    "H022",
    about="evaluation",
    title="A probability of 0 for what came true",
    severity="act",
    advice="Never say never: smooth or clip the probabilities before they are used, and look at these cases.",
    reference="Good (1952), JRSS B 14(1); Lindley (1985), Making Decisions, ch. 6 (Cromwell's rule)",
    limits={"cases": "one such case makes the log loss infinite"},
)
def impossible_came_true(subject: Judged, *, cases: float = 1) -> Answer:
    """Cases came true to which the model gave a probability of 0.

    The log loss of such a case is infinite, and no evidence could ever change such a mind; the log loss reported takes
    the least probability that its type can tell from 0.
    """
    found = probabilities_of(subject)
    if isinstance(found, str):
        return NotApplicable(found)
    facts = {"cases": found.clipped, "n": found.n, "share": found.clipped / found.n if found.n else math.nan}
    if found.clipped >= cases:
        return Fired(
            f"For {number_of(found.clipped, 'case')} ({percent(float(facts['share']), 1)}) what came true had a "
            "probability of 0.",
            facts,
        )
    return Passed("Nothing came true that had a probability of 0.", facts)
