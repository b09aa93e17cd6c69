"""An estimate over the folds of a plan: the value by the rule that fits the measure, and the other one beside it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from heldout.estimates.estimate import Estimate
from heldout.measures.catalogue import find
from heldout.show.blocks import Block, Note
from heldout.show.numbers import number

Rule = Literal["pooled", "mean", ".632", ".632+"]

SUMS = "the counts of all folds together; the mean over folds of one size would be the same"
RATIOS = (
    "computed once from the counts of all folds together: a mean over folds is biased for ratios such as F, and "
    "undefined where a fold lacks a class"
)
LOSSES = "over all predictions together, because losses of cases add up"
RANKINGS = (
    "averaged over the folds: scores of different models are not comparable, so pooling them would rank the cases of "
    "one fold against those of another"
)
VALUES = "averaged over the folds, because the interval is made from the values in the folds"
MIXTURES = {
    ".632": "0.368 of the training set's counts and 0.632 of the out-of-bag counts",
    ".632+": "training set's and out-of-bag counts, weighted by how much the learner overfits",
}
REFERENCES: dict[Rule, str] = {
    "pooled": "Forman & Scholz (2010), SIGKDD Explorations 12(1)",
    "mean": "Forman & Scholz (2010), SIGKDD Explorations 12(1)",
    ".632": "Efron (1983), JASA 78",
    ".632+": "Efron & Tibshirani (1997), JASA 92",
}


@dataclass(frozen=True, slots=True)
class FoldEstimate(Estimate):
    """One number from many folds.

    `rule` says how the folds were put together, and `other` is the value by the other rule (the mean over folds, or
    the pooled one). `spread` is the standard deviation over the folds: how much they differ, not how sure the value is.
    `folds` is the number of folds in which the measure is defined, of `splits` in all. `training` is the value on
    training cases. `target` says which error is estimated.
    """

    schema: ClassVar[str] = "heldout/estimate@1"

    rule: Rule = "pooled"
    other: float = math.nan
    spread: float = math.nan
    folds: int = 0
    splits: int = 0
    training: float = math.nan
    target: str = ""

    @property
    def gap(self) -> float:
        """How far the other value is from this one; what rounding leaves counts as nothing."""
        gap = self.other - self.value
        return 0.0 if abs(gap) < 1e-12 * max(1.0, abs(self.value)) else gap

    @property
    def reason(self) -> str:
        """Why the folds are put together so."""
        if self.rule in MIXTURES:
            return MIXTURES[self.rule]
        measure = find(self.measure).measure
        if self.rule == "mean":
            return RANKINGS if measure.over_folds == "mean" else VALUES
        if measure.scope == "probability":
            return LOSSES
        return SUMS if measure.kind == "proportion" and measure.scope == "table" else RATIOS

    @property
    def reference(self) -> str:
        """Where the rule comes from."""
        return REFERENCES[self.rule]

    def rows(self) -> list[dict[str, Any]]:
        """One flat row."""
        return [
            # Not super(): with slots the class is made twice, and the first one is not ours any more.
            Estimate.rows(self)[0]
            | {
                "rule": self.rule,
                "other": self.other,
                "gap": self.gap,
                "spread": self.spread,
                "folds": self.folds,
                "training": self.training,
            }
        ]

    def blocks(self) -> list[Block]:
        """One line, and how the folds were put together."""
        style, digits = self.style, self.digits
        other = "pooled" if self.rule == "mean" else "mean over folds"
        said = (
            f"{self.rule}: {self.reason} ({self.reference}); {other} {number(self.other, style, digits)}, "
            f"standard deviation over {self.folds:,} folds {number(self.spread, style, digits)}"
        )
        return [*Estimate.blocks(self), Note(said), *([Note(f"estimates {self.target}")] if self.target else [])]
