"""A page for every resampling plan, from its function: how it splits, which error it estimates, and an example."""

from __future__ import annotations

import doctest
import inspect
import re
import shlex
from functools import cache
from typing import Any

import numpy as np
from docs.website.page import (
    call_command,
    escape_text,
    run_session,
    shorten_lines,
    slug,
    steady_screen,
    write_code,
    write_facts,
    write_literal,
    write_table,
    write_toctree,
)
from docs.website.sources import Site

from heldout import plans
from heldout.plans.parser import EXAMPLES

HOME = "reference/plans"
# The cases of the pictures: two classes of ten cases, groups of four.
CASES, SHOWN_SPLITS = 20, 10
CLASSES, GROUPS = np.arange(CASES) // 10, np.arange(CASES) // 4
# More splits than these would be fitted for an example.
MOST_SPLITS = 200


def plan_page(name: str) -> str:
    """Where the page of a plan stands."""
    return f"{HOME}/{slug(name)}.md"


def list_plans() -> list[str]:
    """The functions of heldout.plans that make a plan of one kind."""
    found = [name for name in plans.__all__ if inspect.isfunction(getattr(plans, name))]
    return [name for name in found if name != plans.read_plan.__name__]


@cache
def list_texts(name: str) -> tuple[str, ...]:
    """How a person writes the plan that a function makes, as far as it has a text."""
    function: Any = getattr(plans, name)
    made = inspect.signature(function).return_annotation
    texts = [text for text in EXAMPLES if type(plans.read_plan(text)).__name__ == made]
    if made == "Bootstrap":
        texts = [text for text in texts if plans.read_plan(text).correction == function().correction]
    return tuple(texts)


def make_plan(name: str) -> plans.Plan:
    """A plan of the kind for a picture."""
    texts = list_texts(name)
    if texts:
        return plans.read_plan(texts[0])
    if name == "by_column":
        return plans.by_column(np.repeat(["north", "south", "east", "west"], 5), name="region")
    from sklearn.model_selection import KFold

    return plans.given(KFold(3))


def add_index(site: Site, names: list[str]) -> None:
    """The page of all plans."""
    at = f"{HOME}/index.md"
    rows = [
        (
            site.link(name, plan_page(name), at),
            ", ".join(map(write_literal, list_texts(name))) or "from Python",
            escape_text(_summary(name)),
        )
        for name in names
    ]
    guide = site.link("How good will it be", "resampling.md", at)
    text = (
        "A plan says how rows are split into those that train and those that test. It is written as a text, such as "
        f"`10-fold`, or made by a function of `heldout.plans`. {guide} is the guide."
    )
    site.add(
        at,
        f"# Plans\n\n{text}\n\n{write_table(['plan', 'written as', 'what it is'], rows)}\n\n"
        + write_toctree(map(slug, names), hidden=True),
    )


def _summary(name: str) -> str:
    return (inspect.getdoc(getattr(plans, name)) or "").partition("\n")[0]


def add_plan(site: Site, name: str) -> None:
    """The page of one plan."""
    at, plan = plan_page(name), make_plan(name)
    facts = {
        "Written as": ", ".join(map(write_literal, list_texts(name))) or "made in Python only",
        "Estimates": escape_text(plan.target),
        "Interval": f"the number of distinct cases is divided by {plan.factor:.3g}, for what models that share "
        "training rows have in common"
        if plan.factor != 1
        else "as of independent cases",
        "In Python": site.link(f"`heldout.plans.{name}`", f"reference/api/plans.{name}.md", at),
    }
    parts = [f"# {name}", escape_text(_summary(name)), write_facts(facts), "## Which rows train and test"]
    parts += [draw_splits(plan), "## Example", *write_examples(name)]
    references = _list_references(name)
    parts += ["## References", *references] if references else []
    site.add(at, "\n\n".join(parts))


def _list_references(name: str) -> list[str]:
    section = (inspect.getdoc(getattr(plans, name)) or "").partition("References\n----------\n")[2]
    return [
        escape_text(" ".join(text.split()))
        for text in re.split(r"^- ", section.partition("\n\n")[0], flags=re.MULTILINE)
        if text
    ]


def draw_splits(plan: plans.Plan) -> str:
    """A picture of the splits of twenty cases: a line for each split, test cases filled, training cases empty."""
    cases = plans.Cases(CLASSES, ("no", "yes"), GROUPS if "group" in plan.kind else None)
    splits = plan.splits(cases, seed=1)
    lines = []
    shown = min(len(splits), SHOWN_SPLITS)
    for at in range(shown):
        test, train = set(splits.test(at).tolist()), splits.train(at).tolist()
        for case in range(CASES):
            times = train.count(case)
            kind = "test" if case in test else "train" if times else "left"
            x, y = 20 * case + 2, 20 * at + 2
            lines.append(f'<rect class="{kind}" x="{x}" y="{y}" width="16" height="16" rx="3"/>')
            if times > 1:
                lines.append(f'<text x="{x + 8}" y="{y + 12}">{times}</text>')
    more = f" The first {shown} of {len(splits):,} splits." if shown < len(splits) else ""
    text = (
        f"Each line is a split of twenty cases by `{plan.text}`: filled cases test, outlined cases train (a "
        "number says how "
        f"often a case was drawn), faint ones are left out.{more}"
    )
    picture = (
        f'<svg class="splits" role="img" aria-label="The splits of twenty cases by {plan.text}" '
        f'viewBox="0 0 {20 * CASES} {20 * shown}" width="{24 * CASES}">{"".join(lines)}</svg>'
    )
    return f"{picture}\n\n{text}"


def write_examples(name: str) -> list[str]:
    """The example of the function, and a validation by the plan where it has a text."""
    doc = inspect.getdoc(getattr(plans, name)) or ""
    examples = doctest.DocTestParser().get_examples(doc)
    if not examples:
        message = f"heldout.plans.{name} has no example"
        raise LookupError(message)
    source = "".join(example.source for example in examples)
    start = [f"from heldout.plans import {name}{', Cases' if 'Cases' in source else ''}"]
    start = [*(["import numpy as np"] if "np." in source else []), *start]
    parts = [run_session("\n".join([*start, source]))]
    for text in list_texts(name)[:1]:
        data = "examples/data/iris.arff"
        if "group" in text or "2-out" in text:
            continue
        fitted = ["knn:5", "--grid", "n_neighbors=1,3,5"] if name == plans.nested.__name__ else ["naive-bayes"]
        words = ["validate", data, "--learner", *fitted, "--plan", text, "--measure", "accuracy"]
        with steady_screen():
            status, screen = call_command(words)
        if status:
            message = f"{words} ended with {status}: {screen}"
            raise RuntimeError(message)
        line = " ".join(map(shlex.quote, words))
        parts += ["From a shell:", write_code(f"$ heldout {line}\n{shorten_lines(screen, 30)}", "console")]
    return parts
