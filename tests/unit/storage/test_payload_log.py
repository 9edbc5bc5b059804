"""Payloads that are kept beside the journal."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrouter.storage.journal import Journal
from hookrouter.storage.payload_log import MAX_BYTES, Kept, find, keep, prune

EMPTY = Kept(b"{}")


@given(payload=st.binary(max_size=200), session=st.one_of(st.none(), st.text(min_size=1, max_size=20)), said=st.text())
def test_a_payload_comes_back_byte_for_byte_with_its_reply(
    tmp_path_factory: pytest.TempPathFactory, payload: bytes, session: str | None, said: str
) -> None:
    logs = str(tmp_path_factory.mktemp("logs"))
    kept = Kept(payload, 2, said, said)
    other = keep(logs, EMPTY, session)

    key = keep(logs, kept, session)

    assert key
    assert find(logs, key, session) == kept
    assert find(logs, other, session) == EMPTY


def test_only_the_user_can_read_them(tmp_path: Path) -> None:
    keep(str(tmp_path), EMPTY, "s-1")

    assert stat.S_IMODE((tmp_path / "payloads").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "payloads" / "s-1.jsonl").stat().st_mode) == 0o600


def test_they_are_no_records_of_the_journal(tmp_path: Path) -> None:
    keep(str(tmp_path), Kept(b'{"event": "Stop"}'), "s-1")

    assert list(Journal(str(tmp_path)).lines()) == []


def test_a_large_payload_is_not_kept(tmp_path: Path) -> None:
    assert keep(str(tmp_path), Kept(b"x" * (MAX_BYTES + 1)), "s-1") == ""
    assert not (tmp_path / "payloads").exists()


def test_where_nothing_can_be_written_there_is_no_key(tmp_path: Path) -> None:
    (tmp_path / "payloads").write_text("in the way")

    assert keep(str(tmp_path), EMPTY, "s-1") == ""


@given(lines=st.lists(st.binary(max_size=100)), key=st.text(max_size=10))
def test_whatever_is_in_the_file_is_no_error(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], key: str
) -> None:
    folder = tmp_path_factory.mktemp("logs") / "payloads"
    folder.mkdir()
    odd = b'{"key":"odd","exit_code":0,"stdout":"","stderr":"","payload":"\\ud800"}\n{"key":"odd","payload":1}\n'
    (folder / "s-1.jsonl").write_bytes(odd + b"\n".join(lines))

    assert find(str(folder.parent), key, "s-1") is None
    assert find(str(folder.parent), "odd", "s-1") is None


def test_sessions_that_were_long_silent_lose_theirs(tmp_path: Path) -> None:
    old, new = keep(str(tmp_path), EMPTY, "old"), keep(str(tmp_path), EMPTY, "new")
    os.utime(tmp_path / "payloads" / "old.jsonl", (0, 0))

    prune(str(tmp_path), 3600)

    assert find(str(tmp_path), old, "old") is None
    assert find(str(tmp_path), new, "new") == EMPTY
