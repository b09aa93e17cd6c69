"""`heldout card`: how interpretable, explainable and useful a model is."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from heldout.cli.options import (
    INPUT,
    OUTPUT,
    RUNNING,
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
    Level,
    Markdown,
    Missing,
    OneLearner,
    OnError,
    Positive,
    Seed,
    Target,
    check_data,
    read_jobs,
    split_labels,
)
from heldout.cli.output import (
    STANDARD_OUTPUT,
    Outputs,
    check_place,
    deliver,
    learners_may_print,
    print_document,
    tell,
    write_files,
)
from heldout.errors import FileError


def card(
    data: Data = None,
    target: Target = None,
    learner: OneLearner = None,
    plan: Annotated[
        str,
        typer.Option(metavar="PLAN", help="How to split: 10-fold, 5x2-fold, 'holdout 2/3', …", rich_help_panel=RUNNING),
    ] = "10-fold",
    fold: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column that says which fold each row is in, instead of a plan.",
            rich_help_panel=RUNNING,
        ),
    ] = None,
    shuffles: Annotated[
        int, typer.Option(metavar="N", help="How often each column is shuffled in every fold.", rich_help_panel=RUNNING)
    ] = 5,
    measure: Annotated[
        str | None,
        typer.Option(
            metavar="MEASURE",
            help="What importance is a loss of: brier, log_loss or accuracy; brier where there are probabilities.",
            rich_help_panel=RUNNING,
        ),
    ] = None,
    permute: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Shuffle these columns only; may be repeated.", rich_help_panel=RUNNING),
    ] = None,
    timing: Annotated[
        bool,
        typer.Option("--timing/--no-timing", help="Measure how long predictions take.", rich_help_panel=RUNNING),
    ] = True,
    jobs: Jobs = "auto",
    on_error: OnError = "raise",
    group: Group = None,
    feature: Features = None,
    drop: Drop = None,
    missing: Missing = None,
    labels: Labels = None,
    positive: Positive = None,
    answers: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="A TOML file with answers to the questions that only a person can answer.",
            rich_help_panel=INPUT,
        ),
    ] = None,
    level: Level = 0.95,
    seed: Seed = 0,
    questions: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Write the questions to a new TOML file, to be answered there; needs no data.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    full: Full = False,
    json: Json = None,
    html: Html = None,
    markdown: Markdown = None,
    latex: Latex = None,
) -> None:
    """Make the card of a model: its size, what it leans on, a small tree in its place, its speed and its use.

    Questions that only a person can answer stand on it as unanswered until somebody answers them.

    \b
    Examples:
      heldout card churn.csv --target churned --learner forest --html card.html
      heldout card --questions answers.toml
      heldout card churn.csv --target churned --learner forest --answers answers.toml
    """  # noqa: D301 - click takes a backspace to mean: do not wrap what follows
    if questions is not None:
        check_questions(questions, [answers, json, html, markdown, latex])
    if questions is not None and not data:
        _write_questions(questions, answers)
        return
    check_data(data, learner, "card")
    outputs = Outputs(json, html, markdown, latex, full=full)
    outputs.check([data, answers])
    from heldout.cards.api import card as make

    with learners_may_print():
        found = make(
            learner,
            data,
            target=target,
            plan=plan,
            fold=fold,
            group=group,
            features=feature or None,
            drop=drop or (),
            positive=positive,
            labels=split_labels(labels),
            missing=missing or "refuse",  # type: ignore[arg-type]
            seed=seed,
            level=level,
            jobs=read_jobs(jobs),
            on_error=on_error,  # type: ignore[arg-type]
            measure=measure,
            shuffles=shuffles,
            permute=permute or None,
            timing=timing,
            answers=answers,
        )
    if questions is not None:
        _write_questions(questions, answers)
    deliver(found, outputs)


def check_questions(place: str, others: list[str | None]) -> None:
    """Refuse a file of questions that would take the place of another, such as one with answers in it."""
    if place == STANDARD_OUTPUT:
        if STANDARD_OUTPUT in others:
            raise FileError("Two forms cannot share standard output.", hint="write the questions to a file.")
        return
    check_place("questions", place)
    if Path(place).is_file() or place in others:
        raise FileError(
            f"--questions would overwrite {place}, and answers may stand in it.", hint="name a file that is new."
        )


def _write_questions(place: str, answers: str | None) -> None:
    """The questions, with the answers that were given already."""
    from heldout.cards.questions import questionnaire, read_answers
    from heldout.show.escape import visible

    text = questionnaire(read_answers(answers))
    if place == STANDARD_OUTPUT:
        print_document(text)
        return
    write_files({"questions": (place, text)})
    tell(f"Wrote {visible(place)}")
