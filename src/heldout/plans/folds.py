"""K-fold cross-validation, once or repeated: every row is tested once in each repetition."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from heldout.errors import OptionError
from heldout.plans.groups import deal_groups
from heldout.plans.options import checked_seed, counted, option_text, whole
from heldout.plans.plan import AGAIN, ONCE, Cases, Plan
from heldout.plans.seeds import stream
from heldout.plans.splits import Splits
from heldout.plans.strata import deal, refuse_rare

FOLD_TARGET = "the error of the model trained on all n cases, judged by models trained on n − n/k of them"


@dataclass(frozen=True)
class KFold(Plan):
    """K folds, each of which tests the models trained on the others; `repeats` times, shuffled anew."""

    kind: ClassVar[str] = "k-fold"
    target: ClassVar[str] = FOLD_TARGET
    k: int = 10
    repeats: int = 1
    stratified: bool = True
    seed: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", whole(self.k, "The number of folds", 2, 10))
        object.__setattr__(self, "repeats", whole(self.repeats, "The number of repeats", 1, 10))
        object.__setattr__(self, "seed", checked_seed(self.seed))

    @property
    def factor(self) -> float:
        """Repetition averages out the luck of one partition."""
        return ONCE if self.repeats == 1 else AGAIN

    @property
    def text(self) -> str:
        """Such as "10-fold", "5x2-fold unstratified"."""
        name = f"{self.k}-fold" if self.repeats == 1 else f"{self.repeats}x{self.k}-fold"
        return name + option_text(stratified=self.stratified, usual=True, seed=self.seed)

    def splits(self, cases: Cases, seed: int = 0) -> Splits:
        """The folds of every repetition."""
        refuse_few_rows(cases.n, self.k)
        if self.stratified:
            refuse_rare(cases, self.k, f"a stratified {self.k}-fold", replace(self, stratified=False).text)
        used = seed if self.seed is None else self.seed
        folds = []
        for number in range(self.repeats):
            random = stream(used, number)
            if cases.group is None:
                folds.append(deal(cases.n, self.k, random, cases.truth if self.stratified else None))
            else:
                folds.append(deal_groups(cases, cases.group, self.k, random, stratified=self.stratified))
        return Splits.partition(*(np.asarray(fold) for fold in folds))


def refuse_few_rows(n: int, k: int) -> None:
    """Refuse more folds than there are rows."""
    if k > n:
        raise OptionError(
            f"There {'is' if n == 1 else 'are'} {counted(n, 'row')}, too few for {k:,} folds.",
            hint="use fewer folds, or leave-one-out." if n > 1 else "give at least 2 rows.",
        )


def kfold(k: int = 10, *, repeats: int = 1, stratified: bool = True, seed: int | None = None) -> KFold:
    """K-fold cross-validation, stratified unless told otherwise.

    >>> kfold(2, repeats=5).text
    '5x2-fold'
    >>> cases = Cases(np.array([0, 0, 0, 1, 1, 1]), ("no", "yes"))
    >>> len(kfold(3).splits(cases)), kfold(3).splits(cases).sizes.tolist()
    (3, [2, 2, 2])
    """
    return KFold(k, repeats, stratified, seed)
