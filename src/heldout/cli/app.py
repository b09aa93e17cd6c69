"""The command `heldout`: its subcommands, and how errors leave it.

Exit status: 0 done, 1 a gate failed, 2 the input or the call is wrong, 70 a fault of our own, 130 interrupted.
"""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Callable
from copy import copy
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any

import typer

from heldout import __version__
from heldout.cli import start
from heldout.cli.check import check
from heldout.cli.compare import compare
from heldout.cli.count import count, merge
from heldout.cli.doctor import doctor
from heldout.cli.evaluate import evaluate
from heldout.cli.flags import OPTIONS, import_measures
from heldout.cli.help import Command, Group
from heldout.cli.lab import lab
from heldout.cli.learners import bias_variance, card, learning_curve, validate
from heldout.cli.output import Nearest, end_quietly, tell
from heldout.cli.plan import plan
from heldout.cli.progress import ReadingLine
from heldout.cli.scores import recalibrate, thresholds
from heldout.cli.serve import serve
from heldout.errors import HeldoutError
from heldout.synonyms import answer_unknown, find_own_command

if TYPE_CHECKING:
    from heldout.show.blocks import Block


MarkdownFile = Annotated[
    str | None,
    typer.Option("--markdown", metavar="FILE", help=f"{OPTIONS['markdown'].help[:-1]}; - is standard output."),
]


def measures(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            help="A measure, by name, alias or symbol, or your own as module:name; by default all are listed.",
        ),
    ] = None,
    markdown: MarkdownFile = None,
) -> None:
    """List the measures, or explain one: formula, range, when undefined, aliases, reference.

    \b
    Examples:
      heldout measures
      heldout measures TPR
    """  # noqa: D301 - click takes a backspace to mean: do not wrap what follows
    from heldout.report.explanations import catalogue_blocks, measure_blocks

    _print_blocks(catalogue_blocks() if name is None else measure_blocks(import_measures(name)), markdown=markdown)


def explain(
    code: Annotated[
        str | None, typer.Argument(metavar="CODE", help="A rule, such as H012; by default all are listed.")
    ] = None,
    markdown: MarkdownFile = None,
) -> None:
    """List the rules behind the findings, or explain one: why it matters, its limits, what to do, reference.

    \b
    Examples:
      heldout explain
      heldout explain H012
    """  # noqa: D301 - click takes a backspace to mean: do not wrap what follows
    from heldout.report.explanations import rule_blocks, rules_blocks

    _print_blocks(rules_blocks() if code is None else rule_blocks(code), markdown=markdown)


def _print_blocks(blocks: list[Block], *, markdown: str | None) -> None:
    from heldout.cli.output import STANDARD_OUTPUT, check_writable, print_document, show, write_files
    from heldout.show.markdown import render_markdown

    if markdown is None:
        show(blocks)
        return
    text = render_markdown(blocks) + "\n"
    if markdown == STANDARD_OUTPUT:
        print_document(text)
        return
    check_writable("markdown", markdown)
    write_files({"markdown": (markdown, text)})
    tell(f"Wrote {markdown}")


# Set this to see the traceback of a fault.
DEBUG = "HELDOUT_DEBUG"
LONGEST_MESSAGE = 2000
# Options that need no subcommand, and how a shell asks for names.
ALONE = ("-h", "--help", "--version")
COMPLETED = "_HELDOUT_COMPLETE"

ABOUT = """Judge classifiers: every measure with an honest interval.

\b
Examples:
  heldout evaluate predictions.csv
  heldout evaluate --matrix '50 0; 2 48' --labels no,yes
  heldout validate data.csv --target outcome --learner knn:5
  heldout learning-curve data.csv --target outcome --learner forest
  heldout bias-variance data.csv --target outcome --learner tree
  heldout compare model_a.csv model_b.csv
  heldout check predictions.csv --require 'recall >= 0.8'
  heldout recalibrate predictions.csv --score p_yes
  heldout plan recall --value 0.9 --prevalence 0.2 --width 0.1
  heldout card data.csv --target outcome --learner forest
  heldout lab coverage --n 20,50,100
  heldout count part.parquet -o part.evidence
  heldout merge part-*.evidence
  heldout measures recall
  heldout explain H001
  heldout serve
  heldout doctor
"""


# Typer brings its own copy of click, or uses the one installed: this is UsageError of whichever it is.
UsageError: Any = typer.BadParameter.__mro__[1]

COMMANDS: dict[str, Callable[..., Any]] = {
    "evaluate": evaluate,
    "thresholds": thresholds,
    "recalibrate": recalibrate,
    "validate": validate,
    "learning-curve": learning_curve,
    "bias-variance": bias_variance,
    "compare": compare,
    "check": check,
    "plan": plan,
    "card": card,
    "lab": lab,
    "count": count,
    "merge": merge,
    "measures": measures,
    "explain": explain,
    "serve": serve,
    "doctor": doctor,
}


class Heldout(Group):
    """The whole command."""

    functions = COMMANDS

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of that name, or the one that other libraries call so."""
        named = super().get_command(ctx, cmd_name)
        own = find_own_command(cmd_name) if named is None else None
        return named if own is None else super().get_command(ctx, own)


app = typer.Typer(
    name="heldout",
    cls=Heldout,
    help=ABOUT,
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command_name, command in COMMANDS.items():
    app.command(command_name, cls=Command)(command)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"heldout {__version__}")
        raise typer.Exit


@app.callback(help=ABOUT)
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Take the options that stand before a subcommand."""


