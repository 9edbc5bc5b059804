"""The README's examples, as they stand there."""

from __future__ import annotations

import json
import os
import re
import subprocess
from importlib import import_module
from pathlib import Path

import pytest

from hookrouter.config import load
from hookrouter.executable import script_argv
from hookrouter.home import Home
from hookrouter.testing.plugins import write_plugin

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def test_the_configuration_example_is_valid(tmp_path: Path) -> None:
    (example,) = [block for block in blocks("toml") if "[plugins.bash-guard]" in block]
    (tmp_path / "config.toml").write_text(example, encoding="utf-8")
    config = load(Home.in_folder(str(tmp_path)))
    assert config.problems == ()
    (agent,) = config.agents
    assert agent.gateway in config.gateways
    assert config.plugin("bash-guard").on_error == "closed"


def test_the_fallback_and_reminder_example_is_valid(tmp_path: Path) -> None:
    wanted = ("fallback_after", "[gateways.claw]", "[gateways.chat]")
    examples = [block for block in blocks("toml") if any(part in block for part in wanted)]
    (tmp_path / "config.toml").write_text("\n".join(examples), encoding="utf-8")
    config = load(Home.in_folder(str(tmp_path)))
    assert config.problems == ()
    (agent,) = config.agents
    assert (agent.gateway, agent.fallbacks) == ("claw", ("chat",))
    assert (config.answer.reminders, config.answer.escalate_to) == (3, "chat")


@pytest.mark.parametrize("name", ["claw", "chat", "script"])
def test_the_gateway_examples_are_valid(name: str, tmp_path: Path) -> None:
    (example,) = [block for block in blocks("toml") if f"[gateways.{name}]" in block]
    (tmp_path / "config.toml").write_text(example, encoding="utf-8")
    config = load(Home.in_folder(str(tmp_path)))
    assert config.problems == ()
    kind, table = config.gateway(name) or ("", {})
    problems = import_module(f"hookrouter_{kind}").gateway().check(table)
    # Of what an example names, nothing is there.
    assert [problem for problem in problems if "cannot be read" not in problem and "is not set" not in problem] == []


def test_the_plugin_example_works(tmp_path: Path) -> None:
    (example,) = blocks("python")
    write_plugin(tmp_path / "site", "no-force-push", example, attribute="NoForcePush")
    payload = {
        "session_id": "s",
        "transcript_path": "",
        "cwd": "/",
        "hook_event_name": "PreToolUse",
        "tool_name": "Bash",
        "tool_input": {"command": "git push --force"},
        "tool_use_id": "toolu_1",
    }
    done = subprocess.run(
        [*script_argv(), "run", "pre-tool-use"],
        input=json.dumps(payload).encode(),
        capture_output=True,
        env={**os.environ, "PYTHONPATH": str(tmp_path / "site"), "HOOKROUTER_HOME": str(tmp_path / "home")},
        check=True,
    )
    assert json.loads(done.stdout)["hookSpecificOutput"]["permissionDecision"] == "deny"


@pytest.mark.parametrize("command", sorted(set(re.findall(r"`hookrouter ([a-z]+(?: list)?)", README)) - {"deliver"}))
def test_every_command_that_it_names_exists(command: str) -> None:
    done = subprocess.run([*script_argv(), *command.split(), "--help"], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()


def test_the_commands_for_people_are_between_their_markers() -> None:
    for name in ("demo", "test"):
        found = re.search(rf"<!-- {name}-command -->\n```sh\n(.+)\n```\n<!-- /{name}-command -->", README)
        assert found is not None
        assert found[1].startswith("python3 -m venv .venv && ")
