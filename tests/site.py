"""Looks at the built site: every link, every request, and axe-core at three widths in a real browser.

`python -m tests.site build/site` looks at every page, as `make site-check` does; the tests look at one of each kind.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from functools import cache
from html import unescape
from pathlib import Path
from typing import Literal
from urllib.parse import unquote

from playwright.sync_api import Browser, Error, Page, Request, sync_playwright

from tests.browsing import launched, violations

WIDTHS = (390, 768, 1280)
POINTER = re.compile(r"<(?:a|link|img|script|source)\b[^>]*?\s(?:href|src)=\"([^\"]*)\"")
NAMED = re.compile(r"\s(?:id|name)=\"([^\"]+)\"")


def list_pages(folder: Path) -> list[Path]:
    """Every page of the site, but the index of names and the reports that stand there as examples."""
    left_out = {"_downloads", "_static"}
    return [path for path in sorted(folder.rglob("*.html")) if left_out.isdisjoint(path.relative_to(folder).parts)]


@cache
def list_targets(path: Path) -> frozenset[str]:
    """What can be pointed to within a page."""
    return frozenset(map(unescape, NAMED.findall(path.read_text(encoding="utf-8"))))


def find_broken(folder: Path) -> list[str]:
    """Links of the site to a page, a picture or a place that is not there, and anything that is loaded from outside."""
    broken = []
    for page in list_pages(folder):
        text = page.read_text(encoding="utf-8")
        loaded = re.findall(r"<(?:link|img|script|source)\b[^>]*>", text)
        foreign = [tag for tag in loaded if re.search(r"(?:href|src)=\"(?:https?:)?//", tag)]
        broken += [f"{page.relative_to(folder)} loads {tag}" for tag in foreign]
        for pointer in map(unescape, POINTER.findall(text)):
            if re.match(r"[a-z]+:", pointer):
                continue
            path, _, anchor = pointer.partition("#")
            target = (page.parent / unquote(path.partition("?")[0])).resolve() if path else page
            if target.is_dir():
                target /= "index.html"
            there = target.exists()
            if there and anchor and target.suffix == ".html":
                there = unquote(anchor) in list_targets(target)
            if not there:
                broken.append(f"{page.relative_to(folder)} → {pointer}")
    return broken


def look_at(browser: Browser, pages: Iterable[Path], widths: tuple[int, ...] = WIDTHS) -> list[str]:
    """What a reader would stumble over: requests to elsewhere, errors, a page wider than the screen, axe-core."""
    wrong: list[str] = []
    pages = list(pages)
    schemes: tuple[Literal["dark", "no-preference", "light"], ...] = ("dark", "no-preference", "light")
    for width, scheme in zip(widths, schemes, strict=False):
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        page = context.new_page()
        said = listen(page)
        for number, path in enumerate(pages):
            said.clear()
            page.goto(path.as_uri())
            name = f"{path.parent.name}/{path.name} at {width}"
            wrong += [f"{name}: {one}" for one in said if not one.startswith(("file:", "data:"))]
            wide = page.evaluate("document.documentElement.scrollWidth")
            wrong += [f"{name} is {wide} wide"] if wide > width else []
            # The styles are the same on all pages, and colours take longest: some pages in dark, others in light.
            colours = number % 4 == {"dark": 0, "light": 2}.get(scheme, 4)
            wrong += [f"{name}: {one}" for one in read_page(page, whole=number % 20 == 0, colours=colours)]
            if number % 50 == 49:
                print(f"{number + 1} of {len(pages)} pages at {width}, {len(wrong)} things wrong", flush=True)
        context.close()
    return wrong


def listen(page: Page) -> list[str]:
    """What a page asks for and which errors it has, as they come."""
    said: list[str] = []

    def ask(request: Request) -> None:
        said.append(request.url)

    def fail(error: Error) -> None:
        said.append(f"error: {error}")

    page.on("request", ask)
    page.on("pageerror", fail)
    return said


def read_page(page: Page, *, whole: bool, colours: bool) -> list[str]:
    """What axe-core finds; head, navigation and foot are the same on all pages, and are read only where `whole`."""
    # Rows of a table and examples are alike, and axe-core takes its time over each.
    page.evaluate("""() => {
      document.querySelectorAll('tbody').forEach(e => [...e.rows].slice(5).forEach(row => row.remove()));
      [...document.querySelectorAll('article details')].slice(2).forEach(e => e.remove());
      [...document.querySelectorAll('dl.py dd dl.py')].slice(5).forEach(e => e.remove());
      document.querySelectorAll('article pre').forEach(e => [...e.children].slice(60).forEach(part => part.remove()));
    }""")
    part = None if whole or not page.locator("article").count() else "article"
    return violations(page, part, colours=colours)


def search(browser: Browser, folder: Path, words: str) -> list[str]:
    """The titles that the search of the site finds, from files and without a server."""
    page = browser.new_page()
    page.goto(f"{(folder / 'search.html').as_uri()}?q={words}")
    page.wait_for_selector("#search-results ul.search li", timeout=20_000)
    titles = page.locator("#search-results ul.search li > a").all_inner_texts()
    page.close()
    return titles


def main(folder: Path) -> int:
    """Look at everything, and say what is wrong."""
    wrong = find_broken(folder)
    with sync_playwright() as driver:
        browser = launched(driver)
        wrong += look_at(browser, list_pages(folder))
        if "Recall (TPR)" not in search(browser, folder, "recall"):
            wrong.append("a search for recall does not find its page")
        browser.close()
    print("\n".join(wrong) or f"{len(list_pages(folder))} pages, nothing wrong.")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else "build/site").resolve()))
