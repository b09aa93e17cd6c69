"""Where splits are done: one after the other here, or by whatever workers joblib was told to use."""

from __future__ import annotations

import os
import pickle
import signal
import sys
import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import BrokenExecutor
from contextlib import closing, contextmanager
from time import perf_counter, sleep
from types import TracebackType
from typing import Any, Literal, Self

from heldout.errors import LearnerError, OptionError
from heldout.imports import FolderModules, folder_modules
from heldout.resampling.outcome import Outcome
from heldout.resampling.split_task import FailedSplit, Setting, Task, redirect_warnings, run_split, run_split_in_worker

Results = Generator[Outcome | FailedSplit, None, None]
Jobs = int | Literal["auto"] | None

# Starting processes and sending them the data takes about a second; below this it is not worth it.
WORTHWHILE = 5.0


def check_jobs(jobs: Jobs) -> None:
    """Refuse what is not a number of workers."""
    whole = isinstance(jobs, int) and not isinstance(jobs, bool) and jobs != 0
    if jobs is not None and jobs != "auto" and not whole:
        raise OptionError(
            f"jobs is {jobs!r}, not a number of workers.",
            hint="use a whole number, −1 for all cores, 'auto', or None for what joblib is configured to do.",
        )


def run_tasks(setting: Setting, tasks: Iterable[Task], total: int, jobs: Jobs = None) -> Results:
    """The results of all tasks, as they are finished."""
    if jobs == "auto":
        return _run_as_needed(setting, iter(tasks), total)
    if jobs == 1 or total <= 1 or (jobs is None and _is_sequential()):
        return _run_here(setting, tasks)
    return _run_by_workers(setting, tasks, jobs)


def _run_here(setting: Setting, tasks: Iterable[Task]) -> Results:
    with redirect_warnings():
        for task in tasks:
            yield run_split(setting, task)


def _run_as_needed(setting: Setting, tasks: Iterator[Task], total: int) -> Results:
    """The first split here; the others by all cores, if they would take long."""
    began = perf_counter()
    first = next(tasks, None)
    if first is None:
        return
    yield run_split(setting, first)
    left = (perf_counter() - began) * (total - 1)
    results = _run_by_workers(setting, tasks, -1) if left > WORTHWHILE else _run_here(setting, tasks)
    # Closed with us, so that workers stop when the reader does.
    with closing(results):
        yield from results


def _is_sequential() -> bool:
    """Whether joblib is left as it is, or set to one worker of its own."""
    import joblib
    from joblib.parallel import get_active_backend

    backend, _ = get_active_backend()
    # One worker of Dask or Ray may be another machine: that is for them to say.
    return joblib.effective_n_jobs(None) == 1 and _is_joblib_backend(backend)


def _is_joblib_backend(backend: Any) -> bool:
    return type(backend).__module__.startswith("joblib._parallel")


def _run_by_workers(setting: Setting, tasks: Iterable[Task], jobs: int | None) -> Results:
    import joblib
    from joblib.parallel import get_active_backend

    backend, told = get_active_backend()
    if jobs is None and told is None and not _is_joblib_backend(backend):
        # Somebody chose a cluster and no number: all of it. Ray by itself would take one worker.
        jobs = -1
    streams = getattr(backend, "supports_return_generator", False)
    parallel = joblib.Parallel(n_jobs=jobs, return_as="generator_unordered" if streams else "list", **_watch_parent())
    call = joblib.delayed(_call_in_worker)
    with redirect_warnings():
        try:
            # First of the arguments, because a worker unpickles them in this order.
            folders = folder_modules()
            calls = (call(folders, setting, task, os.getpid()) for task in tasks)
            if streams:
                with _ignore_interrupts(), _keep_folder_off_path():
                    results: Any = parallel(calls)
                with closing(results):
                    yield from results
            else:
                yield from parallel(calls)
        except (BrokenExecutor, pickle.PicklingError) as error:
            reason = str(error).strip().splitlines()[0].rstrip(".")
            raise LearnerError(
                f"{type(setting.estimator).__name__} could not be run by workers: {reason}.",
                hint="jobs=1 (--jobs 1) runs it here; a class must stand in a module that workers can import.",
            ) from error


