"""Results of single splits: tables with runs and folds, Weka's Experimenter, `cross_validate`; compared by splits."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from heldout.arguments import check_share, counted, listing, method_key, suggest, write_sentence
from heldout.arrays import Floats
from heldout.comparisons.comparison import UNNAMED, Comparison
from heldout.comparisons.fold_tests import MeasureKey, SplitResults
from heldout.comparisons.pair_test import PROCEDURES, Setting
from heldout.comparisons.pairing_design import CompareOptions
from heldout.comparisons.pairwise import TableOptions, choose_pairs, compare_contestants, compare_table
from heldout.comparisons.ranks import NAME_HEADERS, list_columns, read_results
from heldout.comparisons.result_columns import check_result_columns
from heldout.comparisons.same_splits import TabledSplits, means_together
from heldout.comparisons.table_layout import (
    check_learners,
    check_one_scale,
    column_role,
    drop_summaries,
    is_missing,
    measured_by,
    plain_name,
)
from heldout.errors import ColumnError, OptionError, ValuesError
from heldout.measures.catalogue import read_quantity
from heldout.measures.declare import measure
from heldout.measures.quantity import Bound, Quantity

WEKA_FIRST = "percent_correct"
# What cross_validate gives beside the scores of the test parts.
SCORES_OF_TESTS = "test_"
SPLITS_SETTING: Setting = "same splits"
SAY_SHARE = "say which share of the cases each split tests: test_share=0.1 (--test-share 0.1) for 10-fold"


@measure(
    symbol="", undefined="it has no value in this split", reference="", scope="table", low=-math.inf, high=math.inf
)
def result(value: Any) -> tuple[Any, Any]:
    """What a table holds where nobody says by which measure; higher is taken as better."""
    return value, 1.0


def compare_splits(found: Sequence[SplitResults], control: str | None, options: TableOptions) -> Comparison:
    """One data set split by split, by the corrected resampled t; several by the means over the splits of each."""
    only = found[0]
    if len(only.learners) < 2:
        raise OptionError(
            f"Only one learner was given: {listing(only.learners)}.", hint="give at least two to compare."
        )
    if len(found) > 1:
        return _compare_means(found, control, options)
    if math.isnan(only.ratio):
        raise OptionError(
            f"How many cases each split tests and trains on is not known: {only.origin}. The corrected resampled t "
            "needs their ratio.",
            hint=f"{SAY_SHARE}.",
        )
    return compare_contestants(
        TabledSplits({}, results=only),
        choose_pairs(list(only.learners), control),
        None,
        CompareOptions(options.level, options.seed, None, options.method, options.rope),
        options.claims,
        options.ignore,
    )


def _compare_means(found: Sequence[SplitResults], control: str | None, options: TableOptions) -> Comparison:
    """Several data sets: the mean over the splits of each is one result."""
    names = [own.data_set for own in found]
    method = None if options.method is None else PROCEDURES.get(method_key(options.method))
    if method is not None and method.setting == SPLITS_SETTING:
        raise OptionError(
            f"The method {method.name!r} is for the splits of one data set, and there are {len(names)}: "
            f"{listing(names)}.",
            hint="name one of them (data_set=, --data-set), or leave out method (--method) to compare over all.",
        )
    for own in found:
        if own.learners != found[0].learners:
            raise ValuesError(
                f"Not all data sets have the same learners: {names[0]} has {listing(found[0].learners)}, and "
                f"{own.data_set} {listing(own.learners)}.",
                hint="give every learner results on every data set.",
            )
    quantity = found[0].quantities[0]
    if len(found[0].quantities) > 1:
        measures = listing(each.bound.name for each in found[0].quantities)
        raise OptionError(
            f"Over several data sets learners are compared by one measure, and there are: {measures}.",
            hint="name one (measure=, --measure).",
        )
    if options.claims.margin is not None:
        raise OptionError(
            "A margin is judged on one data set, and here learners are compared over several.",
            hint="name one of them (data_set=, --data-set), or leave out margin (--margin).",
        )
    means = {own.data_set: means_together(own.values[quantity.key]) for own in found}
    table = {learner: {name: row[at] for name, row in means.items()} for at, learner in enumerate(found[0].learners)}
    gaps = {own.data_set: int(np.isnan(own.values[quantity.key]).any(axis=0).sum()) for own in found}
    comparison = compare_table(table, control, options, None if quantity.bound.name == UNNAMED else quantity.bound.name)
    sizes = sorted({own.folds * own.repeats for own in found})
    splits = f"{sizes[0]:,}" if len(sizes) == 1 else f"{sizes[0]:,} to {sizes[-1]:,}"
    note = (
        f"There are {splits} splits of each data set, and their mean is its one result: splits are no data sets. "
        "The splits of one data set are compared by data_set= (--data-set)."
    )
    left = [f"{name} {gap:,}" for name, gap in gaps.items() if gap]
    lacking = [f"Splits in which a learner has no value are left out of all of them: {listing(left)}."] if left else []
    read = [write_sentence(each) for own in found for each in own.notes]
    told = [each for each in dict.fromkeys([note, *lacking, *read]) if each not in comparison.notes]
    return comparison._with_notes(told)  # noqa: SLF001 - the contract of every comparison


# Reading: which columns are runs and folds, data sets, learners and sizes, and which hold the results.


def read_split_results(
    source: Any,
    asked: Sequence[str] = (),
    *,
    splits: bool | None = None,
    test_share: Any = None,
    data_set: str | None = None,
) -> list[SplitResults] | None:
    """The results of single splits, by data set; None for a table of data sets × learners.

    A table is one of splits where columns of runs or folds say so, or names of rows such as "fold 3", or `splits` does;
    `splits=False` says that rows are data sets, and None says nothing. `source` is a frame, a mapping of
    columns, an array, or a mapping of learners to what `cross_validate` gave. `asked` are the measures by name, and
    `test_share` is the share of cases that a split tests where the table does not say it.

    >>> table = {"fold": [1, 2, 3], "tree": [0.8, 0.9, 0.7], "bayes": [0.7, 0.9, 0.6]}
    >>> found = read_split_results(table)
    >>> found[0].learners, found[0].ratio, found[0].plan
    (('tree', 'bayes'), 0.5, '3 folds')
    """
    share = None if test_share is None else read_share(test_share)
    if is_cross_validated(source):
        return [_read_cross_validated(source, asked, share)]
    columns = list_columns(source)
    if columns is None:
        if splits:
            # Raises the error for what is no table.
            read_results(source)
        return None
    roles = {name: role for name, values in columns.items() if (role := column_role(name, values))}
    marks = [name for name, role in roles.items() if role in ("run", "fold")]
    for name, role in roles.items():
        missing = [row + 1 for row, value in enumerate(columns[name]) if is_missing(value)]
        if missing and marks and role in ("run", "fold", "data set", "learner"):
            raise ColumnError(
                f"The column {name} has no value in {counted(len(missing), 'row')}: {listing(missing, most=5)}.",
                hint="say in every row which split of which data set it is of.",
            )
    steps = [name for name, role in roles.items() if role == "step"]
    if steps:
        raise ColumnError(
            f"The column {listing(steps)} is no learner, and says that rows are the same cases predicted again: they "
            "are neither data sets nor splits.",
            hint="keep the last of them, and leave the column out.",
        )
    if marks and splits is False:
        raise OptionError(
            f"It was said that rows are data sets, and {_describe_marks(marks)}.",
            hint="leave out splits=False (--no-splits); or leave out the column where its rows are data sets.",
        )
    check_learners(columns)
    check_result_columns(columns, roles, measure_named=bool(asked), splits=bool(splits or marks))
    if not (splits or marks):
        for option, given in (("test_share (--test-share)", share), ("data_set (--data-set)", data_set)):
            if given is not None:
                raise OptionError(
                    f"{option} is for results of single splits, and no column of this table says that it holds any.",
                    hint="say that its rows are splits (splits=True, --splits), or leave it out.",
                )
        return None
    notes = () if splits else (_describe_marks(marks),)
    table = _SplitTable(columns, roles, marks, tuple(asked), share, notes)
    return table.by_data_set(data_set)


def read_share(value: Any) -> float:
    """A share of the cases, as a number or a fraction.

    >>> read_share("1/4"), read_share(0.1)
    (0.25, 0.1)
    """
    hint = "write 10 % as 0.1, and a third as 1/3."
    try:
        number = float(Fraction(value.strip())) if isinstance(value, str) else value
    except (ValueError, ZeroDivisionError):
        number = value
    return check_share("The share of cases that a split tests", number, hint)


def _describe_marks(marks: Sequence[str]) -> str:
    columns, verb = ("column", "says") if len(marks) == 1 else ("columns", "say")
    return f"the {columns} {listing(marks)} {verb} that rows are splits of a data set, and not data sets"


def _number(value: Any) -> float:
    """A result as a number; Weka writes ? where a measure is undefined."""
    if value is None or (isinstance(value, str) and value.strip() in ("", "?")):
        return math.nan
    return float(value)


def _numbers(values: Sequence[Any]) -> Floats | None:
    try:
        return np.array([_number(value) for value in values], dtype=np.float64)
    except (TypeError, ValueError):
        return None


def _refuse_mixed(name: str, values: Sequence[Any]) -> None:
    """Refuse a column of results in which single values are no numbers."""
    wrong = [(row, value) for row, value in enumerate(values) if _numbers([value]) is None]
    if len(wrong) < sum(not is_missing(value) for value in values):
        row, value = wrong[0]
        raise ValuesError(
            f"The column {name} holds numbers, but {str(value)!r} in row {row + 1:,}.",
            hint="give one number for every split; where a measure is undefined, leave it empty.",
        )


def _text(value: Any) -> str:
    return str(int(value)) if isinstance(value, float | np.floating) else str(value)


Key = tuple[str, ...]
# For each quantity, the values of all learners by split.
Cells = list[tuple[Quantity, list[dict[tuple[Key, str], float]]]]


@dataclass(frozen=True, eq=False)
class _SplitTable:
    """A table of results of single splits, before it is known what each row holds."""

    columns: Mapping[str, Sequence[Any]]
    roles: Mapping[str, str]
    marks: Sequence[str]
    asked: tuple[str, ...]
    share: float | None
    notes: tuple[str, ...]

    def by_data_set(self, wanted: str | None) -> list[SplitResults]:
        """The results of every data set, or of the one that is wanted."""
        numbers = {name: _numbers(values) for name, values in self.columns.items() if name not in self.roles}
        first = next(iter(self.columns), "")
        if plain_name(first) in NAME_HEADERS and first in numbers:
            # The first column of a frame that was written with its index only counts.
            del numbers[first]
        texts = [name for name, values in numbers.items() if values is None]
        for name in texts:
            _refuse_mixed(name, self.columns[name])
        if len(texts) == 1 == len(numbers) - 1 and not self._with_role("learner"):
            # Beside one column of numbers, that of texts names the learners.
            return replace(self, roles={**self.roles, texts[0]: "learner"}).by_data_set(wanted)
        data_sets = self._with_role("data set") or ([] if self._with_role("learner") else texts)
        left = [name for name in texts if name not in data_sets]
        if not self._with_role("learner") and (left or len(data_sets) > 1):
            raise ColumnError(
                f"Beside runs, folds and the name of the data set, columns hold numbers. Got text in "
                f"{listing(left or data_sets)}.",
                hint="leave these columns out, or call the one that names the learners learner; of predictions name "
                "the columns (--predicted A --predicted B).",
            )
        by_name = {name: values for name, values in numbers.items() if values is not None}
        names = [" ".join(_text(self.columns[data_set][row]) for data_set in data_sets) for row in range(self._n)]
        if wanted is not None and wanted not in names:
            known = dict.fromkeys(filter(None, names))
            raise OptionError(
                f"There is no data set {wanted!r} in the table. There are: {listing(known) or 'none with a name'}.",
                hint=suggest(wanted, known, "name one of these, or leave out data_set (--data-set)."),
            )
        rows: dict[str, list[int]] = {}
        for row, name in enumerate(names):
            rows.setdefault(name, []).append(row)
        return [self._read(name, rows[name], by_name) for name in rows if wanted is None or name == wanted]

    @property
    def _n(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def _with_role(self, role: str) -> list[str]:
        return [name for name, known in self.roles.items() if known == role]

    def _read(self, data_set: str, rows: list[int], numbers: Mapping[str, Floats]) -> SplitResults:
        keys = self._keys(rows)
        if self._with_role("learner"):
            learners, cells, notes = self._read_long(rows, keys, numbers)
        else:
            learners, cells, notes = self._read_wide(rows, keys, numbers)
        folds, repeats, order = _shape(keys)
        values: dict[MeasureKey, Floats] = {}
        percent: list[str] = []
        for quantity, held in cells:
            table = np.array([[row[key] for key in order] for row in held])
            if quantity.bound.measure.high == 1 or quantity.bound.name == UNNAMED:
                check_one_scale(table, learners, within=True)
            values[quantity.key] = _as_shares(quantity, table)
            if values[quantity.key] is not table:
                percent.append(f"{quantity.bound.name} is read as per cent, because it is above 1")
        ratio, origin = self._ratio(rows, folds)
        return SplitResults(
            data_set, learners, tuple(quantity for quantity, _ in cells), values, folds, repeats, ratio, origin,
            (*self.notes, *notes, *percent),
        )  # fmt: skip

    def _keys(self, rows: list[int]) -> dict[int, tuple[Key, str]]:
        """The run and the fold of every row; without such columns each row is a split of its own."""
        runs, folds = self._with_role("run"), self._with_role("fold")
        if not self.marks:
            counted: dict[str, int] = {}
            keys: dict[int, tuple[Key, str]] = {}
            for row in rows:
                learner = self._learner(row)
                counted[learner] = counted.get(learner, 0) + 1
                keys[row] = ((str(counted[learner]),), "")
            return keys
        return {
            row: (
                tuple(_text(self.columns[name][row]) for name in runs),
                " ".join(_text(self.columns[name][row]) for name in folds),
            )
            for row in rows
        }

    def _learner(self, row: int) -> str:
        return " ".join(_text(self.columns[name][row]) for name in self._with_role("learner"))

    def _read_wide(
        self, rows: list[int], keys: Mapping[int, tuple[Key, str]], numbers: Mapping[str, Floats]
    ) -> tuple[tuple[str, ...], Cells, list[str]]:
        """A column for each learner."""
        if len(self.asked) > 1:
            raise OptionError(
                f"Each column holds one learner by one measure, and these were named: {listing(self.asked)}.",
                hint="name one (measure=, --measure).",
            )
        quantity = _quantity(self.asked[0]) if self.asked else Quantity(Bound(result))
        by_column = [_by_key(name, rows, keys, values) for name, values in numbers.items()]
        return tuple(numbers), [(quantity, by_column)], [] if self.asked else [HIGHER]

    def _read_long(
        self, rows: list[int], keys: Mapping[int, tuple[Key, str]], numbers: Mapping[str, Floats]
    ) -> tuple[tuple[str, ...], Cells, list[str]]:
        """A row for each learner and split, with a column for each measure."""
        by_learner: dict[str, list[int]] = {}
        options = self._with_role("options")
        for row in rows:
            scheme = " ".join([self._learner(row), *(_text(self.columns[name][row]).strip() for name in options)])
            by_learner.setdefault(scheme.strip(), []).append(row)
        chosen, notes = _choose_measures(numbers, self.asked)
        cells: Cells = []
        for quantity, column, factor in chosen:
            scaled = numbers[column] * factor
            cells.append((quantity, [_by_key(name, own, keys, scaled) for name, own in by_learner.items()]))
        first, *others = by_learner.items()
        for name, own in others:
            missing = {keys[row] for row in first[1]} ^ {keys[row] for row in own}
            if missing:
                shown = listing(sorted(map(_show_key, missing)), most=4)
                raise ValuesError(
                    f"{first[0]} and {name} do not have the same splits; only one of them has: {shown}.",
                    hint="compare learners over the same splits, one row of each in every split.",
                )
        return _short_names(list(by_learner)), cells, notes

    def _ratio(self, rows: list[int], folds: int) -> tuple[float, str]:
        """The size of a test part over that of its training part, and where it is known from."""
        if self.share is not None:
            return self.share / (1 - self.share), f"from the share of tested cases that was given ({self.share:.4g})"
        trained, tested = self._with_role("trained"), self._with_role("tested")
        if trained and tested:
            sums = [
                float(np.sum([_number(self.columns[name][row]) for row in rows])) for name in (tested[0], trained[0])
            ]
            if all(math.isfinite(size) and size > 0 for size in sums):
                return sums[0] / sums[1], f"from the columns {tested[0]} and {trained[0]}"
        if folds > 1:
            return 1 / (folds - 1), f"from the number of folds ({folds})"
        if self._with_role("fold"):
            return math.nan, "the runs do not all have the same two folds or more"
        return math.nan, "no column says it, and there are no folds to count"


HIGHER = "no measure is named, so higher is taken as better: of errors and losses say which (measure=, --measure)"


def _show_key(key: tuple[Key, str]) -> str:
    run, fold = key
    return ", ".join(filter(None, [f"run {' '.join(run)}" if run else "", f"fold {fold}" if fold else ""])) or "a split"


def _by_key(
    learner: str, rows: Sequence[int], keys: Mapping[int, tuple[Key, str]], values: Floats
) -> dict[tuple[Key, str], float]:
    """The value of a learner in every split, of which each must stand in one row."""
    by_key: dict[tuple[Key, str], float] = {}
    for row in rows:
        if keys[row] in by_key:
            raise ValuesError(
                f"{learner} has several results in one split ({_show_key(keys[row])}).",
                hint="give one row for every split: leave out what is no result of a split, or name the run, the "
                "fold and the data set of each row in columns; of predictions name the columns (--predicted A "
                "--predicted B).",
            )
        by_key[keys[row]] = float(values[row])
    return by_key


def _shape(keys: Mapping[int, tuple[Key, str]]) -> tuple[int, int, list[tuple[Key, str]]]:
    """The folds of one repetition, the repetitions, and the splits in order; random splits have one fold each."""
    every = list(dict.fromkeys(keys.values()))
    runs: dict[Key, list[str]] = {}
    for run, fold in every:
        runs.setdefault(run, []).append(fold)
    folds = next(iter(runs.values()))
    if len(folds) > 1 and all(set(own) == set(folds) for own in runs.values()):
        return len(folds), len(runs), [(run, fold) for run in runs for fold in folds]
    return 1, len(every), every


def _quantity(name: str) -> Quantity:
    """The quantity that a person asked for by name."""
    text, bracket, inside = name.partition("[")
    quantity = read_quantity(text)
    return replace(quantity, class_=inside.removesuffix("]")) if bracket else quantity


def _choose_measures(
    numbers: Mapping[str, Floats], asked: Sequence[str]
) -> tuple[list[tuple[Quantity, str, float]], list[str]]:
    """The columns to compare by, each with its quantity and factor, and what is to be said of the choice."""
    measures = {column: known for column in numbers if (known := measured_by(column)) is not None}
    if asked:
        chosen = []
        for name in asked:
            wanted = _quantity(name)
            column = next((column for column, (each, _) in measures.items() if each.key == wanted.key), None)
            if column is None and len(numbers) == 1 and len(asked) == 1:
                column = next(iter(numbers))
            if column is None:
                raise ColumnError(
                    f"No column holds {name}. There are: {listing(numbers)}.",
                    hint="name a measure that the table holds (measure=, --measure).",
                )
            chosen.append((wanted, column, measures[column][1] if column in measures else 1.0))
        return chosen, []
    first = next((column for column in measures if plain_name(column) == WEKA_FIRST), None)
    if first is not None:
        return [(measures[first][0], first, measures[first][1])], []
    if measures:
        unused = [column for column in numbers if column not in measures]
        note = [f"not compared, as they are no measures: {listing(unused)}"] if unused else []
        return [(quantity, column, factor) for column, (quantity, factor) in measures.items()], note
    if len(numbers) == 1:
        return [(Quantity(Bound(result)), next(iter(numbers)), 1.0)], [HIGHER]
    raise ColumnError(
        f"Which column holds the results is not known: {listing(numbers) or 'none holds numbers'}.",
        hint="keep one of them, or call it by the measure, such as accuracy.",
    )


def _as_shares(quantity: Quantity, values: Floats) -> Floats:
    """Percentages of a measure between 0 and 1 as shares; the values themselves otherwise."""
    measured = quantity.bound.measure
    defined = values[~np.isnan(values)]
    percent = len(defined) and measured.high == 1 and defined.max() > 1 and defined.max() <= 100
    return values / 100 if percent and defined.min() >= 100 * max(measured.low, -1) else values


def _short_names(schemes: Sequence[str]) -> tuple[str, ...]:
    """Weka's schemes without their packages and options, where that tells them apart."""
    bare = [scheme.split(" ")[0].rpartition(".")[2] if scheme.startswith("weka.") else scheme for scheme in schemes]
    short = [re.sub(r"^weka\.(?:\w+\.)*", "", scheme) if scheme.startswith("weka.") else scheme for scheme in schemes]
    return tuple(next(names for names in (bare, short, schemes) if len(set(names)) == len(names)))


