"""Files that people sent: each under an address that nobody can guess, in a folder that goes with it."""

from __future__ import annotations

import asyncio
import itertools
import logging
import re
import secrets
import shutil
import sys
import time
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import IO, Any

from starlette.requests import ClientDisconnect, Request

from heldout.arguments import require
from heldout.errors import FileError, OptionError
from heldout.files.formats import known_endings
from heldout.files.input_stream import WRITE_TO_THE_END, inner_ending
from heldout.show.escape import visible
from heldout.web.choices import MANY_COLUMNS, ONE_COLUMN, TEXT_SETTINGS, Choices
from heldout.web.jobs import Job, Room, Words, Workers
from heldout.web.limits import Limits, size_words

LONGEST = 80
NAMELESS = "unnamed file"


def shown_name(given: str) -> str:
    r"""The last part of a name, on one line and not longer than a reader reads.

    >>> shown_name("../../etc/passwd"), shown_name("C:\\x\\churn.csv"), shown_name("a\x00b.csv")
    ('passwd', 'churn.csv', 'a\\x00b.csv')
    """
    last = re.split(r"[/\\]", given.strip())[-1].strip()
    return shortened(visible(last)) or NAMELESS


def shortened(text: str, most: int = LONGEST) -> str:
    """The text without its middle where it is longer than `most`.

    >>> shortened("a" * 100, 9)
    'aaaa…aaaa'
    """
    half = (most - 1) // 2
    return text if len(text) <= most else f"{text[:half]}…{text[-half:]}"


def safe_ending(given: str) -> str:
    """The part of a name that says what the file holds, if it is one that we know; nothing else of it is kept.

    >>> safe_ending("Churn.CSV.gz"), safe_ending("../x.parquet"), safe_ending("x.csv/../../y")
    ('.csv', '.parquet', '')
    """
    ending = inner_ending(Path(re.split(r"[/\\]", given.strip())[-1] or "x"))
    return next((known for known in known_endings() if known == ending), "")


def download_name(*shown: str) -> str:
    """A name for a download, in letters that every system takes.

    >>> download_name("Umsatz <2024>.csv", "b.parquet")
    'Umsatz-2024-and-b'
    """
    stems = [re.sub(r"[^A-Za-z0-9]+", "-", name.partition(".")[0]).strip("-")[:40] for name in shown]
    return "-and-".join(stem for stem in stems if stem) or "report"


LOG = logging.getLogger(__name__)


@dataclass(eq=False)
class Upload:
    """One file, what is known of it, and the report that was made of it last.

    `last` is the last of the files that came with it and are compared. Of its bytes on the disk, `size` are the file,
    `reported` the report, and `written` what a worker is writing.
    """

    id: str
    name: str
    path: Path
    beside: str | None = None
    size: int = 0
    written: int = 0
    reported: int = 0
    arriving: bool = False
    unreadable: bool = False
    touched: float = field(default_factory=time.monotonic)
    seen: dict[str, Any] | None = None
    choices: Choices | None = None
    job: Job | None = None
    following: asyncio.Task[None] | None = None
    report: Path | None = None
    apart: tuple[str, str] | None = None
    compared: list[str] = field(default_factory=list)
    made: int = 0
    models: int = 1
    last: str = ""
    trusted: bool = False

    @property
    def folder(self) -> Path:
        """Where everything of it lies."""
        return self.path.parent

    @property
    def held(self) -> int:
        """All bytes that lie there."""
        return self.size + self.written + self.reported

    @property
    def busy(self) -> bool:
        """Whether a worker has it, or will."""
        return self.following is not None and not self.following.done()

    @property
    def names(self) -> list[str]:
        """The names of its columns."""
        return [column["name"] for column in (self.seen or {}).get("columns", [])]


# What the form shows at first: what was chosen last, what was chosen for the other file, or a guess.

SETTINGS = {part.name: part.default for part in fields(Choices) if part.name in {*TEXT_SETTINGS, "different_cases"}}


