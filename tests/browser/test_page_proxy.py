"""The page behind the proxies of the manual, with the manual's own configuration of each."""

from __future__ import annotations

import json
from contextlib import closing
from http.client import HTTPConnection
from typing import TYPE_CHECKING, Any

import pytest
import requests

from support.asking import asking_page
from support.page import Home, Served
from support.ports import free_port
from support.proxies import HEADER, PROXIES, USERS, Proxy, page_table
from support.resident import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser

ANNA, BOB = USERS


@pytest.fixture(params=PROXIES)
def proxy(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Proxy]:
    made = Proxy(request.param, tmp_path)
    yield made
    made.end()


class Behind:
    """A page behind a proxy, and its home."""

    def __init__(self, proxy: Proxy, home: Home, served: Served) -> None:
        self.proxy = proxy
        self.home = home
        self.served = served

    @property
    def token(self) -> str:
        """That of a new login link."""
        return self.served.link()["url"].rpartition("/")[2]


@pytest.fixture
def behind(proxy: Proxy, tmp_path: Path) -> Iterator[Behind]:
    folder = tmp_path / "home"
    folder.mkdir()
    home = Home(folder)
    address = home.address
    (folder / "config.toml").write_text(page_table(proxy, address))
    with Served(home.environ) as served:
        proxy.start(address)
        yield Behind(proxy, home, served)


class Visitor:
    """A program that speaks HTTP to the proxy, in the name of one user, and sends what a browser would."""

    def __init__(self, behind: Behind, user: str, **headers: str) -> None:
        self._behind = behind
        self._session = requests.Session()
        self._session.auth = (user, USERS.get(user, "wrong"))
        self._session.headers.update({"Origin": behind.proxy.url, **headers})

    def ask(self, method: str, path: str, **options: Any) -> requests.Response:
        pair, address = self._behind.proxy.pair, self._behind.proxy.url + path
        return self._session.request(
            method, address, timeout=PATIENCE, allow_redirects=False, verify=str(pair.certificate), **options
        )

    def log_in(self, token: str, **headers: str) -> int:
        entered = self.ask("POST", "/login", data={"token": token}, headers=headers)
        self.root = entered.headers.get("Location", "").rstrip("/")
        return entered.status_code


def test_a_question_is_answered_in_the_name_that_the_proxy_knows(
    browser: Browser, proxy: Proxy, tmp_path: Path
) -> None:
    folder = tmp_path / "stage"
    folder.mkdir()
    address = f"127.0.0.1:{free_port()}"
    with asking_page(folder, page_table(proxy, address)) as asking:
        proxy.start(address)
        page = asking.served.log_in(
            browser,
            ignore_https_errors=True,
            http_credentials={"username": ANNA, "password": USERS[ANNA]},
            # A browser's own copy of what the proxy says.
            extra_http_headers={HEADER: "mallory"},
        )
        assert page.url == f"{asking.served.base}/"
        assert page.url.startswith(f"{proxy.url}/")
        page.get_by_text("Nothing waits").wait_for()
        # "Add to home screen" needs the password for it, too.
        manifest = page.context.new_cdp_session(page).send("Page.getAppManifest")
        assert json.loads(manifest["data"])["name"] == "hookrouter"
        asking.ask()
        # Nothing was loaded anew: the proxy lets the events through as they come.
        page.get_by_text("Which way?").wait_for()
        page.get_by_label("Left").check()
        page.get_by_role("button", name="Review").click()
        page.get_by_role("button", name="Send").click()
        page.get_by_text("Recorded exactly").wait_for()
        [told] = asking.told()
    assert (told["outcome"], told["by"], told["who"]) == ("verified", "person", ANNA)
    assert "mallory" not in json.dumps(told)


def test_events_come_through_it_as_they_happen(behind: Behind) -> None:
    visitor = Visitor(behind, ANNA)
    assert visitor.log_in(behind.token) == 303
    with visitor.ask("GET", f"{visitor.root}/live", stream=True) as stream:
        assert stream.status_code == 200
        lines = stream.iter_lines(chunk_size=1)
        wait_line(lines, b"event: history")
        behind.home.ask("work", "Which way?")
        # The stream has not ended: nothing of it was held back.
        wait_line(lines, b"event: dialogs")


def wait_line(lines: Iterator[bytes], line: bytes) -> None:
    """Read until a line comes, for as long as the page has something to tell."""
    for one in lines:
        if one == line:
            return
        assert one != b"event: beat"
    raise AssertionError("the stream has ended")


def test_whom_the_proxy_does_not_know_sees_nothing(behind: Behind) -> None:
    stranger = Visitor(behind, "mallory", **{HEADER: ANNA})
    for path in ("/", "/static/page.css", f"/login/{behind.token}", "/link/x"):
        assert stranger.ask("GET", path).status_code == 401
    assert stranger.log_in(behind.token) == 401


def test_the_page_itself_takes_nobody_without_a_name_or_with_two(behind: Behind) -> None:
    address = f"http://{behind.home.address}/"
    assert requests.get(address, timeout=PATIENCE).status_code == 403
    # A proxy that adds its header to what a browser sends would let the browser choose.
    with closing(HTTPConnection(behind.home.address, timeout=PATIENCE)) as connection:
        connection.putrequest("GET", "/")
        connection.putheader(HEADER, "mallory")
        connection.putheader(HEADER, ANNA)
        connection.endheaders()
        assert connection.getresponse().status == 403


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Host": "evil.example"}, 421),
        ({}, 303),
    ],
)
def test_names_and_origins_are_checked_behind_it(behind: Behind, headers: dict[str, str], status: int) -> None:
    assert Visitor(behind, ANNA).log_in(behind.token, **headers) == status


def test_a_login_is_recorded_in_the_name_that_the_proxy_knows(behind: Behind) -> None:
    assert Visitor(behind, ANNA).log_in(behind.token, **{HEADER: "mallory"}) == 303
    assert Visitor(behind, BOB).log_in(behind.token) == 303
    logins = json.loads(behind.served.run("open", "--logins", "--json"))["logins"]
    assert sorted(one["who"] for one in logins) == sorted(USERS)
