"""Fixtures for all tests, and the guard that keeps every test away from the user's own files."""

from __future__ import annotations

import os
import signal
import sys
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hookrouter.testing.pytest_plugin import missing, seal, skip_without
from support.layers import LayerPlugin, register_profiles
from support.openclaw import find_openclaw
from support.reports import ReportPlugin
from support.shared import VARIABLE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.generated import Generated
    from support.postgres import Server

_numbers = count()

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # As a shell starts what runs in the background: every child would inherit it, and no test could interrupt one.
    signal.signal(signal.SIGINT, signal.default_int_handler)

register_profiles(steady="CI" in os.environ)

_MEMORY = "/dev/shm"
_ROOM = 2 << 30

if os.path.isdir(_MEMORY) and os.access(_MEMORY, os.W_OK | os.X_OK):
    free = os.statvfs(_MEMORY)
    if free.f_bavail * free.f_frsize > _ROOM:
        # Every document that is saved is flushed to its disk, which takes more time than most tests' own work.
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", _MEMORY)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options that choose layers, and the one for a report."""
    parser.addoption("--everything", action="store_true", help="run all layers of tests, and what is slow")
    parser.addoption("--rest", action="store_true", help="run what the quick verdict leaves out")
    parser.addoption("--report", default="", metavar="FILE", help="write a JSON line for each phase of each test")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Add what chooses and guards the layers, and what writes the report."""
    config.pluginmanager.register(LayerPlugin(), "test-layers")
    is_worker = hasattr(config, "workerinput")
    config.pluginmanager.register(ReportPlugin("" if is_worker else config.option.report), "report-file")


def _missing(marker: str) -> str:
    if marker == "openclaw":
        if find_openclaw() is None:
            return "no OpenClaw gateway: run `python -m support.openclaw install` (needs npm)"
        return ""
    return missing(client=marker == "live")


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what cannot run here; with HOOKROUTER_REQUIRE_LIVE=1 that is a failure instead."""
    if item.get_closest_marker("long") is not None and os.environ.get("HOOKROUTER_LONG") != "1":
        pytest.skip("it takes long, and says what seldom changes: run with HOOKROUTER_LONG=1 before a release")
    if item.get_closest_marker("linux") is not None and sys.platform != "linux":
        pytest.skip("it is about Linux")
    for marker in ("tmux", "live", "openclaw"):
        if item.get_closest_marker(marker) is None:
            continue
        skip_without(_missing(marker))


@pytest.fixture(scope="session", autouse=True)
def _sealed_session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Cover fixtures of wider scope than one test."""
    folder = tmp_path_factory.mktemp("sealed")
    with pytest.MonkeyPatch.context() as monkeypatch:
        seal(monkeypatch, folder)
        yield folder


@pytest.fixture(autouse=True)
def _sealed(monkeypatch: pytest.MonkeyPatch, _sealed_session: Path) -> Path:
    """Give each test a HOME and a HOOKROUTER_HOME of its own, outside tmux and outside Claude Code."""
    folder = _sealed_session / f"home-{next(_numbers)}"
    folder.mkdir()
    seal(monkeypatch, folder)
    return folder


@pytest.fixture(scope="session")
def _engine_of_stages() -> Iterator[Server | None]:
    """Start the database, if the environment says that all stages share one."""
    engine = os.environ.get(VARIABLE, "")
    if not engine:
        yield None
        return
    assert engine == "postgresql", f"{VARIABLE}: found {engine!r}; allowed: postgresql"
    from support.postgres import postgres_server

    with postgres_server() as server:
        yield server


@pytest.fixture(autouse=True)
def _shared(_engine_of_stages: Server | None) -> Iterator[None]:
    """Have the stages of each test share their documents, if the environment says so."""
    if _engine_of_stages is None:
        yield
    else:
        from support.shared_stages import shared_stages

        with shared_stages(_engine_of_stages):
            yield


@pytest.fixture
def hookrouter_home(_sealed: Path) -> Path:
    """Return the folder that HOOKROUTER_HOME names in this test; it exists and is empty."""
    folder = _sealed / "hookrouter"
    folder.mkdir(mode=0o700)
    return folder


@pytest.fixture(scope="session")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Generated:
    """Return a new plugin in a fresh environment.

    For tests in the xdist group ``generated``, so that there is one of it.
    """
    from support.generated import generate_plugin

    return generate_plugin(tmp_path_factory.mktemp("generated"))
