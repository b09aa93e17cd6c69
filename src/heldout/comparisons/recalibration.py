"""Recalibration before and after: what the losses would be if the probabilities were recalibrated.

Every calibrator is fitted on other folds than the one it is applied to, groups kept together, so that the losses after
it are of cases that it has not seen. The predictions themselves, and whatever is reported of them, stay as they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from heldout.arguments import listing
from heldout.arrays import Floats, Integers
from heldout.comparisons.pair_test import find_reach
from heldout.engines.probability_sums import tally
from heldout.engines.score_sort import rank
from heldout.errors import OptionError, ValuesError
from heldout.evidence.losses import LOSSES, CaseProbabilities
from heldout.evidence.probabilities import Moments, sums_by
from heldout.intervals.group_leverage import even_pulls, group_spread
from heldout.intervals.losses import equal_groups_moments, hall, mean_limits
from heldout.intervals.quantiles import t_value
from heldout.measures.catalogue import find
from heldout.measures.recalibration import logit, recalibrate
from heldout.result import Result, make_row
from heldout.show.blocks import Block, Cell, Column, Note, Number, Prose, Range, Table, Title, head_interval
from heldout.show.numbers import count

Calibrator = Callable[[Floats], Floats]
Fit = Callable[[Floats, NDArray[np.bool_], "Floats | None"], "Calibrator | None"]
# The losses that are compared case by case, the one that decides first, and the errors that have no cases.
PAIRED = ("brier", "log_loss")
ERRORS = ("expected_calibration_error", "integrated_calibration_index")
# Steps of Newton's method, and when it has arrived.
MOST_STEPS, ARRIVED = 60, 1e-10
UNCHANGED = "the reported measures are of the probabilities as they are; recalibration is only tried here"


def _expit(eta: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-np.clip(eta, -700, 700))))


def fit_logistic(p: Floats, truth: NDArray[np.bool_], weight: Floats | None) -> Calibrator | None:
    """Intercept and slope on the scale of the logit, as Platt (1999) has it; None where the classes are separated."""
    fit = recalibrate(rank(p, truth, weight=weight))
    if fit.reason:
        return None
    return lambda new: _expit(fit.intercept + fit.slope * logit(new))


def fit_temperature(p: Floats, truth: NDArray[np.bool_], weight: Floats | None) -> Calibrator | None:
    """One slope on the scale of the logit: Guo et al. (2017); None where no slope is best."""
    x, row_weight = logit(p), np.ones(len(p)) if weight is None else weight
    slope = 1.0
    for _ in range(MOST_STEPS):
        rate = _expit(slope * x)
        bottom = float((row_weight * rate * (1 - rate)) @ x**2)
        if bottom <= 0:
            return None
        step = float(np.clip((row_weight * (truth - rate)) @ x / bottom, -1.0, 1.0))
        slope += step
        if abs(step) < ARRIVED:
            return lambda new: _expit(slope * logit(new))
    return None


def fit_isotonic(p: Floats, truth: NDArray[np.bool_], weight: Floats | None) -> Calibrator | None:
    """The rising steps that fit best (Zadrozny & Elkan 2002), joined by lines, and kept off 0 and 1 by 1 / (n + 2)."""
    from scipy.optimize import isotonic_regression

    row_weight = np.ones(len(p)) if weight is None else weight
    levels, where = np.unique(p, return_inverse=True)
    total = sums_by(where, row_weight, len(levels))
    steps = isotonic_regression(sums_by(where, row_weight * truth, len(levels)) / total, weights=total).x
    edge = 1 / (float(row_weight.sum()) ** 2 / float((row_weight**2).sum()) + 2)
    return lambda new: np.asarray(np.interp(new, levels, np.clip(steps, edge, 1 - edge)))


CALIBRATORS: Mapping[str, Fit] = {
    "logistic": fit_logistic,
    "temperature": fit_temperature,
    "isotonic": fit_isotonic,
}


@dataclass(frozen=True, slots=True, eq=False)
class Change:
    """A measure before and after a calibrator; the difference has limits where it is a mean over cases."""

    calibrator: str
    measure: str
    before: float
    after: float
    low: float
    high: float

    @property
    def difference(self) -> float:
        """After minus before: below 0 is better."""
        return self.after - self.before


@dataclass(frozen=True, slots=True, eq=False)
class Recalibration(Result):
    """What each calibrator, fitted on other cases, would change.

    `recommended` is the one with the lowest Brier score among those that lower it beyond what chance allows, the level
    corrected for their number (Bonferroni); None where no calibrator does.

    >>> import heldout
    >>> truth, score = [0, 0, 1, 0, 1, 1] * 40, [0.01, 0.02, 0.05, 0.9, 0.98, 0.99] * 40
    >>> heldout.recalibrate(truth, score=score).recommended
    'isotonic'
    """

    schema: ClassVar[str] = "heldout/recalibration@1"

    changes: tuple[Change, ...]
    recommended: str | None
    level: float
    n: int
    folds: int
    seed: int
    groups: int | None = None
    notes: tuple[str, ...] = ()

    @property
    def verdict(self) -> str:
        """The answer in one sentence."""
        if self.recommended is None:
            tried = len({change.calibrator for change in self.changes})
            corrected = f", at a level corrected for the {tried} that were tried" if tried > 1 else ""
            return f"No calibrator is shown to lower the Brier score on these {count(self.n)} cases{corrected}."
        return f"Recalibrate ({self.recommended}): it lowers the Brier score on cases it was not fitted to."

    def change(self, calibrator: str, measure: str) -> Change:
        """What a calibrator changes in a measure."""
        name = find(measure).name
        for change in self.changes:
            if (change.calibrator, change.measure) == (calibrator, name):
                return change
        known = dict.fromkeys(f"{change.calibrator} by {change.measure}" for change in self.changes)
        raise OptionError(
            f"{calibrator!r} by {name} was not tried. There are: {listing(known, most=12)}.", hint="use one of these."
        )

    def rows(self) -> list[dict[str, object]]:
        """One row for each calibrator and measure; the value is the difference."""
        return [
            {
                **make_row(
                    change.measure,
                    change.difference,
                    change.low,
                    change.high,
                    level=self.level,
                    method="hall",
                    n=self.n,
                ),
                "calibrator": change.calibrator,
                "before": change.before,
                "after": change.after,
            }
            for change in self.changes
        ]

    def facts(self) -> dict[str, object]:
        """What is recommended, and how the calibrators were fitted."""
        own = {"recommended": self.recommended, "verdict": self.verdict, "n": self.n, "folds": self.folds}
        return {**own, "seed": self.seed, "groups": self.groups, "notes": [UNCHANGED, *self.notes]}

    def blocks(self) -> list[Block]:
        """The answer, and a line for each calibrator and measure."""
        rows: list[tuple[Cell, ...]] = [
            (change.calibrator, find(change.measure).measure.title, Number(change.before), Number(change.after),
             Number(change.difference), Range(change.low, change.high, "share"))
            for change in self.changes
        ]  # fmt: skip
        heads = ("calibrator", "measure", "before", "after", "difference", head_interval(self.level))
        columns = tuple(Column(head, "left" if at < 2 else "right") for at, head in enumerate(heads))
        whole = "" if self.groups is None else f", {count(self.groups)} groups kept whole"
        title = Title(
            "Recalibration", f"{count(self.n)} cases{whole}; fitted on {self.folds - 1} of {self.folds} folds"
        )
        remarks = (UNCHANGED, "calibration errors are above 0 by chance, so their differences have no interval")
        return [title, Prose(self.verdict, "Verdict"), Table(columns, tuple(rows)), *map(Note, (*remarks, *self.notes))]


def compare_calibrators(
    p: Floats,
    truth: NDArray[np.bool_],
    *,
    weight: Floats | None = None,
    group: Integers | None = None,
    calibrators: Sequence[str] = tuple(CALIBRATORS),
    folds: int = 10,
    level: float = 0.95,
    seed: int = 0,
) -> Recalibration:
    """Fit every calibrator on all folds but one, apply it to that one, and compare the losses case by case.

    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(2000)
    >>> compare_calibrators(p**2, rng.random(2000) < p).recommended
    'logistic'
    """
    _check_fittable(truth, group)
    fold = draw_folds(truth, group, folds, seed)
    changes: list[Change] = []
    notes: list[str] = []
    corrected = 1 - (1 - level) / max(len(calibrators), 1)
    better: dict[str, float] = {}
    for name in calibrators:
        after, failed = _cross_fit(CALIBRATORS[name], p, truth, weight, fold)
        if failed == fold.max() + 1:
            notes.append(f"{name} could not be fitted in any fold, so that nothing is known of it")
            changes += [Change(name, find(measure).name, *[math.nan] * 4) for measure in (*PAIRED, *ERRORS)]
            continue
        if failed:
            notes.append(f"{name} could not be fitted in {failed} of {fold.max() + 1} folds, which stay as they are")
        changes += _changes(name, p, after, truth, weight, group, level)
        difference = _losses(after, truth, "brier") - _losses(p, truth, "brier")
        if difference_limits(difference, weight, group, corrected)[1] < 0:
            better[name] = float(np.average(difference, weights=weight))
    number = None if group is None else len(np.unique(group))
    best = min(better, key=lambda name: better[name]) if better else None
    return Recalibration(tuple(changes), best, level, len(p), int(fold.max()) + 1, seed, number, tuple(notes))


def draw_folds(truth: NDArray[np.bool_], group: Integers | None, folds: int, seed: int) -> Integers:
    """A fold for every case: each class dealt out evenly, or whole groups.

    >>> draw_folds(np.array([True, False, True, False]), None, 2, seed=1).tolist().count(0)
    2
    """
    rng = np.random.default_rng(seed)
    if group is not None:
        keys, code = np.unique(group, return_inverse=True)
        order = rng.permutation(len(keys))
        return np.asarray(order[code] % min(folds, len(keys)))
    fold = np.empty(len(truth), dtype=np.int64)
    start = 0
    for of_class in (truth, ~truth):
        places = rng.permutation(np.flatnonzero(of_class))
        fold[places] = (start + np.arange(len(places))) % min(folds, len(truth))
        start += len(places)
    return fold


def _check_fittable(truth: NDArray[np.bool_], group: Integers | None) -> None:
    """Refuse cases to which nothing can be fitted that says anything of others."""
    if truth.all() or not truth.any():
        raise ValuesError(
            "All cases are of one class, and a calibrator needs cases of both.",
            hint="give cases of both classes, or name the positive class.",
        )
    if group is not None and len(np.unique(group)) < 2:
        raise ValuesError(
            "All rows are of one group, so that no calibrator can be fitted on other groups.",
            hint="give rows of several groups, or leave out the group.",
        )


def _cross_fit(
    fit: Fit, p: Floats, truth: NDArray[np.bool_], weight: Floats | None, fold: Integers
) -> tuple[Floats, int]:
    """The probabilities after calibrators of the other folds, and in how many folds there was none."""
    after, failed = p.copy(), 0
    for at in range(int(fold.max()) + 1):
        inside = fold == at
        used = None if weight is None else weight[~inside]
        calibrator = fit(p[~inside], truth[~inside], used) if (~inside).any() else None
        if calibrator is None:
            failed += 1
        else:
            after[inside] = calibrator(p[inside])
    return after, failed


def _losses(p: Floats, truth: NDArray[np.bool_], loss: str) -> Floats:
    return np.asarray(LOSSES[loss].formula(CaseProbabilities.of_positive(p, truth)))


def difference_limits(
    difference: Floats, weight: Floats | None, group: Integers | None, level: float
) -> tuple[float, float]:
    """Hall's limits for the mean of differences between paired losses; whole groups are the cases where there are any.

    >>> low, high = difference_limits(np.array([-0.2, -0.1, -0.3, 0.1]), None, None, 0.95)
    >>> print(f"{low:.2f} {high:.2f}")
    -0.28 0.06
    """
    moments = Moments.of(difference, weight)
    bounds = -math.inf, math.inf
    if float(moments.sums[1, 0]) * 2 > moments.weight**2:
        # One case has nearly all the weight.
        return bounds
    if group is None:
        return mean_limits(moments, len(difference), level, bounds=bounds)
    keys, code = np.unique(group, return_inverse=True)
    if len(keys) < 2:
        return bounds
    row_weight = np.ones(len(difference)) if weight is None else weight
    shares = sums_by(code, row_weight, len(keys)) / moments.weight
    sums = sums_by(code, row_weight * (difference - moments.mean), len(keys)) / moments.weight
    independent = float(moments.about(moments.mean)[1, 2]) / moments.weight**2
    kish = moments.weight**2 / float(moments.sums[1, 0])
    spread = group_spread(sums, shares, even_pulls(shares, kish), independent=independent)
    variance, third = spread.variance, float((sums**3).sum())
    if variance == 0:
        variance, third = equal_groups_moments(moments, spread.effective)
    return hall(moments.mean, variance, third, float(t_value(level, spread.df)))


def _changes(
    name: str,
    before: Floats,
    after: Floats,
    truth: NDArray[np.bool_],
    weight: Floats | None,
    group: Integers | None,
    level: float,
) -> list[Change]:
    changes = []
    for loss in PAIRED:
        first, second = (_losses(side, truth, loss) for side in (before, after))
        low, high = difference_limits(second - first, weight, group, level)
        reach = find_reach(find(loss).measure)
        low, high = max(low, -reach), min(high, reach)
        start, end = (float(np.average(values, weights=weight)) for values in (first, second))
        changes.append(Change(name, loss, start, end, low, high))
    for error in ERRORS:
        bound = find(error)
        evidence: Any = tally if bound.measure.scope == "probability" else rank
        start, end = (
            float(bound.value({bound.measure.cells[0]: evidence(side, truth, weight=weight)}))
            for side in (before, after)
        )
        changes.append(Change(name, bound.name, start, end, math.nan, math.nan))
    return changes
