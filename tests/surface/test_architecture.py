"""The map of the house is true: its layers are those that are enforced, and every file that it names exists."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "heldout"
MAP = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
GLOSSARY = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
LAYERS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"][0][
    "layers"
]
FILES = sorted(set(re.findall(r"`([a-z_]+(?:/[a-z_*]+)*\.py)", MAP)))


def table_rows(text: str) -> list[str]:
    """The first cell of every row of the tables, without their heads."""
    cells = [line.split("|")[1].strip() for line in text.splitlines() if line.startswith("| ")]
    return [cell for cell in cells if cell not in {"package", "change", "word"}]


def test_the_map_lists_the_layers_that_are_enforced_from_the_top():
    packages = [set(re.findall(r"`(\w+)`", cell)) for cell in table_rows(MAP.partition("## Where to make")[0])]
    enforced = [set(re.split(r"\s*[:|]\s*", row)) - {"__main__"} for row in LAYERS]
    assert packages == enforced


def test_every_layer_is_there():
    names = {name for row in LAYERS for name in re.split(r"\s*[:|]\s*", row)}
    there = {path.stem for path in SOURCE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert names == there - {"__init__"}


@pytest.mark.parametrize("name", FILES)
def test_every_file_that_the_map_names_is_there(name):
    assert list(SOURCE.glob(name))


def test_the_map_names_files():
    assert len(FILES) > 15


def test_the_glossary_is_in_alphabetical_order():
    words = table_rows(GLOSSARY)
    assert len(words) > 40
    assert words == sorted(words, key=str.casefold)
