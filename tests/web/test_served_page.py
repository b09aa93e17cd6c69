"""The served pages in a real browser: a file is dropped, columns are chosen, and the report is read and moved."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from tests.web.serving import DIABETES, hanging, predictions

import heldout
from heldout.show.numbers import share

WAIT = 60_000
SCRIPT = "<script>alert(1)</script>"


def violations(page, part: str = "html") -> list[str]:
    found = Axe().run(page, context=part).response["violations"]
    return [f"{each['id']}: {each['nodes'][0]['html']}" for each in found if each["impact"] in ("serious", "critical")]


def reported(tab, server, file, second: bool = False) -> None:
    if not second:
        tab.goto(server.address)
    tab.set_input_files("#file", file)
    tab.wait_for_url("**/columns", timeout=WAIT)
    tab.get_by_role("button", name="Compare" if second else "Report", exact=True).click()
    tab.wait_for_url("**/comparison" if second else "**/report", timeout=WAIT)


def test_a_file_becomes_a_report_that_moves(tab, server, tmp_path, tmp_path_factory):
    # Predictions in folds are of several models, which have no threshold in common to move.
    file = tmp_path_factory.mktemp("one_model") / "diabetes.csv"
    pl.read_csv(DIABETES).drop("fold").write_csv(file)
    reported(tab, server, file)
    told = heldout.evaluate(file)
    assert "diabetes.csv" in tab.inner_text("h1")
    assert share(told["accuracy"].value) in tab.inner_text("main")
    typed = tab.locator("[data-typed]")
    typed.fill("0.3")
    typed.press("Enter")
    frame = pl.read_csv(DIABETES).drop("predicted")
    moved = heldout.evaluate(frame, score="p_tested_positive", threshold=0.3, positive="tested_positive")
    matrix = tab.locator(".heldout-explorer table").first.inner_text()
    assert {int(number) for number in re.findall(r"\d+", matrix)} >= set(moved.confusion.matrix.ravel().tolist())
    before = matrix
    tab.locator("[data-slider]").press("ArrowRight")
    tab.locator("[data-slider]").press("PageUp")
    assert tab.locator(".heldout-explorer table").first.inner_text() != before
    for form in ("HTML", "JSON", "LaTeX", "Markdown"):
        with tab.expect_download() as download:
            tab.get_by_role("link", name=form, exact=True).click()
        target = tmp_path / download.value.suggested_filename
        download.value.save_as(target)
        assert target.stat().st_size > 500
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"diabetes.{e}" for e in ("html", "json", "md", "tex")]


@pytest.fixture
def few(tmp_path):
    """A file of few cases, whose page is drawn fast."""
    pl.read_csv(DIABETES).head(60).write_csv(tmp_path / "few.csv")
    return tmp_path / "few.csv"


def test_a_second_file_is_compared_with_the_first(tab, server, few):
    reported(tab, server, few)
    frame = pl.read_csv(few).with_columns(predicted=pl.lit("tested_negative"))
    frame.write_csv(few.with_name("never.csv"))
    tab.get_by_role("link", name="Compare with another model").click()
    assert violations(tab) == []
    reported(tab, server, few.with_name("never.csv"), second=True)
    assert "few.csv" in tab.inner_text("h1")
    assert "never.csv" in tab.inner_text("h1")
    assert share(float((frame["truth"] == "tested_negative").mean())) in tab.inner_text("main")  # type: ignore[arg-type]
    tab.get_by_role("link", name="never.csv", exact=True).click()
    assert "never.csv" in tab.inner_text("h1")
    tab.get_by_role("link", name="Comparison", exact=True).click()
    tab.get_by_role("link", name="few.csv", exact=True).click()
    assert tab.get_by_role("link", name="Comparison with never.csv").is_visible()


def test_the_pages_are_accessible_and_fit(tab, server, few):
    def check(part: str = "html") -> None:
        for scheme, width in (("light", 390), ("dark", 1200)):
            tab.emulate_media(color_scheme=scheme)
            tab.set_viewport_size({"width": width, "height": 800})
            assert violations(tab, part) == []
            assert tab.evaluate("document.documentElement.scrollWidth") <= width

    tab.goto(server.address)
    check()
    tab.set_input_files("#file", few)
    tab.wait_for_url("**/columns", timeout=WAIT)
    tab.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    check()
    tab.get_by_role("button", name="Report", exact=True).click()
    tab.wait_for_url("**/report", timeout=WAIT)
    # The report itself is looked at where pages are tested.
    check(".served")
    tab.evaluate("document.activeElement.blur()")
    tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.textContent") == "Skip to the report"


def test_everything_is_reached_with_the_keyboard(tab, server):
    tab.goto(server.address)
    order = []
    for _ in range(3):
        tab.keyboard.press("Tab")
        order.append(tab.evaluate("document.activeElement.id || document.activeElement.textContent"))
    assert order == ["heldout", "file", "example"]
    outline = tab.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"
    tab.keyboard.press("Enter")
    tab.wait_for_url("**/columns", timeout=WAIT)
    assert "example.csv" in tab.inner_text("main")
    reached = set()
    for _ in range(40):
        tab.keyboard.press("Tab")
        reached.add(tab.evaluate("document.activeElement.name || document.activeElement.textContent"))
    assert {"truth", "predicted", "score", "positive", "Report", "Remove this file"} <= reached


def test_the_positive_class_is_chosen_from_the_labels_that_were_found(tab, server, tmp_path):
    rows = "".join(f"{row % 2}.0,{'yes' if row % 3 else 'no'},{row / 40:.2f}\n" for row in range(40))
    (tmp_path / "three.csv").write_text(f"a,truth,score\n{rows}")
    tab.goto(server.address)
    tab.set_input_files("#file", tmp_path / "three.csv")
    tab.wait_for_url("**/columns", timeout=WAIT)
    # What was read is in sight without opening anything.
    assert "0.03" in tab.get_by_role("group", name="What was read").inner_text()
    assert tab.locator("table").is_visible()
    positive = tab.get_by_label("Positive class")
    assert positive.evaluate("(e) => [e.tagName, ...[...e.options].map((o) => o.value)]") == ["SELECT", "", "no", "yes"]
    assert positive.input_value() == "yes"
    tab.get_by_label("True class").select_option(label="a")
    assert positive.evaluate("(e) => [...e.options].map((o) => o.value)") == ["", "0", "1"]
    tab.get_by_label("True class").select_option(label="truth")
    positive.select_option("no")
    # One typeface before, above and in the report.
    face = "(found) => getComputedStyle(document.querySelector(found)).fontFamily"
    before = tab.evaluate(face, "main")
    tab.get_by_role("button", name="Report", exact=True).click()
    tab.wait_for_url("**/report", timeout=WAIT)
    assert "positive class: no" in tab.inner_text(".heldout-top")
    assert tab.evaluate(face, ".served") == tab.evaluate(face, "main") == before


def test_several_files_at_once_are_compared_with_each_other(tab, server, few):
    frame = pl.read_csv(few).drop("fold")
    names = ["one.csv", "two.csv", "three.csv"]
    for at, name in enumerate(names):
        frame.with_columns(predicted=pl.col("truth").shift(at).fill_null("tested_negative")).write_csv(
            few.with_name(name)
        )
    tab.goto(server.address)
    tab.set_input_files("#file", [few.with_name(name) for name in names])
    tab.wait_for_url("**/columns", timeout=WAIT)
    assert "With it come two.csv, three.csv" in tab.inner_text("main")
    tab.get_by_role("button", name="Report", exact=True).click()
    tab.wait_for_url("**/comparison", timeout=WAIT)
    assert tab.inner_text("h1") == "3 classifiers: one.csv, two.csv, three.csv"
    assert tab.locator("[data-overview] .heldout-key tbody tr").count() == 3
    tab.get_by_role("link", name="one.csv", exact=True).click()
    assert tab.get_by_role("link", name="Comparison with two.csv").is_visible()
    assert tab.get_by_role("link", name="Comparison of 3 models").is_visible()


def test_a_file_can_be_dropped(tab, server):
    tab.goto(server.address)
    tab.evaluate(
        """(text) => {
            const held = new DataTransfer();
            held.items.add(new File([text], "dropped <b>.csv"));
            document.getElementById("drop").dispatchEvent(
                new DragEvent("drop", { dataTransfer: held, bubbles: true, cancelable: true }));
        }""",
        predictions(4, 1).decode(),
    )
    tab.wait_for_url("**/columns", timeout=WAIT)
    assert "dropped <b>.csv" in tab.inner_text("main")


def test_what_is_wrong_is_said_in_place(tab, server, tmp_path):
    tab.goto(server.address)
    tab.evaluate("document.getElementById('send').dataset.most = 100")
    tab.set_input_files("#file", DIABETES)
    alert = tab.get_by_role("alert")
    assert "diabetes.csv is larger than" in alert.inner_text()
    assert violations(tab) == []
    tab.evaluate("document.getElementById('send').dataset.most = 1e9")
    (tmp_path / "one.csv").write_text(f"truth,{SCRIPT}\na,a\nb,\n")
    tab.set_input_files("#file", tmp_path / "one.csv")
    tab.wait_for_url("**/columns", timeout=WAIT)
    # The browser says on its console what was answered with an error.
    tab.expected = "the server responded with a status of 422"
    tab.get_by_role("button", name="Report", exact=True).click()
    assert "nothing to judge" in alert.inner_text()
    assert tab.evaluate("document.activeElement.id") == "wrong"
    tab.get_by_label("Predicted class").select_option(label=SCRIPT)
    tab.get_by_role("button", name="Report", exact=True).click()
    tab.wait_for_selector("#wrong:not([hidden]) >> text=missing", timeout=WAIT)
    assert tab.get_by_label("Predicted class").input_value() == "1"
    tab.once("dialog", lambda dialog: dialog.dismiss())
    tab.get_by_role("button", name="Remove this file").click()
    assert tab.get_by_label("Predicted class").input_value() == "1"
    tab.once("dialog", lambda dialog: dialog.accept())
    tab.get_by_role("button", name="Remove this file").click()
    tab.wait_for_url(f"{server.address}/")


def test_a_computation_can_be_cancelled(tab, server, few):
    tab.goto(server.address)
    tab.set_input_files("#file", few)
    tab.wait_for_url("**/columns", timeout=WAIT)
    with hanging(server):
        tab.get_by_role("button", name="Report", exact=True).click()
        tab.wait_for_selector("#working")
        assert violations(tab) == []
        tab.get_by_role("button", name="Cancel").click()
        tab.wait_for_url("**/columns", timeout=WAIT)
        assert "cancelled" in tab.inner_text("#wrong")


def test_hostile_labels_run_nothing_in_the_report(tab, server, tmp_path):
    called = []

    def dismiss(dialog) -> None:
        called.append(dialog.message)
        dialog.dismiss()

    tab.on("dialog", dismiss)
    labels = [SCRIPT, '"><img src=x onerror=alert(2)>']
    rows = [[labels[at % 2], labels[at % 3 == 0], "javascript:alert(3)"] for at in range(40)]
    text = "\n".join(",".join('"' + cell.replace('"', '""') + '"' for cell in row) for row in rows)
    file: Path = tmp_path / "hostile.csv"
    file.write_text(f'"truth","predicted","<b onmouseover=alert(4)>x</b>"\n{text}\n')
    tab.goto(server.address)
    tab.set_input_files("#file", file)
    tab.wait_for_url("**/columns", timeout=WAIT)
    tab.get_by_label("Positive class").select_option(SCRIPT)
    tab.get_by_role("button", name="Report", exact=True).click()
    tab.wait_for_url("**/report", timeout=WAIT)
    assert SCRIPT in tab.inner_text("main")
    assert tab.locator("main img, main b[onmouseover]").count() == 0
    assert called == []
