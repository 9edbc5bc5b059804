"""The pytest plugin ``hookrouter``: fixtures for the tests of a hookrouter plugin.

Pytest imports this module in every project of an environment in which hookrouter is installed, so it imports nothing
of hookrouter before a fixture is asked for. ``-p no:hookrouter`` switches it off.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from hookrouter._sandbox.tmux_server import PrivateTmux
    from hookrouter.testing.claude import ScriptedClaude
    from hookrouter.testing.fakes import FakeGateway, FakePane
    from hookrouter.testing.hooks import Hooks
    from hookrouter.testing.recorder import HookRecorder


def missing(*, client: bool = True) -> str:
    """Return what the real client cannot run without here; empty if nothing is missing. ``client``: ask for it."""
    from hookrouter._sandbox.client import CLIENT_VERSION, find_client
    from hookrouter._sandbox.tmux_server import find_tmux

    if find_tmux() is None:
        return "tmux is not on PATH"
    if client and find_client() is None:
        return (
            f"no Claude Code client: run `python -m hookrouter.testing.client install {CLIENT_VERSION}` (needs npm), "
            "or name one in HOOKROUTER_CLAUDE"
        )
    return ""


def skip_without(reason: str) -> None:
    """Skip the test if there is a reason; with ``HOOKROUTER_REQUIRE_LIVE=1`` that is a failure instead."""
    if reason and os.environ.get("HOOKROUTER_REQUIRE_LIVE") == "1":
        pytest.fail(f"HOOKROUTER_REQUIRE_LIVE=1, but {reason}", pytrace=False)
    if reason:
        pytest.skip(reason)


def seal(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Path:
    """Put HOME and HOOKROUTER_HOME below ``folder``, outside tmux and Claude Code; return the latter's path."""
    for name in list(os.environ):
        if name.startswith(("XDG_", "CLAUDE")) or name in ("TMUX", "TMUX_PANE", "TMUX_TMPDIR"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("HOOKROUTER_HOME", str(folder / "hookrouter"))
    return folder / "hookrouter"


@pytest.fixture
def hookrouter_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder that HOOKROUTER_HOME names; HOME is another one, and the test is outside tmux and Claude Code."""
    home = seal(monkeypatch, tmp_path_factory.mktemp("hookrouter"))
    home.mkdir(mode=0o700)
    return home


@pytest.fixture
def hooks(hookrouter_home: Path) -> Hooks:
    """Plugins in an empty home, to fire events at: ``hooks.add(MyPlugin)``, then ``hooks.fire("Stop")``."""
    from hookrouter.storage.home import Home
    from hookrouter.testing.hooks import Hooks

    return Hooks(Home.in_folder(str(hookrouter_home)))


@pytest.fixture
def hook_recorder(hooks: Hooks) -> HookRecorder:
    """A plugin, added to ``hooks``, that implements every hook and remembers each call."""
    from hookrouter.testing.recorder import HookRecorder

    recorder = HookRecorder()
    hooks.add(recorder, "recorder")
    return recorder


@pytest.fixture
def fake_terminal(hooks: Hooks) -> FakePane:
    """A terminal backend in memory, added to ``hooks``: its pane is the one in which Claude Code runs."""
    from hookrouter.testing.fakes import FakePane

    pane = FakePane()
    hooks.add(pane, "fake-terminal")
    return pane


@pytest.fixture
def fake_gateway(hooks: Hooks) -> FakeGateway:
    """A gateway in memory, added to ``hooks`` as the type ``fake``; ``hooks.deliver()`` brings it the messages."""
    from hookrouter.testing.fakes import FakeGateway

    gateway = FakeGateway()
    hooks.add(gateway, "fake-gateway")
    return gateway


@pytest.fixture
def tmux_server() -> Iterator[PrivateTmux]:
    """A tmux server of its own; whatever runs in it ends with the test. Skips without tmux."""
    from hookrouter._sandbox.tmux_server import PrivateTmux

    skip_without(missing(client=False))
    with PrivateTmux() as server:
        yield server


@pytest.fixture
def claude(tmp_path: Path, tmux_server: PrivateTmux) -> Iterator[ScriptedClaude]:
    """The real Claude Code with a scripted model, in a home of its own, with hookrouter installed in its settings.

    Skips, saying why, without a client; with ``HOOKROUTER_REQUIRE_LIVE=1`` it fails instead.
    """
    skip_without(missing())
    from hookrouter.testing.claude import ScriptedClaude

    with ScriptedClaude(str(tmp_path / "claude"), tmux_server) as scripted:
        yield scripted
