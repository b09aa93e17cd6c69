"""Putting text where it belongs: whole files or none, and a standard output that may be narrow or gone."""

from __future__ import annotations

import codecs
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from pathlib import Path
from typing import TextIO

from heldout.errors import FileError


class Nearest:
    """What stands for a character that a terminal's encoding lacks: one of the same width."""

    NAME = "heldout.nearest"
    LOOKS_LIKE = str.maketrans("–—−·…●├┤┊─│×≤≥‘’“”▏▎▍▌▋▊▉█░▒▓", "---.~*||:-|x<>''\"\"||||####.:#")

    @classmethod
    def install(cls) -> None:
        """Let standard output replace what it cannot show, instead of failing."""
        codecs.register_error(cls.NAME, cls.replace)
        reconfigure = getattr(sys.stdout, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors=cls.NAME)

    @classmethod
    def replace(cls, error: UnicodeError) -> tuple[str, int]:
        """Python's protocol: the replacement, and where to go on."""
        if not isinstance(error, UnicodeEncodeError):
            raise error
        shown = error.object[error.start : error.end].translate(cls.LOOKS_LIKE)
        return shown.encode("ascii", "replace").decode("ascii"), error.end


@contextmanager
def standard_output() -> Iterator[TextIO]:
    """Standard output, flushed at the end; a reader that has gone (head, less) is no error."""
    if sys.stdout is None:
        raise FileError("Standard output is closed.", hint="leave it open, or write to a file with --json FILE.")
    try:
        yield sys.stdout
        sys.stdout.flush()
    except BrokenPipeError:
        end_quietly()
    except OSError as error:
        end_quietly()
        raise FileError(
            f"Standard output cannot be written: {error.strerror or error}.",
            hint="check where it goes to, such as the disk of that file.",
        ) from None


@contextmanager
def learners_may_print() -> Iterator[None]:
    """Send what a learner prints, here or in a worker, to standard error: standard output is for the answer."""
    if sys.stdout is None or sys.stderr is None:
        yield
        return
    try:
        out, err = sys.stdout.fileno(), sys.stderr.fileno()
    except (OSError, ValueError):
        # Under a test runner, or where there is no real file behind.
        with redirect_stdout(sys.stderr):
            yield
        return
    sys.stdout.flush()
    held = os.dup(out)
    try:
        os.dup2(err, out)
        with redirect_stdout(sys.stderr):
            yield
    finally:
        os.dup2(held, out)
        os.close(held)


def end_quietly() -> None:
    """Let Python find nothing to complain of when it closes standard output."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def tell(text: str) -> None:
    """Write a line to standard error, if anybody holds it open."""
    if sys.stderr is not None:
        with suppress(OSError):
            sys.stderr.write(f"{text}\n")


def print_document(text: str) -> None:
    """Write a document to standard output: in UTF-8, as its file would be, unless a person is looking."""
    with standard_output() as output:
        buffer = getattr(output, "buffer", None)
        if buffer is None or output.isatty():
            output.write(text)
        else:
            output.flush()
            buffer.write(as_bytes(text))


def as_bytes(text: str) -> bytes:
    """UTF-8, with half a surrogate pair, which has no form there, spelled out."""
    return text.encode("utf-8", "backslashreplace")


def write_files(files: dict[str, tuple[str, str]]) -> None:
    """Write the text of each option to its path: all of them, or none.

    Each goes to a file beside its target first, which then takes the target's place, so that no reader ever
    finds half a document.
    """
    staged: list[tuple[str, Path, Path | None, bytes]] = []
    try:
        for number, (option, (place, text)) in enumerate(files.items()):
            said, target, data = f"--{option} cannot write {place}", Path(os.path.realpath(place)), as_bytes(text)
            with _explained(said):
                staged.append((said, target, _staged(target, data, number), data))
        for said, target, beside, data in staged:
            with _explained(said):
                _put(target, beside, data)
    finally:
        for _, _, beside, _ in staged:
            if beside is not None:
                beside.unlink(missing_ok=True)


@contextmanager
def _explained(said: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise FileError(
            f"{said}: {error.strerror or error}.",
            hint="choose another place, or check that you may write there and that the disk is not full.",
        ) from None


def _staged(target: Path, data: bytes, number: int) -> Path | None:
    """The data in a new file beside its target; None where the target must be written in place."""
    if target.exists() and not target.is_file():
        return None  # /dev/null, or a pipe: to be written to, not replaced
    beside = target.parent / f".heldout-{os.getpid()}-{number}.tmp"
    try:
        with beside.open("xb") as file:
            file.write(data)
    except PermissionError:
        if target.exists():
            return None  # a folder that is closed, with a file in it that may be open
        raise
    except OSError:
        beside.unlink(missing_ok=True)
        raise
    if target.exists():
        shutil.copymode(target, beside)
    return beside


def _put(target: Path, beside: Path | None, data: bytes) -> None:
    if beside is not None:
        try:
            beside.replace(target)
        except OSError:
            # A file that is mounted by itself, as containers do, can be written but not replaced.
            if not target.exists():
                raise
        else:
            return
    target.write_bytes(data)
