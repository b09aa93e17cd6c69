"""What each address answers: a page to a person, JSON to the script on it, and never a traceback.

The server says which address leads here.
"""

from __future__ import annotations

import asyncio
import json
import re
from functools import cache
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, RedirectResponse, Response

from heldout.errors import HeldoutError, OptionError
from heldout.files.formats import titles_of_formats
from heldout.show.escape import visible
from heldout.web.choices import LOAD_AGAIN, Choices
from heldout.web.jobs import CANCELLED, FAULT
from heldout.web.limits import size_words
from heldout.web.uploads import (
    BusyError,
    FullError,
    StalledError,
    TooLargeError,
    Upload,
    Uploads,
    download_name,
    drain,
    prefilled,
    receive,
    shortened,
    too_large,
)
from heldout.web.worker import FORMS

if TYPE_CHECKING:
    from jinja2 import Environment


META = re.compile(
    r"""<meta\s+http-equiv=["']?Content-Security-Policy["']?\s+content=("[^"]*"|'[^']*')\s*/?>""", re.IGNORECASE
)
# The bar comes after the link that leads past everything before the report, which must be the first to be reached.
BODY = re.compile(r"<body\b[^>]*>(?:\s*<a class=\"heldout-skip\"[^>]*>[^<]*</a>)?", re.IGNORECASE)
STYLE = '<link rel="stylesheet" href="/static/bar.css"><link rel="icon" href="/static/icon.svg">'
# For a document that has no policy of its own: no script at all.
STRICT = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
OURS = {"style-src": "'self'", "img-src": "'self'"}
LAST = "; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"


def served(document: str, bar: str) -> tuple[str, str]:
    """The document with the bar, and the policy to send with it.

    A document says in its head which of its own scripts may run. Two policies must both allow a thing, and that one
    does not allow our style sheet, so it moves from the head into the header and takes it in.

    >>> served("<head></head><body><p>x</p></body>", "<nav></nav>")[0]
    '<head><link ...></head><body><nav></nav><p>x</p></body>'
    """
    head, end, rest = document.partition("</head>")
    meta = META.search(head)
    policy = STRICT
    if meta is not None:
        policy = unescape(meta[1][1:-1])
        head = head[: meta.start()] + head[meta.end() :]
    body = BODY.search(rest)
    if not end or body is None:
        return document, with_ours(policy)
    rest = rest[: body.end()] + bar + rest[body.end() :]
    return head + STYLE + end + rest, with_ours(policy)


def with_ours(policy: str) -> str:
    """A policy that also allows our style sheet and icon, and no frames around it.

    >>> with_ours("default-src 'none'; style-src 'sha256-x'").split("; ")[:3]
    ["default-src 'none'", "style-src 'sha256-x' 'self'", "img-src 'self'"]
    """
    rules: dict[str, str] = {}
    for rule in policy.split(";"):
        name, _, sources = rule.strip().partition(" ")
        if name and name not in ("base-uri", "form-action", "frame-ancestors"):
            rules[name] = sources.strip()
    for name, source in OURS.items():
        directives = rules.get(name, "")
        rules[name] = source if directives in ("", "'none'") else f"{directives} {source}"
    return "; ".join(f"{name} {sources}".strip() for name, sources in rules.items()) + LAST


# The pages of the application, each filled from a template that escapes whatever comes from a file.

HERE = Path(__file__).parent
STATIC = HERE / "static"


@cache
def _templates() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    templates = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters["shown"] = shown
    return templates


def shown(text: object, most: int = 80) -> str:
    r"""Text from a file on one line, not longer than a reader reads.

    >>> shown("a\nb"), shown(3)
    ('a\\nb', '3')
    """
    return shortened(visible(str(text)), most)


def page(name: str, **values: Any) -> str:
    """The page of that name.

    >>> "&lt;b&gt;" in page("wrong", status=404, what="<b>", hint="go back.")
    True
    """
    return _templates().get_template(f"{name}.html").render(**values)


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
    first = _find_upload(request)
    if first.choices is None:
        return RedirectResponse(f"/u/{first.id}", 303)
    return _drop(_uploads(request), first)


