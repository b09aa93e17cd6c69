"""Tests of several classifiers at once: Cochran's Q and others, each with what it is about."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heldout.comparisons.delong_tests import DELONG, Areas, all_areas_equal
from heldout.comparisons.pair_test import Tested, procedure
from heldout.errors import ValuesError

# Cochran's Q: whether several classifiers, judged on the same cases, get equally many of them right.

COCHRAN = procedure(
    "cochran",
    "same cases",
    "Cochran's Q for three or more classifiers at once: McNemar's chi-square test where there are two.",
    "Cochran (1950), Biometrika 37, 256-266",
    "approximate with fewer than 24 / m cases that tell the m classifiers apart (Tate & Brown 1970)",
)
# Tate & Brown (1970), JASA 65, 155-160: informative cases times classifiers, from where chi-square is trusted.
ENOUGH = 24
EFFECT = "share of the largest Q that so many cases allow"
ALIKE = "every case is right by all or wrong by all, so nothing tells the classifiers apart"


def cochran_q(right: ArrayLike, counts: ArrayLike | None = None, *, level: float = 0.95) -> Tested:
    """Test whether m classifiers are right equally often, from a table of cases × classifiers of right and wrong.

    With `counts`, each row is a pattern and stands for so many cases. The difference is that of the best and the worst
    of the classifiers, without an interval: it was chosen after the fact.

    >>> found = cochran_q([[1, 1, 0], [1, 0, 0], [0, 1, 1]], [20, 10, 5])
    >>> print(f"Q = {found.statistic:.2f}, df = {found.df:.0f}, p = {found.p:.1e}, difference {found.difference:.2f}")
    Q = 30.00, df = 2, p = 3.1e-07, difference 0.71
    """
    table, cases = _checked(right, counts)
    m = table.shape[1]
    n = int(cases.sum())
    columns, rows = cases @ table, table.sum(axis=1)
    # Cases that all get right, or none, have no part in the sum: Q depends on the others alone.
    spread = int(cases @ (rows * (m - rows)))
    informative = int(cases[(rows > 0) & (rows < m)].sum())
    # m·Σ(c_j − mean)² in whole numbers: nothing is rounded before the one division.
    between = m * sum(c * c for c in columns.tolist()) - int(columns.sum()) ** 2
    q = (m - 1) * between / spread if spread else math.nan
    from scipy.special import chdtrc

    few = f"{informative} cases tell the {m} classifiers apart, which is few for the chi-square approximation"
    return Tested(
        difference=float(columns.max() - columns.min()) / n if n else math.nan,
        low=math.nan,
        high=math.nan,
        level=level,
        method=COCHRAN.name,
        p=float(chdtrc(m - 1, q)) if spread else 1.0 if n else math.nan,
        n=n,
        statistic=q,
        df=float(m - 1),
        effect=q / (n * (m - 1)) if spread else 0.0 if n else math.nan,
        effect_name=EFFECT,
        undefined="" if n else "there are no cases",
        note="" if not n else ALIKE if not spread else few if informative * m < ENOUGH else "",
    )


def _checked(right: ArrayLike, counts: ArrayLike | None) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    table = np.asarray(right)
    if table.ndim != 2 or table.shape[1] < 2:
        raise ValuesError(
            f"Cochran's Q takes a table of cases × classifiers, two or more. Got the shape {table.shape}.",
            hint="give one row per case and one column per classifier, 1 where it is right.",
        )
    if not np.isin(table, (0, 1)).all():
        raise ValuesError(
            "Cochran's Q takes right and wrong, 1 and 0, and there are other values in the table.",
            hint="compare the answers with the truth first.",
        )
    whole = table.astype(np.int64)
    if counts is None:
        # Rows by pattern: at most 2^m of them, however many cases there are.
        found, number = np.unique(whole, axis=0, return_counts=True)
        return found, number.astype(np.int64)
    cases = np.asarray(counts)
    if cases.shape != table.shape[:1] or (cases < 0).any() or not np.array_equal(cases, np.floor(cases)):
        raise ValuesError(
            f"There must be one count of cases for each of the {len(table)} patterns, a whole number from 0 up.",
            hint="leave counts out to give one row per case.",
        )
    return whole, cases.astype(np.int64)


# Tests of several classifiers at once, each with what it is about.


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
