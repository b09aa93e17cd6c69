"""H024: groups count by how unequal they are, and by how many of them hold an error."""

import numpy as np
import pytest

import heldout
from heldout.review import Finding


def few_groups(sizes: list[int], wrong: list[int]) -> Finding:
    """The finding on groups of these sizes, of which so many rows each are wrong."""
    group = np.repeat(np.arange(len(sizes)), sizes)
    truth = np.tile([0, 1], len(group))[: len(group)]
    errors = np.concatenate([np.arange(size) < bad for size, bad in zip(sizes, wrong, strict=True)])
    seen = heldout.evaluate(truth, np.where(errors, 1 - truth, truth), group=group)
    return next(finding for finding in seen.review.findings if finding.code == "H024")


def test_a_few_large_groups_among_many_count_for_few():
    found = few_groups([300, 200, *[5] * 40], [30, 20, *[1] * 40])
    assert found.outcome == "fired"
    effective = 700**2 / (300**2 + 200**2 + 40 * 25)
    assert found.facts["effective"] == pytest.approx(effective)
    assert "42 groups, which count as 3.7 equally large ones" in found.title


def test_errors_in_a_few_groups_are_told():
    found = few_groups([8] * 60, [4, 3, 2, *[0] * 57])
    assert found.outcome == "fired"
    assert found.title == "All errors lie in 3 groups of 60."


def test_many_equal_groups_pass_with_and_without_errors():
    for wrong in ([1] * 40, [0] * 40):
        found = few_groups([8] * 40, wrong)
        assert (found.outcome, found.title) == ("passed", "There are 40 groups.")
    assert few_groups([8] * 20, [1] * 20).outcome == "passed"
    assert few_groups([8] * 19, [1] * 19).outcome == "fired"
