"""The design of the same cases: all contestants judged them, in memory or counted by a lazy engine."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from heldout.arguments import counted, listing, method_key, require
from heldout.arrays import Codes, Floats
from heldout.comparisons.best import JointValues
from heldout.comparisons.comparison import Alike, Curves
from heldout.comparisons.delong import (
    DELONG,
    DELONG_MOVER,
    Areas,
    Influence,
    compare_all_areas,
    delong_pairs,
    find_influence,
    resolve_scores,
)
from heldout.comparisons.mcnemar import compare_all_accuracies
from heldout.comparisons.optimal_ranges import OptimalRanges, optimal_ranges
from heldout.comparisons.pair_test import OmnibusTest, Setting, scale_test
from heldout.comparisons.paired_counts import compare_counts
from heldout.comparisons.paired_influence import (
    CaseUnits,
    compare_averaged_areas,
    compare_dependent_counts,
    count_influence,
    join_influences,
)
from heldout.comparisons.paired_scores import (
    AREAS,
    ENOUGH_POSITIVES,
    MOST_RESAMPLED,
    averaged_area,
    compare_scores,
    score_influence,
    select_scores,
)
from heldout.comparisons.pairing_design import (
    CompareOptions,
    PairingDesign,
    find_identical,
    refuse_rope,
)
from heldout.comparisons.roc_pair import CurveOrder, RocComparison, compare_roc
from heldout.comparisons.score_resampling import compare_functions
from heldout.curves.roc import roc
from heldout.errors import OptionError
from heldout.evidence import Label
from heldout.evidence.joint_counts import PairCounts
from heldout.intervals.case_bootstrap import CaseValues
from heldout.intervals.estimate import PairTest
from heldout.intervals.multiclass_areas import area_influence
from heldout.measures.quantity import Quantity
from heldout.predictions.alignment import Paired
from heldout.predictions.table import Predictions
from heldout.threads import cached_property

if TYPE_CHECKING:
    from heldout.engines.lazy.pairs import LazyCases


@dataclass(frozen=True, eq=False)
class SharedCases(PairingDesign):
    """All contestants judged the same cases, whether the rows are in memory or were counted by a lazy engine."""

    setting: ClassVar[Setting] = "same cases"

    @property
    @abstractmethod
    def cases(self) -> Paired | LazyCases:
        """The matched cases."""

    @property
    def description(self) -> str:
        """How many cases, and how they were matched."""
        return f"{counted(self.cases.n, 'case')} that all of them predicted, matched by {self.cases.by}"

    @property
    def labels(self) -> tuple[Label, ...]:
        """The classes of all contestants."""
        return self.cases.labels

    @property
    def shared_notes(self) -> tuple[str, ...]:
        """The notes on the pairing, and on how the cases were matched."""
        return (*super().shared_notes, *self.cases.notes)

    @property
    def reason(self) -> str:
        """Why they are compared case by case."""
        return f"All of them predicted the same {counted(self.cases.n, 'case')}, so they are compared case by case"

    @cached_property
    def _counts(self) -> dict[tuple[int, int], PairCounts]:
        return {}

    def counts(self, a: int, b: int) -> PairCounts:
        """The joint counts of two contestants."""
        if (a, b) not in self._counts:
            self._counts[a, b] = self._count(a, b)
        return self._counts[a, b]

    @abstractmethod
    def _count(self, a: int, b: int) -> PairCounts:
        """Count the answers of two contestants jointly."""

    def discordant(self, a: int, b: int) -> tuple[int, int] | None:
        """How many cases only A gets right, and how many only B."""
        counts = self.counts(a, b)
        return counts.only_a, counts.only_b

    def test(self, a: int, b: int, quantity: Quantity, options: CompareOptions) -> PairTest:
        """The difference of two contestants on their common cases."""
        refuse_rope(options)
        if quantity.is_score:
            return self._test_scores(a, b, quantity, options)
        costs = quantity.bound.costs
        if costs is not None and len(costs) != len(self.labels):
            raise OptionError(
                f"The costs are for {len(costs)} classes, and the predictions hold {listing(self.labels)}.",
                hint="name all classes with labels= (--labels), and give a cost for each.",
            )
        if self._dependent:
            return self._test_dependent(a, b, quantity, options)
        return compare_counts(
            self.counts(a, b), quantity, method=options.method, level=options.level, seed=options.seed,
            replicates=options.count_replicates,
        )  # fmt: skip

    @abstractmethod
    def _test_scores(self, a: int, b: int, quantity: Quantity, options: CompareOptions) -> PairTest:
        """The difference of two contestants by a measure of scores."""

    @abstractmethod
    def _test_dependent(self, a: int, b: int, quantity: Quantity, options: CompareOptions) -> PairTest:
        """The difference by a measure of answers, where cases come in groups or have weights."""

    @property
    @abstractmethod
    def _dependent(self) -> bool:
        """Whether the cases come in groups or have weights."""

    def omnibus(self, quantities: Sequence[Quantity], options: CompareOptions) -> tuple[OmnibusTest, ...]:
        """Cochran's Q: whether all are right equally often; DeLong's test: whether all areas are the same."""
        tests: list[OmnibusTest] = []
        if not self._dependent and not all(quantity.is_score for quantity in quantities):
            tests.append(compare_all_accuracies(*self._right(), level=options.level))
        for quantity in quantities:
            areas = self._areas_by(quantity) if quantity.bound.measure.name in AREAS else None
            if areas is not None:
                name = quantity.bound.name + (f"[{quantity.class_}]" if quantity.class_ is not None else "")
                tests.append(compare_all_areas(areas, name, level=options.level))
        return tuple(tests)

    @abstractmethod
    def _right(self) -> tuple[NDArray[np.bool_], Codes | None]:
        """Which answers are right, cases or patterns × contestants, and the number of cases of each pattern."""

    @abstractmethod
    def _areas_by(self, quantity: Quantity) -> Areas | None:
        """The areas under the ROC curves of all contestants, where they have one score for each case."""

    @property
    def has_curves(self) -> bool:
        """Whether each contestant has a ROC curve: scores of two classes, one of them positive."""
        return self.scored and self.evaluations[0].positive is not None and len(self.labels) == 2


@dataclass(frozen=True, eq=False)
class PairedCases(SharedCases):
    """All contestants judged the same cases, and the rows are in memory."""

    has_rows: ClassVar[bool] = True

    paired: Paired = field(kw_only=True)

    @property
    def cases(self) -> Paired:
        """The matched cases."""
        return self.paired

    @property
    def compares_precision(self) -> bool:
        """Unless resampling so many cases would take long, and so few positives allow nothing else."""
        positives = int(np.bincount(self.paired.truth, minlength=2).min())
        return self._dependent or self.paired.n <= MOST_RESAMPLED or positives >= ENOUGH_POSITIVES

    def _count(self, a: int, b: int) -> PairCounts:
        cases = self.paired
        return PairCounts.of(cases.truth, cases.predicted[a], cases.predicted[b], cases.labels)

    def identical(self, a: int, b: int, quantity: Quantity) -> Alike:
        """Whether the answers or the scores behind a quantity are the same in every case."""
        cases = self.paired
        if not quantity.is_score:
            return "answers" if np.array_equal(cases.predicted[a], cases.predicted[b]) else ""
        first, second = (self._predictions(index).part(cases.rows[index]) for index in (a, b))
        return find_identical(first, second, quantity)

    def _predictions(self, index: int) -> Predictions:
        return require(self.evaluations[index].predictions, "an evaluation without predictions cannot be paired")

    @cached_property
    def _dependent(self) -> bool:
        every = [self._predictions(index) for index in range(len(self.evaluations))]
        return any(own.group is not None or own.weight is not None for own in every)

    @property
    def _units(self) -> CaseUnits:
        """The true classes, weights and groups of the cases."""
        return CaseUnits(self.paired.truth, self.weights(), self.groups())

    def _test_dependent(self, a: int, b: int, quantity: Quantity, options: CompareOptions) -> PairTest:
        cases = self.paired
        answers = cases.predicted[a], cases.predicted[b]
        return compare_dependent_counts(
            answers, self._units, cases.labels, quantity, method=options.method, level=options.level
        )

    def joint(self, quantity: Quantity) -> JointValues | None:
        """The values of all contestants with their covariance, from the influences of the cases."""
        is_area = quantity.bound.measure.name in AREAS and averaged_area(quantity) is None
        areas = self._areas_by(quantity) if is_area else None
        if areas is not None:
            if np.isnan(areas.covariance).any():
                return None
            factor = AREAS[quantity.bound.measure.name]
            # Gini is twice the area less 1.
            return JointValues(factor * areas.values + 1 - factor, factor**2 * areas.covariance, areas.df, areas.df + 1)
        sides = [self._influence(index, quantity) for index in range(len(self.evaluations))]
        known = [side for side in sides if side is not None and not math.isnan(side[0])]
        return join_influences(known, self._units) if len(known) == len(sides) else None

    def _case_values(self, index: int) -> CaseValues:
        """What functions of the cases take of one contestant, in the order of the cases."""
        return CaseValues.of(self._predictions(index).part(self.paired.rows[index]))

    def test(self, a: int, b: int, quantity: Quantity, options: CompareOptions) -> PairTest:
        """The difference of two contestants on their common cases, also by one's own function of their rows."""
        if not quantity.is_of_cases:
            return super().test(a, b, quantity, options)
        refuse_rope(options)
        return compare_functions(
            self._case_values(a), self._case_values(b), quantity.bound, method=options.method, level=options.level,
            seed=options.seed, replicates=options.count_replicates,
        )  # fmt: skip

    def _influence(self, index: int, quantity: Quantity) -> tuple[float, Floats] | None:
        """The value of one contestant and the influence of every case on it; None where that is not known."""
        if quantity.is_of_cases:
            return None
        units, cases = self._units, self.paired
        if not quantity.is_score:
            return count_influence(cases.predicted[index], units, cases.labels, quantity)
        scores, average = self._score_values(index, quantity), averaged_area(quantity)
        if average is not None and scores.ndim == 2:
            return area_influence(scores, units.classes, scores.shape[1], average, weight=units.weight)
        truth = self._positive(quantity) if scores.ndim == 1 else cases.truth
        return score_influence(scores, truth, quantity.bound, units)

    def positives(self) -> tuple[NDArray[np.bool_], Label | None]:
        """Which cases are positive, and the class that is."""
        label = self.evaluations[0].positive
        code = 1 if label is None else self.paired.labels.index(label)
        return self.paired.truth == code, label

    def scores_in_order(self, index: int) -> NDArray[Any]:
        """The scores of one contestant, in the order of the cases."""
        scores = require(self._predictions(index).scores, "there are no scores")
        return np.asarray(scores.values)[self.paired.rows[index]]

    def groups(self) -> NDArray[np.int64] | None:
        """The groups of the cases, which are the same for all."""
        group = self._predictions(0).group
        return None if group is None else group.codes.astype(np.int64)[self.paired.rows[0]]

    def weights(self) -> NDArray[np.float64] | None:
        """The weights of the cases, which are the same for all."""
        weight = self._predictions(0).weight
        return None if weight is None else weight[self.paired.rows[0]]

    def _positive(self, quantity: Quantity) -> NDArray[np.bool_]:
        """Which cases are of the class that the scores of a quantity are of."""
        label = quantity.class_ if quantity.class_ is not None else self.evaluations[0].positive
        labels = self.paired.labels
        return np.asarray(self.paired.truth == labels.index(labels[-1] if label is None else label))

    @cached_property
    def _areas(self) -> dict[tuple[Label | None, str, float], dict[tuple[int, int], PairTest]]:
        return {}

    def _test_all_areas(self, quantity: Quantity, options: CompareOptions) -> dict[tuple[int, int], PairTest] | None:
        """DeLong's tests of all pairs, sorting each contestant once; None for two contestants or another method."""
        name = DELONG.name if options.method is None else method_key(options.method)
        few = len(self.evaluations) < 3 or quantity.bound.measure.name not in AREAS
        if few or name not in (DELONG.name, DELONG_MOVER.name):
            return None
        key = quantity.class_, name, options.level
        if key not in self._areas:
            values = [self._score_values(index, quantity) for index in range(len(self.evaluations))]
            if values[0].ndim != 1:
                return None
            self._areas[key] = delong_pairs(
                values, self._positive(quantity), level=options.level, interval="t" if name == DELONG.name else "mover",
                weight=self.weights(), groups=self.groups(), influence=self._find_area_influence(quantity),
            )  # fmt: skip
        return self._areas[key]

    @cached_property
    def _area_influences(self) -> dict[Label | None, Influence]:
        return {}

    def _find_area_influence(self, quantity: Quantity) -> Influence | None:
        """What each case contributes to the areas of all contestants; None where a case has several scores."""
        if quantity.class_ not in self._area_influences:
            values = [self._score_values(index, quantity) for index in range(len(self.evaluations))]
            if values[0].ndim != 1:
                return None
            rows, mask = resolve_scores(values, self._positive(quantity))
            self._area_influences[quantity.class_] = find_influence(rows, mask, self.weights(), self.groups())
        return self._area_influences[quantity.class_]

    def _test_scores(self, a: int, b: int, quantity: Quantity, options: CompareOptions) -> PairTest:
        tests = self._test_all_areas(quantity, options)
        if tests is not None:
            factor = AREAS[quantity.bound.measure.name]
            return scale_test(tests[min(a, b), max(a, b)], factor if a < b else -factor)
        values = [self._score_values(index, quantity) for index in (a, b)]
        average = averaged_area(quantity)
        if average is not None and values[0].ndim == 2:
            return compare_averaged_areas(
                (values[0], values[1]), self._units, average, method=options.method, level=options.level,
                undefined=quantity.bound.undefined,
            )  # fmt: skip
        return compare_scores(
            values[0],
            values[1],
            self._positive(quantity) if values[0].ndim == 1 else self.paired.truth,
            quantity.bound,
            method=options.method,
            level=options.level,
            seed=options.seed,
            replicates=options.score_replicates,
            groups=self.groups(),
            weight=self.weights(),
        )

    def _score_values(self, index: int, quantity: Quantity) -> NDArray[Any]:
        """The scores that a measure needs, in the order of the cases and of the classes."""
        return select_scores(self.scores_in_order(index), self._predictions(index), quantity, self.labels)

    def _right(self) -> tuple[NDArray[np.bool_], Codes | None]:
        return np.stack([predicted == self.paired.truth for predicted in self.paired.predicted], axis=1), None

    def _areas_by(self, quantity: Quantity) -> Areas | None:
        influence = self._find_area_influence(quantity)
        if influence is None:
            return None
        return influence.areas(self.paired.n)

    def curves(self, options: CompareOptions) -> PairedRocCurves | None:
        """The ROC curves, where all contestants scored two classes."""
        return PairedRocCurves(self, options) if self.has_curves else None


