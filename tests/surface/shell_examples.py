"""Shell examples of the documentation: read from a page, run one after the other in an empty folder, and compared.

A block that is fenced as `console` holds commands after `$ ` and what each of them prints; a line of three dots stands
for lines that are left out. A fenced block whose first line is a comment with the name of a file, such as
`# gate.toml`, is that file. `python -m tests.surface.shell_examples PAGE…` writes what is printed now into the pages;
of an excerpt with dots, the lines that are most like those that stand there.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import runpy
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path

from heldout.cli.app import main

ROOT = Path(__file__).parents[2]
DOTS = "..."
# How like a printed line must be to one that was shown, to stand in its place.
LIKE = 0.6
FENCED = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NAMED_FILE = re.compile(r"# ([\w.-]+\.\w+)(?::.*)?\n")


@dataclass(frozen=True)
class Command:
    """A command of a page, as it is typed, and the lines that stand below it."""

    text: str
    printed: tuple[str, ...]


@dataclass(frozen=True)
class NamedFile:
    """A file that a page tells its reader to save."""

    name: str
    text: str


def split_console(block: str) -> Iterator[Command]:
    """The commands of one console block; a backslash at the end of a line continues the command."""
    typed: str | None = None
    printed: list[str] = []
    for line in block.splitlines():
        if typed is not None and typed.endswith("\\"):
            typed += "\n" + line
        elif line.startswith("$ "):
            if typed is not None:
                yield Command(typed, tuple(printed))
            typed, printed = line.removeprefix("$ "), []
        else:
            printed.append(line.rstrip())
    if typed is not None:
        yield Command(typed, tuple(printed))


def read_page(text: str) -> list[Command | NamedFile]:
    """Files and commands of a page in their order."""
    found: list[Command | NamedFile] = []
    for match in FENCED.finditer(text):
        language, block = match.groups()
        if language == "console":
            found.extend(split_console(block))
        elif named := NAMED_FILE.match(block):
            found.append(NamedFile(named[1], block))
    return found


def call_heldout(words: list[str]) -> int:
    """Run a command in this process; gives its exit status."""
    before = sys.argv
    sys.argv = ["heldout", *words]
    try:
        main()
    except SystemExit as stopped:
        return int(stopped.code or 0)
    finally:
        sys.argv = before
    return 0


@dataclass
class Shell:
    """Runs commands in the current folder and remembers how the last one ended."""

    status: int = 0

    def run(self, text: str) -> list[str]:
        """The lines that a command prints: heldout and Python in this process, others by the system's shell."""
        if text == "echo $?":
            return [str(self.status)]
        program, *words = shlex.split(text.replace("\\\n", " "))
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            if program == "heldout":
                self.status = call_heldout(words)
            elif program == "python":
                runpy.run_path(words[0], run_name="__main__")
            else:
                # The page is ours, and its commands are what is tested.
                done = subprocess.run(text, shell=True, check=True, capture_output=True, text=True)
                printed.write(done.stdout)
        lines = [line.rstrip() for line in printed.getvalue().splitlines()]
        return strip_blank_ends(lines)


def strip_blank_ends(lines: list[str]) -> list[str]:
    """Lines without empty ones at both ends."""
    filled = [number for number, line in enumerate(lines) if line]
    return lines[filled[0] : filled[-1] + 1] if filled else []


def holds(printed: list[str], shown: tuple[str, ...]) -> bool:
    """Is this what was printed, with something in the place of every line of dots?"""
    lines = strip_blank_ends(list(shown))
    parts = [r"(?:.*\n)*?" if line.strip() == DOTS else re.escape(line) + r"\n" for line in lines]
    return re.fullmatch("".join(parts), "".join(f"{line}\n" for line in printed)) is not None


@contextlib.contextmanager
def empty_folder() -> Iterator[Path]:
    """A temporary folder to work in, with the examples of the project in it."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as name:
        (Path(name) / "examples").symlink_to(ROOT / "examples")
        os.chdir(name)
        try:
            yield Path(name)
        finally:
            os.chdir(before)


def run_page(text: str) -> Iterator[tuple[Command, list[str]]]:
    """Every command of a page with what it prints, in an empty folder."""
    shell = Shell()
    with empty_folder() as folder:
        for step in read_page(text):
            if isinstance(step, NamedFile):
                (folder / step.name).write_text(step.text, encoding="utf-8")
            else:
                yield step, shell.run(step.text)


def renew(shown: tuple[str, ...], printed: list[str]) -> list[str]:
    """What was printed, cut to the lines that are most like those that were shown, with the dots where they were.

    >>> renew(("...", "accuracy .961", "..."), ["3 cases", "accuracy .958", "recall .9"])
    ['...', 'accuracy .958', '...']
    """
    if DOTS not in (line.strip() for line in shown):
        return printed
    lines, after = [], 0
    for line in shown:
        if line.strip() == DOTS or not line:
            lines.append(line)
            after += not line and printed[after : after + 1] == [""]
            continue
        likeness = [SequenceMatcher(None, line, other).ratio() for other in printed[after:]]
        if not likeness or max(likeness) < LIKE:
            return list(shown)
        after += likeness.index(max(likeness)) + 1
        lines.append(printed[after - 1])
    return lines


def record_page(path: Path) -> None:
    """Write what is printed now below the commands of a page; an excerpt that cannot be found again stays."""
    text = path.read_text(encoding="utf-8")
    results = run_page(text)

    def fill(match: re.Match[str]) -> str:
        if match[1] != "console":
            return match[0]
        lines: list[str] = []
        for command in split_console(match[2]):
            step, printed = next(results)
            assert step == command
            now = list(command.printed) if holds(printed, command.printed) else renew(command.printed, printed)
            lines += [f"$ {command.text}", *now]
        return "```console\n" + "\n".join(lines) + "\n```"

    path.write_text(FENCED.sub(fill, text), encoding="utf-8")


if __name__ == "__main__":
    for page in sys.argv[1:]:
        record_page(Path(page).resolve())
