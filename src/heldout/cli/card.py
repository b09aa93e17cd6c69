"""`heldout card`: how interpretable, explainable and useful a model is."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from heldout.api.options import INPUT, OUTPUT, RUNNING
from heldout.cli.flags import CLASSES, FILES, FITTED, Data, check_data, takes_flags
from heldout.cli.output import (
    STANDARD_OUTPUT,
    Outputs,
    check_writable,
    deliver,
    learners_may_print,
    print_document,
    tell,
    write_files,
)
from heldout.cli.validate import FOLD
from heldout.errors import FileError


@takes_flags(
    "target learner plan fold shuffles measure permute timing jobs on_error",
    FITTED,
    CLASSES,
    "answers level seed questions full",
    FILES,
    fold=FOLD,
)
def card(
    data: Data = None,
    plan: Annotated[
        str,
        typer.Option(metavar="PLAN", help="How to split: 10-fold, 5x2-fold, 'holdout 2/3', …", rich_help_panel=RUNNING),
    ] = "10-fold",
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
    answers: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="A TOML file with answers to the questions that only a person can answer.",
            rich_help_panel=INPUT,
        ),
    ] = None,
    questions: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Write the questions to a new TOML file, to be answered there; needs no data.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    *,
    outputs: Outputs,
    **options: Any,
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
        check_questions(questions, [answers, *outputs.forms().values()])
    if questions is not None and not data:
        _write_questions(questions, answers)
        return
    learner = options.pop("learner", None)
    check_data(data, learner, "card")
    outputs.check([data, answers])
    from heldout.cards.api import card as make

    with learners_may_print():
        result = make(
            learner,
            data,
            plan=plan,
            measure=measure,
            shuffles=shuffles,
            permute=permute or None,
            timing=timing,
            answers=answers,
            **options,
        )
    if questions is not None:
        _write_questions(questions, answers)
    deliver(result, outputs)


def check_questions(path: str, others: list[str | None]) -> None:
    """Refuse a file of questions that would take the place of another, such as one with answers in it."""
    if path == STANDARD_OUTPUT:
        if STANDARD_OUTPUT in others:
            raise FileError("Two forms cannot share standard output.", hint="write the questions to a file.")
        return
    check_writable("questions", path)
    if Path(path).is_file() or path in others:
        raise FileError(
            f"--questions would overwrite {path}, and answers may stand in it.", hint="name a file that is new."
        )


def _write_questions(path: str, answers: str | None) -> None:
    """The questions, with the answers that were given already."""
    from heldout.cards.questions import questionnaire, read_answers
    from heldout.show.escape import visible

    text = questionnaire(read_answers(answers))
    if path == STANDARD_OUTPUT:
        print_document(text)
        return
    write_files({"questions": (path, text)})
    tell(f"Wrote {visible(path)}")
