"""What a model loses when one column is shuffled: the losses of its answers before and after, case by case."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.arguments import listing, method_key, suggest
from heldout.arrays import Codes, Floats
from heldout.errors import OptionError
from heldout.intervals.dependence import Dependence
from heldout.intervals.fold_estimates import corrected_t, nothing_told
from heldout.intervals.losses import hall
from heldout.intervals.quantiles import t_value
from heldout.learners.problem import Problem
from heldout.resampling.split_task import Classes, predict_classes, predict_scores, take_rows


@dataclass(frozen=True, slots=True)
class LossMeasure:
    """A measure that is a mean over cases, so that it can be said how much each case adds to it."""

    name: str
    change: str
    probabilities: bool


MEASURES = {
    one.name: one
    for one in (
        LossMeasure("brier", "rise of the Brier score", probabilities=True),
        LossMeasure("log_loss", "rise of the log loss", probabilities=True),
        LossMeasure("accuracy", "drop in accuracy", probabilities=False),
    )
}


def read_measure(name: str | None, *, probabilities: bool) -> LossMeasure:
    """The measure of that name; without one, the Brier score where there are probabilities, otherwise accuracy.

    Log loss is not the default: one case that a shuffled column gives probability 0, as trees, forests and neighbours
    do, would make it infinite.

    >>> read_measure(None, probabilities=True).change
    'rise of the Brier score'
    """
    if name is None:
        return MEASURES["brier" if probabilities else "accuracy"]
    key = method_key(name).replace("-", "_")
    measure = MEASURES.get(key)
    if measure is None:
        raise OptionError(
            f"There is no importance by {name!r}. There is: {listing(MEASURES)}.",
            hint=suggest(key, MEASURES, "use one of these, or none for the usual one."),
        )
    if measure.probabilities and not probabilities:
        raise _no_probabilities(measure)
    return measure


def _no_probabilities(measure: LossMeasure) -> OptionError:
    return OptionError(
        f"The importance by {measure.name} needs probabilities, and the model gives none.", hint="use 'accuracy'."
    )


@dataclass(frozen=True, eq=False)
class ModelLosses:
    """A fitted model, and how its answers are judged; `trained` are the classes of its training cases, as places."""

    model: Any
    classes: Classes
    measure: LossMeasure
    trained: Codes

    def answers(self, features: Any, n: int) -> NDArray[Any]:
        """What the model says of n rows: probabilities where the measure needs them, otherwise classes as places."""
        if not self.measure.probabilities:
            return predict_classes(self.model, features, n, self.classes)
        scores, kind = predict_scores(self.model, features, n, self.classes, self.trained)
        if scores is None or kind != "probability":
            raise _no_probabilities(self.measure)
        return scores

    def losses(self, answers: NDArray[Any], truth: Codes) -> Floats:
        """The loss of every case: its mean is the measure (one less, for accuracy)."""
        if self.measure.name == "accuracy":
            return np.asarray(answers != truth, dtype=np.float64)
        own = answers[np.arange(len(truth)), truth]
        if self.measure.name == "log_loss":
            with np.errstate(divide="ignore"):
                return np.asarray(-np.log(own))
        wrong = np.square(answers).sum(axis=1) - np.square(own) + np.square(1 - own)
        # Of two classes the Brier score counts one, as everybody does.
        return np.asarray(wrong / 2 if answers.shape[1] == 2 else wrong)


@dataclass(frozen=True, eq=False)
class Shuffled:
    """What shuffling each column did: the mean change of every case's loss, and of every shuffle.

    `cases` and `donors` have one row per column and one place per case: the mean change of its own loss, and that of
    the losses of those who got its value. `shuffles` has one row per column and one place per shuffle, `variance` is
    that of the single changes. `moved` says whether any answer changed at all.
    """

    cases: Floats
    donors: Floats
    shuffles: Floats
    variance: Floats
    moved: NDArray[np.bool_]


def shuffle_columns(
    scorer: ModelLosses,
    features: Any,
    truth: Codes,
    columns: list[int],
    orders: NDArray[np.int64],
    units: NDArray[np.int64] | None = None,
) -> Shuffled:
    """Shuffle each of the columns by its orders, which have one row per shuffle: columns × shuffles × cases.

    Where `units` say which cases belong together, what a case gets from its own unit does not count: it is no exchange
    between independent cases. A shuffle leaves one case in n with its own value on average.

    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = np.array([[0.0, 5.0], [1.0, 5.0], [0.0, 6.0], [1.0, 6.0]]), np.array([0, 1, 0, 1])
    >>> classes = Classes((0, 1), np.array([0, 1]), np.array([0, 1]), np.array([0, 1]))
    >>> scorer = ModelLosses(DecisionTreeClassifier().fit(X, y), classes, MEASURES["accuracy"], y)
    >>> shuffle_columns(scorer, X, y, [0, 1], np.array([[[1, 0, 2, 3]]] * 2)).shuffles
    array([[0.5],
           [0. ]])
    """
    times, n = orders.shape[1], len(truth)
    truths = np.tile(truth, times)
    # The unshuffled rows as often as the shuffled ones: a sum of products may be rounded otherwise in a smaller table.
    stacked = take_rows(features, np.tile(np.arange(n), times))
    before = scorer.answers(stacked, times * n)
    base = scorer.losses(before, truths)
    cases, donors = np.empty((len(columns), n)), np.empty((len(columns), n))
    shuffles, variance = np.empty((len(columns), times)), np.empty(len(columns))
    moved = np.zeros(len(columns), dtype=bool)
    for at, changed in enumerate(_shuffle_each(stacked, columns, [order.ravel() for order in orders])):
        after = scorer.answers(changed, times * n)
        # Infinite before and after is no change.
        with np.errstate(invalid="ignore"):
            difference = np.where(after.reshape(times * n, -1) == before.reshape(times * n, -1), 0.0, 1.0).any(axis=1)
            rise = np.where(difference, scorer.losses(after, truths) - base, 0.0).reshape(times, n)
            if units is not None:
                apart = units[orders[at]] != units
                # Within one unit there is nothing but such exchanges.
                rise = np.where(apart, rise * (apart.size / max(apart.sum(), 1)), 0.0) if apart.any() else rise
            variance[at] = rise.var()
        moved[at] = bool(difference.any())
        cases[at], shuffles[at] = rise.mean(axis=0), rise.mean(axis=1)
        donors[at] = np.bincount(orders[at].ravel(), weights=rise.ravel(), minlength=n) / times
    return Shuffled(cases, donors, shuffles, variance, moved)


def _shuffle_each(stacked: Any, columns: list[int], orders: list[Codes]) -> Iterator[Any]:
    """The rows with one column after the other shuffled; each is to be used before the next is asked for."""
    if isinstance(stacked, np.ndarray):
        table = stacked.copy()
        for column, order in zip(columns, orders, strict=True):
            table[:, column] = stacked[order, column]
            yield table
            table[:, column] = stacked[:, column]
    elif hasattr(stacked, "tocsr"):
        from scipy import sparse

        by_column = stacked.tocsc()
        for column, order in zip(columns, orders, strict=True):
            parts = [by_column[:, :column], by_column[order][:, [column]], by_column[:, column + 1 :]]
            yield sparse.hstack([part for part in parts if part.shape[1]]).tocsr()
    else:
        yield from _shuffle_frame(stacked, columns, orders)


def _shuffle_frame(stacked: Any, columns: list[int], orders: list[Codes]) -> Iterator[Any]:
    import narwhals.stable.v2 as nw

    if hasattr(stacked, "reset_index"):
        # The labels of pandas' rows would put the values back where they were.
        stacked = stacked.reset_index(drop=True)
    frame = nw.from_native(stacked, eager_only=True)
    for column, order in zip(columns, orders, strict=True):
        name = frame.columns[column]
        moved = frame.select(nw.col(name))[order.tolist()].to_native()
        if hasattr(moved, "reset_index"):
            moved = moved.reset_index(drop=True)
        yield frame.with_columns(nw.from_native(moved, eager_only=True).get_column(name)).to_native()


# The interval of an importance from one test part, in which every case counts twice: for what it gets and gives.
#
# Let h(i, d) be the change of the loss of case i when it gets the value of case d. The importance of a fixed model is
# the mean of h over independent i and d, a U-statistic (Fisher, Rudin & Dominici 2019), and a shuffle is a part of
# its pairs in which every case receives once and gives once. By Hoeffding (1948) h = mean + a(i) + b(d) + e(i, d)
# with parts that are uncorrelated for i ≠ d. In a shuffle every a and every b is there exactly once, so that of n
# cases and K shuffles the mean has the variance
#
# [Var(a + b) + Var(e) / K] / n,
#
# the second part being that of an incomplete U-statistic (Blom 1976). A t interval over the changes that cases
# receive leaves out b, and with it that all cases get their values from the same few donors.
#
# The means over the shuffles of what a case received and of what it gave sum to a + b and noise. The noise of the
# first is that of b(d) + e(i, d), that of the second of a(i) + e(i, d), each over K: together [Var(a) + Var(b) + 2
# Var(e)] / K, of which Var(e) / K belongs there. What is too much, [Var(a) + Var(b) + Var(e)] / K, is the variance of
# the single changes over K, which is seen and is taken off. Unless a and b pull against each other, that is at most
# half of all; no more is taken off, and then the interval is too wide rather than too narrow.

VARIANCE_REFERENCE = "Hoeffding (1948), Annals of Mathematical Statistics 19; Blom (1976), Biometrika 63"
MOST_NOISE = 0.5
ONE_GROUP = "all cases are of one group, so there is no spread to judge by"
NO_LOSS = "no exchange changed a loss, so there is no spread to judge by"


@dataclass(frozen=True, eq=False)
class Exchanges:
    """What shuffling one column did to each case.

    `received` is the mean change of its own loss, `given` that of the losses of those who got its value, and `variance`
    that of the single changes. `group` is the group of each case, where these are what is independent.
    """

    received: Floats
    given: Floats
    variance: float
    shuffles: int
    group: NDArray[np.int64] | None = None

    def limits(self, level: float) -> tuple[float, float, str]:
        """Hall's limits of the mean change, with t in place of z, or why there are none.

        Few cases with a rare value, or few groups, decide most of it, and the mean is too low where its spread is.

        >>> changes = np.array([0.0, 0.2, 0.1, 0.1])
        >>> low, high, _ = Exchanges(changes, changes[::-1], 0.01, 5).limits(0.95)
        >>> print(f"{low:.3f} {high:.3f}")
        -0.064 0.264
        """
        n, mean = len(self.received), float(self.received.mean())
        influence = np.asarray(self.received + self.given - 2 * mean, dtype=np.float64)
        if self.group is not None:
            group_of = np.unique(self.group, return_inverse=True)[1]
            influence = np.asarray(np.bincount(group_of, weights=influence), dtype=np.float64)
        units = len(influence)
        if units < 2:
            return math.nan, math.nan, ONE_GROUP
        spread = float(np.square(influence).sum())
        if spread == 0:
            return math.nan, math.nan, NO_LOSS
        noise = min(n * self.variance / self.shuffles, MOST_NOISE * spread)
        variance = (spread - noise) * units / (units - 1) / n**2
        skewness = float((influence**3).sum()) / spread**1.5
        low, high = hall(mean, variance, skewness * variance**1.5, float(t_value(level, units - 1)))
        return low, high, ""


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
        return asdict(self)


def measure_stability(values: Floats) -> Stability:
    """The agreement of the folds, from one row per fold and one column per feature.

    >>> found = measure_stability(np.array([[0.3, 0.2, 0.1], [0.4, 0.1, 0.2]]))
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
        tau: Any = kendalltau(values[a], values[b])
        taus.append(float(tau.statistic))
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