@contextmanager
def _ignore_interrupts() -> Iterator[None]:
    """Start processes that ignore Ctrl-C, which a terminal sends to all of them: the one that was asked decides.

    A process inherits this from the one that starts it. For the moment that takes, Ctrl-C is ignored here too.
    """
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or before is None:
        yield
        return
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _keep_folder_off_path() -> Iterator[None]:
    """Start processes without the current folder on their path: they are Pythons with -m, which puts it first."""
    if "PYTHONSAFEPATH" in os.environ:
        yield
        return
    os.environ["PYTHONSAFEPATH"] = "1"
    try:
        yield
    finally:
        os.environ.pop("PYTHONSAFEPATH", None)


def run_by_processes(function: Callable[..., Any], tasks: Iterable[tuple[Any, ...]], jobs: int | None) -> Iterator[Any]:
    """What a function gives for each task, in their order and as it comes, by processes that end with this one."""
    import joblib
    from joblib.parallel import get_active_backend

    backend, _ = get_active_backend()
    streams = getattr(backend, "supports_return_generator", False)
    folders, call = folder_modules(), joblib.delayed(_call_function)
    parallel = joblib.Parallel(n_jobs=jobs, return_as="generator" if streams else "list", **_watch_parent())
    calls = (call(folders, function, task) for task in tasks)
    if not streams:
        with _keep_folder_off_path():
            yield from parallel(calls)
        return
    with _ignore_interrupts(), _keep_folder_off_path():
        results: Any = parallel(calls)
    # Closed with us, so that workers stop when the reader does.
    with closing(results):
        yield from results


def _call_function(
    folders: list[FolderModules],  # noqa: ARG001 - unpickled before the task, which is all that is asked of it
    function: Callable[..., Any],
    task: tuple[Any, ...],
) -> Any:
    return function(*task)


def _call_in_worker(folders: list[FolderModules], setting: Setting, task: Task, parent: int) -> Outcome | FailedSplit:
    if os.getpid() != parent and threading.current_thread() is threading.main_thread():
        # This worker may have been started earlier, by somebody else.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    result: Outcome | FailedSplit = _call_function(folders, run_split_in_worker, (setting, task))
    return result


# Seconds between two looks at whether the process that started this one still lives.
WATCH_EVERY = 0.5


def _watch_parent() -> dict[str, Any]:
    """What joblib's own processes are started with, so that they end with this one; others are not ours to end."""
    from joblib.parallel import get_active_backend

    backend, _ = get_active_backend()
    own = type(backend).__name__ == "LokyBackend" and os.name == "posix"
    return {"initializer": _end_with, "initargs": (os.getpid(),)} if own else {}


def _end_with(parent: int) -> None:
    """End this process when its parent does, even by SIGKILL: nobody would take what it computes."""

    def watch() -> None:
        while os.getppid() == parent:
            sleep(WATCH_EVERY)
        os._exit(1)

    threading.Thread(target=watch, daemon=True, name="heldout-parent-watch").start()


Progress = Callable[[int, int], object] | Literal[False] | None

# Seconds before a progress bar is shown.
PATIENCE = 1.0


class Ticker:
    """Counts finished splits, and shows them: to a function, or in a bar once a second has passed.

    >>> seen = []
    >>> with Ticker(2, lambda done, total: seen.append((done, total))) as ticker:
    ...     ticker.tick()
    ...     ticker.tick()
    >>> seen
    [(1, 2), (2, 2)]
    """

    def __init__(self, total: int, progress: Progress = None, doing: str = "Fitting") -> None:
        self.total = total
        self.doing = doing
        self.done = 0
        self._call = progress if callable(progress) else None
        self._watched = progress is None and sys.stderr is not None and sys.stderr.isatty()
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None
        self._bar: Any = None
        self._row: Any = None
        self._closed = False

    def __enter__(self) -> Self:
        if self._watched:
            # A timer, and not the first tick: the first split alone may take minutes.
            self._timer = threading.Timer(PATIENCE, self._show)
            self._timer.daemon = True
            self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._timer is not None:
            self._timer.cancel()
        with self._lock:
            self._closed = True
            if self._bar is not None:
                self._bar.stop()

    def tick(self, count: int = 1) -> None:
        """So many more splits are finished."""
        self.done += count
        if self._call is not None:
            self._call(self.done, self.total)
        elif self._watched:
            with self._lock:
                if self._bar is not None:
                    self._bar.update(self._row, completed=self.done)

    def _show(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        with self._lock:
            if self._closed:
                return
            self._bar = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeRemainingColumn(),
                console=Console(stderr=True),
                transient=True,
                # Printing is the caller's business; we only draw our own line.
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self._row = self._bar.add_task(self.doing, total=self.total, completed=self.done)
            self._bar.start()
