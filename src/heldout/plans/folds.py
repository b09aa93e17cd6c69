"""Plans in which every row is tested: k-fold, Weka's folds, a column's, leave-one-out, blocks in the order of time."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from itertools import chain, combinations
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from heldout.arguments import counted
from heldout.arrays import Codes
from heldout.errors import ColumnError, OptionError
from heldout.evidence import Label, sort_labels
from heldout.intervals.dependence import AGAIN, FOLD_TARGET, ONCE
from heldout.plans.plan import Cases, Plan, Splits, check_number, check_seed, make_generator, option_text
from heldout.plans.strata_and_groups import check_no_groups, check_rare_classes, deal_groups, deal_rows, number_groups
from heldout.predictions.label_encoding import encode
from heldout.synonyms import takes_synonyms


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
        object.__setattr__(self, "k", check_number(self.k, "The number of folds", 2, 10))
        object.__setattr__(self, "repeats", check_number(self.repeats, "The number of repeats", 1, 10))
        object.__setattr__(self, "seed", check_seed(self.seed))

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
        check_enough_rows(cases.n, self.k)
        if self.stratified:
            check_rare_classes(cases, self.k, f"a stratified {self.k}-fold", replace(self, stratified=False).text)
        used = seed if self.seed is None else self.seed
        folds = []
        for number in range(self.repeats):
            random = make_generator(used, number)
            if cases.group is None:
                folds.append(deal_rows(cases.n, self.k, random, cases.truth if self.stratified else None))
            else:
                folds.append(deal_groups(cases, cases.group, self.k, random, stratified=self.stratified))
        return Splits.partition(*(np.asarray(fold) for fold in folds))


def check_enough_rows(n: int, k: int) -> None:
    """Refuse more folds than there are rows."""
    if k > n:
        raise OptionError(
            f"There {'is' if n == 1 else 'are'} {counted(n, 'row')}, too few for {k:,} folds.",
            hint="use fewer folds, or leave-one-out." if n > 1 else "give at least 2 rows.",
        )


@takes_synonyms
def kfold(k: int = 10, *, repeats: int = 1, stratified: bool = True, seed: int | None = None) -> KFold:
    """K-fold cross-validation, stratified unless told otherwise.

    Parameters
    ----------
    k : int
        The number of folds.
    repeats : int
        How often the folds are drawn anew.
    stratified : bool
        Whether the shares of the classes are kept.
    seed : int, optional
        Where the drawing begins; without, the seed of the call that uses the plan.

    References
    ----------
    - Stone (1974), Cross-validatory choice and assessment of statistical predictions, JRSS B 36.
    - Kohavi (1995), A study of cross-validation and bootstrap for accuracy estimation and model selection, IJCAI.

    Examples
    --------
    >>> kfold(2, repeats=5).text
    '5x2-fold'
    >>> cases = Cases(np.array([0, 0, 0, 1, 1, 1]), ("no", "yes"))
    >>> len(kfold(3).splits(cases)), kfold(3).splits(cases).sizes.tolist()
    (3, [2, 2, 2])

    """
    return KFold(k, repeats, stratified, seed)


@dataclass(frozen=True, eq=False)
class ByColumn(Plan):
    """The fold of every row as a place among `names`, which are sorted; each fold tests the models of the others."""

    kind: ClassVar[str] = "column"
    factor: ClassVar[float] = ONCE
    target: ClassVar[str] = FOLD_TARGET
    column: str
    names: tuple[Label, ...]
    folds: Codes = field(repr=False)

    @property
    def text(self) -> str:
        """Such as "column fold"."""
        return f"column {self.column}"

    def splits(self, cases: Cases, seed: int = 0) -> Splits:  # noqa: ARG002
        """One split for each value of the column."""
        if len(self.folds) != cases.n:
            raise ColumnError(
                f"The fold column {self.column!r} has {counted(len(self.folds), 'value')}, and there are "
                f"{counted(cases.n, 'row')}.",
                hint="give one value per row.",
            )
        return Splits.partition(self.folds)


@takes_synonyms
def by_column(fold_of_every_row: Any, *, name: str | None = None) -> ByColumn:
    """Folds from a column: rows with the same value are tested together.

    Parameters
    ----------
    fold_of_every_row : array
        One value per row.
    name : str, optional
        What the column is called.

    Examples
    --------
    >>> plan = by_column(["b", "a", "b"], name="site")
    >>> plan.text, plan.names
    ('column site', ('a', 'b'))
    >>> [test.tolist() for _, test in plan.splits(Cases(np.array([0, 1, 1]), ("no", "yes")))]
    [[1], [0, 2]]

    """
    if name is None:
        own = getattr(fold_of_every_row, "name", None)
        name = own if isinstance(own, str) and own else "fold"
    names, folds = _encode_numbers(fold_of_every_row) or _encode_labels(fold_of_every_row, name)
    missing = int(np.count_nonzero(folds < 0))
    if missing:
        raise ColumnError(
            f"The fold column {name!r} has {counted(missing, 'missing value')}, so the fold of "
            f"{'that row' if missing == 1 else 'those rows'} is not known.",
            hint="give every row a fold, or drop the rows that have none.",
        )
    if len(names) < 2:
        raise ColumnError(
            f"The fold column {name!r} holds {counted(len(names), 'value')}, and at least 2 folds are needed.",
            hint="name another column, or use a plan such as '10-fold'.",
        )
    return ByColumn(name, names, folds)


def _encode_labels(values: Any, name: str) -> tuple[tuple[Label, ...], Codes]:
    """The sorted labels and the place of every row's among them; −1 where it is missing."""
    coded = encode(values, f"The fold column {name!r}")
    codes = coded.codes.astype(np.int64) - coded.offset
    present = np.unique(codes[codes >= 0])
    # Declared categories that no row holds have no fold.
    names = sort_labels(coded.labels[code] for code in present)
    position_of = {label: position for position, label in enumerate(names)}
    move = np.array([*(position_of.get(label, -1) for label in coded.labels), -1], dtype=np.int64)
    return names, move[codes]


