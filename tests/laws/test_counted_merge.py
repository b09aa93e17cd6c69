"""Laws of merging: the same evidence whatever the parts, their order and grouping, also through files and batches."""

from __future__ import annotations

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from heldout.engines.accumulator import Evidence
from heldout.engines.memory import counted
from heldout.evidence.storage import as_bytes, from_bytes
from heldout.predictions.source import gather

# Sums of such weights are exact in any order, and so are the counts; sums of losses are not.
EIGHTHS = st.integers(1, 16).map(lambda number: number / 8)
SCORES = st.sampled_from([0.0, 1e-9, 0.125, 0.25, 0.3, 0.5, 0.7, 0.999, 1.0]) | st.floats(0, 1, width=16)
RELATIVE = 1e-12


@st.composite
def cases(draw):
    """Columns of one data set: which roles it has, and where it is cut into parts."""
    n = draw(st.integers(2, 40))

    def column(values):
        return draw(st.lists(values, min_size=n, max_size=n))

    given_ = {"truth": ["no", "yes", *column(st.sampled_from(["no", "yes"]))[2:]]}
    scored = draw(st.booleans())
    if scored:
        given_["score"] = column(SCORES)
    if not scored or draw(st.booleans()):
        given_["predicted"] = column(st.sampled_from(["no", "yes"]))
    for role, values in (
        ("weight", EIGHTHS),
        ("group", st.integers(0, 5)),
        ("fold", st.sampled_from(["a", "b", "ä"])),
        ("slices", st.sampled_from(["f", "m", "日本", None])),
    ):
        if draw(st.booleans()):
            given_[role] = column(values)
    edges = sorted(draw(st.lists(st.integers(0, n), max_size=5)))
    parts = [slice(a, b) for a, b in zip([0, *edges], [*edges, n], strict=True) if a < b]
    return given_, parts


def options(given_, rows):
    """What `update` takes of some rows."""
    held = {role: values[rows] for role, values in given_.items()}
    if "slices" in held:
        held["slices"] = {"slice": held["slices"]}
    return held


def count(given_, rows):
    held = options(given_, rows)
    score, slices = held.pop("score", None), held.pop("slices", None)
    return counted(gather(None, held, score=score, slices=slices, labels=["no", "yes"])[0])


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(cases(), st.randoms(use_true_random=False))
def test_parts_make_the_same_whole_in_any_order_and_grouping(case, random):
    given_, parts = case
    whole = count(given_, slice(None))
    held = [count(given_, rows) for rows in parts]
    random.shuffle(held)
    while len(held) > 1:
        # Any two that stand beside each other are merged next.
        at = random.randrange(len(held) - 1)
        held[at : at + 2] = [held[at] + held[at + 1]]
    assert whole.differing(held[0], relative=RELATIVE) == ()


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(cases())
def test_files_change_nothing(case):
    given_, parts = case
    held = [count(given_, rows) for rows in parts]
    read = [from_bytes(as_bytes(part), "part") for part in held]
    assert read == held
    assert sum(read) == sum(held)
    assert as_bytes(sum(read[1:], read[0])) == as_bytes(sum(held[1:], held[0]))


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(cases(), st.booleans())
def test_batches_are_the_whole(case, named):
    given_, parts = case
    seen = Evidence(labels=["no", "yes"] if named else None)
    for rows in parts:
        seen.update(**options(given_, rows))
    whole = count(given_, slice(None))
    found = seen.counted
    if not named:
        # Labels that nobody declared are those that were met.
        met = {label for role in ("truth", "predicted") for label in given_.get(role, ())}
        assert set(found.labels) <= {*met, "yes", "no"}
    assert [name for name in whole.differing(found, relative=RELATIVE) if name != "declared"] == []


@settings(max_examples=30)
@given(st.lists(st.lists(st.integers(0, 4), min_size=1, max_size=6), min_size=1, max_size=6), st.data())
def test_classes_that_come_later_join(truths, data):
    predicted = [data.draw(st.lists(st.integers(0, 4), min_size=len(part), max_size=len(part))) for part in truths]
    seen = Evidence()
    for truth, answer in zip(truths, predicted, strict=True):
        seen.update(truth, answer)
    whole = counted(gather(sum(truths, []), {"predicted": sum(predicted, [])})[0])  # noqa: RUF017 - short lists
    assert seen.counted == whole
    assert isinstance(seen.matrix, np.ndarray)