def is_cross_validated(source: Any) -> bool:
    """Whether each value of a mapping is what scikit-learn's `cross_validate` gave."""
    return isinstance(source, Mapping) and bool(source) and all(map(is_cross_validation, source.values()))


def is_cross_validation(item: Any) -> bool:
    """Whether this is what scikit-learn's `cross_validate` gave, or a frame of it: times and the scores of test parts.

    >>> is_cross_validation({"fit_time": [0.1, 0.1], "test_score": [0.9, 0.8]}), is_cross_validation({"iris": 0.9})
    (True, False)
    """
    if hasattr(item, "collect"):
        return False  # a lazy frame, whose names take a look at the data
    names = list(item) if isinstance(item, Mapping) else list(getattr(item, "columns", ()))
    scored = [str(name) for name in names if str(name).startswith(SCORES_OF_TESTS)]
    return bool(scored) and (len(scored) == len(names) or "fit_time" in names)


def _read_cross_validated(source: Mapping[Any, Any], asked: Sequence[str], share: float | None) -> SplitResults:
    """What `cross_validate` gave for each learner, over the same splits."""
    source = {name: _as_mapping(given) for name, given in source.items()}
    numbers: dict[str, list[Floats]] = {}
    for given in source.values():
        for name, scores in _test_scores(given).items():
            # Scorers are such that higher is better: of a loss they give the negative.
            scorer = name.removeprefix(SCORES_OF_TESTS)
            loss = scorer.removeprefix("neg_")
            negated = scorer != loss and measured_by(loss) is not None
            signed = np.asarray(scores, dtype=np.float64) * (-1 if negated else 1)
            numbers.setdefault(loss if negated else scorer, []).append(signed)
    sizes = {str(name): len(next(iter(_test_scores(given).values()))) for name, given in source.items()}
    splits = next(iter(sizes.values()))
    if len(set(sizes.values())) > 1 or any(len(rows) != len(source) for rows in numbers.values()):
        shown = listing(f"{name} {size} of {listing(_test_scores(source[name]))}" for name, size in sizes.items())
        raise ValuesError(
            f"The learners were not scored alike: {shown}.", hint="use the same cv and the same scoring for all."
        )
    tables = {name: np.stack(rows) for name, rows in numbers.items()}
    chosen, notes = _choose_measures({name: table[0] for name, table in tables.items()}, asked)
    values = {}
    for quantity, column, factor in chosen:
        negated = quantity.bound.measure.direction == "lower" and bool((tables[column] <= 0).all())
        values[quantity.key] = tables[column] * (-factor if negated else factor)
    folds, ratio, origin = _read_indices(source, splits)
    if share is not None:
        ratio, origin = share / (1 - share), f"from the share of tested cases that was given ({share:.4g})"
    notes = [note for note in notes if note != HIGHER]
    return SplitResults(
        "", tuple(map(str, source)), tuple(quantity for quantity, *_ in chosen), values, folds, splits // folds, ratio,
        origin, tuple(notes),
    )  # fmt: skip


