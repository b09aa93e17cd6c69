"""Parts of a page of the site as MyST Markdown: tables, code, formulas, and examples that run while it is written."""

from __future__ import annotations

import ast
import contextlib
import io
import os
import re
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
Pages = dict[str, str]
# What an example prints is as wide as a phone that lies on its side can scroll to, and as long as a reader reads.
WIDTH, MOST_LINES = 100, 60


def write_table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table of Markdown; cells are Markdown too.

    >>> print(write_table(["a", "b"], [["x", 1]]))
    | a | b |
    | --- | --- |
    | x | 1 |
    """
    lines = [list(head), ["---"] * len(head)]
    lines += [[str(cell).replace("|", "\\|").replace("\n", " ") for cell in row] for row in rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def write_code(text: str, language: str = "text") -> str:
    """A block of code; its fence is longer than any in the text."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


def write_folded(title: str, text: str) -> str:
    """A part that is closed until a reader opens it."""
    fence = ":::"
    while fence in text:
        fence += ":"
    return f"{fence}{{admonition}} {title}\n:collapsible: closed\n:class: folded\n\n{text}\n{fence}"


def write_toctree(entries: Iterable[str], *, depth: int = 1, hidden: bool = False) -> str:
    """A list of pages below this one."""
    options = [f":maxdepth: {depth}", *([":hidden:"] if hidden else [])]
    return "\n".join(["```{toctree}", *options, "", *entries, "```"])


def escape_text(text: str) -> str:
    r"""Plain words as Markdown: what would be markup stands for itself.

    >>> print(escape_text("n_ij · cost[a] <b>"))
    n\_ij · cost\[a\] \<b\>
    """
    return re.sub(r"([\\`*_\[\]<>$#|{}])", r"\\\1", text)


def write_literal(text: object) -> str:
    """Words as code within a sentence."""
    inside = str(text)
    fence = "``" if "`" in inside else "`"
    return f"{fence} {inside} {fence}" if "`" in inside else f"{fence}{inside}{fence}"


# Formulas.

# A raised digit is a letter to \w.
TOKEN = re.compile(r"\s*([A-Za-zΑ-ω_](?:(?![²³])[\wΑ-ω])*|\d+(?:\.\d+)?|[²³]|\S)")
GREEK = {"alpha": "α", "beta": "β"}
BRACKETS = {"(": 1, "[": 1, ")": -1, "]": -1}


def write_formula(formula: str) -> str:
    """A formula as MathML, with a fraction line where the whole of it is one quotient; its text is kept for readers.

    >>> "<mfrac>" in write_formula("TP / (TP + FN)"), "<mfrac>" in write_formula("1 - a / b + c")
    (True, False)
    >>> "<msup><mi mathvariant='normal'>β</mi><mn>2</mn></msup>" in write_formula("1 + beta²")
    True
    """
    parts = _split_quotient(formula)
    if parts is None:
        inside = _write_terms(formula)
    else:
        inside = "<mfrac>" + "".join(f"<mrow>{_write_terms(_unwrap(part))}</mrow>" for part in parts) + "</mfrac>"
    label = escape(formula, quote=True)
    return (
        f'<div class="formula" role="math" aria-label="{label}" tabindex="0"><math display="block" aria-hidden="true">'
        f"<mrow>{inside}</mrow></math></div>"
    )


def _split_quotient(formula: str) -> tuple[str, str] | None:
    """Numerator and denominator, where one division stands outside of all brackets and nothing weaker beside it."""
    depth, found = 0, []
    for at, letter in enumerate(formula):
        depth += BRACKETS.get(letter, 0)
        if depth == 0 and formula[at : at + 3] in (" / ", " + ", " - ", " − ", ", w"):
            found.append(at)
    if len(found) != 1 or formula[found[0] : found[0] + 3] != " / " or ":" in formula or ";" in formula:
        return None
    return formula[: found[0]], formula[found[0] + 3 :]


def _unwrap(text: str) -> str:
    """A text without brackets that stand around all of it."""
    depth = 0
    for at, letter in enumerate(text):
        depth += BRACKETS.get(letter, 0)
        if depth == 0 and at < len(text) - 1:
            return text
    return text[1:-1] if text.startswith("(") and text.endswith(")") else text


