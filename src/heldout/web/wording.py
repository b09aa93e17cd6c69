"""Hints in the words of the form: the library speaks of flags and arguments, and here are none."""

from __future__ import annotations

import re

FIELDS = {
    "truth": "True class", "predicted": "Predicted class", "score": "Scores", "positive": "Positive class",
    "threshold": "Threshold", "costs": "Costs of the errors", "slices": "Slices", "slice": "Slices", "weight": "Weight",
    "group": "Group", "fold": "Fold", "id": "Id", "level": "Level of the intervals",
}  # fmt: skip
NAMES = "|".join(FIELDS)
WHOLE = {
    r"missing='drop'(?: \(--missing drop\))?": "“drop” under “Rows with missing values”",
    r"\(paired=False, --different-cases\)": "(tick “The two files are about different cases”)",
    r" \(in Python [^)]*\)": "",
}
# `score= (--score COLUMN)`, `(score=, --score)`, `--score COLUMN`, `score=`.
BOTH = re.compile(rf"\b(?P<a>{NAMES})= \(--(?P=a)(?: [A-Z]+)?\)|(?<=\()(?P<b>{NAMES})=, --(?P=b)(?: [A-Z]+)?(?=\))")
ONE = re.compile(rf"--(?P<a>{NAMES})(?![\w-])(?: [A-Z]+\b)?|\b(?P<b>{NAMES})=(?=[\s.,;)])")


def in_the_form(hint: str) -> str:
    """The hint, with fields for flags and arguments.

    >>> in_the_form("name the column with fold= (--fold), or --score COLUMN (in Python score=).")
    'name the column with “Fold”, or “Scores”.'
    >>> in_the_form("send fewer rows, or start the server with a larger --max-upload.")
    'send fewer rows, or start the server with a larger --max-upload.'
    """
    for pattern, words in WHOLE.items():
        hint = re.sub(pattern, words, hint)
    for known in (BOTH, ONE):
        hint = known.sub(lambda found: f"“{FIELDS[found['a'] or found['b']]}”", hint)
    return hint
