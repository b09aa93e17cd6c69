"""Tests of several classifiers at once, each with what it is about."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from heldout.comparisons.cochran import cochran_q
from heldout.comparisons.delong_tests import DELONG, Areas, all_areas_equal
from heldout.comparisons.tested import Tested

NO_AREAS = "the areas have no variances, so they cannot be compared together"


@dataclass(frozen=True, slots=True)
class Together(Tested):
    """A test that several classifiers are all alike; `about` says in what."""

    about: str = ""


def right_together(right: ArrayLike, counts: ArrayLike | None = None, *, level: float = 0.95) -> Together:
    """Cochran's Q, from a table of cases × classifiers of right and wrong: are all right equally often.

    With `counts`, each row is a pattern and stands for so many cases.

    >>> found = right_together([[1, 1, 0]] * 20 + [[1, 0, 0]] * 10 + [[0, 1, 1]] * 5)
    >>> found.statistic, found.about
    (30.0, 'right and wrong answers (accuracy)')
    """
    found = cochran_q(right, counts, level=level)
    return Together(
        found.difference, found.low, found.high, level, found.method, found.p, found.n, found.statistic, found.df,
        found.effect, found.effect_name, found.undefined, found.note, about="right and wrong answers (accuracy)",
    )  # fmt: skip


def areas_together(areas: Areas, name: str = "roc_auc", *, level: float = 0.95) -> Together:
    """DeLong's chi-square: are the areas under all ROC curves the same. The difference is that of best and worst.

    >>> from heldout.comparisons.delong_tests import model_areas
    >>> truth = [True, True, True, False, False, False]
    >>> found = areas_together(model_areas([[6, 5, 3, 4, 2, 1], [4, 6, 2, 5, 3, 1], [2, 3, 4, 5, 6, 1]], truth))
    >>> found.df, found.about
    (2.0, 'the areas under the ROC curves (roc_auc)')
    """
    found = all_areas_equal(areas)
    return Together(
        float(np.ptp(areas.values)), np.nan, np.nan, level, DELONG.name, found.p, areas.n, found.statistic,
        float(found.df), about=f"the areas under the ROC curves ({name})",
        note=NO_AREAS if np.isnan(found.p) else "",
    )  # fmt: skip
