"""What the rules about comparisons need to see of one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from heldout.comparisons.pair_test import Margin, Setting
from heldout.evidence import Label
from heldout.results.difference import PairTest


class KnownSubject(Protocol):
    """What is known of a method that somebody asked for by name."""

    @property
    def method(self) -> str:
        """The method."""

    @property
    def title(self) -> str:
        """What is known of it, with figures."""


class SideSubject(Protocol):
    """One of those that are compared, by itself."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def classes(self) -> tuple[tuple[Label, float], ...]:
        """The classes of the cases that it was tested on, and how many cases each has."""

    @property
    def accuracy(self) -> float:
        """Its accuracy."""

    @property
    def cost(self) -> float:
        """What it costs, nan where there are no costs."""


class PairSubject(Protocol):
    """Two classifiers by one measure."""

    @property
    def a(self) -> str:
        """The first."""

    @property
    def b(self) -> str:
        """The second."""

    @property
    def measure(self) -> str:
        """The measure."""

    @property
    def name(self) -> str:
        """The measure with its class or average."""

    @property
    def value_a(self) -> float:
        """The value of the first."""

    @property
    def value_b(self) -> float:
        """The value of the second."""

    @property
    def tested(self) -> PairTest:
        """The difference and its test."""

    @property
    def p(self) -> float:
        """The corrected p-value."""

    @property
    def better(self) -> str:
        """Which is better: "a", "b", "undecided" or "same"."""

    @property
    def needed(self) -> int | None:
        """How many cases would show the difference."""

    @property
    def margin(self) -> Margin | None:
        """What it says of a margin."""

    @property
    def apart(self) -> tuple[int, int] | None:
        """How many cases the first alone gets right, and how many the second alone."""

    @property
    def alike(self) -> str:
        """What both give alike in every case: "answers", "scores" or nothing."""


class ComparisonSubject(Protocol):
    """A comparison, as its rules see it."""

    @property
    def names(self) -> tuple[str, ...]:
        """Those that are compared."""

    @property
    def pairs(self) -> Sequence[PairSubject]:
        """Every pair by every measure."""

    @property
    def met(self) -> Setting | None:
        """What they have in common: the same cases, different cases, the same splits, or data sets."""

    @property
    def level(self) -> float:
        """The level of the intervals."""

    @property
    def correction(self) -> str:
        """How p-values were corrected, empty where they were not."""

    @property
    def asked(self) -> str:
        """The method that was asked for by name, empty where none was."""

    @property
    def known(self) -> Sequence[KnownSubject]:
        """What is known of the methods that were used because one was asked for."""

    @property
    def sides(self) -> Sequence[SideSubject]:
        """Each of them by itself, where they are evaluations."""
