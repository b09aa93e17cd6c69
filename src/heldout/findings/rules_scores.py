"""Rules about the scores of an evaluation: reversed, of another thing, tied, copied, or too good to be true."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.arguments import capitalize
from heldout.evidence.ranking import Ranking
from heldout.findings.evaluation_evidence import (
    ANSWERS_NOT_KEPT,
    FOLLOW_SCORES,
    IN_BINS,
    MADE_FROM_SCORES,
    NO_POSITIVE_CLASS,
    ONE_CLASS,
    case_number,
    class_sizes,
    is_exact,
    ranking_of,
    reported,
    why_no_scores,
)
from heldout.findings.rule import LEAKS, Answer, Fired, NotApplicable, Passed, between, quoted, rule
from heldout.intervals.estimate import Estimate
from heldout.measures.catalogue import find
from heldout.measures.quantity import Quantity
from heldout.predictions.case_values import ASTRAY, FEWEST
from heldout.results.evaluation import Evaluation
from heldout.show.numbers import number_of, percent, share

# From this many significant digits on, a score was not rounded: doubles have 15 to 17 of them, single precision 6 to 9.
DIGITS = {8: 10, 4: 7}
BLOCK = 1 << 16


@dataclass(frozen=True, slots=True)
class Copies:
    """Distinct scores of full precision that stand in several rows, and those of them that hold both classes.

    `chance` is the probability of so few mixed ones if the rows of a score were different cases.
    """

    repeated: int
    mixed: int
    chance: float


def copies_of(ranking: Ranking) -> Copies:
    """The repeated scores of a ranking of cases that carry no weights.

    Different cases with one score differ in their truth as often as those with neighbouring scores do, copies never.

    >>> scores = np.arange(60, 0, -1) / 61
    >>> truth = np.arange(60) % 2
    >>> copies_of(Ranking(scores, 2 * truth, 2 - 2 * truth)).mixed
    0
    """
    repeated = mixed = pairs = 0
    differ = 0.0
    # In blocks, and one score further for the neighbour of the last: no array as long as the data is made.
    for start in range(0, len(ranking), BLOCK):
        part = slice(start, start + BLOCK + 1)
        positives, negatives = ranking.positives[part].astype(np.int64), ranking.negatives[part].astype(np.int64)
        again = np.flatnonzero(positives[:BLOCK] + negatives[:BLOCK] > 1)
        again = again[is_full(ranking.scores[part][again])]
        repeated += len(again)
        mixed += int(np.count_nonzero((positives[again] > 0) & (negatives[again] > 0)))
        # One row of each score beside one of the next score: how often their truths differ.
        here = again[again + 1 < len(positives)]
        share, beside = (positives[at] / (positives[at] + negatives[at]) for at in (here, here + 1))
        differ += float((share * (1 - beside) + beside * (1 - share)).sum())
        pairs += len(here)
    return Copies(repeated, mixed, _at_most(mixed, repeated, differ / pairs if pairs else 0.0))


def is_full(scores: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether each score has more digits than a rounded one.

    >>> is_full(np.array([0.25, 0.123456, 1 / 3, 0.0]))
    array([False, False,  True, False])
    """
    digits = DIGITS.get(scores.dtype.itemsize, 10)
    values = scores.astype(np.float64)
    size = np.floor(np.log10(np.abs(values), out=np.zeros_like(values), where=values != 0))
    scale = 10.0 ** (digits - 2 - size)
    apart = np.abs(np.round(values * scale) / scale - values)
    return np.asarray(apart > 8 * np.finfo(scores.dtype).eps * np.abs(values))


@dataclass(frozen=True, slots=True)
class Multiples:
    """Cases of a class stand in multiples of `times` at every one of so many distinct scores; 1 where they do not."""

    times: int
    scores: int


def multiples_of(counts: NDArray[Any]) -> Multiples:
    """How often every case of a class was copied, whatever the scores were rounded to.

    >>> multiples_of(np.array([4, 0, 8, 12]))
    Multiples(times=4, scores=3)
    """
    times = scores = 0
    for start in range(0, len(counts), BLOCK):
        part = counts[start : start + BLOCK].astype(np.int64)
        part = part[part > 0]
        times, scores = int(np.gcd.reduce(part, initial=times)), scores + len(part)
        if times == 1:
            break
    return Multiples(max(times, 1), scores)


