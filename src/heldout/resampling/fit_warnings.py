"""Warnings that learners raise while they are fitted, caught for each split and kept as text."""

from __future__ import annotations

import re
import threading
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

# Meant for programmers, and silent by default outside of their own code.
QUIET = (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning)

_lock = threading.Lock()
_own = threading.local()
_active: list[list[str]] = []
_installed: list[tuple[int, warnings.catch_warnings[None]]] = []


@contextmanager
def redirect_warnings() -> Iterator[None]:
    """Send warnings to the lists of `capture_warnings`.

    The machinery of `warnings` is shared by all threads, so it is changed once, by the first that enters, and put back
    by the last that leaves.
    """
    with _lock:
        if _installed:
            count, catch = _installed.pop()
        else:
            count, catch = 0, warnings.catch_warnings()
            catch.__enter__()
            # "default" would tell of a warning once per place, and the other splits would look clean.
            warnings.simplefilter("always")
            for category in QUIET:
                warnings.simplefilter("ignore", category)
            warnings.showwarning = _keep
        _installed.append((count + 1, catch))
    try:
        yield
    finally:
        with _lock:
            count, catch = _installed.pop()
            if count > 1:
                _installed.append((count - 1, catch))
            else:
                catch.__exit__(None, None, None)


@contextmanager
def capture_warnings() -> Iterator[list[str]]:
    """A list that fills with what is warned of meanwhile, as "Category: first line".

    >>> with capture_warnings() as messages:
    ...     warnings.warn("it did not converge", RuntimeWarning, stacklevel=1)
    >>> messages
    ['RuntimeWarning: it did not converge']
    """
    messages: list[str] = []
    before = getattr(_own, "messages", None)
    with redirect_warnings():
        _own.messages = messages
        _active.append(messages)
        try:
            yield messages
        finally:
            _own.messages = before
            # By identity: two lists of equal texts are equal.
            _active[:] = [other for other in _active if other is not messages]


def _keep(message: Warning | str, category: type[Warning], *_where: Any, **_more: Any) -> None:
    # A learner's own threads have no list: what they say goes to the split that was begun last.
    messages = getattr(_own, "messages", None)
    if messages is None:
        messages = _active[-1] if _active else []
    lines = str(message).strip().splitlines()
    messages.append(f"{category.__name__}: {lines[0] if lines else 'no text'}")


def summarise_warnings(messages: Iterable[tuple[str, ...]], total: int, noun: str = "folds") -> tuple[str, ...]:
    """One sentence for each kind of warning: how many of the splits gave it, and the first text.

    Texts that differ only in their numbers are of one kind.

    >>> summarise_warnings([("UserWarning: 3 left",), ("UserWarning: 4 left",), ()], 10)
    ('UserWarning in 2 of 10 folds: 3 left',)
    """
    first: dict[str, tuple[str, ...]] = {}
    counts: Counter[str] = Counter()
    for texts in messages:
        kinds = [re.sub(r"\d[\d.e+-]*", "0", text) for text in texts]
        counts.update(set(kinds))
        for kind, text in zip(kinds, texts, strict=True):
            first.setdefault(kind, text.partition(": "))
    return tuple(
        f"{category} in {counts[kind]} of {total} {noun}: {words}" for kind, (category, _, words) in first.items()
    )
