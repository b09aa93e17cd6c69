"""The front door to gates: is it good enough, no worse than a baseline, may we say so, and does the build pass."""

from __future__ import annotations

import json
import math
import numbers
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, Unpack

from heldout.api.compare import compare
from heldout.api.contestants import is_readable
from heldout.api.evaluate import enter_evaluation, evaluate
from heldout.api.options import CheckArguments, EngineArguments, defaults_of, takes
from heldout.arguments import as_float, listing, show_given
from heldout.comparisons.comparison import PairwiseComparison
from heldout.comparisons.unpaired import MOVER, mover_difference
from heldout.engines.engine_choice import known_evidence
from heldout.errors import ColumnError, FileError, HeldoutError, OptionError
from heldout.evidence import Confusion
from heldout.evidence.storage import is_evidence_file
from heldout.files.input_stream import inner_ending, load, utf8_text
from heldout.findings.review import check_codes
from heldout.gates.gate import Against, Baseline, Gate, Requirement, Undecided, assert_met, check_undecided
from heldout.gates.outcomes import judge_estimate, judge_requirements, resolve_wanted
from heldout.gates.requirements import (
    SliceTerm,
    check_forbidden,
    explain_unknown_column,
    forbidden,
    read_slice_term,
    slices_to_read,
)
from heldout.intervals.estimate import Estimate, PairTest, undefined_test
from heldout.intervals.quantiles import z_value
from heldout.predictions.alignment import lost_rows
from heldout.predictions.slice_plans import name_slices
from heldout.report.review import keep_unsaid
from heldout.result import keeps_backend
from heldout.results.evaluation import Evaluation
from heldout.synonyms import takes_synonyms
from heldout.thresholds.requirement import HOW, Written, read_all

OURS = "this"
UNPAIRED = "only the figures of {name} are known, so it is compared as if it had been tested on other cases"


def baseline_of(
    baseline: Any, evaluation: Evaluation, names: Sequence[str], *, read: Callable[[Any], Evaluation], options: Any
) -> Baseline:
    """The baseline, compared with an evaluation by these quantities.

    `read` evaluates predictions as the evaluation itself was; `options` are the seed and the replicates of comparisons.
    """
    document = _document(baseline)
    if document is not None:
        name = Path(baseline).name if isinstance(baseline, str | Path) else "the baseline"
        return _read_document(document, name, evaluation)
    if is_readable(baseline):
        name = Path(baseline).name if isinstance(baseline, str | Path) else "the data frame"
        other: Any = read(baseline)
    elif isinstance(baseline, Evaluation | Confusion):
        other = baseline
        name = (other.source.name if isinstance(other, Evaluation) else "") or "the baseline"
    else:
        raise OptionError(
            f"A {type(baseline).__name__} cannot be a baseline.",
            hint="give a file or a data frame of predictions, an evaluation, or the JSON document of one.",
        )
    ours = evaluation.source.name or OURS
    theirs = name if name != ours else f"{name} (baseline)"

    @cache
    def compared(level: float) -> PairwiseComparison:
        settings = {**options, "level": level}
        try:
            comparison = compare(evaluation, other, measures=list(names), names=[ours, theirs], **settings)
        except HeldoutError as error:
            if "paired=False" not in error.hint:
                raise
            # A gate has no such option: of a document only figures are known, which are taken as of other cases.
            raise type(error)(error.what, hint=OTHER_TEST_SET) from None
        if not isinstance(comparison, PairwiseComparison):
            message = "two evaluations are compared pair by pair"
            raise TypeError(message)
        return comparison

    comparison = compared(evaluation.level)
    paired = comparison.met != "different cases"

    def against(estimate: Estimate) -> Against:
        pair = comparison.get(ours, theirs, estimate.name)
        return Against(name, pair.value_b, pair.tested, paired, pair.alike)

    def tested(estimate: Estimate, at_level: Callable[[], Estimate], level: float) -> PairTest:  # noqa: ARG001
        return compared(level).get(ours, theirs, estimate.name).tested

    # Notes on the evaluation itself are shown with it, and requirements are no tests that need a correction.
    notes = tuple(f"{name}: {note}" for whose, note in comparison.own if whose == theirs)
    return Baseline(name, f"Against {name}: {comparison.reason}", (*notes, *comparison.shared), against, tested)


OTHER_TEST_SET = (
    "name the id of each case (id=, --id) to match them; for another test set give the JSON document of the baseline's "
    "evaluation ('heldout evaluate FILE --json baseline.json')."
)


