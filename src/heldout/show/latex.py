r"""Tables as LaTeX for papers, with captions and labels; the first line says which packages they need."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from heldout.arguments import capitalize
from heldout.show.blocks import (
    LONGEST_LABEL,
    Block,
    Cell,
    Column,
    Facts,
    Note,
    Number,
    Overview,
    Prose,
    Section,
    Table,
    Title,
    Verbatim,
    header_places,
    without_drawn,
)
from heldout.show.escape import visible, visible_lines
from heldout.show.numbers import words
from heldout.show.text_width import shorten

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

NEEDS = r"% Needs \usepackage{booktabs}; text beyond Latin letters, such as emoji or Chinese: lualatex or xelatex."
_ALIGN = {"left": "l", "right": "r", "center": "c"}
_HEADINGS = ("subsection", "subsubsection", "paragraph")
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
        "−": "$-$",
        "±": r"$\pm$",
        "×": r"$\times$",
        "≤": r"$\leq$",
        "≥": r"$\geq$",
        "≠": r"$\neq$",
        "≈": r"$\approx$",
        "→": r"$\rightarrow$",
        "←": r"$\leftarrow$",
        "↑": r"$\uparrow$",
        "↓": r"$\downarrow$",
        "√": r"$\surd$",
        "²": r"\textsuperscript{2}",
        "χ": r"$\chi$",
        "α": r"$\alpha$",
        "β": r"$\beta$",
        "κ": r"$\kappa$",
        "\u2009": r"\,",
        "\u202f": r"\,",
        "“": r"\textquotedblleft{}",
        "”": r"\textquotedblright{}",
        "‘": r"\textquoteleft{}",
        "’": r"\textquoteright{}",
        "·": r"\textperiodcentered{}",
        "\u00a0": "~",
    }
)


def render_latex(blocks: Iterable[Block]) -> str:
    r"""The tables among the blocks, each ready to stand in a paper: with a caption, a label and no heading.

    What the report says in words is in comments between them, and printed where there is no table at all. User text
    stays text, whatever it contains.

    >>> from heldout.show.blocks import Column
    >>> print(render_latex([Title("Iris"), Table((Column("class"), Column("n", "right")), (("a_b", 3),), "Classes")]))
    % Needs \usepackage{booktabs}; text beyond Latin letters, such as emoji or Chinese: lualatex or xelatex.
    % Iris
    <BLANKLINE>
    \begin{table}[htbp]
    \centering
    \caption{Classes. Iris.}
    \label{tab:classes}
    \begin{tabular}{@{}lr@{}}
    \toprule
    class & n \\
    \midrule
    a\_b & 3 \\
    \bottomrule
    \end{tabular}
    \end{table}
    """
    listed = list(blocks)
    if not any(isinstance(block, Table | Overview) or _has_facts(block) for block in _flat(listed)):
        return _printed(listed, 0)
    title = next((block.text for block in _flat(listed) if isinstance(block, Title)), "")
    labels: set[str] = set()
    parts: list[str] = []
    section = ""
    for block in _flat(listed):
        if isinstance(block, Section):
            section = block.title
        elif isinstance(block, Facts):
            parts.append(_facts_float(block, _Caption(section or "What was read", title, labels)))
        elif isinstance(block, Table | Overview):
            table = without_drawn(block.figures if isinstance(block, Overview) else block)
            caption = _Caption(_called(table, section), title, labels, table.name)
            parts.append(_float(table, caption) if table.columns else "")
        elif isinstance(block, Verbatim):
            parts.append(_fixed(block))
        else:
            parts.append(_comment(block))
    # Comments follow each other without a gap.
    document = "\n\n".join(filter(None, parts))
    needs = NEEDS.replace("booktabs}", "booktabs,graphicx}") if _SHRUNK in document else NEEDS
    return f"{needs}\n" + re.sub(r"(?m)^(%.*)\n\n(?=%)", r"\1\n", document)


def _has_facts(block: Block) -> bool:
    return isinstance(block, Facts) and bool(block.pairs)


def _flat(blocks: Iterable[Block]) -> Iterator[Block]:
    for block in blocks:
        yield block
        if isinstance(block, Section):
            yield from _flat(block.blocks)


def _comment(block: Block) -> str:
    """What a report says in words, as a comment; sentences without a label, such as what was guessed, are left out."""
    if isinstance(block, Title):
        lines = [block.text, block.detail]
    elif isinstance(block, Prose) and block.label:
        first, *rest = block.text.split("\n")
        lines = [f"{block.label}: {first}", *rest]
    elif isinstance(block, Note):
        lines = [" ".join(filter(None, [block.severity.capitalize(), block.code])) + f": {block.text}"]
    else:
        return ""
    return "\n".join(f"% {escape(line)}" for line in lines if line)


def _called(table: Table, section: str) -> str:
    """What a table is called: its caption, its name, the section it stands in, or what its columns are."""
    heads = ", ".join(shorten(visible(column.header), 40) for column in table.columns if column.header)
    return table.caption or table.name or section or heads or "table"


@dataclass(frozen=True, slots=True)
class _Caption:
    """What a table is called, of what it is, and the labels that are taken."""

    name: str
    title: str
    taken: set[str]
    label: str = ""

    def lines(self) -> list[str]:
        """The commands in a float that name it."""
        words = [capitalize(self.name), self.title.replace(" · ", ", ")]
        text = " ".join(f"{shorten(visible(word), 300).rstrip('.')}." for word in words if word)
        label = (
            re.sub(r"[^a-z0-9]+", "-", (self.label or self.name.split(";")[0]).casefold()).strip("-")[:40].strip("-")
            or "table"
        )
        unique, number = label, 1
        while unique in self.taken:
            number += 1
            unique = f"{label}-{number}"
        self.taken.add(unique)
        return [f"\\caption{{{escape(text)}}}", f"\\label{{tab:{unique}}}"]


def _printed(blocks: Iterable[Block], depth: int) -> str:
    """What is only words, as words."""
    parts = (_section(block, depth) if isinstance(block, Section) else _block(block) for block in blocks)
    return "\n\n".join(filter(None, parts))


def _section(block: Section, depth: int) -> str:
    under = _printed(block.blocks, depth + 1)
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
    if isinstance(block, Title):
        heading = f"\\section*{{{escape(block.text)}}}"
        return f"{heading}\n\n\\noindent {escape(block.detail)}" if block.detail else heading
    if isinstance(block, Prose):
        lines = " \\\\\n".join(escape(line) or "~" for line in block.text.split("\n"))
        return f"\\noindent {_bold(block.label)}{lines}"
    if isinstance(block, Note):
        label = " ".join(filter(None, [block.severity.capitalize(), block.code]))
        return f"\\noindent {_bold(label + '.')}{escape(block.text)}"
    # Charts and explorers have no form in LaTeX.
    return _fixed(block) if isinstance(block, Verbatim) else ""


def _fixed(block: Verbatim) -> str:
    # The verbatim environment could be ended by the text itself, so the face is set instead.
    fixed = [escape(line).replace(" ", "~") or "~" for line in visible_lines(block.text)]
    return _lines(r"\begin{flushleft}\ttfamily", " \\\\\n".join(fixed), r"\end{flushleft}")


def _bold(label: str) -> str:
    return f"\\textbf{{{escape(label)}}} " if label else ""


def _lines(*lines: str) -> str:
    return "\n".join(lines)


# Tables of more columns than this are made as narrow as the page where they are wider.
_WIDE = 5
_SHRUNK = r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%"


def _float(table: Table, caption: _Caption) -> str:
    spec = "".join(_ALIGN[column.align] for column in table.columns)
    heads = [_row(_head(table.columns[places[0]].header, len(places)) for places in header_places(table)), r"\midrule"]
    wide = len(table.columns) > _WIDE
    return _lines(
        r"\begin{table}[htbp]",
        r"\centering",
        *caption.lines(),
        *([_SHRUNK] if wide else []),
        f"\\begin{{tabular}}{{@{{}}{spec}@{{}}}}",
        r"\toprule",
        *(heads if any(column.header for column in table.columns) else []),
        *(_row(map(_entry, row, table.columns)) for row in table.rows),
        r"\bottomrule",
        r"\end{tabular}" + "}" * wide,
        r"\end{table}",
    )


def _facts_float(block: Facts, caption: _Caption) -> str:
    rows = [f"{escape(name)} & {escape(value)} \\\\" for name, value in block.pairs]
    tabular = (r"\begin{tabular}{@{}lp{.65\linewidth}@{}}", r"\toprule", *rows, r"\bottomrule", r"\end{tabular}")
    return _lines(r"\begin{table}[htbp]", r"\centering", *caption.lines(), *tabular, r"\end{table}") if rows else ""


def _head(header: str, spans: int) -> str:
    text = escape(shorten(visible(header), LONGEST_LABEL))
    return text if spans == 1 else f"\\multicolumn{{{spans}}}{{c}}{{{text}}}"


def _row(entries: Iterable[str]) -> str:
    return f"{' & '.join(entries)} \\\\"


def _entry(cell: Cell, column: Column) -> str:
    if isinstance(cell, Number) and cell.marked:
        return f"\\textbf{{{_entry(replace(cell, marked=False), column)}}}"
    written = words(cell)
    text = escape(written if column.wrap else shorten(written, LONGEST_LABEL))
    # A hyphen is too short for a minus sign; in figures every single hyphen is one.
    return text if isinstance(cell, str) else re.sub(r"(?<!-)-(?!-)", "$-$", text)
