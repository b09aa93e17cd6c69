"""What a worker does with a file: a first look, or the reports, each written to a folder of its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heldout.errors import FileError, HeldoutError
from heldout.web.choices import Choices
from heldout.web.looking import look
from heldout.web.unpacking import Room, unpack
from heldout.web.wording import in_the_form

if TYPE_CHECKING:
    from heldout.evaluation import Evaluation
    from heldout.result import Result

Say = Callable[[str], None]
FORMS = ("html", "json", "tex", "md")
NOTED = frozenset({"weight", "weights", "fold", "folds"})


def first_look(task: dict[str, Any], say: Say, room: Room) -> dict[str, Any]:
    """Unpack and read a file, and guess its columns."""
    path = Path(task["path"])
    say("Reading the file")
    try:
        size = unpack(path, task["unpacked"], task["name"], room)
        return {"size": size, **look(path, task["columns"])}
    except HeldoutError as error:
        raise renamed(error, path, task["name"]) from None


def reports(task: dict[str, Any], say: Say, room: Room) -> dict[str, Any]:
    """Write the report of a file and, where there is another beside it, the comparison of both."""
    folder = Path(task["folder"])
    folder.mkdir()
    evaluation = _evaluated(task["file"], say)
    say("Writing the report")
    _write(evaluation, folder, "report", room)
    if task.get("beside") is None:
        return {}
    other = _evaluated(task["beside"], say)
    say("Comparing the two")
    from heldout.front.compare import compare

    try:
        paired = False if task["file"]["choices"]["different_cases"] else None
        found = compare(other, evaluation, names=_told_apart(other, evaluation), paired=paired, level=evaluation.level)
    except HeldoutError as error:
        # Each has its report, whether or not they can be compared.
        return {"apart": [error.what, in_the_form(error.hint)]}
    say("Writing the comparison")
    _write(found, folder, "comparison", room)
    return {}


def renamed(error: HeldoutError, path: Path, shown: str) -> HeldoutError:
    """The same error with the name that the person knows the file by."""
    texts = [_told(text, path, shown) for text in (error.what, error.hint)]
    return type(error)(texts[0], hint=texts[1])


def _evaluated(file: dict[str, Any], say: Say) -> Evaluation:
    """The evaluation of a file, by the chosen columns and by no others."""
    from heldout.files import read_table
    from heldout.front.evaluate import evaluate
    from heldout.predictions.source import Named

    path, shown, choices = Path(file["path"]), file["name"], Choices.of(file["choices"])
    say(f"Reading {shown}")
    try:
        frame = read_table(path, columns=list(dict.fromkeys([*choices.columns(), *_noted(path)])))
        say(f"Measuring {shown}")
        options = {name: value for name, value in choices.options().items() if value is not None}
        return evaluate(Named(frame, shown), **options)
    except HeldoutError as error:
        raise renamed(error, path, shown) from None


def _noted(path: Path) -> list[str]:
    """Columns that the library speaks of where nobody chose them: weights, folds and what may be groups."""
    from heldout.files import column_names
    from heldout.predictions.group_like import may_be_group

    return [name for name in column_names(path) if name.strip().casefold() in NOTED or may_be_group(name)]


def _told(text: str, path: Path, shown: str) -> str:
    """A sentence about the file, under the name that the person knows.

    The name on the disk holds 64 random bits, so it stands in a sentence only where the reader of files put it.
    """
    return text.replace(str(path), shown).replace(path.name, shown)


def _told_apart(first: Evaluation, second: Evaluation) -> list[str]:
    names = [first.source.name, second.source.name]
    return names if names[0] != names[1] else [f"{names[0]} (first)", f"{names[1]} (second)"]


def _write(result: Result, folder: Path, name: str, room: Room) -> None:
    """Write every form of a result, and ask for the room of each: how large it is, is known once it is written."""
    for form in FORMS:
        room(result.write(folder / f"{name}.{form}").stat().st_size)


TASKS: dict[str, Callable[[dict[str, Any], Say, Room], dict[str, Any]]] = {"look": first_look, "reports": reports}


def perform(task: dict[str, Any], say: Say, room: Room) -> dict[str, Any]:
    """Do a task and answer it; what is wrong with the input is an answer, too."""
    try:
        return {"done": TASKS[task["kind"]](task, say, room)}
    except HeldoutError as error:
        return {"wrong": [error.what, in_the_form(error.hint)]}
    except MemoryError:
        said = FileError(
            "There is not enough memory for this file.", hint="send fewer rows or columns, or use a larger machine."
        )
        return {"wrong": [said.what, said.hint]}
