"""Rules about the data behind a validation: copies of rows and of the class, class shares, groups and time."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from heldout.arrays import Bits, Codes
from heldout.findings.rule import LEAKS, Answer, Fired, NotApplicable, Passed, quoted, rule
from heldout.predictions.case_values import groups
from heldout.predictions.column_roles import is_unit, words_of
from heldout.show.numbers import number_of, percent

if TYPE_CHECKING:
    # The review of an evaluation loads all rules, and needs nothing of what validates and compares.
    from heldout.learners.problem import Problem
    from heldout.plans.plan import Splits
    from heldout.results.validation import Validation

# The mixing steps of SplitMix64 (Steele, Lea & Flood, 2014): every bit of what goes in moves half of what comes out.
STEP, ALL_BITS = 0x9E3779B97F4A7C15, 2**64 - 1
FIRST, SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def feature_column(problem: Problem, place: int) -> NDArray[Any]:
    """One feature of every row: numbers as they are, anything else as codes of its values.

    >>> from heldout.learners.problem import Problem
    >>> problem = Problem(np.array([[1.0, 5.0], [2.0, 6.0]]), np.array([0, 1]), np.array([0, 1]), names=("a", "b"))
    >>> feature_column(problem, 1).tolist()
    [5.0, 6.0]
    """
    features = problem.features
    if hasattr(features, "tocsr"):
        return np.asarray(features.tocsc()[:, [place]].toarray()).ravel()
    if isinstance(features, np.ndarray):
        column: Any = features if features.ndim == 1 else features[:, place]
    else:
        import narwhals.stable.v2 as nw

        frame = nw.from_native(features, eager_only=True)
        series = frame.get_column(frame.columns[place])
        column = series.to_numpy() if series.dtype.is_numeric() or series.dtype.is_temporal() else series.to_native()
    if isinstance(column, np.ndarray) and column.dtype.kind in "iufbmM":
        return column
    coded = groups(column, problem.names[place] if place < len(problem.names) else "feature")
    return np.asarray(coded.codes.astype(np.int64) - coded.offset)


def is_temporal(problem: Problem, place: int) -> bool:
    """Whether a feature holds dates or times.

    >>> from heldout.learners.problem import Problem
    >>> days = np.array([["2024-01-01"], ["2024-01-02"]], dtype="datetime64[D]")
    >>> is_temporal(Problem(days, np.array([0, 1]), np.array([0, 1]), names=("day",)), 0)
    True
    """
    features = problem.features
    if isinstance(features, np.ndarray) or hasattr(features, "tocsr"):
        return bool(features.dtype.kind in "mM")
    import narwhals.stable.v2 as nw

    frame = nw.from_native(features, eager_only=True)
    return bool(frame.get_column(frame.columns[place]).dtype.is_temporal())


def same_rows(problem: Problem) -> Codes:
    """A number for every row, the same for rows whose features and class are all the same.

    Rows are told apart by a hash of 64 bits: that two of a million different rows get the same number has a probability
    of about one in forty million.

    >>> from heldout.learners.problem import Problem
    >>> problem = Problem(np.array([[1.0], [2.0], [1.0]]), np.array([0, 1, 0]), np.array([0, 1, 0]), names=("a",))
    >>> same_rows(problem).tolist()
    [0, 1, 0]
    """
    hashed = _mixed(_bits(problem.truth), 0)
    if hasattr(problem.features, "tocsr"):
        hashed = hashed + _sparse(problem.features.tocsr())
    else:
        for place in range(problem.width):
            hashed = hashed * np.uint64(31) + _mixed(_bits(feature_column(problem, place)), place + 1)
    _, first, codes = np.unique(hashed, return_index=True, return_inverse=True)
    # Numbered as they are met, so that nothing depends on the hash.
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return np.asarray(rank[codes.reshape(-1)])


def chance_of_same(problem: Problem) -> NDArray[np.float64]:
    """For each class, the probability that two of its rows agree in every feature if the features were independent.

    >>> from heldout.learners.problem import Problem
    >>> classes = np.zeros(4, dtype=int)
    >>> problem = Problem(np.array([[0.0], [1.0], [0.0], [1.0]]), classes, classes, ("a",), names=("x",))
    >>> chance_of_same(problem).round(3).tolist()
    [0.333]
    """
    k = max(len(problem.labels), 1)
    class_counts = np.bincount(problem.truth, minlength=k).astype(np.float64)
    pairs = class_counts * (class_counts - 1)
    chance = np.where(pairs > 0, 1.0, 0.0)
    if hasattr(problem.features, "tocsr"):
        # Of thousands of columns nearly all of which are 0, none is worth a look by itself.
        return np.zeros(k)
    for place in range(problem.width):
        values = np.unique(_bits(feature_column(problem, place)), return_inverse=True)[1].reshape(-1)
        keys, counts = np.unique(values.astype(np.int64) * k + problem.truth, return_counts=True)
        agree = np.bincount(keys % k, weights=counts * (counts - 1.0), minlength=k)
        chance *= np.divide(agree, pairs, out=np.zeros(k), where=pairs > 0)
    return chance


def _bits(column: NDArray[Any]) -> Bits:
    """Equal values as equal bits: 0 and −0 are one value, and so are all gaps."""
    if column.dtype.kind == "f":
        plain = column.astype(np.float64) + 0.0
        plain[np.isnan(plain)] = np.nan
        return plain.view(np.uint64)
    if column.dtype.kind in "mM":
        return np.ascontiguousarray(column).view(np.int64).view(np.uint64)
    return np.ascontiguousarray(column).astype(np.int64).view(np.uint64)


def _mixed(bits: Bits, place: int) -> Bits:
    x = bits + np.uint64(STEP * (place + 1) & ALL_BITS)
    x = (x ^ (x >> np.uint64(30))) * FIRST
    x = (x ^ (x >> np.uint64(27))) * SECOND
    return np.asarray(x ^ (x >> np.uint64(31)))


def _sparse(matrix: Any) -> Bits:
    """A sum over the entries of each row, whatever their order; zeros that are stored count as those that are not."""
    values = _bits(np.asarray(matrix.data, dtype=np.float64))
    row = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    entries = _mixed(values ^ _mixed(matrix.indices.astype(np.uint64), 1), 2)
    entries[matrix.data == 0] = 0
    total = np.zeros(matrix.shape[0], dtype=np.uint64)
    np.add.at(total, row, entries)
    return total


SPARSE = "the features are a sparse matrix"
TRAINING_CASES = "it was tested on the cases it was trained on"
KOHAVI = "Kohavi (1995), IJCAI 14; Tan, Steinbach & Kumar (2005), Introduction to Data Mining, ch. 4.5"
TIMES = frozenset({"date", "datetime", "day", "hour", "month", "time", "timestamp", "week", "year"})


@rule(
    "H032",
    about="validation",
    title="Test cases have copies among the training cases",
    severity="act",
    advice="Remove the copies, or keep them together (group=, --group); if they are different cases, ignore this.",
    reference="Kaufman, Rosset, Perlich & Stitelman (2012), ACM TKDD 6(4); Barz & Denzler (2020), J. Imaging 6",
    limits={
        "share": "one test case in a hundred: a convention",
        "times": "ten times what independent features would bring about; dependent ones bring more: a convention",
    },
)
def copies_in_training(seen: Validation, *, share: float = 0.01, times: float = 10.0) -> Answer:
    """Rows of the test parts also occur, with the same features and class, among the training rows.

    Such cases are not new: a learner that memorises gets them right. With a few coarse features some rows agree by
    chance, and that many are allowed for.
    """
    if seen.plan.judging.kind == "resubstitution":
        return NotApplicable(TRAINING_CASES)
    problem, splits = seen.problem, seen.run.splits
    same = same_rows(problem)
    tested = int((splits.times_tested > 0).sum())
    facts: dict[str, object] = {"tested": tested, "copies": 0, "expected": 0.0}
    if int(same.max(initial=-1)) + 1 == problem.n:
        return Passed(f"No two of the {problem.n:,} rows are the same.", facts)
    copied = _copied(splits, same)
    number = int(copied.sum())
    expected = _expected(problem, splits)
    facts |= {"copies": number, "expected": expected}
    chance = f"{expected:.2g}" if expected >= 0.05 else "none"
    sentence = f"{number:,} of {tested:,} test cases have a copy among the cases that trained ({chance} by chance)"
    if number > share * tested and _copies_each(number, tested) > times * _copies_each(expected, tested):
        return Fired(f"{sentence}.", facts)
    return Passed(f"{sentence}.", facts)


@rule(
    "H038",
    about="validation",
    title="Class shares of a test part far from the whole",
    severity="know",
    advice="Use a stratified plan; where the splits must be as they are, look at measures of each class by itself.",
    reference=KOHAVI,
    limits={"apart": "ten points: stratified parts are never further off than one case is worth; a convention"},
)
def shares_apart(seen: Validation, *, apart: float = 0.1) -> Answer:
    """A class is much more, or much less, common in a test part than in all the data.

    A class that is over-represented in the test part is under-represented in training, and accuracy depends on the mix.
    """
    problem, splits = seen.problem, seen.run.splits
    if seen.plan.judging.kind == "resubstitution":
        return NotApplicable(TRAINING_CASES)
    if _is_redrawn(splits):
        return NotApplicable("a bootstrap draws its cases at random by design")
    if (splits.sizes == 1).all():
        return NotApplicable("every test part is one case")
    k = len(problem.labels)
    keys = splits.split_of * k + problem.truth[splits.test_rows]
    table = np.bincount(keys, minlength=len(splits) * k).reshape(len(splits), k)
    whole = np.bincount(problem.truth, minlength=k) / problem.n
    parts = table / np.maximum(splits.sizes, 1)[:, None]
    # One case more or less is what rounding leaves.
    beyond = np.abs(parts - whole) - 1 / np.maximum(splits.sizes, 1)[:, None]
    split, index = np.unravel_index(int(np.argmax(np.abs(parts - whole))), parts.shape)
    far = int(((np.abs(parts - whole) > apart) & (beyond > 1e-12)).any(axis=1).sum())
    name = str(problem.labels[index])
    facts = {
        "class": name, "split": splits.label(int(split)), "share": float(parts[split, index]),
        "share_of_all": float(whole[index]), "splits_far_off": far, "splits": len(splits),
    }  # fmt: skip
    where = "the test part" if len(splits) == 1 else splits.label(int(split))
    sentence = (
        f'class "{name}" is {percent(float(parts[split, index]))} of {where}, {percent(float(whole[index]))} of all'
    )
    if far:
        return Fired(f"C{sentence[1:]}.", facts)
    return Passed(f"At most, {sentence}.", facts)


@rule(
    "H044",
    about="validation",
    title="A column is the class in other words",
    severity="act",
    advice="Leave it out (drop=, --drop) unless it is known before the class is: it answers the question by itself.",
    reference=LEAKS,
    limits={"chance": "convention: one in ten thousand for each column, as a table may have many"},
)
def copy_of_the_target(seen: Validation, *, chance: float = 1e-4) -> Answer:
    """A feature has one value for each class, and another one for every other class.

    Such a column was made from the class, or is the class itself under another name. Figures that use it say nothing
    about cases whose class is not known yet.
    """
    problem = seen.problem
    if hasattr(problem.features, "tocsr"):
        return NotApplicable(SPARSE)
    size = np.bincount(problem.truth)
    size = size[size > 0].astype(np.float64)
    ways = math.lgamma(problem.n + 1) - sum(math.lgamma(number + 1) for number in size)
    # The share of all orders of the classes in which a column with one value for each class would fit them.
    by_chance = math.exp(min(math.lgamma(len(size) + 1) - ways, 0.0))
    facts: dict[str, object] = {"cases": problem.n, "classes": len(size), "chance": by_chance}
    if by_chance >= chance:
        return Passed(f"{problem.n:,} cases are so few that a column may agree with the class by chance.", facts)
    telling = [problem.column_names[at] for at in range(problem.width) if _tells_class(problem, at, len(size))]
    facts["columns"] = telling
    if not telling:
        return Passed(f"None of {number_of(problem.width, 'column')} has one value for each class.", facts)
    beside = "" if len(telling) == 1 else f" (and {len(telling) - 1:,} more)"
    return Fired(
        f"The column {quoted(telling[0])}{beside} has one value for each of the {len(size):,} classes in all "
        f"{problem.n:,} cases.",
        facts,
    )


def _tells_class(problem: Problem, place: int, classes: int) -> bool:
    """Whether each class has one value of a feature, and no two the same."""
    column = feature_column(problem, place)
    head = slice(0, 1000)
    for part in (head, slice(None)):
        values = np.unique(_bits(column[part]), return_inverse=True)[1].reshape(-1).astype(np.int64)
        truth = np.unique(problem.truth[part], return_inverse=True)[1].reshape(-1)
        pairs = np.unique(values * (int(truth.max(initial=0)) + 1) + truth)
        if not len(pairs) == int(values.max(initial=-1)) + 1 == int(truth.max(initial=-1)) + 1:
            return False
    return len(pairs) == classes


@rule(
    "H041",
    about="validation",
    title="Groups in the data, and splits that divide them",
    severity="act",
    advice="Name the column of groups (group=, --group), so that a group is never on both sides of a split.",
    reference="Saeb, Lonini, Jayaraman, Mohr & Kording (2017), GigaScience 6; Roberts et al. (2017), Ecography 40",
    limits={"rows": "two rows to a group on average: with fewer there is hardly a group"},
)
def torn_groups(seen: Validation, *, rows: float = 2) -> Answer:
    """A column names what was measured more than once, such as patients, and the splits put its rows on both sides.

    The model then meets in the test part what it met in training, and the error is that on old patients, not new ones.
    """
    problem, splits = seen.problem, seen.run.splits
    if seen.plan.judging.kind == "resubstitution":
        return NotApplicable(TRAINING_CASES)
    if problem.group is not None:
        number = len(problem.group_names)
        return Passed(f"All splits keep the {number:,} groups whole.", {"groups": number})
    for place, name in enumerate(problem.names):
        if not is_unit(name):
            continue
        codes = np.unique(feature_column(problem, place), return_inverse=True)[1].reshape(-1)
        number = int(codes.max(initial=-1)) + 1
        if number < 2 or number * rows > problem.n:
            continue
        torn = len(splits) if _is_redrawn(splits) else splits.shared_groups(codes)
        facts = {"column": name, "groups": number, "rows": problem.n, "splits": len(splits), "torn": torn}
        if torn:
            return Fired(
                f"The column {name!r} looks like {number:,} groups, and {torn:,} of {len(splits):,} splits have rows "
                "of one on both sides.",
                facts,
            )
    if not problem.names or problem.names == tuple(f"x{place}" for place in range(len(problem.names))):
        return NotApplicable("no group was named, and the columns have no names to tell one by")
    return Passed("No column that looks like groups is torn apart by the splits.", {"groups": 0})


@rule(
    "H042",
    about="validation",
    title="Cases in the order of time, and splits that train on later ones",
    severity="know",
    advice="If the model is to predict the future, use 'time-ordered 5'.",
    reference="Tashman (2000), International Journal of Forecasting 16(4); Roberts et al. (2017), Ecography 40",
)
def out_of_time(seen: Validation) -> Answer:
    """A column holds times, and the splits train on cases that came after those they test.

    What lies ahead is not known when the model is used, and cases near each other in time are alike: such an error is
    that of filling gaps in the past.
    """
    problem = seen.problem
    if seen.plan.judging.kind == "resubstitution":
        return NotApplicable(TRAINING_CASES)
    column = _time_column(problem)
    if column is None:
        return NotApplicable("no column looks like the time of a case")
    splits = seen.run.splits
    back = _backward(splits)
    facts = {"column": column, "plan": seen.plan.text, "splits": len(splits), "out_of_time": back}
    if not back:
        return Passed(f"The column {column!r} looks like time, and every split tests what stands later.", facts)
    return Fired(
        f"The column {column!r} looks like time, and {back:,} of {len(splits):,} splits train on what stands later.",
        facts,
    )


def _is_redrawn(splits: Splits) -> bool:
    """Whether the training rows are drawn anew whenever they are asked for."""
    from heldout.plans.plan import LazyDraws

    return isinstance(splits.train_rows, LazyDraws)


def _copied(splits: Splits, same: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which rows are tested by a model that trained on another row that is the same."""
    copied = np.zeros(splits.n, dtype=np.bool_)
    number = int(same.max(initial=-1)) + 1
    if splits.train_rows is None or _is_redrawn(splits):
        # Every row that a split does not test trains (a bootstrap tests exactly what it did not draw), so a row has a
        # copy in training where the split tests fewer of its kind than there are.
        keys = splits.split_of * number + same[splits.test_rows]
        _, where, tested = np.unique(keys, return_inverse=True, return_counts=True)
        has = tested[where.reshape(-1)] < np.bincount(same, minlength=number)[same[splits.test_rows]]
        copied[splits.test_rows[has]] = True
        return copied
    for train, test in splits:
        seen_before = np.zeros(number, dtype=np.bool_)
        seen_before[same[train]] = True
        copied[test[seen_before[same[test]]]] = True
    return copied


