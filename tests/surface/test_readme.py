"""What the README shows is what the command prints."""

from __future__ import annotations

from pathlib import Path

import heldout

ROOT = Path(__file__).parents[2]


def test_the_screen_in_the_readme_is_the_one_that_is_printed():
    shown = (ROOT / "README.md").read_text(encoding="utf-8")
    printed = str(heldout.evaluate(ROOT / "examples" / "diabetes.csv"))
    screen = "\n".join(f"    {line}".rstrip() for line in printed.splitlines())
    assert screen in shown
