"""The folder that a server keeps its files in: it goes with the server, or with the next one that starts."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PREFIX = "heldout-"
LOCK = "lock"


@contextmanager
def own_folder() -> Iterator[Path]:
    """A temporary folder for one server; what servers that were killed left behind is removed before."""
    clear_up(Path(tempfile.gettempdir()))
    with tempfile.TemporaryDirectory(prefix=PREFIX, ignore_cleanup_errors=True) as made:
        folder = Path(made)
        (folder / "files").mkdir(mode=0o700)
        # Locked before it has the name that others look for.
        held = _locked(folder / "new-lock", create=True)
        (folder / "new-lock").rename(folder / LOCK)
        try:
            yield folder / "files"
        finally:
            os.close(held)


def clear_up(where: Path) -> None:
    """Remove the folders of servers that no longer live: the system unlocks what a process had locked when it dies."""
    if os.name != "posix":
        return
    for folder in where.glob(f"{PREFIX}*"):
        # Not ours, still in use, or gone in the meantime.
        with suppress(OSError):
            if folder.is_symlink() or folder.stat().st_uid != os.getuid():
                continue
            held = _locked(folder / LOCK, create=False)
            try:
                shutil.rmtree(folder)
            finally:
                os.close(held)


def _locked(path: Path, *, create: bool) -> int:
    """The number of an open file that only we have locked; OSError where another has."""
    held = os.open(path, os.O_RDWR | (os.O_CREAT if create else 0), 0o600)
    if os.name == "posix":
        import fcntl

        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(held)
            raise
    return held
