"""The front door to comparisons: is A better than B, by how much, and may we say so."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any, Literal

from heldout.api.contestants import (
    Contestant,
    ReadOptions,
    gather_contestants,
    is_contestant,
    is_readable,
    read_columns,
)
from heldout.api.design import CompareOptions, PairingDesign, is_score
from heldout.api.external_cases import OpenConnections
from heldout.api.pairing import choose_design
from heldout.api.pairwise import (
    Claims,
    TableOptions,
    compare_in_table,
    describe_procedures,
    keep_applicable,
    list_known_limits,
    note_multiplicity,
    note_pooled_values,
    note_uncorrected,
    run_pairwise_tests,
    wants_pairs,
)
from heldout.arguments import check_level, check_whole, closest, listing
from heldout.comparisons.comparison import Comparison
from heldout.comparisons.learner_ranks import LearnerRanks, rank_learners
from heldout.comparisons.ranks import read_results
from heldout.engines.engine_choice import EngineOptions, lazy_frame
from heldout.errors import ColumnError, OptionError
from heldout.evidence import Label
from heldout.findings.review import check_codes
from heldout.measures.catalogue import read_quantity
from heldout.predictions.table import Missing
from heldout.results.validation import Validations

MarginKind = Literal["non-inferiority", "equivalence"]


def compare(
    *classifiers: Any,
    measure: str | Sequence[str] | None = None,
    method: str | None = None,
    names: Sequence[str] | None = None,
    paired: bool | None = None,
    control: str | None = None,
    correction: str | None = None,
    margin: float | None = None,
    margin_kind: MarginKind = "non-inferiority",
    rope: float | None = None,
    truth: Any = None,
    predicted: Any = None,
    score: Any = None,
    threshold: float | None = None,
    id: Any = None,  # noqa: A002 - the word for it everywhere, flags and columns included
    fold: Any = None,
    group: Any = None,
    positive: Label | None = None,
    labels: Sequence[Label] | None = None,
    costs: Any = None,
    missing: Missing = "refuse",
    level: float = 0.95,
    seed: int = 0,
    replicates: int | None = None,
    mute: str | Iterable[str] = (),
    engine: str | None = None,
    master: str | None = None,
    tolerance: float = 1e-6,
    passes: int = 3,
) -> Comparison | LearnerRanks:
    """Compare classifiers by the procedure that fits how they were tested, and say which and why.

    Takes evaluations or files of predictions of the same cases (matched by `id` or by their order), validations by the
    same splits, one file with several columns of predictions or scores (`predicted=["a", "b"]`), or one table of
    results (data sets × learners). `paired=False` says that the test sets differ. With more than two, all pairs are
    compared, or all with the `control`, and the p-values corrected (Holm unless said). A `margin` asks whether the
    first is not worse, or not different, by more than that. `mute` names rules that are not to be checked. Where a
    method resamples, it draws `replicates`: 2,000 of counts and 999 of scores unless a number is given.
    Lazy frames (of Polars, DuckDB, Ibis, Spark or Dask) and files that are too large are joined and counted where they
    are; `engine`, `master`, `tolerance` and `passes` are those of `evaluate`.

    >>> from heldout.api.evaluate import evaluate
    >>> truth = [0] * 60 + [1] * 60
    >>> good, poor = [0] * 55 + [1] * 60 + [0] * 5, [0] * 40 + [1] * 70 + [0] * 10
    >>> found = compare(evaluate(truth, good), evaluate(truth, poor), measure="accuracy")
    >>> print(found.verdict)
    A is better than B: accuracy .917 against .750, a difference of .167 [.111 – .243], p < .001.
    """
    check_level(level)
    check_whole("seed", seed, 0)
    if replicates is not None:
        check_whole("replicates", replicates, 1)
    muted = check_codes(mute)
    if not classifiers:
        raise OptionError("There is nothing to compare.", hint="give two or more evaluations, validations or files.")
    EngineOptions(engine, master, tolerance, passes).checked()
    claims = Claims(correction, margin, margin_kind)
    claims.check(control)
    # Connections that an engine opens for reading are closed when all is counted.
    with OpenConnections() as opened:
        reading = ReadOptions(
            truth, predicted, score, threshold, id, fold, group, positive, labels, costs, level, missing, seed,
            only_scores(measure), engine, master, tolerance, passes, opened,
        )  # fmt: skip
        contestants = _read_contestants(classifiers, names, reading, same_cases=paired is not False)
        if contestants is None:
            _check_table_options(classifiers[0], {"names": names, "paired": paired, "margin": margin}, reading)
            options = TableOptions(level, method, rope, claims, seed=seed, mute=muted)
            return _compare_table(classifiers[0], control, options, measure)
        if len(contestants) < 2:
            only = next(iter(contestants))
            raise OptionError(f"There is one classifier only: {only}.", hint="give at least two to compare.")
        pairs = _choose_pairs(list(contestants), control)
        design = choose_design(contestants, paired=paired)
        return _compare_all(
            design, pairs, measure, CompareOptions(level, seed, replicates, method, rope), claims, muted
        )  # fmt: skip


def _compare_all(
    design: PairingDesign,
    pairs: list[tuple[int, int]],
    measure: str | Sequence[str] | None,
    options: CompareOptions,
    claims: Claims,
    muted: tuple[str, ...],
) -> Comparison:
    """Test every pair by every measure, and describe what was done."""
    quantities = design.quantities([measure] if isinstance(measure, str) else measure)
    if measure is None and options.method is not None:
        quantities = keep_applicable(design, pairs[0], quantities, options)
    results = run_pairwise_tests(design, design.names, pairs, quantities, options, claims)
    used = claims.used(len(pairs))
    return Comparison(
        tuple(design.names),
        results,
        design.description,
        describe_procedures(design, results),
        options.level,
        used,
        design.omnibus(quantities, options) if len(design.names) > 2 else (),
        (
            *design.notes,
            *(note_uncorrected(results) if used else ()),
            *note_multiplicity(results),
            *note_pooled_values(results),
        ),
        options.seed,
        design.curves(options),
        design.setting,
        options.method or "",
        list_known_limits([pair.tested.method for pair in results], options.method),
        design.sides(),
        muted,
        design.own_notes,
        design.shared_notes,
    )


def only_scores(measure: str | Sequence[str] | None) -> bool:
    """Whether all that is asked for is made from scores, so that no threshold is needed.

    >>> only_scores(["roc_auc", "brier"]), only_scores("accuracy"), only_scores(None)
    (True, False, False)
    """
    asked = [measure] if isinstance(measure, str) else list(measure or ())
    return bool(asked) and all(is_score(read_quantity(name.partition("[")[0])) for name in asked)


def _read_contestants(
    classifiers: Sequence[Any], names: Any, reading: ReadOptions, *, same_cases: bool
) -> dict[str, Contestant] | None:
    """The contestants by name; None for a table of results."""
    if len(classifiers) > 1:
        return gather_contestants(classifiers, names, reading, same_cases=same_cases)
    only = classifiers[0]
    if isinstance(reading.predicted, list | tuple) or isinstance(reading.score, list | tuple):
        return read_columns(only, reading, names, same_cases=same_cases)
    if isinstance(only, list | tuple) and only and all(is_contestant(item) for item in only):
        return gather_contestants(only, names, reading, same_cases=same_cases)
    named = isinstance(only, Mapping) and only and all(is_contestant(item) for item in only.values())
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


def _check_table_options(table: Any, others: dict[str, Any], reading: ReadOptions) -> None:
    """Refuse options that are not for a table of results, which one file or frame alone is taken for."""
    given = [*(name for name, value in others.items() if value is not None), *reading.given()]
    if given:
        what = f"{Path(table).name} alone" if isinstance(table, str | Path) else "One table alone"
        raise OptionError(
            f"{what} is a table of results (data sets × learners), for which these options have no meaning: "
            f"{listing(given)}.",
            hint="leave them out; or give several files, or several columns of one (predicted=, --predicted, --score).",
        )


def _compare_table(source: Any, control: Any, options: TableOptions, measure: Any) -> Comparison | LearnerRanks:
    """A table of results, data sets × learners: two learners or a test for two pair by pair, otherwise by ranks."""
    asked = [measure] if isinstance(measure, str) else list(measure or ())
    if len(asked) > 1:
        raise OptionError(
            f"A table holds the results by one measure, and these were named: {listing(asked)}.", hint="name one."
        )
    # Of "recall[spam]" only the measure matters: whether higher is better.
    bounds = [read_quantity(name.partition("[")[0]).bound for name in asked]
    lower = [bound.measure.direction == "lower" for bound in bounds]
    try:
        table = read_results(source, higher_is_better=lower != [True])
    except ColumnError as error:
        more = "of predictions in one file name the columns (predicted=, score=; --predicted A --predicted B)."
        raise ColumnError(error.what, hint=f"{error.hint} Or {more}") from None
    if wants_pairs(table, options.method):
        options = replace(options, measure=bounds[0].name if bounds else "")
        return compare_in_table(table, _choose_pairs([str(name) for name in table.learners], control), options)
    if options.rope is not None:
        raise OptionError(
            "Ranks know no region of practical equivalence.",
            hint="use method='bayes-signed-rank' (--method bayes-signed-rank), or leave out rope= (--rope).",
        )
    return rank_learners(
        table,
        control=control,
        correction=options.claims.correction,
        level=options.level,
        higher_is_better=table.higher_is_better,
    )


def _choose_pairs(names: list[str], control: str | None) -> list[tuple[int, int]]:
    """All pairs of contestants, or each with the control."""
    if control is None:
        return list(combinations(range(len(names)), 2))
    if control not in names:
        near = closest(str(control), names)
        raise OptionError(
            f"There is no classifier {control!r} to be the control. There are: {listing(names)}.",
            hint=f"did you mean {near!r}?" if near else "use one of these names.",
        )
    index = names.index(control)
    return [(other, index) for other in range(len(names)) if other != index]
