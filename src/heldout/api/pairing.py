"""What contestants have in common, and the comparison that follows: same cases, same splits, or cases of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from heldout.api.contestants import Contestant
from heldout.api.design import (
    CompareOptions,
    EvaluatedDesign,
    PairedCases,
    PairingDesign,
    compute_value,
    find_identical,
    is_score,
    refuse_rope,
    select_scores,
    translate_class,
)
from heldout.api.external_cases import LazyContestant, join_lazy_cases
from heldout.arguments import listing
from heldout.comparisons.comparison import Alike
from heldout.comparisons.fold_tests import FoldValues, compare_folds
from heldout.comparisons.pair_test import OmnibusTest, Setting
from heldout.comparisons.paired_scores import compare_scores_unpaired
from heldout.comparisons.unpaired import CountedSide, compare_counted_unpaired, compare_unpaired
from heldout.engines.scores import RowScores
from heldout.errors import OptionError, ValuesError
from heldout.measures.quantity import Quantity
from heldout.predictions.alignment import Paired, key_texts, other_units, pair
from heldout.predictions.positive_class import fitted
from heldout.predictions.table import Predictions
from heldout.resampling.outcome import sharing
from heldout.results.difference import PairTest
from heldout.results.evaluation import Evaluation
from heldout.results.validation import Validation

# Contestants that were tested on cases of their own, taken as independent test sets.


@dataclass(frozen=True, eq=False)
class IndependentCases(EvaluatedDesign):
    """Each of them has a test set of its own; `counted` are those of which only counts are known."""

    met: ClassVar[Setting] = "different cases"

    counted: tuple[str, ...] = field(kw_only=True, default=())

    @property
    def shared(self) -> tuple[str, ...]:
        """What was said of the predictions, and what is taken for granted."""
        if not self.counted:
            return super().shared
        which = f"only counts are known of {listing(self.counted)}"
        return (*super().shared, f"{which}, so the test sets are taken as different ones; pairs would tell more")

    @property
    def words(self) -> str:
        """The sizes of the test sets."""
        return f"different test sets of {listing(f'{e.confusion.n_cases:,}' for e in self.evaluations)} cases"

    def why(self) -> str:
        """Why they are compared so."""
        return "They were tested on different cases, so the test sets are taken as independent"

    def test(self, one: int, two: int, quantity: Quantity, rules: CompareOptions) -> PairTest:
        """The difference of two contestants, each on its own cases."""
        refuse_rope(rules)
        if not is_score(quantity):
            return compare_unpaired(
                self.confusion(one),
                self.confusion(two),
                quantity,
                method=rules.method,
                level=rules.level,
                seed=rules.seed,
            )
        a, b = self.evaluations[one], self.evaluations[two]
        self._no_weights(one, two)
        if not all(side.scores is not None and isinstance(side.scores.evidence, RowScores) for side in (a, b)):
            first, second = (self._counted(side, quantity) for side in (a, b))
            return compare_counted_unpaired(first, second, quantity.bound, method=rules.method, level=rules.level)
        (score_a, truth_a, groups_a), (score_b, truth_b, groups_b) = (self._scores(side, quantity) for side in (a, b))
        return compare_scores_unpaired(
            score_a,
            truth_a,
            score_b,
            truth_b,
            quantity.bound,
            method=rules.method,
            level=rules.level,
            seed=rules.seed,
            replicates=rules.score_replicates,
            groups_a=groups_a,
            groups_b=groups_b,
        )

    def _no_weights(self, *places: int) -> None:
        """Refuse weights, which the tests of scores on different cases do not know."""
        weighted = [
            self.names[place]
            for place in places
            if (held := self.evaluations[place].scores) is not None and held.evidence.weighted
        ]
        if weighted:
            raise OptionError(
                f"Scores of different cases are compared without weights, and these have some: {listing(weighted)}.",
                hint="leave out weight, or compare by accuracy or another measure of the predicted classes.",
            )

    def _scores(
        self, side: Evaluation, quantity: Quantity
    ) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.int64] | None]:
        """The scores of one of them, the truth they are judged by, and the groups."""
        if side.scores is None:
            message = "there are no scores"
            raise TypeError(message)
        evidence, own = side.scores.evidence, translate_class(quantity, side.labels)
        if not isinstance(evidence, RowScores):
            message = "the rows were not kept"
            raise TypeError(message)
        values = select_scores(evidence.values, evidence.predictions, own, evidence.labels)
        label = own.class_ if own.class_ is not None else side.positive
        place = 1 if label is None else evidence.labels.index(label)
        truth = evidence.codes if values.ndim == 2 else evidence.codes == place
        return values, truth, evidence.group_codes

    def _counted(self, side: Evaluation, quantity: Quantity) -> CountedSide:
        """What was counted of the scores of one of them."""
        if side.scores is None:
            message = "there are no scores"
            raise TypeError(message)
        evidence = side.scores.evidence
        if evidence.per_class and quantity.bound.measure.scope != "probability" and quantity.class_ is None:
            raise OptionError(
                f"{quantity.bound.name} of a column of scores for each class needs the rows, and these were not kept.",
                hint=f"name one class, as in {quantity.bound.name}[CLASS], or give the rows.",
            )
        label = translate_class(quantity, side.labels).class_
        chosen = label if label is not None else side.positive
        ranking = evidence.ranking(evidence.labels[-1] if chosen is None else chosen)
        return CountedSide(ranking, evidence.probabilities)

    def omnibus(self, quantities: Sequence[Quantity], rules: CompareOptions) -> tuple[OmnibusTest, ...]:  # noqa: ARG002
        """There is none for different test sets."""
        return ()


# Contestants that were trained and tested by the same splits, compared split by split.


@dataclass(frozen=True, eq=False)
class PairedSplits(EvaluatedDesign):
    """All of them were trained and tested by the same splits.

    `order` brings the folds of each into one order, and `rows` the cases, where they are in another. `random` says that
    every split is a draw of its own, and no fold of a partition of the cases.
    """

    by_split: ClassVar[bool] = True
    met: ClassVar[Setting] = "same splits"

    plan: str = field(kw_only=True)
    splits: int = field(kw_only=True)
    random: bool = field(kw_only=True, default=False)
    order: tuple[NDArray[np.int64], ...] = field(kw_only=True, default=())
    extra: tuple[str, ...] = field(kw_only=True, default=())
    rows: tuple[NDArray[np.int64], ...] = field(kw_only=True, default=())

    @property
    def words(self) -> str:
        """The plan."""
        return f"the same {self.splits:,} splits ({self.plan})"

    @property
    def shared(self) -> tuple[str, ...]:
        """What is said of how they meet, and of the splits that are compared."""
        return (*super().shared, *self.extra)

    def why(self) -> str:
        """Why they are compared so."""
        return (
            f"They were trained and tested on the same {self.splits:,} splits ({self.plan}), so they are compared "
            "split by split; splits share training cases, which the test must allow for"
        )

    def test(self, one: int, two: int, quantity: Quantity, rules: CompareOptions) -> PairTest:
        """The difference of two contestants over the splits."""
        values = [self._per_fold(place, quantity) for place in (one, two)]
        plan = self.evaluations[one].estimator.plan
        folds, repeats = self._shape(len(values[0]), len(values[0]) if plan is None else plan.independent)
        held = FoldValues.of(*values, ratio=None if plan is None else plan.ratio, folds=folds, repeats=repeats)
        return compare_folds(held, rules.method or "corrected-t", level=rules.level, rope=rules.rope)

    def _shape(self, splits: int, folds: int) -> tuple[int, int]:
        """The splits of one repetition, and the number of repetitions; random splits are repetitions of one each."""
        if self.random:
            return 1, splits
        repeats = max(1, splits // folds)
        # Folds of which some are missing come one after the other, in one repetition.
        return (folds, repeats) if folds * repeats == splits else (splits, 1)

    def _per_fold(self, place: int, quantity: Quantity) -> NDArray[np.float64]:
        one = self.evaluations[place]
        if quantity.bound.costs is not None and fitted(one.labels, self.labels) != self.evaluations[0].labels:
            raise OptionError(
                f"{self.names[0]} and {self.names[place]} have different classes, so the costs do not fit both.",
                hint="name the same classes in one order with labels= (--labels).",
            )
        values = one.fold_values(translate_class(quantity, one.labels))
        return values[self.order[place]] if self.order else values

    def value(self, place: int, quantity: Quantity) -> float:
        """The mean over the splits, which is what the test compares."""
        values = self._per_fold(place, quantity)
        there = values[~np.isnan(values)]
        return float(there.mean()) if len(there) else float("nan")

    def pooled(self, place: int, quantity: Quantity) -> float | None:
        """The value from the counts of all splits together, as an evaluation gives it; of scores there is none."""
        return float("nan") if is_score(quantity) else compute_value(self.confusion(place), quantity)

    def alike(self, one: int, two: int, quantity: Quantity) -> Alike:
        """What both give alike in every case, of what a quantity is made from."""
        held = [self.evaluations[place].predictions for place in (one, two)]
        if self.rows:
            held = [None if own is None else own.part(self.rows[at]) for own, at in zip(held, (one, two), strict=True)]
        return find_identical(held[0], held[1], quantity)

    def omnibus(self, quantities: Sequence[Quantity], rules: CompareOptions) -> tuple[OmnibusTest, ...]:  # noqa: ARG002
        """There is none for splits that share cases."""
        return ()


# What contestants have in common: the same cases, the same splits, or nothing but the measure.


def choose_design(held: Mapping[str, Contestant], *, paired: bool | None) -> PairingDesign:
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
    gone = {name: one for name, one in held.items() if isinstance(one, LazyContestant)}
    if gone and paired is not False:
        return _elsewhere(gone, [name for name in held if name not in gone])
    evaluations = {
        name: one.evaluation if isinstance(one, LazyContestant) else one
        for name, one in held.items()
        if isinstance(one, Evaluation | LazyContestant)
    }
    lacking = [name for name, one in evaluations.items() if one.predictions is None and name not in gone]
    if paired is False or (lacking and paired is None):
        return IndependentCases(evaluations, counted=tuple(lacking))
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
    return PairedCases(evaluations, paired=found)


def _elsewhere(gone: dict[str, LazyContestant], rest: Sequence[str]) -> PairingDesign:
    """The meeting of contestants whose rows are not held, which must be all of them."""
    if rest:
        raise OptionError(
            f"The rows of {listing(gone)} are not held here and those of {listing(rest)} are, so cases cannot be "
            "matched.",
            hint="give all of them as lazy frames of one engine, or read all into memory (engine='memory', "
            "--engine memory).",
        )
    return join_lazy_cases(gone)


def _validated(held: Mapping[str, Validation], *, paired: bool | None) -> PairingDesign:
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
        return PairedCases(evaluations, paired=pair(predictions, list(held)))
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
    return PairedSplits(
        evaluations,
        plan=first.plan.text,
        splits=len(common),
        # Repetitions of one split each are draws, unless together they test every case equally often (leave-p-out).
        random=repeats == len(first.run.splits) and (plan is None or plan.independent >= len(common)),
        extra=tuple(extra),
    )


def _folded(evaluations: Mapping[str, Evaluation], predictions: Sequence[Predictions], found: Paired) -> PairingDesign:
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
        return PairedCases(evaluations, paired=found)
    # 10 stands after 9 among numbers and before it in text: the folds of all are taken in the order of the first.
    places = tuple(np.array([own.index(key) for key in orders[0]], dtype=np.int64) for own in orders)
    return PairedSplits(
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
