"""Simulated test sets whose rows come in groups of unequal size: coverage of every interval, and size of paired tests.

A cell says how many groups there are, how their sizes spread (lognormal), how size goes with difficulty, and how much
rows of one group have in common. The truth of a measure is its value on very many groups. Run by itself, the program
prints the share of intervals that hold the truth.
"""

import argparse
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit, ndtri

import heldout

MEASURES = (
    "accuracy", "balanced_accuracy", "matthews", "kappa", "macro f1", "precision[1]", "recall[1]", "f1[1]",
    "positive_likelihood_ratio[1]", "expected_cost", "roc_auc[1]", "average_precision[1]", "brier", "log_loss",
    "calibration_slope[1]", "calibration_intercept[1]", "expected_calibration_error",
)  # fmt: skip
COSTS = {(0, 1): 1.0, (1, 0): 5.0}
TRUTH_GROUPS = 40_000


@dataclass(frozen=True, slots=True)
class GroupCell:
    """A world of groups.

    `spread` is the standard deviation of the logarithm of the sizes, and `informative` the correlation of that
    logarithm with how easy the cases of the group are. `share` and `shared` are the parts of the variance of the
    truth's and of the score's latent value that a group has in common. `distance` is that of the classes in standard
    deviations.
    """

    groups: int
    size: float
    spread: float
    informative: float
    share: float
    shared: float
    prevalence: float
    distance: float
    steepness: float = 1.3

    def draw(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The truth, the probability of class 1 and the group of every row."""
        easy, often, other = rng.standard_normal((3, self.groups))
        latent = self.informative * easy + math.sqrt(1 - self.informative**2) * other
        sizes = np.exp(math.log(self.size) - self.spread**2 / 2 + self.spread * latent)
        group = np.repeat(np.arange(self.groups), np.maximum(1, np.round(sizes)).astype(int))
        own, noise = rng.standard_normal((2, len(group)))
        truth = math.sqrt(self.share) * often[group] + math.sqrt(1 - self.share) * own > -ndtri(self.prevalence)
        moved = math.sqrt(self.shared) * easy[group] + math.sqrt(1 - self.shared) * noise
        score = np.where(truth, 1.0, -1.0) * (self.distance / 2 + moved)
        return truth.astype(int), expit(self.steepness * score), group

    def truths(self, measures: Sequence[str], seed: int) -> dict[str, float]:
        """The values on so many groups that what is left of chance does not matter."""
        truth, p, _ = replace(self, groups=TRUTH_GROUPS).draw(np.random.default_rng([seed, 1]))
        seen = heldout.evaluate(truth, score=p, positive=1, costs=COSTS, measures=list(measures))
        return {name: float(seen[name]) for name in measures}

    def hits(self, measures: Sequence[str], draws: int, seed: int) -> dict[str, list[bool]]:
        """For each measure, which of the intervals of so many test sets hold the truth; undefined ones are left out."""
        wanted, rng = self.truths(measures, seed), np.random.default_rng([seed, 2])
        held: dict[str, list[bool]] = {name: [] for name in measures}
        for _ in range(draws):
            truth, p, group = self.draw(rng)
            if len(set(truth)) < 2:
                continue
            seen = heldout.evaluate(truth, score=p, positive=1, group=group, costs=COSTS, measures=list(measures))
            for name in measures:
                found = seen[name]
                if not math.isnan(found.value):
                    held[name].append(bool(found.low <= wanted[name] <= found.high))
        return held


# Chosen on others; these are for confirmation.
CELLS = (
    GroupCell(25, 14, 0.9, 0.3, 0.15, 0.25, 0.35, 1.6),
    GroupCell(45, 9, 1.1, -0.3, 0.05, 0.15, 0.25, 1.4),
    GroupCell(60, 20, 0.6, 0.5, 0.3, 0.4, 0.5, 2.0),
    GroupCell(18, 10, 0.0, 0.0, 0.1, 0.3, 0.4, 1.5),
    GroupCell(120, 6, 1.0, 0.4, 0.2, 0.05, 0.15, 2.2),
    GroupCell(35, 12, 1.0, -0.5, 0.2, 0.5, 0.3, 1.8),
)


def two_models(cell: GroupCell, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Truth, groups and the probabilities of two models that are equally good, and fail in different groups."""
    truth, first, group = cell.draw(rng)
    easy = rng.standard_normal(cell.groups)
    noise = rng.standard_normal(len(group))
    moved = math.sqrt(cell.shared) * easy[group] + math.sqrt(1 - cell.shared) * noise
    second = expit(cell.steepness * np.where(truth == 1, 1.0, -1.0) * (cell.distance / 2 + moved))
    return truth, group, first, second


def rejections(
    cell: GroupCell, measures: Sequence[str], draws: int, seed: int, *, weighted: bool = False
) -> dict[str, list[bool]]:
    """Which comparisons of two models that are equally good tell them apart at the level .95.

    Sizes must not be informative: otherwise one model does better on large groups.
    """
    rng = np.random.default_rng([seed, 3])
    told: dict[str, list[bool]] = {name: [] for name in measures}
    for _ in range(draws):
        truth, group, first, second = two_models(cell, rng)
        weight = rng.lognormal(0, 0.7, len(truth)) if weighted else None
        sides = [
            heldout.evaluate(truth, score=p, positive=1, group=group, weight=weight, costs=COSTS, measures=[])
            for p in (first, second)
        ]
        seen = heldout.compare(*sides, measure=list(measures))
        assert isinstance(seen, heldout.Comparison)
        for name in measures:
            told[name].append(seen[name].p <= 0.05)
    return told


def report(cells: Sequence[GroupCell], measures: Sequence[str], draws: int, seed: int) -> Iterator[str]:
    """One line for each cell and measure."""
    for cell in cells:
        for name, held in cell.hits(measures, draws, seed).items():
            share = float(np.mean(held)) if held else math.nan
            yield f"{cell} {name} {share:.3f} ± {math.sqrt(share * (1 - share) / max(len(held), 1)):.3f} ({len(held)})"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cell", type=int, action="append")
    asked = parser.parse_args()
    chosen = CELLS if asked.cell is None else [CELLS[at] for at in asked.cell]
    for line in report(chosen, MEASURES, asked.draws, asked.seed):
        print(line)