def prefilled(upload: Upload, first: Upload | None) -> dict[str, Any]:
    """The values of the form, with columns by name."""
    if upload.choices is not None:
        return upload.choices.to_dict()
    seen = upload.seen or {}
    guessed: dict[str, Any] = {**SETTINGS, "slices": [], **seen.get("guesses", {})}
    if first is None or first.choices is None:
        return guessed
    # Two files are matched by what names their cases; the rows of one need no id.
    guessed["id"] = seen.get("suggested", {}).get("id")
    # A second file is made like the first, as a rule: what its columns allow is taken over.
    choices, names = first.choices.to_dict(), set(upload.names)
    for role in ONE_COLUMN:
        if choices[role] in names or (choices[role] is None and role not in ("truth", "id")):
            guessed[role] = choices[role]
    if guessed["id"] not in first.names:
        guessed["id"] = None
    for role in MANY_COLUMNS:
        if choices[role] and names.issuperset(choices[role]):
            guessed[role] = list(choices[role])
    if not guessed["predicted"] and not guessed["score"]:
        guessed |= {role: (upload.seen or {})["guesses"][role] for role in ("predicted", "score")}
    return guessed | {name: choices[name] for name in TEXT_SETTINGS}


class FullError(FileError):
    """There is no room for another file."""


class BusyError(OptionError):
    """A file is being worked on already."""


