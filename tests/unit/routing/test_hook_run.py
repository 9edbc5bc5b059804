"""What a run answers if what it needs is not to be had."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from hookrouter import _wiring, hookimpl
from hookrouter._isolation.supervisor import Supervisor
from hookrouter._plugins.index import DiscoveredPlugin
from hookrouter._plugins.project import record_file
from hookrouter._routing import hook_run
from hookrouter._routing.hook_run import answer
from hookrouter.samples import sample
from hookrouter.storage.home import Home

GUARDED = '[plugins.own]\non_error = "closed"\n'


@pytest.fixture
def environ(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """A home with a guard of hookrouter's own and somebody's plugin that fails too often, and no process to be had."""
    index = []
    for name, distribution in (("own", "hookrouter"), ("other", "somebodys")):
        module: Any = ModuleType(f"{name}_of_this_test")
        module.pre_tool_use = hookimpl(_answers)
        monkeypatch.setitem(sys.modules, module.__name__, module)
        found = DiscoveredPlugin(
            name=name, value=module.__name__, distribution=distribution, hooks=("pre_tool_use", "permission_request")
        )
        index.append(found)
    monkeypatch.setattr(hook_run, "load_index", lambda _home, _environ: tuple(index))
    monkeypatch.setattr(Supervisor, "run", _no_process)
    home = tmp_path / "home"
    home.mkdir()
    (home / "config.toml").write_text(GUARDED)
    return {"HOOKROUTER_HOME": str(home), "HOME": str(tmp_path)}


def _answers(event: object) -> None:
    _CALLED.append(event)


_CALLED: list[object] = []


def _no_process(*_given: object, **_more: object) -> None:
    raise BlockingIOError("no process can be made")


def test_without_a_process_no_stranger_is_called_beside_a_guard_of_our_own(environ: dict[str, str]) -> None:
    _CALLED.clear()
    payload = json.dumps(sample("PreToolUse")).encode()
    answered = answer("pre-tool-use", payload, environ, _wiring, contained=True)
    assert _CALLED == []
    assert answered.output.decision == "deny"
    assert "own" in answered.output.stdout


@pytest.mark.parametrize(
    ("word", "event", "means"),
    [
        ("pre-tool-use", "PreToolUse", "so this is refused"),
        ("permission-request", "PermissionRequest", "so this is left to a person"),
    ],
)
def test_a_refusal_that_cannot_be_made_says_what_its_exit_code_does(
    environ: dict[str, str], monkeypatch: pytest.MonkeyPatch, word: str, event: str, means: str
) -> None:
    monkeypatch.setattr("hookrouter._routing.merge.merge", _no_process)
    answered = answer(word, json.dumps(sample(event)).encode(), environ, _wiring, contained=True)
    assert answered.output.exit_code == 2
    assert answered.output.stderr == f"hookrouter: hookrouter failed; set to fail closed: own, {means}\n"


def test_the_user_is_told_of_each_call_in_a_project_of_which_nothing_is_known(
    environ: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(hook_run, "load_index", lambda _home, _environ: ())
    Path(environ["HOOKROUTER_HOME"], "config.toml").write_text("[plugins]\nguards_alone = true\n")
    record = Path(record_file(Home.from_environ(environ), str(tmp_path)))
    record.parent.mkdir()
    record.write_text("{")
    payload = json.dumps({**sample("PreToolUse", "Bash"), "cwd": str(tmp_path)}).encode()
    (said,) = json.loads(answer("pre-tool-use", payload, environ, _wiring, contained=True).output.stdout).values()
    assert said == (
        f"hookrouter: the project {tmp_path}: its record {record} cannot be read: hookrouter trust {tmp_path}"
    )


def test_the_user_is_told_of_each_call_that_goes_on_without_a_broken_plugin(
    environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With guards alone nothing listens to SessionStart, where all broken plugins are told."""
    one = DiscoveredPlugin(name="guard", value="/g.py", hooks=("pre_tool_use_bash", "session_start"), error="a bug")
    monkeypatch.setattr(hook_run, "load_index", lambda _home, _environ: (one,))
    Path(environ["HOOKROUTER_HOME"], "config.toml").write_text("[plugins]\nguards_alone = true\n")

    def said(word: str, payload: dict[str, Any]) -> str:
        return answer(word, json.dumps(payload).encode(), environ, _wiring, contained=True).output.stdout

    told = "hookrouter: plugin guard is broken: a bug"
    assert json.loads(said("pre-tool-use", sample("PreToolUse", "Bash"))) == {
        "systemMessage": f"{told}; this goes on without it"
    }
    assert json.loads(said("session-start", sample("SessionStart"))) == {"systemMessage": told}
    assert said("pre-tool-use", sample("PreToolUse", "Write")) == ""
    logs = "".join(file.read_text() for file in Path(environ["HOOKROUTER_HOME"]).rglob("*.jsonl"))
    assert "plugin guard is broken: a bug" in logs
