"""Who gets nothing from the page: other names, other pages, wrong tokens, expired links, readers that write."""

from __future__ import annotations

import json
import os
import pty
import re
import stat
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import requests

from hookrouter.storage.home import Home as Home_
from hookrouter.util.program import script_argv
from hookrouter_page.command import _opening_file
from hookrouter_page.security.answer_link import answer_link
from support.page import Home, Served
from support.resident import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser

SECONDS = 30


class Visitor:
    """A program that speaks HTTP to the page, with what a browser would send beside it."""

    def __init__(self, served: Served, role: str = "full") -> None:
        self.base = served.base
        self.session = requests.Session()
        self.session.headers["User-Agent"] = "Visitor/1"
        self.headers = {"Origin": self.base.rpartition("/")[0]}
        self.token = served.link("--role", role)["url"].rpartition("/")[2]
        self.entered = self.post("/login", token=self.token)

    def get(self, path: str, **headers: str) -> requests.Response:
        return self.session.get(self.base + path, headers=headers, timeout=SECONDS, allow_redirects=False)

    def post(self, path: str, headers: dict[str, str] | None = None, **fields: str) -> requests.Response:
        sent = {**self.headers, **(headers or {})}
        return self.session.post(self.base + path, data=fields, headers=sent, timeout=SECONDS, allow_redirects=False)

    def csrf(self, path: str) -> str:
        return self.get(path).text.split('name="csrf" value="', 1)[1].split('"', 1)[0]


@pytest.fixture
def visitor(served: Served) -> Visitor:
    return Visitor(served)


def test_a_login_is_a_cookie_that_no_script_and_no_other_page_gets(visitor: Visitor) -> None:
    assert visitor.entered.status_code == 303
    cookie = visitor.entered.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    assert visitor.get("/").status_code == 200


@pytest.mark.parametrize("path", ["/", "/sessions", "/history", "/statistics", "/health", "/live", "/waiting/list"])
def test_without_a_login_nothing_is_shown(home: Home, served: Served, path: str) -> None:
    home.ask("work", "Which way?")
    found = requests.get(served.base + path, timeout=SECONDS)
    assert found.status_code == 401
    assert "Which way?" not in found.text


def test_another_name_is_refused(visitor: Visitor) -> None:
    assert visitor.get("/", Host="evil.example").status_code == 421


@pytest.mark.parametrize(
    "headers",
    [{"Origin": "https://evil.example"}, {"Origin": "null"}, {"Origin": ""}, {"Sec-Fetch-Site": "cross-site"}],
)
def test_other_pages_cannot_write(home: Home, visitor: Visitor, headers: dict[str, str]) -> None:
    csrf = visitor.csrf("/sessions/work") if home.put("work", "x") else ""
    assert visitor.post("/sessions/work", headers, csrf=csrf, do="clear").status_code == 403
    assert len(home.queue("work").items) == 1


def test_a_form_needs_its_token(home: Home, visitor: Visitor) -> None:
    home.put("work", "x")
    for token in ("", "0" * 32):
        assert visitor.post("/sessions/work", csrf=token, do="clear").status_code == 403
    assert len(home.queue("work").items) == 1
    assert visitor.post("/sessions/work", csrf=visitor.csrf("/sessions/work"), do="clear").status_code == 303
    assert len(home.queue("work").items) == 0


def test_whoever_may_look_changes_nothing(home: Home, served: Served) -> None:
    home.put("work", "x")
    viewer, other = Visitor(served, "view"), Visitor(served)
    assert viewer.get("/sessions/work").status_code == 200
    assert viewer.post("/sessions/work", csrf=other.csrf("/sessions/work"), do="clear").status_code == 403
    assert len(home.queue("work").items) == 1


