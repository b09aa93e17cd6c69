"""Contestants that were tested on cases of their own, taken as independent test sets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from heldout.arguments import listing
from heldout.comparisons.counted_unpaired import CountedSide, compare_counted_unpaired
from heldout.comparisons.paired_scores import compare_scores_unpaired
from heldout.comparisons.procedure import Setting
from heldout.comparisons.tested import Tested
from heldout.comparisons.together import Together
from heldout.comparisons.unpaired import compare_unpaired
from heldout.engines.scores import RowScores
from heldout.errors import OptionError
from heldout.evaluation import Evaluation
from heldout.front.meeting import Judged, Rules, fitting_scores, is_score, no_rope, of_own
from heldout.measures.quantity import Quantity


@dataclass(frozen=True, eq=False)
class DifferentCases(Judged):
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

    def test(self, one: int, two: int, quantity: Quantity, rules: Rules) -> Tested:
        """The difference of two contestants, each on its own cases."""
        no_rope(rules)
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
        evidence, own = side.scores.evidence, of_own(quantity, side.labels)
        if not isinstance(evidence, RowScores):
            message = "the rows were not kept"
            raise TypeError(message)
        values = fitting_scores(evidence.values, evidence.predictions, own, evidence.labels)
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
        label = of_own(quantity, side.labels).class_
        chosen = label if label is not None else side.positive
        ranking = evidence.ranking(evidence.labels[-1] if chosen is None else chosen)
        return CountedSide(ranking, evidence.probabilities)

    def omnibus(self, quantities: Sequence[Quantity], rules: Rules) -> tuple[Together, ...]:  # noqa: ARG002
        """There is none for different test sets."""
        return ()
