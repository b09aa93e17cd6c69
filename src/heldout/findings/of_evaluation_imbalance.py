"""Rules about evaluations in which some classes are rare: what accuracy, F and the ROC curve hide there."""

from __future__ import annotations

import numpy as np

from heldout.findings.constant_answer import gain_over_commonest
from heldout.findings.rule import Answer, Fired, NotApplicable, Passed, rule
from heldout.findings.subjects import Judged, class_sizes, reported
from heldout.findings.wording import between, number_of, quoted
from heldout.show.numbers import share

ONE_CLASS = "there is one class only"


@rule(
    "H001",
    about="evaluation",
    title="Accuracy no better than always answering the commonest class",
    severity="act",
    advice="Judge it by the recall and precision of each class, by balanced accuracy, or by costs.",
    reference="Provost, Fawcett & Kohavi (1998), ICML; Tan, Steinbach & Kumar (2005), ch. 5",
    limits={"gain": "any gain counts; the least that would matter is for the user to say"},
)
def no_better_than_commonest(subject: Judged, *, gain: float = 0.0) -> Answer:
    """The accuracy is at most that of always answering the commonest class.

    Of 9,990 and 10 cases a model that never finds one of the 10 is 99.9 % accurate: a high accuracy says nothing
    until it is set against the one that needs no model.
    """
    found = gain_over_commonest(subject.confusion, subject.level, subject.independent)
    if found is None:
        return NotApplicable(ONE_CLASS)
    facts = {
        "accuracy": found.accuracy,
        "answer": found.answer,
        "constant": found.constant,
        "difference": found.value,
        "low": found.low,
        "high": found.high,
    }
    beside = f"always answering {quoted(found.answer)} ({share(found.constant)})"
    gap = f"{share(found.value)}{between(found.low, found.high)}"
    if found.value <= gain:
        return Fired(f"Accuracy {share(found.accuracy)} is no better than {beside}: difference {gap}.", facts)
    return Passed(f"Accuracy {share(found.accuracy)} is above {beside} by {gap}.", facts)


@rule(
    "H002",
    about="evaluation",
    title="Accuracy and the F-score of a rare class disagree",
    severity="act",
    advice="Report recall, precision and F of that class beside the accuracy.",
    reference="He & Garcia (2009), IEEE TKDE 21(9); Japkowicz & Shah (2011), Evaluating Learning Algorithms, ch. 3",
    limits={
        "ratio": "the commonest class is 4 times as large (80 : 20), from where imbalance is called moderate",
        "gap": "convention: F lies .3 below the accuracy",
        "cases": "convention: of fewer than 10 cases nothing can be said (H006)",
    },
)
def accuracy_hides_rare_class(subject: Judged, *, ratio: float = 4.0, gap: float = 0.3, cases: float = 10) -> Answer:
    """A class is rare, and its F-score is far below the accuracy.

    Accuracy is a mean over cases, so the commonest class decides it; how a rare class fares, often the one that
    matters, does not show in it.
    """
    confusion = subject.confusion
    if confusion.n_classes < 2:
        return NotApplicable(ONE_CLASS)
    tp, fn, fp, _ = confusion.corners.T
    size = tp + fn
    largest = float(size.max())
    rare = (size > 0) & (ratio * size <= largest) & (class_sizes(confusion) >= cases)
    if not rare.any():
        return NotApplicable(f"no class with {cases:g} cases is {ratio:g} times as rare as the commonest")
    score = np.where(rare, 2 * tp / np.where(rare, 2 * tp + fn + fp, 1.0), np.inf)
    worst = int(score.argmin())
    label = confusion.labels[worst]
    accuracy, f1 = subject.get("accuracy"), subject.get("f1", class_=label)
    recall, held = float(tp[worst] / size[worst]), float(size[worst] / confusion.n)
    facts = {
        "class": label,
        "share": held,
        "accuracy": accuracy.value,
        "f1": f1.value,
        "low": f1.low,
        "high": f1.high,
        "recall": recall,
    }
    said = f"F1 of {quoted(label)} ({share(held)} of the cases) is {share(f1.value)}{between(f1.low, f1.high)}"
    # nan compares as false: without an interval the value alone decides.
    if f1.value < accuracy.value - gap and not f1.high >= accuracy.value:
        return Fired(f"Accuracy is {share(accuracy.value)}, but the {said}, with recall {share(recall)}.", facts)
    return Passed(f"The lowest {said}; accuracy is {share(accuracy.value)}.", facts)