def main() -> None:
    """Run the command; a wrong input ends in two sentences and exit status 2."""
    Nearest.install()
    # Polars finds the region of a bucket by itself, and says so with a line of our code.
    warnings.filterwarnings("ignore", message=r"'\(default_\)region' not set")
    try:
        with ReadingLine():
            status = _command()(standalone_mode=False)
    except HeldoutError as error:
        _complain(error.what, error.hint)
        status = 2
    except UsageError as error:
        status = _usage(error)
    except (KeyboardInterrupt, typer.Abort):
        status = 130
    except SystemExit as end:
        # Typer leaves so when the reader of its help (head, less) has gone: that is no error.
        end_quietly()
        status = 0 if end.code == 1 else end.code
    except BaseException as error:
        # Not only what derives from Exception: what goes wrong in Rust does not.
        if os.environ.get(DEBUG):
            raise
        status = _fault(error)
    if status == 130:
        tell("Interrupted.")
    sys.exit(status if isinstance(status, int) else 0)


def _command() -> Any:
    """The command that was called for: making the options of all the others would take longer than everything else."""
    word = next(iter(sys.argv[1:]), "--help")
    needed = {word} if word in COMMANDS or word in ALONE else set(COMMANDS)
    # A shell that completes names puts what was typed so far elsewhere.
    if COMPLETED in os.environ:
        needed = set(COMMANDS)
    called = copy(app)
    called.registered_commands = [command for command in app.registered_commands if command.name in needed]
    return typer.main.get_command(called)


def _complain(what: str, hint: str) -> None:
    from heldout.show.escape import visible

    tell(f"{_shortened(visible(what))}\nHint: {_shortened(visible(hint))}")


def _shortened(text: str) -> str:
    """The text without the middle of what no reader would read: a label or a name may have any length."""
    half = LONGEST_MESSAGE // 2
    return text if len(text) <= LONGEST_MESSAGE else f"{text[:half]} […] {text[-half:]}"


def _usage(error: Any) -> int:
    """Say what is wrong with the call; a call without a command has printed the help already."""
    message = error.format_message().strip()
    if not message or type(error).__name__ == "NoArgsIsHelpError":
        # The help of the command itself is in the error; that of a subcommand has been drawn already.
        if message.startswith("Usage"):
            tell(message)
        return int(error.exit_code)
    called = "heldout" if error.ctx is None else error.ctx.command_path
    hint = f"'{called} --help' lists what it takes."
    if refused := NO_NUMBER.match(message):
        message, hint = _refuse_number(*refused.groups())
    unknown = getattr(error, "option_name", "")
    if unknown and type(error).__name__ == "NoSuchOption" and error.ctx is not None:
        message = f"{called} has no option {unknown}"
        hint = _suggest_flag(unknown, error.ctx, hint)
    _complain(message if message[-1] in ".?" else f"{message}.", hint)
    return int(error.exit_code)


# What Typer says of a text where a number should be.
NO_NUMBER = re.compile(r"Invalid value for '(--[\w-]+)[^:]*: .*valid (number|integer)")


def _refuse_number(flag: str, kind: str) -> tuple[str, str]:
    """What is wrong with the value of a flag that takes a number, and the hint."""
    numbers = [after for word, after in pairwise([*sys.argv, ""]) if word == flag]
    numbers += [word.partition("=")[2] for word in sys.argv if word.startswith(f"{flag}=")]
    value = numbers[-1] if numbers else ""
    example = 1 if kind == "integer" else 0.95 if flag == "--level" else 0.5
    message = f"{flag} must be a {'whole ' * (kind == 'integer')}number. Got {value!r}."
    share = re.fullmatch(r"(\d+(?:\.\d+)?)\s*%", value)
    if share and kind == "number":
        return message, f"write {value} as {float(share[1]) / 100:g}."
    return message, f"for example {flag} {example}."


def _suggest_flag(unknown: str, ctx: Any, otherwise: str) -> str:
    """The hint for a flag that a command does not have: how the same is said, or the flag that is near."""
    known = {str(one.name): flag for one in ctx.command.params for flag in one.opts if flag.startswith("--")}
    word = unknown.lstrip("-").replace("-", "_")
    hint = answer_unknown(word, [*known, *(flag[2:].replace("-", "_") for flag in known.values())], "")
    if not hint:
        return otherwise
    name = hint.removeprefix("did you mean '").removesuffix("'?")
    flag = known.get(name, f"--{name.replace('_', '-')}")
    return f"did you mean {flag}? {otherwise}" if name != hint else f"{hint} {otherwise}"


# How the system and libraries say that there is no memory, or no more threads, which take some each.
NO_MEMORY = re.compile(
    "cannot allocate memory|failed to allocate|unable to allocate|out of memory|std::bad_alloc"
    "|can't start new thread|thread.*resource temporarily unavailable|failed to map segment",
    re.IGNORECASE,
)


def is_of_memory(error: BaseException | None) -> bool:
    """Whether an error, or one that led to it, comes from too little memory.

    >>> is_of_memory(OSError(12, "Cannot allocate memory")), is_of_memory(KeyError("memory"))
    (True, False)
    """
    for _ in range(20):
        if error is None:
            return False
        if isinstance(error, MemoryError) or NO_MEMORY.search(str(error)):
            return True
        error = error.__cause__ or error.__context__
    return False


def _fault(error: BaseException) -> int:
    if is_of_memory(error):
        _complain("There is not enough memory for this input.", "give fewer rows or columns, or a larger machine.")
        # Where a limit was set, the process that watches says so instead.
        return start.REFUSED if start.watched else 2
    _complain(
        f"heldout failed because of an error of its own: {type(error).__name__}: {error}.",
        f"please report it; {DEBUG}=1 heldout … prints where it happened.",
    )
    return 70
