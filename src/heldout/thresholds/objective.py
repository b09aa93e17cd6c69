"""What a threshold is chosen by: a measure of the counts, a cost, Youden's index or the distance to the corner."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from heldout.arrays import Floats
from heldout.errors import MatrixError, OptionError
from heldout.evidence import Label
from heldout.measures.catalogue import read_quantity
from heldout.measures.cells import SUMS, Cells, TableBatch, class_cells
from heldout.measures.quantity import Quantity, averaged_tables, lack_costs
from heldout.show.blocks import Style
from heldout.show.numbers import plain

Classes = tuple[Label, Label]

CORNER = "corner_distance"


@dataclass(frozen=True)
class Objective:
    """A function of TP, FN, FP, TN that is to be as high or as low as it can be."""

    name: str
    title: str
    sentence: str
    lower: bool
    style: Style
    quantity: Quantity | None
    values: Callable[[Cells], Any]


def read_objective(by: str, classes: Classes, costs: Floats | None, prevalence: Any) -> Objective:
    """What a person asked to choose by; `classes` are the negative and the positive one.

    >>> read_objective("F1", (0, 1), None, 0.5).sentence
    'the highest F1'
    """
    word = by.strip().casefold()
    if word == "closest":
        return _make_corner_objective()
    if word in ("cost", "iso"):
        return _make_cost_objective(word, classes, costs, prevalence)
    quantity = resolve_quantity(by, classes, costs)
    objective = objective_from_quantity(quantity, classes)
    if word == "youden":
        return replace(objective, sentence="the highest Youden index (recall + specificity - 1)")
    return objective


def resolve_quantity(text: str, classes: Classes, costs: Floats | None) -> Quantity:
    """The quantity that a text names, of the positive class where a class is needed."""
    quantity = read_quantity(text, classes, costs=costs)
    measure = quantity.bound.measure
    if measure.scope not in ("class", "table"):
        raise OptionError(
            f"{measure.name} is about all thresholds together and cannot choose one.",
            hint="use a measure of the counts, such as f1, matthews or cost.",
        )
    if measure.kind == "cost" and costs is None:
        raise lack_costs(measure.name, "pass costs=.")
    return quantity if measure.overall else quantity.resolve(classes[1])


def objective_from_quantity(quantity: Quantity, classes: Classes) -> Objective:
    """The best of a measure, in the direction that the measure declares."""
    measure = quantity.bound.measure
    if measure.direction not in ("higher", "lower"):
        raise OptionError(
            f"{measure.name} has no better or worse, so no threshold is the best by it.",
            hint="use it in a requirement, such as require='predicted_positive_rate <= 0.1', or choose by another.",
        )
    lower = measure.direction == "lower"
    title = quantity.bound.title
    if quantity.average is not None:
        title = f"{quantity.average} {title}"
    elif quantity.class_ is not None and quantity.class_ != classes[1]:
        title = f"{title} of {quantity.class_}"
    bounded = measure.bounded
    return Objective(
        quantity.bound.name,
        title,
        f"the {'lowest' if lower else 'highest'} {title}",
        lower,
        "share" if bounded else "plain",
        quantity,
        lambda cells: quantity_values(quantity, cells, classes),
    )


def quantity_values(quantity: Quantity, cells: Cells, classes: Classes) -> Any:
    """A measure for arrays of TP, FN, FP, TN of the positive class: the declared formula, on all of them at once.

    >>> recall = read_quantity("recall[no]", ("no", "yes"))
    >>> float(quantity_values(recall, class_cells(3.0, 1.0, 2.0, 8.0), ("no", "yes")))
    0.8
    """
    bound = quantity.bound
    if quantity.average is not None:
        return averaged_tables(bound, quantity.average, _make_tables(cells))
    if not all(name in cells or name in SUMS for name in bound.measure.cells):
        return bound.of_tables(_make_tables(cells))
    if quantity.class_ is not None and quantity.class_ != classes[1]:
        cells = class_cells(cells["tn"], cells["fp"], cells["fn"], cells["tp"])
    return bound.value(cells)


def _make_tables(cells: Cells) -> TableBatch:
    corners = np.broadcast_arrays(cells["tn"], cells["fp"], cells["fn"], cells["tp"])
    stacked = np.stack(corners, axis=-1).astype(np.float64)
    return TableBatch(stacked.reshape(*stacked.shape[:-1], 2, 2))


def corner_distance(cells: Cells) -> Any:
    """How far the point (FPR, TPR) is from the corner (0, 1)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        missed, false = cells["fn"] / cells["positives"], cells["fp"] / cells["negatives"]
    return np.hypot(missed, false)


