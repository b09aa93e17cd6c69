"""Which pairing design fits the contestants: the same cases, the same splits, or different cases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heldout.arguments import listing
from heldout.comparisons.different_cases import IndependentCases
from heldout.comparisons.lazy_cases import LazyContestant, join_lazy_cases
from heldout.comparisons.pairing_design import (
    PairingDesign,
)
from heldout.comparisons.same_cases import PairedCases
from heldout.comparisons.same_splits import PairedSplits
from heldout.errors import OptionError, ValuesError
from heldout.intervals.dependence import find_sharing
from heldout.predictions.alignment import Paired, key_texts, other_units, pair
from heldout.predictions.table import Predictions
from heldout.results.evaluation import Evaluation
from heldout.results.validation import Validation

Contestant = Evaluation | Validation | LazyContestant


def choose_design(contestants: Mapping[str, Contestant], *, paired: bool | None) -> PairingDesign:
    """The design that fits the contestants; what does not fit together is refused."""
    validations = {name: own for name, own in contestants.items() if isinstance(own, Validation)}
    if validations and len(validations) < len(contestants):
        rest = [name for name in contestants if name not in validations]
        raise OptionError(
            f"Validated learners cannot be compared with predictions: {listing(validations)} with {listing(rest)}.",
            hint="compare validations with validations, and predictions with predictions.",
        )
    if validations:
        return _pair_validations(validations, paired=paired)
    lazy = {name: own for name, own in contestants.items() if isinstance(own, LazyContestant)}
    if lazy and paired is not False:
        return _pair_lazy(lazy, [name for name in contestants if name not in lazy])
    evaluations = {
        name: own.evaluation if isinstance(own, LazyContestant) else own
        for name, own in contestants.items()
        if isinstance(own, Evaluation | LazyContestant)
    }
    lacking = [name for name, own in evaluations.items() if own.predictions is None and name not in lazy]
    if paired is False or (lacking and paired is None):
        _check_shared_classes(evaluations)
        return IndependentCases(evaluations, counted=tuple(lacking))
    if lacking:
        raise OptionError(
            f"Only counts are known of {listing(lacking)}, so cases cannot be matched.",
            hint="give the predictions, or say that the test sets differ (paired=False, --different-cases).",
        )
    predictions = [own.predictions for own in evaluations.values() if own.predictions is not None]
    cases = pair(predictions, list(evaluations))
    _check_units(predictions, list(evaluations), cases)
    if all(own.fold is not None for own in predictions):
        return _pair_folds(evaluations, predictions, cases)
    in_folds = [name for name, own in zip(evaluations, predictions, strict=True) if own.fold is not None]
    if in_folds:
        note = f"not all come in folds, so the folds of {listing(in_folds)} are not used"
        cases = replace(cases, notes=(*cases.notes, note))
    return PairedCases(evaluations, paired=cases)


def _check_shared_classes(evaluations: Mapping[str, Evaluation]) -> None:
    """Refuse test sets that have no class in common: they are of different tasks."""
    first, *others = evaluations.items()
    for name, own in others:
        # Labels of different types, such as 1 and "1", may be the same classes; they are joined later.
        alike = {type(label) for label in own.labels} == {type(label) for label in first[1].labels}
        if alike and not set(own.labels) & set(first[1].labels):
            raise OptionError(
                f"{first[0]} and {name} have no class in common: {listing(first[1].labels, most=5)}, and "
                f"{listing(own.labels, most=5)}.",
                hint="compare classifiers of the same classes; check that the labels are spelt alike.",
            )


def _pair_lazy(lazy: dict[str, LazyContestant], rest: Sequence[str]) -> PairingDesign:
    """The design of lazy contestants, which must be all of them."""
    if rest:
        raise OptionError(
            f"The rows of {listing(lazy)} are not held here and those of {listing(rest)} are, so cases cannot be "
            "matched.",
            hint="give all of them as lazy frames of one engine, or read all into memory (engine='memory', "
            "--engine memory).",
        )
    return join_lazy_cases(lazy)


def _pair_validations(validations: Mapping[str, Validation], *, paired: bool | None) -> PairingDesign:
    if paired is False:
        raise OptionError(
            "Validations are compared by their splits, and paired=False says that they have none in common.",
            hint="leave out paired, or compare the test sets of single holdouts.",
        )
    prints = {name: own.fingerprint for name, own in validations.items()}
    if len(set(prints.values())) > 1:
        shown = ", ".join(f"{name} {own.plan.text} ({prints[name]})" for name, own in validations.items())
        raise ValuesError(
            f"The learners were not validated by the same splits: {shown}.",
            hint="validate them in one call, or with the same data, plan and seed.",
        )
    first = next(iter(validations.values()))
    evaluations = {name: own.evaluation for name, own in validations.items()}
    if len(first.run.splits) == 1:
        predictions = [own.predictions for own in evaluations.values() if own.predictions is not None]
        return PairedCases(evaluations, paired=pair(predictions, list(validations)))
    finished = [set(own.run.finished.tolist()) for own in validations.values()]
    common = sorted(set.intersection(*finished))
    extra: list[str] = []
    if len(common) < len(first.run.splits):
        extra.append(
            f"{len(common):,} of {len(first.run.splits):,} splits were finished by all, and only these are compared"
        )
    if any(own.run.finished.tolist() != common for own in validations.values()):
        raise ValuesError(
            f"The learners did not finish the same splits; all of them finished {len(common):,}.",
            hint="validate again those that failed or were interrupted.",
        )
    if first.plan.correction:
        extra.append(f"the out-of-bag values are compared, without the correction of {first.plan.correction}")
    repeats, plan = int(first.run.splits.repeat.max(initial=0)) + 1, first.evaluation.estimator.plan
    return PairedSplits(
        evaluations,
        plan=first.plan.text,
        splits=len(common),
        # Repetitions of one split each are random splits, unless they test every case equally often (leave-p-out).
        random=repeats == len(first.run.splits) and (plan is None or plan.independent >= len(common)),
        extra=tuple(extra),
    )


def _pair_folds(
    evaluations: Mapping[str, Evaluation], predictions: Sequence[Predictions], cases: Paired
) -> PairingDesign:
    keys = [np.array(key_texts(own.fold))[rows] for own, rows in zip(predictions, cases.rows, strict=True) if own.fold]
    names = list(evaluations)
    for name, other in zip(names[1:], keys[1:], strict=True):
        wrong = np.flatnonzero(keys[0] != other)
        if len(wrong):
            raise ValuesError(
                f"{names[0]} and {name} do not agree on the fold of {len(wrong):,} of {len(other):,} cases.",
                hint="compare predictions that were made by the same splits, or leave out fold.",
            )
    orders = [_fold_order(own) for own in predictions]
    if len(orders[0]) == 1:
        return PairedCases(evaluations, paired=cases)
    _refuse_whole_folds(predictions[0], orders[0])
    # 10 stands after 9 among numbers and before it in text: the folds of all are taken in the order of the first.
    order = tuple(np.array([own.index(key) for key in orders[0]], dtype=np.int64) for own in orders)
    return PairedSplits(
        evaluations,
        plan="the column of folds",
        splits=len(orders[0]),
        random=not _folds_are_partitions(predictions[0]),
        order=order,
        extra=cases.notes,
        rows=cases.rows,
    )


def _refuse_whole_folds(predictions: Predictions, folds: Sequence[str]) -> None:
    """Refuse folds that hold every case, such as epochs: they leave no case to train on."""
    if predictions.id is None or predictions.fold is None:
        return
    sharing = find_sharing(*(keys.codes.astype(np.int64) - keys.offset for keys in (predictions.id, predictions.fold)))
    whole = int((sharing.sizes == sharing.n).sum())
    if whole:
        raise ValuesError(
            f"{whole:,} of {len(folds):,} folds ({listing(folds, most=5)}) hold every one of the {sharing.n:,} cases, "
            "so they are repeated predictions of the same cases and no folds.",
            hint="keep one prediction of each case, such as that of the last epoch or the mean score, and leave out "
            "fold (--fold).",
        )


def _folds_are_partitions(predictions: Predictions) -> bool:
    """Whether the folds are those of partitions of the cases, and not random splits."""
    if predictions.id is None or predictions.fold is None:
        return True
    case, split = (keys.codes.astype(np.int64) - keys.offset for keys in (predictions.id, predictions.fold))
    return find_sharing(case, split).even


def _check_units(predictions: Sequence[Predictions], names: Sequence[str], cases: Paired) -> None:
    """Refuse weights and groups that are not the same for all of them, case by case."""
    for name, own, rows in zip(names[1:], predictions[1:], cases.rows[1:], strict=True):
        first = predictions[0]
        for what, has, role in (("weights", "have", "weight"), ("groups", "come in", "group")):
            has_role = [getattr(side, role) is not None for side in (first, own)]
            if has_role[0] != has_role[1]:
                with_, without = (names[0], name) if has_role[0] else (name, names[0])
                raise OptionError(
                    f"The cases of {with_} {has} {what}, and those of {without} do not.",
                    hint=f"give the {what} of both ({role}=, --{role}), or of neither.",
                )
        same_weights = (
            first.weight is None
            or own.weight is None
            or bool(np.allclose(first.weight[cases.rows[0]], own.weight[rows], rtol=1e-9, atol=0))
        )
        same_groups = (
            first.group is None
            or own.group is None
            or _same_partition(first.group.codes[cases.rows[0]], own.group.codes[rows])
        )
        if not (same_weights and same_groups):
            raise other_units(names[0], name, "group" if same_weights else "weight")


def _same_partition(a: NDArray[Any], b: NDArray[Any]) -> bool:
    """Whether two groupings put the same cases into the same groups, whatever the groups are called."""
    codes = [np.unique(each, return_inverse=True)[1].reshape(-1) for each in (a, b)]
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
