"""What a hint tells people to write can be written: every `name=` in it is an argument of the door that gave it."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

import heldout

RECORD = Path(__file__).parents[1] / "golden" / "expected" / "wrong-calls.txt"
ARGUMENT = re.compile(r"(?<![\w'\".-])(\w+)=(?!=)")
DOOR = re.compile(r">>> heldout\.(\w+)\(")


def hints():
    """The wrong calls that were recorded, each with its door and its hint."""
    for block in RECORD.read_text(encoding="utf-8").split("\n\n"):
        call, _, hint = block.partition("\nHint: ")
        door = DOOR.match(call)
        if door and hint and inspect.isfunction(getattr(heldout, door[1], None)):
            yield call.partition("\n")[0], door[1], hint


HINTS = list(hints())


def unknown_arguments(door, hint):
    known = inspect.signature(getattr(heldout, door)).parameters
    # What stands in the brackets of another call is that call's.
    own = re.sub(r"\b(?!" + door + r"\b)[a-z_]\w*\([^()]*\)", "", hint)
    return [name for name in ARGUMENT.findall(own) if name not in known]


def test_there_are_hints_with_arguments_and_the_rule_can_fail():
    assert len(HINTS) > 50
    assert sum(bool(ARGUMENT.search(hint)) for _, _, hint in HINTS) > 10
    assert unknown_arguments("compare", "or name the rows (row_costs=, --cost-rows), cost_rows= too.") == ["row_costs"]
    assert unknown_arguments("compare", "name the rows with row_costs= (--cost-rows).") == ["row_costs"]


@pytest.mark.parametrize(("call", "door", "hint"), HINTS, ids=[call[4:64] for call, _, _ in HINTS])
def test_every_argument_in_a_hint_is_one_of_the_door(call, door, hint):
    assert unknown_arguments(door, hint) == [], call
