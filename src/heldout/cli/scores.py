"""The commands for scores: `heldout thresholds` chooses where to cut them, `heldout recalibrate` tries to mend them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from heldout.api.options import Option, make_switch
from heldout.cli.flags import CLASSES, ENGINE, FILES, OPTIONS, Predictions, import_all, takes_flags
from heldout.cli.output import Outputs, deliver
from heldout.errors import OptionError

CHOICE, FITTING = "Choice", "Fitting"


@takes_flags(
    "truth score weight group",
    CLASSES,
    "missing",
    ENGINE,
    "costs cost_rows maximize require then prevalence current grid honest level replicates seed",
    FILES,
    costs=replace(OPTIONS["costs"], panel=CHOICE),
    cost_rows=replace(OPTIONS["cost_rows"], panel=CHOICE),
    prevalence=replace(OPTIONS["prevalence"], panel=CHOICE),
    replicates=replace(OPTIONS["replicates"], default=999),
    maximize=Option(None, "MEASURE", "The best of a measure, such as f1 or youden.", CHOICE),
    require=Option(
        None,
        "TEXT",
        "What must hold, such as 'recall >= 0.9'; then the best precision. May be repeated.",
        CHOICE,
        repeated=True,
    ),
    then=Option(None, "MEASURE", "The best of this among what --require allows.", CHOICE),
    current=Option(None, "T", "The threshold in use now, to compare with.", CHOICE, kind=float),
    grid=Option(
        None,
        "distinct|N|A,B,…",
        "Choose nothing; list the counts at the distinct scores, at N even steps, or at these thresholds.",
        CHOICE,
    ),
    honest=make_switch("Judge the choice on cases that had no part in it.", CHOICE),
)
def thresholds(predictions: Predictions, *, outputs: Outputs, **options: Any) -> None:
    """Choose the threshold from which a case is called positive.

    Of several classes, --costs with a probability for each says what the class of least expected cost costs.

    \b
    Examples:
      heldout thresholds predictions.csv --score p_yes --costs 'yes,no:10; no,yes:1'
      heldout thresholds predictions.csv --score p_yes --maximize f1 --honest
      heldout thresholds predictions.csv --score p_yes --require 'recall >= 0.9'
      heldout thresholds predictions.csv --score p_yes --grid 11
      heldout thresholds kinds.csv --score p_a --score p_b --score p_c --costs costs.csv
      heldout thresholds 'predictions/*.parquet' --score p_yes --maximize youden --engine duckdb
    """  # noqa: D301 - click takes a backspace to mean: do not wrap what follows
    outputs.check([predictions], options)
    for name in {"maximize", "require", "then"} & options.keys():
        options[name] = import_all(options[name])
    grid = options.pop("grid", None)
    if grid is not None:
        from heldout.api.evaluate import evaluate
        from heldout.evidence.storage import is_evidence_file

        for unused in ("costs", "cost_rows", "prevalence", "maximize", "require", "then", "current", "honest"):
            if options.pop(unused, False) is not False:
                raise OptionError(
                    f"--grid lists thresholds and chooses none, so --{unused.replace('_', '-')} has no effect on it.",
                    hint=f"leave out --{unused.replace('_', '-')}, or leave out --grid to choose.",
                )
        # Any threshold will do to read the columns: the classes that it gives are not used.
        threshold = None if is_evidence_file(predictions) else 0.5
        evaluation = evaluate(predictions, threshold=threshold, measures=[], **options)
        deliver(evaluation.threshold_table(read_grid(grid)), outputs)
        return
    from heldout.api.choose_threshold import choose_threshold

    require = options.pop("require", None)
    by = options.pop("maximize", "cost" if "costs" in options and not require else None)
    deliver(choose_threshold(predictions, by=by, require=", ".join(require) if require else None, **options), outputs)


def read_grid(text: str) -> str | int | list[float]:
    """What --grid asks for.

    >>> read_grid("distinct"), read_grid("11"), read_grid("0.1, 0.5")
    ('distinct', 11, [0.1, 0.5])
    """
    if text.strip() == "distinct":
        return "distinct"
    try:
        return int(text) if text.strip().isdigit() else [float(part) for part in text.split(",")]
    except ValueError:
        raise OptionError(
            f"--grid {text!r} is neither 'distinct', a number of steps, nor a list of thresholds.",
            hint="write --grid distinct, --grid 11 or --grid 0.1,0.5,0.9.",
        ) from None


@takes_flags(
    "truth score weight group fold",
    CLASSES,
    "missing calibrators folds level seed",
    FILES,
    calibrators=Option(
        None,
        "NAME",
        "Only this calibrator: logistic, temperature or isotonic; may be repeated.",
        FITTING,
        flag="calibrator",
        repeated=True,
    ),
    folds=Option(None, "N", "Folds of the cross-fitting; 10 by default.", FITTING, kind=int),
)
def recalibrate(predictions: Predictions, *, outputs: Outputs, **options: Any) -> None:
    """Say what recalibration would change: losses and calibration errors, before and after.

    Each calibrator is fitted on other rows than those it is applied to. It changes nothing that heldout evaluate
    reports.

    \b
    Examples:
      heldout recalibrate predictions.csv --score p_yes
      heldout recalibrate predictions.csv --score p_yes --group patient --calibrator logistic
    """  # noqa: D301 - click takes a backspace to mean: do not wrap what follows
    from heldout.api.recalibrate import recalibrate as run

    outputs.check([predictions], options)
    deliver(run(predictions, **options), outputs)
