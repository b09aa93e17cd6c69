"""Bias and variance: how much of a learner's error most training sets lead to, and how much comes from their luck.

A learner is trained on bootstrap samples and judged on the rows they left out, so each case collects predictions of
many models. Domingos (2000, ICML, 231-238) takes the prediction that most models make as the main one: bias is that it
is wrong, variance that a model differs from it. Kohavi & Wolpert (1996, ICML, 275-283) take squares of frequencies.
Both identities hold exactly, case by case; the noise of the labels counts as bias, since each case has one label.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from heldout.arguments import check_level, check_whole, listing, write_sentence
from heldout.arrays import Floats
from heldout.errors import LabelError, OptionError, ValuesError
from heldout.intervals.proportion import wilson_at
from heldout.intervals.quantiles import z_value
from heldout.learners.problem import Problem
from heldout.plans.plan import Splits
from heldout.resampling.run import run
from heldout.resampling.workers import Jobs, Progress
from heldout.result import Result, make_row
from heldout.show.blocks import Block, Column, Note, Number, Prose, Range, Table, Title, head_columns
from heldout.show.numbers import number_of, percent

Counts = NDArray[np.int64]

REPLICATES = 1000
METHOD = "bootstrap over cases"
# How often a draw that trains on one class only, or leaves nothing out, is repeated.
TRIES = 100
WORDS = {
    "error_rate": "mean error of a model",
    "bias": "the main prediction is wrong",
    "variance": "a model differs from the main prediction",
    "unbiased_variance": "… where the main prediction is right, which adds error",
    "helpful_variance": "… where it is wrong and the model is right, which takes error away",
    "bias_squared": "bias² of Kohavi & Wolpert",
    "squared_variance": "variance of Kohavi & Wolpert",
}


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """The parts of the error of every case: Domingos' for 0/1 loss, and Kohavi & Wolpert's.

    error = bias + unbiased variance − helpful variance = bias² + squared variance, exactly, for each case.
    """

    error_rate: Floats
    bias: Floats
    variance: Floats
    unbiased_variance: Floats
    helpful_variance: Floats
    bias_squared: Floats
    squared_variance: Floats


@dataclass(frozen=True, eq=False)
class BiasVariance(Result):
    """How the error of a learner divides into bias and variance.

    `counts` has one row per case and one column per class: how many models predicted it.

    >>> import heldout
    >>> features, truth = [[0.1], [0.2], [0.3], [0.7], [0.8], [0.9]], [0, 0, 0, 1, 1, 1]
    >>> split = heldout.bias_variance("knn:1", features, truth, rounds=10)
    >>> split.rows()[0]["measure"], len(split.counts)
    ('error_rate', 6)
    """

    schema: ClassVar[str] = "heldout/bias-variance@1"

    name: str
    counts: Counts = field(repr=False)
    truth: Counts = field(repr=False)
    parts: Parts = field(repr=False)
    limits: dict[str, tuple[float, float, str]] = field(repr=False)
    rounds: int
    level: float
    seed: int
    cases: Counts = field(repr=False)
    notes: tuple[str, ...] = ()
    finished: bool = True

    @property
    def n(self) -> int:
        """How many cases were judged."""
        return len(self.truth)

    def __getitem__(self, part: str) -> float:
        """One part of the error, by its name, as a mean over the cases."""
        if part not in WORDS:
            raise OptionError(f"There is no part {part!r} of the error.", hint=f"use one of: {listing(WORDS)}.")
        return float(getattr(self.parts, part).mean())

    @property
    def verdict(self) -> str:
        """What a student would want to hear."""
        luck = self["error_rate"] - self["bias"]
        always = f"On {percent(self['bias'], 1)} of the cases the model is wrong for most training sets"
        if luck < 0:
            return (
                f"{always}; the luck of the training set takes {percent(-luck, 1)} away, since it helps on hard cases."
            )
        return f"{always}; {percent(luck, 1)} more come from the luck of the training set."

    def rows(self) -> list[dict[str, object]]:
        """One row per part of the error."""
        rows: list[dict[str, object]] = []
        for part in WORDS:
            low, high, method = self.limits[part]
            row = make_row(part, self[part], low, high, level=self.level, method=method, n=self.n)
            rows.append(row | {"learner": self.name, "rounds": self.rounds})
        return rows

    def facts(self) -> dict[str, object]:
        """How many models were trained on how many cases, and the verdict."""
        return {
            "learner": self.name,
            "n": self.n,
            "rounds": self.rounds,
            "seed": self.seed,
            "level": self.level,
            "verdict": self.verdict,
            "notes": list(self.notes),
        }

    def blocks(self) -> list[Block]:
        """The verdict and the parts of the error."""
        times = self.counts.sum(axis=1)
        detail = (
            f"{self.n:,} cases; {self.rounds} models, each trained on a bootstrap sample; each case judged by "
            f"{times.min()} to {times.max()} of them; seed {self.seed}"
        )
        rows = tuple(
            (part.replace("_", " "), Number(self[part]), Range(*self.limits[part][:2]), words)
            for part, words in WORDS.items()
        )
        columns = head_columns("part", ">share", "", Column("what it is", wrap=True))
        how = (
            "Error = bias + unbiased variance − helpful variance (Domingos), and = bias² + variance (Kohavi & Wolpert)."
            f" Limits: {self.level:g}, {METHOD}."
        )
        blocks: list[Block] = [Title(f"Bias and variance of {self.name}", detail), Prose(self.verdict, "Verdict")]
        return [*blocks, Table(columns, rows), Prose(how), *(Note(note) for note in self.notes)]


def decompose(
    estimator: Any,
    problem: Problem,
    *,
    name: str = "",
    rounds: int = 100,
    seed: int = 0,
    level: float = 0.95,
    jobs: Jobs = None,
    progress: Progress = None,
) -> BiasVariance:
    """Train on bootstrap samples, and divide the error on other rows into bias and variance.

    Each model is judged on the rows that its sample left out. Where the rows come in groups, whole groups are drawn.

    >>> from sklearn.dummy import DummyClassifier
    >>> truth = np.array([0] * 30 + [1] * 10)
    >>> problem = Problem(np.zeros((40, 1)), truth, truth, (0, 1))
    >>> decompose(DummyClassifier(), problem, rounds=20)["bias"]
    0.25
    """
    check_level(level)
    splits = bootstrap_splits(problem, rounds=rounds, seed=seed)
    done = run(
        estimator, problem, splits, jobs=jobs, training=False, seed=seed, progress=progress,
        plan_text=f"bootstrap of {rounds} rounds",
    )  # fmt: skip
    k = len(problem.labels)
    table = np.bincount(done.rows * k + done.predicted, minlength=problem.n * k).reshape(problem.n, k)
    cases = np.flatnonzero(table.sum(axis=1))
    counts, truth = table[cases], problem.truth[cases]
    parts = divide_error(counts, truth)
    group = None if problem.group is None else problem.group[cases]
    notes = list(map(write_sentence, problem.notes))
    if len(cases) < problem.n:
        lost = number_of(problem.n - len(cases), "row")
        were = "was" if problem.n - len(cases) == 1 else "were"
        notes.append(f"{lost} {were} in every bootstrap sample and could not be judged.")
    if not done.complete:
        notes.append(f"Interrupted: {len(done.finished)} of {rounds} models were trained.")
    return BiasVariance(
        name or type(estimator).__name__, counts, truth, parts, _limits(parts, group, level, seed),
        len(done.finished), level, seed, cases, (*notes, *done.warnings), done.complete,
    )  # fmt: skip


def divide_error(counts: Counts, truth: Counts) -> Parts:
    """The parts of every case's error, from how many models predicted each class.

    Where two classes are predicted equally often the main prediction is the first of them. What the frequencies of
    finitely many models add to Kohavi & Wolpert's bias² is taken from it and given to the variance.

    >>> parts = divide_error(np.array([[3, 1], [1, 3]]), np.array([0, 0]))
    >>> parts.bias.tolist(), parts.unbiased_variance.tolist(), parts.helpful_variance.tolist()
    ([0.0, 1.0], [0.25, 0.0], [0.0, 0.25])
    """
    times = counts.sum(axis=1)
    each = np.arange(len(counts))
    main = counts.argmax(axis=1)
    right = counts[each, truth]
    wrong = main != truth
    differs = times - counts[each, main]
    share = counts / times[:, None]
    label = np.zeros_like(share)
    label[each, truth] = 1
    squared = ((label - share) ** 2).sum(axis=1) / 2
    spread = (1 - (share**2).sum(axis=1)) / 2
    # Their section 3: the expected excess of a squared frequency over the square of the expected one.
    excess = (share * (1 - share)).sum(axis=1) / 2 / np.maximum(times - 1, 1)
    return Parts(
        (times - right) / times,
        wrong.astype(np.float64),
        differs / times,
        np.where(wrong, 0, differs) / times,
        np.where(wrong, right, 0) / times,
        squared - excess,
        spread + excess,
    )


def bootstrap_splits(problem: Problem, *, rounds: int = 100, seed: int = 0) -> Splits:
    """Training rows drawn with replacement, by whole groups where there are any; the rows left out test.

    >>> truth = np.array([0, 1] * 10)
    >>> splits = bootstrap_splits(Problem(np.zeros((20, 1)), truth, truth, (0, 1)), rounds=3)
    >>> [len(train) for train, _ in splits], splits.shared_rows
    ([20, 20, 20], 0)
    """
    check_whole("rounds", rounds, 2)
    check_whole("seed", seed, 0)
    if len(np.unique(problem.truth)) < 2:
        raise LabelError("The rows to train on have one class only.", hint="check the target.")
    units = None if problem.group is None else _split_by_group(problem.group)
    drawn = [_draw_bootstrap(problem.truth, units, np.random.default_rng([seed, at])) for at in range(rounds)]
    return Splits.of(problem.n, [test for test, _ in drawn], [train for _, train in drawn])


def _split_by_group(group: Counts) -> list[Counts]:
    order = np.argsort(group, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(group[order])) + 1)


def _draw_bootstrap(truth: Counts, units: list[Counts] | None, rng: np.random.Generator) -> tuple[Counts, Counts]:
    for _ in range(TRIES):
        number = len(truth if units is None else units)
        taken = rng.integers(number, size=number)
        train = taken if units is None else np.concatenate([units[at] for at in taken])
        test = np.setdiff1d(np.arange(len(truth)), train)
        if len(test) and len(np.unique(truth[train])) > 1:
            return test, train
    raise ValuesError(
        "No bootstrap sample of these rows both holds two classes and leaves a row out.",
        hint="there are too few rows, or too few groups, to draw from.",
    )


def _limits(parts: Parts, group: Counts | None, level: float, seed: int) -> dict[str, tuple[float, float, str]]:
    """Limits of the mean of each part, from cases (or groups of cases) drawn with replacement."""
    table = np.column_stack([getattr(parts, part) for part in WORDS])
    size = np.ones(len(table))
    if group is not None:
        inside = np.unique(group, return_inverse=True)[1]
        table = np.column_stack([np.bincount(inside, weights=column) for column in table.T])
        size = np.bincount(inside).astype(np.float64)
    rng = np.random.default_rng(seed)
    means = np.empty((REPLICATES, len(WORDS)))
    for at in range(REPLICATES):
        times = np.bincount(rng.integers(len(size), size=len(size)), minlength=len(size))
        means[at] = times @ table / (times @ size)
    tail = (1 - level) / 2
    values = table.sum(axis=0) / size.sum()
    low, high = np.quantile(means, [tail, 1 - tail], axis=0)
    limits = {}
    for at, part in enumerate(WORDS):
        if high[at] - low[at] < 1e-12 and 0 <= values[at] <= 1:
            # No case differs from another, so nothing varies when they are redrawn; a share of 0 in n is not certain.
            ends = wilson_at(values[at], len(size), z_value(level))
            limits[part] = float(ends[0]), float(ends[1]), "wilson"
        else:
            limits[part] = float(min(low[at], values[at])), float(max(high[at], values[at])), METHOD
    return limits
