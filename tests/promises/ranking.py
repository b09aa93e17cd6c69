"""Measures how often the intervals of ranking measures hold the true value.

Scores of negatives are N(0, 1) and of positives N(d, 1), or rounded to a step; each test set is a sample of cases, so
the number of positives varies. The true value is the measure on a fine grid of quantiles of both distributions.
`python tests/promises/ranking.py` prints the whole table in some minutes; `test_ranking_short.py` runs a part of it.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from heldout.engines.score_sort import rank
from heldout.evidence import Ranking
from heldout.intervals.areas import average_precision_limits, delong, delong_logit, hanley_mcneil
from heldout.intervals.ranking_bootstrap import FORMS, Draw, Form, limits_from, resampled_values, usual_draw
from heldout.measures.quantity import Bound
from heldout.measures.ranking import MEASURES

CLOSED: dict[str, dict[str, Callable[[Ranking], tuple[float, float]]]] = {
    "roc_auc": {"delong-logit": delong_logit, "delong": delong, "hanley-mcneil": hanley_mcneil},
    "average_precision": {"influence-logit": average_precision_limits},
}
BOUNDS = {m.name: Bound(m, dict(m.parameters)) for m in MEASURES}


@dataclass(frozen=True, slots=True)
class Setting:
    """A distribution of cases and the size of a test set; `step` rounds the scores, 0 leaves them."""

    n: int
    prevalence: float
    distance: float
    step: float = 0.0

    def __str__(self) -> str:
        rounded = f", rounded to {self.step:g}" if self.step else ""
        return f"{self.prevalence:.0%} positive, d = {self.distance:g}{rounded}"


SETTINGS = (
    Setting(100, 0.3, 1.0),
    Setting(100, 0.3, 2.5),
    Setting(80, 0.5, 4.0),
    Setting(400, 0.05, 1.5),
    Setting(1000, 0.1, 1.5),
    Setting(200, 0.3, 1.5, 1.0),
    Setting(150, 0.2, 0.0),
)


def sample(setting: Setting, rng: np.random.Generator) -> Ranking:
    """One test set."""
    positive = rng.random(setting.n) < setting.prevalence
    scores = rng.normal(size=setting.n) + setting.distance * positive
    return rank(_rounded(scores, setting), positive)


def truth(setting: Setting, size: int = 100_000) -> Ranking:
    """The whole distribution, as a fine grid of quantiles with weights."""
    grid = ndtri((np.arange(size) + 0.5) / size)
    scores = np.concatenate([grid + setting.distance, grid])
    positive = np.arange(2 * size) < size
    weight = np.where(positive, setting.prevalence, 1 - setting.prevalence)
    return rank(_rounded(scores, setting), positive, weight=weight)


def _rounded(scores: NDArray[np.float64], setting: Setting) -> NDArray[np.float64]:
    return np.round(scores / setting.step) * setting.step if setting.step else scores


def measure_coverage(
    setting: Setting, names: tuple[str, ...], replicates: int, draws: int, forms: tuple[Form, ...] = FORMS
) -> dict[tuple[str, str], tuple[float, float]]:
    """Share of intervals that held the truth, and their mean width, for each measure and method."""
    rng = np.random.default_rng(zlib.crc32(repr(setting).encode()))
    exact = truth(setting)
    wanted = {name: float(BOUNDS[name].value({"ranking": exact})) for name in names}
    held: dict[tuple[str, str], list[tuple[bool, float]]] = {}
    for number in range(replicates):
        seen = sample(setting, rng)
        if min(seen.n_positive, seen.n_negative) < 2:
            continue
        limits: dict[tuple[str, str], tuple[float, float]] = {}
        for name in names:
            for method, find in CLOSED.get(name, {}).items():
                limits[name, method] = find(seen)
        draws_of: tuple[Draw, ...] = ("classes", "cases") if draws else ()
        for draw in draws_of:
            chosen = [name for name in names if usual_draw(seen, BOUNDS[name]) == draw]
            rows = resampled_values(seen, [BOUNDS[name] for name in chosen], replicates=draws, seed=number, draw=draw)
            for name, row in zip(chosen, rows, strict=True):
                value = float(BOUNDS[name].value({"ranking": seen}))
                for form in forms:
                    limits[name, form] = limits_from(seen, BOUNDS[name], value, row, 0.95, form)
        for key, (low, high) in limits.items():
            held.setdefault(key, []).append((low <= wanted[key[0]] <= high, high - low))
    return {key: (float(np.mean([h for h, _ in v])), float(np.mean([w for _, w in v]))) for key, v in held.items()}


def main(replicates: int = 1000, draws: int = 499) -> None:
    """Print the whole table."""
    print("| measure | method | setting | n | held (nominal .95) | mean width |")
    print("|---|---|---|---|---|---|")
    names = tuple(BOUNDS)
    for setting in SETTINGS:
        for (name, method), (share, width) in measure_coverage(setting, names, replicates, draws).items():
            print(f"| {name} | {method} | {setting} | {setting.n} | {share:.3f} | {width:.3f} |", flush=True)


if __name__ == "__main__":
    main()
