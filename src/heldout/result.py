"""The contract that every answer keeps: rows and blocks, from which all other forms follow."""

from __future__ import annotations

import csv
import io
import json
import math
import numbers
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from functools import cache, wraps
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, ParamSpec, TypeAlias, TypeVar, final, get_args, overload

from heldout.arguments import closest, listing
from heldout.atomic_write import write_whole
from heldout.errors import OptionError
from heldout.show.blocks import Prose, Title
from heldout.synonyms import answer_attribute

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]
    from matplotlib.axes import Axes

    from heldout.show.altair import AnyChart
    from heldout.show.blocks import Block
    from heldout.show.chart import Chart
    from heldout.show.text import Screen

P = ParamSpec("P")
R = TypeVar("R")
ROW_KEYS = ("measure", "class", "average", "value", "low", "high", "level", "method", "n")
"""The keys that every row begins with, in this order, so that rows of any two results bind."""


def make_row(
    measure: object,
    value: float = math.nan,
    low: float = math.nan,
    high: float = math.nan,
    *,
    class_: object = None,
    average: str | None = None,
    level: float | None = math.nan,
    method: object = "",
    n: object = None,
    **more: object,
) -> dict[str, object]:
    """A row with the keys of every row, and more behind them.

    >>> list(make_row("cases", 3.0, n=3, unit="case"))[-2:]
    ['n', 'unit']
    """
    head = (measure, class_, average, value, low, high, level, method, n)
    return dict(zip(ROW_KEYS, head, strict=True)) | more


Backend: TypeAlias = Literal["polars", "pandas", "pyarrow"]
BACKENDS: tuple[Backend, ...] = get_args(Backend)
ENDINGS = (".json", ".md", ".html", ".tex", ".txt", ".csv")
# Endings of files that only charts are written to.
PICTURES = (".svg", ".png")

# Columns whose type does not depend on what they happen to hold, so that frames of any two results bind.
_TEXTS = frozenset({"measure", "class", "average", "method"})
_FLOATS = frozenset({"value", "low", "high", "level"})
_SURROGATES = re.compile("[\ud800-\udfff]")
_Kind: TypeAlias = Literal["text", "float", "int", "bool"]
Form: TypeAlias = Literal["screen", "full", "page", "chosen", "chosen page"]
"""How much of an answer is shown and where; "chosen" leaves out whatever nobody asked for."""


def bound_late(name: str) -> Callable[..., Any]:
    """The function that "module:function" names, imported when it is called.

    Results stand below what renders, reviews and slices them, and name it in a class variable: this is the only way up.

    >>> bound_late("math:sqrt")(4)
    2.0
    """
    module, _, function = name.partition(":")
    bound: Callable[..., Any] = getattr(import_module(module), function)
    return bound


