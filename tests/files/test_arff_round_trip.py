"""Any table of nominal, numeric and text columns, written as ARFF, is read back as it was."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from heldout.files import read_arff

_NASTY = st.text(
    st.one_of(
        st.sampled_from("'\"\\%{}?,@ \t\n\r_é\u2028\x0b#;"),
        st.characters(codec="utf-8", exclude_characters="\0"),
    ),
    max_size=8,
)
_NUMBERS = st.floats(allow_nan=False, allow_infinity=False)


def _quoted(text: str, mark: str) -> str:
    for plain, escaped in (("\\", "\\\\"), (mark, "\\" + mark), ("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t")):
        text = text.replace(plain, escaped)
    return f"{mark}{text}{mark}"


@st.composite
def _tables(draw):
    names = draw(st.lists(_NASTY.filter(bool), min_size=1, max_size=4, unique=True))
    height = draw(st.integers(1, 6))
    columns = []
    for _ in names:
        kind = draw(st.sampled_from(["numeric", "string", "nominal"]))
        labels = draw(st.lists(_NASTY, min_size=1, max_size=4, unique=True))
        value = {"numeric": _NUMBERS, "string": _NASTY, "nominal": st.sampled_from(labels)}[kind]
        values = draw(st.lists(st.none() | value, min_size=height, max_size=height))
        columns.append((kind, labels, values))
    return names, columns


@given(_tables(), st.randoms(use_true_random=False), st.sampled_from(["\n", "\r\n"]))
def test_round_trip(table, chance: random.Random, ends):
    names, columns = table

    def text(value: str | float | None) -> str:
        if value is None:
            return "?"
        return repr(value) if isinstance(value, float) else _quoted(value, chance.choice("'\""))

    lines = ["@relation " + text("r")]
    for name, (kind, labels, _) in zip(names, columns, strict=True):
        declared = "{" + ", ".join(text(label) for label in labels) + "}" if kind == "nominal" else kind
        lines.append(f"@attribute {text(name)} {declared}")
    lines.append("@data")
    rows = list(zip(*(values for _, _, values in columns), strict=True))
    lines.extend(chance.choice([",", ", ", "\t"]).join(text(value) for value in row) for row in rows)
    frame = read_arff(ends.join(lines) + ends)
    assert frame.columns == names
    assert frame.rows() == rows
    for name, (kind, labels, _) in zip(names, columns, strict=True):
        if kind == "nominal":
            assert frame[name].dtype.categories.to_list() == labels
