"""A process that computes: it reads tasks from standard input, one JSON document to a line, and answers likewise.

Started as `python -m heldout.web.worker`. It ends as soon as standard input does, so it never outlives its server.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import sys
import threading
import traceback
from contextlib import suppress
from typing import IO, Any


def main() -> None:
    """Answer tasks until there are no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _end_with_the_server()
    # Whatever a library prints goes to standard error: this channel is for answers.
    channel = os.fdopen(os.dup(1), "w", encoding="utf-8", newline="\n")
    os.dup2(2, 1)
    tasks: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(tasks,), daemon=True).start()
    # What fails here fails again, and is said, where a person asks for it.
    with suppress(Exception):
        _warm_up()
    _send({"ready": True}, channel)
    while True:
        _answer(json.loads(tasks.get()), channel, tasks)


def _end_with_the_server() -> None:
    """Have the system end this process with its server, even one that computes without listening (Linux only)."""
    if sys.platform == "linux":
        import ctypes

        # PR_SET_PDEATHSIG, prctl(2); without it the thread below does the same as soon as it gets a turn.
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def _listen(tasks: queue.SimpleQueue[str]) -> None:
    """Take tasks as they come; without a server to answer to, end at once, even in the middle of one."""
    for line in sys.stdin:
        tasks.put(line)
    os._exit(0)


def _warm_up() -> None:
    """Import what a report needs, so that the first person need not wait for it."""
    import polars as pl

    from heldout.front.compare import compare
    from heldout.front.evaluate import evaluate
    from heldout.show.html import render_page

    cases = pl.DataFrame({"truth": ["a", "b", "b", "a"], "score": [0.2, 0.9, 0.4, 0.6]})
    found = evaluate(cases, truth="truth", score="score", positive="b")
    render_page(found.page_blocks(), title="")
    render_page(compare(found, found).page_blocks(), title="")


def _answer(task: dict[str, Any], channel: IO[str], replies: queue.SimpleQueue[str]) -> None:
    from heldout.errors import FileError
    from heldout.web.computing import perform

    def room(size: int) -> None:
        _send({"room": size}, channel)
        refused = json.loads(replies.get())["room"]
        if refused is not None:
            raise FileError(refused[0], hint=refused[1])

    try:
        answer = perform(task, lambda text: _send({"stage": text}, channel), room)
    except Exception:  # noqa: BLE001 - a fault of ours must not take the worker with it
        traceback.print_exc()
        answer = {"fault": True}
    _send(answer, channel)


def _send(message: dict[str, Any], channel: IO[str]) -> None:
    # ASCII, because a broken file can hold half a character, which UTF-8 cannot.
    channel.write(json.dumps(message) + "\n")
    channel.flush()


if __name__ == "__main__":
    main()