class Uploads:
    """All files that are kept; each is found by its id only, and nothing lists them."""

    def __init__(self, folder: Path, limits: Limits, workers: Workers) -> None:
        self.folder = folder
        self.limits = limits
        self.workers = workers
        self._by_key: dict[str, Upload] = {}
        # A removed file takes room until its folder is gone.
        self._stored: set[Upload] = set()

    def __len__(self) -> int:
        return len(self._by_key)

    @property
    def size(self) -> int:
        """All bytes that are kept: files, what they unpack to, and reports."""
        return sum(each.held for each in self._stored)

    def find(self, key: str | None) -> Upload | None:
        """The upload with that id, which then counts as used."""
        upload = self._by_key.get(key or "")
        if upload is not None:
            upload.touched = time.monotonic()
            first = self._by_key.get(upload.beside or "")
            if first is not None:
                first.touched = upload.touched
        return upload

    def new(self, name: str, beside: str | None = None) -> Upload:
        """A place for a file that is about to come."""
        self._check_places(1)
        key = secrets.token_urlsafe(24)
        folder = self.folder / secrets.token_hex(16)
        folder.mkdir(mode=0o700)
        # Of the client's name only a known ending is used: the folder and the name are ours.
        path = folder / f"predictions-{secrets.token_hex(8)}{safe_ending(name)}"
        upload = Upload(key, shown_name(name), path, beside if beside in self._by_key else None)
        self._by_key[key] = upload
        self._stored.add(upload)
        return upload

    def adopt(self, file: Path) -> Upload:
        """A file that the person who started the server named: used where it lies, and never changed."""
        upload = self.new(file.name)
        upload.trusted = True
        try:
            upload.path.symlink_to(file.resolve())
        except OSError:
            # Some systems keep links for administrators.
            shutil.copyfile(file, upload.path)
        return upload

    def grow(self, upload: Upload, size: int) -> None:
        """Take note of so many more bytes of a file, if there is room."""
        self._check_room(size)
        upload.size += size

    def look(self, upload: Upload) -> None:
        """Have a first look into a file, to ask which column is which."""
        self._check_places(0)
        task = {
            "kind": "look",
            "path": str(upload.path),
            "name": upload.name,
            "unpacked": sys.maxsize if upload.trusted else self.limits.unpacked,
            "columns": self.limits.columns,
        }
        self._begin(upload, task)

    def _room(self, upload: Upload) -> Room:
        """What a worker asks before it writes."""

        def take(size: int) -> Words | None:
            if not upload.trusted:
                try:
                    self._check_room(size)
                except FullError as error:
                    return error.what, error.hint
                upload.written += size
            return None

        return take

    def _check_places(self, more: int) -> None:
        """Only files that are there whole, and of use, take a place; of the rest, words are kept, and not for long."""
        lost = [each for each in self._by_key.values() if each.unreadable]
        for upload in lost[: -self.limits.kept_files]:
            self._by_key.pop(upload.id)
            if not upload.held:
                self._stored.discard(upload)
        places = sum(not each.arriving for each in self._by_key.values()) - min(len(lost), self.limits.kept_files)
        if places + more > self.limits.kept_files:
            raise self._full(f"{places:,} files")

    def _check_room(self, size: int) -> None:
        total = self.size
        if total + size > self.limits.kept:
            raise self._full(size_words(total))

    def judge(self, upload: Upload, choices: Choices) -> None:
        """Have the report made, and the comparison with the files that it stands beside."""
        # Not a new job for the old one: its worker would have to be killed, and others wait for workers, too.
        if upload.busy:
            raise BusyError(
                f"{upload.name} is being worked on.",
                hint="load the page again to see how far it is; there it can be cancelled.",
            )
        upload.choices, upload.last = choices, ""
        upload.made += 1
        task = {
            "kind": "reports",
            "folder": str(upload.folder / f"report-{upload.made}"),
            "file": _described(upload, choices),
            "beside": self._beside(upload, choices),
        }
        self._begin(upload, task)

    def _beside(self, upload: Upload, choices: Choices) -> list[dict[str, Any]]:
        """The files to compare with, those of them that are still there; their rows are matched by the same id.

        These are the first one and those that were put beside it earlier and could be compared.
        """
        first = self.find(upload.beside)
        if first is None or first.choices is None:
            return []
        earlier = itertools.takewhile(lambda each: each is not upload, self.others(first))
        fit = [each for each in earlier if each.choices is not None and each.apart is None and not each.unreadable]
        like = [each for each in fit if each.choices and each.choices.different_cases == choices.different_cases]
        return [_described(each, _with_id(each, choices.id)) for each in (first, *like)]

    def others(self, first: Upload) -> list[Upload]:
        """The files that were put beside this one, in the order in which they came."""
        return [each for each in self._by_key.values() if each.beside == first.id]

    def waiting(self, upload: Upload) -> list[Upload]:
        """The files that came with this one and of which nobody has said yet which column is which."""
        first = self._by_key.get(upload.beside or "", upload)
        return [each for each in self.others(first) if each is not upload and not (each.choices or each.unreadable)]

    async def cancel(self, upload: Upload) -> None:
        """Stop working on a file."""
        if upload.job is not None and upload.following is not None:
            self.workers.cancel(upload.job)
            await upload.following

    async def remove(self, upload: Upload) -> None:
        """Forget a file and everything made of it, once no process writes there any more."""
        self._by_key.pop(upload.id, None)
        await self.cancel(upload)
        if await asyncio.to_thread(remove_folder, upload.folder):
            self._stored.discard(upload)

    async def sweep(self) -> None:
        """Remove what nobody has looked at for a while; what still arrives has a limit of its own."""
        oldest = time.monotonic() - self.limits.idle
        kept = [each for each in self._by_key.values() if each.trusted or each.arriving]
        for upload in [each for each in self._by_key.values() if each.touched < oldest and each not in kept]:
            await self.remove(upload)

    def _begin(self, upload: Upload, task: dict[str, Any]) -> None:
        upload.job = self.workers.submit(task, self._room(upload))
        upload.following = asyncio.create_task(self._follow(upload, upload.job))

    async def _follow(self, upload: Upload, job: Job) -> None:
        """Take over what a worker found."""
        await job.finished.wait()
        if job.task["kind"] == "look":
            await self._seen(upload, job)
        else:
            await self._reported(upload, job)
            if job.state == "done":
                await self._judge_waiting(upload)

    async def _judge_waiting(self, upload: Upload) -> None:
        """Begin the reports of the files that came with this one, by the same columns as far as they have them."""
        for other in self.waiting(upload):
            if other.following is not None:
                await other.following
            chosen = prefilled(other, self.find(other.beside))
            if other.seen is not None and chosen["truth"] and (chosen["predicted"] or chosen["score"]):
                self.judge(other, Choices.of(chosen))
                upload.last = other.id

    async def _seen(self, upload: Upload, job: Job) -> None:
        """Take over what a first look found; a file that cannot be read is of no use, and gives its room back."""
        if job.state == "done":
            upload.seen = job.answer
            upload.size = 0 if upload.trusted else job.answer["size"]
            upload.written = 0
        else:
            upload.unreadable = True
            if await asyncio.to_thread(remove_folder, upload.folder):
                upload.size = upload.written = 0

    async def _reported(self, upload: Upload, job: Job) -> None:
        """Take over a report in the place of the last; one that was not finished goes away."""
        folder = Path(job.task["folder"])
        old = folder
        if job.state == "done":
            old, upload.report = upload.report or folder, folder
            upload.apart = tuple(job.answer["apart"]) if "apart" in job.answer else None
            upload.models = 1 + len(job.task["beside"])
            first = self._by_key.get(upload.beside or "")
            if first is not None and upload.id not in first.compared:
                first.compared.append(upload.id)
        gone = old == upload.report or await asyncio.to_thread(remove_folder, old)
        if job.state == "done":
            upload.reported = (0 if gone else upload.reported) + upload.written
            upload.written = 0
        elif gone:
            upload.written = 0

    def _full(self, amount: str) -> FullError:
        return FullError(
            f"This server keeps {amount} for its users now, and takes no more.",
            hint=f"remove a file that you no longer need; those that nobody opened for {self.limits.idle / 60:,.0f} "
            "minutes go by themselves.",
        )


