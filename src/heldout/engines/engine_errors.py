"""What goes wrong inside an engine, put into one line of words instead of its own pages."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

from heldout.errors import HeldoutError
from heldout.files.rust_panics import is_panic, without_panics

# Packages whose errors are those of an engine, or through whose code an error of one of its tasks has come.
_PACKAGES = {
    "_duckdb",
    "adbc_driver_manager",
    "botocore",
    "dask",
    "distributed",
    "duckdb",
    "fsspec",
    "ibis",
    "narwhals",
    "pandas",
    "polars",
    "py4j",
    "pyarrow",
    "pyspark",
    "sqlglot",
    "tornado",
}
_SENTENCES = {"_duckdb", "duckdb", "narwhals", "polars", "pyarrow"}
_NAMES = {
    "_duckdb": "DuckDB",
    "dask": "Dask",
    "distributed": "Dask",
    "duckdb": "DuckDB",
    "ibis": "Ibis",
    "polars": "Polars",
    "py4j": "Spark",
    "pyspark": "Spark",
    "spark": "Spark",
}
# Spark writes the same error to the terminal as a line of JSON, before it raises it.
_LOUD = ("DataFrameQueryContextLogger", "SQLQueryContextLogger")
_LONGEST = 400

# In the order in which they are looked for: words in the reason, and what to do.
_HINTS = {
    r"NoClassDefFound|ClassNotFound|No FileSystem for scheme|UnsupportedFileSystem": (
        "the file system of this address is a package of its own: for s3a:// set PYSPARK_SUBMIT_ARGS="
        "'--packages org.apache.hadoop:hadoop-aws:VERSION pyspark-shell', VERSION being the Hadoop of your Spark."
    ),
    r"\bInstall (s3fs|gcsfs|adlfs|ossfs)|Protocol not known": (
        "install the package for this kind of address: s3fs for s3://, gcsfs for gs://, adlfs for az://."
    ),
    r"KilledWorker|workers died|ExecutorLost|Lost executor|OutOfMemory|MemoryError|Out of Memory|heap space": (
        "a worker died, most often because its memory was full: give the workers more memory or the table smaller "
        "parts, and run it again."
    ),
    r"magic|not a Parquet|corrupt|decompress|truncated|unexpected end|out of specification|footer": (
        "a file is damaged or not written to its end: write it again or leave it out."
    ),
    r"PATH_NOT_FOUND|FILE_NOT_EXIST|No such file|does not exist|No files found|NoSuchKey|FileNotFound": (
        "check the path, and that nobody removes files meanwhile; on a cluster every worker must see it."
    ),
    r"schema mismatch|DATA_TYPE_MISMATCH|type mismatch|Mismatched dtypes|unsupported operand|not in index": (
        "the parts of the table do not have the same columns and types: write them alike."
    ),
    r"cannot be cast|CAST_INVALID|Conversion Error|could not convert|conversion from": (
        "a column holds something that is not of its type: cast or clean it before."
    ),
    r"ConnectException|Connection refused|CommClosed|timed out|UnknownHost|scheduler": (
        "check that the cluster and the file system are up and can be reached from here."
    ),
}
_OTHERWISE = (
    "what stands after the colon are the engine's own words: look there for a column or file that it cannot use, and "
    "see whether another engine reads the data (--engine stream for files)."
)


@contextmanager
def engine_errors(name: str, *, polars: bool = False) -> Iterator[None]:
    """Turn what an engine raises inside into a HeldoutError with its reason in one line.

    `name` is that of the engine or of the data, and `polars` says that the engine is Polars. An error of heldout passes
    as it is, and so does one that did not come out of an engine's code.

    >>> import polars as pl
    >>> try:
    ...     with engine_errors("polars"):
    ...         pl.LazyFrame({"x": [1]}).select("y").collect()
    ... except HeldoutError as error:
    ...     print(error.what)
    Polars could not finish: unable to find column "y"; valid columns: ["x"].
    """
    loggers = _loud_loggers()
    before = [logger.disabled for logger in loggers]
    for logger in loggers:
        logger.disabled = True
    try:
        # What Spark and others write there is their own; a process of theirs that begins now would keep the file.
        with without_panics() if polars or name == "polars" else nullcontext():
            yield
    except HeldoutError:
        raise
    except BaseException as error:
        if not (isinstance(error, Exception) or is_panic(error)) or not _packages(error):
            raise
        reason = one_line(error)
        if re.search("interrupt|SPARK_JOB_CANCELLED", f"{type(error).__name__} {reason}", re.IGNORECASE):
            # DuckDB's words for Ctrl-C, and those of Spark, whose Python cancels all jobs then.
            raise KeyboardInterrupt from error
        known = f"{type(error).__name__} {reason}"
        hint = next((hint for pattern, hint in _HINTS.items() if re.search(pattern, known, re.IGNORECASE)), _OTHERWISE)
        who = f"{_NAMES[name]} could not finish" if name in _NAMES else f"{_engine_of(error)} could not count {name}"
        raise HeldoutError(f"{who}: {reason.rstrip('.')}.", hint=hint) from error
    finally:
        for logger, was in zip(loggers, before, strict=True):
            logger.disabled = was


def _loud_loggers() -> list[logging.Logger]:
    if sys.modules.get("pyspark") is None:
        return []
    from pyspark.logger import PySparkLogger

    # Made by Spark's own class: a plain logger of that name would not take what Spark hands to it.
    return [PySparkLogger.getLogger(loud) for loud in _LOUD]


def one_line(error: BaseException) -> str:
    r"""The reason in what an engine says, without stack traces, drawings and plans.

    >>> one_line(ValueError("Mismatched dtypes found.\n\n+--------+\n| Column |\n+--------+"))
    'ValueError: Mismatched dtypes found.'
    """
    text = str(error).strip()
    if "Traceback (most recent call last)" in text:
        # The last line of the last traceback that stands at the margin is what a task raised.
        text = _raised(text)
    elif type(error).__module__.startswith(("py4j", "pyspark")):
        text = _from_java(text)
    else:
        words, kind = _first_words(text), type(error)
        # What engines raise themselves is a sentence; the text of a KeyError is a name.
        whole = words and kind.__module__.partition(".")[0] in _SENTENCES
        text = words if whole else f"{kind.__name__}: {words}".removesuffix(": ")
    text = re.sub(r" ?SQLSTATE: \w+;?", "", " ".join(text.split()))
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _packages(error: BaseException) -> list[str]:
    """The packages that an error belongs to and came through: what a task raises has the type that it gave it."""
    packages, trace = [type(error).__module__.partition(".")[0]], error.__traceback__
    while trace is not None:
        packages.append(str(trace.tb_frame.f_globals.get("__name__", "")).partition(".")[0])
        trace = trace.tb_next
    return [package for package in packages if package in _PACKAGES]


def _engine_of(error: BaseException) -> str:
    return next((_NAMES[package] for package in _packages(error) if package in _NAMES), "The engine")


def _raised(text: str) -> str:
    after = text.rpartition("Traceback (most recent call last)")[2].splitlines()[1:]
    at_margin = [line for line in after if line.strip() and not line.startswith((" ", "\t"))]
    return at_margin[0] if at_margin else text.splitlines()[0]


def _first_words(text: str) -> str:
    """The first paragraph, and of those that draw a table the words before it and the rows in it."""
    lines = [line.strip() for line in text.splitlines()]
    drawn = [line.strip("| ") for line in lines if line.startswith("|")][1:]
    words = []
    for line in lines:
        if not line or line.startswith(("+-", "|")):
            break
        words.append(line)
    table = ", ".join(" ".join(cell.strip() for cell in row.split("|")) for row in drawn)
    return f"{' '.join(words)} {table}".strip()


def _from_java(text: str) -> str:
    """The first cause that has a name in brackets, and the innermost one."""
    causes = re.findall(r"^(?:Caused by)?: (?:[\w.$]+: )?(.*)$", text, re.MULTILINE) or [text.splitlines()[0]]
    causes = [cause for cause in causes if cause and not cause.startswith("Exception thrown in awaitResult")]
    if not causes:
        return text.splitlines()[0]
    named = next((cause for cause in causes if cause.startswith("[")), causes[0])
    last = causes[-1]
    return named if last == named or last in named else f"{named} {last}"
