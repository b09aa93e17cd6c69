"""Where the command begins: an interrupt ends it in one word, however early it comes."""

from __future__ import annotations

import signal
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

# Interrupts the process the moment a module is asked for, which is when a person's Ctrl-C would come.
EARLY = """
import os, signal, sys
class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)
signal.signal(signal.SIGINT, signal.{handler})
sys.meta_path.insert(0, Interrupting())
sys.argv = ["heldout", "--version"]
from {start} import main
main()
"""
START = "heldout.cli.start"
# Interrupted while an object is freed, where Python lets no exception out.
FREED = """
import os, signal, sys, time
from heldout.cli.start import Interruption
handler = Interruption()
signal.signal(signal.SIGINT, handler)
sys.unraisablehook = handler.bring_back
class Freed:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.01)
        print("not reached")
thing = Freed()
del thing
try:
    time.sleep(30)
except KeyboardInterrupt:
    print("came")
"""


def run(module: str, handler: str = "default_int_handler") -> tuple[int, str, str]:
    code = EARLY.format(module=module, start=START, handler=handler)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("module", ["heldout.cli.app", "typer", "heldout.cli.learners"])
def test_an_interrupt_while_modules_are_imported_ends_with_130_and_one_word(module):
    assert run(module) == (130, "", "Interrupted.\n")


def test_an_interrupt_that_comes_while_something_is_freed_comes_again_and_prints_nothing():
    done = subprocess.run([sys.executable, "-c", FREED], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "came\n", "")


def test_where_interrupts_are_ignored_they_stay_so():
    status, output, said = run("typer", "SIG_IGN")
    assert (status, said) == (0, "")
    assert output.startswith("heldout ")


def test_without_an_interrupt_the_command_runs_and_may_be_interrupted_as_ever(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["heldout", "--version"])
    # Set for the processes that the command starts; put back after the test.
    monkeypatch.setenv("PYTHONSAFEPATH", "1")
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(SystemExit) as end:
        import_module(START).main()
    assert end.value.code == 0
    assert capsys.readouterr().out.startswith("heldout ")
    assert signal.getsignal(signal.SIGINT) is before


def test_it_is_what_the_script_starts():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["scripts"] == {"heldout": f"{START}:main"}
