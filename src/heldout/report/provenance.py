"""What was read for an evaluation and how it was computed, as facts for the end of its page."""

from __future__ import annotations

from heldout.intervals.area_bounds import area_bounds, bounds_words
from heldout.intervals.fold_scores import FoldScores
from heldout.measures.catalogue import find
from heldout.results.evaluation import Evaluation
from heldout.show.escape import visible
from heldout.show.numbers import count, plain
from heldout.show.text_width import shorten


def _ranked(evaluation: Evaluation) -> list[tuple[str, str]]:
    """Whether every distinct score was kept for the ranking, where one was made."""
    scores, ranked = evaluation.scores, any(find(e.measure).measure.scope == "ranking" for e in evaluation.estimates)
    if scores is None or evaluation.positive is None or scores.evidence.per_class or isinstance(scores, FoldScores):
        return []
    if not ranked:
        return []
    places = count(len(evaluation.ranking(evaluation.positive)))
    words = bounds_words(area_bounds(scores.evidence))
    return [("ranking", f"{places} bins of scores: {words}" if words else f"exact: {places} distinct scores")]


def evaluation_facts(evaluation: Evaluation) -> list[tuple[str, str]]:
    """What was read for an evaluation, and how it was computed."""
    confusion, made = evaluation.confusion, evaluation.estimator
    facts = [("file", evaluation.source.name)] if evaluation.source.name else []
    facts += [(role, shorten(visible(column), 200)) for role, column in evaluation.source.columns]
    if evaluation.source.guessed:
        facts.append(("guessed from the column names", ", ".join(evaluation.source.guessed)))
    facts.append(("cases", count(confusion.n_cases)))
    if confusion.weighted:
        facts.append(("total weight", count(confusion.n)))
    if confusion.clusters is not None:
        facts.append(("groups", count(confusion.clusters.number)))
    facts.append(("classes", count(confusion.n_classes)))
    if evaluation.positive is not None:
        facts.append(("positive class", shorten(visible(str(evaluation.positive)), 200)))
    if evaluation.threshold is not None:
        facts.append(("threshold", plain(evaluation.threshold)))
    facts += _ranked(evaluation)
    if evaluation.fingerprint:
        facts.append(("fingerprint of the cases", evaluation.fingerprint))
    return [*facts, ("level", f"{made.level:g}"), ("seed", str(made.seed)), ("replicates", count(made.replicates))]
