"""Files of evidence that were counted apart, as one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from heldout.engines.accumulate import Evidence
from heldout.errors import FileError, HeldoutError, OptionError
from heldout.evidence.saving import loaded


def merge(paths: Sequence[str | Path], *, same: bool = False) -> Evidence:
    """The evidence of all files together; what does not fit is named, and so is a file that is there twice.

    `same` says that files of the same content are meant to count, each for itself.

    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> parts = [pathlib.Path(folder.name, f"{day}.evidence") for day in ("monday", "tuesday")]
    >>> Evidence().update([0, 1], [0, 0]).save(parts[0])
    >>> Evidence().update([1, 2], [1, 2]).save(parts[1])
    >>> merge(parts).n
    4
    >>> folder.cleanup()
    """
    if not paths:
        raise OptionError("There is nothing to merge: no file of evidence.", hint="heldout merge part-*.evidence")
    total: Evidence | None = None
    met: dict[str, str | Path] = {}
    for path in paths:
        counted, checksum = loaded(path)
        if checksum in met and not same:
            twice = "is there twice" if str(met[checksum]) == str(path) else f"has the same content as {met[checksum]}"
            raise FileError(
                f"{path} {twice}, so its cases would count twice.",
                hint="leave one of them out; --same counts both, if they are different cases.",
            )
        met[checksum] = path
        part = Evidence.of(counted)
        try:
            total = part if total is None else total + part
        except HeldoutError as error:
            raise type(error)(
                f"{path} does not fit {paths[0]}{' and what follows it' if len(met) > 2 else ''}. {error.what}",
                hint=error.hint,
            ) from None
    return total if total is not None else Evidence()
