"""Logins: each link once, each login ended alone, on one machine and on those whose pages are one."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrouter.storage.home import Home
from hookrouter.storage.secret_file import renew_secret
from hookrouter.util.text import printable
from hookrouter_page.security import logins as module
from hookrouter_page.security.login_records import KIND
from hookrouter_page.security.logins import FULL, LINK_SECONDS, PATH, VIEW, LoginError, Logins
from hookrouter_page.settings import PageSettings
from support.memory_storage import MemoryStore

if TYPE_CHECKING:
    from pathlib import Path


class Page:
    """The logins of one machine's page."""

    def __init__(self, folder: Path, name: str, secret: str = "") -> None:
        self.store = MemoryStore()
        home = Home.in_folder(str(folder / name))
        self.logins = Logins(home, PageSettings(secret_file=secret), self.store)

    def sees(self, other: Page) -> None:
        """Read what the other machine keeps."""
        self.logins.records.is_shared = True
        self.logins.records.put_elsewhere(other.store.entries(KIND))


@pytest.fixture
def page(tmp_path: Path) -> Page:
    return Page(tmp_path, "home")


@pytest.fixture
def pages(tmp_path: Path) -> tuple[Page, Page]:
    secret = tmp_path / "secret"
    secret.write_text("a secret of both the pages of this test\n")
    secret.chmod(0o600)
    return Page(tmp_path, "one", str(secret)), Page(tmp_path, "two", str(secret))


def test_a_link_works_once(page: Page) -> None:
    token = page.logins.link_token(VIEW)
    login, cookie = page.logins.enter(token, "anna", "A browser \x1b[31m")
    assert page.logins.login(cookie) == login
    assert login.role == VIEW
    with pytest.raises(LoginError, match="used before"):
        page.logins.enter(token, "mallory", "")
    [record] = page.logins.records.all()
    assert (record.id, record.who, record.device.isprintable()) == (login.id, "anna", True)


def test_a_link_works_once_where_logins_hold_for_less_than_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    logins = Logins(Home.in_folder(str(tmp_path)), PageSettings(login_days=0.01), MemoryStore())
    token = logins.link_token(VIEW)
    began = time.time()
    logins.enter(token, "anna", "")
    monkeypatch.setattr(time, "time", lambda: began + LINK_SECONDS - 10)
    with pytest.raises(LoginError, match="used before"):
        logins.enter(token, "mallory", "")


def test_one_login_is_ended_and_the_others_hold(page: Page) -> None:
    token = page.logins.link_token(FULL)
    first, cookie = page.logins.enter(token, "anna", "")
    second, other = page.logins.enter(page.logins.link_token(FULL), "anna", "")
    assert page.logins.records.end(first.id)
    assert not page.logins.records.end(first.id)
    assert page.logins.login(cookie) is None
    assert page.logins.login(other) == second
    assert [one.id for one in page.logins.records.all()] == [second.id]
    with pytest.raises(LoginError, match="used before"):
        page.logins.enter(token, "anna", "")


def test_a_cookie_of_another_server_of_this_host_does_not_hide_the_pages_own(page: Page) -> None:
    login, cookie = page.logins.enter(page.logins.link_token(FULL), "anna", "")
    for header in (f"hookrouter={cookie}; hookrouter=x", f"hookrouter=x; a=b;hookrouter={cookie}"):
        assert page.logins.login_of([header]) == login
    assert page.logins.login_of(["a=b", f"hookrouter={cookie}"]) == login
    assert page.logins.login_of([f"xhookrouter={cookie}; hookrouter; =; hookrouter=\xff{cookie}"]) is None
    assert page.logins.login_of([]) is None


