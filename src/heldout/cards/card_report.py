"""How a card reads: its screen, its page, and a sentence for each part; the card itself is data.

It stands apart from `card`, as every report stands apart from its result.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from heldout.arguments import capitalize, listing, write_sentence
from heldout.cards.importance import FeatureImportance
from heldout.cards.questions import UNANSWERED, list_names
from heldout.cards.size_and_speed import VARIES
from heldout.cards.surrogate import REFERENCE as LIKENESS
from heldout.cards.surrogate import Fork, Leaf, Node, Share, shorten_name
from heldout.cards.usefulness import REFERENCE as BENEFIT
from heldout.errors import ValuesError
from heldout.report.evaluation import titled
from heldout.report.interval_chart import Mark, estimate_cells, forest_chart, track_floor
from heldout.show.blocks import (
    Block,
    Cell,
    Column,
    Note,
    Number,
    Prose,
    Range,
    Section,
    Span,
    Style,
    Table,
    Title,
    Verbatim,
    head_columns,
    head_interval,
)
from heldout.show.chart import Axis, Chart, Ribbon, Stroke
from heldout.show.numbers import UNDEFINED, count, digits_between, in_brackets, number_of, percent, share

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


def with_limits(figure: Share) -> str:
    """A share with its interval in brackets, where there is one."""
    if math.isnan(figure.value):
        return UNDEFINED
    return (
        share(figure.value)
        if math.isnan(figure.low)
        else f"{share(figure.value)} {in_brackets(figure.low, figure.high)}"
    )


def size_sentence(card: Card) -> str:
    """What the model is made of, and whether a person can read it."""
    size = card.size
    if size.unknown:
        contents = f"{size.kind}; {size.unknown}"
    else:
        parts = [f"{count(number)} {what}" for number, what in _counts(card) if number]
        contents = f"{size.kind}: {listing(parts, most=6)}"
    used = (
        f"{count(size.used)} of {number_of(size.features, 'feature')} used"
        if size.used == size.used
        else f"{number_of(size.features, 'feature')}; {size.used_how}"
    )
    pickled = size.bytes_why or f"{bytes_text(size.bytes)} when pickled"
    verdict = capitalize(size.reading.verdict)
    return f"{verdict}: {_lower(size.reading.sentence)}\n{contents}; {used}; {pickled}."


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
    stability = card.importance.stability
    if stability.undefined:
        return f"Stability over folds does not apply: {stability.undefined}."
    return (
        f"Over the folds the order of the features agrees by Kendall's tau {share(stability.kendall)} and Spearman's "
        f"rho {share(stability.spearman)}; the first {stability.top} by Kuncheva's index {share(stability.kuncheva)}."
    )


def related_sentence(card: Card) -> str:
    """Which features say nearly the same and so share their importance."""
    pairs = card.importance.related
    shown = listing(
        (f"{shorten_name(p.first)} and {shorten_name(p.second)} ({p.how} {share(p.strength, 2)})" for p in pairs),
        most=SHOWN_PAIRS,
    )
    return f"Features that go together share their importance, so that each looks less needed than it is: {shown}."


def fidelity_sentence(card: Card) -> str:
    """How far the tree of the card can stand for the model, in a sentence."""
    fidelity = card.fidelity
    if fidelity.undefined:
        return f"No tree was fitted: {fidelity.undefined}."
    beyond = (
        f"Beyond its commonest prediction, {shorten_name(fidelity.commonest_answer)} ({share(fidelity.commonest)}), "
        f"that is {with_limits(fidelity.beyond)} of the way to a perfect likeness."
        if not math.isnan(fidelity.beyond.value)
        else write_sentence(fidelity.beyond.undefined)
    )
    return (
        f"A tree of at most {fidelity.depth} questions says what the model says for {with_limits(fidelity.agreement)} "
        f"of the test cases. {beyond} The tree itself is right for {with_limits(fidelity.accuracy)}."
    )


def speed_sentence(card: Card) -> str:
    """How long predictions take, and what they need."""
    speed = card.speed
    if speed.undefined:
        return f"Not timed: {speed.undefined}."
    single, batch = speed.single, speed.batch
    return (
        f"One row {seconds_text(single.median)} (90 % within {seconds_text(single.slow)}); {count(batch.rows)} rows "
        f"{seconds_text(batch.median)} ({seconds_text(batch.slow)}), {rounded(batch.rows_per_second)} rows a second; "
        f"at most {bytes_text(speed.peak_bytes)} more memory. {speed.cores} cores, Python {speed.python}; timings vary."
    )


def usefulness_sentence(card: Card) -> str:
    """Where acting on the model beats acting on everybody and on nobody."""
    usefulness = card.usefulness
    if usefulness.undefined:
        return f"Net benefit does not apply: {usefulness.undefined}."
    if usefulness.best is None:
        return "At no threshold is it better than acting on everybody or on nobody."
    best = usefulness.best
    gain = with_limits(Share(best.gain, best.gain_low, best.gain_high))
    sure = f"beyond doubt at {ranges_text(usefulness.surely)}" if usefulness.surely else "nowhere beyond doubt"
    sure = sure if usefulness.method else "how sure that is, this plan does not tell"
    return (
        f"Better than acting on everybody and on nobody at thresholds {ranges_text(usefulness.better)}; {sure}. The "
        f"largest gain is {gain} true positives per case, at {share(best.threshold, 2)}; it is the largest of many."
    )


def questions_sentence(card: Card) -> str:
    """Which of the questions that only a person can answer are open."""
    open_, total = card.unanswered, len(card.answers.texts)
    if not open_:
        return f"All {total} questions that only a person can answer have an answer."
    return f"{len(open_)} of {total} questions that only a person can answer are unanswered: {list_names(open_)}."


def title_text(card: Card) -> str:
    """What the card is about."""
    parts = [card.learner, *([card.source] if card.source else []), card.plan, number_of(card.n, "case")]
    parts += [f"{len(card.labels)} classes", number_of(len(card.features), "feature")]
    if card.positive is not None:
        parts.append(f"positive class: {card.positive}")
    return " · ".join(parts)


def commonest_sentence(card: Card) -> str:
    """How common the commonest class is."""
    label, share = shorten_name(str(card.performance.commonest)), percent(card.performance.commonest_share)
    return f"The commonest class, {label}, has {share} of the cases."


def _lower(text: str) -> str:
    return f"{text[:1].lower()}{text[1:]}" if text[:1].isalpha() else text


SHOWN_FEATURES = 8
SHOWN_ESTIMATES = 3


def card_blocks(card: Card, *, full: bool = False) -> list[Block]:
    """The card; `full` adds every feature, figure and question."""
    blocks: list[Block] = [Title(title_text(card), f"card of a model · seed {card.seed}")]
    blocks += performance_blocks(card, full=full)
    blocks.append(Prose(size_sentence(card), label="Size"))
    if full:
        blocks.append(size_table(card))
    blocks += importance_blocks(card, full=full)
    blocks.append(Prose(fidelity_sentence(card), label="Surrogate"))
    if card.fidelity.tree is not None:
        blocks.append(Verbatim(card.fidelity.text))
    blocks += [Note(write_sentence(text)) for text in card.fidelity.notes]
    blocks.append(Prose(speed_sentence(card), label="Speed"))
    blocks.append(Prose(usefulness_sentence(card), label="Use"))
    blocks.append(Prose(questions_sentence(card), label="Open"))
    answered = len(card.unanswered) < len(card.answers.texts)
    if full or answered:
        blocks.append(question_table(card, unanswered=full))
    return [*blocks, *(Note(write_sentence(text), "warning") for text in card.notes)]


def performance_blocks(card: Card, *, full: bool) -> list[Block]:
    """The verdict and the measures behind it."""
    performance = card.performance
    # The heading of the card names the positive class.
    estimates = [(titled(replace(e, class_=None)), e) for e in performance.estimates]
    shown = estimates if full else estimates[:SHOWN_ESTIMATES]
    floor = track_floor(e for _, e in shown)
    rows = tuple((name, *estimate_cells(e, floor)) for name, e in shown)
    columns = head_columns("measure", ">value", head_interval(card.level), "")
    return [Prose(performance.verdict, label="Verdict"), Table(columns, rows)]


def importance_blocks(card: Card, *, full: bool) -> list[Block]:
    """The features by importance, whether the folds agree, and which features go together."""
    importance = card.importance
    if importance.undefined:
        return [Prose(f"Not measured: {importance.undefined}.", label="Importance")]
    shown = importance.features if full else _first(importance.features)
    blocks: list[Block] = [importance_table(card, shown), Prose(stability_sentence(card), label="Stability")]
    hidden = importance.features[len(shown) :]
    if hidden:
        most = max((feature.value for feature in hidden if not math.isnan(feature.value)), default=math.nan)
        number = number_of(len(hidden), "feature")
        are = "is" if len(hidden) == 1 else "are"
        blocks.append(Note(f"{number} with an importance of at most {most:.3g} {are} not shown."))
    if importance.related:
        blocks.append(Note(related_sentence(card)))
    return [*blocks, *(Note(write_sentence(text)) for text in importance.notes)]


def _first(features: tuple[FeatureImportance, ...]) -> tuple[FeatureImportance, ...]:
    """The features of a screen: those first in order, but of equals that are worth nothing all or none."""
    shown, hidden = features[:SHOWN_FEATURES], features[SHOWN_FEATURES:]
    if hidden and hidden[0].value <= 0:
        shown = tuple(feature for feature in shown if feature.value > hidden[0].value) or shown[:1]
    return shown


def importance_table(card: Card, shown: tuple[FeatureImportance, ...]) -> Table:
    """One line per feature: what shuffling it costs, with the interval drawn on one track for all."""
    importance = card.importance
    ends = [end for feature in shown for end in (feature.value, feature.low, feature.high) if math.isfinite(end)]
    floor, ceiling = min([0.0, *ends]), max([1e-9, *ends])
    style: Style = "plain" if importance.measure == "log_loss" else "share"
    rows: list[tuple[Cell, ...]] = []
    for feature in shown:
        digits = digits_between(feature.low, feature.high) if style == "share" else None
        span = None if math.isnan(feature.low) else Span(feature.value, feature.low, feature.high, floor, ceiling)
        rows.append(
            (
                shorten_name(feature.feature),
                Number(feature.value, style, digits),
                Range(feature.low, feature.high, style, digits),
                span,
            )
        )
    columns = head_columns("feature, shuffled", Column(importance.change, "right"), head_interval(card.level), "")
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
        (" and ".join(conditions) or "always", shorten_name(leaf.answer), leaf.cases, Number(leaf.share, "percent"))
        for conditions, leaf in rules(node)
    )
    columns = head_columns(Column("if", wrap=True), "prediction", ">cases", ">as the model")
    return Table(columns, rows)


def rules(node: Node, before: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], Leaf]]:
    """The conditions on the way to every answer.

    >>> rules(Fork("a ≤ 1", "a > 1", Leaf("no", 3, 1.0), Leaf("yes", 2, 1.0)))[1][0]
    ('a > 1',)
    """
    if isinstance(node, Fork):
        return [*rules(node.yes, (*before, node.holds)), *rules(node.no, (*before, node.fails))]
    return [(before, node)]


DRAWN_FEATURES = 20


def card_page_blocks(card: Card) -> list[Block]:
    """The whole card, a section for each part."""
    return [
        Title(title_text(card), f"card of a model · seed {card.seed} · splits {card.fingerprint or 'none'}"),
        Section("Performance", (*performance_blocks(card, full=True), Prose(commonest_sentence(card))), "performance"),
        Section("Size and complexity", _size(card), "size"),
        Section("Feature importance", _importance(card), "importance"),
        Section("Surrogate tree", _fidelity(card), "fidelity"),
        Section("Speed and memory", _speed(card), "speed"),
        Section("Usefulness", _usefulness(card), "usefulness"),
        Section("For a person to answer", (Prose(questions_sentence(card)), question_table(card)), "questions"),
        *(Note(write_sentence(text), "warning") for text in card.notes),
    ]


def _size(card: Card) -> tuple[Block, ...]:
    limits = card.size.reading.limits
    return Prose(size_sentence(card)), size_table(card), Note(f"Limits: {limits.reference}.")


def _importance(card: Card) -> tuple[Block, ...]:
    importance = card.importance
    if importance.undefined:
        return (Prose(f"Not measured: {importance.undefined}."),)
    where = f"the test part of each of {importance.folds:,} folds" if importance.folds > 1 else "the test part"
    times = f"{importance.shuffles} times" if importance.shuffles > 1 else "once"
    how = f"Each column was shuffled {times} in {where}; intervals by {importance.method}. {importance.reference}."
    drawn = any(math.isfinite(feature.value) for feature in importance.features)
    blocks: list[Block] = [importance_chart(card)] if drawn else []
    blocks.append(importance_table(card, importance.features))
    blocks.append(Prose(stability_sentence(card)))
    if importance.related:
        blocks.append(Note(related_sentence(card)))
    return (*blocks, Note(how), *(Note(write_sentence(text)) for text in importance.notes))


def importance_chart(card: Card) -> Chart:
    """The importance of the first features as dots with their intervals, each beside its name."""
    importance = card.importance
    shown = [feature for feature in importance.features if math.isfinite(feature.value)][:DRAWN_FEATURES]
    marks = [Mark(feature.feature, feature.value, feature.low, feature.high) for feature in shown]
    detail = f"Bars: {100 * card.level:g} % intervals." if any(math.isfinite(mark.low) for mark in marks) else ""
    return forest_chart(
        marks, "Importance of the features", importance.change, lines=[("no change", 0.0)], detail=detail
    )


def _fidelity(card: Card) -> tuple[Block, ...]:
    fidelity = card.fidelity
    if fidelity.tree is None:
        return (Prose(fidelity_sentence(card)),)
    how = f"Fitted to the model's predictions on training parts, compared on test parts; {fidelity.method}. {LIKENESS}."
    notes = (Note(write_sentence(text)) for text in fidelity.notes)
    return Prose(fidelity_sentence(card)), Verbatim(fidelity.text), rule_table(fidelity.tree), Note(how), *notes


def _speed(card: Card) -> tuple[Block, ...]:
    speed = card.speed
    if speed.undefined:
        return (Prose(speed_sentence(card)),)
    columns = tuple(Column(name, "right") for name in ("rows", "median", "90 % within", "rows a second", "repeats"))
    rows = tuple(
        (
            timing.rows,
            seconds_text(timing.median),
            seconds_text(timing.slow),
            rounded(timing.rows_per_second),
            timing.repeats,
        )
        for timing in (speed.single, speed.batch)
    )
    memory = Prose(
        f"At most {bytes_text(speed.peak_bytes)} more memory for {speed.batch.rows:,} rows, as Python and NumPy "
        f"asked for it. {speed.cores} cores, Python {speed.python}."
    )
    return Table(columns, rows), memory, Note(write_sentence(VARIES))


def _usefulness(card: Card) -> tuple[Block, ...]:
    usefulness = card.usefulness
    if usefulness.undefined:
        return (Prose(usefulness_sentence(card)),)
    return Prose(usefulness_sentence(card)), benefit_chart(card), Note(f"Limits: {usefulness.method}. {BENEFIT}.")


def benefit_chart(card: Card) -> Chart:
    """Net benefit of the model, of acting on everybody and of acting on nobody."""
    usefulness = card.usefulness
    if usefulness.undefined:
        raise ValuesError(f"There is no net benefit to draw: {usefulness.undefined}.", hint="draw the importance.")
    x = tuple(point.threshold for point in usefulness.points)
    benefit = tuple(point.benefit for point in usefulness.points)
    low, high = (tuple(getattr(point, name) for point in usefulness.points) for name in ("low", "high"))
    everyone = tuple(point.everyone for point in usefulness.points)
    top = max([0.01, *(end for end in (*benefit, *high, *everyone) if math.isfinite(end))])
    # A net benefit far below 0 only says that the model is bad, so the axis is cut there.
    floor = -0.25 * top
    banded = all(math.isfinite(end) for end in (*low, *high))

    def kept(values: tuple[float, ...]) -> tuple[float, ...]:
        return tuple(max(value, floor) for value in values)

    return Chart(
        "Net benefit",
        f"Net benefit against the threshold. {usefulness_sentence(card)}",
        Axis("threshold probability", 0.0, 1.0),
        Axis("net benefit (true positives per case)", floor, top * 1.05),
        strokes=(
            Stroke(x, kept(benefit), "the model"),
            Stroke(x, tuple(value if value >= floor else math.nan for value in everyone), "everybody", "second"),
            Stroke((0.0, 1.0), (0.0, 0.0), "nobody", "quiet", dashed=True, dash_dot=True),
        ),
        ribbons=(Ribbon(x, kept(low), kept(high)),) if banded else (),
        detail=""
        if usefulness.best is None
        else f"largest gain {share(usefulness.best.gain)} at {share(usefulness.best.threshold, 2)}",
        shape="wide",
        headers=("threshold", "model", "low", "high", "everybody"),
        points=tuple(zip(x, benefit, low, high, everyone, strict=True)),
    )
