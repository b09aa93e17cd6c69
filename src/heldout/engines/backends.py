"""From a path and the name of an engine to a lazy table of that engine, on this machine or on a cluster."""

from __future__ import annotations

import glob
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import reduce
from pathlib import Path
from typing import Any

import polars as pl

from heldout.engines.engine_choice import LazyTable, leave_open
from heldout.engines.engine_errors import engine_errors, one_line
from heldout.engines.spark import check_master, check_reachable, on_cluster, spark_session
from heldout.engines.table_paths import FileGroup, TableFiles, check_same, find_table_files, table_files_at
from heldout.errors import ColumnError, OptionError
from heldout.extras import missing_extra
from heldout.files.batches import tell_reading
from heldout.files.column_types import MISSING_WORDS

# How long a scheduler that listens may take to answer, in seconds.
PATIENCE = 20
# How many bytes of files a worker of Dask holds at once, at most and at least; between the two there are so many parts
# to share out.
BLOCK = 1 << 26
LEAST_BLOCK = 1 << 20
SHARES = 32
# What DuckDB calls the types of Polars; all others are text there.
_DUCKDB = {"Int64": "BIGINT", "Float64": "DOUBLE", "Boolean": "BOOLEAN"}
# What pandas calls the types of Polars; in these whole numbers and booleans may be missing.
_PANDAS = {"Int64": "Int64", "Float64": "float64", "Boolean": "boolean"}


# A lazy frame, and how to close it.
Opened = tuple[Any, Callable[[], None]]


def open_table(path: str | Path, engine: str, master: str | None = None) -> LazyTable:
    r"""The table at `path` as a lazy frame of the engine, of the columns in which all files agree.

    The path is a Parquet or CSV file, a folder of them or a pattern. Addresses such as hdfs:// and s3a:// go to the
    engine as they are. `master` is the cluster to run on, spark://host:7077 or tcp://host:8786; without, Spark and Dask
    run on this machine.

    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> file = pathlib.Path(folder.name, "churn.csv")
    >>> _ = file.write_text("truth,predicted\nyes,no\n")
    >>> table = open_table(file, "polars")
    >>> table.frame.collect().rows()
    [('yes', 'no')]
    >>> table.close()
    >>> folder.cleanup()
    """
    opener = {"duckdb": _duckdb, "polars": _polars, "dask": _dask, "spark": _spark}[engine]
    with engine_errors(engine), tell_reading(path):
        # On a cluster of Spark, a path without a scheme is one of the file system that it was set up with.
        away = engine == "spark" and on_cluster(master)
        files = table_files_at(str(path)) if away else find_table_files(str(path))
        frame, close = opener(files, str(path), master)
    return LazyTable(frame, Path(path).name or str(path), files.withheld, files.notes, close)


def _duckdb(table: TableFiles, path: str, master: str | None) -> Opened:  # noqa: ARG001 - all openers alike
    try:
        import duckdb
    except ImportError:
        raise missing_extra("duckdb", "The engine 'duckdb'") from None
    _refuse_same_names(table, path)
    # A database of its own, so that nothing is seen of what the user does with DuckDB in the same process.
    database: Any = duckdb.connect()
    file = _free_name(table) if table.keys else ""
    keys = [_duckdb_key(name, file, table) for name in table.keys]
    if table.kind == "parquet":
        if not table.local:
            _check_footers(database, path)
        # By name: without it a number of a later file becomes what the first one has, a half becomes a whole.
        told = f"union_by_name = true, hive_partitioning = false{f', filename = {_text(file)}' if file else ''}"
        files = ", ".join(map(_text, table.files))
        frame = database.sql(f"SELECT * FROM read_parquet([{files}], {told})")  # noqa: S608 - the names are quoted
        if not table.is_plain:
            frame = frame.project(", ".join([*map(_quoted, table.columns), *keys]))
        return frame, database.close
    read = [_duckdb_text(database, group, table, file, keys) for group in table.groups]
    return reduce(lambda left, right: left.union(right), read), database.close


