"""Two classifiers by their scores, each with cases of its own, from rankings and sums of losses without the rows."""

from __future__ import annotations

from dataclasses import dataclass

from heldout.comparisons.delong_tests import DELONG_UNPAIRED, allowing, delong_unpaired
from heldout.comparisons.pair_test import Tested
from heldout.comparisons.paired_losses import UNPAIRED_HALL, UNPAIRED_LOSS_T, MeanMoments, unpaired_mean_test
from heldout.comparisons.paired_scores import AREAS, area_scaled, score_method
from heldout.errors import OptionError
from heldout.evidence import Ranking
from heldout.evidence.joint_counts import GapSums
from heldout.evidence.probabilities import Probabilities
from heldout.measures.certified import bounds
from heldout.measures.probability import log_loss
from heldout.measures.quantity import Bound


@dataclass(frozen=True, eq=False)
class CountedSide:
    """What is known of the scores of one classifier."""

    ranking: Ranking
    probabilities: Probabilities | None = None


def compare_counted_unpaired(
    one: CountedSide, two: CountedSide, bound: Bound, *, method: str | None = None, level: float = 0.95
) -> Tested:
    """A − B of the ROC area, the Gini coefficient or a mean loss; everything else needs the rows."""
    name = score_method(bound, method, "different cases")
    if name == DELONG_UNPAIRED.name:
        found = delong_unpaired(one.ranking, two.ranking, level=level)
        widths = [high - low for low, high in (bounds(side.ranking, "roc_auc") for side in (one, two))]
        joined = any(side.ranking.joined is not None for side in (one, two))
        return area_scaled(allowing(found, sum(widths) / 2) if joined else found, bound)
    sides = one.probabilities, two.probabilities
    if name not in (UNPAIRED_LOSS_T.name, UNPAIRED_HALL.name) or sides[0] is None or sides[1] is None:
        raise OptionError(
            f"{bound.name} of different cases is compared by {name}, which needs the rows, and these were not kept.",
            hint=f"compare by {', '.join(AREAS)}, brier or log_loss by their usual methods, or give the rows.",
        )
    if sides[0].groups is not None or sides[1].groups is not None:
        raise OptionError(
            f"{bound.name} of different cases that come in groups needs the rows, and these were not kept.",
            hint="leave out group, or give the rows.",
        )
    held = [getattr(side, bound.measure.name).centred() for side in sides]
    moments = [
        MeanMoments.of_sums(GapSums(side.n, own.centre, *map(float, own.sums[0, 1:])))
        for side, own in zip((sides[0], sides[1]), held, strict=True)
    ]
    of_many = max(side.n_classes for side in (sides[0], sides[1])) > 2
    largest = float("inf") if bound.measure.name == log_loss.name else 2.0 if of_many else 1.0
    sizes = sides[0].n, sides[1].n
    return unpaired_mean_test(
        moments[0], moments[1], sizes, form="hall" if name == UNPAIRED_HALL.name else "t", level=level, largest=largest
    )  # fmt: skip
