"""A page for every interval method, from its declaration: which measures it is the default of, and an example."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
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
from docs.website.sources import Site

from heldout.errors import HeldoutError
from heldout.intervals.count_estimator import default_count_method
from heldout.intervals.fold_estimates import FOLD_METHODS
from heldout.intervals.methods import METHODS
from heldout.intervals.score_methods import (
    assumes_independence,
    default_score_method,
    explain_method,
    score_method_names,
)
from heldout.measures.catalogue import CATALOGUE, COUNTED
from heldout.measures.declare import Measure

HOME = "reference/intervals"
COUNTS, SCORES, FOLDS = "Of counts", "Of scores and probabilities", "Of the mean over folds"
# Measures that examples are tried on, besides those that a method is the default of.
TRIED = ("accuracy", "recall", "macro f1", "f1", "roc_auc", "average_precision", "brier", "no_information_rate")


@dataclass(frozen=True, slots=True)
class Declared:
    """What the declarations say of an interval method, wherever it may be used."""

    name: str
    summary: str
    reference: str
    parts: tuple[str, ...]
    one_sided: str = ""


def interval_page(name: str) -> str:
    """Where the page of an interval method stands."""
    return f"{HOME}/{slug(name)}.md"


@cache
def list_intervals() -> dict[str, Declared]:
    """Every interval method by name; one of counts may be one of scores too."""
    found: dict[str, Declared] = {}
    for name, method in METHODS.items():
        both = (COUNTS, SCORES) if name in score_method_names() else (COUNTS,)
        found[name] = Declared(name, method.summary, method.reference, both, method.one_sided)
    for name in score_method_names():
        if name not in found:
            found[name] = Declared(name, *explain_method(name), (SCORES,))
    for name, by_fold in FOLD_METHODS.items():
        found[name] = Declared(name, by_fold.summary, by_fold.reference, (FOLDS,))
    return found


def find_default(measure: Measure) -> str:
    """The default method of a measure."""
    return default_count_method(measure) if measure.name in COUNTED else default_score_method(measure)


def add_index(site: Site, names: list[str]) -> None:
    """The page of all interval methods."""
    at = f"{HOME}/index.md"
    parts = [
        "# Intervals",
        (
            "Every number has an interval by default, by the method that kept its promise best for that kind of "
            "measure "
            f"when coverage was measured ({site.link('promises', 'promises/index.md', at)}). `method=` in Python and "
            "`--method` in a shell ask for another one, which is used wherever it applies."
        ),
    ]
    for part in (COUNTS, SCORES, FOLDS):
        rows = [
            (site.link(name, interval_page(name), at), escape_text(list_intervals()[name].summary))
            for name in names
            if list_intervals()[name].parts[0] == part
        ]
        parts += [f"## {part}", write_table(["method", "what it does"], rows)] if rows else []
    site.add(at, "\n\n".join([*parts, write_toctree(map(slug, names), hidden=True)]))


def add_interval(site: Site, name: str) -> None:
    """The page of one interval method."""
    declared, at = list_intervals()[name], interval_page(name)
    of = [m for m in CATALOGUE.values() if not m.own and m.scope != "cases" and find_default(m) == name]
    links = [site.link(escape_text(m.title), f"reference/measures/{m.name}.md", at) for m in of]
    facts = {
        "Used for": "; ".join(part[3:] for part in declared.parts),
        "Default of": ", ".join(links)
        or "no measure by itself; ask for it by name, or it is chosen for some averages, groups and gates",
        "One-sided": f"gates take {site.link(declared.one_sided, interval_page(declared.one_sided), at)}, whose ends "
        "each keep the level"
        if declared.one_sided
        else "",
        "Grouped rows": _say_groups(name),
        "Reference": _write_reference(site, declared.reference, at),
    }
    parts = [f"# {name}", escape_text(declared.summary), write_facts(facts), "## Example", write_example(name)]
    parts += [
        f"How intervals are made, and why each default was chosen: {site.link('statistics', 'statistics.md', at)}."
    ]
    site.add(at, "\n\n".join(parts))


def _say_groups(name: str) -> str:
    if name in METHODS:
        return "made for rows that come in groups" if METHODS[name].groups else ""
    return (
        "takes rows as independent; where they come in groups another method is used"
        if assumes_independence(name)
        else ""
    )


def _write_reference(site: Site, reference: str, at: str) -> str:
    return site.link("derived in statistics", "statistics.md", at).join(
        map(escape_text, reference.split("derivations in docs/statistics.md"))
    )


# Examples.

# Two classes, three classes, folds, and rows that belong together as those of one hospital do.
SETTINGS = (
    'heldout.evaluate("examples/diabetes.csv", fold="none", measures=["{measure}"], method="{method}")',
    'heldout.evaluate("examples/iris.csv", fold="none", measures=["{measure}"], method="{method}")',
    'heldout.evaluate("examples/diabetes.csv", measures=["{measure}"], method="{method}")',
    'heldout.evaluate("examples/diabetes.csv", fold="none", group="fold", measures=["{measure}"], method="{method}")',
)


def write_example(name: str) -> str:
    """An estimate whose interval is by the method."""
    line, measure = find_example(name)
    return run_session(f"import heldout\njudged = {line}\nprint(judged[{measure!r}])")


def find_example(name: str) -> tuple[str, str]:
    """The first of the calls and measures where a method applies."""
    defaults = [m.name for m in CATALOGUE.values() if not m.own and m.scope != "cases" and find_default(m) == name]
    for call in SETTINGS:
        for measure in (*defaults, *TRIED):
            line = call.format(measure=measure, method=name)
            if _find_method(line, measure).split(",")[0].split(" over")[0] == name:
                return line, measure
    message = f"no example gets an interval by {name}"
    raise LookupError(message)


def _find_method(line: str, measure: str) -> str:
    import heldout

    with steady_screen():
        try:
            judged: Any = eval(line, {"heldout": heldout})  # noqa: S307 - one of the lines above
            return str(judged[measure].method)
        except HeldoutError:
            return ""
