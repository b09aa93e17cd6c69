"""Every error that heldout raises on purpose.

    HeldoutError (a ValueError)
    ├── FileError       a file cannot be opened or understood
    ├── ColumnError     a column is missing, ambiguous or of the wrong kind
    ├── LabelError      class labels that cannot be used or matched
    ├── ValuesError     weights, scores or other values that cannot be used
    ├── MatrixError     a confusion or cost matrix that cannot be used
    ├── LearnerError    a learner that failed, or gave answers that cannot be used
    └── OptionError     a measure, method, level or other option that does not exist or does not fit

Each holds two sentences: what is wrong (`what`) and what to do about it (`hint`).
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

# From which likeness on, by difflib's ratio, a name is taken for a slip of another.
ALIKE = 0.7


class HeldoutError(ValueError):
    """The input or the call is wrong, and this says how to mend it.

    >>> print(OptionError("There is no measure 'acuracy'.", hint="use 'accuracy'."))
    There is no measure 'acuracy'.
    Hint: use 'accuracy'.
    """

    def __init__(self, what: str, *, hint: str) -> None:
        super().__init__(what)
        self.what = what
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.what}\nHint: {self.hint}"

    def __reduce__(self) -> tuple[object, ...]:
        # The default rebuilds from args alone and would lose the keyword-only hint in a worker process.
        return _rebuild, (type(self), self.what, self.hint)


class FileError(HeldoutError):
    """A file cannot be opened or understood."""


class ColumnError(HeldoutError):
    """A column is missing, ambiguous or of the wrong kind."""


class LabelError(HeldoutError):
    """Class labels that cannot be used or matched."""


class ValuesError(HeldoutError):
    """Weights, scores or other values that cannot be used."""


class MatrixError(HeldoutError):
    """A confusion or cost matrix that cannot be used."""


class LearnerError(HeldoutError):
    """A learner that failed, or gave answers that cannot be used."""


class OptionError(HeldoutError):
    """A measure, method, level or other option that does not exist or does not fit."""


def _rebuild(kind: type[HeldoutError], what: str, hint: str) -> HeldoutError:
    return kind(what, hint=hint)


def listing(names: Iterable[object], most: int = 12) -> str:
    """Join names with commas, and count what does not fit.

    >>> listing(["id", "y", "p"], most=2)
    'id, y and 1 more'
    """
    items = list(names)
    shown = ", ".join(map(str, items[:most]))
    return shown if len(items) <= most else f"{shown} and {len(items) - most} more"


def method_key(name: object) -> str:
    """The name of a method as registers spell it: lower case, hyphens for spaces and underscores.

    >>> method_key(" Corrected_T ")
    'corrected-t'
    """
    return str(name).strip().casefold().replace("_", "-").replace(" ", "-")


def closest(name: str, candidates: Iterable[str]) -> str | None:
    """The candidate that a person who typed `name` most likely meant, if any is near.

    >>> closest("Acuracy", ["accuracy", "recall"]), closest("nonexist", ["const"])
    ('accuracy', None)
    """
    by_fold = {candidate.casefold(): candidate for candidate in candidates}
    wanted = name.casefold()
    # Of names that are alike to 0.6, as difflib has it, half are other words; one slip in a short name is not.
    near = difflib.get_close_matches(wanted, by_fold, n=1, cutoff=ALIKE) or [
        candidate for candidate in by_fold if _one_slip(wanted, candidate)
    ]
    return by_fold[near[0]] if near else None


def _one_slip(name: str, other: str) -> bool:
    """Whether two names differ by one more, one less, one other (of two at least), or two swapped."""
    if abs(len(name) - len(other)) > 1:
        return False
    if min(len(name), len(other)) < 2:
        # Of one letter only the letter itself is left: "yy" for "y".
        return len(name) != len(other) and (name[:1] in other) and (other[:1] in name)
    at = next((i for i, (a, b) in enumerate(zip(name, other, strict=False)) if a != b), min(len(name), len(other)))
    rest, wanted = name[at:], other[at:]
    if len(rest) != len(wanted):
        return rest[1:] == wanted if len(rest) > len(wanted) else rest == wanted[1:]
    return rest[1:] == wanted[1:] or (rest[1::-1] == wanted[:2] and rest[2:] == wanted[2:])
