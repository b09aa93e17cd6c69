"""Where the browser is that looks at pages: found, installed where that may be done, or a word on what to run.

`python tests/chromium.py` is what `make chromium` runs; it needs nothing but Python.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

NAMES = ("chromium", "chromium-browser", "google-chrome")
HINT = "Hint: run 'sudo apt-get install chromium', or 'make test CHROMIUM=/path/to/chromium'."


class NoChromiumError(Exception):
    """There is no browser, and what to do."""


def found() -> str | None:
    """The browser that CHROMIUM names, or the machine's own; one that is named must be there."""
    named = os.environ.get("CHROMIUM")
    if not named:
        return next(filter(None, map(shutil.which, NAMES)), None)
    there = shutil.which(named)
    if there is None:
        message = f"CHROMIUM is {named}, and there is no such program.\nHint: leave it away, or name one that is there."
        raise NoChromiumError(message)
    return there


def needed() -> str:
    """The browser; an error where there is none."""
    there = found()
    if there is None:
        message = f"There is no Chromium here, and the tests of pages need one.\n{HINT}"
        raise NoChromiumError(message)
    return there


def install() -> None:
    """Install Debian's where there is none and it may be done."""
    if found() is not None:
        return
    installer = shutil.which("apt-get")
    if os.geteuid() != 0 or installer is None:
        return
    quietly = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for step in (["update"], ["install", "--yes", "chromium"]):
        # What it says goes to standard error: standard output is the place of the browser.
        if subprocess.run([installer, *step], env=quietly, stdout=sys.stderr, check=False).returncode:
            message = f"Chromium could not be installed: 'apt-get {' '.join(step)}' failed.\n{HINT}"
            raise NoChromiumError(message)


if __name__ == "__main__":
    try:
        install()
        print(needed())
    except NoChromiumError as missing:
        sys.exit(str(missing))
