r"""Blocks as LaTeX that needs only the package booktabs, which its first line says."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from heldout.show.blocks import (
    LONGEST_LABEL,
    Block,
    Cell,
    Column,
    Facts,
    Note,
    Overview,
    Prose,
    Section,
    Table,
    Title,
    Verbatim,
    without_drawn,
)
from heldout.show.escape import visible, visible_lines
from heldout.show.numbers import words
from heldout.show.text_width import shorten

if TYPE_CHECKING:
    from collections.abc import Iterable

NEEDS = r"% Needs \usepackage{booktabs}; text beyond Latin letters, such as emoji or Chinese: lualatex or xelatex."
_ALIGN = {"left": "l", "right": "r", "center": "c"}
_HEADINGS = ("subsection", "subsubsection", "paragraph")
_SEVERITIES = {"warning": "Warning", "note": "Note"}
# A bracket or star after the end of a row would be read as an option of it, hence their braces.
_ESCAPES = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "&": r"\&",
        "%": r"\%",
        "$": r"\$",
        "#": r"\#",
        "_": r"\_",
        "{": r"\{",
        "}": r"\}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        "`": r"\textasciigrave{}",
        "[": "{[}",
        "]": "{]}",
        "*": "{*}",
        "–": "--",
        "—": "---",
        "…": r"\ldots{}",
        "∞": r"$\infty$",
        "·": r"\textperiodcentered{}",
        "\u00a0": "~",
    }
)


def render_latex(blocks: Iterable[Block]) -> str:
    r"""The blocks as LaTeX; user text stays text, whatever it contains.

    >>> from heldout.show.blocks import Column
    >>> print(render_latex([Table((Column("class"), Column("n", "right")), (("a_b", 3),))]))
    % Needs \usepackage{booktabs}; text beyond Latin letters, such as emoji or Chinese: lualatex or xelatex.
    \begin{center}
    \begin{tabular}{@{}lr@{}}
    \toprule
    class & n \\
    \midrule
    a\_b & 3 \\
    \bottomrule
    \end{tabular}
    \end{center}
    """
    parts = _blocks(blocks, 0)
    return f"{NEEDS}\n{parts}" if r"\toprule" in parts else parts


def _blocks(blocks: Iterable[Block], depth: int) -> str:
    parts = (_section(block, depth) if isinstance(block, Section) else _block(block) for block in blocks)
    return "\n\n".join(filter(None, parts))


def _section(block: Section, depth: int) -> str:
    under = _blocks(block.blocks, depth + 1)
    return f"\\{_HEADINGS[min(depth, 2)]}*{{{escape(block.title)}}}\n\n{under}" if under else ""


def escape(text: str) -> str:
    r"""Text that LaTeX prints as it is.

    >>> print(escape("50 % of a_b -- {x}"))
    50 \% of a\_b -{}- \{x\}
    """
    # Two hyphens or quotes would join into another mark; an empty group keeps them apart.
    apart = re.sub(r"([-'])(?=\1)", "\\1\0", visible(text))
    return apart.translate(_ESCAPES).replace("\0", "{}")


def _block(block: Block) -> str:
    if isinstance(block, Table | Overview):
        return _table(block.figures if isinstance(block, Overview) else block)
    if isinstance(block, Title):
        heading = f"\\section*{{{escape(block.text)}}}"
        return f"{heading}\n\n\\noindent {escape(block.detail)}" if block.detail else heading
    if isinstance(block, Prose):
        lines = " \\\\\n".join(escape(line) or "~" for line in block.text.split("\n"))
        return f"\\noindent {_bold(block.label)}{lines}"
    if isinstance(block, Note):
        label = " ".join(filter(None, [_SEVERITIES[block.severity], block.code]))
        return f"\\noindent {_bold(label + '.')}{escape(block.text)}"
    if isinstance(block, Facts):
        rows = [f"{escape(name)} & {escape(value)} \\\\" for name, value in block.pairs]
        return _lines(r"\begin{center}", r"\begin{tabular}{@{}lp{.65\linewidth}@{}}", *rows, *_ENDS) if rows else ""
    # Charts and explorers have no form in LaTeX.
    return _fixed(block) if isinstance(block, Verbatim) else ""


def _fixed(block: Verbatim) -> str:
    # The verbatim environment could be ended by the text itself, so the face is set instead.
    fixed = [escape(line).replace(" ", "~") or "~" for line in visible_lines(block.text)]
    return _lines(r"\begin{flushleft}\ttfamily", " \\\\\n".join(fixed), r"\end{flushleft}")


_ENDS = (r"\end{tabular}", r"\end{center}")


def _bold(label: str) -> str:
    return f"\\textbf{{{escape(label)}}} " if label else ""


def _lines(*lines: str) -> str:
    return "\n".join(lines)


def _table(table: Table) -> str:
    table = without_drawn(table)
    if not table.columns:
        return ""
    spec = "".join(_ALIGN[column.align] for column in table.columns)
    heads = [_row(escape(shorten(visible(column.header), LONGEST_LABEL)) for column in table.columns), r"\midrule"]
    body = [
        f"\\begin{{tabular}}{{@{{}}{spec}@{{}}}}",
        r"\toprule",
        *(heads if any(column.header for column in table.columns) else []),
        *(_row(map(_entry, row, table.columns)) for row in table.rows),
        r"\bottomrule",
        r"\end{tabular}",
    ]
    # Every table stands where it was written: some that float and some that do not would change their order.
    caption = [f"{_bold(table.caption)}\\par\\smallskip"] if table.caption else []
    return _lines(r"\begin{center}", *caption, *body, r"\end{center}")


def _row(entries: Iterable[str]) -> str:
    return f"{' & '.join(entries)} \\\\"


def _entry(cell: Cell, column: Column) -> str:
    written = words(cell)
    text = escape(written if column.wrap else shorten(written, LONGEST_LABEL))
    # A hyphen is too short for a minus sign; in figures every single hyphen is one.
    return text if isinstance(cell, str) else re.sub(r"(?<!-)-(?!-)", "$-$", text)
