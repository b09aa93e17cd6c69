"""Score columns by their names: which columns are scores, and of which class each is."""

from __future__ import annotations

import re
import reprlib
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from heldout.arguments import listing, write_sentence
from heldout.errors import ColumnError
from heldout.evidence import Label
from heldout.predictions.positive_class import choose_positive, with_positive

if TYPE_CHECKING:
    from heldout.predictions.source import Columns, ReadOptions

# What stands before the name of a class in the names of score columns.
PREFIXES = (
    "probability", "probabilities", "proba", "prob", "probs", "p", "score", "scores", "logit", "logits",
    "y_score", "y_prob", "y_proba",
)  # fmt: skip
# What stands behind it.
SUFFIXES = ("probability", "proba", "prob")
# What stands between the words of a name.
MARKS = frozenset(" ._-")
_LONGEST_FIRST = sorted(PREFIXES, key=len, reverse=True)
ALONE = (*PREFIXES, "y_scores", "y_probability", "pred_proba", "predicted_probability")
# Rounding to two decimals, as many tools print probabilities, moves the sum of k of them by up to k · 0.005.
SUM_TOLERANCE, MOST_TOLERANCE = 5e-3, 0.05


def class_of(name: str, labels: Sequence[Label]) -> Label | None:
    """The class that the name of a score column speaks of.

    The very name of a class goes first, then one in other letters, then one with other marks between its words; a name
    that fits two classes equally well speaks of none.

    >>> class_of("proba_spam", ["ham", "spam"]), class_of("score", ["ham", "spam"])
    ('spam', None)
    >>> class_of("p_-1", [-1, 1]), class_of("P A", ["a", "A"]), class_of("p_1.0", [0, 1])
    (-1, 'A', 1)
    """
    for fold in (str.strip, _in_one_case, _folded):
        owners: dict[str, list[Label]] = {}
        for label in labels:
            owners.setdefault(fold(str(label)), []).append(label)
            if fold is str.strip and type(label) is int:
                # As floats are written.
                owners[f"{label}.0"] = [label]
        for rests in _parts_behind(fold(str(name))):
            if found := [label for rest in rests for label in owners.get(rest, ())]:
                return found[0] if len(found) == 1 else None
    return None


def _parts_behind(name: str) -> Iterator[tuple[str, ...]]:
    """What in the name of a column may name a class: all of it, what stands behind a prefix, or before a suffix.

    Two readings where a mark may be the sign of a number as well.
    """
    yield (name,)
    for prefix in _LONGEST_FIRST:
        mark, rest = name[len(prefix) : len(prefix) + 1], name[len(prefix) + 1 :]
        if mark in MARKS and name[: len(prefix)].casefold() == prefix:
            yield (rest, f"-{rest}") if mark == "-" else (rest,)
    for suffix in SUFFIXES:
        rest, mark = name[: -len(suffix) - 1], name[-len(suffix) - 1 : -len(suffix)]
        if mark in MARKS and name[-len(suffix) :].casefold() == suffix:
            yield (rest,)


def sum_tolerance(classes: int) -> float:
    """By how much the probabilities of a case may miss 1.

    >>> round(sum_tolerance(3), 6)
    0.015
    """
    return min(SUM_TOLERANCE * classes, MOST_TOLERANCE) + 1e-9


def score_columns(free: Sequence[Any], labels: Sequence[Label]) -> list[Any]:
    """The columns that are scores by their name: one per class, or one alone."""
    owned = {class_of(str(column), labels): column for column in free if _prefixed(str(column))}
    owned.pop(None, None)
    if labels and all(label in owned for label in labels):
        return [owned[label] for label in labels]
    if len(labels) == 2 and len(owned) == 1:
        return list(owned.values())
    alone = [column for column in free if _folded(str(column)) in ALONE]
    return alone if len(alone) == 1 and len(labels) == 2 else []


