"""Settings that every test shares: reproducible hypothesis runs, long simulations left out, a browser, clusters."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from distributed import Client
    from playwright.sync_api import Browser, Page
    from pyspark.sql import SparkSession

# The same examples on every run and machine, and no failure because a machine was busy.
settings.register_profile("ci", derandomize=True, deadline=None)
settings.load_profile("ci")

# Spark's virtual machines live for seconds here, too short for the thorough compiler to pay; also those of commands.
os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")

# Threads of scikit-learn sleep while they wait: on two busy cores, trees of small data burn ten times what they need.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

# A shell that starts something in the background makes it deaf to interrupts, nohup to hang-ups, and so the commands
# that tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

# The simulations behind the promises run for many minutes: `make promises` runs them, pytest does not
# even import them (it would, to look for doctests).
collect_ignore = [
    str(path) for path in (Path(__file__).parent / "promises").glob("*.py") if not path.name.startswith("test_")
]


def pytest_configure(config: pytest.Config) -> None:
    """Let pass what engines warn of in their own code, which nobody here could mend."""
    # Dask reads Parquet with an argument of pandas that is going to be removed.
    config.addinivalue_line("filterwarnings", "ignore:The inplace keyword in DataFrame:DeprecationWarning")


def pytest_collection_finish() -> None:
    """What was imported stays to the end: the collection of garbage need not go through all of it each time."""
    gc.freeze()


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[int, str, str]]:
    """Run a command in this process; gives its exit status and what it printed to standard output and error."""
    from heldout.cli.app import main

    def call(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["heldout", *words])
        with pytest.raises(SystemExit) as stopped:
            main()
        printed = capsys.readouterr()
        return int(stopped.value.code or 0), printed.out, printed.err

    return call


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """The machine's Chromium, started once."""
    from playwright.sync_api import sync_playwright

    from tests.browsing import launched

    with sync_playwright() as driver:
        started = launched(driver)
        yield started
        started.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page that may ask for nothing but files of its own and must report no error."""
    from tests.browsing import Watched

    watched = Watched(browser)
    yield watched.page
    watched.close()


@pytest.fixture(scope="session")
def spark_session() -> Iterator[SparkSession]:
    """A real Spark on two cores, started once, as `engine="spark"` starts it; a missing Java fails with what to run."""
    from heldout.engines.spark import spark_session as started

    session, close = started("local[2]")
    # Functions in Python are run by this one, not by whichever is first on the path.
    session.sparkContext.pythonExec = sys.executable
    yield session
    close()


@pytest.fixture(scope="session")
def dask_client() -> Iterator[Client]:
    """A real Dask cluster of two worker processes with one thread each, started once."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0") as cluster,
        Client(cluster) as client,
    ):
        yield client


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run what is said of tensors on every device that there is."""
    if "device" in metafunc.fixturenames:
        from tests.tensors import DEVICES

        metafunc.parametrize("device", DEVICES)


@pytest.fixture(scope="module")
def one_thread() -> Iterator[None]:
    """Let PyTorch work in one thread: many small operations are then faster where others are at work."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
