"""The command line as a person or a program meets it: what goes where, in which form, and how it ends."""

from __future__ import annotations

import fcntl
import inspect
import json
import os
import pty
import re
import signal
import stat
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest
from typer.testing import CliRunner

import heldout
from heldout.cli.app import app
from heldout.cli.evaluate import evaluate
from heldout.cli.flags import split_labels
from heldout.cli.output import write_files
from heldout.errors import HeldoutError, OptionError

HELDOUT = Path(sys.executable).with_name("heldout")
ROWS = "y_true,y_pred,w,g\n" + "yes,yes,1,p\nno,no,2,p\nno,yes,3,q\nyes,yes,4,q\nno,no,5,r\n"
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
# Set on some machines, and each changes what a terminal gets.
PLAIN = {key: value for key, value in os.environ.items() if key not in {"FORCE_COLOR", "NO_COLOR", "COLUMNS"}}
ODD = [
    ("\u05e9\u05dc\u05d5\u05dd", "\u0645\u0631\u062d\u0628\u0627"),
    ("\U0001f469\u200d\U0001f467", "\U0001f44d\U0001f3fd"),
    ("e\u0301", "\u00e9"),
    ("\x1b[31mred\x07", "[red]bold[/red]"),
    ("\u202eevil", "tab\there"),
    ("one\nline", "x" * 10_000),
]


@pytest.fixture
def here(tmp_path, monkeypatch):
    (tmp_path / "rows.csv").write_text(ROWS, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*call, env=PLAIN, fed=b""):
    """The command in a process of its own, fed with bytes as its standard input."""
    return subprocess.run([HELDOUT, *call], input=fed, capture_output=True, check=False, timeout=60, env=env)


def inside(*call):
    """The command in this process, for what needs no process of its own."""
    done = CliRunner().invoke(app, list(call), catch_exceptions=False)
    assert done.exit_code == 0
    return done


def on_terminal(*call, columns=73, **environment):
    """What a terminal of that width gets."""
    reader, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    environment = {**PLAIN, "TERM": "xterm-256color", **environment}
    process = subprocess.Popen([HELDOUT, *call], stdin=terminal, stdout=terminal, stderr=terminal, env=environment)
    os.close(terminal)
    parts = []
    try:
        while part := os.read(reader, 1 << 16):
            parts.append(part)
    except OSError:
        pass  # Linux says so when the other side has closed
    os.close(reader)
    return process.wait(timeout=60), b"".join(parts).decode().replace("\r\n", "\n")


@pytest.mark.usefixtures("here")
def test_without_a_terminal_the_report_is_plain_and_100_columns_wide():
    done = run("evaluate", "rows.csv")
    text = done.stdout.decode()
    assert (done.returncode, done.stderr) == (0, b"")
    assert text.startswith("rows.csv · 5 cases · 2 classes · positive class: yes")
    assert "(guessed from the column names; --truth, --predicted to change" in " ".join(text.split())
    assert "\x1b" not in text
    assert 80 < max(map(len, text.splitlines())) <= 100


@pytest.mark.usefixtures("here")
def test_a_terminal_gets_colour_and_its_own_width():
    status, text = on_terminal("evaluate", "rows.csv", "--full")
    assert status == 0
    assert COLOUR.search(text)
    assert max(len(line) for line in COLOUR.sub("", text).splitlines()) <= 73
    status, text = on_terminal("evaluate", "rows.csv", NO_COLOR="1")
    # Bold is no colour.
    assert set(COLOUR.findall(text)) <= {"\x1b[0m", "\x1b[1m", "\x1b[2m"}
    status, text = on_terminal("evaluate", "nothing.csv")
    assert (status, "\x1b" in text) == (2, False)


@pytest.mark.usefixtures("here")
def test_a_pipe_gets_colours_where_they_are_asked_for_and_else_the_same_words_without():
    plain, coloured = (run("evaluate", "rows.csv", env={**PLAIN, **more}).stdout for more in ({}, {"FORCE_COLOR": "1"}))
    assert not COLOUR.search(plain.decode())
    assert COLOUR.search(coloured.decode())
    assert COLOUR.sub("", coloured.decode()) == plain.decode()


def test_json_on_standard_output_is_alone_there(here):
    done = run("evaluate", "rows.csv", "--json", "-")
    document = json.loads(done.stdout)
    assert done.stderr == b""
    assert document["schema"] == "heldout/evaluation@1"
    assert document["confusion"] == {"labels": ["no", "yes"], "rows": "truth", "matrix": [[2, 1], [0, 2]]}
    assert document["source"] == {"name": "rows.csv", "columns": {"truth": "y_true", "predicted": "y_pred"}}
    again = inside("evaluate", "rows.csv", "--json", "-", "--markdown", "x.md")
    assert json.loads(again.stdout) == document
    assert again.stderr == "Wrote x.md\n"
    assert here.joinpath("x.md").read_text(encoding="utf-8").startswith("#")


