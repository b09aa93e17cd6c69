"""Plans: how rows are split into those that train and those that test."""

from heldout.plans.bootstraps import bootstrap, bootstrap_632, bootstrap_632_plus
from heldout.plans.column import by_column
from heldout.plans.folds import kfold
from heldout.plans.holdouts import holdout, subsampling
from heldout.plans.leave_out import leave_one_group_out, leave_one_out, leave_p_out
from heldout.plans.nesting import nested
from heldout.plans.plan import Cases, Plan
from heldout.plans.splits import Splits
from heldout.plans.splitters import given
from heldout.plans.text import read_plan
from heldout.plans.time_order import time_ordered
from heldout.plans.training_set import resubstitution
from heldout.plans.weka_folds import weka

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
