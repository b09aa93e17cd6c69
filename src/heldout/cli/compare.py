"""`heldout compare`: is one classifier better than another."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from heldout.arguments import closest, listing
from heldout.cli.options import (
    INPUT,
    INTERVALS,
    OUTPUT,
    RUNNING,
    Costs,
    Drop,
    Engine,
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
    Master,
    Measures,
    Missing,
    Mute,
    Passes,
    Positive,
    Seed,
    Target,
    Tolerance,
    Truth,
    read_jobs,
    split_labels,
)
from heldout.cli.output import Outputs, check_place, deliver, tell
from heldout.errors import FileError, OptionError

CLAIM = "Claim"
USUAL_PLAN = "30 x holdout 2/3"
# What was not said of large data is left to compare().
OF_LARGE = ("tolerance", "passes")
CHARTS = (".svg", ".png", ".html", ".json", ".tex")


def compare(
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILE…",
            help="Files of predictions, one classifier each (or folders, or patterns in quotes); one file with several "
            "(--predicted, --score); one table of results, data sets × learners; or data for several --learner.",
        ),
    ] = None,
    truth: Truth = None,
    predicted: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            help="Column of predictions; repeated, one classifier of the file each.",
            rich_help_panel=INPUT,
        ),
    ] = None,
    score: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            help="Column of scores of the positive class; repeated, one classifier of the file each.",
            rich_help_panel=INPUT,
        ),
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(metavar="T", help="Predict the positive class from this score on.", rich_help_panel=INPUT),
    ] = None,
    id: Annotated[  # noqa: A002 - the word for it everywhere
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column that names the case; without, rows are matched by order.",
            rich_help_panel=INPUT,
        ),
    ] = None,
    fold: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Column of folds: compare fold by fold.", rich_help_panel=INPUT),
    ] = None,
    different_cases: Annotated[
        bool,
        typer.Option("--different-cases", help="Each file has a test set of its own.", rich_help_panel=INPUT),
    ] = False,
    group: Group = None,
    positive: Positive = None,
    labels: Labels = None,
    costs: Costs = None,
    missing: Missing = None,
    engine: Engine = None,
    master: Master = None,
    tolerance: Tolerance = None,
    passes: Passes = None,
    learner: Learners = None,
    target: Target = None,
    plan: Annotated[
        str | None,
        typer.Option(
            metavar="PLAN",
            help=f"How learners are trained and tested; without, {USUAL_PLAN}.",
            rich_help_panel=RUNNING,
        ),
    ] = None,
    feature: Features = None,
    drop: Drop = None,
    jobs: Jobs = "auto",
    measure: Measures = None,
    method: Annotated[
        str | None,
        typer.Option(
            metavar="METHOD",
            help="Procedure, such as mcnemar-exact, permutation, corrected-t or paired-t; without, the one that fits.",
            rich_help_panel=CLAIM,
        ),
    ] = None,
    control: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Compare all others with this one only.", rich_help_panel=CLAIM),
    ] = None,
    correction: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Correction for many comparisons: holm (the default for pairs), nemenyi (for a table of results), "
            "hommel, shaffer, … or none.",
            rich_help_panel=CLAIM,
        ),
    ] = None,
    margin: Annotated[
        float | None,
        typer.Option(
            metavar="M", help="Is the first no worse than the others by more than this?", rich_help_panel=CLAIM
        ),
    ] = None,
    equivalence: Annotated[
        bool,
        typer.Option("--equivalence", help="With --margin: do they differ by no more than it?", rich_help_panel=CLAIM),
    ] = False,
    rope: Annotated[
        float | None,
        typer.Option(
            metavar="R",
            help="The largest difference that does not matter, for Bayesian methods.",
            rich_help_panel=CLAIM,
        ),
    ] = None,
    level: Level = 0.95,
    replicates: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Bootstrap replicates; 2,000 of counts and 999 of scores unless given.",
            rich_help_panel=INTERVALS,
        ),
    ] = None,
    seed: Seed = 0,
    full: Full = False,
    chart: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Draw the ROC curves, or of a table of results the critical difference diagram, into an svg, png or "
            "html file; the diagram also into a tex file.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    json: Json = None,
    html: Html = None,
    markdown: Markdown = None,
    latex: Latex = None,
    mute: Mute = None,
) -> None:
    """Compare classifiers, by the procedure that fits how they were tested.

    \b
    Examples:
      heldout compare model_a.csv model_b.csv
      heldout compare model_a.csv model_b.csv --id case --measure 'macro f1'
      heldout compare scores.csv --truth y --score model_a --score model_b --chart roc.svg
      heldout compare data.csv --target churned --learner logistic --learner forest
      heldout compare results.csv --control baseline --chart ranks.svg
      heldout compare new.csv old.csv --margin 0.01
      heldout compare new/ old/ --id case --engine duckdb
    """  # noqa: D301 - click takes a backspace to mean: do not wrap what follows
    paths = list(files or [])
    if not paths:
        raise OptionError("There is nothing to compare.", hint="heldout compare model_a.csv model_b.csv.")
    outputs = Outputs(json, html, markdown, latex, full=full)
    outputs.check(paths)
    _check_chart(chart, paths, outputs, learners=bool(learner))
    from heldout.api.compare import compare as run

    options: dict[str, Any] = {
        "measure": measure or None,
        "method": method,
        "control": control,
        "correction": correction,
        "margin": margin,
        "margin_kind": "equivalence" if equivalence else "non-inferiority",
        "rope": rope,
        "level": level,
        "seed": seed,
        "replicates": replicates,
        "mute": mute or (),
    }
    of_files = {
        "truth": truth,
        "predicted": _one_or_all(predicted, alone=len(paths) == 1),
        "score": _one_or_all(score, alone=len(paths) == 1),
        "threshold": threshold,
        "id": id,
        "fold": fold,
        "paired": False if different_cases else None,
        "engine": engine,
        "master": master,
        "tolerance": tolerance,
        "passes": passes,
    }
    own = {"target": target, "plan": plan, "feature": feature, "drop": drop, "jobs": jobs if jobs != "auto" else None}
    _refuse(of_files if learner else own, learners=bool(learner))
    if learner:
        found = run(
            _validated(
                paths, learner, target, plan or USUAL_PLAN, group, feature, drop, missing, labels, positive, costs,
                level, seed, jobs,
            ),
            **options,
        )  # fmt: skip
    else:
        found = run(
            *paths,
            **options,
            **{name: value for name, value in of_files.items() if value is not None or name not in OF_LARGE},
            group=group,
            positive=positive,
            labels=split_labels(labels),
            costs=costs,
            missing=missing or "refuse",  # type: ignore[arg-type]
        )
    if chart is not None:
        found.save(chart)
    deliver(found, outputs)
    if chart is not None:
        tell(f"Wrote {chart}")


def _refuse(options: dict[str, Any], *, learners: bool) -> None:
    """Refuse options that are for the other kind of input."""
    # An option that may be repeated is an empty list where it was not given.
    given = [f"--{name}" for name, value in options.items() if value is not None and value != []]
    given = ["--different-cases" if name == "--paired" else name for name in given]
    if given:
        kinds = ("predictions", "learners") if learners else ("learners", "predictions")
        hint = "leave them out, or leave out --learner." if learners else "leave them out, or name a --learner twice."
        raise OptionError(f"For {kinds[0]} only, and here are {kinds[1]}: {', '.join(given)}.", hint=hint)


def _check_chart(chart: str | None, inputs: list[str], outputs: Outputs, *, learners: bool) -> None:
    """Refuse a chart that could not be drawn or written, before anything is computed."""
    if chart is None:
        return
    if learners:
        raise OptionError(
            "There are no ROC curves of learners that are compared over many splits.", hint="leave out --chart."
        )
    check_place("chart", chart)
    path = Path(chart)
    if path.suffix.lower() not in CHARTS:
        near = closest(path.suffix.lower(), CHARTS)
        raise OptionError(
            f"{path.name} ends in {path.suffix!r}, but a chart is written as one of {listing(CHARTS)}.",
            hint=f"name the file {path.stem}{near or '.svg'}.",
        )
    taken = [place for place in (*inputs, *outputs.forms().values()) if place != "-"]
    if any(os.path.realpath(place) == os.path.realpath(chart) for place in taken):
        raise FileError(f"--chart would overwrite another file: {chart}.", hint="give each file its own name.")


def _one_or_all(columns: list[str] | None, *, alone: bool) -> Any:
    """The columns of one file as a list; one column that several files share as itself."""
    if not columns:
        return None
    if alone:
        return list(columns)
    if len(columns) > 1:
        raise OptionError(
            f"Several columns were named for several files: {', '.join(columns)}.",
            hint="name one column that all files have, or give one file.",
        )
    return columns[0]


def _validated(
    paths: list[str], learners: list[str], target: str | None, plan: str, group: str | None,
    feature: list[str] | None, drop: list[str] | None, missing: str | None, labels: str | None, positive: str | None,
    costs: str | None, level: float, seed: int, jobs: str,
) -> Any:  # fmt: skip
    """The learners, validated by the same splits."""
    if len(paths) > 1:
        raise OptionError("Learners are compared on one file of data.", hint="give one file, or leave out --learner.")
    if len(learners) < 2:
        raise OptionError(f"There is one learner only: {learners[0]}.", hint="name at least two with --learner.")
    from heldout.api.validate import validate

    return validate(
        learners,
        paths[0],
        target=target,
        plan=plan,
        group=group,
        features=feature or None,
        drop=drop or (),
        missing=missing or "refuse",  # type: ignore[arg-type]
        labels=split_labels(labels),
        positive=positive,
        costs=costs,
        level=level,
        seed=seed,
        jobs=read_jobs(jobs),
        measures=[],
    )