def _at_most(successes: int, trials: int, share: float) -> float:
    """The probability of at most so many successes (binomial)."""
    if not 0 < share < 1:
        return 1.0
    terms = (
        math.lgamma(trials + 1) - math.lgamma(k + 1) - math.lgamma(trials - k + 1)
        + k * math.log(share) + (trials - k) * math.log1p(-share)
        for k in range(successes + 1)
    )  # fmt: skip
    return min(1.0, math.fsum(math.exp(term) for term in terms))


@rule(
    "H004",
    about="evaluation",
    title="ROC area below one half",
    severity="act",
    advice="Check which class is the positive one and which way the scores run; reversed, the area is 1 minus this.",
    reference="Fawcett (2006), Pattern Recognition Letters 27; Flach & Wu (2005), IJCAI",
    limits={
        "half": "one half is what a coin reaches",
        "doubt": "convention: one to act on where an interval of a fifth of the error (99 % for 95 %) lies below too",
    },
)
def area_below_half(subject: Evaluation, *, half: float = 0.5, doubt: float = 0.2) -> Answer:
    """The ROC area lies below one half beyond doubt, so the scores rank the wrong way round.

    Reversed labels or scores are far more common than a model that is worse than a coin; heldout never reverses scores
    silently. With several classes the intervals are widened for their number. A model without any skill is below one
    half now and then by chance: near the limit the severity is only “to know”.
    """
    areas = [e for e in reported(subject, "roc_auc") if e.class_ is not None]
    if not areas or subject.scores is None:
        return NotApplicable("there is no ROC area of a class")
    # The worst of many classes lies below by chance more often than one does (Bonferroni).
    strict = replace(subject.scores, level=1 - (1 - subject.level) / len(areas))
    area = find("roc_auc")
    areas = [strict.ask(Quantity(area, e.class_)) if e.high < half and len(areas) > 1 else e for e in areas]
    worst = min(areas, key=lambda e: (not e.high < half, e.value))
    label = worst.class_ if worst.class_ is not None else ""
    below = [e.class_ for e in areas if e.high < half]
    facts = {
        "class": label,
        "roc_auc": worst.value,
        "low": worst.low,
        "high": worst.high,
        "classes": below,
        "reversed": 1 - worst.value,
    }
    sentence = f"The ROC area of {quoted(label)} is {share(worst.value)}{between(worst.low, worst.high)}"
    if below:
        surer = replace(subject.scores, level=1 - doubt * (1 - subject.level) / len(areas))
        sure = surer.ask(Quantity(area, worst.class_)).high < half
        return Fired(
            f"{sentence}, below one half.",
            facts,
            f"Check which class is positive and which way the scores run; exchanged, it is {share(1 - worst.value)}.",
            "act" if sure else "know",
            ("ranks the wrong way round",) if len(areas) <= 2 else (),
        )
    return Passed(f"{sentence}." if worst.value >= half else f"{sentence}, not below one half beyond doubt.", facts)


@rule(
    "H067",
    about="evaluation",
    title="The score is the confidence in the prediction, not the score of the positive class",
    severity="know",
    advice="Give the score of the positive class, so that heldout need not guess which of the two it is.",
    reference="Guo, Pleiss, Sun & Weinberger (2017), ICML, on confidences; Fawcett (2006), on scores of a class",
    limits={
        "astray": "convention: one prediction in twenty that no threshold on the scores gives, more than rounding does",
        "cases": "convention: with fewer than 3 predictions of each kind, all scores may be above one half by chance",
    },
    first=True,
)
def confidence_as_score(subject: Evaluation, *, astray: float = ASTRAY, cases: float = FEWEST) -> Answer:
    """No score is below what the likeliest class must have, one half of two, whichever was predicted.

    Many programs give the predicted class and the probability of that class. Taken for the probability of the positive
    class, a sure negative would rank with the sure positives, so 1 − score is taken where the other was predicted.
    """
    predictions, reason = subject.predictions, why_no_scores(subject) or _no_answers_beside(subject, cases)
    if subject.threshold is not None:
        return Passed(MADE_FROM_SCORES, {"astray": 0.0})
    if reason or predictions is None or predictions.scores is None:
        return NotApplicable(reason)
    turned = predictions.scores.turned
    if turned is None:
        least, most = float(predictions.scores.values.min()), float(predictions.scores.values.max())
        sentence = f"Scores from {share(least)} to {share(most)} are not taken for confidences in the prediction."
        return Passed(sentence, {"least": least, "most": most, "astray": None})
    facts: dict[str, object] = {"least": turned.least, "most": turned.most, "astray": turned.astray}
    if turned.astray <= astray:
        return Passed(FOLLOW_SCORES, facts)
    half = share(1 / len(predictions.labels)) if turned.whole == 1 else f"{turned.whole / 2:g}"
    return Fired(
        f"No score is below {half} and {percent(turned.astray)} of the predictions follow none: "
        "they are the confidence in the predicted class, and were turned.",
        facts,
    )


