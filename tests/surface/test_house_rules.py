"""The rules of CONTRIBUTING.md that a program can check, over every file of the project."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = (".ci", ".github", "benchmarks", "docs", "examples", "src", "tests")
SOURCES = sorted((ROOT / "src").rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("*.py"))
CODE = [*SOURCES, *TESTS, *sorted((ROOT / "benchmarks").rglob("*.py"))]

LINES_OF_A_SOURCE, LINES_OF_OTHER_CODE, LINES_OF_A_BODY = 700, 500, 60

# Names that say nothing about what is inside.
EMPTY_NAMES = {"base", "common", "core", "helper", "helpers", "misc", "util", "utils"}
# A file is named after the thing in it, not after what is done or where.
ACTS = {
    "ahead", "away", "beforehand", "elsewhere", "exchanges", "forbidden", "gathered", "growing", "heard", "held_apart",
    "inside", "joining", "looking", "making", "possible", "reaching", "receiving", "renaming", "said_once", "same",
    "served", "together", "unfit", "written",
}  # fmt: skip
# Somebody's own folder, which no other machine has.
MACHINE_PATH = re.compile(r"(?<![\w.])/(?:home|mnt|opt|root|tmp|Users|work)/|\b[A-Z]:\\Users")
# Where packages come from is a setting of the machine; only the generated lock file names it.
REGISTRY = re.compile(r"\b(?:pypi|pythonhosted)\.\w|\bindex-url\b|https?://[^\s/]*/simple\b")

Offence = tuple[int, str]
Nodes = list[ast.AST]
Rule = Callable[[Nodes], Iterable[Offence]]


def text_files() -> Iterator[Path]:
    """Every file of the project but the generated lock file and git's own."""
    for path in sorted(ROOT.iterdir()):
        if path.is_file() and path.name not in {".git", "uv.lock"}:
            yield path
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                yield path


