"""Measures how often the intervals of probabilities hold the true value: losses, calibration errors, areas.

Each setting says how cases are drawn; the true value is that of one very large sample of them, or known.
`python tests/promises/probabilities.py` prints the whole table in a few minutes; `test_probabilities_short.py` runs a
part of it.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.engines.probability_sums import tally
from heldout.engines.score_sort import rank
from heldout.evidence.probabilities import Probabilities
from heldout.intervals.calibration import calibration_limits, recalibration_limits
from heldout.intervals.losses import loss_limits, skill_limits
from heldout.intervals.multiclass_areas import multiclass_auc_limits

Floats = NDArray[np.float64]
Limits = tuple[float, float]
# The predicted probabilities and the true ones.
Draw = Callable[[np.random.Generator, int], tuple[Floats, Floats]]

LARGE = 2_000_000


@dataclass(frozen=True, slots=True)
class Setting:
    """A measure, how its cases are drawn, and how many."""

    measure: str
    where: str
    cases: int


def calibrated(a: float, b: float) -> Draw:
    """Beta-distributed probabilities that are true."""

    def draw(rng: np.random.Generator, n: int) -> tuple[Floats, Floats]:
        p = rng.beta(a, b, n)
        return p, p

    return draw


def bent(a: float, b: float, intercept: float, slope: float) -> Draw:
    """Beta-distributed probabilities, the true ones being a straight line away on the logit scale."""

    def draw(rng: np.random.Generator, n: int) -> tuple[Floats, Floats]:
        p = rng.beta(a, b, n).clip(1e-9, 1 - 1e-9)
        return p, 1 / (1 + np.exp(-intercept - slope * np.log(p / (1 - p))))

    return draw


DRAWS: dict[str, Draw] = {
    "calibrated": calibrated(0.5, 0.5),
    "calibrated, rare positives": calibrated(0.5, 8),
    "calibrated, very sharp": calibrated(0.1, 0.1),
    "overconfident": bent(0.5, 0.5, 0.0, 0.5),
    "too high": bent(2, 2, -0.7, 1.0),
    "slightly off": bent(1, 1, 0.0, 0.8),
}
CALIBRATION = ("expected", "maximum", "squared")


def _error(seen: Probabilities, error: str) -> float:
    bins = seen.reliability
    met = bins.weight > 0
    gap, held = np.abs(bins.gap[met]), bins.weight[met]
    if error == "maximum":
        return float((gap / held).max())
    return float(gap.sum() / held.sum() if error == "expected" else (gap**2 / held).sum() / held.sum())


def _skill(seen: Probabilities) -> float:
    share = seen.class_weight[1] / seen.weight
    return 1 - seen.losses["brier"].mean / (share * (1 - share))


MEASURES: dict[str, tuple[Callable[[Probabilities], float], Callable[[Probabilities], Limits]]] = {
    "Brier": (lambda s: s.losses["brier"].mean, lambda s: loss_limits(s, "brier")),
    "log loss": (lambda s: s.losses["log_loss"].mean, lambda s: loss_limits(s, "log_loss")),
    "Brier skill": (_skill, lambda s: skill_limits(s, "brier")),
    "ECE": (lambda s: _error(s, "expected"), lambda s: calibration_limits(s, "expected")),
    "MCE": (lambda s: _error(s, "maximum"), lambda s: calibration_limits(s, "maximum")),
    "Brier calibration": (lambda s: _error(s, "squared"), lambda s: calibration_limits(s, "squared")),
}
COEFFICIENTS = {"slope": 1, "intercept": 0}
LINES = {
    "calibrated": (0.0, 1.0),
    "overconfident": (0.0, 0.5),
    "too high": (-0.7, 1.0),
}
AREAS = {
    "3 even classes": ((1 / 3, 1 / 3, 1 / 3), 1.5),
    "3 classes, one rare": ((0.6, 0.3, 0.1), 1.0),
    "5 classes, near-perfect": ((0.2,) * 5, 3.0),
}

SETTINGS: tuple[Setting, ...] = (
    *(Setting(measure, where, n) for measure in MEASURES for where in DRAWS for n in (80, 400)),
    *(Setting(f"recalibration {name}", where, n) for name in COEFFICIENTS for where in LINES for n in (200, 800)),
    *(Setting(f"{name} area", where, n) for name in ("macro", "hand_till") for where in AREAS for n in (80, 300)),
)


def truth_of(setting: Setting) -> float:
    """The value that the measure has in the population."""
    rng = np.random.default_rng(zlib.crc32(setting.where.encode()))
    if setting.measure in MEASURES:
        p, true = DRAWS[setting.where](rng, LARGE)
        if setting.where.startswith("calibrated") and setting.measure in ("ECE", "MCE", "Brier calibration"):
            return 0.0
        if setting.measure in ("ECE", "MCE", "Brier calibration"):
            # Bins of the true probability: no chance is left in them but that of the draw of p.
            return _error(_expected(p, true), {"ECE": "expected", "MCE": "maximum"}.get(setting.measure, "squared"))
        return MEASURES[setting.measure][0](tally(p, rng.random(LARGE) < true))
    if setting.measure.startswith("recalibration"):
        return LINES[setting.where][COEFFICIENTS[setting.measure.split()[1]]]
    from heldout.intervals.multiclass_areas import multiclass_auc

    scores, codes = _class_cases(rng, setting.where, LARGE // 4)
    return multiclass_auc(scores, codes, scores.shape[1], _average(setting))


def _expected(p: Floats, true: Floats) -> Probabilities:
    """The tally in which every case is counted as true with its probability."""
    n = len(p)
    both = np.concatenate([p, p])
    return tally(both, np.repeat([True, False], n), np.concatenate([true, 1 - true]) + 1e-300)


def _average(setting: Setting) -> Any:
    return setting.measure.split()[0]


def _class_cases(rng: np.random.Generator, where: str, n: int) -> tuple[Floats, NDArray[np.int64]]:
    shares, apart = AREAS[where]
    codes = rng.choice(len(shares), n, p=shares)
    scores = rng.normal(size=(n, len(shares)))
    scores[np.arange(n), codes] += apart
    return scores, codes


def limits_of(setting: Setting, rng: np.random.Generator) -> Limits:
    """The interval of one simulated test set."""
    n = setting.cases
    if setting.measure.endswith("area"):
        scores, codes = _class_cases(rng, setting.where, n)
        return multiclass_auc_limits(scores, codes, scores.shape[1], _average(setting))
    p, true = DRAWS[setting.where](rng, n)
    truth = rng.random(n) < true
    if setting.measure.startswith("recalibration"):
        coefficient: Any = setting.measure.split()[1]
        return recalibration_limits(rank(p, truth), coefficient)
    return MEASURES[setting.measure][1](tally(p, truth))


def measure_coverage(setting: Setting, replicates: int) -> float:
    """The share of simulated test sets whose interval holds the true value."""
    # A generator for each setting, so that a result does not depend on which others are run.
    rng = np.random.default_rng(zlib.crc32(repr(setting).encode()))
    truth = truth_of(setting)
    low, high = np.array([limits_of(setting, rng) for _ in range(replicates)]).T
    return float(((low <= truth) & (truth <= high)).mean())


def main(replicates: int = 2000) -> None:
    """Print the whole table."""
    print("| measure | setting | n | held (nominal .95) | Monte Carlo s.e. |")
    print("|---|---|---|---|---|")
    for setting in SETTINGS:
        held = measure_coverage(setting, replicates)
        error = (held * (1 - held) / replicates) ** 0.5
        print(f"| {setting.measure} | {setting.where} | {setting.cases} | {held:.3f} | {error:.3f} |", flush=True)


if __name__ == "__main__":
    main()