def _refuse_same_names(table: TableFiles, path: str) -> None:
    """Refuse columns that DuckDB takes for one: names there are the same in capitals."""
    seen: dict[str, str] = {}
    for name in (*table.columns, *table.keys):
        other = seen.setdefault(name.casefold(), name)
        if other != name:
            raise ColumnError(
                f"{path} has the columns {other} and {name}, and DuckDB cannot tell them apart.",
                hint="rename one of them, or use another engine, such as polars.",
            )


def _duckdb_text(database: Any, group: FileGroup, table: TableFiles, file: str, keys: list[str]) -> Any:
    told = f"delim = {_text(group.separator)}, quote = '\"', escape = '\"', nullstr = '', hive_partitioning = false"
    files = ", ".join(map(_text, group.files))
    if not table.local:
        # From all rows; and only the types that a text file has when one process reads it.
        types = "sample_size = -1, auto_type_candidates = ['BOOLEAN', 'BIGINT', 'DOUBLE', 'VARCHAR']"
        return database.sql(f"SELECT * FROM read_csv([{files}], header = true, {types}, {told})")  # noqa: S608
    # As texts, of which the same numbers are made as where one process reads them: by itself DuckDB takes +1 for text.
    names = ", ".join(f"{_text(name)}: 'VARCHAR'" for name in group.names)
    told += f", auto_detect = false, header = false, skip = {group.skip}, columns = {{{names}}}"
    told += f", filename = {_text(file)}" if file else ""
    frame = database.sql(f"SELECT * FROM read_csv([{files}], {told})")  # noqa: S608 - the names are quoted
    columns = [f"{_duckdb_value(name, kind, group)} AS {_quoted(name)}" for name, kind in table.columns.items()]
    return frame.project(", ".join([*columns, *keys]))


def _duckdb_value(name: str, kind: Any, group: FileGroup) -> str:
    """The value of a text: numbers may have blanks around them, and between semicolons a comma for the point."""
    value = _quoted(name)
    if str(kind) not in _DUCKDB:
        return value
    value = f"NULLIF(TRIM({value}, ' ' || chr(9) || chr(13)), '')"
    if str(kind) != "Boolean":
        words = ", ".join(map(_text, MISSING_WORDS))
        value = f"CASE WHEN {value} IN ({words}) THEN NULL ELSE {value} END"
    return _duckdb_cast(f"REPLACE({value}, ',', '.')" if group.separator == ";" else value, kind)


def _duckdb_key(name: str, file: str, table: TableFiles) -> str:
    """A column in the names of folders, told by the name of the file: DuckDB itself would make dates of some texts.

    And it would take the folders above the one that was named for columns, even where the files have one so called.
    """
    values = table.by_file[name]
    paths = [_text(path) for path, value in values.items() if value is not None]
    texts = [_text(str(value)) for value in values.values() if value is not None]
    value_of_file = f"MAP([{', '.join(paths)}], [{', '.join(texts)}])[{_quoted(file)}]"
    return f"{_duckdb_cast(value_of_file, table.keys[name])} AS {_quoted(name)}"


def _duckdb_cast(expression: str, kind: Any) -> str:
    """An expression as the type of DuckDB that stands for one of Polars."""
    return f"CAST({expression} AS {_DUCKDB.get(str(kind), 'VARCHAR')})"


def _quoted(name: str) -> str:
    """The name of a column as SQL has it."""
    return '"' + name.replace('"', '""') + '"'


def _text(value: str) -> str:
    """A text as SQL has it."""
    return "'" + value.replace("'", "''") + "'"


def _free_name(table: TableFiles) -> str:
    """A name that no column has, whatever its case."""
    taken = {name.casefold() for names in (table.columns, table.keys, table.withheld) for name in names}
    name = "file"
    while name in taken:
        name += "_"
    return name


