"""A chart drawn with matplotlib, into axes of one's own, for papers."""

from __future__ import annotations

import math
import textwrap
from typing import TYPE_CHECKING, Any

from heldout.extras import require_extra
from heldout.show.chart import Axis, Caption, Chart, Dots, Panel, Shape, Stroke, Tiles, Tone
from heldout.show.escape import visible
from heldout.show.figure import COLOURS
from heldout.show.svg import find_dash, find_ticks, scale_dot

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Inches: one column of a paper, and one and a half.
SIZES: dict[Shape, tuple[float, float]] = {"square": (3.4, 3.4), "wide": (5.0, 3.0)}
# Points: text of a figure that stands in a column of text of ten.
TEXT, SMALL = 9.0, 8.0
# Letters that have room along an axis.
LETTERS = {"x": 46, "y": 36}
_SHAPES: dict[Tone, str] = {
    "accent": "o", "second": "s", "third": "^", "fourth": "D", "fifth": "v", "sixth": "P", "seventh": "_",
    "quiet": "o", "fine": "o", "ink": "D",
}  # fmt: skip
_WIDTHS: dict[Tone, float] = {"quiet": 0.9, "fine": 0.9, "ink": 1.1}
# The height of a lower plot, as a share of the upper one.
_LOWER = 0.24


def plot_chart(chart: Chart, ax: Axes | None = None, *, title: str | bool = False) -> Axes:
    """Draw a chart into the axes, or into those of a new figure, and return them; nothing else is touched.

    A lower plot, such as the histogram of a reliability diagram, takes its room from the axes that were given.
    """
    ax = _open_axes(chart) if ax is None else ax
    lower = None if chart.below is None else _split(ax)
    _set_axis(ax, "x", chart.x, shown=chart.axes, named=lower is None)
    _set_axis(ax, "y", chart.y, shown=chart.axes)
    if chart.axes and not chart.tiles:
        ax.grid(visible=True, color="#ececec", linewidth=0.6)
        ax.set_axisbelow(True)
    if chart.shape == "square" and lower is None:
        ax.set_box_aspect(1)
    for tiles in chart.tiles:
        _draw_tiles(tiles, ax)
    _draw_marks(chart, ax)
    if lower is not None and chart.below is not None:
        _set_axis(lower, "x", chart.x)
        _set_axis(lower, "y", chart.below.y, about=2)
        _draw_marks(chart.below, lower)
    if any(stroke.name for stroke in chart.strokes) or any(dots.name for dots in chart.dots):
        ax.legend(fontsize=SMALL, frameon=False, handlelength=2.6)
    if title:
        ax.set_title(_plain(chart.title if title is True else str(title)), fontsize=TEXT, loc="left")
    return ax


def _open_axes(chart: Chart) -> Axes:
    """The axes of a new figure of the size that the chart asks for."""
    require_extra("plot", "A plot", instead="save the chart as an .svg file")
    from matplotlib import pyplot as plt

    width, height = SIZES[chart.shape]
    height *= 1.0 if chart.height is None else max(chart.height / 340, 0.6)
    height += 0.9 if chart.below is not None else 0.0
    _, ax = plt.subplots(figsize=(width, height), layout="constrained")
    return ax


def _split(ax: Axes) -> Axes:
    """Axes below the given ones, in the room that these had."""
    whole = ax.get_subplotspec()
    figure = ax.figure
    if whole is not None:
        # Parts of a grid, because layouts then make room for the text around each.
        parts = whole.subgridspec(2, 1, height_ratios=(1, _LOWER), hspace=0.06)
        ax.set_subplotspec(parts[0])
        return figure.add_subplot(parts[1])
    room = ax.get_position()
    lower = room.height * _LOWER / (1 + _LOWER)
    ax.set_position((room.x0, room.y0 + 1.2 * lower, room.width, room.height - 1.2 * lower))
    return figure.add_axes((room.x0, room.y0, room.width, lower))


def _set_axis(ax: Axes, which: str, axis: Axis, *, shown: bool = True, named: bool = True, about: int = 5) -> None:
    """Range, ticks and title of one axis; only the lowest of several plots names its places along x."""
    if axis.low != axis.high:
        getattr(ax, f"set_{which}lim")(axis.low, axis.high)
    if not shown:
        ax.set_axis_off()
        return
    marks = find_ticks(axis, about)
    getattr(ax, f"set_{which}ticks")(
        [at for at, _ in marks], [_plain(label) if named else "" for _, label in marks], fontsize=SMALL
    )
    if named:
        title = "\n".join(textwrap.wrap(_plain(axis.title), LETTERS[which]))
        getattr(ax, f"set_{which}label")(title, fontsize=TEXT)
    # Long names along x would lie over each other.
    if which == "x" and axis.ticks and sum(len(label) + 2 for _, label in marks) > 60:
        ax.tick_params(axis="x", labelrotation=45)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)


