"""Figures for trackers: a flat dictionary of floats whose names MLflow, W&B, TensorBoard and DVC take."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from heldout.errors import OptionError
from heldout.intervals.estimate import NO_INTERVAL, Estimate
from heldout.measures.catalogue import OF_EACH_CLASS, headline_quantities
from heldout.result import json_safe

if TYPE_CHECKING:
    from heldout.results.evaluation import Evaluation

# Trackers draw a chart for every name: beyond this many classes only averages and the measures of all cases are named.
MOST_CLASSES = 20
# MLflow takes letters, digits, _ - . / : and blanks, of which a slash makes a folder and a blank or a colon breaks the
# names of files.
UNFIT = re.compile(r"[^\w.\-]+")


def name_metric(measure: str, class_: object = None, average: str | None = None) -> str:
    """The name of a figure: the average, the measure and the class, joined by underscores.

    >>> name_metric("recall", "not spam"), name_metric("f1", average="macro"), name_metric("precision_at(k=20)")
    ('recall_not_spam', 'macro_f1', 'precision_at_k_20')
    """
    parts = (average, measure, None if class_ is None else str(class_))
    return "_".join(UNFIT.sub("_", part).strip("_") or "_" for part in parts if part is not None)


def list_metrics(estimates: Iterable[Estimate], prefix: str) -> dict[str, float]:
    """Each value, with its limits as `_low` and `_high` where it has an interval; two alike names are numbered."""
    metrics: dict[str, float] = {}
    for estimate in estimates:
        plain = name = prefix + name_metric(estimate.measure, estimate.class_, estimate.average)
        number = 1
        # The classes "a b" and "a_b" are two, and a class may be called "a_low".
        while not metrics.keys().isdisjoint((name, f"{name}_low", f"{name}_high")):
            number += 1
            name = f"{plain}_{number}"
        metrics[name] = float(estimate.value)
        if estimate.method != NO_INTERVAL:
            metrics |= {f"{name}_low": float(estimate.low), f"{name}_high": float(estimate.high)}
    return metrics


def choose_estimates(evaluation: Evaluation, measures: str | Iterable[str] | None) -> list[Estimate]:
    """The estimates that a tracker is given: those named, all, or the first ones and those of each class."""
    if measures == "all" or (measures is None and evaluation.asked):
        return list(evaluation.estimates)
    if measures is not None and not isinstance(measures, str | Iterable):
        raise OptionError(f"Measures are named by texts. Got {measures!r}.", hint="for example ['recall', 'macro f1'].")
    if measures is not None:
        return [evaluation[name] for name in ([measures] if isinstance(measures, str) else measures)]
    wanted = {quantity.key for quantity in headline_quantities("page", evaluation.positive)}
    labels = evaluation.labels if evaluation.positive is None else (evaluation.positive,)
    if len(labels) <= MOST_CLASSES:
        wanted |= {(name, label, None) for name in OF_EACH_CLASS for label in labels}
    return [e for e in evaluation.estimates if (e.measure, e.class_, e.average) in wanted]


def write_document(metrics: dict[str, Any]) -> str:
    r"""The figures as the JSON document that `dvc metrics` reads; what is undefined is null.

    >>> write_document({"accuracy": 0.5, "roc_auc": float("nan")})
    '{\n  "accuracy": 0.5,\n  "roc_auc": null\n}\n'
    """
    return json.dumps(json_safe(metrics), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