def may_be_score(column: Any) -> bool:
    """Whether a column might turn out to be a score, by its name alone."""
    return _prefixed(str(column)) or _folded(str(column)) in ALONE


def _prefixed(name: str) -> bool:
    folded = _folded(name)
    before = any(folded.startswith(f"{prefix}_") for prefix in PREFIXES)
    return before or any(folded.endswith(f"_{suffix}") for suffix in SUFFIXES)


def other_classes(free: Sequence[Any], names: Sequence[Any]) -> list[Any]:
    """Columns that are named as the scores of the classes are, and are of none of them: of a class that was not met.

    >>> other_classes(["proba_a", "proba_b", "proba_c", "score"], ["proba_a", "proba_b"])
    ['proba_c']
    """
    starts = {_folded(str(name)).partition("_")[0] for name in names}
    if len(starts) != 1:
        return []
    alike = {column: _folded(str(column)).removeprefix(f"{next(iter(starts))}_") for column in free}
    # Beside one score alone a name is of a class only where it numbers one: p_0 beside p_1, but not p_value.
    return [
        column
        for column, rest in alike.items()
        if column not in names and rest != _folded(str(column)) and (len(names) > 1 or rest.isdigit())
    ]


def scores_named_as_classes(
    names: Sequence[Any], labels: Sequence[Label], values: Callable[[Any], NDArray[np.float64] | None]
) -> list[Any]:
    """The columns that are named exactly as the classes, where they hold their probabilities.

    >>> columns = {"cat": np.array([0.7, 0.2]), "dog": np.array([0.3, 0.8])}
    >>> scores_named_as_classes(["label", "cat", "dog"], ["cat", "dog"], columns.get)
    ['cat', 'dog']
    """
    exact = {str(name): name for name in names}
    texts = {_folded(str(name)): name for name in names}
    columns = [exact.get(str(label), texts.get(_folded(str(label)))) for label in labels]
    if len(labels) < 2 or any(name is None for name in columns) or len(set(columns)) < len(columns):
        return []
    # Other numbers under such names are no scores; where they do not sum to 1, a class may be missing among them.
    return columns if _are_probabilities([values(name) for name in columns]) else []


def scores_with_unmet_classes(
    names: Sequence[Any], labels: Sequence[Label], values: Callable[[Any], NDArray[np.float64] | None]
) -> list[Any]:
    """The columns that are probabilities of all classes only with those of classes that no case has.

    >>> columns = {"cat": np.array([0.7, 0.2]), "dog": np.array([0.2, 0.7]), "fox": np.array([0.1, 0.1])}
    >>> scores_with_unmet_classes(["cat", "dog", "fox"], ["cat", "dog"], columns.get)
    ['cat', 'dog', 'fox']
    """
    numbers = {name: column for name in names if (column := values(name)) is not None}
    texts = {_folded(str(name)) for name in numbers}
    named = bool(labels) and all(_folded(str(label)) in texts for label in labels)
    return list(numbers) if named and len(numbers) > len(labels) and _are_probabilities(list(numbers.values())) else []


def _are_probabilities(columns: Sequence[NDArray[np.float64] | None]) -> bool:
    """Whether columns of numbers are the probabilities of all classes: none is below 0, and each row sums to 1."""
    table = np.column_stack([column for column in columns if column is not None]) if columns else np.empty((0, 0))
    if table.shape[1] < len(columns) or not len(table):
        return False
    whole = np.abs(table.sum(axis=1) - 1) <= sum_tolerance(len(columns))
    return bool((table >= 0).all() and whole.all())


def _in_one_case(name: str) -> str:
    return name.strip().casefold()


# A sign is no mark between words: -1 is another class than 1.
_SIGN = re.compile(r"(?:^|(?<=[\s._-]))-(?=\d|$)")


def _folded(name: str) -> str:
    return re.sub(r"[\s._-]+", "_", _SIGN.sub("\N{MINUS SIGN}", _in_one_case(name)))


