"""The search for the slices of one column, and of two, in which most goes wrong."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.arguments import check_whole, require
from heldout.arrays import Floats
from heldout.comparisons.corrections import adjust_p_values, describe_left_out
from heldout.comparisons.unpaired import MOVER, NEWCOMBE, NORMAL, OVER_GROUPS, compare_unpaired, mover_difference
from heldout.engines.score_evidence import RowScores
from heldout.errors import OptionError
from heldout.evidence import Confusion
from heldout.evidence.labels import join_keys
from heldout.evidence.partitions import SliceCounts, left_of
from heldout.evidence.probabilities import sums_by
from heldout.findings.slice_basis import (
    CORRECTION,
    LEAST_CASES,
    Basis,
    CountedBasis,
    RowBasis,
    excess_of,
    notes_of_columns,
    notes_of_tests,
)
from heldout.intervals.cluster_errors import cluster_spread, effective_scale, groups_behind, kish_worth
from heldout.intervals.count_estimator import Estimator
from heldout.intervals.estimate import NO_INTERVAL, Estimate, PairTest, undefined_test
from heldout.intervals.quantiles import z_value
from heldout.intervals.score_estimator import ScoreEstimator
from heldout.intervals.target import Subject
from heldout.measures.cells import class_cells
from heldout.measures.quantity import Quantity
from heldout.predictions.table import Predictions
from heldout.results.evaluation import Evaluation
from heldout.results.slices import NOT_COUNTED, Divided, Slice, Slices, verdict
from heldout.show.numbers import number_of

# One side of a difference: how many of how many cases, or counts where the quantity is no share.
Side = tuple[float, float] | Confusion

EXACT = "fisher, twice the smaller tail"
CLUSTERED = "t over groups"
ONE_SIDE = "a group is the unit of chance, and one of the two sides has fewer than two with such cases"
NO_SPREAD = "no group differs from another, so the standard error is zero and says nothing"
LOST_IN_SUMS = 60


def exact_p(hits: float, n: float, other_hits: float, other_n: float) -> float:
    """Twice the smaller tail of Fisher's exact test of two shares: never rejects a true null more often than it says.

    The pooled z test does in the far tails that a correction for many slices looks at, where errors are rare.
    Fisher (1935); Agresti (2013), Categorical Data Analysis, section 3.5.

    >>> print(f"{exact_p(9, 10, 4, 10):.4f}")
    0.0573
    """
    x, drawn, marked, total = (round(value) for value in (hits, n, hits + other_hits, n + other_n))
    if not drawn or drawn == total:
        return math.nan
    mean = drawn * marked / total
    if x < mean:
        # The lower tail of the hits is the upper tail of the misses.
        x, marked, mean = drawn - x, total - marked, drawn - mean

    def ways(a: int, b: int) -> float:
        return math.lgamma(a + 1) - math.lgamma(b + 1) - math.lgamma(a - b + 1)

    first = math.exp(ways(marked, x) + ways(total - marked, drawn - x) - ways(total, drawn))
    spread = math.sqrt(mean * (1 - marked / total) * (total - drawn) / max(total - 1, 1))
    # Terms beyond ten standard deviations past the first are less than its rounding.
    terms = min(min(marked, drawn) - x, int(10 * spread) + LOST_IN_SUMS)
    at = x + np.arange(terms, dtype=np.float64)
    ratios = (marked - at) * (drawn - at) / ((at + 1) * (total - marked - drawn + at + 1))
    return min(1.0, 2 * first * (1 + float(np.cumprod(ratios).sum())))


def share_of(confusion: Confusion, quantity: Quantity) -> tuple[float, float] | None:
    """How many of how many cases, where the quantity is a plain share of cases that count alike; otherwise None."""
    if confusion.weighted or confusion.clusters is not None:
        return None
    trials = Estimator(confusion).subject(quantity).trials
    if trials is None or quantity.bound.measure.of_commonest:
        return None
    index = 0 if quantity.class_ is None else confusion.index(quantity.class_)
    top, bottom = (float(np.asarray(part).reshape(-1)[index]) for part in trials)
    # Parts of cases that were predicted several times are no whole ones.
    whole = confusion.counts.dtype.kind == "i"
    return (top, bottom) if whole else None


def shares_of(counted: SliceCounts, quantity: Quantity) -> tuple[Floats, Floats] | None:
    """How many of how many cases in every slice at once, as `share_of` finds for one; otherwise None."""
    measure, cases = quantity.bound.measure, counted.cases
    plain = counted.weights is None and counted.groups is None and measure.kind == "proportion"
    if not plain or quantity.average is not None or measure.of_commonest:
        return None

    def summed(rows: NDArray[np.bool_]) -> Floats:
        totals = np.bincount(cases.fold[rows], weights=cases.counts[rows], minlength=len(cases))
        return np.asarray(totals, dtype=np.float64)

    if quantity.class_ is None:
        if not set(measure.cells) <= {"n", "correct"}:
            return None
        top, bottom = quantity.bound.pair({"n": cases.sizes, "correct": summed(cases.truth == cases.predicted)})
    else:
        index = cases.labels.index(quantity.class_)
        of_class, called = cases.truth == index, cases.predicted == index
        corners = (of_class & called, of_class & ~called, ~of_class & called, ~of_class & ~called)
        top, bottom = quantity.bound.pair(class_cells(*map(summed, corners)))
    return np.asarray(top, dtype=np.float64), np.asarray(bottom, dtype=np.float64)


def quick_test(inside: Side, outside: Side, quantity: Quantity) -> tuple[float, float]:
    """The difference and its p-value alone, for a search through many slices."""
    if isinstance(inside, Confusion) or isinstance(outside, Confusion):
        return _quick_counts(inside, outside, quantity)
    (hits, n), (other_hits, other_n) = inside, outside
    if not n or not other_n:
        return math.nan, math.nan
    return hits / n - other_hits / other_n, exact_p(hits, n, other_hits, other_n)


def _quick_counts(inside: Side, outside: Side, quantity: Quantity) -> tuple[float, float]:
    if not isinstance(inside, Confusion) or not isinstance(outside, Confusion):
        raise TypeError("a share and a table cannot be compared")
    one, two = share_of(inside, quantity), share_of(outside, quantity)
    if one is not None and two is not None:
        return quick_test(one, two, quantity)
    if inside.clusters is not None:
        test = clustered(inside, outside, quantity, 0.95)
    else:
        test = compare_unpaired(inside, outside, quantity, method=_quick_method(inside, quantity))
    return test.difference, test.p


def _quick_method(confusion: Confusion, quantity: Quantity) -> str:
    """Shares of weighted cases by their effective numbers; everything else by the delta method, without draws."""
    return NEWCOMBE.name if Estimator(confusion).subject(quantity).trials is not None else NORMAL.name


def against_rest(
    inside: Confusion, outside: Confusion, quantity: Quantity, level: float, seed: int, *, quick: bool = False
) -> PairTest:
    """The difference of a quantity between a slice and the rest, two samples that share no case.

    Where it is to be `quick`, or there are too few cases for a test, the interval is made of those of the two sides.

    >>> from heldout.measures.catalogue import find
    >>> found = against_rest(Confusion.of([[20, 10], [10, 20]]), Confusion.of([[90, 10], [10, 90]]),
    ...                      Quantity(find("error_rate")), 0.95, 0)
    >>> print(f"{found.difference:.3f} [{found.low:.3f}, {found.high:.3f}]")
    0.233 [0.116, 0.364]
    """
    if inside.clusters is not None:
        return clustered(inside, outside, quantity, level)
    method = _quick_method(inside, quantity) if quick else None
    if method == NORMAL.name:
        # The normal interval held the difference of F1 in half of the slices of five cases.
        one, two = (Estimator(side, level, seed=seed).ask(quantity) for side in (inside, outside))
        return compare_estimates(one, two, level, inside.n_cases + outside.n_cases)
    test = compare_unpaired(inside, outside, quantity, method=method, level=level, seed=seed)
    shares = share_of(inside, quantity), share_of(outside, quantity)
    if test.undefined or shares[0] is None or shares[1] is None:
        return test
    return replace(test, p=exact_p(*shares[0], *shares[1]), method=EXACT, statistic=math.nan)


def clustered(inside: Confusion, outside: Confusion, quantity: Quantity, level: float) -> PairTest:
    """The difference where rows come in groups, which may have rows on both sides.

    Its limits are those of the two sides, which have the leverage and the degrees of freedom of their own groups, and a
    width where all cases of a side are right; they are joined with the correlation that groups with rows on both sides
    make. The p-value is that of t, whose standard error is told by the limit nearer to zero. Its degrees of freedom are
    the fewer of both sides, and at most one less than the groups that have cases behind the quantity.
    """
    nan, cases = math.nan, inside.n_cases + outside.n_cases
    subjects = [Estimator(confusion).subject(quantity) for confusion in (inside, outside)]
    index = 0 if quantity.class_ is None else inside.index(quantity.class_)
    one, two = (Estimator(confusion, level).ask(quantity) for confusion in (inside, outside))
    difference = one.value - two.value
    if math.isnan(difference):
        return undefined_test(quantity.bound.undefined, level, CLUSTERED, cases)
    fewest = min(_at(groups_behind(subject), index) for subject in subjects)
    if fewest < 2:
        return PairTest(difference, nan, nan, level, CLUSTERED, nan, cases, note=ONE_SIDE)
    sides = ((estimate.value, estimate.low, estimate.high) for estimate in (one, two))
    _, low, high = mover_difference(*sides, correlation=_correlation(subjects, index))
    from scipy.special import stdtr, stdtrit

    df = min(fewest - 1.0, *(_at(cluster_spread(subject)[1], index) for subject in subjects))
    error = (difference - low if difference > 0 else high - difference) / float(stdtrit(df, (1 + level) / 2))
    if not error:
        note = NO_SPREAD if difference else ""
        return PairTest(difference, nan, nan, level, CLUSTERED, nan if difference else 1.0, cases, note=note)
    if quantity.bound.measure.bounded:
        reach = quantity.bound.measure.high - quantity.bound.measure.low
        low, high = max(low, -reach), min(high, reach)
    p = 2 * float(stdtr(df, -abs(difference) / error))
    return PairTest(
        difference, low, high, level, CLUSTERED, p, cases, statistic=difference / error, df=df,
        note=OVER_GROUPS, interval_method=MOVER,
    )  # fmt: skip


def _at(values: Any, place: int) -> float:
    """The value of one class, or the only one there is."""
    return float(np.asarray(values).reshape(-1)[place])


def _correlation(subjects: Sequence[Subject], place: int) -> float:
    """How the values on two sides go together: by the groups that have rows on both, 0 where there are none."""
    pulls = [_pulls(subject, place) for subject in subjects]
    keys, code = join_keys([own for own, _ in pulls])
    parts = np.split(code, [len(pulls[0][0])])
    one, two = (sums_by(part, pull, len(keys)) for part, (_, pull) in zip(parts, pulls, strict=True))
    squares = float(one @ one) * float(two @ two)
    return float(one @ two) / math.sqrt(squares) if squares > 0 else 0.0


def _pulls(subject: Subject, place: int) -> tuple[NDArray[Any], Floats]:
    """The groups of one side, and how far each pulls the value."""
    confusion = subject.confusion
    clusters = require(confusion.clusters, "there are no groups")
    slope = subject.gradient
    if subject.axis == "class":
        of_class = confusion.truth == place, confusion.predicted == place
        corner = np.where(of_class[0], np.where(of_class[1], 0, 1), np.where(of_class[1], 2, 3))
        slope = slope[place][corner]
    count = clusters.count.astype(np.float64)
    return clusters.keys, sums_by(clusters.group, count * slope[clusters.cell], clusters.number)


def effective_trials(confusion: Confusion, quantity: Quantity) -> float:
    """The number of cases behind a quantity, that of the denominator where it is a share."""
    subject = Estimator(confusion).subject(quantity)
    worth = kish_worth(confusion)
    if confusion.weighted:
        subject = subject.scaled(effective_scale(subject) if confusion.clusters is None else worth)
    if subject.trials is None:
        return float(confusion.n) * worth
    index = 0 if quantity.class_ is None else confusion.index(quantity.class_)
    return float(np.asarray(subject.trials[1]).reshape(-1)[index])


def compare_estimates(inside: Estimate, outside: Estimate, level: float, cases: int) -> PairTest:
    """The difference of two independent estimates from their intervals alone.

    The p-value is that of a normal distribution whose standard error is told by the limit nearer to zero: Altman &
    Bland (2011), BMJ 343, d2304.
    """
    nan = math.nan
    difference, low, high = mover_difference(
        *((estimate.value, estimate.low, estimate.high) for estimate in (inside, outside))
    )
    if math.isnan(difference):
        return undefined_test(inside.undefined or outside.undefined, level, MOVER, cases)
    error = (difference - low if difference > 0 else high - difference) / z_value(level)
    p = math.erfc(abs(difference) / error / math.sqrt(2)) if error > 0 else (nan if difference else 1.0)
    return PairTest(difference, low, high, level, MOVER, p, cases, interval_method=MOVER)


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A slice that the search looked at, with the largest of the p-values that must all be small."""

    columns: tuple[Divided, ...]
    place: int
    key: int
    cases: int
    p: float
    excess: float
    beyond: bool = True


