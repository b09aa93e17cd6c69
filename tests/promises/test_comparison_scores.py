"""Tests of two models' scores reject a true null about as often as they say, on a few settings.

The Monte Carlo standard error is .007 with 1,000 test sets and .009 with 600; the seed is fixed, so the outcome is the
same every time.
"""

from __future__ import annotations

import math
import zlib
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import expit, logit, ndtr
from tests.promises.pair_worlds import ScorePair, as_probabilities

from heldout.comparisons.delong import delong_paired
from heldout.comparisons.paired_losses import Form, case_losses, paired_loss_test, unpaired_loss_test
from heldout.comparisons.paired_scores import compare_scores, compare_scores_unpaired
from heldout.measures.catalogue import find

Floats = NDArray[np.float64]
NULLS = (
    ScorePair(100, 0.3, 1.0, 1.0),
    ScorePair(200, 0.5, 1.5, 1.5),
    ScorePair(400, 0.1, 1.5, 1.5),
    ScorePair(400, 0.3, 0.5, 0.5, 0.8),
    ScorePair(100, 0.3, 3.0, 3.0),
)
DIFFERENT = (
    ScorePair(100, 0.3, 1.0, 1.5),
    ScorePair(400, 0.1, 1.5, 2.0),
    ScorePair(80, 0.5, 2.5, 3.5),
    ScorePair(80, 0.5, 4.0, 2.0),
    ScorePair(60, 0.3, 2.0, 3.0),
    ScorePair(200, 0.2, 2.5, 3.2),
)


def rejections(setting: ScorePair, name: str, method: str | None, tests: int, replicates: int = 199) -> float:
    """The share of test sets on which the models are said to differ at .05."""
    rng = np.random.default_rng(zlib.crc32(f"{setting!r} {name}".encode()))
    bound = find(name)
    found = []
    for number in range(tests):
        a, b, positive = setting.draw(rng)
        if bound.measure.scope == "probability":
            a, b = (as_probabilities(side, setting.distance, setting.share) for side in (a, b))
        tested = compare_scores(a, b, positive, bound, method=method, seed=number, replicates=replicates)
        found.append(tested.p <= 0.05)
    return float(np.mean(found))


def unpaired_rejections(setting: ScorePair, name: str, tests: int, replicates: int = 199) -> float:
    """The same where each model has cases of its own."""
    rng = np.random.default_rng(zlib.crc32(f"{setting!r} {name} apart".encode()))
    bound = find(name)
    found = []
    for number in range(tests):
        (a, _, first), (_, b, second) = setting.draw(rng), setting.draw(rng)
        if bound.measure.scope == "probability":
            a, b = (as_probabilities(side, setting.distance, setting.share) for side in (a, b))
        tested = compare_scores_unpaired(a, first, b, second, bound, seed=number, replicates=replicates)
        found.append(tested.p <= 0.05)
    return float(np.mean(found))


def area_coverage(setting: ScorePair, tests: int) -> dict[str, float]:
    """How often the intervals of the difference of two areas hold the true one."""
    rng = np.random.default_rng(zlib.crc32(repr(setting).encode()))
    areas = [float(ndtr(gap / math.sqrt(2))) for gap in (setting.distance, setting.other)]
    wanted = areas[0] - areas[1]
    held: dict[str, list[bool]] = {}
    for _ in range(tests):
        a, b, positive = setting.draw(rng)
        _, apart, other = setting.draw(rng)
        for tested in (
            delong_paired(a, b, positive),
            delong_paired(a, b, positive, interval="mover"),
            compare_scores_unpaired(a, positive, apart, other, find("roc_auc")),
        ):
            held.setdefault(tested.method, []).append(tested.low <= wanted <= tested.high)
    return {method: float(np.mean(inside)) for method, inside in held.items()}


def loss_coverage(setting: ScorePair, overconfident: float, name: str, tests: int) -> dict[str, float]:
    """How often intervals hold the true difference of mean losses; B's log odds are too large by a factor."""

    def drawn(which: ScorePair, rng: np.random.Generator) -> tuple[Floats, Floats]:
        a, b, positive = which.draw(rng)
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


SMALL, EVEN, RARE, ALIKE, NEAR_ONE = NULLS
MIDDLING, UNCOMMON, SHARP, NEAR_PERFECT, FEW, _ = DIFFERENT


@pytest.mark.parametrize("setting", [SMALL, EVEN, RARE, ALIKE], ids=str)
def test_delong(setting):
    assert 0.03 <= rejections(setting, "roc_auc", "delong", 1000) <= 0.07
    assert 0.03 <= unpaired_rejections(setting, "roc_auc", 1000) <= 0.07


def test_delong_is_cautious_near_one():
    # Both areas are .98 on 100 cases: .009 of 2,000 test sets for either, because the variance is large where the
    # difference is.
    assert rejections(NEAR_ONE, "roc_auc", "delong", 600) <= 0.07
    assert unpaired_rejections(NEAR_ONE, "roc_auc", 600) <= 0.07


@pytest.mark.parametrize("name", ["roc_auc", "average_precision"])
@pytest.mark.parametrize("setting", [SMALL, EVEN], ids=str)
def test_paired_bootstrap(setting, name):
    assert 0.03 <= rejections(setting, name, "paired-bootstrap", 600) <= 0.07


@pytest.mark.parametrize("name", ["brier", "log_loss"])
@pytest.mark.parametrize("setting", [SMALL, EVEN, RARE], ids=str)
def test_mean_losses(setting, name):
    assert 0.03 <= rejections(setting, name, "paired-loss-t", 1000) <= 0.07


@pytest.mark.parametrize("name", ["brier", "log_loss"])
@pytest.mark.parametrize("setting", [SMALL, EVEN, RARE], ids=str)
def test_mean_losses_of_different_cases(setting, name):
    assert 0.03 <= unpaired_rejections(setting, name, 1000) <= 0.07


@pytest.mark.parametrize("setting", [SMALL, EVEN], ids=str)
def test_unpaired_bootstrap(setting):
    assert 0.03 <= unpaired_rejections(setting, "average_precision", 600) <= 0.07


def test_taking_out_skewness_that_is_noise_rejects_too_often():
    assert rejections(NEAR_ONE, "log_loss", "paired-hall", 600) > 0.08


@pytest.mark.parametrize("name", ["brier", "log_loss"])
def test_intervals_of_the_difference_of_losses(name):
    for methods in (loss_coverage(MIDDLING, 1.0, name, 600), loss_coverage(SMALL, 3.0, name, 600)):
        assert 0.925 <= methods["paired-loss-t"] <= 0.975
        assert 0.925 <= methods["unpaired-loss-t"] <= 0.975


@pytest.mark.parametrize("name", ["roc_auc", "brier"])
def test_paired_permutation(name):
    assert 0.03 <= rejections(SMALL, name, "paired-permutation", 600) <= 0.07


@pytest.mark.parametrize("setting", [MIDDLING, UNCOMMON], ids=str)
def test_the_default_interval_holds_the_difference_of_areas(setting):
    found = area_coverage(setting, 600)
    assert 0.93 <= found["delong"] <= 0.975
    assert 0.93 <= found["delong-unpaired"] <= 0.975


@pytest.mark.parametrize("setting", [SHARP, NEAR_PERFECT, FEW], ids=str)
def test_near_one_the_interval_made_of_two_does(setting):
    found = area_coverage(setting, 600)
    assert 0.93 <= found["delong-mover"] <= 0.98
    assert 0.93 <= found["delong-unpaired"] <= 0.98
    assert found["delong"] < found["delong-mover"]
