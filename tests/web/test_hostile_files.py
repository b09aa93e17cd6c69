"""Files and names that mean harm, and files that are merely wrong: refused in two sentences, or shown as text."""

from __future__ import annotations

import gzip
import io
import re
import time
import zipfile

import polars as pl
import pytest
from tests.web.serving import Server, estimate, predictions

from heldout.web.jobs import Workers
from heldout.web.limits import Limits
from heldout.web.uploads import FullError, Uploads

SCRIPT = "<script>alert(1)</script>"
NAMES = {
    "../../etc/passwd": "passwd",
    "..\\..\\boot.ini": "boot.ini",
    "C:\\x": "x",
    "/": "unnamed file",
    "": "unnamed file",
    "..": "..",
    "a\x00b.csv": "a\\x00b.csv",
    "x" * 10_000 + ".csv": "xxx.csv",
    "\u202egnp.csv": "\\u202egnp.csv",
    "نتائج.csv": "نتائج.csv",
    "\U0001f600.csv": "\U0001f600.csv",
    f"{SCRIPT}.csv": "script&gt;.csv",
    '"><img src=x onerror=alert(1)>.csv': "&lt;img src=x onerror=alert(1)&gt;.csv",
    "{{ 7 * 7 }}.csv": "{{ 7 * 7 }}.csv",
    "=cmd().csv": "=cmd().csv",
    "CON": "CON",
    "-rf": "-rf",
}


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A server that takes little."""
    running = Server.start(tmp_path_factory.mktemp("small") / "tmp", "--max-upload", "100kB", "--workers", "1")
    yield running
    running.stop()
    assert "Traceback" not in "".join(running.errors)


@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
def test_a_name_is_shown_and_never_used(server, name):
    here = server.upload(predictions(3, 1), name)
    text = server.ask("GET", f"{here}/columns").text
    assert NAMES[name][-20:] in text
    assert SCRIPT not in text
    assert "<img" not in text
    assert len(text) < 20_000
    for path in server.stored():
        assert path.name.startswith(("predictions-", "report", "comparison"))
        assert path.resolve().is_relative_to(server.temporary.resolve())


def test_the_name_is_escaped_in_the_report_and_its_bar(server):
    here = server.upload(predictions(3, 1), f"{SCRIPT}'\".csv")
    server.report(here, truth="0", predicted="1")
    for path in ("report", "report.html", "report.md"):
        assert SCRIPT not in server.ask("GET", f"{here}/{path}").text
    disposition = server.ask("GET", f"{here}/report.json").headers["content-disposition"]
    assert disposition == 'attachment; filename="script.json"'


def table(columns: list[str], rows: list[list[str]]) -> bytes:
    """A file of texts, each of them quoted."""
    quoted = [",".join('"' + cell.replace('"', '""') + '"' for cell in row) for row in [columns, *rows]]
    return "\n".join(quoted).encode()


def test_labels_and_columns_are_escaped_everywhere(server):
    columns = [SCRIPT, '"; DROP TABLE', "x" * 10_000, "\u202eevil", "=cmd()", "'><b>", "\U0001f600"]
    labels = [SCRIPT, "</script><script>alert(2)</script>"]
    rows = [[labels[at % 2], labels[at % 3 == 0], "0.5", "r", "1", "2", "3"] for at in range(30)]
    here = server.upload(table(columns, rows), "hostile.csv")
    form = server.ask("GET", f"{here}/columns").text
    assert "alert(1)" in form
    server.report(here, truth="0", predicted="1", slices=["3"], positive=labels[0])
    for text in (form, server.ask("GET", f"{here}/report").text, server.ask("GET", f"{here}/report.html").text):
        assert "<script>alert" not in text
        assert "<b>" not in text.replace("<b>hostile.csv</b>", "")
        assert "\u202e" not in text
    assert "alert(1)" in server.ask("GET", f"{here}/report").text


LATEX = r"\input{secret}\write18{x}$a$%_#&^~"
LINK = "[x](javascript:alert(1))|`<img src=x onerror=alert(1)>`"


def test_downloads_of_hostile_labels_are_text_in_every_form(server):
    rows = [[[LATEX, LINK][at % 2], [LATEX, LINK][at % 3 == 0], "=cmd()"] for at in range(30)]
    data = table(["truth", "predicted", LATEX + SCRIPT], rows)
    first = server.upload(data, f"{LATEX}.csv")
    server.report(first, truth="0", predicted="1", slices=["2"])
    second = server.upload(data, f"{SCRIPT}{LINK}.csv", beside=first.removeprefix("/u/"))
    server.report(second, truth="0", predicted="1")
    for place in (f"{first}/report", f"{second}/comparison"):
        answers = {form: server.ask("GET", f"{place}.{form}") for form in ("tex", "md", "json", "html")}
        for answer in answers.values():
            assert answer.status == 200
            assert answer.headers["content-disposition"].startswith("attachment; ")
            assert answer.headers["x-content-type-options"] == "nosniff"
        tex, markdown = answers["tex"].text, answers["md"].text
        assert "textbackslash" in tex or place.startswith(second)
        assert not re.search(r"\\(?:input|write)\b", tex)
        # Every special character of what came from the file stands behind a backslash.
        assert not re.search(r"(?<!\\)\$a|(?<!\\)[%#](?=[_#&])", tex)
        assert "<img" not in markdown.replace("\\<", "").replace("`", "")
        assert "<script" not in markdown
        assert "](javascript" not in markdown.replace("\\]", "").replace("\\(", "")
        assert "<script>alert" not in answers["html"].text
        assert "<img" not in answers["html"].text
        assert server.ask("GET", f"{place}.json").said["schema"]
    assert server.ask("GET", f"{first}/report.json").said["confusion"]["labels"] == sorted([LATEX, LINK])


def test_files_that_cannot_be_read_take_no_place(tmp_path):
    uploads = Uploads(tmp_path, limits := Limits(kept_files=3), Workers(limits))
    for _ in range(20):
        uploads.new("junk.csv").unreadable = True
    assert len(uploads) <= 7
    for _ in range(3):
        uploads.new("good.csv")
    with pytest.raises(FullError, match="keeps 3 files"):
        uploads.new("more.csv")


def test_a_parquet_file_of_one_value_repeated_is_refused_by_its_footer(small):
    held = io.BytesIO()
    pl.DataFrame({"truth": ["a"], "p": [0.5]}).select(pl.all().repeat_by(300_000).explode()).write_parquet(held)
    assert len(held.getvalue()) < 50_000
    here = small.upload(held.getvalue(), "bomb.parquet")
    assert "bomb.parquet unpacks to more than 500 kB" in small.wrong(here)
    assert small.ask("GET", here).status == 422


def test_a_zip_bomb_is_refused_without_being_unpacked(small):
    bomb = gzip.compress(b"truth,predicted\n" + b"a" * 50_000_000)
    assert len(bomb) < 100_000
    here = small.upload(bomb, "bomb.csv.gz")
    assert "bomb.csv.gz unpacks to more than 500 kB" in small.wrong(here)
    assert sum(path.stat().st_size for path in small.stored()) < 1_000_000


def test_a_bomb_in_a_bomb_and_one_in_an_archive_are_refused(small):
    twice = gzip.compress(gzip.compress(b"\0" * 50_000_000))
    assert "is gzip-compressed twice" in small.wrong(small.upload(twice, "twice.csv.gz"))
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("truth.npy", b"\0" * 50_000_000)
    assert "bomb.npz unpacks to more than" in small.wrong(small.upload(held.getvalue(), "bomb.npz"))
    packed = gzip.compress(held.getvalue())
    assert "bomb.npz.gz unpacks to more than" in small.wrong(small.upload(packed, "bomb.npz.gz"))


def test_a_compressed_file_is_read_like_a_plain_one(small):
    plain = predictions(40, 10)
    for data in (gzip.compress(plain), gzip.compress(plain[:77]) + gzip.compress(plain[77:]) + b"\0" * 512):
        here = small.upload(data, "some.csv.gz")
        assert estimate(small.report(here, truth="0", predicted="1"), "accuracy") == pytest.approx(0.8)


@pytest.mark.parametrize("declared", [True, False])
def test_a_file_that_is_too_large_is_refused(small, declared):
    data = b"x" * 300_000
    before = len(small.stored())
    # An iterable is sent in chunks, without saying beforehand how long it will be.
    answer = small.send(data if declared else iter([data[:50_000]] * 6), "large.csv")
    assert answer.status == 413
    assert answer.said["what"] == "large.csv is larger than 100 kB, which is the most that is taken here."
    assert "--max-upload" in answer.said["hint"]
    assert len(small.stored()) == before
    # The server is well.
    assert small.send(predictions(1, 1)).status == 201


@pytest.mark.parametrize(
    ("data", "name", "said"),
    [
        (b"truth,predicted\n", "header.csv", "header.csv has a header but no rows."),
        (b"\n\n\n", "blank.csv", "blank.csv is empty."),
        (b"\x89PNG\r\n\x1a\n" + b"\0" * 200, "picture.csv", "picture.csv is not UTF-8 text"),
        (b"PAR1nothingPAR1", "broken.parquet", "broken.parquet is not a whole Parquet table"),
        (b"\x1f\x8b\x08\0broken", "broken.csv.gz", "broken.csv.gz is gzip-compressed but"),
        (gzip.compress(predictions(9, 9))[:-9], "cut.csv.gz", "cut.csv.gz is gzip-compressed but ends too early."),
        (b"a,a\n1,2\n", "twice.csv", "twice.csv has two columns named 'a'"),
        (b"PK\x03\x04 no archive", "workbook.xlsx", "workbook.xlsx is not a whole NPZ file"),
        (b'{"truth": 1}\n{"truth": ', "broken.jsonl", "broken.jsonl"),
        ("ä,ö\n1,2\n".encode("latin-1"), "old.csv", "old.csv is not UTF-8 text"),
    ],
)
def test_a_wrong_file_is_explained(small, data, name, said):
    wrong = small.wrong(small.upload(data, name))
    assert said in wrong
    assert "Hint: " in wrong
    assert "predictions-" not in wrong
    assert str(small.temporary) not in wrong


def test_an_empty_file_is_refused_at_once(small):
    answer = small.send(b"", "nothing.csv")
    assert answer.status == 422
    assert answer.said["what"] == "nothing.csv is empty."


def test_costs_that_are_hard_to_read_keep_nobody_waiting(server):
    here = server.upload(predictions(3, 1))
    begun = time.monotonic()
    assert server.choose(here, truth="0", predicted="1", costs="no costs").status == 422
    plain = time.monotonic() - begun
    for costs in ("a" + " " * 9_000 + "x", "'a" * 4_000, "a," * 4_900, "truth=" * 1_500 + ":"):
        begun = time.monotonic()
        answer = server.choose(here, truth="0", predicted="1", costs=costs)
        assert answer.status == 422
        assert "is not a cost" in answer.said["what"]
        assert server.ask("GET", "/").status == 200
        # Nearly 10,000 characters; what grows with their square would take thousands of times as long.
        assert time.monotonic() - begun < 100 * plain
