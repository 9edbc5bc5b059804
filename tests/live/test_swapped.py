"""The question loop with other parts in it: another planner, and another terminal, each chosen in config.toml."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from hookrouter._sandbox.client import ClientSession, find_client
from hookrouter._sandbox.scripted_model import ScriptedModel, ask
from hookrouter._sandbox.stage import Stage
from hookrouter._sandbox.tmux_server import PrivateTmux
from hookrouter._sandbox.waiting import wait_until
from support.matrix import mostly_long

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.live, pytest.mark.xdist_group("swapped")]  # most share a client

GNU_SCREEN = Path(__file__).parents[2] / "examples" / "hookrouter-gnu-screen"


def question(text: str, header: str, *labels: str, multi: bool = False, previews: bool = False) -> dict[str, Any]:
    options = [{"label": label, "description": f"about {label}"} for label in labels]
    if previews:
        options = [{**option, "preview": f"+--+\n|{option['label'][:2]}|\n+--+"} for option in options]
    return {"question": text, "header": header, "multiSelect": multi, "options": options}


APPROACH = question("Which approach should we use?", "Approach", "Option A (Recommended)", "Option B", "You decide")
AREAS = question("Which areas do you want?", "Areas", "Driver path", "Naming", "Retry", "Logging", multi=True)
LAYOUT = question("Which layout?", "Layout", "Sidebar", "Topbar", "None", previews=True)
TEXT = "neither: 'B', then A;\nand 日本語 -- \"quoted\""

FORMS: dict[str, tuple[list[dict[str, Any]], list[dict[str, Any]], dict[str, str]]] = {
    "single": ([APPROACH], [{"action": "select", "optionIndex": 2}], {APPROACH["question"]: "You decide"}),
    "typed": ([APPROACH], [{"action": "type", "text": TEXT}], {APPROACH["question"]: TEXT}),
    "multi": (
        [AREAS],
        [{"action": "multi-select", "selectedIndices": [0, 2]}],
        {AREAS["question"]: "Driver path, Retry"},
    ),
    "multi-typed": (
        [AREAS],
        [{"action": "multi-select", "selectedIndices": [1], "text": "DRY, SRP"}],
        {AREAS["question"]: 'Naming, "DRY, SRP"'},
    ),
    "tabs": (
        [APPROACH, AREAS, LAYOUT, question("Really?", "Really", "Yes", "No")],
        [
            {"action": "type", "text": "something else"},
            {"action": "multi-select", "selectedIndices": [3], "text": "and this"},
            {"action": "select", "optionIndex": 1},
            {"action": "select", "optionIndex": 0},
        ],
        {
            APPROACH["question"]: "something else",
            AREAS["question"]: "Logging, and this",
            LAYOUT["question"]: "Topbar",
            "Really?": "Yes",
        },
    ),
    "previews": ([LAYOUT], [{"action": "select", "optionIndex": 1}], {LAYOUT["question"]: "Topbar"}),
}

# The class is in conftest.py, which cannot be imported from here.
Live = Any


@pytest.fixture(scope="module")
def counting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Stage, ScriptedModel, ClientSession]]:
    """Return a client whose questions are answered by counting keys; one for all tests."""
    stage = Stage(str(tmp_path_factory.mktemp("counting")), '[answer]\nchannels = ["keys"]\nplanner = "key-counting"\n')
    program = find_client()
    assert program is not None
    with PrivateTmux() as server, ScriptedModel() as model:
        prepare(stage)
        with stage.client(program, server, model, session="managed") as client:
            yield stage, model, client


@pytest.fixture(scope="module")
def in_screen(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Stage, ScriptedModel, ClientSession]]:
    """Return a client in GNU screen, whose attached terminal is a tmux pane, under the example package."""
    if shutil.which("screen") is None:
        if os.environ.get("HOOKROUTER_REQUIRE_LIVE") == "1":
            pytest.fail("HOOKROUTER_REQUIRE_LIVE=1, but there is no screen program on PATH", pytrace=False)
        pytest.skip("no screen program on PATH")
    program = find_client()
    assert program is not None
    site = tmp_path_factory.mktemp("site")
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check"]
    target = ["--target", str(site), str(GNU_SCREEN)]
    subprocess.run([sys.executable, "-m", "pip", "install", *options, *target], check=True)
    sockets = tmp_path_factory.mktemp("s")
    sockets.chmod(0o700)
    with pytest.MonkeyPatch.context() as patch, PrivateTmux() as server, ScriptedModel() as model:
        patch.setenv("PYTHONPATH", str(site))
        stage = Stage(str(tmp_path_factory.mktemp("in-screen")), '[answer]\nchannels = ["keys"]\nterminal = "screen"\n')
        prepare(stage)
        environ = {**stage.environ, **stage.client_home.environ(model), "SCREENDIR": str(sockets)}
        command = ["screen", "-U", "-c", os.devnull, "-S", "managed", program]
        with ClientSession(command, server, stage.client_home, environ, session="viewer") as client:
            yield stage, model, client
        for name in os.listdir(sockets):
            subprocess.run(["screen", "-S", name, "-X", "quit"], env={**os.environ, **environ}, check=False)


def prepare(stage: Stage) -> None:
    stage.record("PreToolUse", "PostToolUse")
    stage.install()


def verify(stage: Stage, model: ScriptedModel, client: ClientSession, name: str) -> str:
    """Have Claude ask a form, answer it from outside, and compare what was recorded; return the question's id."""
    form, decisions, answers = FORMS[name]
    turn = f"turn-{len(model.prompts())}"
    before = len(stage.payloads("PreToolUse"))
    model.script(turn, [ask({"questions": form})])
    client.submit(f"please ASK {turn}")
    asked = stage.wait_payload("PreToolUse", before + 1)["tool_use_id"]
    client.wait_dialog(form[0]["question"])
    done = stage.run("answer", "--session", "managed", "--json", "--file", "-", stdin=json.dumps(decisions))
    assert done.returncode == 0, f"{done.stdout} {done.stderr}\n{client.screen()}"
    assert json.loads(done.stdout)["outcome"] == "verified"

    def recorded() -> dict[str, Any] | None:
        found = [each for each in stage.payloads("PostToolUse") if each["tool_use_id"] == asked]
        return found[0]["tool_response"]["answers"] if found else None

    assert wait_until(recorded, 15, "PostToolUse", client.screen) == answers
    model.wait_for_result(asked)
    client.wait_idle()
    return str(asked)


@pytest.mark.parametrize("name", mostly_long(FORMS, "typed", "tabs"))
def test_counted_keys_answer(counting: tuple[Stage, ScriptedModel, ClientSession], name: str) -> None:
    verify(*counting, name)


@pytest.mark.parametrize("name", mostly_long(FORMS, "single"))
def test_a_client_in_gnu_screen_is_answered_under_the_name_that_screen_gives(
    in_screen: tuple[Stage, ScriptedModel, ClientSession], name: str
) -> None:
    asked = verify(*in_screen, name)
    records = [each for each in in_screen[0].journal() if each.get("event") == "answer"]
    assert [record["session"] for record in records if record["tool_use_id"] == asked] == ["managed"]