async def upload(request: Request) -> Response:
    """Take a file: its bytes are the body, its name is in the query."""
    uploads = _uploads(request)
    new = None
    try:
        new = uploads.new(request.query_params.get("name", ""), request.query_params.get("beside"))
        await receive(request, uploads, new)
        uploads.look(new)
    except HeldoutError as error:
        if new is not None:
            await uploads.remove(new)
        if not isinstance(error, StalledError):
            await drain(request)
        return _wrong(error)
    except BaseException:
        if new is not None:
            await uploads.remove(new)
        raise
    return JSONResponse({"next": f"/u/{new.id}"}, 201)


async def whereabouts(request: Request) -> Response:
    """Wherever a file has got to: still read, waiting for columns, at work, or reported."""
    upload = _find_upload(request)
    if upload.busy:
        return HTMLResponse(page("working", upload=upload))
    if upload.seen is None:
        what, hint = _why(upload)
        return HTMLResponse(page("wrong", status=422, what=what, hint=hint), 422)
    return RedirectResponse(_next(upload), 303)


async def columns(request: Request) -> Response:
    """The form: which column is which."""
    uploads, upload = _uploads(request), _find_upload(request)
    if upload.busy or upload.seen is None:
        return RedirectResponse(f"/u/{upload.id}", 303)
    first = uploads.find(upload.beside)
    failed = upload.job is not None and upload.job.task["kind"] == "reports" and upload.job.state != "done"
    values = {"upload": upload, "seen": upload.seen, "first": first, "chosen": prefilled(upload, first)}
    values["waiting"] = uploads.waiting(upload)
    # A wide file makes a long page, and others must not wait for it.
    return HTMLResponse(await asyncio.to_thread(page, "columns", **values, wrong=_why(upload) if failed else None))


async def judge(request: Request) -> Response:
    """Begin a report with the columns that were chosen."""
    uploads, upload = _uploads(request), _find_upload(request)
    try:
        body = await _body(request, uploads.limits.stalled)
        if upload.seen is None:
            raise OptionError("The file has not been read yet.", hint="wait until it has.")
        # In a thread, because a large form must not make others wait.
        choices = await asyncio.to_thread(_choices, body, upload.names)
        uploads.judge(upload, choices)
    except HeldoutError as error:
        return _wrong(error)
    return JSONResponse({"next": f"/u/{upload.id}"}, 202)


async def state(request: Request) -> Response:
    """How far a file is, for the script that asks again and again."""
    uploads, upload = _uploads(request), _find_upload(request)
    job = upload.job
    stage, seconds = "", 0.0
    if job is not None:
        stage, seconds = uploads.workers.stage(job), job.seconds
    return JSONResponse({"busy": upload.busy, "stage": stage, "seconds": round(seconds, 1), "next": _next(upload)})


async def cancel(request: Request) -> Response:
    """End the work on a file."""
    uploads, upload = _uploads(request), _find_upload(request)
    await uploads.cancel(upload)
    if upload.seen is None:
        await uploads.remove(upload)
        return JSONResponse({"next": "/"})
    return JSONResponse({"next": _next(upload)})


async def remove(request: Request) -> Response:
    """Remove a file and all that was made of it."""
    await _uploads(request).remove(_find_upload(request))
    return JSONResponse({"next": "/"})


async def report(request: Request) -> Response:
    """The report of a file."""
    return await _document(request, "report")


async def comparison(request: Request) -> Response:
    """The comparison of a file with the one that it was put beside, or why there is none."""
    upload = _find_upload(request)
    if upload.apart is not None:
        what, hint = upload.apart
        values = {"upload": upload, "first": _uploads(request).find(upload.beside)}
        return HTMLResponse(page("apart", what=what, hint=hint, **values))
    return await _document(request, "comparison")


async def download(request: Request) -> Response:
    """A report or a comparison as a file."""
    upload, uploads = _find_upload(request), _uploads(request)
    kind, form = request.path_params["kind"], request.path_params["form"]
    path = None if upload.report is None else upload.report / f"{kind}.{form}"
    if kind not in KINDS or form not in FORMS or path is None or not await asyncio.to_thread(path.is_file):
        raise HTTPException(404)
    first = uploads.find(upload.beside) if kind == "comparison" else None
    name = download_name(*([first.name] if first else []), upload.name)
    return FileResponse(path, media_type=TYPES[form], filename=f"{name}.{form}")


