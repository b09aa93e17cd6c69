"""What the tests of file reading share: writing a file and catching its error."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from heldout.errors import HeldoutError
from heldout.files import read_table

Write = Callable[[str, bytes | str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write bytes, or text as UTF-8, to a file in the test's own folder."""

    def write_file(name: str, content: bytes | str) -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
        return path

    return write_file


@pytest.fixture
def refusal() -> Callable[..., HeldoutError]:
    """The error with which reading a table is refused; it must hold a sentence and a hint."""

    def refused(path: str | Path, columns: list[str] | None = None) -> HeldoutError:
        with pytest.raises(HeldoutError) as caught:
            read_table(path, columns=columns)
        assert caught.value.what.endswith(".")
        assert caught.value.hint.endswith((".", "?"))
        assert caught.value.__cause__ is None
        return caught.value

    return refused
