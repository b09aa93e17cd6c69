"""What a learning curve says of more data, and how it is drawn."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from heldout.arrays import Floats
from heldout.errors import ValuesError
from heldout.resampling.power_law import Figure, PowerLaw
from heldout.show.chart import Axis, Chart, Dots, Ribbon, Stroke, Tips
from heldout.show.numbers import limits, number, percent

if TYPE_CHECKING:
    from heldout.resampling.learning_curve import LearningCurve


# The drawing of a learning curve: both errors as the training set grows, and the fitted law beyond what was seen.

# The law is drawn to this many times the rows there are: farther, it would be a guess.
AHEAD = 2


def learning_chart(curve: LearningCurve) -> Chart:
    """Training and test error over the size of the training set, on a logarithmic axis where the sizes multiply."""
    sizes, training, test = np.array(curve.sizes, dtype=np.float64), curve.mean("training"), curve.mean("test")
    if np.isnan(test).all():
        raise ValuesError("There is no learning curve to draw: no model was trained.", hint="see its notes.")
    steps = np.diff(curve.sizes)
    logarithmic = len(steps) > 1 and steps[-1] > 1.5 * steps[0]

    def place(along: Floats) -> tuple[float, ...]:
        return tuple((np.log10(along) if logarithmic else along).tolist())

    places = place(sizes)
    strokes = [
        Stroke(places, tuple(test.tolist()), "test error", "accent"),
        Stroke(places, tuple(training.tolist()), "training error", "second"),
    ]
    ribbons = [Ribbon(places, tuple(curve.low.tolist()), tuple(curve.high.tolist())), _spread(curve, places)]
    last = float(sizes[-1])
    if curve.law.shape in {"falling", "flat"}:
        last = float(max(AHEAD * curve.n_rows, curve.sizes[-1] + 1))
        ahead = np.geomspace(sizes[-1], last, 40)
        law = curve.law.predict(ahead)
        strokes.append(
            Stroke(place(ahead), tuple(law.value.tolist()), "law, beyond what was seen", "quiet", dashed=True)
        )
        ribbons.append(Ribbon(place(ahead), tuple(law.low.tolist()), tuple(law.high.tolist()), "quiet"))
    heights = [*test.tolist(), *training.tolist(), *(high for ribbon in ribbons for high in ribbon.high)]
    left, right = place(np.array([sizes[0], last]))
    marks = list(zip(places, curve.sizes, strict=True))[:: max(1, len(places) // 6)]
    dots = Dots(places, tuple(test.tolist()), tuple(curve.low.tolist()), tuple(curve.high.tolist()))
    columns = {"rows": sizes, "training error": training, "test error": test, "low": curve.low, "high": curve.high}
    values = [tuple(column.tolist()) for column in columns.values()]
    return Chart(
        f"Learning curve of {curve.name}", _description(curve),
        Axis("Rows in the training set", left, right, tuple((at, f"{size:,}") for at, size in marks)),
        Axis("Error rate", 0.0, min(1.0, 1.08 * float(np.nanmax(heights))) or 1.0),
        tuple(strokes), tuple(ribbons), (dots,), _detail(curve), "wide", None, tuple(columns),
        tuple(zip(*values, strict=True)), tips=(Tips(places, values[2], tuple(zip(columns, values, strict=True))),),
    )  # fmt: skip


def _spread(curve: LearningCurve, places: tuple[float, ...]) -> Ribbon:
    """How far the training error spreads over the draws."""
    rows = [row for row in curve.rows() if row["part"] == "training"]
    low, high = (tuple(_known(row[name]) for row in rows) for name in ("low", "high"))
    return Ribbon(places, low, high, "second")


def _known(value: object) -> float:
    return value if isinstance(value, float) else math.nan


def _detail(curve: LearningCurve) -> str:
    words = [
        f"{curve.verdict.partition(':')[0]}.",
        f"Bands: {100 * curve.level:g} % of the mean test error ({curve.method}), spread of training over draws.",
    ]
    if curve.law.shape in {"falling", "flat"}:
        words.append("Dashed: the fitted law, beyond what was seen.")
    return " ".join(words)


def _description(curve: LearningCurve) -> str:
    first, last = (percent(float(curve.mean("test")[at]), 1) for at in (0, -1))
    return (
        f"Learning curve of {curve.name}: error rate against the rows in the training set. The test error goes from "
        f"{first} at {curve.sizes[0]:,} rows to {last} at {curve.sizes[-1]:,}. {curve.verdict}"
    )


# What a learning curve says about more data, in a sentence.

# More than this many times the rows there are is more than most people can collect.
WITHIN_REACH = 3
POINT = 0.01


def verdict(law: PowerLaw, sizes: tuple[int, ...]) -> str:
    """Whether more data would help, and how much of it.

    >>> from heldout.resampling.power_law import fit_power_law
    >>> print(verdict(fit_power_law([10, 20, 40, 80], [[0.6, 0.35, 0.225, 0.1625]]), (10, 20, 40, 80)))
    More data would help: about 15 more rows for one point less error, beside the 80 there are.
    """
    if law.shape == "unknown":
        return f"Whether more data would help cannot be told: {law.undefined}."
    between = f"from {sizes[0]:,} to {sizes[-1]:,} rows"
    if law.shape == "rising":
        return f"More data does not help here: {between} the test error rises by {_points(law.slope)} per doubling."
    return _flat(law, between) if law.shape == "flat" else _falling(law, between)


def _falling(law: PowerLaw, between: str) -> str:
    now = law.at(law.present).value
    drop, words = (POINT, "one point less error") if now >= 2 * POINT else (now / 2, "half the error")
    rows = law.rows_for(drop)
    if math.isinf(rows.high) and rows.low <= WITHIN_REACH * law.present:
        # Laws that level off at once fit the curve as well as laws that fall on.
        return (
            f"Whether more data would help cannot be told: {between} the test error falls by {_points(law.slope, -1)} "
            f"per doubling, but beyond that {words} may take {_rounded(rows.low)} more rows, or never come, beside the "
            f"{law.present:,.0f} rows there are."
        )
    if rows.value <= WITHIN_REACH * law.present:
        return (
            f"More data would help: about {_rounded(rows.value)} more rows{_between(rows)} for {words}, "
            f"beside the {law.present:,.0f} there are."
        )
    if math.isinf(rows.value):
        return (
            f"More data will hardly help: the curve levels off at {number(law.floor.value)}{_shares(law.floor)}, "
            f"and with the {law.present:,.0f} rows there are the error is about {number(now)} already."
        )
    times = (rows.value + law.present) / law.present
    return (
        f"More data will hardly help: {words} would take about {_rounded(rows.value)} more rows{_between(rows)}, "
        f"{number(times, 'plain', 2)} times as many as there are."
    )


def _flat(law: PowerLaw, between: str) -> str:
    best = law.slope.low
    if math.isnan(best) or best > -POINT:
        reach = "" if math.isnan(best) else f", and a doubling would bring {number(max(-100 * best, 0), 'plain', 2)} "
        return (
            f"More data will hardly help: {between} the test error has not fallen beyond its noise"
            f"{reach + 'points at best' if reach else ''}."
        )
    return (
        f"Whether more data would help cannot be told: {between} the test error changes by {_points(law.slope)} per "
        "doubling, which may be chance."
    )


def _points(slope: Figure, sign: int = 1) -> str:
    """A change of the error in points; with a sign of -1, how much it falls."""
    value = f"{number(100 * sign * slope.value, 'plain', 2)} points"
    low, high = sorted((100 * sign * slope.low, 100 * sign * slope.high))
    return value if math.isnan(slope.low) else f"{value} [{limits(low, high, 'plain', 2)}]"


def _between(rows: Figure) -> str:
    return "" if math.isnan(rows.low) else f" [{_rounded(rows.low)} – {_rounded(rows.high)}]"


def _shares(figure: Figure) -> str:
    return "" if math.isnan(figure.low) else f" [{limits(figure.low, figure.high)}]"


def _rounded(rows: float) -> str:
    """Two digits are all that an extrapolation is good for."""
    if not math.isfinite(rows):
        return number(rows, "plain")
    whole = max(round(rows), 1)
    return f"{round(whole, 2 - len(str(whole))):,}"
