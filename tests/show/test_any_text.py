"""What holds for any text whatever: every form renders, keeps its shape and shows the text as text."""

from __future__ import annotations

import re
from html.parser import HTMLParser

from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from rich.cells import cell_len

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
)
from heldout.show.chart import Axis, Chart, Dots, Ribbon, Stroke, Tone
from heldout.show.escape import visible
from heldout.show.explorer import Explorer, Knob, Moving
from heldout.show.html import render_html
from heldout.show.latex import render_latex
from heldout.show.markdown import render_markdown
from heldout.show.text import render_text

NASTY = st.sampled_from(
    [
        "|",
        "\\|",
        "`x`",
        "**",
        "<b>",
        "&amp;",
        "\x1b[31m",
        "\n# x",
        "1. x",
        "- x",
        "\u200d",
        "\ufe0f",
        "\u2764\ufe0f",
        "漢字",
    ]
)
TEXT = st.one_of(
    st.text(st.characters(), max_size=40),
    st.lists(NASTY, max_size=5).map("".join),
    st.text(alphabet="\\|`*_[]<>#-+=~&$%^{}!\"'()1. \n\t\u200d\ufe0f\u0301\u2764", max_size=12),
)
FLOATS = st.floats()
STYLES = st.sampled_from(["share", "plain", "count", "percent"])
CELLS = st.one_of(
    TEXT,
    st.integers(),
    st.none(),
    st.builds(Number, FLOATS, STYLES),
    st.builds(Range, FLOATS, FLOATS, STYLES),
    st.builds(Span, FLOATS, FLOATS, FLOATS, FLOATS, FLOATS),
    st.builds(Heat, FLOATS, FLOATS),
)
COLUMNS = st.builds(Column, TEXT, st.sampled_from(["left", "right", "center"]), st.booleans())


@st.composite
def tables(draw: st.DrawFn) -> Table:
    """Tables of any shape, some with a column of drawn intervals."""
    columns = draw(st.lists(COLUMNS, min_size=1, max_size=6))
    rows = draw(st.lists(st.tuples(*[CELLS for _ in columns]), max_size=4))
    return Table(tuple(columns), tuple(rows), draw(TEXT))


TONES: st.SearchStrategy[Tone] = st.sampled_from(["accent", "second", "quiet"])
AXES = st.builds(Axis, TEXT, FLOATS, FLOATS, st.lists(st.tuples(FLOATS, TEXT), max_size=3).map(tuple))


@st.composite
def drawings(draw: st.DrawFn) -> Chart:
    """Charts of any text and any numbers."""
    size = draw(st.integers(0, 4))
    row = st.lists(FLOATS, min_size=size, max_size=size).map(tuple)
    return Chart(
        draw(TEXT),
        draw(TEXT),
        draw(AXES),
        draw(AXES),
        (Stroke(draw(row), draw(row), draw(TEXT), draw(TONES)),),
        (Ribbon(draw(row), draw(row), draw(row), draw(TONES)),),
        (Dots(draw(row), draw(row), draw(row), draw(row), draw(row), draw(TEXT), draw(TONES)),),
        draw(TEXT),
        draw(st.sampled_from(["square", "wide"])),
        draw(st.sampled_from([None, ("position", ("/", "a", "k"))])),
        ("n", draw(TEXT)),
        draw(st.lists(st.tuples(FLOATS, FLOATS), max_size=3).map(tuple)),
    )