@rule(
    "H003",
    about="evaluation",
    title="The ROC area looks good while precision is poor",
    severity="act",
    advice="Look at the precision-recall curve, and judge by average precision or by precision at the recall you need.",
    reference="Saito & Rehmsmeier (2015), PLoS ONE 10(3); Davis & Goadrich (2006), ICML",
    limits={
        "area": "Hosmer, Lemeshow & Sturdivant (2013), ch. 5: from .8 a ROC area is called excellent",
        "precision": "below one half, most answers that name the class are wrong on average",
    },
)
def roc_hides_poor_precision(subject: Judged, *, area: float = 0.8, precision: float = 0.5) -> Answer:
    """The ROC area of a class is high, but its average precision is low.

    The false positive rate divides by all negatives: where these are many, even a small rate is a flood of false
    alarms, which the ROC curve does not show and the precision-recall curve does.
    """
    found = {e.class_: e for e in reported(subject, "average_precision")}
    areas = [e for e in reported(subject, "roc_auc") if e.class_ is not None and e.class_ in found]
    if not areas:
        return NotApplicable("there are no ROC area and average precision of a class")
    worst = min(areas, key=lambda e: (e.value < area, found[e.class_].value))
    held = found[worst.class_]
    label = worst.class_ if worst.class_ is not None else ""
    confusion = subject.confusion
    prevalence = float(confusion.truth_totals[confusion.index(label)]) / float(confusion.n)
    facts = {
        "class": label,
        "roc_auc": worst.value,
        "average_precision": held.value,
        "low": held.low,
        "high": held.high,
        "share": prevalence,
    }
    said = f"average precision of {quoted(label)} is {share(held.value)}{between(held.low, held.high)}"
    rarity = f"{share(prevalence)} of the cases"
    if worst.value >= area and held.value < precision:
        return Fired(f"ROC area {share(worst.value)} looks good, but the {said}, for {rarity}.", facts)
    return Passed(f"The {said} beside a ROC area of {share(worst.value)}.", facts)


@rule(
    "H026",
    about="evaluation",
    title="All classes are exactly equally frequent",
    severity="know",
    advice="If the cases were balanced by hand, give weights that restore the true shares of the classes.",
    reference="Elkan (2001), IJCAI; Saerens, Latinne & Decaestecker (2002), Neural Computation 14(1)",
    limits={
        "cases": "convention: with 50 cases and more, exact balance is hardly chance (at most .11 for two classes)"
    },
)
def balanced_by_hand(subject: Judged, *, cases: float = 50) -> Answer:
    """Every class has exactly the same number of cases, as hardly any population has.

    Precision, accuracy, F and calibration depend on how frequent the classes are: measured on balanced cases, they
    do not hold where a class is rarer.
    """
    confusion = subject.confusion
    if confusion.n_classes < 2:
        return NotApplicable(ONE_CLASS)
    if confusion.weighted:
        return NotApplicable("the cases carry weights, which may restore the shares of the classes")
    size = class_sizes(confusion)
    facts = {"least": float(size.min()), "most": float(size.max()), "classes": confusion.n_classes}
    if confusion.n < cases:
        return NotApplicable(f"there are fewer than {cases:g} cases")
    if size.min() == size.max():
        return Fired(
            f"Each of the {confusion.n_classes:,} classes has exactly {number_of(float(size[0]), 'case')}: precision "
            "and accuracy hold for such shares only.",
            facts,
        )
    return Passed(f"The classes have from {number_of(facts['least'], 'case')} to {facts['most']:,g}.", facts)


@rule(
    "H027",
    about="evaluation",
    title="F1 no better than always answering the positive class",
    severity="act",
    advice="Name the rarer class as the positive one, or judge by Matthews correlation or balanced accuracy.",
    reference="Lipton, Elkan & Naryanaswamy (2014), ECML PKDD; Flach & Kull (2015), NIPS",
    limits={"gain": "any gain counts; the least that would matter is for the user to say"},
)
def f1_no_better_than_always_positive(subject: Judged, *, gain: float = 0.0) -> Answer:
    """The F1 of the positive class is at most that of answering it for every case, 2π / (1 + π) for a share π of it.

    F takes no notice of true negatives: where the positive class is common, a model that always names it has a
    high F1.
    """
    if subject.positive is None:
        return NotApplicable("no class is the positive one")
    confusion = subject.confusion
    held = float(confusion.truth_totals[confusion.index(subject.positive)]) / float(confusion.n)
    if not held:
        return NotApplicable(f"there are no cases of {quoted(subject.positive)}")
    f1 = subject.get("f1", class_=subject.positive)
    always = 2 * held / (1 + held)
    facts = {"f1": f1.value, "low": f1.low, "high": f1.high, "always": always, "share": held}
    said = f"F1 of {quoted(subject.positive)} is {share(f1.value)}{between(f1.low, f1.high)}"
    if f1.value <= always + gain:
        return Fired(f"The {said}, no better than always answering it ({share(always)}).", facts)
    return Passed(f"The {said}; always answering it would give {share(always)}.", facts)