def _check_footers(database: Any, path: str) -> None:
    """Compare the columns of all files at an address: by name, those that lack one would be filled up in silence."""
    asked = (
        "SELECT file_name, name, CASE WHEN type LIKE 'BYTE_ARRAY%' THEN 'text' WHEN type = 'BOOLEAN' THEN 'booleans' "
    )
    asked += "ELSE 'numbers' END FROM parquet_schema(?) WHERE type IS NOT NULL"
    files: dict[str, dict[str, str]] = {}
    for file, column, kind in database.execute(asked, [path]).fetchall():
        files.setdefault(file, {})[column] = kind
    for file, columns in files.items():
        check_same(file, columns, *next(iter(files.items())))


def _polars(table: TableFiles, path: str, master: str | None) -> Opened:  # noqa: ARG001 - all openers alike
    if table.batches is not None:
        return table.batches.scan([*table.columns, *table.keys]), leave_open
    read = _polars_parquet if table.kind == "parquet" else _polars_text
    frames = [read(group, table) for group in table.groups]
    return frames[0] if len(frames) == 1 else pl.concat(frames), leave_open


def _polars_parquet(group: FileGroup, table: TableFiles) -> Any:
    # What is in brackets was found already, and the name of a file may hold them.
    files: Any = list(group.files)
    if not table.local:
        return pl.scan_parquet(files)
    # It would take any folder called key=value for a column, even where the files have one so called.
    by_name = bool(table.keys) and not any(name in table.columns for name in table.folders)
    frame = pl.scan_parquet(
        files,
        glob=False,
        hive_partitioning=by_name,
        # By itself it makes the number 7 of 007, and dates.
        hive_schema={name: table.keys.get(name, pl.String) for name in table.folders} if by_name else None,
        # Of columns that not all files have, none is selected.
        missing_columns="insert",
        extra_columns="ignore",
        include_file_paths=_free_name(table) if table.keys and not by_name else None,
    )
    if table.is_plain:
        return frame
    cast = [pl.col(name).cast(table.columns[name]) for name in group.widened]
    keys = list(table.keys) if by_name else _polars_keys(group, table)
    return frame.select(*table.columns, *keys).with_columns(*cast)


def _polars_text(group: FileGroup, table: TableFiles) -> Any:  # noqa: ARG001 - all readers alike
    """Text files at an address, which Polars reads by itself."""
    files: Any = list(group.files)
    return pl.scan_csv(files, separator=group.separator, infer_schema_length=None)


def _polars_keys(group: FileGroup, table: TableFiles) -> list[Any]:
    """The columns in the names of folders, told by the name of the file: of text files Polars makes none itself."""
    file = pl.col(_free_name(table))
    return [
        file.replace_strict(group.files, [table.by_file[name][path] for path in group.files], return_dtype=kind).alias(
            name
        )
        for name, kind in table.keys.items()
    ]


def _dask(table: TableFiles, path: str, master: str | None) -> Opened:  # noqa: ARG001 - all openers alike
    """On the cluster that is named; otherwise by the client that is there, and without one by threads of this process.

    Threads need nothing that must be started, sent to or cleaned up, and what takes long, reading and grouping, runs
    outside Python's lock.
    """
    try:
        import dask.dataframe as dd
    except ImportError:
        raise missing_extra("dask", "The engine 'dask'") from None
    close = leave_open if master is None else _connected(master)
    read = _dask_parquet if table.kind == "parquet" else _dask_text
    concat: Any = dd.concat
    with _closed_by_errors(close):
        frames = [read(group, table) for group in table.groups]
        return frames[0] if len(frames) == 1 else concat(frames), close


@contextmanager
def _closed_by_errors(close: Callable[[], None]) -> Iterator[None]:
    """Close what was opened where something goes wrong inside."""
    try:
        yield
    except BaseException:
        close()
        raise


def _dask_files(group: FileGroup, table: TableFiles) -> Any:
    # Dask takes every name for a pattern, and one that fits nothing for an empty table.
    files = [glob.escape(file) if table.local else file for file in group.files]
    return files[0] if len(files) == 1 else files


