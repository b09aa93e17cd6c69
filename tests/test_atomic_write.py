"""Every file is written whole or not at all: killed writers, full disks, closed folders and two writers at once."""

from __future__ import annotations

import ast
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import textwrap
import threading
from pathlib import Path
from typing import Any

import pytest
import typer

import heldout
from heldout.atomic_write import write_together, write_whole
from heldout.cli.app import app, main
from heldout.errors import FileError

SOURCE = Path(heldout.__file__).parent
# What writes by itself, each with its reason.
OWN = {
    # An entry is added at the end of a ledger, and all that is there stays.
    "files/ledger.py": {
        "os.open(target, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 438)",
        "os.write(descriptor, line)",
    },
    # Standard error, to which a library may have written meanwhile.
    "files/rust_panics.py": {"os.write(STANDARD_ERROR, written)", "tempfile.TemporaryFile(buffering=0)"},
    # What Spark says while it starts, which nobody sees unless it fails.
    "engines/spark.py": {"tempfile.TemporaryFile()"},
    # The null device takes the place of a standard output that nobody reads any more.
    "cli/output.py": {"os.open(os.devnull, os.O_WRONLY)"},
    # A lock, and the page with the token, which must be nobody else's from the first moment on.
    "web/server.py": {
        "(folder / 'new-lock').rename(folder / LOCK)",
        "os.fdopen(number, 'wb')",
        "os.open(door, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 384)",
        "os.open(path, os.O_RDWR | (os.O_CREAT if create else 0), 384)",
    },
    # Files of the server's own, in its own temporary folder, which is removed with it.
    # A worker answers through a copy of its standard output, which libraries then cannot write into.
    "web/worker.py": {
        "target.open('xb')",
        "beside.replace(path)",
        "os.fdopen(os.dup(1), 'w', encoding='utf-8', newline='\\n')",
    },
    "web/uploads.py": {"upload.path.open('xb')", "shutil.copyfile(file, upload.path)"},
}


def writers(path: Path) -> set[str]:
    """The calls in a module that write a file by themselves."""
    calls = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Call):
            continue
        name = ast.unparse(node.func)
        last = name.split(".")[-1]
        given = [ast.unparse(part) for part in [*node.args, *(word.value for word in node.keywords)]]
        opened = last == "open" and any(mode.strip("'").strip("bt+") in ("w", "x", "a", "r+") for mode in given)
        by_number = name in OF_THE_SYSTEM or (name == "os.open" and any(FOR_WRITING.search(flags) for flags in given))
        # A text and a date have such a method too, with two arguments or with keywords.
        moved = last in ("replace", "rename") and len(given) == 1 and not node.keywords
        if opened or by_number or moved or last.startswith(WRITE_BEGINS) or last in WRITE:
            calls.add(ast.unparse(node))
    return calls


FOR_WRITING = re.compile(r"O_(WRONLY|RDWR|CREAT|APPEND|TRUNC)")
OF_THE_SYSTEM = {"os.write", "os.writev", "os.pwrite", "os.fdopen", "os.replace", "os.rename", "os.link", "os.symlink"}
WRITE_BEGINS = ("write_csv", "write_parquet", "write_ipc", "sink_", "copyfile", "to_csv", "to_parquet")
WRITE = {
    "write_text", "write_bytes", "savez", "savez_compressed", "mkstemp", "NamedTemporaryFile", "TemporaryFile",
    "replace_file", "copy2", "move", "touch", "savefig",
}  # fmt: skip


def test_nothing_else_writes_files():
    calls = {path.relative_to(SOURCE).as_posix(): writers(path) for path in SOURCE.rglob("*.py")}
    assert calls.pop("atomic_write.py") == {
        "beside.open('xb')", "beside.replace(target)", "target.write_bytes(data)", "target.write_bytes(before)",
    }  # fmt: skip
    assert {name: found for name, found in calls.items() if found} == OWN


@pytest.mark.parametrize(
    "code",
    [
        "os.open(path, os.O_RDWR)",
        "os.fdopen(number, 'w')",
        "os.write(number, data)",
        "os.replace(beside, path)",
        "beside.rename(path)",
        "path.open('w')",
        "open(path, mode='ab')",
        "frame.sink_csv(path)",
    ],
)
def test_the_guard_sees_every_way_to_write(tmp_path, code):
    (tmp_path / "module.py").write_text(f"text.replace('a', 'b')\nos.open(folder, os.O_RDONLY)\n{code}\n")
    assert writers(tmp_path / "module.py") == {code}


