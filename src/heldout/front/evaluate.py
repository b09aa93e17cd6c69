"""The front door: from predictions, in any form, to an evaluation."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.costs import Costs, read_costs, settle_costs
from heldout.engines import memory
from heldout.engines.scores import ScoreEvidence
from heldout.errors import OptionError, listing
from heldout.estimates.estimate import Estimate
from heldout.estimates.interval import Estimator, check_level, check_whole
from heldout.estimates.methods import METHODS, Method, find_method
from heldout.estimates.score_interval import SCORE_SCOPES, ScoreEstimator
from heldout.estimates.score_methods import score_method_names
from heldout.evaluation import Evaluation
from heldout.evidence import Confusion, Label
from heldout.files import check_matrix
from heldout.measures.catalogue import COUNTED, NAMED_F, find, read_quantity
from heldout.measures.declare import Measure
from heldout.measures.quantity import AVERAGES, Bound, Quantity
from heldout.predictions.match import choose_positive, fitted
from heldout.predictions.source import Source, gather
from heldout.predictions.table import Missing
from heldout.show.numbers import limits, share

# Beyond this many classes the measures of one class whose interval needs draws are left for those who ask,
# and beyond this many all but the first three.
DRAWN_CLASSES = 100
LISTED_CLASSES = 1000
FIRST = ("precision", "recall", "f_score")


def evaluate(
    data: Any = None,
    predicted: Any = None,
    *,
    truth: Any = None,
    score: Any = None,
    threshold: float | None = None,
    weight: Any = None,
    group: Any = None,
    matrix: Any = None,
    rows: str = "truth",
    positive: Label | None = None,
    labels: Sequence[Label] | None = None,
    measures: str | Iterable[str] = "all",
    costs: Any = None,
    cost_rows: str | None = None,
    level: float = 0.95,
    method: str | None = None,
    missing: Missing = "refuse",
    seed: int = 0,
    replicates: int = 2000,
) -> Evaluation:
    """Measure a classifier from its predictions, every measure with an interval.

    Takes two columns (lists, arrays, tensors, data frame columns), a data frame or the path of a file with the
    names of its columns, counted evidence, or a confusion matrix as `matrix=` with `rows` saying what its
    rows are. `score` is one score per case, or one per case and class; without `predicted` the class comes from it, at
    `threshold`. `weight` and `group` are one value per case, and rows are matched by position. `method` replaces the
    default interval where it applies.

    >>> print(evaluate(["yes", "no", "no", "yes"], ["yes", "no", "yes", "yes"])["recall"])
    recall[yes] 1.000 [.342 – 1.000] (0.95 wilson, n = 2)
    """
    notes: tuple[str, ...] = ()
    source, predictions = Source(), None
    roles = {"truth": truth, "predicted": predicted, "weight": weight, "group": group}
    beside = {**roles, "score": score, "threshold": threshold}
    for name, value in (("rows", rows), ("cost_rows", cost_rows)):
        if value not in (None, "truth", "predicted"):
            raise OptionError(
                f"{name} must be 'truth' or 'predicted'. Got {value!r}.", hint=f"say what the {name} are."
            )
    if isinstance(data, Confusion):
        _only_evidence({**beside, "matrix": matrix})
        confusion = data if labels is None else data.with_labels(fitted(tuple(labels), data.labels))
    elif matrix is not None:
        confusion = _from_matrix(matrix, labels, rows, {"data": data, **beside})
        if confusion.counts.dtype.kind == "f":
            notes = ("the entries of the matrix are not whole: the intervals take them as that many cases",)
    else:
        cut = _threshold(threshold, predicted)
        predictions, source = gather(
            data, roles, labels=labels, missing=missing, score=score, positive=positive, threshold=cut
        )
        confusion = memory.count(predictions)
        notes = predictions.notes
    chosen = choose_positive(positive, confusion.labels)
    cost_matrix = None if costs is None else _cost_matrix(costs, confusion, cost_rows)
    estimator = Estimator(
        confusion,
        check_level(level),
        check_whole("seed", seed, 0),
        check_whole("replicates", replicates, 1),
        _count_method(method),
    )
    estimator.check()
    scored = None
    if predictions is not None and predictions.scores is not None:
        evidence = ScoreEvidence(predictions, predictions.labels)
        scored = ScoreEstimator(evidence, chosen, estimator.level, estimator.seed, estimator.replicates, method)
    estimates = _estimates(estimator, scored, measures, chosen, cost_matrix, method)
    notes = (*notes, *_reversed(estimates))
    if measures == "all" and predictions is not None and predictions.scores is not None:
        why = predictions.scores.not_probability
        notes += (f"{why}, so losses and calibration are left out: they need probabilities",) if why else ()
    if measures == "all" and confusion.n_classes > DRAWN_CLASSES:
        notes = (*notes, _shortened(confusion.n_classes))
    return Evaluation(confusion, chosen, estimates, estimator, notes, source, predictions, cost_matrix, scored)


def count(
    data: Any = None,
    predicted: Any = None,
    *,
    truth: Any = None,
    weight: Any = None,
    group: Any = None,
    labels: Sequence[Label] | None = None,
    missing: Missing = "refuse",
) -> Confusion:
    """Only count: evidence that merges with + and can be evaluated later.

    >>> first, second = count([0, 1], [0, 0]), count([1, 2], [1, 2])
    >>> (first + second).matrix
    array([[1, 0, 0],
           [1, 1, 0],
           [0, 0, 1]])
    """
    roles = {"truth": truth, "predicted": predicted, "weight": weight, "group": group}
    predictions, _ = gather(data, roles, labels=labels, missing=missing)
    return memory.count(predictions)


def _only_evidence(columns: dict[str, Any]) -> None:
    given = [name for name, column in columns.items() if column is not None]
    if given:
        raise OptionError(
            f"Counted evidence was given together with {listing(given)}.",
            hint="weights and groups belong into count(), before the cases are counted.",
        )


def _from_matrix(matrix: Any, labels: Sequence[Label] | None, rows: str, columns: dict[str, Any]) -> Confusion:
    given = [name for name, column in columns.items() if column is not None]
    if given:
        raise OptionError(
            f"A confusion matrix was given together with {listing(given)}.", hint="give the matrix or the columns."
        )
    if isinstance(labels, str):
        raise OptionError(f"labels must be a list of the classes. Got {labels!r}.", hint="write ['no', 'yes'].")
    table = check_matrix(matrix, labels)
    if table.dtype.kind == "f" and table.sum() <= 1 + 1e-6:
        raise OptionError(
            f"The entries of the matrix sum to {float(table.sum()):g}, so they are shares and not counts.",
            hint="give the counts: how sure we are depends on how many cases there were.",
        )
    return Confusion.of(table, labels, rows=rows)


def _count_method(name: str | None) -> Method | None:
    """The method for measures of counts; one that is for scores alone leaves those to their defaults."""
    key = None if name is None else str(name).strip().casefold()
    return None if key is None or (key in score_method_names() and key not in METHODS) else find_method(key)


def _cost_matrix(costs: Any, confusion: Confusion, rows: str | None) -> NDArray[np.float64]:
    if isinstance(costs, str | Path):
        costs = read_costs(costs, confusion.labels, rows)
    elif rows is not None and not isinstance(costs, Costs | Mapping):
        costs = Costs.of(costs, confusion.labels, rows=rows)
    return settle_costs(costs, confusion.labels)


def _threshold(threshold: Any, predicted: Any) -> float | None:
    if threshold is None:
        return None
    if predicted is not None:
        raise OptionError(
            "A threshold was given together with the predicted classes.",
            hint="leave out predicted to judge the classes that the scores give at the threshold.",
        )
    is_number = isinstance(threshold, numbers.Real) and not isinstance(threshold, bool | np.bool_)
    if not is_number or not math.isfinite(float(threshold)):
        raise OptionError(f"The threshold must be a number. Got {threshold!r}.", hint="for example 0.5.")
    return float(threshold)


def _estimates(
    estimator: Estimator,
    scored: ScoreEstimator | None,
    measures: str | Iterable[str],
    positive: Label | None,
    costs: Any,
    method: str | None,
) -> tuple[Estimate, ...]:
    if measures == "all":
        return (*_all(estimator, costs), *(() if scored is None else scored.every()))
    names = [measures] if isinstance(measures, str) else list(measures)
    made: list[Estimate] = []
    for name in names:
        if not isinstance(name, str):
            raise OptionError(f"A measure is asked for by its name. Got {name!r}.", hint="for example 'macro f1'.")
        quantity = read_quantity(name, estimator.confusion.labels, costs=costs)
        measure = quantity.bound.measure
        if measure.scope in SCORE_SCOPES:
            made.append(_score(scored, quantity, positive, method))
            continue
        if measure.kind == "cost" and costs is None:
            raise OptionError(f"{measure.name} needs costs, and none were given.", hint="pass costs= (--costs).")
        if method is not None and estimator.method is None:
            raise OptionError(
                f"The method {method!r} does not apply to {quantity.bound.name}.", hint="it is for measures of scores."
            )
        alone = quantity.class_ is None and quantity.average is None
        if alone and measure.scope == "class" and not measure.overall and positive is None:
            # A measure of one class, with no class named: all of them.
            made += estimator.classes(quantity.bound, method)
        else:
            made.append(estimator.ask(quantity.check(positive), method))
    return tuple(made)


def _score(scored: ScoreEstimator | None, quantity: Quantity, positive: Label | None, method: str | None) -> Estimate:
    if scored is None:
        raise OptionError(
            f"{quantity.bound.name} is a measure of scores, and none were given.",
            hint="pass score= (--score COLUMN), one score per case or one per class.",
        )
    return scored.ask(quantity.check(positive), method)


def _all(estimator: Estimator, costs: Any) -> list[Estimate]:
    confusion = estimator.confusion
    k = confusion.n_classes
    ordered = k > 2 and not any(isinstance(label, str) for label in confusion.labels)
    made: list[Estimate] = []
    bounds = _defaults(costs)
    for bound in bounds:
        measure = bound.measure
        if measure.scope == "table" or measure.overall:
            if measure.name in ("linear_kappa", "quadratic_kappa") and not ordered:
                continue
            made.append(estimator.ask(Quantity(bound)))
    if k > 1:
        for average in AVERAGES:
            made += [estimator.ask(Quantity(b, average=average)) for b in bounds if b.measure.averages]
    for bound in bounds:
        if bound.measure.per_class and _listed(bound.measure, k):
            made += estimator.classes(bound)
    return made


def _reversed(estimates: Sequence[Estimate]) -> list[str]:
    """A sentence for each area that lies below one half beyond doubt; scores are never turned round in silence."""
    return [
        f"the ROC area of {e.class_} is {share(e.value)} [{limits(e.low, e.high)}], below one half: its scores run the "
        "wrong way, or the classes are exchanged"
        for e in estimates
        if e.measure == "roc_auc" and e.class_ is not None and e.high < 0.5
    ]


def _listed(measure: Measure, k: int) -> bool:
    if k > LISTED_CLASSES:
        return measure.name in FIRST
    return k <= DRAWN_CLASSES or measure.kind != "agreement"


def _shortened(k: int) -> str:
    what = (
        "only precision, recall and F of each class are listed"
        if k > LISTED_CLASSES
        else "measures of one class whose interval needs random draws are not listed"
    )
    return f"with {k:,} classes {what}; any other can be asked for by name"


def _defaults(costs: Any) -> list[Bound]:
    """Every measure of counts with its usual parameters; those of costs where there are costs."""
    return list(_usual()) if costs is None else _bounds(costs)


@lru_cache(maxsize=1)
def _usual() -> tuple[Bound, ...]:
    return tuple(_bounds(None))


def _bounds(costs: Any) -> list[Bound]:
    bounds: list[Bound] = []
    for measure in COUNTED.values():
        if measure.name == "f_score":
            bounds += [find(name) for name in NAMED_F]
        elif measure.kind == "cost":
            bounds += [find(measure.name, costs=costs)] if costs is not None else []
        elif not measure.parameters:
            bounds.append(find(measure.name))
    return bounds