def _make_corner_objective() -> Objective:
    sentence = "the point of the ROC curve closest to the corner (0, 1)"
    return Objective(CORNER, "distance to the corner", sentence, lower=True, style="plain", quantity=None,
                     values=corner_distance)  # fmt: skip


def _make_cost_objective(word: str, classes: Classes, costs: Floats | None, prevalence: float) -> Objective:
    if costs is None:
        example = "pass costs={(truth, predicted): cost}, such as {(1, 0): 100, (0, 1): 1}."
        raise lack_costs(f"by={word!r}", example)
    if costs[0, 0] == costs[0, 1] and costs[1, 0] == costs[1, 1]:
        raise MatrixError(
            "By these costs an error costs as much as a right prediction, so every threshold is as good as any other.",
            hint="give what a miss and what a false alarm cost, such as {(1, 0): 100, (0, 1): 1}.",
        )
    objective = objective_from_quantity(resolve_quantity("expected_cost", classes, costs), classes)
    sentence = f"the least expected cost ({costs_sentence(costs, classes)})"
    if word == "iso":
        slope = iso_slope(costs, prevalence)
        sentence = (
            f"where the iso-performance line of slope {plain(slope)} touches the ROC curve "
            f"({costs_sentence(costs, classes)})"
        )
    return replace(objective, sentence=sentence)


def iso_slope(costs: Floats, prevalence: float) -> float:
    """The slope of the lines of equal cost in the ROC plane: Provost & Fawcett (2001).

    >>> iso_slope(np.array([[0.0, 1.0], [10.0, 0.0]]), 0.1)
    0.9
    """
    alarm, miss = costs[0, 1] - costs[0, 0], costs[1, 0] - costs[1, 1]
    if alarm <= 0 or miss <= 0:
        raise MatrixError(
            "An iso-performance line needs errors that cost more than right predictions. "
            f"A miss costs {plain(miss)} and a false alarm {plain(alarm)} more than being right.",
            hint="check which axis of the costs is the truth, or choose by='cost'.",
        )
    return float((1 - prevalence) * alarm / (prevalence * miss))


def probability_threshold(costs: Floats, here: float, there: float | None) -> float | None:
    """The threshold of least cost for probabilities that are right, None where errors cost no more: Elkan (2001).

    Probabilities that are right where the share of positives is `here` are carried over to a share of `there`.

    >>> probability_threshold(np.array([[0.0, 1.0], [9.0, 0.0]]), 0.5, None)
    0.1
    """
    alarm, miss = float(costs[0, 1] - costs[0, 0]), float(costs[1, 0] - costs[1, 1])
    if alarm <= 0 or miss <= 0:
        return None
    odds = alarm / miss
    if there is not None:
        odds *= (here / (1 - here)) / (there / (1 - there))
    return odds / (1 + odds)


def costs_sentence(costs: Floats, classes: Classes) -> str:
    """The four costs in words; right predictions only where they cost or gain something.

    >>> costs_sentence(np.array([[0.0, 1.0], [100.0, -1.0]]), ("no", "yes"))
    'a missed "yes" costs 100, a false alarm 1, a hit -1'
    """
    parts = [f'a missed "{classes[1]}" costs {costs[1, 0]:g}', f"a false alarm {costs[0, 1]:g}"]
    if costs[1, 1]:
        parts.append(f"a hit {costs[1, 1]:g}")
    if costs[0, 0]:
        parts.append(f"leaving a negative alone {costs[0, 0]:g}")
    return ", ".join(parts)
