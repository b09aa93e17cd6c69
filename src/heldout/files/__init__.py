"""Reading tables and matrices from files: CSV, TSV, Parquet, JSON lines, NPZ and ARFF."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from heldout.errors import FileError
from heldout.files.formats import Kind, kind_of
from heldout.files.input_stream import STANDARD_INPUT, Content, existing_file, load, load_head
from heldout.files.matrix import check_matrix, parse_matrix, read_matrix

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

__all__ = ["check_matrix", "column_names", "parse_matrix", "read_arff", "read_matrix", "read_table"]

# Long enough for any header line met in practice, short enough to be read at once.
_HEAD_BYTES = 1 << 20


def read_table(path: str | Path, *, columns: Sequence[str] | None = None, labels: Sequence[str] = ()) -> pl.DataFrame:
    r"""Read a table, and of it only `columns` when they are named.

    The format is told by the ending (.csv, .tsv, .tab, .parquet, .pq, .jsonl, .ndjson, .npz, .arff, each
    also with .gz) or by the first bytes, and `-` is standard input. Missing values become nulls; no row
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
    from heldout.files.arff import read_arff_content
    from heldout.files.delimited import read_delimited
    from heldout.files.json_lines import read_json_lines
    from heldout.files.npz import read_npz
    from heldout.files.parquet import read_parquet

    if on_disk := _parquet_on_disk(path):
        return read_parquet(on_disk, str(path), columns, labels)
    content = load(path)
    match _kind(content):
        case "delimited":
            return read_delimited(content, columns)
        case "json lines":
            return read_json_lines(content, columns)
        case "arff":
            return read_arff_content(content, columns)
        case "npz":
            return read_npz(content, columns)
        case "parquet":
            return read_parquet(content.data, content.name, columns)


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
    from heldout.files.arff import arff_names
    from heldout.files.delimited import delimited_names
    from heldout.files.npz import npz_names
    from heldout.files.parquet import parquet_names

    if str(path) == STANDARD_INPUT or not existing_file(path).is_file():
        raise FileError(
            f"{path} can be read only once, so its names cannot be read ahead of its rows.",
            hint="read the whole table and take its columns.",
        )
    if on_disk := _parquet_on_disk(path):
        return parquet_names(on_disk, str(path))
    head = load_head(path, _HEAD_BYTES)
    kind = _kind(head)
    if kind == "delimited":
        return delimited_names(_cut_at_line(head))
    if kind == "npz":
        return npz_names(load(path))
    if kind == "arff":
        return arff_names(load(path))
    return tuple(read_table(path).columns)


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


def _kind(content: Content) -> Kind:
    return kind_of(content.name, content.ending, content.data[:_HEAD_BYTES])


def _parquet_on_disk(path: str | Path) -> Path | None:
    """The path itself when it is a plain Parquet file, of which unwanted columns need not be read."""
    if str(path) == STANDARD_INPUT:
        return None
    found = existing_file(path)
    if not found.is_file() or found.stat().st_size == 0 or found.suffix.lower() not in {".parquet", ".pq"}:
        return None
    return found


def _cut_at_line(head: Content) -> Content:
    """Drop the last, cut-off line, which may end in the middle of a character."""
    if len(head.data) < _HEAD_BYTES:
        return head
    cut = head.data.rfind(b"\n") + 1
    return Content(head.name, head.ending, head.data[:cut]) if cut else head
