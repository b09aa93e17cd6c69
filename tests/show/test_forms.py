"""Markdown, HTML and LaTeX, pinned where their exact form matters."""

from __future__ import annotations

import pytest

from heldout.show.blocks import (
    Block,
    Column,
    Facts,
    Heat,
    Note,
    Number,
    Prose,
    Range,
    Section,
    Span,
    Table,
    Title,
    Verbatim,
    value_and_interval,
)
from heldout.show.chart import Axis, Chart
from heldout.show.html import render_html, render_page
from heldout.show.latex import render_latex
from heldout.show.markdown import render_markdown
from heldout.show.text import render_text

TABLE = Table(
    (Column("measure"), Column("value", "right"), Column("interval", "center"), Column("")),
    (
        ("f_score|x", Number(-0.0561), Range(0.1, 0.2), Span(0.5, 0.4, 0.6)),
        ("<b>", Number(float("nan")), None, None),
    ),
    "50 % [a]",
)


MARKDOWN = r"""## A \# b

\- x

**Verdict** 1\. one\
\+ two

1\. one

- **Warning H007:** n\_1
- **Note:** m

- **seed:** 42
- <strong>\*:</strong> y

<strong>50 % \[a\]</strong>

| measure | value | interval |
| :--- | ---: | :---: |
| f\_score\|x | -.056 | .100 – .200 |
| \<b\> | – |  |

````text
a ```
b
````"""

LATEX = r"""% Needs \usepackage{booktabs}; text beyond Latin letters, such as emoji or Chinese: lualatex or xelatex.
% A \& B
% d
% Verdict: x
% y
% Note H1: z

\begin{table}[htbp]
\centering
\caption{50 \% {[}a{]}. A \& B.}
\label{tab:50-a}
\begin{tabular}{@{}lrc@{}}
\toprule
measure & value & interval \\
\midrule
f\_score\textbar{}x & $-$.056 & .100 -- .200 \\
\textless{}b\textgreater{} & -- &  \\
\bottomrule
\end{tabular}
\end{table}"""


def test_markdown() -> None:
    blocks: list[Block] = [
        Title("A # b", "- x"),
        Prose("1. one\n+ two", "Verdict"),
        Prose("1. one"),
        Note("n_1", "warning", "H007"),
        Note("m"),
        Facts((("seed", "42"), ("*", "y"))),
        TABLE,
        Verbatim("a ```\nb"),
    ]
    assert render_markdown(blocks) == MARKDOWN


def test_latex() -> None:
    blocks: list[Block] = [Title("A & B", "d"), Prose("x\ny", "Verdict"), Note("z", code="H1"), TABLE]
    assert render_latex(blocks) == LATEX


def test_long_labels_are_cut_in_the_middle_and_sentences_are_not() -> None:
    name, answer = "a" + 10_000 * "b" + "c", "word " * 2_000
    columns = (Column("label " + name), Column("answer", wrap=True))
    for render in (render_markdown, render_latex):
        made = render([Table(columns, ((name, answer),))])
        assert "b" * 90 not in made
        assert made.count("word") == 2_000
        assert "ab" in made
        assert "bc" in made


SECTIONS: list[Block] = [
    Section("A_b", (Prose("x"), Section("c", (Note("y"),), folded=True))),
    Section("only drawn", (Chart("t", "d", Axis("x"), Axis("y")),)),
]


def test_sections_are_headings_with_what_stands_under_them_and_charts_are_left_out() -> None:
    assert render_markdown(SECTIONS) == "### A\\_b\n\nx\n\n#### c\n\n- **Note:** y"
    assert render_latex(SECTIONS) == (
        "\\subsection*{A\\_b}\n\n\\noindent x\n\n\\subsubsection*{c}\n\n\\noindent \\textbf{Note.} y"
    )
    assert render_text(SECTIONS) == "A_b\nx\n\nc\n· y"
    page = render_html(SECTIONS, style=False)
    assert '<h3 class="heldout-heading" dir="auto">A_b</h3>' in page
    assert '<summary><h4 class="heldout-heading" dir="auto">c</h4></summary>' in page
    assert page.count('role="img"') == 1


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("\\", r"\textbackslash{}"),
        ("&%$#_{}", r"\&\%\$\#\_\{\}"),
        ("~^", r"\textasciitilde{}\textasciicircum{}"),
        ("[*]", "{[}{*}{]}"),
        ("a---b", "a-{}-{}-b"),
        ("\x1b", r"\textbackslash{}x1b"),
    ],
)
def test_latex_escapes(text: str, source: str) -> None:
    assert render_latex([Prose(text)]) == rf"\noindent {source}"


def test_html_tables_head_their_rows_and_columns() -> None:
    page = render_html([TABLE], style=False)
    assert '<th scope="col" dir="auto">measure</th>' in page
    assert '<th scope="col" class="heldout-right" dir="auto">value</th>' in page
    assert '<th scope="row" dir="auto">f_score|x</th><td class="heldout-figure heldout-right">-.056</td>' in page
    assert '<th scope="row" dir="auto">&lt;b&gt;</th>' in page
    assert page.count("<svg") == 1
    assert 'aria-label=".400 – .600"' in page


def test_html_shades_heat_and_marks_warnings() -> None:
    page = render_html([Table((Column("n"),), ((Heat(5, 0.5),), (Heat(0, 0.0),))), Note("x", "warning")])
    assert '<td class="heldout-figure heldout-heat-10">5</td>' in page
    assert '<td class="heldout-figure">0</td>' in page
    assert '<p class="heldout-note heldout-warning" dir="auto"><span class="heldout-label">Warning</span>x</p>' in page
    assert "style=" not in page


def test_html_bar_stands_where_its_figures_say() -> None:
    page = render_html([Table((Column(""),), ((Span(0.5, 0.0, 1.0),),))], style=False)
    assert '<circle cx="75.0"' in page
    assert '<line class="heldout-reach" x1="5.0" y1="8" x2="145.0" y2="8"/>' in page


def test_a_page_names_its_encoding_and_title() -> None:
    page = render_page([Title("x")], title="a<b")
    assert '<meta charset="utf-8">' in page
    assert "<title>a&lt;b</title>" in page
    assert page.count("<style>") == 1
    assert page.count("<script>") == 1


def test_one_header_over_a_value_and_its_interval_in_every_form() -> None:
    table = Table((Column("class"), *value_and_interval("F1")), (("a", Number(0.5), Range(0.4, 0.6)),))
    assert '<th scope="colgroup" colspan="2" dir="auto">F1</th>' in render_html([table])
    assert r"class & \multicolumn{2}{c}{F1} \\" in render_latex([table])
    assert "| class | F1 |  |" in render_markdown([table])