# Beyond this association two features count as closely related. What that does to permutation importance: Strobl et al.
# (2008), BMC Bioinformatics 9:307, and Molnar (2022), Interpretable Machine Learning. The line itself is a convention.
CLOSE = 0.8
# Shuffling more columns than this, or relating them to each other, takes long, and nobody reads the list.
MOST_FEATURES = 200
MOST_ROWS = 10_000
LEAST_ROWS = 10


@dataclass(frozen=True, slots=True)
class RelatedFeatures:
    """Two features and how closely they go together: by |r|, Cramér's V, or the correlation ratio eta."""

    first: str
    second: str
    strength: float
    how: str


def find_related(problem: Problem, seed: int = 0) -> tuple[RelatedFeatures, ...]:
    """The pairs of columns that go together beyond CLOSE, the closest first.

    >>> X = np.column_stack([np.arange(20.0), 2 * np.arange(20.0) + 1, np.tile([0.0, 1.0], 10)])
    >>> problem = Problem(X, np.tile([0, 1], 10), np.tile([0, 1], 10), (0, 1), names=("a", "b", "c"))
    >>> [(pair.first, pair.second, round(pair.strength, 2)) for pair in find_related(problem)]
    [('a', 'b', 1.0)]
    """
    matrix = problem.features
    if not isinstance(matrix, np.ndarray) or matrix.dtype.kind not in "fiub" or matrix.shape[1] < 2:
        return ()
    if matrix.shape[1] > MOST_FEATURES:
        return ()
    if len(matrix) > MOST_ROWS:
        rows = np.random.default_rng(seed).choice(len(matrix), MOST_ROWS, replace=False)
        matrix = matrix[rows]
    columns = np.asarray(matrix, dtype=np.float64)
    pairs: list[RelatedFeatures] = []
    names = problem.column_names
    for a in range(columns.shape[1]):
        for b in range(a + 1, columns.shape[1]):
            strength, how = _measure_association(
                columns[:, a], columns[:, b], a in problem.nominal, b in problem.nominal
            )
            if strength > CLOSE:
                pairs.append(RelatedFeatures(names[a], names[b], strength, how))
    return tuple(sorted(pairs, key=lambda pair: -pair.strength))


