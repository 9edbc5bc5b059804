"""What not every client knows is registered only for a client that is there and knows it."""

from __future__ import annotations

from pathlib import Path

import pytest

from hookrouter._installation.client_version import found_version, knows
from hookrouter._installation.registrations import registration_sources
from hookrouter._plugins.registry import PluginInfo, PluginStatus
from hookrouter.config import Config
from support.programs import Programs


@pytest.mark.parametrize(
    ("says", "version"),
    [("2.1.330 (Claude Code)", (2, 1, 330)), ("Claude Code", None), ("2.1.330 of something else", None), ("", None)],
)
def test_the_client_on_path_says_its_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, says: str, version: tuple[int, ...] | None
) -> None:
    Programs(monkeypatch).put(tmp_path / "claude", "--version", says)
    assert found_version({"PATH": f"{tmp_path}:/usr/bin:/bin"}) == version


def test_without_a_client_no_version_is_known(tmp_path: Path) -> None:
    assert found_version({"PATH": str(tmp_path)}) is None


@pytest.mark.parametrize(
    ("client", "event", "known"),
    [
        ((2, 1, 330), "StopFailure", True),
        ((2, 1, 150), "StopFailure", True),
        ((2, 0, 76), "StopFailure", False),
        ((2, 0, 76), "Stop", True),
        ((2, 1, 150), "PostModelSwitch", False),
        (None, "StopFailure", False),
        ((2, 1, 330), "PostToolBatch", True),
        ((2, 1, 150), "PostToolBatch", False),
        ((2, 1, 331), "PreSkillShellCommand", False),
        ((2, 1, 332), "PreSkillShellCommand", True),
    ],
)
def test_a_client_knows_the_events_since_their_version(client: tuple[int, ...] | None, event: str, known: bool) -> None:
    assert knows(client, event) is known


@pytest.mark.parametrize(("client", "kept"), [((2, 1, 330), True), ((2, 0, 76), False), (None, False)])
def test_a_hook_for_newer_clients_is_left_out_for_others(client: tuple[int, ...] | None, kept: bool) -> None:
    plugin = PluginInfo(
        name="p",
        status=PluginStatus.ACTIVE,
        hooks=("stop", "stop_failure", "file_changed"),
        if_known=frozenset(["stop_failure"]),
    )
    hooks = registration_sources([plugin], Config(), client)[0].hooks
    # The one that is not marked stays: that is its plugin's own affair.
    assert ("stop_failure" in hooks, "stop" in hooks, "file_changed" in hooks) == (kept, True, True)


@pytest.mark.parametrize(
    ("client", "kept"),
    [((2, 1, 330), True), ((2, 1, 150), True), ((2, 1, 149), False), ((2, 0, 76), False), (None, False)],
)
def test_a_hook_that_wakes_is_left_out_for_clients_that_would_wait_for_it(
    client: tuple[int, ...] | None, kept: bool
) -> None:
    plugin = PluginInfo(
        name="p", status=PluginStatus.ACTIVE, hooks=("stop", "file_changed"), wakes=frozenset(["file_changed"])
    )
    hooks = registration_sources([plugin], Config(), client)[0].hooks
    assert ("stop" in hooks, "file_changed" in hooks) == (True, kept)
