"""A page for every test that compares classifiers, from its declaration, with a comparison that uses it."""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module
from typing import Any

from docs.website.page import (
    escape_text,
    run_session,
    slug,
    steady_screen,
    write_facts,
    write_table,
    write_toctree,
)
from docs.website.promises import write_test_promises
from docs.website.sources import Site

import heldout.comparisons
from heldout.comparisons.pair_test import PROCEDURES, Procedure, Setting
from heldout.errors import HeldoutError

HOME = "reference/tests"
SETTINGS: dict[Setting, str] = {
    "same cases": "Both classifiers judged the same cases: each case is its own control.",
    "different cases": "Each classifier has a test set of its own, or one classifier two.",
    "same splits": "Two learners were trained and tested on the same splits of one data set.",
    "data sets": "Learners were tried on several data sets: one result for each.",
}

# What a comparison in each setting is made from; the call below names the measure and the method.
SETUPS: dict[Setting, str] = {
    "same cases": """\
import heldout
import polars as pl
rows = pl.read_csv("examples/diabetes.csv")
truth, score = rows["truth"], rows["p_tested_positive"]
# The same model, once with its probabilities rounded to quarters: what does rounding cost?
exact = heldout.evaluate(truth, score=score, threshold=0.5, positive="tested_positive")
rough = heldout.evaluate(truth, score=(score * 4).round() / 4, threshold=0.5, positive="tested_positive")
""",
    "different cases": """\
import heldout
import polars as pl
rows = pl.read_csv("examples/diabetes.csv")
old, new = rows[:400], rows[400:]
# One model on two sets of cases: has it become worse?
first = heldout.evaluate(old["truth"], score=old["p_tested_positive"], threshold=0.5, positive="tested_positive")
second = heldout.evaluate(new["truth"], score=new["p_tested_positive"], threshold=0.5, positive="tested_positive")
""",
    "same splits": """\
import heldout
both = heldout.validate(["naive-bayes", "knn:5"], "examples/data/iris.arff", plan="{plan}", measures=[])
""",
    "data sets": """\
import heldout
# Accuracies of {number} learners on ten data sets, made up.
results = {table}
""",
}
CALLS: dict[Setting, str] = {
    "same cases": 'heldout.compare(exact, rough, names=["exact", "rough"], measures="{measure}", method="{method}")',
    "different cases": 'heldout.compare(first, second, names=["first", "second"], measures="{measure}", '
    'method="{method}", paired=False)',
    "same splits": 'heldout.compare(both, measures="{measure}", method="{method}")',
    "data sets": 'heldout.compare(results, splits=False, method="{method}")',
}
# Tests that are chosen, not asked for by name: of rows in groups, and of three or more classifiers.
GROUPED = SETUPS["same cases"].replace('positive="tested_positive"', 'positive="tested_positive", group=rows["fold"]')
THREE = SETUPS["same cases"] + (
    'blunt = heldout.evaluate(truth, score=score, threshold=0.2, positive="tested_positive")\n'
)
OTHERWISE = (
    (GROUPED, 'heldout.compare(exact, rough, names=["exact", "rough"], measures="accuracy")'),
    (THREE, 'heldout.compare(exact, rough, blunt, names=["exact", "rough", "blunt"], measures="accuracy")'),
)
MEASURES = ("accuracy", "roc_auc", "brier", "log_loss", "macro f1", "f1", "recall")
PLANS = ("10-fold", "5x2-fold", "10x10-fold")
RESULTS = {
    "bayes": [0.74, 0.96, 0.81, 0.65, 0.90, 0.72, 0.83, 0.77, 0.69, 0.88],
    "tree": [0.72, 0.94, 0.84, 0.66, 0.91, 0.75, 0.80, 0.79, 0.71, 0.86],
    "forest": [0.77, 0.93, 0.88, 0.70, 0.93, 0.71, 0.85, 0.82, 0.74, 0.85],
}


def procedure_page(name: str) -> str:
    """Where the page of a test stands."""
    return f"{HOME}/{slug(name)}.md"


