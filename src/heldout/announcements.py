"""Announcements: what has just been judged, told to whoever listens, such as the plugin for pytest.

Nothing is imported here, so that a listener costs nothing until something is judged.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

LISTENERS: list[Callable[[Any], None]] = []


def announce(judged: Any) -> None:
    """Tell every listener of a requirement, a gate or an evaluation.

    >>> heard = []
    >>> LISTENERS.append(heard.append)
    >>> announce("accuracy >= 0.9")
    >>> LISTENERS.remove(heard.append)
    >>> heard
    ['accuracy >= 0.9']
    """
    for listener in LISTENERS:
        listener(judged)
