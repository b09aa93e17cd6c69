"""The answer to "how many cases", and the questions behind it: how wide an interval, how likely a gate."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal

import numpy as np

from heldout.arrays import Floats
from heldout.errors import OptionError
from heldout.measures.quantity import Bound
from heldout.result import RenderedResult, make_row
from heldout.show.numbers import count, number, number_of
from heldout.studies.assumptions import SHARES, Assumptions, make_sampling
from heldout.studies.sampling import (
    EXACT_PAIRED,
    PRIOR_NODES,
    Claimed,
    NormalSampling,
    Sampling,
    ShareSampling,
    mcnemar_power,
    midpoints,
    paired_share_power,
    unpaired_share_power,
)
from heldout.thresholds.requirement import Written

Goal = Literal["width", "power", "assurance"]
# The most cases that a plan may have.
MOST = 1_000_000_000
# Steps by which the exact power is followed down from above, where it moves in waves.
MOST_STEPS = 300
PILOT_DRAWS = 400
# Rounding: .9 less .8 is not .1 to the last digit.
TOLERANCE = 1e-9


@dataclass(frozen=True)
class Question:
    """What n cases come to, and how much is wanted: at most a width, or at least a power or an assurance.

    `wavy` says that the exact power moves in small waves as n grows. `task` completes "… cases are needed".
    """

    goal: Goal
    reach: Callable[[int], float]
    target: float
    task: str
    method: str
    wavy: bool = False
    sets: int = 1

    def is_enough(self, n: int) -> bool:
        """Whether so many cases are enough."""
        reached = self.reach(n)
        return reached <= self.target if self.goal == "width" else reached >= self.target


# A spread takes two cases.
FEWEST = 2


def find_fewest(question: Question) -> int:
    """The fewest cases that are enough, and from which on they stay enough.

    >>> find_fewest(Question("width", lambda n: 1 / n, 0.1, "", ""))
    10
    """
    high = FEWEST
    while not question.is_enough(high):
        high *= 2
        if high > MOST:
            raise OptionError(
                f"No number of cases up to {MOST:,} is enough: with so many it comes to "
                f"{question.reach(MOST):.3g}, and {question.target:g} was asked for.",
                hint="ask for less, or expect a value farther from the bound, the margin or the other classifier.",
            )
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if question.is_enough(middle) else (middle, high)
    if not question.wavy:
        return high
    # Power moves in waves around a rising line: from above, down to the first number that falls short.
    n = high + min(20 + high // 20, MOST_STEPS)
    while not question.is_enough(n):
        n += 1 + n // 50
    while n > FEWEST and question.is_enough(n - 1):
        n -= 1
    return n


def ask_width(
    sampling: Sampling, name: str, level: float, width: float, beliefs: Sequence[float], assurance: float | None
) -> Question:
    """How many cases make the interval narrow enough: on average, or with the assurance asked for."""
    of = f"a {_percent(level)} interval of {name} that is at most {write_briefly(width)} wide"
    if assurance is None:
        return Question("width", lambda n: sampling.mean_width(n, level), width, f"for {of} on average", "")

    def reach(n: int) -> float:
        return sampling.width_chance(n, level, width, beliefs)

    return Question("assurance", reach, assurance, f"to be {_percent(assurance)} sure of {of}", "", wavy=True)


def ask_gate(
    sampling: Sampling, written: Written, level: float, power: float, beliefs: Sequence[float], assurance: float | None
) -> Question:
    """How many cases pass a requirement, by the one-sided limit of the level, with the power asked for."""
    above = written.sign.startswith(">")

    def chances(n: int) -> Floats:
        return sampling.pass_chances(n, level, written.limit, above=above, beliefs=beliefs)

    wavy = isinstance(sampling, ShareSampling)
    task = f"to pass {written.text!r} at level {level:g}"
    if assurance is not None:
        return Question(
            "assurance", lambda n: float((chances(n) >= power).mean()), assurance,
            f"to be {_percent(assurance)} sure of {_percent(power)} power {task}", "", wavy=wavy,
        )  # fmt: skip
    task = f"{task} with {_percent(power)} power"
    return Question("power", lambda n: float(chances(n).mean()), power, task, "", wavy)


@dataclass(frozen=True)
class Pairing:
    """How two classifiers meet: on the same cases with so much discordance or correlation, or on different ones.

    `pilot` holds the cases that only the first and only the second got right, and all cases, of an earlier study.
    """

    paired: bool = True
    discordance: float | None = None
    correlation: float | None = None
    pilot: tuple[int, int, int] | None = None


def ask_difference(
    bound: Bound, given: Assumptions, against: float, claimed: Claimed, pairing: Pairing, power: float
) -> Question:
    """How many cases show a difference, or show that it keeps within a margin, with the power asked for."""
    samplings = [make_sampling(bound, replace(given, value=value)) for value in (given.value, against)]
    places = "on the same cases" if pairing.paired else "on different cases"
    what = f"{bound.title} of {write_briefly(given.value or 0.0)} and {write_briefly(against)} {places}"
    task = {
        "difference": f"to tell {what} apart",
        "non-inferiority": f"to show that {what} is not worse by more than {write_briefly(claimed.margin)}",
        "equivalence": f"to show that {what} differ by less than {write_briefly(claimed.margin)}",
    }[claimed.claim]
    task = f"{task} with {_percent(power)} power at level {claimed.level:g}"
    sets = 1 if pairing.paired else 2
    question = Question("power", float, power, task, "", sets=sets)
    planned = SHARES.get(bound.name)
    if planned is not None and planned.basis != "either" and given.groups is None:
        return _ask_shares(bound, samplings, claimed, pairing, question)
    correlation = 0.0 if not pairing.paired else 0.5 if pairing.correlation is None else pairing.correlation
    if pairing.discordance is not None and (planned is None or not planned.pairs):
        raise OptionError(
            f"Discordance is about cases that one gets right, and {bound.name} takes a correlation.",
            hint="give correlation= (--correlation), such as 0.5.",
        )
    if pairing.discordance is not None:
        correlation = _correlation_of(given.value or 0.0, against, pairing.discordance)

    def reach(n: int) -> float:
        first, second = (sampling.variance(n) for sampling in samplings)
        error = math.sqrt(max(first + second - 2 * correlation * math.sqrt(first * second), 1e-300))
        freedom = min(one.freedom(n) if isinstance(one, NormalSampling) else math.inf for one in samplings)
        return claimed.power(error, freedom)

    return replace(question, reach=reach, method="normal")


def _ask_shares(
    bound: Bound, samplings: list[Sampling], claimed: Claimed, pairing: Pairing, question: Question
) -> Question:
    """The power for two shares: exact sums where there are few cases, formulas beyond."""
    counted = min(sampling.counted for sampling in samplings if isinstance(sampling, ShareSampling))
    lower = bound.measure.direction == "lower"
    first, second = (1 - sampling.value if lower else sampling.value for sampling in samplings)
    if not pairing.paired:

        def apart(n: int) -> float:
            return unpaired_share_power(max(round(n * counted), 1), first, second, claimed)

        method = "unpaired-newcombe" if claimed.claim != "difference" else "pooled z test"
        return replace(question, reach=apart, method=method)
    if not SHARES[bound.name].pairs:
        raise OptionError(
            f"Two classifiers do not call the same cases positive, so {bound.name} has no paired plan.",
            hint="plan it on different cases (paired=False, --different-cases): that is on the safe side.",
        )
    if pairing.pilot is not None:
        return _ask_pilot_pairs(pairing.pilot, claimed, question, counted)
    discordance = resolve_discordance(first, second, pairing)

    def together(n: int) -> float:
        if claimed.claim == "difference" and counted >= 1 and n <= EXACT_PAIRED:
            return mcnemar_power(n, discordance, claimed.gap, claimed.level)
        return paired_share_power(n * counted, discordance, claimed)

    method = "mcnemar-mid-p" if claimed.claim == "difference" else "tango"
    return replace(question, reach=together, method=method, wavy=counted >= 1 and claimed.claim == "difference")


def _ask_pilot_pairs(pilot: tuple[int, int, int], claimed: Claimed, question: Question, counted: float) -> Question:
    """The power averaged over what a pilot leaves possible: Dirichlet with ½ for each of the three outcomes."""
    only_first, only_second, n = pilot
    shapes = np.array([only_first, only_second, n - only_first - only_second]) + 0.5
    drawn = np.random.default_rng(0).dirichlet(shapes, PILOT_DRAWS)

    def reach(size: int) -> float:
        powers = [
            paired_share_power(size * counted, float(a + b), replace(claimed, gap=float(a - b)))
            for a, b, _ in drawn
            # That the second is better is no success.
            if claimed.claim != "difference" or a > b
        ]
        return sum(powers) / len(drawn)

    return replace(question, reach=reach, method="mcnemar-mid-p" if claimed.claim == "difference" else "tango")


def resolve_discordance(first: float, second: float, pairing: Pairing) -> float:
    """The share of cases that exactly one of the two gets right, given itself or by a correlation.

    >>> round(resolve_discordance(0.9, 0.8, Pairing(correlation=0.5)), 3)
    0.14
    """
    least, most = abs(first - second), min(first + second, 2 - first - second)
    alone = first * (1 - second) + second * (1 - first)
    if pairing.discordance is not None:
        if not least - TOLERANCE <= pairing.discordance <= most + TOLERANCE or not pairing.discordance > 0:
            raise OptionError(
                f"Values of {first:g} and {second:g} cannot differ in {pairing.discordance:g} of the cases.",
                hint=f"the share of cases that one alone gets right lies between {least:.3g} and {most:.3g}.",
            )
        return min(max(pairing.discordance, least), most)
    if pairing.correlation is None:
        raise OptionError(
            "How often the two disagree is not given, and the power on the same cases depends on it.",
            hint=f"give discordance= (--discordance), the share of cases that one alone gets right: between "
            f"{least:.3g} and {most:.3g}, and {alone:.3g} if the errors of the two had nothing in common.",
        )
    covariance = pairing.correlation * math.sqrt(first * (1 - first) * second * (1 - second))
    return min(max(alone - 2 * covariance, least, 1e-9), most)


def _correlation_of(first: float, second: float, discordance: float) -> float:
    spread = math.sqrt(first * (1 - first) * second * (1 - second))
    return min(max((first * (1 - second) + second * (1 - first) - discordance) / (2 * spread), -0.999), 0.999)


def beta_beliefs(hits: int, n: int) -> list[float]:
    """Shares that a pilot with so many hits of n leaves, equally likely: Jeffreys' posterior.

    >>> [round(one, 2) for one in beta_beliefs(45, 50)[:: PRIOR_NODES // 2]]
    [0.78, 0.9, 0.97]
    """
    from scipy.special import betaincinv

    return [float(belief) for belief in betaincinv(hits + 0.5, n - hits + 0.5, midpoints(PRIOR_NODES))]


def write_briefly(value: float) -> str:
    """A share with three decimals, or as many as it was given with.

    >>> write_briefly(0.9), write_briefly(0.00125), write_briefly(1.0)
    ('.900', '.00125', '1.000')
    """
    text = f"{value:.10f}".rstrip("0")
    whole, _, decimals = text.partition(".")
    return ("" if whole == "0" else whole) + "." + decimals.ljust(3, "0")


def _percent(value: float) -> str:
    return f"{round(100 * value, 6):g} %"


# Parts and multiples of the number of cases at which it is shown what they come to.
AROUND = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 4.0)


@dataclass(frozen=True, slots=True, eq=False)
class StudyPlan(RenderedResult):
    """How many cases a test set needs, or what a given number of cases will show.

    `reached` is the width, the power or the assurance (as `goal` says) of `n` cases, and `target` what was asked for.
    On different cases `n` is the number in each of two test sets. `assumed` holds what was taken as given, `curve` what
    other numbers of cases come to. `int(plan)` is n.

    >>> import heldout
    >>> heldout.plan_study("accuracy", value=0.9, width=0.1).n
    139
    """

    schema: ClassVar[str] = "heldout/study-plan@1"
    _rendered_by: ClassVar[str] = "heldout.report.study_plan:render_study_plan"
    _charts: ClassVar[Mapping[str, str]] = {"study_plan": "heldout.report.study_plan:draw_study_plan"}

    what: str
    goal: Goal
    n: int
    reached: float
    target: float
    task: str
    level: float
    method: str
    given: bool = False
    sets: int = 1
    positives: int | None = None
    groups: int | None = None
    assumed: Mapping[str, float] = field(default_factory=dict)
    curve: tuple[tuple[int, float], ...] = ()
    notes: tuple[str, ...] = ()

    def __int__(self) -> int:
        return self.n

    @property
    def unit(self) -> str:
        """What `n` counts."""
        return "cases in each of two test sets" if self.sets == 2 else "cases"

    @property
    def verdict(self) -> str:
        """The same as `sentence`, as every result calls it."""
        return self.sentence

    @property
    def sentence(self) -> str:
        """The answer in one sentence."""
        parts = [] if self.positives is None else [number_of(self.positives, "positive")]
        parts += [] if self.groups is None else [number_of(self.groups, "group")]
        size = f"{count(self.n)} {self.unit}" + (f" ({', '.join(parts)})" if parts else "")
        if not self.given:
            return f"{size} are needed {self.task}."
        enough = self.reached <= self.target if self.goal == "width" else self.reached >= self.target
        if math.isnan(self.target):
            wide = f"{number(self.reached)} wide on average"
            return f"With {size} the {100 * self.level:g} % interval of {self.what} is {wide}."
        reached = f"a {self.goal} of {number(self.reached)}"
        return f"{size} are {'enough' if enough else 'not enough'} {self.task}: they come to {reached}."

    def rows(self) -> list[dict[str, object]]:
        """One row."""
        asked = {"what": self.what, "goal": self.goal, "target": self.target, "reached": self.reached}
        sizes = {"test_sets": self.sets, "positives": self.positives, "groups": self.groups}
        row = make_row("cases", float(self.n), level=self.level, method=self.method, n=self.n)
        return [{**row, **asked, **sizes, **self.assumed}]

    def facts(self) -> dict[str, object]:
        """The question beside its answer, and what other numbers of cases come to."""
        return {
            "what": self.what,
            "n": self.n,
            "unit": self.unit,
            "sentence": self.sentence,
            "curve": [{"n": n, self.goal: reached} for n, reached in self.curve],
            "notes": list(self.notes),
        }


def answer(
    question: Question,
    n: int | None,
    *,
    what: str,
    level: float,
    method: str,
    assumed: Mapping[str, float],
    prevalence: float | None = None,
    group_size: float | None = None,
    notes: tuple[str, ...] = (),
) -> StudyPlan:
    """The fewest cases that are enough, or what n cases come to."""
    cases = find_fewest(question) if n is None else n
    sizes = sorted({max(round(cases * part), 2) for part in AROUND} | {cases})
    return StudyPlan(
        what,
        question.goal,
        cases,
        question.reach(cases),
        question.target,
        question.task,
        level,
        question.method or method,
        given=n is not None,
        sets=question.sets,
        positives=None if prevalence is None else round(cases * prevalence),
        groups=None if group_size is None else math.ceil(cases / group_size),
        assumed=assumed,
        curve=tuple((size, question.reach(size)) for size in sizes),
        notes=notes,
    )
