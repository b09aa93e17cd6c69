"""The card of a model: its size, feature importance, a surrogate tree, its speed, its use, open questions."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar

from heldout.arguments import write_sentence
from heldout.cards import card_report
from heldout.cards.card_report import card_blocks, card_page_blocks
from heldout.cards.importance import Importance
from heldout.cards.questions import Answers, questionnaire, read_answers
from heldout.cards.size_and_speed import Size, Speed
from heldout.cards.surrogate import Fidelity, Share, shorten_name
from heldout.cards.usefulness import Performance, Usefulness
from heldout.errors import OptionError
from heldout.evidence import Label
from heldout.result import Result
from heldout.show.blocks import Block, Cell, Column, Note, Prose, Table, Title
from heldout.show.numbers import count


@dataclass(frozen=True, repr=False, eq=False)
class Card(Result):
    """What can be said of a model beyond its errors, in a form that can be compared.

    Every part is a frozen dataclass of its own; what is undefined is nan with a reason. The same seed gives the same
    card, but for the part on speed.

    >>> import heldout
    >>> features, truth = [[0.1], [0.4], [0.3], [0.2], [0.6], [0.8]] * 10, [0, 0, 0, 1, 1, 1] * 10
    >>> made = heldout.card("tree:2", features, truth, plan="3-fold", shuffles=2, timing=False)
    >>> made.to_dict()["schema"]
    'heldout/card@1'
    """

    schema: ClassVar[str] = "heldout/card@1"
    _charts: ClassVar[Mapping[str, str]] = {
        "importance": "heldout.cards.card_report:importance_chart",
        "net_benefit": "heldout.cards.card_report:benefit_chart",
    }

    learner: str
    source: str
    plan: str
    n: int
    labels: tuple[Label, ...]
    positive: Label | None
    features: tuple[str, ...]
    level: float
    seed: int
    performance: Performance
    size: Size
    importance: Importance
    fidelity: Fidelity
    speed: Speed
    usefulness: Usefulness
    answers: Answers = field(default_factory=Answers)
    notes: tuple[str, ...] = ()
    fingerprint: str = ""

    def _describe(self) -> str:
        return f"Card of {self.learner}, {self.n:,} cases"

    def answered(self, **answers: str | None) -> Card:
        """The same card with answers to some of the questions that only a person can answer."""
        return replace(self, answers=self.answers.given(**answers))

    def with_answers(self, source: object) -> Card:
        """The same card with the answers of a dictionary or of a TOML file."""
        new = read_answers(source)
        given = {question.name: text for question, text in new.pairs() if text is not None}
        return replace(self, answers=self.answers.given(**given))

    @property
    def unanswered(self) -> tuple[str, ...]:
        """The questions to which the card has no answer, by name."""
        return self.answers.unanswered

    def questions(self) -> str:
        """The questions as a TOML file to be filled in, with the answers that there are."""
        return questionnaire(self.answers)

    def beside(self, other: Card) -> CardPair:
        """Two cards side by side."""
        return CardPair(self, other)

    def rows(self) -> list[dict[str, object]]:
        """One row per figure; `part` says where on the card it stands, and `feature` which one it is about."""
        rows: list[dict[str, object]] = []
        for estimate in self.performance.estimates:
            row = estimate.rows()[0]
            rows.append(self._row("performance", row["measure"], Share(row["value"], row["low"], row["high"]), row))
        for name, value, why in self.size.figures():
            rows.append(self._row("size", name, Share(value, undefined=why)))
        rows += self._importance_rows()
        method = {"method": self.fidelity.method, "n": self.fidelity.n}
        for name, share in (
            ("agreement", self.fidelity.agreement),
            ("agreement_beyond_commonest", self.fidelity.beyond),
            ("tree_accuracy", self.fidelity.accuracy),
        ):
            rows.append(self._row("fidelity", name, share, method))
        rows += self._speed_rows()
        best, useful = self.usefulness.best, self.usefulness
        gain = Share(math.nan, undefined=useful.undefined or "it is nowhere better than both")
        if best is not None:
            gain = Share(best.gain, best.gain_low, best.gain_high)
        more = {"class": useful.positive, "method": useful.method, "n": useful.n}
        rows.append(self._row("usefulness", "largest_net_benefit_gain", gain, more))
        rows.append(self._row("questions", "unanswered", Share(float(len(self.unanswered)))))
        return rows

    def _row(
        self, part: str, measure: object, share: Share, more: Mapping[str, object] | None = None
    ) -> dict[str, object]:
        extra = more or {}
        return {
            "measure": measure,
            "class": extra.get("class"),
            "average": extra.get("average"),
            "value": share.value,
            "low": share.low,
            "high": share.high,
            "level": self.level,
            "method": extra.get("method", "counted"),
            "n": extra.get("n", self.n),
            "undefined": extra.get("undefined") or share.undefined,
            "part": part,
            "feature": extra.get("feature"),
            "learner": self.learner,
        }

    def _importance_rows(self) -> list[dict[str, object]]:
        importance, steady = self.importance, self.importance.stability
        how = {"method": importance.method, "n": importance.cases}
        rows = [
            self._row(
                "importance",
                f"{importance.measure}_importance",
                Share(feature.value, feature.low, feature.high, feature.undefined),
                how | {"feature": feature.feature},
            )
            for feature in importance.features
        ]
        why = importance.undefined or steady.undefined
        method = {"method": f"mean over {steady.pairs} pairs of folds", "n": importance.cases}
        named = (("kendall", steady.kendall, why), ("spearman", steady.spearman, why))
        overlap = ("kuncheva", steady.kuncheva, importance.undefined or steady.kuncheva_undefined)
        for name, value, reason in (*named, overlap):
            rows.append(self._row("importance", f"{name}_stability", Share(value, undefined=reason), method))
        return rows

    def _speed_rows(self) -> list[dict[str, object]]:
        rows, speed = [], self.speed
        for name, timing in (("single", speed.single), ("batch", speed.batch)):
            how: dict[str, object] = {"method": f"timed {timing.repeats} times", "n": timing.rows}
            rows += [
                self._row("speed", f"{name}_median_seconds", Share(timing.median, undefined=speed.undefined), how),
                self._row("speed", f"{name}_p90_seconds", Share(timing.slow, undefined=speed.undefined), how),
            ]
        traced = {"method": "tracemalloc", "n": speed.batch.rows}
        return [*rows, self._row("speed", "peak_bytes", Share(speed.peak_bytes, undefined=speed.undefined), traced)]

    def facts(self) -> dict[str, object]:
        """The whole card as a structured document."""
        return {
            "learner": self.learner,
            "source": self.source,
            "plan": self.plan,
            "n": self.n,
            "labels": list(self.labels),
            "positive": self.positive,
            "features": list(self.features),
            "level": self.level,
            "seed": self.seed,
            "fingerprint": self.fingerprint,
            "performance": self.performance.document(),
            "size": self.size.document(),
            "importance": self.importance.document(),
            "fidelity": self.fidelity.document(),
            "speed": self.speed.document(),
            "usefulness": self.usefulness.document(),
            "questions": self.answers.document(),
            "notes": list(self.notes),
        }

    def blocks(self) -> list[Block]:
        """The card, short enough for one screen."""
        return card_blocks(self)

    def full_blocks(self) -> list[Block]:
        """The card with every feature, every answer and every figure."""
        return card_blocks(self, full=True)

    def page_blocks(self) -> list[Block]:
        """The card on a page of its own, with charts."""
        return card_page_blocks(self)


FIRST_FEATURES = 3
# Reads one figure off a card.
Line = tuple[str, Callable[[Card], str]]


@dataclass(frozen=True, repr=False, eq=False)
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
        notes = []
        if (a.source, a.n, a.labels) != (b.source, b.n, b.labels):
            notes.append("the cards are of different data, so that their figures do not compare")
        elif a.fingerprint != b.fingerprint:
            notes.append(
                "the models were tested on different splits, so that part of any difference is luck of the draw"
            )
        if a.importance.measure != b.importance.measure:
            notes.append(f"importance is a {a.importance.change} on one card and a {b.importance.change} on the other")
        return tuple(notes)

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
        notes = [Note(write_sentence(text), "warning") for text in self.differences]
        which = Prose("Which is better on the same cases: heldout compare.")
        return [Title(f"{self.names[0]} beside {self.names[1]}", where), Table(columns, tuple(rows)), which, *notes]


def _performance(a: Card, b: Card) -> list[Line]:
    """A line for each measure that either card names."""
    titles = dict.fromkeys((*a.performance.named, *b.performance.named))
    return [(title, _estimate(title)) for title in titles]


def _estimate(title: str) -> Callable[[Card], str]:
    def read(card: Card) -> str:
        estimates = dict(zip(card.performance.named, card.performance.estimates, strict=True))
        e = estimates.get(title)
        return "–" if e is None else card_report.with_limits(Share(e.value, e.low, e.high))

    return read


def _first_features(card: Card) -> str:
    importance = card.importance
    if importance.undefined:
        return importance.undefined
    return ", ".join(
        f"{shorten_name(feature.feature)} ({feature.value:.3g})" for feature in importance.features[:FIRST_FEATURES]
    )


def _used(card: Card) -> str:
    used = "?" if math.isnan(card.size.used) else count(card.size.used)
    return f"{used} of {count(card.size.features)}"


def _useful(card: Card) -> str:
    usefulness = card.usefulness
    return usefulness.undefined or card_report.ranges_text(usefulness.better) or "nowhere"


def _gain(card: Card) -> str:
    best = card.usefulness.best
    return "–" if best is None else card_report.with_limits(Share(best.gain, best.gain_low, best.gain_high))


LINES: tuple[Line, ...] = (
    ("reading", lambda card: card.size.reading.verdict),
    ("kind", lambda card: card.size.kind),
    ("parameters", lambda card: card.size.unknown or count(card.size.parameters)),
    ("trees", lambda card: count(card.size.trees)),
    ("leaves", lambda card: count(card.size.leaves)),
    ("depth", lambda card: count(card.size.depth)),
    ("stored cases", lambda card: count(card.size.cases + card.size.vectors)),
    ("features used", _used),
    ("pickled", lambda card: card_report.bytes_text(card.size.bytes)),
    ("most important features", _first_features),
    ("order over folds (tau)", lambda card: card_report.with_limits(Share(card.importance.stability.kendall))),
    ("same as a surrogate tree", lambda card: card_report.with_limits(card.fidelity.agreement)),
    ("the tree is right", lambda card: card_report.with_limits(card.fidelity.accuracy)),
    ("one row", lambda card: card_report.seconds_text(card.speed.single.median)),
    ("1,000 rows", lambda card: card_report.seconds_text(card.speed.batch.median)),
    ("memory for these", lambda card: card_report.bytes_text(card.speed.peak_bytes)),
    ("useful at thresholds", _useful),
    ("largest gain", _gain),
    ("unanswered", lambda card: f"{len(card.unanswered)} of {len(card.answers.texts)}"),
)
