"""The slices on the screen: the worst of them in a short table, and a sentence where chance does not explain it."""

from __future__ import annotations

from typing import Protocol

from heldout.estimates.estimate import Estimate
from heldout.evidence import Confusion
from heldout.evidence.counted import Counted
from heldout.findings.slice_basis import Divided
from heldout.findings.slices import Slices
from heldout.findings.worst_slices import NOT_COUNTED
from heldout.show.blocks import Block, Note, Prose, Section

SHOWN = 5
# Of more measures than this the slices are not shown unless they are asked for one by one.
CHOSEN = 3
# Pairs of columns are looked through without being asked where they have at most this many rows altogether.
PAIRED_ROWS = 200_000_000


class Sliced(Protocol):
    """An evaluation as the reports of its slices see it."""

    @property
    def slice_columns(self) -> tuple[Divided, ...]:
        """The columns that divide the cases."""

    @property
    def counted(self) -> Counted | None:
        """What was counted, where the rows were not kept."""

    @property
    def confusion(self) -> Confusion:
        """The counted evidence."""

    @property
    def estimates(self) -> tuple[Estimate, ...]:
        """Every estimate that was asked for."""

    def slices(self, measure: str | None = None) -> Slices:
        """A measure, the error rate unless said, in every slice."""

    def worst_slices(self, measure: str | None = None, depth: int = 2, most: int = 10) -> Slices:
        """The slices in which most goes wrong."""


def slice_blocks(view: Sliced, *, full: bool = False) -> list[Block]:
    """What a report says of the slices; nothing where no columns divide the cases."""
    columns = len(view.slice_columns)
    if not columns:
        return []
    if view.counted is None:
        deep = columns > 1 and columns * (columns - 1) // 2 * view.confusion.n_cases <= PAIRED_ROWS
    else:
        deep = bool(view.counted.pairs)
    found = view.worst_slices(depth=2 if deep else 1, most=10 if full else SHOWN)
    blocks: list[Block] = [Prose(found.summary(), label="Slices")]
    if found.slices:
        blocks.append(found.table())
    if full:
        every = view.slices()
        blocks.append(Section("Every slice", (every.table(), *_notes(every)), name="slices", folded=True))
    if columns > 1 and not deep and view.counted is not None:
        blocks.append(Note(f"{NOT_COUNTED[:1].upper()}{NOT_COUNTED[1:]}."))
    elif columns > 1 and not deep:
        blocks.append(Note("Pairs of columns were not searched, because there are many rows; worst_slices() does."))
    return blocks + _notes(found)[: None if full else 1]


def chosen_slice_blocks(view: Sliced) -> list[Block]:
    """The measures that were asked for, slice by slice."""
    if not view.slice_columns:
        return []
    shown = [view.slices(e.name) for e in view.estimates[:CHOSEN]]
    blocks: list[Block] = []
    for found in shown:
        blocks += [found.table(), *_notes(found)]
    left = len(view.estimates) - len(shown)
    return blocks + [Note(f"The slices of {left:,} more are left out; ask for fewer measures to see them.")] * (
        left > 0
    )


def _notes(found: Slices) -> list[Block]:
    return [Note(f"{note[:1].upper()}{note[1:]}.") for note in found.notes]
