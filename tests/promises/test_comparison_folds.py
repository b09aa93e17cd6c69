"""Comparisons of learners reject a true null about as often as they say; the naive t does not.

With 800 data sets the Monte Carlo standard error is .008 at .05, with 3,000 tables .004. The seeds are fixed, so the
outcome is the same every time.
"""

from __future__ import annotations

import pytest
from tests.promises.comparison_folds import fold_rejections, table_rejections


@pytest.mark.parametrize(("n", "each", "apart"), [(200, 3, 0.4), (300, 5, 0.5)])
def test_the_corrected_t_over_random_splits(n, each, apart):
    methods = ("corrected-t", "paired-t")
    found = fold_rejections("naive Bayes", "30 x holdout 2/3", methods, 800, n=n, each=each, apart=apart)
    assert 0.03 <= found["corrected-t"] <= 0.07
    assert found["paired-t"] > 0.4


def test_tests_over_data_sets():
    found = table_rejections(15, 4, 3000)
    assert 0.03 <= found["iman-davenport"] <= 0.07
    assert 0.03 <= found["friedman-ties"] <= 0.07
    # Of any pair; ranks are discrete and correlated, and the range of normal variables is not quite theirs.
    assert 0.03 <= found["nemenyi"] <= 0.07
    assert 0.03 <= found["wilcoxon"] <= 0.07
