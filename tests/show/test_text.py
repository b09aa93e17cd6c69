"""Text for a terminal: what it looks like, and that nothing drives the terminal."""

from __future__ import annotations

import io

import pytest
from rich.cells import cell_len
from rich.console import Console

from heldout.show.blocks import (
    Block,
    Column,
    Facts,
    Heat,
    Note,
    Number,
    Prose,
    Range,
    Span,
    Table,
    Title,
    Verbatim,
    value_and_interval,
)
from heldout.show.text import axis, bar, render_text, to_rich

NAN = float("nan")


def measured(*rows: tuple[str, float, float, float]) -> Table:
    columns = (Column("measure"), Column("value", "right"), Column("95 % interval"), Column(""))
    return Table(
        columns,
        tuple((name, Number(v), Range(low, high), Span(v, low, high)) for name, v, low, high in rows),
    )


SCREEN: list[Block] = [
    Title("churn.csv · 2,000 cases · 2 classes", "truth = churned, threshold 0.5"),
    Prose('Better than always predicting "no": yes.\nIt finds 58 % of the churners.', "Verdict"),
    measured(("accuracy", 0.912, 0.899, 0.924), ("Matthews", 0.594, 0.4, 0.7), ("recall", 1.0, 0.9, 1.0)),
    Table(
        (Column(""), Column("predicted yes", "right"), Column("predicted no", "right")),
        (("truth yes", Heat(165, 0.58), Heat(119, 0.42)), ("truth no", Heat(67, 0.04), Heat(1649, 0.96))),
        caption="Counts",
    ),
    Prose("1 to act on", "Findings"),
    Note("The costs are 2.1 times those at 0.18.", "warning", "H007"),
    Note("Few cases."),
    Facts((("seed", "42"), ("fingerprint", "abc"))),
    Verbatim(" a  b\n\t1"),
]

EXPECTED = """\
churn.csv · 2,000 cases · 2 classes
truth = churned, threshold 0.5

Verdict   Better than always predicting "no": yes.
          It finds 58 % of the churners.

measure    value   95 % interval   0 ─────────────────────── 1
accuracy    .912   .899 – .924                            ├●┤
Matthews    .594   .400 – .700               ├────●──┤
recall     1.000   .900 – 1.000                           ├──●

Counts
            predicted yes   predicted no
truth yes             165            119
truth no               67          1,649

Findings  1 to act on
! H007  The costs are 2.1 times those at 0.18.
· Few cases.

seed          42
fingerprint   abc

 a  b
        1"""


def test_the_screen_looks_like_this() -> None:
    assert render_text(SCREEN) == EXPECTED


def test_colour_adds_escapes_and_no_words() -> None:
    painted = render_text(SCREEN, colour=True)
    assert "\x1b[" in painted
    buffer = io.StringIO()
    Console(file=buffer, width=100, color_system=None).print(to_rich(SCREEN))
    assert [line.rstrip() for line in buffer.getvalue().splitlines()] == EXPECTED.splitlines()


def test_a_deep_shade_has_light_ink_and_a_pale_one_dark() -> None:
    shades = Table((Column(""), Column("")), ((Heat(1, 1.0), Heat(2, 0.05)),))
    painted = render_text([shades], colour=True)
    deep, pale = painted.split("1\x1b[0m")
    assert "38;2;255;255;255" in deep
    assert "38;2;0;0;0" in pale
    assert render_text([shades]) == "1   2"


def test_an_empty_heat_cell_is_not_shaded() -> None:
    assert "\x1b" not in render_text([Table((Column(""),), ((Heat(0, 0.0),),))], colour=True)


def test_rich_takes_the_width_of_its_console() -> None:
    buffer = io.StringIO()
    Console(file=buffer, width=40, color_system=None).print(to_rich(SCREEN))
    assert max(map(cell_len, buffer.getvalue().splitlines())) <= 40


@pytest.mark.parametrize(
    ("span", "drawn"),
    [
        (Span(0.5, 0.3, 0.7), "   ├─●─┤   "),
        (Span(0.5, 0.49, 0.51), "    ├●┤    "),
        (Span(0.5, 0.5, 0.5), "     ●     "),
        (Span(1.0, 0.8, 1.0), "        ├─●"),
        (Span(0.0, 0.0, 0.2), "●─┤        "),
        (Span(0.99, 0.98, 0.995), "         ├●"),
        (Span(NAN, NAN, NAN), "           "),
        (Span(0.5, NAN, NAN), "     ●     "),
        (Span(0.02, -0.04, 0.06, -0.1, 0.1), "   ├──●─┤  "),
        (Span(0.06, 0.04, 0.08, -0.1, 0.1), "     ┊ ├●┤ "),
        (Span(0.0, -0.3, 0.2, -0.1, 0.1), "←────●────→"),
        (Span(0.2, 0.05, 0.3, -0.1, 0.1), "     ┊  ├─→"),
        (Span(0.5, 0.0, 1.0, 1.0, 1.0), "           "),
    ],
)
def test_bars(span: Span, drawn: str) -> None:
    assert bar(span, track=11) == drawn


def test_an_axis_is_drawn_only_if_all_share_it() -> None:
    same = Span(0.5, 0.4, 0.6)
    assert axis([same, same], track=11) == "0 ─────── 1"
    assert axis([same, Span(0.5, 0.4, 0.6, 0, 2)], track=11) == ""
    assert axis([Span(0, 0, 0, -0.05, 0.05)], track=19) == "-.05 ─── 0 ──── .05"


