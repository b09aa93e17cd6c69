"""A page for every finding, from the declaration of its rule, with a result on which it fires that readers can make."""

from __future__ import annotations

import ast
import contextlib
import inspect
import io
import re
import textwrap
from functools import cache
from types import ModuleType
from typing import Any

from docs.website.page import (
    escape_text,
    steady_screen,
    write_code,
    write_facts,
    write_folded,
    write_literal,
    write_table,
    write_toctree,
)
from docs.website.promises import write_finding_promises
from docs.website.sources import Site

from heldout.findings.review import RULE_CATALOGUE
from heldout.findings.rule import Rule
from heldout.report.explanations import SEVERITIES

HOME = "reference/findings"


def finding_page(code: str) -> str:
    """Where the page of a finding stands."""
    return f"{HOME}/{code}.md"


def list_findings() -> list[str]:
    """The codes of all rules."""
    return list(RULE_CATALOGUE)


def add_index(site: Site, codes: list[str]) -> None:
    """The page of all findings, by what they are about."""
    at = f"{HOME}/index.md"
    parts = [
        "# Findings",
        (
            "Every result is reviewed. A rule is a pure function of the result: it found something, with its "
            "numbers, or "
            "it passed, or it had nothing to look at and says why. What was found stands at the end of the report and "
            "under `findings` in the JSON document. A severity is the highest that findings of the rule have. A "
            "code is "
            "never used for another rule. `heldout explain CODE` prints one on a terminal, `--ignore CODE` "
            "leaves one out."
        ),
    ]
    for about in dict.fromkeys(rule.about for rule in RULE_CATALOGUE.values()):
        rows = [
            (site.link(code, finding_page(code), at), escape_text(rule.title), SEVERITIES[rule.severity])
            for code, rule in RULE_CATALOGUE.items()
            if rule.about == about and code in codes
        ]
        if rows:
            parts += [f"## About every {about}", write_table(["code", "what it finds", "severity"], rows)]
    site.add(at, "\n\n".join([*parts, write_toctree(codes, hidden=True)]))


def add_finding(site: Site, code: str) -> None:
    """The page of one finding."""
    rule = RULE_CATALOGUE[code]
    limits = "; ".join(f"{write_literal(x.name)} = {x.default:g} ({escape_text(x.source)})" for x in rule.limits)
    facts = {
        "About": f"every {rule.about}",
        "Severity": SEVERITIES[rule.severity],
        "What to do": escape_text(rule.advice),
        "Limits": limits,
        "Reference": escape_text(rule.reference),
        "Leave it out": f'`--ignore {code}` in a shell, `ignore="{code}"` in Python',
    }
    why = " ".join(filter(None, (rule.summary, rule.why)))
    parts = [f"# {code}: {escape_text(rule.title)}", escape_text(why), write_facts(facts)]
    parts += ["## Example", *write_example(rule)]
    alarms = write_finding_promises(site, code, finding_page(code))
    parts += [alarms] if alarms else []
    parts += [site.link("All findings", f"{HOME}/index.md", finding_page(code)) + "."]
    site.add(finding_page(code), "\n\n".join(parts))


# Examples: the results on which the tests of the rules see them fire, as a program that stands alone.


def write_example(rule: Rule) -> list[str]:
    """A program that makes a result on which the rule fires, and what it says there."""
    program, call = write_program(find_case(rule.code))
    said = run_program(program, call, rule.code)
    shown = f"{program}\n\nresult = {call}\nprint(result.review[{rule.code!r}])" if program else ""
    return [
        "On this result it fires:",
        write_code(said),
        write_folded("The program that makes the result", write_code(shown, "python")),
    ]


def run_program(program: str, call: str, code: str) -> str:
    """What the finding says of the result that the program makes."""
    names: dict[str, Any] = {"__name__": "example"}
    printed = io.StringIO()
    with steady_screen(), contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
        exec(compile(program, f"<example of {code}>", "exec"), names)  # noqa: S102 - examples are run
        result = eval(call, names)  # noqa: S307 - the last line of the example
        found = result.review[code]
    if found.outcome != "fired":
        message = f"the example of {code} does not fire: {found.title}"
        raise RuntimeError(message)
    return "\n".join(textwrap.wrap(f"{code}  {found.title} {found.advice}", 84, subsequent_indent=" " * 6))


@cache
def parse_module(module: ModuleType) -> tuple[ast.Module, list[str]]:
    """A module as a tree, and its lines."""
    source = inspect.getsource(module)
    return ast.parse(source), source.splitlines()


@cache
def find_case(code: str) -> tuple[ModuleType, ast.expr]:
    """The module of the tests that holds a result on which a rule fires, and the expression that makes it."""
    from tests.findings import evaluation_cases, resampled_cases, test_of_slices

    for module in (evaluation_cases, resampled_cases):
        for node in ast.walk(parse_module(module)[0]):
            if isinstance(node, ast.Dict):
                for key, value in zip(node.keys, node.values, strict=True):
                    if isinstance(key, ast.Constant) and key.value == code and isinstance(value, ast.Call):
                        fires = (
                            value.args[0] if value.args else next(k.value for k in value.keywords if k.arg == "fires")
                        )
                        body = fires.body if isinstance(fires, ast.Lambda) else ast.Call(fires, [], [])
                        return module, ast.fix_missing_locations(body)
    # The case of slices stands in its first test.
    tree = ast.parse(inspect.getsource(test_of_slices.test_it_fires_where_a_slice_is_worse))
    function = tree.body[0]
    if code != "H021" or not isinstance(function, ast.FunctionDef) or not isinstance(function.body[0], ast.Assign):
        message = f"there is no case on which {code} fires"
        raise LookupError(message)
    return test_of_slices, function.body[0].value


def write_program(case: tuple[ModuleType, ast.expr]) -> tuple[str, str]:
    """Everything of the module that an expression needs, as a program, and the expression."""
    module, call = case
    tree, source = parse_module(module)
    makers = {name: node for node in tree.body for name in _names_made(node)}
    needed, waiting = set[ast.stmt](), [call]
    imported = set[str]()
    while waiting:
        for node in ast.walk(waiting.pop()):
            if not isinstance(node, ast.Name) or node.id not in makers:
                continue
            maker = makers[node.id]
            if isinstance(maker, ast.Import | ast.ImportFrom):
                imported.add(_import_line(maker, node.id))
            elif maker not in needed:
                needed.add(maker)
                waiting.append(maker)  # type: ignore[arg-type]
    parts = ["\n".join(sorted(imported, key=lambda line: (line.startswith("from"), line)))]
    for node in tree.body:
        if node in needed:
            decorators = getattr(node, "decorator_list", [])
            first = min([node.lineno, *(one.lineno for one in decorators)])
            parts.append("\n".join(source[first - 1 : node.end_lineno]))
    return "\n\n".join(filter(None, parts)), ast.unparse(call)


def _names_made(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Assign):
        return [name.id for target in node.targets for name in ast.walk(target) if isinstance(name, ast.Name)]
    if isinstance(node, ast.Import | ast.ImportFrom) and getattr(node, "module", "") != "__future__":
        return [(alias.asname or alias.name).partition(".")[0] for alias in node.names]
    return []


def _import_line(node: ast.Import | ast.ImportFrom, name: str) -> str:
    alias = next(one for one in node.names if (one.asname or one.name).partition(".")[0] == name)
    line = ast.unparse(ast.Import([alias]) if isinstance(node, ast.Import) else ast.ImportFrom(node.module, [alias], 0))
    return re.sub(r"^from heldout\.[\w.]+ import (Costs|Evaluation)$", r"from heldout import \1", line)