def worst_of(
    basis: Basis, quantity: Quantity, columns: Sequence[Divided], whole: Estimate, *,
    depth: int, most: int,
) -> Slices:  # fmt: skip
    """The slices of one column, and of two, in which most goes wrong beyond what goes wrong elsewhere.

    Candidates have LEAST_CASES cases or more inside and outside. They are ranked by excess: how much worse than the
    rest, times how many cases. A slice of two columns must be worse than the rest and than what is left of each of its
    two parents; its p-value is the largest of those three (Berger 1982, Technometrics 24, 295-300), and it is listed
    only where that is at most 1 − level. All candidates count in the correction, whether listed or not.
    """
    direction = quantity.bound.measure.direction
    if quantity.is_score or direction not in ("higher", "lower"):
        what = "is a measure of scores" if quantity.is_score else "has no better and worse"
        raise OptionError(
            f"{quantity.bound.name} {what}, so there is no search for the slices where it is worst.",
            hint="use a measure of counts such as error_rate, recall or 'macro f1'; slices() takes any.",
        )
    depth, most = check_whole("depth", depth, 1), check_whole("most", most, 1)
    if depth > 2:
        raise OptionError(f"Slices are searched to depth 2. Got {depth}.", hint="leave depth out.")
    single = [found for column in columns for found in _singles(basis, quantity, column)]
    # Without tests there is no telling whether a slice of two columns is worse beyond its parents.
    known = basis.paired(columns) if depth == 2 else []
    paired = [] if basis.untested else known
    uncounted = [NOT_COUNTED] if depth == 2 and len(columns) > 1 and not known else []
    depth = 1 if uncounted else depth
    pairs = [found for both in paired for found in _pairs(basis, quantity, both)]
    candidates = [*single, *pairs]
    p_values = [math.nan if basis.untested else found.p for found in candidates]
    corrected = adjust_p_values(p_values, CORRECTION).tolist() if candidates else []
    order = sorted(
        (at for at, found in enumerate(candidates) if found.excess > 0 and found.beyond),
        key=lambda at: (-candidates[at].excess, at),
    )
    slices = tuple(_listed(basis, quantity, candidates[at], p_values[at], corrected[at]) for at in order[:most])
    level = basis.estimator.level
    worse = sum(corrected[at] <= 1 - level for at in order)
    alone = basis.undivided(columns)
    notes = _search_notes(basis, len(single), len(pairs), len(order), most)
    return Slices(
        whole, slices, len(candidates), level, worse, worst=True, depth=depth, least=LEAST_CASES,
        notes=(*notes, *uncounted, *notes_of_columns(alone)),
        untested=basis.untested, single=alone,
    )  # fmt: skip


