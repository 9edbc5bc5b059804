"""Test support for people who write plugins: fixtures, fakes, contracts, and the real client with a scripted model.

With hookrouter installed, pytest finds its fixtures by itself (:mod:`hookrouter.testing.pytest_plugin`); the names here
are what tests need for annotations, or without pytest. Each is imported on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hookrouter.samples import sample as sample
    from hookrouter.testing.claude import ScriptedClaude as ScriptedClaude
    from hookrouter.testing.claude import ToolOutcome as ToolOutcome
    from hookrouter.testing.fakes import FakeGateway as FakeGateway
    from hookrouter.testing.fakes import FakePane as FakePane
    from hookrouter.testing.firing import HookCall as HookCall
    from hookrouter.testing.firing import HookResult as HookResult
    from hookrouter.testing.firing import Hooks as Hooks
    from hookrouter.testing.firing import PluginFailed as PluginFailed
    from hookrouter.testing.plugins import write_plugin as write_plugin
    from hookrouter.testing.recorder import HookRecorder as HookRecorder

__all__ = [
    "FakeGateway",
    "FakePane",
    "HookCall",
    "HookRecorder",
    "HookResult",
    "Hooks",
    "PluginFailed",
    "ScriptedClaude",
    "ToolOutcome",
    "sample",
    "write_plugin",
]

_HOMES = {
    "FakeGateway": "fakes",
    "FakePane": "fakes",
    "HookCall": "firing",
    "HookRecorder": "recorder",
    "HookResult": "firing",
    "Hooks": "firing",
    "PluginFailed": "firing",
    "ScriptedClaude": "claude",
    "ToolOutcome": "claude",
    "write_plugin": "plugins",
}


def __getattr__(name: str) -> object:
    if name == "sample":
        return import_module("hookrouter.samples").sample
    try:
        module = _HOMES[name]
    except KeyError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
    return getattr(import_module(f"hookrouter.testing.{module}"), name)