class Result(ABC):
    """An answer that can be read, stored and bound with others.

    A frozen dataclass with `eq=False` inherits this, names its `schema`, and says two things: `rows`, the tidy figures,
    and `blocks`, how it reads. Everything else is derived here and nowhere overridden.

    >>> from dataclasses import dataclass
    >>> from heldout.show.blocks import Prose
    >>> @dataclass(frozen=True, slots=True, eq=False)
    ... class Size(Result):
    ...     schema = "heldout/size@1"
    ...     n: int
    ...     def rows(self):
    ...         return [{"measure": "size", "value": float(self.n)}]
    ...     def blocks(self):
    ...         return [Prose(f"There are {self.n} cases.")]
    >>> print(Size(3))
    There are 3 cases.
    >>> Size(3).to_dict()
    {'schema': 'heldout/size@1', 'estimates': [{'measure': 'size', 'value': 3.0}]}
    """

    # The library of the data frames that it was made from; unset where it was not made from any.
    __slots__ = ("_frames",)

    schema: ClassVar[str]
    # The key of the rows in the document; empty where they are among the facts.
    rows_name: ClassVar[str] = "estimates"
    # Its kinds of chart, the usual one first, each with what draws it in the same way.
    _charts: ClassVar[Mapping[str, str]] = {"intervals": "heldout.report.interval_chart:draw_rows"}
    # What a notebook shows of it.
    _notebook_by: ClassVar[str] = "heldout.report.notebook:notebook_blocks"

    # Hidden from mypy, for which every attribute would exist.
    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Nothing is found here."""
            return look_again(self, name)

    @abstractmethod
    def rows(self) -> list[dict[str, object]]:
        """Flat, tidy rows of scalars, each beginning with `ROW_KEYS`."""

    @abstractmethod
    def blocks(self) -> list[Block]:
        """How the answer reads, from top to bottom."""

    def page_blocks(self) -> list[Block]:
        """How it reads on a page of its own; what `blocks` says, unless there is more to show."""
        return self.blocks()

    def full_blocks(self) -> list[Block]:
        """How it reads with everything that there is; what `blocks` says, unless there is more to show."""
        return self.blocks()

    @property
    def verdict(self) -> str:
        """What it says in a sentence or two; empty where it is figures alone."""
        return next(
            (block.text for block in self.blocks() if isinstance(block, Prose) and block.label == "Verdict"), ""
        )

    def summary(self) -> str:
        """What it is about and what it says, in a line each."""
        title = next((block.text for block in self.blocks() if isinstance(block, Title)), "")
        lines = [line for line in (title, self.verdict) if line]
        return "\n".join(lines) or str(self).partition("\n")[0]

    @property
    def chart_kinds(self) -> tuple[str, ...]:
        """The kinds of chart that it can be drawn as; the first is drawn unless another is named."""
        return tuple(self._charts)

    def _draw(self, kind: str | None = None, **options: Any) -> Chart:
        if not self.chart_kinds:
            raise OptionError(f"A {type(self).__name__} has no chart.", hint="print it to read it.")
        wanted = self.chart_kinds[0] if kind is None else str(kind)
        if wanted not in self._charts:
            near = closest(wanted, self.chart_kinds)
            raise OptionError(
                f"There is no chart {wanted!r} of this result. There are: {listing(self.chart_kinds)}.",
                hint=f"did you mean {near!r}?" if near else f"use {self.chart_kinds[0]!r}.",
            )
        chart: Chart = bound_late(self._charts[wanted])(self, **options)
        return chart

    @final
    def chart(self, kind: str | None = None, **options: Any) -> AnyChart:
        """An Altair chart of one of its `chart_kinds`, by default the first; `options` are those of the kind."""
        from heldout.show.altair import altair_chart

        return altair_chart(self._draw(kind, **options))

    @final
    def plot(
        self, kind: str | None = None, ax: Axes | None = None, *, title: str | bool = False, **options: Any
    ) -> Axes:
        """Draw one of its `chart_kinds` with matplotlib, into `ax` or a figure of its own, and return the axes.

        Made for papers: there is no title unless `title` is true or a text. The rest of the figure stays yours.
        """
        from heldout.show.matplotlib import plot_chart

        return plot_chart(self._draw(kind, **options), ax, title=title)

    @final
    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        from heldout.values import differing

        return not differing(self, other)

    @final
    def __hash__(self) -> int:
        # Arrays and mappings have no hash, and two that are not a number are equal here: plain figures tell enough.
        values = (getattr(self, part.name) for part in fields(self))  # type: ignore[arg-type]
        return hash((type(self), *(value for value in values if isinstance(value, str | int))))

    def __getstate__(self) -> object:
        from heldout.values import state_of

        return state_of(self) | ({"_frames": self._frames} if hasattr(self, "_frames") else {})

    def __setstate__(self, state: Mapping[str, object]) -> None:
        for name, value in state.items():
            object.__setattr__(self, name, value)

    def _describe(self) -> str:
        """What it is of, in a few words, for results that are too large to show every field."""
        return type(self).__name__

    def __repr__(self) -> str:
        return f"<{self._describe()}; print it to read it>"

    def _parts(self) -> Iterable[Result]:
        """The results that it holds, and that are asked for frames by themselves."""
        return ()

    @final
    def _like(self, result: R) -> R:
        """A result that was made from this one, which comes back as frames of the same library."""
        keep_backend(result, getattr(self, "_frames", None))
        return result

    def facts(self) -> dict[str, object]:
        """What stands beside the rows in the JSON document, such as n and the confusion matrix."""
        return {}

    @final
    def to_dict(self) -> dict[str, Any]:
        """The JSON document as Python values: undefined is None, infinity the string "Infinity"."""
        document = {"schema": self.schema, **self.facts()}
        if self.rows_name:
            document[self.rows_name] = self.rows()
        return {key: json_safe(value) for key, value in document.items()}

    @final
    def to_json(self, indent: int | None = 2) -> str:
        """The JSON document as text."""
        text = _write_json(self.to_dict(), indent)
        # Half a surrogate pair, which broken input can hold, has no UTF-8 form: only its escape is portable.
        return _SURROGATES.sub(lambda match: f"\\u{ord(match.group()):04x}", text)

    @overload
    def to_frame(self, backend: None = None) -> Any: ...
    @overload
    def to_frame(self, backend: Literal["polars"]) -> pl.DataFrame: ...
    @overload
    def to_frame(self, backend: Literal["pandas"]) -> pd.DataFrame: ...
    @overload
    def to_frame(self, backend: Literal["pyarrow"]) -> pa.Table: ...
    @final
    def to_frame(self, backend: Backend | None = None) -> pl.DataFrame | pd.DataFrame | pa.Table:
        """The rows as a data frame of Polars, pandas or PyArrow: by default of the library that the data came in.

        Data that came in none of them, such as arrays and files, give one of Polars. Undefined values are missing, not
        NaN: in Polars NaN is greater than every number, and a filter `value > 0.9` would keep it.
        """
        backend = getattr(self, "_frames", BACKENDS[0]) if backend is None else backend
        if backend not in BACKENDS:
            near = closest(str(backend), BACKENDS)
            raise OptionError(
                f"There is no data frame backend {backend!r}; there are {listing(BACKENDS)}.",
                hint=f"use {near or 'polars'!r}.",
            )
        if find_spec(backend) is None:
            raise OptionError(
                f"The data frame backend {backend!r} needs the package {backend}, which is not installed.",
                hint=f"install it with `pip install {backend}`, or use another of {listing(BACKENDS)}.",
            )
        return _FRAMES[backend](_columns(self.rows()))

    @final
    def to_markdown(self) -> str:
        """The blocks as Markdown with GitHub's tables."""
        from heldout.show.markdown import render_markdown

        return render_markdown(self.blocks())

    @final
    def to_latex(self) -> str:
        """The blocks as LaTeX that needs the package booktabs."""
        from heldout.show.latex import render_latex

        return render_latex(self.blocks())

    @final
    def to_html(self) -> str:
        """What a notebook shows of it, as an HTML fragment for any page; `write("report.html")` writes a whole page."""
        from heldout.show.html import render_html

        return render_html(bound_late(self._notebook_by)(self))

    @final
    def __str__(self) -> str:
        from heldout.show.text import render_text

        return render_text(self.blocks())

    @final
    def __rich__(self) -> Screen:
        from heldout.show.text import to_rich

        return to_rich(self.blocks())

    @final
    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:  # noqa: ARG002
        """How IPython prints it where it shows no HTML: as `print` does, and not every array behind it."""
        return {"text/plain": str(self)}

    @final
    def _repr_html_(self) -> str:
        return self.to_html()

    @final
    def write(self, path: str | Path, kind: str | None = None) -> Path:
        """Write the answer to a file, in the form its ending names: json, md, html, tex, txt or csv, or svg or png.

        With a `kind`, one of its `chart_kinds`, it is that chart alone, as svg, png, html or json (Vega-Lite).
        """
        target = Path(path)
        ending = target.suffix.lower()
        if kind is not None or ending in PICTURES:
            return self._write_chart(target, kind)
        check_result_ending(target)
        # Half a surrogate pair in a CSV file is spelled out, as it is in the other forms.
        return write_whole(target, self._form(ending).encode("utf-8", errors="backslashreplace"))

    @final
    def save(self, path: str | Path, kind: str | None = None) -> Path:
        """The same as `write`."""
        return self.write(path, kind)

    def _write_chart(self, path: Path, kind: str | None) -> Path:
        from heldout.show.figure import save_chart

        return save_chart(self._draw(kind), path)

    def _form(self, ending: str) -> str:
        if ending == ".csv":
            return _csv(_columns(self.rows()))
        if ending == ".json":
            return self.to_json() + "\n"
        if ending == ".html":
            from heldout.show.html import render_page

            blocks = self.page_blocks()
            titles = [block.text for block in blocks if isinstance(block, Title)]
            return render_page(blocks, title=titles[0] if titles else self.schema)
        text = {".md": self.to_markdown, ".tex": self.to_latex, ".txt": self.__str__}[ending]
        return text() + "\n"


