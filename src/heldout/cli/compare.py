"""`heldout compare`: is one classifier better than another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from heldout.api.options import INPUT, OUTPUT, Option, make_switch
from heldout.cli.evaluate import refuse_rows
from heldout.cli.flags import ENGINE, FILES, OPTIONS, takes_flags
from heldout.cli.output import Outputs, check_own_file, check_writable, deliver, is_file, tell
from heldout.cli.progress import keep_to_readings
from heldout.errors import OptionError

CLAIM = "Claim"
USUAL_PLAN = "30 x holdout 2/3"
# Options that only one kind of input takes, and those that validating learners shares with comparing files.
OF_SPLITS = ("splits", "test_share", "data_set")
OF_FILES = (
    "truth", "predicted", "score", "threshold", "id", "fold", "weight", "paired", *OF_SPLITS, "matrix", "rows",
    *ENGINE.split(),
)  # fmt: skip
OF_LEARNERS = ("target", "plan", "features", "drop", "jobs")
OF_BOTH = ("group", "missing", "labels", "positive", "costs", "cost_rows")


@takes_flags(
    "truth predicted score threshold id fold different_cases splits no_splits test_share data_set matrix rows",
    "group weight positive labels costs cost_rows missing",
    ENGINE,
    "learners target plan features drop jobs measures method control correction margin equivalence rope",
    "level replicates seed full chart",
    FILES,
    "ignore ledger",
    predicted=replace(
        OPTIONS["predicted"],
        help="Column of predictions; repeated, one classifier of the file each.",
        repeated=True,
    ),
    score=replace(
        OPTIONS["score"], help="Column of scores of the positive class; repeated, one classifier of the file each."
    ),
    splits=make_switch(
        "Each row of a table holds the results of one split of a data set; columns of runs and folds say so too.", INPUT
    ),
    no_splits=make_switch("Each row is a data set of its own; for rows without names.", INPUT),
    test_share=Option(
        None,
        "SHARE",
        "Share of the cases that each split tests, such as 0.1 or 1/3, where the table does not say it.",
        INPUT,
    ),
    data_set=Option(None, "NAME", "Compare over the splits of this data set of the table.", INPUT),
    control=Option(None, "NAME", "Compare all others with this one only.", CLAIM),
    correction=Option(
        None,
        "NAME",
        "Correction for many comparisons: holm (the default for pairs), nemenyi (for a table of results), hommel, "
        "shaffer, … or none.",
        CLAIM,
    ),
    rope=Option(None, "R", "The largest difference that does not matter, for Bayesian methods.", CLAIM, kind=float),
    chart=Option(
        None,
        "FILE",
        "Draw the ROC curves, or of a table of results the critical difference diagram, into an svg, png or html file; "
        "the diagram also into a tex file.",
        OUTPUT,
    ),
    threshold=replace(OPTIONS["threshold"], help="Predict the positive class from this score on."),
    id=replace(OPTIONS["id"], help="Column that names the case; by default rows are matched by order."),
    matrix=replace(
        OPTIONS["matrix"],
        help="A confusion matrix of a classifier with a test set of its own: a CSV file, or the counts themselves, as "
        "in '50 0; 2 48'; may be repeated.",
        repeated=True,
    ),
    fold=replace(OPTIONS["fold"], help="Column of folds: compare fold by fold."),
    method=replace(
        OPTIONS["method"],
        help="Procedure, such as mcnemar-exact, permutation, corrected-t or paired-t; by default the one that fits.",
        panel=CLAIM,
    ),
    plan=replace(OPTIONS["plan"], help=f"How learners are trained and tested; without, {USUAL_PLAN}.", shown=False),
    margin=replace(OPTIONS["margin"], panel=CLAIM),
    equivalence=replace(OPTIONS["equivalence"], panel=CLAIM),
    replicates=replace(
        OPTIONS["replicates"],
        help="Bootstrap replicates; 2,000 of counts and 999 of scores unless given.",
        shown=False,
    ),
)
def compare(
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILE…",
            help="Files of predictions, one classifier each (or folders, or patterns in quotes); one file with several "
            "(--predicted, --score); one table of results, data sets × learners, or splits of one data set × learners, "
            "as Weka's Experimenter writes them too; or data for several --learner.",
        ),
    ] = None,
    *,
    outputs: Outputs,
    **options: Any,
) -> None:
    """Compare classifiers, by the procedure that fits how they were tested.

    \b
    Examples:
      heldout compare model_a.csv model_b.csv
      heldout compare model_a.csv model_b.csv --id case --measure 'macro f1'
      heldout compare scores.csv --truth y --score model_a --score model_b --chart roc.svg
      heldout compare data.csv --target churned --learner logistic --learner forest
      heldout compare results.csv --control baseline --chart ranks.svg
      heldout compare folds.csv --splits --test-share 0.1
      heldout compare model_a.csv model_b.csv --group patient --weight w
      heldout compare new.csv old.csv --margin 0.01
      heldout compare --matrix '50 0; 2 48' --matrix '45 5; 4 46'
      heldout compare new/ old/ --id case --engine duckdb
    """  # noqa: D301 - click takes a backspace to mean: do not wrap what follows
    paths, matrices = list(files or []), options.pop("matrix", [])
    if not paths and not matrices:
        raise OptionError("There is nothing to compare.", hint="heldout compare model_a.csv model_b.csv.")
    outputs.check([*paths, *matrices], options)
    learners, chart = options.pop("learners", []), options.pop("chart", None)
    kept = [*paths, *matrices, options.get("costs"), options.get("ledger")]
    _check_chart(chart, kept, outputs, learners=bool(learners))
    options |= {"margin_kind": "equivalence" if options.pop("equivalence") else "non-inferiority"}
    options.setdefault("measures", None)
    options |= {"paired": False} if options.pop("different_cases") else {}
    _read_splits(options)
    for name in {"predicted", "score"} & options.keys():
        columns = options[name]
        options[name] = _one_or_all([columns] if isinstance(columns, str) else columns, alone=len(paths) == 1)
    if options["jobs"] == "auto" and not learners:
        del options["jobs"]
    given = options | ({"matrix": matrices} if matrices else {})
    _refuse(OF_FILES if learners else OF_LEARNERS, given, learners=bool(learners))
    from heldout.api.compare import compare as run

    classifiers = [_validate(paths, learners, options)] if learners else [*paths, *_evaluate(matrices, paths, options)]
    result = run(*classifiers, **options)
    if chart is not None:
        result.write(chart, "ranks" if "ranks" in result.chart_kinds else "roc")
    deliver(result, outputs)
    if chart is not None:
        tell(f"Wrote {chart}")


def _read_splits(options: dict[str, Any]) -> None:
    """Say whether rows are splits, where anybody has said it."""
    splits, no_splits = options.pop("splits"), options.pop("no_splits")
    if splits and no_splits:
        raise OptionError("Rows are splits of a data set or data sets.", hint="leave out --splits or --no-splits.")
    if splits or no_splits:
        options["splits"] = splits


def _evaluate(matrices: list[str], paths: list[str], options: dict[str, Any]) -> list[dict[str, Any]]:
    """The evaluations of matrices by name; without files, the options that describe the classes are for them alone."""
    if not matrices:
        refuse_rows(options)
        return []
    from heldout.api.evaluate import evaluate

    shared = {"rows": options.pop("rows")} if "rows" in options else {}
    for name in ("positive", "costs", "cost_rows"):
        if name in options:
            shared[name] = options[name] if paths else options.pop(name)
    asked = options.get("labels") if paths else options.pop("labels", None)
    evaluations: list[dict[str, Any]] = []
    for place, matrix in enumerate(matrices):
        name = Path(matrix).name if is_file(matrix) else f"matrix {place + 1}"
        evaluations.append({name: evaluate(matrix=matrix, labels=asked, measures=[], level=options["level"], **shared)})
    return evaluations


def _refuse(names: tuple[str, ...], options: dict[str, Any], *, learners: bool) -> None:
    """Refuse options that are for the other kind of input."""
    spelled = {"paired": "different-cases", "features": "feature"}
    flags = [f"--{spelled.get(name, name)}" for name in names if name in options]
    if flags:
        kinds = ("predictions", "learners") if learners else ("learners", "predictions")
        hint = "leave them out, or leave out --learner." if learners else "leave them out, or name a --learner twice."
        raise OptionError(f"For {kinds[0]} only, and here are {kinds[1]}: {', '.join(flags)}.", hint=hint)


def _check_chart(chart: str | None, inputs: Sequence[str | None], outputs: Outputs, *, learners: bool) -> None:
    """Refuse a chart that could not be drawn or written, before anything is computed."""
    if chart is None:
        return
    if learners:
        raise OptionError(
            "There are no ROC curves of learners that are compared over many splits.", hint="leave out --chart."
        )
    check_writable("chart", chart)
    from heldout.show.figure import ENDINGS, check_ending

    # Ranks over data sets are also drawn for LaTeX.
    check_ending(chart, endings=(*ENDINGS, ".tex"))
    check_own_file("chart", chart, [*inputs, *outputs.forms().values(), *outputs.others])


def _one_or_all(columns: list[str], *, alone: bool) -> Any:
    """The columns of one file as a list; one column that several files share as itself."""
    if alone:
        return columns
    if len(columns) > 1:
        raise OptionError(
            f"Several columns were named for several files: {', '.join(columns)}.",
            hint="name one column that all files have, or give one file.",
        )
    return columns[0]


def _validate(paths: list[str], learners: list[str], options: dict[str, Any]) -> Any:
    """The learners, validated by the same splits; options that are for this alone are taken out."""
    if len(paths) > 1:
        raise OptionError("Learners are compared on one file of data.", hint="give one file, or leave out --learner.")
    if len(learners) < 2:
        raise OptionError(f"Only one learner was given: {learners[0]}.", hint="name at least two with --learner.")
    from heldout.api.validate import validate

    own = {name: options.pop(name) for name in (*OF_LEARNERS, *OF_BOTH) if name in options}
    shared = {"level": options["level"], "seed": options["seed"], "measures": []}
    with keep_to_readings():
        return validate(learners, paths[0], **{"plan": USUAL_PLAN, **own, **shared})