def _search_notes(basis: Basis, single: int, pairs: int, worse: int, most: int) -> tuple[str, ...]:
    notes = [f"searched {number_of(single, 'slice')} of one column" + (f" and {pairs:,} of two" if pairs else "")]
    notes[0] += f" with at least {LEAST_CASES} cases; ranked by how much worse than the rest, times the number of cases"
    # The worst of many look worse than they are (selection bias): Efron (2011), JASA 106, 1602-1614.
    notes[0] += "; intervals are not adjusted for this choice, so the worst look worse than they are"
    if pairs:
        notes.append(
            "a slice of two columns is listed only where it is worse than the rest and than what is left of each of "
            "the two it lies in, each test at the level; its p is the largest of the three"
        )
    if worse > most:
        notes.append(f"{worse - most:,} more are worse than the rest, most of them by chance")
    return (*notes, *notes_of_tests(basis, single + pairs))


class _Sides:
    """The slices of some columns as a test sees them: shares of all at once where it can be, otherwise counts."""

    def __init__(self, counted: SliceCounts, quantity: Quantity) -> None:
        self.counted = counted
        self.quantity = quantity
        self.shares = shares_of(counted, quantity)
        self.total = int(counted.sizes.sum())

    def inside(self, place: int) -> Side:
        if self.shares is None:
            return self.counted[place]
        return float(self.shares[0][place]), float(self.shares[1][place])

    def outside(self, place: int) -> Side:
        if self.shares is None:
            return self.counted.rest(place)
        hits, n = self.shares
        return float(hits.sum() - hits[place]), float(n.sum() - n[place])

    def beside(self, place: int, child: Side) -> Side:
        """What is left of a slice without one that lies in it."""
        own = self.inside(place)
        if isinstance(own, Confusion) or isinstance(child, Confusion):
            return left_of(self.counted[place], child) if isinstance(child, Confusion) else own
        return own[0] - child[0], own[1] - child[1]

    def cases(self, place: int) -> float:
        """The number of cases behind the quantity."""
        return effective_trials(self.counted[place], self.quantity) if self.shares is None else self.shares[1][place]