def _encode_numbers(values: Any) -> tuple[tuple[Label, ...], Codes] | None:
    """The same for dates and for numbers that are not whole, which are good folds though no classes."""
    try:
        array = np.asarray(values.to_numpy() if hasattr(values, "to_numpy") else values)
    except ValueError:  # lists of different lengths
        return None
    if array.ndim != 1 or array.dtype.kind not in "fM":
        return None
    missing = np.isnat(array) if array.dtype.kind == "M" else np.isnan(array)
    distinct, folds_present = np.unique(array[~missing], return_inverse=True)
    folds = np.full(len(array), -1, dtype=np.int64)
    folds[~missing] = folds_present
    texts = np.datetime_as_string(distinct) if array.dtype.kind == "M" else distinct
    return tuple(texts.tolist()), folds


MOST_SPLITS = 100_000
TEARS = "would leave the rest of a row's group in training"


@dataclass(frozen=True)
class LeaveOneOut(Plan):
    """Every row is tested by the model trained on all the others."""

    kind: ClassVar[str] = "leave-one-out"
    factor: ClassVar[float] = ONCE
    target: ClassVar[str] = FOLD_TARGET
    text: ClassVar[str] = "leave-one-out"

    def splits(self, cases: Cases, seed: int = 0) -> Splits:  # noqa: ARG002
        """One split for every row."""
        check_no_groups(cases, "leave-one-out", TEARS, "'leave-one-group-out'")
        _check_rows_left(cases.n, 1)
        rows = np.arange(cases.n + 1)
        return Splits(cases.n, rows[:-1], rows, np.zeros(cases.n, dtype=np.int64), rows[:-1])


@dataclass(frozen=True)
class LeavePOut(Plan):
    """Every set of p rows is tested by the model trained on all the others."""

    kind: ClassVar[str] = "leave-p-out"
    factor: ClassVar[float] = ONCE
    target: ClassVar[str] = FOLD_TARGET
    p: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "p", check_number(self.p, "The number of rows left out", 1, 2))

    @property
    def text(self) -> str:
        """Such as "leave-2-out"."""
        return f"leave-{self.p}-out"

    def splits(self, cases: Cases, seed: int = 0) -> Splits:  # noqa: ARG002
        """One split for every set of p rows, in the order of `itertools.combinations`."""
        n = cases.n
        check_no_groups(cases, self.text, TEARS, "'leave-one-group-out'")
        _check_rows_left(n, self.p)
        number = math.comb(n, self.p)
        if number > MOST_SPLITS:
            raise OptionError(
                f"{self.text} of {counted(n, 'row')} makes {_format_large(number)} splits, more than {MOST_SPLITS:,}.",
                hint=f"draw some of them: '200 x holdout {n - self.p}/{n}'; or use 'leave-one-out' or '10-fold'.",
            )
        rows = np.fromiter(chain.from_iterable(combinations(range(n), self.p)), dtype=np.int64, count=number * self.p)
        splits, alone = np.arange(number), np.zeros(number, dtype=np.int64)
        # One row at a time is a partition. More overlap, and each split is then a repetition of its own.
        repeat, fold = (alone, splits) if self.p == 1 else (splits, alone)
        return Splits(n, rows, np.arange(0, number * self.p + 1, self.p), repeat, fold)


