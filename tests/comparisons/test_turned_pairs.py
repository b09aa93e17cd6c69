"""A pair that is asked for the other way round is what comparing them the other way round gives."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest

import heldout
from heldout.errors import OptionError

RNG = np.random.default_rng(0)
N = 300
TRUTH = RNG.integers(0, 2, N)
GOOD = np.clip(0.25 * TRUTH + 0.75 * RNG.random(N), 0, 1)
POOR = np.clip(0.1 * TRUTH + 0.9 * RNG.random(N), 0, 1)
NEAR = np.clip(GOOD + 0.05 * RNG.random(N), 0, 1)
GROUP = RNG.integers(0, 60, N)
ORDER = ("new", "old")
SETS = [f"set {number}" for number in range(12)]
OLD = RNG.random(12)
COLUMNS = {
    "old": OLD.tolist(),
    "new": (OLD + 0.01 * RNG.normal(1, 1, 12)).tolist(),
    "third": (OLD - 0.02 * RNG.random(12)).tolist(),
}


def judged(score, **options):
    return heldout.evaluate(TRUTH, score=score, **options)


def assert_alike(one, other):
    for part in fields(one):
        first, second = getattr(one, part.name), getattr(other, part.name)
        if isinstance(first, float) or (isinstance(first, tuple) and first):
            assert first == pytest.approx(second, nan_ok=True, rel=1e-9, abs=1e-9), part.name
        elif part.name not in ("tested", "margin"):
            assert first == second, part.name


CASES = [
    ("mcnemar", "accuracy"), ("mcnemar-exact", "accuracy"), ("mcnemar-chi-square", "accuracy"), ("tango", "accuracy"),
    ("newcombe", "accuracy"), ("normal", "accuracy"), ("delong", "roc_auc"), ("paired-hall", "brier"),
    ("paired-loss-t", "log_loss"), ("permutation", "accuracy"),
]  # fmt: skip


@pytest.mark.parametrize("other", [POOR, NEAR, GOOD], ids=["better", "undecided", "same"])
@pytest.mark.parametrize(("method", "measure"), CASES)
def test_cases(method, measure, other):
    options = {"method": method, "measures": measure}
    forth = heldout.compare(judged(GOOD), judged(other), names=["new", "old"], **options)
    back = heldout.compare(judged(other), judged(GOOD), names=["old", "new"], **options)
    turned = forth.get("old", "new")
    assert_alike(turned, back.pairs[0])
    assert_alike(turned.tested, back.pairs[0].tested)  # type: ignore[attr-defined]
    assert forth.get("new", "old") is forth.pairs[0]


@pytest.mark.parametrize("kind", ["non-inferiority", "equivalence"])
def test_margins_and_groups(kind):
    options = {"measures": "accuracy", "margin": 0.05, "margin_kind": kind}
    first, second = judged(GOOD, group=GROUP), judged(POOR, group=GROUP)
    turned = heldout.compare(first, second, names=["new", "old"], **options).get("old", "new")
    back = heldout.compare(second, first, names=["old", "new"], **options).pairs[0]
    assert_alike(turned, back)
    assert_alike(turned.tested, back.tested)  # type: ignore[attr-defined]
    assert_alike(turned.margin, back.margin)  # type: ignore[attr-defined]


@pytest.mark.parametrize("method", ["corrected-t", "paired-t", "5x2cv-t", "5x2cv-f", "bayes-correlated-t"])
def test_splits(method):
    both = heldout.validate(["naive-bayes", "knn:3"], np.c_[GOOD, POOR], TRUTH, plan="5x2-fold")
    options = {"method": method, "measures": "accuracy"}
    turned = heldout.compare(*both, **options).get("knn:3", "naive-bayes")
    back = heldout.compare(*list(both)[::-1], **options).pairs[0]
    assert_alike(turned, back)
    assert_alike(turned.tested, back.tested)  # type: ignore[attr-defined]


@pytest.mark.parametrize("method", ["wilcoxon", "sign"])
def test_data_sets(method):
    tables = ({"data": SETS, **{name: COLUMNS[name] for name in names}} for names in (ORDER, ORDER[::-1]))
    forth, back = (heldout.compare(table, method=method) for table in tables)
    assert (back.pairs[0].a, back.pairs[0].b) == ("old", "new")
    assert_alike(forth.get("old", "new"), back.pairs[0])
    assert_alike(forth.get("old", "new").tested, back.pairs[0].tested)  # type: ignore[attr-defined]


def test_results_of_splits_without_a_measure():
    tables = ({"fold": list(range(12)), **{name: COLUMNS[name] for name in names}} for names in (ORDER, ORDER[::-1]))
    forth, back = (heldout.compare(table, splits=True, test_share=0.1) for table in tables)
    assert (back.pairs[0].a, back.pairs[0].b) == ("old", "new")
    assert_alike(forth.get("old", "new"), back.pairs[0])


def test_ranks():
    names = [*ORDER, "third"]
    forth, back = (
        heldout.compare({"data": SETS, **{name: COLUMNS[name] for name in order}}) for order in (names, names[::-1])
    )
    assert len(forth.pairs) == 3
    for pair in forth.pairs:
        turned = forth.get(pair.b, pair.a)
        other = next(one for one in back.pairs if (one.a, one.b) == (pair.b, pair.a))
        assert_alike(turned, other)
        assert turned.verdict == other.verdict


def test_what_was_not_compared_is_still_refused():
    compared = heldout.compare(judged(GOOD), judged(POOR), names=["new", "old"])
    with pytest.raises(OptionError, match="There is no comparison of 'new' with 'new'"):
        compared.get("new", "new")