def _document(baseline: Any) -> Mapping[str, Any] | None:
    """The document of an evaluation, if that is what was given."""
    if isinstance(baseline, Mapping):
        document: Any = baseline
    elif isinstance(baseline, str | Path) and inner_ending(Path(baseline)) == ".json":
        content = load(baseline)
        try:
            document = json.loads(utf8_text(content))
        except json.JSONDecodeError as error:
            # One object to a line is a file of predictions, whatever its ending.
            if error.msg == "Extra data":
                return None
            raise FileError(f"{baseline} is not JSON: {error}.", hint=_how_to_make()) from None
        except (ValueError, RecursionError):
            why = "holds a number with too many digits, or is nested too deeply"
            raise FileError(f"{baseline} {why}.", hint=_how_to_make()) from None
        if isinstance(document, Mapping) and "schema" not in document:
            return None
    else:
        return None
    schema = document.get("schema") if isinstance(document, Mapping) else None
    rows = document.get("estimates") if isinstance(document, Mapping) else None
    if schema != Evaluation.schema or not isinstance(rows, list) or not all(isinstance(row, Mapping) for row in rows):
        reason = f"it says {schema!r}" if schema and schema != Evaluation.schema else "its estimates are missing"
        raise FileError(f"The baseline is not the document of an evaluation: {reason}.", hint=_how_to_make())
    return dict(document)


def _how_to_make() -> str:
    return f"write it with 'heldout evaluate predictions.csv --json baseline.json' ({Evaluation.schema})."


def _read_document(document: Mapping[str, Any], name: str, evaluation: Evaluation) -> Baseline:
    rows = {_key(row.get("measure"), row.get("class"), row.get("average")): row for row in document["estimates"]}

    def row_of(estimate: Estimate) -> Mapping[str, Any]:
        row = rows.get(_key(estimate.measure, estimate.class_, estimate.average))
        if row is None:
            known = listing(dict.fromkeys(str(row.get("measure")) for row in rows.values()), most=20)
            raise OptionError(
                f"{name} has no estimate of {estimate.name}. It has: {known or 'none'}.",
                hint="evaluate the baseline again with the same options and without --measure, or give its rows.",
            )
        return dict(row)

    def against(estimate: Estimate) -> Against:
        row = row_of(estimate)
        return Against(name, _figure(row, "value"), _difference(estimate, row), paired=False)

    def tested(estimate: Estimate, at_level: Callable[[], Estimate], level: float) -> PairTest:  # noqa: ARG001
        return _difference(at_level(), row_of(estimate))

    note = UNPAIRED.format(name=name)
    same = document.get("fingerprint") and document.get("fingerprint") == evaluation.fingerprint
    more = "they are the same cases, so its predictions would tell more" if same else "its predictions would tell more"
    how = f"Against {name}: {note} (limits of the two put together, Zou & Donner 2008); {more}."
    return Baseline(name, how, (), against, tested)


def _key(measure: Any, class_: Any, average: Any) -> tuple[str, str | None, str | None]:
    """JSON knows fewer kinds of labels than Python, so classes are told by their text."""
    return str(measure), None if class_ is None else str(class_), None if average is None else str(average)


def _figure(row: Mapping[str, Any], name: str) -> float:
    value = row.get(name)
    if value is None:
        return math.nan
    try:
        return float(value)
    except (TypeError, ValueError):
        raise FileError(
            f"The baseline says that {name} of {row.get('measure')} is {value!r}, which is not a number.",
            hint=_how_to_make(),
        ) from None


def _difference(ours: Estimate, row: Mapping[str, Any]) -> PairTest:
    """Ours less theirs, from two independent estimates.

    Limits of another level are stretched to ours as those of a normal estimate.
    """
    value, low, high, level = (_figure(row, name) for name in ("value", "low", "high", "level"))
    n = _figure(row, "n")
    cases = int(ours.n) + (0 if math.isnan(n) else int(n))
    if math.isnan(ours.value - value):
        why = ours.undefined if math.isnan(ours.value) else str(row.get("undefined") or "the baseline has no value")
        return undefined_test(why, ours.level, MOVER, cases)
    stretch = 1.0 if level == ours.level else z_value(ours.level) / z_value(level) if 0 < level < 1 else math.nan
    theirs = value, value - (value - low) * stretch, value + (high - value) * stretch
    return PairTest(
        *mover_difference((ours.value, ours.low, ours.high), theirs),
        ours.level,
        MOVER,
        math.nan,
        cases,
        interval_method=MOVER,
        note="the baseline has no interval" if math.isnan(low) or math.isnan(high) else "",
    )


