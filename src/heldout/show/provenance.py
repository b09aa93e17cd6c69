"""Where a page comes from: the facts it was given, and the versions of what computed it."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version

from heldout.show.blocks import Facts, Section

PACKAGES = ("heldout", "numpy", "scipy", "polars", "scikit-learn")
NAME = "provenance"


@cache
def versions() -> str:
    """The versions of what computed the page, in one line.

    >>> "Python" in versions()
    True
    """
    found = []
    for package in PACKAGES:
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            continue
    return ", ".join([*found, f"Python {platform.python_version()}"])


def provenance_section(facts: Sequence[tuple[str, str]]) -> Section:
    """The facts, and the versions that every page states."""
    return Section("Provenance", (Facts((*facts, ("computed with", versions()))),), NAME)
