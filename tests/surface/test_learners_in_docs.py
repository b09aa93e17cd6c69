"""The guide names every learner that has a short name, in the words of its declaration."""

from __future__ import annotations

from pathlib import Path

import pytest

from heldout.learners.registry import SHORTCUTS

GUIDE = Path(__file__).parents[2] / "docs" / "resampling.md"


@pytest.mark.parametrize("shortcut", SHORTCUTS.values(), ids=lambda shortcut: shortcut.name)
def test_the_guide_says_what_each_short_name_is(shortcut):
    assert f"| `{shortcut.usage}` | {shortcut.description} |" in GUIDE.read_text(encoding="utf-8")
