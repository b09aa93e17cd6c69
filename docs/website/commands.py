"""A page for every command, from the command line itself: what it does, every option, examples with their output."""

from __future__ import annotations

import csv
import inspect
import os
import re
import shlex
import signal
import subprocess
import sys
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import typer
from docs.website.page import (
    ROOT,
    escape_text,
    shorten_lines,
    write_code,
    write_folded,
    write_literal,
    write_table,
    write_toctree,
)
from docs.website.sources import Site

from heldout.cli.app import COMMANDS, app
from heldout.cli.help import summarise

HOME = "reference/commands"
OWN_LINES = Path(__file__).with_name("commands.txt")
GOLDEN = ROOT / "tests" / "golden"
FILES = "reference/commands/example-files.zip"
# What a shell shows of an example without being opened.
SHOWN_LINES = 30
# Seconds that an example may take; a machine that does other work is slow, and that is no fault of the site.
PATIENCE = 1200


@dataclass(frozen=True, slots=True)
class Example:
    """A command that was run: its words, how it ended, what it printed, and the files that it wrote."""

    line: str
    status: int
    screen: str
    files: tuple[str, ...]

    @property
    def command(self) -> str:
        """The subcommand."""
        return self.line.split()[0]

    @property
    def flags(self) -> set[str]:
        """The options that it uses."""
        return {word.partition("=")[0] for word in shlex.split(self.line) if word.startswith("-")}


def command_page(name: str) -> str:
    """Where the page of a command stands."""
    return f"{HOME}/{name}.md"


def list_commands() -> list[str]:
    """The names of all commands."""
    return list(COMMANDS)


@cache
def find_command(name: str) -> Any:
    """The command as the shell knows it."""
    return typer.main.get_command(app).get_command(None, name)  # type: ignore[attr-defined]


def list_options(name: str) -> dict[str, Any]:
    """The options of a command by their longest flag."""
    found = {}
    for parameter in find_command(name).params:
        if parameter.param_type_name == "option":
            found[max(parameter.opts, key=len)] = parameter
    return found


# Examples.


@cache
def list_recorded() -> tuple[Example, ...]:
    """The commands of the golden record, whose output the tests compare with what is printed now."""
    found: list[Example] = []
    for path in sorted((GOLDEN / "expected").glob("*.txt")):
        text = path.read_text(encoding="utf-8")
        found += map(read_example, re.split(r"^(?=\$ heldout )", text, flags=re.MULTILINE)[1:])
    return tuple(found)


def read_example(text: str) -> Example:
    """One command of the golden record."""
    head, status, *rest = text.split("\n", 2)
    parts = re.split(r"^--- (.+)\n", "\n".join(rest), flags=re.MULTILINE)
    printed = dict(zip(parts[1::2], parts[2::2], strict=True))
    screen = "".join(printed.get(stream, "") for stream in ("standard output", "standard error"))
    files = tuple(name for name in printed if not name.startswith("standard"))
    number = status.removeprefix("exit status ")
    return Example(head.removeprefix("$ heldout "), int(number) if number.isdigit() else 0, screen.rstrip(), files)


def list_lines() -> list[str]:
    """The commands that are run for the site only."""
    lines = OWN_LINES.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


@cache
def run_lines(*, whole: bool) -> tuple[Example, ...]:
    """Run them, in a folder with the files of the golden record; for less than the whole site they are only listed."""
    from tests.golden import record

    if not whole:
        return tuple(Example(line, 0, "", ()) for line in list_lines())
    found = []
    with record.steady_surroundings():
        record.lay_out_data()
        lay_out_splits()
        # As in a workflow on GitHub, for --github.
        os.environ |= {"GITHUB_STEP_SUMMARY": "out/summary.md", "GITHUB_OUTPUT": "out/output.txt"}
        for line in list_lines():
            apart = "--memory-limit" in line
            found.append(run_apart(line) if apart else read_example(record.run_command(line)))
            if found[-1].status:
                message = f"heldout {line} ended with {found[-1].status}: {found[-1].screen}"
                raise RuntimeError(message)
    return tuple(found)


