"""Rules about those that are compared: what they cost, and whether their test sets are alike."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

from heldout.costs import more_accurate_costs_more
from heldout.estimates.quantiles import z_value
from heldout.evidence import Label
from heldout.findings.rule import Answer, Fired, NotApplicable, Passed, rule
from heldout.findings.subjects_comparison import ComparisonSubject, SideSubject
from heldout.show.numbers import count, percent


@rule(
    "H053",
    about="comparison",
    title="The more accurate one costs more",
    severity="act",
    advice="Choose by cost, since there are costs.",
    reference="Tan, Steinbach & Kumar (2005), Introduction to Data Mining, ch. 5.7; Elkan (2001), IJCAI 17",
)
def accurate_but_dear(seen: ComparisonSubject) -> Answer:
    """Of two classifiers the one that is right more often makes the dearer errors.

    Accuracy counts all errors alike. Where they cost different amounts, it may name the wrong one of two.
    """
    priced = [side for side in seen.sides if not math.isnan(side.cost) and not math.isnan(side.accuracy)]
    if len(priced) < 2:
        return NotApplicable("there are no costs")
    found = []
    for one, two in combinations(priced, 2):
        pairs = (one.accuracy, one.cost), (two.accuracy, two.cost)
        said = more_accurate_costs_more(*pairs, names=(one.name, two.name))
        found += [(said, one, two)] if said else []
    if not found:
        return Passed(
            "The more accurate one never costs more.",
            {"accuracy": {s.name: s.accuracy for s in priced}, "cost": {s.name: s.cost for s in priced}},
        )
    said, one, two = found[0]
    dear, cheap = (one, two) if one.cost > two.cost else (two, one)
    facts = {
        "more_accurate": dear.name, "accuracy": dear.accuracy, "cost": dear.cost, "cheaper": cheap.name,
        "accuracy_of_cheaper": cheap.accuracy, "cost_of_cheaper": cheap.cost, "pairs": len(found),
    }  # fmt: skip
    saved = count(dear.cost - cheap.cost)
    return Fired(said, facts, f"Choose {cheap.name}, unless the costs are wrong: it saves {saved}.")


@rule(
    "H057",
    about="comparison",
    title="The test sets have different shares of the classes",
    severity="act",
    advice="Judge them on the same cases, or compare recall class by class, which does not depend on the mix.",
    reference="Saerens, Latinne & Decaestecker (2002), Neural Computation 14; Fawcett (2006), PRL 27",
    limits={
        "apart": "five points: a convention",
        "errors": "two standard errors of the difference of two shares, the usual 5 %, by Bonferroni for all classes",
    },
)
def different_mixes(seen: ComparisonSubject, *, apart: float = 0.05, errors: float = 2.0) -> Answer:
    """Classifiers were judged on test sets of their own, in which the classes are not equally common.

    Accuracy, precision and F depend on how common the classes are: part of the difference is that of the test sets.
    """
    if seen.met != "different cases":
        return NotApplicable("they were judged on the same cases" if seen.met else "their cases are not known")
    if len(seen.sides) < 2:
        return NotApplicable("their cases are not known")
    widest, which = 0.0, None
    needed = _for_all(errors, seen.sides)
    for one, two in combinations(seen.sides, 2):
        for label, gap, clear in _gaps(one, two, needed):
            if which is None or (clear and abs(gap) > widest):
                widest, which = abs(gap) if clear else 0.0, (label, one, two)
    if which is None:
        return NotApplicable("there are no cases")
    label, one, two = which
    shares = _share(one, label), _share(two, label)
    facts = {"class": str(label), "a": one.name, "b": two.name, "share_a": shares[0], "share_b": shares[1]}
    said = f'class "{label}" is {percent(shares[0])} of the cases of {one.name} and {percent(shares[1])} of {two.name}'
    if widest > apart:
        return Fired(f"The test sets differ: {said}.", facts)
    return Passed(f"The test sets are alike: {said}.", facts)


def _share(side: SideSubject, label: Label) -> float:
    total = sum(held for _, held in side.classes)
    return dict(side.classes).get(label, 0.0) / total if total else 0.0


def _for_all(errors: float, sides: Sequence[SideSubject]) -> float:
    """So many standard errors for one share, as many as it takes for all shares that are looked at (Bonferroni)."""
    classes = len({label for side in sides for label, _ in side.classes})
    # Of two classes the one share is 1 less the other.
    looked = math.comb(len(sides), 2) * (1 if classes < 3 else classes)
    chance = math.erfc(errors / math.sqrt(2))
    return z_value(1 - chance / looked) if looked > 1 and chance > 0 else errors


def _gaps(one: SideSubject, two: SideSubject, errors: float) -> list[tuple[Label, float, bool]]:
    """By how much the share of each class differs, and whether that is more than chance would do."""
    sizes = [sum(held for _, held in side.classes) for side in (one, two)]
    if not all(sizes):
        return []
    found = []
    for label in dict(one.classes) | dict(two.classes):
        shares = _share(one, label), _share(two, label)
        both = (shares[0] * sizes[0] + shares[1] * sizes[1]) / sum(sizes)
        error = math.sqrt(both * (1 - both) * (1 / sizes[0] + 1 / sizes[1]))
        gap = shares[0] - shares[1]
        found.append((label, gap, abs(gap) > errors * error))
    return found
