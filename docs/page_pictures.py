"""Takes the pictures of the page that the README and the guide to it show; run by hand with `make pictures`."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import heldout

DOCS = Path(__file__).parent
EXAMPLE = DOCS.parent / "examples" / "diabetes.csv"
DESK, PHONE = (1280, 900), (390, 844)
# Which page, where the picture begins (at the top unless said), how wide and how high it is, and in which colours.
PICTURES = {
    "page-desktop.png": ("one", "Threshold, costs and prevalence", (1280, 860), "light"),
    "page-phone.png": ("one", "ROC curve", PHONE, "light"),
}
SCREENS = {
    "page-first-desk.png": ("one", "", DESK, "light"),
    "page-first-phone.png": ("one", "", PHONE, "light"),
    "page-first-dark.png": ("one", "", DESK, "dark"),
    "page-classes.png": ("classes", "", DESK, "light"),
    "page-comparison.png": ("three", "", DESK, "light"),
}


def make_answers() -> dict[str, Any]:
    """One model, twenty classes, and three models of rare positives."""
    rng = np.random.default_rng(7)
    names = np.array([f"kind {letter}" for letter in "abcdefghijklmnopqrst"])
    truth = rng.integers(0, 20, 3000)
    right = rng.random(3000) < rng.uniform(0.5, 0.98, 20)[truth]
    predicted = np.where(right, truth, (truth + rng.choice([1, 2, 10], 3000)) % 20)
    rare = rng.random(5000) < 0.03
    scores = [1 / (1 + np.exp(-rng.normal(np.where(rare, gain, 0.0) - 4, 1))) for gain in (2.6, 2.0, 3.4)]
    frame = pl.DataFrame(
        {"truth": np.where(rare, "fraud", "fine"), "logistic": scores[0], "rules": scores[1], "boosted": scores[2]}
    )
    return {
        # As of one model: of several, each with scores of its own, no one threshold can be moved.
        "one": heldout.evaluate(EXAMPLE, fold="none"),
        "classes": heldout.evaluate(names[truth], names[predicted]),
        "three": heldout.compare(frame, truth="truth", score=frame.columns[1:], positive="fraud"),
    }


def take() -> None:
    """Write the pages of some examples to a temporary folder and photograph them in Chromium."""
    from playwright.sync_api import sync_playwright

    # `make pictures` says which browser, as found by tests/programs.py.
    chromium = os.environ["CHROMIUM"]
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as play:
        files = {name: answer.write(Path(folder) / f"{name}.html") for name, answer in make_answers().items()}
        browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        for name, (which, heading, (width, height), scheme) in (PICTURES | SCREENS).items():
            page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)  # type: ignore[arg-type]
            page.goto(files[which].as_uri())
            if heading:
                found = page.get_by_text(heading, exact=True).last
                place = "element => window.scrollTo(0, element.getBoundingClientRect().top + window.scrollY - 24)"
                found.evaluate(place)
            page.screenshot(path=DOCS / name)
        browser.close()


if __name__ == "__main__":
    take()