@cache
def read(path: Path) -> str | None:
    """The text of a file, read once; None of one that holds none, such as a Parquet fixture."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return None


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def write_out(offenders: Iterable[str]) -> str:
    """All of them, a line each: pytest would cut a list short."""
    return "\n".join(["", *sorted(offenders)])


def find_missing_docstring(nodes: Nodes) -> Iterator[Offence]:
    if isinstance(nodes[0], ast.Module) and not ast.get_docstring(nodes[0]):
        yield 1, "has no docstring whose first sentence says what is in it"


def find_long_bodies(nodes: Nodes) -> Iterator[Offence]:
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            body = node.body[1:] if ast.get_docstring(node) else node.body
            lines = (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0
            if lines > LINES_OF_A_BODY:
                yield node.lineno, f"{node.name} has a body of {lines} lines"


def find_prints(nodes: Nodes) -> Iterator[Offence]:
    for node in nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print":
            yield node.lineno, "prints; results print themselves, only cli/ writes to the terminal"


def find_skips(nodes: Nodes) -> Iterator[Offence]:
    for node in nodes:
        if isinstance(node, ast.Attribute) and node.attr in {"importorskip", "skip", "skipif", "xfail"}:
            yield node.lineno, node.attr


def name_called(node: ast.AST | None) -> str:
    """The last word of the name of what is called: `raises` of `pytest.raises(...)`."""
    function = node.func if isinstance(node, ast.Call) else None
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def is_check(node: ast.AST) -> bool:
    if isinstance(node, ast.With):
        return any(name_called(item.context_expr) in {"raises", "warns"} for item in node.items)
    return isinstance(node, ast.Assert) or name_called(node).startswith(("assert_", "check", "fail"))


def has_check(function: ast.AST) -> bool:
    return any(is_check(node) for node in ast.walk(function))


def follow(statements: Iterable[ast.stmt], checks: Callable[[ast.stmt], bool]) -> str:
    """Where the poorest way through some statements leads.

    "left": the test may end without a check. "next": one round of a loop may. "on": it comes to their end without one.
    "checked": there is one whichever way.
    """
    for statement in statements:
        end = "on"
        if checks(statement):
            end = "checked"
        elif isinstance(statement, ast.Return):
            end = "left"
        elif isinstance(statement, ast.Continue | ast.Break):
            end = "next"
        elif isinstance(statement, ast.With | ast.Try):
            end = follow(statement.body, checks)
        elif isinstance(statement, ast.For | ast.While):
            end = follow(statement.body, checks)
            end = "on" if end == "next" else end
        elif isinstance(statement, ast.If):
            ends = [follow(part, checks) for part in (statement.body, statement.orelse)]
            end = next(each for each in ("left", "next", "on", "checked") if each in ends)
        if end != "on":
            return end
    return "on"


def names_assigned(statement: ast.stmt) -> Iterator[str]:
    """The names that a statement binds by `=`; a name that is only annotated is not bound."""
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    if isinstance(statement, ast.AnnAssign) and statement.value is not None:
        targets = [statement.target]
    for target in targets:
        names = [node for node in ast.walk(target) if isinstance(node, ast.Name)]
        yield from (node.id for node in names if isinstance(node.ctx, ast.Store))


def find_second_assignments(nodes: Nodes) -> Iterator[Offence]:
    """Names of a module that are given two values: who reads the first takes the second."""
    known: set[str] = set()
    for statement in nodes[0].body if isinstance(nodes[0], ast.Module) else []:
        for name in names_assigned(statement):
            if name in known:
                yield statement.lineno, f"assigns {name} for the second time"
            known.add(name)


def find_vacuous_tests(nodes: Nodes) -> Iterator[Offence]:
    """Tests that can pass without a check, because all of them stand behind an `if`, a `continue` or a `return`.

    A call of a function of the same file that checks is a check. A test that has none of its own leaves it to what
    it calls.
    """
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    tests = [node for node in functions if node.name.startswith("test_")]
    checkers = {node.name for node in functions if node not in tests and has_check(node)}
    for test in tests:
        any_call = not has_check(test) and checkers.isdisjoint(map(name_called, ast.walk(test)))

        def checks(statement: ast.stmt, any_call: bool = any_call) -> bool:
            if not isinstance(statement, ast.Expr):
                return is_check(statement)
            calls = [node for node in ast.walk(statement) if isinstance(node, ast.Call)]
            return any(any_call or is_check(call) or name_called(call) in checkers for call in calls)

        if follow(test.body, checks) != "checked":
            yield test.lineno, f"{test.name} may look at nothing"


RULES: dict[Rule, list[Path]] = {
    find_missing_docstring: CODE,
    find_long_bodies: SOURCES,
    find_prints: [path for path in SOURCES if "cli" not in path.parts],
    find_skips: TESTS,
    find_second_assignments: CODE,
    find_vacuous_tests: TESTS,
}


@cache
def survey() -> dict[Rule, list[str]]:
    """Every breach of each of the rules about code, as file:line and what is wrong; a file is parsed once for all."""
    places = {rule: frozenset(paths) for rule, paths in RULES.items()}
    breaches: dict[Rule, list[str]] = {rule: [] for rule in RULES}
    for path in CODE:
        nodes = list(ast.walk(ast.parse(read(path) or "", filename=str(path))))
        for rule in [rule for rule in RULES if path in places[rule]]:
            breaches[rule] += [f"{name_of(path)}:{line} {wrong}" for line, wrong in rule(nodes)]
    return breaches


def test_there_is_something_to_check():
    assert ROOT / "src" / "heldout" / "errors.py" in SOURCES
    assert Path(__file__) in TESTS
    assert {ROOT / "README.md", ROOT / "Makefile", ROOT / ".ci" / "run"} <= set(text_files())


def test_no_file_is_too_long():
    limits = dict.fromkeys(CODE, LINES_OF_OTHER_CODE) | dict.fromkeys(SOURCES, LINES_OF_A_SOURCE)
    lengths = {path: len((read(path) or "").splitlines()) for path in CODE}
    offenders = [f"{name_of(path)}:{n} is over {limits[path]} lines" for path, n in lengths.items() if n > limits[path]]
    assert not offenders, write_out(offenders)


def test_every_name_says_what_is_inside():
    empty = [
        f"{name_of(path)}: {part}"
        for path in CODE
        for part in path.relative_to(ROOT).parts
        if part.removesuffix(".py").strip("_") in EMPTY_NAMES
    ]
    assert not empty, write_out(empty)
    acts = {name_of(path) for path in SOURCES if path.stem.strip("_") in ACTS}
    assert not acts, "named after an act, call it after the thing that is in it:" + write_out(acts)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_no_code_breaks_a_rule(rule):
    assert RULES[rule]
    assert not survey()[rule], write_out(survey()[rule])


@pytest.mark.parametrize(
    ("rule", "code"),
    [
        (find_missing_docstring, "x = 1"),
        (find_long_bodies, "def f():\n" + "    x = 1\n" * 61),
        (find_prints, "print(1)"),
        (find_skips, "@pytest.mark.skip\ndef test(): ..."),
        (find_second_assignments, "NONE = 'none'\nNONE = 'no interval: '"),
        (find_second_assignments, "A, B = 1, 2\nx: int\nB: int = 3"),
        (find_vacuous_tests, "def test_a(x):\n  if x:\n    return\n  assert x"),
        (find_vacuous_tests, "def test_a(x):\n  for y in x:\n    if y:\n      continue\n    assert y"),
        (find_vacuous_tests, "def test_a(x):\n  for y in x:\n    if y:\n      return\n  assert x"),
        (find_vacuous_tests, "def test_a(x):\n  run(x)\n  if x:\n    assert x"),
        (find_vacuous_tests, "def test_a(x):\n  x = 1"),
        (find_vacuous_tests, "def same(x):\n  assert x\ndef test_a(x):\n  run(x)\n  if x:\n    same(x)"),
    ],
)
def test_every_rule_can_fail(rule, code):
    assert len(list(rule(list(ast.walk(ast.parse(code)))))) == 1


@pytest.mark.parametrize(
    "code",
    [
        "def test_a(x):\n  for y in x:\n    if y:\n      continue\n    x.pop()\n  assert not x",
        "def test_a(x):\n  if x:\n    with pytest.raises(KeyError):\n      f(x)\n    return\n  assert x",
        "def test_a(x):\n  if x:\n    check(x)\n  else:\n    assert not x",
        "def test_a(x):\n  run(x)",
        "def same(x):\n  assert x\ndef test_a(x):\n  if x:\n    assert x\n  same(x)",
    ],
)
def test_a_test_that_counts_what_it_saw_or_hands_it_on_looks_at_something(code):
    assert list(find_vacuous_tests(list(ast.walk(ast.parse(code))))) == []


@pytest.mark.parametrize(
    ("rule", "examples"),
    [
        (MACHINE_PATH, ["open('/" + "home/ann/x.csv')"]),
        (REGISTRY, ["pip install --" + "index-url x", "https://" + "example.com/simple"]),
    ],
    ids=["machine", "registry"],
)
def test_no_text_names_a_machine_or_a_registry(rule, examples):
    assert all(rule.search(example) for example in examples), "the rule must be able to fail"
    offenders = [
        f"{name_of(path)}:{number} {line.strip()}"
        for path in text_files()
        if path != Path(__file__)
        for number, line in enumerate((read(path) or "").splitlines(), start=1)
        if rule.search(line)
    ]
    assert not offenders, write_out(offenders)
