"""How good the model is, in a few lines: the usual measures with intervals, beside the commonest class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from heldout.errors import OptionError
from heldout.estimates.estimate import Estimate
from heldout.evaluation import Evaluation
from heldout.evidence import Label
from heldout.report.screen import titled
from heldout.report.verdict import against_constant


@dataclass(frozen=True, slots=True)
class Performance:
    """The measures that a card names, the commonest class with its share, and whether the model beats it.

    `named` gives the title of each estimate.
    """

    estimates: tuple[Estimate, ...]
    named: tuple[str, ...]
    commonest: Label
    commonest_share: float
    verdict: str
    n: int

    def document(self) -> dict[str, object]:
        """The performance as it stands in a JSON document."""
        return {
            "commonest": self.commonest,
            "commonest_share": self.commonest_share,
            "verdict": self.verdict,
            "n": self.n,
            "estimates": [row for estimate in self.estimates for row in estimate.rows()],
        }


def performance(evaluation: Evaluation) -> Performance:
    """What a card says of an evaluation.

    >>> from heldout.front.evaluate import evaluate
    >>> performance(evaluate(["no", "no", "yes", "no"], ["no", "no", "yes", "yes"])).commonest_share
    0.75
    """
    confusion, positive = evaluation.confusion, evaluation.positive
    asked: list[tuple[str, Any, Any]] = [("accuracy", None, None), ("balanced_accuracy", None, None)]
    if positive is not None:
        asked += [("f1", positive, None), ("roc_auc", positive, None)]
    else:
        asked += [("f1", None, "macro"), ("roc_auc", None, "macro")]
    asked.append(("brier", None, None))
    found: list[Estimate] = []
    for measure, class_, average in asked:
        try:
            found.append(evaluation.get(measure, class_=class_, average=average))
        except OptionError:
            # A model without scores, or without probabilities, has no area or no loss.
            continue
    totals = confusion.truth_totals
    most = int(totals.argmax())
    return Performance(
        tuple(found),
        tuple(titled(e) for e in found),
        confusion.labels[most],
        float(totals[most] / confusion.n),
        against_constant(confusion, evaluation.level, evaluation.independent),
        int(confusion.n_cases),
    )
