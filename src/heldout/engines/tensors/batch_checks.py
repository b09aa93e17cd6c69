"""What can be wrong with batches of tensors, counted on their device and said once, in the words of every engine.

It stands apart from the metrics of `heldout.torch`, because it counts on the device, as all of this folder does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from heldout.arguments import Label, listing
from heldout.errors import HeldoutError, LabelError, ValuesError
from heldout.evidence.confusion import NAME_EVERY_CLASS
from heldout.predictions.case_values import refuse_infinite, refuse_weights
from heldout.predictions.label_encoding import refuse_fraction
from heldout.predictions.positive_class import quoted
from heldout.predictions.table import refuse_missing

# What is counted: rows without a score, without a class, without a weight, and without any of these; scores that are
# infinite; classes that are no whole numbers; targets that are no place of a class; weights that are none; rows of
# weight 0, and rows to be left out; rows that are no probabilities; batches of logits and of probabilities.
COUNTED = (
    "score", "truth", "weight", "lost", "infinite", "fraction", "outside", "heavy", "weightless", "ignored",
    "improbable", "logits", "probabilities",
)  # fmt: skip
# Of what the first row is remembered, and its value.
FIRSTS = ("lost", "infinite", "heavy", "fraction", "improbable")
# Ends that are remembered as the least of a number or of its negative.
ENDS = ("low outside", "high outside")

NEVER = (1 << 63) - 1
# A row number that no row has, as kernels write it: the floats of 64 bits tell whole numbers apart up to here.
BEYOND = 2.0**53

State = dict[str, Any]


def begin_checks(device: Any) -> State:
    """Nothing found yet."""
    wide = {"dtype": torch.float64, "device": device}
    return {
        "flags": torch.zeros(len(COUNTED), dtype=torch.int64, device=device),
        # Row numbers are whole floats: one kind of number travels.
        "first_row": torch.full((len(FIRSTS),), torch.inf, **wide),
        "first_value": torch.zeros(len(FIRSTS), **wide),
        "ends": torch.full((len(ENDS),), NEVER, dtype=torch.int64, device=device),
    }


def note_faults(state: State, found: Mapping[str, Any], values: Mapping[str, Any], before: int) -> None:
    """Count rows in which something was found, or how often in each; `before` is how many rows came earlier.

    Of `values` the one in the first such row is remembered, if none was met before.
    """
    some = next(iter(found.values()))
    nothing = torch.zeros_like(some, dtype=torch.bool)
    state["flags"] += torch.stack([found.get(name, nothing).to(torch.int32) for name in COUNTED]).sum(dim=1)
    bad = torch.stack([found[name] > 0 if name in found else nothing for name in FIRSTS])
    rows = torch.arange(before, before + len(some), dtype=torch.float64, device=some.device)
    first = torch.where(bad, rows, torch.inf).amin(dim=1)
    if values:
        columns = torch.stack([values[name].double() if name in values else rows for name in FIRSTS])
        value = columns.gather(1, bad.byte().argmax(dim=1)[:, None])[:, 0]
        state["first_value"].copy_(torch.where(first < state["first_row"], value, state["first_value"]))
    state["first_row"].copy_(torch.minimum(state["first_row"], first))


def note_end(state: State, name: str, value: Any) -> None:
    """Remember an end: the least value, or of the greatest its negative."""
    at = ENDS.index(name)
    state["ends"][at] = torch.minimum(state["ends"][at], value)


def read_flags(state: Mapping[str, Any]) -> dict[str, int]:
    """The counters by name."""
    return dict(zip(COUNTED, np.asarray(state["flags"]).tolist(), strict=True))


def merge_firsts(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Firsts and ends of several processes; of row numbers, each counts its own."""
    rows = np.stack([part["first_row"] for part in parts])
    place = rows.argmin(axis=0)[None]
    values = np.stack([part["first_value"] for part in parts])
    return {
        "first_row": np.take_along_axis(rows, place, axis=0)[0],
        "first_value": np.take_along_axis(values, place, axis=0)[0],
        "ends": np.stack([part["ends"] for part in parts]).min(axis=0),
    }


def find_fault(state: Mapping[str, Any], rows: int, labels: Sequence[Label]) -> HeldoutError | None:
    """What is wrong with all rows together; None where nothing is."""
    flags = read_flags(state)
    places, values = np.asarray(state["first_row"]), np.asarray(state["first_value"])
    first = {name: int(row) if row < BEYOND else 0 for name, row in zip(FIRSTS, places, strict=True)}
    value = dict(zip(FIRSTS, values.tolist(), strict=True))
    if flags["fraction"]:
        return refuse_fraction(value["fraction"], "truth")
    if flags["lost"]:
        lacking = {name: flags[name] for name in ("truth", "weight", "score") if flags[name]}
        return refuse_missing(flags["lost"], rows, lacking, first["lost"])
    if flags["heavy"]:
        return refuse_weights(f"Row {first['heavy'] + 1:,} has {value['heavy']:g}.")
    if flags["outside"]:
        ends = np.asarray(state["ends"])
        outside = dict.fromkeys([int(ends[0]), int(-ends[1])])
        return LabelError(
            f"The labels given leave out classes that occur: {listing(map(quoted, outside))}. "
            f"Given were: {listing(map(quoted, labels))}.",
            hint=NAME_EVERY_CLASS,
        )
    if flags["infinite"]:
        return refuse_infinite(flags["infinite"], first["infinite"])
    return _refuse_kinds(flags, rows, first["improbable"])


def _refuse_kinds(flags: Mapping[str, int], rows: int, row: int) -> ValuesError | None:
    """The error of scores that are no probabilities where they were said to be, and of both kinds in one epoch."""
    if flags["improbable"]:
        return ValuesError(
            f"Probabilities must lie between 0 and 1 and sum to 1; {flags['improbable']:,} of {rows:,} rows do not; "
            f"the first is row {row + 1:,}.",
            hint="say logits=True if these are logits.",
        )
    if flags["logits"] and flags["probabilities"]:
        return ValuesError(
            f"{flags['probabilities']:,} batches hold nothing but numbers from 0 to 1, and {flags['logits']:,} hold "
            "others, so it is not known whether they are probabilities or logits.",
            hint="say logits=True or logits=False: heldout.torch.Evidence(…, logits=True).",
        )
    return None
