"""The application: which address leads where, and what is kept between two requests."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from heldout.web import answers
from heldout.web.guard import Guard, is_loopback, own_names
from heldout.web.jobs import Workers
from heldout.web.limits import Limits
from heldout.web.pages import STATIC
from heldout.web.uploads import Uploads

SWEEP_EVERY = 30.0


def build(
    folder: Path, limits: Limits, host: str, names: Iterable[str] = (), file: Path | None = None
) -> tuple[ASGIApp, str]:
    """The application that keeps its files in `folder` and answers to `names`, and the path of its first page."""
    workers = Workers(limits)
    uploads = Uploads(folder, limits, workers)
    given = None if file is None else uploads.adopt(file)

    @asynccontextmanager
    async def life(_: Starlette) -> AsyncIterator[None]:
        workers.start()
        if given is not None:
            uploads.look(given)
        sweeping = asyncio.create_task(_sweep(uploads))
        try:
            yield
        finally:
            sweeping.cancel()
            await workers.close()

    app = Starlette(
        routes=ROUTES,
        lifespan=life,
        exception_handlers={HTTPException: answers.refused, Exception: answers.failed},
    )
    app.state.uploads = uploads
    guarded = Guard(app, own_names(host, names), open_to_network=not is_loopback(host))
    return guarded, "/" if given is None else f"/u/{given.id}"


async def _sweep(uploads: Uploads) -> None:
    while True:
        await asyncio.sleep(min(SWEEP_EVERY, uploads.limits.idle))
        await uploads.sweep()


async def icon(_: Request) -> Response:
    """The icon, for browsers that ask for it where icons used to be."""
    return FileResponse(STATIC / "icon.svg")


class Static(StaticFiles):
    """Our own style sheets and scripts, which may be kept as long as they are asked after."""

    def file_response(self, *args: object, **named: object) -> Response:
        """The file, with the rule for keeping it."""
        response = super().file_response(*args, **named)  # type: ignore[arg-type]
        response.headers["cache-control"] = "no-cache"
        return response


ROUTES = [
    Route("/", answers.home),
    Route("/upload", answers.upload, methods=["POST"]),
    Route("/u/{id}", answers.whereabouts),
    Route("/u/{id}", answers.remove, methods=["DELETE"]),
    Route("/u/{id}/columns", answers.columns),
    Route("/u/{id}/second", answers.second),
    Route("/u/{id}/state", answers.state),
    Route("/u/{id}/job", answers.cancel, methods=["DELETE"]),
    Route("/u/{id}/report", answers.judge, methods=["POST"]),
    Route("/u/{id}/report", answers.report),
    Route("/u/{id}/comparison", answers.comparison),
    Route("/u/{id}/{kind}.{form}", answers.download),
    Route("/favicon.ico", icon),
    Mount("/static", Static(directory=STATIC)),
]
