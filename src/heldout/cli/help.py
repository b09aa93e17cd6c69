"""The help of the command line as plain text that fits the terminal: nothing is cut, and examples can be pasted."""

from __future__ import annotations

import re
import shutil
import textwrap
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import typer.core

from heldout.cli.flags import translate_flags

# Narrower than this, words would stand alone; wider lines are hard to read.
NARROWEST, WIDEST = 40, 100
# A name that leaves less room than this beside it has its explanation below.
LONGEST_NAME = 26
INDENT, GAP = 2, 2
# Click takes a paragraph that begins so as it is: our examples.
VERBATIM = "\b\n"
# The part of the help for options that name none.
OTHERS = "Options"
# What stays on one line where it can: a value in quotes, and a default.
TOGETHER = re.compile(r"(?<!\w)'[^']{1,40}'(?!\w)|\[default: [^\]]{1,20}\]")
WORD = re.compile(r"""(?:'[^']*'|"[^"]*"|[^\s'"])+""")
# Python's textwrap does not break here.
HARD_SPACE = "\N{NO-BREAK SPACE}"


class PlainHelp:
    """What `Command` and `Group` share: their help is laid out here and nowhere else."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Click's protocol: write the help."""
        formatter.write(lay_out_help(self, ctx, max(NARROWEST, min(WIDEST, shutil.get_terminal_size().columns))))


class Command(PlainHelp, typer.core.TyperCommand):
    """A subcommand with plain help; it takes other libraries' words for its flags too, without listing them."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the command line in our words."""
        known = {str(one.name): flag for one in self.params for flag in one.opts if flag.startswith("--")}
        return super().parse_args(ctx, translate_flags(known, args, ctx.command_path))


class Group(PlainHelp, typer.core.TyperGroup):
    """The whole command; its help lists the subcommands by the first sentence of each."""

    # The functions behind the subcommands: to list them, none of their options has to be made.
    functions: Mapping[str, Callable[..., Any]] = {}


def lay_out_help(command: Any, ctx: Any, width: int) -> str:
    """Usage, what it does, examples, and every option under the name of its part."""
    parameters = [one for one in command.get_params(ctx) if not getattr(one, "hidden", False)]
    parts = ["\n".join(_fill(f"Usage: {_spell_call(command, ctx, parameters)}", width, "", " " * 7))]
    paragraphs = re.split(r"\n{2,}", command.help or "")
    parts += ["\n".join(_lay_out_paragraph(paragraph, width)) for paragraph in paragraphs]
    sections: dict[str, list[tuple[str, str]]] = {}
    for parameter in parameters:
        part = "Arguments" if parameter.param_type_name == "argument" else parameter.rich_help_panel or OTHERS
        sections.setdefault(part, []).append(_describe(parameter, ctx))
    # What every command has comes last.
    last = sections.pop(OTHERS, [])
    sections |= {OTHERS: last} if last else {}
    if isinstance(command, Group):
        sections["Commands"] = [(name, summarise(function)) for name, function in command.functions.items()]
    parts += ["\n".join([f"{title}:", *lay_out_list(rows, width)]) for title, rows in sections.items()]
    return "\n\n".join(parts) + "\n"


def _spell_call(command: Any, ctx: Any, parameters: Iterable[Any]) -> str:
    """The command with what stands after it, in brackets where it may be left out."""
    arguments = [parameter for parameter in parameters if parameter.param_type_name == "argument"]
    names = [
        _name_argument(argument) if argument.required else f"[{_name_argument(argument)}]" for argument in arguments
    ]
    return " ".join([ctx.command_path, "[OPTIONS]", *(["COMMAND"] if isinstance(command, Group) else names)])


def _name_argument(parameter: Any) -> str:
    return str(parameter.metavar or parameter.name.upper())


def summarise(function: Callable[..., Any]) -> str:
    """The first paragraph of what a command says of itself."""
    return " ".join((function.__doc__ or "").partition("\n\n")[0].split())


def _lay_out_paragraph(text: str, width: int) -> list[str]:
    if not text.startswith(VERBATIM):
        return _fill(" ".join(text.split()), width, "", "")
    return [line for one in text.removeprefix(VERBATIM).splitlines() for line in wrap_example(one, width)]


def wrap_example(line: str, width: int) -> list[str]:
    r"""A command on as many lines as it takes, each but the last ending in a backslash: pasted, it is the command.

    >>> print("\n".join(wrap_example("  heldout check a.csv --require 'recall[spam] >= 0.8' --junit gate.xml", 50)))
      heldout check a.csv \
        --require 'recall[spam] >= 0.8' \
        --junit gate.xml
    """
    if len(line) <= width:
        return [line]
    indent = " " * (len(line) - len(line.lstrip()))
    lines = [""]
    for word in _join_values(WORD.findall(line)):
        longer = f"{lines[-1]} {word}" if lines[-1] else f"{indent}{'  ' if len(lines) > 1 else ''}{word}"
        # Room for the backslash.
        if lines[-1] and len(longer) > width - 2:
            lines[-1] += " \\"
            longer = f"{indent}  {word}"
            lines.append("")
        lines[-1] = longer
    return lines


def _join_values(words: Iterable[str]) -> list[str]:
    """Options together with their values, which are never parted."""
    joined: list[str] = []
    for word in words:
        if joined and joined[-1].startswith("-") and " " not in joined[-1] and not word.startswith("-"):
            joined[-1] += f" {word}"
        else:
            joined.append(word)
    return joined


def _describe(parameter: Any, ctx: Any) -> tuple[str, str]:
    """How a parameter is spelled, and what it is for."""
    if parameter.param_type_name == "argument":
        return _name_argument(parameter), str(parameter.help or "")
    spelled = ", ".join([*sorted(parameter.opts, key=len), *parameter.secondary_opts])
    takes_value = not parameter.is_flag and not parameter.count
    _, text = parameter.get_help_record(ctx) or ("", "")
    return f"{spelled} {parameter.metavar or ''}".strip() if takes_value else spelled, " ".join(text.split())


def lay_out_list(rows: list[tuple[str, str]], width: int) -> list[str]:
    r"""Names with their explanations beside them, or below where a name is long.

    >>> rows = [("--id COLUMN", "Names the case."), ("--cost-rows truth|predicted", "Rows.")]
    >>> print("\n".join(lay_out_list(rows, 60)))
      --id COLUMN  Names the case.
      --cost-rows truth|predicted
                   Rows.
    """
    most = min(LONGEST_NAME, width // 3)
    first = max((len(name) for name, _ in rows if len(name) <= most), default=most)
    beside = " " * (INDENT + first + GAP)
    lines: list[str] = []
    for name, text in rows:
        explained = _fill(text, width, beside, beside)
        if len(name) <= first and explained:
            explained[0] = f"{' ' * INDENT}{name:<{first}}{' ' * GAP}{explained[0].lstrip()}"
        else:
            lines.append(f"{' ' * INDENT}{name}")
        lines += explained
    return lines


def _fill(text: str, width: int, first: str, others: str) -> list[str]:
    """Wrapped text in which short values stay on one line."""
    unbroken = TOGETHER.sub(lambda value: value.group().replace(" ", HARD_SPACE), text)
    lines = textwrap.wrap(
        unbroken,
        width,
        initial_indent=first,
        subsequent_indent=others,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace(HARD_SPACE, " ") for line in lines]
