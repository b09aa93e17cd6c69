"""How much one server takes on: sizes, numbers and times, each with a default that suits one machine."""

from __future__ import annotations

import math
import os
import re
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from heldout.errors import OptionError

# What to do where the memory of the machine does not suffice.
SEND_LESS = "send fewer rows or columns, or use a larger machine."

# The variable that tells a worker how many bytes of memory it may take.
MEMORY = "HELDOUT_WORKER_MEMORY"
MEGABYTE = 1_000_000
UNITS = {"": 1, "b": 1, "kb": 1_000, "mb": MEGABYTE, "gb": 1_000 * MEGABYTE}
SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([kmg]?b?)\s*", re.IGNORECASE)
# A hanging computation must leave a worker for the others; more than this many only fill the memory.
FEWEST_WORKERS, MOST_WORKERS = 2, 8
# Text of predictions packs to between a third and an eighth of its size; a bomb to a thousandth.
UNPACKED_TIMES = 5
KEPT_TIMES = 10
# The bytes of memory that a worker holds before its first job.
BEGINS_WITH = 300 * MEGABYTE
# The share of the memory at which the largest job is ended; below 1, because it grows until it is gone.
IN_TIME = 0.85
# The least that is kept: reports of small files are not small.
LEAST_KEPT = 100 * MEGABYTE


@dataclass(frozen=True, slots=True)
class Limits:
    """What the server allows: bytes, seconds and numbers of things.

    `total` is the most bytes that are kept for all users together, 0 for the usual. A file that arrives may pause for
    `stalled` seconds, must come at `slowest` bytes a second after as long, and may take `longest` seconds in all. A
    worker that holds `grown` bytes of memory more than a fresh one when it has done a job is replaced.
    """

    upload: int = 200 * MEGABYTE
    total: int = 0
    timeout: float = 600.0
    workers: int = FEWEST_WORKERS
    kept_files: int = 200
    idle: float = 3600.0
    columns: int = 2000
    memory: float = math.inf
    grown: float = 256 * MEGABYTE
    stalled: float = 60.0
    slowest: float = 10_000.0
    longest: float = 3600.0

    @property
    def unpacked(self) -> int:
        """The most bytes that a compressed file may unpack to."""
        return UNPACKED_TIMES * self.upload

    @property
    def worker_memory(self) -> float:
        """The most bytes that one worker may hold beyond what it begins with: no job takes all that there is."""
        return max(self.memory / 2 - BEGINS_WITH, 0.4 * self.memory)

    @property
    def kept(self) -> int:
        """The most bytes of files and reports that are kept at a time."""
        return self.total or max(KEPT_TIMES * self.upload, LEAST_KEPT)

    def arrival(self, size: int) -> float:
        """The seconds after its beginning by which more than `size` bytes of a file must have come."""
        return min(self.stalled + size / self.slowest, self.longest)


def read_size(text: str) -> int:
    """A number of bytes from words such as 200MB.

    >>> read_size("200MB"), read_size("1.5 GB"), read_size("4096")
    (200000000, 1500000000, 4096)
    """
    match = SIZE.fullmatch(text)
    unit = match[2].lower() if match else "?"
    size = round(float(match[1]) * UNITS.get(unit if unit in UNITS else f"{unit}b", 0)) if match else 0
    if size < 1:
        raise OptionError(f"{text!r} is not a size.", hint="write a number and its unit, such as 200MB or 1GB.")
    return size


def size_words(size: float) -> str:
    """A number of bytes as a person says it.

    >>> size_words(200_000_000), size_words(1_234), size_words(12)
    ('200 MB', '1.23 kB', '12 bytes')
    """
    for unit, name in ((1_000 * MEGABYTE, "GB"), (MEGABYTE, "MB"), (1_000, "kB")):
        if size >= unit:
            return f"{size / unit:.3g} {name}"
    return f"{size:.0f} bytes"


def usual_workers() -> int:
    """As many workers as there are cores, within reason."""
    return max(FEWEST_WORKERS, min(MOST_WORKERS, os.cpu_count() or 1))


def usual_memory() -> float:
    """Three quarters of the memory there is."""
    return 0.75 * find_memory()


def find_memory() -> float:
    """The bytes of memory of the machine, or of the container that this runs in; infinity if unknown."""
    known = []
    # Fails on systems that are not POSIX.
    with suppress(AttributeError, OSError, ValueError):
        known.append(float(os.sysconf("SC_PAGE_SIZE")) * float(os.sysconf("SC_PHYS_PAGES")))
    # Fails without a container, and in one without a limit ("max").
    with suppress(OSError, ValueError):
        known.append(float(Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii")))
    return min(known, default=math.inf)


def limit_memory(more: float) -> None:
    """Have the system refuse this process more than so many bytes beyond what it has, whatever a file claims to hold.

    Memory that a process may write to counts (RLIMIT_DATA, setrlimit(2)), not what libraries reserve and never touch.
    """
    if sys.platform != "linux" or more == math.inf:
        return
    import resource

    with suppress(OSError, ValueError, StopIteration):
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
        now = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmData:"))
        most = now + int(more)
        hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
        resource.setrlimit(resource.RLIMIT_DATA, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))