def look_again(result: object, name: str) -> Any:
    """The error of an attribute that was not found: what other libraries call so is named instead."""
    if hasattr(type(result), name):
        # A property that failed, or a slot without a value: what went wrong there is what to say.
        return object.__getattribute__(result, name)
    raise missing_attribute(result, name)


def missing_attribute(result: object, name: str) -> AttributeError:
    """What is raised for an attribute that is not there: with ours for what other libraries call so.

    >>> missing_attribute("text", "colour")
    AttributeError("'str' object has no attribute 'colour'")
    """
    kind = type(result)
    answer = "" if name.startswith("_") else answer_attribute(kind, name)
    message = f"{kind.__name__!r} object has no attribute {name!r}" + f": {answer}." * bool(answer)
    # With both, Python says which name is near.
    return AttributeError(message) if answer else AttributeError(message, name=name, obj=result)


def check_result_ending(path: Path, called: str = "") -> None:
    """Refuse the name of a file whose ending does not say in which form a result is written; `called` is its name."""
    known, ending = (*ENDINGS, *PICTURES), path.suffix.lower()
    if ending not in known:
        near = closest(ending, known) if ending else None
        says = f"ends in {ending!r}" if ending else "has no ending"
        raise OptionError(
            f"{called or path.name} {says}, but a result is written as one of {listing(known)}.",
            hint=f"name the file {path.name.partition('.')[0] or 'report'}{near or '.html'}.",
        )