def _as_mapping(given: Any) -> Mapping[Any, Any]:
    """What `cross_validate` gave, of a frame of it by column; a row called mean is no split."""
    if isinstance(given, Mapping):
        return given
    table, _ = drop_summaries(given)
    return list_columns(table) or {}


def _test_scores(given: Mapping[Any, Any]) -> dict[str, Any]:
    return {str(name): values for name, values in given.items() if str(name).startswith(SCORES_OF_TESTS)}


def _read_indices(source: Mapping[Any, Any], splits: int) -> tuple[int, float, str]:
    """The folds of one repetition and the ratio, from the indices of the splits where they were kept."""
    indices = [given.get("indices") for given in source.values()]
    known = [each for each in indices if isinstance(each, Mapping)]
    if len(known) < len(indices):
        why = "cross_validate was called without return_indices=True, and does not say which splits it used"
        return 1, math.nan, why
    tests = [[np.sort(np.asarray(part)) for part in each["test"]] for each in known]
    for name, own in zip(source, tests, strict=True):
        if not all(np.array_equal(part, first) for part, first in zip(own, tests[0], strict=True)):
            raise ValuesError(
                f"{next(iter(source))} and {name} were not tested on the same splits.",
                hint="give cross_validate the same cv, with a random_state where it shuffles.",
            )
    trained = sum(len(part) for part in known[0]["train"])
    ratio = sum(map(len, tests[0])) / trained
    every = len(np.unique(np.concatenate(tests[0])))
    sizes = np.cumsum([len(part) for part in tests[0]])
    folds = int(np.searchsorted(sizes, every)) + 1
    blocks = [np.concatenate(tests[0][start : start + folds]) for start in range(0, splits, folds)]
    whole = splits % folds == 0 and all(len(block) == every == len(np.unique(block)) for block in blocks)
    return folds if whole and folds > 1 else 1, ratio, "from the indices of the splits"