def is_numeric(column: Any) -> bool:
    """Whether a column of any library holds numbers."""
    import narwhals.stable.v2 as nw

    series = nw.from_native(column, allow_series=True, pass_through=True)
    return series.dtype.is_numeric() if isinstance(series, nw.Series) else np.asarray(column).dtype.kind in "iuf"


# The hint for columns of scores whose class no case has.
UNMET = "name every class with --labels "


def describe_unmet(names: Sequence[Any]) -> str:
    """Why columns that are probabilities of all classes only together with those of others were not used."""
    what = f"the columns {listing(names)} look like scores of classes, of which no case has some"
    return f"{what}, and were not used; {UNMET}{','.join(map(str, names))}"


def describe_unused(names: Sequence[Any], rows: int, first: str) -> str:
    """Why guessed scores were not used: in so many rows one is missing or not finite, in `first` before others."""
    what = "1 row has one" if rows == 1 else f"{rows:,} rows have some"
    return (
        f"the scores in {listing(names)} were not used, because {what} that is missing or not finite: "
        f"{'' if rows == 1 else 'first '}{first}"
    )


class NoScoresError(ColumnError):
    """Columns of which none is known to hold the scores that the class must come from."""


def no_scores(columns: Columns, wanted: dict[str, Any], note: str = "") -> NoScoresError:
    """The class must come from scores, and which column holds them is not known; `note` says why some were not used."""
    if "--labels" in note:
        return NoScoresError(write_sentence(note), hint="for example --labels a,b,c (in Python labels=).")
    likely = [column for column in columns.names if may_be_score(column) and column not in wanted.values()]
    if len(likely) > 1:
        why = f"has several columns that may be the score: {listing(likely)}"
    elif likely:
        why = f"has the column {likely[0]!r}, and it is not known of which class that is the score"
    else:
        why = f"has no column with a usual name for the score of the positive class. It has: {listing(columns.names)}"
    start = f"T{columns.name[1:]}" if columns.name.startswith("the ") else columns.name
    return NoScoresError(
        f"{start} {why}.",
        hint="say which one it is with --score COLUMN (in Python score=), and which class with --positive.",
    )


def guessed_scores(
    free: Sequence[Any],
    labels: Sequence[Label],
    asked: ReadOptions,
    usable: Callable[[Any], bool],
    text_in: Callable[[Any], tuple[str, Any] | None] = lambda _: None,
) -> tuple[list[Any], str]:
    """Those of the free columns that are scores by their names, or a note why none can be used.

    `text_in` knows where a column that is not usable holds something else than a number, and what.

    >>> from heldout.predictions.source import ReadOptions
    >>> asked = ReadOptions(None, "refuse", None, None, None)
    >>> guessed_scores(["p_yes"], ["no", "yes"], asked, lambda column: True)
    (['p_yes'], '')
    """
    labels = with_positive(labels, asked.positive)
    names = score_columns(free, labels)
    positive = choose_positive(asked.positive, labels)
    stray = len(names) == 1 and (positive is None or class_of(str(names[0]), labels) not in (None, positive))
    bad = [column for column in names if not usable(column)]
    # Without the score of a class that was not met, another would be the highest.
    others = other_classes(free, names)
    if names and not stray and not bad and not others:
        return names, ""
    why = "the positive class is not known (--positive)" if stray and positive is None else "name them with --score"
    if others and not stray:
        why = f"{listing(others)} is of a class that no case has; {UNMET}".rstrip()
    if not names and len(labels) == 1:
        why = f"all cases are of the class {labels[0]!r}; {UNMET}and the positive one with --positive"
    if bad and not stray:
        text = text_in(bad[0])
        content = "is no column of numbers" if text is None else f"holds {reprlib.repr(text[1])} in {text[0]}"
        why = f"{str(bad[0])!r} {content}"
    return [], f"columns that look like scores were not used: {listing(free)}; {why}"
