"""Counting scores in bins, and counting again inside the bins that leave the areas least certain."""

from __future__ import annotations

from heldout.engines.bin_counter import BinCounter, bins_of
from heldout.engines.refinement import Recount, Refinement, SubBins, refine

__all__ = ["BinCounter", "Recount", "Refinement", "SubBins", "bins_of", "refine"]