def test_control_characters_are_spelled_out() -> None:
    hostile = "a\x1b[2J\x07\n\t\u202eb\x9b31m"
    table = Table((Column(hostile),), ((hostile,),), hostile)
    blocks: list[Block] = [Title(hostile, hostile), Note(hostile, code=hostile), table, Verbatim(hostile)]
    text = render_text(blocks)
    assert not set(text) & set("\x1b\x07\t\u202e\x9b")
    assert r"a\x1b[2J\x07\n\t\u202eb\x9b31m" in text


def test_markup_is_literal() -> None:
    buffer = io.StringIO()
    console = Console(file=buffer, width=80, force_terminal=True, color_system="truecolor")
    console.print(to_rich([Prose("[red]x[/red] :smile:"), Facts((("[bold]", "[/]"),))]))
    assert "[red]x[/red] :smile:" in buffer.getvalue()
    assert "[bold]" in buffer.getvalue()


@pytest.mark.parametrize(
    "label",
    [
        "x" * 10_000,
        "漢" * 5_000,
        "e\u0301" * 5_000,
        "\u0301" * 10_000,
        "\U0001f469\u200d\U0001f469\u200d\U0001f467" * 500,
    ],
)
def test_long_labels_are_cut_in_the_middle(label: str) -> None:
    lines = render_text([measured((f"A{label}Z", 0.5, 0.4, 0.6), ("b", 0.5, 0.4, 0.6))]).splitlines()
    assert max(map(cell_len, lines)) <= 100
    assert lines[1].startswith("A")
    assert "…" in lines[1]
    before = [line[: line.index(".500 ")] for line in lines[1:]]
    assert all(".400 – .600" in line for line in lines[1:])
    assert cell_len(before[0]) == cell_len(before[1])
    assert max(map(len, lines)) < 1000


def test_wide_and_narrow_characters_stay_in_their_columns() -> None:
    labels = [
        "ab",
        "漢字",
        "שלום",
        "\U0001f44d\U0001f3fd",
        "\U0001f469\u200d\U0001f469\u200d\U0001f467",
        "é",
        "e\u0301",
        "\u2764\ufe0f",
        "x\u200d",
        "\ufe0fy",
    ]
    table = Table((Column("class"), Column("n", "right")), tuple((label, 7) for label in labels))
    lines = render_text([table]).splitlines()
    assert {cell_len(line) for line in lines} == {9}


def test_a_table_too_wide_continues_below_with_its_first_column() -> None:
    columns = (Column("class"), *(Column(f"class {at}", "right") for at in range(30)))
    text = render_text([Table(columns, (("row", *range(30)),))], width=60)
    assert max(map(len, text.splitlines())) <= 60
    assert all(text.split().count(str(at)) == 2 for at in range(30))
    assert text.count("row") == len(text.split("\n\n")) > 1


def test_drawings_go_before_names_become_unreadable() -> None:
    table = measured(("balanced accuracy", 0.77, 0.74, 0.799))
    assert "●" in render_text([table], width=75)
    narrow = render_text([table], width=60)
    assert "●" not in narrow
    assert "balanced accuracy" in narrow


def test_a_wrapping_column_keeps_all_its_words() -> None:
    text = "share of the actual positives that were found by the classifier"
    table = Table((Column("measure"), Column("meaning", wrap=True)), (("recall", text), ("f", "short")))
    lines = render_text([table], width=40).splitlines()
    assert max(map(len, lines)) <= 40
    assert " ".join(" ".join(lines).split()) == f"measure meaning recall {text} f short"


def test_a_table_without_headers_has_no_header_line() -> None:
    assert render_text([Table((Column(""), Column("")), (("a", 1),))]) == "a   1"


def test_rows_must_fit_their_columns() -> None:
    with pytest.raises(ValueError, match="Row 0 has 2 cells under 1 columns"):
        Table((Column("a"),), ((1, 2),))


BESIDE = Table(
    (Column("learner"), *value_and_interval("F1 (tested_positive)"), *value_and_interval("accuracy")),
    (("lda", Number(0.632), Range(0.558, 0.7), Number(0.772), Range(0.734, 0.806)),),
)


def test_a_header_stands_over_a_value_and_its_interval():
    assert render_text([BESIDE]).split("\n") == [
        "learner   F1 (tested_positive)    accuracy",
        "lda       .632   .558 – .700      .772   .734 – .806",
    ]


def test_a_value_and_its_interval_are_not_parted_where_a_table_goes_on_below():
    assert render_text([BESIDE], width=35).split("\n") == [
        "learner   F1 (tested_positive)",
        "lda       .632   .558 – .700",
        "",
        "learner   accuracy",
        "lda       .772   .734 – .806",
    ]


def test_nothing_is_shaded_where_there_is_no_colour():
    matrix = Table((Column("a"), Column("b")), (("x", Heat(1, 0.5)),))
    written = io.StringIO()
    plain = Console(file=written, width=40)
    plain.print(to_rich([matrix, Table((Column("a"), Column("long")), (("x", "y"),))]))
    assert [line for line in written.getvalue().splitlines() if line.endswith(" ")] == []


def test_a_header_is_folded_before_it_is_cut():
    table = Table((Column("learner"), Column("train–test gap", "right")), (("naive-bayes", Number(0.014)),))
    assert render_text([table], width=21).split("\n") == [
        "               train–",
        "learner      test gap",
        "naive-bayes      .014",
    ]
