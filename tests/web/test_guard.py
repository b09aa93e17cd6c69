"""Whom the server answers: its own names and its own pages, and nobody who guesses."""

from __future__ import annotations

import pytest
from starlette.datastructures import Headers
from tests.web.serving import predictions

from heldout.web.guard import Guard, from_own_page, own_names


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "10.0.0.1", "localhost.evil.example", "", "a@b"])
def test_a_foreign_name_is_not_answered(server, host):
    # A foreign name that points here (DNS rebinding) would make its pages ours.
    answer = server.ask("GET", "/", headers={"Host": host})
    assert answer.status in (400, 421)
    assert "drop" not in answer.text.lower()


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:1234", "LOCALHOST:80", "[::1]:9"])
def test_own_names_are_answered_on_any_port(server, host):
    assert server.ask("GET", "/", headers={"Host": host}).status == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site", "Origin": "http://localhost:3000"},
        {"Sec-Fetch-Site": "none"},
    ],
)
def test_another_site_can_change_nothing(server, headers):
    here = server.upload(predictions(2, 1))
    for method, path in (("POST", "/upload?name=x"), ("DELETE", here), ("POST", f"{here}/report")):
        assert server.ask(method, path, b"a,b\n1,2\n", headers).status == 403
    assert server.ask("GET", f"{here}/state").status == 200


def test_own_pages_and_programs_may(server):
    for headers in ({}, {"Origin": server.address}, {"Sec-Fetch-Site": "same-origin", "Origin": "null"}):
        assert server.ask("POST", "/upload?name=x", b"a,b\n1,2\n", headers).status == 201


def test_a_server_that_is_open_to_the_network_answers_to_addresses_but_not_to_foreign_names():
    guard = Guard(lambda *_: None, own_names("0.0.0.0"), open_to_network=True)  # type: ignore[arg-type]
    assert guard.is_own("192.168.1.7:8000")
    assert not guard.is_own("reports.example")
    assert guard.is_own("[fe80::1]:8000")
    assert not guard.is_own("evil.example:8000")
    assert not from_own_page(Headers({"host": "192.168.1.7:8000", "origin": "http://192.168.1.8:8000"}))
    assert from_own_page(Headers({"host": "192.168.1.7:8000", "origin": "http://192.168.1.7:8000"}))


def test_a_name_that_was_allowed_is_answered():
    guard = Guard(lambda *_: None, own_names("127.0.0.1", ["Reports.example"]), open_to_network=False)  # type: ignore[arg-type]
    assert guard.is_own("reports.example:443")
    assert not guard.is_own("10.0.0.1")
    assert not guard.is_own("example")


@pytest.mark.parametrize(
    "path",
    ["/u/", "/u/guess", "/u/guess/report", "/u/..%2f..%2fetc/report", "/static/../app.py", "/static/%2e%2e/app.py",
     "/u/guess/report.html", "/static/..%5capp.py", "/u", "/uploads", "/openapi.json"],
)  # fmt: skip
def test_what_is_not_there_is_not_found(server, path):
    answer = server.ask("GET", path)
    assert answer.status == 404
    assert "There is nothing here" in answer.text


def test_downloads_reach_nothing_but_the_forms(server):
    here = server.upload(predictions(2, 1))
    server.report(here, truth="0", predicted="1")
    for path in ("report.py", "predictions.csv", "report.json.html", "%2e%2e/report.html", "..report.html"):
        assert server.ask("GET", f"{here}/{path}").status == 404
