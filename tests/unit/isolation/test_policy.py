"""Which plugins a run calls, and in which process."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from hookrouter._isolation import circuit_breaker
from hookrouter._isolation.crash_marks import CrashMark, stale_marks
from hookrouter._isolation.policy import INLINE, MARKED, SUPERVISED, choose
from hookrouter._plugins.registry import PluginInfo, PluginStatus
from hookrouter.config import Config, PluginConfig
from hookrouter.storage.home import Home

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home.in_folder(str(tmp_path))


def info(name: str, distribution: str = "somebodys") -> PluginInfo:
    return PluginInfo(name=name, status=PluginStatus.ACTIVE, distribution=distribution, hooks=("pre_tool_use",))


def config(**on_error: str) -> Config:
    return Config(plugins={name: PluginConfig(on_error=value) for name, value in on_error.items()})


def choice(home: Home, *listeners: PluginInfo, tables: Config | None = None) -> tuple[str, set[str], set[str]]:
    found = choose(home, listeners, tables or Config(), lambda text: pytest.fail(text))
    return found.how, set(found.third_party), set(found.switched_off)


def test_own_plugins_are_called_in_the_process_itself(home: Home) -> None:
    assert choice(home, info("keys", "hookrouter")) == (INLINE, set(), set())


def test_others_are_watched(home: Home) -> None:
    assert choice(home, info("keys", "hookrouter"), info("a"), info("b")) == (MARKED, {"a", "b"}, set())


def test_a_guard_has_a_process_of_its_own(home: Home) -> None:
    assert choice(home, info("a"), info("b"), tables=config(b="closed"))[0] == SUPERVISED


def test_an_own_guard_needs_none(home: Home) -> None:
    assert choice(home, info("own", "hookrouter"), tables=config(own="closed"))[0] == INLINE


def test_a_plugin_that_was_isolated_has_a_process_of_its_own(home: Home) -> None:
    circuit_breaker.isolate(home, {"a": "stop"})
    assert choice(home, info("a"))[0] == SUPERVISED
    assert choice(home, info("b"))[0] == MARKED


def test_a_plugin_that_failed_too_often_is_left_out(home: Home) -> None:
    failed = {"plugin": "a", "hook": "stop", "outcome": "failed", "error": "no"}
    for _ in range(5):
        circuit_breaker.note(home, circuit_breaker.read(home), [failed], Config())
    assert choice(home, info("a"), info("b")) == (MARKED, {"b"}, {"a"})
    assert choice(home, info("a")) == (INLINE, set(), {"a"})


def test_a_plugin_in_which_a_run_ended_is_isolated_and_told_of(home: Home) -> None:
    mark = CrashMark(home, {"a": "a"})
    mark.name("a", "stop")
    os.close(mark._descriptor)
    said: list[str] = []

    found = choose(home, [info("a")], Config(), said.append)

    assert said == ["plugin a: an earlier hook run ended in its stop; it is called in another process from now on"]
    assert (found.how, found.health["a"].isolated) == (SUPERVISED, True)
    assert choose(home, [info("a")], Config(), pytest.fail).how == SUPERVISED, "and told once"


def test_a_mark_of_a_process_that_lives_says_nothing(home: Home) -> None:
    mark = CrashMark(home, {"a": "a"})
    mark.name("a", "stop")
    assert stale_marks(home) == {}
    mark.remove()
    assert os.listdir(os.path.join(home.state, "running")) == []


def test_only_the_plugins_of_others_are_named(home: Home) -> None:
    mark = CrashMark(home, {"a": "a"})
    mark.name("own", "stop")
    os.close(mark._descriptor)
    assert stale_marks(home) == {}


def test_the_document_on_disk_keeps_its_keys(home: Home) -> None:
    tables = {"a": {"failures": 2, "error": "boom", "at": 2e9, "told": True, "left": {"wrote": 2e9}, "apart": True}}
    os.makedirs(home.state, mode=0o700)
    path = os.path.join(home.state, "plugins-health.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"version": 1, "plugins": {**tables, "b": {"told": 5}, "c": {"failures": 1, "new": 1}}}, file)

    known = circuit_breaker.read(home)

    assert set(known) == {"a", "c"}
    health = known["a"]
    assert (health.isolated, health.notified, dict(health.side_effects)) == (True, True, {"wrote": 2e9})
    circuit_breaker.isolate(home, {"z": "stop"})
    with open(path, encoding="utf-8") as file:
        assert json.load(file)["plugins"]["a"] == tables["a"]
