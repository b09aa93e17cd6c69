"""The front door to comparisons: is A better than B, by how much, and may we say so."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, Unpack

from heldout.api.contestants import (
    ContestantOptions,
    OpenConnections,
    gather_contestants,
    is_contestant,
    is_judged_here,
    is_readable,
    name_items,
    read_columns,
)
from heldout.api.evaluate import check_path
from heldout.api.options import EngineArguments, takes
from heldout.arguments import Missing, check_level, check_whole, listing
from heldout.comparisons.comparison import Comparison, PairwiseComparison
from heldout.comparisons.design_choice import Contestant, choose_design
from heldout.comparisons.margins import MarginKind
from heldout.comparisons.pairing_design import CompareOptions, PairingDesign
from heldout.comparisons.pairwise import Claims, TableOptions, choose_pairs, compare_contestants, compare_table
from heldout.comparisons.split_results import (
    compare_splits,
    is_cross_validated,
    is_cross_validation,
    read_split_results,
)
from heldout.comparisons.table_layout import check_row_names, drop_summaries, find_classifiers
from heldout.engines.engine_choice import EngineOptions, lazy_frame
from heldout.errors import OptionError
from heldout.evidence import Label
from heldout.files import read_table
from heldout.files.ledger import enter_use
from heldout.findings.review import check_codes
from heldout.measures.catalogue import name_measures, read_quantity
from heldout.measures.declare import Measure
from heldout.result import keeps_backend
from heldout.results.validation import Validations


@keeps_backend
@takes(EngineArguments)
def compare(
    *classifiers: Any,
    measures: str | Measure | Sequence[str | Measure] | None = None,
    method: str | None = None,
    names: Sequence[str] | None = None,
    paired: bool | None = None,
    control: str | None = None,
    correction: str | None = None,
    margin: float | None = None,
    margin_kind: MarginKind = "non-inferiority",
    rope: float | None = None,
    splits: bool | None = None,
    test_share: float | str | None = None,
    data_set: str | None = None,
    X: Any = None,
    y: Any = None,
    truth: Any = None,
    predicted: Any = None,
    score: Any = None,
    threshold: float | None = None,
    id: Any = None,  # noqa: A002 - the word for it everywhere, flags and columns included
    fold: Any = None,
    group: Any = None,
    weight: Any = None,
    positive: Label | None = None,
    labels: Sequence[Label] | None = None,
    costs: Any = None,
    cost_rows: str | None = None,
    missing: Missing = "refuse",
    level: float = 0.95,
    seed: int = 0,
    replicates: int | None = None,
    ignore: str | Iterable[str] = (),
    ledger: Any = None,
    **large: Unpack[EngineArguments],
) -> Comparison:
    """Compare classifiers by the procedure that fits how they were tested, and say which and why.

    Files are matched by `id` or by their order. One file may hold several columns of predictions or scores. Results of
    single splits are a table with columns of runs or folds, a file of Weka's Experimenter, or what `cross_validate`
    gave by learner; of rows without names `splits` must say whether they are splits (True) or data sets (False). With
    more than two, all pairs are compared, or all with the `control`. Of three or more, `best` of the answer says which
    may be the best. Lazy frames and files that are too large are joined and counted where they are.

    Parameters
    ----------
    *classifiers : evaluations, validations, fitted models, arrays, paths, data frames or tables
        Two or more classifiers, or a dictionary of them by name; or one file with several columns of predictions; or
        one table of results. Fitted models are judged on X and truth, arrays of predictions or scores against truth.
    measures : str or sequence of str, optional
        The measures to compare by; by default those of the headline.
    method : str, optional
        The procedure, such as "mcnemar-exact", "delong" or "corrected-t"; by default the one that fits.
    names : sequence of str, optional
        What the classifiers are called, in their order.
    paired : bool, optional
        Whether they judged the same cases; by default it is told from the cases.
    control : str, optional
        The name of the one that all others are compared with; by default all pairs.
    correction : str, optional
        How p-values are corrected for the number of pairs: "holm" (the default), "hommel", "shaffer", "none", …
    margin : float, optional
        Whether the first is worse by no more than this.
    margin_kind : {"non-inferiority", "equivalence"}
        Whether the margin is for not being worse, or for not being different.
    rope : float, optional
        The largest difference that does not matter, for Bayesian methods.
    splits : bool
        Whether each row of a table holds the results of one split of a data set.
    test_share : float or str, optional
        The share of cases that each of these splits tests, where the table does not say it.
    data_set : str, optional
        The data set of the table to compare on.
    X : array or data frame, optional
        For fitted models, the features of the cases.
    y : array, optional
        For fitted models, the true classes: compare(model, other, X=X, y=y).
    truth : array or column name, optional
        The true classes, or their column.
    predicted : column name or names, optional
        The column of predictions of every file; or several of one file, a classifier each.
    score : column name or names, optional
        The column of scores of every file; or several of one file, a classifier each.
    threshold : float, optional
        The score from which the positive class is predicted; 0.5 for probabilities by default.
    id : column name, optional
        The column that names the case; without it, rows are matched by their order.
    fold : column name, optional
        The column of folds: compare fold by fold.
    group : array or column name, optional
        Which cases belong together, such as those of one patient. Intervals take whole groups as the cases.
    weight : array or column name, optional
        How much each case counts.
    positive : label, optional
        The positive class; known for usual pairs such as no and yes, or 0 and 1.
    labels : sequence of labels, optional
        The classes in the order to show them; by default those that occur.
    costs : Costs, table, dictionary, path or text, optional
        What each kind of error costs, as in "yes,no:10; no,yes:1" (truth, predicted: cost).
    cost_rows : {"truth", "predicted"}, optional
        What the rows of a table of costs are.
    missing : {"refuse", "drop"}
        What to do with rows with missing values: refuse them, or drop them and say how many.
    level : float
        The level of the intervals: the share of them that should contain the true value.
    seed : int
        Seed of the random number generator.
    replicates : int, optional
        How many replicates are drawn where a method resamples; by default 2,000 of counts and 999 of scores.
    ignore : str or sequence of str
        Codes of rules that are not to be checked, such as "H014".
    ledger : path, optional
        A file that records every use of the cases; a finding reports earlier uses.
    engine : str, optional
        What reads and counts a path: memory, stream, polars, duckdb, dask or spark; by default chosen by its size.
    master : str, optional
        The cluster that the engine runs on, such as "spark://host:7077"; by default this machine.
    tolerance : float, optional
        How far areas may be off where scores are counted in bins.
    passes : int
        How often the scores may be read to reach the tolerance.
    threads : int, optional
        How many threads count; by default as many as there are cores.

    Returns
    -------
    Comparison
        A verdict for every pair: differences with intervals (PairwiseComparison), and of three or more learners on many
        data sets their ranks (LearnerRanks).

    Examples
    --------
    >>> from heldout.api.evaluate import evaluate
    >>> truth = [0] * 60 + [1] * 60
    >>> good, poor = [0] * 55 + [1] * 60 + [0] * 5, [0] * 40 + [1] * 70 + [0] * 10
    >>> result = compare(evaluate(truth, good), evaluate(truth, poor), measures="accuracy")
    >>> print(result.verdict)
    A is better than B: accuracy .917 against .750, a difference of .167 [.111, .243], p < .001.

    """
    named = name_measures(measures)
    check_level(level)
    check_whole("seed", seed, 0)
    if replicates is not None:
        check_whole("replicates", replicates, 1)
    ignored = check_codes(ignore)
    if not classifiers:
        classifiers, predicted, score = _take_named(predicted, score), None, None
    if y is not None and truth is not None:
        raise OptionError("The true classes were given twice, as y and as truth.", hint="give one of them.")
    EngineOptions.from_options(large).checked()
    claims = Claims(correction, margin, margin_kind)
    claims.check(control)
    # Connections that an engine opens for reading are closed when all is counted.
    with OpenConnections() as opened:
        reading = ContestantOptions(
            truth if y is None else y, predicted, score, threshold, id, fold, group, weight, positive, labels, costs,
            level, missing, seed, only_scores(named), cost_rows=cost_rows, opened=opened, X=X,
            large=large,
        )  # fmt: skip
        by_split, same_cases = _SplitOptions(splits, test_share, data_set), paired is not False
        contestants = _read_contestants(classifiers, names, reading, same_cases=same_cases)
        notes: tuple[str, ...] = ()
        if contestants is None:
            table = _open_table(classifiers)
            if not by_split.given():
                contestants, notes = _find_predictions(table, classifiers[0], reading, names, same_cases=same_cases)
        if contestants is None:
            if ledger is not None:
                raise OptionError(
                    "A ledger is about the cases of a test set, and a table of results has none.",
                    hint="leave out ledger (--ledger).",
                )
            others = {"names": names, "paired": paired, "replicates": replicates}
            options = TableOptions(level, method, rope, claims, seed=seed, ignore=ignored)
            return _compare_results(classifiers, table, by_split, others, reading, options, control, named)
        by_split.check_unused()
        if len(contestants) < 2:
            only = next(iter(contestants))
            raise OptionError(f"Only one classifier was given: {only}.", hint="give at least two to compare.")
        pairs = choose_pairs(list(contestants), control)
        design = choose_design(contestants, paired=paired)
        comparison = compare_contestants(
            design, pairs, named, CompareOptions(level, seed, replicates, method, rope), claims, ignored
        )  # fmt: skip
    comparison = _note(comparison, notes)
    return comparison if ledger is None else enter_comparison(comparison, design, ledger)


class _SplitOptions(NamedTuple):
    """What is said of results of single splits."""

    splits: bool | None = None
    test_share: float | str | None = None
    data_set: str | None = None

    def given(self) -> list[str]:
        """The names of what was said."""
        return [name for name, value in self._asdict().items() if value is not None]

    def check_unused(self) -> None:
        """Refuse what has no meaning for predictions."""
        given = self.given()
        if given:
            raise OptionError(
                f"These options are for a table of results of single splits, and here are predictions: "
                f"{listing(given)}.",
                hint="leave them out; folds of predictions are a column of the file (fold=, --fold).",
            )


def _take_named(predicted: Any, score: Any) -> tuple[Any, ...]:
    """Predictions or scores by the names of the models, as scikit-learn's words would have them."""
    given = [columns for columns in (predicted, score) if columns is not None]
    if len(given) == 1 and isinstance(given[0], Mapping):
        return (given[0],)
    raise OptionError("There is nothing to compare.", hint="give two or more evaluations, validations or files.")


