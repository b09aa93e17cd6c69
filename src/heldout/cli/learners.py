"""`heldout validate`, `learning-curve`, `bias-variance` and `card`: the commands that fit a learner to data."""

from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from heldout.api.options import INPUT, OUTPUT, RUNNING, Option
from heldout.cli.flags import CLASSES, FILES, FITTED, INTERVAL, OPTIONS, Data, check_data, import_all, takes_flags
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
from heldout.errors import FileError, OptionError

FOLD = replace(OPTIONS["fold"], help="Column that says which fold each row is in, instead of a plan.", panel=RUNNING)


@takes_flags(
    "target learners plan fold grid jobs on_error shortcuts",
    FITTED,
    CLASSES,
    "costs cost_rows",
    INTERVAL,
    "measures full layout predictions",
    FILES,
    "ignore",
    fold=FOLD,
    method=replace(
        OPTIONS["method"],
        help="Interval method, such as corrected-t, naive-t or nested-cv; by default the best for each measure.",
    ),
    grid=Option(
        None,
        "NAME=A,B,…",
        "A setting and the values to try within every training part; may be repeated.",
        RUNNING,
        repeated=True,
    ),
    predictions=Option(None, "FILE", "Write every prediction with its row and fold to a CSV file.", OUTPUT),
)
def validate(
    data: Data = None,
    shortcuts: Annotated[
        bool,
        typer.Option(
            "--shortcuts/--no-shortcuts",
            help="Use faster ways for k-nearest neighbours and naive Bayes where the predictions are the same.",
            rich_help_panel=RUNNING,
        ),
    ] = True,
    *,
    outputs: Outputs,
    **options: Any,
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
      heldout validate iris.arff --learner weka-naive-bayes --plan 'weka 10-fold seed 1' --format weka
    """  # noqa: D301 - click takes a backspace to mean: do not wrap what follows
    learners, predictions = options.pop("learners", []), options.pop("predictions", None)
    check_data(data, learners, "validate")
    outputs = replace(outputs, chosen="measures" in options, predictions=predictions)
    outputs.check([data], options)
    if predictions is not None and len(learners) > 1:
        raise OptionError(
            "--predictions writes the predictions of one learner, and there are several.",
            hint="run each learner by itself; with the same seed the splits are the same.",
        )
    if "grid" in options:
        options["grid"] = read_grid(options["grid"])
    from heldout.api.validate import validate as run

    with learners_may_print():
        learner = learners[0] if len(learners) == 1 else learners
        result = run(learner, data, shortcuts=shortcuts, **options)
    deliver(result, outputs)
    if not result.finished:
        # The command's end says "Interrupted."; what was finished stands above.
        raise typer.Exit(130)


def read_grid(texts: list[str]) -> dict[str, list[Any]]:
    """The settings to search: each text names one and lists its values.

    >>> read_grid(["n_neighbors=1,3,5", "weights=uniform,distance"])
    {'n_neighbors': [1, 3, 5], 'weights': ['uniform', 'distance']}
    >>> read_grid(["hidden_layer_sizes=(10, 5), (20,)"])
    {'hidden_layer_sizes': [(10, 5), (20,)]}
    """
    grid: dict[str, list[Any]] = {}
    for text in texts:
        name, equals, values = text.partition("=")
        if not equals or not name.strip() or not values.strip():
            raise OptionError(
                f"--grid {text!r} is not SETTING=VALUE,VALUE.",
                hint="write --grid n_neighbors=1,3,5.",
            )
        grid[name.strip()] = _values(values)
    return grid


def _values(text: str) -> list[Any]:
    """The values of a setting, separated by commas; one in brackets, as (10, 5), stays whole."""
    try:
        return list(ast.literal_eval(f"({text},)"))
    except (ValueError, SyntaxError):
        return [_value(value.strip()) for value in text.split(",")]


def _value(text: str) -> Any:
    """A number, True, False or None as Python writes it; anything else is text."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


@takes_flags(
    "target learner sizes points draws jobs on_error",
    FITTED,
    CLASSES,
    "level seed measure chart",
    FILES,
    "ignore",
    sizes=Option(
        "geometric",
        "geometric|arithmetic|A,B,…",
        "How the training sizes grow, or the sizes themselves, in rows or as shares.",
        RUNNING,
        shown=True,
    ),
    points=Option(8, "N", "How many sizes.", RUNNING, kind=int, shown=True),
    draws=Option(10, "N", "How many training sets of each size.", RUNNING, kind=int, shown=True),
    measure=Option(
        "error_rate",
        "MEASURE",
        "What the curve shows, such as accuracy, 'macro f1' or 'recall[spam]'; the verdict is of the error.",
        OUTPUT,
        shown=True,
    ),
    chart=Option(None, "FILE", "Draw the curve into an svg, png or html file.", OUTPUT),
)
def learning_curve(data: Data = None, *, outputs: Outputs, **options: Any) -> None:
    """Draw the learning curve: error, or another measure, on training and on other cases as the training set grows.

    It says whether more data would help, and how many more rows one point less error would take.

    \b
    Examples:
      heldout learning-curve iris.arff --learner knn:5
      heldout learning-curve churn.csv --target churned --learner forest --chart curve.svg
      heldout learning-curve churn.csv --target churned --learner logistic --sizes 50,100,200,400
      heldout learning-curve churn.csv --target churned --learner forest --measure accuracy
    """  # noqa: D301 - click takes a backspace to mean: do not wrap what follows
    learner = options.pop("learner", None)
    check_data(data, learner, "learning-curve")
    outputs.check([data], options)
    chart = options.pop("chart", None)
    options |= {"sizes": read_sizes(options["sizes"]), "measure": import_all(options["measure"])}
    if chart is not None:
        check_chart(chart)
    from heldout.api.learning_curve import learning_curve as run

    with learners_may_print():
        curve = run(learner, data, **options)
    if chart is not None:
        curve.write(chart, curve.chart_kinds[0])
    deliver(curve, outputs)
    if chart is not None:
        tell(f"Wrote {chart}")
    if not curve.finished:
        # The command's end says "Interrupted."; what was finished stands above.
        raise typer.Exit(130)


@takes_flags(
    "target learner rounds jobs",
    FITTED,
    "labels level seed",
    FILES,
    rounds=Option(100, "N", "How many bootstrap samples to train on.", RUNNING, kind=int, shown=True),
)
def bias_variance(data: Data = None, *, outputs: Outputs, **options: Any) -> None:
    """Split the error of a learner into bias, which most training sets lead to, and variance, their luck.

    Every case is judged by the models whose bootstrap sample left it out.

    \b
    Examples:
      heldout bias-variance iris.arff --learner tree
      heldout bias-variance churn.csv --target churned --learner knn:1 --rounds 200
    """  # noqa: D301 - click takes a backspace to mean: do not wrap what follows
    learner = options.pop("learner", None)
    check_data(data, learner, "bias-variance")
    outputs.check([data], options)
    from heldout.api.learning_curve import bias_variance as divide

    with learners_may_print():
        divided = divide(learner, data, **options)
    deliver(divided, outputs)
    if not divided.finished:
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
    from heldout.resampling.learning_curve import SPACINGS

    folded = text.strip().casefold()
    if folded in SPACINGS:
        return folded
    try:
        return [float(part) if "." in part else int(part) for part in text.split(",")]
    except ValueError:
        raise OptionError(
            f"--sizes must be {', '.join(SPACINGS)} or numbers separated by commas. Got {text!r}.",
            hint="for example --sizes 50,100,200.",
        ) from None


@takes_flags(
    "target learner plan fold shuffles measure permute timing jobs on_error",
    FITTED,
    CLASSES,
    "answers level seed questions full",
    FILES,
    fold=FOLD,
    shuffles=Option(5, "N", "How often each column is shuffled in every fold.", RUNNING, kind=int, shown=True),
    measure=Option(
        None,
        "MEASURE",
        "Measure whose loss is the importance: brier (default with probabilities), log_loss or accuracy.",
        RUNNING,
    ),
    permute=Option(None, "COLUMN", "Shuffle these columns only; may be repeated.", RUNNING, repeated=True),
    answers=Option(None, "FILE", "A TOML file with answers to the questions that only a person can answer.", INPUT),
    questions=Option(
        None, "FILE", "Write the questions to a new TOML file, to be answered there; needs no data.", OUTPUT
    ),
)
def card(
    data: Data = None,
    timing: Annotated[
        bool,
        typer.Option("--timing/--no-timing", help="Measure how long predictions take.", rich_help_panel=RUNNING),
    ] = True,
    *,
    outputs: Outputs,
    **options: Any,
) -> None:
    """Make the card of a model: its size, feature importance, a surrogate tree, its speed and its use.

    Questions that only a person can answer stand on it as unanswered until somebody answers them.

    \b
    Examples:
      heldout card churn.csv --target churned --learner forest --html card.html
      heldout card --questions answers.toml
      heldout card churn.csv --target churned --learner forest --answers answers.toml
    """  # noqa: D301 - click takes a backspace to mean: do not wrap what follows
    questions, answers = options.pop("questions", None), options.get("answers")
    if questions is not None:
        check_questions(questions, [answers, *outputs.forms().values(), *outputs.others])
    if questions is not None and not data:
        _write_questions(questions, answers)
        return
    learner = options.pop("learner", None)
    check_data(data, learner, "card")
    outputs.check([data, answers], options)
    from heldout.cards.api import card as make

    if "measure" in options:
        options["measure"] = import_all(options["measure"])
    with learners_may_print():
        result = make(learner, data, timing=timing, **options)
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
