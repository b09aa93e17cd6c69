"""The rules of CONTRIBUTING.md that a program can check, over every file of the project."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = (".ci", "benchmarks", "docs", "examples", "src", "tests")
SOURCES = sorted((ROOT / "src").rglob("*.py"))
CODE = [*SOURCES, *sorted((ROOT / "tests").rglob("*.py")), *sorted((ROOT / "benchmarks").rglob("*.py"))]

# Names that say nothing about what is inside.
EMPTY_NAMES = {"base", "common", "core", "helper", "helpers", "misc", "util", "utils"}
# Somebody's own folder, which no other machine has.
MACHINE_PATH = re.compile(r"(?<![\w.])/(?:home|mnt|opt|root|tmp|Users|work)/|\b[A-Z]:\\Users")
# Where packages come from is a setting of the machine; only the generated lock file names it.
REGISTRY = re.compile(r"\b(?:pypi|pythonhosted)\.\w|\bindex-url\b|https?://[^\s/]*/simple\b")


def text_files():
    for path in sorted(ROOT.iterdir()):
        if path.is_file() and path.name != "uv.lock":
            yield path
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                yield path


def texts():
    for path in text_files():
        try:
            yield path, path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue  # a Parquet fixture, say


def where(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def test_there_is_something_to_check():
    assert ROOT / "src" / "heldout" / "errors.py" in SOURCES
    assert {ROOT / "README.md", ROOT / "Makefile", ROOT / ".ci" / "run"} <= set(text_files())


@pytest.mark.parametrize("path", CODE, ids=where)
def test_no_file_is_over_500_lines(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 500


@pytest.mark.parametrize("path", CODE, ids=where)
def test_every_name_says_what_is_inside(path):
    parts = {part.removesuffix(".py").strip("_") for part in path.relative_to(ROOT).parts}
    assert not parts & EMPTY_NAMES


@pytest.mark.parametrize("path", CODE, ids=where)
def test_every_module_says_what_it_holds(path):
    assert ast.get_docstring(parsed(path)), "the first sentence of the module docstring says what is in it"


@pytest.mark.parametrize("path", SOURCES, ids=where)
def test_no_function_body_is_over_60_lines(path):
    long = {}
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            body = node.body[1:] if ast.get_docstring(node) else node.body
            lines = (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0
            if lines > 60:
                long[node.name] = lines
    assert long == {}


@pytest.mark.parametrize("path", SOURCES, ids=where)
def test_only_the_command_line_prints(path):
    if "cli" in path.parts:
        return
    prints = [
        node.lineno
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    ]
    assert prints == [], "results print themselves through show/; only cli/ writes to the terminal"


@pytest.mark.parametrize("path", sorted((ROOT / "tests").rglob("*.py")), ids=where)
def test_no_test_is_skipped(path):
    skips = [
        (node.lineno, node.attr)
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Attribute) and node.attr in {"importorskip", "skip", "skipif", "xfail"}
    ]
    assert skips == []


@pytest.mark.parametrize(
    ("rule", "example"),
    [
        (MACHINE_PATH, "open('/" + "home/ann/x.csv')"),
        (REGISTRY, "pip install --" + "index-url x"),
        (REGISTRY, "https://" + "example.com/simple"),
    ],
)
def test_no_text_names_a_machine_or_a_registry(rule, example):
    assert rule.search(example), "the rule must be able to fail"
    found = [
        f"{where(path)}:{number}"
        for path, text in texts()
        for number, line in enumerate(text.splitlines(), start=1)
        if rule.search(line) and path != Path(__file__)
    ]
    assert found == []