def _no_answers_beside(subject: Evaluation, cases: float) -> str:
    """Why there are no answers of both kinds beside scores of the positive class; empty where there are."""
    predictions = subject.predictions
    if predictions is None or predictions.scores is None:
        return ANSWERS_NOT_KEPT
    if predictions.scores.per_class:
        return "there is a score for each class"
    if subject.positive is None:
        return NO_POSITIVE_CLASS
    # Rows are counted, whatever they weigh.
    confusion = subject.confusion
    called = int(confusion.cases[confusion.predicted == confusion.index(subject.positive)].sum())
    few = min(called, confusion.n_cases - called) < cases
    return f"there are fewer than {cases:g} predictions that name the positive class, or another" if few else ""


@rule(
    "H017",
    about="evaluation",
    title="Scores with few distinct values",
    severity="know",
    advice="Give the scores before rounding or voting; if there are none, read the area as that of these few points.",
    reference="Muschelli (2020), Journal of Classification 37; Fawcett (2006), Pattern Recognition Letters 27",
    limits={
        "distinct": "convention: with 10 distinct scores the ROC curve is 10 straight lines",
        "tied": "convention: a tied pair counts one half; 1 % of them can move the area by .005",
    },
    erratum="Equal scores make one point of the ROC curve",
)
def few_distinct_scores(subject: Evaluation, *, distinct: float = 10, tied: float = 0.01) -> Answer:
    """The scores have few distinct values, so that many positives and negatives share one.

    The area is then that of straight lines between few points, mostly smaller than the same model would reach with
    finer scores, and there are few thresholds to choose from.
    """
    ranking = ranking_of(subject)
    if isinstance(ranking, str):
        return NotApplicable(ranking)
    if not ranking.n_positive or not ranking.n_negative:
        return NotApplicable(ONE_CLASS)
    facts: dict[str, object] = {"distinct": len(ranking)}
    if len(ranking) > distinct:
        # A bin holds one distinct score or more.
        least = "" if is_exact(ranking) else "at least "
        return Passed(f"The scores have {least}{number_of(len(ranking), 'distinct value')}.", facts)
    if not is_exact(ranking):
        return NotApplicable(IN_BINS)
    pairs = float(ranking.positives.astype(np.float64) @ ranking.negatives.astype(np.float64))
    ties = pairs / (float(ranking.n_positive) * float(ranking.n_negative))
    facts["tied"] = ties
    sentence = f"The scores have {number_of(len(ranking), 'distinct value')}"
    if ties > tied:
        return Fired(f"{sentence}: {percent(ties, 1)} of the pairs of a positive and a negative are tied.", facts)
    return Passed(f"{sentence}, but hardly a positive is tied with a negative.", facts)


@rule(
    "H018",
    about="evaluation",
    title="Too good to be true",
    severity="act",
    advice="Look for a leak: a column that holds the answer, copies of training cases, or a split after preparation.",
    reference=LEAKS,
    limits={
        "nearly": "convention: hardly any real problem is separated to one in a thousand",
        "sure": "convention: an interval that begins below .98 allows a model that is merely good",
        "cases": "convention: with fewer than 100 cases, no error at all is no surprise",
        "least": "convention: a class of fewer than 10 cases may be separated by chance",
    },
)
def too_good(
    subject: Evaluation, *, nearly: float = 0.999, sure: float = 0.98, cases: float = 100, least: float = 10
) -> Answer:
    """Balanced accuracy or the ROC area is nearly perfect on many cases, and its interval leaves little doubt.

    Results that are too good come from a leak of the answer into the features or of test cases into training far more
    often than from a perfect model. Where some predictions are wrong and the area is below 1, the severity is only “to
    know”.
    """
    size = class_sizes(subject.confusion)
    present = size[size > 0]
    n = case_number(subject)
    if len(present) < 2:
        return NotApplicable(ONE_CLASS)
    if n < cases or present.min() < least:
        return NotApplicable(f"there are fewer than {cases:g} cases, or fewer than {least:g} of a class")
    areas = {e.average or e.class_: e for e in reported(subject, "roc_auc")}
    area = areas.get("macro", areas.get(subject.positive))
    figures: dict[str, Estimate] = {"balanced accuracy": subject.get("balanced_accuracy")}
    if area is not None:
        figures["ROC area"] = area

    def good(seen: Estimate) -> bool:
        # nan compares as false: without an interval the value alone decides.
        return seen.value >= nearly and not seen.low < sure

    name = max(
        figures, key=lambda key: (good(figures[key]), figures[key].value == figures[key].value, figures[key].value)
    )
    seen = figures[name]
    facts: dict[str, object] = {"measure": name, "value": seen.value, "low": seen.low, "high": seen.high, "n": n}
    sentence = f"{capitalize(name)} is {share(seen.value)}{between(seen.low, seen.high)} on {number_of(n, 'case')}"
    if not good(seen):
        return Passed(f"{sentence}.", facts)
    sure_of_it = good(figures["balanced accuracy"]) or seen.value == 1
    return Fired(f"{sentence}: too good to be true?", facts, severity="act" if sure_of_it else "know")


