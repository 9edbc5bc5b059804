"""A fault of hookrouter itself loses nothing that a plugin has said."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from hookrouter import _wiring
from hookrouter._contract.hook_names import hook_names
from hookrouter._isolation.progress import RunProgress
from hookrouter._plugins.index import DiscoveredPlugin
from hookrouter._plugins.registry import Plugins
from hookrouter._routing import router, said
from hookrouter._routing.output import HookOutput, Routed
from hookrouter.config import Config, PluginConfig
from hookrouter.context import Context
from hookrouter.markers import hookimpl, waits
from hookrouter.replies import PreToolUseReply
from hookrouter.storage.home import Home
from hookrouter.storage.journal import Journal
from support.hook_place import BASH

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path


class Denies:
    @hookimpl
    def pre_tool_use_bash(self, tool_input: Any) -> PreToolUseReply:
        return PreToolUseReply.deny(f"not {tool_input.command}")


class Rewrites:
    @hookimpl
    def pre_tool_use_bash(self) -> PreToolUseReply:
        return PreToolUseReply.allow(updated_input={"command": "echo"})


class Guard:
    @hookimpl
    def pre_tool_use(self) -> None:
        return None


class Optional:
    @hookimpl
    def pre_tool_use_bash(self, event: Any, context: Any = None) -> PreToolUseReply:
        return PreToolUseReply.context(f"{event.tool_name} {context is None}")


class OptionalWrapper:
    @hookimpl(wrapper=True)
    def pre_tool_use_bash(self, event: Any, context: Any = None) -> Generator[None, list[Any], list[Any]]:
        replies = yield
        return [*replies, PreToolUseReply.deny(event.tool_name)]


class Waiter:
    @hookimpl
    @waits(60)
    def pre_tool_use_bash(self) -> PreToolUseReply:
        raise AssertionError("it was called")


def routed(folder: Path, environ: dict[str, str] | None = None, closed: str = "", **objects: object) -> Routed:
    home = Home.in_folder(str(folder))
    hooks = ("pre_tool_use_bash", "pre_tool_use")
    found = [
        DiscoveredPlugin(name=name, value=name, hooks=tuple(hook for hook in hooks if hasattr(made, hook)))
        for name, made in objects.items()
    ]
    config = Config(plugins={closed: PluginConfig(on_error="closed")} if closed else {})
    plugins = Plugins(found, config, lambda plugin, text: pytest.fail(f"{plugin}: {text}"), objects)
    context = Context(
        event="PreToolUse",
        payload=BASH,
        home=home,
        config=config,
        environ=environ or {},
        plugins=plugins,
        journal=Journal(home.logs),
        wiring=_wiring,
        record={},
    )
    return router.route(plugins, hook_names("PreToolUse", "Bash"), BASH, context)


def specific(result: Routed) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(result.output.stdout)["hookSpecificOutput"]
    return found


def broken(*_arguments: object, **_more: object) -> Any:
    raise RuntimeError("no more")


def test_replies_that_were_taken_survive_a_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(router._Routing, "_call_waiting", broken)

    result = routed(tmp_path, aa=Denies())

    assert result.fault == "RuntimeError: no more"
    assert specific(result)["permissionDecisionReason"] == "aa: not ls"
    assert json.loads(result.output.stdout)["systemMessage"] == "hookrouter failed: RuntimeError: no more"


def test_a_guard_that_a_fault_kept_from_being_asked_refuses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(said.Said, "rewrite", broken)

    result = routed(tmp_path, closed="guard", aa=Rewrites(), guard=Guard())

    assert result.output.decision == "deny"
    assert "plugin guard could not be asked and is set to fail closed" in specific(result)["permissionDecisionReason"]


def test_of_replies_that_cannot_be_merged_the_refusals_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(said.Said, "_rewritten_fields", broken)

    assert specific(routed(tmp_path, aa=Denies(), bb=Rewrites())) == {
        "hookEventName": "PreToolUse",
        "permissionDecision": "deny",
        "permissionDecisionReason": "aa: not ls",
    }
    # A permission without its rewritten input would let pass what nobody has allowed.
    assert routed(tmp_path, bb=Rewrites()).output == HookOutput()


def test_nobody_is_waited_for_in_a_dry_run(tmp_path: Path) -> None:
    result = routed(tmp_path, {router.DRY_RUN: "1"}, waiter=Waiter())
    assert [(call["plugin"], call["outcome"]) for call in result.calls] == [("waiter", "would wait")]
    assert routed(tmp_path, waiter=Waiter()).calls[0]["outcome"] == "failed"


def test_the_result_is_the_same_in_another_process(tmp_path: Path) -> None:
    result = routed(tmp_path, aa=Denies())
    assert Routed.from_json(json.loads(json.dumps(result.to_json()))) == result


@pytest.mark.parametrize("plugin", [Optional(), OptionalWrapper()], ids=["implementation", "wrapper"])
def test_an_argument_may_have_a_default(tmp_path: Path, plugin: object) -> None:
    result = routed(tmp_path, aa=plugin)
    assert result.fault == ""
    assert "Bash" in result.output.stdout


def test_no_call_of_a_wrapper_is_at_work_once_it_has_handed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    monkeypatch.setattr(RunProgress, "tell", lambda _progress, *message: told.append(" ".join(map(str, message[:2]))))
    routed(tmp_path, wrapper=OptionalWrapper(), other=Denies())
    # The first two are the imports.
    assert told[2:] == ["begins wrapper", "idle", "begins other", "begins wrapper", "idle"]
