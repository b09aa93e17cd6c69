"""Where the command begins: Ctrl-C ends it quietly from the first moment on, and a limit of memory is kept to.

Libraries that are refused memory end the process, and with words for those who wrote them. So a command that has a
limit, by --memory-limit or by the system (ulimit -v), runs in a process of its own, and this one says how it ended. So
does one that reads a file whose library asks for whatever memory a damaged file claims to need.
"""

from __future__ import annotations

import math
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from threading import Timer, main_thread
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from subprocess import Popen

# Tells a process that it is watched.
WATCHED = "HELDOUT_WATCHED"
# How a process ends that was refused memory, or whose library gave up: by a signal, with a status that only a watched
# process uses, or with a message. OpenBLAS interrupts a process in which it can start no thread.
GIVEN_UP = frozenset(
    -number for number in (signal.SIGABRT, signal.SIGSEGV, signal.SIGILL, signal.SIGTRAP, signal.SIGBUS)
)
REFUSED = 71
LAST_WORDS = (b"OpenBLAS", b"libgomp", b"Traceback ", b"Fatal Python error")
# How a process ends that says itself what was wrong: all is well, a wrong input, a fault.
FAULT = 70
OWN_ENDS = (0, 2, FAULT)
# What is no fault of ours: Polars and the linker say so where a library finds no room in the address space.
NO_ROOM = (b"Polars binary is missing", b"failed to map segment", b"annot allocate memory")
# The longest that is kept of its errors: some libraries say again and again that they were refused memory.
MOST_SAID = 1_000_000
# In a small address space every thread reserves a part before it does anything.
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1", "MALLOC_ARENA_MAX": "1"}
SMALL = 8 << 30
watched = False


def main() -> None:
    """Run the command; an interrupt that comes before it runs is answered as one that comes later."""
    # Processes that are started from here are Pythons with -m, which would put the current folder first on the path.
    os.environ.setdefault("PYTHONSAFEPATH", "1")
    handler = signal.getsignal(signal.SIGINT)
    # Where interrupts are ignored, as under nohup, they stay so.
    if handler is signal.default_int_handler:
        # An exception would come out of whichever library is being imported, or be taken there for a fault of its own.
        signal.signal(signal.SIGINT, _end)
    if os.environ.pop(WATCHED, None):
        _be_watched()
    elif allowed := allowed_by_system():
        few = ONE_THREAD if allowed < SMALL else {}
        sys.exit(run_watched(f"{allowed / 1e9:.3g} GB of address space", "allow more (ulimit -v)", few))
    elif hasattr(signal, "sigwaitinfo") and _reads_what_may_abort(sys.argv[1:]):
        _be_forked()
    from heldout.cli.app import main as run

    interruption = Interruption()
    if awaited := signal.getsignal(signal.SIGINT) is _end:
        signal.signal(signal.SIGINT, interruption)
        sys.unraisablehook = interruption.bring_back
    try:
        run()
    except SystemExit as end:
        if interruption.came:
            # Python puts the system's own way back as it ends, and an interrupt that comes a second time would end it
            # by a signal.
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            if end.code != 130:
                # It was lost in a library, as those are that come while something is imported or freed.
                sys.stderr.write("Interrupted.\n")
                sys.exit(130)
        raise
    finally:
        # Another program may have called this, and goes on.
        if awaited and not interruption.came:
            signal.signal(signal.SIGINT, handler)
            sys.unraisablehook = sys.__unraisablehook__


