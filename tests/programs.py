"""Programs that tests need beside Python: found, installed where that may be done, or a word on what to run.

`python -m tests.programs chromium` is what `make chromium` runs, and so on; it needs nothing but Python.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass

OLDEST_JAVA = 17


class NoProgramError(Exception):
    """There is no such program that will do, and what to do."""


@dataclass(frozen=True)
class Program:
    """A program, the names it goes by, the variable that names another, and the packages of Debian that have it.

    `packages` are alternatives, the first that Debian has is installed; `needed_by` and `example` are for what is said.
    `find_fault` says why a program that was found will not do, and nothing where it will.
    """

    title: str
    names: tuple[str, ...]
    variable: str
    packages: tuple[tuple[str, ...], ...]
    needed_by: str
    example: str
    options: tuple[str, ...] = ()
    # Where the program lies below a folder that the variable names; empty where it names the program itself.
    below: str = ""
    find_fault: Callable[[str], str] = lambda _: ""
    wanted: str = "one that is there"

    @property
    def hint(self) -> str:
        """What a person may do."""
        return f"Hint: run 'sudo apt-get install {' '.join(self.packages[0])}', or 'make test {self.example}'."

    def find(self) -> str | None:
        """The one that the variable names, or the machine's own, where it will do; one that is named must."""
        named = os.environ.get(self.variable)
        candidates = [f"{named}{self.below}"] if named else list(self.names)
        there = next(filter(None, map(shutil.which, candidates)), None)
        fault = "" if there is None else self.find_fault(there)
        if there is not None and not fault:
            return there
        if named:
            lacking = fault or (f"there is no {self.below[1:]} in it" if self.below else "there is no such program")
            message = f"{self.variable} is {named}, and {lacking}.\nHint: leave it away, or name {self.wanted}."
            raise NoProgramError(message)
        return None

    def require(self) -> str:
        """The program; an error where there is none that will do."""
        there = self.find()
        if there is None:
            message = f"There is no {self.title} here, and {self.needed_by} need one.\n{self.hint}"
            raise NoProgramError(message)
        return there

    def install(self) -> None:
        """Install Debian's where there is none and it may be done."""
        installer = shutil.which("apt-get")
        if self.find() is not None or os.geteuid() != 0 or installer is None:
            return
        quietly = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        steps = [["update"], *(["install", "--yes", *self.options, *packages] for packages in self.packages)]
        for step in steps:
            # What it says goes to standard error: standard output is the place of the program.
            failed = subprocess.run([installer, *step], env=quietly, stdout=sys.stderr, check=False).returncode
            if step[0] == "install" and not failed:
                return
        message = f"{self.title} could not be installed: 'apt-get {' '.join(steps[-1])}' failed.\n{self.hint}"
        raise NoProgramError(message)


def find_java_fault(program: str) -> str:
    """Why a Java will not do for Spark."""
    told = subprocess.run([program, "-version"], capture_output=True, text=True, check=False)
    numbers = re.search(r'version "(\d+)(?:\.(\d+))?', told.stderr + told.stdout)
    # Until 8 it was called 1.8.
    version = None if numbers is None else int(numbers[2] or 0) if numbers[1] == "1" else int(numbers[1])
    return "" if version is not None and version >= OLDEST_JAVA else f"it is version {version or 'unknown'}"


CHROMIUM = Program(
    "Chromium",
    ("chromium", "chromium-browser", "google-chrome"),
    "CHROMIUM",
    (("chromium",),),
    "the tests of pages",
    "CHROMIUM=/path/to/chromium",
)
LATEX = Program(
    "pdflatex",
    ("pdflatex",),
    "PDFLATEX",
    (("texlive-latex-base", "texlive-latex-recommended"),),
    "the tests of tables for papers",
    "PDFLATEX=/path/to/pdflatex",
    # Recommended are hundreds of megabytes of fonts and documentation.
    options=("--no-install-recommends",),
)
JAVA = Program(
    f"Java {OLDEST_JAVA} or newer",
    ("java",),
    "JAVA_HOME",
    # Debian 13 has no Java 17.
    ((f"openjdk-{OLDEST_JAVA}-jre-headless",), ("openjdk-21-jre-headless",)),
    "the tests of Spark",
    "JAVA_HOME=/folder/of/java",
    below="/bin/java",
    find_fault=find_java_fault,
    wanted=f"the folder of Java {OLDEST_JAVA} or newer",
)
PROGRAMS = {"chromium": CHROMIUM, "latex": LATEX, "java": JAVA}

if __name__ == "__main__":
    asked = PROGRAMS[sys.argv[1]]
    try:
        asked.install()
        print(asked.require())
    except NoProgramError as missing:
        sys.exit(str(missing))
