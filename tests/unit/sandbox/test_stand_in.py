"""The stand-in for a client, in tests: its keys, its screen and its sessions."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrouter._sandbox.stand_in import KeyReader, PasteInput, StandIn
from support.shown_display import Display


@pytest.mark.parametrize(
    ("data", "keys"),
    [
        (b"\x1b[A\x1bOB\x1b[Z\t\r", ["Up", "Down", "BTab", "Tab", "Enter"]),
        (b"a 1\x7f", ["a", "Space", "1", "BSpace"]),
        ("日é".encode(), ["日", "é"]),
        (b"\x05\x15", ["C-e", "C-u"]),
        (b"\x1b[200~one\rtwo \x1b[A\x1b[201~\r", [PasteInput("one\ntwo \x1b[A"), "Enter"]),
        (b"\x1b\x1b[B", ["Escape", "Down"]),
        (b"\x1b[24~x", ["x"]),
    ],
)
def test_bytes_of_a_terminal_become_keys(data: bytes, keys: list[object]) -> None:
    assert KeyReader().feed(data) == keys


def test_a_lone_escape_is_a_key_only_if_nothing_follows() -> None:
    reader = KeyReader()
    assert reader.feed(b"\x1b") == []
    assert reader.waiting
    assert reader.flush() == ["Escape"]
    assert reader.feed(b"\x1b") == []
    assert reader.feed(b"[A") == ["Up"]


@given(st.binary(max_size=40), st.integers(0, 40))
def test_any_bytes_are_read_to_their_end(data: bytes, split: int) -> None:
    reader = KeyReader()
    keys = [*reader.feed(data[:split]), *reader.feed(data[split:])]
    assert keys == KeyReader().feed(data)
    assert all(keys)


def test_the_menu_shows_the_command_that_is_typed(tmp_path: Path) -> None:
    settings, shown = tmp_path / "settings.json", tmp_path / "shown"
    settings.write_text("{}", encoding="utf-8")
    display = Display("/cl", shown)
    display.input.pop()
    StandIn({"forms": {}, "settings": str(settings), "session_id": "s"}, display).run()
    lines = shown.read_text(encoding="utf-8").splitlines()
    assert lines[-5].startswith("  ❯ /clear  ")
    assert lines[-4].startswith("───")
