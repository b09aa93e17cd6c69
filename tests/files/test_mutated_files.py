"""Damaged files of every kind are read or refused: no other exception, nothing on standard error, no dead process."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys

import pytest
from tests.mutated_files import damage, kinds_of_files

from heldout.files.formats import formats
from heldout.files.rust_panics import without_panics


def test_damaged_files_are_read_or_refused():
    """The short form of `python -m tests.mutated_files --times 2000`."""
    command = [sys.executable, "-m", "tests.mutated_files", "--times", "25"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_format_is_damaged(tmp_path):
    assert {form.name for form in formats()} <= set(kinds_of_files(tmp_path))


# Found by the long form: a size that no memory has, of which Rust aborts the process, and panics in several threads.
@pytest.mark.parametrize(
    ("kind", "number"), [("parquet", 695), ("parquet", 515), ("parquet by polars", 1341), ("parquet by polars", 529)]
)
def test_the_command_refuses_files_over_which_its_library_gives_up(tmp_path, kind, number):
    name, data, _ = kinds_of_files(tmp_path)[kind]
    (tmp_path / name).write_bytes(damage(data, random.Random(f"{kind} 1 {number}")))
    engine = ["--engine", "polars"] if kind.endswith("polars") else []
    done = subprocess.run(
        [sys.executable, "-m", "heldout", "evaluate", str(tmp_path / name), *engine, "--measure", "accuracy"],
        capture_output=True, text=True, check=False, env={**os.environ, "RUST_BACKTRACE": "1"},
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 2, done.stderr
    assert done.stderr.splitlines()[1].startswith("Hint: ")


def test_what_others_write_to_standard_error_while_a_file_is_read_is_not_lost(capfd):
    with without_panics():
        os.write(2, b"one\n")
        with without_panics():
            os.write(2, b"two\n")
    os.write(2, b"three\n")
    with without_panics():
        os.write(2, b"thread 'a' panicked at lib.rs\n")
    assert capfd.readouterr().err == "one\ntwo\nthree\n"


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, -signal.SIGTERM)])
def test_a_command_that_waits_for_another_process_ends_with_its_signal(number, status):
    command = [sys.executable, "-m", "heldout", "evaluate", "-"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, process_group=0, text=True
    ) as process:  # fmt: skip
        # Once it has read this much, it waits for more: it is in the middle of its work.
        assert process.stdin is not None
        process.stdin.write("y_true,y_pred\n" * 20_000)
        process.stdin.flush()
        # A terminal sends an interrupt to both processes.
        os.killpg(process.pid, number) if number == signal.SIGINT else process.send_signal(number)
        _, said = process.communicate(timeout=60)
    assert process.returncode == status
    assert "Traceback" not in said
