"""Rules about test sets that were used before, as a ledger says: of many models the best looks better than it is."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from heldout.files.ledger import EarlierUses
from heldout.findings.rule import Answer, Fired, NotApplicable, Passed, rule
from heldout.intervals.quantiles import z_value
from heldout.results.evaluation import Evaluation
from heldout.show.numbers import number

if TYPE_CHECKING:
    from heldout.comparisons.comparison import PairwiseComparison

ADVICE = "Say how many models were tried on it, and judge the one that is chosen once, on cases that nobody has seen."
REFERENCE = "Dwork et al. (2015), Science 349, 636-638; Cawley & Talbot (2010), JMLR 11, 2079-2107"
SOURCE = "none: whoever looks at two can choose"


@lru_cache(maxsize=64)
def expected_maximum(models: int) -> float:
    """The mean of the largest of so many independent standard normal numbers.

    >>> round(expected_maximum(1), 6), round(expected_maximum(2), 4), round(expected_maximum(10), 4)
    (0.0, 0.5642, 1.5388)
    """
    from scipy.special import ndtr

    at = np.linspace(-9.0, 9.0, 6001)
    density = models * np.exp(-at * at / 2) / math.sqrt(2 * math.pi) * ndtr(at) ** (models - 1)
    return float(np.trapezoid(at * density, at))


def judge_reuse(earlier: EarlierUses | None, error: float, tried: float) -> Answer:
    """What a ledger says; `error` is the standard error of the measure by which models are told apart."""
    if earlier is None:
        return NotApplicable("no ledger was named")
    if not earlier.known:
        return NotApplicable("the cases have no fingerprint, because their rows were not kept")
    facts: dict[str, object] = {
        "uses": earlier.uses, "other_models": earlier.others, "models": earlier.others + earlier.now,
        "ledger": earlier.path, "since": earlier.first or None, "limit": tried,
    }  # fmt: skip
    times = f"{earlier.uses:,} time{'s' * (earlier.uses != 1)}"
    if earlier.others <= tried:
        return Passed(
            f"By the ledger these cases were used {times} before, for {earlier.others:,} other models.", facts
        )
    every = earlier.others + earlier.now
    sentence = f"This test set was used {times} before, for {earlier.others:,} other model{'s' * (earlier.others != 1)}"
    if not math.isfinite(error):
        return Fired(f"{sentence}.", facts)
    excess = expected_maximum(every) * error
    facts["expected_excess"] = excess
    best = f"the best of {every:,} equal ones by {earlier.measure} would look better than it is by up to"
    return Fired(f"{sentence}: {best} {number(excess)}.", facts)


@rule(
    "H072",
    about="comparison",
    title="The test set was used before",
    severity="know",
    advice=ADVICE,
    reference=REFERENCE,
    limits={"tried": SOURCE},
)
def compared_before(seen: PairwiseComparison, *, tried: float = 0) -> Answer:
    """A ledger says that other models were judged on these cases before.

    Of many models that were tried on one test set the best looks better than it is, by up to the expected maximum of
    as many errors: up to, because models that err on the same cases have fewer chances.
    """
    first = next((pair for pair in seen.pairs if seen.earlier is not None and pair.name == seen.earlier.measure), None)
    side = next((side for side in seen.sides if first is not None and side.name == first.a), None)
    n = 0.0 if side is None else sum(held for _, held in side.classes)
    is_accuracy = first is not None and first.measure == "accuracy" and n > 0
    share = first.value_a if first is not None else math.nan
    return judge_reuse(seen.earlier, math.sqrt(share * (1 - share) / n) if is_accuracy else math.nan, tried)


@rule(
    "H073",
    about="evaluation",
    title="The test set was used before",
    severity="know",
    advice=ADVICE,
    reference=REFERENCE,
    limits={"tried": SOURCE},
)
def evaluated_before(seen: Evaluation, *, tried: float = 0) -> Answer:
    """A ledger says that other models were judged on these cases before.

    Whoever looks often at one test set chooses what it favours by chance: the best of many models looks better than it
    is, by up to the expected maximum of as many errors.
    """
    earlier, error = seen.earlier, math.nan
    if earlier is not None and earlier.known and earlier.measure:
        estimate = seen[earlier.measure]
        error = (estimate.high - estimate.low) / (2 * z_value(estimate.level))
    return judge_reuse(earlier, error, tried)
