"""Whom the server answers: its own names and its own pages, and nobody who guesses."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from starlette.datastructures import Headers
from tests.browsing import Watched
from tests.web.serving import Server, in_a_loop, predictions

from heldout.web.guard import HEADERS, POLICY, STRANGER, Guard, from_own_page, own_names
from heldout.web.jobs import FAULT
from heldout.web.server import write_door


@pytest.fixture(scope="module")
def here(server):
    return server.upload(predictions(2, 1))


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
        {"Origin": "http://[::1"},
        {"Origin": "http://[v1.x]:1]"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site", "Origin": "http://localhost:3000"},
        {"Sec-Fetch-Site": "none"},
    ],
)
def test_another_site_can_change_nothing(server, here, headers):
    for method, path in (("POST", "/upload?name=x"), ("DELETE", here), ("POST", f"{here}/report")):
        answer = server.ask(method, path, b"a,b\n1,2\n", headers)
        assert answer.status == 403
        assert answer.headers["content-security-policy"] == POLICY
    assert server.ask("GET", f"{here}/state").status == 200


@given(host=st.text(), origin=st.text())
@example(host="[", origin="http://[")
@example(host="localhost", origin="http://[::1")
def test_no_header_is_so_broken_that_it_cannot_be_refused(host, origin):
    guard = Guard(lambda *_: None, own_names("127.0.0.1"), open_to_network=False)  # type: ignore[arg-type]
    # Headers are Latin-1, whatever was meant.
    held = [(name, text.encode("utf-8", "replace")) for name, text in ((b"host", host), (b"origin", origin))]
    headers = Headers(raw=held)
    assert isinstance(guard.is_own(headers["host"]), bool)
    assert not from_own_page(headers) or headers["host"] in headers["origin"]


def test_a_fault_carries_the_headers_too():
    async def broken(_scope, _receive, _send) -> None:
        raise ZeroDivisionError

    sent: list[Any] = []

    async def send(message) -> None:
        sent.append(message)

    async def receive():
        return {"type": "http.request"}

    guard = Guard(broken, own_names("127.0.0.1"), open_to_network=False)
    scope = {"type": "http", "method": "GET", "path": "/", "headers": [(b"host", b"localhost")]}
    with pytest.raises(ZeroDivisionError):
        in_a_loop(guard(scope, receive, send))
    assert sent[0]["status"] == 500
    assert HEADERS.items() <= dict(Headers(raw=sent[0]["headers"])).items()
    assert FAULT[0].encode() in sent[1]["body"]


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


def test_downloads_reach_nothing_but_the_forms(server, here):
    server.report(here, truth="0", predicted="1")
    for path in ("report.py", "predictions.csv", "report.json.html", "%2e%2e/report.html", "..report.html"):
        assert server.ask("GET", f"{here}/{path}").status == 404


def test_the_printed_address_works_once_and_then_the_cookie_does(server):
    alone = replace(server, cookie="")
    for method, path in (
        ("GET", "/"),
        ("GET", "/u/x/report"),
        ("POST", "/upload?name=x"),
        ("HEAD", "/"),
        ("GET", "//"),
    ):
        answer = alone.ask(method, path, b"a,b\n1,2\n" if method == "POST" else None)
        assert answer.status == 403, path
        assert HEADERS.items() <= answer.headers.items()
        assert method == "HEAD" or STRANGER[0] in answer.text
    assert alone.ask("GET", "/", headers={"Accept": "application/json"}).said["what"] == STRANGER[0]
    # Used before: it leads to the first page as ever, and gives no cookie.
    token = server.first.partition("/?")[2]
    for query in (token, "token=", "token=guess", "token=%F6", f"{token}&token=x"):
        answer = alone.ask("GET", f"/?{query}")
        assert answer.status == 200
        assert "set-cookie" not in answer.headers
    name, _, value = server.cookie.partition("=")
    assert "set-cookie" not in server.enter().headers
    assert server.ask("GET", server.home).status == 200
    for wrong in (f"{name}=", f"{name}=x", f"{name}x={value}", value, f'{name}="{value}', f"{name}={value[:-1]}"):
        assert alone.ask("GET", "/", headers={"Cookie": wrong}).status == 403
    assert alone.ask("GET", "/", headers={"Cookie": f"other=1; {server.cookie}"}).status == 200
    # What pages are drawn with is for all: the refusal needs it too.
    assert alone.ask("GET", "/static/app.css").status == 200


def test_the_cookie_is_kept_from_scripts_and_from_other_sites(tmp_path):
    server = Server.start(tmp_path / "tmp", "--workers", "1", enter=False)
    given = server.enter().headers["set-cookie"].lower()
    assert "httponly" in given
    assert "samesite=strict" in given
    assert "path=/" in given
    assert "domain" not in given
    server.stop()


@pytest.mark.parametrize("way", [("--host", "0.0.0.0"), ("--name", "reports.example")])
def test_a_shared_server_keeps_the_file_that_it_was_started_with(tmp_path, way):
    server = Server.start(tmp_path / "tmp", "examples/iris.csv", "--workers", "1", *way)
    server.wait(server.home)
    alone = replace(server, cookie="")
    for path in ("", "/", "/columns", "/state", "/report", "/report.json"):
        assert alone.ask("GET", server.home + path).status == 403
    assert alone.ask("DELETE", server.home).status == 403
    assert server.ask("GET", f"{server.home}/columns").status == 200
    # Everything else is found by its address, as people share it.
    assert alone.ask("GET", "/").status == 200
    here = alone.upload(predictions(2, 1))
    assert alone.ask("GET", f"{here}/columns").status == 200
    server.stop()


def test_a_browser_gets_in_by_the_file_and_another_does_not(browser, tmp_path):
    server = Server.start(tmp_path / "tmp", "examples/iris.csv", "--workers", "1", enter=False)
    door = write_door(tmp_path, server.first)
    mine, other = Watched(browser), Watched(browser)
    # The page of a file is another site than ours: the cookie must come along all the same.
    mine.page.goto(door.as_uri())
    mine.page.wait_for_url("**/columns")
    assert "iris.csv" in mine.page.inner_text("main")
    (cookie,) = mine.context.cookies()
    assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
    assert mine.page.evaluate("document.cookie") == ""
    # Once more, as from the terminal and as from a page of another site.
    for again in (server.first, door.as_uri()):
        mine.page.goto(again)
        mine.page.wait_for_url("**/columns")
    other.page.goto(server.first)
    other.page.wait_for_url("**/u/*")
    assert STRANGER[0] in other.page.inner_text("main")
    assert "iris" not in other.page.content()
    mine.close(origin=server.address)
    other.errors.clear()
    other.close(origin=server.address)
    server.stop()
