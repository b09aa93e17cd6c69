"""What can be known to be wrong with the settings before anything is fitted, so that no fit is wasted on it."""

from __future__ import annotations

from typing import Any

import numpy as np

from heldout.errors import OptionError
from heldout.estimates.interval import Estimator
from heldout.estimates.score_interval import SCORE_SCOPES
from heldout.evidence import Confusion, Label
from heldout.front.judge import Settings, cost_matrix
from heldout.learners.problem import Problem
from heldout.measures.catalogue import read_quantity
from heldout.measures.quantity import Quantity
from heldout.predictions.match import choose_positive


def check_settings(settings: Settings, problem: Problem) -> None:
    """Refuse a positive class, costs, measures or a method that do not go with the classes of the data."""
    positive = choose_positive(settings.positive, problem.labels)
    k = len(problem.labels)
    # As if every case were answered right: the classes and how many cases each has are all that matters here.
    right = Confusion(problem.labels, np.arange(k), np.arange(k), np.bincount(problem.truth, minlength=k))
    costs = None if settings.costs is None else cost_matrix(settings.costs, right, settings.cost_rows)
    if settings.measures == "all":
        return
    for name in [settings.measures] if isinstance(settings.measures, str) else settings.measures:
        _check_method(settings, Estimator(right), _quantity(name, problem, costs), positive)


def _quantity(name: Any, problem: Problem, costs: Any) -> Quantity:
    if not isinstance(name, str):
        raise OptionError(f"A measure is asked for by its name. Got {name!r}.", hint="for example 'macro f1'.")
    quantity = read_quantity(name, problem.labels, costs=costs)
    if quantity.bound.measure.kind == "cost" and costs is None:
        raise OptionError(f"{quantity.bound.name} needs costs, and none were given.", hint="pass costs= (--costs).")
    return quantity


def _check_method(settings: Settings, estimator: Estimator, quantity: Quantity, positive: Label | None) -> None:
    """Refuse a method of counts that does not fit a measure of counts; groups are known later."""
    method, measure = settings.of_counts(), quantity.bound.measure
    if measure.scope in SCORE_SCOPES:
        return
    alone = quantity.class_ is None and quantity.average is None
    every = alone and measure.scope == "class" and not measure.overall and positive is None
    if not every:
        quantity = quantity.check(positive)
    if method is None or method.groups:
        return
    if every:
        estimator.classes(quantity.bound, method.name)
    else:
        estimator.ask(quantity, method.name)
