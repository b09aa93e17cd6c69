"""Taking a file in: streamed to disk, never held in memory, and refused as soon as it is too large."""

from __future__ import annotations

import asyncio
import time
from typing import IO

from starlette.requests import ClientDisconnect, Request

from heldout.errors import FileError
from heldout.web.limits import size_words
from heldout.web.uploads import Upload, Uploads

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
            hint="check that whatever writes it has finished; a header and at least one row are needed.",
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