def remove_folder(folder: Path) -> bool:
    """Delete a folder; whether it is gone, and otherwise the terminal says why."""
    try:
        shutil.rmtree(folder)
    except FileNotFoundError:
        return not folder.exists()
    except OSError as error:
        LOG.warning("%s cannot be removed: %s.", folder, error.strerror or error)
        return False
    return True


def _with_id(upload: Upload, key: str | None) -> Choices:
    choices = require(upload.choices, "a file is compared by its columns")
    return replace(choices, id=key) if key in upload.names else choices


def _described(upload: Upload, choices: Choices) -> dict[str, Any]:
    return {"path": str(upload.path), "name": upload.name, "choices": choices.to_dict()}


# Taking a file in: streamed to disk, never held in memory, and refused as soon as it is too large.


# Bytes that are gathered before they are written, and that are read and thrown away before a refusal is sent:
# a browser that is still sending would not read it.
PIECE = 1 << 20
DRAINED = 64 << 20


class TooLargeError(FileError):
    """More bytes than the server takes."""


class StalledError(FileError):
    """Nothing has come for a while, or the sender has gone."""


async def receive(request: Request, uploads: Uploads, upload: Upload) -> None:
    """Write the body of a request to the upload's file."""
    upload.arriving = True
    try:
        await _take(request, uploads, upload)
    finally:
        upload.arriving, upload.touched = False, time.monotonic()


async def _take(request: Request, uploads: Uploads, upload: Upload) -> None:
    limits, clock = uploads.limits, asyncio.get_running_loop().time
    declared = request.headers.get("content-length", "")
    if declared.isdigit() and int(declared) > limits.upload:
        raise _too_large(upload.name, limits.upload)
    begun = clock()
    with upload.path.open("xb") as file:
        held = bytearray()
        try:
            async with asyncio.timeout(limits.stalled) as patience:
                async for chunk in request.stream():
                    if upload.size + len(chunk) > limits.upload:
                        raise _too_large(upload.name, limits.upload)
                    uploads.grow(upload, len(chunk))
                    # Neither pauses nor a byte now and then: a place is not to be held for ever.
                    patience.reschedule(min(clock() + limits.stalled, begun + limits.arrival(upload.size)))
                    held += chunk
                    if len(held) >= PIECE:
                        await _write(file, held, upload.name)
                        held = bytearray()
        except (TimeoutError, ClientDisconnect):
            raise StalledError(
                f"{upload.name} did not arrive whole, or came too slowly.", hint="send it again."
            ) from None
        await _write(file, held, upload.name)
    if not upload.size:
        raise FileError(
            f"{upload.name} is empty.",
            hint=WRITE_TO_THE_END,
        )


async def _write(file: IO[bytes], data: bytearray, name: str) -> None:
    try:
        # The disk may be slow, and others must not wait for it.
        await asyncio.to_thread(file.write, data)
    except OSError as error:
        raise FileError(
            f"{name} cannot be stored: {error.strerror or error}.",
            hint="make room where temporary files are kept (TMPDIR), or send a smaller file.",
        ) from None


async def drain(request: Request) -> None:
    """Read on for a while and throw it away, unless the sender waits for a word before it sends."""
    if "expect" in request.headers:
        return
    left = DRAINED
    try:
        async with asyncio.timeout(10):
            async for chunk in request.stream():
                left -= len(chunk)
                if left < 0:
                    return
    except (TimeoutError, ClientDisconnect, RuntimeError):
        return


def too_large(most: int) -> tuple[str, str]:
    """What is said of a file that is too large, after its name, and what to do: by the server and by the page."""
    return (
        f"is larger than {size_words(most)}, which is the most that is taken here.",
        "send fewer rows or columns, a Parquet file, or start the server with a larger --max-upload.",
    )


def _too_large(name: str, most: int) -> TooLargeError:
    what, hint = too_large(most)
    return TooLargeError(f"{name} {what}", hint=hint)
