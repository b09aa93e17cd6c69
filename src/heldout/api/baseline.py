"""A baseline to be no worse than: predictions of the same cases, or the document of an earlier evaluation."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from heldout.api.compare import compare
from heldout.api.contestants import is_readable
from heldout.arguments import listing
from heldout.comparisons.comparison import Comparison
from heldout.comparisons.unpaired import MOVER, mover_difference
from heldout.errors import FileError, OptionError
from heldout.evidence import Confusion
from heldout.files.input_stream import inner_ending, load, utf8_text
from heldout.gates.gate import Against, Baseline
from heldout.intervals.estimate import Estimate
from heldout.intervals.quantiles import z_value
from heldout.results.difference import PairTest
from heldout.results.evaluation import Evaluation

OURS = "this"
SCHEMA = "heldout/evaluation@1"
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
        held: Any = read(baseline)
    elif isinstance(baseline, Evaluation | Confusion):
        held = baseline
        name = (held.source.name if isinstance(held, Evaluation) else "") or "the baseline"
    else:
        raise OptionError(
            f"A {type(baseline).__name__} cannot be a baseline.",
            hint="give a file or a data frame of predictions, an evaluation, or the JSON document of one.",
        )
    ours = evaluation.source.name or OURS
    theirs = name if name != ours else f"{name} (baseline)"

    @cache
    def compared(level: float) -> Comparison:
        settings = {**options, "level": level}
        found = compare(evaluation, held, measure=list(names), names=[ours, theirs], **settings)
        if not isinstance(found, Comparison):
            message = "two evaluations are compared pair by pair"
            raise TypeError(message)
        return found

    found = compared(evaluation.level)
    paired = found.met != "different cases"

    def against(estimate: Estimate) -> Against:
        pair = found.get(ours, theirs, estimate.name)
        return Against(name, pair.value_b, pair.tested, paired, pair.alike)

    def tested(estimate: Estimate, at_level: Callable[[], Estimate], level: float) -> PairTest:  # noqa: ARG001
        return compared(level).get(ours, theirs, estimate.name).tested

    # What is said of the evaluation itself stands there already, and requirements are no tests to correct.
    said = tuple(f"{name}: {note}" for whose, note in found.own if whose == theirs)
    return Baseline(name, f"Against {name}: {found.reason}", (*said, *found.shared), against, tested)


def _document(baseline: Any) -> Mapping[str, Any] | None:
    """The document of an evaluation, if that is what was given."""
    if isinstance(baseline, Mapping):
        found: Any = baseline
    elif isinstance(baseline, str | Path) and inner_ending(Path(baseline)) == ".json":
        content = load(baseline)
        try:
            found = json.loads(utf8_text(content))
        except json.JSONDecodeError as error:
            # One object to a line is a file of predictions, whatever its ending.
            if error.msg == "Extra data":
                return None
            raise FileError(f"{baseline} is not JSON: {error}.", hint=_how_to_make()) from None
        except (ValueError, RecursionError):
            why = "holds a number with too many digits, or is nested too deeply"
            raise FileError(f"{baseline} {why}.", hint=_how_to_make()) from None
        if isinstance(found, Mapping) and "schema" not in found:
            return None
    else:
        return None
    schema = found.get("schema") if isinstance(found, Mapping) else None
    rows = found.get("estimates") if isinstance(found, Mapping) else None
    if schema != SCHEMA or not isinstance(rows, list) or not all(isinstance(row, Mapping) for row in rows):
        said = f"it says {schema!r}" if schema and schema != SCHEMA else "its estimates are missing"
        raise FileError(f"The baseline is not the document of an evaluation: {said}.", hint=_how_to_make())
    return dict(found)


def _how_to_make() -> str:
    return f"write it with 'heldout evaluate predictions.csv --json baseline.json' ({SCHEMA})."


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

    said = UNPAIRED.format(name=name)
    same = document.get("fingerprint") and document.get("fingerprint") == evaluation.fingerprint
    more = "they are the same cases, so its predictions would tell more" if same else "its predictions would tell more"
    how = f"Against {name}: {said} (limits of the two put together, Zou & Donner 2008); {more}."
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
        return PairTest(math.nan, math.nan, math.nan, ours.level, MOVER, math.nan, cases, undefined=why)
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