class RenderedResult(Result):
    """A result that a layer above says how to read: named in `_rendered_by`, as "module:function"."""

    __slots__ = ()

    _rendered_by: ClassVar[str]

    def blocks(self) -> list[Block]:
        """How the answer reads, from top to bottom."""
        return self._render("screen")

    def page_blocks(self) -> list[Block]:
        """How it reads on a page of its own."""
        return self._render("page")

    def full_blocks(self) -> list[Block]:
        """How it reads with everything that there is."""
        return self._render("full")

    @final
    def _render(self, form: Form) -> list[Block]:
        blocks: list[Block] = bound_late(self._rendered_by)(self, form)
        return blocks


def keeps_backend(function: Callable[P, R]) -> Callable[P, R]:
    """Let what a function returns come back as frames of the library that its data came in."""

    @wraps(function)
    def call(*given: P.args, **options: P.kwargs) -> R:
        result = function(*given, **options)
        keep_backend(result, find_backend((*given, *options.values())))
        return result

    return call


def keep_backend(result: object, backend: Backend | None) -> None:
    """Let a result, or each of several, come back as frames of this library; nothing changes where there is none."""
    for part in result if isinstance(result, list | tuple) else [result]:
        if isinstance(part, Result) and backend is not None:
            object.__setattr__(part, "_frames", backend)
            keep_backend(tuple(part._parts()), backend)  # noqa: SLF001 - the contract of every result


