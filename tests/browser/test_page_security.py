"""Who gets nothing from the page: other names, other pages, wrong tokens, expired links, readers that write."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import requests

from hookrouter.dialogs.messages.answer_link import answer_link
from support.page import Home, Served

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser

SECONDS = 30


class Visitor:
    """A program that speaks HTTP to the page, with what a browser would send beside it."""

    def __init__(self, served: Served, role: str = "full") -> None:
        self.base = served.base
        self.session = requests.Session()
        self.headers = {"Origin": self.base}
        token = served.link("--role", role)["url"].rpartition("/")[2]
        self.entered = self.post("/login", token=token)

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
    assert "SameSite=strict" in cookie
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


def test_wrong_tokens_are_slowed_down(served: Served) -> None:
    visitor = Visitor(served)
    said = [visitor.post("/login", token=f"wrong-{number}").status_code for number in range(12)]
    assert said[:10] == [403] * 10
    assert said[10:] == [429] * 2


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
    link = answer_link(home.app.home, home.config_of().page, asked)
    page = served.context(browser).new_page()
    page.goto(link)
    page.get_by_text("Which way?").wait_for()
    assert "A secret?" not in page.content()
    page.get_by_label("Left").check()
    page.get_by_role("button", name="Go on").click()
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
