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
from heldout.api.design import CompareOptions, PairingDesign, is_score, paired_curves
from heldout.api.engine_choice import Where, lazy_frame
from heldout.api.external_cases import OpenConnections, lazy_curves
from heldout.api.pairing import choose_design
from heldout.api.pairwise import (
    Claims,
    describe_procedures,
    keep_applicable,
    list_known_limits,
    note_multiplicity,
    note_pooled_values,
    note_uncorrected,
    run_pairwise_tests,
)
from heldout.api.result_tables import TableOptions, compare_in_table, wants_pairs
from heldout.arguments import check_level, check_whole, closest, listing
from heldout.comparisons.comparison import Comparison
from heldout.comparisons.learner_ranks import LearnerRanks, rank_learners
from heldout.comparisons.ranks import read_results
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
    Where(engine, master, tolerance, passes).checked()
    claims = Claims(correction, margin, margin_kind)
    claims.check(control)
    # What an engine opens for reading is closed when all is counted.
    with OpenConnections() as opened:
        reading = ReadOptions(
            truth, predicted, score, threshold, id, fold, group, positive, labels, costs, level, missing, seed,
            only_scores(measure), engine, master, tolerance, passes, opened,
        )  # fmt: skip
        held = _contestants(classifiers, names, reading, together=paired is not False)
        if held is None:
            _check_ranked(classifiers[0], {"names": names, "paired": paired, "margin": margin}, reading)
            rules = TableOptions(level, method, rope, claims, seed=seed, mute=muted)
            return _tabled(classifiers[0], control, rules, measure)
        if len(held) < 2:
            only = next(iter(held))
            raise OptionError(f"There is one classifier only: {only}.", hint="give at least two to compare.")
        meeting = choose_design(held, paired=paired)
        asked = CompareOptions(level, seed, replicates, method, rope)
        return _compared(meeting, list(held), _duels(list(held), control), measure, asked, claims, muted)


def _compared(
    meeting: PairingDesign,
    names: list[str],
    duels: list[tuple[int, int]],
    measure: str | Sequence[str] | None,
    rules: CompareOptions,
    claims: Claims,
    muted: tuple[str, ...],
) -> Comparison:
    """Every pair by every measure, where it is known how they meet."""
    quantities = meeting.quantities([measure] if isinstance(measure, str) else measure)
    if measure is None and rules.method is not None:
        quantities = keep_applicable(meeting, duels[0], quantities, rules)
    pairs = run_pairwise_tests(meeting, names, duels, quantities, rules, claims)
    used = claims.used(len(duels))
    return Comparison(
        tuple(names),
        pairs,
        meeting.words,
        describe_procedures(meeting, pairs),
        rules.level,
        used,
        meeting.omnibus(quantities, rules) if len(names) > 2 else (),
        (
            *meeting.notes,
            *(note_uncorrected(pairs) if used else ()),
            *note_multiplicity(pairs),
            *note_pooled_values(pairs),
        ),
        rules.seed,
        lazy_curves(meeting) or paired_curves(meeting, rules),
        meeting.met,
        rules.method or "",
        list_known_limits([pair.tested.method for pair in pairs], rules.method),
        meeting.sides(),
        muted,
        meeting.own,
        meeting.shared,
    )


def only_scores(measure: str | Sequence[str] | None) -> bool:
    """Whether all that is asked for is made from scores, so that no threshold is needed.

    >>> only_scores(["roc_auc", "brier"]), only_scores("accuracy"), only_scores(None)
    (True, False, False)
    """
    asked = [measure] if isinstance(measure, str) else list(measure or ())
    return bool(asked) and all(is_score(read_quantity(name.partition("[")[0])) for name in asked)


def _contestants(
    classifiers: Sequence[Any], names: Any, reading: ReadOptions, *, together: bool
) -> dict[str, Contestant] | None:
    """The contestants; None for a table of results. `together` says that all of them judged the same cases."""
    if len(classifiers) > 1:
        return gather_contestants(classifiers, names, reading, together=together)
    only = classifiers[0]
    if isinstance(reading.predicted, list | tuple) or isinstance(reading.score, list | tuple):
        return read_columns(only, reading, names, together=together)
    if isinstance(only, list | tuple) and only and all(is_contestant(item) for item in only):
        return gather_contestants(only, names, reading, together=together)
    named = isinstance(only, Mapping) and only and all(is_contestant(item) for item in only.values())
    if lazy_frame(only) is not None:
        raise OptionError(
            f"There is one lazy frame only ({type(only).__name__}), and no columns of several classifiers were named.",
            hint="name them (predicted=['a', 'b'] or score=[…]), give several frames with id=, or collect a table of "
            "results.",
        )
    # A file or a frame alone is a table of results.
    if named or isinstance(only, Validations) or (is_contestant(only) and not is_readable(only)):
        return gather_contestants([only], names, reading, together=together)
    return None


def _check_ranked(table: Any, beside: dict[str, Any], reading: ReadOptions) -> None:
    """Refuse what says nothing of a table of results, which is what one file or frame alone is taken for."""
    given = [*(name for name, value in beside.items() if value is not None), *reading.said()]
    if given:
        what = f"{Path(table).name} alone" if isinstance(table, str | Path) else "One table alone"
        raise OptionError(
            f"{what} is a table of results (data sets × learners), for which these options have no meaning: "
            f"{listing(given)}.",
            hint="leave them out; or give several files, or several columns of one (predicted=, --predicted, --score).",
        )


def _tabled(table: Any, control: Any, rules: TableOptions, measure: Any) -> Comparison | LearnerRanks:
    """A table of results, data sets × learners: two of them, or by a test for two, pair by pair; otherwise by ranks."""
    asked = [measure] if isinstance(measure, str) else list(measure or ())
    if len(asked) > 1:
        raise OptionError(
            f"A table holds the results by one measure, and these were named: {listing(asked)}.", hint="name one."
        )
    # Of "recall[spam]" only the measure matters here: whether higher is better.
    bounds = [read_quantity(name.partition("[")[0]).bound for name in asked]
    lower = [bound.measure.direction == "lower" for bound in bounds]
    correction = rules.claims.correction
    try:
        held = read_results(table, higher_is_better=lower != [True])
    except ColumnError as error:
        more = "of predictions in one file name the columns (predicted=, score=; --predicted A --predicted B)."
        raise ColumnError(error.what, hint=f"{error.hint} Or {more}") from None
    if wants_pairs(held, rules.method):
        named = replace(rules, measure=bounds[0].name if bounds else "")
        return compare_in_table(held, _duels([str(name) for name in held.learners], control), named)
    if rules.rope is not None:
        raise OptionError(
            "Ranks know no region of practical equivalence.",
            hint="use method='bayes-signed-rank' (--method bayes-signed-rank), or leave out rope= (--rope).",
        )
    return rank_learners(
        held, control=control, correction=correction, level=rules.level, higher_is_better=held.higher_is_better
    )


def _duels(names: list[str], control: str | None) -> list[tuple[int, int]]:
    if control is None:
        return list(combinations(range(len(names)), 2))
    if control not in names:
        near = closest(str(control), names)
        raise OptionError(
            f"There is no classifier {control!r} to be the control. There are: {listing(names)}.",
            hint=f"did you mean {near!r}?" if near else "use one of these names.",
        )
    place = names.index(control)
    return [(other, place) for other in range(len(names)) if other != place]
