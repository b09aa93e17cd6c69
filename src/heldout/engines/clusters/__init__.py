"""Engines that are opened by a path: DuckDB, Dask, Spark, their errors and what they need."""
