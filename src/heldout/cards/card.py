"""The card of a model: its size, what it leans on, a small tree in its place, its speed, its use, open questions."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar

from heldout.cards.fidelity import Fidelity, Share
from heldout.cards.importance import Importance
from heldout.cards.page import card_page_blocks
from heldout.cards.performance import Performance
from heldout.cards.questions import Answers, questionnaire, read_answers
from heldout.cards.screen import card_blocks
from heldout.cards.size import Size
from heldout.cards.speed import Speed
from heldout.cards.usefulness import Usefulness
from heldout.evidence import Label
from heldout.result import Result
from heldout.show.blocks import Block

if TYPE_CHECKING:
    from heldout.cards.comparison import CardPair


@dataclass(frozen=True, repr=False)
class Card(Result):
    """What can be said of a model beyond its errors, in a form that can be compared.

    Every part is a frozen dataclass of its own; what is undefined is nan with a reason. The same seed gives the same
    card, but for the part on speed.
    """

    schema: ClassVar[str] = "heldout/card@1"

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

    def __repr__(self) -> str:
        return f"<Card of {self.learner}, {self.n:,} cases; print it to read it>"

    def answered(self, **answers: str | None) -> Card:
        """The same card with answers to some of the questions that only a person can answer."""
        return replace(self, answers=self.answers.given(**answers))

    def with_answers(self, source: object) -> Card:
        """The same card with the answers of a dictionary or of a TOML file."""
        found = read_answers(source)
        given = {question.name: text for question, text in found.pairs() if text is not None}
        return replace(self, answers=self.answers.given(**given))

    @property
    def unanswered(self) -> tuple[str, ...]:
        """The names of the questions that nobody answered."""
        return self.answers.unanswered

    def questions(self) -> str:
        """The questions as a TOML file to be filled in, with the answers that there are."""
        return questionnaire(self.answers)

    def beside(self, other: Card) -> CardPair:
        """Two cards side by side."""
        from heldout.cards.comparison import CardPair

        return CardPair(self, other)

    def rows(self) -> list[dict[str, object]]:
        """One row per figure; `part` says where on the card it stands, and `feature` which one it is about."""
        made: list[dict[str, object]] = []
        for estimate in self.performance.estimates:
            row = estimate.rows()[0]
            made.append(self._row("performance", row["measure"], Share(row["value"], row["low"], row["high"]), row))
        for name, value, why in self.size.figures():
            made.append(self._row("size", name, Share(value, undefined=why)))
        made += self._importance_rows()
        method = {"method": self.fidelity.method, "n": self.fidelity.n}
        for name, share in (
            ("agreement", self.fidelity.agreement),
            ("agreement_beyond_commonest", self.fidelity.beyond),
            ("tree_accuracy", self.fidelity.accuracy),
        ):
            made.append(self._row("fidelity", name, share, method))
        made += self._speed_rows()
        best, useful = self.usefulness.best, self.usefulness
        gain = Share(math.nan, undefined=useful.undefined or "it is nowhere better than both")
        if best is not None:
            gain = Share(best.gain, best.gain_low, best.gain_high)
        more = {"class": useful.positive, "method": useful.method, "n": useful.n}
        made.append(self._row("usefulness", "largest_net_benefit_gain", gain, more))
        made.append(self._row("questions", "unanswered", Share(float(len(self.unanswered)))))
        return made

    def _row(
        self, part: str, measure: object, share: Share, more: Mapping[str, object] | None = None
    ) -> dict[str, object]:
        held = more or {}
        return {
            "measure": measure,
            "class": held.get("class"),
            "average": held.get("average"),
            "value": share.value,
            "low": share.low,
            "high": share.high,
            "level": self.level,
            "method": held.get("method", "counted"),
            "n": held.get("n", self.n),
            "undefined": held.get("undefined") or share.undefined,
            "part": part,
            "feature": held.get("feature"),
            "learner": self.learner,
        }

    def _importance_rows(self) -> list[dict[str, object]]:
        found, steady = self.importance, self.importance.stability
        how = {"method": found.method, "n": found.cases}
        made = [
            self._row(
                "importance",
                f"{found.measure}_importance",
                Share(one.value, one.low, one.high, one.undefined),
                how | {"feature": one.feature},
            )
            for one in found.features
        ]
        why = found.undefined or steady.undefined
        method = {"method": f"mean over {steady.pairs} pairs of folds", "n": found.cases}
        named = (("kendall", steady.kendall, why), ("spearman", steady.spearman, why))
        overlap = ("kuncheva", steady.kuncheva, found.undefined or steady.kuncheva_undefined)
        for name, value, reason in (*named, overlap):
            made.append(self._row("importance", f"{name}_stability", Share(value, undefined=reason), method))
        return made

    def _speed_rows(self) -> list[dict[str, object]]:
        made, speed = [], self.speed
        for name, timing in (("single", speed.single), ("batch", speed.batch)):
            how: dict[str, object] = {"method": f"timed {timing.repeats} times", "n": timing.rows}
            made += [
                self._row("speed", f"{name}_median_seconds", Share(timing.median, undefined=speed.undefined), how),
                self._row("speed", f"{name}_p90_seconds", Share(timing.slow, undefined=speed.undefined), how),
            ]
        traced = {"method": "tracemalloc", "n": speed.batch.rows}
        return [*made, self._row("speed", "peak_bytes", Share(speed.peak_bytes, undefined=speed.undefined), traced)]

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
