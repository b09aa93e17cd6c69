"""Writing charts to files: SVG, PNG, a page that works offline, or the Vega-Lite document."""

from __future__ import annotations

import html
import json
from pathlib import Path
from typing import TYPE_CHECKING

from heldout.arguments import closest, listing
from heldout.errors import FileError, OptionError

if TYPE_CHECKING:
    from heldout.curves.chart import AnyChart

ENDINGS = (".svg", ".png", ".html", ".json")
# Pixels of a PNG per unit of the chart: sharp on today's screens and on paper.
DENSITY = 2.0


def save_chart(chart: AnyChart, path: str | Path) -> Path:
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
    content = _content(chart, ending)
    try:
        target.write_bytes(content)
    except OSError as error:
        raise FileError(
            f"{target} cannot be written: {error.strerror or error}.",
            hint="check that the folder exists and that you may write there.",
        ) from error
    return target


def _content(chart: AnyChart, ending: str) -> bytes:
    spec = chart.to_dict()
    if ending == ".json":
        return (json.dumps(spec, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode(
            "utf-8", "backslashreplace"
        )
    import vl_convert

    # No address is allowed: a chart holds its data, and nothing is fetched to draw it.
    if ending == ".png":
        return vl_convert.vegalite_to_png(spec, scale=DENSITY, allowed_base_urls=[])
    words = html.escape(str(spec.get("description", "Chart")))
    if ending == ".svg":
        drawn = vl_convert.vegalite_to_svg(spec, allowed_base_urls=[])
        # The renderer leaves the description out, and a picture without one is silent in a screen reader.
        return drawn.replace("<svg ", f'<svg role="img" aria-label="{words}" ', 1).encode("utf-8")
    page = vl_convert.vegalite_to_html(spec, bundle=True, renderer="svg")
    page = page.replace("<html>", '<html lang="en">', 1).replace("<head>", f"<head>\n    <title>{words}</title>", 1)
    return page.encode("utf-8")
