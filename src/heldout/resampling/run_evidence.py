"""From a run to evidence: predictions, counts with every case once, the .632 rules, and how far the splits depend."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from heldout.arrays import Codes
from heldout.evidence import Clusters, Confusion, Label
from heldout.evidence.probabilities import Unfit
from heldout.intervals.dependence import Dependence, find_sharing, size_ratio
from heldout.learners.problem import Problem
from heldout.plans.plan import Correction, LazyDraws, Plan
from heldout.predictions.case_values import RawScores, Scores, settle_scores
from heldout.predictions.label_encoding import Coded
from heldout.predictions.table import Predictions
from heldout.resampling.outcome import Run

# Squares of classes with at most this many cells are counted in place.
DIRECT_CELLS = 1 << 20
TRAINING_CASES = "the cases are those it was trained on, so no interval says anything of new ones"


def collect_predictions(run: Run, problem: Problem, positive: Label | None) -> Predictions:
    """The predictions of all splits, one row each, with the fold and the case that each belongs to."""
    labels = problem.labels
    group = None
    if problem.group is not None:
        group = Coded(problem.group[run.rows], 0, tuple(problem.group_names))
    return Predictions(
        truth=Coded(problem.truth[run.rows], 0, labels, declared=True),
        predicted=Coded(run.predicted, 0, labels, declared=True),
        labels=labels,
        truth_place=np.arange(len(labels)),
        predicted_place=np.arange(len(labels)),
        group=group,
        keep_labels=True,
        scores=_settle_run_scores(run, labels, positive),
        positive=positive,
        fold=Coded(run.fold, 0, tuple(range(1, len(run.splits) + 1))),
        id=Coded(run.rows, 0, tuple(range(1, problem.n + 1))),
        rows=run.rows,
    )


def _settle_run_scores(run: Run, labels: tuple[Label, ...], positive: Label | None) -> Scores | None:
    values = run.scores
    if values is None:
        return None
    if values.ndim == 1:
        # One column speaks for the second class; the first is its opposite.
        opposite = positive is not None and labels.index(positive) == 0
        values = -values if opposite else values if positive is not None else np.stack([-values, values], axis=1)
    settled = settle_scores(RawScores(values), labels, positive)
    if run.score_kind == "decision" and settled.is_probability:
        return Scores(settled.values, Unfit(decision=True))
    return settled


def count_pairs(
    truth: Codes,
    predicted: Codes,
    labels: tuple[Label, ...],
    weight: NDArray[np.float64] | None,
    group: Coded | None = None,
) -> Confusion:
    """The counts of pairs of classes; a weight makes several predictions of one case count as one."""
    k = len(labels)
    flat = truth * k + predicted
    if group is None and k * k <= DIRECT_CELLS:
        cases = np.bincount(flat, minlength=k * k)
        cells = np.flatnonzero(cases)
        if weight is None:
            return Confusion(labels, cells // k, cells % k, cases[cells])
        sums = np.bincount(flat, weights=weight, minlength=k * k)
        return Confusion(labels, cells // k, cells % k, sums[cells])
    cells, where = np.unique(flat, return_inverse=True)
    cases = np.bincount(where)
    counts = cases if weight is None else np.bincount(where, weights=weight)
    clusters = None if group is None else _count_clusters(group, where, len(cells), weight)
    return Confusion(labels, cells // k, cells % k, counts, clusters=clusters)


def _count_clusters(group: Coded, cell: Codes, cells: int, weight: NDArray[np.float64] | None) -> Clusters:
    """How much of each cell every group holds, weighed as the counts are."""
    codes = group.codes.astype(np.int64) - group.offset
    pairs, pair_of = np.unique(codes * cells + cell, return_inverse=True)
    present, dense = np.unique(pairs // cells, return_inverse=True)
    keys = np.array([group.labels[code] for code in present.tolist()])
    return Clusters(keys, dense, pairs % cells, np.bincount(pair_of, weights=weight))


def count_every_case_once(run: Run, problem: Problem) -> Confusion:
    """Counts in which the predictions of one case together weigh as much as one."""
    times = np.bincount(run.rows, minlength=problem.n)
    weight = None if times.max(initial=0) == 1 else 1 / times[run.rows]
    group = None if problem.group is None else Coded(problem.group[run.rows], 0, tuple(problem.group_names))
    return count_pairs(problem.truth[run.rows], run.predicted, problem.labels, weight, group)


def count_training(run: Run, problem: Problem) -> Confusion | None:
    """The counts of training rows, as the models of the splits that trained on them see them."""
    if not len(run.training_rows):
        return None
    return count_pairs(problem.truth[run.training_rows], run.training_predicted, problem.labels, None)


def find_dependence(plan: Plan, run: Run, refused: str = "") -> Dependence:
    """What intervals must know: distinct cases, the plan's factor, and how much the splits share."""
    splits = run.splits
    shared = find_sharing(run.rows, run.fold)
    if plan.judging.kind == "resubstitution":
        return Dependence(shared.n, target=plan.target, refused=TRAINING_CASES)
    done = run.finished
    # What a bootstrap trains on is counted in distinct cases: those that it does not test.
    trained = splits.n - splits.sizes if isinstance(splits.train_rows, LazyDraws) else splits.train_sizes
    ratio = size_ratio(splits.sizes[done], trained[done])
    repeats = int(splits.repeat.max(initial=0)) + 1
    # Of repetitions that were made as such the plan knows, even where some of their splits failed.
    independent = shared.independent if repeats == len(splits) else max(1, len(splits) // repeats)
    return Dependence(shared.n, plan.factor_of(splits), ratio, independent, plan.target, refused)


# Below this share of the out-of-bag error the training error says nothing, and the interval does not hold: of
# 1-nearest-neighbour with 1,000 cases it held the truth 4 % of the time.
APPARENT = 0.1


@dataclass(frozen=True)
class Optimism:
    """What the rule found: the errors it mixes, the no-information rate, the relative overfitting and the weight.

    >>> train, out = Confusion.of([[50, 0], [0, 50]]), Confusion.of([[25, 25], [25, 25]])
    >>> found = mix_632(train, out, ".632+")
    >>> found.no_information, found.overfitting, found.weight, found.error
    (0.5, 1.0, 1.0, 0.5)
    """

    rule: Correction
    training: float
    out_of_bag: float
    no_information: float
    overfitting: float
    weight: float
    table: Confusion

    @property
    def error(self) -> float:
        """The corrected error."""
        return _error_rate(self.table)

    @property
    def refused(self) -> str:
        """Why there is no interval, where there is none."""
        if self.training >= APPARENT * self.out_of_bag or self.out_of_bag == 0:
            return ""
        return (
            f"the training error ({self.training:.3f}) is next to nothing beside the out-of-bag error "
            f"({self.out_of_bag:.3f}): the learner remembers its cases, and no interval of this rule holds then; "
            "use 10-fold"
        )


def mix_632(training: Confusion, out_of_bag: Confusion, rule: Correction) -> Optimism:
    """Mix the counts of the training set with those out of bag, by the .632 or .632+ rule; both over the same labels.

    The rules are usually written for the error rate alone, and the no-information rate as a sum over all n² pairs of a
    case and a prediction. Both are functions of counts: the rate needs the class shares of truth and prediction only,
    and mixing the tables of counts instead of two error rates gives the same error and every other count measure.
    """
    n = float(training.n)
    train = np.asarray(training.matrix, dtype=np.float64)
    out = np.asarray(out_of_bag.matrix, dtype=np.float64)
    out *= n / out.sum()
    apparent, tested = _error_rate(training), _error_rate(out_of_bag)
    truth, predicted = train.sum(axis=1) / n, train.sum(axis=0) / n
    nothing = float(truth @ (1 - predicted))
    overfitting, weight = 0.0, 0.632
    mixed = (1 - weight) * train + weight * out
    if rule == ".632+":
        # Efron & Tibshirani (1997), (28) to (32): an error beyond that of knowing nothing counts as knowing nothing.
        limited = min(tested, nothing)
        if limited > apparent and nothing > apparent:
            overfitting = (limited - apparent) / (nothing - apparent)
        weight = 0.632 / (1 - 0.368 * overfitting)
        mixed = (1 - weight) * train + weight * out
        if tested > nothing > apparent:
            # Their last term then holds the no-information rate in place of the training error.
            mixed = 0.368 * n * np.outer(truth, predicted) + 0.632 * out
    table = Confusion.of(mixed, training.labels)
    weighted = Confusion(table.labels, table.truth, table.predicted, table.counts.astype(np.float64))
    return Optimism(rule, apparent, tested, nothing, overfitting, weight, weighted)


def _error_rate(confusion: Confusion) -> float:
    return 1 - float(confusion.hits.sum()) / float(confusion.n)
