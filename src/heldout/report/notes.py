"""Notes that a finding says as well are shown once, as the finding."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from heldout.predictions.source import Source
from heldout.review import Finding

# The rule that says of a column of this role that it was not used.
SAID_BY = {"fold": "H034"}


def unsaid(notes: Sequence[str], source: Source, findings: Iterable[Finding]) -> list[str]:
    """The notes that none of these findings says.

    >>> read = Source("a.csv", unused=(("fold", "fold", "the column 'fold' was not used"),))
    >>> unsaid(["the column 'fold' was not used", "rows were dropped"], read, ())
    ["the column 'fold' was not used", 'rows were dropped']
    """
    fired = {finding.code for finding in findings if finding.outcome == "fired"}
    said = {note for role, _, note in source.unused if SAID_BY.get(role) in fired}
    return [note for note in notes if note not in said]
