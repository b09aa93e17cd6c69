"""The warnings that go with a chosen threshold: what a reader could otherwise take it for."""

from __future__ import annotations

import math

import numpy as np

from heldout.evidence.ranking import Ranking
from heldout.intervals.estimate import Estimate
from heldout.measures.catalogue import find
from heldout.show.numbers import number, percent
from heldout.thresholds.decision import ThresholdDecision
from heldout.thresholds.objective import CORNER
from heldout.thresholds.selection_rule import SelectionRule
from heldout.thresholds.uncertainty import Resampled

# With fewer errors of a kind than this the bootstrap hardly varies them, and intervals come out too narrow.
FEW_ERRORS = 5

# How to get at the rows of data that were only counted.
GET_ROWS = "read the files with engine='memory' (--engine memory), or collect the frame"


def warnings_of(
    decision: ThresholdDecision, rule: SelectionRule, drawn: Resampled, *, counted: bool
) -> tuple[str, ...]:
    """Sentences that must stand with the decision; `counted` says that there are no rows to judge it on."""
    warnings = [_optimism(decision, counted=counted)]
    for requirement, estimate in zip(rule.requirements, decision.required, strict=True):
        far = estimate.low if requirement.sign[0] == ">" else estimate.high
        if not requirement.is_met(far):
            warnings.append(
                f"{requirement.text} holds on these cases ({number(estimate.value, estimate.style)}), but the interval "
                f"reaches {number(far, estimate.style)}: on new cases it may not hold."
            )
    if rule.requirements and drawn.unmet > 0:
        warnings.append(
            f"In {percent(drawn.unmet)} of the resampled sets of cases no threshold met the requirements; "
            "the interval of the threshold leaves them out."
        )
    if rule.requirements:
        warnings += _few(decision)
    if math.isinf(decision.threshold) or math.isinf(decision.above):
        answer = "no" if math.isinf(decision.threshold) else "yes"
        warnings.append(f"The best is to predict {answer} for every case: by this rule the scores are of no use here.")
    if decision.honest is not None and decision.honest.unmet:
        warnings.append(
            f"In {decision.honest.unmet} of {decision.honest.folds} folds no threshold met the requirements; "
            "the nearest one was taken."
        )
    return tuple(warnings)


def bins_note(ranking: Ranking) -> tuple[str, ...]:
    """What a choice among bins of scores is, where there were too many distinct scores to keep; nothing otherwise.

    >>> binned = Ranking(np.array([0.5, 0.0]), np.array([2, 1]), np.array([0, 3]), joined=np.array([True, True]),
    ...                  ends=np.array([1.0, 0.5]))
    >>> bins_note(binned)[0]
    'The scores were counted in 2 bins up to 0.5 wide. The counts at their edges are exact, and only edges were tried.'
    """
    tops = ranking.tops
    if tops is None or ranking.joined is None or not ranking.joined.any():
        return ()
    ends = np.where(np.isfinite(tops), tops, ranking.scores)
    wide = float((ends - ranking.scores)[ranking.joined].max())
    step = 10.0 ** (math.floor(math.log10(wide)) - 1) if wide else 1.0
    # Rounded up: no bin is wider than is said.
    counted = f"The scores were counted in {len(ranking):,} bins up to {math.ceil(wide / step) * step:.2g} wide."
    return (f"{counted} The counts at their edges are exact, and only edges were tried.",)


def _optimism(decision: ThresholdDecision, *, counted: bool) -> str:
    start = "The threshold was chosen on these cases, so the figures at it are optimistic"
    if decision.honest is not None:
        return f"{start}; the figures judged by cross-fitting ({decision.honest.folds} folds) are not."
    if decision.optimism > 0:
        by = number(decision.optimism, decision.criterion.style)
        start += f" (by about {by} in {titled(decision.criterion)})"
    if counted:
        needs = "The honest figure (honest=True, --honest) needs the rows, and these were counted"
        return f"{start}. Judge it on other cases. {needs}: {GET_ROWS}."
    return f"{start}. Judge it on other cases, or ask for the honest figure (honest=True, --honest)."


def _few(decision: ThresholdDecision) -> list[str]:
    cases = dict(zip(_cells(decision), decision.confusion.cases.tolist(), strict=True))
    missed, alarms = cases.get((1, 0), 0), cases.get((0, 1), 0)
    if math.isinf(decision.threshold) or math.isinf(decision.above):
        return []
    rare = [
        f"{errors} {name}{'s' * (errors != 1)}"
        for errors, name in ((missed, "missed positive"), (alarms, "false alarm"))
        if errors < FEW_ERRORS
    ]
    if not rare:
        return []
    return [f"There are only {' and '.join(rare)} at this threshold: its interval may be too narrow."]


def _cells(decision: ThresholdDecision) -> list[tuple[int, int]]:
    confusion = decision.confusion
    return list(zip(confusion.truth.tolist(), confusion.predicted.tolist(), strict=True))


def titled(estimate: Estimate) -> str:
    """The name of an estimate in a sentence."""
    if estimate.measure == CORNER:
        return "the distance to the corner"
    if estimate.measure == "threshold":
        return "threshold"
    title = find(estimate.measure).title
    return f"{estimate.average} {title}" if estimate.average else title