@dataclass(frozen=True, eq=False)
class PairedRocCurves(Curves):
    """The ROC curves of the positive class on the same cases, made when asked for."""

    design: PairedCases
    options: CompareOptions

    def pair(self, a: str, b: str) -> RocComparison:
        """Two curves on the same cases."""
        indices = [self._index(name) for name in (a, b)]
        if self.design.weights() is not None:
            raise OptionError(
                "ROC curves are compared without weights, and the cases have some.",
                hint="leave out weight, or compare the areas (measures='roc_auc'), which know of weights.",
            )
        truth, label = self.design.positives()
        scores_a, scores_b = (self.design.scores_in_order(index) for index in indices)
        return compare_roc(
            scores_a,
            scores_b,
            truth,
            names=(a, b),
            label=label,
            level=self.options.level,
            seed=self.options.seed,
            groups=self.design.groups(),
        )

    def describe_crossing(self, a: str, b: str) -> str:
        """Where two curves cross, in words; nothing where one is nowhere below the other."""
        first, second = (roc(self.design.evaluations[self._index(name)].ranking(), None) for name in (a, b))
        if first.undefined or second.undefined:
            return ""
        order = CurveOrder.of((a, b), (first, second))
        return order.verdict if order.crossings else ""

    def ranges(self, prevalence: float | None) -> OptimalRanges:
        """All curves, and in which range of costs each is best."""
        rankings = {name: evaluation.ranking() for name, evaluation in self.design.by_name.items()}
        return optimal_ranges(rankings, prevalence=prevalence, positive=self.design.positives()[1])

    def _index(self, name: str) -> int:
        if name not in self.design.names:
            raise OptionError(
                f"There is no classifier {name!r}. There are: {listing(self.design.names)}.", hint="use one of these."
            )
        return self.design.names.index(name)
