"""Rules about the threshold in use and the costs of errors: chosen on the same cases, or not following the costs."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.costs import more_accurate_costs_more
from heldout.engines.score_sort import rank
from heldout.evidence import Label
from heldout.evidence.ranking import Ranking
from heldout.findings.evaluation_evidence import (
    ANSWERS_NOT_KEPT,
    FOLLOW_SCORES,
    IN_BINS,
    MADE_FROM_SCORES,
    NO_POSITIVE_CLASS,
    NOT_KEPT,
    ONE_CLASS,
    calibration_of,
    is_exact,
    needs_rows,
    ranking_of,
    why_no_scores,
)
from heldout.findings.rule import LINEAR_COST, Answer, Fired, NotApplicable, Passed, figure, quoted, rule
from heldout.intervals.score_limits import mean_cost_limits
from heldout.measures.catalogue import find
from heldout.predictions.table import Predictions
from heldout.results.evaluation import Evaluation
from heldout.show.numbers import number_of, percent, plain, share

# A criterion to be maximised, from TP, FP, positives and negatives.
Aim = Callable[[Any, Any, float, float], Any]

# Blocks of this many distinct scores stay in the processor's cache.
BLOCK = 1 << 16
# Values nearer than this share of their scale differ by rounding only.
TIE = 1e-12


def _aim(name: str) -> Aim:
    """A measure of the catalogue, for arrays of TP and FP."""
    bound = find(name)

    def value(tp: Any, fp: Any, positives: float, negatives: float) -> Any:
        tn = negatives - fp
        top, bottom = bound.pair(
            {"tp": tp, "fp": fp, "fn": positives - tp, "tn": tn, "correct": tp + tn, "n": positives + negatives}
        )
        return top / bottom

    return value


AIMS: Mapping[str, Aim] = {"accuracy": _aim("accuracy"), "F1": _aim("f1"), "Youden's J": _aim("informedness")}


@dataclass(frozen=True, slots=True)
class BestThreshold:
    """The best value of an aim, and the highest threshold that reaches it (infinite: nobody is called positive)."""

    value: float
    threshold: float


def place_of(ranking: Ranking, threshold: float) -> int:
    """How many of the distinct scores are at least the threshold.

    >>> place_of(Ranking(np.array([0.9, 0.4]), np.array([1, 1]), np.array([0, 2])), 0.4)
    2
    """
    return bisect_right(range(len(ranking)), -threshold, key=lambda at: -float(ranking.scores[at]))


def counts_at(ranking: Ranking, threshold: float) -> tuple[float, float]:
    """TP and FP where the cases whose score is at least the threshold are called positive.

    >>> counts_at(Ranking(np.array([0.9, 0.4]), np.array([1, 1]), np.array([0, 2])), 0.5)
    (1.0, 0.0)
    """
    index = place_of(ranking, threshold)
    return float(ranking.positives[:index].sum(dtype=np.float64)), float(
        ranking.negatives[:index].sum(dtype=np.float64)
    )


def best_of(ranking: Ranking, aims: Mapping[str, Aim]) -> dict[str, BestThreshold]:
    """The best that any threshold reaches for each aim.

    >>> best_of(Ranking(np.array([0.9, 0.4]), np.array([1, 1]), np.array([0, 2])), AIMS)["F1"]
    BestThreshold(value=0.6666666666666666, threshold=0.9)
    """
    positives, negatives = float(ranking.n_positive), float(ranking.n_negative)
    best = {name: BestThreshold(float(aim(0.0, 0.0, positives, negatives)), np.inf) for name, aim in aims.items()}
    tp = fp = 0.0
    for start in range(0, len(ranking), BLOCK):
        part = slice(start, start + BLOCK)
        hits = tp + np.cumsum(ranking.positives[part], dtype=np.float64)
        alarms = fp + np.cumsum(ranking.negatives[part], dtype=np.float64)
        for name, aim in aims.items():
            values = aim(hits, alarms, positives, negatives)
            at = int(values.argmax())
            if values[at] > best[name].value:
                best[name] = BestThreshold(float(values[at]), float(ranking.scores[start + at]))
        tp, fp = float(hits[-1]), float(alarms[-1])
    return best


def is_best(value: float, best: BestThreshold) -> bool:
    """Whether a value is the best one but for rounding.

    >>> is_best(0.3, BestThreshold(0.1 + 0.2, 0.5))
    True
    """
    return value >= best.value - TIE * max(1.0, abs(best.value))


@dataclass(frozen=True, slots=True)
class Order:
    """How predicted classes lie along the scores: the share that no threshold explains, and the threshold otherwise.

    Where `astray` is 0, all cases with a score of at least `threshold` were called positive, but for ties with it.
    """

    astray: float
    threshold: float


def order_of(predictions: Predictions, positive: Label) -> Order | None:
    """Whether one threshold on the scores of the positive class gives the predicted classes; None without such scores.

    >>> from heldout.predictions.case_values import RawScores
    >>> from heldout.predictions.table import assemble
    >>> order_of(assemble([0, 1, 1], [0, 1, 1], score=RawScores(np.array([0.1, 0.6, 0.8]))), 1)
    Order(astray=0.0, threshold=0.5)
    """
    if predictions.scores is None or predictions.scores.per_class:
        return None
    called, scores = predictions.predicted, predictions.scores.values
    is_positive = predictions.predicted_place == predictions.labels.index(positive)
    below, above = -np.inf, np.inf
    for start in range(0, predictions.n, BLOCK):
        part = slice(start, start + BLOCK)
        yes = is_positive[called.codes[part].astype(np.int64) - called.offset]
        values = scores[part]
        above = min(above, float(values.min(where=yes, initial=np.inf)))
        below = max(below, float(values.max(where=~yes, initial=-np.inf)))
    if below <= above:
        return Order(0.0, 0.5 if below < 0.5 <= above else above)
    yes = is_positive[called.codes.astype(np.int64) - called.offset]
    best = best_of(rank(scores, yes), {"accuracy": AIMS["accuracy"]})["accuracy"]
    return Order(1 - best.value, best.threshold)


@dataclass(frozen=True, slots=True)
class Stakes:
    """The four costs of two classes, and the mean cost of a case at any threshold."""

    miss: float
    hit: float
    alarm: float
    quiet: float

    @classmethod
    def of(cls, costs: NDArray[np.float64], positive: int) -> Stakes:
        """The costs of a 2 × 2 matrix whose rows are the truth.

        >>> round(Stakes.of(np.array([[0.0, 1.0], [10.0, 0.0]]), positive=1).threshold, 3)
        0.091
        """
        negative = 1 - positive
        return cls(
            float(costs[positive, negative]), float(costs[positive, positive]),
            float(costs[negative, positive]), float(costs[negative, negative]),
        )  # fmt: skip

    @property
    def saved(self) -> tuple[float, float]:
        """What calling a positive positive saves, and what calling a negative negative does."""
        return self.miss - self.hit, self.alarm - self.quiet

    @property
    def threshold(self) -> float:
        """The probability from which on calling a case positive is the cheaper (Elkan 2001)."""
        found, spared = self.saved
        return spared / (spared + found)

    def less(self, tp: Any, fp: Any, positives: float, negatives: float) -> Any:
        """The mean cost with its sign turned, so that more is better."""
        n = positives + negatives
        return -((positives - tp) * self.miss + tp * self.hit + fp * self.alarm + (negatives - fp) * self.quiet) / n


# Thresholds that people use without looking at the cases: one half of a probability, 0 of a decision value.
USUAL = (0.5, 0.0)
JUDGE = "If it was chosen on these cases, judge it on others, or use heldout thresholds --honest"


@rule(
    "H009",
    about="evaluation",
    title="The threshold is the best one for these very cases",
    severity="act",
    advice=f"{JUDGE}.",
    reference="Hastie, Tibshirani & Friedman (2009), sec. 7.10; Ewald (2006), J. Clin. Epidemiol. 59(8)",
    limits={
        "distinct": "convention: of fewer than 10 distinct scores, any threshold may well be the best for something",
        "digits": "convention: a threshold of 4 digits was found, not thought of; one of 2 digits is best by chance "
        "in about 3 of 40 draws",
    },
)
def threshold_chosen_on_test_cases(subject: Evaluation, *, distinct: float = 10, digits: float = 4) -> Answer:
    """The threshold is one of the scores, or halfway between two, and the best one here.

    “Best” is by accuracy, F1, Youden's J or the costs that were given; a round threshold that is best by only one of
    them may be so by chance, and the severity is then only “to know”. A threshold that was chosen on the cases that
    judge it also fits their noise: it will do worse on new cases.
    """
    used = subject.threshold
    if used is None:
        return NotApplicable(
            "there are no scores" if subject.scores is None else "the predicted classes were given, and no threshold"
        )
    if used in USUAL:
        return Passed(f"Threshold {figure(used)} is a usual one.", {"threshold": used})
    ranking = _searchable(subject, distinct)
    if isinstance(ranking, str):
        return NotApplicable(ranking)
    facts: dict[str, object] = {"threshold": used}
    if not _on_the_cases(ranking, used):
        return Passed(f"Threshold {figure(used)} is none of the scores, nor halfway between two.", facts)
    aims, counts = _aims(subject), counts_at(ranking, used)
    best = best_of(ranking, aims)
    values = {n: float(aim(*counts, float(ranking.n_positive), float(ranking.n_negative))) for n, aim in aims.items()}
    reached = [name for name in aims if is_best(values[name], best[name])]
    facts |= {"values": values, "best": {name: found.value for name, found in best.items()}, "best_for": reached}
    if reached:
        measures = " and ".join(reached)
        sure = len(reached) > 1 or digits_of(used) >= digits
        return Fired(
            f"Of all thresholds, {figure(used)} is the one with the best {measures} on these very cases.",
            facts,
            f"{JUDGE}{needs_rows(subject)}.",
            severity="act" if sure else "know",
        )
    return Passed(f"Threshold {figure(used)} is not the best one for {' or '.join(aims)} here.", facts)


def digits_of(value: float) -> int:
    """How many significant digits a number is written with.

    >>> digits_of(0.35), digits_of(0.4712), digits_of(120.0)
    (2, 4, 2)
    """
    return len(f"{abs(value):.15e}".partition("e")[0].replace(".", "").rstrip("0"))


def _aims(subject: Evaluation) -> Mapping[str, Aim]:
    """What a threshold may have been searched for; the cost only where it was given and is not the accuracy again."""
    if subject.costs is None or subject.positive is None or len(subject.costs) != 2:
        return AIMS
    stakes = Stakes.of(subject.costs, subject.confusion.index(subject.positive))
    return AIMS if stakes.saved[0] == stakes.saved[1] > 0 else {**AIMS, "cost": stakes.less}


def _searchable(subject: Evaluation, distinct: float) -> Ranking | str:
    """The ranking in which a threshold may have been searched for, or why there is none."""
    ranking = ranking_of(subject)
    if isinstance(ranking, str):
        return ranking
    if not ranking.n_positive or not ranking.n_negative:
        return ONE_CLASS
    if not is_exact(ranking):
        return IN_BINS
    if len(ranking) < distinct:
        return f"there are fewer than {distinct:g} distinct scores, so many a threshold is the best"
    return ranking


def _on_the_cases(ranking: Ranking, threshold: float) -> bool:
    """Whether the threshold is a score or halfway between two neighbours, as procedures that search for one give it."""
    index = place_of(ranking, threshold)
    near = [float(ranking.scores[at]) for at in (index - 1, index) if 0 <= at < len(ranking)]
    return any(math.isclose(threshold, x, rel_tol=1e-9) for x in (*near, sum(near) / max(len(near), 1)))


@rule(
    "H023",
    about="evaluation",
    title="The predicted classes do not follow the scores",
    severity="know",
    advice="Check that both columns are of one model: the areas describe the scores, the counts the predicted classes.",
    reference="scikit-learn user guide, Support vector machines: scores and probabilities may be inconsistent",
    limits={"share": "convention: 1 % of the cases, more than rounding of scores explains"},
)
def predictions_beside_scores(subject: Evaluation, *, share: float = 0.01) -> Answer:
    """The predicted classes are not those that a threshold, or the highest score, would give.

    Then ROC area and calibration describe another classifier than accuracy, precision and recall do: the columns come
    from two models, or the scores were made in another way, as with scikit-learn's SVC(probability=True).
    """
    predictions, reason = subject.predictions, why_no_scores(subject)
    if reason:
        return NotApplicable(reason)
    if subject.threshold is not None:
        return Passed(MADE_FROM_SCORES, {"share": 0.0})
    if predictions is None or predictions.scores is None:
        return NotApplicable(ANSWERS_NOT_KEPT)
    if predictions.scores.per_class:
        astray, what = _beside_highest(predictions), "the class with the highest score"
    else:
        order = None if subject.positive is None else order_of(predictions, subject.positive)
        if order is None:
            return NotApplicable(NO_POSITIVE_CLASS)
        astray, what = order.astray, "what any one threshold would give"
    facts = {"share": astray, "cases": round(astray * predictions.n)}
    if astray > share:
        cases = number_of(float(facts["cases"]), "case")
        return Fired(f"For {cases} ({percent(astray, 1)}) the predicted class is not {what}.", facts)
    return Passed(FOLLOW_SCORES, facts)


def _beside_highest(predictions: Predictions) -> float:
    """The share of the cases whose predicted class has a lower score than another."""
    if predictions.scores is None:
        return 0.0
    index_of_code, called, wrong = predictions.predicted_place, predictions.predicted, 0
    for start in range(0, predictions.n, BLOCK):
        part = slice(start, start + BLOCK)
        scores = predictions.scores.values[part]
        codes = index_of_code[called.codes[part].astype(np.int64) - called.offset]
        wrong += int(np.count_nonzero(scores[np.arange(len(scores)), codes] < scores.max(axis=1)))
    return wrong / predictions.n


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
    erratum=LINEAR_COST,
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
        sentence = f"Every error costs {figure(facts['error_low'])} and every hit {figure(facts['hit_low'])}"
        if facts["error_low"] <= facts["hit_low"] + apart * scale:
            same = facts["error_low"] >= facts["hit_low"] - apart * scale
            what = "the cost cannot tell models apart" if same else "the cost ranks the more accurate model lower"
            return Fired(f"{sentence}: {what}.", facts, "Say what an error costs beyond a hit; are the two exchanged?")
        return Fired(
            f"{sentence}: the cost ranks models as the accuracy does.",
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

    For probabilities that is the gain of a correct rejection over the sum of it and the gain of a hit; for other
    scores, and where the probabilities are off, it is the cheapest threshold on these cases, corrected for the search.
    A model whose training and threshold did not use the costs ignores them.
    """
    ready = _ready(subject)
    if isinstance(ready, str):
        return NotApplicable(ready)
    ranking, stakes, used = ready
    totals = float(ranking.n_positive), float(ranking.n_negative)
    in_use = _counts_in_use(subject, ranking, used)
    cost = -float(stakes.less(*in_use, *totals))
    # The cheapest of many thresholds looks cheaper than it is, so its saving is tested for all of them (Bonferroni).
    strict = 1 - (1 - subject.level) / max(len(ranking), 1)
    others = [(best_of(ranking, {"cost": stakes.less})["cost"].threshold, strict)]
    if subject.scores is not None and subject.scores.evidence.probabilities is not None:
        # First the threshold that was not chosen on these cases.
        others.insert(0, (stakes.threshold, subject.level))
        seen = calibration_of(subject)
        if math.isclose(used, stakes.threshold, rel_tol=0.01) and not isinstance(seen, str) and not seen.is_off():
            # It follows the costs, and nothing shows that the probabilities are off: the search finds chance only.
            others.pop()
    facts: dict[str, object] = {"threshold": used, "cost": cost}
    for other, level in others:
        counts = counts_at(ranking, other)
        cheaper = -float(stakes.less(*counts, *totals))
        low = _least_saving(subject, stakes, totals, in_use, counts, level)
        facts |= {"other": other, "other_cost": cheaper, "low": low}
        if low > 0 and cost - cheaper > excess * abs(cheaper):
            where = _where(used, given=subject.threshold is not None)
            # A threshold that was found on these very cases is not one to use, and advice names none.
            by_rule = level == subject.level and other == stakes.threshold
            advice = _use(subject, other) if by_rule else CHOOSE
            return Fired(_dearer(where, cost, other, cheaper), facts, f"{advice}{needs_rows(subject)}.")
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
        factor = f"{times:.1f}" if times < 10 else f"{times:,.0f}"
        return f"{where} the costs you gave are {factor} times those {there}."
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
        return "one prediction is always the cheaper, whatever the score"
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
    title="More accurate than one constant prediction, but more expensive",
    severity="act",
    advice="Choose by the costs: use them in training or for the threshold, or give the constant prediction.",
    reference="Tan, Steinbach & Kumar (2005), ch. 5; Provost & Fawcett (1997), KDD",
    limits={"excess": "any excess counts; what would matter is for the user to say"},
)
def accurate_but_dearer(subject: Evaluation, *, excess: float = 0.0) -> Answer:
    """The classifier is more accurate than always giving the cheapest answer, and yet clearly costs more.

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
    names = "the classifier", f"always predicting {quoted(answer)}"
    sentence = more_accurate_costs_more((right[0], cost), (right[1], least), names) if cost > least + excess else ""
    if sentence:
        low = _least_excess(subject, costs, cheapest)
        facts["low"] = low
        # nan compares as false: without an interval the value alone decides.
        if not low <= 0:
            return Fired(sentence, facts)
    return Passed(
        f"It costs {plain(cost)} at accuracy {share(right[0])}; {names[1]} {plain(least)} at {share(right[1])}.", facts
    )


def _least_excess(subject: Evaluation, costs: NDArray[np.float64], answer: int) -> float:
    """The lower limit of what a case costs more than with one constant answer."""
    confusion = subject.confusion
    if not subject.independent:
        return math.nan
    more = costs[confusion.truth, confusion.predicted] - costs[confusion.truth, answer]
    values, where = np.unique(more, return_inverse=True)
    counts = np.bincount(where.reshape(-1), weights=confusion.counts, minlength=len(values))
    return mean_cost_limits(
        values, counts * (subject.independent * confusion.n_cases / float(confusion.n)), subject.level
    )[0]
