"""What each address answers: a page to a person, JSON to the script on it, and never a traceback."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, RedirectResponse, Response

from heldout.errors import HeldoutError, OptionError
from heldout.web.choices import Choices
from heldout.web.computing import FORMS
from heldout.web.fault import FAULT
from heldout.web.job import CANCELLED
from heldout.web.limits import size_words
from heldout.web.names import download_name
from heldout.web.pages import page
from heldout.web.prefilled import prefilled
from heldout.web.receiving import StalledError, TooLargeError, drain, receive, too_large
from heldout.web.served import served
from heldout.web.uploads import BusyError, FullError, Upload, Uploads

LONGEST_FORM = 1_000_000
KINDS = ("report", "comparison")
TYPES = {"html": "text/html", "json": "application/json", "tex": "application/x-tex", "md": "text/markdown"}
STATUS: dict[type[HeldoutError], int] = {StalledError: 408, BusyError: 409, TooLargeError: 413, FullError: 507}
WORDS = {
    404: ("There is nothing here, or not any more.", "files are removed when nobody has opened them for a while."),
    405: ("That cannot be done with this address.", "go back to the first page."),
}


async def home(request: Request) -> Response:
    """The first page: drop a file."""
    return _drop(_uploads(request), None)


async def second(request: Request) -> Response:
    """The page that takes another file, to be compared with this one."""
    first = _found(request)
    if first.choices is None:
        return RedirectResponse(f"/u/{first.id}", 303)
    return _drop(_uploads(request), first)


async def upload(request: Request) -> Response:
    """Take a file: its bytes are the body, its name is in the query."""
    uploads = _uploads(request)
    made = None
    try:
        made = uploads.new(request.query_params.get("name", ""), request.query_params.get("beside"))
        await receive(request, uploads, made)
        uploads.look(made)
    except HeldoutError as error:
        if made is not None:
            await uploads.remove(made)
        if not isinstance(error, StalledError):
            await drain(request)
        return _wrong(error)
    except BaseException:
        if made is not None:
            await uploads.remove(made)
        raise
    return JSONResponse({"next": f"/u/{made.id}"}, 201)


async def whereabouts(request: Request) -> Response:
    """Wherever a file has got to: still read, waiting for columns, at work, or reported."""
    found = _found(request)
    if found.busy:
        return HTMLResponse(page("working", upload=found))
    if found.seen is None:
        what, hint = _why(found)
        return HTMLResponse(page("wrong", status=422, what=what, hint=hint), 422)
    return RedirectResponse(_next(found), 303)


async def columns(request: Request) -> Response:
    """The form: which column is which."""
    uploads, found = _uploads(request), _found(request)
    if found.busy or found.seen is None:
        return RedirectResponse(f"/u/{found.id}", 303)
    first = uploads.find(found.beside)
    failed = found.job is not None and found.job.task["kind"] == "reports" and found.job.state != "done"
    values = {"upload": found, "seen": found.seen, "first": first, "chosen": prefilled(found, first)}
    # A wide file makes a long page, and others must not wait for it.
    return HTMLResponse(await asyncio.to_thread(page, "columns", **values, wrong=_why(found) if failed else None))


async def judge(request: Request) -> Response:
    """Begin a report with the columns that were chosen."""
    uploads, found = _uploads(request), _found(request)
    try:
        form = await _form(request, uploads.limits.stalled)
        if found.seen is None:
            raise OptionError("The file has not been read yet.", hint="wait until it has.")
        uploads.judge(found, Choices.read(form, found.names))
    except HeldoutError as error:
        return _wrong(error)
    return JSONResponse({"next": f"/u/{found.id}"}, 202)


async def state(request: Request) -> Response:
    """How far a file is, for the script that asks again and again."""
    uploads, found = _uploads(request), _found(request)
    job = found.job
    stage, seconds = "", 0.0
    if job is not None:
        stage, seconds = uploads.workers.stage(job), job.seconds
    return JSONResponse({"busy": found.busy, "stage": stage, "seconds": round(seconds, 1), "next": _next(found)})


async def cancel(request: Request) -> Response:
    """End the work on a file."""
    uploads, found = _uploads(request), _found(request)
    await uploads.cancel(found)
    if found.seen is None:
        await uploads.remove(found)
        return JSONResponse({"next": "/"})
    return JSONResponse({"next": _next(found)})


async def remove(request: Request) -> Response:
    """Remove a file and all that was made of it."""
    await _uploads(request).remove(_found(request))
    return JSONResponse({"next": "/"})


async def report(request: Request) -> Response:
    """The report of a file."""
    return await _document(request, "report")


async def comparison(request: Request) -> Response:
    """The comparison of a file with the one that it was put beside, or why there is none."""
    found = _found(request)
    if found.apart is not None:
        what, hint = found.apart
        values = {"upload": found, "first": _uploads(request).find(found.beside)}
        return HTMLResponse(page("apart", what=what, hint=hint, **values))
    return await _document(request, "comparison")


async def download(request: Request) -> Response:
    """A report or a comparison as a file."""
    found, uploads = _found(request), _uploads(request)
    kind, form = request.path_params["kind"], request.path_params["form"]
    path = None if found.report is None else found.report / f"{kind}.{form}"
    if kind not in KINDS or form not in FORMS or path is None or not await asyncio.to_thread(path.is_file):
        raise HTTPException(404)
    first = uploads.find(found.beside) if kind == "comparison" else None
    name = download_name(*([first.name] if first else []), found.name)
    return FileResponse(path, media_type=TYPES[form], filename=f"{name}.{form}")


async def refused(request: Request, error: Exception) -> Response:
    """An address that leads nowhere."""
    status = error.status_code if isinstance(error, HTTPException) else 500
    return _said(request, status, *WORDS.get(status, FAULT))


async def failed(request: Request, _: Exception) -> Response:
    """A fault of ours; the server writes to its terminal what happened."""
    return _said(request, 500, *FAULT)


def _said(request: Request, status: int, what: str, hint: str) -> Response:
    if "application/json" in request.headers.get("accept", ""):
        return JSONResponse({"what": what, "hint": hint}, status)
    return HTMLResponse(page("wrong", status=status, what=what, hint=hint), status)


def _uploads(request: Request) -> Uploads:
    held: Uploads = request.app.state.uploads
    return held


def _found(request: Request) -> Upload:
    found = _uploads(request).find(request.path_params["id"])
    if found is None:
        raise HTTPException(404)
    return found


def _drop(uploads: Uploads, first: Upload | None) -> Response:
    limits = uploads.limits
    most, minutes = size_words(limits.upload), round(limits.idle / 60)
    values = {"first": first, "most": limits.upload, "most_words": most, "minutes": minutes}
    return HTMLResponse(page("home", **values, too_large=too_large(limits.upload)))


def _next(upload: Upload) -> str:
    """Where a person goes on with a file."""
    here = f"/u/{upload.id}"
    job = upload.job
    if upload.busy or upload.seen is None:
        return here
    if upload.report is None or (job is not None and job.state != "done"):
        return f"{here}/columns"
    return f"{here}/{'comparison' if has_comparison(upload) else 'report'}"


def has_comparison(upload: Upload) -> bool:
    """Whether the last report came with a comparison, or with why there is none."""
    job = upload.job
    return upload.apart is not None or (job is not None and job.task.get("beside") is not None)


def _why(upload: Upload) -> tuple[str, str]:
    job = upload.job
    if job is None or job.cancelled:
        return CANCELLED
    return job.wrong


async def _document(request: Request, kind: str) -> Response:
    uploads, found = _uploads(request), _found(request)
    if found.report is None:
        return RedirectResponse(f"/u/{found.id}", 303)
    try:
        text = await asyncio.to_thread(_text, found.report / f"{kind}.html")
    except OSError:
        raise HTTPException(404) from None
    compared = [other for key in found.compared if (other := uploads.find(key)) is not None]
    bar = page(
        "bar", kind=kind, upload=found, first=uploads.find(found.beside), compared=compared,
        comparable=has_comparison(found),
    )  # fmt: skip
    document, policy = served(text, bar)
    return HTMLResponse(document, headers={"content-security-policy": policy})


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


async def _form(request: Request, patience: float) -> dict[str, Any]:
    """The JSON object in the body, which is small."""
    held = b""
    try:
        async with asyncio.timeout(patience):
            async for chunk in request.stream():
                held += chunk
                if len(held) > LONGEST_FORM:
                    raise OptionError("The form is too large.", hint="load the page again and choose there.")
        form = json.loads(held)
    except TimeoutError:
        raise StalledError("The form did not arrive whole.", hint="load the page again and choose there.") from None
    except (ValueError, RecursionError, ClientDisconnect) as error:
        if isinstance(error, HeldoutError):
            raise
        form = None
    if not isinstance(form, dict):
        raise OptionError("What was sent is not a form.", hint="load the page again and choose there.")
    return form


def _wrong(error: HeldoutError) -> Response:
    return JSONResponse({"what": error.what, "hint": error.hint}, STATUS.get(type(error), 422))
