"""The front door to recalibration: what the losses would be after calibrators that were fitted on other cases."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Unpack

import numpy as np

from heldout.api.evaluate import evaluate
from heldout.api.options import RecalibrateArguments, takes
from heldout.arguments import check_level, check_whole, closest, listing
from heldout.comparisons.recalibration import CALIBRATORS, Recalibration, compare_calibrators
from heldout.engines.score_evidence import RowScores
from heldout.errors import OptionError
from heldout.result import keeps_backend
from heldout.results.evaluation import Evaluation


@keeps_backend
@takes(RecalibrateArguments)
def recalibrate(
    data: Any = None,
    score: Any = None,
    *,
    calibrators: str | Iterable[str] = tuple(CALIBRATORS),
    folds: int = 10,
    **options: Unpack[RecalibrateArguments],
) -> Recalibration:
    """Say what recalibration would change: Brier score, log loss and calibration errors, before and after.

    Each calibrator is fitted on all folds but the one that it is applied to; rows of one group are in one fold. The
    differences of the losses have intervals. It changes nothing that `evaluate` reports.

    Parameters
    ----------
    data : Evaluation, or what evaluate takes
        An evaluation of probabilities with its rows, or the true classes, a data frame or a path.
    score : array or column name, optional
        The probability of the positive class for each case.
    calibrators : str or sequence of str
        Some of "logistic", "temperature" and "isotonic".
    folds : int
        The number of folds of the cross-fitting.
    truth : array or column name, optional
        The true classes, where they are not the first argument.
    weight : array or column name, optional
        How much each case counts.
    group : array or column name, optional
        Which cases belong together, such as those of one patient. Intervals take whole groups as the cases.
    fold : array or column name, optional
        Which model of a resampling plan made each prediction. A column that is called fold is used unless this is
        "none".
    positive : label, optional
        The positive class; known for usual pairs such as no and yes, or 0 and 1.
    labels : sequence of labels, optional
        The classes in the order to show them; by default those that occur.
    missing : {"refuse", "drop"}
        What to do with rows with missing values: refuse them, or drop them and say how many.
    level : float
        The level of the intervals: the share of them that should contain the true value.
    seed : int
        Seed of the random number generator.

    Returns
    -------
    Recalibration
        Losses and calibration errors before and after, and which calibrator is recommended.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(2000)
    >>> seen = recalibrate((rng.random(2000) < p).astype(int), p**2)
    >>> seen.recommended, round(seen.change("logistic", "brier").difference, 2)
    ('logistic', -0.03)

    """
    names = [calibrators] if isinstance(calibrators, str) else list(calibrators)
    for name in names:
        if name not in CALIBRATORS:
            near = closest(str(name), CALIBRATORS)
            raise OptionError(
                f"There is no calibrator {name!r}; there are {listing(CALIBRATORS)}.",
                hint=f"use {near or 'logistic'!r}.",
            )
    if not names:
        raise OptionError("There is no calibrator to try.", hint=f"name some of {listing(CALIBRATORS)}.")
    check_whole("folds", folds, 2)
    level, seed = check_level(options["level"]), check_whole("seed", options["seed"], 0)
    evaluation = data if isinstance(data, Evaluation) else _evaluated(data, {**options, "score": score})
    rows = _rows(evaluation)
    at = rows.labels.index(rows.predictions.positive) if rows.predictions.positive is not None else 1
    outcome = compare_calibrators(
        rows.values.astype(np.float64),
        rows.of_class(at),
        weight=rows.predictions.weight,
        group=rows.group_codes,
        calibrators=names,
        folds=folds,
        level=level,
        seed=seed,
    )
    read = evaluation.source.describe_guesses()
    return replace(outcome, notes=(*filter(None, [read]), *outcome.notes, *evaluation.notes))


def _evaluated(data: Any, options: dict[str, Any]) -> Evaluation:
    """The rows read as `evaluate` reads them, which holds them in memory."""
    return evaluate(data, **options, engine="memory" if isinstance(data, str) else None, measures=[])


def _rows(evaluation: Evaluation) -> RowScores:
    """The probabilities of the positive class, row by row; refused where there are none."""
    scores = evaluation.scores
    if scores is None or not isinstance(scores.evidence, RowScores):
        raise OptionError(
            "Recalibration is fitted to rows with a probability, and there are none."
            if scores is None
            else "Recalibration is fitted to rows, and these were counted and not kept.",
            hint="give score= (--score COLUMN)." if scores is None else "give the rows themselves, in memory.",
        )
    rows = scores.evidence
    if rows.not_probability:
        raise OptionError(f"Recalibration needs probabilities, and {rows.not_probability}.", hint="give probabilities.")
    if rows.per_class:
        raise OptionError(
            "Recalibration is of two classes, and there is a probability for each of several.",
            hint="give the probability of one class as score, and name it as positive.",
        )
    if rows.predictions.fold is not None:
        raise OptionError(
            "The predictions come from several models, one for each fold, and each would need a calibrator of its own.",
            hint="give the predictions of one model, or fold='none' (--fold none) to take them as such.",
        )
    return rows
