"""Rules about the costs that were given: symmetric, not followed by the threshold, or against the accuracy."""

from __future__ import annotations

import numpy as np

from heldout.costs import more_accurate_costs_more
from heldout.evidence import Label
from heldout.evidence.ranking import Ranking
from heldout.findings.evaluation_evidence import NOT_KEPT, is_exact, needs_rows, ranking_of
from heldout.findings.rule import Answer, Fired, NotApplicable, Passed, figure, quoted, rule
from heldout.findings.rules_probabilities import calibration_of
from heldout.findings.rules_threshold import Stakes, best_of, counts_at, order_of
from heldout.intervals.score_limits import mean_cost_limits
from heldout.results.evaluation import Evaluation
from heldout.show.numbers import plain, share

NO_COSTS = "no costs were given"
HONESTLY = "heldout thresholds --costs … --honest"
CHOOSE = f"Choose a threshold by the costs, judged on other cases: {HONESTLY}"


@rule(
    "H010",
    about="evaluation",
    title="Symmetric costs",
    severity="know",
    advice="Say what each error costs; if they do cost the same, accuracy says as much.",
    reference="Tan, Steinbach & Kumar (2005), ch. 5; Elkan (2001), IJCAI",
    limits={"apart": "costs that are equal but for rounding"},
)
def symmetric_costs(subject: Evaluation, *, apart: float = 1e-9) -> Answer:
    """Every error costs the same, and so does every hit: then the cost says no more than the accuracy does.

    With q for an error and p for a hit the cost of n cases is n·(q − (q − p)·accuracy), a line in the accuracy: it
    ranks models as the accuracy does where q is above p, and the other way round where it is below.
    """
    costs = subject.costs
    if costs is None:
        return NotApplicable(NO_COSTS)
    if len(costs) < 2:
        return NotApplicable("there is one class only")
    errors, hits = costs[~np.eye(len(costs), dtype=bool)], np.diag(costs)
    scale = max(float(np.abs(costs).max()), 1.0)
    facts = {
        "error_low": float(errors.min()),
        "error_high": float(errors.max()),
        "hit_low": float(hits.min()),
        "hit_high": float(hits.max()),
    }
    if np.ptp(errors) <= apart * scale and np.ptp(hits) <= apart * scale:
        said = f"Every error costs {figure(facts['error_low'])} and every hit {figure(facts['hit_low'])}"
        if facts["error_low"] <= facts["hit_low"] + apart * scale:
            same = facts["error_low"] >= facts["hit_low"] - apart * scale
            what = "the cost cannot tell models apart" if same else "the cost ranks the more accurate model lower"
            return Fired(f"{said}: {what}.", facts, "Say what an error costs beyond a hit; are the two exchanged?")
        return Fired(
            f"{said}: the cost ranks models as the accuracy does.",
            facts,
        )
    return Passed(f"Errors cost from {figure(facts['error_low'])} to {figure(facts['error_high'])}.", facts)


@rule(
    "H011",
    about="evaluation",
    title="Costs given, but the threshold does not follow them",
    severity="act",
    advice=f"{CHOOSE}.",
    reference="Elkan (2001), IJCAI; Sheng & Ling (2006), AAAI",
    limits={"excess": "convention: a tenth more than need be"},
)
def costs_not_used(subject: Evaluation, *, excess: float = 0.1) -> Answer:
    """At the threshold in use the cases cost clearly more than at the one that the costs call for.

    For probabilities that is spared / (spared + found), from what each right answer saves; for other scores the
    cheapest on these cases, corrected for the search. A model that was trained and cut without the costs ignores them.
    """
    ready = _ready(subject)
    if isinstance(ready, str):
        return NotApplicable(ready)
    ranking, stakes, used = ready
    totals = float(ranking.n_positive), float(ranking.n_negative)
    in_use = _counts_in_use(subject, ranking, used)
    cost = -float(stakes.less(*in_use, *totals))
    # The cheapest of so many thresholds looks cheaper than it is, so its saving must hold for as many (Bonferroni).
    strict = 1 - (1 - subject.level) / max(len(ranking), 1)
    others = [(best_of(ranking, {"cost": stakes.less})["cost"].threshold, strict)]
    if subject.scores is not None and subject.scores.evidence.probabilities is not None:
        # First the threshold that was not chosen on these cases.
        others.insert(0, (stakes.threshold, subject.level))
    facts: dict[str, object] = {"threshold": used, "cost": cost}
    for other, level in others:
        counts = counts_at(ranking, other)
        cheaper = -float(stakes.less(*counts, *totals))
        low = _least_saving(subject, stakes, totals, in_use, counts, level)
        facts |= {"other": other, "other_cost": cheaper, "low": low}
        if low > 0 and cost - cheaper > excess * abs(cheaper):
            where = _where(used, given=subject.threshold is not None)
            # A threshold that was found on these very cases is not one to use, and advice names none.
            by_rule = level == subject.level and len(others) > 1
            said = _use(subject, other) if by_rule else CHOOSE
            return Fired(_dearer(where, cost, other, cheaper), facts, f"{said}{needs_rows(subject)}.")
    where = _where(used, given=subject.threshold is not None)
    return Passed(f"{where} a case costs {plain(cost)}; no other is clearly cheaper.", facts)


