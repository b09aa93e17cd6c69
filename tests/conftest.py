"""Settings that every test shares: reproducible hypothesis runs, long simulations left out, and a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

# The same examples on every run and machine, and no failure because a machine was busy.
settings.register_profile("ci", derandomize=True, deadline=None)
settings.load_profile("ci")

# The simulations behind the promises run for many minutes: `make promises` runs them, pytest does not
# even import them (it would, to look for doctests).
collect_ignore = [
    str(path) for path in (Path(__file__).parent / "promises").glob("*.py") if not path.name.startswith("test_")
]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """The machine's Chromium, started once."""
    from playwright.sync_api import sync_playwright
    from tests.browsing import launched

    with sync_playwright() as driver:
        started = launched(driver)
        yield started
        started.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page that may ask for nothing but files of its own and must report no error."""
    from tests.browsing import Watched

    watched = Watched(browser)
    yield watched.page
    watched.close()
