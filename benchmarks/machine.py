"""What the figures were measured on: its size and versions, never its name."""

from __future__ import annotations

import importlib.metadata
import os
import platform

LIBRARIES = (
    "heldout",
    "numpy",
    "scipy",
    "polars",
    "duckdb",
    "pyspark",
    "narwhals",
    "rich",
    "typer",
    "scikit-learn",
    "torch",
    "torchmetrics",
    "pycm",
    "confidenceinterval",
)


def machine() -> dict[str, object]:
    """Cores, memory, system and the versions of every library in the race."""
    return {
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "versions": {name: _version(name) for name in LIBRARIES},
    }


def _version(library: str) -> str | None:
    try:
        return importlib.metadata.version(library)
    except importlib.metadata.PackageNotFoundError:
        return None
