"""Figures of a card in words: sizes, times, ranges of thresholds, and a sentence for each part."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from heldout.arguments import listing
from heldout.cards.fidelity import Share
from heldout.cards.questions import listed
from heldout.cards.surrogate import named
from heldout.show.numbers import UNDEFINED, count, limits, percent, share

if TYPE_CHECKING:
    from heldout.cards.card import Card
    from heldout.cards.usefulness import Ranges

SHOWN_PAIRS = 3


def bytes_text(size: float) -> str:
    """A number of bytes as people write it.

    >>> bytes_text(512.0), bytes_text(20_480.0), bytes_text(3.2e6)
    ('512 B', '20.5 kB', '3.20 MB')
    """
    if math.isnan(size):
        return UNDEFINED
    for unit, name in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if size >= unit:
            return f"{size / unit:.3g} {name}" if size / unit >= 10 else f"{size / unit:.2f} {name}"
    return f"{size:.0f} B"


def seconds_text(seconds: float) -> str:
    """A short time as people write it.

    >>> seconds_text(0.00042), seconds_text(0.0123), seconds_text(2.5)
    ('420 µs', '12.3 ms', '2.5 s')
    """
    if math.isnan(seconds):
        return UNDEFINED
    for unit, name in ((1.0, "s"), (1e-3, "ms")):
        if seconds >= unit:
            return f"{seconds / unit:.3g} {name}"
    return f"{seconds / 1e-6:.3g} µs"


def rounded(number: float) -> str:
    """A large number to two digits.

    >>> rounded(120_124.0)
    '120,000'
    """
    return UNDEFINED if math.isnan(number) else f"{float(f'{number:.2g}'):,.0f}"


def ranges_text(ranges: Ranges) -> str:
    """Ranges of thresholds.

    >>> ranges_text(((0.05, 0.4), (0.6, 0.6)))
    '.05 to .40 and .60'
    """
    ends = [share(a, 2) if a == b else f"{share(a, 2)} to {share(b, 2)}" for a, b in ranges]
    return " and ".join([", ".join(ends[:-1]), ends[-1]]) if len(ends) > 1 else "".join(ends)


def with_limits(found: Share) -> str:
    """A share with its interval in brackets, where there is one."""
    if math.isnan(found.value):
        return UNDEFINED
    return share(found.value) if math.isnan(found.low) else f"{share(found.value)} [{limits(found.low, found.high)}]"


def size_sentence(card: Card) -> str:
    """What the model is made of, and whether a person can read it."""
    size = card.size
    if size.unknown:
        made = f"{size.kind}; {size.unknown}"
    else:
        parts = [f"{count(number)} {what}" for number, what in _counts(card) if number]
        made = f"{size.kind}: {listing(parts, most=6)}"
    used = (
        f"{count(size.used)} of {count(size.features)} features used"
        if size.used == size.used
        else f"{count(size.features)} features; {size.used_how}"
    )
    pickled = size.bytes_why or f"{bytes_text(size.bytes)} when pickled"
    verdict = f"{size.reading.verdict[0].upper()}{size.reading.verdict[1:]}"
    return f"{verdict}: {_lower(size.reading.sentence)}\n{made}; {used}; {pickled}."


def _counts(card: Card) -> list[tuple[float, str]]:
    size = card.size
    return [
        (size.trees if size.trees > 1 else 0, "trees"),
        (size.leaves, "leaf" if size.leaves == 1 else "leaves"),
        (size.depth, "deep"),
        (size.vectors, "support vectors"),
        (size.cases, "stored cases"),
        (0 if size.trees or size.vectors or size.cases else size.parameters, size.what),
        (size.preparation, "numbers of its preparation"),
    ]


def stability_sentence(card: Card) -> str:
    """Whether the folds agree on which features matter."""
    found = card.importance.stability
    if found.undefined:
        return f"Stability over folds does not apply: {found.undefined}."
    return (
        f"Over the folds the order of the features agrees by Kendall's tau {share(found.kendall)} and Spearman's rho "
        f"{share(found.spearman)}; the first {found.top} by Kuncheva's index {share(found.kuncheva)}."
    )


def related_sentence(card: Card) -> str:
    """Which features say nearly the same and so share their importance."""
    pairs = card.importance.related
    shown = listing(
        (f"{named(p.first)} and {named(p.second)} ({p.how} {share(p.strength, 2)})" for p in pairs), most=SHOWN_PAIRS
    )
    return f"Features that go together share their importance, so that each looks less needed than it is: {shown}."


def fidelity_sentence(card: Card) -> str:
    """How far a small tree can stand for the model."""
    found = card.fidelity
    if found.undefined:
        return f"No tree was fitted: {found.undefined}."
    beyond = (
        f"Beyond its commonest answer, {named(found.commonest_answer)} ({share(found.commonest)}), that is "
        f"{with_limits(found.beyond)} of the way to a perfect likeness."
        if not math.isnan(found.beyond.value)
        else f"{found.beyond.undefined[0].upper()}{found.beyond.undefined[1:]}."
    )
    return (
        f"A tree of at most {found.depth} questions says what the model says for {with_limits(found.agreement)} of the "
        f"test cases. {beyond} The tree itself is right for {with_limits(found.accuracy)}."
    )


def speed_sentence(card: Card) -> str:
    """How long predictions take, and what they need."""
    found = card.speed
    if found.undefined:
        return f"Not timed: {found.undefined}."
    one, many = found.single, found.batch
    return (
        f"One row {seconds_text(one.median)} (90 % within {seconds_text(one.slow)}); {count(many.rows)} rows "
        f"{seconds_text(many.median)} ({seconds_text(many.slow)}), {rounded(many.rows_per_second)} rows a second; "
        f"at most {bytes_text(found.peak_bytes)} more memory. {found.cores} cores, Python {found.python}; timings vary."
    )


def usefulness_sentence(card: Card) -> str:
    """Where acting on the model beats acting on everybody and on nobody."""
    found = card.usefulness
    if found.undefined:
        return f"Net benefit does not apply: {found.undefined}."
    if found.best is None:
        return "At no threshold is it better than acting on everybody or on nobody."
    best = found.best
    gain = with_limits(Share(best.gain, best.gain_low, best.gain_high))
    sure = f"beyond doubt at {ranges_text(found.surely)}" if found.surely else "nowhere beyond doubt"
    sure = sure if found.method else "how sure that is, this plan does not tell"
    return (
        f"Better than acting on everybody and on nobody at thresholds {ranges_text(found.better)}; {sure}. The largest "
        f"gain is {gain} true positives per case, at {share(best.threshold, 2)}; it is the largest of many."
    )


def questions_sentence(card: Card) -> str:
    """Which of the questions that only a person can answer are open."""
    open_, asked = card.unanswered, len(card.answers.texts)
    if not open_:
        return f"All {asked} questions that only a person can answer have an answer."
    return f"{len(open_)} of {asked} questions that only a person can answer are unanswered: {listed(open_)}."


def title_text(card: Card) -> str:
    """What the card is about."""
    parts = [card.learner, *([card.source] if card.source else []), card.plan, f"{count(card.n)} cases"]
    parts += [f"{len(card.labels)} classes", f"{count(len(card.features))} features"]
    if card.positive is not None:
        parts.append(f"positive class: {card.positive}")
    return " · ".join(parts)


def commonest_sentence(card: Card) -> str:
    """How common the commonest class is."""
    found = card.performance
    return f"The commonest class, {named(str(found.commonest))}, has {percent(found.commonest_share)} of the cases."


def _lower(text: str) -> str:
    return f"{text[:1].lower()}{text[1:]}" if text[:1].isalpha() else text
