"""The entry of the bell: registered for a client that can be woken, beside every front, and missed by doctor."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from hookrouter._installation.front_command import native_fault
from hookrouter._sandbox.stage import Stage
from hookrouter.testing.pytest_plugin import skip_without
from support.mod_stage import short_folder

BELL = "FileChanged (hookrouter-bell)"


@pytest.fixture
def stage() -> Iterator[Stage]:
    # Beside the mod a socket's path must be short.
    with short_folder() as folder:
        stage = Stage(folder)
        os.mkdir(os.path.join(folder, "bin"))
        stage.variables["PATH"] = f"{os.path.join(folder, 'bin')}:{os.environ['PATH']}"
        yield stage


def client(stage: Stage, version: str) -> None:
    """Put a client of this version on PATH."""
    program = Path(stage.folder, "bin", "claude")
    program.write_text(f"#!/bin/sh\necho '{version} (Claude Code)'\n")
    program.chmod(0o755)


@pytest.mark.parametrize("front", ["cold", "python", "native", "http", "mod"])
def test_it_is_a_command_that_may_wake_beside_every_front(stage: Stage, front: str) -> None:
    if front == "native":
        skip_without(native_fault())
    client(stage, "2.1.330")
    stage.configure('[serve]\nhttp = "127.0.0.1:8787"\nmod = true\n' if front in ("http", "mod") else "")
    stage.install("--front", front)
    (group,) = stage.client_home.read_settings()["hooks"]["FileChanged"]
    (handler,) = group["hooks"]
    assert (group["matcher"], handler["type"], handler["asyncRewake"]) == ("hookrouter-bell", "command", True)
    assert handler["command"].startswith("HOOKROUTER_WAKE=1 HOOKROUTER_HOME=")
    assert handler["command"].endswith("hookrouter run file-changed")


def test_doctor_tells_of_a_client_that_could_be_woken_and_has_no_entry(stage: Stage) -> None:
    client(stage, "2.1.149")
    stage.install()
    assert "FileChanged" not in stage.client_home.read_settings()["hooks"]
    assert BELL not in stage.run("doctor").stdout
    client(stage, "2.1.150")
    assert f"error   settings: {stage.client_home.settings_file}: {BELL}: not registered" in stage.run("doctor").stdout
    stage.install()
    assert BELL not in stage.run("doctor").stdout


def test_it_goes_with_its_plugin(stage: Stage) -> None:
    client(stage, "2.1.330")
    stage.configure("[plugins.doorbell-prompts]\nenabled = false\n")
    stage.install()
    assert "FileChanged" not in stage.client_home.read_settings()["hooks"]
