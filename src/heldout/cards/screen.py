"""The card as it reads: one screen, or with everything that it holds."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from heldout.cards import words
from heldout.cards.importance import FeatureImportance
from heldout.cards.questions import UNANSWERED
from heldout.cards.surrogate import Fork, Leaf, Node, named
from heldout.estimates.track import track_floor
from heldout.show.blocks import Block, Cell, Column, Note, Number, Prose, Range, Span, Style, Table, Title, Verbatim
from heldout.show.numbers import digits_between

if TYPE_CHECKING:
    from heldout.cards.card import Card

SHOWN_FEATURES = 8
SHOWN_ESTIMATES = 3


def card_blocks(card: Card, *, full: bool = False) -> list[Block]:
    """The card; `full` adds every feature, figure and question."""
    blocks: list[Block] = [Title(words.title_text(card), f"card of a model · seed {card.seed}")]
    blocks += performance_blocks(card, full=full)
    blocks.append(Prose(words.size_sentence(card), label="Size"))
    if full:
        blocks.append(size_table(card))
    blocks += importance_blocks(card, full=full)
    blocks.append(Prose(words.fidelity_sentence(card), label="Likeness"))
    if card.fidelity.tree is not None:
        blocks.append(Verbatim(card.fidelity.text))
    blocks += [Note(_sentence(text)) for text in card.fidelity.notes]
    blocks.append(Prose(words.speed_sentence(card), label="Speed"))
    blocks.append(Prose(words.usefulness_sentence(card), label="Use"))
    blocks.append(Prose(words.questions_sentence(card), label="Open"))
    answered = len(card.unanswered) < len(card.answers.texts)
    if full or answered:
        blocks.append(question_table(card, unanswered=full))
    return [*blocks, *(Note(_sentence(text), "warning") for text in card.notes)]


def performance_blocks(card: Card, *, full: bool) -> list[Block]:
    """The verdict and the measures behind it."""
    found = card.performance
    estimates = list(zip(found.named, found.estimates, strict=True))
    shown = estimates if full else estimates[:SHOWN_ESTIMATES]
    floor = track_floor(e for _, e in shown)
    rows = tuple(
        (
            name,
            Number(e.value, e.style, e.digits),
            Range(e.low, e.high, e.style, e.digits),
            None if math.isnan(e.value) or e.style != "share" else Span(e.value, e.low, e.high, floor),
        )
        for name, e in shown
    )
    columns = (Column("measure"), Column("value", "right"), Column(f"{100 * card.level:g} % interval"), Column(""))
    return [Prose(found.verdict, label="Verdict"), Table(columns, rows)]


def importance_blocks(card: Card, *, full: bool) -> list[Block]:
    """The features by importance, whether the folds agree, and which features go together."""
    found = card.importance
    if found.undefined:
        return [Prose(f"Not measured: {found.undefined}.", label="Importance")]
    shown = found.features if full else _first(found.features)
    blocks: list[Block] = [importance_table(card, shown), Prose(words.stability_sentence(card), label="Stability")]
    hidden = found.features[len(shown) :]
    if hidden:
        most = max((one.value for one in hidden if not math.isnan(one.value)), default=math.nan)
        number = "1 feature" if len(hidden) == 1 else f"{len(hidden):,} features"
        are = "is" if len(hidden) == 1 else "are"
        blocks.append(Note(f"{number} with an importance of at most {most:.3g} {are} not shown."))
    if found.related:
        blocks.append(Note(words.related_sentence(card)))
    return [*blocks, *(Note(_sentence(text)) for text in found.notes)]


def _first(features: tuple[FeatureImportance, ...]) -> tuple[FeatureImportance, ...]:
    """The features of a screen: those first in order, but of equals that are worth nothing all or none."""
    shown, hidden = features[:SHOWN_FEATURES], features[SHOWN_FEATURES:]
    if hidden and hidden[0].value <= 0:
        shown = tuple(one for one in shown if one.value > hidden[0].value) or shown[:1]
    return shown


def importance_table(card: Card, shown: tuple[FeatureImportance, ...]) -> Table:
    """One line per feature: what shuffling it costs, with the interval drawn on one track for all."""
    found = card.importance
    ends = [end for one in shown for end in (one.value, one.low, one.high) if math.isfinite(end)]
    floor, ceiling = min([0.0, *ends]), max([1e-9, *ends])
    style: Style = "plain" if found.measure == "log_loss" else "share"
    rows: list[tuple[Cell, ...]] = []
    for one in shown:
        digits = digits_between(one.low, one.high) if style == "share" else None
        span = None if math.isnan(one.low) else Span(one.value, one.low, one.high, floor, ceiling)
        rows.append(
            (named(one.feature), Number(one.value, style, digits), Range(one.low, one.high, style, digits), span)
        )
    columns = (
        Column("feature, shuffled"),
        Column(found.change, "right"),
        Column(f"{100 * card.level:g} % interval"),
        Column(""),
    )
    return Table(columns, tuple(rows))


def size_table(card: Card) -> Table:
    """Every figure of the size."""
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (name.replace("_", " "), Number(value, "count"), why) for name, value, why in card.size.figures()
    )
    return Table((Column("size"), Column("", "right"), Column("", wrap=True)), rows)


def question_table(card: Card, *, unanswered: bool = True) -> Table:
    """Every question with its answer, or the word that it has none; or those alone that have one."""
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (question.name.replace("_", " "), question.text, UNANSWERED if answer is None else answer)
        for question, answer in card.answers.pairs()
        if unanswered or answer is not None
    )
    return Table((Column("for a person"), Column("question", wrap=True), Column("answer", wrap=True)), rows)


def rule_table(node: Node) -> Table:
    """The tree as rules, one for each answer."""
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (" and ".join(conditions) or "always", named(leaf.answer), leaf.cases, Number(leaf.share, "percent"))
        for conditions, leaf in rules(node)
    )
    columns = (Column("if", wrap=True), Column("answer"), Column("cases", "right"), Column("as the model", "right"))
    return Table(columns, rows)


def rules(node: Node, before: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], Leaf]]:
    """The conditions on the way to every answer.

    >>> rules(Fork("a ≤ 1", "a > 1", Leaf("no", 3, 1.0), Leaf("yes", 2, 1.0)))[1][0]
    ('a > 1',)
    """
    if isinstance(node, Fork):
        return [*rules(node.yes, (*before, node.holds)), *rules(node.no, (*before, node.fails))]
    return [(before, node)]


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."
