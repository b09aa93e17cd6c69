"""Warnings that learners raise while they are fitted, caught for each split and kept as text."""

from __future__ import annotations

import re
import threading
import warnings
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
def listening() -> Iterator[None]:
    """Send warnings to whoever is `hearing`.

    The machinery of `warnings` is shared by all threads, so it is changed once, by the first that listens, and put back
    by the last.
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
def hearing() -> Iterator[list[str]]:
    """A list that fills with what is warned of meanwhile, as "Category: first line".

    >>> with hearing() as heard:
    ...     warnings.warn("it did not converge", RuntimeWarning, stacklevel=1)
    >>> heard
    ['RuntimeWarning: it did not converge']
    """
    heard: list[str] = []
    before = getattr(_own, "heard", None)
    with listening():
        _own.heard = heard
        _active.append(heard)
        try:
            yield heard
        finally:
            _own.heard = before
            # By identity: two lists of equal texts are equal.
            _active[:] = [other for other in _active if other is not heard]


def _keep(message: Warning | str, category: type[Warning], *_where: Any, **_more: Any) -> None:
    # A learner's own threads have no list: what they say goes to the split that was begun last.
    heard = getattr(_own, "heard", None)
    if heard is None:
        heard = _active[-1] if _active else []
    lines = str(message).strip().splitlines()
    heard.append(f"{category.__name__}: {lines[0] if lines else 'no text'}")


def told(heard: Iterable[tuple[str, ...]], total: int, noun: str = "folds") -> tuple[str, ...]:
    """One sentence for each kind of warning: how many of the splits gave it, and the first text.

    Texts that differ only in their numbers are of one kind.

    >>> told([("UserWarning: 3 left",), ("UserWarning: 4 left",), ()], 10)
    ('UserWarning in 2 of 10 folds: 3 left',)
    """
    first: dict[str, str] = {}
    counts: dict[str, int] = {}
    for texts in heard:
        kinds = {re.sub(r"\d[\d.e+-]*", "0", text): text for text in reversed(texts)}
        for kind in dict.fromkeys(re.sub(r"\d[\d.e+-]*", "0", text) for text in texts):
            first.setdefault(kind, kinds[kind])
            counts[kind] = counts.get(kind, 0) + 1
    sentences = []
    for kind, text in first.items():
        category, _, words = text.partition(": ")
        sentences.append(f"{category} in {counts[kind]} of {total} {noun}: {words}")
    return tuple(sentences)
