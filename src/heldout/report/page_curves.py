"""The curves of a page: of the positive class, or of each class against the rest, drawn from a shortened ranking."""

from __future__ import annotations

from heldout.curves.coarse import shortened
from heldout.curves.cost import cost_curve
from heldout.curves.decision import GRID, decision_curve
from heldout.curves.drawn import TONES, drawn, drawn_alike, drawn_together
from heldout.curves.gain import gain, lift
from heldout.curves.precision_recall import precision_recall
from heldout.curves.reliability import reliability
from heldout.curves.roc import one_class, roc
from heldout.errors import HeldoutError
from heldout.estimates.fold_scores import FoldScores
from heldout.evidence import Label
from heldout.evidence.probabilities import Probabilities
from heldout.report.page_view import PageView
from heldout.show.blocks import Block, Prose, Section
from heldout.show.drawing import Chart
from heldout.show.fitting import shorten
from heldout.show.numbers import number
from heldout.show.printable import visible

POOLED = (
    "No curve of all folds together: the scores come from several models and are not on one scale, so the cases of one "
    "fold cannot be ranked against those of another."
)
SHOWN_FOLDS = 20


def curve_blocks(view: PageView, *, moves: bool) -> list[Block]:
    """Every curve that the scores allow; `moves` marks the explorer's threshold on each."""
    if view.scores is None:
        return []
    blocks: list[Block]
    if isinstance(view.scores, FoldScores):
        blocks = _of_folds(view)
    elif view.positive is not None and not view.scores.evidence.per_class:
        blocks = _of_positive(view, view.positive, moves=moves)
    else:
        blocks = _of_classes(view)
    tallied = view.scores.evidence.probabilities
    calibrated = [] if tallied is None else _reliability(view, tallied)
    # After precision and recall, where both are there.
    return [*blocks[:2], *calibrated, *blocks[2:]]


def _of_positive(view: PageView, positive: Label, *, moves: bool) -> list[Block]:
    whole = view.ranking(positive)
    why = one_class(whole)
    if why:
        return [Prose(f"No curves: {why}.")]
    ranking, level = shortened(whole, GRID), view.level
    points = len(whole)
    charts: list[Block] = [
        drawn(roc(ranking, level=level, seed=view.estimator.seed, positive=positive), whole=points + 1, moves=moves),
        drawn(precision_recall(ranking, level=level, positive=positive), whole=points, moves=moves),
        drawn(cost_curve(ranking, positive=positive), moves=moves),
    ]
    if view.scores is not None and view.scores.evidence.probabilities is not None:
        charts.append(drawn(decision_curve(ranking, level=level, positive=positive), moves=moves))
    more = (
        drawn(gain(ranking, level=level, positive=positive), whole=points + 1, moves=moves),
        drawn(lift(ranking, level=level, positive=positive), whole=points, moves=moves),
    )
    return [*charts, Section("Cumulative gains and lift", more, "gains", folded=True)]


def _of_folds(view: PageView) -> list[Block]:
    """One ROC curve per fold for two classes: each model ranks its own cases only."""
    scores, positive = view.scores, view.positive
    told: list[Block] = [Prose(POOLED)]
    if scores is None or positive is None or scores.evidence.per_class:
        return told
    folds = len(scores.evidence.fold_cases)
    curves = []
    for fold in scores.evidence.folds[:SHOWN_FOLDS]:
        seen = fold.ranking(positive)
        curves += [] if one_class(seen) else [roc(seen, bands=None)]
    if not curves:
        return told
    areas = [float(curve.area) for curve in curves if curve.area is not None]
    mean, least, most = (number(area) for area in (sum(areas) / len(areas), min(areas), max(areas)))
    said = f"Area under the curve {mean} on average, from {least} to {most}."
    left = folds - len(curves)
    said += f" {left:,} folds are not drawn." if left else ""
    return [drawn_alike(curves, "ROC curve of every fold", "one fold each", said), *told]


def _of_classes(view: PageView) -> list[Block]:
    """One curve per class, each against the rest, for as many as can be told apart: the largest."""
    confusion = view.confusion
    places = sorted(range(confusion.n_classes), key=lambda at: -confusion.truth_totals[at])
    met = [confusion.labels[at] for at in places if not one_class(view.ranking(confusion.labels[at]))][: len(TONES)]
    if not met:
        return []
    short = [shortened(view.ranking(label)) for label in met]
    names = [shorten(visible(str(label)), 40) for label in met]
    charts: list[Block] = [
        drawn_together([roc(r, bands=None) for r in short], names, "ROC curve of each class against the rest"),
        drawn_together([precision_recall(r, bands=None) for r in short], names, "Precision-recall curve of each class"),
    ]
    left = confusion.n_classes - len(met)
    return [
        *charts,
        *([Prose(f"The curves of the {len(met)} largest classes; {left:,} are not drawn.")] if left else []),
    ]


def _reliability(view: PageView, tallied: Probabilities) -> list[Chart]:
    try:
        return [drawn(reliability(tallied, level=view.level, positive=view.positive))]
    except HeldoutError:
        return []