def _singles(basis: Basis, quantity: Quantity, column: Divided) -> Iterator[_Candidate]:
    sides = _Sides(basis.counts([column]), quantity)
    for place, size in enumerate(sides.counted.sizes.tolist()):
        if min(size, sides.total - size) >= LEAST_CASES:
            difference, p = quick_test(sides.inside(place), sides.outside(place), quantity)
            excess = excess_of(difference, sides.cases(place), quantity.bound.measure.direction)
            yield _Candidate((column,), place, int(sides.counted.keys[place]), size, p, excess)


def _pairs(basis: Basis, quantity: Quantity, columns: tuple[Divided, Divided]) -> Iterator[_Candidate]:
    sides = _Sides(basis.counts(columns), quantity)
    parents = [_Sides(basis.counts([column]), quantity) for column in columns]
    direction, level, counted = quantity.bound.measure.direction, basis.estimator.level, sides.counted
    for place, (key, size) in enumerate(zip(counted.keys.tolist(), counted.sizes.tolist(), strict=True)):
        codes = divmod(key, len(columns[1].labels))
        above = [int(np.searchsorted(one.counted.keys, code)) for one, code in zip(parents, codes, strict=True)]
        sizes = [int(one.counted.sizes[at]) for one, at in zip(parents, above, strict=True)]
        # A slice that is nearly all of its parent is skipped: too few cases are left to compare it with.
        if min(size, sides.total - size, *(parent - size for parent in sizes)) < LEAST_CASES:
            continue
        inside = sides.inside(place)
        first, p = quick_test(inside, sides.outside(place), quantity)
        excess = excess_of(first, sides.cases(place), direction)
        beyond = excess > 0 and p <= 1 - level
        for parent, at in zip(parents, above, strict=True):
            # Where one of the three tests fails there is no claim, and the others need not be made.
            if beyond:
                difference, found = quick_test(inside, parent.beside(at, inside), quantity)
                worse = excess_of(difference, 1.0, direction) > 0
                p = max(p, found) if worse and not math.isnan(found) else 1.0
                beyond = p <= 1 - level
        yield _Candidate(columns, place, key, size, p if excess > 0 or math.isnan(p) else 1.0, excess, beyond)


