"""McNemar's test: whether one classifier has more than its half of the cases that only one of two gets right.

Under no difference each such case falls to A or to B with probability ½, so the test is that of a coin; cases that both
get right, or both wrong, say nothing of the difference. Nothing here loops over cases: counts may be in the billions.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from heldout.comparisons.pair_test import OmnibusTest, find_procedure, register_procedure
from heldout.errors import OptionError, ValuesError
from heldout.intervals.estimate import PairTest
from heldout.intervals.score_limits import paired_difference_limits
from heldout.measures.declare import NO_CASES

MID_P = register_procedure(
    "mcnemar",
    "same cases",
    "McNemar's exact test with half the probability of the outcome seen (mid-p); default for accuracy.",
    "Fagerland, Lydersen & Laake (2013), BMC Medical Research Methodology 13, 91",
    "rejects .025 of true nulls where five cases on average are right by one classifier alone, .041 where ten are, "
    ".046 with twenty, and .049 to .050 from fifty on",
)
EXACT = register_procedure(
    "mcnemar-exact",
    "same cases",
    "McNemar's test by the binomial distribution: never rejects a true null more often than it says.",
    "McNemar (1947), Psychometrika 12, 153-157; Edwards (1948)",
    "rejects .025 to .033 of true nulls at level .95, and .005 where five cases tell the two apart: cautious",
)
CHI_SQUARE = register_procedure(
    "mcnemar-chi-square",
    "same cases",
    "McNemar's test by the chi-square approximation.",
    "McNemar (1947), Psychometrika 12, 153-157",
    "approximate with fewer than 25 cases that only one gets right",
)
CORRECTED = register_procedure(
    "mcnemar-chi-square-corrected",
    "same cases",
    "McNemar's test by chi-square with continuity correction, as R's mcnemar.test has it.",
    "Edwards (1948), Psychometrika 13, 185-187; Dietterich (1998), Neural Computation 10, 1895-1923",
    "rejects as the exact test does, .005 to .033 of true nulls at level .95, and is not exact",
)
TESTS = (MID_P.name, EXACT.name, CHI_SQUARE.name, CORRECTED.name)
EFFECT = "odds ratio of the cases that only one gets right"
NONE_APART = "no case is right by one and wrong by the other"


def mcnemar_p(only_a: int, only_b: int, method: str = MID_P.name) -> tuple[float, float, float]:
    """The p-value, the statistic and its degrees of freedom.

    The statistic of the two exact forms is the smaller of the two counts.

    >>> [round(mcnemar_p(12, 2, name)[0], 4) for name in TESTS]
    [0.0074, 0.0129, 0.0075, 0.0162]
    """
    least, total = min(only_a, only_b), only_a + only_b
    if method in (CHI_SQUARE.name, CORRECTED.name):
        if not total:
            return 1.0, 0.0, 1.0
        gap = abs(only_a - only_b)
        if method == CORRECTED.name:
            gap = max(gap - 1, 0)
        square = gap * gap / total
        return math.erfc(math.sqrt(square / 2)), square, 1.0
    if only_a == only_b:
        return 1.0, float(least), math.nan
    from scipy.special import betainc

    # P(X ≤ x) of a fair coin tossed n times is I_½(n − x, x + 1): no sum, however many tosses.
    up_to = float(betainc(total - least, least + 1, 0.5))
    if method == EXACT.name:
        return min(1.0, 2 * up_to), float(least), math.nan
    # 2·P(X ≤ x) − P(X = x) as a sum of positive terms: nothing cancels, however small it is.
    below = float(betainc(total - least + 1, least, 0.5)) if least else 0.0
    return min(1.0, up_to + below), float(least), math.nan


def mcnemar(only_a: int, only_b: int, n: int, *, method: str = MID_P.name, level: float = 0.95) -> PairTest:
    """Compare two accuracies on the same n cases: McNemar's test, and Tango's interval of the difference.

    >>> seen = mcnemar(25, 15, 10_000)
    >>> print(f"{seen.difference:.4f} [{seen.low:.4f}, {seen.high:.4f}] p = {seen.p:.4f}")
    0.0010 [-0.0002, 0.0023] p = 0.1173
    """
    name = find_procedure(method, "same cases").name
    if name not in TESTS:
        raise OptionError(f"{name!r} is not a form of McNemar's test.", hint=f"use one of: {', '.join(TESTS)}.")
    check_counts(only_a, only_b, n)
    p, statistic, df = mcnemar_p(only_a, only_b, name)
    low, high = paired_difference_limits(only_a, only_b, n, level)
    return PairTest(
        difference=(only_a - only_b) / n if n else math.nan,
        low=low if n else math.nan,
        high=high if n else math.nan,
        level=level,
        method=name,
        p=p if n else math.nan,
        n=n,
        statistic=statistic,
        df=df,
        effect=odds_ratio(only_a, only_b),
        effect_name=EFFECT,
        undefined="" if n else NO_CASES,
        note=NONE_APART if n and not only_a + only_b else "",
        interval_method="tango",
    )


def odds_ratio(only_a: int, only_b: int) -> float:
    """How many times likelier a case is right by A alone than by B alone; nan where there is no such case."""
    if not only_b:
        return math.inf if only_a else math.nan
    return only_a / only_b


def check_counts(only_a: int, only_b: int, n: int) -> None:
    """Refuse counts that cannot be."""
    if min(only_a, only_b) < 0 or only_a + only_b > n:
        raise OptionError(
            f"Of {n} cases, {only_a} cannot be right by A alone and {only_b} by B alone.",
            hint="give counts of distinct cases, and the number of all cases as n.",
        )


COCHRAN = register_procedure(
    "cochran",
    "same cases",
    "Cochran's Q for three or more classifiers at once: McNemar's chi-square test where there are two.",
    "Cochran (1950), Biometrika 37, 256-266",
    "approximate with fewer than 24 / m cases that tell the m classifiers apart (Tate & Brown 1970)",
)


# Tate & Brown (1970), JASA 65, 155-160: informative cases times classifiers, from where chi-square is trusted.
ENOUGH = 24


COCHRAN_EFFECT = "share of the largest Q that so many cases allow"


ALL_ALIKE = "every case is right by all or wrong by all, so nothing tells the classifiers apart"


def cochran_q(right: ArrayLike, counts: ArrayLike | None = None, *, level: float = 0.95) -> PairTest:
    """Test whether m classifiers are right equally often, from a table of cases × classifiers of right and wrong.

    With `counts`, each row is a pattern and stands for so many cases. The difference is that of the best and the worst
    of the classifiers, without an interval: it was chosen after the fact.

    >>> result = cochran_q([[1, 1, 0], [1, 0, 0], [0, 1, 1]], [20, 10, 5])
    >>> print(f"Q = {result.statistic:.2f}, df = {result.df:.0f}, p = {result.p:.1e}, gap {result.difference:.2f}")
    Q = 30.00, df = 2, p = 3.1e-07, gap 0.71
    """
    table, cases = _resolve_table(right, counts)
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
    return PairTest(
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
        effect_name=COCHRAN_EFFECT,
        undefined="" if n else "there are no cases",
        note="" if not n else ALL_ALIKE if not spread else few if informative * m < ENOUGH else "",
    )


def _resolve_table(right: ArrayLike, counts: ArrayLike | None) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    table = np.asarray(right)
    if table.ndim != 2 or table.shape[1] < 2:
        raise ValuesError(
            f"Cochran's Q takes a table of cases × classifiers, two or more. Got the shape {table.shape}.",
            hint="give one row per case and one column per classifier, 1 where it is right.",
        )
    if not np.isin(table, (0, 1)).all():
        raise ValuesError(
            "Cochran's Q takes right and wrong, 1 and 0, and there are other values in the table.",
            hint="compare the predictions with the truth first.",
        )
    whole = table.astype(np.int64)
    if counts is None:
        # Rows by pattern: at most 2^m of them, however many cases there are.
        patterns, number = np.unique(whole, axis=0, return_counts=True)
        return patterns, number.astype(np.int64)
    cases = np.asarray(counts)
    if cases.shape != table.shape[:1] or (cases < 0).any() or not np.array_equal(cases, np.floor(cases)):
        raise ValuesError(
            f"There must be one count of cases for each of the {len(table)} patterns, a whole number from 0 up.",
            hint="leave counts out to give one row per case.",
        )
    return whole, cases.astype(np.int64)


def compare_all_accuracies(right: ArrayLike, counts: ArrayLike | None = None, *, level: float = 0.95) -> OmnibusTest:
    """Cochran's Q, from a table of cases × classifiers of right and wrong: are all right equally often.

    With `counts`, each row is a pattern and stands for so many cases.

    >>> result = compare_all_accuracies([[1, 1, 0]] * 20 + [[1, 0, 0]] * 10 + [[0, 1, 1]] * 5)
    >>> result.statistic, result.about
    (30.0, 'right and wrong predictions (accuracy)')
    """
    test = cochran_q(right, counts, level=level)
    return OmnibusTest(
        test.difference, test.low, test.high, level, test.method, test.p, test.n, test.statistic, test.df,
        test.effect, test.effect_name, test.undefined, test.note, about="right and wrong predictions (accuracy)",
    )  # fmt: skip