def _open_table(classifiers: Sequence[Any]) -> Any:
    """What is compared without predictions of single classifiers: a file is read, which a pipe allows once."""
    source = classifiers[0]
    return read_table(source) if isinstance(source, str | Path) else source


def _find_predictions(
    table: Any, source: Any, reading: ContestantOptions, names: Any, *, same_cases: bool
) -> tuple[dict[str, Contestant] | None, tuple[str, ...]]:
    """The classifiers in one table of predictions, and how it was read; None where it holds results."""
    if is_cross_validation(table) or reading.predicted is not None or reading.score is not None:
        return None, ()
    layout = find_classifiers(table)
    if layout is None or reading.truth not in (None, layout.truth):
        return None, ()
    data = source if isinstance(source, str | Path) and Path(source).is_file() else table
    named = replace(reading, truth=layout.truth, predicted=layout.predicted, score=layout.score)
    return read_columns(data, named, names, same_cases=same_cases), (layout.note,)


def _compare_results(
    classifiers: Sequence[Any],
    table: Any,
    by_split: _SplitOptions,
    others: dict[str, Any],
    reading: ContestantOptions,
    options: TableOptions,
    control: str | None,
    measure: str | Sequence[str] | None,
) -> Comparison:
    """A table of results, or the results of single splits, which columns of runs and folds tell."""
    if all(map(is_cross_validation, classifiers)):
        table = name_items(classifiers, others.pop("names"))
    margin = {"margin": options.claims.margin}
    _check_table_options(classifiers[0], others | (margin if reading.given() else {}), reading)
    table, notes = drop_summaries(table)
    asked = [measure] if isinstance(measure, str) else list(measure or ())
    results = read_split_results(table, asked, **by_split._asdict())
    if results is not None:
        return _note(compare_splits(results, control, options), notes)
    # A margin is judged over splits, and not over data sets.
    _check_table_options(classifiers[0], margin, reading)
    if by_split.splits is None:
        check_row_names(table)
    return _note(compare_table(table, control, options, measure), notes)


