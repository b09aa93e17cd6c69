"""What contestants have in common: the same cases, the same splits, or nothing but the measure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.arguments import listing
from heldout.errors import OptionError, ValuesError
from heldout.evaluation import Evaluation
from heldout.front.contestants import Contestant
from heldout.front.counted_meeting import counted_meeting
from heldout.front.different_cases import DifferentCases
from heldout.front.elsewhere import Elsewhere
from heldout.front.meeting import Meeting
from heldout.front.same_cases import SameCases
from heldout.front.splits_meeting import SameSplits
from heldout.predictions.pairing import Paired, key_texts, other_units, pair
from heldout.predictions.table import Predictions
from heldout.resampling.gathered import sharing
from heldout.validation import Validation


def meeting_of(held: Mapping[str, Contestant], *, paired: bool | None) -> Meeting:
    """What the contestants have in common; what does not fit together is refused."""
    validations = {name: one for name, one in held.items() if isinstance(one, Validation)}
    if validations and len(validations) < len(held):
        rest = [name for name in held if name not in validations]
        raise OptionError(
            f"Validated learners cannot be compared with predictions: {listing(validations)} with {listing(rest)}.",
            hint="compare validations with validations, and predictions with predictions.",
        )
    if validations:
        return _validated(validations, paired=paired)
    gone = {name: one for name, one in held.items() if isinstance(one, Elsewhere)}
    if gone and paired is not False:
        return _elsewhere(gone, [name for name in held if name not in gone])
    evaluations = {
        name: one.evaluation if isinstance(one, Elsewhere) else one
        for name, one in held.items()
        if isinstance(one, Evaluation | Elsewhere)
    }
    lacking = [name for name, one in evaluations.items() if one.predictions is None and name not in gone]
    if paired is False or (lacking and paired is None):
        return DifferentCases(evaluations, counted=tuple(lacking))
    if lacking:
        raise OptionError(
            f"Only counts are known of {listing(lacking)}, so cases cannot be matched.",
            hint="give the predictions, or say that the test sets differ (paired=False, --different-cases).",
        )
    predictions = [one.predictions for one in evaluations.values() if one.predictions is not None]
    found = pair(predictions, list(evaluations))
    _same_units(predictions, list(evaluations), found)
    if all(one.fold is not None for one in predictions):
        return _folded(evaluations, predictions, found)
    in_folds = [name for name, one in zip(evaluations, predictions, strict=True) if one.fold is not None]
    if in_folds:
        said = f"not all come in folds, so the folds of {listing(in_folds)} are not used"
        found = replace(found, notes=(*found.notes, said))
    return SameCases(evaluations, paired=found)


def _elsewhere(gone: dict[str, Elsewhere], rest: Sequence[str]) -> Meeting:
    """The meeting of contestants whose rows are not held, which must be all of them."""
    if rest:
        raise OptionError(
            f"The rows of {listing(gone)} are not held here and those of {listing(rest)} are, so cases cannot be "
            "matched.",
            hint="give all of them as lazy frames of one engine, or read all into memory (engine='memory', "
            "--engine memory).",
        )
    return counted_meeting(gone)


def _validated(held: Mapping[str, Validation], *, paired: bool | None) -> Meeting:
    if paired is False:
        raise OptionError(
            "Validations are compared by their splits, and paired=False says that they have none in common.",
            hint="leave out paired, or compare the test sets of single holdouts.",
        )
    prints = {name: one.fingerprint for name, one in held.items()}
    if len(set(prints.values())) > 1:
        shown = ", ".join(f"{name} {one.plan.text} ({prints[name]})" for name, one in held.items())
        raise ValuesError(
            f"The learners were not validated by the same splits: {shown}.",
            hint="validate them in one call, or with the same data, plan and seed.",
        )
    first = next(iter(held.values()))
    evaluations = {name: one.evaluation for name, one in held.items()}
    if len(first.run.splits) == 1:
        predictions = [one.predictions for one in evaluations.values() if one.predictions is not None]
        return SameCases(evaluations, paired=pair(predictions, list(held)))
    finished = [set(one.run.finished.tolist()) for one in held.values()]
    common = sorted(set.intersection(*finished))
    extra: list[str] = []
    if len(common) < len(first.run.splits):
        extra.append(
            f"{len(common):,} of {len(first.run.splits):,} splits were finished by all, and only these are compared"
        )
    if any(one.run.finished.tolist() != common for one in held.values()):
        raise ValuesError(
            f"The learners did not finish the same splits; all of them finished {len(common):,}.",
            hint="validate again those that failed or were interrupted.",
        )
    if first.plan.correction:
        extra.append(f"the out-of-bag values are compared, without the correction of {first.plan.correction}")
    repeats, plan = int(first.run.splits.repeat.max(initial=0)) + 1, first.evaluation.estimator.plan
    return SameSplits(
        evaluations,
        plan=first.plan.text,
        splits=len(common),
        # Repetitions of one split each are draws, unless together they test every case equally often (leave-p-out).
        random=repeats == len(first.run.splits) and (plan is None or plan.independent >= len(common)),
        extra=tuple(extra),
    )


def _folded(evaluations: Mapping[str, Evaluation], predictions: Sequence[Predictions], found: Paired) -> Meeting:
    keys = [np.array(key_texts(one.fold))[rows] for one, rows in zip(predictions, found.rows, strict=True) if one.fold]
    names = list(evaluations)
    for name, other in zip(names[1:], keys[1:], strict=True):
        wrong = np.flatnonzero(keys[0] != other)
        if len(wrong):
            raise ValuesError(
                f"{names[0]} and {name} do not agree on the fold of {len(wrong):,} of {len(other):,} cases.",
                hint="compare predictions that were made by the same splits, or leave out fold.",
            )
    orders = [_fold_order(one) for one in predictions]
    if len(orders[0]) == 1:
        return SameCases(evaluations, paired=found)
    # 10 stands after 9 among numbers and before it in text: the folds of all are taken in the order of the first.
    places = tuple(np.array([own.index(key) for key in orders[0]], dtype=np.int64) for own in orders)
    return SameSplits(
        evaluations,
        plan="the column of folds",
        splits=len(orders[0]),
        random=not _partitions(predictions[0]),
        order=places,
        extra=found.notes,
        rows=found.rows,
    )


def _partitions(predictions: Predictions) -> bool:
    """Whether the folds are those of partitions of the cases; otherwise each is a draw of its own."""
    if predictions.id is None or predictions.fold is None:
        return True
    case, split = (one.codes.astype(np.int64) - one.offset for one in (predictions.id, predictions.fold))
    return sharing(case, split).even


def _same_units(held: Sequence[Predictions], names: Sequence[str], found: Paired) -> None:
    """Refuse weights and groups that are not the same for all of them, case by case."""
    for name, own, rows in zip(names[1:], held[1:], found.rows[1:], strict=True):
        first = held[0]
        for what, has, of in (("weights", "have", "weight"), ("groups", "come in", "group")):
            there = [getattr(one, of) is not None for one in (first, own)]
            if there[0] != there[1]:
                with_, without = (names[0], name) if there[0] else (name, names[0])
                raise OptionError(
                    f"The cases of {with_} {has} {what}, and those of {without} do not.",
                    hint=f"give the {what} of both ({of}=, --{of}), or of neither.",
                )
        weights = (
            first.weight is None
            or own.weight is None
            or bool(np.allclose(first.weight[found.rows[0]], own.weight[rows], rtol=1e-9, atol=0))
        )
        groups = (
            first.group is None
            or own.group is None
            or _same_partition(first.group.codes[found.rows[0]], own.group.codes[rows])
        )
        if not (weights and groups):
            raise other_units(names[0], name, "group" if weights else "weight")


def _same_partition(one: NDArray[Any], two: NDArray[Any]) -> bool:
    """Whether the same cases are together, whatever the groups are called."""
    codes = [np.unique(each, return_inverse=True)[1].reshape(-1) for each in (one, two)]
    sizes = [int(each.max(initial=-1)) + 1 for each in codes]
    return len(np.unique(codes[0] * sizes[1] + codes[1])) == sizes[0] == sizes[1]


def _fold_order(predictions: Predictions) -> list[str]:
    """The folds in the order in which the values of single folds come."""
    fold = predictions.fold
    if fold is None:
        return []
    _, first = np.unique(fold.codes, return_index=True)
    texts = key_texts(fold)
    return [texts[row] for row in first.tolist()]
