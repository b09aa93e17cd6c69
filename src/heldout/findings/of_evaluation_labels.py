"""A rule about the names of the classes: truth and predictions that do not speak of the same ones."""

from __future__ import annotations

import numpy as np

from heldout.findings.rule import Answer, Fired, NotApplicable, Passed, rule
from heldout.findings.subjects import Judged, strangers
from heldout.findings.wording import number_of, several
from heldout.show.numbers import percent


@rule(
    "H028",
    about="evaluation",
    title="The predicted classes are not those of the truth",
    severity="act",
    advice="Check the columns and how the classes are written: until then nothing else here means anything.",
    reference="Kapoor & Narayanan (2023), Patterns 4(9), on errors in the data that go unseen",
    limits={
        "share": "convention: where most answers name a class without a case, it is a mistake and no rare class",
        "cases": "convention: among fewer than 10 cases, a class may well have none",
    },
    first=True,
)
def classes_of_another_column(subject: Judged, *, share: float = 0.5, cases: float = 10) -> Answer:
    """Most predictions name classes that have no case at all.

    A wrong column, other letter case, or numbers for names: every measure of such a pair is near 0, whatever the
    classifier can do.
    """
    confusion = subject.confusion
    if confusion.n_cases < cases:
        return NotApplicable(f"there are fewer than {cases:g} cases")
    if not confusion.n:
        return NotApplicable("all weights are 0")
    part = strangers(confusion)
    has_cases = confusion.truth_totals > 0
    strange = ~has_cases & (confusion.predicted_totals > 0)
    odd = [confusion.labels[at] for at in np.flatnonzero(strange).tolist()]
    own = [confusion.labels[at] for at in np.flatnonzero(has_cases).tolist()]
    facts: dict[str, object] = {"share": part, "predicted": odd[:20], "truth": own[:20]}
    if part <= share:
        met = f"{percent(part, 1)} of the answers name" if part else "No answer names"
        return Passed(f"{met} a class that has no case.", facts)
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
