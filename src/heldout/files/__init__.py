"""Reading tables and matrices from files of all formats (`heldout.files.formats`)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from heldout.errors import FileError
from heldout.files.batches import tell_reading
from heldout.files.formats import Format, format_by_ending, format_of
from heldout.files.input_stream import (
    HEAD_BYTES,
    STANDARD_INPUT,
    Content,
    existing_file,
    inner_ending,
    load,
    load_first_lines,
    load_head,
)
from heldout.files.matrix import check_matrix, parse_matrix, read_matrix

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

__all__ = ["check_matrix", "column_names", "parse_matrix", "read_arff", "read_matrix", "read_table"]


def read_table(path: str | Path, *, columns: Sequence[str] | None = None, labels: Sequence[str] = ()) -> pl.DataFrame:
    r"""Read a table, and of it only `columns` when they are named.

    The format is told by the ending (`heldout.files.formats.known_endings()`, each also with .gz) or by the
    first bytes, and `-` is standard input. Missing values become nulls; no row
    is ever dropped. The columns `labels` hold texts that repeat: where that saves memory they come as Polars'
    Categorical.

    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> file = pathlib.Path(folder.name, "churn.csv")
    >>> _ = file.write_text("truth,p_yes\nyes,0.9\nno,\n")
    >>> read_table(file).rows()
    [('yes', 0.9), ('no', None)]
    >>> folder.cleanup()
    """
    with tell_reading(path):
        in_place = _find_in_place(path)
        if in_place is not None and in_place.read_in_place is not None:
            return in_place.read_in_place(_unloaded(path), columns, labels)
        content = load(path)
        return _format(content).read(content, columns)


def column_names(path: str | Path) -> tuple[str, ...]:
    r"""The names of the columns that `read_table` would give, read from the header alone where there is one.

    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> file = pathlib.Path(folder.name, "churn.csv")
    >>> _ = file.write_text("truth,p_yes\nyes,0.9\n")
    >>> column_names(file)
    ('truth', 'p_yes')
    >>> folder.cleanup()
    """
    if str(path) == STANDARD_INPUT or not existing_file(path).is_file():
        raise FileError(
            f"{path} can be read only once, so its names cannot be read ahead of its rows.",
            hint="read the whole table and take its columns.",
        )
    in_place = _find_in_place(path)
    if in_place is not None:
        return in_place.names(_unloaded(path))
    head = load_head(path, HEAD_BYTES)
    fmt = _format(head)
    return fmt.names(load_first_lines(path) if fmt.header_line else load(path))


def read_arff(source: str | Path | Sequence[str]) -> pl.DataFrame:
    r"""Read an ARFF table from a path, from the text itself, or from its lines.

    >>> read_arff("@relation r\n@attribute y {no, yes}\n@data\nyes\n?\n").rows()
    [('yes',), (None,)]
    """
    from heldout.files.arff import read_arff_content

    if isinstance(source, str) and "\n" in source:
        content = Content("The ARFF text", ".arff", source.encode("utf-8"))
    elif isinstance(source, (str, Path)):
        content = load(source)
    else:
        text = "\n".join(line.rstrip("\r\n") for line in source)
        content = Content("The ARFF text", ".arff", text.encode("utf-8"))
    return read_arff_content(content)


def _format(content: Content) -> Format:
    return format_of(content.name, content.ending, content.data[:HEAD_BYTES])


def _find_in_place(path: str | Path) -> Format | None:
    """The format of a plain file of which unwanted columns need not be read, by its ending."""
    if str(path) == STANDARD_INPUT:
        return None
    file = existing_file(path)
    fmt = format_by_ending(file.suffix.lower())
    if fmt is None or fmt.read_in_place is None or not file.is_file() or file.stat().st_size == 0:
        return None
    return fmt


def _unloaded(path: str | Path) -> Content:
    file = existing_file(path)
    return Content(str(path), inner_ending(file), path=file)
