"""Plans that draw at random: holdout, repeated holdout, the bootstrap; and resubstitution, which holds out nothing."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar, get_args

import numpy as np
from numpy.typing import NDArray

from heldout.arguments import counted
from heldout.arrays import Integers
from heldout.errors import OptionError
from heldout.intervals.dependence import AGAIN
from heldout.plans.plan import (
    Cases,
    Correction,
    LazyDraws,
    Plan,
    Splits,
    check_number,
    check_seed,
    check_training_share,
    find_edges,
    make_generator,
    option_text,
    share_text,
    sort_by_code,
)
from heldout.plans.strata_and_groups import (
    apportion,
    check_no_groups,
    check_rare_classes,
    draw_groups,
    draw_rows,
    expand_groups,
    number_groups,
)
from heldout.synonyms import takes_synonyms


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
        object.__setattr__(self, "train", check_training_share(self.train))
        object.__setattr__(self, "seed", check_seed(self.seed))

    @property
    def text(self) -> str:
        """Such as "holdout 2/3"."""
        options = option_text(stratified=self.stratified, usual=True, seed=self.seed)
        return f"holdout {share_text(self.train)}{options}"

    def splits(self, cases: Cases, seed: int = 0) -> Splits:
        """The one split."""
        return _draw_splits(self, cases, 1, seed)


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
        object.__setattr__(self, "times", check_number(self.times, "The number of times", 1, 30))
        object.__setattr__(self, "train", check_training_share(self.train))
        object.__setattr__(self, "seed", check_seed(self.seed))

    @property
    def text(self) -> str:
        """Such as "30 x holdout 2/3"."""
        options = option_text(stratified=self.stratified, usual=True, seed=self.seed)
        return f"{self.times} x holdout {share_text(self.train)}{options}"

    def splits(self, cases: Cases, seed: int = 0) -> Splits:
        """The splits, one for each time."""
        return _draw_splits(self, cases, self.times, seed)


def _draw_splits(plan: Holdout | Subsampling, cases: Cases, times: int, seed: int) -> Splits:
    n = cases.n
    if n < 2:
        raise OptionError(
            f"There {'is' if n == 1 else 'are'} {counted(n, 'row')}, too few for a training and a test part.",
            hint="give at least 2 rows.",
        )
    if plan.stratified:
        check_rare_classes(cases, 2, "a stratified holdout", replace(plan, stratified=False).text)
    tested = n - min(max(round(plan.train * n), 1), n - 1)
    used = seed if plan.seed is None else plan.seed
    tests = [_draw_test_part(cases, tested, make_generator(used, i), stratified=plan.stratified) for i in range(times)]
    return Splits.of(n, tests)


def _draw_test_part(cases: Cases, tested: int, random: np.random.Generator, *, stratified: bool) -> NDArray[np.int64]:
    if cases.group is not None:
        return draw_groups(cases, cases.group, tested, random, stratified=stratified)
    if not stratified:
        return draw_rows(np.array([tested]), random, np.zeros(cases.n, dtype=np.int64))
    counts = np.bincount(cases.truth)
    return draw_rows(counts - apportion(counts, cases.n - tested), random, cases.truth)


@takes_synonyms
def holdout(train: float = 2 / 3, *, stratified: bool = True, seed: int | None = None) -> Holdout:
    """One training part with this share of the rows; the rest is tested.

    Parameters
    ----------
    train : float
        The share of the rows that is trained on.
    stratified : bool
        Whether the shares of the classes are kept.
    seed : int, optional
        Where the drawing begins; without, the seed of the call that uses the plan.

    Examples
    --------
    >>> holdout().text, holdout(0.7, stratified=False).text
    ('holdout 2/3', 'holdout 0.7 unstratified')

    """
    return Holdout(train, stratified, seed)


@takes_synonyms
def subsampling(
    times: int = 30, train: float = 2 / 3, *, stratified: bool = True, seed: int | None = None
) -> Subsampling:
    """A holdout drawn this many times.

    Parameters
    ----------
    times : int
        How many training sets are drawn.
    train : float
        The share of the rows that is trained on.
    stratified : bool
        Whether the shares of the classes are kept.
    seed : int, optional
        Where the drawing begins; without, the seed of the call that uses the plan.

    References
    ----------
    - Picard & Cook (1984), Cross-validation of regression models, JASA 79.

    Examples
    --------
    >>> subsampling(30).text
    '30 x holdout 2/3'

    """
    return Subsampling(times, train, stratified, seed)


@dataclass(frozen=True)
class Resubstitution(Plan):
    """All rows train and all rows test."""

    kind: ClassVar[str] = "resubstitution"
    factor: ClassVar[float] = 1.0
    target: ClassVar[str] = "the training error, which is optimistic: it says nothing of new cases"
    text: ClassVar[str] = "resubstitution"

    def splits(self, cases: Cases, seed: int = 0) -> Splits:  # noqa: ARG002
        """The one split."""
        if not cases.n:
            raise OptionError("There are no rows to train on.", hint="give at least 2 rows.")
        rows = np.arange(cases.n)
        return Splits.of(cases.n, [rows], [rows])


@takes_synonyms
def resubstitution() -> Resubstitution:
    """Train and test on all rows.

    >>> splits = resubstitution().splits(Cases(np.array([0, 1]), ("no", "yes")))
    >>> [(train.tolist(), test.tolist()) for train, test in splits]
    [([0, 1], [0, 1])]
    """
    return Resubstitution()


# A draw that can be used turns up within a few tries, if there is one at all.
MOST_TRIES = 1000


@dataclass(frozen=True)
class Bootstrap(Plan):
    """As many rows as there are, drawn with replacement; those that are left out are tested.

    Efron's .632 and .632+ weigh the error on rows left out, which is too high, against the training error, which is
    too low (Efron & Tibshirani 1997).
    """

    kind: ClassVar[str] = "bootstrap"
    factor: ClassVar[float] = AGAIN
    times: int = 200
    stratified: bool = False
    correction: Correction = ""
    seed: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "times", check_number(self.times, "The number of times", 1, 200))
        object.__setattr__(self, "seed", check_seed(self.seed))
        known = get_args(Correction)
        if self.correction not in known:
            raise OptionError(
                f"There is no correction {self.correction!r} of the bootstrap.",
                hint=f"use {' or '.join(repr(name) for name in known if name)}, or none.",
            )

    @property
    def target(self) -> str:
        """Corrected, the error of the model that will be used; otherwise of one that saw less."""
        if self.correction:
            return (
                "the error that the learner has on average over training sets like this one, judged by models trained "
                "on about 0.632·n distinct cases and corrected by the training error"
            )
        return "the error of models trained on about 0.632·n distinct cases, which is biased upward"

    @property
    def text(self) -> str:
        """Such as "bootstrap 200", ".632+ 200"."""
        options = option_text(stratified=self.stratified, usual=False, seed=self.seed)
        return f"{self.correction or 'bootstrap'} {self.times}{options}"

    def splits(self, cases: Cases, seed: int = 0) -> Splits:
        """The draws; training rows are drawn again when they are asked for, test rows are kept."""
        if self.stratified:
            check_no_groups(
                cases, "a stratified bootstrap", "would tear them apart", f"'{self.correction or 'bootstrap'}'"
            )
        codes = None if cases.group is None else number_groups(cases.group, 2, "a bootstrap")[0]
        draws = _BootstrapDraws(cases.truth, self.stratified, codes, seed if self.seed is None else self.seed)
        tests: list[Integers] = []
        sizes = np.empty(self.times, dtype=np.int64)
        for i in range(self.times):
            rows, left = draws.split(i)
            tests.append(np.flatnonzero(left))
            sizes[i] = len(rows)
        return Splits.of(cases.n, tests, LazyDraws(draws.draw, sizes))


@dataclass(frozen=True, eq=False)
class _BootstrapDraws:
    """What rows are drawn from, and the seed that makes draw i the same whenever it is made."""

    truth: NDArray[np.int64] = field(repr=False)
    stratified: bool
    group: NDArray[np.int64] | None = field(repr=False)
    seed: int

    def draw(self, i: int) -> Integers:
        """The rows of draw i."""
        return self.split(i)[0]

    def split(self, i: int) -> tuple[Integers, NDArray[np.bool_]]:
        """The rows of draw i and which were left out; drawn again where none is, or where one class alone trains."""
        random, n = make_generator(self.seed, i), len(self.truth)
        for _ in range(MOST_TRIES if n else 0):
            rows = self._once(random)
            left = np.ones(n, dtype=bool)
            left[rows] = False
            if left.any() and (self._one_class or not _is_constant(self.truth[rows])):
                return rows, left
        raise OptionError(
            f"No bootstrap of {counted(n, 'row')} here trains on two classes and leaves a row out.",
            hint="use 'leave-one-out', or give more rows of every class.",
        )

    @cached_property
    def _one_class(self) -> bool:
        return _is_constant(self.truth)

    @cached_property
    def _blocks(self) -> tuple[Integers, Integers]:
        """The rows gathered by group, or else by class, and where each block begins."""
        codes = self.truth if self.group is None else self.group
        return sort_by_code(codes), find_edges(np.bincount(codes))

    def _once(self, random: np.random.Generator) -> Integers:
        if self.group is not None:
            order, starts = self._blocks
            number = len(starts) - 1
            return expand_groups(order, starts, random.integers(0, number, number))
        if not self.stratified:
            return random.integers(0, len(self.truth), len(self.truth))
        order, starts = self._blocks
        counts = np.diff(starts)
        places = random.integers(0, np.repeat(counts, counts)) + np.repeat(starts[:-1], counts)
        return np.asarray(order[places], dtype=np.int64)


def _is_constant(codes: NDArray[np.int64]) -> bool:
    return bool((codes == codes[0]).all())


@takes_synonyms
def bootstrap(
    times: int = 200, *, stratified: bool = False, correction: Correction = "", seed: int | None = None
) -> Bootstrap:
    """Draw rows with replacement this many times, and test the rows left out.

    Parameters
    ----------
    times : int
        How many training sets are drawn.
    stratified : bool
        Whether the shares of the classes are kept.
    correction : {"", ".632", ".632+"}
        How the error on the training rows corrects that on the rows left out.
    seed : int, optional
        Where the drawing begins; without, the seed of the call that uses the plan.

    References
    ----------
    - Efron (1983), Estimating the error rate of a prediction rule: improvement on cross-validation, JASA 78.

    Examples
    --------
    >>> bootstrap(200).text, bootstrap(100, correction=".632+").text
    ('bootstrap 200', '.632+ 100')

    """
    return Bootstrap(times, stratified, correction, seed)


@takes_synonyms
def bootstrap_632(times: int = 200, *, stratified: bool = False, seed: int | None = None) -> Bootstrap:
    """The bootstrap with Efron's .632 weights.

    Parameters
    ----------
    times : int
        How many training sets are drawn.
    stratified : bool
        Whether the shares of the classes are kept.
    seed : int, optional
        Where the drawing begins; without, the seed of the call that uses the plan.

    References
    ----------
    - Efron (1983), Estimating the error rate of a prediction rule: improvement on cross-validation, JASA 78.

    Examples
    --------
    >>> bootstrap_632().text
    '.632 200'

    """
    return Bootstrap(times, stratified, ".632", seed)


@takes_synonyms
def bootstrap_632_plus(times: int = 200, *, stratified: bool = False, seed: int | None = None) -> Bootstrap:
    """The bootstrap with the .632+ weights, which give less to the training error where a learner overfits.

    Parameters
    ----------
    times : int
        How many training sets are drawn.
    stratified : bool
        Whether the shares of the classes are kept.
    seed : int, optional
        Where the drawing begins; without, the seed of the call that uses the plan.

    References
    ----------
    - Efron & Tibshirani (1997), Improvements on cross-validation: the .632+ bootstrap method, JASA 92.

    Examples
    --------
    >>> bootstrap_632_plus().text
    '.632+ 200'

    """
    return Bootstrap(times, stratified, ".632+", seed)