def test_forms_go_to_files_and_standard_error_says_so(here):
    done = inside(
        "evaluate", "rows.csv", "--json", "a.json", "--markdown", "b.md", "--html", "c.html", "--latex", "d.tex"
    )
    assert done.stderr.splitlines() == ["Wrote a.json", "Wrote c.html", "Wrote b.md", "Wrote d.tex"]
    assert done.stdout.startswith("rows.csv · 5 cases")
    assert json.loads(here.joinpath("a.json").read_text(encoding="utf-8"))["n"] == 5
    assert "<html" in here.joinpath("c.html").read_text(encoding="utf-8")
    assert "tabular" in here.joinpath("d.tex").read_text(encoding="utf-8")
    assert sorted(path.name for path in here.iterdir()) == ["a.json", "b.md", "c.html", "d.tex", "rows.csv"]


def test_documents_follow_full_and_measure(here):
    inside("evaluate", "rows.csv", "--markdown", "short.md")
    inside("evaluate", "rows.csv", "--full", "--markdown", "full.md")
    inside("evaluate", "rows.csv", "--measure", "accuracy", "--markdown", "one.md")
    sizes = [len(here.joinpath(name).read_text(encoding="utf-8")) for name in ("one.md", "short.md", "full.md")]
    assert sizes == sorted(sizes)
    assert "kappa" not in here.joinpath("one.md").read_text(encoding="utf-8")


def test_when_one_file_cannot_be_written_none_is(here):
    (here / "a.json").write_text("old", encoding="utf-8")
    texts = {"json": (str(here / "a.json"), "new"), "html": (str(here / "gone" / "b.html"), "new")}
    with pytest.raises(HeldoutError, match=r"--html cannot write .*b\.html: No such file or directory"):
        write_files(texts)
    assert (here / "a.json").read_text(encoding="utf-8") == "old"
    assert sorted(path.name for path in here.iterdir()) == ["a.json", "rows.csv"]


def test_a_form_that_fails_leaves_no_file(here, monkeypatch):
    def fail(*_args, **_options):
        raise ZeroDivisionError

    monkeypatch.setattr("heldout.show.latex.render_latex", fail)
    done = CliRunner().invoke(app, ["evaluate", "rows.csv", "--json", "a.json", "--latex", "d.tex"])
    assert isinstance(done.exception, ZeroDivisionError)
    assert [path.name for path in here.iterdir()] == ["rows.csv"]


def test_a_file_is_replaced_where_it_really_is(here):
    (here / "real.json").write_text("old", encoding="utf-8")
    (here / "real.json").chmod(0o640)
    (here / "link.json").symlink_to("real.json")
    # Whoever has the old file open goes on reading the whole of it.
    (here / "open.json").hardlink_to(here / "real.json")
    inside("evaluate", "rows.csv", "--json", "link.json")
    assert (here / "link.json").is_symlink()
    assert (here / "open.json").read_text(encoding="utf-8") == "old"
    assert json.loads((here / "real.json").read_text(encoding="utf-8"))["n"] == 5
    assert stat.S_IMODE((here / "real.json").stat().st_mode) == 0o640


@pytest.mark.usefixtures("here")
def test_a_device_is_written_to_and_not_replaced():
    inside("evaluate", "rows.csv", "--json", os.devnull, "--html", os.devnull)
    assert stat.S_ISCHR(Path(os.devnull).stat().st_mode)


@pytest.mark.usefixtures("here")
def test_standard_input_and_pipes_are_read():
    piped = run("evaluate", "-", fed=ROWS.encode())
    assert piped.stdout.startswith(b"standard input")
    assert b"5 cases" in piped.stdout
    done = subprocess.run(
        ["bash", "-c", f"'{HELDOUT}' evaluate <(cat rows.csv) --weight w --json -"],
        capture_output=True,
        check=True,
        env=PLAIN,
    )
    assert json.loads(done.stdout)["n"] == 15


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("call", ["evaluate rows.csv --full", "evaluate rows.csv --json -", "measures", "--help"])
def test_a_reader_that_leaves_is_no_error(call):
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as gone:
        done = subprocess.run([HELDOUT, *call.split()], stdout=gone, stderr=subprocess.PIPE, check=False, env=PLAIN)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("line", "status", "said"),
    [
        ("evaluate rows.csv >/dev/full", 2, "Standard output cannot be written: No space left on device."),
        ("evaluate rows.csv --json - >/dev/full", 2, "Standard output cannot be written: No space left on device."),
        ("evaluate rows.csv >&-", 2, "Standard output is closed."),
        ("evaluate - <&-", 2, "Standard input is closed"),
        ("evaluate nothing.csv 2>&-", 2, ""),
    ],
)
def test_streams_that_are_full_or_closed_end_in_words(line, status, said):
    done = subprocess.run(["bash", "-c", f"'{HELDOUT}' {line}"], capture_output=True, check=False, env=PLAIN)
    assert done.returncode == status
    assert done.stderr.decode().startswith(said)
    assert b"Traceback" not in done.stderr


