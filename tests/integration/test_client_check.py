"""``hookrouter doctor --client PATH``: what it reports of a client, and that it touches nothing of the user's."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hookrouter._sandbox.client import find_client
from hookrouter._sandbox.waiting import PATIENCE_VARIABLE
from hookrouter.testing.plugins import write_plugin
from hookrouter.util.program import script_argv

CHECKS = ["client", "PreToolUse", "dialog", "answer", "PostToolUse"]

STAND_IN = """\
#!{python}
import json, os, sys
if "--version" in sys.argv:
    print("2.1.330 (Claude Code)")
    sys.exit()
from hookrouter._diagnostics.client_check import _PROMPT, _QUESTIONS
questions = json.loads(json.dumps(_QUESTIONS))
settings = os.path.expanduser("~/.claude/settings.json")
{change}
script = os.path.expanduser("~/script.json")
with open(script, "w") as file:
    json.dump({{"forms": {{_PROMPT: {{"questions": questions}}}}, "settings": settings, "session_id": "s-1"}}, file)
os.execv(sys.executable, [sys.executable, "-P", "-m", "hookrouter._sandbox.stand_in", script])
"""


class User:
    """A user's machine, with folders that a trial must leave as they are."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.temporary = folder / "tmp"
        self.client = folder / "client"
        for name in ("tmp", "home/.claude", "hookrouter"):
            (folder / name).mkdir(parents=True)
        (folder / "home" / ".claude" / "settings.json").write_text("{}")
        self.environ = {
            **os.environ,
            "HOME": str(folder / "home"),
            "HOOKROUTER_HOME": str(folder / "hookrouter"),
            "TMPDIR": str(self.temporary),
        }

    def write_client(self, text: str) -> None:
        self.client.write_text(text)
        self.client.chmod(0o755)

    def stand_in(self, change: str = "") -> None:
        self.write_client(STAND_IN.format(python=sys.executable, change=change))

    def configure(self, config: str) -> None:
        (self.folder / "hookrouter" / "config.toml").write_text(config)

    def doctor(self, *arguments: str, client: str | None = None) -> subprocess.CompletedProcess[str]:
        command = [*script_argv(), "doctor", "--client", client or str(self.client), *arguments]
        done = subprocess.run(command, env=self.environ, capture_output=True, text=True, timeout=120, check=False)
        assert os.listdir(self.temporary) == []
        assert os.listdir(self.folder / "home") == [".claude"]
        assert (self.folder / "home" / ".claude" / "settings.json").read_text() == "{}"
        hookrouter = self.folder / "hookrouter"
        assert not set(os.listdir(hookrouter)) - {"config.toml", "cache", "state"}
        if (hookrouter / "state").exists():
            # The last good configuration, which is kept whenever config.toml is read.
            assert [name.partition("-")[0] for name in os.listdir(hookrouter / "state")] == ["config"]
        return done


@pytest.fixture
def user(tmp_path: Path) -> User:
    return User(tmp_path)


def reported(done: subprocess.CompletedProcess[str]) -> list[tuple[str, str]]:
    return [(finding["level"], finding["check"]) for finding in json.loads(done.stdout)["findings"]]


@pytest.mark.live
def test_the_real_client_passes(user: User) -> None:
    done = user.doctor("--json", client=find_client())

    assert done.returncode == 0, done.stdout + done.stderr
    assert reported(done) == [("ok", check) for check in CHECKS]
    assert json.loads(done.stdout)["screen"] == ""


@pytest.mark.live
def test_with_rules_the_real_client_is_asked_for_a_permission_and_a_plan_too(user: User) -> None:
    user.configure('[[approvals.rules]]\ntool = "Bash"\ndecide = "person"\n')

    done = user.doctor("--json", client=find_client())

    assert done.returncode == 0, done.stdout + done.stderr
    assert reported(done) == [("ok", check) for check in (*CHECKS, "permission", "plan", "elicitation")]


@pytest.mark.tmux
def test_each_check_is_told_in_words(user: User) -> None:
    user.stand_in()

    done = user.doctor()

    assert done.returncode == 0, done.stdout + done.stderr
    assert [line.split()[:2] for line in done.stdout.splitlines()] == [["ok", f"{check}:"] for check in CHECKS]


@pytest.mark.tmux
def test_a_client_that_calls_no_hooks_fails_at_pre_tool_use(user: User) -> None:
    user.stand_in("settings = os.path.expanduser('~/none.json'); open(settings, 'w').write('{}')")
    # Waited for in vain.
    user.environ[PATIENCE_VARIABLE] = "0.5"

    done = user.doctor("--json")

    assert done.returncode == 1
    assert reported(done) == [("ok", "client"), ("error", "PreToolUse")]


