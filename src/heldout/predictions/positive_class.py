"""Bringing the labels of truth and prediction together, and choosing the positive class."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from heldout.arguments import listing, suggest
from heldout.errors import LabelError
from heldout.evidence import Label

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
WORDS = {"true": "1", "false": "0"}
# A whole number, however it is written, and what stands before one.
WHOLE = re.compile(r"^\+?(-?\d+)(\.0*)?$")
SIGNS = ("+", "-")
# Midnight behind a date.
MIDNIGHT = re.compile(r"^(\d{4}-\d\d-\d\d)[t ]00:00(:00(\.0+)?)?z?$")
# What programs and people write for a missing value when they must write text; "none" may well be a class.
ABSENT = frozenset(
    {
        "", "?", "-", "--", ".", "NA", "na", "N/A", "n/a", "#N/A", "#NA", "<NA>", "NULL", "Null", "null", "#NULL!",
        "NaN", "nan", "NAN", "NaT", "None", "NIL", "nil", "missing", "Missing", "MISSING",
    }
)  # fmt: skip


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


def renamed(truth: Sequence[Label], predicted: Sequence[Label]) -> tuple[dict[Label, Label], str]:
    """How to rename the prediction's labels so that they fit the truth's, and a sentence if that was needed.

    >>> renamed((0, 1), ("0", "1.0"))[0]
    {'0': 0, '1.0': 1}
    """
    if not truth or not predicted or _kind(truth[0]) == _kind(predicted[0]):
        return {}, ""
    by_text: dict[str, list[Label]] = {}
    for label in truth:
        by_text.setdefault(_canonical(label), []).append(label)
    rename: dict[Label, Label] = {}
    style = _style(truth)
    for label in predicted:
        same = by_text.get(_canonical(label), [])
        fitting = same[0] if len(same) == 1 else None if same else _as_in(style, label)
        if fitting is None:
            raise LabelError(
                f"Truth and prediction have labels of different types: truth has "
                f"{listing(map(quoted, truth), most=6)}; prediction has {listing(map(quoted, predicted), most=6)}.",
                hint="make both columns text, or both numbers, with the same labels.",
            )
        rename[label] = fitting
    example = predicted[0]
    note = (
        f"labels of different types were joined: {quoted(example)} in the prediction is taken as "
        f"{quoted(rename[example])} in the truth"
    )
    return rename, note


@dataclass(frozen=True)
class _Style:
    """How labels are written: their kind, whether all are whole numbers or words for a truth value, and one of them."""

    kind: str
    numbers: bool
    words: bool
    first: str


def _style(labels: Sequence[Label]) -> _Style:
    texts = [str(label).strip() for label in labels]
    # With leading zeros they are codes: 1 is not written 01, and nobody knows what 12 would be.
    numbers = all(re.fullmatch(r"-?(0|[1-9]\d*)", _canonical(x)) and x.casefold() not in WORDS for x in texts)
    return _Style(_kind(labels[0]), numbers, all(x.casefold() in WORDS for x in texts), texts[0])


def _as_in(style: _Style, label: Label) -> Label | None:
    """A label that the truth does not have, written as the truth writes its own; None where it cannot be."""
    text = _canonical(label)
    number = int(text) if re.fullmatch(r"-?\d{1,4000}", text) else None
    if style.kind == "number" or number is None:
        return number
    if style.numbers:
        return text
    if isinstance(label, bool) and style.words:
        return next(case(str(label)) for case in (str.title, str.lower, str.upper) if case(style.first) == style.first)
    return None


def _kind(label: Label) -> str:
    if isinstance(label, str):
        return "text"
    return "boolean" if isinstance(label, bool) else "number"


def _canonical(label: Label) -> str:
    """How a label looks when the accidents of its type are taken away: 1, 1.0, "1" and True are one."""
    text = str(label).strip().casefold()
    text = WORDS.get(text, text)
    # Most labels begin with a letter: of a million of them none needs the pattern.
    return WHOLE.sub(r"\1", text) if text[:1].isdigit() or text[:1] in SIGNS else text


def usual_pair(label: Label) -> tuple[Label, Label] | None:
    """The two classes of which one is met, if its name says what the other is.

    >>> usual_pair(1), usual_pair("no"), usual_pair("cat")
    ((0, 1), ('no', 'yes'), None)
    """
    for negative, positive in USUAL:
        if str(label).casefold() in (negative, positive):
            if isinstance(label, str):
                return (negative, positive) if label in (negative, positive) else None
            return (False, True) if isinstance(label, bool) else (int(negative), int(positive))
    return None


def choose_positive(asked: Label | None, labels: Sequence[Label]) -> Label | None:
    """The positive class that a person named, or the usual one.

    >>> choose_positive("true", (False, True)), choose_positive(None, ("no", "yes"))
    (True, 'yes')
    """
    if asked is None:
        return usual_positive(labels)
    chosen = fitted([asked], labels)[0]
    if chosen not in labels:
        raise LabelError(
            f"The positive class {asked!r} is not among the labels: {listing(map(repr, labels))}.",
            hint=suggest(asked, labels),
        )
    return chosen


def with_positive(labels: Sequence[Label], asked: Label | None) -> tuple[Label, ...]:
    """The classes of scores of one class: where only another than the positive one was met, both.

    A name that is not the usual opposite of the class that was met is a slip, and is refused later.

    >>> with_positive(("no",), "yes"), with_positive(("cat",), "dog"), with_positive(("no",), "yse")
    (('no', 'yes'), ('cat', 'dog'), ('no',))
    """
    if asked is None or len(labels) != 1:
        return tuple(labels)
    chosen = fitted([asked], labels)[0]
    usual = usual_pair(labels[0]) or (labels[0], chosen)
    return (labels[0], chosen) if chosen != labels[0] and chosen in usual else tuple(labels)


def fitted(given: Sequence[Label], names: Sequence[Label]) -> tuple[Label, ...]:
    """Labels that a person named, each as the cases write it: "1" for 1 where the labels are numbers.

    >>> fitted(["1", "0", "2"], (0, 1))
    (1, 0, 2)
    """
    exact = {(_kind(label), label): label for label in names}
    by_text = {str(label): label for label in names}
    by_look = {_canonical(label): label for label in names} if names and _kind(names[0]) != "text" else {}
    classes: list[Label] = []
    style: _Style | None = None
    for label in given:
        same = exact.get((_kind(label), label), by_text.get(str(label), by_look.get(_canonical(label))))
        if same is None and names and _kind(label) != _kind(names[0]):
            style = style or _style(names)
            same = _as_in(style, label)
        classes.append(label if same is None else same)
    return tuple(classes)


def suspicions(labels: Sequence[Label]) -> list[str]:
    """Sentences about labels that are slips as a rule: look-alikes, and words for a missing value."""
    texts = [label for label in labels if isinstance(label, str)]
    pairs = look_alike(texts)
    notes = [
        f"the labels {a} and {b} look alike but count as two classes" for a, b in (_told_apart(*p) for p in pairs[:3])
    ]
    if len(pairs) > 3:
        notes.append(f"{len(pairs) - 3:,} more pairs of labels look alike but count as two classes each")
    notes += [
        f"the label {label!r} looks like a missing value but counts as a class"
        for label in texts
        # Beside + a minus is a class.
        if label.strip() in ABSENT and not (label.strip() == "-" and "+" in texts)
    ]
    return notes


def quoted(label: Label) -> str:
    """A label as Python writes it, without the middle of a long one.

    >>> quoted("x" * 1000)
    "'xxxxxxxxxxxxxxxxxxxx…xxxxxxxxxxxxxxxxxxxx'"
    """
    text = repr(label)
    return text if len(text) <= 60 else f"{text[:21]}…{text[-21:]}"


def _told_apart(first: str, second: str) -> tuple[str, str]:
    """Two labels as they are written, or with escapes where nobody would see the difference."""
    if unicodedata.normalize("NFKC", first) == unicodedata.normalize("NFKC", second):
        return ascii(first)[:60], ascii(second)[:60]
    return quoted(first), quoted(second)


def look_alike(labels: Sequence[str]) -> list[tuple[str, str]]:
    """Pairs of labels that a reader would take for the same.

    They differ only in case, white space, invisible characters, the way accents are stored, as 1, 001 and 1.0 do, or in
    the midnight of a date.

    >>> look_alike(["Spam", "ham", "spam "])
    [('Spam', 'spam ')]
    """
    keys = [_plain(_canonical(" ".join(_seen(label).split()))) for label in labels]
    if len(set(keys)) == len(keys):
        return []
    seen: dict[str, str] = {}
    pairs: list[tuple[str, str]] = []
    for label, key in zip(labels, keys, strict=True):
        if key in seen:
            pairs.append((seen[key], label))
        seen.setdefault(key, label)
    return pairs


def _plain(text: str) -> str:
    """A text without the zeros before a number, and a date without its midnight."""
    if not text[:1].isdigit():
        return text
    if len(text) > 10:
        return MIDNIGHT.sub(r"\1", text)
    # Zeros before a whole number.
    return text.lstrip("0") or "0" if text.isdecimal() else text


def _seen(text: str) -> str:
    """A text as a reader sees it: accents stored one way, and nothing that is invisible."""
    if text.isascii():
        return text
    return "".join(x for x in unicodedata.normalize("NFKC", text) if unicodedata.category(x) != "Cf")