@pytest.mark.usefixtures("here")
def test_an_interrupt_ends_with_130():
    process = subprocess.Popen(
        [HELDOUT, "evaluate", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=PLAIN
    )
    # Once it has read this much, it waits for more: it is in the middle of its work.
    assert process.stdin is not None
    process.stdin.write(b"y_true,y_pred\n" * 20_000)
    process.stdin.flush()
    process.send_signal(signal.SIGINT)
    output, said = process.communicate(timeout=60)
    assert (process.returncode, output, said) == (130, b"", b"Interrupted.\n")


def test_odd_labels_print_safely(here):
    import polars as pl

    truth, predicted = zip(*ODD, strict=True)
    pl.DataFrame({"y_true": truth, "y_pred": predicted}).write_csv(here / "odd.csv")
    for call in (["--full"], ["--format", "weka"], ["--measure", "recall"]):
        text = inside("evaluate", "odd.csv", *call).stdout
        assert not set(text) & set("\x1b\x07\r\t\u202e")
        assert "[red]bold[/red]" in text, "a label is not read as markup"
    document = json.loads(inside("evaluate", "odd.csv", "--json", "-").stdout)
    assert set(document["confusion"]["labels"]) == {*truth, *predicted}
    page = inside("evaluate", "odd.csv", "--html", "-").stdout
    assert "\x1b" not in page


def test_a_terminal_without_the_characters_gets_others(here):
    (here / "odd.csv").write_text("y_true,y_pred\né,é\nü,é\n", encoding="utf-8")
    ascii_only = {**PLAIN, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    done = run("evaluate", "odd.csv", "--full", env=ascii_only)
    assert (done.returncode, done.stderr) == (0, b"")
    text = done.stdout.decode("ascii")
    assert "odd.csv . 2 cases . 2 classes" in text
    assert "|" in text
    assert "*" in text, "the bars of the intervals are drawn in ASCII"
    document = json.loads(run("evaluate", "odd.csv", "--json", "-", env=ascii_only).stdout.decode("utf-8"))
    assert document["confusion"]["labels"] == ["é", "ü"], "a document loses no letter"
    assert run("evaluate", "odd.csv", "--truth", "ö", env=ascii_only).stderr.startswith(
        b"odd.csv has no column '\\xf6'."
    )


@pytest.mark.usefixtures("here")
def test_labels_set_the_order():
    document = json.loads(inside("evaluate", "rows.csv", "--labels", "yes, no", "--json", "-").stdout)
    assert document["confusion"] == {"labels": ["yes", "no"], "rows": "truth", "matrix": [[2, 0], [1, 2]]}


def test_labels_may_hold_commas():
    assert split_labels(' a, "b, c" ,d') == ["a", "b, c", "d"]


def matrix_of(*call):
    return json.loads(inside("evaluate", *call, "--json", "-").stdout)["confusion"]


def test_a_matrix_may_be_given_either_way_round(here):
    assert matrix_of("--matrix", "50 1; 2 48")["matrix"] == [[50, 1], [2, 48]]
    assert matrix_of("--matrix", "50 1; 2 48", "--rows", "predicted")["matrix"] == [[50, 2], [1, 48]]
    (here / "m.csv").write_text(",no,yes\nno,50,1\nyes,2,48\n", encoding="utf-8")
    assert matrix_of("--matrix", "m.csv") == {"labels": ["no", "yes"], "rows": "truth", "matrix": [[50, 1], [2, 48]]}
    turned = matrix_of("--matrix", "m.csv", "--labels", "yes,no")
    assert turned == {"labels": ["yes", "no"], "rows": "truth", "matrix": [[48, 2], [1, 50]]}
    both = matrix_of("--matrix", "m.csv", "--labels", "yes,no", "--rows", "predicted")
    assert both["matrix"] == [[48, 1], [2, 50]]


@pytest.mark.usefixtures("here")
def test_columns_and_settings_reach_the_evaluation():
    call = ["--truth", "y_pred", "--predicted", "y_true", "--weight", "w", "--positive", "no", "--level", "0.9"]
    document = json.loads(inside("evaluate", "rows.csv", *call, "--seed", "7", "--json", "-").stdout)
    assert document["confusion"]["matrix"] == [[7, 0], [3, 5]]
    assert (document["positive"], document["level"], document["seed"]) == ("no", 0.9, 7)
    grouped = json.loads(inside("evaluate", "rows.csv", "--group", "g", "--json", "-").stdout)
    assert grouped["groups"] == 3


def test_rows_with_missing_values_are_dropped_when_asked(here):
    (here / "gaps.csv").write_text(ROWS + ",yes,1,p\n", encoding="utf-8")
    text = inside("evaluate", "gaps.csv", "--missing", "drop").stdout
    assert "5 cases" in text
    assert "1 of 6 rows was dropped because of a missing value: truth in 1." in text


@pytest.mark.usefixtures("here")
def test_measures_may_be_chosen_several_times():
    document = json.loads(
        inside("evaluate", "rows.csv", "--measure", "TPR", "--measure", "macro f1", "--json", "-").stdout
    )
    assert [(e["measure"], e["class"], e["average"]) for e in document["estimates"]] == [
        ("recall", "yes", None),
        ("f1", None, "macro"),
    ]
    text = inside("evaluate", "rows.csv", "--measure", "recall[no]").stdout
    assert "(no)" in text
    assert "kappa" not in text


@pytest.mark.usefixtures("here")
def test_full_shows_more():
    short, full = inside("evaluate", "rows.csv").stdout, inside("evaluate", "rows.csv", "--full").stdout
    assert len(full.splitlines()) > 2 * len(short.splitlines())


@pytest.mark.usefixtures("here")
def test_weka_s_layout():
    text = inside("evaluate", "rows.csv", "--format", "weka").stdout
    assert text.startswith("=== Summary ===")
    assert "Correctly Classified Instances" in text
    assert "<-- classified as" in text


def test_the_catalogue_and_one_entry_of_it():
    every = inside("measures").stdout
    assert "accuracy" in every
    assert max(map(len, every.splitlines())) <= 100
    one = inside("measures", "TPR").stdout
    assert "recall" in one
    assert "sensitivity" in one
    assert inside("measures", "recall", "--markdown", "-").stdout.startswith("#")


def test_version():
    assert inside("--version").stdout == f"heldout {heldout.__version__}\n"


@pytest.mark.parametrize("call", [["-h"], ["--help"], ["evaluate", "-h"], ["measures", "--help"]])
def test_help_shows_an_example(call):
    text = inside(*call).stdout
    assert "Examples:" in text
    assert re.search(r"^\s*heldout (evaluate|measures)", text, re.MULTILINE)


def test_help_names_every_option_and_keeps_its_brackets():
    text = " ".join(inside("evaluate", "--help").stdout.split())
    for option in inspect.signature(evaluate).parameters.keys() - {"predictions", "layout"} | {"format"}:
        assert f"--{option.replace('_', '-')} " in text
    assert "recall[spam]" in text


def test_the_module_is_the_command():
    call = [sys.executable, "-m", "heldout", "measures", "accuracy"]
    done = subprocess.run(call, capture_output=True, check=False, timeout=60, env=PLAIN)
    assert (done.returncode, done.stdout.decode()) == (0, inside("measures", "accuracy").stdout)


def test_a_call_without_a_command_prints_the_help():
    done = run()
    assert done.returncode == 2
    assert b"Usage: heldout" in done.stdout + done.stderr
    assert b"Hint" not in done.stderr


@pytest.mark.parametrize("form", ["json", "HTML", "markdown", "latex"])
def test_a_form_that_was_taken_for_a_layout_is_named_with_its_option(form):
    with pytest.raises(OptionError) as caught:
        inside("evaluate", "rows.csv", "--format", form)
    assert caught.value.hint.startswith(f"--{form.lower()} FILE writes it")


def test_requirements_of_a_threshold_may_be_repeated(run, tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("truth,score\n1,0.9\n0,0.2\n1,0.7\n0,0.6\n0,0.8\n1,0.65\n")
    asked = "recall >= 0.9", "specificity >= 0.3"
    repeated = run("thresholds", str(path), "--require", asked[0], "--require", asked[1])
    assert repeated == run("thresholds", str(path), "--require", ", ".join(asked))
    assert repeated[0] == 0
