"""Splits that were made elsewhere: by a scikit-learn splitter, or as pairs of training and test rows."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from heldout.arguments import checked_seed, counted
from heldout.arrays import Integers
from heldout.errors import OptionError
from heldout.plans.folds import kfold
from heldout.plans.plan import AGAIN, ONCE, Cases, Plan
from heldout.plans.splits import Splits

PAIRS = "give a splitter such as KFold(5), or pairs of training and test rows: [([1, 2], [0]), ([0, 2], [1])]."


@dataclass(frozen=True, eq=False)
class Given(Plan):
    """The splits of `splitter`: an object with a split method as in scikit-learn, or a tuple of pairs of rows."""

    kind: ClassVar[str] = "given"
    factor: ClassVar[float] = ONCE
    target: ClassVar[str] = "the error of models trained on the training rows of the given splits"
    splitter: Any
    seed: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "seed", checked_seed(self.seed))

    @property
    def text(self) -> str:
        """How the splitter prints itself, or how many splits were given."""
        if isinstance(self.splitter, tuple):
            return counted(len(self.splitter), "given split")
        printed = repr(self.splitter)
        # An address in memory is another one in the next run.
        return type(self.splitter).__name__ if " at 0x" in printed else " ".join(printed.split())

    def splits(self, cases: Cases, seed: int = 0) -> Splits:
        """The splits, with the rows in the order given; a splitter that draws and has no seed uses this one."""
        pairs = self._pairs(cases, seed if self.seed is None else self.seed)
        tests: list[Integers] = []
        trains: list[Integers | None] = []
        for number, pair in enumerate(pairs, start=1):
            train, test = (
                _rows(part, cases.n, f"The {name} rows of split {number}")
                for name, part in zip(("training", "test"), pair, strict=True)
            )
            _refuse_twice(test, number)
            rest = np.ones(cases.n, dtype=bool)
            rest[test] = False
            usual = len(train) == np.count_nonzero(rest) and np.array_equal(train, np.flatnonzero(rest))
            trains.append(None if usual else train)
            tests.append(test)
        if not tests:
            raise OptionError(f"{self.text} makes no splits of {counted(cases.n, 'row')}.", hint=PAIRS)
        repeat, fold = _numbered(cases.n, tests)
        splits = Splits.of(cases.n, tests, repeat=repeat, fold=fold)
        if all(train is None for train in trains):
            return splits
        whole = [splits.train(i) if train is None else train for i, train in enumerate(trains)]
        return Splits.of(cases.n, tests, whole, repeat=repeat, fold=fold)

    def factor_of(self, splits: Splits) -> float:
        """As that of the plan which it looks like: a holdout, a partition, or a repeated one."""
        if len(splits) == 1:
            return 1.0
        return ONCE if splits.times_tested.max(initial=0) <= 1 else AGAIN

    def _pairs(self, cases: Cases, seed: int) -> Iterator[Sequence[Any]]:
        if isinstance(self.splitter, tuple):
            return iter(self.splitter)
        # A copy, because a splitter that holds a generator of its own would give other splits the second time.
        splitter = copy.deepcopy(self.splitter)
        if getattr(splitter, "random_state", 0) is None:
            splitter.random_state = seed % 2**32
        group = None if cases.group is None else _named(cases.group_names, cases.group)
        try:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message="The groups parameter is ignored")
                pairs = list(splitter.split(np.zeros((cases.n, 1)), _named(cases.labels, cases.truth), group))
        except (TypeError, ValueError) as error:
            raise OptionError(
                f"{self.text} cannot split {counted(cases.n, 'row')}: {str(error).splitlines()[0]}",
                hint="name the column of the groups with group=."
                if "groups" in str(error) and group is None
                else "change the splitter, or use a plan such as '10-fold'.",
            ) from error
        return iter([_pair(pair, number) for number, pair in enumerate(pairs, start=1)])


def _named(names: Sequence[object], codes: NDArray[np.int64]) -> NDArray[Any]:
    """The names behind the codes: splitters sort them, and what they draw depends on the order."""
    kinds = {type(name) for name in names}
    # Names that are missing, or do not sort because they are of several kinds, are of no use to a splitter.
    plain = len(kinds) == 1 and issubclass(kinds.pop(), str | int | float | np.generic)
    if not plain or len(names) <= int(codes.max(initial=0)):
        return codes
    return np.array(names)[codes]


def _pair(pair: Any, number: int) -> Sequence[Any]:
    parts = tuple(pair) if isinstance(pair, Iterable) and not isinstance(pair, str | bytes) else ()
    if len(parts) != 2:
        raise OptionError(
            f"A given split is a pair of training and test rows. Split {number} is "
            f"{f'{len(parts)} things' if parts else f'of type {type(pair).__name__}'}.",
            hint=PAIRS,
        )
    return parts


def _rows(part: Any, n: int, name: str) -> Integers:
    rows = np.asarray(part)
    if rows.dtype == bool and rows.shape == (n,):
        rows = np.flatnonzero(rows)
    if rows.ndim != 1 or (rows.size and rows.dtype.kind not in "iu"):
        raise OptionError(
            f"{name} must be row numbers counted from 0. Got {rows.dtype} of {rows.ndim} dimensions.",
            hint="give one list or array of whole numbers, or one truth value per row.",
        )
    if not rows.size:
        raise OptionError(f"{name} are none.", hint="leave that split out, or give it rows.")
    outside = rows[(rows < 0) | (rows >= n)]
    if outside.size:
        raise OptionError(
            f"{name} hold {outside[0]}, and there are {counted(n, 'row')}: 0 to {n - 1:,}.",
            hint="count rows from 0, in the data that is split.",
        )
    return rows.astype(np.int64, copy=False)


def _refuse_twice(test: Integers, number: int) -> None:
    """A model predicts a case once: a test row that stands twice would count as two cases."""
    rows, counts = np.unique(test, return_counts=True)
    if len(rows) < len(test):
        raise OptionError(
            f"The test rows of split {number} hold row {rows[counts > 1][0]} {counts[counts > 1][0]:,} times, and "
            f"{counted(int((counts > 1).sum()), 'row')} more than once.",
            hint="list every test row once.",
        )


def _numbered(n: int, tests: Sequence[Integers]) -> tuple[list[int] | None, list[int] | None]:
    """The repetition of each split and its place in it, where each repetition tests every row once.

    Splits that test no row twice are one repetition. None where each split is a repetition of its own.
    """
    seen = np.zeros(n, dtype=bool)
    repeat, fold, number, place, complete = [], [], 0, 0, True
    for test in tests:
        if seen[test].any():
            complete = complete and bool(seen.all())
            seen[:] = False
            number, place = number + 1, 0
        seen[test] = True
        repeat.append(number)
        fold.append(place)
        place += 1
    if number and not (complete and seen.all()):
        return None, None
    return repeat, fold


def given(splitter: Any, *, seed: int | None = None) -> Plan:
    """The splits of a scikit-learn splitter or of pairs of training and test rows; a number k means k folds.

    >>> plan = given([([1, 2], [0]), ([0, 2], [1])])
    >>> plan.text, len(plan.splits(Cases(np.array([0, 1, 1]), ("no", "yes"))))
    ('2 given splits', 2)
    """
    if isinstance(splitter, int | np.integer) and not isinstance(splitter, bool):
        return kfold(int(splitter), seed=seed)
    if isinstance(splitter, type):
        raise OptionError(
            f"{splitter.__name__} is a class, not a splitter.", hint=f"add parentheses: {splitter.__name__}()."
        )
    if not isinstance(splitter, str | bytes):
        if callable(getattr(splitter, "split", None)):
            return Given(splitter, seed)
        if isinstance(splitter, Iterable):
            pairs = tuple(_pair(pair, number) for number, pair in enumerate(splitter, start=1))
            if not pairs:
                raise OptionError("There are no splits in what was given.", hint=PAIRS)
            return Given(pairs, seed)
    raise OptionError(
        f"A plan cannot be made of {splitter!r}, of type {type(splitter).__name__}.",
        hint="give a text such as '10-fold', a splitter such as KFold(5), or pairs of training and test rows.",
    )