def _copies_each(with_copy: float, tested: int) -> float:
    """How many copies a case has on average, where so many cases have any.

    >>> round(_copies_each(1, 1000), 4), round(_copies_each(500, 1000), 2), round(_copies_each(1000, 1000), 1)
    (0.001, 0.69, 7.6)
    """
    # Half a case without any stands for none.
    return -math.log(max(1 - with_copy / tested, 0.5 / tested))


def _expected(problem: Problem, splits: Splits) -> float:
    """How many test cases would have a copy if the features of a class were independent of each other."""
    chance = chance_of_same(problem)
    class_counts = np.bincount(problem.truth, minlength=len(chance))
    tested = np.bincount(problem.truth[splits.times_tested > 0], minlength=len(chance))
    trains = 1 - float(splits.sizes.mean()) / splits.n
    return float((tested * (1 - (1 - np.minimum(chance, 1.0)) ** (class_counts * trains))).sum())


def _time_column(problem: Problem) -> str | None:
    """The first column of dates, or one that is named after time and runs on from row to row."""
    if problem.times_left_out:
        return problem.times_left_out[0]
    for place, name in enumerate(problem.names):
        if is_temporal(problem, place) or _is_date(problem, place):
            return name
        if TIMES.isdisjoint(words_of(name)) or place in problem.nominal:
            continue
        values = feature_column(problem, place)
        if values.dtype.kind not in "iuf" or len(np.unique(values)) < 3:
            continue
        steps = np.diff(values.astype(np.float64))
        if (steps >= 0).all() or (steps <= 0).all():
            return name
    return None


def _is_date(problem: Problem, place: int) -> bool:
    """Whether a column holds dates that were written as text."""
    from heldout.learners.features import are_dates

    if place in problem.nominal:
        return are_dates([str(value) for value in problem.nominal[place].categories])
    features = problem.features
    if isinstance(features, np.ndarray) or hasattr(features, "tocsr"):
        return False
    import narwhals.stable.v2 as nw

    frame = nw.from_native(features, eager_only=True)
    series = frame.get_column(frame.columns[place])
    return series.dtype == nw.String and are_dates(series.drop_nulls().unique().to_list())


def _backward(splits: Splits) -> int:
    """How many splits train on rows that stand after some that they test."""
    if _is_redrawn(splits):
        return len(splits)
    if splits.train_rows is None:
        # All other rows train: none stands later only where the last rows are tested.
        return sum(int(test.min()) + len(np.unique(test)) < splits.n for _, test in _tests(splits))
    return sum(bool(len(train)) and bool(train.max() > test.min()) for train, test in splits if len(test))


def _tests(splits: Splits) -> Iterator[tuple[int, NDArray[np.int64]]]:
    return ((split, splits.test(split)) for split in range(len(splits)) if splits.sizes[split])
