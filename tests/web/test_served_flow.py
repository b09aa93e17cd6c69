"""The way of a file through the server, as a program sees it: sent, looked into, reported, compared, downloaded."""

from __future__ import annotations

import polars as pl
import pytest
from tests.web.serving import DIABETES, IRIS, estimate, predictions

import heldout
from heldout.files.formats import formats

FORMS = {"html": "<!doctype html>", "json": "{", "tex": ("%", "\\"), "md": "#"}
HEADERS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


@pytest.fixture(scope="module")
def diabetes(server):
    here = server.upload(DIABETES.read_bytes(), "diabetes.csv")
    server.report(here, truth="2", predicted="3", score=["4", "5"], positive="tested_positive")
    return here


def test_the_report_has_the_figures_of_the_library(server, diabetes):
    document = server.ask("GET", f"{diabetes}/report.json").said
    frame = pl.read_csv(DIABETES)
    told = heldout.evaluate(
        frame, truth="truth", predicted="predicted", score=["p_tested_negative", "p_tested_positive"], fold="none"
    ).to_dict()
    assert document["estimates"] == told["estimates"]
    assert document["confusion"] == told["confusion"]


@pytest.mark.parametrize(("form", "begins"), FORMS.items())
def test_every_form_can_be_downloaded_under_the_name_of_the_file(server, diabetes, form, begins):
    answer = server.ask("GET", f"{diabetes}/report.{form}")
    assert answer.status == 200
    assert answer.headers["content-disposition"] == f'attachment; filename="diabetes.{form}"'
    assert answer.text.startswith(begins)
    assert "diabetes.csv" in answer.text or form == "json"
    assert "predictions-" not in answer.text, "the name of the file on the server is nobody's business"


def test_the_page_is_the_downloaded_one_with_a_bar(server, diabetes):
    shown, alone = (server.ask("GET", f"{diabetes}/report{ending}").text for ending in ("", ".html"))
    assert 'class="served"' in shown
    assert 'class="served"' not in alone
    assert shown.partition("</nav>\n")[2] in alone
    assert shown.partition("</nav>\n")[2]


def test_the_first_page_names_every_format_that_is_read(server):
    text = server.ask("GET", "/").text
    assert all(title in text for fmt in formats() for title in fmt.titles)


def test_every_answer_carries_the_headers(server, diabetes):
    paths = ["/", "/nowhere", "/static/app.js", f"{diabetes}/columns", f"{diabetes}/report", f"{diabetes}/report.json"]
    for path in paths:
        headers = server.ask("GET", path).headers
        assert HEADERS.items() <= headers.items(), path
        policy = headers["content-security-policy"]
        assert policy.startswith("default-src 'none'"), path
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert headers["cache-control"] == ("no-cache" if path.startswith("/static") else "no-store")
        assert "access-control-allow-origin" not in headers


def test_one_row_is_no_rows(server):
    here = server.upload(b"truth,predicted\na,a\n", "small.csv")
    assert "1 row, 2 columns." in server.ask("GET", f"{here}/columns").text


def test_guesses_are_filled_in(server, diabetes):
    del diabetes
    here = server.upload(b"weight,y_true,proba_no,proba_yes,y_pred,fold\n1,no,.9,.1,no,1\n2,yes,.3,.7,yes,2\n", "g.csv")
    text = server.ask("GET", f"{here}/columns").text
    for role, place in {"truth": 1, "predicted": 4, "fold": 5}.items():
        field = text.partition(f'name="{role}"')[2].partition("</select>")[0]
        assert f'value="{place}" selected' in field
        assert field.count(" selected") == 1
    assert text.count(" checked") == 2
    assert '<option value="yes" selected>yes</option>' in text.partition('name="positive"')[2]


def test_two_files_are_compared_as_the_library_compares_them(server, diabetes):
    frame = pl.read_csv(DIABETES).with_columns(
        predicted=pl.when(pl.col("p_tested_positive") >= 0.3)
        .then(pl.lit("tested_positive"))
        .otherwise(pl.lit("tested_negative"))
    )
    # Rows in another order, matched by their id.
    other = frame.sample(fraction=1.0, shuffle=True, seed=3)
    second = server.upload(other.write_csv().encode(), "lower.csv", beside=diabetes.removeprefix("/u/"))
    form = server.ask("GET", f"{second}/columns").text
    assert "diabetes.csv" in form
    columns = {"truth": "2", "predicted": "3", "score": ["4", "5"], "id": "0", "positive": "tested_positive"}
    assert estimate(server.report(second, **columns), "accuracy") == pytest.approx(
        (frame["truth"] == frame["predicted"]).mean(), abs=1e-12
    )
    assert server.wait(second) == f"{second}/comparison"
    document = server.ask("GET", f"{second}/comparison.json").said
    told = heldout.compare(DIABETES, frame, id="row", names=["diabetes.csv", "lower.csv"])
    assert [row["difference"] for row in document["comparisons"]] == pytest.approx(
        [row["difference"] for row in told.to_dict()["comparisons"]], abs=1e-12
    )
    page = server.ask("GET", f"{second}/comparison").text
    assert f'href="{diabetes}/report"' in page
    assert f'href="{second}/report"' in page
    assert f'href="{second}/comparison"' in server.ask("GET", f"{diabetes}/report").text