def test_a_writer_that_is_killed_leaves_the_old_file_or_the_new_one(tmp_path):
    """The short form of `python -m tests.killed_writers --times 50`; starting Python takes longest."""
    command = [sys.executable, "-m", "tests.killed_writers", "--times", "5", "--folder", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    names = [line.split(":")[0] for line in done.stdout.splitlines()]
    assert len(names) == 13
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*names, "documents.md.html"])


def test_a_full_disk_says_so_and_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "old.json"
    path.write_bytes(b"old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(FileError) as caught:
        heldout.evaluate([0, 1], [0, 1]).write(path)
    assert caught.value.what == f"{path} cannot be written: No space left on device."
    assert "disk is not full" in caught.value.hint
    assert [(left.name, left.read_bytes()) for left in tmp_path.iterdir()] == [("old.json", b"old")]


def test_a_device_that_is_full_ends_a_command_with_two_sentences(tmp_path):
    command = [sys.executable, "-m", "heldout", "evaluate", "--matrix", "5 1; 2 8", "--json", "/dev/full"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.splitlines()[0] == "--json cannot write /dev/full: No space left on device."
    assert done.stderr.splitlines()[1].startswith("Hint: ")


def test_a_file_in_a_folder_that_is_closed_is_refused_and_left(tmp_path, monkeypatch):
    path = tmp_path / "old.txt"
    path.write_bytes(b"old")
    path.chmod(0o444)
    # Whoever may do everything is not stopped by the mode of a folder: the refusal itself is played.
    monkeypatch.setattr(Path, "open", refused)
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(FileError, match="cannot be written: Permission denied"):
        write_whole(path, b"new")
    monkeypatch.undo()
    assert path.read_bytes() == b"old"
    assert len(list(tmp_path.iterdir())) == 1


def refused(*_: object, **__: object) -> None:
    raise PermissionError(13, "Permission denied")


def test_of_several_files_none_changes_where_one_cannot_be_written(tmp_path):
    old = tmp_path / "old.txt"
    old.write_bytes(b"old")
    with pytest.raises(FileError, match="cannot be written"):
        write_together([("a cannot be written", old, b"new"), ("b cannot be written", tmp_path / "no" / "b", b"new")])
    assert old.read_bytes() == b"old"
    assert len(list(tmp_path.iterdir())) == 1


def test_modes_and_links_stay(tmp_path):
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_bytes(b"old")
    target.chmod(0o640)
    link.symlink_to(target)
    assert write_whole(link, b"new") == link
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    assert stat.S_IMODE(target.stat().st_mode) == 0o640


def test_writers_at_once_leave_one_whole_file(tmp_path):
    path = tmp_path / "file"
    contents = [bytes([65 + at]) * 200_000 for at in range(6)]
    threads = [
        threading.Thread(target=lambda data=data: [write_whole(path, data) for _ in range(5)]) for data in contents
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert path.read_bytes() in contents
    assert [left.name for left in tmp_path.iterdir()] == ["file"]


def test_a_signal_while_writing_leaves_nothing(tmp_path):
    code = """
        import os, sys, signal
        from heldout.atomic_write import write_whole
        os.fsync = lambda _: os.kill(os.getpid(), signal.SIGTERM)
        write_whole(sys.argv[1], b"new")
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code), str(tmp_path / "file")], check=False)
    assert done.returncode == -signal.SIGTERM
    assert list(tmp_path.iterdir()) == []


# Every command, with all that it writes.
ROWS = "row,truth,predicted,score\n" + "".join(
    f"{at},{'yes' if at % 2 else 'no'},{'yes' if at % 3 else 'no'},{(at * 37 % 100) / 100}\n" for at in range(60)
)
COMMANDS = {
    "evaluate": [
        "evaluate",
        "rows.csv",
        "--json",
        "a.json",
        "--html",
        "a.html",
        "--markdown",
        "a.md",
        "--latex",
        "a.tex",
    ],
    "evaluate --chart": ["evaluate", "rows.csv", "--chart", "roc=a.svg"],
    "evaluate --metrics": ["evaluate", "rows.csv", "--metrics", "a.json"],
    "evaluate --ledger": ["evaluate", "rows.csv", "--ledger", "a.jsonl"],
    "thresholds": ["thresholds", "rows.csv", "--maximize", "f1", "--html", "a.html"],
    "recalibrate": ["recalibrate", "rows.csv", "--html", "a.html"],
    "validate": ["validate", "rows.csv", "--target", "truth", "--learner", "majority", "--json", "a.json"],
    "learning-curve": ["learning-curve", "rows.csv", "--target", "truth", "--learner", "majority", "--json", "a.json"],
    "validate --predictions": [
        "validate",
        "rows.csv",
        "--target",
        "truth",
        "--learner",
        "majority",
        "--predictions",
        "a.csv",
    ],
    "bias-variance": [
        "bias-variance",
        "rows.csv",
        "--target",
        "truth",
        "--learner",
        "majority",
        "--rounds",
        "5",
        "--json",
        "a.json",
    ],
    "compare": ["compare", "rows.csv", "again.csv", "--html", "a.html"],
    "check": ["check", "rows.csv", "--require", "accuracy >= 0.01", "--junit", "a.xml", "--json", "a.json"],
    "doctor": ["doctor", "--json", "a.json"],
    "measures": ["measures", "--markdown", "a.md"],
    "explain": ["explain", "--markdown", "a.md"],
    "plan": ["plan", "recall", "--value", "0.9", "--prevalence", "0.2", "--width", "0.1", "--json", "a.json"],
    "lab": ["lab", "coverage", "--n", "20", "--json", "a.json"],
    "count": ["count", "rows.csv", "-o", "a.evidence"],
    "merge": ["merge", "counted.evidence", "--json", "a.json"],
    "card": ["card", "rows.csv", "--target", "truth", "--learner", "majority", "--json", "a.json"],
    "card --questions": ["card", "--questions", "a.toml"],
}
# Options that take a file which is read.
READ = {"requirements", "baseline", "answers", "file", "files"}


def test_every_command_that_writes_is_among_them():
    group: Any = typer.main.get_command(app)
    writes = {
        name: {option for option in command.params if "FILE" in str(option.metavar) and option.name not in READ}
        for name, command in group.commands.items()
    }
    assert {words[0] for words in COMMANDS.values()} == {name for name, options in writes.items() if options}
    flags = {flag for options in writes.values() for option in options for flag in option.opts}
    assert flags - {word for words in COMMANDS.values() for word in words} <= {"--output"}


@pytest.fixture(scope="module")
def given(tmp_path_factory):
    folder = tmp_path_factory.mktemp("given")
    for name in ("rows.csv", "again.csv"):
        (folder / name).write_text(ROWS)
    count = [sys.executable, "-m", "heldout", "count", "rows.csv", "-o", "counted.evidence"]
    subprocess.run(count, cwd=folder, capture_output=True, check=True)
    return folder


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_on_a_full_disk_says_so_and_leaves_what_was_there(given, tmp_path, command):
    shutil.copytree(given, tmp_path, dirs_exist_ok=True)
    words = COMMANDS[command]
    targets = [tmp_path / word.partition("=")[2] if "=" in word else tmp_path / word for word in words[1:]]
    written = [path for path in targets if path.name.startswith("a.")]
    old = b"old\n" * 10 if "--ledger" not in words else b""
    for path in written:
        path.write_bytes(old)
    before = {path.name for path in tmp_path.iterdir()}

    def fill() -> None:
        import resource

        # The system lets no file grow further, as a disk does that is full.
        resource.setrlimit(resource.RLIMIT_FSIZE, (50, 50))

    done = subprocess.run(
        [sys.executable, "-m", "heldout", *words], cwd=tmp_path, capture_output=True, text=True, check=False,
        preexec_fn=fill, env={**os.environ, "JOBLIB_TEMP_FOLDER": str(tmp_path)},
    )  # fmt: skip
    said = done.stderr.splitlines()
    assert done.returncode == 2, done.stderr
    assert all(line.startswith("Read rows.csv") for line in said[:-2]), said
    assert said[-1].startswith("Hint: ")
    assert [path.read_bytes() for path in written] == [old] * len(written)
    assert {path.name for path in tmp_path.iterdir()} == before


# Nobody may make a file there, not even root; not every system has such a folder.
CLOSED = Path("/sys")


@pytest.mark.parametrize("command", COMMANDS if CLOSED.is_dir() else [])
def test_every_command_in_a_folder_that_may_not_be_written_says_so(given, monkeypatch, capsys, command):
    monkeypatch.chdir(given)
    before = {path.name: path.read_bytes() for path in given.iterdir()}
    words = [re.sub(r"^(roc=)?a\.", rf"\1{CLOSED}/a.", word) for word in COMMANDS[command]]
    monkeypatch.setattr("sys.argv", ["heldout", *words])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2
    said = capsys.readouterr().err.splitlines()
    assert said[-1].startswith("Hint: ")
    assert f"{CLOSED}/a." in said[-2]
    assert {path.name: path.read_bytes() for path in given.iterdir()} == before


def test_a_link_that_leads_back_to_itself_is_left_as_it_is(tmp_path):
    (tmp_path / "one").symlink_to("two")
    (tmp_path / "two").symlink_to("one")
    with pytest.raises(FileError, match="one cannot be written: it is a link that leads back to itself"):
        write_whole(tmp_path / "one", b"new")
    assert sorted(entry.name for entry in tmp_path.iterdir() if entry.is_symlink()) == ["one", "two"]
