"""The rule about slices: part of the cases is clearly worse off than the rest."""

from __future__ import annotations

from typing import Any

from heldout.findings.rule import Answer, Fired, NotApplicable, Passed, rule


@rule(
    "H021",
    about="evaluation",
    title="A slice is clearly worse than the rest",
    severity="act",
    advice="Look at the cases of that slice, and say beside the overall figure that it does not hold there.",
    reference="Chung et al. (2019), Slice Finder, ICDE; Holm (1979)",
    limits={
        "least": "30 cases: Mitchell (1997), Machine Learning, section 5.2; smaller slices are left to the table",
    },
)
def slice_worse(evaluation: Any, *, least: float = 30) -> Answer:
    """Part of the cases has a higher error rate than all others, corrected for the number of slices looked at."""
    if not evaluation.sliced:
        return NotApplicable("No columns were named that divide the cases into slices (slices=, --slice).")
    found = evaluation.slices()
    if not any(one.p_corrected == one.p_corrected for one in found):
        why = found.untested or found.nothing().rstrip(".") or "no slice could be tested"
        return NotApplicable(f"The slices were not tested: {why}.")
    worse = [one for one in found.worse if one.cases >= least]
    facts: dict[str, object] = {"measure": found.whole.name, "searched": found.searched, "worse": len(worse)}
    if not worse:
        where = f"The {found.looked} has no" if found.searched == 1 else f"None of {found.looked} has a"
        return Passed(f"{where} clearly higher error rate than the rest.", facts)
    first = max(worse, key=lambda one: one.excess)
    facts |= {
        "slice": first.name,
        "cases": first.cases,
        "value": first.estimate.value,
        "difference": first.tested.difference,
        "p_corrected": first.p_corrected,
    }
    return Fired(found.sentence(worse), facts)
