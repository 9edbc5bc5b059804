"""Test support for people who write plugins: fixtures, fakes, contracts, and the real client with a scripted model.

With hookrouter installed, pytest finds its fixtures by itself (:mod:`hookrouter.testing.pytest_plugin`); the names here
are what tests need for annotations, or without pytest. Each is imported on first use.
"""

from __future__ import annotations

from hookrouter.util.lazy import lazy_names

TYPE_CHECKING = False

if TYPE_CHECKING:
    from hookrouter._sandbox.waiting import WaitTimeoutError as WaitTimeoutError
    from hookrouter._sandbox.waiting import wait_until as wait_until
    from hookrouter.samples import sample as sample
    from hookrouter.testing.claude import ScriptedClaude as ScriptedClaude
    from hookrouter.testing.claude import ToolOutcome as ToolOutcome
    from hookrouter.testing.fakes import FakeGateway as FakeGateway
    from hookrouter.testing.fakes import FakePane as FakePane
    from hookrouter.testing.hooks import HookCall as HookCall
    from hookrouter.testing.hooks import HookResult as HookResult
    from hookrouter.testing.hooks import Hooks as Hooks
    from hookrouter.testing.hooks import PluginFailed as PluginFailed
    from hookrouter.testing.plugins import write_plugin as write_plugin
    from hookrouter.testing.recorder import HookRecorder as HookRecorder
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "hookrouter._sandbox.waiting": "WaitTimeoutError wait_until",
            "hookrouter.samples": "sample",
            "hookrouter.testing.claude": "ScriptedClaude ToolOutcome",
            "hookrouter.testing.fakes": "FakeGateway FakePane",
            "hookrouter.testing.hooks": "HookCall HookResult Hooks PluginFailed",
            "hookrouter.testing.plugins": "write_plugin",
            "hookrouter.testing.recorder": "HookRecorder",
        },
    )
