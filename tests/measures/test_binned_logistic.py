"""The logistic fit of long rankings, whose cases are put into narrow bins."""

import numpy as np
import pytest
import statsmodels.api as sm

from heldout.engines.score_sort import rank
from heldout.measures.recalibration import MANY, bin_logits, logit, recalibrate

N = MANY + 20_000


def drawn(spread: float, slope: float) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(5)
    x = rng.normal(size=N) * spread
    return x, rng.random(N) < 1 / (1 + np.exp(-0.3 - slope * x))


@pytest.mark.parametrize(("spread", "slope"), [(1.0, 1.0), (5.0, 0.6), (0.2, 3.0)])
def test_the_fit_of_many_scores_is_that_of_statsmodels(spread, slope):
    x, y = drawn(spread, slope)
    p = 1 / (1 + np.exp(-x))
    ranking = rank(p, y)
    assert len(ranking) > MANY
    fit = recalibrate(ranking)
    # The logits of the rounded probabilities, as the ranking has them.
    design = sm.add_constant(logit(p))
    oracle = sm.Logit(y.astype(float), design).fit(disp=0, tol=1e-14, method="newton")
    assert [fit.intercept, fit.slope] == pytest.approx(oracle.params.tolist(), abs=1e-10)
    assert np.linalg.inv(fit.information) == pytest.approx(oracle.cov_params(), rel=1e-8)


def test_a_slope_too_steep_for_the_bins_is_fitted_from_every_score():
    x, y = drawn(1.0, 1.0)
    ranking = rank(1 / (1 + np.exp(-x)), y)
    binned = bin_logits(ranking, logit)
    assert binned.fine(1.0)
    assert not binned.fine(1e3)


def test_the_sums_of_the_bins_are_those_of_all_cases():
    x, y = drawn(2.0, 1.0)
    ranking = rank(1 / (1 + np.exp(-x)), y)
    binned = bin_logits(ranking, logit)
    assert binned.moments[0].sum() == N
    assert binned.hits == y.sum()
    loss, gradient, information = binned.derivatives(np.array([0.2, 1.7]))
    eta = 0.2 + 1.7 * x
    up = 1 / (1 + np.exp(-eta))
    assert loss == pytest.approx(float((np.logaddexp(0, eta) - y * eta).sum()), rel=1e-12)
    assert gradient == pytest.approx([(y - up).sum(), ((y - up) * x).sum()], rel=1e-9)
    assert information[0, 1] == pytest.approx(float((up * (1 - up) * x).sum()), rel=1e-9)