def test_wrong_tokens_let_nobody_in_and_keep_nobody_out(served: Served) -> None:
    visitor = Visitor(served)
    assert {visitor.post("/login", token=f"wrong-{number}").status_code for number in range(30)} == {403}
    assert {visitor.get(f"/link/wrong-{number}").status_code for number in range(30)} == {404}
    assert Visitor(served).entered.status_code == 303


def test_a_login_link_works_once(served: Served, visitor: Visitor) -> None:
    thief = Visitor(served)
    thief.session.cookies.clear()
    again = thief.post("/login", token=visitor.token)
    assert (again.status_code, "used before" in again.text) == (403, True)
    assert thief.get("/").status_code == 401
    assert visitor.get("/").status_code == 200


def test_a_cookie_is_for_the_path_of_the_page_alone(served: Served, visitor: Visitor) -> None:
    asked: list[tuple[str, str | None]] = []

    class Server(BaseHTTPRequestHandler):
        """What Claude may have written, at another port of the same host."""

        def do_GET(self) -> None:
            asked.append((self.path, self.headers["Cookie"]))
            self.send_response(204)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Stay silent."""

    other = HTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=other.serve_forever, args=(0.02,), daemon=True).start()
    try:
        for path in ("/", "/live", "/login", "/sessions/work", "/~"):
            visitor.session.get(f"http://127.0.0.1:{other.server_port}{path}", timeout=SECONDS)
    finally:
        other.shutdown()
        other.server_close()
    assert asked == [(path, None) for path in ("/", "/live", "/login", "/sessions/work", "/~")]
    # Whoever has the cookie all the same needs the path, too.
    host = visitor.base.rpartition("/")[0]
    [cookie] = visitor.session.cookies
    stolen = {"Cookie": f"{cookie.name}={cookie.value}"}
    for path in ("/", "/sessions", "/~0/sessions", "/live"):
        assert requests.get(host + path, headers=stolen, timeout=SECONDS).status_code in (401, 404)


def test_logins_are_listed_and_ended_one_by_one(home: Home, served: Served) -> None:
    first, second = Visitor(served), Visitor(served, "view")
    listed = json.loads(served.run("open", "--logins", "--json"))["logins"]
    assert sorted(one["role"] for one in listed) == ["full", "view"]
    assert {one["device"] for one in listed} == {"Visitor/1"}
    assert first.get("/logins").text.count("Visitor/1") == 2
    assert second.post("/logins", csrf=first.csrf("/logins"), id=listed[0]["id"]).status_code == 403
    [viewing] = [one["id"] for one in listed if one["role"] == "view"]
    with second.session.get(f"{second.base}/live", stream=True, timeout=SECONDS) as stream:
        lines = stream.iter_lines(chunk_size=1)
        assert any(line == b"event: history" for line in lines)
        assert first.post("/logins", csrf=first.csrf("/logins"), id=viewing).status_code == 303
        home.ask("work", "Which way?")
        # It ends with the login.
        assert b"event: dialogs" not in list(lines)
    assert (first.get("/").status_code, second.get("/").status_code) == (200, 401)
    cookie = first.session.cookies.copy()
    assert first.post("/logout").status_code == 303
    first.session.cookies = cookie
    assert first.get("/").status_code == 401
    third = Visitor(served)
    [last] = json.loads(served.run("open", "--logins", "--json"))["logins"]
    assert served.run("open", "--end", last["id"]) == f"ended: {last['id']}\n"
    assert third.get("/").status_code == 401
    assert served.run("open", "--logins") == "No login holds.\n"


def test_two_homes_of_one_host_do_not_log_each_other_out(served: Served, visitor: Visitor, tmp_path: Path) -> None:
    folder = tmp_path / "another"
    folder.mkdir()
    with Served(Home(folder).environ) as other:
        another = Visitor(other)
        another.session.cookies = visitor.session.cookies
        token = other.link()["url"].rpartition("/")[2]
        assert another.post("/login", token=token).status_code == 303
        assert another.get("/").status_code == 200
        assert visitor.get("/").status_code == 200


def test_no_token_is_among_the_words_of_the_browsers_command(served: Served, tmp_path: Path) -> None:
    browser = tmp_path / "browser"
    browser.write_text('#!/bin/sh\nprintf "%s\\n" "$@" > "$0.words"\n')
    browser.chmod(0o700)
    words = Path(f"{browser}.words")
    leader, follower = pty.openpty()
    with os.fdopen(leader, "rb", buffering=0), os.fdopen(follower, "wb", buffering=0) as terminal:
        environ = {**served.environ, "BROWSER": f"{browser} %s"}
        subprocess.run([*script_argv(), "open"], env=environ, stdout=terminal, timeout=60, check=True)
    eventually(words.exists)
    eventually(lambda: bool(words.read_text().strip()))
    [address] = words.read_text().split()
    assert address.startswith("file:///")
    file = Path(address.removeprefix("file://"))
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    [token] = set(re.findall(r"/login/([^\"]+)\"", file.read_text()))
    assert token not in address
    assert requests.get(f"{served.base}/login/{token}", timeout=SECONDS).ok


def test_the_file_leads_a_browser_to_the_page(browser: Browser, served: Served) -> None:
    home = Home_.from_environ(served.environ)
    page = served.context(browser).new_page()
    page.goto(_opening_file(home, served.link()["url"]).as_uri())
    page.get_by_role("button", name="Log in").click()
    page.get_by_role("heading", name="Waiting").wait_for()
    page.get_by_role("link", name="Logins").click()
    page.get_by_text("This browser").wait_for()
    page.get_by_role("button", name="End").click()
    page.get_by_role("heading", name="Log in").wait_for()


def test_a_body_that_is_too_long_is_refused(visitor: Visitor) -> None:
    assert visitor.post("/login", token="x" * 2_000_000).status_code == 413


def test_a_page_in_a_frame_or_with_scripts_of_others_is_forbidden(visitor: Visitor) -> None:
    policy = visitor.get("/").headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    for path in ("/static/page.js", "/no-such-page", "/static/../app.py", "/static/%2e%2e/app.py"):
        found = visitor.get(path)
        assert found.headers["content-security-policy"] == policy
        assert "Starlette(" not in found.text


def test_a_revoked_login_shows_nothing(served: Served, visitor: Visitor) -> None:
    served.run("serve", "--revoke")
    assert visitor.get("/").status_code == 401


@pytest.fixture
def reachable(tmp_path: Path) -> Iterator[tuple[Home, Served]]:
    """A page that other machines reach, as its config says."""
    home = Home(tmp_path)
    config = tmp_path / "config.toml"
    config.write_text(config.read_text() + f'url = "http://{home.address}"\n')
    with Served(home.environ) as served:
        yield home, served


def test_a_link_shows_one_question_and_no_other(browser: Browser, reachable: tuple[Home, Served]) -> None:
    home, served = reachable
    asked = home.ask("work", "Which way?")
    home.ask("other", "A secret?")
    link = answer_link(home.app.home, home.settings_of(), asked)
    page = served.context(browser).new_page()
    page.goto(link)
    page.get_by_text("Which way?").wait_for()
    assert "A secret?" not in page.content()
    page.get_by_label("Left").check()
    page.get_by_role("button", name="Review").click()
    page.get_by_role("heading", name="This will be sent").wait_for()
    page.goto(served.base + "/")
    page.get_by_role("heading", name="Log in").wait_for()
    page.goto(link[:-3] + "abc")
    page.get_by_text("this link is not valid").wait_for()
    home.end(asked)
    page.goto(link)
    page.get_by_role("heading", name="Not open any more").wait_for()


def test_a_session_is_found_whatever_its_name(home: Home, visitor: Visitor) -> None:
    home.put("a/b c?", "hello")
    assert "hello" in visitor.get("/sessions/a%2Fb%20c%3F").text