def _measure_association(a: Floats, b: Floats, first: bool, second: bool) -> tuple[float, str]:
    there = ~(np.isnan(a) | np.isnan(b))
    a, b = a[there], b[there]
    if len(a) < LEAST_ROWS or np.ptp(a) == 0 or np.ptp(b) == 0:
        return math.nan, ""
    if first and second:
        return cramers_v(a, b), "Cramér's V"
    if first or second:
        return (correlation_ratio(a, b) if first else correlation_ratio(b, a)), "eta"
    return abs(float(np.corrcoef(a, b)[0, 1])), "|r|"


def cramers_v(a: NDArray[Any], b: NDArray[Any]) -> float:
    """The association of two columns of categories, corrected for chance. Bergsma (2013).

    >>> cramers_v(np.array([0, 0, 1, 1] * 5), np.array([0, 0, 1, 1] * 5))
    1.0
    """
    _, x = np.unique(a, return_inverse=True)
    _, y = np.unique(b, return_inverse=True)
    r, k, n = int(x.max()) + 1, int(y.max()) + 1, len(x)
    counts = np.bincount(x * k + y, minlength=r * k).reshape(r, k)
    expected = counts.sum(axis=1, keepdims=True) * counts.sum(axis=0, keepdims=True) / n
    phi = float((np.square(counts - expected) / expected).sum()) / n
    corrected = max(0.0, phi - (r - 1) * (k - 1) / (n - 1))
    sides = min(r - (r - 1) ** 2 / (n - 1), k - (k - 1) ** 2 / (n - 1)) - 1
    return min(1.0, math.sqrt(corrected / sides)) if sides > 0 else math.nan


