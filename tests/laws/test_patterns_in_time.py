"""Every regular expression in the code: twice the text takes about twice the time, not four times."""

from __future__ import annotations

import ast
import importlib
import itertools
import re
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from re import _parser  # type: ignore[attr-defined]  # the only way to ask which letters a pattern knows
from typing import Any

from heldout.costs import parse_costs
from heldout.errors import HeldoutError
from heldout.gates.requirements import read_slice_term
from heldout.measures.catalogue import read_quantity
from heldout.plans.parser import read_plan
from heldout.thresholds.requirement import read_all

SOURCE = Path(__file__).parents[2] / "src" / "heldout"
# What the names stand for of which a pattern is made where it is used: all values there are, or some of each kind.
MADE: dict[str, Callable[[Any], list[dict[str, Any]]]] = {
    "engines/engine_errors.py": lambda module: [{"pattern": pattern} for pattern in module._HINTS],
    "files/arff.py": lambda module: [
        *({"mark": mark} for mark in "'\""),
        *({"pieces": [module.date_pattern(java).pattern]} for java in ("yyyyMMdd", "d.M.yyyy' a'H", "S'-'''")),
    ],
    "plans/parser.py": lambda module: [{"form": form} for form, _ in module.FORMS],
    "thresholds/requirement.py": lambda module: [{"word": word} for word in module.WORDS],
    "web/worker.py": lambda module: [{"pattern": pattern} for pattern in module.WHOLE],
}
ANCHORED = ("match", "fullmatch")
HOW = {"compile", "sub", "split", "findall", "finditer", "search", *ANCHORED}
# Seconds of computing time for 20,000 characters: a linear pattern needs about 0.002, a quadratic one over 1.
MOST, LONG = 0.15, 20_000


def patterns() -> Iterator[tuple[str, str, re.Pattern[Any]]]:
    """Each pattern that is written in the code, with where it stands and how it is used there."""
    for path in sorted(SOURCE.rglob("*.py")):
        inside = path.relative_to(SOURCE).as_posix()
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text)
        module = importlib.import_module(".".join(("heldout", *path.relative_to(SOURCE).with_suffix("").parts)))
        names = {node.value: ast.unparse(node.targets[0]) for node in ast.walk(tree) if isinstance(node, ast.Assign)}
        for call in ast.walk(tree):
            how = ast.unparse(call.func).removeprefix("re.") if isinstance(call, ast.Call) else ""
            if not isinstance(call, ast.Call) or how not in HOW or not ast.unparse(call.func).startswith("re."):
                continue
            flags = [] if how == "sub" else call.args[1:2] if how == "compile" else call.args[2:3]
            parts = [call.args[0], *flags, *(word.value for word in call.keywords if word.arg == "flags")]
            names_in = {node.id for part in parts for node in ast.walk(part) if isinstance(node, ast.Name)}
            used = names_in - vars(module).keys()
            filled = [one for one in MADE[inside](module) if used <= one.keys()] if used else [{}]
            assert filled, f"{inside}:{call.lineno} is made of {used}"
            if how == "compile":
                uses = set(re.findall(rf"\b{names.get(call, '-')}\.(\w+)\(", text)) & HOW
                how = uses.pop() if len(uses) == 1 else "search"
            codes = [compile(ast.Expression(part), "", "eval") for part in parts]
            for values in filled:
                written = [eval(code, {**vars(module), **values}) for code in codes]
                yield f"{inside}:{call.lineno}", how, re.compile(*written)


def letters(pattern: re.Pattern[Any]) -> list[str]:
    """The letters that a pattern names, those first that are none of the alphabet."""
    known: set[str] = set(" a0\n")

    def walk(tree: Any) -> None:
        for kind, value in tree:
            if str(kind) == "LITERAL":
                known.add(chr(value))
            elif str(kind) == "RANGE":
                known.add(chr(value[0]))
            else:
                for part in value if isinstance(value, tuple | list) else [value]:
                    if isinstance(part, _parser.SubPattern) or (isinstance(part, list) and part):
                        for branch in (
                            part if isinstance(part, list) and isinstance(part[0], _parser.SubPattern) else [part]
                        ):
                            walk(branch)
                if str(kind) == "IN":
                    walk([pair for pair in value if isinstance(pair, tuple) and str(pair[0]) in ("LITERAL", "RANGE")])

    walk(_parser.parse(pattern.pattern, pattern.flags))
    return sorted(known, key=lambda letter: (letter.isalnum(), letter))[:10]


def seconds(pattern: re.Pattern[Any], how: str, text: str) -> float:
    given: Any = text.encode() if isinstance(pattern.pattern, bytes) else text
    begun = time.process_time()
    if how in ANCHORED:
        getattr(pattern, how)(given)
    else:
        for _ in pattern.finditer(given):
            pass
    return time.process_time() - begun


def test_every_pattern_keeps_to_its_time():
    slow: list[str] = []
    seen = 0
    for where, how, pattern in patterns():
        seen += 1
        alphabet = letters(pattern)
        units = [*alphabet, *(a + b for a, b in itertools.permutations(alphabet[:5], 2))]
        # Looked for at a length at which even a cubic pattern is soon done, and made sure of at a longer one.
        worst = max(
            ((first, unit) for unit in units for first in ("", alphabet[0], "a")),
            key=lambda parts: seconds(pattern, how, parts[0] + parts[1] * (150 // len(parts[1])) + "\0"),
        )
        for size in (1_000, 5_000, LONG):
            taken = seconds(pattern, how, worst[0] + worst[1] * (size // len(worst[1])) + "\0")
            if taken > MOST:
                slow.append(f"{where} {how} {pattern.pattern!r}: {taken:.2f} s for {size} characters of {worst}")
                break
    assert seen > 110
    assert slow == [], "\n".join(slow)


def test_costs_and_slices_of_any_text_are_read_in_time():
    for unit in (" ", ",", ":", ";", "'", '"', "a", "=", ", ", "a,", "' ", "\"'", "'a,", "[", "]", "= "):
        for first in ("", "a", "'", "truth=", "recall[", "a,b:1;"):
            text = first + unit * (LONG // len(unit))
            for read in (parse_costs, read_slice_term, read_all, read_quantity, read_plan):
                begun = time.process_time()
                with suppress(HeldoutError):
                    read(text)
                assert time.process_time() - begun < 2 * MOST, (read, first, unit)