def _end(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - Python's protocol
    if sys.stderr is not None:
        sys.stderr.write("Interrupted.\n")
        sys.stderr.flush()
    # Nothing has been opened yet that would need cleaning up.
    os._exit(130)


def allowed_by_system() -> int:
    """The bytes of address space that the system allows a process; 0 where it sets no limit."""
    try:
        import resource
    except ImportError:
        return 0
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    return 0 if soft == resource.RLIM_INFINITY else soft


def _be_watched() -> None:
    global watched  # noqa: PLW0603 - of the process, as its limit is
    watched = True
    _end_with_parent()


def _end_with_parent() -> None:
    if sys.platform == "linux":
        import ctypes

        # PR_SET_PDEATHSIG, prctl(2): it must not outlive the process that watches it.
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(1, signal.SIGTERM)


def _reads_what_may_abort(words: Sequence[str]) -> bool:
    if words[:1] == ["serve"]:
        return False  # whose workers are processes of their own
    if "numpy" in sys.modules:
        return False  # called within a program that is under way, with threads that a fork would lose
    # An option may have its value behind it, and a contestant its name before it.
    named = [word.rpartition("=")[2] for word in words]
    named = [word for word in named if word == "-" or (word and not word.startswith("-"))]
    if not any("." in word or word == "-" or os.path.exists(word) for word in named):  # noqa: PTH110 - nothing is imported yet
        return False
    from heldout.files.formats import may_abort

    return any(map(may_abort, named))


# So many seconds at most lie between an interrupt and the same one handed on.
TWICE = 1.0


class Interruption:
    """Raises KeyboardInterrupt, once for an interrupt that came directly and was handed on as well."""

    def __init__(self) -> None:
        self.last = -math.inf

    @property
    def came(self) -> bool:
        """Whether there was one."""
        return self.last > -math.inf

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Python's protocol for what a signal calls."""
        now = time.monotonic()
        first, self.last = now - self.last > TWICE, now
        if first:
            signal.default_int_handler(number, frame)

    def bring_back(self, lost: sys.UnraisableHookArgs) -> None:
        """Python's protocol for an exception that nothing can catch, as one that comes while an object is freed.

        An interrupt is not printed: it comes again a moment later, when another thread finds nothing being freed.
        """
        if not issubclass(lost.exc_type, KeyboardInterrupt):
            sys.__unraisablehook__(lost)
            return
        self.last = time.monotonic() - 2 * TWICE
        # A signal of the system's, which also ends a wait, where the system has one for a thread.
        call = (
            partial(signal.pthread_kill, main_thread().ident or 0)
            if hasattr(signal, "pthread_kill")
            else signal.raise_signal
        )
        Timer(0.05, call, (signal.SIGINT,)).start()


# The signals that wake the waiting process.
AWAITED = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGCHLD") if hasattr(signal, name))


def _be_forked() -> None:
    """Go on in a process of its own, which costs little before anything is imported; this one waits for it."""
    signal.pthread_sigmask(signal.SIG_BLOCK, AWAITED)
    child = os.fork()
    if not child:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, AWAITED)
        _end_with_parent()
        return
    status = _wait_for(child)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, AWAITED)
    if status in GIVEN_UP and not os.environ.get("HELDOUT_DEBUG"):
        sys.stderr.write(
            f"A library ended while heldout read its input ({signal.Signals(-status).name}).\n"
            "Hint: a damaged file is the usual cause: write or copy it again; HELDOUT_DEBUG=1 shows what was said.\n"
        )
        sys.exit(2)
    if status < 0:
        # This process ends in the same way as the one that it watched.
        signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    sys.exit(status)


def _wait_for(child: int) -> int:
    """How the other process ended; signals are handed on to it."""
    while True:
        came = signal.sigwaitinfo(AWAITED)
        if came.si_signo == signal.SIGCHLD:
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                return os.waitstatus_to_exitcode(status)
        elif came.si_signo != signal.SIGINT or came.si_pid:
            # An interrupt that no process sent comes from the terminal, which sent it to the other one too.
            os.kill(child, came.si_signo)


def run_watched(limit: str, more: str, environment: Mapping[str, str] | None = None) -> int:
    """Run this very command in a process of its own; where it gives up, say that the limit was not enough."""
    import subprocess

    command = [sys.executable, "-P", "-m", "heldout", *sys.argv[1:]]
    environment = {**(environment or {}), **os.environ, WATCHED: "1"}
    with subprocess.Popen(command, stderr=subprocess.PIPE, env=environment) as child:  # noqa: S603 - our own command
        before = {number: signal.signal(number, _pass_on(child)) for number in (signal.SIGTERM, signal.SIGHUP)}
        before[signal.SIGINT] = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            output = _listen(child)
            status = child.wait()
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
    given_up = (
        status in GIVEN_UP
        or status == REFUSED
        or (status not in OWN_ENDS and any(word in output for word in LAST_WORDS))
        or (status == FAULT and any(word in output for word in NO_ROOM))
    )
    if not given_up or os.environ.get("HELDOUT_DEBUG"):
        sys.stderr.write(output.decode("utf-8", "replace"))
        return 128 - status if status < 0 else status
    sys.stderr.write(f"This did not work within {limit}.\nHint: {more}, or give fewer rows or columns.\n")
    return 2


def _listen(child: Popen[bytes]) -> bytes:
    """What a process says of errors, held back until it ends: what libraries say there is not for a reader."""
    output = b""
    while child.stderr is not None and (more := os.read(child.stderr.fileno(), 65_536)):
        output += more
        if len(output) > MOST_SAID:
            output = LAST_WORDS[-1]
            child.send_signal(signal.SIGABRT)
            break
    return output


def _pass_on(child: Popen[bytes]) -> Callable[[int, FrameType | None], None]:
    return lambda number, _frame: child.send_signal(number)
