"""What columns of a table of results hold by their names: learners, or their measures, times, spreads and differences.

A table has a column for each learner, all by one measure of which more is better unless it is named. What is laid out
otherwise is refused here: it would be compared as it stands, and the answer would be about something else.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import permutations
from typing import Any

import numpy as np

from heldout.arguments import as_float, listing
from heldout.comparisons.table_layout import SPREADS, is_mark, is_number, measured_by, plain_name
from heldout.errors import ColumnError, OptionError

PARTS = frozenset({"train", "training", "test", "testing", "val", "valid", "validation"})
# Endings such as those of svm_std and rank_svm, beside a column svm.
BESIDE_A_LEARNER = SPREADS | {"rank", "ranks", "ci", "iqr", "low", "lower", "high", "upper"}
TIMES = frozenset({"time", "times", "runtime", "seconds", "secs", "duration", "elapsed"})
LOSSES = frozenset({"errors", "loss", "losses", "mse", "rmse", "mae"})
TESTS = frozenset({"p_value", "pvalue", "p_val", "difference", "differences", "diff", "effect_size"})
# Names that a learner may have as well, such as the fourth of those called by Greek letters: the values decide.
DIFFERENCES = frozenset({"delta", "gap", "gain", "improvement", "change"})
OF_DATA_SETS = frozenset({"imbalance", "imbalance_ratio", "class_imbalance", "size"})
COUNTED = re.compile(
    r"(?:(?:n|num|no|nr|number_of|no_of)_?)?"
    r"(?:instances|samples|rows|cases|examples|features|attributes|variables|columns|dimensions|classes)"
)
MOST_WORDS = 4
RENAME = "leave them out, or rename those that are learners."


def check_result_columns(
    columns: Mapping[str, Sequence[Any]], roles: Mapping[str, str], *, measure_named: bool, splits: bool
) -> None:
    """Refuse a table whose columns are not one for each learner, or are errors of which nobody said so.

    >>> check_result_columns({"svm": [0.9], "svm_std": [0.1]}, {}, measure_named=False, splits=False)
    Traceback (most recent call last):
    heldout.errors.ColumnError: By their names these columns hold no results of a learner: svm_std.
    ...
    """
    named = [name for name, role in roles.items() if role == "learner"]
    texts = [name for name in named if any(isinstance(value, str) for value in columns[name])]
    if texts and not splits:
        raise ColumnError(
            f"The rows of this table are learners, by the column {listing(texts)}: a table of results has a column for "
            "each learner, and a row for each data set.",
            hint="turn the table, so that each learner has a column of its own; of the splits of one data set name "
            "those too, in a column run or fold.",
        )
    if named:
        return
    held = {name: values for name, values in columns.items() if name not in roles and all(map(is_number, values))}
    if len(held) < 2:
        return
    wrong = [name for name in held if _is_no_learner(name, held)]
    wrong += [name for name in _beside_learners(held) if name not in wrong]
    if wrong:
        raise ColumnError(f"By their names these columns hold no results of a learner: {listing(wrong)}.", hint=RENAME)
    _check_one_measure(list(held))
    if not measure_named:
        _check_direction(list(held))


def _is_no_learner(name: str, held: Mapping[str, Sequence[Any]]) -> bool:
    """Whether a column describes the data sets, or the learners together."""
    plain = plain_name(name)
    if COUNTED.fullmatch(plain):
        return all(map(is_mark, held[name]))
    if plain in DIFFERENCES:
        return _is_a_difference(name, held)
    return plain in OF_DATA_SETS or plain in TESTS or _affix(name) == ("", "time")


def _is_a_difference(name: str, held: Mapping[str, Sequence[Any]]) -> bool:
    values = {other: np.array([as_float(value) for value in column]) for other, column in held.items()}
    own = values.pop(name)
    return any(np.allclose(one - other, own, atol=1e-3, rtol=0.01) for one, other in permutations(values.values(), 2))


def _affix(name: str) -> tuple[str, str]:
    """The learner in a name, and what of it the column holds; each may be nothing.

    >>> _affix("svm_log_loss"), _affix("fit_time"), _affix("rank svm"), _affix("tree")
    (('svm', 'log_loss'), ('', 'time'), ('svm', 'rank'), ('tree', ''))
    """
    words = plain_name(name).split("_")
    for length in range(min(len(words), MOST_WORDS), 0, -1):
        for of_learner, affix in ((words[:-length], words[-length:]), (words[length:], words[:length])):
            found = _what(affix)
            if found:
                return ("" if found == "time" and set(of_learner) <= SPENT else "_".join(of_learner)), found
    return plain_name(name), ""


SPENT = frozenset({"fit", "score", "cpu", "wall", "run", "predict", "inference", *PARTS})


def _what(words: Sequence[str]) -> str:
    """What a column holds by some words of its name: a measure, a part of the data, a time or a spread."""
    text = "_".join(words)
    if len(words) == 1 and (text in BESIDE_A_LEARNER or text in PARTS):
        return text
    if len(words) == 1 and text in TIMES:
        return "time"
    if len(words) == 1 and text in LOSSES:
        return "loss"
    measured = measured_by(text)
    if measured is None and len(words) > 1 and words[0] in PARTS:
        measured = measured_by("_".join(words[1:]))
    return text if measured is not None else ""


def _beside_learners(held: Mapping[str, Sequence[Any]]) -> list[str]:
    """Columns called like a learner of the table and a spread, a rank, a limit or a time of it."""
    plain = {plain_name(name) for name in held}
    affixes = {name: _affix(name) for name in held}
    shared = [stem for stem, _ in affixes.values()]
    return [
        name for name, (stem, what) in affixes.items()
        if stem and (what in BESIDE_A_LEARNER or what == "time") and (stem in plain or shared.count(stem) > 1)
    ]  # fmt: skip


def _check_one_measure(names: Sequence[str]) -> None:
    """Refuse columns of several measures, or of training and test part: of no learner, or of the same one."""
    affixes = {name: _affix(name) for name in names}
    of: dict[str, list[str]] = {}
    for name, (stem, what) in affixes.items():
        if what and what not in BESIDE_A_LEARNER:
            of.setdefault(stem, []).append(name)
    several = [name for stem, own in of.items() if len(own) > 1 and (stem or len(own) == len(names)) for name in own]
    if several:
        raise ColumnError(
            "By their names these columns hold several measures, or parts of the data, of one learner: "
            f"{listing(several)}.",
            hint="give one measure, with a column for each learner; or rename the columns that are learners.",
        )


def _check_direction(names: Sequence[str]) -> None:
    """Refuse columns that are all errors or losses by their names, where no measure says that less is better."""
    affixes = [_affix(name) for name in names]
    if len({what for _, what in affixes}) > 1 or not all(_is_loss(what) for _, what in affixes):
        return
    raise OptionError(
        f"By their names these columns hold errors or losses, and where no measure is named higher is taken as better: "
        f"{listing(names)}.",
        hint="name the measure: measure='error_rate' (--measure error_rate) where less is better, "
        "measure='accuracy' (--measure accuracy) where more is.",
    )


def _is_loss(what: str) -> bool:
    measured = measured_by(what)
    return what == "loss" or (measured is not None and measured[0].bound.measure.direction == "lower")