def _listed(basis: Basis, quantity: Quantity, found: _Candidate, p: float, corrected: float) -> Slice:
    level = basis.estimator.level
    counted = basis.counts(found.columns)
    inside, outside = counted[found.place], counted.rest(found.place)
    tested = against_rest(inside, outside, quantity, level, basis.estimator.seed, quick=True)
    if basis.untested:
        tested = replace(tested, low=math.nan, high=math.nan, method=NO_INTERVAL)
    codes = divmod(found.key, len(found.columns[-1].labels)) if len(found.columns) == 2 else (found.key,)
    values = tuple(column.labels[code] for column, code in zip(found.columns, codes, strict=True))
    return Slice(
        tuple(column.name for column in found.columns), values, found.cases, found.cases / basis.n,
        basis.estimate(inside, quantity), replace(tested, p=p), corrected,
        verdict(tested.difference, corrected, quantity.bound.measure.direction, level), found.excess,
    )  # fmt: skip


# A measure in every slice of some columns, of counts or of scores.


SHARED_GROUPS = "groups have rows inside and outside a slice, so the two are not independent: there is no test"
TOO_FEW = f"fewer than {LEAST_CASES} cases, for which there is no exact test"
ALL_INSIDE = "all cases are in this slice"

Found = tuple[Divided, str, int, Estimate, PairTest]


