"""Reading NumPy archives: each array a column, or one column for each of its columns."""

from __future__ import annotations

import io
import math
import zipfile
import zlib
from typing import TYPE_CHECKING, Any

from heldout.arguments import listing
from heldout.errors import FileError
from heldout.files.column_types import no_rows, refuse_duplicates, wanted_names, widened
from heldout.files.formats import Format

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import polars as pl
    from numpy.typing import NDArray

    from heldout.files.input_stream import Content

# What zipfile, zlib and NumPy raise for bytes that were changed or cut off.
_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, KeyError)


def read_npz(content: Content, columns: Sequence[str] | None = None) -> pl.DataFrame:
    """Read an .npz archive; a 2-D array `p` of 3 columns becomes p_0, p_1 and p_2.

    Only the arrays that are wanted must have the same length. Arrays of objects are refused, because
    unpickling them would run whatever code the file holds.
    """
    import polars as pl

    arrays = _columns(content)
    wanted = wanted_names(list(arrays), columns, content.name)
    lengths = {name: len(arrays[name]) for name in wanted}
    if len(set(lengths.values())) > 1:
        shown = listing(f"{name} has {length}" for name, length in lengths.items())
        raise FileError(
            f"The arrays in {content.name} have different lengths: {shown}.",
            hint="save one value per row in each array, or name the columns to read.",
        )
    if not all(lengths.values()):
        raise no_rows(content.name)
    return widened(pl.DataFrame([_series(name, arrays[name], content.name) for name in wanted]))


def npz_names(content: Content) -> tuple[str, ...]:
    """The columns that the arrays of an .npz archive become."""
    return tuple(_columns(content))


def _columns(content: Content) -> dict[str, NDArray[Any]]:
    import numpy as np

    if not content.data.startswith(b"PK"):
        raise _broken(content.name, "it does not begin with the bytes PK")
    names: list[str] = []
    columns: dict[str, NDArray[Any]] = {}
    try:
        _refuse_other_archives(content)
        with np.load(io.BytesIO(content.data), allow_pickle=False) as archive:
            for name in archive.files:
                parts = _split(name, _array(archive, name, content.name), content.name)
                names.extend(parts)
                columns.update(parts)
    except FileError:
        raise
    except MemoryError as error:
        # What an array needs stands in its head: one that claims more than its member holds is damaged.
        if _is_held(error, content):
            raise
        raise _broken(content.name, str(error)) from None
    except (*_DAMAGE, ValueError) as error:
        raise _broken(content.name, str(error)) from None
    refuse_duplicates(names, content.name)
    return columns


def _is_held(error: MemoryError, content: Content) -> bool:
    """Whether the archive says that it holds as much as there was no memory for."""
    needed = math.prod(getattr(error, "shape", ())) * getattr(getattr(error, "dtype", None), "itemsize", 1)
    with zipfile.ZipFile(io.BytesIO(content.data)) as archive:
        return needed <= sum(member.file_size for member in archive.infolist())


def _refuse_other_archives(content: Content) -> None:
    with zipfile.ZipFile(io.BytesIO(content.data)) as archive:
        members = archive.namelist()
    if not members or any(not member.endswith(".npy") for member in members):
        workbook = "[Content_Types].xml" in members
        raise FileError(
            f"{content.name} is a zip archive but not an NPZ file; it holds {listing(members, 3) or 'nothing'}.",
            hint="save the workbook's sheet as CSV." if workbook else "save the arrays with numpy.savez.",
        )


def _array(archive: Any, name: str, file: str) -> NDArray[Any]:
    try:
        array: NDArray[Any] | bytes = archive[name]
    except ValueError as error:
        if "allow_pickle" not in str(error):
            raise _broken(file, str(error)) from None
        raise FileError(
            f"The array {name!r} in {file} holds Python objects, and reading those could run code.",
            hint=f"save it as text or numbers: {name}.astype(str) or {name}.astype(float).",
        ) from None
    # NumPy hands back the bare bytes of a member that lacks the magic of an array.
    if isinstance(array, bytes):
        raise _broken(file, f"its member {name!r} is not an array")
    return array


def _split(name: str, array: NDArray[Any], file: str) -> dict[str, NDArray[Any]]:
    if array.ndim == 1:
        return {name: array}
    if array.ndim == 2 and array.shape[1] == 1:
        return {name: array[:, 0]}
    if array.ndim == 2:
        return {f"{name}_{index}": array[:, index] for index in range(array.shape[1])}
    raise FileError(
        f"The array {name!r} in {file} has the shape {array.shape}, expected one or two dimensions.",
        hint="save one value per row (1-D) or one score per row and class (2-D).",
    )


def _series(name: str, array: NDArray[Any], file: str) -> pl.Series:
    import numpy as np
    import polars as pl

    kind = array.dtype.kind
    if kind == "U":
        return pl.Series(name, array.tolist(), dtype=pl.String)
    if kind == "S":
        try:
            return pl.Series(name, [value.decode("utf-8") for value in array.tolist()], dtype=pl.String)
        except UnicodeDecodeError:
            raise FileError(
                f"The array {name!r} in {file} holds bytes that are not UTF-8 text.",
                hint="decode it before saving, so that it holds text.",
            ) from None
    if kind == "f":
        return pl.Series(name, np.ascontiguousarray(array, dtype=np.float64))
    if kind in "biu":
        return pl.Series(name, np.ascontiguousarray(array.astype(array.dtype.newbyteorder("="))))
    raise FileError(
        f"The array {name!r} in {file} has the type {array.dtype}, expected numbers, booleans or text.",
        hint="convert it before saving.",
    )


def _broken(name: str, reason: str) -> FileError:
    return FileError(
        f"{name} is not a whole NPZ file: {reason.rstrip('.')}.",
        hint="write it again with numpy.savez, or copy it again.",
    )


def _unpacked_bytes(path: Path) -> int:
    """The size that the members of an archive declare; Python unpacks no more than that."""
    try:
        with zipfile.ZipFile(path) as archive:
            return sum(member.file_size for member in archive.infolist())
    except (zipfile.BadZipFile, OSError, NotImplementedError, ValueError):
        return 0


FORMATS = (
    Format(
        name="npz",
        titles=("NPZ",),
        endings=(".npz",),
        magic=(b"PK\x03\x04",),
        holds="a zip archive (NPZ or a workbook)",
        read=read_npz,
        names=npz_names,
        unpacked_bytes=_unpacked_bytes,
    ),
)
