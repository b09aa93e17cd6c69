"""How a table of results is laid out: runs, folds and learners, names of rows, summaries, and what is no result."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from heldout.arguments import as_float, listing
from heldout.arrays import Floats
from heldout.comparisons.ranks import NAME_HEADERS, ResultTable, list_columns, row_index
from heldout.errors import ColumnError, HeldoutError, OptionError, ValuesError
from heldout.measures.catalogue import read_quantity
from heldout.measures.quantity import AVERAGES, Quantity
from heldout.predictions.column_roles import is_usual, may_be_group
from heldout.predictions.score_columns import class_of

# What columns are by their usual names, in small letters and without Weka's Key_; the names of runs and folds are also
# those of columns that are never learners.
RUNS = frozenset({
    "run", "repeat", "repetition", "replicate", "replication", "rep", "seed", "random_state", "iteration", "iter",
    "trial", "split", "resample",
})  # fmt: skip
FOLDS = frozenset({"fold"})
# Neither learners nor splits: the same cases, predicted again.
STEPS = frozenset({"epoch", "step"})
DATA_SETS = frozenset({"dataset", "data_set", "data", "task", "problem", "domain"})
AROUND = re.compile(r"^(?:cv|outer|test|random)_(?=[a-z]+$)(?!state)|(?:_(?:id|idx|index|number|no|nr))?s?$")
LEARNERS = frozenset({"learner", "model", "classifier", "algorithm", "scheme", "estimator", "method"})
TRAINED = frozenset({"number_of_training_instances", "n_train", "train_size", "training_size", "n_training"})
TESTED = frozenset({"number_of_testing_instances", "n_test", "test_size", "testing_size", "n_testing"})
SCHEME_OPTIONS = "scheme_options"
KINDS = (("run", RUNS), ("fold", FOLDS), ("step", STEPS), ("data set", DATA_SETS), ("learner", LEARNERS))
# "fold 3" and "run_12" name a split whatever the column is called.
NUMBERED = re.compile(r"([^\W\d_]+(?:[\s_\-][^\W\d_]+)*)[\s_\-#.:]*\d+")
# How Weka's Experimenter calls measures, where that is no name of ours, and what makes a share of them.
WEKA_MEASURES = {
    "percent_correct": ("accuracy", 0.01),
    "percent_incorrect": ("error_rate", 0.01),
    "kappa_statistic": ("kappa", 1.0),
    "ir_precision": ("precision", 1.0),
    "ir_recall": ("recall", 1.0),
}


def plain_name(name: object) -> str:
    """The name of a column in small letters, with one sign between its words.

    >>> plain_name("Key_Random State")
    'random_state'
    """
    return re.sub(r"[\s\-.]+", "_", str(name).strip().casefold()).removeprefix("key_")


def column_role(name: object, values: Sequence[Any]) -> str:
    """What a column is, or nothing: runs, folds and names are texts or whole numbers.

    >>> column_role("CV fold", [1, 2]), column_role("", ["fold 1", "fold 2"]), column_role("tree", [0.9, 0.8])
    ('fold', 'fold', '')
    """
    plain = plain_name(name)
    if plain == SCHEME_OPTIONS:
        return "options"
    known = _role_of_word(plain)
    if known:
        return known if all(map(is_mark, values)) else ""
    if plain in TRAINED or plain in TESTED:
        return "trained" if plain in TRAINED else "tested"
    # Weka's other keys, such as the version of a scheme, are no results either.
    if str(name).casefold().startswith("key_") or plain in ("date_time", "unnamed:_0"):
        return _role_of_values(values) or "key"
    return _role_of_values(values)


def _role_of_word(plain: str) -> str:
    bare = AROUND.sub("", plain)
    return next((role for role, names in KINDS if plain in names or bare in names), "")


def _role_of_values(values: Sequence[Any]) -> str:
    """Runs or folds, where every value is a text such as "fold 3"."""
    texts = [value.strip() if isinstance(value, str) else "" for value in values]
    words = {found[1] if (found := NUMBERED.fullmatch(text)) else "" for text in texts}
    roles = {_role_of_word(plain_name(word)) for word in words} if values and "" not in words else set()
    return roles.pop() if len(roles) == 1 and roles <= {"run", "fold"} else ""


def is_mark(value: Any) -> bool:
    """Whether a value can say which run, fold or data set a row is of: a text, a whole number, or nothing."""
    return is_missing(value) or not isinstance(value, float | np.floating) or float(value).is_integer()


def is_missing(value: Any) -> bool:
    """Whether there is no value."""
    return value is None or (isinstance(value, float | np.floating) and math.isnan(value))


def measured_by(column: str) -> tuple[Quantity, float] | None:
    """The quantity that a column holds by its name, and the factor that makes it one; None for any other column.

    >>> found = measured_by("Percent_correct")
    >>> (found[0].bound.name, found[1]), measured_by("tree")
    (('accuracy', 0.01), None)
    """
    plain = plain_name(column)
    known, factor = WEKA_MEASURES.get(plain, (plain, 1.0))
    # scikit-learn writes f1_macro, Weka Weighted_avg_F_measure.
    for average in AVERAGES:
        bare = known.removesuffix(f"_{average}").removeprefix(f"{average}_avg_")
        known = known if bare == known else f"{average} {bare}"
    try:
        return read_quantity(known), factor
    except HeldoutError:
        return None


# Rows and columns that sum up the others.

SUMS_UP = frozenset({
    "mean", "means", "avg", "average", "averages", "median", "std", "stdev", "stddev", "sd", "se", "sem", "stderr",
    "deviation", "variance", "var", "total", "totals", "sum", "overall", "min", "max", "minimum", "maximum", "count",
    "ci", "iqr", "rank", "ranks",
})  # fmt: skip
# What may stand beside them, as in "std. dev." and "mean over 10 folds".
BESIDE = frozenset({
    "standard", "dev", "error", "err", "of", "the", "all", "over", "across", "and", "arithmetic", "geometric", "grand",
    "value", "accuracy", "acc", "score", "fold", "folds", "split", "splits", "run", "runs", "data", "set", "sets",
    "dataset", "datasets",
})  # fmt: skip
# How pandas' describe() calls quantiles.
QUANTILE = re.compile(r"\d{1,2}(?:\.\d+)? ?%")


def is_summary(name: object) -> bool:
    """Whether a row of that name sums up the others, as a mean does.

    >>> [is_summary(name) for name in ("Mean", "std. dev.", "mean ± sd", "AVG over 10 folds", "meanwhile", "wine")]
    [True, True, True, True, False, False]
    """
    if not isinstance(name, str):
        return False
    text = name.strip().casefold()
    words = re.findall(r"[^\W\d_]+", text)
    summed = any(word in SUMS_UP for word in words) and all(word in SUMS_UP or word in BESIDE for word in words)
    return summed or "±" in text or "+/-" in text or QUANTILE.fullmatch(text) is not None


def drop_summaries(source: Any) -> tuple[Any, tuple[str, ...]]:
    """The table without rows that are called like means or deviations of the others, and what is to be said of that.

    >>> drop_summaries({"tree": {"iris": 0.9, "wine": 0.8, "mean": 0.85}})[0]
    {'tree': {'iris': 0.9, 'wine': 0.8}}
    """
    columns = None if isinstance(source, ResultTable | np.ndarray | list | tuple) else list_columns(source)
    if columns is None:
        return source, ()
    roles = {name: column_role(name, values) for name, values in columns.items()}
    naming = [name for name, role in roles.items() if role in ("run", "fold", "data set")]
    texts = [name for name, values in columns.items() if any(isinstance(value, str) for value in values)]
    if not naming:
        # A column of numbers has texts too where a mean is written with its deviation.
        naming = [name for name in texts if roles[name] != "learner"][:1]
    first = next(iter(columns), "")
    naming += [first] if plain_name(first) in NAME_HEADERS and first in texts and first not in naming else []
    dropped: dict[int, str] = {}
    for name in naming:
        dropped |= {row: str(value).strip() for row, value in enumerate(columns[name]) if is_summary(value)}
    size = len(columns[first]) if columns else 0
    if not dropped or len(dropped) == size:
        return source, ()
    keep = [row not in dropped for row in range(size)]
    named = listing(dict.fromkeys(dropped.values()))
    note = f"left out, as rows that sum up the others are neither data sets nor splits: {named}"
    return _keep_rows(source, keep, dropped), (note,)


def _keep_rows(source: Any, keep: Sequence[bool], dropped: Mapping[int, str]) -> Any:
    """Some rows of a table; texts that are numbers without the others become numbers."""
    if isinstance(source, Mapping):
        if all(isinstance(values, Mapping) for values in source.values()):
            gone = set(dropped.values())
            return {
                name: {key: value for key, value in values.items() if str(key).strip() not in gone}
                for name, values in source.items()
            }
        kept = {
            name: [value for value, there in zip(values, keep, strict=True) if there] for name, values in source.items()
        }
        return {name: _as_numbers(values) for name, values in kept.items()}
    import narwhals.stable.v2 as nw

    frame = nw.from_native(source, eager_only=True).filter(list(keep))
    texts = [name for name in frame.columns if not frame[name].dtype.is_numeric()]
    for name in texts:
        values = frame[name].to_list()
        if not column_role(name, values) and _as_numbers(values) is not values:
            frame = frame.with_columns(frame[name].cast(nw.Float64))
    return frame.to_native()


def _as_numbers(values: list[Any]) -> list[Any]:
    """Texts as the numbers that they are; the same list where one is none."""
    if not any(isinstance(value, str) for value in values):
        return values
    try:
        return [value if value is None else float(value) for value in values]
    except (TypeError, ValueError):
        return values


# Whether rows have names of their own: without, nobody has said that they are data sets.

COUNTING = frozenset({"", "name", "column_1", "unnamed: 0", "id", "index", "row"})


def check_row_names(source: Any) -> None:
    """Refuse a table whose rows only count: those of a cross-validation are no data sets."""
    if isinstance(source, ResultTable) or _names_rows(source):
        return
    raise OptionError(
        "The rows of the table have no names, so nothing says whether they are data sets or splits of one, such as the "
        "folds of a cross-validation, which share training cases and take another test.",
        hint="say that they are splits (splits=True, --splits, with test_share=0.1, --test-share 0.1, for 10-fold) or "
        "data sets (splits=False, --no-splits); or name the data sets in a column.",
    )


def _names_rows(source: Any) -> bool:
    index = row_index(source)
    if index is not None and not _only_counts(index):
        return True
    columns = None if isinstance(source, np.ndarray | list | tuple) else list_columns(source)
    if columns is None:
        # What is no table is refused by the reader of tables, which has its own message.
        return not isinstance(source, np.ndarray | list | tuple)
    if any(any(isinstance(value, str) for value in values) and not _only_counts(values) for values in columns.values()):
        return True
    first = next(iter(columns), "")
    header = str(first).strip().casefold()
    named = header in NAME_HEADERS and not (header in COUNTING and _only_counts(columns[first]))
    return named or column_role(first, columns[first]) == "data set"


def _only_counts(values: Iterable[Any]) -> bool:
    """Whether values are numbers of rows: whole, different and small, though single rows may be gone."""
    try:
        numbers = [float(value) for value in values]
    except (TypeError, ValueError):
        return False
    whole = all(number.is_integer() and number >= 0 for number in numbers if math.isfinite(number))
    return whole and len(set(numbers)) == len(numbers) and max(numbers, default=0) <= 2 * len(numbers)


# Columns that belong to predictions, and not to results.


@dataclass(frozen=True)
class FoundClassifiers:
    """Several classifiers in one file: the column of the truth, and their columns of predictions or of scores."""

    truth: str
    predicted: list[str] | None = None
    score: list[str] | None = None

    @property
    def note(self) -> str:
        """How the columns were read."""
        columns, what = (self.score or [], "scores") if self.predicted is None else (self.predicted, "predictions")
        return (
            f"these are predictions of cases and no results: {self.truth} is taken as the truth, and "
            f"{listing(columns)} as the {what} of {len(columns)} classifiers; name them to say otherwise "
            "(truth=, predicted=, score=; --truth, --predicted, --score)"
        )


def find_classifiers(source: Any) -> FoundClassifiers | None:
    """The classifiers in a table that holds predictions of cases; None where it holds results.

    What is clearly predictions, but not clearly whose, is refused.

    >>> find_classifiers({"y_true": [0, 1, 1], "a": [0, 1, 0], "b": [1, 1, 1]}).predicted
    ['a', 'b']
    """
    columns = None if isinstance(source, ResultTable | np.ndarray | list | tuple) else list_columns(source)
    if not columns:
        return None
    roles = {name: column_role(name, values) for name, values in columns.items()}
    truths = [name for name, values in columns.items() if is_usual("truth", name) and _holds_classes(values)]
    answers = [name for name, values in columns.items() if is_usual("predicted", name) and _holds_classes(values)]
    marks = [name for name, role in roles.items() if role in ("run", "fold", "data set", "learner")]
    if not (truths or answers) or (marks and _tell_rows_apart(columns, [*marks, *truths])):
        return None
    others = [
        name for name, role in roles.items()
        if not role and name not in truths and not is_usual("weight", name) and not may_be_group(name)
    ]  # fmt: skip
    if not answers and all(measured_by(name) is not None for name in others):
        # A column called label names the learners, beside those of measures.
        return None
    if len(truths) == 1 and len(others) > 1:
        labels = {_class_text(value) for value in columns[truths[0]]}
        kinds = {_kind_of(name, columns[name], labels) for name in others}
        if kinds == {"predicted"}:
            return FoundClassifiers(truths[0], predicted=others)
        if kinds == {"score"} and not _are_of_classes(columns, others, labels):
            return FoundClassifiers(truths[0], score=others)
    described = [f"{name} (truth)" for name in truths] + [f"{name} (predicted)" for name in answers]
    raise ColumnError(
        "These seem to be predictions of cases and no results of learners, by the names of columns: "
        f"{listing(described)}.",
        hint="name the columns of the classifiers (--predicted A --predicted B, or --score A --score B; in Python "
        "predicted=['A', 'B'] or score=[…]), or give a file of each; in a table of results rename the column.",
    )


def _holds_classes(values: Sequence[Any]) -> bool:
    """Whether values are texts that repeat, or whole numbers, as classes are."""
    there = [value for value in values if not is_missing(value)]
    texts = {value for value in there if isinstance(value, str)}
    if texts:
        return len(texts) == len(set(map(str, there))) < len(there) and _as_numbers(there) is there
    return bool(there) and all(map(is_mark, there))


def _tell_rows_apart(columns: Mapping[str, Sequence[Any]], names: Sequence[str]) -> bool:
    """Whether no two rows agree in these columns, as those of results do in the names of splits and data sets."""
    rows = list(zip(*(columns[name] for name in names), strict=True))
    return len(set(rows)) == len(rows)


def _class_text(value: Any) -> str:
    whole = isinstance(value, bool | float | np.floating | np.bool_) and is_mark(value) and not is_missing(value)
    return str(int(value)) if whole else str(value)


def _kind_of(name: str, values: Sequence[Any], labels: set[str]) -> str:
    there = [value for value in values if not is_missing(value)]
    if {_class_text(value) for value in there} <= labels:
        return "predicted"
    numbers = all(isinstance(value, float | np.floating) for value in there)
    return "score" if numbers and not is_usual("predicted", name) else "other"


def _are_of_classes(columns: Mapping[str, Sequence[Any]], names: Sequence[str], labels: set[str]) -> bool:
    """Whether columns are the scores of each class from one classifier: named as the classes, or adding up to 1."""
    if any(class_of(name, sorted(labels)) is not None for name in names):
        return True
    sums = np.sum([np.asarray(columns[name], dtype=np.float64) for name in names], axis=0)
    return bool(np.allclose(sums, 1, atol=1e-3))


def check_learners(columns: Mapping[str, Sequence[Any]]) -> None:
    """Refuse columns that are no learners by their names, in a table that has a column for each learner.

    >>> check_learners({"iris": [0.9, 0.8], "mean": [0.8, 0.7], "weight": [10, 20]})
    Traceback (most recent call last):
    heldout.errors.ColumnError: By their names these columns hold no results of a learner: weight.
    ...
    """
    roles = {name: column_role(name, values) for name, values in columns.items()}
    if "learner" in roles.values():
        return
    first = next(iter(columns), "")
    wrong = [
        name for name, values in columns.items()
        if not roles[name] and (name != first or len(set(values)) < len(values)) and all(map(is_number, values))
        and (is_usual("weight", name) or (all(map(is_mark, values)) and _names_no_learner(name)))
    ]  # fmt: skip
    wrong += [name for name in columns if _sums_up_others(name, columns, roles)]
    if wrong:
        raise ColumnError(
            f"By their names these columns hold no results of a learner: {listing(wrong)}.",
            hint="leave them out, or rename those that are learners; of predictions name the columns (--predicted A "
            "--predicted B, or --score A --score B; in Python predicted=, score=).",
        )


SPREADS = frozenset({"std", "stdev", "stddev", "sd", "se", "sem", "stderr", "deviation", "variance", "var"})
COMBINED: dict[str, Callable[..., Any]] = {
    "mean": np.mean, "avg": np.mean, "average": np.mean, "median": np.median, "total": np.sum, "sum": np.sum,
    "min": np.min, "max": np.max,
}  # fmt: skip


def _sums_up_others(name: str, columns: Mapping[str, Sequence[Any]], roles: Mapping[str, str]) -> bool:
    """Whether a column is called like a spread, or called and made like the mean of the others."""
    if roles[name] or not is_summary(name) or not all(map(is_number, columns[name])):
        return False
    words = re.findall(r"[^\W\d_]+", name.casefold())
    if any(word in SPREADS for word in words):
        return True
    others = [
        values for other, values in columns.items()
        if other != name and not roles[other] and not is_summary(other) and all(map(is_number, values))
    ]  # fmt: skip
    combine = next((COMBINED[word] for word in words if word in COMBINED), None)
    if combine is None or len(others) < 2:
        return False
    combined = combine(np.array([[as_float(value) for value in values] for values in others]), axis=0)
    own = np.array([as_float(value) for value in columns[name]])
    return bool(np.allclose(combined, own, rtol=0.01, atol=0.001))


def _names_no_learner(name: str) -> bool:
    return is_usual("truth", name) or is_usual("predicted", name) or may_be_group(name)


def is_number(value: Any) -> bool:
    """Whether a value is a number, or missing."""
    return is_missing(value) or isinstance(value, int | float | np.number)


# Per cent and shares.

# Between percentages and shares of the same lies a factor of 100; between results of learners seldom one of 20.
OTHER_SCALE = 20.0


def check_one_scale(values: Floats, learners: Sequence[str], *, within: bool) -> None:
    """Refuse results of which some are percentages and some shares: learners × rows, and `within` one learner too."""
    sizes = [np.abs(row[~np.isnan(row)]) for row in values]
    low = [name for name, row in zip(learners, sizes, strict=True) if len(row) and row.max() <= 1]
    high = [name for name, row in zip(learners, sizes, strict=True) if len(row) and row.min() > 1]
    by_name = dict(zip(learners, sizes, strict=True))
    if low and high:
        apart = min(float(np.median(by_name[name])) for name in high)
        if apart >= OTHER_SCALE * max(float(np.median(by_name[name])) for name in low):
            raise _other_scales(f"{listing(high)} in per cent and {listing(low)} as shares")
    for name, row in by_name.items() if within else ():
        small, large = row[(row > 0) & (row <= 1)], row[row > 1]
        if len(small) and len(large) and np.median(large) >= OTHER_SCALE * np.median(small):
            raise _other_scales(f"some of {name} in per cent and some as shares")


def _other_scales(what: str) -> ValuesError:
    return ValuesError(
        f"The results seem to be on different scales: {what}.",
        hint="write all of them as shares (0.83) or all in per cent (83); of other measures, such as costs, name the "
        "measure (measure=, --measure).",
    )
