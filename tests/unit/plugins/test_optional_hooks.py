"""Hooks of another version: one that is marked as optional is left out, and the rest of its plugin stands."""

from __future__ import annotations

import sys
from types import ModuleType

import pluggy
import pytest

from hookrouter import hookimpl
from hookrouter._inspection.inspector import describe
from hookrouter._inspection.validation import validate


def plugin(optional: bool, hook: str = "session_paused") -> ModuleType:
    made = ModuleType("of_another_version")

    def unknown(event: object, later: object) -> None:
        raise AssertionError

    @hookimpl
    def pre_tool_use_bash(tool_input: object, context: object) -> None:
        return None

    unknown.__name__ = hook
    vars(made).update({hook: hookimpl(optionalhook=optional)(unknown), "pre_tool_use_bash": pre_tool_use_bash})
    return made


@pytest.mark.parametrize("hook", ["session_paused", "pre_tool_use_teleport", "some_channel"])
def test_an_optional_hook_that_is_not_known_is_left_out_and_told(hook: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made = plugin(optional=True, hook=hook)
    assert list(validate("one", made)) == ["pre_tool_use_bash"]
    monkeypatch.setitem(sys.modules, made.__name__, made)
    said = describe("one", made.__name__, {})
    assert (said["hooks"], said["error"]) == (["pre_tool_use_bash"], "")
    assert said["hints"] == [f"{hook} is not a hook of this version, and is not called: it is marked as optional"]


def test_another_one_refuses_the_plugin_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    made = plugin(optional=False)
    with pytest.raises(pluggy.PluginValidationError, match="unknown hook 'session_paused'"):
        validate("one", made)
    monkeypatch.setitem(sys.modules, made.__name__, made)
    assert "unknown hook" in str(describe("one", made.__name__, {})["error"])


def test_an_optional_hook_that_is_known_is_checked_as_any_other() -> None:
    made = ModuleType("of_this_version")

    def stop(event: object, nonsense: object) -> None:
        return None

    vars(made)["stop"] = hookimpl(optionalhook=True)(stop)
    with pytest.raises(pluggy.PluginValidationError, match="unknown argument 'nonsense'"):
        validate("one", made)
