"""Rules about the classes and slices of an evaluation: too few cases, never answered, one class, a part worse off."""

from __future__ import annotations

from typing import Any

import numpy as np

from heldout.findings.evaluation_evidence import (
    MOSTLY_ABSENT,
    OTHER_CLASSES,
    calibration_of,
    class_sizes,
    share_of_absent,
    skill_of,
)
from heldout.findings.rule import TEN_CASES, Answer, Fired, NotApplicable, Passed, quoted, rule, several
from heldout.measures.catalogue import OF_EACH_CLASS, find
from heldout.results.evaluation import Evaluation
from heldout.results.slices import titled
from heldout.review import Severity
from heldout.show.numbers import number_of, percent

# The averages that are looked at, of those that leave classes out.


@rule(
    "H006",
    about="evaluation",
    title="A class with fewer than 10 cases",
    severity="know",
    advice="Collect more cases of it, or claim nothing about it; macro averages count it like every other class.",
    reference="Brown, Cai & DasGupta (2001), Statistical Science 16(2)",
    limits={"cases": TEN_CASES},
)
def class_with_few_cases(subject: Evaluation, *, cases: float = 10) -> Answer:
    """A class has so few cases that any figure for it is hardly more than a guess.

    With 5 cases of a class its recall can only be 0, .2, .4, …, and one case is worth a fifth of it.
    """
    confusion = subject.confusion
    if share_of_absent(confusion) > MOSTLY_ABSENT:
        return NotApplicable(OTHER_CLASSES)
    size = class_sizes(confusion)
    least = float(size.min())
    small = np.flatnonzero(size < cases)
    small = small[np.argsort(size[small], kind="stable")]
    labels = [confusion.labels[at] for at in small.tolist()]
    facts = {
        "classes": len(small),
        "cases": {str(confusion.labels[at]): float(size[at]) for at in small[:20].tolist()},
        "least": least,
    }
    if len(small) == 1:
        return Fired(
            f"Class {quoted(labels[0])} has {number_of(float(size[small[0]]), 'case')}, fewer than {cases:g}.", facts
        )
    if len(small):
        return Fired(
            f"{len(small):,} classes have fewer than {cases:g} cases: {several(labels)}.",
            facts,
            "Collect more cases of them, or claim nothing about them; macro averages count them like the others.",
        )
    return Passed(f"The smallest class has {number_of(least, 'case')}.", facts)


@rule(
    "H007",
    about="evaluation",
    title="A class is never predicted",
    severity="act",
    advice="Look at its scores: a threshold or class weights chosen by its share or its cost may find it.",
    reference="He & Garcia (2009), IEEE TKDE 21(9)",
    limits={
        "cases": "a class without a case could not have been found",
        "few": "convention: of fewer than 10 cases a good classifier may well name none (H006)",
    },
)
def class_never_predicted(subject: Evaluation, *, cases: float = 1, few: float = 10) -> Answer:
    """A class that has cases is never predicted, so none of them is found.

    Its recall is 0 and its precision undefined, which averages over the classes can hide. A rare class is seldom the
    likeliest one: where it has few cases, or where its probabilities look calibrated and are never the highest, the
    severity is only “to know”.
    """
    confusion = subject.confusion
    if confusion.n_classes < 2:
        return NotApplicable("there is one class only")
    if share_of_absent(confusion) > MOSTLY_ABSENT:
        return NotApplicable(OTHER_CLASSES)
    size = class_sizes(confusion)
    never = np.flatnonzero((size >= cases) & (confusion.predicted_totals == 0)).tolist()
    labels = [confusion.labels[at] for at in never]
    lost = float(size[never].sum())
    facts = {"classes": labels[:20], "number": len(never), "cases": lost}
    severity, advice = _judge_never(subject, float(size[never].max(initial=0)), few)
    if len(never) == 1:
        sentence = f"Class {quoted(labels[0])} is never predicted; it has {number_of(lost, 'case')}."
        return Fired(sentence, facts, advice, severity)
    if never:
        return Fired(
            f"{len(never):,} classes are never predicted: {several(labels)}; they have {number_of(lost, 'case')}.",
            facts,
            advice,
            severity,
        )
    return Passed("Every class that has cases is predicted at least once.", facts)


