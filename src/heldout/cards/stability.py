"""Whether the folds agree on which features matter: rank correlations, and the overlap of the first few."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from heldout.arrays import Floats

TOP = 5
ONE_FOLD = "there is one model only, and so nothing that could differ from it"
ONE_FEATURE = "there is one feature only, and so nothing to rank"


@dataclass(frozen=True, slots=True)
class Stability:
    """How far the rankings of the features agree, as means over all pairs of folds.

    `kendall` is tau-b and `spearman` rho: 1 for the same order, 0 for none in common. `kuncheva` is the overlap of the
    first `top` features beyond what chance gives. Each is nan with a reason where it is not defined.
    """

    kendall: float
    spearman: float
    kuncheva: float
    top: int
    pairs: int
    undefined: str = ""
    kuncheva_undefined: str = ""

    def document(self) -> dict[str, object]:
        """The figures as they stand in a JSON document."""
        names = ("kendall", "spearman", "kuncheva", "top", "pairs", "undefined", "kuncheva_undefined")
        return {name: getattr(self, name) for name in names}


def stability(values: Floats) -> Stability:
    """The agreement of the folds, from one row per fold and one column per feature.

    >>> found = stability(np.array([[0.3, 0.2, 0.1], [0.4, 0.1, 0.2]]))
    >>> round(found.kendall, 3), round(found.spearman, 3), round(found.kuncheva, 3)
    (0.333, 0.5, 1.0)
    """
    folds, features = values.shape
    nan = math.nan
    why = ONE_FOLD if folds < 2 else ONE_FEATURE if features < 2 else ""
    if not why and not np.isfinite(values).all():
        why = "an importance is infinite or undefined in some fold"
    if why:
        return Stability(nan, nan, nan, 0, 0, why, why)
    top = max(1, min(TOP, features // 2))
    firsts = [set(np.argsort(-row, kind="stable")[:top].tolist()) for row in values]
    pairs = list(combinations(range(folds), 2))
    kendall, spearman = _correlations(values, pairs)
    overlaps = [kuncheva_index(len(firsts[a] & firsts[b]), top, features) for a, b in pairs]
    flat = "no fold ranks the features: all of them matter alike" if math.isnan(kendall) else ""
    if flat:
        return Stability(nan, nan, nan, top, len(pairs), flat, flat)
    return Stability(kendall, spearman, float(np.mean(overlaps)), top, len(pairs))


def _correlations(values: Floats, pairs: list[tuple[int, int]]) -> tuple[float, float]:
    """The means of tau-b and rho over the pairs in which both folds rank at all."""
    from scipy.stats import kendalltau, rankdata

    taus, rhos = [], []
    ranks = rankdata(values, axis=1)
    for a, b in pairs:
        if np.ptp(values[a]) == 0 or np.ptp(values[b]) == 0:
            continue
        found: Any = kendalltau(values[a], values[b])
        taus.append(float(found.statistic))
        rhos.append(float(np.corrcoef(ranks[a], ranks[b])[0, 1]))
    return (float(np.mean(taus)), float(np.mean(rhos))) if taus else (math.nan, math.nan)


def kuncheva_index(shared: int, top: int, features: int) -> float:
    """The overlap of two choices of `top` out of so many features, corrected for chance. Kuncheva (2007).

    It is 1 for the same choice and about 0 for two that were drawn.

    >>> kuncheva_index(5, 5, 20), round(kuncheva_index(1, 5, 20), 3)
    (1.0, -0.067)
    """
    if not 0 < top < features:
        return math.nan
    return (shared * features - top**2) / (top * (features - top))
