"""A plugin for pytest: the gates and findings of a session stand in its summary.

Nothing heavy is imported: a session that does not use heldout is not slower for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from heldout.announcements import LISTENERS, announce

# The name under which what was judged travels with the report of a test, also from worker processes and into JUnit XML.
PROPERTY = "heldout"
PASSED, FAILED, KNOWN = "+", "×", "!"


class Recorder:
    """Writes down what was judged while a test runs."""

    def __init__(self) -> None:
        self.item: pytest.Item | None = None

    def hear(self, judged: Any) -> None:
        """Take down a requirement, a gate or an evaluation as lines of text."""
        if self.item is not None:
            self.item.user_properties += [(PROPERTY, line) for line in _lines(judged)]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Know which test runs."""
        self.item = item
        try:
            return (yield)
        finally:
            self.item = None


def pytest_configure(config: pytest.Config) -> None:
    """Begin to listen."""
    recorder = Recorder()
    config.pluginmanager.register(recorder, "heldout-recorder")
    LISTENERS.append(recorder.hear)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Stop listening."""
    recorder = config.pluginmanager.get_plugin("heldout-recorder")
    if recorder is not None:
        LISTENERS.remove(recorder.hear)
        config.pluginmanager.unregister(recorder)


@pytest.fixture
def heldout_report() -> Callable[[Any], Any]:
    """Put a result into the summary of the session: `heldout_report(evaluation)` gives the evaluation back."""

    def report(result: Any) -> Any:
        announce(result)
        return result

    return report


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Write what was judged, test by test, where anything was."""
    by_test: dict[str, list[str]] = {}
    for reports in terminalreporter.stats.values():
        for report in reports:
            # The report of the last phase of a test holds all of its properties.
            lines = [text for name, text in getattr(report, "user_properties", ()) if name == PROPERTY]
            if lines and len(lines) >= len(by_test.get(report.nodeid, ())):
                by_test[report.nodeid] = lines
    if not by_test:
        return
    terminalreporter.section("heldout")
    for test, lines in by_test.items():
        terminalreporter.write_line(test)
        for line in lines:
            terminalreporter.write_line(f"  {line}", red=line.startswith(FAILED), yellow=line.startswith(KNOWN))


def _lines(judged: Any) -> list[str]:
    """How one thing that was judged reads: a gate or a requirement, otherwise a result with its findings."""
    if hasattr(judged, "requirements"):
        return [line for requirement in judged.requirements for line in _lines(requirement)]
    if hasattr(judged, "outcome"):
        sign = FAILED if judged.fails else PASSED
        return [f"{sign} {judged.text} {judged.outcome}: {judged.why}"]
    named = getattr(getattr(judged, "source", None), "name", "") or repr(judged).strip("<>").partition(";")[0]
    findings = getattr(judged, "findings", ())
    counts = judged.review.summary() if hasattr(judged, "review") else ""
    return [
        ": ".join(filter(None, (named, counts))),
        *(f"{KNOWN} {finding.code}  {finding.title}" for finding in findings),
    ]
