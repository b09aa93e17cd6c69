"""The front door to decisions: from scores, in any form, to a threshold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from heldout.costs import read_costs
from heldout.decisions.choose import choose_rows
from heldout.decisions.decision import Decision
from heldout.engines.scores import ScoreEvidence
from heldout.errors import OptionError, listing
from heldout.estimates.interval import check_whole
from heldout.evidence import Label
from heldout.predictions.source import gather
from heldout.predictions.table import Missing


def choose_threshold(
    data: Any = None,
    score: Any = None,
    *,
    truth: Any = None,
    by: str | None = None,
    maximize: str | None = None,
    require: str | None = None,
    then: str | None = None,
    costs: Any = None,
    cost_rows: str | None = None,
    prevalence: float | None = None,
    current: float | None = None,
    honest: bool = False,
    folds: int = 10,
    weight: Any = None,
    group: Any = None,
    positive: Label | None = None,
    labels: Sequence[Label] | None = None,
    missing: Missing = "refuse",
    level: float = 0.95,
    seed: int = 0,
    replicates: int = 999,
) -> Decision:
    """Choose the threshold from which a case is called positive, and say how sure that is.

    `by` is "cost" or "iso" (with `costs`), "youden", "closest" or any measure of the counts; `maximize`, as the flag is
    called, says the same. `require` holds requirements such as "recall >= 0.9", among whose thresholds the best by
    `then` is taken. `prevalence` is the share of positives where the threshold will be used. `honest` judges the choice
    on cases that had no part in it. Of more than two classes, `positive` is told from all the others together.

    >>> chosen = choose_threshold([1, 1, 0, 1, 0, 0], [0.9, 0.8, 0.7, 0.6, 0.3, 0.1], by="youden")
    >>> chosen.threshold
    0.8
    """
    check_whole("seed", seed, 0)
    check_whole("replicates", replicates, 1)
    if prevalence is not None and (isinstance(prevalence, bool) or not isinstance(prevalence, int | float)):
        raise OptionError(f"The prevalence must be a number. Got {prevalence!r}.", hint="for example 0.05.")
    if by is not None and maximize is not None:
        raise OptionError(f"by={by!r} and maximize={maximize!r} are two names of one option.", hint="give one of them.")
    by = by if maximize is None else maximize
    roles = {"truth": truth, "predicted": None, "weight": weight, "group": group}
    # Any threshold will do to read the columns: the classes that it gives are not used.
    predictions, source = gather(
        data, roles, labels=labels, missing=missing, score=score, positive=positive, threshold=0.0, against_rest=True
    )
    if predictions.scores is None or predictions.scores.per_class or len(predictions.labels) != 2:
        raise OptionError(
            f"A threshold tells two classes apart. There are {len(predictions.labels)}: {listing(predictions.labels)}.",
            hint="choose two of them, or the class of least expected cost with heldout.decisions.classes.decide.",
        )
    chosen = predictions.positive
    evidence = ScoreEvidence(predictions, predictions.labels)
    place = predictions.labels.index(chosen) if chosen is not None else 1
    if isinstance(costs, str | Path):
        costs = read_costs(costs, predictions.labels, cost_rows)
    decision = choose_rows(
        evidence.values,
        evidence.codes == place,
        by,
        weight=predictions.weight,
        group=evidence.group_codes,
        honest=honest,
        folds=folds,
        seed=seed,
        require=require,
        then=then,
        costs=costs,
        prevalence=prevalence,
        current=current,
        positive=predictions.labels[place],
        negative=predictions.labels[1 - place],
        level=level,
        replicates=replicates,
    )
    read = [(role, column) for role, column in source.columns if role != "predicted"]
    guessed = [role for role in source.guessed if role != "predicted"]
    said = f" ({listing(guessed)} guessed from the column names)" if guessed else ""
    return replace(decision, columns=", ".join(f"{role} = {column}" for role, column in read) + said)