@st.composite
def explorers(draw: st.DrawFn) -> Explorer:
    """Explorers of any text and any numbers."""
    size = draw(st.integers(1, 4))
    row = st.lists(FLOATS, min_size=size, max_size=size).map(tuple)
    where = st.integers(0, size - 1)
    formula = ("/", "a", ("+", "k", 1.5))
    return Explorer(
        draw(TEXT),
        draw(st.lists(st.floats(allow_nan=False), min_size=size, max_size=size).map(tuple)),
        draw(where),
        (("a", draw(row)),),
        (("n", draw(FLOATS)),),
        knobs=(Knob("k", draw(TEXT), draw(FLOATS), detail=draw(TEXT)),),
        figures=(Moving("f", draw(TEXT), formula, draw(row), draw(row), draw(TEXT), undefined=draw(TEXT)),),
        rows=(draw(TEXT),),
        headers=(draw(TEXT), draw(TEXT)),
        matrix=(("a", formula),),
        changed=draw(TEXT),
        marks=((draw(TEXT), draw(where)),),
        detail=draw(TEXT),
    )


PLAIN = st.lists(
    st.one_of(
        st.builds(Title, TEXT, TEXT),
        st.builds(Prose, TEXT, TEXT),
        st.builds(Note, TEXT, st.sampled_from(["note", "warning"]), TEXT),
        st.builds(Facts, st.lists(st.tuples(TEXT, TEXT), max_size=3).map(tuple)),
        tables(),
        st.builds(Verbatim, TEXT),
    ),
    max_size=4,
)
BLOCKS = st.lists(
    st.one_of(PLAIN.map(tuple), st.tuples(st.builds(Section, TEXT, PLAIN.map(tuple), TEXT, st.booleans()))), max_size=3
).map(lambda parts: [block for part in parts for block in part])
TAGS = set(
    re.findall(
        r"\w+",
        """div style h2 h3 p span br table caption thead tbody tr th td dl dt dd pre svg line circle section details
        summary figure figcaption desc g path text ul li""",
    )
)
VOID = {"br", "line", "circle", "path"}
MARKDOWN = MarkdownIt("commonmark").enable(["table", "strikethrough"])


