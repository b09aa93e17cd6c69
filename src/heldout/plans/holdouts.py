"""A training and a test part drawn at random: once (holdout), or many times (subsampling)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from heldout.arguments import checked_seed, counted, option_text, share_text, training_share, whole
from heldout.errors import OptionError
from heldout.plans.plan import AGAIN, Cases, Plan, stream
from heldout.plans.splits import Splits
from heldout.plans.strata_and_groups import draw, draw_groups, refuse_rare, shares


@dataclass(frozen=True)
class Holdout(Plan):
    """One training part, and a test part that is held out."""

    kind: ClassVar[str] = "holdout"
    factor: ClassVar[float] = 1.0
    target: ClassVar[str] = "the error of the one model trained on the training part"
    train: float = 2 / 3
    stratified: bool = True
    seed: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "train", training_share(self.train))
        object.__setattr__(self, "seed", checked_seed(self.seed))

    @property
    def text(self) -> str:
        """Such as "holdout 2/3"."""
        options = option_text(stratified=self.stratified, usual=True, seed=self.seed)
        return f"holdout {share_text(self.train)}{options}"

    def splits(self, cases: Cases, seed: int = 0) -> Splits:
        """The one split."""
        return _drawn(self, cases, 1, seed)


@dataclass(frozen=True)
class Subsampling(Plan):
    """A holdout drawn many times, each a repetition of its own."""

    kind: ClassVar[str] = "subsampling"
    factor: ClassVar[float] = AGAIN
    target: ClassVar[str] = (
        "the error of models trained on the training part alone, on fewer cases than there are, which is biased upward"
    )
    times: int = 30
    train: float = 2 / 3
    stratified: bool = True
    seed: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "times", whole(self.times, "The number of times", 1, 30))
        object.__setattr__(self, "train", training_share(self.train))
        object.__setattr__(self, "seed", checked_seed(self.seed))

    @property
    def text(self) -> str:
        """Such as "30 x holdout 2/3"."""
        options = option_text(stratified=self.stratified, usual=True, seed=self.seed)
        return f"{self.times} x holdout {share_text(self.train)}{options}"

    def splits(self, cases: Cases, seed: int = 0) -> Splits:
        """The splits, one for each time."""
        return _drawn(self, cases, self.times, seed)


def _drawn(plan: Holdout | Subsampling, cases: Cases, times: int, seed: int) -> Splits:
    n = cases.n
    if n < 2:
        raise OptionError(
            f"There {'is' if n == 1 else 'are'} {counted(n, 'row')}, too few for a training and a test part.",
            hint="give at least 2 rows.",
        )
    if plan.stratified:
        refuse_rare(cases, 2, "a stratified holdout", replace(plan, stratified=False).text)
    tested = n - min(max(round(plan.train * n), 1), n - 1)
    used = seed if plan.seed is None else plan.seed
    tests = [_test_part(cases, tested, stream(used, i), stratified=plan.stratified) for i in range(times)]
    return Splits.of(n, tests)


def _test_part(cases: Cases, tested: int, random: np.random.Generator, *, stratified: bool) -> NDArray[np.int64]:
    if cases.group is not None:
        return draw_groups(cases, cases.group, tested, random, stratified=stratified)
    if not stratified:
        return draw(np.array([tested]), random, np.zeros(cases.n, dtype=np.int64))
    counts = np.bincount(cases.truth)
    return draw(counts - shares(counts, cases.n - tested), random, cases.truth)


def holdout(train: float = 2 / 3, *, stratified: bool = True, seed: int | None = None) -> Holdout:
    """One training part with this share of the rows; the rest is tested.

    >>> holdout().text, holdout(0.7, stratified=False).text
    ('holdout 2/3', 'holdout 0.7 unstratified')
    """
    return Holdout(train, stratified, seed)


def subsampling(
    times: int = 30, train: float = 2 / 3, *, stratified: bool = True, seed: int | None = None
) -> Subsampling:
    """A holdout drawn this many times.

    >>> subsampling(30).text
    '30 x holdout 2/3'
    """
    return Subsampling(times, train, stratified, seed)


# Resubstitution: the model is tested on the very rows that it was trained on.


@dataclass(frozen=True)
class Resubstitution(Plan):
    """All rows train and all rows test."""

    kind: ClassVar[str] = "resubstitution"
    factor: ClassVar[float] = 1.0
    target: ClassVar[str] = "the training error, which is optimistic: it says nothing of new cases"

    @property
    def text(self) -> str:
        """Always "resubstitution"."""
        return "resubstitution"

    def splits(self, cases: Cases, seed: int = 0) -> Splits:  # noqa: ARG002
        """The one split."""
        if not cases.n:
            raise OptionError("There are no rows to train on.", hint="give at least 2 rows.")
        rows = np.arange(cases.n)
        return Splits.of(cases.n, [rows], [rows])


def resubstitution() -> Resubstitution:
    """Train and test on all rows.

    >>> splits = resubstitution().splits(Cases(np.array([0, 1]), ("no", "yes")))
    >>> [(train.tolist(), test.tolist()) for train, test in splits]
    [([0, 1], [0, 1])]
    """
    return Resubstitution()
