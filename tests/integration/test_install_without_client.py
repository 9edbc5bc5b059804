"""An install where no claude is on PATH takes nothing away, and says what it could not know; blank settings files."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from hookrouter._installation.mod_keys import enabled_folder, without_mod
from hookrouter._installation.settings_edit import differences, hooks_disabled, registered, wrapped
from hookrouter.util.program import script_argv


class Place:
    def __init__(self, folder: Path) -> None:
        self.settings = folder / "settings.json"
        self.bin = folder / "bin"
        self.bin.mkdir()
        self.environ = {**os.environ, "HOOKROUTER_HOME": str(folder / "home"), "PATH": f"{self.bin}:/usr/bin:/bin"}

    def client(self, version: str) -> None:
        program = self.bin / "claude"
        program.write_text(f"#!/bin/sh\necho '{version} (Claude Code)'\n")
        program.chmod(0o755)

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        words = (*words, "--settings", str(self.settings))
        return subprocess.run(
            [*script_argv(), *words], env=self.environ, capture_output=True, text=True, check=False, timeout=120
        )

    def done(self, *words: str) -> dict[str, Any]:
        done = self.run(*words, "--json")
        assert done.returncode == 0, done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    def events(self) -> set[str]:
        return set(json.loads(self.settings.read_text())["hooks"])


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_what_only_some_clients_know_stays_where_none_can_be_asked(place: Place) -> None:
    place.client("2.1.330")
    assert place.done("install")["warnings"] == []
    text, events = place.settings.read_text(), place.events()
    assert {"FileChanged", "StopFailure"} <= events

    (place.bin / "claude").unlink()
    done = place.done("install")
    assert (done["changed"], place.settings.read_text()) == (False, text)
    (warning,) = done["warnings"]
    assert "no claude on PATH" in warning
    assert "StopFailure" in warning
    assert "FileChanged" in warning
    said = place.run("doctor").stdout
    assert "registered and current" in said
    assert "no claude on PATH says its version, so whether it knows" in said

    # One that does not say what it is, is none.
    place.client("nonsense")
    assert not place.done("install")["changed"]
    # One that is too old for them is asked.
    place.client("2.0.76")
    assert place.done("install")["warnings"] == []
    assert place.events() == events - {"FileChanged", "StopFailure"}
    (place.bin / "claude").unlink()
    assert place.done("install")["warnings"] == []
    assert place.events() == events - {"FileChanged", "StopFailure"}


BLANK = ["", " ", "\n", " \t\r\n\n", "\ufeff", "\ufeff \n"]


@pytest.mark.parametrize("text", BLANK, ids=repr)
def test_a_blank_settings_file_comes_back_as_it_was(place: Place, text: str) -> None:
    place.settings.write_text(text, newline="")
    assert place.done("install")["changed"]
    assert place.done("uninstall")["changed"]
    assert place.settings.read_bytes().decode() == text
    assert not place.done("uninstall")["changed"]
    assert place.run("uninstall").stderr == ""


@pytest.mark.parametrize("text", BLANK, ids=repr)
def test_a_blank_settings_text_holds_nothing(text: str) -> None:
    assert registered(text) == wrapped(text) == differences(text, []) == []
    assert not hooks_disabled(text)
    assert enabled_folder(text) is None
    assert without_mod(text) == text