def find_backend(values: Iterable[object]) -> Backend | None:
    """The library of the first data frame or column among these values, or of what a result was made from.

    >>> import polars as pl
    >>> find_backend(["yes", [1, 2], {"age": pl.Series([1, 2])}])
    'polars'
    """
    for value in values:
        backend: Backend | None = getattr(value, "_frames", None) if isinstance(value, Result) else None
        backend = backend or next(filter(None, map(_find_library, type(value).__mro__)), None)
        if backend is None and isinstance(value, Mapping):
            backend = find_backend(list(value.values())[:_LOOKED_AT])
        elif backend is None and isinstance(value, list | tuple):
            backend = find_backend(value[:_LOOKED_AT])
        if backend is not None:
            return backend
    return None


def _find_library(kind: type) -> Backend | None:
    return _LIBRARIES.get(kind.__module__.partition(".")[0])


# Frames of Dask are made of those of pandas.
_LIBRARIES: Mapping[str, Backend] = {**{name: name for name in BACKENDS}, "dask": "pandas"}
# A list may be a column of a million labels, of which the first few say enough.
_LOOKED_AT = 8


def json_safe(value: object) -> Any:
    """The value in what JSON has: undefined is None, infinity is named as protobuf's JSON names it.

    >>> json_safe({1: (float("nan"), float("inf")), "a": {"b": 2}})
    {'1': [None, 'Infinity'], 'a': {'b': 2}}
    """
    # Nearly every value is one of these, and what kind of number another one is takes long to tell.
    plain_type = type(value)
    if value is None or plain_type is str or plain_type is int or plain_type is bool:
        return value
    if isinstance(value, float):
        return _json_float(float(value))
    safe: Any
    match value:
        case None | bool():
            safe = value
        case str():
            safe = str(value)
        case numbers.Integral():
            safe = int(value)
        case numbers.Real():
            safe = _json_float(float(value))
        case Mapping():
            safe = _json_object(value)
        case _ if hasattr(value, "tolist"):
            # NumPy's arrays, booleans and dates convert themselves to Python's.
            plain = value.tolist()
            safe = json_safe(plain) if type(plain) is not type(value) else str(plain)
        case Iterable() if not isinstance(value, bytes):
            safe = [json_safe(item) for item in value]
        case _:
            safe = str(value)
    return safe


def _write_json(value: Any, indent: int | None) -> str:
    """What `json.dumps` writes, which takes four times as long for it where lines are indented."""
    if isinstance(indent, int) and indent > 0:
        return _indented(value, indent, "\n")
    return json.dumps(value, indent=indent, ensure_ascii=False, allow_nan=False)


_NESTED = {dict, list}


def _indented(value: Any, indent: int, outer: str) -> str:
    """One value; `outer` is the new line and the indentation of what it stands in."""
    inner = outer + " " * indent
    if not isinstance(value, dict | list) or not value:
        return _encode_json(", ", value)
    if _NESTED.isdisjoint(map(type, value.values() if isinstance(value, dict) else value)):
        # Without lines of its own in it, JSON's compiled encoder writes it, with our line breaks between the items.
        text = _encode_json("," + inner, value)
        return f"{text[0]}{inner}{text[1:-1]}{outer}{text[-1]}"
    if isinstance(value, list):
        return f"[{inner}{f',{inner}'.join(_indented(item, indent, inner) for item in value)}{outer}]"
    items = (f"{_encode_json(', ', key)}: {_indented(item, indent, inner)}" for key, item in value.items())
    return f"{{{inner}{f',{inner}'.join(items)}{outer}}}"