@pytest.mark.tmux
def test_a_dialog_that_cannot_be_read_is_told_with_the_screen(user: User) -> None:
    # The dialog is drawn with other words than those that the hook got.
    user.stand_in(
        "import hookrouter._sandbox.dialog_model as fake\n"
        "import hookrouter._sandbox.stand_in as stand_in\n"
        "draw = fake.DialogModel.render\n"
        "fake.DialogModel.render = lambda *of: [line.replace('database', 'data base?') for line in draw(*of)]\n"
        "os.execv = lambda _, argv: sys.exit(stand_in.main(argv[4:]))"
    )

    done = user.doctor()

    assert done.returncode == 1, done.stdout + done.stderr
    assert "error   dialog: the planner grammar did not read it" in done.stdout
    assert "|   2. Postgres (Recommended)" in done.stdout


@pytest.mark.tmux
def test_another_record_than_the_meant_one_is_told(user: User) -> None:
    user.stand_in("questions[0]['options'][1]['label'] = 'Oracle'")

    done = user.doctor("--json")

    assert done.returncode == 1
    assert reported(done) == [*(("ok", check) for check in CHECKS[:4]), ("error", "PostToolUse")]
    assert "Oracle" in json.loads(done.stdout)["findings"][-1]["message"]


@pytest.mark.tmux
def test_the_configured_planner_is_used_and_no_agent_is_woken(user: User) -> None:
    woken = user.folder / "woken"
    user.configure(
        f"""
        [[agents]]
        id = "mine"
        gateway = "wake"
        [gateways.wake]
        type = "command"
        argv = ["/usr/bin/touch", "{woken}"]
        [answer]
        planner = "none-such"
        """
    )
    user.stand_in()

    done = user.doctor("--json")

    assert done.returncode == 1
    assert reported(done)[-1] == ("error", "dialog")
    assert "none-such" in done.stdout
    assert not woken.exists()


@pytest.mark.tmux
@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("exit 0", "is not a Claude Code client: its --version says nothing"),
        ('[ "$1" ] && echo "9.9.9 (Claude Code)" || echo "no license"', "ended instead of showing a prompt"),
    ],
)
def test_a_program_that_is_no_client_is_an_error(user: User, program: str, said: str) -> None:
    user.write_client(f"#!/bin/sh\n{program}\n")

    done = user.doctor()

    assert done.returncode == 1
    assert said in done.stdout


def test_a_path_that_names_no_program_is_an_error(user: User) -> None:
    done = user.doctor(client="/nowhere/claude")

    assert done.returncode == 1
    assert "/nowhere/claude is not an executable file" in done.stdout


def test_without_tmux_it_says_so(user: User) -> None:
    user.write_client("#!/bin/sh\n")
    user.environ["PATH"] = str(user.folder)

    done = user.doctor()

    assert done.returncode == 1
    assert "error   tmux: tmux is not on PATH" in done.stdout


def test_options_about_settings_files_do_not_go_with_a_client(user: User) -> None:
    done = user.doctor("--scope", "user", client="/nowhere/claude")

    assert done.returncode == 2
    assert "leave out --settings and --scope" in done.stderr


def test_a_terminal_is_for_a_trial_alone(user: User) -> None:
    command = [*script_argv(), "doctor", "--terminal", "screen"]
    done = subprocess.run(command, env=user.environ, capture_output=True, text=True, timeout=60, check=False)

    assert done.returncode == 2
    assert "--terminal is for a trial of a client" in done.stderr


def test_a_terminal_that_nobody_offers_is_an_error(user: User) -> None:
    user.stand_in()

    done = user.doctor("--terminal", "barn", "--json")

    assert done.returncode == 1
    assert reported(done) == [("error", "barn")]


def test_a_terminal_that_opens_no_panes_is_an_error(user: User) -> None:
    source = (
        "from hookrouter import hookimpl\nfrom hookrouter.terminals import TerminalBackend\n"
        "class Barn(TerminalBackend):\n    name = 'barn'\n@hookimpl\ndef terminal_backend():\n    return Barn()\n"
    )
    write_plugin(user.folder / "site", "barn", source)
    user.environ["PYTHONPATH"] = str(user.folder / "site")
    user.stand_in()

    done = user.doctor("--terminal", "barn")

    assert done.returncode == 1
    assert "cannot open a pane" in done.stdout