def correlation_ratio(category: NDArray[Any], amount: Floats) -> float:
    """How much of an amount's spread lies between categories: eta, the root of that share, corrected for chance.

    The share is epsilon squared (Kelley 1935), which many categories do not raise by themselves.

    >>> round(correlation_ratio(np.array([0, 0, 1, 1]), np.array([1.0, 1.2, 5.0, 5.2])), 3)
    0.998
    """
    _, x = np.unique(category, return_inverse=True)
    k, n = int(x.max()) + 1, len(x)
    if n <= k:
        return math.nan
    means = np.bincount(x, weights=amount) / np.bincount(x)
    within = float(np.square(amount - means[x]).sum()) / (n - k)
    whole = float(np.square(amount - amount.mean()).sum()) / (n - 1)
    return math.sqrt(max(0.0, 1 - within / whole)) if whole > 0 else math.nan


REFERENCE = "Breiman (2001), Machine Learning 45; Fisher, Rudin & Dominici (2019), JMLR 20(177)"
INFINITE = "a shuffle gave the true class of some case probability 0, and its log loss is infinite"
NEVER = "no prediction changed in any fold, so there is no spread to judge by"


@dataclass(frozen=True, slots=True)
class FeatureImportance:
    """How much worse the model gets when one feature is shuffled; above 0, it leans on the feature.

    `folds` holds the value in every fold. `moved` is False where no shuffle changed any answer, and `undefined` says
    why a value or its interval is nan, where it is.
    """

    feature: str
    value: float
    low: float
    high: float
    folds: tuple[float, ...]
    moved: bool
    undefined: str = ""

    @property
    def sure(self) -> bool:
        """Whether the interval lies above 0."""
        return self.low > 0