Made = TypeVar("Made", bound=Comparison)


def _note(comparison: Made, notes: Sequence[str]) -> Made:
    """The same with more notes before its own."""
    return comparison._with_notes(notes)  # noqa: SLF001 - the contract of every comparison


def enter_comparison(comparison: PairwiseComparison, design: PairingDesign, ledger: Any) -> PairwiseComparison:
    """The comparison with what a ledger says of its cases, in which this use is entered."""
    values: dict[tuple[str, str], float] = {}
    for pair in comparison.pairs:
        values |= {(pair.a, pair.name): pair.value_a, (pair.b, pair.name): pair.value_b}
    cases = [evaluation.fingerprint for evaluation in design.evaluations]
    return replace(comparison, earlier=enter_use(check_path(ledger), "compare", cases, values))


def only_scores(measure: str | Sequence[str] | None) -> bool:
    """Whether all that is asked for is made from scores, so that no threshold is needed.

    >>> only_scores(["roc_auc", "brier"]), only_scores("accuracy"), only_scores(None)
    (True, False, False)
    """
    asked = [measure] if isinstance(measure, str) else list(measure or ())
    return bool(asked) and all(read_quantity(name.partition("[")[0]).is_score for name in asked)


def _read_contestants(
    classifiers: Sequence[Any], names: Any, reading: ContestantOptions, *, same_cases: bool
) -> dict[str, Contestant] | None:
    """The contestants by name; None for a table of results."""
    if all(map(is_cross_validation, classifiers)) or (len(classifiers) == 1 and is_cross_validated(classifiers[0])):
        return None
    if len(classifiers) > 1:
        return gather_contestants(classifiers, names, reading, same_cases=same_cases)
    only = classifiers[0]
    if isinstance(reading.predicted, list | tuple) or isinstance(reading.score, list | tuple):
        return read_columns(only, reading, names, same_cases=same_cases)
    # An array of true classes stands beside arrays of predictions, which without it are a table of results.
    known = is_judged_here if reading.truth_is_given and not is_readable(only) else is_contestant
    if isinstance(only, list | tuple) and only and all(map(known, only)):
        return gather_contestants(only, names, reading, same_cases=same_cases)
    named = isinstance(only, Mapping) and only and all(known(item) for item in only.values())
    if lazy_frame(only) is not None:
        raise OptionError(
            f"There is one lazy frame only ({type(only).__name__}), and no columns of several classifiers were named.",
            hint="name them (predicted=['a', 'b'] or score=[…]), give several frames with id=, or collect a table of "
            "results.",
        )
    # A file or a frame alone is a table of results.
    if named or isinstance(only, Validations) or (is_contestant(only) and not is_readable(only)):
        return gather_contestants([only], names, reading, same_cases=same_cases)
    return None


def _check_table_options(table: Any, others: dict[str, Any], reading: ContestantOptions) -> None:
    """Refuse options that are not for a table of results, which one file or frame alone is taken for."""
    given = [*(name for name, value in others.items() if value is not None), *reading.given()]
    if given:
        what = f"{Path(table).name} alone" if isinstance(table, str | Path) else "One table alone"
        raise OptionError(
            f"{what} is a table of results (data sets × learners), for which these options have no meaning: "
            f"{listing(given)}.",
            hint="leave them out; or give several files, or several columns of one (predicted=, --predicted, --score).",
        )