@dataclass(frozen=True)
class LeaveOneGroupOut(Plan):
    """Every group is tested by the model trained on all the others."""

    kind: ClassVar[str] = "leave-one-group-out"
    factor: ClassVar[float] = ONCE
    target: ClassVar[str] = "the error on cases of a new group, judged by models trained on all groups but one"
    text: ClassVar[str] = "leave-one-group-out"

    def splits(self, cases: Cases, seed: int = 0) -> Splits:  # noqa: ARG002
        """One split for every group."""
        if cases.group is None:
            raise OptionError(
                "leave-one-group-out needs groups, and the rows have none.",
                hint="name the column of the groups with group=, or use 'leave-one-out'.",
            )
        codes, _ = number_groups(cases.group, 2, "leave-one-group-out")
        return Splits.partition(codes)


def _format_large(number: int) -> str:
    return f"{number:,}" if number < 10**15 else f"about 10^{round(math.log10(number))}"


def _check_rows_left(n: int, p: int) -> None:
    if p >= n:
        raise OptionError(
            f"There {'is' if n == 1 else 'are'} {counted(n, 'row')}: with {p:,} left out, none is left to train on.",
            hint="leave out fewer rows." if p > 1 and n > 1 else "give at least 2 rows.",
        )


@takes_synonyms
def leave_one_out() -> LeaveOneOut:
    """Test every row with the model trained on all the others.

    References
    ----------
    - Lachenbruch & Mickey (1968), Estimation of error rates in discriminant analysis, Technometrics 10.

    Examples
    --------
    >>> splits = leave_one_out().splits(Cases(np.array([0, 1, 1]), ("no", "yes")))
    >>> [(train.tolist(), test.tolist()) for train, test in splits]
    [([1, 2], [0]), ([0, 2], [1]), ([0, 1], [2])]

    """
    return LeaveOneOut()


@takes_synonyms
def leave_p_out(p: int) -> LeavePOut:
    """Test every set of p rows with the model trained on all the others.

    Parameters
    ----------
    p : int
        How many rows are left out at once.

    References
    ----------
    - Shao (1993), Linear model selection by cross-validation, JASA 88.

    Examples
    --------
    >>> len(leave_p_out(2).splits(Cases(np.array([0, 1, 1, 0]), ("no", "yes"))))
    6

    """
    return LeavePOut(p)


@takes_synonyms
def leave_one_group_out() -> LeaveOneGroupOut:
    """Test every group with the model trained on all the others.

    >>> cases = Cases(np.array([0, 1, 1]), ("no", "yes"), group=np.array([5, 5, 8]))
    >>> [test.tolist() for _, test in leave_one_group_out().splits(cases)]
    [[0, 1], [2]]
    """
    return LeaveOneGroupOut()


@dataclass(frozen=True)
class TimeOrdered(Plan):
    """Blocks of equal size at the end of the rows; `gap` rows before each block do not train."""

    kind: ClassVar[str] = "time-ordered"
    factor: ClassVar[float] = ONCE
    target: ClassVar[str] = (
        "the error on cases that come later than those trained on, judged by models trained on fewer"
    )
    folds: int = 5
    gap: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "folds", check_number(self.folds, "The number of folds", 1, 5))
        object.__setattr__(self, "gap", check_number(self.gap, "The gap", 0, 1))

    @property
    def text(self) -> str:
        """Such as "time-ordered 5", "time-ordered 5 gap 2"."""
        return f"time-ordered {self.folds}" + (f" gap {self.gap}" if self.gap else "")

    def splits(self, cases: Cases, seed: int = 0) -> Splits:  # noqa: ARG002
        """The blocks, in order; what does not divide evenly goes to the first training part."""
        check_no_groups(
            cases, self.text, "would split them by their place in the file", "'leave-one-group-out' or '10-fold'"
        )
        n, size = cases.n, cases.n // (self.folds + 1)
        starts = n - size * np.arange(self.folds, 0, -1)
        if not size or starts[0] <= self.gap:
            raise OptionError(
                f"There {'is' if n == 1 else 'are'} {counted(n, 'row')}, too few for {counted(self.folds, 'block')} to "
                f"test, a gap of {self.gap:,} and rows before them to train on.",
                hint="use fewer folds or a smaller gap.",
            )
        # Slices of one array, so that the training parts take no memory of their own.
        rows = np.arange(n)
        tests = [rows[start : start + size] for start in starts]
        trains = [rows[: start - self.gap] for start in starts]
        return Splits.of(n, tests, trains, repeat=[0] * self.folds, fold=range(self.folds))


