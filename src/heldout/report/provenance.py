"""What was read for an evaluation and how it was computed, as facts for the end of its page."""

from __future__ import annotations

from heldout.intervals.area_bounds import area_bounds, bounds_words
from heldout.intervals.fold_scores import FoldScores
from heldout.measures.catalogue import find
from heldout.results.evaluation import Evaluation
from heldout.show.escape import visible
from heldout.show.numbers import count, plain
from heldout.show.text_width import shorten


def _ranked(view: Evaluation) -> list[tuple[str, str]]:
    """Whether every distinct score was kept for the ranking, where one was made."""
    scores, ranked = view.scores, any(find(e.measure).measure.scope == "ranking" for e in view.estimates)
    if scores is None or view.positive is None or scores.evidence.per_class or isinstance(scores, FoldScores):
        return []
    if not ranked:
        return []
    places = count(len(view.ranking(view.positive)))
    words = bounds_words(area_bounds(scores.evidence))
    return [("ranking", f"{places} bins of scores: {words}" if words else f"exact: {places} distinct scores")]


def evaluation_facts(view: Evaluation) -> list[tuple[str, str]]:
    """What was read for an evaluation, and how it was computed."""
    confusion, made = view.confusion, view.estimator
    facts = [("file", view.source.name)] if view.source.name else []
    facts += [(role, shorten(visible(column), 200)) for role, column in view.source.columns]
    if view.source.guessed:
        facts.append(("guessed from the column names", ", ".join(view.source.guessed)))
    facts.append(("cases", count(confusion.n_cases)))
    if confusion.weighted:
        facts.append(("total weight", count(confusion.n)))
    if confusion.clusters is not None:
        facts.append(("groups", count(confusion.clusters.number)))
    facts.append(("classes", count(confusion.n_classes)))
    if view.positive is not None:
        facts.append(("positive class", shorten(visible(str(view.positive)), 200)))
    if view.threshold is not None:
        facts.append(("threshold", plain(view.threshold)))
    facts += _ranked(view)
    if view.fingerprint:
        facts.append(("fingerprint of the cases", view.fingerprint))
    return [*facts, ("level", f"{made.level:g}"), ("seed", str(made.seed)), ("replicates", count(made.replicates))]
