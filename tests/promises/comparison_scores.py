"""Measures how often tests of two models' scores reject where there is no difference, and what their intervals hold.

Scores of a case are normal with a part that both models share, and positives are moved up by a distance. With equal
distances no measure differs, and a test at .05 should reject 5 % of the time; with two distances the true difference is
known from a very large sample. Probabilities are the calibrated ones of such scores, so they do not differ either.
`python tests/promises/comparison_scores.py` prints the tables in some minutes; `test_comparison_scores.py` runs a part.
"""

from __future__ import annotations

import math
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, ndtr

from heldout.comparisons.delong import delong_paired, model_areas
from heldout.comparisons.paired_losses import Form, case_losses, paired_loss_test, unpaired_loss_test
from heldout.comparisons.paired_scores import compare_scores, compare_scores_unpaired, list_score_methods
from heldout.measures.catalogue import find

Floats = NDArray[np.float64]
MEASURES = ("roc_auc", "average_precision", "partial_auc", "tpr_at_fpr", "brier", "log_loss")


@dataclass(frozen=True, slots=True)
class Setting:
    """So many cases, this share of them positive, the distance of the classes for each model, what the models share."""

    n: int
    share: float
    distance: float
    other: float
    shared: float = 0.5

    def __str__(self) -> str:
        return f"n = {self.n}, {self.share:.0%} positive, d = {self.distance:g} and {self.other:g}"


NULLS = (
    Setting(100, 0.3, 1.0, 1.0),
    Setting(200, 0.5, 1.5, 1.5),
    Setting(400, 0.1, 1.5, 1.5),
    Setting(400, 0.3, 0.5, 0.5, 0.8),
    Setting(100, 0.3, 3.0, 3.0),
)
DIFFERENT = (
    Setting(100, 0.3, 1.0, 1.5),
    Setting(400, 0.1, 1.5, 2.0),
    Setting(80, 0.5, 2.5, 3.5),
    Setting(80, 0.5, 4.0, 2.0),
    Setting(60, 0.3, 2.0, 3.0),
    Setting(200, 0.2, 2.5, 3.2),
)
# The second figure is the factor by which B's log odds are too large.
LOSS_SETTINGS = tuple(
    (Setting(n, share, distance, other), factor)
    for n in (50, 100, 400)
    for share, distance, other, factor in (
        (0.3, 1.0, 2.0, 1.0), (0.1, 1.5, 2.5, 1.0), (0.3, 1.0, 1.0, 3.0), (0.1, 1.5, 1.5, 2.0), (0.5, 3.0, 3.0, 2.0),
    )
)  # fmt: skip


def sample(setting: Setting, rng: np.random.Generator) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Scores of both models and the mask, with at least two cases of either class."""
    positive = rng.random(setting.n) < setting.share
    positive[:2], positive[2:4] = True, False
    both = math.sqrt(setting.shared) * rng.normal(size=setting.n)
    a, b = (
        both + math.sqrt(1 - setting.shared) * rng.normal(size=setting.n) + gap * positive
        for gap in (setting.distance, setting.other)
    )
    return a, b, positive


def as_probabilities(scores: Floats, distance: float, share: float) -> Floats:
    """The probability of a positive, given the score."""
    return np.asarray(expit(distance * scores - distance**2 / 2 + math.log(share / (1 - share))))


def rejections(setting: Setting, name: str, method: str | None, tests: int, replicates: int = 199) -> float:
    """The share of test sets on which the models are said to differ at .05."""
    rng = np.random.default_rng(zlib.crc32(f"{setting!r} {name}".encode()))
    bound = find(name)
    found = []
    for number in range(tests):
        a, b, positive = sample(setting, rng)
        if bound.measure.scope == "probability":
            a, b = (as_probabilities(side, setting.distance, setting.share) for side in (a, b))
        tested = compare_scores(a, b, positive, bound, method=method, seed=number, replicates=replicates)
        found.append(tested.p <= 0.05)
    return float(np.mean(found))


def unpaired_rejections(setting: Setting, name: str, tests: int, replicates: int = 199) -> float:
    """The same where each model has cases of its own."""
    rng = np.random.default_rng(zlib.crc32(f"{setting!r} {name} apart".encode()))
    bound = find(name)
    found = []
    for number in range(tests):
        (a, _, first), (_, b, second) = sample(setting, rng), sample(setting, rng)
        if bound.measure.scope == "probability":
            a, b = (as_probabilities(side, setting.distance, setting.share) for side in (a, b))
        tested = compare_scores_unpaired(a, first, b, second, bound, seed=number, replicates=replicates)
        found.append(tested.p <= 0.05)
    return float(np.mean(found))


def area_coverage(setting: Setting, tests: int) -> dict[str, float]:
    """How often the intervals of the difference of two areas hold the true one."""
    rng = np.random.default_rng(zlib.crc32(repr(setting).encode()))
    areas = [float(ndtr(gap / math.sqrt(2))) for gap in (setting.distance, setting.other)]
    wanted = areas[0] - areas[1]
    held: dict[str, list[bool]] = {}
    for _ in range(tests):
        a, b, positive = sample(setting, rng)
        _, apart, other = sample(setting, rng)
        for tested in (
            delong_paired(a, b, positive),
            delong_paired(a, b, positive, interval="mover"),
            compare_scores_unpaired(a, positive, apart, other, find("roc_auc")),
        ):
            held.setdefault(tested.method, []).append(tested.low <= wanted <= tested.high)
    return {method: float(np.mean(inside)) for method, inside in held.items()}


def loss_coverage(setting: Setting, overconfident: float, name: str, tests: int) -> dict[str, float]:
    """How often intervals hold the true difference of mean losses; B's log odds are too large by a factor."""

    def drawn(which: Setting, rng: np.random.Generator) -> tuple[Floats, Floats]:
        a, b, positive = sample(which, rng)
        first, second = (
            as_probabilities(side, gap, setting.share)
            for side, gap in ((a, setting.distance), (b, setting.other))
        )  # fmt: skip
        second = np.asarray(expit(overconfident * logit(second)))
        return case_losses(first, positive, find(name)), case_losses(second, positive, find(name))

    one, two = drawn(replace(setting, n=1_000_000), np.random.default_rng(0))
    wanted = float((one - two).mean())
    rng = np.random.default_rng(zlib.crc32(repr(setting).encode()))
    held: dict[str, list[bool]] = {}
    for _ in range(tests):
        one, two = drawn(setting, rng)
        _, apart = drawn(setting, rng)
        forms: tuple[Form, ...] = ("t", "hall")
        for form in forms:
            for tested in (paired_loss_test(one, two, form=form), unpaired_loss_test(one, apart, form=form)):
                held.setdefault(tested.method, []).append(tested.low <= wanted <= tested.high)
    return {method: float(np.mean(inside)) for method, inside in held.items()}


