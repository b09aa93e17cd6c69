"""The design of different cases: each contestant has a test set of its own."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from heldout.arguments import listing, require
from heldout.comparisons.best import JointValues
from heldout.comparisons.pair_test import Setting
from heldout.comparisons.paired_influence import CaseUnits, influence_spread
from heldout.comparisons.paired_scores import compare_scores_unpaired, score_influence, select_scores, translate_class
from heldout.comparisons.pairing_design import (
    CompareOptions,
    PairingDesign,
    refuse_rope,
)
from heldout.comparisons.unpaired import CountedSide, compare_counted_unpaired, compare_unpaired, value_and_variance
from heldout.engines.score_evidence import RowScores
from heldout.errors import OptionError
from heldout.intervals.estimate import PairTest
from heldout.measures.quantity import Quantity
from heldout.results.evaluation import Evaluation


def _list_ids(evaluation: Evaluation) -> frozenset[Any]:
    """The ids of its cases, as they are written; none where they have none."""
    ids = None if evaluation.predictions is None else evaluation.predictions.id
    return frozenset() if ids is None else frozenset(map(str, ids.labels))


@dataclass(frozen=True, eq=False)
class IndependentCases(PairingDesign):
    """Each contestant has a test set of its own; `counted` names those of which only counts are known."""

    setting: ClassVar[Setting] = "different cases"

    counted: tuple[str, ...] = field(kw_only=True, default=())

    @property
    def shared_notes(self) -> tuple[str, ...]:
        """The notes on the pairing, on cases that are the same after all, and on contestants without rows."""
        notes = list(super().shared_notes)
        if self.counted:
            which = f"only counts are known of {listing(self.counted)}"
            notes.append(f"{which}, so the test sets are taken as different ones; pairs would tell more")
        for (a, first), (b, second) in combinations(zip(self.names, self.evaluations, strict=True), 2):
            if common := len(_list_ids(first) & _list_ids(second)):
                notes.append(
                    f"{common:,} ids stand in both {a} and {b}, which are taken as different cases all the same; "
                    "the same cases are compared more sharply without paired=False (--different-cases)"
                )
        return tuple(notes)

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
