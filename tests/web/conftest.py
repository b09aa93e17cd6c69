"""What the tests of the served page share: one server, and a page that speaks to nothing else."""

from __future__ import annotations

import pytest
from tests.browsing import Watched
from tests.web.serving import Server


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    running = Server.start(tmp_path_factory.mktemp("served") / "tmp")
    yield running
    running.stop()
    assert "Traceback" not in "".join(running.errors), "".join(running.errors)


@pytest.fixture
def tab(browser, server):
    """A page of the browser; at the end there were no errors in it, and no request to another host."""
    watched = Watched(browser)
    name, _, value = server.cookie.partition("=")
    watched.context.add_cookies([{"name": name, "value": value, "url": server.address}])
    yield watched.page
    expected = getattr(watched.page, "expected", None)
    watched.errors = [said for said in watched.errors if expected is None or expected not in said]
    assert len(watched.requests) > 1
    watched.close(origin=server.address)