def lay_out_splits() -> None:
    """A table of the results of single splits of two data sets."""
    with Path("splits.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["data set", "fold", "old", "new"])
        for number, name in enumerate(("iris", "labor")):
            for fold in range(10):
                writer.writerow([name, fold, 0.8 + (fold * 7 + number) % 5 / 50, 0.82 + (fold * 3 + number) % 7 / 50])


def run_apart(line: str) -> Example:
    """Run a command in a process of its own: one with a limit of memory, or one that goes on until it is ended."""
    words = [sys.executable, "-m", "heldout", *shlex.split(line)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        if line.startswith("serve") and process.stdout is not None:
            first = "".join(process.stdout.readline() for _ in range(2))
            process.send_signal(signal.SIGINT)
            screen, status = first + process.communicate(timeout=PATIENCE)[0], 0
        else:
            screen, status = process.communicate(timeout=PATIENCE)[0], process.returncode
    # Any free port is another one each time.
    screen = re.sub(r"(127\.0\.0\.1|localhost):\d+", r"\1:8000", screen)
    return Example(line, status, re.sub(r"token=[\w-]+", "token=…", screen).rstrip(), ())


@cache
def choose_examples(name: str, *, whole: bool) -> dict[str, Example]:
    """For each option of a command the shortest example that uses it; under "" the first example of the command."""
    mine = [one for one in (*list_recorded(), *run_lines(whole=whole)) if one.line and one.command == name]
    mine = [one for one in mine if "--help" not in one.flags]
    good = [one for one in mine if not one.status or name == "check"]
    if not good:
        message = f"heldout {name} has no example: add a line to docs/website/commands.txt"
        raise LookupError(message)
    chosen = {"": good[0]}
    for flag, option in list_options(name).items():
        spelled = {*option.opts, *option.secondary_opts}
        using = [one for one in good if one.flags & spelled] or [one for one in mine if one.flags & spelled]
        if using:
            chosen[flag] = min(using, key=lambda one: len(one.line))
    return chosen


@cache
def find_elsewhere(flag: str, *, whole: bool) -> Example | None:
    """An example of another command that uses an option of that name."""
    found = [chosen[flag] for name in COMMANDS if flag in (chosen := choose_examples(name, whole=whole))]
    return min(found, key=lambda one: (one.status, len(one.line)), default=None)


# Pages.


def add_index(site: Site, names: list[str]) -> None:
    """The page of all commands."""
    at = f"{HOME}/index.md"
    rows = [
        (site.link(f"`heldout {name}`", command_page(name), at), escape_text(summarise(COMMANDS[name])))
        for name in names
    ]
    parts = [
        "# Commands",
        (
            "Every command prints help with `--help`. What goes wrong is said in two sentences: what is wrong, "
            "and what to "
            f"do. {site.link('Exit statuses and JSON', 'reference/contracts.md', at)} say what scripts can rely on."
        ),
        write_table(["command", "what it does"], rows),
        (
            "Examples on these pages are run, not typed in. Their files are those of the project's `examples/`, "
            "and some "
            "that are made from these: {download}`example-files.zip <example-files.zip>`."
        ),
        write_toctree(names, hidden=True),
    ]
    site.add(at, "\n\n".join(parts))


def write_files(site: Site) -> None:
    """Put the files that the examples read into one that readers can fetch."""
    from tests.golden import record

    target = (site.folder / FILES).resolve()
    target.parent.mkdir(parents=True, exist_ok=True)
    with record.steady_surroundings():
        if site.whole:
            record.lay_out_data()
        lay_out_splits()
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as packed:
            for path in sorted(Path().rglob("*")):
                if path.is_file():
                    packed.write(path)


def add_command(site: Site, name: str) -> None:
    """The page of one command."""
    at, command = command_page(name), find_command(name)
    text = inspect.cleandoc(COMMANDS[name].__doc__ or "").replace("\b\n", "")
    about, _, calls = text.partition("Examples:\n")
    chosen = choose_examples(name, whole=site.whole)
    numbers: dict[str, int] = {}
    for one in chosen.values():
        numbers.setdefault(one.line, len(numbers) + 1)
    parts = [f"# heldout {name}", escape_text(about.strip()).replace("\n", " ").replace("  ", "\n\n")]
    usage = " ".join(["heldout", name, "[OPTIONS]", *_list_arguments(command)])
    parts += [write_code(usage)]
    if calls:
        parts += ["Calls to copy:", write_code(inspect.cleandoc(calls), "console")]
    parts += _write_arguments(command)
    parts += ["## Options", *_write_options(site, name, chosen, numbers), "## Examples"]
    by_line = {one.line: one for one in chosen.values()}
    for line, number in numbers.items():
        parts += [f"({_anchor(name, number)})=", *_show_example(by_line[line], first=number == 1)]
    site.add(at, "\n\n".join(parts))


def _anchor(name: str, number: int) -> str:
    return f"example-{name}-{number}"


def _list_arguments(command: Any) -> list[str]:
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    return [one.metavar if one.required else f"[{one.metavar}]" for one in arguments]


def _write_arguments(command: Any) -> list[str]:
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    if not arguments:
        return []
    return ["## Arguments", "\n\n".join(f"`{one.metavar}`\n: {escape_text(one.help or '')}" for one in arguments)]


def _write_options(site: Site, name: str, chosen: dict[str, Example], numbers: dict[str, int]) -> Iterable[str]:
    panels: dict[str, list[str]] = {}
    for flag, option in list_options(name).items():
        spelled = ", ".join(f"`{one}`" for one in (*option.opts, *option.secondary_opts))
        value = f" `{option.metavar}`" if option.metavar else ""
        default = (
            f" Default: `{option.default}`." if option.show_default and option.default not in (None, False) else ""
        )
        shown = chosen.get(flag)
        if shown is not None:
            example = f"[Example](#{_anchor(name, numbers[shown.line])})."
        else:
            other = find_elsewhere(flag, whole=site.whole)
            if other is None:
                message = f"heldout {name} {flag} has no example"
                raise LookupError(message)
            at = {one.line: None for one in choose_examples(other.command, whole=site.whole).values()}
            number = list(at).index(other.line) + 1
            there = site.link("Example", f"{command_page(other.command)}", command_page(name))
            linked = there != "Example"
            example = f"[Example](#{_anchor(other.command, number)})." if linked else f"`heldout {other.line}`"
        entry = f"{spelled}{value}\n: {escape_text(option.help or '')}{default} {example}"
        panels.setdefault(option.rich_help_panel or "Options", []).append(entry)
    for title, entries in panels.items():
        yield f"### {title}"
        yield "\n\n".join(entries)


def _show_example(example: Example, *, first: bool) -> list[str]:
    head = f"$ heldout {example.line}"
    wrote = f" Writes {', '.join(map(write_literal, example.files))}." if example.files else ""
    ended = f" Ends with status {example.status}." if example.status else ""
    screen = shorten_lines(example.screen, SHOWN_LINES if not first else 60)
    if not screen:
        return [write_code(head, "console"), (ended + wrote).strip()]
    if first:
        return [write_code(f"{head}\n{screen}", "console"), (ended + wrote).strip()]
    return [write_code(head, "console"), write_folded("What it prints", write_code(screen)), (ended + wrote).strip()]