@cache
def list_procedures() -> dict[str, Procedure]:
    """Every test by name: each module of the comparisons enters its own."""
    for module in pkgutil.iter_modules(heldout.comparisons.__path__):
        import_module(f"heldout.comparisons.{module.name}")
    return dict(PROCEDURES)


def add_index(site: Site, names: list[str]) -> None:
    """The page of all tests, by how the classifiers were tested."""
    at = f"{HOME}/index.md"
    guide = site.link("Is A better than B", "comparing.md", at)
    parts = [
        "# Tests of a difference",
        (
            "`heldout compare` chooses the test that fits how the classifiers were tested, and says which and why; "
            f"`--method` asks for another. {guide} is the guide."
        ),
    ]
    for setting, text in SETTINGS.items():
        rows = [
            (site.link(name, procedure_page(name), at), escape_text(list_procedures()[name].summary))
            for name in names
            if list_procedures()[name].setting == setting
        ]
        title = setting[0].upper() + setting[1:]
        parts += [f"## {title}", text, write_table(["test", "what it does"], rows)] if rows else []
    site.add(at, "\n\n".join([*parts, write_toctree(map(slug, names), hidden=True)]))


def add_procedure(site: Site, name: str) -> None:
    """The page of one test."""
    procedure, at = list_procedures()[name], procedure_page(name)
    facts = {
        "For": f"{procedure.setting}. {SETTINGS[procedure.setting]}",
        "Known weakness": escape_text(procedure.finding),
        "Ask for it": f"`method={name!r}` in Python, `--method {name}` in a shell",
        "Reference": escape_text(procedure.reference),
    }
    parts = [f"# {name}", escape_text(procedure.summary), write_facts(facts), "## Example", write_example(procedure)]
    parts += ["## How often it rejects a true null", write_test_promises(site, name, at)]
    site.add(at, "\n\n".join(parts))


def write_example(procedure: Procedure) -> str:
    """A comparison by this test: the first of the measures and plans that it takes."""
    for setup, call in _list_programs(procedure):
        names: dict[str, Any] = {}
        try:
            with steady_screen():
                made = _make_setup(setup)
                names = dict(made)
                result = eval(call, names)  # noqa: S307 - one of the calls above
        except HeldoutError:
            continue
        # Of three learners on data sets those by pairs would be too long to read: two are enough.
        long = procedure.setting == "data sets" and "three" in setup and not isinstance(result, heldout.LearnerRanks)
        if long or procedure.name not in _list_methods(result):
            continue
        whole = procedure.setting == "data sets" or setup == THREE
        lines = [f"result = {call}", "print(result)" if whole else "print(result.verdict)"]
        return run_session(setup + "\n".join(lines))
    message = f"no example is compared by {procedure.name}"
    raise LookupError(message)


def _list_programs(procedure: Procedure) -> list[tuple[str, str]]:
    setup, call = SETUPS[procedure.setting], CALLS[procedure.setting]
    if procedure.setting == "same splits":
        return [(setup.format(plan=plan), call.format(measure="accuracy", method=procedure.name)) for plan in PLANS]
    if procedure.setting == "data sets":
        tables = ({name: RESULTS[name] for name in names} for names in (list(RESULTS), ["tree", "forest"]))
        return [(_write_results(table), call.format(method=procedure.name)) for table in tables]
    usual = [(setup, call.format(measure=measure, method=procedure.name)) for measure in MEASURES]
    return [*usual, *OTHERWISE] if procedure.setting == "same cases" else usual


def _write_results(table: dict[str, list[float]]) -> str:
    inside = "\n".join(f'    "{name}": {values},' for name, values in table.items())
    number = {2: "two", 3: "three"}[len(table)]
    return SETUPS["data sets"].format(number=number, table=f"{{\n{inside}\n}}")


@cache
def _make_setup(setup: str) -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(setup, names)  # noqa: S102 - one of the programs above
    return names


def _list_methods(result: Any) -> set[str]:
    """The methods that a comparison says it used."""
    text = str(result.to_dict())
    return {name for name in list_procedures() if f"'{name}'" in text or f"'{name}," in text}
