"""The first page of the site: what heldout is, how to get it, a first command with its output, and where to go on."""

from __future__ import annotations

from docs.website.page import call_command, steady_screen, write_code, write_toctree
from docs.website.sources import Site

FIRST = ["evaluate", "examples/diabetes.csv"]
CARDS = (
    ("start", "Start", "From a file of predictions to a report you can defend, in five minutes."),
    ("course/index", "Course", "Measure, estimate, compare, judge: seven chapters with real data and exercises."),
    ("howto/index", "How-to", "Imbalance, costs, groups, cross-validation, gates in CI, big data, papers."),
    ("reference/index", "Reference", "Every measure, finding, interval, test, plan, command and name."),
)  # fmt: skip
MORE = (
    ("guides", "Guides", "One page for each thing you do."),
    ("promises/index", "Promises", "What the intervals covered when it was measured, with the cells that miss."),
    ("coming-from", "Coming from another library", "The same in the words you know."),
    ("reference/gallery/index", "Gallery", "Every chart and every form of a report."),
    ("errata", "Errata", "What lecture notes often get wrong, and the command that shows it."),
    ("faq", "Questions", "What people ask first."),
)

# The head of every page, in this order: short names, where the title of a page is long.
TREE = {
    "start": "Start",
    "course/index": "Course",
    "howto/index": "How-to",
    "guides": "",
    "reference/index": "",
    "promises/index": "",
    "notebooks/index": "",
    "coming-from": "Coming from …",
    "errata": "Errata",
    "faq": "Questions",
    "glossary": "",
    "project/index": "",
}


def add_landing(site: Site) -> None:
    """Add the page, and the tree of everything that hangs below it."""
    with steady_screen():
        status, screen = call_command(FIRST)
    if status:
        message = f"the first command of the site fails: {screen}"
        raise RuntimeError(message)
    there = [f"{title} <{page}>" if title else page for page, title in TREE.items() if f"{page}.md" in site.pages]
    parts = [
        (
            '<div class="hero">\n\n# heldout judges classifiers\n\n'
            '<p class="lead">Give it the predictions of a classifier, or a learner and data. It says how good the '
            "classifier is and how sure that is, which threshold to use, what its errors cost, whether it is better "
            "than another one, and what is wrong with the evaluation.</p>\n\n</div>"
        ),
        write_code("$ pip install heldout\n$ heldout evaluate predictions.csv --html report.html", "console"),
        _write_cards(site, CARDS, "doors"),
        "## A first command",
        "`examples/diabetes.csv` [comes with the project](project/examples.md). This is what a terminal shows:",
        write_code(f"$ heldout {' '.join(FIRST)}\n\n{screen.strip()}", "console"),
        (
            "Every figure has an interval, by the method that covered best when that was measured. What has no "
            "value says "
            "why. What a careful statistician would point out stands at the end, with a code that can be looked up."
        ),
        "## Go on",
        _write_cards(site, MORE, "more"),
        write_toctree(there, hidden=True),
    ]
    site.add("index.md", "\n\n".join(parts))


def _is_folder(name: str) -> bool:
    return name.split("/", maxsplit=1)[0] in ("course", "howto", "notebooks")


def _write_cards(site: Site, cards: tuple[tuple[str, str, str], ...], kind: str) -> str:
    shown = [card for card in cards if f"{card[0]}.md" in site.pages or f"{card[0]}.md" in site.planned]
    parts = [f"::::{{container}} cards {kind}"]
    for page, title, text in shown:
        parts.append(f":::{{container}} card-door\n**[{title}]({page}.md)**\n\n{text}\n:::")
    return "\n\n".join([*parts, "::::"])
