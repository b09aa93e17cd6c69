"""The command line in this process, for the tests of its surface."""

from __future__ import annotations

import pytest

from heldout.cli.app import main


@pytest.fixture
def run(capsys, monkeypatch):
    """Run a command; gives its exit status and what it printed to standard output and to standard error."""

    def call(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["heldout", *words])
        with pytest.raises(SystemExit) as stopped:
            main()
        printed = capsys.readouterr()
        return int(stopped.value.code or 0), printed.out, printed.err

    return call
