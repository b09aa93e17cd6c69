"""Rules about the threshold in use: was it chosen on the very cases it is judged by, and do the scores give it."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from heldout.evidence.ranking import Ranking
from heldout.findings.rule import Answer, Fired, NotApplicable, Passed, rule
from heldout.findings.stakes import Stakes
from heldout.findings.subjects import IN_BINS, NOT_KEPT, Judged, is_exact, needs_rows, ranking_of, why_no_scores
from heldout.findings.threshold_points import AIMS, BLOCK, Aim, best_of, counts_at, is_best, order_of, place_of
from heldout.findings.wording import figure, number_of
from heldout.predictions.table import Predictions
from heldout.show.numbers import percent

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
def threshold_chosen_on_test_cases(subject: Judged, *, distinct: float = 10, digits: float = 4) -> Answer:
    """The threshold is one of the scores, or halfway between two, and the best one here.

    Best for accuracy, F1, Youden's J or the costs that were given; a round one that is best for one of them alone may
    be so by chance, and is one to know. A threshold that was chosen on the cases it is
    judged by fits their chance too: what it reaches here is more than what it will reach on new cases.
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
        said = " and ".join(reached)
        sure = len(reached) > 1 or digits_of(used) >= digits
        return Fired(
            f"Of all thresholds, {figure(used)} is the one with the best {said} on these very cases.",
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


def _aims(subject: Judged) -> Mapping[str, Aim]:
    """What a threshold may have been searched for; the cost only where it was given and is not the accuracy again."""
    if subject.costs is None or subject.positive is None or len(subject.costs) != 2:
        return AIMS
    stakes = Stakes.of(subject.costs, subject.confusion.index(subject.positive))
    return AIMS if stakes.saved[0] == stakes.saved[1] > 0 else {**AIMS, "cost": stakes.less}


def _searchable(subject: Judged, distinct: float) -> Ranking | str:
    """The ranking in which a threshold may have been searched for, or why there is none."""
    ranking = ranking_of(subject)
    if isinstance(ranking, str):
        return ranking
    if not ranking.n_positive or not ranking.n_negative:
        return "all cases are of one class"
    if not is_exact(ranking):
        return IN_BINS
    if len(ranking) < distinct:
        return f"there are fewer than {distinct:g} distinct scores, so many a threshold is the best"
    return ranking


def _on_the_cases(ranking: Ranking, threshold: float) -> bool:
    """Whether the threshold is a score or halfway between two neighbours, as procedures that search for one give it."""
    place = place_of(ranking, threshold)
    near = [float(ranking.scores[at]) for at in (place - 1, place) if 0 <= at < len(ranking)]
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
def predictions_beside_scores(subject: Judged, *, share: float = 0.01) -> Answer:
    """The predicted classes are not those that a threshold, or the highest score, would give.

    Then ROC area and calibration speak of another classifier than accuracy, precision and recall: the columns are
    of two models, or the scores were made in another way, as those of scikit-learn's SVC(probability=True) are.
    """
    held, reason = subject.predictions, why_no_scores(subject)
    if reason:
        return NotApplicable(reason)
    if subject.threshold is not None:
        return Passed("The predicted classes were made from the scores.", {"share": 0.0})
    if held is None or held.scores is None:
        return NotApplicable(f"{NOT_KEPT}, so it is not known which class was predicted at which score")
    if held.scores.per_class:
        astray, what = _beside_highest(held), "the class with the highest score"
    else:
        order = None if subject.positive is None else order_of(held, subject.positive)
        if order is None:
            return NotApplicable("no class is the positive one")
        astray, what = order.astray, "what any one threshold would give"
    facts = {"share": astray, "cases": round(astray * held.n)}
    if astray > share:
        cases = number_of(float(facts["cases"]), "case")
        return Fired(f"For {cases} ({percent(astray, 1)}) the predicted class is not {what}.", facts)
    return Passed("The predicted classes follow the scores.", facts)


def _beside_highest(held: Predictions) -> float:
    """The share of the cases whose predicted class has a lower score than another."""
    if held.scores is None:
        return 0.0
    place, called, wrong = held.predicted_place, held.predicted, 0
    for start in range(0, held.n, BLOCK):
        part = slice(start, start + BLOCK)
        scores = held.scores.values[part]
        codes = place[called.codes[part].astype(np.int64) - called.offset]
        wrong += int(np.count_nonzero(scores[np.arange(len(scores)), codes] < scores.max(axis=1)))
    return wrong / held.n
