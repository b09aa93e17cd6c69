"""A process that computes: it reads tasks from standard input, looks into files, makes reports, and answers in JSON.

It is the program of a process of its own, so that a file that exhausts the memory does not end the server.
"""

from __future__ import annotations

import json
import os
import queue
import re
import signal
import sys
import threading
import traceback
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from heldout.errors import FileError, HeldoutError
from heldout.files import read_table
from heldout.files.formats import format_by_magic
from heldout.files.input_stream import CHECK_GZIP, GZIP_MAGIC
from heldout.predictions.column_roles import CASE_NAMES, NO_COLUMN, is_usual, suggest_columns
from heldout.predictions.positive_class import choose_positive
from heldout.predictions.score_columns import may_be_score, score_columns
from heldout.web.choices import Choices
from heldout.web.limits import MEMORY, SEND_LESS, limit_memory, size_words

if TYPE_CHECKING:
    import polars as pl

    from heldout.result import Result
    from heldout.results.evaluation import Evaluation


# A process that computes: it reads tasks from standard input, one JSON document to a line, and answers likewise.
#
# Started as `python -m heldout.web.worker`. It ends as soon as standard input does, so it never outlives its server.


def main() -> None:
    """Answer tasks until there are no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _end_with_the_server()
    # Whatever a library prints goes to standard error: this channel is for answers.
    channel = os.fdopen(os.dup(1), "w", encoding="utf-8", newline="\n")
    os.dup2(2, 1)
    tasks: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(tasks,), daemon=True).start()
    # An error here is ignored: the same error is raised and reported when a task needs it.
    with suppress(Exception):
        _warm_up()
    limit_memory(float(os.environ.get(MEMORY, "inf")))
    _send({"ready": True}, channel)
    while True:
        _answer(json.loads(tasks.get()), channel, tasks)


def _end_with_the_server() -> None:
    """Have the system end this process with its server, even one that computes without listening (Linux only)."""
    if sys.platform == "linux":
        import ctypes

        # PR_SET_PDEATHSIG, prctl(2); without it the thread below does the same as soon as it gets a turn.
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def _listen(tasks: queue.SimpleQueue[str]) -> None:
    """Take tasks as they come; without a server to answer to, end at once, even in the middle of one."""
    for line in sys.stdin:
        tasks.put(line)
    os._exit(0)


def _warm_up() -> None:
    """Import what a report needs, so that the first person need not wait for it."""
    import polars as pl

    from heldout.api.compare import compare
    from heldout.api.evaluate import evaluate
    from heldout.show.html import render_page

    cases = pl.DataFrame({"truth": ["a", "b", "b", "a"], "score": [0.2, 0.9, 0.4, 0.6]})
    evaluation = evaluate(cases, truth="truth", score="score", positive="b")
    render_page(evaluation.page_blocks(), title="")
    render_page(compare(evaluation, evaluation).page_blocks(), title="")


def _answer(task: dict[str, Any], channel: IO[str], replies: queue.SimpleQueue[str]) -> None:
    from heldout.errors import FileError

    def room(size: int) -> None:
        _send({"room": size}, channel)
        refused = json.loads(replies.get())["room"]
        if refused is not None:
            raise FileError(refused[0], hint=refused[1])

    try:
        answer = perform(task, lambda text: _send({"stage": text}, channel), room)
    except Exception:  # noqa: BLE001 - a fault of ours must not take the worker with it
        traceback.print_exc()
        answer = {"fault": True}
    _send(answer, channel)


def _send(message: dict[str, Any], channel: IO[str]) -> None:
    # ASCII, because a broken file can hold half a character, which UTF-8 cannot.
    channel.write(json.dumps(message) + "\n")
    channel.flush()


# Unpacking what was sent, up to a limit: a small file must not become one that fills the disk or the memory.

PIECE = 1 << 20
# zlib's name for a stream with the header of gzip (zlib manual, inflateInit2).
GZIP_WINDOW = 16 + zlib.MAX_WBITS


# Is told how many bytes are about to be written, and raises a FileError where there is no room for them.
Room = Callable[[int], None]


def unpack(path: Path, most: int, shown: str, room: Room) -> int:
    """Unpack a gzip-compressed file in its place, and refuse what holds more than `most` bytes; its size then."""
    if _head(path).startswith(GZIP_MAGIC):
        beside = path.with_name(f"unpacked-{path.name}")
        try:
            _inflate(path, beside, most, shown, room)
            beside.replace(path)
        finally:
            beside.unlink(missing_ok=True)
        if _head(path).startswith(GZIP_MAGIC):
            raise FileError(f"{shown} is gzip-compressed twice.", hint="unpack it once with gunzip before sending it.")
    fmt = format_by_magic(_head(path))
    # By what the file declares alone; where that cannot be read, the reader says what is wrong.
    if fmt is not None and fmt.unpacked_bytes is not None and fmt.unpacked_bytes(path) > most:
        raise _too_much(shown, most)
    return path.stat().st_size


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(16)


def _inflate(packed: Path, target: Path, most: int, shown: str, room: Room) -> None:
    """Write what the file unpacks to, never holding more than one piece of it."""
    written, whole, unpacker = 0, False, zlib.decompressobj(GZIP_WINDOW)
    try:
        with packed.open("rb") as source, target.open("xb") as out:
            while rest := source.read(PIECE):
                if whole:
                    # Members may follow each other, and zeros may fill the last block.
                    rest = rest.lstrip(b"\0")
                while rest:
                    piece = unpacker.decompress(rest, PIECE)
                    written += len(piece)
                    if written > most:
                        raise _too_much(shown, most)
                    room(len(piece))
                    out.write(piece)
                    whole, rest = unpacker.eof, unpacker.unconsumed_tail
                    if whole:
                        rest = unpacker.unused_data.lstrip(b"\0")
                        unpacker = zlib.decompressobj(GZIP_WINDOW)
    except zlib.error as error:
        raise _broken(shown, f"cannot be unpacked ({error})") from None
    if not whole:
        raise _broken(shown, "ends too early")


def _too_much(shown: str, most: int) -> FileError:
    return FileError(
        f"{shown} unpacks to more than {size_words(most)}, which is the most that is taken here.",
        hint="send fewer rows or columns, or start the server with a larger --max-upload.",
    )


def _broken(shown: str, how: str) -> FileError:
    return FileError(f"{shown} is gzip-compressed but {how}.", hint=CHECK_GZIP)


# A first look into a file: its columns, some of their values, and which column is probably which.

# Values are shown and classes suggested from the first rows; the report reads them all.
SEEN_ROWS = 100_000
FIRST_ROWS = 3
MOST_CLASSES = 30
LONGEST_VALUE = 200
LONGEST_NAMES = 2_000_000


def look(path: Path, most_columns: int) -> dict[str, Any]:
    """What the page needs to ask which column is which, as JSON has it."""
    frame = read_table(path)
    if len(frame.columns) > most_columns:
        raise FileError(
            f"{path.name} has {len(frame.columns):,} columns, and the page shows {most_columns:,} at most.",
            hint="leave out those that are not needed, or use heldout evaluate.",
        )
    if sum(map(len, frame.columns)) > LONGEST_NAMES:
        raise FileError(
            f"The names of the columns of {path.name} are too long to be shown.",
            hint="check that its first line holds the names of the columns, and nothing else.",
        )
    head = frame.head(SEEN_ROWS)
    columns = [_column(head.get_column(name)) for name in frame.columns]
    suggested = suggest_columns(frame.columns)
    if suggested["id"] is not None and frame.get_column(suggested["id"]).is_duplicated().any():
        suggested["id"] = None
    return {"rows": frame.height, "columns": columns, "guesses": guesses(head), "suggested": suggested}


def guesses(frame: pl.DataFrame) -> dict[str, Any]:
    """Which column is which, as the command line takes it that is not told; weights and groups it is never.

    >>> import polars as pl
    >>> found = guesses(pl.DataFrame({"id": [1, 2], "y_true": ["no", "yes"], "p_yes": [0.2, 0.9]}))
    >>> {role: found[role] for role in ("truth", "predicted", "score", "positive")}
    {'truth': 'y_true', 'predicted': None, 'score': ['p_yes'], 'positive': 'yes'}
    """
    names = frame.columns
    roles: dict[str, Any] = {
        role: _only(n for n in names if is_usual(role, n)) for role in ("truth", "predicted", "fold")
    }
    if roles["fold"] is not None and frame.get_column(roles["fold"]).has_nulls():
        roles["fold"] = None
    # Cases of repeated folds are predicted several times, and are one case for it.
    named = [name for name in names if name.strip().casefold() in CASE_NAMES]
    roles |= {"weight": None, "group": None, "id": _only(named) if roles["fold"] is not None else None}
    labels = _labels(frame.get_column(roles["truth"])) if roles["truth"] else []
    free = [name for name in names if may_be_score(name) and frame.schema[name].is_numeric()]
    roles["score"] = score_columns([name for name in free if name not in roles.values()], labels)
    positive = choose_positive(None, labels)
    roles["positive"] = None if positive is None else str(positive)
    return roles


def _only(matching: Any) -> str | None:
    names = list(matching)
    return names[0] if len(names) == 1 else None


def _labels(column: pl.Series) -> list[Any]:
    values = column.drop_nulls().unique(maintain_order=True)
    # Whole numbers that were stored as decimals are classes too.
    if values.dtype.is_float() and (values == values.round()).all():
        values = values.cast(int)
    return values.to_list() if len(values) <= MOST_CLASSES else []


def _column(column: pl.Series) -> dict[str, Any]:
    numeric = column.dtype.is_numeric()
    return {
        "name": column.name,
        "kind": "numbers" if numeric else "yes or no" if str(column.dtype) == "Boolean" else "text",
        "first": [_shown(value) for value in column.head(FIRST_ROWS).to_list()],
        "values": [_shown(value) for value in _labels(column) if not isinstance(value, float)],
    }


def _shown(value: object) -> str:
    return "" if value is None else str(value)[:LONGEST_VALUE]


# Hints in the words of the form: the library speaks of flags and arguments, and here are none.

FIELDS = {
    "truth": "True class", "predicted": "Predicted class", "score": "Scores", "positive": "Positive class",
    "threshold": "Threshold", "costs": "Costs of the errors", "slices": "Slices", "slice": "Slices", "weight": "Weight",
    "group": "Group", "fold": "Fold", "id": "Id", "level": "Level of the intervals",
}  # fmt: skip
NAMES = "|".join(FIELDS)
WHOLE = {
    r"missing='drop'(?: \(--missing drop\))?": "“drop” under “Rows with missing values”",
    r"\(paired=False, --different-cases\)": "(tick “The two files are about different cases”)",
    r" \(in Python [^)]*\)": "",
}
# `score= (--score COLUMN)`, `(score=, --score)`, `--score COLUMN`, `score=`.
BOTH = re.compile(rf"\b(?P<a>{NAMES})= \(--(?P=a)(?: [A-Z]+)?\)|(?<=\()(?P<b>{NAMES})=, --(?P=b)(?: [A-Z]+)?(?=\))")
ONE = re.compile(rf"--(?P<a>{NAMES})(?![\w-])(?: [A-Z]+\b)?|\b(?P<b>{NAMES})=(?=[\s.,;)])")


def in_the_form(hint: str) -> str:
    """The hint, with fields for flags and arguments.

    >>> in_the_form("name the column with fold= (--fold), or --score COLUMN (in Python score=).")
    'name the column with “Fold”, or “Scores”.'
    >>> in_the_form("send fewer rows, or start the server with a larger --max-upload.")
    'send fewer rows, or start the server with a larger --max-upload.'
    """
    for pattern, words in WHOLE.items():
        hint = re.sub(pattern, words, hint)
    for known in (BOTH, ONE):
        hint = known.sub(lambda found: f"“{FIELDS[found['a'] or found['b']]}”", hint)
    return hint


# What a worker does with a file: a first look, or the reports, each written to a folder of its own.


Say = Callable[[str], None]
FORMS = ("html", "json", "tex", "md")


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
    """Write the report of a file and, where there are others beside it, the comparison of all."""
    folder = Path(task["folder"])
    folder.mkdir()
    evaluation = _evaluated(task["file"], say)
    say("Writing the report")
    _write(evaluation, folder, "report", room)
    if not task.get("beside"):
        return {}
    every = [*(_evaluated(file, say) for file in task["beside"]), evaluation]
    say("Comparing the two" if len(every) == 2 else f"Comparing the {len(every)}")
    from heldout.api.compare import compare

    try:
        paired = False if task["file"]["choices"]["different_cases"] else None
        names = _tell_apart([each.source.name for each in every])
        comparison = compare(*every, names=names, paired=paired, level=evaluation.level)
    except HeldoutError as error:
        # Each has its report, whether or not they can be compared.
        return {"apart": [error.what, in_the_form(error.hint)]}
    say("Writing the comparison")
    _write(comparison, folder, "comparison", room)
    return {}


def renamed(error: HeldoutError, path: Path, shown: str) -> HeldoutError:
    """The same error with the name that the person knows the file by."""
    texts = [_told(text, path, shown) for text in (error.what, error.hint)]
    return type(error)(texts[0], hint=texts[1])


def _evaluated(file: dict[str, Any], say: Say) -> Evaluation:
    """The evaluation of a file, by the chosen columns and by no others."""
    from heldout.api.evaluate import evaluate
    from heldout.files import read_table
    from heldout.predictions.source import NamedFrame

    path, shown, choices = Path(file["path"]), file["name"], Choices.of(file["choices"])
    say(f"Reading {shown}")
    try:
        frame = read_table(path, columns=list(dict.fromkeys([*choices.columns(), *_noted(path)])))
        say(f"Measuring {shown}")
        options = {name: value for name, value in choices.options().items() if value is not None}
        # The person saw every column: one that was not chosen is not to be guessed.
        return evaluate(NamedFrame(frame, shown), **{"fold": NO_COLUMN, **options})
    except HeldoutError as error:
        raise renamed(error, path, shown) from None


def _noted(path: Path) -> list[str]:
    """Columns that the library speaks of where nobody chose them: weights, folds and what may be groups."""
    from heldout.files import column_names
    from heldout.predictions.column_roles import may_be_group

    names = column_names(path)
    return [name for name in names if is_usual("weight", name) or is_usual("fold", name) or may_be_group(name)]


def _told(text: str, path: Path, shown: str) -> str:
    """A sentence about the file, under the name that the person knows.

    The name on the disk holds 64 random bits, so it stands in a sentence only where the reader of files put it.
    """
    return text.replace(str(path), shown).replace(path.name, shown)


def _tell_apart(names: list[str]) -> list[str]:
    """The names, with their places where two are the same.

    >>> _tell_apart(["a.csv", "b.csv", "a.csv"])
    ['a.csv (first)', 'b.csv', 'a.csv (third)']
    """
    places = ("first", "second", "third", *(f"{place}th" for place in range(4, len(names) + 1)))
    return [f"{name} ({place})" if names.count(name) > 1 else name for name, place in zip(names, places, strict=False)]


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
        return {"wrong": ["There is not enough memory for this file.", SEND_LESS]}


if __name__ == "__main__":
    main()
