"""Scores whose rows were not kept, seen as those of rows are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from heldout.engines.memory import counted
from heldout.engines.score_evidence import CountedScores, RowScores
from heldout.evidence.counted import ScoreTally
from heldout.evidence.score_bins import ScoreBins
from heldout.predictions.case_values import raw_scores
from heldout.predictions.table import assemble

DRAW = np.random.default_rng(3)
TRUTH = np.array(["no", "yes"])[DRAW.integers(0, 2, 200)]
SCORE = DRAW.integers(0, 50, 200) / 64
ONE_COLUMN: list[dict[str, Any]] = [
    {},
    {"positive": "no"},
    {"weight": DRAW.integers(1, 9, 200) / 8},
    {"group": DRAW.integers(0, 30, 200), "fold": np.arange(200) % 7, "positive": "no"},
]


def both(truth: Any, score: Any, **columns: Any) -> tuple[RowScores, CountedScores]:
    held = assemble(truth, score=raw_scores(score), **columns)
    return RowScores(held, held.labels), CountedScores.of(counted(held))


@pytest.mark.parametrize("columns", ONE_COLUMN)
def test_one_column_tells_what_rows_tell(columns: dict[str, Any]) -> None:
    rows, counts = both(TRUTH, SCORE, **columns)
    assert (counts.n, counts.per_class, counts.weighted, counts.grouped) == (
        rows.n, rows.per_class, rows.weighted, rows.grouped
    )  # fmt: skip
    assert counts.fold_cases.tolist() == rows.fold_cases.tolist()
    assert len(counts.folds) == len(rows.folds)
    for label in ("no", "yes"):
        assert counts.ranking(label) == rows.ranking(label)
        assert counts.rows_ranked(label) == rows.rows_ranked(label)
        assert counts.typical(label) == rows.typical(label)
        for one, two in zip(rows.folds, counts.folds, strict=True):
            assert two.ranking(label) == one.ranking(label)


def test_a_column_for_each_class_tells_what_rows_tell() -> None:
    truth = np.array(["x", "y", "z"])[DRAW.integers(0, 3, 200)]
    rows, counts = both(truth, DRAW.integers(0, 9, (200, 3)) / 16, fold=np.arange(200) % 3)
    assert counts.per_class
    assert counts.fold_cases.tolist() == rows.fold_cases.tolist()
    for label in ("x", "y", "z"):
        assert counts.ranking(label) == rows.ranking(label)
    assert counts.not_probability == rows.not_probability


def test_every_score_is_known_only_where_no_bin_joins_some() -> None:
    scores, codes = DRAW.random(500), DRAW.integers(0, 2, 500)
    exact, joined = (
        CountedScores(ScoreTally((ScoreBins.of(scores, codes, 2, most=most),)), (0, 1), 1) for most in (1000, 20)
    )
    assert np.concatenate(list(exact.every_score())).tolist() == np.unique(scores).tolist()
    assert list(joined.every_score()) == []
    assert exact.exact
    assert not joined.exact


@pytest.mark.parametrize("label", [0, 1])
def test_the_typical_score_of_a_bin_lies_among_its_scores(label: int) -> None:
    scores, codes = DRAW.normal(0, 3, 500), DRAW.integers(0, 2, 500)
    evidence = CountedScores(ScoreTally((ScoreBins.of(scores, codes, 2, most=20),)), (0, 1), 1)
    ranking, typical = evidence.ranking(label), evidence.typical(label)
    assert ranking.ends is not None
    assert (np.diff(typical.scores) < 0).all()
    assert (typical.scores >= ranking.scores).all()
    assert (typical.scores < ranking.ends).all()
    turned = scores if label else -scores
    assert turned.min() <= typical.scores.min() < typical.scores.max() <= turned.max()
    assert typical.tp.tolist() == ranking.tp.tolist()
