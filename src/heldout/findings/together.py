"""One review of several results of the same kind, such as learners validated by the same splits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from heldout.findings.review import Review
from heldout.findings.rule import Finding


def reviewed_together(reviews: Mapping[str, Review]) -> Review:
    """What the rules say of all of them: once where it is the same for all, and by name where it is not.

    A rule that fired for some stands here as fired; one that fired for none as passed, unless none had anything to
    look at.

    >>> found = Finding("H033", "fired", "know", "The smallest fold has 15 cases.", {}, "", "")
    >>> fine = replace(found, outcome="passed", title="The smallest fold has 40 cases.")
    >>> [one.title for one in reviewed_together({"knn": Review((found,)), "tree": Review((fine,))}).fired]
    ['knn: The smallest fold has 15 cases.']
    """
    by_code: dict[str, dict[str, Finding]] = {}
    for name, one in reviews.items():
        for finding in one.findings:
            by_code.setdefault(finding.code, {})[name] = finding
    made: list[Finding] = []
    for held in by_code.values():
        fired = {name: finding for name, finding in held.items() if finding.outcome == "fired"}
        if not fired:
            passed = [finding for finding in held.values() if finding.outcome == "passed"]
            made.append((passed or list(held.values()))[0])
        elif len(fired) == len(reviews) and len({finding.title for finding in fired.values()}) == 1:
            made.append(next(iter(fired.values())))
        else:
            made += [replace(finding, title=f"{name}: {finding.title}") for name, finding in fired.items()]
    return Review(tuple(made), tuple(dict.fromkeys(code for one in reviews.values() for code in one.muted)))
