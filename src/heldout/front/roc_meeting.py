"""The ROC curves of contestants that scored the same cases."""

from __future__ import annotations

from dataclasses import dataclass

from heldout.arguments import listing
from heldout.comparisons.optimal_ranges import OptimalRanges, optimal_ranges
from heldout.comparisons.roc_pair import RocComparison, compare_roc
from heldout.errors import OptionError
from heldout.front.meeting import Meeting, Rules
from heldout.front.same_cases import SameCases


@dataclass(frozen=True, eq=False)
class MeetingCurves:
    """Curves of the positive class, made when asked for."""

    meeting: SameCases
    rules: Rules

    def pair(self, a: str, b: str) -> RocComparison:
        """Two curves on the same cases."""
        places = [self._place(name) for name in (a, b)]
        if self.meeting.weights() is not None:
            raise OptionError(
                "ROC curves are compared without weights, and the cases have some.",
                hint="leave out weight, or compare the areas (measure='roc_auc'), which know of weights.",
            )
        truth, label = self.meeting.positives()
        one, two = (self.meeting.scores_in_order(place) for place in places)
        return compare_roc(
            one,
            two,
            truth,
            names=(a, b),
            label=label,
            level=self.rules.level,
            seed=self.rules.seed,
            groups=self.meeting.groups(),
        )

    def ranges(self, prevalence: float | None) -> OptimalRanges:
        """All curves, and in which range of costs each is best."""
        rankings = {name: one.ranking() for name, one in self.meeting.held.items()}
        return optimal_ranges(rankings, prevalence=prevalence, positive=self.meeting.positives()[1])

    def _place(self, name: str) -> int:
        if name not in self.meeting.names:
            raise OptionError(
                f"There is no classifier {name!r}. There are: {listing(self.meeting.names)}.", hint="use one of these."
            )
        return self.meeting.names.index(name)


def curves_of(meeting: Meeting, rules: Rules) -> MeetingCurves | None:
    """The curves, where the same cases of two classes were scored by all."""
    if not isinstance(meeting, SameCases) or not meeting.has_curves:
        return None
    return MeetingCurves(meeting, rules)
