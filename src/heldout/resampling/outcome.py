"""The outcome of a run, a learner fitted once for every split of a plan: predictions, counts, and their dependence."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from heldout.arrays import Codes
from heldout.evidence import Clusters, Confusion, Label
from heldout.evidence.probabilities import Unfit
from heldout.intervals.dependence import Dependence, find_sharing, size_ratio
from heldout.learners.problem import Problem
from heldout.plans.plan import Plan
from heldout.plans.splits import LazyDraws, Splits
from heldout.predictions.case_values import RawScores, Scores, settle_scores
from heldout.predictions.label_encoding import Coded
from heldout.predictions.table import Predictions


def summarise_warnings(messages: Iterable[tuple[str, ...]], total: int, noun: str = "folds") -> tuple[str, ...]:
    """One sentence for each kind of warning: how many of the splits gave it, and the first text.

    Texts that differ only in their numbers are of one kind.

    >>> summarise_warnings([("UserWarning: 3 left",), ("UserWarning: 4 left",), ()], 10)
    ('UserWarning in 2 of 10 folds: 3 left',)
    """
    first: dict[str, tuple[str, ...]] = {}
    counts: Counter[str] = Counter()
    for texts in messages:
        kinds = [re.sub(r"\d[\d.e+-]*", "0", text) for text in texts]
        counts.update(set(kinds))
        for kind, text in zip(kinds, texts, strict=True):
            first.setdefault(kind, text.partition(": "))
    return tuple(
        f"{category} in {counts[kind]} of {total} {noun}: {words}" for kind, (category, _, words) in first.items()
    )


ScoreKind = Literal["probability", "decision"]


@dataclass(frozen=True, eq=False)
class Outcome:
    """What one split gave: the predicted class of every test row, its scores, and how training rows fared.

    `predicted` holds places among the problem's labels, in the order of the split's test rows. `scores` has one column
    per label (0 where the model did not know the class), or is one column alone, for the second of two labels.
    `training_rows` are rows that the model was trained on, and `training_predicted` what it says of them.
    """

    split: int
    predicted: Codes
    scores: NDArray[np.float64] | None = None
    score_kind: ScoreKind | None = None
    training_rows: Codes = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    training_predicted: Codes = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    fit_seconds: float = 0.0
    predict_seconds: float = 0.0
    chosen: dict[str, Any] | None = None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Failure:
    """A split in which the learner failed, and what it said."""

    split: int
    where: str
    message: str


@dataclass(frozen=True, eq=False)
class Run:
    """Everything that was learned about one learner under one plan.

    Predictions of all finished splits stand one after the other: `rows` is the row behind each, `fold` the number of
    its split. The same holds for the predictions of training rows. `finished` lists the splits that gave predictions;
    `fit_seconds` and `predict_seconds` go with it. `chosen` holds what a tuned learner chose in each. `shortcut` says
    how the predictions were found where not by fitting every split, and is empty otherwise; there are no seconds then.
    Each of `warnings` says in how many of the splits a learner warned, and of what.
    """

    splits: Splits
    finished: Codes
    rows: Codes
    fold: Codes
    predicted: Codes
    scores: NDArray[np.float64] | None = None
    score_kind: ScoreKind | None = None
    training_rows: Codes = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    training_fold: Codes = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    training_predicted: Codes = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    fit_seconds: NDArray[np.float64] | None = None
    predict_seconds: NDArray[np.float64] | None = None
    chosen: tuple[dict[str, Any], ...] = ()
    failures: tuple[Failure, ...] = ()
    complete: bool = True
    shortcut: str = ""
    warnings: tuple[str, ...] = ()

    @classmethod
    def collect(
        cls, splits: Splits, outcomes: list[Outcome], *, failures: tuple[Failure, ...] = (), complete: bool = True
    ) -> Run:
        """From the outcomes of single splits, in whatever order they were finished; there is at least one."""
        done = sorted(outcomes, key=lambda o: o.split)
        finished = np.array([o.split for o in done], dtype=np.int64)
        scores = [o.scores for o in done if o.scores is not None]
        whole = (
            len(scores) == len(done) and len({(o.score_kind, s.ndim) for o, s in zip(done, scores, strict=True)}) == 1
        )
        return cls(
            splits,
            finished,
            np.concatenate([splits.test(o.split) for o in done]),
            np.repeat(finished, [len(o.predicted) for o in done]),
            np.concatenate([o.predicted for o in done]),
            np.concatenate(scores) if whole else None,
            done[0].score_kind if whole else None,
            np.concatenate([o.training_rows for o in done]),
            np.repeat(finished, [len(o.training_rows) for o in done]),
            np.concatenate([o.training_predicted for o in done]),
            np.array([o.fit_seconds for o in done]),
            np.array([o.predict_seconds for o in done]),
            tuple(o.chosen for o in done if o.chosen is not None),
            failures,
            complete,
            warnings=summarise_warnings((o.warnings for o in done), len(splits), split_noun(splits)),
        )


def split_noun(splits: Splits) -> str:
    """What a message calls several of them: "folds" or "splits"."""
    return "splits" if splits.label(0).startswith("split") else "folds"


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
        values = np.stack([-values, values], axis=1)
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
