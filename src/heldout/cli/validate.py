"""`heldout validate`: estimate how good a learner will be, by resampling."""

from __future__ import annotations

from typing import Annotated

import typer

from heldout.cli.options import (
    INTERVALS,
    OUTPUT,
    RUNNING,
    CostRows,
    Costs,
    Data,
    Drop,
    Features,
    Full,
    Group,
    Html,
    Jobs,
    Json,
    Labels,
    Latex,
    Learners,
    Level,
    Markdown,
    Measures,
    Missing,
    Mute,
    OnError,
    Positive,
    Replicates,
    Seed,
    Target,
    check_data,
    read_grid,
    read_jobs,
    split_labels,
)
from heldout.cli.output import Outputs, deliver, learners_may_print
from heldout.errors import OptionError


def validate(
    data: Data = None,
    target: Target = None,
    learner: Learners = None,
    plan: Annotated[
        str,
        typer.Option(
            metavar="PLAN",
            help="How to split: 10-fold, 5x2-fold, 'holdout 2/3', '30 x holdout 2/3', loo, 'bootstrap 200', "
            "'.632+ 200', resubstitution, 'time-ordered 5', 'weka 10-fold seed 1', 'nested 10-fold / 5-fold'.",
            rich_help_panel=RUNNING,
        ),
    ] = "10-fold",
    fold: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column that says which fold each row is in, instead of a plan.",
            rich_help_panel=RUNNING,
        ),
    ] = None,
    grid: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=A,B,…",
            help="A setting and the values to try within every training part; may be repeated.",
            rich_help_panel=RUNNING,
        ),
    ] = None,
    jobs: Jobs = "auto",
    on_error: OnError = "raise",
    shortcuts: Annotated[
        bool,
        typer.Option(
            "--shortcuts/--no-shortcuts",
            help="Use faster ways for k-nearest neighbours and naive Bayes where the predictions are the same.",
            rich_help_panel=RUNNING,
        ),
    ] = True,
    group: Group = None,
    feature: Features = None,
    drop: Drop = None,
    missing: Missing = None,
    labels: Labels = None,
    positive: Positive = None,
    costs: Costs = None,
    cost_rows: CostRows = None,
    level: Level = 0.95,
    method: Annotated[
        str | None,
        typer.Option(
            metavar="METHOD",
            help="Interval method, such as corrected-t, naive-t or nested-cv; without, the best of each kind.",
            rich_help_panel=INTERVALS,
        ),
    ] = None,
    replicates: Replicates = 2000,
    seed: Seed = 0,
    measure: Measures = None,
    full: Full = False,
    predictions: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Write every prediction with its row and fold to a CSV file.", rich_help_panel=OUTPUT
        ),
    ] = None,
    json: Json = None,
    html: Html = None,
    markdown: Markdown = None,
    latex: Latex = None,
    mute: Mute = None,
) -> None:
    """Estimate how good a learner will be on new cases, by a plan that trains and tests it.

    Columns of categories and gaps are dealt with inside every fold.

    \b
    Examples:
      heldout validate iris.arff --learner knn:5 --learner naive-bayes
      heldout validate churn.csv --target churned --learner forest --plan '5x2-fold'
      heldout validate churn.csv --target churned --learner logistic --plan '.632+ 200'
      heldout validate churn.csv --target churned --learner knn:5 --grid n_neighbors=1,3,5,9
      heldout validate churn.csv --target churned --learner 'my_learners:Mine(depth=3)'
    """  # noqa: D301 - click takes a backspace to mean: do not wrap what follows
    check_data(data, learner, "validate")
    outputs = Outputs(json, html, markdown, latex, full=full, chosen=bool(measure), predictions=predictions)
    outputs.check([data])
    names = list(learner or [])
    if predictions is not None and len(names) > 1:
        raise OptionError(
            "--predictions writes the predictions of one learner, and there are several.",
            hint="run each learner by itself; with the same seed the splits are the same.",
        )
    from heldout.api.validate import validate as run

    with learners_may_print():
        found = run(
            names[0] if len(names) == 1 else names,
            data,
            target=target,
            plan=plan,
            fold=fold,
            grid=read_grid(grid),
            jobs=read_jobs(jobs),
            on_error=on_error,  # type: ignore[arg-type]
            shortcuts=shortcuts,
            group=group,
            features=feature or None,
            drop=drop or (),
            missing=missing or "refuse",  # type: ignore[arg-type]
            labels=split_labels(labels),
            positive=positive,
            costs=costs,
            cost_rows=cost_rows,
            level=level,
            method=method,
            replicates=replicates,
            seed=seed,
            measures=measure or "all",
            mute=mute or (),
        )
    deliver(found, outputs)
    if not found.finished:
        # The command's end says "Interrupted."; what was finished stands above.
        raise typer.Exit(130)
