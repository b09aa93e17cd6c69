"""Requirements kept in a TOML file, beside the code that they are about."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from heldout.arguments import closest, listing
from heldout.errors import FileError
from heldout.files.input_stream import load, parse_toml, utf8_text

REQUIREMENT_FILE_EXAMPLE = (
    "write [[require]] with text = \"recall >= 0.9\" for each, or require = ['recall >= 0.9', …]."
)


def read_requirement_file(path: str | Path) -> list[str]:
    r"""The requirements of a file: tables [[require]] with a text each, or one list `require` of texts.

    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> file = pathlib.Path(folder.name, "gate.toml")
    >>> _ = file.write_text('[[require]]\ntext = "recall[spam] >= 0.8"\n')
    >>> read_requirement_file(file)
    ['recall[spam] >= 0.8']
    >>> folder.cleanup()
    """
    content = load(path)
    document = parse_toml(utf8_text(content).decode("utf-8"), content.name, REQUIREMENT_FILE_EXAMPLE)
    entries = document.pop("require", None)
    if document:
        unknown = next(iter(document))
        near = closest(unknown, ["require"])
        raise FileError(
            f"{content.name} holds {listing(map(repr, document))}, and only 'require' is known.",
            hint=f"did you mean [[{near}]]?" if near else REQUIREMENT_FILE_EXAMPLE,
        )
    if not isinstance(entries, list) or not entries:
        raise FileError(f"{content.name} holds no requirements.", hint=REQUIREMENT_FILE_EXAMPLE)
    return [_text(entry, at, content.name) for at, entry in enumerate(entries, start=1)]


def _text(entry: Any, at: int, name: str) -> str:
    if isinstance(entry, dict):
        unknown = [key for key in entry if key != "text"]
        if unknown:
            raise FileError(
                f"Entry {at} of [[require]] in {name} has a key {unknown[0]!r}.", hint=REQUIREMENT_FILE_EXAMPLE
            )
        entry = entry.get("text")
    if not isinstance(entry, str) or not entry.strip():
        raise FileError(f"Entry {at} of [[require]] in {name} has no text.", hint=REQUIREMENT_FILE_EXAMPLE)
    return entry
