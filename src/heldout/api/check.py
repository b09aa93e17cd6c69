"""The front door to gates: is it good enough, may we say so, and does the build pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack, get_args

from heldout.api.baseline import baseline_of
from heldout.api.evaluate import enter_evaluation, evaluate
from heldout.api.options import CheckArguments, EngineArguments, defaults_of, takes
from heldout.arguments import closest, listing
from heldout.engines.engine_choice import known_evidence
from heldout.errors import ColumnError, OptionError
from heldout.evidence.storage import is_evidence_file
from heldout.findings.review import check_codes
from heldout.gates.gate import Gate, Undecided
from heldout.gates.judging import judge_requirements, resolve_wanted
from heldout.gates.requirements import check_forbidden, forbidden
from heldout.gates.slice_terms import SliceTerm, explain_unknown_column, read_slice_term, slices_to_read
from heldout.predictions.alignment import lost_rows
from heldout.report.review import unsaid
from heldout.results.evaluation import Evaluation
from heldout.thresholds.requirement import HOW, Written, read_all

# Roles that a baseline shares with what is judged only where they are names of columns.
BY_NAME = ("truth", "predicted", "score", "weight", "group", "fold", "id")


@takes(CheckArguments)
def check(
    data: Any = None,
    predicted: Any = None,
    *,
    require: str | Iterable[str] = (),
    baseline: Any = None,
    undecided: Undecided = "fail",
    forbid: str | Iterable[str] = (),
    mute: str | Iterable[str] = (),
    **options: Unpack[CheckArguments],
) -> Gate:
    """Judge a classifier by requirements such as "recall[spam] >= 0.8" or "accuracy >= baseline - 0.02".

    Takes what `evaluate` takes, or an evaluation. A requirement has passed when a one-sided limit of the level clears
    its bound, failed when the limit on the other side misses it (Holm-corrected for the number of requirements), and is
    undecided between. All must pass; what is undecided fails too, unless `undecided` is "warn" (let through where the
    value itself meets the bound, with a caution) or "pass" (let through). `recall[spam, sex=f]` is about the cases
    where the column sex is f. The `baseline` is a file, a frame or an evaluation of the same cases, or the JSON
    document of an earlier evaluation. `forbid` names findings that must not be there, by code, as "act" (those to act
    on) or as "know" (any); a code that does not apply is undecided. `engine` and what goes with it hold for the rows of
    the baseline too, and `limits` for the findings that are forbidden. `ledger` is a file in which the use of these
    cases is entered, so that `forbid="H073"` refuses a test set that other models were judged on before.

    >>> gate = check(["yes"] * 90 + ["no"] * 90, ["yes"] * 85 + ["no"] * 95, require="recall >= 0.85, accuracy >= 0.96")
    >>> [(one.text, one.outcome, one.fails) for one in gate]
    [('recall >= 0.85', 'passed', False), ('accuracy >= 0.96', 'undecided', True)]
    """
    written, muted = read_all(require), check_codes(mute)
    _check_undecided(undecided)
    terms = [read_slice_term(one.name)[1] for one in written]
    refused = check_forbidden(forbid, muted)
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
            "Limits of rules were given, and only findings go by them.",
            hint="forbid what the rules may find (forbid='act', --forbid act), or leave them out.",
        )
    _check_baseline(written, baseline)
    ledger = options.pop("ledger")
    given = {"predicted": predicted, **options}
    evaluation = _evaluated(data, given, terms, every=bool(refused))
    if ledger is not None:
        evaluation = enter_evaluation(evaluation, ledger, "check")
    if muted:
        evaluation = replace(evaluation, mute=tuple(dict.fromkeys((*evaluation.mute, *muted))))
    wanted = [resolve_wanted(one, evaluation) for one in written]
    compared, more = None, {name: given[name] for name in ("seed", "replicates")}
    if baseline is not None:
        names = list(dict.fromkeys(one.asked for one in wanted if one.written.baseline))
        compared = baseline_of(baseline, evaluation, names, read=_reader(data, evaluation, given), options=more)
    judged = judge_requirements(wanted, evaluation, compared, undecided)
    found = forbidden(evaluation, refused, unchecked_fails=undecided == "fail")
    said = unsaid(evaluation.notes, evaluation.source, [one.finding for one in found if one.finding is not None])
    return Gate(
        (*judged, *found),
        evaluation.level,
        evaluation.n,
        evaluation.labels,
        evaluation.positive,
        undecided,
        evaluation.source.name,
        _columns(evaluation),
        "" if compared is None else compared.name,
        "" if compared is None else compared.how,
        (*said, *(() if compared is None else compared.notes)),
    )


def _check_undecided(undecided: Any) -> None:
    known = get_args(Undecided)
    if undecided not in known:
        near = closest(str(undecided), known)
        raise OptionError(
            f"undecided must be one of {listing(map(repr, known))}. Got {undecided!r}.",
            hint=f"did you mean {near!r}?" if near else "leave it out: what is undecided fails.",
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
        slices = options["slices"] if known_evidence(data) is not None else slices_to_read(terms, options["slices"])
        try:
            return evaluate(data, **{**options, "slices": slices}, measures="all" if every else [])
        except ColumnError as error:
            raise explain_unknown_column(error, terms) from None
    usual = {"predicted": None, **defaults_of(CheckArguments)}
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
        same = {**options, "matrix": None, "rows": "truth", "slices": None}
        if isinstance(baseline, str | Path) and is_evidence_file(baseline):
            # Its rows were counted before, by whichever engine.
            same = {name: value for name, value in same.items() if name not in defaults_of(EngineArguments)}
        made = evaluate(baseline, **same, measures=[])
        if options["id"] is None and any(_lost(one) for one in (evaluation, made)):
            raise OptionError(
                "Rows were dropped, so the rest cannot be matched with the baseline by their order.",
                hint="name the column that says which case it is (id=, --id), or drop the rows from both files.",
            )
        return made

    return read


def _lost(evaluation: Evaluation) -> bool:
    if evaluation.counted is not None:
        return evaluation.counted.lost > 0
    return evaluation.predictions is not None and bool(lost_rows(evaluation.predictions))


def _is_name(column: Any) -> bool:
    several = isinstance(column, list | tuple) and all(isinstance(one, str) for one in column)
    return column is None or isinstance(column, str) or several


def _columns(evaluation: Evaluation) -> str:
    source = evaluation.source
    guessed = f" ({listing(source.guessed)} guessed from the column names)" if source.guessed else ""
    return source.sentence() + guessed if source.columns else ""
