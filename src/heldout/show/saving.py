"""Writing charts to files: SVG, PNG, a page that works offline, or the Vega-Lite document."""

from __future__ import annotations

import html
import json
from pathlib import Path

from heldout.arguments import closest, listing
from heldout.errors import FileError, OptionError
from heldout.show.chart import Chart
from heldout.show.escape import visible
from heldout.show.figure import figure_svg

ENDINGS = (".svg", ".png", ".html", ".json")
# Pixels of a PNG per unit of the chart: sharp on today's screens and on paper.
DENSITY = 2.0


def save_chart(chart: Chart, path: str | Path) -> Path:
    """Write a chart as its file's ending says: svg, png, html (everything inside, works offline) or json (Vega-Lite).

    >>> save_chart(None, "roc.pgn")
    Traceback (most recent call last):
    heldout.errors.OptionError: roc.pgn ends in '.pgn', but a chart is written as one of .svg, .png, .html, .json.
    Hint: name the file roc.png.
    """
    target = Path(path)
    ending = target.suffix.lower()
    if ending not in ENDINGS:
        near = closest(ending, ENDINGS)
        raise OptionError(
            f"{target.name} ends in {ending!r}, but a chart is written as one of {listing(ENDINGS)}.",
            hint=f"name the file {target.stem}{near or '.svg'}.",
        )
    return write_file(target, _content(chart, ending))


def write_file(path: str | Path, content: bytes) -> Path:
    """Write a file, and say what is wrong where that cannot be done."""
    target = Path(path)
    try:
        target.write_bytes(content)
    except OSError as error:
        raise FileError(
            f"{target} cannot be written: {error.strerror or error}.",
            hint="check that the folder exists and that you may write there.",
        ) from error
    return target


def _content(chart: Chart, ending: str) -> bytes:
    if ending == ".json":
        from heldout.show.altair import altair_chart

        document = json.dumps(altair_chart(chart).to_dict(), indent=2, ensure_ascii=False, allow_nan=False)
        return f"{document}\n".encode("utf-8", "backslashreplace")
    if ending == ".png":
        import vl_convert

        return vl_convert.svg_to_png(figure_svg(chart), scale=DENSITY)
    drawing = figure_svg(chart, tips=ending == ".html")
    if ending == ".html":
        title = html.escape(visible(chart.title))
        head = f'<!DOCTYPE html>\n<html lang="en">\n<head><meta charset="utf-8"><title>{title}</title></head>\n'
        drawing = f"{head}<body>{drawing}</body>\n</html>\n"
    return drawing.encode("utf-8", "backslashreplace")
