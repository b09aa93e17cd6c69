"""The card on a page of its own: a section for each part, with importance and net benefit drawn."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from heldout.cards import words
from heldout.cards.fidelity import REFERENCE as LIKENESS
from heldout.cards.screen import importance_table, performance_blocks, question_table, rule_table, size_table
from heldout.cards.speed import VARIES
from heldout.cards.usefulness import REFERENCE as BENEFIT
from heldout.show.blocks import Block, Column, Note, Prose, Section, Table, Title, Verbatim
from heldout.show.drawing import Axis, Chart, Dots, Ribbon, Stroke
from heldout.show.fitting import shorten
from heldout.show.numbers import share
from heldout.show.printable import visible

if TYPE_CHECKING:
    from heldout.cards.card import Card

DRAWN_FEATURES = 20
NAMED_FEATURES = 6
TICK = 14


def card_page_blocks(card: Card) -> list[Block]:
    """The whole card, a section for each part."""
    return [
        Title(words.title_text(card), f"card of a model · seed {card.seed} · splits {card.fingerprint or 'none'}"),
        Section(
            "Performance", (*performance_blocks(card, full=True), Prose(words.commonest_sentence(card))), "performance"
        ),
        Section("Size and complexity", _size(card), "size"),
        Section("What it leans on", _importance(card), "importance"),
        Section("A small tree in its place", _fidelity(card), "fidelity"),
        Section("Speed and memory", _speed(card), "speed"),
        Section("Usefulness", _usefulness(card), "usefulness"),
        Section("For a person to answer", (Prose(words.questions_sentence(card)), question_table(card)), "questions"),
        *(Note(f"{text[:1].upper()}{text[1:].rstrip('.')}.", "warning") for text in card.notes),
    ]


def _size(card: Card) -> tuple[Block, ...]:
    limits = card.size.reading.limits
    return Prose(words.size_sentence(card)), size_table(card), Note(f"Limits: {limits.reference}.")


def _importance(card: Card) -> tuple[Block, ...]:
    found = card.importance
    if found.undefined:
        return (Prose(f"Not measured: {found.undefined}."),)
    where = f"the test part of each of {found.folds:,} folds" if found.folds > 1 else "the test part"
    times = f"{found.shuffles} times" if found.shuffles > 1 else "once"
    how = f"Each column was shuffled {times} in {where}; intervals by {found.method}. {found.reference}."
    blocks: list[Block] = [importance_chart(card), importance_table(card, found.features)]
    blocks.append(Prose(words.stability_sentence(card)))
    if found.related:
        blocks.append(Note(words.related_sentence(card)))
    return (*blocks, Note(how), *(Note(f"{text[:1].upper()}{text[1:].rstrip('.')}.") for text in found.notes))


def importance_chart(card: Card) -> Chart:
    """The importance of the first features as dots with their intervals."""
    found = card.importance
    shown = [one for one in found.features if math.isfinite(one.value)][:DRAWN_FEATURES]
    places = tuple(float(at) for at in range(1, len(shown) + 1))
    values = tuple(one.value for one in shown)
    lows = tuple(one.value if math.isnan(one.low) else one.low for one in shown)
    highs = tuple(one.value if math.isnan(one.high) else one.high for one in shown)
    # Names of many features would lie over each other; the table has them in the same order.
    few = len(shown) <= NAMED_FEATURES
    texts = [shorten(visible(one.feature), TICK) if few else f"{at:g}" for at, one in zip(places, shown, strict=True)]
    ticks = tuple(zip(places, texts, strict=True))
    room = 0.05 * max([*highs, 1e-3])
    first = visible(shown[0].feature) if shown else "nothing"
    return Chart(
        "Importance of the features",
        f"The {found.change} when each of {len(shown)} features is shuffled, with intervals. The greatest is that of "
        f"{shorten(first, 60)}.",
        Axis("feature" if few else "feature, by its place in the table", 0.5, len(shown) + 0.5, ticks),
        Axis(found.change, min([0.0, *lows]) - room, max([*highs, 1e-3]) + room),
        strokes=(Stroke((0.5, len(shown) + 0.5), (0.0, 0.0), tone="quiet", dashed=True),),
        dots=(Dots(places, values, lows, highs),),
        shape="wide",
        headers=("rank", found.change, "low", "high"),
        points=tuple(zip(places, values, lows, highs, strict=True)),
    )


def _fidelity(card: Card) -> tuple[Block, ...]:
    found = card.fidelity
    if found.tree is None:
        return (Prose(words.fidelity_sentence(card)),)
    how = f"Fitted to the model's answers on training parts, compared on test parts; {found.method}. {LIKENESS}."
    notes = (Note(f"{text[:1].upper()}{text[1:].rstrip('.')}.") for text in found.notes)
    return Prose(words.fidelity_sentence(card)), Verbatim(found.text), rule_table(found.tree), Note(how), *notes


def _speed(card: Card) -> tuple[Block, ...]:
    found = card.speed
    if found.undefined:
        return (Prose(words.speed_sentence(card)),)
    columns = tuple(Column(name, "right") for name in ("rows", "median", "90 % within", "rows a second", "repeats"))
    rows = tuple(
        (
            timing.rows,
            words.seconds_text(timing.median),
            words.seconds_text(timing.slow),
            words.rounded(timing.rows_per_second),
            timing.repeats,
        )
        for timing in (found.single, found.batch)
    )
    memory = Prose(
        f"At most {words.bytes_text(found.peak_bytes)} more memory for {found.batch.rows:,} rows, as Python and NumPy "
        f"asked for it. {found.cores} cores, Python {found.python}."
    )
    return Table(columns, rows), memory, Note(f"{VARIES[0].upper()}{VARIES[1:]}.")


def _usefulness(card: Card) -> tuple[Block, ...]:
    found = card.usefulness
    if found.undefined:
        return (Prose(words.usefulness_sentence(card)),)
    return Prose(words.usefulness_sentence(card)), benefit_chart(card), Note(f"Limits: {found.method}. {BENEFIT}.")


def benefit_chart(card: Card) -> Chart:
    """Net benefit of the model, of acting on everybody and of acting on nobody."""
    found = card.usefulness
    x = tuple(point.threshold for point in found.points)
    benefit = tuple(point.benefit for point in found.points)
    low, high = (tuple(getattr(point, name) for point in found.points) for name in ("low", "high"))
    everyone = tuple(point.everyone for point in found.points)
    top = max([0.01, *(end for end in (*benefit, *high, *everyone) if math.isfinite(end))])
    # What lies far below nothing says no more than that it is bad.
    floor = -0.25 * top
    banded = all(math.isfinite(end) for end in (*low, *high))

    def kept(values: tuple[float, ...]) -> tuple[float, ...]:
        return tuple(max(value, floor) for value in values)

    return Chart(
        "Net benefit",
        f"Net benefit against the threshold. {words.usefulness_sentence(card)}",
        Axis("threshold probability", 0.0, 1.0),
        Axis("net benefit (true positives per case)", floor, top * 1.05),
        strokes=(
            Stroke(x, kept(benefit), "the model"),
            Stroke(x, tuple(value if value >= floor else math.nan for value in everyone), "everybody", "second"),
            Stroke((0.0, 1.0), (0.0, 0.0), "nobody", "quiet", dashed=True),
        ),
        ribbons=(Ribbon(x, kept(low), kept(high)),) if banded else (),
        detail=""
        if found.best is None
        else f"largest gain {share(found.best.gain)} at {share(found.best.threshold, 2)}",
        shape="wide",
        headers=("threshold", "model", "low", "high", "everybody"),
        points=tuple(zip(x, benefit, low, high, everyone, strict=True)),
    )