def naive_areas(scores: Floats, positive: NDArray[np.bool_]) -> Floats:
    """The covariance of the areas from every pair of a positive and a negative, as the formula is written."""
    rows, columns = [], []
    for row in scores:
        up, down = row[positive][:, None], row[~positive][None]
        table = (up > down) + 0.5 * (up == down)
        rows.append(table.mean(axis=1))
        columns.append(table.mean(axis=0))
    return np.asarray(np.cov(rows) / positive.sum() + np.cov(columns) / (~positive).sum())


def timings() -> None:
    """Print what 20 models cost, against the naive formula on fewer cases, and how that grows.

    In seconds of the processor, which other programs on the machine do not change much.
    """
    rng = np.random.default_rng(0)
    print("\n| n | 20 models, CPU seconds | per n log n, relative |")
    print("|---|---|---|")
    ours, first = {}, 0.0
    for n in (12_500, 25_000, 50_000, 100_000, 200_000):
        positive = rng.random(n) < 0.3
        scores = rng.normal(size=(20, n)) + positive
        ours[n] = min(_seconds(model_areas, scores, positive) for _ in range(5))
        rate = ours[n] / (n * math.log(n))
        first = first or rate
        print(f"| {n:,} | {ours[n]:.3f} | {rate / first:.2f} |", flush=True)
    n, models = 8_000, 2
    positive = rng.random(n) < 0.3
    scores = rng.normal(size=(models, n)) + positive
    naive = min(_seconds(naive_areas, scores, positive) for _ in range(3)) * (100_000 / n) ** 2 * 20 / models
    print(f"\nNaive O(n²), extrapolated from {models} models on {n:,} cases to 20 on 100,000: {naive:.0f} s, ", end="")
    print(f"{naive / ours[100_000]:.0f} times as long as ours.")


def _seconds(find_areas: Callable[..., object], scores: Floats, positive: NDArray[np.bool_]) -> float:
    start = time.process_time()
    find_areas(scores, positive)
    return time.process_time() - start


def main(tests: int = 2000, resampled: int = 600) -> None:
    """Print all tables."""
    print("| measure | method | setting | rejected (nominal .05) |")
    print("|---|---|---|---|")
    for setting in NULLS:
        for name in MEASURES:
            for method in list_score_methods(find(name)):
                if method == "delong-mover":
                    continue  # the same test as delong
                slow = "bootstrap" in method or "permutation" in method
                share = rejections(setting, name, method, resampled if slow else tests)
                print(f"| {name} | {method} | {setting} | {share:.3f} |", flush=True)
        for name in ("roc_auc", "average_precision", "brier", "log_loss"):
            share = unpaired_rejections(setting, name, resampled if name == "average_precision" else tests)
            print(
                f"| {name} | {list_score_methods(find(name), 'different cases')[0]} | {setting} | {share:.3f} |",
                flush=True,
            )
    print("\n| setting | method | held (nominal .95) |")
    print("|---|---|---|")
    for setting in (*NULLS, *DIFFERENT):
        for method, inside in area_coverage(setting, tests).items():
            print(f"| {setting} | {method} | {inside:.3f} |", flush=True)
    print("\n| loss | setting | overconfident | method | held (nominal .95) |")
    print("|---|---|---|---|---|")
    for setting, factor in LOSS_SETTINGS:
        for name in ("brier", "log_loss"):
            for method, inside in loss_coverage(setting, factor, name, tests).items():
                print(f"| {name} | {setting} | {factor:g} | {method} | {inside:.3f} |", flush=True)
    timings()


if __name__ == "__main__":
    main()
