"""A page for every measure of the catalogue, from its declaration, with an example on the data in examples/."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

from docs.website.intervals import interval_page
from docs.website.page import (
    call_command,
    escape_text,
    run_session,
    shorten_lines,
    steady_screen,
    write_code,
    write_facts,
    write_formula,
    write_literal,
    write_table,
    write_toctree,
)
from docs.website.promises import write_measure_promises
from docs.website.sources import Site

from heldout.errors import HeldoutError
from heldout.intervals.score_methods import BOOTSTRAPS, closed_methods
from heldout.measures.catalogue import CATALOGUE, COUNTED, find
from heldout.measures.declare import Measure, Scope
from heldout.report.explanations import DIRECTIONS, counts_put_in, entry

HOME = "reference/measures"
SCOPES: dict[Scope, tuple[str, str]] = {
    "table": ("Of the whole confusion matrix", "One number for all cases and all classes."),
    "class": ("Of one class against the rest", "From TP, FN, FP and TN; macro, micro or weighted over classes."),
    "ranking": ("Of the order of the scores", "Only which case has the higher score matters, not by how much."),
    "pairs": ("Of the scores of several classes", "From the order of the scores of each pair of classes."),
    "probability": ("Of probabilities", "How good the probabilities are: losses, and calibration."),
    "cases": ("Of the cases", "Made from the predictions of all cases."),
}  # fmt: skip
# What examples are made on, the first that a measure is defined on: two classes with scores, three with scores.
POSITIVE_COSTS = {("tested_positive", "tested_negative"): 10, ("tested_negative", "tested_positive"): 1}
COSTS = "tested_positive,tested_negative:10; tested_negative,tested_positive:1"


def measure_page(name: str) -> str:
    """Where the page of a measure stands."""
    return f"{HOME}/{name}.md"


def list_measures() -> list[str]:
    """The measures that come with heldout, in the order of the catalogue."""
    return [name for name, measure in CATALOGUE.items() if not measure.own]


def add_index(site: Site, names: list[str]) -> None:
    """The page of all measures, by what they are made from."""
    at = f"{HOME}/index.md"
    parts = [
        "# Measures",
        (
            "Every measure is one formula, declared once. Each has a page with its formula, its range, when it is "
            "undefined, its default interval with the coverage that was measured, an example that was run, and a "
            "reference. `heldout measures NAME` prints the same on a terminal."
        ),
    ]
    for scope, (title, text) in SCOPES.items():
        rows = [
            (site.link(escape_text(m.title), measure_page(m.name), at), escape_text(m.symbol), escape_text(m.summary))
            for m in (CATALOGUE[name] for name in names)
            if m.scope == scope
        ]
        parts += [f"## {title}", text, write_table(["measure", "symbol", "what it is"], rows)] if rows else []
    site.add(at, "\n\n".join([*parts, write_toctree(names, hidden=True)]))


def add_measure(site: Site, name: str) -> None:
    """The page of one measure."""
    measure = CATALOGUE[name]
    at = measure_page(name)
    facts = dict(entry(measure))
    symbol = "" if measure.symbol == measure.title else f" ({escape_text(measure.symbol)})"
    title = measure.title[:1].upper() + measure.title[1:]
    parts = [f"# {escape_text(title)}{symbol}", escape_text(measure.summary), write_formula(measure.formula)]
    shown = {
        "Name": write_literal(measure.name)
        + (f", also {', '.join(map(write_literal, measure.aliases))}" if measure.aliases else ""),
        "Range": f"{escape_text(facts['range'].partition(',')[0])}; {DIRECTIONS[measure.direction]}",
        "Undefined": f"when {escape_text(measure.undefined)}",
        "Made from": escape_text(facts["of"]),
        "Parameters": escape_text(facts.get("parameters", "")),
        "Default interval": _write_default(site, facts["interval"], at),
        "Other intervals": _write_others(site, measure, facts["interval"], at),
        "Over folds": OVER_FOLDS[measure.over_folds],
        "Reference": escape_text(measure.reference),
    }
    parts += [write_facts(shown), "## Example", *write_example(measure)]
    parts += ["## Measured coverage of the default interval", write_measure_promises(site, measure, at)]
    parts += ["## See also", _write_neighbours(site, measure, at)]
    site.add(at, "\n\n".join(parts))


OVER_FOLDS = {
    "pooled": "made once from the cases of all folds together",
    "mean": "made in each fold and averaged: scores of two models are not on one scale",
    "ranks": "made once from the cases ranked within their folds: folds alone would be biased",
}


def _write_default(site: Site, named: str, at: str) -> str:
    first = named.split(",", maxsplit=1)[0]
    return site.link(escape_text(named), interval_page(first), at)


def _write_others(site: Site, measure: Measure, default: str, at: str) -> str:
    if measure.name in COUNTED or measure.scope not in ("ranking", "pairs", "probability"):
        return site.link("those of counts that apply", "reference/intervals/index.md", at)
    others = [name for name in closed_methods(measure) if name != default]
    others += [name for name in BOOTSTRAPS if measure.scope == "ranking" and name != default]
    return ", ".join(site.link(name, interval_page(name), at) for name in others)


def _write_neighbours(site: Site, measure: Measure, at: str) -> str:
    alike = [m for m in CATALOGUE.values() if m.scope == measure.scope and m.kind == measure.kind and not m.own]
    place = alike.index(measure)
    near = [m for m in alike[max(place - 3, 0) : place + 4] if m is not measure]
    links = [site.link(escape_text(m.title), measure_page(m.name), at) for m in near]
    return ", ".join([*links, site.link("all measures", f"{HOME}/index.md", at)]) + "."


# Examples.


@cache
def _evaluate(path: str, name: str, costly: bool) -> Any:
    import heldout

    more: dict[str, Any] = {"costs": POSITIVE_COSTS} if costly else {}
    with steady_screen():
        return heldout.evaluate(path, fold="none", measures=[name], **more)


def find_example(measure: Measure) -> tuple[str, bool]:
    """The file of examples/ on which a measure has a value, and whether it needs costs."""
    for path in ("examples/diabetes.csv", "examples/iris.csv"):
        for costly in (False, True):
            try:
                if not math.isnan(float(_evaluate(path, measure.name, costly)[measure.name])):
                    return path, costly
            except HeldoutError:
                continue
    message = f"no example has a value of {measure.name}"
    raise LookupError(message)


def write_example(measure: Measure) -> list[str]:
    """An evaluation that shows the measure, from Python and from a shell, and its counts put in."""
    path, costly = find_example(measure)
    evaluation = _evaluate(path, measure.name, costly)
    lines = ["import heldout"]
    if costly:
        lines.append(f"costs = {POSITIVE_COSTS}")
    more = ", costs=costs" if costly else ""
    lines += [
        "judged = heldout.evaluate(",
        f'    "{path}", fold="none", measures=["{measure.name}"]{more}',
        ")",
        f'print(judged["{measure.name}"])',
    ]
    parts = [run_session("\n".join(lines))]
    estimate = evaluation[measure.name]
    if measure.name in COUNTED:
        bound = find(estimate.measure, costs=evaluation.costs)
        worked = counts_put_in(evaluation.confusion, bound, estimate)
        if any(sign in worked for sign in "/+·"):
            parts.append(f"With the counts of this file put in: {escape_text(worked)} = {float(estimate):.4g}.")
    words = ["evaluate", path, "--fold", "none", "--measure", measure.name, *(["--costs", COSTS] if costly else [])]
    with steady_screen():
        status, screen = call_command(words)
    if status:
        message = f"{words} ended with {status}: {screen}"
        raise RuntimeError(message)
    line = " ".join(f"'{word}'" if " " in word or ";" in word else word for word in words)
    parts += ["From a shell:", write_code(f"$ heldout {line}\n{shorten_lines(screen)}", "console")]
    return parts
