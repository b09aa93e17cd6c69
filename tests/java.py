"""Where the Java is that Spark runs on: found, installed where that may be done, or a word on what to run.

`python tests/java.py` is what `make java` runs; it needs nothing but Python.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys

OLDEST = 17
# The first of them that the machine's Debian has.
PACKAGES = (f"openjdk-{OLDEST}-jre-headless", "openjdk-21-jre-headless")
HINT = f"Hint: run 'sudo apt-get install {PACKAGES[0]}', or 'make test JAVA_HOME=/folder/of/java'."


class NoJavaError(Exception):
    """There is no Java that will do, and what to do."""


def found() -> str | None:
    """The Java in JAVA_HOME, or the one on the path, where it is new enough; one that is named must be."""
    home = os.environ.get("JAVA_HOME")
    program = shutil.which(f"{home}/bin/java" if home else "java")
    version = None if program is None else _version(program)
    if program is not None and version is not None and version >= OLDEST:
        return program
    if home:
        there = "there is no bin/java in it" if program is None else f"it is version {version or 'unknown'}"
        message = (
            f"JAVA_HOME is {home}, and {there}.\nHint: leave it away, or name the folder of Java {OLDEST} or newer."
        )
        raise NoJavaError(message)
    return None


def needed() -> str:
    """The Java; an error where there is none that will do."""
    there = found()
    if there is None:
        message = f"There is no Java {OLDEST} or newer here, and the tests of Spark need one.\n{HINT}"
        raise NoJavaError(message)
    return there


def install() -> None:
    """Install Debian's where there is none and it may be done."""
    if found() is not None:
        return
    installer = shutil.which("apt-get")
    if os.geteuid() != 0 or installer is None:
        return
    quietly = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    # What it says goes to standard error: standard output is the place of Java.
    steps = (["update"], *(["install", "--yes", package] for package in PACKAGES))
    for step in steps:
        failed = subprocess.run([installer, *step], env=quietly, stdout=sys.stderr, check=False).returncode
        if step[0] == "install" and not failed:
            return
    message = f"Java could not be installed: 'apt-get {' '.join(steps[-1])}' failed.\n{HINT}"
    raise NoJavaError(message)


def _version(program: str) -> int | None:
    told = subprocess.run([program, "-version"], capture_output=True, text=True, check=False)
    numbers = re.search(r'version "(\d+)(?:\.(\d+))?', told.stderr + told.stdout)
    if numbers is None:
        return None
    # Until 8 it was called 1.8.
    return int(numbers[2] or 0) if numbers[1] == "1" else int(numbers[1])


if __name__ == "__main__":
    try:
        install()
        print(needed())
    except NoJavaError as missing:
        sys.exit(str(missing))