def test_the_report_speaks_of_the_file_by_its_name_and_of_a_label_by_its_own(server):
    data = b"truth,predicted,weight\n" + b"the data frame,the data frame,1\nno,no,2\n" * 9
    here = server.upload(data, "mine.csv")
    server.report(here, truth="0", predicted="1")
    page = server.ask("GET", f"{here}/report.md").text
    assert "the data frame" in page
    assert "The column 'weight' of mine.csv was not used" in page.replace("\\", "")
    assert estimate(server.report(here, truth="0", predicted="1"), "accuracy") == 1


def test_files_that_cannot_be_compared_still_have_their_reports(server, diabetes):
    second = server.upload(IRIS.read_bytes(), "iris.csv", beside=diabetes.removeprefix("/u/"))
    assert estimate(server.report(second, truth="2", predicted="3"), "accuracy") == pytest.approx(0.96)
    page = server.ask("GET", f"{second}/comparison")
    assert "cannot be compared" in page.text
    assert server.ask("GET", f"{second}/report").status == 200
    assert server.ask("GET", f"{second}/comparison.json").status == 404


def test_columns_can_be_changed(server, diabetes):
    del diabetes
    here = server.upload(b"a,b,c\n" + b"x,x,y\ny,y,y\n" * 5, "three.csv")
    assert estimate(server.report(here, truth="0", predicted="1"), "accuracy") == 1
    assert estimate(server.report(here, truth="0", predicted="2"), "accuracy") == 0.5
    assert [path.name for path in server.stored() if path.parent.name == "report-1"].count("report.json") >= 1


def test_settings_reach_the_library(server, diabetes):
    document = server.report(
        diabetes, truth="2", predicted="", score=["5"], positive="tested_positive", threshold="0,3", level="0.9",
        costs="tested_positive,tested_negative:5; tested_negative,tested_positive:1", slices=["1"],
    )  # fmt: skip
    told = heldout.evaluate(
        pl.read_csv(DIABETES), truth="truth", score="p_tested_positive", threshold=0.3, level=0.9, slices=["fold"],
        costs={("tested_positive", "tested_negative"): 5, ("tested_negative", "tested_positive"): 1},
        predicted=None, positive="tested_positive",
    )  # fmt: skip
    assert document["estimates"] == told.to_dict()["estimates"]


@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        ({}, "No column was chosen as the truth. Hint: choose"),
        ({"truth": "0"}, "Neither a predicted class nor a score was chosen"),
        ({"truth": "7", "predicted": "1"}, "What was sent as truth cannot be understood"),
        ({"truth": "-1", "predicted": "1"}, "What was sent as truth cannot be understood"),
        ({"truth": "0", "predicted": "1", "score": "1"}, "What was sent as score cannot be understood"),
        ({"truth": "0", "predicted": "1", "threshold": "high"}, "The threshold must be a number. Got 'high'."),
        ({"truth": "0", "predicted": "1", "level": "95"}, "The level must lie between 0 and 1. Got '95'."),
        ({"truth": "0", "predicted": "1", "costs": "examples/diabetes.csv"}, "is not a cost"),
        ({"truth": "0", "predicted": "1", "positive": "\ud800"}, "What was sent as positive cannot be understood"),
        ({"truth": "0", "predicted": "1", "missing": "perhaps"}, "What was sent as missing cannot be understood"),
    ],
)
def test_a_wrong_form_is_answered_in_two_sentences(server, chosen, said):
    here = server.upload(predictions(3, 1))
    answer = server.choose(here, **chosen)
    assert answer.status == 422
    assert said in f"{answer.said['what']} Hint: {answer.said['hint']}"


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b"[" * 100_000, b"\xff", b'"' + b"x" * 2_000_000 + b'"'])
def test_a_form_that_is_none_is_refused(server, body):
    here = server.upload(predictions(3, 1))
    assert server.ask("POST", f"{here}/report", body).status == 422


def test_what_the_library_refuses_is_shown_in_place(server):
    here = server.upload(b"truth,predicted\na,a\nb,\n", "gap <b>.csv")
    assert server.choose(here, truth="0", predicted="1").status == 202
    assert server.wait(here) == f"{here}/columns"
    said = server.wrong(here)
    assert "missing" in said
    # In the words of the form, not of the command line.
    assert "“drop” under “Rows with missing values”" in said
    assert "predictions-" not in said
    # What was chosen is still there.
    assert server.ask("GET", f"{here}/columns").text.count(" selected") == 3
    assert estimate(server.report(here, truth="0", predicted="1", missing="drop"), "accuracy") == 1


def test_a_file_can_be_removed_by_whom_it_belongs_to(server):
    here = server.upload(predictions(5, 5))
    before = len(server.stored())
    assert server.ask("DELETE", here).status == 200
    assert server.ask("GET", here).status == 404
    assert server.ask("GET", f"{here}/state", headers={"Accept": "application/json"}).said["what"]
    assert len(server.stored()) < before


def test_likely_columns_that_are_not_used_are_named_beside_their_fields(server):
    here = server.upload(b"case,sample_weight,group,y_true,y_pred\n1,1,a,no,no\n2,2,a,yes,yes\n", "likely.csv")
    text = server.ask("GET", f"{here}/columns").text
    for role, name in {"weight": "sample_weight", "group": "group", "id": "case"}.items():
        field = text.partition(f'name="{role}"')[2].partition("</div>")[0]
        assert " selected" not in field
        assert f"By its name this may be <b>{name}</b>." in field