def _judge_never(subject: Evaluation, most: float, few: float) -> tuple[Severity, str]:
    """How much it matters that classes are never predicted, of which the largest has so many cases."""
    seen = calibration_of(subject)
    skill = None if isinstance(seen, str) else skill_of(subject)
    if subject.threshold not in (None, 0.5):
        return "know" if most < few else "act", "No score is on its side of the threshold: choose another by its cost."
    if not isinstance(seen, str) and not seen.is_off() and skill is not None and skill.likely:
        return "know", "Its probability is never the highest: choose a threshold or class weights by its cost."
    return "know" if most < few else "act", ""


@rule(
    "H008",
    about="evaluation",
    title="A macro average leaves out classes where it is undefined",
    severity="know",
    advice="Say over how many classes the average runs, or report balanced accuracy, which needs every class.",
    reference="Forman & Scholz (2010), SIGKDD Explorations 12(1), on precision and F that are undefined",
    limits={"classes": "one class left out makes it another average"},
)
def macro_over_undefined(subject: Evaluation, *, classes: float = 1) -> Answer:
    """A macro average was taken over fewer classes than there are, because it is undefined for the others.

    A class that is never predicted has no precision. Leaving it out flatters the average, and two models may be
    averaged over different classes.
    """
    asked = [e.measure for e in subject.estimates if e.average == "macro" and e.measure in OF_EACH_CLASS]
    if not asked:
        return NotApplicable("no macro average of precision, recall or F1 was asked for")
    confusion = subject.confusion
    if share_of_absent(confusion) > MOSTLY_ABSENT:
        return NotApplicable(OTHER_CLASSES)
    absent = {name: np.isnan(find(name).of_classes(confusion.corners)) for name in asked}
    worst = max(asked, key=lambda name: int(absent[name].sum()))
    left = np.flatnonzero(absent[worst]).tolist()
    labels = [confusion.labels[at] for at in left]
    facts = {
        "classes": confusion.n_classes,
        "left_out": {name: int(where.sum()) for name, where in absent.items()},
        "labels": labels[:20],
    }
    if len(left) >= classes:
        return Fired(
            f"Macro {worst} runs over {confusion.n_classes - len(left):,} of {confusion.n_classes:,} classes: it is "
            f"undefined for {several(labels)}.",
            facts,
        )
    return Passed(f"The macro averages run over all {confusion.n_classes:,} classes.", facts)


@rule(
    "H019",
    about="evaluation",
    title="All cases are of one class",
    severity="act",
    advice="Evaluate on cases of every class: nothing here tells whether the classifier can tell them apart.",
    reference="Fawcett (2006), Pattern Recognition Letters 27",
    limits={"classes": "telling apart takes two"},
)
def one_class_in_truth(subject: Evaluation, *, classes: float = 2) -> Answer:
    """The truth holds one class only, so many measures are undefined and the others say little.

    A file cut after sorting by class, a filter, or a wrong column of truth are the usual reasons.
    """
    confusion = subject.confusion
    present = np.flatnonzero(confusion.truth_totals > 0).tolist()
    facts = {"met": len(present), "classes": confusion.n_classes}
    if len(present) < classes:
        names = several([confusion.labels[at] for at in present])
        every = "The only case" if confusion.n_cases == 1 else f"Every one of the {confusion.n_cases:,} cases"
        return Fired(f"{every} is of class {names}.", facts)
    return Passed(f"The cases are of {len(present):,} classes.", facts)


# A rule about the names of the classes: truth and predictions that do not speak of the same ones.