def _encode_json(between: str, value: Any) -> str:
    return _encoder(between).encode(value)


@cache
def _encoder(between: str) -> json.JSONEncoder:
    return json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(between, ": "))


def _json_float(value: float) -> float | str | None:
    if math.isnan(value):
        return None
    return value if math.isfinite(value) else "Infinity" if value > 0 else "-Infinity"


def _json_object(value: Mapping[Any, object]) -> dict[str, Any]:
    document: dict[str, Any] = {}
    for key, item in value.items():
        name = key if type(key) is str else str(key) if isinstance(key, str) else str(json_safe(key))
        # The labels 1 and "1" are two classes: neither may hide the other.
        document[name if name not in document else repr(key)] = json_safe(item)
    return document


def _columns(rows: list[dict[str, object]]) -> dict[str, tuple[_Kind, list[Any]]]:
    """The rows by column, each of one type; without rows, the columns that every result has."""
    names = list(dict.fromkeys(key for row in rows for key in row)) or list(ROW_KEYS)
    columns: dict[str, tuple[_Kind, list[Any]]] = {}
    for name in names:
        values = [_scalar(row.get(name)) for row in rows]
        # A column in which every number is undefined is still one of numbers.
        undefined = (
            name not in _TEXTS and all(v is None for v in values) and any(_is_float(row.get(name)) for row in rows)
        )
        kind: _Kind = "float" if undefined else _kind(name, values)
        convert = {"text": str, "float": float, "int": int, "bool": bool}[kind]
        columns[name] = kind, [None if value is None else convert(value) for value in values]
    return columns


def _is_float(value: object) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, numbers.Integral)


def _scalar(value: object) -> Any:
    """Python's own scalar, with undefined as None and infinity kept."""
    safe = json_safe(value)
    if isinstance(safe, str) and isinstance(value, numbers.Real):
        return float(value)
    if isinstance(safe, str):
        return _SURROGATES.sub(lambda match: f"\\u{ord(match.group()):04x}", safe)
    return safe


def _kind(name: str, values: list[Any]) -> _Kind:
    kinds = {type(value) for value in values if value is not None}
    if name in _TEXTS:
        return "text"
    if name in _FLOATS or (kinds <= {int, float} and float in kinds):
        return "float"
    if kinds == {bool}:
        return "bool"
    # Integers beyond 64 bits fit no frame.
    small = all(value is None or (type(value) is int and abs(value) < 2**63) for value in values)
    return "int" if kinds <= {int} and small and (kinds or name == "n") else "text"


def _polars(columns: dict[str, tuple[_Kind, list[Any]]]) -> pl.DataFrame:
    import polars as pl

    types = {"text": pl.String, "float": pl.Float64, "int": pl.Int64, "bool": pl.Boolean}
    return pl.DataFrame([pl.Series(name, values, types[kind]) for name, (kind, values) in columns.items()])


def _pandas(columns: dict[str, tuple[_Kind, list[Any]]]) -> pd.DataFrame:
    import pandas as pd

    types = {"text": "string", "float": "float64", "int": "Int64", "bool": "boolean"}
    return pd.DataFrame({name: pd.Series(values, dtype=types[kind]) for name, (kind, values) in columns.items()})


def _pyarrow(columns: dict[str, tuple[_Kind, list[Any]]]) -> pa.Table:
    import pyarrow as pa

    types = {"text": pa.string(), "float": pa.float64(), "int": pa.int64(), "bool": pa.bool_()}
    return pa.table({name: pa.array(values, types[kind]) for name, (kind, values) in columns.items()})


def _csv(columns: dict[str, tuple[_Kind, list[Any]]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*(values for _, values in columns.values()), strict=True))
    return out.getvalue()


_FRAMES = {"polars": _polars, "pandas": _pandas, "pyarrow": _pyarrow}
