"""Settings that every test shares: reproducible hypothesis runs, and long simulations left out."""

from __future__ import annotations

from pathlib import Path

from hypothesis import settings

# The same examples on every run and machine, and no failure because a machine was busy.
settings.register_profile("ci", derandomize=True, deadline=None)
settings.load_profile("ci")

# The simulations behind the promises run for many minutes: `make promises` runs them, pytest does not
# even import them (it would, to look for doctests).
collect_ignore = [
    str(path) for path in (Path(__file__).parent / "promises").glob("*.py") if not path.name.startswith("test_")
]
