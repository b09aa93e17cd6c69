"""What the form shows at first: what was chosen last, what was chosen for the other file, or a guess."""

from __future__ import annotations

from typing import Any

from heldout.web.choices import MANY_COLUMNS, ONE_COLUMN
from heldout.web.uploads import Upload

SETTINGS: dict[str, Any] = {
    "threshold": None,
    "costs": "",
    "missing": "refuse",
    "level": 0.95,
    "different_cases": False,
}


def prefilled(upload: Upload, first: Upload | None) -> dict[str, Any]:
    """The values of the form, with columns by name."""
    if upload.choices is not None:
        return upload.choices.to_dict()
    guessed: dict[str, Any] = {**SETTINGS, "slices": [], **(upload.seen or {}).get("guesses", {})}
    if first is None or first.choices is None:
        # The rows of one file need no id. Weights change every number, so they are for the person to choose, as on
        # the command line; the report says that they are there.
        return guessed | {"id": None, "weight": None}
    # A second file is made like the first, as a rule: what its columns allow is taken over.
    held, names = first.choices.to_dict(), set(upload.names)
    for role in ONE_COLUMN:
        if held[role] in names or (held[role] is None and role not in ("truth", "id")):
            guessed[role] = held[role]
    if guessed["id"] not in first.names:
        guessed["id"] = None
    for role in MANY_COLUMNS:
        if held[role] and names.issuperset(held[role]):
            guessed[role] = list(held[role])
    if not guessed["predicted"] and not guessed["score"]:
        guessed |= {role: (upload.seen or {})["guesses"][role] for role in ("predicted", "score")}
    return guessed | {name: held[name] for name in ("positive", "threshold", "costs", "missing", "level")}
