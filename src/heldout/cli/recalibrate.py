"""`heldout recalibrate`: what recalibration would change, on cases that the calibrators were not fitted to."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from heldout.cli.flags import CLASSES, FILES, Predictions, takes_flags
from heldout.cli.output import Outputs, deliver

FITTING = "Fitting"


@takes_flags("truth score weight group fold", CLASSES, "missing calibrators folds level seed", FILES)
def recalibrate(
    predictions: Predictions,
    calibrators: Annotated[
        list[str] | None,
        typer.Option(
            "--calibrator",
            metavar="NAME",
            help="Only this calibrator: logistic, temperature or isotonic; may be repeated.",
            rich_help_panel=FITTING,
        ),
    ] = None,
    folds: Annotated[
        int | None,
        typer.Option(metavar="N", help="Folds of the cross-fitting; 10 by default.", rich_help_panel=FITTING),
    ] = None,
    *,
    outputs: Outputs,
    **options: Any,
) -> None:
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
    chosen: dict[str, Any] = {"calibrators": calibrators or None, "folds": folds}
    deliver(
        run(predictions, **options, **{name: value for name, value in chosen.items() if value is not None}), outputs
    )