def slices_of(basis: Basis, quantity: Quantity, columns: Sequence[Divided], whole: Estimate) -> Slices:
    """A quantity in every slice of some columns, each against all other cases, corrected for their number."""
    tested_slices = list(_scored(basis, quantity, columns) if quantity.is_score else _counted(basis, quantity, columns))
    p_values = [found_tested.p for *_, found_tested in tested_slices]
    corrected = adjust_p_values(p_values, CORRECTION).tolist() if tested_slices else []
    level, direction = basis.estimator.level, quantity.bound.measure.direction
    total = basis.n
    slices = tuple(
        Slice(
            (column.name,), (label,), cases, cases / total, estimate, tested, p,
            verdict(tested.difference, p, direction, level), excess_of(tested.difference, estimate.n, direction),
        )
        for (column, label, cases, estimate, tested), p in zip(tested_slices, corrected, strict=True)
    )  # fmt: skip
    tested_number = sum(not math.isnan(p) for p in p_values)
    notes = [
        *notes_of_tests(basis, tested_number),
        describe_left_out(p_values) if 0 < tested_number < len(p_values) else "",
    ]
    alone = basis.undivided(columns)
    notes += notes_of_columns(alone)
    worse = sum(slice_.worse for slice_ in slices)
    return Slices(
        whole, slices, tested_number or len(slices), level, worse, notes=tuple(filter(None, notes)),
        untested=basis.untested, single=alone,
    )  # fmt: skip


def _counted(basis: Basis, quantity: Quantity, columns: Sequence[Divided]) -> Iterator[Found]:
    level, seed = basis.estimator.level, basis.estimator.seed
    for column in columns:
        counted = basis.counts([column])
        for place, (key, size) in enumerate(zip(counted.keys.tolist(), counted.sizes.tolist(), strict=True)):
            inside, outside = counted[place], counted.rest(place)
            estimate = basis.estimate(inside, quantity)
            yield column, column.labels[key], size, estimate, _tested(basis, inside, outside, quantity, level, seed)


def _tested(
    basis: Basis, inside: Confusion, outside: Confusion, quantity: Quantity, level: float, seed: int
) -> PairTest:
    if not outside.n_cases:
        return undefined_test(ALL_INSIDE, level, NO_INTERVAL, inside.n_cases)
    small = inside.clusters is None and _is_small(inside, outside, quantity)
    test = against_rest(inside, outside, quantity, level, seed, quick=bool(small or basis.untested))
    if basis.untested:
        return replace(test, low=math.nan, high=math.nan, p=math.nan, method=NO_INTERVAL)
    return replace(test, p=math.nan, note=TOO_FEW) if small else test


def _is_small(inside: Confusion, outside: Confusion, quantity: Quantity) -> bool:
    """Whether there are too few cases for a test that is not exact."""
    return share_of(inside, quantity) is None and min(inside.n_cases, outside.n_cases) < LEAST_CASES


