"""The readings of a lazy frame, each told to whoever watches: which it is, of how many, and what it may bring here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from heldout.files.batches import watching

# Less than so many bytes need not be said beforehand.
LARGE = 1 << 30


@dataclass
class Passes:
    """How many readings are planned of a table, and how many of them have begun."""

    name: str
    planned: int
    begun: int = 0


_passes: ContextVar[Passes | None] = ContextVar("passes", default=None)


@contextmanager
def tell_passes(name: str, plan: Callable[[], int]) -> Iterator[None]:
    """Tell whoever watches of every reading of a table; of more than were planned, each is the last one so far."""
    watch = watching.get()
    if watch is None:
        yield
        return
    token = _passes.set(Passes(name, plan()))
    try:
        yield
    finally:
        _passes.reset(token)
        watch(name, None, None)


def begin_pass(*, needed: int = 0) -> None:
    """One more reading begins; `needed` are the bytes that what it brings may take on this machine.

    >>> told = []
    >>> token = watching.set(lambda *what: told.append(what[0]))
    >>> with tell_passes("preds", lambda: 1):
    ...     begin_pass()
    ...     begin_pass(needed=5 * 10**9)
    >>> told
    ['preds, pass 1 of 1', 'preds, pass 2 of 2, with up to 5.0 GB of memory here', 'preds']
    >>> watching.reset(token)
    """
    watch, passes = watching.get(), _passes.get()
    if watch is None or passes is None:
        return
    passes.begun += 1
    passes.planned = max(passes.planned, passes.begun)
    memory = f", with up to {needed / 1e9:.1f} GB of memory here" if needed >= LARGE else ""
    watch(f"{passes.name}, pass {passes.begun} of {passes.planned}{memory}", 0, None)
