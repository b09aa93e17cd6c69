"""The gallery: every kind of chart drawn from the data in examples/, and every form that a result is written in."""

from __future__ import annotations

import pkgutil
import re
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from docs.website.page import escape_text, shorten_lines, slug, steady_screen, write_code, write_table, write_toctree
from docs.website.sources import Site

import heldout
from heldout.curves.declare import list_kinds
from heldout.result import ENDINGS, PICTURES, Result

HOME = "reference/gallery"
# What is drawn, and how it is made; a later line may use the names of earlier ones.
DRAWN: dict[str, tuple[str, str]] = {
    "judged": ("An evaluation of two classes with scores", 'heldout.evaluate("examples/diabetes.csv", fold="none")'),
    "folds": ("An evaluation over folds", 'heldout.evaluate("examples/diabetes.csv")'),
    "classes": ("An evaluation of three classes", 'heldout.evaluate("examples/iris.csv", fold="none")'),
    "slices": (
        "Slices of the cases",
        'heldout.evaluate("examples/diabetes.csv", fold="none", slices=["fold"]).slices("recall")',
    ),
    "table": ("A table of thresholds", "judged.threshold_table([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9])"),
    "decision": (
        "A chosen threshold",
        'heldout.choose_threshold("examples/diabetes.csv", by="f1", replicates=100)',
    ),
    "gate": (
        "A gate",
        'heldout.check("examples/diabetes.csv", require=["accuracy >= 0.7", "recall >= 0.6", "roc_auc >= 0.9"])',
    ),
    "recalibrated": ("A recalibration", 'heldout.recalibrate("examples/diabetes.csv", fold="none")'),
    "validation": ("A validation of one learner", 'heldout.validate("naive-bayes", "examples/data/iris.arff")'),
    "validations": (
        "Validations of several learners",
        'heldout.validate(["naive-bayes", "knn:5", "tree"], "examples/data/iris.arff")',
    ),
    "learning": (
        "A learning curve",
        'heldout.learning_curve("naive-bayes", "examples/data/iris.arff", sizes=[20, 40, 70, 100], draws=5)',
    ),
    "split": ("Bias and variance", 'heldout.bias_variance("tree", "examples/data/labor.arff", rounds=20)'),
    "compared": (
        "A comparison on the same cases",
        (
            'heldout.compare(judged, heldout.evaluate("examples/diabetes.csv", fold="none", score="p_tested_positive", '
            'threshold=0.3), names=["0.5", "0.3"])'
        ),
    ),
    "two": ("Two ROC curves", "compared.roc()"),
    "ranges": ("Which is cheapest where", "compared.optimal_ranges()"),
    "ranks": (
        "Learners on many data sets",
        (
            'heldout.compare({"bayes": [.74, .96, .81, .65, .9, .72], "tree": [.72, .94, .84, .66, .91, .75], '
            '"forest": [.77, .93, .88, .7, .93, .71], "knn": [.71, .95, .8, .6, .88, .7]}, splits=False)'
        ),
    ),
    "study": ("A planned test set", 'heldout.plan_study("accuracy", value=0.9, width=0.05)'),
    "card": (
        "The card of a model",
        'heldout.card("tree:2", "examples/data/labor.arff", positive="good", plan="3-fold", shuffles=2, timing=False)',
    ),
    "coverage": ("The laboratory: coverage of intervals", "heldout.lab.coverage(n=[10, 20, 50, 100], p=0.2)"),
}
FORMS = {
    ".txt": ("The screen", "text", "what a terminal shows"),
    ".md": ("Markdown", "markdown", "for a pull request or a wiki"),
    ".tex": ("LaTeX", "latex", "tables for a paper, with booktabs"),
    ".csv": ("CSV", "text", "the rows, for a spreadsheet"),
    ".json": ("JSON", "json", "for programs; the contract is stable"),
}


@cache
def list_drawable() -> dict[str, frozenset[str]]:
    """Every class of results that has charts of its own, and their kinds."""
    for module in pkgutil.walk_packages(heldout.__path__, "heldout."):
        if not re.search(r"__main__|pytest_plugin|mlflow|\.web\b|\.cli\b|spark|torch|tensors", module.name):
            import_module(module.name)
    found: dict[str, frozenset[str]] = {}
    waiting = [Result]
    while waiting:
        kind = waiting.pop()
        waiting += kind.__subclasses__()
        own = vars(kind).get("_charts")
        if own and kind is not Result and kind.__module__.startswith("heldout."):
            found[kind.__name__] = frozenset(own)
    return found


@cache
def make_drawn() -> dict[str, Any]:
    """The results that are drawn, made once."""
    names: dict[str, Any] = {"heldout": heldout}
    with steady_screen():
        for name, (_, call) in DRAWN.items():
            names[name] = eval(call, names)  # noqa: S307 - one of the lines above
    return names