@rule(
    "H028",
    about="evaluation",
    title="The predicted classes are not those of the truth",
    severity="act",
    advice="Check the columns and how the classes are written: until then nothing else here means anything.",
    reference="Kapoor & Narayanan (2023), Patterns 4(9), on errors in the data that go unseen",
    limits={
        "share": "convention: where most predictions name a class without a case, it is a mistake and no rare class",
        "cases": "convention: among fewer than 10 cases, a class may well have none",
    },
    first=True,
)
def classes_of_another_column(subject: Evaluation, *, share: float = 0.5, cases: float = 10) -> Answer:
    """Most predictions name classes that have no case at all.

    A wrong column, other letter case, or numbers for names: every measure of such a pair is near 0, whatever the
    classifier can do.
    """
    confusion = subject.confusion
    if confusion.n_cases < cases:
        return NotApplicable(f"there are fewer than {cases:g} cases")
    if not confusion.n:
        return NotApplicable("all weights are 0")
    part = share_of_absent(confusion)
    has_cases = confusion.truth_totals > 0
    strange = ~has_cases & (confusion.predicted_totals > 0)
    odd = [confusion.labels[at] for at in np.flatnonzero(strange).tolist()]
    own = [confusion.labels[at] for at in np.flatnonzero(has_cases).tolist()]
    facts: dict[str, object] = {"share": part, "predicted": odd[:20], "truth": own[:20]}
    if part <= share:
        start = f"{percent(part, 1)} of the predictions name" if part else "No prediction names"
        return Passed(f"{start} a class that has no case.", facts)
    plain = {" ".join(str(label).casefold().split()) for label in own}
    alike = all(" ".join(str(label).casefold().split()) in plain for label in odd)
    facts["written_alike"] = alike
    who = "No predicted class occurs" if part == 1 else f"{percent(part, 1)} of the predicted classes do not occur"
    why = "they differ in letter case or spaces only." if alike else "wrong column, or letter case?"
    return Fired(
        f"{who} in the truth: {number_of(len(odd), 'class', 'classes')} such as {several(odd[:1])}, not "
        f"{several(own[:1])}; {why}",
        facts,
    )


@rule(
    "H021",
    about="evaluation",
    title="A slice is clearly worse than the rest",
    severity="act",
    advice="Look at the cases of that slice, and report beside the overall figure that it does not hold there.",
    reference="Chung et al. (2019), Slice Finder, ICDE; Holm (1979)",
    limits={
        "least": "30 cases: Mitchell (1997), Machine Learning, section 5.2; smaller slices are left to the table",
    },
)
def slice_worse(evaluation: Any, *, least: float = 30) -> Answer:
    """Part of the cases has a higher error rate than all others, corrected for the number of slices looked at.

    With rare positives their recall is compared instead, because the error rate says nothing about few positives.
    """
    if not evaluation.sliced:
        return NotApplicable("No columns were named that divide the cases into slices (slices=, --slice).")
    slices = evaluation.slices()
    if not any(slice_.p_corrected == slice_.p_corrected for slice_ in slices):
        why = slices.untested or slices.nothing().rstrip(".") or "no slice could be tested"
        return NotApplicable(f"The slices were not tested: {why}.")
    worse = [slice_ for slice_ in slices.worse if slice_.cases >= least]
    facts: dict[str, object] = {"measure": slices.whole.name, "searched": slices.searched, "worse": len(worse)}
    if not worse:
        where = f"The {slices.looked} has no" if slices.searched == 1 else f"None of {slices.looked} has a"
        higher = find(slices.whole.measure).measure.direction == "lower"
        return Passed(f"{where} clearly {'higher' if higher else 'lower'} {titled(slices.whole)} than the rest.", facts)
    first = max(worse, key=lambda slice_: slice_.excess)
    facts |= {
        "slice": first.name,
        "cases": first.cases,
        "value": first.estimate.value,
        "difference": first.tested.difference,
        "p_corrected": first.p_corrected,
    }
    return Fired(slices.sentence(worse), facts)