async def refused(request: Request, error: Exception) -> Response:
    """An address that leads nowhere."""
    status = error.status_code if isinstance(error, HTTPException) else 500
    return answer_wrong(request, status, *WORDS.get(status, FAULT))


async def failed(request: Request, _: Exception) -> Response:
    """A fault of ours; the server writes to its terminal what happened."""
    return answer_wrong(request, 500, *FAULT)


def answer_wrong(request: Request, status: int, what: str, hint: str) -> Response:
    """What is wrong and what to do, for a program or on a page."""
    if "application/json" in request.headers.get("accept", ""):
        return JSONResponse({"what": what, "hint": hint}, status)
    return HTMLResponse(page("wrong", status=status, what=what, hint=hint), status)


def _uploads(request: Request) -> Uploads:
    uploads: Uploads = request.app.state.uploads
    return uploads


def _find_upload(request: Request) -> Upload:
    upload = _uploads(request).find(request.path_params["id"])
    if upload is None:
        raise HTTPException(404)
    return upload


def _drop(uploads: Uploads, first: Upload | None) -> Response:
    limits = uploads.limits
    most, minutes = size_words(limits.upload), round(limits.idle / 60)
    values = {"first": first, "most": limits.upload, "most_words": most, "minutes": minutes}
    values["formats"] = titles_of_formats()
    return HTMLResponse(page("home", **values, too_large=too_large(limits.upload)))


def _next(upload: Upload) -> str:
    """Where a person goes on with a file."""
    here = f"/u/{upload.id}"
    job = upload.job
    if upload.busy or upload.seen is None:
        return here
    if upload.last:
        # Files that came together are read where they are compared.
        return f"/u/{upload.last}"
    if upload.report is None or (job is not None and job.state != "done"):
        return f"{here}/columns"
    return f"{here}/{'comparison' if has_comparison(upload) else 'report'}"


def has_comparison(upload: Upload) -> bool:
    """Whether the last report came with a comparison, or with why there is none."""
    job = upload.job
    return upload.apart is not None or (job is not None and bool(job.task.get("beside")))


def _why(upload: Upload) -> tuple[str, str]:
    job = upload.job
    if job is None or job.cancelled:
        return CANCELLED
    return job.wrong


async def _document(request: Request, kind: str) -> Response:
    uploads, upload = _uploads(request), _find_upload(request)
    if upload.report is None:
        return RedirectResponse(f"/u/{upload.id}", 303)
    try:
        text = await asyncio.to_thread(_text, upload.report / f"{kind}.html")
    except OSError:
        raise HTTPException(404) from None
    compared = [other for key in upload.compared if (other := uploads.find(key)) is not None]
    bar = page(
        "bar", kind=kind, upload=upload, first=uploads.find(upload.beside), compared=compared,
        comparable=has_comparison(upload), waiting=uploads.waiting(upload),
    )  # fmt: skip
    document, policy = await asyncio.to_thread(served, text, bar)
    return HTMLResponse(document, headers={"content-security-policy": policy})


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


async def _body(request: Request, patience: float) -> bytes:
    """The body of a request, which is small."""
    body = bytearray()
    try:
        async with asyncio.timeout(patience):
            async for chunk in request.stream():
                body += chunk
                if len(body) > LONGEST_FORM:
                    raise OptionError("The form is too large.", hint=LOAD_AGAIN)
    except TimeoutError:
        raise StalledError("The form did not arrive whole.", hint=LOAD_AGAIN) from None
    except ClientDisconnect:
        raise OptionError("What was sent is not a form.", hint=LOAD_AGAIN) from None
    return bytes(body)


def _choices(body: bytes, columns: list[str]) -> Choices:
    """The choices in the JSON object that the page sent."""
    try:
        form = json.loads(body)
    except (ValueError, RecursionError):
        form = None
    if not isinstance(form, dict):
        raise OptionError("What was sent is not a form.", hint=LOAD_AGAIN)
    return Choices.read(form, columns)


def _wrong(error: HeldoutError) -> Response:
    return JSONResponse({"what": error.what, "hint": error.hint}, STATUS.get(type(error), 422))