# Roles that a baseline shares with what is judged only where they are names of columns.
BY_NAME = ("truth", "predicted", "score", "weight", "group", "fold", "id")


@keeps_backend
@takes(CheckArguments)
def check(
    data: Any = None,
    predicted: Any = None,
    y: Any = None,
    *,
    require: str | Iterable[str] = (),
    baseline: Any = None,
    undecided: Undecided = "fail",
    forbid: str | Iterable[str] = (),
    ignore: str | Iterable[str] = (),
    **options: Unpack[CheckArguments],
) -> Gate:
    """Judge a classifier by requirements such as "recall[spam] >= 0.8" or "accuracy >= baseline - 0.02".

    A requirement has passed when a one-sided limit of the level clears its bound, failed when the limit on the other
    side misses it (Holm-corrected for the number of requirements), and is undecided between. All must pass.
    `recall[spam, sex=f]` is about the cases where the column sex is f.

    Parameters
    ----------
    data : Evaluation, or what evaluate takes
        An evaluation, or the true classes, a data frame, a path, counted evidence or a fitted model.
    predicted : array or column name, optional
        The predicted classes; for a fitted model, its features. Fractions, or a table with a column for each class, are
        taken as scores.
    y : array, optional
        For a fitted model, the true classes: check(model, X, y, require="recall >= 0.8").
    require : str or sequence of str
        Requirements such as "recall[spam] >= 0.8", "recall[spam, sex=f] >= 0.8" or "accuracy >= baseline - 0.02".
    baseline : path, data frame, Evaluation or document, optional
        Predictions of the same cases, an evaluation of them, or the JSON document of an earlier one.
    undecided : {"fail", "warn", "pass"}
        What becomes of a requirement that is neither met nor missed beyond doubt: it fails; it is let through where the
        value itself meets it; or it is let through.
    forbid : str or sequence of str
        Findings that must not be there: codes, "act" for those to act on, "know" for any.
    ignore : str or sequence of str
        Codes of rules that are not to be checked, such as "H014".
    truth : array or column name, optional
        The true classes, where they are not the first argument.
    score : array, table or column names, optional
        A score or probability of the positive class for each case, or one for each case and class. Without predictions,
        these follow from it.
    threshold : float, optional
        The score from which the positive class is predicted; 0.5 for probabilities by default.
    weight : array or column name, optional
        How much each case counts.
    group : array or column name, optional
        Which cases belong together, such as those of one patient. Intervals take whole groups as the cases.
    fold : array or column name, optional
        Which model of a resampling plan made each prediction. A column that is called fold is used unless this is
        "none".
    id : array or column name, optional
        Which case it is, where it was predicted more than once or is matched with other predictions.
    matrix : table, data frame, dictionary, path or text, optional
        A confusion matrix instead of cases.
    rows : {"truth", "predicted"}, optional
        What the rows of the matrix are; the truth unless its axes say otherwise.
    positive : label, optional
        The positive class; known for usual pairs such as no and yes, or 0 and 1.
    labels : sequence of labels, optional
        The classes in the order to show them; by default those that occur.
    costs : Costs, table, dictionary, path or text, optional
        What each kind of error costs, as in "yes,no:10; no,yes:1" (truth, predicted: cost).
    cost_rows : {"truth", "predicted"}, optional
        What the rows of a table of costs are.
    level : float
        The level of the intervals: the share of them that should contain the true value.
    method : str, optional
        The interval method wherever it applies, such as "bootstrap"; by default the best for each kind of measure.
    missing : {"refuse", "drop"}
        What to do with rows with missing values: refuse them, or drop them and say how many.
    seed : int
        Seed of the random number generator.
    replicates : int
        How many bootstrap replicates are drawn, where an interval needs them.
    slices : column names, dictionary of arrays or "all", optional
        Columns that divide the cases, to see where the classifier fails.
    calibration_bins : int, optional
        The number of bins of calibration errors and reliability; 10 by default.
    calibration_strategy : {"uniform", "quantile"}, optional
        Bins of equal width, or with equally many cases each.
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
    limits : dictionary, optional
        Other limits of rules, by code and name: {"H014": {"width": 0.1}}.
    ledger : path, optional
        A file that records every use of the cases; a finding reports earlier uses.

    Returns
    -------
    Gate
        Each requirement as passed, failed or undecided; gate.passed is for a build.

    Examples
    --------
    >>> gate = check(["yes"] * 90 + ["no"] * 90, ["yes"] * 85 + ["no"] * 95, require="recall >= 0.85, accuracy >= 0.96")
    >>> [(one.text, one.outcome, one.fails) for one in gate]
    [('recall >= 0.85', 'passed', False), ('accuracy >= 0.96', 'undecided', True)]

    """
    written, ignored = read_all(require), check_codes(ignore)
    check_undecided(undecided)
    terms = [read_slice_term(one.name)[1] for one in written]
    refused = check_forbidden(forbid, ignored)
    if not written and not refused:
        raise OptionError(
            "There is nothing to check: no requirement was given, and no finding is forbidden.",
            hint=f"{HOW.rstrip('.')}, or forbid=['act'] (--forbid act).",
        )
    if options["slices"] is not None and not refused and not any(terms):
        raise OptionError(
            "Slices were named, and neither a requirement nor a forbidden finding looks at them.",
            hint="write 'recall[sex=f] >= 0.8', forbid what may be found there (--forbid H021), or leave them out.",
        )
    if options["limits"] is not None and not refused:
        raise OptionError(
            "Limits of rules were given, but no finding is forbidden, so nothing uses them.",
            hint="forbid what the rules may find (forbid='act', --forbid act), or leave them out.",
        )
    _check_baseline(written, baseline)
    ledger = options.pop("ledger")
    given = {"predicted": predicted, "y": y, **options}
    evaluation = _evaluated(data, given, terms, every=bool(refused))
    if ledger is not None:
        evaluation = enter_evaluation(evaluation, ledger, "check")
    if ignored:
        evaluation = replace(evaluation, ignore=tuple(dict.fromkeys((*evaluation.ignore, *ignored))))
    wanted = [resolve_wanted(one, evaluation) for one in written]
    compared, more = None, {name: given[name] for name in ("seed", "replicates")}
    if baseline is not None:
        names = list(dict.fromkeys(one.asked for one in wanted if one.written.baseline))
        compared = baseline_of(baseline, evaluation, names, read=_reader(data, evaluation, given), options=more)
    judged = judge_requirements(wanted, evaluation, compared, undecided)
    absent = forbidden(evaluation, refused, unchecked_fails=undecided == "fail")
    notes = keep_unsaid(evaluation.notes, evaluation.source, [one.finding for one in absent if one.finding is not None])
    return Gate(
        (*judged, *absent),
        evaluation.level,
        evaluation.n,
        evaluation.labels,
        evaluation.positive,
        undecided,
        evaluation.source.name,
        evaluation.source.describe_guesses(),
        "" if compared is None else compared.name,
        "" if compared is None else compared.how,
        (*notes, *(() if compared is None else compared.notes)),
        evaluation.confusion.n_cases if evaluation.confusion.weighted else None,
    )


