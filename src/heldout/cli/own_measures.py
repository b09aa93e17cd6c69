"""Measures of one's own on the command line: module:name, imported as learners are."""

from __future__ import annotations

import re
from typing import Any

# Text in brackets, where a colon belongs to the name of a class, or module:name.
NAMED = re.compile(r"\[[^\[\]]*\]|(?<![\w.:/\[])(?P<module>[A-Za-z_][\w.]*):(?P<name>[A-Za-z_]\w*)")


def import_measures(text: str) -> str:
    """The text with each module:name replaced by the name of the measure, which is imported and declared.

    Only what a person typed and files of requirements are read so: a column of a table never imports anything.

    >>> import_measures("sklearn.metrics:adjusted_rand_score >= 0.5")
    'adjusted_rand_score >= 0.5'
    >>> import_measures("recall[a:b] >= 0.5")
    'recall[a:b] >= 0.5'
    >>> from heldout.measures.catalogue import unregister
    >>> unregister("adjusted_rand_score")
    """
    return NAMED.sub(_import_one, text)


def _import_one(match: re.Match[str]) -> str:
    if match["module"] is None:
        return match[0]
    from heldout.imports import import_name
    from heldout.measures.own import declare_any

    return declare_any(import_name(match["module"], match["name"], f"the measure {match[0]!r}"), match[0]).name


def import_all(given: Any) -> Any:
    """The same for one text or several; whatever else was given is left as it is."""
    if isinstance(given, str):
        return import_measures(given)
    return [import_measures(text) for text in given] if isinstance(given, list) else given
