"""The link to one question: what goes in comes out, anything changed is refused, and its time ends."""

from __future__ import annotations

import errno
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hookrouter.dialogs.documents import Dialog
from hookrouter.storage.home import Home
from hookrouter.storage.secret_file import made_secret, read_secret, renew_secret
from hookrouter_page.security.answer_link import (
    LinkedQuestion,
    LinkError,
    answer_link,
    is_reachable,
    page_secret_file,
    read_link,
)
from hookrouter_page.settings import PageSettings

PAGE = PageSettings(url="https://claude.example.org")
ANY = st.text(st.characters(exclude_categories=[]), max_size=40)
ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_."


class Place(NamedTuple):
    home: Home

    def link(self, page: PageSettings = PAGE, **fields: str) -> str:
        named = {"session": "work", "session_id": "3b0c", "tool_use_id": "toolu_1", **fields}
        return answer_link(self.home, page, Dialog(**named, questions=[], terminal=None, agent="a", gateway="g"))

    def token(self, **fields: str) -> str:
        return self.link(**fields).removeprefix("https://claude.example.org/link/")

    def read(self, token: str, page: PageSettings = PAGE) -> LinkedQuestion:
        return read_link(self.home, page, token)


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    with tempfile.TemporaryDirectory() as folder:
        yield Place(Home.in_folder(folder))


@given(session=ANY, session_id=ANY, tool_use_id=ANY)
@example(session="\ud800", session_id="\udcff", tool_use_id="\udfff")
def test_any_question_comes_back(place: Place, session: str, session_id: str, tool_use_id: str) -> None:
    token = place.token(session=session, session_id=session_id, tool_use_id=tool_use_id)
    assert set(token) <= set(ALPHABET)
    assert place.read(token) == LinkedQuestion(session, session_id, tool_use_id)


def test_a_usual_link_is_short(place: Place) -> None:
    usual = {"session_id": "3b0c7f7e-2d1a-4b57-9a83-0d6c1d9b5c11", "tool_use_id": "toolu_01ABCDEFGHJKLMNPQRSTUVWX"}
    assert len(place.link(**usual)) < 250


@given(data=st.data())
def test_a_changed_token_is_refused(place: Place, data: st.DataObject) -> None:
    token = place.token()
    at = data.draw(st.integers(0, len(token) - 1))
    other = data.draw(st.sampled_from(sorted(set(ALPHABET) - {token[at]})))
    kind = data.draw(st.sampled_from(["changed", "left out", "put in"]))
    changed = token[:at] + {"changed": other, "left out": "", "put in": other + token[at]}[kind] + token[at + 1 :]
    if changed == token:
        return
    with pytest.raises(LinkError, match="not valid") as caught:
        place.read(changed)
    assert not caught.value.expired


@given(token=st.one_of(ANY, st.text(ALPHABET, max_size=200)))
def test_what_is_no_token_is_refused(place: Place, token: str) -> None:
    with pytest.raises(LinkError, match="not valid"):
        place.read(token)


def test_a_long_token_is_not_even_looked_at(place: Place) -> None:
    with pytest.raises(LinkError, match="not valid"):
        place.read("." + "A" * 1_000_000)


