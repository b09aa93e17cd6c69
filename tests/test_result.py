"""What every result can do, shown on a small one."""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heldout.errors import FileError, OptionError
from heldout.result import ROW_KEYS, Result, json_safe
from heldout.show.blocks import Block, Column, Number, Prose, Table, Title

NAN, INF = float("nan"), float("inf")


def row(**given: object) -> dict[str, object]:
    return {**dict.fromkeys(ROW_KEYS), **given}


@dataclass(frozen=True, slots=True)
class Small(Result):
    schema: ClassVar[str] = "heldout/small@1"

    data: tuple[dict[str, object], ...] = (
        row(measure="recall", value=np.float64(0.5), level=0.95, n=np.int64(4), **{"class": 1}),
        row(measure="precision", value=NAN, n=7, **{"class": "b"}, odd=INF),
    )

    def rows(self) -> list[dict[str, object]]:
        return [dict(entry) for entry in self.data]

    def blocks(self) -> list[Block]:
        return [Title("Small <b>"), Table((Column("m"), Column("v", "right")), (("recall", Number(0.5)),))]

    def facts(self) -> dict[str, object]:
        return {"n": np.int64(4), "matrix": np.array([[1, 2], [3, 4]]), "labels": ("a", 1), "by": {1: True}}


def test_the_document_is_schema_facts_rows() -> None:
    document = Small().to_dict()
    assert list(document) == ["schema", "n", "matrix", "labels", "by", "estimates"]
    assert document["matrix"] == [[1, 2], [3, 4]]
    assert document["labels"] == ["a", 1]
    assert document["by"] == {"1": True}
    assert document["estimates"][0]["value"] == 0.5
    assert type(document["estimates"][0]["n"]) is int
    assert document["estimates"][1]["value"] is None
    assert document["estimates"][1]["odd"] == "Infinity"


def test_json_is_valid_and_keeps_letters() -> None:
    text = Small((row(measure="é漢", value=NAN, low=-INF, high=INF),)).to_json()
    assert "é漢" in text
    read = json.loads(text, parse_constant=pytest.fail)
    assert read["estimates"][0]["low"] == "-Infinity"
    assert read["estimates"][0]["high"] == "Infinity"


def test_half_a_surrogate_pair_survives_json() -> None:
    text = Small((row(measure="a\udc80"),)).to_json()
    text.encode("utf-8")
    assert json.loads(text)["estimates"][0]["measure"] == "a\udc80"


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
        lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers() | st.none(), inner),
        max_leaves=10,
    )
)
def test_anything_becomes_valid_json(value: object) -> None:
    text = Small((row(value=value),)).to_json(indent=None)
    text.encode("utf-8")
    assert json.loads(text, parse_constant=pytest.fail)["estimates"][0]["value"] == json_safe(value)


def test_json_safe_values() -> None:
    assert json_safe(np.bool_(1)) is True
    assert json_safe(np.float32(0.5)) == 0.5
    assert json_safe(np.longdouble(0.5)) == 0.5
    assert json_safe(np.array([NAN, INF])) == [None, "Infinity"]
    assert json_safe(np.datetime64("2024-01-02")) == "2024-01-02"
    assert type(json_safe(np.str_("a"))) is str
    assert json_safe(b"x") == "b'x'"


def test_keys_that_read_alike_do_not_hide_each_other() -> None:
    assert json_safe({1: "int", "1": "text"}) == {"1": "int", "'1'": "text"}


def test_polars_frame() -> None:
    frame = Small().to_frame()
    assert isinstance(frame, pl.DataFrame)
    assert tuple(frame.columns) == (*ROW_KEYS, "odd")
    assert frame["class"].to_list() == ["1", "b"]
    assert frame["value"].to_list() == [0.5, None]
    assert frame["odd"].to_list() == [None, INF]
    assert frame.schema["average"] == pl.String
    assert frame.schema["low"] == pl.Float64
    assert frame.schema["n"] == pl.Int64


def test_frames_of_results_bind() -> None:
    nothing = Small(()).to_frame()
    assert tuple(nothing.columns) == ROW_KEYS
    only = Small((row(measure="x", value=1),)).to_frame()
    assert pl.concat([nothing, only])["value"].to_list() == [1.0]


def test_pandas_frame() -> None:
    frame = Small().to_frame("pandas")
    assert isinstance(frame, pd.DataFrame)
    assert frame["value"].isna().tolist() == [False, True]
    assert frame["n"].tolist() == [4, 7]
    assert frame["average"].isna().all()


