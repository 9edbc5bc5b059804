"""The skill that teaches an agent: what it says, and how it is installed beside files of the user's own."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from hookrouter.__main__ import main
from hookrouter.cli.dialogs.skill import SkillError, install, skill_text, skills_folder
from hookrouter.storage.home import Home
from hookrouter.util.program import script_argv


class Done(NamedTuple):
    """What a command has said."""

    returncode: int
    stdout: str
    stderr: str


Run = Callable[..., Done]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Return what runs a command in this process."""

    def run(*arguments: str) -> Done:
        code = main(list(arguments))
        return Done(code, *capsys.readouterr())

    return run


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home.in_folder(str(tmp_path / "hr"))


@pytest.mark.parametrize("agent", ["openclaw", "claude-code"])
def test_it_begins_with_the_front_matter_that_agents_read(home: Home, agent: str) -> None:
    text = skill_text(home, agent, {"HOOKROUTER_HOME": home.root})

    head, description = re.match(r"---\nname: (.*)\ndescription: (.*)\n---\n\n# ", text).groups()  # type: ignore[union-attr]
    assert head == "hookrouter"
    assert 40 < len(description) < 1024
    assert not set(description) & set(":#<>\"'"), "it is plain YAML, without quotes"
    assert "$" not in text, "every placeholder is filled in"


def test_its_commands_start_this_hookrouter_with_this_home(home: Home) -> None:
    text = skill_text(home, "openclaw", {"HOOKROUTER_HOME": home.root})

    commands = re.findall(r"^ *(env HOOKROUTER_HOME=.* (?:questions|answer) .*)$", text, re.MULTILINE)
    start = f"env HOOKROUTER_HOME={home.root} {' '.join(script_argv())}"
    assert [command.removeprefix(start).split()[0] for command in commands] == ["questions", "answer"]


def test_every_exit_code_and_every_decision_is_told(home: Home) -> None:
    from hookrouter.dialogs.answers.result import ExitCode

    text = skill_text(home, "claude-code", {})
    told = {int(code) for code in re.findall(r"^ +\| (\d) \|", text, re.MULTILINE)}
    codes = {value for name, value in vars(ExitCode).items() if name.isupper()}
    assert told == codes
    for action in ("select", "type", "multi-select", "chat"):
        assert f'{{"action":"{action}"' in text


def test_the_commands_that_it_names_take_the_options_that_it_names(home: Home, run: Run) -> None:
    text = skill_text(home, "openclaw", {})
    program = " ".join(script_argv())
    for command in ("questions", "answer"):
        named = set(re.findall(r"--[a-z-]+", " ".join(re.findall(rf"{re.escape(program)} {command} (.*)", text))))
        shown = run(command, "--help").stdout
        assert named <= set(re.findall(r"--[a-z-]+", shown))
        assert named


def test_a_copy_of_the_users_own_replaces_it(home: Home) -> None:
    os.makedirs(home.prompts)
    Path(home.prompts, "skill.md").write_text("---\nname: hookrouter\ndescription: mine\n---\nRun $hookrouter at $5.\n")

    assert skill_text(home, "openclaw", {}).endswith(f"Run {' '.join(script_argv())} at $5.\n")

    Path(home.prompts, "skill.md").write_text("no front matter\n")
    with pytest.raises(SkillError, match="must begin with front matter"):
        skill_text(home, "openclaw", {})


def test_installing_twice_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "skills" / "hookrouter" / "SKILL.md"

    assert install(str(path), "first\n") == "written"
    written = path.stat()
    assert install(str(path), "first\n") == "unchanged"
    assert path.stat().st_mtime_ns == written.st_mtime_ns

    assert install(str(path), "second\n") == "updated"
    assert path.read_text().startswith("second\n")
    assert [name.name for name in path.parent.iterdir()] == ["SKILL.md"]


@pytest.mark.parametrize("change", ["theirs\n", "first\nand more\n{stamp}", ""])
def test_a_file_that_is_not_ours_any_more_is_kept(tmp_path: Path, change: str) -> None:
    path = tmp_path / "SKILL.md"
    install(str(path), "first\n")
    path.write_text(change.format(stamp=path.read_text().splitlines()[-1] + "\n"))

    with pytest.raises(SkillError, match="--force replaces it"):
        install(str(path), "second\n")
    assert "second" not in path.read_text()

    assert install(str(path), "second\n", force=True) == "updated"
    assert path.read_text().startswith("second\n")


def test_a_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(SkillError, match=r"SKILL\.md cannot be (read|written): "):
        install(str(tmp_path / "file" / "hookrouter" / "SKILL.md"), "text\n")


def test_each_agent_has_its_folder() -> None:
    home = os.environ["HOME"]
    assert skills_folder("openclaw", {}) == f"{home}/.openclaw/skills"
    assert skills_folder("openclaw", {"OPENCLAW_STATE_DIR": "/state"}) == "/state/skills"
    assert skills_folder("claude-code", {"CLAUDE_CONFIG_DIR": "relative"}) == f"{home}/.claude/skills"


def test_the_command_prints_and_installs(tmp_path: Path, run: Run) -> None:
    printed = run("skill", "--for", "claude-code")
    assert printed.returncode == 0
    assert printed.stdout.startswith("---\nname: hookrouter\n")

    done = run("skill", "--for", "claude-code", "--install", "--json")
    path = Path("~/.claude/skills/hookrouter/SKILL.md").expanduser()
    assert json.loads(done.stdout) == {
        "ok": True, "agent": "claude-code", "name": "hookrouter", "path": str(path), "outcome": "written",
    }  # fmt: skip
    assert path.read_text().startswith(printed.stdout.rstrip())
    assert run("skill", "--for", "claude-code", "--install").stdout == f"unchanged: {path}\n"

    assert run("skill", "--install", str(tmp_path)).stdout == f"written: {tmp_path}/hookrouter/SKILL.md\n"
    (tmp_path / "hookrouter" / "SKILL.md").write_text("mine")
    refused = run("skill", "--install", str(tmp_path))
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "was not written by hookrouter" in refused.stderr
    assert run("skill", "--install", "--force", str(tmp_path)).stdout.startswith("updated: ")


@pytest.mark.parametrize("arguments", [("--for", "cursor"), ("/tmp/x",), ("--force",)])
def test_wrong_arguments_are_said(arguments: tuple[str, ...], run: Run) -> None:
    done = run("skill", *arguments, "--json")
    assert done.returncode == 2
    assert json.loads(done.stdout)["ok"] is False