def test_its_time_ends(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    page = PageSettings(url=PAGE.url, link_hours=2.0)
    token, begun = place.token(), time.time()
    monkeypatch.setattr(time, "time", lambda: begun + 2 * 3600 - 5)
    assert place.read(token, page).tool_use_id == "toolu_1"
    monkeypatch.setattr(time, "time", lambda: begun + 2 * 3600 + 5)
    with pytest.raises(LinkError, match="expired: it held for 2 hours") as caught:
        place.read(token, page)
    assert caught.value.expired


def test_a_new_secret_ends_all_links(tmp_path: Path) -> None:
    place = Place(Home.in_folder(str(tmp_path)))
    with pytest.raises(LinkError, match="not valid"):
        place.read("a.b.c")
    assert not Path(page_secret_file(place.home, PAGE)).exists(), "reading makes no secret"
    token = place.token()
    assert place.read(token).session == "work"
    renew_secret(page_secret_file(place.home, PAGE))
    with pytest.raises(LinkError, match="not valid"):
        place.read(token)
    assert place.read(place.token()).session == "work"


def test_another_homes_links_are_none(place: Place, tmp_path: Path) -> None:
    other = Place(Home.in_folder(str(tmp_path)))
    other.link()
    with pytest.raises(LinkError, match="not valid"):
        other.read(place.token())


def test_a_secret_that_others_can_read_signs_nothing(tmp_path: Path) -> None:
    place = Place(Home.in_folder(str(tmp_path)))
    token = place.token()
    os.chmod(page_secret_file(place.home, PAGE), 0o644)
    with pytest.raises(PermissionError, match="not this user's alone"):
        place.link()
    with pytest.raises(LinkError, match="links cannot be read now"):
        place.read(token)


@pytest.mark.parametrize(
    ("page", "begins"),
    [
        (PageSettings(), ""),
        (PageSettings(address="localhost:8790"), ""),
        (PageSettings(address="[::1]:8790"), ""),
        (PageSettings(address="0.0.0.0:8790", certificate="/c", private_key="/k"), ""),
        (PageSettings(enabled=False, url="https://h"), ""),
        (PageSettings(url="https://h"), "https://h/link/"),
        (PageSettings(address="box.example.org:8790", user_header="X-User"), "http://box.example.org:8790/link/"),
        (PageSettings(address="10.0.0.2:8790", certificate="/c", private_key="/k"), "https://10.0.0.2:8790/link/"),
    ],
)
def test_a_link_is_one_that_a_phone_can_follow(place: Place, page: PageSettings, begins: str) -> None:
    link = place.link(page)
    assert link.startswith(begins)
    assert bool(link) == bool(begins)
    assert is_reachable(page) == (bool(begins) or not page.enabled)


def test_without_the_extra_there_is_no_link(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "itsdangerous", None)
    assert place.link() == ""


def test_a_secret_is_made_once_and_renewed_on_demand(tmp_path: Path) -> None:
    path = str(tmp_path / "state" / "page-secret")
    assert read_secret(path) == ""
    first = made_secret(path)
    assert (len(first) > 40, made_secret(path), os.stat(path).st_mode & 0o777) == (True, first, 0o600)
    os.chmod(path, 0o644)
    second = renew_secret(path)
    assert (second != first, read_secret(path), os.stat(path).st_mode & 0o777) == (True, second, 0o600)
    assert os.listdir(tmp_path / "state") == ["page-secret"]


def test_a_secret_is_not_followed_to_another_file(tmp_path: Path) -> None:
    target, path = tmp_path / "other", tmp_path / "page-secret"
    target.write_text("x" * 50)
    target.chmod(0o600)
    path.symlink_to(target)
    with pytest.raises(OSError, match=os.strerror(errno.ELOOP)):
        read_secret(str(path))
    renew_secret(str(path))
    assert (target.read_text(), path.is_symlink()) == ("x" * 50, False)


def test_homes_with_one_secret_read_each_others_links(tmp_path: Path) -> None:
    shared = shared_page(tmp_path, "a secret that is long enough for all\n")
    one, two = (Place(Home.in_folder(str(tmp_path / name))) for name in ("one", "two"))
    token = one.link(shared).rpartition("/")[2]
    assert two.read(token, shared).tool_use_id == "toolu_1"
    with pytest.raises(LinkError, match="not valid"):
        two.read(token)


@pytest.mark.parametrize(
    ("text", "mode", "said"),
    [
        ("short\n", 0o600, "too short; allowed: 32 characters or more"),
        ("a secret that is long enough for all\n", 0o604, "every user of this machine may read"),
        ("", 0o600, "is empty"),
        (None, 0o600, "cannot be read"),
    ],
)
def test_a_shared_secret_that_cannot_be_used_is_named_and_not_shown(
    tmp_path: Path, text: str | None, mode: int, said: str
) -> None:
    page = shared_page(tmp_path, text, mode)
    place = Place(Home.in_folder(str(tmp_path / "home")))
    with pytest.raises(PermissionError, match=said) as refused:
        place.link(page)
    assert "[page] secret_file" in str(refused.value)
    assert "short\n" not in str(refused.value)
    with pytest.raises(LinkError):
        place.read("x", page)


def shared_page(folder: Path, text: str | None, mode: int = 0o600) -> PageSettings:
    file = folder / "page.secret"
    if text is not None:
        file.write_text(text)
        file.chmod(mode)
    return PageSettings(url="https://claude.example.org", secret_file=str(file))
