"""A page for every public name of the library, with its docstring and the example in it."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from docs.website.page import ROOT, escape_text, write_code, write_table, write_toctree
from docs.website.sources import Site

import heldout
from heldout import curves

HOME = "reference/api"
TITLES = {
    "": "Functions and results",
    "plans": "heldout.plans: how rows are split",
    "lab": "heldout.lab: where the truth is known",
    "curves": "heldout.curves: drawing several curves, and their points",
    "mlflow": "heldout.mlflow: logging to MLflow",
    "errors": "heldout.errors: what is raised where the input or the call is wrong",
}
# What docs/curves.md teaches of a package whose other functions `Evaluation.curve` calls.
CURVE_TOOLS = ("interpolated", "overlay", "save_chart", "thinned")
# MLflow takes seconds to import: its example is run in a process of its own, and only for the whole site.
MLFLOW = """\
import heldout
import mlflow
mlflow.set_tracking_uri("sqlite:///mlflow.db")
judged = heldout.evaluate("examples/diabetes.csv", fold="none", measures=["accuracy", "roc_auc"])
with mlflow.start_run():
    logged = heldout.mlflow.log(judged)
print({name: round(value, 3) for name, value in logged.items()})
"""


def api_page(name: str) -> str:
    """Where the page of a public name stands; `name` is without the word heldout."""
    return f"{HOME}/{name}.md"


def list_names() -> dict[str, Any]:
    """Every public name, those of the packages behind their package and a dot."""
    found: dict[str, Any] = {}
    for name in heldout.__all__:
        value = getattr(heldout, name)
        if inspect.ismodule(value):
            found |= {f"{name}.{inside}": getattr(value, inside) for inside in value.__all__}
        else:
            found[name] = value
    return found | {f"curves.{name}": getattr(curves, name) for name in CURVE_TOOLS}


def first_line(value: Any) -> str:
    """The first line of a docstring."""
    return (inspect.getdoc(value) or "").partition("\n")[0]


def add_index(site: Site, names: list[str]) -> None:
    """The page of all public names."""
    at, every = f"{HOME}/index.md", list_names()
    parts = [
        "# Python",
        (
            "Everything public stands directly in `heldout`, or in one of the packages below. "
            f"{site.link('From Python', 'python.md', at)} is the guide."
        ),
    ]
    packages = dict.fromkeys(name.rpartition(".")[0] for name in names)
    for package in packages:
        rows = [
            (site.link(f"`{name.rpartition('.')[2]}`", api_page(name), at), escape_text(first_line(every[name])))
            for name in sorted(names, key=lambda name: (inspect.isclass(every[name]), name.casefold()))
            if name.rpartition(".")[0] == package
        ]
        title = TITLES.get(package, f"heldout.{package}")
        parts += [f"## {title}", write_table(["name", "what it is"], rows)]
    site.add(at, "\n\n".join([*parts, write_toctree(names, hidden=True)]))


def add_name(site: Site, name: str) -> None:
    """The page of one public name."""
    value = list_names()[name]
    package, _, last = name.rpartition(".")
    module = f"heldout.{package}" if package else "heldout"
    directive = [f".. currentmodule:: {module}", ""]
    if inspect.isclass(value):
        directive += [f".. autoclass:: {last}", "   :members:", "   :inherited-members:"]
    else:
        directive += [f".. autofunction:: {last}"]
    parts = [f"# heldout.{name}", write_code("\n".join(directive), "{eval-rst}")]
    if package == "mlflow":
        parts += ["## Example", *write_mlflow(whole=site.whole)]
    elif ">>>" not in (inspect.getdoc(value) or ""):
        message = f"heldout.{name} has no example in its docstring"
        raise LookupError(message)
    site.add(api_page(name), "\n\n".join(parts))


@cache
def write_mlflow(*, whole: bool) -> tuple[str, ...]:
    """A result logged to a store of MLflow in a folder that is thrown away."""
    shown = write_code(MLFLOW, "python")
    if not whole:
        return (shown,)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "examples").symlink_to(ROOT / "examples")
        run = subprocess.run(
            [sys.executable, "-c", MLFLOW],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            capture_output=True,
            text=True,
            check=True,
            timeout=1200,
        )
    return shown, write_code(run.stdout.strip().splitlines()[-1])