def _check_baseline(wanted: Sequence[Written], baseline: Any) -> None:
    relative = [written for written in wanted if written.baseline]
    if relative and baseline is None:
        raise OptionError(
            f"{relative[0].text!r} needs a baseline, and none was given.",
            hint="give the predictions of the other classifier, or an earlier evaluation (baseline=, --baseline FILE).",
        )
    if baseline is not None and not relative:
        raise OptionError(
            "A baseline was given, and no requirement is about it.",
            hint="write for example 'accuracy >= baseline' or 'accuracy >= baseline - 0.02', or leave it out.",
        )


def _evaluated(data: Any, options: dict[str, Any], terms: Sequence[SliceTerm], *, every: bool) -> Evaluation:
    """The evaluation; with every measure where rules are to look at it, as they do after `evaluate`."""
    if not isinstance(data, Evaluation):
        slices = name_slices(options["slices"])
        slices = slices if known_evidence(data) is not None else slices_to_read(terms, slices)
        try:
            return evaluate(data, **{**options, "slices": slices}, measures="all" if every else [])
        except ColumnError as error:
            raise explain_unknown_column(error, terms) from None
    usual = {"predicted": None, "y": None, **defaults_of(CheckArguments)}
    given = [name for name, value in options.items() if value is not usual[name]]
    if given:
        raise OptionError(
            f"An evaluation was given together with {listing(given)}.", hint="give these to evaluate() before."
        )
    return data


