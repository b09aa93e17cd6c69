"""Two cards side by side, figure by figure."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from heldout.cards import words
from heldout.cards.card import Card
from heldout.cards.fidelity import Share
from heldout.cards.surrogate import named
from heldout.errors import OptionError
from heldout.result import Result
from heldout.show.blocks import Block, Cell, Column, Note, Prose, Table, Title
from heldout.show.numbers import count

FIRST_FEATURES = 3
# Reads one figure off a card.
Line = tuple[str, Callable[[Card], str]]


@dataclass(frozen=True, repr=False)
class CardPair(Result):
    """Two cards side by side; what they were measured on is said where it differs."""

    schema: ClassVar[str] = "heldout/card-comparison@1"

    first: Card
    second: Card

    def __post_init__(self) -> None:
        if not isinstance(self.second, Card):
            raise OptionError(
                f"A card stands beside another card. Got a {type(self.second).__name__}.",
                hint="make one with heldout.card(learner, data, target=…).",
            )

    def __repr__(self) -> str:
        return f"<Cards of {self.first.learner} and {self.second.learner}; print them to read them>"

    @property
    def names(self) -> tuple[str, str]:
        """What the two are called; two of one name are numbered."""
        first, second = self.first.learner, self.second.learner
        return (first, second) if first != second else (f"{first} (1)", f"{second} (2)")

    @property
    def differences(self) -> tuple[str, ...]:
        """What keeps the two cards from being compared figure by figure."""
        a, b = self.first, self.second
        said = []
        if (a.source, a.n, a.labels) != (b.source, b.n, b.labels):
            said.append("the cards are of different data, so that their figures do not compare")
        elif a.fingerprint != b.fingerprint:
            said.append(
                "the models were tested on different splits, so that part of any difference is luck of the draw"
            )
        if a.importance.measure != b.importance.measure:
            said.append(f"importance is a {a.importance.change} on one card and a {b.importance.change} on the other")
        return tuple(said)

    def rows(self) -> list[dict[str, object]]:
        """The rows of both cards; `learner` says whose each is."""
        named_rows = []
        for name, card in zip(self.names, (self.first, self.second), strict=True):
            named_rows += [row | {"learner": name} for row in card.rows()]
        return named_rows

    def facts(self) -> dict[str, object]:
        """Both cards, each as its own document."""
        return {
            "cards": [{"schema": card.schema, **card.facts()} for card in (self.first, self.second)],
            "notes": list(self.differences),
        }

    def blocks(self) -> list[Block]:
        """One table, a line for each figure."""
        lines = [*_performance(self.first, self.second), *LINES]
        rows: list[tuple[Cell, ...]] = []
        for name, read in lines:
            rows.append((name, read(self.first), read(self.second)))
        columns = (Column(""), *(Column(name, wrap=True) for name in self.names))
        a = self.first
        where = f"{a.source or 'data'} · {count(a.n)} cases · {100 * a.level:g} % intervals"
        notes = [Note(f"{text[0].upper()}{text[1:]}.", "warning") for text in self.differences]
        which = Prose("Which is better on the same cases: heldout compare.")
        return [Title(f"{self.names[0]} beside {self.names[1]}", where), Table(columns, tuple(rows)), which, *notes]


def _performance(a: Card, b: Card) -> list[Line]:
    """A line for each measure that either card names."""
    titles = dict.fromkeys((*a.performance.named, *b.performance.named))
    return [(title, _estimate(title)) for title in titles]


def _estimate(title: str) -> Callable[[Card], str]:
    def read(card: Card) -> str:
        held = dict(zip(card.performance.named, card.performance.estimates, strict=True))
        e = held.get(title)
        return "–" if e is None else words.with_limits(Share(e.value, e.low, e.high))

    return read


def _first_features(card: Card) -> str:
    found = card.importance
    if found.undefined:
        return found.undefined
    return ", ".join(f"{named(one.feature)} ({one.value:.3g})" for one in found.features[:FIRST_FEATURES])


def _used(card: Card) -> str:
    used = "?" if math.isnan(card.size.used) else count(card.size.used)
    return f"{used} of {count(card.size.features)}"


def _useful(card: Card) -> str:
    found = card.usefulness
    return found.undefined or words.ranges_text(found.better) or "nowhere"


def _gain(card: Card) -> str:
    best = card.usefulness.best
    return "–" if best is None else words.with_limits(Share(best.gain, best.gain_low, best.gain_high))


LINES: tuple[Line, ...] = (
    ("reading", lambda card: card.size.reading.verdict),
    ("kind", lambda card: card.size.kind),
    ("parameters", lambda card: card.size.unknown or count(card.size.parameters)),
    ("trees", lambda card: count(card.size.trees)),
    ("leaves", lambda card: count(card.size.leaves)),
    ("depth", lambda card: count(card.size.depth)),
    ("stored cases", lambda card: count(card.size.cases + card.size.vectors)),
    ("features used", _used),
    ("pickled", lambda card: words.bytes_text(card.size.bytes)),
    ("leans on", _first_features),
    ("order over folds (tau)", lambda card: words.with_limits(Share(card.importance.stability.kendall))),
    ("same as a small tree", lambda card: words.with_limits(card.fidelity.agreement)),
    ("the tree is right", lambda card: words.with_limits(card.fidelity.accuracy)),
    ("one row", lambda card: words.seconds_text(card.speed.single.median)),
    ("1,000 rows", lambda card: words.seconds_text(card.speed.batch.median)),
    ("memory for these", lambda card: words.bytes_text(card.speed.peak_bytes)),
    ("useful at thresholds", _useful),
    ("largest gain", _gain),
    ("unanswered", lambda card: f"{len(card.unanswered)} of {len(card.answers.texts)}"),
)
