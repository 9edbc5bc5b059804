"""Each installed client that has mods: its interface has the shapes that the mod uses, and loads the mod's source."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hookrouter._mod.folder import mod_folder
from hookrouter._mod.results import FIRST_VERSION
from hookrouter._sandbox.client import find_client
from hookrouter._sandbox.scripted_model import ScriptedModel
from support.mod_interface import harvest, shapes
from support.mod_stage import Answers, short_folder

if TYPE_CHECKING:
    from hookrouter._sandbox.tmux_server import PrivateTmux

pytestmark = pytest.mark.live

REPOSITORY = Path(__file__).parents[2]
KEPT = REPOSITORY / "tests" / "data" / "mod"


def number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def clients() -> list[str]:
    """Return the installed versions that have mods."""
    programs = (REPOSITORY / ".live").glob("[0-9]*.[0-9]*.[0-9]*/node_modules/.bin/claude")
    found = [program.parents[2].name for program in programs]
    return sorted((name for name in found if number(name) >= number(FIRST_VERSION)), key=number)


def program_of(version: str) -> str:
    return str(REPOSITORY / ".live" / version / "node_modules" / ".bin" / "claude")


def kept(version: str) -> dict[str, str]:
    """Return the shapes that are kept for a version; for a new one those of the newest one before it."""
    names = [path.stem.removeprefix("interface-") for path in KEPT.glob("interface-*.json")]
    newest = max((name for name in names if number(name) <= number(version)), key=number)
    found: dict[str, str] = json.loads((KEPT / f"interface-{newest}.json").read_text())
    return found


def test_a_client_with_mods_is_installed() -> None:
    assert find_client() is not None
    assert clients() != []


@pytest.mark.parametrize("version", clients())
def test_the_interface_has_the_shapes_that_the_mod_uses(tmux_server: PrivateTmux, version: str) -> None:
    with short_folder() as folder, ScriptedModel() as model:
        assert shapes(harvest(program_of(version), folder, tmux_server, model)) == kept(version)


@pytest.mark.parametrize("version", clients())
def test_the_client_finds_nothing_wrong_with_the_source(version: str) -> None:
    with short_folder() as folder, ScriptedModel() as model:
        answers = Answers(folder)
        done = subprocess.run(
            [program_of(version), "plugin", "validate", mod_folder(answers.stage.home)],
            env={**answers.stage.environ, **answers.stage.client_home.environ(model)},
            cwd=answers.stage.client_home.project,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
