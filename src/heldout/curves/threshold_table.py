"""The threshold table: counts and measures at each threshold, as a table to read."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from heldout.arrays import Floats
from heldout.curves.curve import Curve, Scale
from heldout.curves.declare import check_bands, curve
from heldout.curves.threshold_counts import (
    Thresholds,
    between_points,
    check_counted,
    corners_at,
    count_band,
    counts_at,
    more_at,
    settled_grid,
    threshold_grid,
    values_at,
)
from heldout.evidence import Label
from heldout.evidence.ranking import Ranking
from heldout.measures.catalogue import read_quantity
from heldout.measures.quantity import Bound
from heldout.result import Result
from heldout.show.blocks import (
    Block,
    Cell,
    Column,
    Note,
    Number,
    Prose,
    Range,
    Style,
    Table,
    Title,
    value_and_interval,
)
from heldout.show.numbers import count

ALWAYS = ("recall", "false_positive_rate", "precision")
# Longer tables are for files: these many rows are printed.
SHOWN = 50


@dataclass(frozen=True, slots=True, eq=False)
class ThresholdTable(Result):
    """Counts and measures at each threshold, by the rule score >= threshold.

    Rows are wide, one to a threshold: threshold, tp, fp, fn, tn, then each measure under its own name, with `_low` and
    `_high` beside it where intervals were asked for. Where scores were counted in bins and a threshold falls inside
    one, tp and fp are the cases that reach it for certain, and `more_tp` and `more_fp` how many others may: the rows
    then have tp_most and fp_most after the counts. `below` has the positives and negatives under each threshold where
    they are weights, whose small differences would be rounding.
    """

    schema: ClassVar[str] = "heldout/thresholds@1"
    rows_name: ClassVar[str] = "thresholds"
    _charts: ClassVar[Mapping[str, str]] = {"thresholds": "heldout.curves.curve_chart:draw_thresholds"}

    threshold: Floats
    tp: NDArray[Any]
    fp: NDArray[Any]
    n_positive: int | float
    n_negative: int | float
    bounds: tuple[Bound, ...]
    values: tuple[Floats, ...]
    lows: tuple[Floats, ...] = ()
    highs: tuple[Floats, ...] = ()
    methods: tuple[str, ...] = ()
    level: float | None = None
    positive: Label | None = None
    more_tp: NDArray[Any] | None = None
    more_fp: NDArray[Any] | None = None
    below: tuple[NDArray[Any], NDArray[Any]] | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.threshold)

    @property
    def fn(self) -> NDArray[Any]:
        """Positives below each threshold."""
        return np.asarray(self.n_positive - self.tp) if self.below is None else self.below[0]

    @property
    def tn(self) -> NDArray[Any]:
        """Negatives below each threshold."""
        return np.asarray(self.n_negative - self.fp) if self.below is None else self.below[1]

    def __getitem__(self, measure: str) -> Floats:
        """The column of a measure."""
        wanted = read_quantity(measure).bound.name
        for bound, values in zip(self.bounds, self.values, strict=True):
            if bound.name == wanted:
                return values
        raise KeyError(measure)

    def rows(self) -> list[dict[str, object]]:
        """One row per threshold."""
        columns = {"threshold": self.threshold, "tp": self.tp, "fp": self.fp, "fn": self.fn, "tn": self.tn}
        columns |= {f"{name}_most": most for name, most in self._most().items()}
        for at, bound in enumerate(self.bounds):
            columns[bound.name] = self.values[at]
            if self.lows:
                columns |= {f"{bound.name}_low": self.lows[at], f"{bound.name}_high": self.highs[at]}
        lists = [values.tolist() for values in columns.values()]
        return [dict(zip(columns, row, strict=True)) for row in zip(*lists, strict=True)]

    def _most(self) -> dict[str, NDArray[Any]]:
        """What TP and FP are at most; nothing where they are known at every threshold."""
        if self.more_tp is None or self.more_fp is None:
            return {}
        return {"tp": self.tp + self.more_tp, "fp": self.fp + self.more_fp}

    def facts(self) -> dict[str, object]:
        """The rule of the table and how many cases there are of both kinds."""
        return {
            "rule": "score >= threshold",
            "n_positive": self.n_positive,
            "n_negative": self.n_negative,
            "positive": self.positive,
            "measures": [bound.name for bound in self.bounds],
            "level": self.level,
            "methods": dict(zip((bound.name for bound in self.bounds), self.methods, strict=False)),
        }

    def blocks(self) -> list[Block]:
        """The table, or its first rows where it is long."""
        columns = [Column(name, "right") for name in ("threshold", "TP", "FP", "FN", "TN")]
        columns += [Column(f"{name.upper()} at most", "right") for name in self._most()]
        for bound in self.bounds:
            head = bound.measure.symbol if bound.name in ALWAYS else bound.title
            columns += value_and_interval(head) if self.lows else [Column(head, "right")]
        rows = tuple(self._cells(at) for at in range(min(len(self), SHOWN)))
        detail = (
            f"{count(self.n_positive)} positive, {count(self.n_negative)} negative; positive when score >= threshold"
        )
        blocks: list[Block] = [Title("Thresholds", detail), Table(tuple(columns), rows)]
        if len(self) > SHOWN:
            blocks.append(Prose(f"The first {SHOWN} of {len(self):,} thresholds."))
        if self.more_tp is not None and self.more_fp is not None:
            inside = np.count_nonzero((self.more_tp > 0) | (self.more_fp > 0))
            blocks.append(
                Note(
                    f"{inside:,} of {len(self):,} thresholds fall inside a bin of scores that were counted together: "
                    "TP and FP lie between what is shown and 'at most'; the measures are those of the counts shown."
                )
            )
        if self.level is not None:
            blocks.append(Prose(f"Limits: {self.level:g} at each threshold, fixed beforehand."))
        for bound, values in zip(self.bounds, self.values, strict=True):
            if np.isnan(values).any():
                blocks.append(Note(f"{bound.title} is undefined where {bound.undefined}."))
        return blocks

    def _cells(self, at: int) -> tuple[Cell, ...]:
        cells: list[Cell] = [Number(self.threshold[at].item(), "plain")]
        counts = (self.tp, self.fp, self.fn, self.tn, *self._most().values())
        cells += [Number(counted[at].item(), "count") for counted in counts]
        for column, bound in enumerate(self.bounds):
            style: Style = "share" if np.isfinite(bound.measure.high) else "plain"
            cells.append(Number(self.values[column][at].item(), style))
            if self.lows:
                cells.append(Range(self.lows[column][at].item(), self.highs[column][at].item(), style))
        return tuple(cells)


def threshold_table(
    ranking: Ranking,
    thresholds: Thresholds = "distinct",
    measures: Sequence[str] = (),
    *,
    intervals: bool = False,
    level: float = 0.95,
    seed: int = 0,
    positive: Label | None = None,
) -> ThresholdTable:
    """TP, FP, FN, TN, TPR, FPR, precision and any named measures at each threshold: score >= threshold is positive.

    Thresholds are the distinct scores from the highest down, a list, or a number of them at even distances. A list is
    taken as it is: 3 * 0.1 is 0.30000000000000004, which a score of 0.3 does not reach; write 0.3. Inside a bin of
    scores that were counted together TP and FP are not known, and the table says what they are at most.

    >>> seen = Ranking(np.array([0.9, 0.4]), np.array([1, 1]), np.array([0, 2]))
    >>> print(threshold_table(seen, [0.0, 0.5, 1.0]))
    Thresholds
    2 positive, 2 negative; positive when score >= threshold
    <BLANKLINE>
    threshold   TP   FP   FN   TN     TPR     FPR     PPV
            0    2    2    0    0   1.000   1.000    .500
        0.500    1    0    1    2    .500    .000   1.000
         1.00    0    0    2    2    .000    .000       –
    <BLANKLINE>
    · precision is undefined where nothing was predicted positive.
    """
    grid = threshold_grid(ranking, thresholds)
    bounds: dict[str, Bound] = {}
    for name in (*ALWAYS, *measures):
        bound = check_counted(read_quantity(name).bound)
        bounds[bound.name] = bound
    corners = corners_at(ranking, grid)
    tp, fp = counts_at(ranking, grid)
    below = (corners[:, 1], corners[:, 3]) if ranking.weighted else None
    more_tp, more_fp = more_at(ranking, grid) or (None, None)
    table = ThresholdTable(
        grid, tp, fp, ranking.n_positive, ranking.n_negative, tuple(bounds.values()),
        tuple(values_at(bound, corners) for bound in bounds.values()), positive=positive,
        more_tp=more_tp, more_fp=more_fp, below=below,
    )  # fmt: skip
    if not intervals:
        return table
    bands = [count_band(ranking, bound, grid, level=level, seed=seed) for bound in bounds.values()]
    return ThresholdTable(
        grid, tp, fp, ranking.n_positive, ranking.n_negative, table.bounds, table.values,
        tuple(band.low for band in bands), tuple(band.high for band in bands),
        tuple(band.method for band in bands), level, positive, more_tp, more_fp, below,
    )  # fmt: skip


@curve(
    "measure", "Measure against the threshold", Scale("threshold", "Threshold"),
    Scale("measure", "Measure", None, None), listed=False, shape="wide",
)  # fmt: skip
def measure_curve(
    ranking: Ranking,
    measure: str,
    thresholds: Thresholds = "distinct",
    bands: str | None = "pointwise",
    *,
    level: float = 0.95,
    seed: int = 0,
    positive: Label | None = None,
) -> Curve:
    """A measure at every threshold: its declared formula, evaluated on the whole curve at once.

    Each interval is that of a threshold fixed beforehand: at a threshold picked because the curve is highest there, it
    is optimistic. Thresholds inside a bin of scores that were counted together are moved to its nearest edge.

    >>> seen = Ranking(np.array([0.9, 0.5, 0.1]), np.array([2, 1, 1]), np.array([0, 2, 2]))
    >>> curve = measure_curve(seen, "f1")
    >>> curve.x, curve.y.round(3)
    (array([0.9, 0.5, 0.1]), array([0.667, 0.667, 0.667]))
    """
    kind = check_bands("measure", bands)
    bound = check_counted(read_quantity(measure).bound)
    declared = bound.measure
    grid, moved = settled_grid(ranking, threshold_grid(ranking, thresholds))
    y = values_at(bound, corners_at(ranking, grid))
    band = None if kind is None else count_band(ranking, bound, grid, level=level, seed=seed)
    tp, fp = counts_at(ranking, grid)
    low, high = (limit if math.isfinite(limit) else None for limit in declared.range)
    name = bound.title if bound.title.isupper() else bound.title.capitalize()
    if len(declared.symbol) > 1 and declared.symbol.casefold() not in name.casefold():
        name = f"{name} ({declared.symbol})"
    shares = len(grid) > 0 and 0 <= grid.min() <= grid.max() <= 1
    along = Scale("threshold", "Threshold", 0.0 if shares else None, 1.0 if shares else None, style="plain")
    missing = 0 if band is None else int(np.isnan(band.low).sum())
    limited = f"Limits were worked out at {len(grid) - missing:,} of {len(grid):,} thresholds." if missing else ""
    return Curve(
        "measure", f"{name} against the threshold", along,
        Scale(bound.name, name, low, high, style="share" if high is not None else "plain"), grid, y,
        ranking.n_positive, ranking.n_negative, threshold=grid, tp=tp, fp=fp,
        band=band,
        positive=positive, undefined=declared.undefined if len(grid) == 0 or np.isnan(y).all() else "",
        notes=tuple(filter(None, (limited, moved))), stepped=isinstance(thresholds, str),
        between=between_points(ranking),
    )  # fmt: skip