def test_a_login_of_another_secret_or_of_before_login_days_is_not_listed(
    page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, cookie = page.logins.enter(page.logins.link_token(FULL), "anna", "")
    renew_secret(str(tmp_path / "home" / "state" / "page-secret"))
    assert page.logins.login(cookie) is None
    assert page.logins.holding() == []
    login, _ = page.logins.enter(page.logins.link_token(FULL), "anna", "")
    [record] = page.logins.holding()
    assert record.id == login.id
    later = time.time() + page.logins.seconds + 60
    monkeypatch.setattr(time, "time", lambda: later)
    assert page.logins.holding() == []


def test_a_login_of_an_older_version_is_listed(page: Page) -> None:
    login, _ = page.logins.enter(page.logins.link_token(FULL), "anna", "")
    document = dict(page.store.read(KIND, login.id) or {})
    del document["secret_mark"]
    page.store.write(KIND, login.id, document)
    assert [one.id for one in page.logins.holding()] == [login.id]


def test_a_link_of_before_lets_nobody_in(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    token = page.logins.link_token(FULL)
    now = module.now() + LINK_SECONDS + 2
    monkeypatch.setattr("itsdangerous.timed.time.time", lambda: now)
    with pytest.raises(LoginError, match="quarter of an hour"):
        page.logins.enter(token, "anna", "")


def test_a_document_that_is_no_record_lets_nobody_in(page: Page) -> None:
    login, cookie = page.logins.enter(page.logins.link_token(FULL), "anna", "")
    for broken in ({}, {"version": 2}, {"version": 1, "role": 7}):
        page.store.write(KIND, login.id, broken)
        assert page.logins.login(cookie) is None
    page.store.delete(KIND, login.id)
    assert page.logins.login(cookie) is None


@given(st.text() | st.binary().map(lambda data: data.decode("latin-1")))
def test_nothing_that_was_not_signed_is_a_link_or_a_login(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    page = Page(tmp_path_factory.getbasetemp(), "fuzzed")
    assert page.logins.login(text) is None
    with pytest.raises(LoginError):
        page.logins.enter(text, text, text)
    # A link is no cookie, and a cookie is no link.
    token = page.logins.link_token(FULL)
    assert page.logins.login(token) is None
    _, cookie = page.logins.enter(token, text, text)
    with pytest.raises(LoginError):
        page.logins.enter(cookie, text, text)
    [record] = page.logins.records.all()
    assert printable(record.who + record.device) == record.who + record.device


def test_each_secret_has_a_path_of_its_own(page: Page, pages: tuple[Page, Page], tmp_path: Path) -> None:
    roots = {one.logins.root for one in (page, Page(tmp_path, "another"), *pages)}
    assert len(roots) == 3
    assert all(root.startswith(PATH) and len(root) > 32 for root in roots)


def test_a_login_holds_and_ends_at_all_pages_that_are_one(pages: tuple[Page, Page]) -> None:
    one, two = pages
    token = one.logins.link_token(FULL)
    login, cookie = one.logins.enter(token, "anna", "")
    two.sees(one)
    assert two.logins.login(cookie) == login
    with pytest.raises(LoginError, match="used before"):
        two.logins.enter(token, "anna", "")
    assert [record.id for record in two.logins.records.all()] == [login.id]
    assert two.logins.records.end(login.id)
    assert two.logins.login(cookie) is None
    one.sees(two)
    assert one.logins.login(cookie) is None
    assert one.logins.records.all() == two.logins.records.all() == []


def test_a_login_of_another_machine_is_known_at_once_or_while_that_cannot_be_read(
    pages: tuple[Page, Page], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = pages
    login, cookie = one.logins.enter(one.logins.link_token(FULL), "anna", "")
    # Alone, a page knows no other machine's logins.
    assert two.logins.login(cookie) is None
    two.logins.records.is_shared = True
    assert two.logins.login(cookie) == login
    later = module.now() + 3600
    monkeypatch.setattr(module, "now", lambda: later)
    assert two.logins.login(cookie) is None
    two.logins.records.put_elsewhere(None)
    assert two.logins.login(cookie) == login
    two.sees(one)
    assert two.logins.login(cookie) == login
    two.logins.records.end(login.id)
    two.logins.records.put_elsewhere(None)
    assert two.logins.login(cookie) is None


def test_records_are_removed_with_their_cookies_time(page: Page) -> None:
    page.logins.enter(page.logins.link_token(FULL), "anna", "")
    page.store.write(KIND, "broken", {})
    page.logins.records.forget(3600)
    assert len(page.store.entries(KIND)) == 1
    page.logins.records.forget(-1)
    assert page.store.entries(KIND) == []


def test_the_use_of_a_login_is_noted_now_and_then(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    _, cookie = page.logins.enter(page.logins.link_token(FULL), "anna", "")
    [before] = page.logins.records.all()
    page.logins.login(cookie)
    assert page.logins.records.all() == [before]
    monkeypatch.setattr("hookrouter_page.security.login_records.SEEN_SECONDS", -1.0)
    monkeypatch.setattr("hookrouter_page.security.login_records.iso", lambda: "2999-01-01T00:00:00.000Z")
    page.logins.login(cookie)
    [after] = page.logins.records.all()
    assert after == before._replace(seen_at="2999-01-01T00:00:00.000Z")
