"""`heldout learn`: the learning curve of a learner."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from heldout.api.options import OUTPUT, RUNNING
from heldout.cli.flags import FILES, FITTED, Data, check_data, takes_flags
from heldout.cli.output import Outputs, check_writable, deliver, learners_may_print, tell
from heldout.errors import OptionError

SPACINGS = ("geometric", "arithmetic")


@takes_flags("target learner sizes points draws jobs on_error", FITTED, "labels level seed chart", FILES, "mute")
def learn(
    data: Data = None,
    sizes: Annotated[
        str,
        typer.Option(
            metavar="geometric|arithmetic|A,B,…",
            help="How the training sizes grow, or the sizes themselves, in rows or as shares.",
            rich_help_panel=RUNNING,
        ),
    ] = "geometric",
    points: Annotated[int, typer.Option(metavar="N", help="How many sizes.", rich_help_panel=RUNNING)] = 8,
    draws: Annotated[
        int, typer.Option(metavar="N", help="How many training sets of each size.", rich_help_panel=RUNNING)
    ] = 10,
    chart: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Draw the curve into an svg, png or html file.", rich_help_panel=OUTPUT),
    ] = None,
    *,
    outputs: Outputs,
    **options: Any,
) -> None:
    """Draw the learning curve: error on training and on other cases as the training set grows.

    It says whether more data would help, and how many more rows one point less error would take.

    \b
    Examples:
      heldout learn iris.arff --learner knn:5
      heldout learn churn.csv --target churned --learner forest --chart curve.svg
      heldout learn churn.csv --target churned --learner logistic --sizes 50,100,200,400
    """  # noqa: D301 - click takes a backspace to mean: do not wrap what follows
    learner = options.pop("learner", None)
    check_data(data, learner, "learn")
    outputs.check([data])
    if chart is not None:
        check_chart(chart)
    from heldout.api.learning_curve import learning_curve

    with learners_may_print():
        curve = learning_curve(learner, data, sizes=read_sizes(sizes), points=points, draws=draws, **options)
    if chart is not None:
        curve.save(chart)
    deliver(curve, outputs)
    if chart is not None:
        tell(f"Wrote {chart}")
    if not curve.finished:
        # The command's end says "Interrupted."; what was finished stands above.
        raise typer.Exit(130)


def check_chart(chart: str) -> None:
    """Refuse a chart that could not be drawn or written, before anything is fitted."""
    from heldout.show.figure import check_ending

    check_ending(chart, f"--chart {chart}")
    check_writable("chart", chart)


def read_sizes(text: str) -> Any:
    """A way to grow, or a list of sizes.

    >>> read_sizes("geometric"), read_sizes("50, 100"), read_sizes("0.5,1.0")
    ('geometric', [50, 100], [0.5, 1.0])
    """
    folded = text.strip().casefold()
    if folded in SPACINGS:
        return folded
    try:
        return [float(part) if "." in part else int(part) for part in text.split(",")]
    except ValueError:
        raise OptionError(
            f"--sizes must be geometric, arithmetic or numbers separated by commas. Got {text!r}.",
            hint="for example --sizes 50,100,200.",
        ) from None
