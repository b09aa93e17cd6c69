"""Costs: what each kind of error costs, and reading them from a text or a file."""

from heldout.costs.matrix import Costs, read_costs, settle_costs
from heldout.costs.verdict import more_accurate_costs_more

__all__ = ["Costs", "more_accurate_costs_more", "read_costs", "settle_costs"]