@dataclass(frozen=True, slots=True)
class Importance:
    """The importance of every feature, the greatest first, and whether the folds agree on it.

    `measure` is what gets worse and `change` that in words; `shuffles` is how often each column was shuffled in every
    fold, `cases` how many cases were tested. `method` and `level` are those of the intervals. `related` are features
    that say nearly the same and so share their importance. `undefined` says why nothing was measured.
    """

    measure: str
    change: str
    features: tuple[FeatureImportance, ...]
    shuffles: int
    folds: int
    cases: int
    method: str
    level: float
    stability: Stability
    related: tuple[RelatedFeatures, ...] = ()
    undefined: str = ""
    notes: tuple[str, ...] = ()

    def __getitem__(self, feature: str) -> FeatureImportance:
        """The importance of a feature."""
        by_name = {item.feature: item for item in self.features}
        if feature not in by_name:
            raise OptionError(
                f"There is no importance of {feature!r}. There is one of: {listing(by_name) or 'nothing'}.",
                hint=suggest(feature, by_name),
            )
        return by_name[feature]

    @property
    def reference(self) -> str:
        """Where shuffling is described, and the interval over the cases of one test part."""
        return f"{REFERENCE}; {VARIANCE_REFERENCE}" if self.folds == 1 else REFERENCE

    def document(self) -> dict[str, object]:
        """The importance as it stands in a JSON document."""
        return {
            "measure": self.measure,
            "change": self.change,
            "shuffles": self.shuffles,
            "folds": self.folds,
            "cases": self.cases,
            "method": self.method,
            "level": self.level,
            "features": [asdict(feature) for feature in self.features],
            "stability": self.stability.document(),
            "related": [asdict(pair) for pair in self.related],
            "undefined": self.undefined,
            "notes": list(self.notes),
            "reference": self.reference,
        }


@dataclass(frozen=True, eq=False)
class FoldChanges:
    """What shuffling did in one fold, for every feature: the mean change, and whether an answer moved.

    `exchanges` say it of every feature case by case, `n` is the number of these cases, and `drawn` says that they are
    some of a larger test part.
    """

    means: Floats
    moved: NDArray[np.bool_]
    n: int
    exchanges: tuple[Exchanges, ...] = ()
    drawn: bool = False


def not_measured(measure: LossMeasure, why: str, level: float) -> Importance:
    """No importance, and why."""
    nothing = measure_stability(np.empty((0, 0)))
    return Importance(measure.name, measure.change, (), 0, 0, 0, "", level, nothing, undefined=why)


def measure_importance(
    names: Sequence[str],
    changes: Sequence[FoldChanges],
    measure: LossMeasure,
    plan: Dependence,
    *,
    shuffles: int,
    level: float,
    related: tuple[RelatedFeatures, ...] = (),
    notes: tuple[str, ...] = (),
) -> Importance:
    """The importance over the folds, whose intervals allow for the training rows that folds share.

    Over one fold alone, the interval is over its cases, as they receive and give values, and about that one model.

    >>> from heldout.cards.importance import MEASURES
    >>> folds = [FoldChanges(np.array([x, 0.0]), np.array([True, False]), 5) for x in (0.2, 0.3, 0.25)]
    >>> plan = Dependence(15, ratio=0.5, independent=3)
    >>> found = measure_importance(["a", "b"], folds, MEASURES["accuracy"], plan, shuffles=5, level=0.95)
    >>> print(f"{found['a'].value:.3f} [{found['a'].low:.3f} – {found['a'].high:.3f}], {found['b'].value}")
    0.250 [0.054 – 0.446], 0.0
    """
    means = np.array([fold.means for fold in changes])
    moved = np.any([fold.moved for fold in changes], axis=0).tolist()
    features = []
    for at, name in enumerate(names):
        values = means[:, at]
        low, high, why = _limits(values, changes, at, plan, level) if moved[at] else (math.nan, math.nan, NEVER)
        value = float(values.mean()) if np.isfinite(values).all() else math.nan
        features.append(FeatureImportance(name, value, low, high, tuple(values.tolist()), bool(moved[at]), why))
    features.sort(key=lambda fold: -fold.value if not math.isnan(fold.value) else math.inf)
    return Importance(
        measure.name, measure.change, tuple(features), shuffles, len(changes), sum(fold.n for fold in changes),
        _method(changes), level, measure_stability(means), related, "", notes,
    )  # fmt: skip


def _method(changes: Sequence[FoldChanges]) -> str:
    if len(changes) > 1:
        return "corrected-t"
    grouped = any(exchange.group is not None for exchange in changes[0].exchanges)
    return f"U-statistic t over {'groups' if grouped else 'cases'}"


def _limits(
    values: Floats, changes: Sequence[FoldChanges], at: int, plan: Dependence, level: float
) -> tuple[float, float, str]:
    nan = math.nan
    if plan.refused:
        return nan, nan, plan.refused
    if not np.isfinite(values).all():
        return nan, nan, INFINITE
    if len(values) == 1:
        return changes[0].exchanges[at].limits(level)
    why = nothing_told(values)
    return (nan, nan, why) if why else (*corrected_t(values, plan, level), "")
