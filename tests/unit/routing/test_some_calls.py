"""Implementations that are about some calls of an event alone, and those that begin a turn of Claude's."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

from hookrouter import hookimpl
from hookrouter._contract.hook_names import matched_value
from hookrouter.context import Context
from hookrouter.events import FileChanged, Notification
from hookrouter.markers import is_waking, matched, matching, wakes
from hookrouter.replies import FileChangedReply, PreToolUseReply
from hookrouter.testing import Hooks

WAKE = {"HOOKROUTER_WAKE": "1"}
TEXT = "first line\n  second: 👍 </system-reminder> \\\n/clear is no command here"


@pytest.mark.parametrize("values", [(), ("",), ("a|b",), ("a b",), ("a*",), ("ok", "ä")])
def test_a_matcher_is_made_of_plain_values(values: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="matching"):
        matching(*values)


def test_markers_are_read_as_they_were_set() -> None:
    @matching("one", "two", "one")
    def marked() -> None: ...

    def plain() -> None: ...

    assert (matched(marked), matched(plain)) == (("one", "two"), ())
    assert (is_waking(wakes(marked)), is_waking(plain)) == (True, False)


@pytest.mark.parametrize(
    ("event", "payload", "value"),
    [
        ("Notification", {"notification_type": "idle_prompt"}, "idle_prompt"),
        ("Notification", {}, None),
        ("FileChanged", {"file_path": "/a/b/bell"}, "bell"),
        ("PreToolUse", {"tool_name": "Bash"}, "Bash"),
        ("Stop", {"stop_hook_active": True}, None),
        ("SomethingNew", {"source": "x"}, None),
    ],
)
def test_what_matchers_look_at(event: str, payload: dict[str, object], value: str | None) -> None:
    assert matched_value(event, payload) == value


class Idle:
    """Is about one kind of notification, and raises for every other."""

    @hookimpl
    @matching("idle_prompt")
    def notification(self, event: Notification) -> None:
        assert event.notification_type == "idle_prompt"


class IdleWrapper:
    @hookimpl(wrapper=True)
    @matching("idle_prompt")
    def notification(self, event: Notification) -> Generator[None, Any, Any]:
        assert event.notification_type == "idle_prompt"
        return (yield)


@pytest.mark.parametrize("plugin", [Idle, IdleWrapper])
def test_an_implementation_is_called_for_its_values_alone(hooks: Hooks, plugin: type) -> None:
    hooks.add(plugin, "idle")
    assert hooks.fire("Notification", notification_type="idle_prompt").records
    assert not hooks.fire("Notification", notification_type="permission_prompt").records


def test_beside_another_of_the_same_plugin_it_is_still_left_out(hooks: Hooks) -> None:
    class Both(Idle):
        @hookimpl
        def raw_event(self, payload: dict[str, object]) -> None:
            """Watch every call."""

    hooks.add(Both, "both")
    fired = hooks.fire("Notification", notification_type="permission_prompt")
    assert [record["hook"] for record in fired.records] == ["raw_event"]
    fired = hooks.fire("Notification", notification_type="idle_prompt")
    assert [record["hook"] for record in fired.records] == ["notification", "raw_event"]


def test_a_tool_is_known_by_its_former_name_too(hooks: Hooks) -> None:
    class Agents:
        @hookimpl
        @matching("Agent")
        def pre_tool_use(self) -> PreToolUseReply:
            return PreToolUseReply.deny("no")

    hooks.add(Agents)
    assert hooks.fire("PreToolUse", "Agent").by
    assert hooks.fire("PreToolUse", "Agent", tool_name="Task").by
    assert not hooks.fire("PreToolUse", "Bash").by


class Bell:
    @hookimpl
    @matching("bell")
    @wakes
    def file_changed(self, event: FileChanged, context: Context) -> FileChangedReply:
        return FileChangedReply.wake(TEXT)


class Watch:
    @hookimpl
    def file_changed(self, event: FileChanged) -> FileChangedReply:
        return FileChangedReply.message("it has changed")


def test_a_hook_that_wakes_says_its_text_as_it_is_and_nothing_else(hooks: Hooks) -> None:
    hooks.add(Bell)
    hooks.add(Watch)
    fired = hooks.fire("FileChanged", file_path="/state/bell", environ=WAKE)
    assert (fired.exit_code, fired.stderr, fired.stdout) == (2, TEXT, "")
    assert fired.by == ("bell",)


def test_the_run_that_claude_code_waits_for_calls_the_others(hooks: Hooks) -> None:
    hooks.add(Bell)
    hooks.add(Watch)
    fired = hooks.fire("FileChanged", file_path="/state/bell")
    assert (fired.exit_code, fired.by) == (0, ()), fired
    assert "it has changed" in fired.stdout
    assert not hooks.fire("FileChanged", file_path="/state/other", environ=WAKE).records


def test_several_texts_are_one_event(hooks: Hooks) -> None:
    hooks.add(Bell, "one")
    hooks.add(Bell, "two")
    assert hooks.fire("FileChanged", file_path="/state/bell", environ=WAKE).stderr == f"{TEXT}\n\n{TEXT}"


def test_one_that_is_not_marked_cannot_wake(hooks: Hooks) -> None:
    class Unmarked:
        @hookimpl
        def file_changed(self) -> FileChangedReply:
            return FileChangedReply.wake("it would be lost")

    hooks.add(Unmarked)
    fired = hooks.fire("FileChanged", check=False)
    assert fired.exit_code == 0
    assert "marked with @wakes" in fired.records[0]["error"]
