"""Work on many scores done ahead, two things at a time: what several estimates will ask for."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from heldout.engines.scores import RowScores, ScoreEvidence
from heldout.estimates.delong import delong_variance
from heldout.estimates.precision_area import average_precision_variance
from heldout.evidence import Label, Ranking
from heldout.measures.recalibration import recalibrate

# Fewer cases are done before a thread has started.
MANY = 1_000_000


def prepare(evidence: ScoreEvidence, label: Label) -> None:
    """Rank and tally at the same time, then sum for the areas and the calibration; all of it is kept by the evidence.

    NumPy and Polars let other threads work while they do, so that two cores take about two thirds of the time.
    """
    if not isinstance(evidence, RowScores) or evidence.per_class or evidence.n < MANY:
        return
    with ThreadPoolExecutor(2) as pool:
        ranked = pool.submit(evidence.ranking, label)
        tallied = pool.submit(lambda: evidence.probabilities)
        ranking = ranked.result()
        areas = pool.submit(average_precision_variance, ranking)
        other = pool.submit(_others, ranking, probable=tallied.result() is not None)
        areas.result()
        other.result()


def _others(ranking: Ranking, *, probable: bool) -> None:
    delong_variance(ranking)
    if probable:
        recalibrate(ranking)
