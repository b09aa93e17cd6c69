"""A confusion matrix as a heat map: cells and shades, orders of the classes, the drawing, and the script's data."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from heldout.show.escape import escape_html, visible
from heldout.show.explorer import numeric
from heldout.show.text_width import shorten

SHADES = 20
"""Steps between no shade and the full one; classes, because a strict policy forbids styles in attributes."""
# Up to this many classes a matrix is easier to read as a table of counts.
FIGURED = 6
# Letters of a label beside the drawing, and the width of one in units of the drawing.
LETTERS, LETTER = 16, 5.6
# The widest cell, the widest drawing without its labels, and the smallest cell that has a label.
_CELL, _GRID, _LABELLED = 22.0, 330.0, 7.0


@dataclass(frozen=True, slots=True)
class Heatmap:
    """Counts of truth (rows) by prediction (columns), with other orders of the classes by name.

    One with a title is drawn small, so that several stand beside each other.
    Forms that cannot draw leave it out: the counts that matter stand in a table near it.
    """

    labels: tuple[str, ...]
    counts: tuple[tuple[float, ...], ...]
    orders: tuple[tuple[str, tuple[int, ...]], ...] = ()
    title: str = ""

    def __post_init__(self) -> None:
        if any(len(row) != len(self.labels) for row in self.counts) or len(self.counts) != len(self.labels):
            raise ValueError(f"A matrix of {len(self.labels)} classes needs as many rows and columns.")

    @property
    def figured(self) -> bool:
        """Whether there are so few classes that the counts themselves are shown."""
        return len(self.labels) <= FIGURED

    def cells(self) -> Iterator[tuple[int, int, float, float]]:
        """Row, column, count and share of its row of each cell that is not empty.

        >>> list(Heatmap(("a", "b"), ((3, 1), (0, 0))).cells())
        [(0, 0, 3, 0.75), (0, 1, 1, 0.25)]
        """
        for i, row in enumerate(self.counts):
            total = math.fsum(row)
            for j, count in enumerate(row):
                if count > 0:
                    yield i, j, count, count / total


def find_step(share: float) -> int:
    """The step of a share's shade, by its square root: a rare confusion is seen beside a common one.

    >>> find_step(0.0), find_step(0.01), find_step(0.25), find_step(1.0)
    (0, 2, 10, 20)
    """
    return 0 if share <= 0 else max(round(math.sqrt(min(share, 1.0)) * SHADES), 1)


def find_shade(i: int, j: int, share: float) -> str:
    """The class of a cell: what is right in one colour, what is wrong in another.

    >>> find_shade(0, 0, 1.0), find_shade(0, 1, 0.01), find_shade(0, 1, 0.0)
    ('heldout-heat-20', 'heldout-heat-2 heldout-wrong', '')
    """
    step = find_step(share)
    return f"heldout-heat-{step}{'' if i == j else ' heldout-wrong'}" if step else ""


def heatmap_svg(heatmap: Heatmap) -> str:
    """The drawing, with the labels of columns turned; without labels where the cells are smaller than letters."""
    k = len(heatmap.labels)
    cell = min(_CELL, _GRID / max(k, 1))
    labels = [shorten(visible(label), LETTERS) for label in heatmap.labels] if cell >= _LABELLED else []
    letters = min(11.0, cell * 0.92)
    room = max((len(label) for label in labels), default=0) * LETTER * letters / 10 + 20
    size = room + k * cell
    paths: dict[str, list[str]] = {}
    for i, j, _, share in heatmap.cells():
        paths.setdefault(find_shade(i, j, share), []).append(f"M{j} {i}h1v1h-1z")
    drawn = "".join(f'<path class="{shade}" d="{"".join(parts)}"/>' for shade, parts in sorted(paths.items()))
    written = []
    for at, label in enumerate(labels):
        middle, text = room + (at + 0.5) * cell + letters * 0.35, escape_html(label)
        written.append(f'<text x="{room - 4:.1f}" y="{middle:.1f}" text-anchor="end">{text}</text>')
        written.append(f'<text transform="translate({middle:.1f} {room - 4:.1f}) rotate(-90)">{text}</text>')
    about = f"Confusion matrix of {k:,} classes; rows are the truth, columns the predictions"
    return (
        f'<svg class="heldout-map" role="img" aria-label="{about}" viewBox="0 0 {size:.1f} {size:.1f}" '
        f'width="{size:.0f}" height="{size:.0f}"><g transform="translate({room:.1f} {room:.1f}) scale({cell:.4f})">'
        f'<path class="heldout-ground" d="M0 0h{k}v{k}h-{k}z"/>{drawn}</g>'
        f'<g font-size="{letters:.1f}">{"".join(written)}</g>'
        f'<g class="heldout-sides-named" font-size="11"><text x="{room + k * cell / 2:.1f}" y="10" '
        f'text-anchor="middle">predicted</text><text transform="translate(10 {room + k * cell / 2:.1f}) rotate(-90)" '
        f'text-anchor="middle">truth</text></g></svg>'
    )


def heatmap_payload(heatmap: Heatmap) -> dict[str, Any]:
    """What the page's script needs to draw it at any size and in any order.

    >>> heatmap_payload(Heatmap(("a", "b"), ((3, 1), (0, 2)), (("by label", (0, 1)),)))["cells"]
    [[0, 0, 3], [0, 1, 1], [1, 1, 2]]
    """
    return {
        "labels": [shorten(visible(label), 80) for label in heatmap.labels],
        "cells": [[i, j, numeric(float(count))] for i, j, count, _ in heatmap.cells()],
        "orders": [list(order) for _, order in heatmap.orders],
    }
