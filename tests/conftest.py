"""Fixtures for all tests, and the guard that keeps every test away from the user's own files."""

from __future__ import annotations

import os
from itertools import count
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from hookrouter.testing.client import CLIENT_VERSION, find_client
from hookrouter.testing.openclaw import find_openclaw
from hookrouter.testing.terminal import PrivateTmux, find_tmux

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_numbers = count()

# How long a machine takes to make an example says nothing about the code.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
if "CI" not in os.environ:
    # In CI, Hypothesis chooses a profile of its own, which is untimed too and always draws the same examples.
    settings.load_profile("untimed")


def _missing(marker: str) -> str | None:
    if marker == "openclaw":
        if find_openclaw() is None:
            return "no OpenClaw gateway: run `python -m hookrouter.testing.openclaw install` (needs npm)"
        return None
    if find_tmux() is None:
        return "tmux is not on PATH"
    if marker == "live" and find_client() is None:
        return (
            f"no Claude Code client: run `python -m hookrouter.testing.client install {CLIENT_VERSION}` (needs npm), "
            "or name one in HOOKROUTER_CLAUDE"
        )
    return None


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what cannot run here; with HOOKROUTER_REQUIRE_LIVE=1 that is a failure instead."""
    for marker in ("tmux", "live", "openclaw"):
        if item.get_closest_marker(marker) is None:
            continue
        reason = _missing(marker)
        if reason is not None:
            if os.environ.get("HOOKROUTER_REQUIRE_LIVE") == "1":
                pytest.fail(f"HOOKROUTER_REQUIRE_LIVE=1, but {reason}", pytrace=False)
            pytest.skip(reason)


def _seal(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    for name in list(os.environ):
        if name.startswith(("XDG_", "CLAUDE")) or name in ("TMUX", "TMUX_PANE", "TMUX_TMPDIR"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("HOOKROUTER_HOME", str(folder / "hookrouter"))


@pytest.fixture(scope="session", autouse=True)
def _sealed_session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Cover fixtures of wider scope than one test."""
    folder = tmp_path_factory.mktemp("sealed")
    with pytest.MonkeyPatch.context() as monkeypatch:
        _seal(monkeypatch, folder)
        yield folder


@pytest.fixture(autouse=True)
def _sealed(monkeypatch: pytest.MonkeyPatch, _sealed_session: Path) -> Path:
    """Give each test a HOME and a HOOKROUTER_HOME of its own, outside tmux and outside Claude Code."""
    folder = _sealed_session / f"home-{next(_numbers)}"
    folder.mkdir()
    _seal(monkeypatch, folder)
    return folder


@pytest.fixture
def hookrouter_home(_sealed: Path) -> Path:
    """Return the folder that HOOKROUTER_HOME names in this test; it exists and is empty."""
    folder = _sealed / "hookrouter"
    folder.mkdir(mode=0o700)
    return folder


@pytest.fixture
def tmux_server() -> Iterator[PrivateTmux]:
    """Return a private tmux server; whatever runs in it ends with the test."""
    with PrivateTmux() as server:
        yield server
