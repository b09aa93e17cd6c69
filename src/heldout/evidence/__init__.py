"""Evidence: what was counted; frozen, small, and merged with +."""

from heldout.arguments import Label
from heldout.evidence.confusion import Clusters, Confusion
from heldout.evidence.labels import join_labels, sort_labels
from heldout.evidence.ranking import RankedGroups, Ranking

__all__ = ["Clusters", "Confusion", "Label", "RankedGroups", "Ranking", "join_labels", "sort_labels"]