def list_pictures() -> dict[str, tuple[str, ...]]:
    """For each result the kinds of chart that the gallery shows of it."""
    made = make_drawn()
    found: dict[str, tuple[str, ...]] = {}
    shown = set[tuple[str, str]]()
    for name in DRAWN:
        kinds = made[name].chart_kinds
        # A kind is shown once for each class of results; folds and classes draw some of their own way.
        label = type(made[name]).__name__ + (name if name in ("folds", "classes") else "")
        if name in ("folds", "classes"):
            kinds = [kind for kind in kinds if kind in ("roc", "precision_recall", "matrix")]
        if name == "validation":
            kinds = ["splits"]
        found[name] = tuple(kind for kind in kinds if (label, kind) not in shown)
        shown |= {(label, kind) for kind in found[name]}
    return found


def add_gallery(site: Site, few: int | None = None) -> None:
    """The page of charts, with their pictures, and the page of forms."""
    made = make_drawn() if few is None else make_some(few)
    parts = [
        "# Charts",
        (
            'Every result can be drawn. `result.chart_kinds` lists the kinds; `result.save("roc.svg", "roc")` writes '
            "one, `--chart roc=roc.svg` does so from a shell. Pictures on this page were drawn when the site "
            "was built, "
            "from the files in `examples/`."
        ),
    ]
    pictures = list_pictures() if few is None else {name: made[name].chart_kinds[:2] for name in made if name in DRAWN}
    for name, kinds in pictures.items():
        title, call = DRAWN[name]
        if not kinds:
            continue
        parts += [f"## {title}", write_code(f"{name} = {call}", "python")]
        figures = [_draw(site, made[name], name, kind) for kind in kinds]
        parts.append("\n\n".join(["::::{container} gallery", *figures, "::::"]))
    names = ", ".join(f"`{kind.name}`" for kind in list_kinds())
    parts.append(f"Curves by name: {names}; and any measure, drawn over all thresholds.")
    site.add(f"{HOME}/charts.md", "\n\n".join(parts))
    add_forms(site, made["judged"])
    first = []
    for name, kinds in pictures.items():
        title, picture = DRAWN[name][0], f"pictures/{name}-{slug(kinds[0])}.svg" if kinds else ""
        first += [f":::{{figure}} {picture}\n:alt: {title}\n\n[{title}](charts.md)\n:::"] if kinds else []
    shown = "\n\n".join(["::::{container} gallery", *first, "::::"])
    site.add(f"{HOME}/index.md", f"# Gallery\n\n{GALLERY}\n\n{write_toctree(['charts', 'forms'])}\n\n{shown}")


GALLERY = "Every kind of chart, and every form that a result is written in: screen, page, tables, JSON, pictures."


def make_some(few: int) -> dict[str, Any]:
    """The first results only."""
    names: dict[str, Any] = {"heldout": heldout}
    with steady_screen():
        for name, (_, call) in list(DRAWN.items())[:few]:
            names[name] = eval(call, names)  # noqa: S307 - one of the lines above
    return names


def _draw(site: Site, result: Any, name: str, kind: str) -> str:
    target = site.folder / HOME / "pictures" / f"{name}-{slug(kind)}.svg"
    target.parent.mkdir(parents=True, exist_ok=True)
    with steady_screen():
        result.save(target.resolve(), kind)
    alt = f"{kind.replace('_', ' ')} of {DRAWN[name][0].lower()}"
    caption = f'`{name}.save("{slug(kind)}.svg", "{kind}")`'
    return f":::{{figure}} pictures/{target.name}\n:alt: {alt}\n\n{caption}\n:::"


def add_forms(site: Site, judged: Any) -> None:
    """The page of forms: what each ending gives, with the beginning of it, and whole pages to open."""
    folder = site.folder / HOME / "files"
    folder.mkdir(parents=True, exist_ok=True)
    parts = [
        "# Forms",
        (
            '`result.write("report.html")` writes what the ending says; `-o report.html` does so from a shell. Here is '
            "one evaluation in every form."
        ),
        write_code('judged = heldout.evaluate("examples/diabetes.csv", fold="none")', "python"),
    ]
    rows = [
        (f"`{ending}`", FORMS[ending][2] if ending in FORMS else "a page, or a picture")
        for ending in (*ENDINGS, *PICTURES)
    ]
    parts.append(write_table(["ending", "what it is for"], rows))
    with steady_screen():
        page = Path(judged.write((folder / "report.html").resolve()))
        parts += ["## The page", "One file that needs no network: {download}`report.html <files/report.html>`."]
        parts += [
            (
                f"It has {page.stat().st_size // 1024:,} kB. {site.link('The page', 'page.md', f'{HOME}/forms.md')} "
                "explains it."
            )
        ]
        for ending, (title, language, text) in FORMS.items():
            path = Path(judged.write((folder / f"report{ending}").resolve()))
            shown = shorten_lines(path.read_text(encoding="utf-8"), 30)
            parts += [
                f"## {title}",
                f"`report{ending}`: {escape_text(text)}.",
                write_code(shown, "text" if language == "json" else language),
            ]
    site.add(f"{HOME}/forms.md", "\n\n".join(parts))