def _write_terms(text: str) -> str:
    terms: list[str] = []
    for found in TOKEN.finditer(text):
        word = found[1]
        if word in "²³" and terms:
            terms.append(f"<msup>{terms.pop()}<mn>{'2' if word == '²' else '3'}</mn></msup>")
        elif re.fullmatch(r"\d+(?:\.\d+)?", word):
            terms.append(f"<mn>{word}</mn>")
        elif re.match(r"[A-Za-zΑ-ω]", word):
            terms.append(_write_name(word))
        else:
            terms.append(f"<mo>{escape('−' if word == '-' else word)}</mo>")
    return "".join(terms)


def _write_name(word: str) -> str:
    word = GREEK.get(word, word)
    name, _, index = word.partition("_")
    if index and len(index) <= 3:
        return f"<msub><mtext>{escape(name)}</mtext><mtext>{escape(index)}</mtext></msub>"
    if word.isupper() or len(word) == 1:
        return f"<mi mathvariant='normal'>{escape(word)}</mi>"
    return f"<mtext>&#160;{escape(word.replace('_', ' '))}&#160;</mtext>"


# Examples.


@contextlib.contextmanager
def steady_screen() -> Iterator[None]:
    """The folder of the project, a screen of fixed width, and no warning on the way."""
    kept, folder = dict(os.environ), Path.cwd()
    os.environ.update({"COLUMNS": str(WIDTH), "LINES": "50", "TERM": "dumb", "NO_COLOR": "1"})
    os.chdir(ROOT)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(kept)


def run_lines(source: str, names: dict[str, Any] | None = None) -> str:
    r"""A session of Python: each statement behind its prompt, and below it what it printed.

    >>> run_lines("x = 2\nx + 1").splitlines()
    ['>>> x = 2', '>>> x + 1', '3']
    """
    names = {} if names is None else names
    shown: list[str] = []
    lines = source.splitlines()
    done = 0
    for node in ast.parse(source).body:
        # What a comment above says belongs to the statement.
        shown += [f">>> {line}" for line in lines[done : node.lineno - 1] if line.startswith("#")]
        statement, done = lines[node.lineno - 1 : node.end_lineno], node.end_lineno or 0
        shown += [f"{'...' if at else '>>>'} {line}" for at, line in enumerate(statement)]
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(ast.Interactive([node]), "<example>", "single"), names)  # noqa: S102 - examples are run
        shown += printed.getvalue().rstrip().splitlines()
    return "\n".join(line.rstrip() for line in shown)


def run_session(source: str, names: dict[str, Any] | None = None) -> str:
    """The session as a block of Markdown."""
    with steady_screen():
        return write_code(shorten_lines(run_lines(source, names)), "pycon")


def shorten_lines(text: str, most: int = MOST_LINES) -> str:
    """The first lines of a long text, and how many more there are."""
    lines = text.splitlines()
    return text if len(lines) <= most + 5 else "\n".join([*lines[:most], f"… ({len(lines) - most} more lines)"])


def call_command(words: Sequence[str]) -> tuple[int, str]:
    """Run `heldout` with these words in this process: the exit status, and what stood on the screen."""
    from heldout.cli.app import main

    screen = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="\n")
    kept = sys.argv, sys.stdout, sys.stderr
    status = 0
    try:
        sys.argv, sys.stdout, sys.stderr = ["heldout", *words], screen, screen
        main()
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 0
    finally:
        sys.argv, sys.stdout, sys.stderr = kept
    screen.flush()
    return status, screen.buffer.getvalue().decode("utf-8")


def slug(text: str) -> str:
    """A name as the name of a file.

    >>> slug(".632+ 200"), slug("5x2cv-t"), slug("f_score")
    ('632-200', '5x2cv-t', 'f_score')
    """
    return re.sub(r"[^a-z0-9_]+", "-", text.casefold()).strip("-")


def write_facts(facts: Mapping[str, str]) -> str:
    """Names and what they are, as a list of definitions."""
    shown = "\n\n".join(f"{name}\n: {text}" for name, text in facts.items() if text)
    return f"::::{{container}} facts\n\n{shown}\n\n::::"