@takes_synonyms
def time_ordered(folds: int = 5, *, gap: int = 0) -> TimeOrdered:
    """Test each of several blocks with the model trained on the rows before it, in the order given.

    Parameters
    ----------
    folds : int
        How many blocks are tested.
    gap : int
        How many rows before a block are not trained on.

    References
    ----------
    - Bergmeir & Benítez (2012), On the use of cross-validation for time series predictor evaluation, Information
      Sciences 191.

    Examples
    --------
    >>> splits = time_ordered(2, gap=1).splits(Cases(np.array([0, 1, 0, 1, 0, 1]), ("no", "yes")))
    >>> [(train.tolist(), test.tolist()) for train, test in splits]
    [([0], [2, 3]), ([0, 1, 2], [4, 5])]

    """
    return TimeOrdered(folds, gap)


MULTIPLIER = 0x5DEECE66D
ADDEND = 0xB
MASK = (1 << 48) - 1
LARGEST = (1 << 31) - 1


class JavaRandom:
    """A linear congruential generator with 48 bits of state, as Java's documentation specifies it.

    >>> random = JavaRandom(42)
    >>> [random.below(10) for _ in range(5)]
    [0, 3, 8, 4, 0]
    """

    def __init__(self, seed: int) -> None:
        self._state = (seed ^ MULTIPLIER) & MASK

    def _bits(self) -> int:
        """The next 31 bits."""
        self._state = (self._state * MULTIPLIER + ADDEND) & MASK
        return self._state >> 17

    def below(self, bound: int) -> int:
        """A number from 0 to bound − 1, as `nextInt(bound)` gives it."""
        if bound & -bound == bound:
            return (bound * self._bits()) >> 31
        while True:
            bits = self._bits()
            value = bits % bound
            # The last, incomplete stretch of `bound` numbers would favour small ones; in Java it overflows.
            if bits - value + (bound - 1) <= LARGEST:
                return value


@dataclass(frozen=True)
class Weka(Plan):
    """The folds of Weka's Evaluation.crossValidateModel with a seed; its default seed is 1.

    Test rows stand in Weka's order. Weka also shuffles the training rows of a fold; here they are in the order given.
    """

    kind: ClassVar[str] = "weka"
    factor: ClassVar[float] = ONCE
    target: ClassVar[str] = FOLD_TARGET
    k: int = 10
    seed: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", check_number(self.k, "The number of folds", 2, 10))
        object.__setattr__(self, "seed", check_number(self.seed, "The seed", None, 1, most=None))

    @property
    def text(self) -> str:
        """Such as "weka 10-fold seed 1"."""
        return f"weka {self.k}-fold seed {self.seed}"

    def splits(self, cases: Cases, seed: int = 0) -> Splits:  # noqa: ARG002
        """The folds; the plan always has a seed of its own."""
        check_no_groups(cases, "Weka's folds", "would tear them apart", f"'{self.k}-fold'")
        check_enough_rows(cases.n, self.k)
        order = _shuffle(cases.n, JavaRandom(self.seed))
        if len(cases.labels) > 1:
            order = _deal_out(_sort_by_class(order, cases.truth), self.k)
        tests = np.array_split(np.array(order, dtype=np.int64), self.k)
        return Splits.of(cases.n, tests, repeat=[0] * self.k, fold=range(self.k))


def _shuffle(n: int, random: JavaRandom) -> list[int]:
    """Instances.randomize."""
    rows = list(range(n))
    for j in range(n - 1, 0, -1):
        other = random.below(j + 1)
        rows[j], rows[other] = rows[other], rows[j]
    return rows


def _sort_by_class(rows: list[int], truth: NDArray[np.int64]) -> list[int]:
    """The first half of Instances.stratify: rows of one class are swapped to the front, then those of the next."""
    classes = truth[rows]
    done, n = 0, len(rows)
    while done < n:
        # Rows that a swap moves back have been passed already, so the places to look at are known beforehand.
        for j in (np.flatnonzero(classes[done:] == classes[done]) + done).tolist():
            rows[done], rows[j] = rows[j], rows[done]
            classes[done], classes[j] = classes[j], classes[done]
            done += 1
    return rows


def _deal_out(rows: list[int], k: int) -> list[int]:
    """The second half, Instances.stratStep: every k-th row from the first, then from the second, and so on."""
    return [row for start in range(k) for row in rows[start::k]]


@takes_synonyms
def weka(k: int = 10, seed: int = 1) -> Weka:
    """Weka's folds, so that its figures can be had to the last digit.

    Parameters
    ----------
    k : int
        The number of folds.
    seed : int
        The seed as Weka takes it.

    References
    ----------
    - Hall et al. (2009), The WEKA data mining software: an update, SIGKDD Explorations 11.

    Examples
    --------
    >>> weka().text
    'weka 10-fold seed 1'
    >>> cases = Cases(np.array([0, 0, 0, 1, 1, 1]), ("no", "yes"))
    >>> [test.tolist() for _, test in weka(3).splits(cases)]
    [[4, 1], [5, 2], [3, 0]]

    """
    return Weka(k, seed)
