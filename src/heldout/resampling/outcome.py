"""The outcome of one split, and of a run: a learner fitted once for every split of a plan."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from heldout.arrays import Codes
from heldout.plans.plan import Splits


def summarise_warnings(messages: Iterable[tuple[str, ...]], total: int, noun: str = "folds") -> tuple[str, ...]:
    """One sentence for each kind of warning: how many of the splits gave it, and the first text.

    Texts that differ only in their numbers are of one kind.

    >>> summarise_warnings([("UserWarning: 3 left",), ("UserWarning: 4 left",), ()], 10)
    ('UserWarning in 2 of 10 folds: 3 left',)
    """
    first: dict[str, tuple[str, ...]] = {}
    counts: Counter[str] = Counter()
    for texts in messages:
        kinds = [re.sub(r"\d[\d.e+-]*", "0", text) for text in texts]
        counts.update(set(kinds))
        for kind, text in zip(kinds, texts, strict=True):
            first.setdefault(kind, text.partition(": "))
    return tuple(
        f"{category} in {counts[kind]} of {total} {noun}: {words}" for kind, (category, _, words) in first.items()
    )


ScoreKind = Literal["probability", "decision"]


@dataclass(frozen=True, eq=False)
class Outcome:
    """What one split gave: the predicted class of every test row, its scores, and how training rows fared.

    `predicted` holds places among the problem's labels, in the order of the split's test rows. `scores` has one column
    per label (0 where the model did not know the class), or is one column alone, for the second of two labels.
    `training_rows` are rows that the model was trained on, and `training_predicted` what it says of them.
    """

    split: int
    predicted: Codes
    scores: NDArray[np.float64] | None = None
    score_kind: ScoreKind | None = None
    training_rows: Codes = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    training_predicted: Codes = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    fit_seconds: float = 0.0
    predict_seconds: float = 0.0
    chosen: dict[str, Any] | None = None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Failure:
    """A split in which the learner failed, and what it said."""

    split: int
    where: str
    message: str


@dataclass(frozen=True, eq=False)
class Run:
    """Everything that was learned about one learner under one plan.

    Predictions of all finished splits stand one after the other: `rows` is the row behind each, `fold` the number of
    its split. The same holds for the predictions of training rows. `finished` lists the splits that gave predictions;
    `fit_seconds` and `predict_seconds` go with it. `chosen` holds what a tuned learner chose in each. `shortcut` says
    how the predictions were found where not by fitting every split, and is empty otherwise; there are no seconds then.
    Each of `warnings` says in how many of the splits a learner warned, and of what.
    """

    splits: Splits
    finished: Codes
    rows: Codes
    fold: Codes
    predicted: Codes
    scores: NDArray[np.float64] | None = None
    score_kind: ScoreKind | None = None
    training_rows: Codes = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    training_fold: Codes = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    training_predicted: Codes = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    fit_seconds: NDArray[np.float64] | None = None
    predict_seconds: NDArray[np.float64] | None = None
    chosen: tuple[dict[str, Any], ...] = ()
    failures: tuple[Failure, ...] = ()
    complete: bool = True
    shortcut: str = ""
    warnings: tuple[str, ...] = ()

    @classmethod
    def collect(
        cls, splits: Splits, outcomes: list[Outcome], *, failures: tuple[Failure, ...] = (), complete: bool = True
    ) -> Run:
        """From the outcomes of single splits, in whatever order they were finished; there is at least one."""
        done = sorted(outcomes, key=lambda o: o.split)
        finished = np.array([o.split for o in done], dtype=np.int64)
        scores = [o.scores for o in done if o.scores is not None]
        whole = (
            len(scores) == len(done) and len({(o.score_kind, s.ndim) for o, s in zip(done, scores, strict=True)}) == 1
        )
        return cls(
            splits,
            finished,
            np.concatenate([splits.test(o.split) for o in done]),
            np.repeat(finished, [len(o.predicted) for o in done]),
            np.concatenate([o.predicted for o in done]),
            np.concatenate(scores) if whole else None,
            done[0].score_kind if whole else None,
            np.concatenate([o.training_rows for o in done]),
            np.repeat(finished, [len(o.training_rows) for o in done]),
            np.concatenate([o.training_predicted for o in done]),
            np.array([o.fit_seconds for o in done]),
            np.array([o.predict_seconds for o in done]),
            tuple(o.chosen for o in done if o.chosen is not None),
            failures,
            complete,
            warnings=summarise_warnings((o.warnings for o in done), len(splits), split_noun(splits)),
        )


def split_noun(splits: Splits) -> str:
    """What a message calls several of them: "folds" or "splits"."""
    return "splits" if splits.label(0).startswith("split") else "folds"
