"""The front door to gates: is it good enough, may we say so, and does the build pass."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

from heldout.api.baseline import Baseline, baseline_of
from heldout.api.evaluate import evaluate
from heldout.api.options import CheckArguments, EngineArguments, defaults_of, takes
from heldout.arguments import closest, listing
from heldout.comparisons.cases_needed import CasesNeeded, cases_needed
from heldout.comparisons.pair_test import PROCEDURES
from heldout.errors import FileError, OptionError
from heldout.evidence.storage import is_evidence_file
from heldout.files.input_stream import load, utf8_text
from heldout.findings.review import check_codes
from heldout.gates.gate import Gate, Outcome, Requirement, decide
from heldout.gates.requirements import check_forbidden, forbidden, why_baseline, why_value
from heldout.intervals.estimate import Estimate
from heldout.measures.catalogue import read_quantity
from heldout.measures.quantity import Quantity
from heldout.predictions.alignment import lost_rows
from heldout.report.review import unsaid
from heldout.results.difference import PairTest
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
    strict: bool = False,
    forbid: str | Iterable[str] = (),
    mute: str | Iterable[str] = (),
    **options: Unpack[CheckArguments],
) -> Gate:
    """Judge a classifier by requirements such as "recall[spam] >= 0.8" or "accuracy >= baseline - 0.02".

    Takes what `evaluate` takes, or an evaluation. A requirement has passed when the whole interval meets it, failed
    when the whole interval misses it, and is undecided between; the gate fails where one failed, or is undecided and
    missed by the value itself, with `strict` wherever one is undecided. The `baseline` is a file, a frame or an
    evaluation of the same cases, or the JSON document of an earlier evaluation. `forbid` names findings that must not
    be there, by code, as "act" (those to act on) or as "know" (any); a code that does not apply is undecided. `engine`
    and what goes with it hold for the rows of the baseline too, and `limits` for the findings that are forbidden.

    >>> gate = check(["yes"] * 90 + ["no"] * 90, ["yes"] * 85 + ["no"] * 95, require="recall >= 0.85, accuracy >= 0.96")
    >>> [(one.text, one.outcome, one.fails) for one in gate]
    [('recall >= 0.85', 'passed', False), ('accuracy >= 0.96', 'undecided', False)]
    """
    wanted, muted = read_all(require), check_codes(mute)
    refused = check_forbidden(forbid, muted)
    if not wanted and not refused:
        raise OptionError(
            "There is nothing to check: no requirement was given, and no finding is forbidden.",
            hint=f"{HOW.rstrip('.')}, or forbid=['act'] (--forbid act).",
        )
    if options["slices"] is not None and not refused:
        raise OptionError(
            "Slices were named, and only findings look at them.",
            hint="forbid what may be found there (forbid='H021', --forbid H021), or leave them out.",
        )
    if options["limits"] is not None and not refused:
        raise OptionError(
            "Limits of rules were given, and only findings go by them.",
            hint="forbid what the rules may find (forbid='act', --forbid act), or leave them out.",
        )
    _check_baseline(wanted, baseline)
    given = {"predicted": predicted, **options}
    evaluation = _evaluated(data, given, every=bool(refused))
    if muted:
        evaluation = replace(evaluation, mute=tuple(dict.fromkeys((*evaluation.mute, *muted))))
    quantities = [_quantity(written, evaluation) for written in wanted]
    held, more = None, {name: given[name] for name in ("level", "seed", "replicates")}
    if baseline is not None:
        asked = [q for written, q in zip(wanted, quantities, strict=True) if written.baseline]
        names = list(dict.fromkeys(_asked(quantity) for quantity in asked))
        held = baseline_of(baseline, evaluation, names, read=_reader(data, evaluation, given), options=more)
    made = [_judged(written, evaluation, held, strict=strict) for written in wanted]
    found = forbidden(evaluation, refused, strict=strict)
    said = unsaid(evaluation.notes, evaluation.source, [one.finding for one in found if one.finding is not None])
    return Gate(
        (*made, *found),
        evaluation.level,
        evaluation.n,
        evaluation.labels,
        evaluation.positive,
        strict,
        evaluation.source.name,
        _columns(evaluation),
        "" if held is None else held.name,
        "" if held is None else held.how,
        (*said, *(() if held is None else held.notes)),
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


def _evaluated(data: Any, options: dict[str, Any], *, every: bool) -> Evaluation:
    """The evaluation; with every measure where rules are to look at it, as they do after `evaluate`."""
    if not isinstance(data, Evaluation):
        return evaluate(data, **options, measures="all" if every else [])
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


def _quantity(written: Written, evaluation: Evaluation) -> Quantity:
    """What a requirement is about; a bound that no value can reach or miss is refused."""
    quantity = read_quantity(written.name, evaluation.labels, costs=evaluation.costs).check(evaluation.positive)
    measure = quantity.bound.measure
    if not measure.bounded:
        return quantity
    low, high = measure.range
    if written.baseline:
        low, high = low - high, high - low
    if not low <= written.limit <= high:
        what = f"a difference of {measure.name}" if written.baseline else measure.name
        near = f"{written.limit / 100:g}" if 1 < abs(written.limit) <= 100 else ""
        raise OptionError(
            f"{written.text!r} says nothing: {what} lies between {low:g} and {high:g}.",
            hint=f"did you mean {near}, which is {written.limit:g}%?" if near else "give a bound within that range.",
        )
    return quantity


def _asked(quantity: Quantity) -> str:
    """The quantity as it can be asked for by name."""
    name = quantity.bound.name
    if quantity.class_ is not None:
        return f"{name}[{quantity.class_}]"
    return f"{quantity.average} {name}" if quantity.average else name


def _judged(written: Written, evaluation: Evaluation, baseline: Baseline | None, *, strict: bool) -> Requirement:
    estimate = evaluation[written.name]
    if not written.baseline or baseline is None:
        value, outcome = estimate.value, decide(written, estimate.value, estimate.low, estimate.high)
        cases = _cases(written, _as_tested(estimate)) if outcome == "undecided" else None
        why, against = why_value(written, estimate, outcome, cases), None
    else:
        against = baseline.against(estimate)
        tested = against.tested
        value, outcome = tested.difference, decide(written, tested.difference, tested.low, tested.high)
        cases = _cases(written, tested) if outcome == "undecided" else None
        unit = _unit(tested, paired=against.paired)
        why = why_baseline(written, estimate, against.value, tested, outcome, cases, unit, against.alike)
    return Requirement(
        written.text, outcome, _fails(written, value, outcome, strict=strict), why, written, estimate, against, cases
    )


def _fails(written: Written, value: float, outcome: Outcome, *, strict: bool) -> bool:
    if outcome == "undecided":
        return strict or not written.is_met(value)
    return outcome == "failed"


def _as_tested(estimate: Estimate) -> PairTest:
    return PairTest(
        estimate.value, estimate.low, estimate.high, estimate.level, estimate.method, math.nan, int(estimate.n)
    )


def _unit(tested: PairTest, *, paired: bool) -> str:
    if _of_splits(tested):
        return "splits"
    return "cases" if paired else "cases of both together"


def _of_splits(tested: PairTest) -> bool:
    found = PROCEDURES.get(tested.method)
    return found is not None and found.setting == "same splits"


def _cases(written: Written, tested: PairTest) -> CasesNeeded | None:
    """How many cases would decide it with 80 % power, for a value as far or as near as the interval allows."""
    moved = replace(
        tested,
        difference=tested.difference - written.limit,
        low=tested.low - written.limit,
        high=tested.high - written.limit,
    )
    # More splits of the same cases would show no more: only more cases would.
    return None if _of_splits(tested) else cases_needed(moved)


def _columns(evaluation: Evaluation) -> str:
    source = evaluation.source
    guessed = f" ({listing(source.guessed)} guessed from the column names)" if source.guessed else ""
    return source.sentence() + guessed if source.columns else ""


# Requirements kept in a TOML file, beside the code that they are about.

REQUIREMENT_FILE_EXAMPLE = (
    "write [[require]] with text = \"recall >= 0.9\" for each, or require = ['recall >= 0.9', …]."
)


def read_requirement_file(path: str | Path) -> list[str]:
    r"""The requirements of a file: tables [[require]] with a text each, or one list `require` of texts.

    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> file = pathlib.Path(folder.name, "gate.toml")
    >>> _ = file.write_text('[[require]]\ntext = "recall[spam] >= 0.8"\n')
    >>> read_requirement_file(file)
    ['recall[spam] >= 0.8']
    >>> folder.cleanup()
    """
    import tomllib

    content = load(path)
    try:
        document = tomllib.loads(utf8_text(content).decode("utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise FileError(f"{content.name} is not TOML: {error}.", hint=REQUIREMENT_FILE_EXAMPLE) from None
    entries = document.pop("require", None)
    if document:
        unknown = next(iter(document))
        near = closest(unknown, ["require"])
        raise FileError(
            f"{content.name} holds {listing(map(repr, document))}, and only 'require' is known.",
            hint=f"did you mean [[{near}]]?" if near else REQUIREMENT_FILE_EXAMPLE,
        )
    if not isinstance(entries, list) or not entries:
        raise FileError(f"{content.name} holds no requirements.", hint=REQUIREMENT_FILE_EXAMPLE)
    return [_text(entry, at, content.name) for at, entry in enumerate(entries, start=1)]


def _text(entry: Any, at: int, name: str) -> str:
    if isinstance(entry, dict):
        unknown = [key for key in entry if key != "text"]
        if unknown:
            raise FileError(
                f"Entry {at} of [[require]] in {name} has a key {unknown[0]!r}.", hint=REQUIREMENT_FILE_EXAMPLE
            )
        entry = entry.get("text")
    if not isinstance(entry, str) or not entry.strip():
        raise FileError(f"Entry {at} of [[require]] in {name} has no text.", hint=REQUIREMENT_FILE_EXAMPLE)
    return entry
