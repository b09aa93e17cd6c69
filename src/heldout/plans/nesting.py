"""A plan within a plan: the outer one judges, and the inner one tunes on each training part."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, cast

from heldout.errors import OptionError
from heldout.plans.plan import Cases, Correction, Plan
from heldout.plans.splits import Splits


@dataclass(frozen=True)
class Nested(Plan):
    """The splits of the outer plan; within each training part, the inner plan chooses the settings."""

    kind: ClassVar[str] = "nested"
    outer: Plan
    inner: Plan
    correction: Correction = field(init=False, default="", compare=False, repr=False)
    seed: int | None = field(init=False, default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        for plan in (self.outer, self.inner):
            if plan.inner is not None:
                raise OptionError(
                    f"A nested plan has two plans, and one of these is nested itself: {plan.text!r}.",
                    hint="nest two plain plans, such as '10-fold' and '5-fold'.",
                )
        object.__setattr__(self, "correction", self.outer.correction)
        object.__setattr__(self, "seed", self.outer.seed)

    @property
    def factor(self) -> float:
        """That of the outer plan."""
        return self.outer.factor

    @property
    def target(self) -> str:
        """That of the outer plan."""
        return self.outer.target

    @property
    def judging(self) -> Plan:
        """The outer plan."""
        return self.outer

    @property
    def text(self) -> str:
        """Such as "nested 10-fold / 5-fold"; one seed at the end is that of both."""
        outer, inner = self.outer, self.inner
        # Weka's folds always say their seed.
        if outer.seed is not None and outer.seed == inner.seed and outer.kind != "weka":
            outer = cast("Plan", replace(cast("Any", outer), seed=None))
        elif inner.seed is not None and outer.seed is None and outer.takes("seed"):
            return f"nested {outer.text} / ({inner.text})"
        return f"nested {outer.text} / {inner.text}"

    def splits(self, cases: Cases, seed: int = 0) -> Splits:
        """The splits of the outer plan."""
        return self.outer.splits(cases, seed)

    def factor_of(self, splits: Splits) -> float:
        """That of the outer plan."""
        return self.outer.factor_of(splits)

    def seeded(self, seed: int) -> Plan:
        """The same plan with this seed for both parts, where they draw and have none of their own."""
        return Nested(self.outer.seeded(seed), self.inner.seeded(seed))


def nested(outer: Any, inner: Any) -> Nested:
    """Judge by the outer plan what the inner plan tuned; each a plan, or its text.

    >>> nested("10-fold", "5-fold").text
    'nested 10-fold / 5-fold'
    """
    from heldout.plans.text import read_plan

    return Nested(read_plan(outer), read_plan(inner))
