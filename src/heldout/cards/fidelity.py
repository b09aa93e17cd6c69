"""How far a shallow tree that imitates a model gives the same answers on cases that neither was fitted to."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from heldout.arrays import Codes
from heldout.cards.surrogate import DEPTH, Node, as_text
from heldout.estimates.dependence import Dependence
from heldout.estimates.fold_methods import corrected_t, nothing_told
from heldout.estimates.proportion import wilson_at
from heldout.estimates.quantiles import z_value

REFERENCE = "Craven & Shavlik (1996), NIPS 8; Molnar (2022), Interpretable Machine Learning, on global surrogates"


@dataclass(frozen=True, slots=True)
class Share:
    """A share of the cases with its interval; `undefined` says why it is nan, where it is."""

    value: float
    low: float = math.nan
    high: float = math.nan
    undefined: str = ""

    def document(self) -> dict[str, object]:
        """The share as it stands in a JSON document."""
        return {name: getattr(self, name) for name in ("value", "low", "high", "undefined")}


@dataclass(frozen=True, slots=True)
class Fidelity:
    """How faithful the tree is.

    `agreement` is the share of test cases for which the tree says what the model says; `commonest` is the share of the
    model's commonest answer, `commonest_answer`, which any constant would reach, and `beyond` what of the rest the tree
    gets: 1 for a perfect likeness, 0 for no better than that constant. `accuracy` is how often the tree is right, as
    the model may be. `tree` imitates the model that was trained on all cases.
    """

    agreement: Share
    beyond: Share
    commonest: float
    commonest_answer: str
    accuracy: Share
    n: int
    method: str
    level: float
    tree: Node | None = None
    depth: int = DEPTH
    undefined: str = ""
    notes: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The tree in words."""
        return "" if self.tree is None else as_text(self.tree)

    def document(self) -> dict[str, object]:
        """The fidelity as it stands in a JSON document."""
        return {
            "agreement": self.agreement.document(),
            "beyond_commonest": self.beyond.document(),
            "commonest_share": self.commonest,
            "commonest_answer": self.commonest_answer,
            "tree_accuracy": self.accuracy.document(),
            "n": self.n,
            "method": self.method,
            "level": self.level,
            "depth": self.depth,
            "tree": None if self.tree is None else self.tree.document(),
            "text": self.text,
            "undefined": self.undefined,
            "notes": list(self.notes),
            "reference": REFERENCE,
        }


@dataclass(frozen=True, eq=False)
class FoldLikeness:
    """One fold: its test rows, what the model says of them, what the tree says, and the truth.

    `drawn` says that the tree was fitted to, or compared on, some of the cases of larger parts.
    """

    rows: Codes
    model: Codes
    tree: Codes
    truth: Codes
    drawn: bool = False


def no_fidelity(why: str, level: float) -> Fidelity:
    """No tree, and why."""
    nothing = Share(math.nan, undefined=why)
    return Fidelity(nothing, nothing, math.nan, "", nothing, 0, "", level, undefined=why)


def fidelity(
    folds: Sequence[FoldLikeness],
    labels: Sequence[object],
    plan: Dependence,
    *,
    level: float,
    tree: Node | None,
    grouped: bool = False,
    notes: tuple[str, ...] = (),
) -> Fidelity:
    """The agreement over all folds, each case counting once however often it was tested.

    >>> one = np.array([0, 1, 0, 1])
    >>> fold = FoldLikeness(np.arange(4), one, np.array([0, 1, 0, 0]), one)
    >>> found = fidelity([fold], ["a", "b"], Dependence(4), level=0.95, tree=None)
    >>> found.agreement.value, found.commonest, found.beyond.value
    (0.75, 0.5, 0.5)
    """
    rows = np.concatenate([fold.rows for fold in folds])
    model, said, truth = (
        np.concatenate([getattr(fold, name) for fold in folds]) for name in ("model", "tree", "truth")
    )
    weight = 1 / np.bincount(rows)[rows]
    n = round(float(weight.sum()))
    answers = np.bincount(model, weights=weight, minlength=len(labels))
    commonest = float(answers.max() / weight.sum())

    def share(same: NDArray[np.bool_]) -> Share:
        # What differs is summed, so that a perfect likeness is 1 to the last digit.
        value = 1.0 - float(weight @ ~same) / float(weight.sum())
        if plan.refused:
            return Share(value, undefined=plan.refused)
        if not grouped:
            ends = wilson_at(value, n / plan.factor, z_value(level))
            return Share(value, float(ends[0]), float(ends[1]))
        cuts = np.cumsum([len(fold.rows) for fold in folds])[:-1]
        means = np.array([float(part.mean()) for part in np.split(same, cuts)])
        if why := nothing_told(means):
            return Share(value, undefined=why)
        low, high = corrected_t(means, plan, level)
        return Share(value, max(0.0, low), min(1.0, high))

    agreement = share(model == said)
    method = "corrected-t" if grouped else f"wilson, n/{plan.factor:g}" if plan.factor != 1 else "wilson"
    return Fidelity(
        agreement, beyond_commonest(agreement, commonest), commonest, str(labels[int(answers.argmax())]),
        share(truth == said), n, method, level, tree, notes=notes,
    )  # fmt: skip


def beyond_commonest(agreement: Share, commonest: float) -> Share:
    """What of the cases that the commonest answer misses the tree gets; the share of that answer is taken as known.

    >>> round(beyond_commonest(Share(0.9, 0.8, 0.95), 0.6).value, 3)
    0.75
    """
    if commonest >= 1:
        return Share(math.nan, undefined="the model gives one answer only, which any constant gives as well")
    value, low, high = ((one - commonest) / (1 - commonest) for one in (agreement.value, agreement.low, agreement.high))
    return Share(value, low, high, agreement.undefined)
