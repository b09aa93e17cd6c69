"""The contract of a plan: how the rows are split, from a seed, and what the result then estimates."""

from __future__ import annotations

import math
import numbers
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Any, ClassVar, Literal, cast

import numpy as np

from heldout.arguments import check_share, counted
from heldout.arrays import Codes
from heldout.errors import OptionError
from heldout.plans.splits import LazyDraws, Splits

Correction = Literal["", ".632", ".632+"]


@dataclass(frozen=True)
class Cases:
    """What a plan may know of the rows: the class of each as a place among the labels, and its group, if any."""

    truth: Codes
    labels: tuple[object, ...]
    group: Codes | None = None
    group_names: Sequence[object] = ()

    @property
    def n(self) -> int:
        """How many rows there are."""
        return len(self.truth)


class Plan(ABC):
    """A way to split rows into those that train and those that test.

    A concrete plan is a frozen dataclass whose `text` reads back to an equal plan. `factor` divides the number of
    distinct cases for the interval: predictions of one data set by models that share training rows are not
    independent. It was measured for k-fold, leave-one-out, repeated k-fold, random splits and .632+, and taken over
    from the nearest of these for the others (docs/statistics.md). `target` says which error is estimated. Both stand on
    the class, or are properties where they depend on the plan's own figures.
    """

    kind: ClassVar[str]
    correction: Correction = ""
    inner: Plan | None = None
    seed: int | None = None

    @property
    @abstractmethod
    def text(self) -> str:
        """The plan as a person would write it, such as "10-fold"."""

    @property
    @abstractmethod
    def factor(self) -> float:
        """What the number of distinct cases is divided by."""

    @property
    @abstractmethod
    def target(self) -> str:
        """Which error is estimated, as the end of a sentence."""

    @property
    def judging(self) -> Plan:
        """The plan whose splits judge: itself, or the outer one of two."""
        return self

    @abstractmethod
    def splits(self, cases: Cases, seed: int = 0) -> Splits:
        """The splits; `seed` is used where the plan has none of its own."""

    def factor_of(self, splits: Splits) -> float:  # noqa: ARG002
        """The factor, where it can only be told from the splits that were made."""
        return self.factor

    def takes(self, option: str) -> bool:
        """Whether the plan has such an option: "seed", "stratified"."""
        return option in {field.name for field in fields(cast("Any", self)) if field.init}

    def seeded(self, seed: int) -> Plan:
        """The same plan with this seed, where it draws and has no seed of its own."""
        if self.seed is not None or not self.takes("seed"):
            return self
        return cast("Plan", replace(cast("Any", self), seed=seed))

    def __str__(self) -> str:
        return self.text


# The generator behind each repetition of a plan: independent streams of one seed.


def make_generator(seed: int, number: int) -> np.random.Generator:
    """The generator of repetition `number`, counted from 0: the stream that `SeedSequence.spawn` gives it.

    Repetition 0 is the same however many follow it, so "10-fold" is the first repetition of "10x10-fold".

    >>> int(make_generator(7, 0).integers(100)) == int(make_generator(7, 0).integers(100))
    True
    """
    return np.random.default_rng(
        np.random.SeedSequence(check_number(seed, "The seed", 0, 1, most=None), spawn_key=(number,))
    )


def check_apart(plan: Plan, splits: Splits, cases: Cases) -> None:
    """Refuse splits with a row, or a group, on both sides; resubstitution means to do that.

    >>> import numpy as np
    >>> from heldout.plans.folds import by_column
    >>> cases, plan = Cases(np.array([0, 1, 0]), ("no", "yes"), np.array([0, 0, 1])), by_column([1, 2, 2])
    >>> check_apart(plan, plan.splits(cases), cases)
    Traceback (most recent call last):
    heldout.errors.OptionError: In 2 of 2 splits of column fold a group has rows both in training and in the test.
    Hint: use a plan that keeps groups whole, such as '10-fold' with group, or leave out group.
    """
    # A bootstrap tests what it did not draw, and draws whole groups; looking would mean drawing all of it again.
    if plan.judging.kind == "resubstitution" or isinstance(splits.train_rows, LazyDraws):
        return
    both = splits.shared_rows
    if both:
        raise OptionError(
            f"In {both:,} of {counted(len(splits), 'split')} of {plan.judging.text} rows that are tested also train, "
            "which makes the error too low.",
            hint="test only rows that do not train, or use 'resubstitution' to see the training error.",
        )
    torn = 0 if cases.group is None else splits.shared_groups(cases.group)
    if torn:
        raise OptionError(
            f"In {torn:,} of {counted(len(splits), 'split')} of {plan.judging.text} a group has rows both in training "
            "and in the test.",
            hint="use a plan that keeps groups whole, such as '10-fold' with group, or leave out group.",
        )


# More splits than anybody could wait for.
MOST = 1_000_000


def check_number(value: Any, name: str, least: int | None, example: int, most: int | None = MOST) -> int:
    """A whole number, of at least `least` if there is such a limit, as Python's own.

    >>> check_number(10, "The number of folds", 2, 10)
    10
    """
    hint = f"give a whole number{'' if least is None else f' of at least {least}'}, such as {example}."
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise OptionError(f"{name} must be a whole number. Got {value!r}.", hint=hint)
    if least is not None and value < least:
        raise OptionError(f"{name} must be at least {least}. Got {value}.", hint=hint)
    if most is not None and int(value) > most:
        raise OptionError(f"{name} must be at most {most:,}. Got {int(value):,}.", hint=hint)
    return int(value)


def check_seed(value: Any) -> int | None:
    """A seed, or None where the plan is to have none of its own."""
    return None if value is None else check_number(value, "The seed", 0, 1, most=None)


def check_training_share(value: Any) -> float:
    """The share of the rows that train, between 0 and 1."""
    return check_share("The share of the rows that train", value, "give it as 2/3 or 0.7, for example.")


def share_text(share: float) -> str:
    """A share as a person would write it, that reads back exactly.

    >>> share_text(2 / 3), share_text(0.7)
    ('2/3', '0.7')
    """
    decimal = repr(share)
    if len(decimal) <= len("0.1234"):
        return decimal
    near = Fraction(share).limit_denominator(1000)
    return str(near) if math.isclose(float(near), share, rel_tol=0, abs_tol=0) else decimal


def option_text(*, stratified: bool, usual: bool, seed: int | None) -> str:
    """What follows a plan's name where it is not the usual: stratification and the seed."""
    text = "" if stratified == usual else " stratified" if stratified else " unstratified"
    return text if seed is None else f"{text} seed {seed}"