def _dask_parquet(group: FileGroup, table: TableFiles) -> Any:
    import dask.dataframe as dd

    # As many small files as make up a block are one part of the table: a part costs the same whatever is in it.
    told: Any = {"aggregate_files": True, "blocksize": _block_size(group, table)}
    if table.local:
        # By itself it makes numbers of the values that look like some and finds the others no more, and takes folders
        # above the one that was named for columns.
        told["dataset"] = {"partitioning": {"flavor": "hive", "schema": _arrow_keys(table)}}
    frame: Any = dd.read_parquet(_dask_files(group, table), **told)
    if table.is_plain:
        return frame
    frame = frame[[*table.columns, *table.keys]]
    wider = {pl.Float64: "float64", pl.String: "string[pyarrow]"}
    cast = {name: wider[type(table.columns[name])] for name in group.widened if type(table.columns[name]) in wider}
    cast |= {name: _PANDAS[str(table.keys[name])] for name in table.keys if _is_nullable(name, table)}
    return frame.astype(cast) if cast else frame


def _block_size(group: FileGroup, table: TableFiles) -> int:
    """How many bytes of files are one part of a Dask table."""
    if not table.local:
        return BLOCK
    return max(LEAST_BLOCK, min(BLOCK, sum(Path(file).stat().st_size for file in group.files) // SHARES))


def _arrow_keys(table: TableFiles) -> Any:
    """The columns in the names of folders, as Arrow has them."""
    import pyarrow as pa  # type: ignore[import-untyped]

    kinds = {"Int64": pa.int64(), "Float64": pa.float64(), "Boolean": pa.bool_()}
    # Those with missing values come as text: as whole numbers they would become floats.
    return pa.schema(
        [
            (name, pa.string() if _is_nullable(name, table) else kinds.get(str(kind), pa.string()))
            for name, kind in table.keys.items()
        ]
    )


def _is_nullable(name: str, table: TableFiles) -> bool:
    """Whether pandas needs a type of its own for a column in the names of folders, because values are missing."""
    return str(table.keys[name]) in ("Int64", "Boolean") and None in table.by_file[name].values()


def _dask_text(group: FileGroup, table: TableFiles) -> Any:
    import dask.dataframe as dd

    file = _free_name(table)
    frame: Any = dd.read_csv(
        _dask_files(group, table),
        sep=group.separator,
        dtype=dict.fromkeys(table.texts, "string[pyarrow]") | dict.fromkeys(table.fractions, "float64"),
        # As in every other reader here, NA is a missing number, and in texts it may be a class.
        keep_default_na=False,
        na_values={
            name: ["", *(() if str(kind) in ("String", "Boolean") else MISSING_WORDS)]
            for name, kind in table.columns.items()
        },
        # What is packed cannot be read from the middle.
        blocksize=None if any(path.endswith(".gz") for path in group.files) else BLOCK,
        include_path_column=file if table.keys else False,
    )
    if table.is_plain:
        return frame
    # Of text files it takes no columns from the names of folders.
    keys = {
        name: frame[file].astype("string[pyarrow]").map(of, meta=(name, of.dtype))
        for name, of in _pandas_keys(group, table).items()
    }
    return frame.assign(**keys)[[*table.columns, *table.keys]]


def _pandas_keys(group: FileGroup, table: TableFiles) -> dict[str, Any]:
    """The columns in the names of folders by file, as pandas has them; with missing values whole numbers stay whole."""
    import pandas as pd

    return {
        name: pd.Series(
            [table.by_file[name][file] for file in group.files],
            index=pd.Index(group.files, dtype="string[pyarrow]"),
            dtype=_PANDAS.get(str(kind), "string[pyarrow]"),
        )
        for name, kind in table.keys.items()
    }


def _connected(master: str) -> Callable[[], None]:
    """Make the cluster at an address the one that Dask computes on; how to leave it."""
    try:
        from distributed import Client as Connecting
    except ImportError:
        raise missing_extra("dask", "The engine 'dask' on a cluster") from None
    if "://" not in master:
        raise OptionError(
            f"master is {master!r}, not the address of a Dask scheduler.", hint="it looks like tcp://host:8786."
        )
    check_reachable(master)
    connect: Any = Connecting
    try:
        client = connect(master, timeout=PATIENCE, name="heldout")
    except (OSError, TimeoutError, ValueError) as error:
        raise OptionError(
            f"The Dask scheduler at {master} could not be connected to: {one_line(error)}.",
            hint="see in its log why; its version of Dask should be the one here.",
        ) from error
    try:
        client.wait_for_workers(1, timeout=PATIENCE)
    except TimeoutError as error:
        client.close()
        raise OptionError(
            f"The Dask scheduler at {master} has had no worker for {PATIENCE} seconds.",
            hint=f"start some: dask worker {master}.",
        ) from error
    close: Callable[[], None] = client.close
    return close


def _spark(table: TableFiles, path: str, master: str | None) -> Opened:  # noqa: ARG001 - all openers alike
    check_master(master)
    session, close = spark_session(master)
    with _closed_by_errors(close):
        frames = [_spark_group(session, group, table) for group in table.groups]
        return reduce(lambda left, right: left.unionByName(right), frames), close


def _spark_group(session: Any, group: FileGroup, table: TableFiles) -> Any:
    names = [f"file:{_escaped(file)}" for file in group.files] if table.local else list(group.files)
    reader = session.read.option("basePath", f"file:{_escaped(table.root)}") if table.root else session.read
    with _folders_as_text(session):
        frame = reader.parquet(*names) if table.kind == "parquet" else _spark_text(reader, names, group, table)
    if table.is_plain:
        return frame
    from pyspark.sql.functions import col

    for name, values in table.by_file.items():
        # What stands as %C3%BC in the name of a folder, Spark reads byte by byte.
        broken = {text.encode().decode("latin-1"): text for text in map(str, values.values()) if not text.isascii()}
        frame = frame.replace(broken, subset=[name]) if broken else frame

    kinds = {"Int64": "bigint", "Float64": "double", "Boolean": "boolean", "String": "string"}
    wanted = {**table.columns, **table.keys}
    # Parquet files of one group have their own types, and what is not widened is left as it is.
    cast = set(group.widened) | set(table.keys) if table.kind == "parquet" else set(wanted)
    columns = {name: col(f"`{name.replace('`', '``')}`") for name in wanted}
    return frame.select(
        *(
            column.cast(kinds[str(wanted[name])]).alias(name) if name in cast and str(wanted[name]) in kinds else column
            for name, column in columns.items()
        )
    )


@contextmanager
def _folders_as_text(session: Any) -> Iterator[None]:
    """Let Spark read what the names of folders hold as text: by itself it makes the number 7 of 007."""
    name = "spark.sql.sources.partitionColumnTypeInference.enabled"
    before = session.conf.get(name)
    session.conf.set(name, "false")
    try:
        yield
    finally:
        session.conf.set(name, before)


def _spark_text(reader: Any, names: list[str], group: FileGroup, table: TableFiles) -> Any:
    from pyspark.sql.types import DoubleType, StringType, StructField, StructType

    # A quote in a field is doubled, every header is compared with the columns (Spark would go by position), and what
    # does not fit its type ends the run instead of becoming a missing value.
    rules = {"header": True, "sep": group.separator, "escape": '"', "enforceSchema": False, "mode": "FAILFAST"}
    frame = reader.csv(names, inferSchema=True, **rules)
    kinds = dict.fromkeys(table.texts, StringType()) | dict.fromkeys(table.fractions, DoubleType())
    if not kinds:
        return frame
    schema = StructType([StructField(field.name, kinds.get(field.name, field.dataType)) for field in frame.schema])
    return reader.schema(schema).csv(names, **rules)


def _escaped(path: str) -> str:
    """A path in which Spark sees no pattern."""
    return re.sub(r"([\[\]{}*?\\])", r"\\\1", path)