def _counts_in_use(subject: Evaluation, ranking: Ranking, used: float) -> tuple[float, float]:
    """TP and FP at the threshold in use; where it falls inside a bin of scores, those that were counted at it."""
    if is_exact(ranking) or subject.threshold is None or subject.positive is None:
        return counts_at(ranking, used)
    tp, _, fp, _ = subject.confusion.corners[subject.confusion.index(subject.positive)].tolist()
    return float(tp), float(fp)


def _where(used: float, *, given: bool) -> str:
    """The threshold in words: one that was given, or the one that the predicted classes imply."""
    return (
        f"At threshold {figure(used)}" if given else f"At {figure(used)}, where the predicted classes cut the scores,"
    )


def _use(subject: Evaluation, threshold: float) -> str:
    """What to do about the threshold that the costs call for, which is right for calibrated probabilities only."""
    seen = calibration_of(subject)
    if not isinstance(seen, str) and seen.is_off():
        return f"The probabilities are miscalibrated (H012), so choose by the costs on other cases: {HONESTLY}"
    return f"Use threshold {figure(threshold)}, after judging it on other cases: {HONESTLY}"


def _dearer(where: str, cost: float, other: float, cheaper: float) -> str:
    there = "if all are called negative" if np.isinf(other) else f"at {figure(other)}"
    if cheaper > 0:
        times = cost / cheaper
        said = f"{times:.1f}" if times < 10 else f"{times:,.0f}"
        return f"{where} the costs you gave are {said} times those {there}."
    return f"{where} a case costs {plain(cost)}, {there} {plain(cheaper)}."


def _ready(subject: Evaluation) -> tuple[Ranking, Stakes, float] | str:
    """The ranking, the costs of two classes and the threshold in use, or what is missing of them."""
    if subject.costs is None:
        return NO_COSTS
    ranking = ranking_of(subject)
    if isinstance(ranking, str):
        return (
            ranking
            if ranking != "there are no scores"
            else "there are no scores whose threshold could follow the costs"
        )
    if subject.confusion.n_classes != 2 or subject.positive is None:
        return "there are more than two classes"
    stakes = Stakes.of(subject.costs, subject.confusion.index(subject.positive))
    if min(stakes.saved) <= 0:
        return "one answer is always the cheaper, whatever the score"
    used = _in_use(subject, subject.positive)
    return used if isinstance(used, str) else (ranking, stakes, used)


def _in_use(subject: Evaluation, positive: Label) -> float | str:
    """The threshold that was given, or the one that the predicted classes imply, or why neither is known."""
    if subject.threshold is not None:
        return subject.threshold
    if subject.predictions is None:
        return f"{NOT_KEPT}, so it is not known at which threshold the classes were predicted"
    order = order_of(subject.predictions, positive)
    if order is None or order.astray > 0:
        return "the predicted classes do not follow the scores at any threshold"
    return order.threshold


def _least_saving(
    subject: Evaluation,
    stakes: Stakes,
    totals: tuple[float, float],
    used: tuple[float, float],
    other: tuple[float, float],
    level: float,
) -> float:
    """The lower limit of what a case saves at the other threshold: only cases between the two change."""
    found, spared = stakes.saved
    n = sum(totals)
    moved = other[0] - used[0], other[1] - used[1]
    # From the higher threshold to the lower one positives are found and negatives alarmed; the other way round, lost.
    # That none of either kind lies between the two here does not mean that none ever will.
    way = float(np.sign(moved[0] + moved[1]))
    values = [found * way, -spared * way, 0.0]
    counts = np.array([abs(moved[0]), abs(moved[1]), max(n - abs(moved[0]) - abs(moved[1]), 0.0)])
    scale = subject.independent * subject.confusion.n_cases / n if n else 0.0
    return mean_cost_limits(values, counts * scale, level)[0]


@rule(
    "H016",
    about="evaluation",
    title="More accurate than one constant answer, but dearer",
    severity="act",
    advice="Choose by the costs: train or cut the model with them, or give the constant answer.",
    reference="Tan, Steinbach & Kumar (2005), ch. 5; Provost & Fawcett (1997), KDD",
    limits={"excess": "any excess counts; what would matter is for the user to say"},
)
def accurate_but_dearer(subject: Evaluation, *, excess: float = 0.0) -> Answer:
    """The classifier is more accurate than always giving the cheapest answer, and yet costs more.

    Where one error costs far more than the other, accuracy and cost can rank two models in opposite ways.
    """
    costs, confusion = subject.costs, subject.confusion
    if costs is None:
        return NotApplicable(NO_COSTS)
    if confusion.n_classes < 2:
        return NotApplicable("there is one class only")
    n = float(confusion.n)
    cost = float((confusion.counts * costs[confusion.truth, confusion.predicted]).sum())
    constant = np.asarray(confusion.truth_totals, dtype=np.float64) @ costs
    cheapest = int(constant.argmin())
    answer, least = confusion.labels[cheapest], float(constant[cheapest])
    right = float(confusion.hits.sum()) / n, float(confusion.truth_totals[cheapest]) / n
    facts = {
        "accuracy": right[0],
        "cost": cost,
        "answer": answer,
        "constant_accuracy": right[1],
        "constant_cost": least,
    }
    names = "the classifier", f"always answering {quoted(answer)}"
    said = more_accurate_costs_more((right[0], cost), (right[1], least), names) if cost > least + excess else ""
    if said:
        return Fired(said, facts)
    return Passed(
        f"It costs {plain(cost)} at accuracy {share(right[0])}; {names[1]} {plain(least)} at {share(right[1])}.", facts
    )
