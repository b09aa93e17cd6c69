"""What a reader must know of predictions whose rows were not kept, in the words that are used of rows in memory."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from heldout.errors import OptionError
from heldout.evidence import Label
from heldout.evidence.counted import Counted
from heldout.predictions.match import choose_positive, suspicions
from heldout.predictions.table import dropped_note, strangers_note


def counted_positive(counted: Counted, asked: Label | None, labels: Sequence[Label]) -> Label | None:
    """The positive class; scores that were counted for one class cannot be taken for those of another.

    >>> from heldout.evidence import Confusion
    >>> counted_positive(Counted(Confusion.of([[5, 1], [0, 4]], ["no", "yes"])), "no", ["no", "yes"])
    'no'
    """
    if asked is None:
        # Of one class that is met, its usual opposite is not among the labels, and none of them is positive.
        return choose_positive(None, labels) if counted.positive is None or len(labels) < 2 else counted.positive
    found = choose_positive(asked, labels)
    one_column = counted.scores is not None and not counted.scores.per_class
    if one_column and counted.positive is not None and found != counted.positive:
        raise OptionError(
            f"The scores were counted as those of the class {counted.positive!r}, and {found!r} was named as positive.",
            hint=f"leave out positive= (--positive), or count again with positive={found!r}.",
        )
    return found


def counted_notes(counted: Counted) -> list[str]:
    """Every sentence, in the order in which rows in memory would give them.

    >>> from heldout.evidence import Confusion
    >>> counted_notes(Counted(Confusion.of([[5, 1], [0, 4]]), rows=11, lost=1, missing={"truth": 1}))
    ['1 of 11 rows was dropped because of a missing value: truth in 1']
    """
    missing = {role: number for role, number in counted.missing.items() if number}
    dropped = [dropped_note(counted.lost, counted.rows, missing)] if counted.lost else []
    beside = dict.fromkeys(counted.notes)
    return [*beside, *dropped, *counted.joined_types, *_strangers(counted), *suspicions(_names(counted))]


def _names(counted: Counted) -> list[Label]:
    """The labels, without those that were named beforehand and never met."""
    if not counted.declared:
        return list(counted.labels)
    met = np.union1d(counted.confusion.truth, counted.confusion.predicted)
    return [counted.labels[place] for place in met.tolist()]


def _strangers(counted: Counted) -> list[str]:
    """That no label of the truth was predicted, where the predicted classes were given."""
    confusion = counted.confusion
    if counted.threshold is not None or confusion.n_cases < 2:
        return []
    truth, predicted = (np.unique(side) for side in (confusion.truth, confusion.predicted))
    if np.intersect1d(truth, predicted).size:
        return []
    return [strangers_note(*([counted.labels[place] for place in side.tolist()] for side in (truth, predicted)))]
