"""Rules about evaluations in which some classes are rare: what accuracy, F and the ROC curve hide there."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from heldout.evidence import Confusion, Label
from heldout.findings.evaluation_evidence import NO_POSITIVE_CLASS, Skill, class_sizes, reported, skill_of
from heldout.findings.rule import Answer, Fired, NotApplicable, Passed, between, figure, quoted, rule
from heldout.intervals.count_estimator import Estimator
from heldout.intervals.dependence import Dependence
from heldout.intervals.estimate import Estimate
from heldout.intervals.score_limits import mean_cost_limits, paired_difference_limits
from heldout.measures.catalogue import find
from heldout.measures.quantity import Quantity
from heldout.results.evaluation import Evaluation
from heldout.review import QUESTIONS, Severity
from heldout.show.numbers import number_of, share

BEATEN, NOT_BEATEN, NOT_KNOWN = QUESTIONS["commonest class"]
# With more classes than this a square of costs is not worth making for one interval.
SQUARE_CLASSES = 300


@dataclass(frozen=True, slots=True)
class Gain:
    """The accuracy less that of always predicting the commonest class, with its interval (nan where there is none).

    `gained` are the cases that only the classifier gets right, `lost` those that only the constant answer does.
    """

    answer: Label
    accuracy: float
    constant: float
    low: float
    high: float
    gained: float
    lost: float

    @property
    def value(self) -> float:
        """How much more accurate it is."""
        return self.accuracy - self.constant

    @property
    def known(self) -> bool:
        """Whether there is an interval."""
        return not math.isnan(self.low)

    @property
    def claim(self) -> str:
        """Whether it is more accurate: one of the answers to that question, or nothing where there is no interval."""
        if not self.gained and not self.lost:
            return NOT_BEATEN
        if not self.known:
            return ""
        return BEATEN if self.low > 0 else NOT_BEATEN if self.high < 0 else NOT_KNOWN


def gain_over_commonest(confusion: Confusion, level: float, independent: float = 1.0) -> Gain | None:
    """The gain in accuracy over always predicting the commonest class; None where there is one class only.

    Both answers are judged on the same cases, so the interval is the paired one. With weights or groups it is that of
    the mean of +1 for a case that only the classifier gets right and −1 for one that only the constant answer does.
    `independent` is the share of the cases that counts as independent, and 0 where there can be no interval.

    >>> gain_over_commonest(Confusion.of([[9990, 10], [90, 10]], ["c1", "c2"]), 0.95).value
    0.0
    """
    if confusion.n_classes < 2 or not confusion.n:
        return None
    commonest = int(confusion.truth_totals.argmax())
    right = confusion.truth == confusion.predicted
    is_common = confusion.truth == commonest
    n, scale = confusion.n_cases, confusion.n_cases / confusion.n
    gained = float(confusion.counts[right & ~is_common].sum()) * scale
    lost = float(confusion.counts[~right & is_common].sum()) * scale
    constant = float(confusion.truth_totals[commonest]) / float(confusion.n)
    # Not the quotient of the hits: where nothing is gained or lost, the two must be equal to the last digit.
    accuracy = constant + (gained - lost) / n
    low = high = math.nan
    if not independent:
        pass
    elif confusion.weighted or confusion.clusters is not None:
        low, high = _limits_of_mean(confusion, commonest, level, independent)
    else:
        low, high = paired_difference_limits(gained * independent, lost * independent, n * independent, level)
    return Gain(confusion.labels[commonest], accuracy, constant, low, high, gained, lost)


def _limits_of_mean(confusion: Confusion, commonest: int, level: float, independent: float) -> tuple[float, float]:
    k = confusion.n_classes
    if k > SQUARE_CLASSES:
        return math.nan, math.nan
    # A cost of −1 where only the classifier is right, and of 1 where only the constant answer is.
    costs = np.zeros((k, k))
    costs[commonest] += 1.0
    costs -= np.eye(k)
    plan = None if independent == 1 else Dependence(confusion.n_cases, 1 / independent)
    cost = Estimator(confusion, level, plan=plan).ask(Quantity(find("expected_cost", costs=costs)))
    return 0.0 - cost.high, 0.0 - cost.low


ONE_CLASS = "there is one class only"
ALL_OF_ONE_CLASS = "all cases are of one class (H019)"
EVEN = 0.5


@rule(
    "H001",
    about="evaluation",
    title="Accuracy no better than always predicting the commonest class",
    severity="act",
    advice="Judge it by the recall and precision of each class, by balanced accuracy, or by costs.",
    reference="Provost, Fawcett & Kohavi (1998), ICML; Tan, Steinbach & Kumar (2005), ch. 5",
    limits={
        "gain": "convention: any gain counts; the least that would matter is for the user to say",
        "cases": "convention: with fewer than 10 cases of the other classes there is little to gain (H006)",
    },
    erratum="The accuracy of the imbalanced example is .990, not .998",
)
def no_better_than_commonest(subject: Evaluation, *, gain: float = 0.0, cases: float = 10) -> Answer:
    """The accuracy is at most that of always predicting the commonest class.

    Of 9,990 and 10 cases a model that never finds one of the 10 is 99.9 % accurate: a high accuracy says nothing until
    it is set against the one that needs no model. With rare classes even the best model may be no more accurate. So the
    severity is only “to know” where the model tells the classes apart (ROC area, Matthews correlation), where chance
    may be the reason, or where errors differ in cost.
    """
    seen = gain_over_commonest(subject.confusion, subject.level, subject.independent)
    if seen is None:
        return NotApplicable(ONE_CLASS)
    if np.count_nonzero(class_sizes(subject.confusion)) < 2:
        return NotApplicable(ALL_OF_ONE_CLASS)
    facts = {
        "accuracy": seen.accuracy,
        "answer": seen.answer,
        "constant": seen.constant,
        "difference": seen.value,
        "low": seen.low,
        "high": seen.high,
    }
    claims = (seen.claim,) if seen.claim else ()
    beside = f"always predicting {quoted(seen.answer)} ({share(seen.constant)})"
    gap = f"{share(seen.value)}{between(seen.low, seen.high)}"
    if seen.high < 0 and _exchanged_is_better(subject, seen):
        return Fired(
            f"Accuracy {share(seen.accuracy)} is clearly worse than {beside}, difference {gap}: are the labels "
            "exchanged?",
            facts,
            f"Check which class is which: with the two exchanged, the accuracy is {share(1 - seen.accuracy)}.",
            claims=claims,
        )
    if seen.value <= gain:
        how = {NOT_KNOWN: "no better on these cases", BEATEN: "hardly better"}.get(seen.claim, "no better")
        how = "clearly worse" if seen.high < 0 else how
        sentence = f"Accuracy {share(seen.accuracy)} is {how} than {beside}: difference {gap}"
        skill = skill_of(subject)
        if skill is not None and skill.shown:
            facts |= {"skill": skill.title, "skill_value": skill.estimate.value}
            advice = f"It does tell the classes apart ({skill.describe()}): judge it by that, or by costs."
            return Fired(f"{sentence}.", facts, advice, "know", (*claims, "tells the classes apart"))
        priced = _costs_differ(subject)
        severity: Severity = "act" if not priced and _is_no_use(subject, seen, skill, cases) else "know"
        advice = "Errors cost differently here: judge it by its cost." if priced else ""
        return Fired(f"{sentence}.", facts, advice, severity, claims)
    return Passed(f"Accuracy {share(seen.accuracy)} is above {beside} by {gap}.", facts, claims)


def _is_no_use(subject: Evaluation, found: Gain, skill: Skill | None, cases: float) -> bool:
    """Whether it is worse beyond doubt, or has the answers of a constant and no scores that may be better than it."""
    size = class_sizes(subject.confusion)
    if size.sum() - size.max() < cases:
        return False
    if found.high < 0:
        return True
    constant = not found.gained and not found.lost
    return constant and not (skill is not None and skill.likely)


def _costs_differ(subject: Evaluation) -> bool:
    """Whether costs were given by which some errors are worse than others, so that accuracy is not the aim."""
    return subject.costs is not None and len(np.unique(subject.costs[~np.eye(len(subject.costs), dtype=bool)])) > 1


def _exchanged_is_better(subject: Evaluation, found: Gain) -> bool:
    """Whether always saying the other of two classes would clearly beat the commonest one."""
    return subject.confusion.n_classes == 2 and 1 - subject.get("accuracy").high > found.constant


@rule(
    "H002",
    about="evaluation",
    title="Accuracy and the F-score of a rare class disagree",
    severity="act",
    advice="Report recall, precision and F of that class beside the accuracy.",
    reference="He & Garcia (2009), IEEE TKDE 21(9); Japkowicz & Shah (2011), Evaluating Learning Algorithms, ch. 3",
    limits={
        "ratio": "convention: the commonest class is at least 4 times as large (80 : 20 for two classes)",
        "gap": "convention: F lies .3 below the accuracy",
        "cases": "convention: of fewer than 10 cases nothing can be said (H006)",
        "lift": "convention: precision below twice the share of the class is hardly above what guessing reaches",
    },
)
def accuracy_hides_rare_class(
    subject: Evaluation, *, ratio: float = 4.0, gap: float = 0.3, cases: float = 10, lift: float = 2.0
) -> Answer:
    """A class is rare, and its F-score is far below the accuracy.

    Accuracy is a mean over cases, so the commonest class decides it; the rare class, often the one that matters, hardly
    shows in it. Good models of a rare class have a low F too. The severity is “to act on” only where predictions of the
    class are hardly more often right than guesses (whose precision is its share), and nothing shows that recall is
    above the false positive rate.
    """
    confusion = subject.confusion
    if confusion.n_classes < 2:
        return NotApplicable(ONE_CLASS)
    tp, fn, _, _ = confusion.corners.T
    size = tp + fn
    largest = float(size.max())
    rare = (size > 0) & (ratio * size <= largest) & (class_sizes(confusion) >= cases)
    if not rare.any():
        return NotApplicable(f"no class with {cases:g} cases is {ratio:g} times as rare as the commonest")
    score = np.where(rare, find("f1").of_classes(confusion.corners), np.inf)
    worst = int(score.argmin())
    label = confusion.labels[worst]
    accuracy, f1 = subject.get("accuracy"), subject.get("f1", class_=label)
    recall, class_share = float(tp[worst] / size[worst]), float(size[worst] / confusion.n)
    facts = {
        "class": label,
        "share": class_share,
        "accuracy": accuracy.value,
        "f1": f1.value,
        "low": f1.low,
        "high": f1.high,
        "recall": recall,
    }
    sentence = (
        f"F1 of {quoted(label)} ({share(class_share)} of the cases) is {share(f1.value)}{between(f1.low, f1.high)}"
    )
    # nan compares as false: without an interval the value alone decides.
    if f1.value < accuracy.value - gap and not f1.high >= accuracy.value - gap:
        precision = subject.get("precision", class_=label)
        times = precision.value / class_share
        facts |= {"precision": precision.value, "lift": times}
        # nan compares as false: a class that is never predicted has no precision (H007).
        poor = precision.high < lift * class_share or (math.isnan(precision.low) and times < lift)
        guessing = poor and not subject.get("informedness", class_=label).low > 0
        beside = "" if math.isnan(times) else f" and precision {figure(round(times, 1))} times its share"
        return Fired(
            f"Accuracy is {share(accuracy.value)}, but the {sentence}: recall {share(recall)}{beside}.",
            facts,
            severity="act" if guessing else "know",
        )
    return Passed(f"The lowest {sentence}; accuracy is {share(accuracy.value)}.", facts)


@rule(
    "H003",
    about="evaluation",
    title="The ROC area looks good while precision is poor",
    severity="know",
    advice="Look at the precision-recall curve, and judge by average precision or by precision at the recall you need.",
    reference="Saito & Rehmsmeier (2015), PLoS ONE 10(3); Davis & Goadrich (2006), ICML",
    limits={
        "area": "Hosmer, Lemeshow & Sturdivant (2013), ch. 5: from .8 a ROC area is called excellent",
        "precision": "convention: below one half, averaged over recall, most predictions that name the class are wrong",
    },
)
def roc_hides_poor_precision(subject: Evaluation, *, area: float = 0.8, precision: float = 0.5) -> Answer:
    """The ROC area of a class is high, but its average precision is low.

    The false positive rate divides by all negatives: with many of them even a small rate is a flood of false alarms,
    which the precision-recall curve shows and the ROC curve does not. A random score gets the share of the class: a
    good model of a rare class may have an average precision that is low and yet many times that share.
    """
    precisions = {e.class_: e for e in reported(subject, "average_precision")}
    areas = [e for e in reported(subject, "roc_auc") if e.class_ is not None and e.class_ in precisions]
    if not areas:
        return NotApplicable("there are no ROC area and average precision of a class")
    worst = min(areas, key=lambda e: (e.value < area, precisions[e.class_].value))
    of_worst = precisions[worst.class_]
    label = worst.class_ if worst.class_ is not None else ""
    confusion = subject.confusion
    prevalence = float(confusion.truth_totals[confusion.index(label)]) / float(confusion.n)
    facts: dict[str, Any] = {
        "class": label,
        "roc_auc": worst.value,
        "average_precision": of_worst.value,
        "low": of_worst.low,
        "high": of_worst.high,
        "share": prevalence,
    }
    sentence = f"average precision of {quoted(label)} is {share(of_worst.value)}{between(of_worst.low, of_worst.high)}"
    facts["lift"] = of_worst.value / prevalence if prevalence else math.nan
    # nan compares as false: without an interval the value alone decides.
    if worst.value >= area and of_worst.value < precision and not of_worst.high >= precision:
        times = f"{figure(round(facts['lift'], 1))} times its share"
        return Fired(
            f"ROC area {share(worst.value)} looks good, but the {sentence}, {times} of {share(prevalence)}.", facts
        )
    return Passed(f"The {sentence} beside a ROC area of {share(worst.value)}.", facts)


@rule(
    "H026",
    about="evaluation",
    title="All classes are exactly equally frequent",
    severity="know",
    advice="If the cases were balanced by hand, say how frequent the positive class is in use (prevalence=, "
    "--prevalence), or give weights that restore the shares.",
    reference="Elkan (2001), IJCAI; Saerens, Latinne & Decaestecker (2002), Neural Computation 14(1)",
    limits={
        "chance": "convention: 5 %; two classes of equal frequency come out exactly equal in .11 of the samples of 50 "
        "cases and in .05 of those of 256"
    },
)
def balanced_by_hand(subject: Evaluation, *, chance: float = 0.05) -> Answer:
    """Every class has exactly the same number of cases, which is rare in practice.

    Precision, accuracy, F and calibration depend on how frequent the classes are: measured on balanced cases, they do
    not hold where a class is rarer.
    """
    confusion = subject.confusion
    if confusion.n_classes < 2:
        return NotApplicable(ONE_CLASS)
    if confusion.weighted:
        return NotApplicable("the cases carry weights, which may restore the shares of the classes")
    if subject.prevalence is not None:
        return NotApplicable("the prevalence in use was given (H066)")
    size = class_sizes(confusion)
    facts = {"least": float(size.min()), "most": float(size.max()), "classes": confusion.n_classes}
    if size.min() == size.max():
        facts["chance"] = _chance_of_balance(confusion.n_classes, float(size[0]))
        if facts["chance"] > chance:
            return Passed(
                f"The classes are equally frequent, but chance alone does that in {share(facts['chance'])} of samples.",
                facts,
            )
        return Fired(
            f"Each of the {confusion.n_classes:,} classes has exactly {number_of(float(size[0]), 'case')}: precision "
            "and accuracy hold for such shares only.",
            facts,
        )
    return Passed(f"The classes have from {number_of(facts['least'], 'case')} to {facts['most']:,g}.", facts)


def _chance_of_balance(classes: int, each: float) -> float:
    """The probability that classes of equal frequency come out exactly equal: n! / (each!)^k / k^n."""
    n = classes * each
    return math.exp(math.lgamma(n + 1) - classes * math.lgamma(each + 1) - n * math.log(classes))


@rule(
    "H066",
    about="evaluation",
    title="The positive class is not as frequent here as it will be in use",
    severity="act",
    advice="Report precision, negative predictive value and accuracy as they will be in use, not as they are here.",
    reference="Altman & Bland (1994), BMJ 309, 102; Elkan (2001), IJCAI",
    limits={"apart": "convention: shares that differ by a tenth of the one in use change precision by little"},
    erratum="A different mix of classes does not move a fixed classifier on the ROC curve",
)
def prevalence_in_use(subject: Evaluation, *, apart: float = 0.1) -> Answer:
    """The share of the positive class that was said to hold in use is not that of these cases.

    Recall and specificity hold at any prevalence, as long as the cases of each class are alike; precision, negative
    predictive value and accuracy do not. In use they follow from the likelihood ratios and the prevalence there.
    """
    positive, used = subject.positive, subject.prevalence
    if used is None:
        return NotApplicable("nobody said how frequent the positive class is in use (prevalence=, --prevalence)")
    if positive is None:
        return NotApplicable(NO_POSITIVE_CLASS)
    here = subject.get("prevalence", class_=positive)
    if not 0 < here.value < 1:
        return NotApplicable(ALL_OF_ONE_CLASS)
    facts: dict[str, object] = {"prevalence": used, "here": here.value, "low": here.low, "high": here.high}
    sentence = f"{quoted(positive)} is {share(here.value)} of these cases and {share(used)} in use"
    if here.low <= used <= here.high or abs(here.value - used) <= apart * used:
        return Passed(f"{sentence}.", facts)
    precision, negative, accuracy = _in_use(subject, used)
    facts |= {"precision": precision, "negative_predictive_value": negative, "accuracy": accuracy}
    now = subject.get("precision", class_=positive)
    facts["precision_here"] = now.value
    if math.isnan(precision[0]):
        return Fired(f"{sentence}: the accuracy there is {_describe(accuracy)}.", facts)
    clear = not (precision[1] <= now.value <= precision[2])
    there = f"precision there is {_describe(precision)}, not {share(now.value)}"
    beside = "" if math.isnan(negative[0]) else f"NPV {share(negative[0])}, "
    return Fired(
        f"{sentence}: {there}; {beside}accuracy {share(accuracy[0])}.", facts, severity="act" if clear else "know"
    )


Limited = tuple[float, float, float]


def _in_use(subject: Evaluation, used: float) -> tuple[Limited, Limited, Limited]:
    """Precision, negative predictive value and accuracy at another prevalence, each with its limits."""
    odds = used / (1 - used)
    positive = subject.get("positive_likelihood_ratio", class_=subject.positive)
    negative = subject.get("negative_likelihood_ratio", class_=subject.positive)
    # Without a false alarm the ratio is undefined, and every answer that names the class is right.
    alone = positive.value if subject.get("precision", class_=subject.positive).value != 1 else math.inf
    precision = tuple(_share_of_odds(odds * ratio) for ratio in (alone, positive.low, positive.high))
    # Of those called negative, the odds of being so fall as the ratio grows.
    clean = tuple(_share_of_odds(1 / (odds * ratio) if ratio else math.inf) for ratio in _turned(negative))
    recall, specificity = (subject.get(name, class_=subject.positive) for name in ("recall", "specificity"))
    accuracy = used * recall.value + (1 - used) * specificity.value
    below = used * (recall.value - recall.low), (1 - used) * (specificity.value - specificity.low)
    above = used * (recall.high - recall.value), (1 - used) * (specificity.high - specificity.value)
    # Rows of one group may be of both classes, whose limits are then added and not their squares (Zou & Donner, 2008).
    joined = sum if subject.confusion.clusters is not None else (lambda parts: math.hypot(*parts))
    limited = accuracy, accuracy - joined(below), accuracy + joined(above)
    return precision, clean, limited  # type: ignore[return-value]


def _turned(estimate: Estimate) -> Limited:
    return estimate.value, estimate.high, estimate.low


def _share_of_odds(odds: float) -> float:
    return 1.0 if math.isinf(odds) else odds / (1 + odds)


def _describe(limited: Limited) -> str:
    return f"{share(limited[0])}{between(limited[1], limited[2])}"


@rule(
    "H027",
    about="evaluation",
    title="F1 no better than always predicting the positive class",
    severity="act",
    advice="Move the threshold, or judge by Matthews correlation or balanced accuracy.",
    reference="Lipton, Elkan & Naryanaswamy (2014), ECML PKDD; Flach & Kull (2015), NIPS",
    limits={"gain": "any gain counts; the least that would matter is for the user to say"},
)
def f1_no_better_than_always_positive(subject: Evaluation, *, gain: float = 0.0) -> Answer:
    """The F1 of the positive class is clearly below that of always predicting it, or it is always predicted.

    F takes no notice of true negatives: where the positive class has a share π, a model that always names it has an F1
    of 2π / (1 + π). For a common class even the most accurate model may have less; where it tells the classes apart
    (ROC area, Matthews correlation), the severity is only “to know”.
    """
    if subject.positive is None:
        return NotApplicable(NO_POSITIVE_CLASS)
    confusion = subject.confusion
    positive_share = float(confusion.truth_totals[confusion.index(subject.positive)]) / float(confusion.n)
    if not positive_share:
        return NotApplicable(f"there are no cases of {quoted(subject.positive)}")
    if not confusion.predicted_totals[confusion.index(subject.positive)]:
        return NotApplicable(f"{quoted(subject.positive)} is never predicted (H007)")
    f1 = subject.get("f1", class_=subject.positive)
    always = 2 * positive_share / (1 + positive_share)
    facts = {"f1": f1.value, "low": f1.low, "high": f1.high, "always": always, "share": positive_share}
    sentence = f"F1 of {quoted(subject.positive)} is {share(f1.value)}{between(f1.low, f1.high)}"
    if f1.value <= always + gain and _never_ahead(subject, always):
        skill = skill_of(subject)
        return Fired(
            f"The {sentence}, no better than always predicting it ({share(always)}).",
            facts,
            ""
            if positive_share < EVEN
            else "Name the rarer class as the positive one, or judge by Matthews correlation or balanced accuracy.",
            "know" if skill is not None and skill.shown else "act",
        )
    beside = "; always" if f1.value > always else ", not clearly below what always"
    return Passed(f"The {sentence}{beside} predicting it would give: {share(always)}.", facts)


def _never_ahead(subject: Evaluation, always: float) -> bool:
    """Whether always predicting the positive class is clearly the better, or what the classifier does.

    F1 is above θ where the mean of 2 − 2θ for a true positive and −θ for an error is positive. Against always
    answering positive only the cases called negative differ: a true negative gains θ, a false one loses 2 − θ.
    """
    confusion = subject.confusion
    _, fn, _, tn = confusion.corners[confusion.index(subject.positive if subject.positive is not None else 0)]
    n = float(confusion.n)
    if not fn + tn:
        return True
    counts = np.array([tn, fn, max(n - tn - fn, 0.0)]) * (subject.independent * confusion.n_cases / n)
    return mean_cost_limits([always, always - 2, 0.0], counts, subject.level)[1] < 0
