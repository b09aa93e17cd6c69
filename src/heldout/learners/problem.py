"""The data to learn from, checked and brought to the form that learners take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

from heldout.arrays import Codes
from heldout.evidence import Label


@dataclass(frozen=True, slots=True)
class Nominal:
    """The categories of a nominal column, each at the place of its code; `declared` if its type names them."""

    categories: tuple[Any, ...]
    declared: bool = False


@dataclass(frozen=True, eq=False)
class Problem:
    """The data to learn from: features in whatever form the learner takes, the class of every row, groups.

    `target` holds the labels as the learner is to see them; `truth` holds their places among `labels`. Where `nominal`
    has the number of a column of `features`, that column holds codes of categories, and NaN where the value is missing.
    `kept` lists the rows of the source that are left, and is None when all of them are. `as_given` says that the
    features are those that were given, which no preparation may change. `times_left_out` names columns of dates and
    times, which no learner takes.
    """

    features: Any = field(repr=False)
    target: NDArray[Any] = field(repr=False)
    truth: Codes = field(repr=False)
    labels: tuple[Label, ...] = ()
    group: Codes | None = field(default=None, repr=False)
    group_names: tuple[Any, ...] = field(default=(), repr=False)
    names: tuple[str, ...] = ()
    source: str = ""
    notes: tuple[str, ...] = ()
    nominal: Mapping[int, Nominal] = field(default_factory=dict, repr=False)
    target_name: str = ""
    kept: Codes | None = field(default=None, repr=False)
    as_given: bool = False
    times_left_out: tuple[str, ...] = ()

    @property
    def n(self) -> int:
        """The number of rows."""
        return len(self.truth)
