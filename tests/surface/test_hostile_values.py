"""Numbers of thousands of digits, nesting without end and very long lines end in two sentences and status 2."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
import typer
from tests.web.crowd import arff_bomb, gzip_bomb, npz_bomb

from heldout.cli.app import app

DIGITS, DEEP = "9" * 5_000, "[" * 100_000 + "]" * 100_000
FILES = {
    "digits.toml": f'[costs]\nrows = "truth"\nlabels = ["a", "b"]\nmatrix = [[0, {DIGITS}], [1, 0]]\n',
    "deep.toml": f"a = {DEEP}\n",
    "parts.toml": "a" + ".a" * 200_000 + " = 1\n",
    "header.toml": "[a" + ".a" * 200_000 + "]\n",
    "inline.toml": "x = {a" + ".a" * 200_000 + " = 1}\n",
    "quoted.toml": '"="' + ".a" * 200_000 + " = 1\n",
    "requirements.toml": f'[[require]]\ntext = "accuracy >= 0.1"\nlevel = {DIGITS}\n',
    "deep.json": DEEP,
    "digits.json": f'[{{"truth": "a", "predicted": {DIGITS}}}]',
    "digits.jsonl": f'{{"truth": "a", "predicted": {DIGITS}}}\n',
    "deep.jsonl": f'{{"truth": "a", "predicted": {DEEP}}}\n',
}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["evaluate", "ok.csv", "--costs", "digits.toml"], "digits.toml holds a number with too many digits."),
        (["evaluate", "ok.csv", "--costs", "deep.toml"], "deep.toml is nested too deeply."),
        (["evaluate", "ok.csv", "--costs", "parts.toml"], "parts.toml is nested too deeply."),
        (["evaluate", "ok.csv", "--costs", "header.toml"], "header.toml is nested too deeply."),
        (["evaluate", "ok.csv", "--costs", "inline.toml"], "inline.toml is nested too deeply."),
        (["evaluate", "ok.csv", "--costs", "quoted.toml"], "quoted.toml is nested too deeply."),
        (["check", "ok.csv", "--requirements", "requirements.toml"], "holds a number with too many digits."),
        (["check", "ok.csv", "--requirements", "deep.toml"], "deep.toml is nested too deeply."),
        (["check", "ok.csv", "--require", "accuracy >= baseline", "--baseline", "deep.json"], "is nested too deeply."),
        (["check", "ok.csv", "--require", "accuracy >= baseline", "--baseline", "digits.json"], "too many digits"),
        (["evaluate", "deep.json"], "deep.json is nested too deeply."),
        (["evaluate", "digits.json"], "digits.json holds a number with too many digits."),
        (["evaluate", "digits.jsonl"], "digits.jsonl, line 1 holds a number with too many digits."),
        (["evaluate", "deep.jsonl"], "deep.jsonl, line 1 is nested too deeply."),
    ],
)
def test_documents_that_no_reader_takes_are_refused(run, tmp_path, monkeypatch, words, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ok.csv").write_text("truth,predicted\na,a\nb,b\na,b\n")
    for name in words:
        if name in FILES:
            (tmp_path / name).write_text(FILES[name])
    status, out, err = run(*words)
    assert (status, out) == (2, "")
    assert said in err.splitlines()[0]
    assert err.splitlines()[1].startswith("Hint: ")
    assert len(err.splitlines()) == 2


READERS = {
    "thresholds": ["--maximize", "f1"],
    "recalibrate": [],
    "validate": ["--target", "truth", "--learner", "majority"],
    "learning-curve": ["--target", "truth", "--learner", "majority"],
    "card": ["--target", "truth", "--learner", "majority"],
    "compare": ["ok.csv"],
    "check": ["--require", "accuracy >= 0.1"],
    "count": ["-o", "counts.evidence"],
    "merge": [],
}


@pytest.mark.parametrize("name", ["deep.json", "digits.json", "deep.jsonl", "digits.jsonl"])
@pytest.mark.parametrize("command", READERS)
def test_every_command_refuses_such_files(run, tmp_path, monkeypatch, command, name):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ok.csv").write_text("truth,predicted\na,a\nb,b\na,b\n")
    (tmp_path / name).write_text(FILES[name])
    status, out, err = run(command, name, *READERS[command])
    assert (status, out) == (2, "")
    assert len(err.splitlines()) == 2, err
    assert err.splitlines()[1].startswith("Hint: ")
    assert {path.name for path in tmp_path.iterdir()} == {"ok.csv", name}


def test_a_header_of_more_than_a_megabyte_is_read_to_its_end(run, tmp_path):
    names = [f"a_column_with_a_name_of_some_length_{at:06d}" for at in range(27_000)]
    row = ",".join("1" for _ in names)
    file = tmp_path / "wide.csv"
    file.write_text(f"{','.join(names)},truth,predicted\n{row},a,b\n{row},b,b\n")
    assert len(file.read_text().partition("\n")[0]) > 1 << 20
    status, _, err = run("evaluate", str(file), "--measure", "accuracy")
    assert (status, err) == (0, "")


def run_apart(*words: str, limit: int = 0, **options: Any) -> tuple[int, str, str]:
    """A command in a process of its own, in so many bytes of address space."""

    def begin() -> None:
        import resource

        if limit:
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

    done = subprocess.run(
        [sys.executable, "-m", "heldout", *words],
        capture_output=True,
        check=False,
        text=True,
        timeout=300,
        preexec_fn=begin,
        **options,
    )
    return done.returncode, done.stdout, done.stderr


@cache
def made(make: Callable[[int], bytes]) -> bytes:
    """A file that unpacks to more than the limit below."""
    return make(400_000_000)


@pytest.mark.parametrize(
    ("command", "name", "make"),
    [
        ("evaluate", "bomb.npz", npz_bomb),
        ("evaluate", "bomb.csv.gz", gzip_bomb),
        ("evaluate", "bomb.arff", arff_bomb),
        ("thresholds", "bomb.npz", npz_bomb),
        ("validate", "bomb.npz", npz_bomb),
    ],
)
def test_a_small_file_that_unpacks_to_much_ends_at_the_limit_that_was_set(tmp_path, command, name, make):
    (tmp_path / name).write_bytes(made(make))
    more = {"thresholds": ["--maximize", "f1"], "validate": ["--learner", "knn:1"]}.get(command, [])
    status, out, err = run_apart(command, str(tmp_path / name), *more, "--memory-limit", "300MB")
    assert (status, out) == (2, "")
    assert err == (
        "This did not work within 300 MB of memory.\nHint: raise --memory-limit, or give fewer rows or columns.\n"
    )


def test_within_a_limit_of_memory_everything_is_as_without():
    command = ("evaluate", "examples/iris.csv", "--measure", "accuracy")
    assert run_apart(*command, "--memory-limit", "2GB") == run_apart(*command)
    wrong = ("evaluate", "no-such.csv")
    assert run_apart(*wrong, "--memory-limit", "2GB") == run_apart(*wrong)
    status, _, err = run_apart("evaluate", "examples/iris.csv", "--memory-limit", "much")
    assert status == 2
    assert err.startswith("'much' is not a size.\nHint: ")


@pytest.mark.parametrize("size", ["150MB", "200MB"])
def test_libraries_do_not_start_within_a_small_limit_of_memory(tmp_path, size):
    # Linear algebra that started within the limit never came back.
    scores = [(row % 3 > 0, (row * 7 % 10) / 10) for row in range(60)]
    (tmp_path / "scores.csv").write_text("y_true,y_score\n" + "".join(f"{int(y)},{s}\n" for y, s in scores))
    command = ("evaluate", str(tmp_path / "scores.csv"))
    assert run_apart(*command, "--memory-limit", size) == run_apart(*command)


@pytest.mark.parametrize("size", ["1KB", "60MB"])
def test_a_limit_of_memory_in_which_nothing_works_is_refused_at_once(size):
    status, out, err = run_apart("evaluate", "no-such.csv", "--memory-limit", size)
    said = {"1KB": "1 kB", "60MB": "60 MB"}[size]
    assert (status, out) == (2, "")
    assert err == (f"--memory-limit is {said}, and even the smallest file takes 100 MB.\nHint: give at least 100MB.\n")


def test_every_command_that_reads_a_file_takes_a_limit_of_memory():
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    without = {name for name, command in commands.items() if "memory_limit" not in {one.name for one in command.params}}
    assert without == {"measures", "explain", "doctor"}


@pytest.mark.parametrize("megabytes", [80, 150, 300])
def test_too_little_address_space_is_said(megabytes):
    status, out, err = run_apart("evaluate", "examples/iris.csv", limit=megabytes * 1_000_000)
    assert (status, out) == (2, "")
    assert re.fullmatch(r"This did not work within 0\.\d+ GB of address space\.\nHint: allow more .*\n", err)


def test_a_small_address_space_is_enough_for_a_small_file():
    status, out, err = run_apart("evaluate", "examples/iris.csv", limit=1_000_000_000)
    assert (status, err) == (0, "")
    assert ".960" in out


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signals_end_a_command_that_has_a_limit(number, status):
    command = [sys.executable, "-m", "heldout", "evaluate", "-", "--memory-limit", "1GB"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, process_group=0, text=True
    ) as process:  # fmt: skip
        assert process.stdin is not None
        # More than a pipe holds: once it is written, the command has read of it, and waits for what never comes.
        process.stdin.write("truth,predicted\n" * 20_000)
        process.stdin.flush()
        os.killpg(process.pid, number)
        _, err = process.communicate(timeout=60)
    assert process.returncode == status
    assert "Traceback" not in err


# Put into the path of a command, it lets one function of it fail, as a fault of our own or for want of memory.
FAULTY = """
import heldout.api.evaluate as front
def fail(*_, **__):
    raise {error}
