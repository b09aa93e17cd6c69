"""What the tests of cards share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped, unused-ignore]


@pytest.fixture(scope="package", autouse=True)
def _one_thread() -> Iterator[None]:
    """Threads that wait for each other cost more than they save on so few cases."""
    with threadpool_limits(limits=1):
        yield
