"""Plans: how rows are split into those that train and those that test."""

from heldout.plans.folds import by_column, kfold, leave_one_group_out, leave_one_out, leave_p_out, time_ordered, weka
from heldout.plans.holdout_and_bootstrap import (
    bootstrap,
    bootstrap_632,
    bootstrap_632_plus,
    holdout,
    resubstitution,
    subsampling,
)
from heldout.plans.parser import given, nested, read_plan
from heldout.plans.plan import Cases, Plan, Splits

__all__ = [
    "Cases",
    "Plan",
    "Splits",
    "bootstrap",
    "bootstrap_632",
    "bootstrap_632_plus",
    "by_column",
    "given",
    "holdout",
    "kfold",
    "leave_one_group_out",
    "leave_one_out",
    "leave_p_out",
    "nested",
    "read_plan",
    "resubstitution",
    "subsampling",
    "time_ordered",
    "weka",
]
