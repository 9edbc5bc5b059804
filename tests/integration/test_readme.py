"""The README's examples, as they stand there."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

from hookrouter.config import load
from hookrouter.executable import script_argv
from hookrouter.home import Home
from hookrouter.samples import sample
from hookrouter.testing import contracts
from hookrouter.testing.command_lines import all_commands, check_calls, simple_commands
from hookrouter.testing.plugins import write_plugin

REPOSITORY = Path(__file__).parents[2]
README = (REPOSITORY / "README.md").read_text(encoding="utf-8")
EXAMPLES = [str(file.relative_to(REPOSITORY)) for file in sorted(REPOSITORY.glob("examples/*/README.md"))]
ELSEWHERE = {"cd", "claude", "eval", "hookrouter", "jq", "pip", "pipx", "python", "python3", "uv"}
"""Programs that an example may start although they are not on this PATH."""


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


def sources(folder: Path) -> list[Path]:
    """Write the README's Python, each block to the file that its first line names, or to one of its own."""
    files = []
    for number, block in enumerate(blocks("python")):
        named = re.match(r"# ([\w/]+\.py)\n", block)
        file = folder / (named[1] if named else f"example_{number}.py")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(block, encoding="utf-8")
        files.append(file)
    return files


def test_the_python_examples_are_typed_and_can_be_imported(tmp_path: Path) -> None:
    files = sources(tmp_path)
    names = [str(file.relative_to(tmp_path)) for file in files]
    assert names
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / ".cache"), *names]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    for name in names:
        module = name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        done = subprocess.run(
            [sys.executable, "-c", f"import {module}"], cwd=tmp_path, capture_output=True, check=False
        )
        assert done.returncode == 0, done.stderr
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--import-mode=prepend", str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "1 passed" in done.stdout, done.stdout


def test_the_fragments_for_tests_are_python_that_runs() -> None:
    names = {name: getattr(contracts, name) for name in contracts.__all__}
    for block in blocks("py"):
        exec(compile(block, "README.md", "exec"), dict(names))


def test_the_plugin_example_works(tmp_path: Path) -> None:
    (example,) = [block for block in blocks("python") if "class NoForcePush" in block]
    write_plugin(tmp_path / "site", "no-force-push", example, attribute="NoForcePush")
    payload = {**sample("PreToolUse", "Bash"), "tool_input": {"command": "git push --force"}}
    done = subprocess.run(
        [*script_argv(), "run", "pre-tool-use"],
        input=json.dumps(payload).encode(),
        capture_output=True,
        env={**os.environ, "PYTHONPATH": str(tmp_path / "site"), "HOOKROUTER_HOME": str(tmp_path / "home")},
        check=True,
    )
    assert json.loads(done.stdout)["hookSpecificOutput"]["permissionDecision"] == "deny"


def configurations() -> list[str]:
    return [block for block in blocks("toml") if "entry-points" not in block]


@pytest.mark.parametrize("block", configurations(), ids=lambda block: block.partition("\n")[0])
def test_every_configuration_passes_the_check(block: str, tmp_path: Path) -> None:
    """Each with the gateways that it names from the other examples, and with the files that it names."""
    tables = tomllib.loads(block)
    named = {name for agent in tables.get("agents", []) for name in agent.get("gateways", [])}
    named.add(tables.get("answer", {}).get("escalate_to", ""))
    others = [other for other in configurations() if set(tomllib.loads(other).get("gateways", {})) & named]
    text = "\n".join([block, *others])
    for path in re.findall(r'_file = "~/([^"]+)"', text):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("secret")
        (tmp_path / path).chmod(0o600)
    program = tmp_path / "bin" / "wake-agent"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    secrets = dict.fromkeys(re.findall(r'_env = "(\w+)"', text), "secret")
    (tmp_path / "config.toml").write_text(text.replace("/home/me/", f"{tmp_path}/"), encoding="utf-8")
    environ = {**os.environ, **secrets, "HOME": str(tmp_path), "HOOKROUTER_HOME": str(tmp_path)}
    done = subprocess.run([*script_argv(), "config", "check", "--json"], env=environ, capture_output=True, check=False)
    assert done.returncode == 0, done.stdout.decode() + done.stderr.decode()


def test_the_entry_points_are_those_of_a_package() -> None:
    (example,) = [block for block in blocks("toml") if "entry-points" in block]
    ((name, value),) = tomllib.loads(example)["project"]["entry-points"]["hookrouter"].items()
    assert (name, value) == ("no-force-push", "no_force_push:NoForcePush")


@pytest.mark.parametrize("file", ["README.md", "CONTRIBUTING.md", "claude-plugin/README.md", *EXAMPLES])
def test_every_command_line_is_one(file: str) -> None:
    """That of hookrouter has its arguments read; of others, modules and files that are ours must be there."""
    text = (REPOSITORY / file).read_text(encoding="utf-8")
    lines = "\n".join(re.findall(r"^```(?:sh|console)\n(.*?)^```", text, re.MULTILINE | re.DOTALL))
    inline = "\n".join(re.findall(r"`((?:\.venv/bin/python |python |tests/|hookrouter )[^`\n]+)`", text))
    inline = inline.replace("|", "/").replace("ID/--all", "--all").replace("ID", "x").replace("FILE", "x")
    commands = all_commands()
    check_calls(lines, commands)
    for words in simple_commands(f"{lines}\n{inline}"):
        program = words[0].rpartition("/")[2]
        assert shutil.which(program) or program in ELSEWHERE or (REPOSITORY / words[0]).exists(), words
        if "-m" in words:
            module = words[words.index("-m") + 1]
            assert find_spec(module) is not None, words
        elif program == "python" and words[1:2] and not words[1].startswith("-"):
            assert (REPOSITORY / words[1]).exists(), words


@pytest.mark.parametrize("command", sorted(set(re.findall(r"`hookrouter ([a-z]+(?: list)?)", README)) - {"deliver"}))
def test_every_command_that_it_names_exists(command: str) -> None:
    done = subprocess.run([*script_argv(), *command.split(), "--help"], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()


def test_the_commands_for_people_are_between_their_markers() -> None:
    for name in ("demo", "test"):
        found = re.search(rf"<!-- {name}-command -->\n```sh\n(.+)\n```\n<!-- /{name}-command -->", README)
        assert found is not None
        assert found[1].startswith("python3 -m venv .venv && ")
