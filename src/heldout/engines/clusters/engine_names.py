"""What the engines are called."""

from __future__ import annotations

# Engines that aggregate where the data are.
ELSEWHERE = ("polars", "duckdb", "dask", "spark")
# Those that run on a cluster, and so may be told where it is.
WITH_MASTER = ("dask", "spark")