def _draw_marks(panel: Chart | Panel, ax: Axes) -> None:
    for bars in panel.bars:
        widths = [end - start for start, end in zip(bars.start, bars.end, strict=True)]
        ax.bar(
            bars.start, bars.height, widths, align="edge", color=COLOURS[bars.tone], alpha=0.45, edgecolor="white",
            linewidth=0.5,
        )  # fmt: skip
    for ribbon in panel.ribbons:
        ax.fill_between(ribbon.x, ribbon.low, ribbon.high, color=COLOURS[ribbon.tone], alpha=0.15, linewidth=0)
    for stroke in panel.strokes:
        _draw_stroke(stroke, ax)
    for dots in panel.dots:
        _draw_dots(dots, ax)
    for caption in panel.texts:
        _draw_caption(caption, ax)


def _draw_stroke(stroke: Stroke, ax: Axes) -> None:
    dash = tuple(float(part) for part in find_dash(stroke).split())
    ax.plot(
        stroke.x,
        stroke.y,
        color=COLOURS[stroke.tone],
        linewidth=4.0 if stroke.thick else 0.7 if stroke.thin else _WIDTHS.get(stroke.tone, 1.5),
        alpha=0.6 if stroke.thin else 1.0,
        # Dashes are given in units of a screen; those of matplotlib are lengths in widths of the line.
        linestyle=(0, tuple(part / 2 for part in dash)) if dash else "-",
        label=_name(stroke.name),
        solid_capstyle="butt" if stroke.thick else "round",
        zorder=2.5 if stroke.tone not in _WIDTHS else 2.2,
    )


def _draw_dots(dots: Dots, ax: Axes) -> None:
    colour = COLOURS[dots.tone]
    if dots.low and dots.high:
        middle = dots.x if dots.sideways else dots.y
        reach = [
            [_distance(at, low) for at, low in zip(middle, dots.low, strict=True)],
            [_distance(high, at) for at, high in zip(middle, dots.high, strict=True)],
        ]
        errors: dict[str, Any] = {"xerr" if dots.sideways else "yerr": reach}
        ax.errorbar(dots.x, dots.y, **errors, fmt="none", ecolor=colour, elinewidth=1.1, capsize=2.5)
    largest = max((size for size in dots.size if math.isfinite(size)), default=0.0)
    areas = [16 * scale_dot(size, largest) ** 2 if largest else 16.0 for size in dots.size] or 16.0
    ax.scatter(dots.x, dots.y, s=areas, c=colour, marker=_SHAPES[dots.tone], label=_name(dots.name), zorder=3)


def _distance(high: float, low: float) -> float:
    """How far a limit reaches; an interval need not hold the value that it was made for."""
    return max(high - low, 0.0)


def _draw_tiles(tiles: Tiles, ax: Axes) -> None:
    from matplotlib.patches import Rectangle

    for x, y, shade in zip(tiles.x, tiles.y, tiles.shade, strict=True):
        # Half-strength at most, so that the text stays readable on it.
        square = Rectangle(
            (x - 0.5, y - 0.5), 1, 1, facecolor=COLOURS[tiles.tone], alpha=0.5 * min(shade, 1.0), linewidth=0
        )
        ax.add_patch(square)
    for x, y, text in zip(tiles.x, tiles.y, tiles.texts, strict=False):
        ax.text(x, y, _plain(text), ha="center", va="center", fontsize=SMALL)


def _draw_caption(caption: Caption, ax: Axes) -> None:
    align = {"left": "left", "middle": "center", "right": "right"}[caption.align]
    alignment = {"above": "bottom", "at": "center", "below": "top"}[caption.side]
    ax.annotate(
        _plain(caption.text), (caption.x, caption.y), xytext=(0, 0), textcoords="offset points", fontsize=SMALL,
        ha=align, va=alignment, color=COLOURS[caption.tone],
    )  # fmt: skip


def _name(text: str) -> str | None:
    """What stands in the legend: names that begin with an underscore would be left out there."""
    return (f" {_plain(text)}" if text.startswith("_") else _plain(text)) if text else None


def _plain(text: str) -> str:
    r"""The text as it is: a dollar sign begins no formula.

    >>> _plain("cost in $")
    'cost in \\$'
    """
    return visible(text).replace("$", r"\$")
