"""What a person is told where the fault is ours; what happened is for the terminal."""

from __future__ import annotations

FAULT = (
    "heldout failed here, and should not have.",
    "please report it; what happened stands in the terminal that the server was started from.",
)
