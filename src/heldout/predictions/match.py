"""Bringing the labels of truth and prediction together, and choosing the positive class."""

from __future__ import annotations

import re
from collections.abc import Sequence

from heldout.errors import LabelError, listing
from heldout.evidence import Label, join_labels, sort_labels

# (negative, positive), in lower case; the positive one is what a reader would expect to be looked for.
USUAL = (
    ("0", "1"),
    ("-1", "1"),
    ("no", "yes"),
    ("n", "y"),
    ("-", "+"),
    ("-1", "+1"),
    ("false", "true"),
    ("f", "t"),
    ("n", "p"),
    ("neg", "pos"),
    ("negative", "positive"),
    ("absent", "present"),
    ("normal", "abnormal"),
    ("ham", "spam"),
    ("off", "on"),
)


def usual_positive(labels: Sequence[Label]) -> Label | None:
    """The positive class of two labels whose names say which it is.

    >>> usual_positive(["yes", "no"]), usual_positive([0, 1]), usual_positive(["cat", "dog"])
    ('yes', 1, None)
    >>> usual_positive(["tested_negative", "tested_positive"])
    'tested_positive'
    """
    if len(labels) != 2:
        return None
    first, second = (_last_word(labels, position) for position in (0, 1))
    for negative, positive in USUAL:
        if (first, second) == (negative, positive):
            return labels[1]
        if (second, first) == (negative, positive):
            return labels[0]
    return None


def _last_word(labels: Sequence[Label], position: int) -> str:
    """The label in lower case, without the words that both labels begin with."""
    words = [re.split(r"(?<=\w)[\s_-]+", str(label).strip().casefold()) for label in labels]
    shared = 0
    while shared < min(map(len, words)) - 1 and words[0][shared] == words[1][shared]:
        shared += 1
    return "_".join(words[position][shared:])


def joint_labels(
    truth: Sequence[Label], predicted: Sequence[Label]
) -> tuple[tuple[Label, ...], dict[Label, Label], str]:
    """All labels of both columns, how to rename the prediction's to fit, and a sentence if that was needed.

    >>> joint_labels((0, 1), ("0", "1"))[0]
    (0, 1)
    """
    kinds = {_kind(label) for label in (*truth, *predicted)}
    if len(kinds) <= 1:
        return join_labels(truth, predicted), {}, ""
    by_text = {_canonical(label): label for label in truth}
    rename = {label: by_text.get(_canonical(label), label) for label in predicted}
    left = [label for label in predicted if _canonical(label) not in by_text]
    numeric = _numeric_like([*truth, *predicted])
    if left and numeric:
        rename.update({label: _as_number(label) if _kind(truth[0]) == "number" else str(label) for label in left})
    elif left:
        raise LabelError(
            f"Truth and prediction have labels of different types: truth has "
            f"{listing(map(repr, truth), most=6)}, prediction has {listing(map(repr, predicted), most=6)}.",
            hint="make both columns text, or both numbers, with the same labels.",
        )
    joined = join_labels(tuple(truth), sort_labels(rename.values()))
    example = next(label for label in predicted if rename[label] is not label)
    said = (
        f"labels of different types were joined: {example!r} in the prediction is taken as "
        f"{rename[example]!r} in the truth"
    )
    return joined, rename, said


def _kind(label: Label) -> str:
    if isinstance(label, str):
        return "text"
    return "boolean" if isinstance(label, bool) else "number"


def _canonical(label: Label) -> str:
    """How a label looks when the accidents of its type are taken away: 1, 1.0, "1" and True are one."""
    text = str(label).strip().casefold()
    text = {"true": "1", "false": "0"}.get(text, text)
    return re.sub(r"^\+?(-?\d+)(\.0*)?$", r"\1", text)


def _numeric_like(labels: Sequence[Label]) -> bool:
    return all(not isinstance(x, bool) and re.fullmatch(r"-?\d+", _canonical(x)) for x in labels)


def _as_number(label: Label) -> int:
    return int(_canonical(label))


def look_alike(labels: Sequence[Label]) -> list[tuple[Label, Label]]:
    """Pairs of labels that differ only in case or in white space, which is a slip as a rule."""
    seen: dict[str, Label] = {}
    pairs: list[tuple[Label, Label]] = []
    for label in labels:
        if isinstance(label, str):
            key = " ".join(label.split()).casefold()
            if key in seen:
                pairs.append((seen[key], label))
            seen.setdefault(key, label)
    return pairs