def _scored(basis: Basis, quantity: Quantity, columns: Sequence[Divided]) -> Iterator[Found]:
    """A measure of scores in every slice, from the scores of the cases inside and of those outside."""
    rows, scores = _check_scored(basis, quantity)
    level = basis.estimator.level
    for asked in columns:
        column = rows.column(asked.name)
        sizes = np.bincount(column.codes, minlength=len(column.labels))
        for code in np.flatnonzero(sizes).tolist():
            inside = column.codes == code
            parts = [rows.predictions.part(np.flatnonzero(side)) for side in (inside, ~inside)]
            one, size = _score_estimate(scores, parts[0], quantity), int(sizes[code])
            if not parts[1].n:
                yield column, column.labels[code], size, one, undefined_test(ALL_INSIDE, level, NO_INTERVAL, size)
                continue
            tested = compare_estimates(one, _score_estimate(scores, parts[1], quantity), level, rows.n)
            why = basis.untested or (SHARED_GROUPS if _groups_shared(parts) else "")
            if why:
                tested = replace(tested, low=math.nan, high=math.nan, p=math.nan, method=NO_INTERVAL, note=why)
            elif min(part.n for part in parts) < LEAST_CASES:
                tested = replace(tested, p=math.nan, note=TOO_FEW)
            yield column, column.labels[code], size, one, tested


def _check_scored(basis: Basis, quantity: Quantity) -> tuple[RowBasis, ScoreEstimator]:
    """The rows and what estimates from their scores; refused where there are none."""
    scores = quantity.check_scored(basis.scores)
    if not isinstance(basis, RowBasis):
        raise OptionError(
            f"{quantity.bound.name} is a measure of scores, and of scores in single slices nothing was kept.",
            hint="evaluate the slice by itself: filter the data to its rows first.",
        )
    return basis, scores


def _score_estimate(scores: ScoreEstimator, part: Predictions, quantity: Quantity) -> Estimate:
    return replace(scores, evidence=RowScores(part, scores.evidence.labels, scores.evidence.bins)).ask(quantity)


def _groups_shared(parts: Sequence[Predictions]) -> bool:
    groups = [part.group for part in parts]
    if groups[0] is None or groups[1] is None:
        return False
    return bool(np.intersect1d(groups[0].codes, groups[1].codes).size)


class SliceSearch:
    """The slices of an evaluation, made from its rows or from what was counted of them."""

    def __init__(self, evaluation: Evaluation) -> None:
        self.basis: Basis
        if evaluation.counted is not None:
            self.basis = CountedBasis(evaluation.estimator, evaluation.scores, evaluation.counted)
        elif evaluation.predictions is not None:
            self.basis = RowBasis(evaluation.estimator, evaluation.scores, evaluation.predictions)
        else:
            raise TypeError("there are no cases to slice")

    def of_columns(self, quantity: Quantity, columns: Sequence[Divided], whole: Estimate) -> Slices:
        """A quantity in every slice of some columns."""
        return slices_of(self.basis, quantity, columns, whole)

    def single(
        self, quantity: Quantity, columns: Sequence[Divided], codes: Sequence[int], level: float, *, one_sided: bool
    ) -> Estimate:
        """A quantity among the cases where each column has the slice of a code."""
        changes: dict[str, Any] = {"level": level, "one_sided": one_sided}
        quantity.check_divisible("in slices")
        if quantity.is_score:
            rows, scores = _check_scored(self.basis, quantity)
            divided = [rows.column(column.name) for column in columns]
            inside = np.logical_and.reduce([one.codes == code for one, code in zip(divided, codes, strict=True)])
            return _score_estimate(replace(scores, **changes), rows.predictions.part(np.flatnonzero(inside)), quantity)
        code_of = dict(zip((column.name for column in columns), codes, strict=True))
        paired = (
            self.basis.paired(columns) or self.basis.paired(columns[::-1]) if len(columns) > 1 else [tuple(columns)]
        )
        if not paired:
            raise OptionError("Combinations of these two columns were not counted.", hint="name one column only.")
        counted, key = self.basis.counts(paired[0]), 0
        for column in paired[0]:
            key = key * len(column.labels) + code_of[column.name]
        index = int(np.searchsorted(counted.keys, key))
        if index == len(counted.keys) or counted.keys[index] != key:
            raise OptionError("No case is in that slice.", hint="name a combination of values that occurs.")
        basis = replace(self.basis, estimator=replace(self.basis.estimator, **changes))
        return basis.estimate(counted[index], quantity)

    def worst(
        self, quantity: Quantity, columns: Sequence[Divided], whole: Estimate, *, depth: int, most: int
    ) -> Slices:
        """The slices in which most goes wrong beyond what goes wrong elsewhere."""
        return worst_of(self.basis, quantity, columns, whole, depth=depth, most=most)