front.evaluate = fail
import heldout
heldout.evaluate = fail
"""


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (
            "KeyError('a row')",
            70,
            "heldout failed because of an error of its own: KeyError: 'a row'.\nHint: please report it",
        ),
        ("MemoryError()", 2, "This did not work within 2 GB of memory.\nHint: raise --memory-limit"),
        ('RuntimeError("can\'t start new thread")', 2, "This did not work within 2 GB of memory.\nHint: "),
    ],
)
def test_a_fault_within_a_limit_of_memory_is_not_taken_for_a_lack_of_it(tmp_path, error, status, said):
    (tmp_path / "sitecustomize.py").write_text(FAULTY.format(error=error))
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    found = run_apart(
        "evaluate", "examples/iris.csv", "--memory-limit", "2GB", env={**os.environ, "PYTHONPATH": path}
    )  # fmt: skip
    assert found[:2] == (status, "")
    assert found[2].startswith(said)


LONG_CELL = f'truth\\predicted,no,yes\nno,0,1\nyes,"{"9" * 140_000}",0\n'


@pytest.mark.parametrize(
    "words",
    [
        ["evaluate", "ok.csv", "--costs", "long.csv"],
        ["thresholds", "ok.csv", "--costs", "long.csv"],
        ["evaluate", "--matrix", "long.csv"],
        ["compare", "--matrix", "long.csv", "--matrix", "long.csv"],
        ["evaluate", "--matrix", "5 1; 2 4", "--labels", "no\r,yes\r"],
    ],
)
def test_cells_that_no_table_has_are_refused(run, tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ok.csv").write_text("truth,score\nno,0.1\nyes,0.7\nno,0.4\n")
    (tmp_path / "long.csv").write_text(LONG_CELL)
    status, out, err = run(*words)
    assert (status, out) == (2, "")
    assert len(err.splitlines()) == 2
    assert "cannot be read" in err.splitlines()[0]