def _reader(data: Any, evaluation: Evaluation, options: dict[str, Any]) -> Callable[[Any], Evaluation]:
    """How a file or a frame of the baseline is read: as that of the classifier was."""

    def read(baseline: Any) -> Evaluation:
        for role in BY_NAME:
            if not isinstance(data, Evaluation) and not _is_name(options[role]):
                raise OptionError(
                    f"{role} was given as values, so the columns of the baseline are not known.",
                    hint="give the baseline as an evaluation: baseline=heldout.evaluate(truth, predicted).",
                )
        if str(baseline) == str(data) == "-":
            raise OptionError(
                "Standard input holds one file, and two are needed.", hint="name a file for the baseline."
            )
        same = {**options, "y": None, "matrix": None, "rows": None, "slices": None}
        if isinstance(baseline, str | Path) and is_evidence_file(baseline):
            # Its rows were counted before, by whichever engine.
            same = {name: value for name, value in same.items() if name not in defaults_of(EngineArguments)}
        reference = evaluate(baseline, **same, measures=[])
        if options["id"] is None and any(_lost(side) for side in (evaluation, reference)):
            raise OptionError(
                "Rows were dropped, so the rest cannot be matched with the baseline by their order.",
                hint="name the column that says which case it is (id=, --id), or drop the rows from both files.",
            )
        return reference

    return read


def _lost(evaluation: Evaluation) -> bool:
    if evaluation.counted is not None:
        return evaluation.counted.lost > 0
    return evaluation.predictions is not None and bool(lost_rows(evaluation.predictions))


def _is_name(column: Any) -> bool:
    several = isinstance(column, list | tuple) and all(isinstance(name, str) for name in column)
    return column is None or isinstance(column, str) or several


@takes_synonyms
def assert_at_least(estimate: Estimate, bound: float, *, undecided: Undecided = "fail") -> Requirement:
    """Assert that a value is at least a bound, judged as a gate does: by the one-sided limit of its level.

    Parameters
    ----------
    estimate : Estimate
        An estimate of an evaluation or a validation, such as `evaluation["recall"]`.
    bound : float
        The least that the value may be.
    undecided : {'fail', 'warn', 'pass'}
        What becomes of a value whose limits lie on both sides of the bound: "fail", "warn" (let through where the value
        itself meets it), or "pass".

    >>> from heldout import evaluate
    >>> evaluation = evaluate(["yes"] * 90 + ["no"] * 90, ["yes"] * 85 + ["no"] * 95)
    >>> assert_at_least(evaluation["recall"], 0.85).outcome
    'passed'
    >>> assert_at_least(evaluation["recall"], 0.93)
    Traceback (most recent call last):
    heldout.errors.GateError: recall[yes] >= 0.93 is not shown. recall[yes] .944 meets it, but not beyond chance: ...

    """
    __tracebackhide__ = True
    return assert_met(judge_estimate(_check_estimate(estimate), ">=", _check_number(bound), check_undecided(undecided)))


@takes_synonyms
def assert_at_most(estimate: Estimate, bound: float, *, undecided: Undecided = "fail") -> Requirement:
    """Assert that a value, such as a loss or a rate of errors, is at most a bound; judged as `assert_at_least` does.

    Parameters
    ----------
    estimate : Estimate
        An estimate of an evaluation or a validation, such as `evaluation["error_rate"]`.
    bound : float
        The most that the value may be.
    undecided : {'fail', 'warn', 'pass'}
        What becomes of a value whose limits lie on both sides of the bound.

    >>> from heldout import evaluate
    >>> evaluation = evaluate(["yes"] * 90 + ["no"] * 90, ["yes"] * 85 + ["no"] * 95)
    >>> assert_at_most(evaluation["error_rate"], 0.1).why[:40]
    'error_rate .028 meets it: with 95 % conf'

    """
    __tracebackhide__ = True
    return assert_met(judge_estimate(_check_estimate(estimate), "<=", _check_number(bound), check_undecided(undecided)))


def _check_estimate(given: Any) -> Estimate:
    if not isinstance(given, Estimate):
        raise OptionError(
            f"An assertion is about an estimate, which has an interval. Got {type(given).__name__}.",
            hint='pass evaluation["recall"], not its value.',
        )
    return given


def _check_number(bound: Any) -> float:
    if isinstance(bound, bool) or not isinstance(bound, numbers.Real) or not math.isfinite(as_float(bound)):
        raise OptionError(f"The bound must be a number. Got {show_given(bound)}.", hint="for example 0.8.")
    return float(bound)
