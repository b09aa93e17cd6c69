"""Which pairing design fits the contestants: the same cases, the same splits, or independent cases."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from heldout.arguments import listing, require
from heldout.arrays import Floats
from heldout.comparisons.best import JointValues
from heldout.comparisons.comparison import Alike, Side
from heldout.comparisons.design import (
    CompareOptions,
    PairedCases,
    PairingDesign,
    compute_value,
    find_identical,
    refuse_rope,
)
from heldout.comparisons.fold_tests import FoldValues, SplitResults, compare_folds, find_one_pass_factor
from heldout.comparisons.lazy_cases import LazyContestant, join_lazy_cases
from heldout.comparisons.pair_test import Setting
from heldout.comparisons.paired_influence import CaseUnits, influence_spread
from heldout.comparisons.paired_scores import compare_scores_unpaired, score_influence, select_scores, translate_class
from heldout.comparisons.unpaired import CountedSide, compare_counted_unpaired, compare_unpaired, value_and_variance
from heldout.engines.score_evidence import RowScores
from heldout.errors import OptionError, ValuesError
from heldout.intervals.dependence import find_sharing
from heldout.measures.quantity import Quantity
from heldout.predictions.alignment import Paired, key_texts, other_units, pair
from heldout.predictions.positive_class import fitted
from heldout.predictions.table import Predictions
from heldout.results.difference import PairTest
from heldout.results.evaluation import Evaluation
from heldout.results.validation import Validation

Contestant = Evaluation | Validation | LazyContestant


@dataclass(frozen=True, eq=False)
class IndependentCases(PairingDesign):
    """Each contestant has a test set of its own; `counted` names those of which only counts are known."""

    setting: ClassVar[Setting] = "different cases"

    counted: tuple[str, ...] = field(kw_only=True, default=())

    @property
    def shared_notes(self) -> tuple[str, ...]:
        """The notes on the pairing, and what is assumed of contestants without rows."""
        if not self.counted:
            return super().shared_notes
        which = f"only counts are known of {listing(self.counted)}"
        return (*super().shared_notes, f"{which}, so the test sets are taken as different ones; pairs would tell more")

    @property
    def description(self) -> str:
        """The sizes of the test sets."""
        return f"different test sets of {listing(f'{e.confusion.n_cases:,}' for e in self.evaluations)} cases"

    @property
    def reason(self) -> str:
        """Why the test sets are taken as independent."""
        return "They were tested on different cases, so the test sets are taken as independent"

    def test(self, a: int, b: int, quantity: Quantity, options: CompareOptions) -> PairTest:
        """The difference of two contestants, each on its own cases."""
        refuse_rope(options)
        if not quantity.is_score:
            return compare_unpaired(
                self.confusion(a),
                self.confusion(b),
                quantity,
                method=options.method,
                level=options.level,
                seed=options.seed,
            )
        self._check_weights(a, b)
        sides = self.evaluations[a], self.evaluations[b]
        if not all(side.scores is not None and isinstance(side.scores.evidence, RowScores) for side in sides):
            first, second = (self._counted_scores(side, quantity) for side in sides)
            return compare_counted_unpaired(first, second, quantity.bound, method=options.method, level=options.level)
        (score_a, truth_a, groups_a), (score_b, truth_b, groups_b) = (
            self._row_scores(side, quantity) for side in sides
        )
        return compare_scores_unpaired(
            score_a,
            truth_a,
            score_b,
            truth_b,
            quantity.bound,
            method=options.method,
            level=options.level,
            seed=options.seed,
            replicates=options.score_replicates,
            groups_a=groups_a,
            groups_b=groups_b,
        )

    def joint(self, quantity: Quantity) -> JointValues | None:
        """The values of all contestants with their variances; test sets of their own have no covariances."""
        sides = [self._spread(index, quantity) for index in range(len(self.evaluations))]
        known = [side for side in sides if side is not None and math.isfinite(side[0]) and math.isfinite(side[1])]
        if len(known) < len(sides):
            return None
        values, variances = (np.array(column) for column in zip(*known, strict=True))
        return JointValues(values, np.diag(variances), math.inf, min(e.confusion.n_cases for e in self.evaluations))

    def _spread(self, index: int, quantity: Quantity) -> tuple[float, float] | None:
        """The value of one contestant and its variance; None where the variance is not known."""
        if not quantity.is_score:
            return value_and_variance(self.confusion(index), quantity)
        side = self.evaluations[index]
        if side.scores is None or not isinstance(side.scores.evidence, RowScores):
            return None
        scores, truth, groups = self._row_scores(side, quantity)
        units = CaseUnits(np.asarray(truth, dtype=np.int64), None, groups)
        seen = score_influence(scores, truth, quantity.bound, units)
        return None if seen is None else (seen[0], influence_spread(seen[1], units).variance)

    def _check_weights(self, *indices: int) -> None:
        """Refuse weights, which the tests of scores on different cases cannot use."""
        weighted = [
            self.names[index]
            for index in indices
            if (scores := self.evaluations[index].scores) is not None and scores.evidence.weighted
        ]
        if weighted:
            raise OptionError(
                f"Scores of different cases are compared without weights, and these have some: {listing(weighted)}.",
                hint="leave out weight, or compare by accuracy or another measure of the predicted classes.",
            )

    def _row_scores(
        self, side: Evaluation, quantity: Quantity
    ) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.int64] | None]:
        """The scores of one contestant, the true classes, and the groups."""
        evidence, own = require(side.scores, "there are no scores").evidence, translate_class(quantity, side.labels)
        if not isinstance(evidence, RowScores):
            raise TypeError("the rows were not kept")
        values = select_scores(evidence.values, evidence.predictions, own, evidence.labels)
        label = own.class_ if own.class_ is not None else side.positive
        code = 1 if label is None else evidence.labels.index(label)
        truth = evidence.codes if values.ndim == 2 else evidence.codes == code
        return values, truth, evidence.group_codes

    def _counted_scores(self, side: Evaluation, quantity: Quantity) -> CountedSide:
        """The counted scores of one contestant."""
        evidence = require(side.scores, "there are no scores").evidence
        if evidence.per_class and quantity.bound.measure.scope != "probability" and quantity.class_ is None:
            raise OptionError(
                f"{quantity.bound.name} of a column of scores for each class needs the rows, and these were not kept.",
                hint=f"name one class, as in {quantity.bound.name}[CLASS], or give the rows.",
            )
        label = translate_class(quantity, side.labels).class_
        chosen = label if label is not None else side.positive
        ranking = evidence.ranking(evidence.labels[-1] if chosen is None else chosen)
        return CountedSide(ranking, evidence.probabilities)


@dataclass(frozen=True, eq=False)
class PairedSplits(PairingDesign):
    """All contestants were trained and tested by the same splits.

    `order` brings the folds of each contestant into the order of the first, and `rows` its cases. `random` says that
    the splits are random ones, and not the folds of a partition.
    """

    by_split: ClassVar[bool] = True
    setting: ClassVar[Setting] = "same splits"

    plan: str = field(kw_only=True)
    splits: int = field(kw_only=True)
    random: bool = field(kw_only=True, default=False)
    order: tuple[NDArray[np.int64], ...] = field(kw_only=True, default=())
    extra: tuple[str, ...] = field(kw_only=True, default=())
    rows: tuple[NDArray[np.int64], ...] = field(kw_only=True, default=())

    @property
    def description(self) -> str:
        """The plan."""
        return f"the same {self.splits:,} splits ({self.plan})"

    @property
    def compares_precision(self) -> bool:
        """Always: the values of the splits are compared."""
        return True

    @property
    def shared_notes(self) -> tuple[str, ...]:
        """The notes on the pairing, and on the splits that are compared."""
        return (*super().shared_notes, *self.extra)

    @property
    def reason(self) -> str:
        """Why they are compared split by split."""
        return (
            f"They were trained and tested on the same {self.splits:,} splits ({self.plan}), so they are compared "
            "split by split; splits share training cases, which the test must allow for"
        )

    def test(self, a: int, b: int, quantity: Quantity, options: CompareOptions) -> PairTest:
        """The difference of two contestants over the splits."""
        values = [self._per_fold(index, quantity) for index in (a, b)]
        plan = self.evaluations[a].estimator.plan
        folds, repeats = self._shape(len(values[0]), len(values[0]) if plan is None else plan.independent)
        by_fold = FoldValues.of(*values, ratio=None if plan is None else plan.ratio, folds=folds, repeats=repeats)
        return compare_folds(by_fold, options.method, level=options.level, rope=options.rope)

    def joint(self, quantity: Quantity) -> JointValues | None:
        """The means over the splits with their covariance, which allows for training cases that splits share."""
        values = np.stack([self._per_fold(index, quantity) for index in range(len(self.evaluations))])
        plan = self.evaluations[0].estimator.plan
        return None if plan is None else join_split_values(values, plan.ratio)

    def _shape(self, splits: int, folds: int) -> tuple[int, int]:
        """The splits of one repetition, and the number of repetitions; random splits are repetitions of one each."""
        if self.random:
            return 1, splits
        repeats = max(1, splits // folds)
        # Folds of which some are missing come one after the other, in one repetition.
        return (folds, repeats) if folds * repeats == splits else (splits, 1)

    def _per_fold(self, index: int, quantity: Quantity) -> NDArray[np.float64]:
        own = self.evaluations[index]
        if quantity.bound.costs is not None and fitted(own.labels, self.labels) != self.evaluations[0].labels:
            raise OptionError(
                f"{self.names[0]} and {self.names[index]} have different classes, so the costs do not fit both.",
                hint="name the same classes in one order with labels= (--labels).",
            )
        values = own.per_fold(translate_class(quantity, own.labels))
        return values[self.order[index]] if self.order else values

    def value(self, index: int, quantity: Quantity) -> float:
        """The mean over the splits, which is what the test compares."""
        return mean_of_defined(self._per_fold(index, quantity))

    def values_together(self, indices: Sequence[int], quantity: Quantity) -> list[float]:
        """The means over the splits where the measure is defined for all of them."""
        return means_together(np.stack([self._per_fold(index, quantity) for index in indices]))

    def pooled(self, index: int, quantity: Quantity) -> float | None:
        """The value from the counts of all splits together, as an evaluation gives it; of scores there is none."""
        return float("nan") if quantity.is_score else compute_value(self.confusion(index), quantity)

    def identical(self, a: int, b: int, quantity: Quantity) -> Alike:
        """Whether two sides give the same answers or scores to every case, in the order of the cases."""
        first, second = (self._predictions_in_order(index) for index in (a, b))
        return find_identical(first, second, quantity)

    def _predictions_in_order(self, index: int) -> Predictions | None:
        own = self.evaluations[index].predictions
        return own.part(self.rows[index]) if own is not None and self.rows else own


def mean_of_defined(values: Floats) -> float:
    """The mean over the splits where a measure is defined, nan where it is nowhere."""
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if len(defined) else math.nan


def means_together(values: Floats) -> list[float]:
    """The means of contestants × splits over the splits where all have a value; of each alone where there is none.

    >>> means_together(np.array([[0.8, 0.6, 0.7], [0.9, np.nan, 0.8]]))
    [0.75, 0.8500000000000001]
    """
    complete = ~np.isnan(values).any(axis=0)
    return [mean_of_defined(row[complete] if complete.any() else row) for row in values]


@dataclass(frozen=True, eq=False)
class TabledSplits(PairingDesign):
    """All learners were trained and tested by the same splits, and of each split only the values are known."""

    by_split: ClassVar[bool] = True
    setting: ClassVar[Setting] = "same splits"

    results: SplitResults = field(kw_only=True)

    @cached_property
    def names(self) -> list[str]:
        """The learners."""
        return list(self.results.learners)

    @property
    def _splits(self) -> int:
        return self.results.folds * self.results.repeats

    @property
    def description(self) -> str:
        """The splits, and of which data set they are."""
        of = f" of {self.results.data_set}" if self.results.data_set else ""
        return f"the same {self._splits:,} splits{of} ({self.results.plan})"

    @property
    def reason(self) -> str:
        """Why they are compared split by split, and by which ratio of test to training cases."""
        return (
            f"Each row holds what they reached in one of {self._splits:,} splits of one data set "
            f"({self.results.plan}), so they are compared split by split; splits share training cases, which the test "
            f"allows for by the ratio of test to training cases, {self.results.ratio:.4g}, {self.results.origin}"
        )

    @property
    def own_notes(self) -> tuple[tuple[str, str], ...]:
        """Nothing is known of single learners."""
        return ()

    @property
    def shared_notes(self) -> tuple[str, ...]:
        """What was read, and how."""
        return self.results.notes

    def quantities(self, wanted: Sequence[str] | None) -> list[Quantity]:
        """What the table holds; what was asked for was looked up when it was read."""
        del wanted
        return list(self.results.quantities)

    def value(self, index: int, quantity: Quantity) -> float:
        """The mean over the splits where it is defined."""
        return mean_of_defined(self.results.values[quantity.key][index])

    def values_together(self, indices: Sequence[int], quantity: Quantity) -> list[float]:
        """The means over the splits where all of them have a value."""
        return means_together(self.results.values[quantity.key][list(indices)])

    def test(self, a: int, b: int, quantity: Quantity, options: CompareOptions) -> PairTest:
        """The difference of two learners over the splits."""
        own, values = self.results, self.results.values[quantity.key]
        by_fold = FoldValues.of(values[a], values[b], ratio=own.ratio, folds=own.folds, repeats=own.repeats)
        return compare_folds(by_fold, options.method, level=options.level, rope=options.rope)

    def joint(self, quantity: Quantity) -> JointValues | None:
        """The means over the splits with their covariance, which allows for training cases that splits share."""
        return join_split_values(self.results.values[quantity.key], self.results.ratio)

    def sides(self) -> tuple[Side, ...]:
        """None: the cases of the splits are not known."""
        return ()


def join_split_values(values: Floats, ratio: float) -> JointValues | None:
    """The means over splits of contestants × splits, with the covariance that the test of two learners has.

    `ratio` is the size of a test part over that of its training part.
    """
    kept = values[:, ~np.isnan(values).any(axis=0)]
    splits = kept.shape[1]
    if splits < 2:
        return None
    return JointValues(kept.mean(axis=1), np.cov(kept) * find_one_pass_factor(splits, ratio), splits - 1.0, splits)


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
    found = find_sharing(*(keys.codes.astype(np.int64) - keys.offset for keys in (predictions.id, predictions.fold)))
    whole = int((found.sizes == found.n).sum())
    if whole:
        raise ValuesError(
            f"{whole:,} of {len(folds):,} folds ({listing(folds, most=5)}) hold every one of the {found.n:,} cases, so "
            "they are repeated predictions of the same cases and no folds.",
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
            given = [getattr(side, role) is not None for side in (first, own)]
            if given[0] != given[1]:
                with_, without = (names[0], name) if given[0] else (name, names[0])
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
