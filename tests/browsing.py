"""A real browser for tests: where it is, how it is started, and a page that notices every request and every error."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Error, Page, Playwright, Request

from heldout.show.blocks import Block
from heldout.show.html import render_page
from tests.programs import CHROMIUM

ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
PHONE = {"width": 360, "height": 740}
DESKTOP = {"width": 1280, "height": 900}
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")


def launched(driver: Playwright) -> Browser:
    """The machine's own Chromium, or the one that CHROMIUM names."""
    return driver.chromium.launch(executable_path=CHROMIUM.require(), headless=True, args=list(ARGUMENTS))


class Watched:
    """A page whose requests, console and errors are kept, to be asserted at the end."""

    def __init__(self, browser: Browser, **settings: Any) -> None:
        self.context: BrowserContext = browser.new_context(**{"viewport": DESKTOP, **settings})
        self.page: Page = self.context.new_page()
        self.requests: list[str] = []
        self.errors: list[str] = []
        self.context.on("request", self._asked)
        self.page.on("console", self._said)
        self.page.on("pageerror", self._failed)

    def _asked(self, request: Request) -> None:
        self.requests.append(request.url)

    def _said(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            self.errors.append(message.text)

    def _failed(self, error: Error) -> None:
        self.errors.append(str(error))

    def close(self, *, origin: str = "") -> None:
        """Close it; fails if anything but files was asked for (or this origin), or an error was told."""
        self.context.close()
        # A data: address holds its own content: nothing leaves the machine for it.
        foreign = [url for url in self.requests if not _allowed(url, origin)]
        assert foreign == [], f"The page asked for {foreign}."
        assert self.errors == []


def _allowed(url: str, origin: str) -> bool:
    parts = urlsplit(url)
    own = bool(origin) and f"{parts.scheme}://{parts.netloc}" == origin.rstrip("/")
    return own or parts.scheme in {"data", "blob"} or (parts.scheme == "file" and parts.path.endswith(".html"))


def opened(page: Page, folder: Path, blocks: list[Block], title: str = "Report") -> Page:
    """The page at a file made of these blocks."""
    path = folder / "page.html"
    path.write_text(render_page(blocks, title=title), encoding="utf-8")
    page.goto(path.as_uri())
    return page


def violations(page: Page, part: str | None = None, *, colours: bool = True) -> list[str]:
    """What axe-core finds on the page that is serious or critical, each with the elements concerned."""
    from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]

    asked = {"resultTypes": ["violations"], "rules": {"color-contrast": {"enabled": colours}}}
    found = Axe().run(page, context=part, options=asked).response["violations"]
    return [
        f"{one['id']}: {[node['html'][:160] for node in one['nodes'][:3]]}"
        for one in found
        if one["impact"] in {"serious", "critical"}
    ]


def everywhere_readable(page: Page) -> None:
    """Look at the page with every fold open, in light and dark, on a phone and on a desk."""
    page.evaluate("document.querySelectorAll('details').forEach(e => { e.open = true; })")
    for size in (PHONE, DESKTOP):
        page.set_viewport_size({"width": size["width"], "height": size["height"]})
        assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
    # The rows of a table are alike, and so is how each number was made; axe-core takes its time over each.
    page.evaluate("""() => {
      document.querySelectorAll('tbody').forEach(e => [...e.rows].slice(4).forEach(row => row.remove()));
      [...document.querySelectorAll('.heldout-made')].slice(5).forEach(e => e.remove());
    }""")
    for size in (DESKTOP, PHONE):
        page.set_viewport_size({"width": size["width"], "height": size["height"]})
        # What scrolls becomes a stop of the keyboard one frame after its size was observed to change.
        page.evaluate("async () => { for (let i = 0; i < 3; i++) await new Promise(requestAnimationFrame); }")
        for scheme in SCHEMES:
            page.emulate_media(color_scheme=scheme)
            # Colours depend on the scheme and not on the size, and are the longest part to check.
            found = violations(page, colours=(size is PHONE) == (scheme == "dark"))
            assert found == [], (size, scheme, found)


def slid(page: Page, at: int, explorer: int = 0) -> None:
    """Move the slider of an explorer to one of its positions, as a hand does."""
    slider = page.locator("[data-slider]").nth(explorer)
    slider.evaluate("(e, at) => { e.value = at; e.dispatchEvent(new Event('input', {bubbles: true})); }", str(at))
