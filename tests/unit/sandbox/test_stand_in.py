from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookrouter._sandbox.client import prompt_box
from hookrouter._sandbox.stand_in import KeyReader, PasteInput, StandIn


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


class Display:
    """A terminal in which a prompt is typed and entered; what is shown goes into a file."""

    def __init__(self, prompt: str, path: Path) -> None:
        self._input: list[list[str | PasteInput]] = [[PasteInput(prompt)], ["Enter"]]
        self._path = path

    def size(self) -> tuple[int, int]:
        return 80, 24

    def draw(self, screen: str) -> None:
        self._path.write_text(screen, encoding="utf-8")

    def read(self, others: Sequence[int] = ()) -> list[str | PasteInput] | None:
        return self._input.pop(0) if self._input else []


def test_a_prompt_that_was_taken_leaves_the_box_before_its_hooks_run(tmp_path: Path) -> None:
    settings, shown, seen = (tmp_path / name for name in ("settings.json", "shown", "seen"))
    hook = {"type": "command", "command": f"cp {shlex.quote(str(shown))} {shlex.quote(str(seen))}"}
    settings.write_text(json.dumps({"hooks": {"UserPromptSubmit": [{"hooks": [hook]}]}}), encoding="utf-8")
    script = {"forms": {}, "settings": str(settings), "session_id": "s"}
    StandIn(script, Display("please ASK single", shown)).run()
    box = prompt_box(seen.read_text(encoding="utf-8"))
    assert box is not None
    assert box.text == ""


def test_a_session_begins_and_clear_begins_another_one(tmp_path: Path) -> None:
    settings, seen = tmp_path / "settings.json", tmp_path / "seen"
    hook = {"type": "command", "command": f"cat >> {shlex.quote(str(seen))}; echo >> {shlex.quote(str(seen))}"}
    events = ("SessionStart", "SessionEnd", "UserPromptSubmit", "Stop")
    settings.write_text(json.dumps({"hooks": {name: [{"hooks": [hook]}] for name in events}}), encoding="utf-8")
    StandIn({"forms": {}, "settings": str(settings), "session_id": "s"}, Display("/clear", tmp_path / "shown")).run()
    told = [json.loads(line) for line in seen.read_text(encoding="utf-8").splitlines()]
    assert [(one["hook_event_name"], one.get("source") or one.get("reason")) for one in told] == [
        ("SessionStart", "startup"),
        ("SessionEnd", "clear"),
        ("SessionStart", "clear"),
    ]
    first, ended, second = (one["session_id"] for one in told)
    assert first == ended == "s"
    assert second != first


def test_the_menu_shows_the_command_that_is_typed(tmp_path: Path) -> None:
    settings, shown = tmp_path / "settings.json", tmp_path / "shown"
    settings.write_text("{}", encoding="utf-8")
    display = Display("/cl", shown)
    display._input.pop()
    StandIn({"forms": {}, "settings": str(settings), "session_id": "s"}, display).run()
    lines = shown.read_text(encoding="utf-8").splitlines()
    assert lines[-5].startswith("  ❯ /clear  ")
    assert lines[-4].startswith("───")