class Reader(HTMLParser):
    """Collects tags and text, and checks that tags close in order."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.texts: dict[str, list[str]] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert not any(name.startswith("on") or name in {"href", "src"} for name, _ in attrs)
        self.tags.add(tag)
        if tag not in VOID:
            self.open.append(tag)
            self.texts.setdefault(tag, []).append("")

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open:
            self.texts[self.open[-1]][-1] += data


@given(BLOCKS, st.integers(20, 140))
@settings(max_examples=300, deadline=None)
@example([Table((Column("a"), Column("b")), (("x\u200d", "\ufe0f\u2764"),))], 20)
def test_lines_of_text_never_exceed_the_width(blocks: list[Block], width: int) -> None:
    text = render_text(blocks, width=width)
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\ud800-\udfff]", text)
    assert all(cell_len(line) <= width for line in text.split("\n"))


@given(BLOCKS)
@settings(max_examples=200, deadline=None)
def test_colour_changes_no_word(blocks: list[Block]) -> None:
    painted = re.sub("\x1b\\[[0-9;]*m", "", render_text(blocks, colour=True))
    assert [line.rstrip() for line in painted.split("\n")] == render_text(blocks).split("\n")


@given(BLOCKS)
@settings(max_examples=200, deadline=None)
def test_html_has_only_its_own_tags(blocks: list[Block]) -> None:
    check_tags(blocks)


@given(st.one_of(drawings(), explorers()))
@settings(max_examples=100, deadline=None)
def test_drawings_have_only_their_own_tags_and_no_form_but_html(block: Chart | Explorer) -> None:
    check_tags([block])
    assert not re.search("nan|inf", placed(render_html([block], style=False)))
    assert [render([block]) for render in (render_text, render_markdown, render_latex)] == ["", "", ""]


def placed(page: str) -> str:
    """What stands in the attributes that place a drawing."""
    return " ".join(re.findall(r' (?:d|x|y|cx|x1|x2|transform|viewBox)="([^"]*)"', page))


def check_tags(blocks: list[Block]) -> None:
    page = render_html(blocks)
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert not reader.open
    assert reader.tags <= TAGS
    page.encode("utf-8")


@given(TEXT)
@settings(max_examples=200, deadline=None)
def test_html_shows_the_text(text: str) -> None:
    reader = Reader()
    reader.feed(render_html([Title(text), Table((Column("a"), Column("b")), ((1, text),))]))
    reader.close()
    assert reader.texts["h2"] == [visible(text)]
    assert reader.texts["td"][-1] == visible(text)


@given(tables())
@settings(max_examples=300, deadline=None)
def test_markdown_tables_keep_their_shape(table: Table) -> None:
    tokens = MARKDOWN.parse(render_markdown([table]))
    spans = [
        at
        for at in range(len(table.columns))
        if any(isinstance(row[at], Span) for row in table.rows)
        and all(row[at] is None or isinstance(row[at], Span) for row in table.rows)
    ]
    width = len(table.columns) - len(spans)
    kinds = [token.type for token in tokens]
    assert kinds.count("th_open") == width
    assert kinds.count("td_open") == width * len(table.rows)
    assert kinds.count("tr_open") == (1 + len(table.rows) if width else 0)


@given(TEXT)
@settings(max_examples=500, deadline=None)
@example("a ##")
@example("===")
@example("12) x")
def test_markdown_shows_the_text(text: str) -> None:
    wanted = visible(text).strip(" ")
    table = Table((Column("h"), Column("k")), (("a", text),))
    for block in (Title(text), Prose(text.replace("\n", " ")), Note(text), table):
        tokens = MARKDOWN.parse(render_markdown([block]))
        inline = [token for token in tokens if token.type == "inline"]
        children = [child for token in inline for child in token.children or []]
        assert {child.type for child in children} <= {"text", "text_special", "strong_open", "strong_close"}
        shown = "".join(child.content for child in children)
        expected = visible(text.replace("\n", " ")).strip(" ") if isinstance(block, Prose) else wanted
        assert _squeezed(shown).endswith(_squeezed(expected))
        assert not {"heading_open", "bullet_list_open"} & {token.type for token in tokens} or not isinstance(
            block, Prose
        )


def _squeezed(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


@given(BLOCKS)
@settings(max_examples=300, deadline=None)
def test_latex_is_balanced_and_its_rows_have_their_cells(blocks: list[Block]) -> None:
    # Without comments, which are never set, and the one percent sign that ends a line early.
    lines = [line for line in render_latex(blocks).split("\n") if not line.startswith("%")]
    source = "\n".join(lines).replace("{!}{%", "{!}{").replace(r"\width>\linewidth", "")
    bare = re.sub(r"\\[\\&%$#_{}]", "", source)
    depth = 0
    for char in bare:
        depth += (char == "{") - (char == "}")
        assert depth >= 0
    assert depth == 0
    assert not set("%#^_`|<>") & set(bare)
    assert bare.count("$") % 2 == 0
    assert source.count("\\begin{") == source.count("\\end{")
    commands = set(re.findall(r"\\([A-Za-z]+)", bare))
    assert commands <= KNOWN
    for spec, body in re.findall(r"\\begin\{tabular\}\{@\{\}([lrc]+)@\{\}\}\n(.*?)\\end\{tabular\}", source, re.DOTALL):
        for line in body.split("\n"):
            if line.endswith("\\\\"):
                assert re.sub(r"\\&", "", line).count("&") == len(spec) - 1
                assert not re.match(r"\s*[\[*]", line)


KNOWN = set(
    re.findall(
        r"\w+",
        """section subsection noindent textbf begin end toprule midrule bottomrule par smallskip linewidth ttfamily
        infty ldots table centering caption label resizebox ifdim width else fi linewidth pm times leq geq neq approx
        rightarrow leftarrow uparrow downarrow surd chi alpha beta kappa textsuperscript textquotedblleft
        textquotedblright textquoteleft textquoteright
        textbackslash textasciitilde textasciicircum textless textgreater textbar textasciigrave
        textperiodcentered""",
    )
)
