"""Where the pdflatex is that compiles tables: found, installed where that may be done, or a word on what to run.

`python tests/latex.py` is what `make latex` runs; it needs nothing but Python.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

PACKAGES = ("texlive-latex-base", "texlive-latex-recommended")
HINT = f"Hint: run 'sudo apt-get install {' '.join(PACKAGES)}', or 'make test PDFLATEX=/path/to/pdflatex'."


class NoLatexError(Exception):
    """There is no pdflatex, and what to do."""


def found() -> str | None:
    """The program that PDFLATEX names, or the machine's own; one that is named must be there."""
    named = os.environ.get("PDFLATEX")
    there = shutil.which(named or "pdflatex")
    if named and there is None:
        message = f"PDFLATEX is {named}, and there is no such program.\nHint: leave it away, or name one that is there."
        raise NoLatexError(message)
    return there


def needed() -> str:
    """The program; an error where there is none."""
    there = found()
    if there is None:
        message = f"There is no pdflatex here, and the tests of tables for papers need one.\n{HINT}"
        raise NoLatexError(message)
    return there


def install() -> None:
    """Install Debian's where there is none and it may be done."""
    if found() is not None:
        return
    installer = shutil.which("apt-get")
    if os.geteuid() != 0 or installer is None:
        return
    quietly = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for step in (["update"], ["install", "--yes", "--no-install-recommends", *PACKAGES]):
        # What it says goes to standard error: standard output is the place of pdflatex.
        if subprocess.run([installer, *step], env=quietly, stdout=sys.stderr, check=False).returncode:
            message = f"pdflatex could not be installed: 'apt-get {' '.join(step)}' failed.\n{HINT}"
            raise NoLatexError(message)


if __name__ == "__main__":
    try:
        install()
        print(needed())
    except NoLatexError as missing:
        sys.exit(str(missing))
