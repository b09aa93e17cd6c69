"""Every file is written whole or not at all: killed writers, full disks, closed folders and two writers at once."""

from __future__ import annotations

import ast
import os
import signal
import stat
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest

import heldout
from heldout.atomic_write import write_together, write_whole
from heldout.errors import FileError

SOURCE = Path(heldout.__file__).parent
# Files of the server's own, in its own temporary folder, which is removed with it.
OWN = {"web/worker.py": {"target.open('xb')"}, "web/uploads.py": {"upload.path.open('xb')"}}


def writers(path: Path) -> set[str]:
    """The calls in a module that write a file by themselves."""
    calls = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Call):
            continue
        name = ast.unparse(node.func)
        modes = [ast.unparse(part) for part in [*node.args, *(word.value for word in node.keywords)]]
        opened = name.split(".")[-1] == "open" and any(
            mode.strip("'").strip("bt+") in ("w", "x", "a") for mode in modes
        )
        parts = name.split(".")[-1]
        if opened or parts.startswith(("write_csv", "write_parquet", "write_ipc", "sink_")) or parts in WRITE:
            calls.add(ast.unparse(node))
    return calls


WRITE = {"write_text", "write_bytes", "savez", "savez_compressed", "mkstemp", "NamedTemporaryFile", "replace_file"}


def test_nothing_else_writes_files():
    calls = {path.relative_to(SOURCE).as_posix(): writers(path) for path in SOURCE.rglob("*.py")}
    assert len(calls.pop("atomic_write.py")) == 3
    assert {name: found for name, found in calls.items() if found} == OWN


# One process that writes each kind of file again and again in children that it kills; starting Python takes longest.
KILLER = """
    import os, random, signal, sys, time
    from pathlib import Path
    import heldout
    from heldout.cli.output import write_files
    from heldout.show.chart import Axis, Chart
    from heldout.show.figure import save_chart

    chart = Chart("t", "d" * 1_000_000, Axis("x"), Axis("y"))
    counted = heldout.count(list(range(400)), list(range(400)))
    evaluation = heldout.evaluate([0, 1, 1], [0, 1, 0], measures=["accuracy"])
    gate = heldout.check([0, 1, 1], [0, 1, 0], require=["accuracy >= 0.1"])
    long = "x" * 1_000_000
    kinds = {
        "result.csv": evaluation.write,
        "chart.svg": lambda path: save_chart(chart, path),
        "gate.xml": gate.write_junit,
        "counts.evidence": counted.save,
        "documents.md": lambda path: write_files({"markdown": (str(path), long), "html": (str(path) + ".html", long)}),
    }
    moment = random.Random(1)
    for name, write in kinds.items():
        path = Path(sys.argv[1], name)
        write(path)
        whole = path.read_bytes()
        for _ in range(5):
            child = os.fork()
            if not child:
                while True:
                    write(path)
            time.sleep(moment.uniform(0.0, 0.06))
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            assert path.read_bytes() == whole, name
        # Nothing can clear up after SIGKILL but whoever writes the file next.
        write(path)
        print(name)
"""


def test_a_writer_that_is_killed_leaves_the_old_file_or_the_new_one(tmp_path):
    command = [sys.executable, "-c", textwrap.dedent(KILLER), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*done.stdout.split(), "documents.md.html"])
    assert len(done.stdout.split()) == 5


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
