"""Hooks of another version: one that is marked as optional is left out, and the rest of its plugin stands."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import pluggy
import pytest

from hookrouter import hookimpl
from hookrouter._inspection.inspector import describe
from hookrouter._inspection.validation import validate
from hookrouter._plugins.call_specs import hookspecs_for
from hookrouter._plugins.manager import build_calls


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


NOT_CALLED = {
    "async def": "async def {name}(event): pass",
    "an async generator": "async def {name}(event): yield",
    "a generator": "def {name}(event): yield",
}

SPELLINGS = {
    "a function": "{mark}\n{function}",
    "specname": "{mark_as}\n{function_as}",
    "a marker with a name": "mine = {plain}\n@mine\n{function}",
    "an assignment": "{function_as}\n{name} = {call}(_other)\ndel _other",
    "a method": "class Plugin:\n    {mark}\n    {method}",
    "a static method": "class Plugin:\n    @staticmethod\n    {mark}\n    {function}",
    "an inherited method": "class Base:\n    {mark}\n    {method}\nclass Plugin(Base): pass",
    "an attribute": "{function_as}\nclass Plugin:\n    def __init__(self): self.{name} = {call}(_other)",
}


def spelt(spelling: str, name: str, body: str, options: str = "") -> object:
    """Return a plugin with an implementation in that spelling, beside one of pre_tool_use_bash."""
    of = {
        "name": name,
        "mark": f"@hookimpl({options})" if options else "@hookimpl",
        "plain": f"hookimpl({options})" if options else "hookimpl",
        "call": f"hookimpl({options})" if options else "hookimpl",
        "mark_as": f"@hookimpl(specname={name!r}, {options})",
        "function": body.format(name=name),
        "function_as": body.format(name="_other"),
        "method": body.format(name=name).replace("(event)", "(self, event)"),
    }
    made = ModuleType("spelt")
    vars(made)["hookimpl"] = hookimpl
    exec(SPELLINGS[spelling].format(**of), vars(made))
    plugin: Any = made.Plugin() if hasattr(made, "Plugin") else made

    def pre_tool_use_bash(tool_input: object) -> None:
        return None

    plugin.pre_tool_use_bash = hookimpl(pre_tool_use_bash)
    return plugin


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_scan_and_call_agree_in_every_spelling(spelling: str) -> None:
    body = "def {name}(event): return None"
    optional = spelt(spelling, "session_paused", body, "optionalhook=True")
    assert list(validate("one", optional)) == ["pre_tool_use_bash"]
    failed: list[str] = []
    calls = build_calls(
        hookspecs_for("PreToolUse", "Bash"),
        [("one", optional)],
        lambda *_: lambda *_given: None,
        lambda name, _: failed.append(name),
    )
    assert (list(calls), failed) == (["pre_tool_use_bash"], [])
    with pytest.raises(pluggy.PluginValidationError, match="unknown hook 'session_paused'"):
        validate("one", spelt(spelling, "session_paused", body))
    for kind, text in NOT_CALLED.items():
        found = "is 'async def'" if "async" in kind else "has a 'yield'"
        with pytest.raises(pluggy.PluginValidationError, match=rf"stop: \w+ {found}"):
            validate("one", spelt(spelling, "stop", text))
        # One of another version is never called.
        assert list(validate("one", spelt(spelling, "session_paused", text, "optionalhook=True"))) == [
            "pre_tool_use_bash"
        ]


def test_a_plugin_that_does_not_fit_is_taken_to_guard_what_it_names(monkeypatch: pytest.MonkeyPatch) -> None:
    for made, hooks in (
        # The unknown one may be a guard's misspelt name.
        (plugin(optional=False), ["permission_request", "pre_tool_use", "pre_tool_use_bash"]),
        (spelt("a function", "stop", NOT_CALLED["async def"]), ["pre_tool_use_bash", "stop"]),
    ):
        assert isinstance(made, ModuleType)
        monkeypatch.setitem(sys.modules, made.__name__, made)
        said = describe("one", made.__name__, {})
        assert said["hooks"] == hooks
        assert said["error"]


def test_an_optional_hook_that_is_known_is_checked_as_any_other() -> None:
    made = ModuleType("of_this_version")

    def stop(event: object, nonsense: object) -> None:
        return None

    vars(made)["stop"] = hookimpl(optionalhook=True)(stop)
    with pytest.raises(pluggy.PluginValidationError, match="unknown argument 'nonsense'"):
        validate("one", made)
