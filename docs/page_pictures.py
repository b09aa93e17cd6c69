"""Takes the pictures of the page that the README shows; run by hand with `make pictures`."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import heldout

DOCS = Path(__file__).parent
EXAMPLE = DOCS.parent / "examples" / "diabetes.csv"
# Where the picture begins, how wide and how high it is.
PICTURES = {
    "page-desktop.png": ("Threshold, costs and prevalence", 1280, 860),
    "page-phone.png": ("ROC curve", 390, 844),
}


def take() -> None:
    """Write the page of an example to a temporary folder and photograph it in Chromium."""
    from playwright.sync_api import sync_playwright

    # `make pictures` says which browser, as found by tests/chromium.py.
    chromium = os.environ["CHROMIUM"]
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as play:
        # As of one model: of several, each with scores of its own, no one threshold can be moved.
        page_file = heldout.evaluate(EXAMPLE, fold="none").write(Path(folder) / "page.html")
        browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        for name, (heading, width, height) in PICTURES.items():
            page = browser.new_page(viewport={"width": width, "height": height})
            page.goto(page_file.as_uri())
            found = page.get_by_text(heading, exact=True).last
            found.evaluate("element => window.scrollTo(0, element.getBoundingClientRect().top + window.scrollY - 24)")
            page.screenshot(path=DOCS / name)
        browser.close()


if __name__ == "__main__":
    take()