@rule(
    "H020",
    about="evaluation",
    title="Scores that occur several times, as those of copied rows do",
    severity="know",
    advice="Look for copied rows: joined twice, or oversampled before the split; each case counts once.",
    reference="Kapoor & Narayanan (2023), Patterns 4(9)",
    limits={
        "distinct": "convention: 100 distinct scores, more than coarse scores have",
        "times": "twice is what one copy of every row leaves",
        "rows": "convention: with more than 5 rows to a score, rounding alone may leave none that stands once",
        "chance": "convention: one in ten thousand, as many files are looked at",
        "scores": "20 counts are all even with a probability of about one in a million where nothing was copied",
    },
)
def cases_counted_twice(
    subject: Evaluation,
    *,
    distinct: float = 100,
    times: float = 2,
    rows: float = 5,
    chance: float = 1e-4,
    scores: float = 20,
) -> Answer:
    """No score belongs to one row alone, scores of many digits repeat with the same truth, or all counts are multiples.

    Rows that were copied, by joining a table twice or by oversampling, make every interval narrower than the cases
    behind it allow.
    """
    ranking = ranking_of(subject)
    if isinstance(ranking, str):
        return NotApplicable(ranking)
    if ranking.weighted:
        return NotApplicable("the cases carry weights, so how often a score stands is not counted")
    if subject.predictions is not None and subject.predictions.id is not None:
        return Passed("Every case has an id of its own.", {"distinct": len(ranking)})
    if not is_exact(ranking):
        return NotApplicable(IN_BINS)
    if len(ranking) < distinct or ranking.n > rows * len(ranking):
        answer: Answer = NotApplicable(
            f"there are fewer than {distinct:g} distinct scores, or more than {rows:g} rows to each"
        )
    else:
        answer = _repeats(ranking, times, chance)
    return answer if isinstance(answer, Fired) else _copied_class(subject, ranking, times, scores) or answer


def _copied_class(subject: Evaluation, ranking: Ranking, times: float, scores: float) -> Fired | None:
    """Whether the cases of a class stand in multiples at every score, however the scores were rounded."""
    label = "" if subject.positive is None else subject.positive
    for of, counts in ((f"of {quoted(label)}", ranking.positives), ("of the other class", ranking.negatives)):
        seen = multiples_of(counts)
        if seen.times >= max(times, 2) and seen.scores >= scores:
            return Fired(
                f"At each of {seen.scores:,} scores the number of cases {of} is a multiple of {seen.times}, as if rows "
                "were copied.",
                {"distinct": len(ranking), "times": seen.times, "scores": seen.scores, "n": ranking.n},
            )
    return None


def _repeats(ranking: Ranking, times: float, chance: float) -> Answer:
    """Whether all scores stand several times, or so many of full precision that rows must be copies."""
    least = int((ranking.positives + ranking.negatives).min())
    facts: dict[str, object] = {"distinct": len(ranking), "times": least, "n": ranking.n}
    if least >= times:
        return Fired(
            f"Each of the {len(ranking):,} distinct scores stands at least {least} times, as if rows were copied.",
            facts,
        )
    seen = copies_of(ranking)
    facts |= {"repeated": seen.repeated, "mixed": seen.mixed, "chance": seen.chance}
    if seen.chance < chance:
        return Fired(
            f"{seen.repeated:,} of {len(ranking):,} distinct scores stand in several rows to the last digit, with the "
            "same truth, as if rows were copied.",
            facts,
        )
    return Passed(f"Some of the {len(ranking):,} distinct scores stand once.", facts)
