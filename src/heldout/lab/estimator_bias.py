"""Estimators of the true error compared: the bias and the spread of holdout, cross-validation and the bootstrap."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from heldout.arguments import check_level, check_whole
from heldout.arrays import Floats
from heldout.errors import LabelError, OptionError
from heldout.lab.experiment import FRESH, TRIES, check_world, fitted, mean_limits, ready, resampled_limits, training_set
from heldout.lab.worlds import Gaussians, World
from heldout.learners.problem import Problem
from heldout.plans.parser import read_plan
from heldout.plans.plan import Cases, Plan
from heldout.plans.splits import Splits
from heldout.resampling.optimism import mix
from heldout.resampling.outcome import counted, every_case_once
from heldout.resampling.run import run
from heldout.result import ROW_KEYS, Result
from heldout.show.blocks import Block, Column, Note, Number, Prose, Range, Table, Title
from heldout.show.numbers import number

PLANS = ("resubstitution", "holdout", "10-fold", "leave-one-out", "bootstrap 25", ".632 25")
METHODS = {
    "bias": "monte-carlo",
    "standard_deviation": "bootstrap over repetitions",
    "root_mean_square_error": "bootstrap over repetitions",
}


@dataclass(frozen=True, eq=False)
class EstimatorBias(Result):
    """The estimates of each plan over many data sets, against the true error of the model trained on all cases."""

    schema: ClassVar[str] = "heldout/lab-estimators@1"

    world: str
    learner: str
    n: int
    plans: tuple[str, ...]
    estimates: Floats = field(repr=False)
    true: Floats = field(repr=False)
    exact: bool
    level: float
    seed: int
    notes: tuple[str, ...] = ()

    @property
    def repeats(self) -> int:
        """How many data sets were drawn."""
        return len(self.true)

    def figure(self, plan: str, measure: str) -> tuple[float, float, float]:
        """The "bias", "standard_deviation" or "root_mean_square_error" of a plan, with its limits."""
        if plan not in self.plans or measure not in FIGURES:
            raise OptionError(
                f"There is no {measure!r} of {plan!r} here.",
                hint=f"plans are {', '.join(self.plans)}; figures are {', '.join(FIGURES)}.",
            )
        estimates = self.estimates[self.plans.index(plan)]
        if measure == "bias":
            return mean_limits(estimates - self.true, self.level)
        values = estimates if measure == "standard_deviation" else estimates - self.true
        return resampled_limits(FIGURES[measure], values, self.level, self.seed)

    def rows(self) -> list[dict[str, object]]:
        """Three rows per plan: bias, standard deviation, and root mean square error."""
        return [
            {
                **dict(
                    zip(
                        ROW_KEYS,
                        (measure, None, None, *self.figure(plan, measure), self.level, METHODS[measure], self.n),
                        strict=True,
                    )
                ),
                "plan": plan, "learner": self.learner, "repeats": self.repeats,
            }
            for plan in self.plans
            for measure in FIGURES
        ]  # fmt: skip

    def facts(self) -> dict[str, object]:
        """What stands beside the rows in the document."""
        return {
            "world": self.world, "learner": self.learner, "n": self.n, "repeats": self.repeats, "seed": self.seed,
            "true_error": float(self.true.mean()), "true_error_exact": self.exact, "notes": list(self.notes),
        }  # fmt: skip

    def blocks(self) -> list[Block]:
        """One line per plan."""
        rows, nearest = [], {}
        for at, plan in enumerate(self.plans):
            bias, low, high = self.figure(plan, "bias")
            deviation = self.figure(plan, "standard_deviation")[0]
            nearest[plan] = self.figure(plan, "root_mean_square_error")[0]
            mean = float(self.estimates[at].mean())
            rows.append((plan, Number(mean), Number(bias), Range(low, high), Number(deviation), Number(nearest[plan])))
        best = min(nearest, key=lambda plan: nearest[plan])
        said = (
            f"The model trained on all cases errs on {number(float(self.true.mean()))} of new ones on average."
            f" Nearest to it: {best}, which misses by {number(nearest[best])} (root mean square)."
        )
        names = ("plan", "mean estimate", "bias", "", "spread", "misses by")
        how = "exact" if self.exact else f"on {FRESH:,} fresh cases each"
        detail = f"{self.learner} on {self.n:,} cases, {self.repeats} times; {self.world}; seed {self.seed}"
        columns = tuple(Column(name, "left" if name in {"plan", ""} else "right") for name in names)
        return [
            Title("Estimators of the true error", detail),
            Prose(said, "Verdict"),
            Table(columns, tuple(rows)),
            Prose(f"True errors: {how}. Limits of the bias: {self.level:g}, over repetitions."),
            *(Note(note) for note in self.notes),
        ]


FIGURES: dict[str, Callable[[Floats], Floats]] = {
    "bias": lambda values: values.mean(axis=-1),
    "standard_deviation": lambda values: values.std(axis=-1, ddof=1),
    "root_mean_square_error": lambda values: np.sqrt((values**2).mean(axis=-1)),
}


def estimators(
    world: World | None = None,
    learner: Any = "naive-bayes",
    n: int = 40,
    plans: Sequence[Any] = PLANS,
    repeats: int = 50,
    *,
    seed: int = 0,
    level: float = 0.95,
) -> EstimatorBias:
    """Draw data sets of n cases, estimate the error by each plan, and compare with the true error.

    >>> found = estimators(n=30, plans=["resubstitution", "leave-one-out"], repeats=20)
    >>> found.figure("resubstitution", "bias")[0] < found.figure("leave-one-out", "bias")[0]
    True
    """
    place = check_world(world if world is not None else Gaussians())
    check_whole("n", n, 4)
    check_whole("repeats", repeats, 2)
    check_whole("seed", seed, 0)
    check_level(level)
    read = [read_plan(plan) for plan in ([plans] if isinstance(plans, str) else plans)]
    if not read:
        raise OptionError("There are no plans to compare.", hint=f"for example plans={list(PLANS[:3])}.")
    name, estimator = ready(learner, place, seed)
    rng = np.random.default_rng(seed)
    estimates, true = np.empty((len(read), repeats)), np.empty(repeats)
    exact, again = True, 0
    for at in range(repeats):
        problem, splits, tries = _divisible(place, n, read, rng, at)
        again += tries
        model = fitted(estimator, problem)
        found = place.true_error(model, n=FRESH, seed=at)
        exact, true[at] = exact and found.exact, found.value
        for place_of, (plan, made) in enumerate(zip(read, splits, strict=True)):
            estimates[place_of, at] = _estimate(estimator, model, problem, plan, made)
    notes = (f"{again} data sets had too few cases of a class for a plan, and were drawn again.",) if again else ()
    texts = tuple(plan.text for plan in read)
    return EstimatorBias(place.text, name, n, texts, estimates, true, exact, level, seed, notes)


def _divisible(
    world: World, n: int, plans: list[Plan], rng: np.random.Generator, seed: int
) -> tuple[Problem, list[Splits], int]:
    """A data set that every plan can split, its splits, and how many data sets had to be passed over."""
    tries = 0
    while True:
        problem = training_set(world, n, rng)
        cases = Cases(problem.truth, problem.labels)
        try:
            return problem, [plan.splits(cases, seed) for plan in plans], tries
        except LabelError:
            tries += 1
            if tries == TRIES:
                raise


def _estimate(estimator: Any, model: Any, problem: Problem, plan: Plan, splits: Splits) -> float:
    """The error that a plan estimates; the corrected bootstrap also asks the model trained on all cases."""
    seen = run(estimator, problem, splits, training=False, progress=False, plan_text=plan.text)
    table = every_case_once(seen, problem)
    if plan.correction:
        answers = np.asarray(model.predict(problem.features), dtype=np.int64)
        return mix(counted(problem.truth, answers, problem.labels, None), table, plan.correction).error
    return 1 - float(table.hits.sum()) / float(table.n)