def test_pyarrow_frame() -> None:
    table = Small().to_frame("pyarrow")
    assert isinstance(table, pa.Table)
    assert table.column("value").to_pylist() == [0.5, None]
    assert table.schema.field("average").type == pa.string()


def test_odd_columns_fit_a_frame() -> None:
    rows = (row(a=1, b=True, c=1, d=2**70), row(a=0.5, b=None, c="x", d=1), row(a=None, c=[1], d="\udc80"))
    frame = Small(rows).to_frame()
    assert frame["a"].to_list() == [1.0, 0.5, None]
    assert frame["b"].to_list() == [True, None, None]
    assert frame["c"].to_list() == ["1", "x", "[1]"]
    assert frame["d"].to_list() == [str(2**70), "1", "\\udc80"]


def test_an_unknown_backend_is_named() -> None:
    with pytest.raises(OptionError) as caught:
        Small().to_frame("panda")  # type: ignore[call-overload]
    assert str(caught.value) == (
        "There is no data frame backend 'panda'; there are polars, pandas, pyarrow.\nHint: use 'pandas'."
    )


def test_a_backend_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("heldout.result.find_spec", lambda _: None)
    with pytest.raises(OptionError, match="needs the package pandas, which is not installed"):
        Small().to_frame("pandas")


def test_the_forms_follow_from_the_blocks() -> None:
    small = Small()
    assert str(small) == "Small <b>\n\nm           v\nrecall   .500"
    assert small.to_markdown().startswith("## Small \\<b\\>\n\n| m | v |")
    assert "\\caption{M, v. Small \\textless{}b\\textgreater{}.}" in small.to_latex()
    assert small._repr_html_() == small.to_html()
    assert "Small &lt;b&gt;</h2>" in small.to_html()
    assert len(small.__rich__().blocks) == 2


@pytest.mark.parametrize(
    ("ending", "start"),
    [
        ("json", '{\n  "schema": "heldout/small@1"'),
        ("md", "## Small"),
        ("html", "<!doctype html>"),
        ("tex", "% Needs \\usepackage{booktabs}"),
        ("txt", "Small <b>\n"),
        ("CSV", "measure,class,average,value,low,high,level,method,n,odd\nrecall,1,,0.5,,,0.95,,4,\n"),
    ],
)
def test_write_takes_the_form_from_the_ending(tmp_path: object, ending: str, start: str) -> None:
    path = Small().write(f"{tmp_path}/out.{ending}")
    text = path.read_text(encoding="utf-8")
    assert text.startswith(start)
    assert text.endswith("\n")
    if ending == "html":
        assert "<title>Small &lt;b&gt;</title>" in text


def test_csv_quotes_what_needs_it(tmp_path: object) -> None:
    path = Small((row(measure='a,"b"\nc', value=NAN),)).write(f"{tmp_path}/out.csv")
    with path.open(encoding="utf-8", newline="") as file:
        read = list(csv.DictReader(file))
    assert read[0]["measure"] == 'a,"b"\nc'
    assert read[0]["value"] == ""


def test_another_ending_is_refused_by_name() -> None:
    with pytest.raises(OptionError) as caught:
        Small().write("out.jsn")
    assert str(caught.value) == (
        "out.jsn ends in '.jsn', but a result is written as one of .json, .md, .html, .tex, .txt, .csv.\n"
        "Hint: name the file out.json."
    )


def test_a_folder_that_is_not_there_is_named(tmp_path: object) -> None:
    with pytest.raises(FileError, match="cannot be written: No such file or directory"):
        Small().write(f"{tmp_path}/missing/out.json")


def test_a_result_must_say_its_rows_and_blocks() -> None:
    class Silent(Result):
        schema = "heldout/silent@1"

    with pytest.raises(TypeError, match="abstract"):
        Silent()  # type: ignore[abstract]


def test_a_slotted_result_stays_slotted() -> None:
    assert not hasattr(Small(), "__dict__")


def test_facts_are_empty_unless_given() -> None:
    class Bare(Result):
        schema = "heldout/bare@1"
        rows_name = "things"

        def rows(self) -> list[dict[str, object]]:
            return []

        def blocks(self) -> list[Block]:
            return [Prose("x")]

    assert Bare().to_dict() == {"schema": "heldout/bare@1", "things": []}
