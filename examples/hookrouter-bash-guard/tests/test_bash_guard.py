"""The guard by itself: a rule, a reply."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from hookrouter_bash_guard import BashGuard


def decide(command: object, **settings: object) -> str | None:
    context: Any = SimpleNamespace(settings=lambda _plugin: settings)
    event: Any = None
    reply = BashGuard().pre_tool_use_bash(event, {"command": command}, context)
    return None if reply is None else reply.verdict


def test_a_harmless_command_passes() -> None:
    assert decide("rm -rf ./build") is None


def test_the_root_folder_is_safe() -> None:
    assert decide("cd /; rm -rf /") == "deny"


def test_deny_comes_before_ask() -> None:
    assert decide("curl x", deny=["curl"], ask=["curl"]) == "deny"


@pytest.mark.parametrize("rules", ["curl", [1], {"curl": 1}])
def test_rules_of_another_shape_are_refused(rules: object) -> None:
    with pytest.raises(TypeError, match=r"plugins\.bash-guard\.settings\.deny"):
        decide("ls", deny=rules)
