"""The answer to "how many cases": the number, what it comes to, and what was taken as given."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from heldout.result import Result, make_row
from heldout.show.numbers import count, number, number_of
from heldout.studies.questions import Goal, Question, find_fewest

# Parts and multiples of the number of cases at which it is shown what they come to.
AROUND = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 4.0)


@dataclass(frozen=True, slots=True, eq=False)
class StudyPlan(Result):
    """How many cases a test set takes, or what a number of cases comes to.

    `reached` is the width, the power or the assurance (as `goal` says) of `n` cases, and `target` what was asked for.
    On different cases `n` is the number in each of two test sets. `assumed` holds what was taken as given, `curve` what
    other numbers of cases come to. `int(plan)` is n.
    """

    schema: ClassVar[str] = "heldout/study-plan@1"
    _rendered_by: ClassVar[str] = "heldout.report.study_plan:render_study_plan"

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
