"""`heldout learn`: the learning curve of a learner."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from heldout.arguments import listing
from heldout.cli.options import (
    OUTPUT,
    RUNNING,
    Data,
    Drop,
    Features,
    Group,
    Html,
    Jobs,
    Json,
    Labels,
    Latex,
    Level,
    Markdown,
    Missing,
    Mute,
    OneLearner,
    OnError,
    Seed,
    Target,
    check_data,
    read_jobs,
    split_labels,
)
from heldout.cli.output import Outputs, check_place, deliver, learners_may_print, tell
from heldout.errors import OptionError

SPACINGS = ("geometric", "arithmetic")


def learn(
    data: Data = None,
    target: Target = None,
    learner: OneLearner = None,
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
    jobs: Jobs = "auto",
    on_error: OnError = "raise",
    group: Group = None,
    feature: Features = None,
    drop: Drop = None,
    missing: Missing = None,
    labels: Labels = None,
    level: Level = 0.95,
    seed: Seed = 0,
    chart: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Draw the curve into an svg, png or html file.", rich_help_panel=OUTPUT),
    ] = None,
    json: Json = None,
    html: Html = None,
    markdown: Markdown = None,
    latex: Latex = None,
    mute: Mute = None,
) -> None:
    """Draw the learning curve: error on training and on other cases as the training set grows.

    It says whether more data would help, and how many more rows one point less error would take.

    \b
    Examples:
      heldout learn iris.arff --learner knn:5
      heldout learn churn.csv --target churned --learner forest --chart curve.svg
      heldout learn churn.csv --target churned --learner logistic --sizes 50,100,200,400
    """  # noqa: D301 - click takes a backspace to mean: do not wrap what follows
    check_data(data, learner, "learn")
    outputs = Outputs(json, html, markdown, latex)
    outputs.check([data])
    if chart is not None:
        check_chart(chart)
    from heldout.api.learning_curve import learning_curve

    with learners_may_print():
        curve = learning_curve(
            learner,
            data,
            target=target,
            sizes=read_sizes(sizes),
            points=points,
            draws=draws,
            jobs=read_jobs(jobs),
            on_error=on_error,  # type: ignore[arg-type]
            group=group,
            features=feature or None,
            drop=drop or (),
            missing=missing or "refuse",  # type: ignore[arg-type]
            labels=split_labels(labels),
            level=level,
            seed=seed,
            mute=mute or (),
        )
    if chart is not None:
        curve.save(chart)
    deliver(curve, outputs)
    if chart is not None:
        tell(f"Wrote {chart}")
    if not curve.finished:
        # The command's end says "Interrupted."; what was finished stands above.
        raise typer.Exit(130)


def check_chart(place: str) -> None:
    """Refuse a chart that could not be drawn or written, before anything is fitted."""
    from heldout.curves.saving import ENDINGS

    path = Path(place)
    if path.suffix.lower() not in ENDINGS:
        raise OptionError(
            f"--chart {place} ends in {path.suffix!r}, but a chart is written as one of {listing(ENDINGS)}.",
            hint=f"name the file {path.stem}.svg.",
        )
    check_place("chart", place)


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
