"""``hookrouter init``: the conversation on a real terminal, all by options, and what is left if it is stopped."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from hookrouter._sandbox.local_server import LocalServer
from hookrouter._sandbox.tmux_server import PrivateTmux, TmuxPane
from hookrouter._sandbox.waiting import wait_until
from hookrouter.permission_rules.presets import preset_text
from hookrouter.util.program import script_argv
from support.fake_openclaw import FakeOpenClaw

AGENT = """\
#!{python}
import json, os, sys
text = sys.stdin.read()
with open({record!r}, "a") as file:
    file.write(json.dumps({{"text": text, "kind": os.environ["HOOKROUTER_WAKE_KIND"]}}) + "\\n")
"""


class Place:
    """A home of hookrouter and one of Claude Code, empty, and a program that is an agent."""

    def __init__(self, folder: Path, home: Path) -> None:
        self.config = home / "config.toml"
        self.settings = Path(os.environ["HOME"]) / ".claude" / "settings.json"
        self.outbox = home / "state" / "outbox"
        self.state = home / "state"
        self.folder = folder
        self.agent = folder / "agent"
        self._record = folder / "record.jsonl"
        self.agent.write_text(AGENT.format(python=sys.executable, record=str(self._record)))
        self.agent.chmod(0o755)

    def told(self) -> list[dict[str, Any]]:
        """Return what the agent was told."""
        return [json.loads(line) for line in self._record.read_text().splitlines()] if self._record.exists() else []

    def program(self, name: str, *lines: str) -> Path:
        """Write a further program."""
        path = self.folder / name
        path.write_text("\n".join([f"#!{sys.executable}", *lines, ""]))
        path.chmod(0o755)
        return path

    def waiting(self) -> list[str]:
        """Return the messages in the outbox."""
        return [name for name in os.listdir(self.outbox) if name.startswith("wake-")] if self.outbox.exists() else []

    def init(self, *arguments: str, timeout: float = 120.0) -> subprocess.CompletedProcess[str]:
        """Run init without a terminal."""
        return subprocess.run(
            [*script_argv(), "init", *arguments],
            stdin=subprocess.DEVNULL,
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )


@pytest.fixture
def place(tmp_path: Path, hookrouter_home: Path) -> Place:
    """Return an empty place."""
    return Place(tmp_path, hookrouter_home)


@pytest.fixture
def tmux() -> Iterator[PrivateTmux]:
    """Return a terminal whose programs have this test's homes."""
    with PrivateTmux({**os.environ, "LC_ALL": "C.UTF-8"}) as server:
        yield server


GUARD = """\
from hookrouter import hookimpl
from hookrouter.replies import PreToolUseReply

@hookimpl
def pre_tool_use_bash(tool_input):
    return PreToolUseReply.deny("no")
"""


def test_guards_alone_ask_nothing_and_register_what_the_guards_listen_to(place: Place) -> None:
    guard, program = place.program("guard.py"), script_argv()
    guard.write_text(GUARD)
    place.settings.parent.mkdir()
    mine = {"model": "opus", "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "mine"}]}]}}
    place.settings.write_text(json.dumps(mine))

    def run(*arguments: str) -> str:
        done = subprocess.run([*program, *arguments], capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    done = place.init("--guards")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Nothing is registered yet" in done.stdout
    assert json.loads(place.settings.read_text()) == mine
    assert "no entry: no active plugin implements a hook about an event" in run("install", "--dry-run")
    assert "run now, so that Claude Code knows: hookrouter install" in run("plugins", "add", str(guard))
    assert "  PreToolUse (Bash): guard\n" in run("install", "--dry-run")
    (entry,) = json.loads(run("install", "--json"))["registered"]
    assert (entry["event"], entry["matcher"], entry["plugins"]) == ("PreToolUse", "Bash", ["guard"])
    settings = json.loads(place.settings.read_text())
    assert (settings["model"], settings["hooks"]["Stop"]) == (mine["model"], mine["hooks"]["Stop"])  # type: ignore[index]
    assert len(settings["hooks"]["PreToolUse"]) == 1
    off = {one["name"] for one in json.loads(run("plugins", "list", "--json")) if one["status"] == "disabled"}
    assert {"ask-user-question", "dialogs", "sessions"} <= off
    assert "nothing is wrong" in run("config", "check")
    assert place.init("--yes", "--no-test").returncode == 0
    assert len(json.loads(place.settings.read_text())["hooks"]) > 5
    assert {one["status"] for one in json.loads(run("plugins", "list", "--json"))} == {"active"}


SHELL = ["sh", "-c", 'trap : INT; "$@"; echo "init ended with $?"', "sh"]
"""What says at the end how init ended; tmux itself does not always learn it."""


def opened(tmux: PrivateTmux, place: Place, *arguments: str) -> TmuxPane:
    command = [*SHELL, *script_argv(), "init", *arguments]
    return tmux.start("main", command, cwd=str(place.folder), width=60, height=210)


def say(pane: TmuxPane, prompt: str, answer: str) -> None:
    """Wait for a prompt at the end of the screen, and answer it."""
    pane.wait_for(lambda screen: flat(screen).endswith(prompt), 30)
    if answer:
        pane.type(answer)
    pane.press("Enter")


def exit_code(pane: TmuxPane) -> int:
    return int(pane.wait_for("init ended with ", 90).split("init ended with ")[1].split()[0])


def flat(text: str) -> str:
    """Return a text without its line breaks."""
    return " ".join(text.split())


@pytest.mark.tmux
def test_the_whole_conversation(tmux: PrivateTmux, place: Place) -> None:
    teller = place.program("teller", "import sys", "sys.stdin.read()")
    pane = opened(tmux, place)
    pane.wait_for("Who answers Claude's questions?", 30)
    say(pane, "number [1]:", "7")
    pane.wait_for("allowed: a number from 1 to 5")
    say(pane, "number [1]:", "")
    say(pane, "(--command):", "./no-such-agent")
    say(pane, "number [1]:", "2")
    pane.wait_for("program not found")
    say(pane, "(--command):", "./agent --night")
    say(pane, "number [1]:", "2")
    pane.wait_for("sessions that run now: main")
    say(pane, "sessions:", "main 'work *'")
    say(pane, "number [1]:", "2")
    say(pane, "(--escalate-command):", str(teller))
    pane.wait_for("Who decides what Claude asks permission for?", 30)
    say(pane, "number [1]:", "2")
    assert not place.config.exists()
    assert not place.settings.exists()
    say(pane, "Write this and send a test message? [Y/n]:", "")
    assert exit_code(pane) == 0, pane.capture()
    config = tomllib.loads(place.config.read_text())
    assert config["agents"][0]["sessions"] == ["main", "work *"]
    assert config["gateways"]["agent"] == {
        "type": "command",
        "argv": [str(place.agent), "--night"],
        "timeout": 600,
        "format": "json",
    }
    assert config["answer"]["escalate_to"] == "person"
    assert config["approvals"] == tomllib.loads(preset_text("python"))["approvals"]
    assert stat.S_IMODE(place.config.stat().st_mode) == 0o600
    assert "run pre-tool-use" in place.settings.read_text()
    (told,) = place.told()
    assert (told["kind"], json.loads(told["text"])["kind"]) == ("test", "test")
    assert place.waiting() == []
    words = flat(pane.capture())
    for part in (
        "test message through agent (command): arrived after",
        "test message through person (command): arrived after",
        "When Claude asks in a session called main or work *:",
        "In any other session the question is yours alone",
        "after 10 min a reminder is sent, up to 3 times;",
        "after 60 min person is told",
        "the question stays on the screen, and Claude waits.",
    ):
        assert part in words, part


@pytest.mark.tmux
def test_ctrl_c_before_the_agreement_leaves_nothing(tmux: PrivateTmux, place: Place) -> None:
    pane = opened(tmux, place, "--command", "./agent", "--sessions", "main")
    say(pane, "number [1]:", "")
    pane.wait_for("Who decides what Claude asks permission for?", 30)
    say(pane, "number [1]:", "")
    pane.wait_for("Write this and send a test message?", 30)
    pane.press("C-c")
    assert exit_code(pane) == 130
    assert "stopped; nothing was changed" in pane.capture()
    assert not place.config.exists()
    assert not place.settings.exists()
    assert place.told() == []


@pytest.mark.tmux
def test_no_is_no(tmux: PrivateTmux, place: Place) -> None:
    pane = opened(tmux, place, "--person")
    say(pane, "sessions:", "")
    say(pane, "Write this and send a test message? [Y/n]:", "n")
    assert exit_code(pane) == 1
    assert "Nothing was written." in pane.capture()
    assert not place.config.exists()
    assert not place.settings.exists()


@pytest.mark.tmux
def test_openclaw_is_asked_for_its_token(tmux: PrivateTmux, place: Place) -> None:
    token = place.folder / "token"
    pane = opened(tmux, place, "--sessions", "x")
    say(pane, "number [1]:", "2")
    with FakeOpenClaw() as fake:
        say(pane, "(--openclaw) [http://127.0.0.1:18789]:", fake.url)
        say(pane, "(--openclaw-agent) [main]:", "")
        say(pane, "(--token-file):", "token")
        pane.wait_for(lambda screen: "cannotberead:Nosuchfile" in "".join(screen.split()))
        token.touch(mode=0o600)
        token.write_text(fake.hook_token)
        say(pane, "(--openclaw) [http://127.0.0.1:18789]:", fake.url)
        say(pane, "(--openclaw-agent) [main]:", "")
        say(pane, "(--token-file):", "token")
        say(pane, "number [1]:", "1")
        pane.wait_for("Who decides what Claude asks permission for?", 30)
        say(pane, "number [1]:", "1")
        say(pane, "Write this and send a test message? [Y/n]:", "")
        assert exit_code(pane) == 0, pane.capture()
        assert [run.agent for run in fake.runs] == ["main"]


@pytest.mark.tmux
def test_a_person_is_told_by_a_program(tmux: PrivateTmux, place: Place) -> None:
    pane = opened(tmux, place, "--no-test")
    say(pane, "number [1]:", "4")
    say(pane, "number [1]:", "2")
    say(pane, "(--command):", "./agent 'Claude asks'")
    say(pane, "sessions:", "")
    say(pane, "Write this? [Y/n]:", "")
    assert exit_code(pane) == 0, pane.capture()
    config = tomllib.loads(place.config.read_text())
    assert config["agents"][0]["id"] == "me"
    assert config["gateways"]["me"]["argv"] == [str(place.agent), "Claude asks"]
    assert place.told() == []


@pytest.mark.tmux
def test_a_file_that_is_there_can_stay(tmux: PrivateTmux, place: Place) -> None:
    text = f'[[agents]]\nid = "ops"\ngateway = "x"\n[gateways.x]\ntype = "command"\nargv = ["{place.agent}"]\n'
    place.config.write_text(text)
    pane = opened(tmux, place)
    pane.wait_for("config.toml has the agents: ops", 30)
    say(pane, "number [1]:", "")
    say(pane, "Write this and send a test message? [Y/n]:", "y")
    assert exit_code(pane) == 0, pane.capture()
    assert place.config.read_text() == text
    assert "AskUserQuestion" in place.settings.read_text()
    assert [told["kind"] for told in place.told()] == ["test"]


def test_all_by_options_and_again(place: Place) -> None:
    words = ["--yes", "--command", "./agent", "--sessions", "work-*", "--preset", "read-only"]
    done = place.init(*words)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "warning: nobody else is told, because [answer] escalate_to is not set;" in flat(done.stdout)
    text, settings = place.config.read_text(), place.settings.read_text()
    again = place.init(*words)
    assert again.returncode == 0, again.stdout + again.stderr
    assert f"{place.config}: stays as it is" in flat(again.stdout)
    assert (place.config.read_text(), place.settings.read_text()) == (text, settings)
    assert [told["kind"] for told in place.told()] == ["test", "test"]
    other = place.init("--yes", "--command", "cat")
    assert other.returncode == 2
    assert "--name: found 'agent', which is another agent in" in other.stderr
    assert place.config.read_text() == text


def test_a_person_alone_is_the_inbox(place: Place) -> None:
    done = place.init("--yes")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "test message through inbox (inbox): arrived after" in flat(done.stdout)
    assert "nobody is told. The question is shown on Claude's screen and in `hookrouter questions`" in " ".join(
        done.stdout.split()
    )
    assert "nobody else is told, because only a person answers;" in flat(done.stdout)
    assert "does not answer a question" not in flat(done.stdout)
    # The test message has done its work.
    assert [name for name in os.listdir(place.state) if name.startswith("notice-")] == []


def test_a_dry_run_shows_all_and_writes_nothing(place: Place) -> None:
    done = place.init("--dry-run", "--command", "./agent")
    assert done.returncode == 0
    assert f'+argv = ["{place.agent}"]' in done.stdout
    assert "hookrouter run pre-tool-use" in flat(done.stdout)
    assert not place.config.exists()
    assert not place.settings.exists()
    assert place.told() == []


def test_a_gateway_that_fails_is_said_and_the_configuration_stays(place: Place) -> None:
    failing = place.program("failing", "import sys", "sys.exit('no model today')")
    done = place.init("--yes", "--command", str(failing))
    assert done.returncode == 3, done.stdout + done.stderr
    assert "did NOT arrive" in flat(done.stdout)
    assert "exited with 1: no model today" in flat(done.stdout)
    assert "config.toml and the hooks stay as they are" in flat(done.stdout)
    assert place.config.exists()
    assert place.settings.exists()
    assert place.waiting() == []


def test_while_all_is_paused_no_test_message_goes_out(place: Place) -> None:
    subprocess.run([*script_argv(), "pause", "--all"], check=True, capture_output=True)
    done = place.init("--yes", "--command", "./agent")
    assert done.returncode == 3, done.stdout + done.stderr
    assert "every session is paused; hookrouter resume --all lets messages go out" in flat(done.stdout)
    assert place.told() == []
    assert place.waiting() == []


def test_ctrl_c_while_the_message_is_on_its_way(place: Place) -> None:
    begun, go = place.folder / "begun", place.folder / "go"
    slow = place.program(
        "slow",
        "import os, time",
        f"open({str(begun)!r}, 'w').close()",
        f"while not os.path.exists({str(go)!r}): time.sleep(0.05)",
    )
    command = [*script_argv(), "init", "--yes", "--command", str(slow)]
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        wait_until(begun.exists, 60, "the program that gets the test message")
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    finally:
        go.touch()
        process.kill()
    assert process.returncode == 130
    assert f"done: {place.config}: written; done: {place.settings}: hooks registered; hookrouter uninstall" in said
    assert place.waiting() == []


class _Server(LocalServer):
    """Takes what is posted, or does not."""

    def __init__(self, status: int) -> None:
        super().__init__()
        self.status = status
        self.bodies: list[dict[str, Any]] = []

    def handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                server.bodies.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                self.send_response(server.status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                return

        return Handler


@pytest.mark.parametrize(("status", "code"), [(202, 0), (500, 3)])
def test_a_webhook_has_taken_it_with_a_status_of_success(status: int, code: int, place: Place) -> None:
    with _Server(status) as server:
        done = place.init("--yes", "--webhook", f"{server.address}/hooks/x")
    assert done.returncode == code, done.stdout + done.stderr
    assert {body["kind"] for body in server.bodies} == {"test"}
    assert f"answered {status}" in done.stdout


def test_openclaw_gets_the_test_message_as_a_turn(place: Place) -> None:
    token = place.folder / "token"
    token.touch(mode=0o600)
    token.write_text(FakeOpenClaw.hook_token)
    with FakeOpenClaw() as fake:
        done = place.init("--yes", "--openclaw", fake.url, "--token-file", "token")
        assert done.returncode == 0, done.stdout + done.stderr
        (run,) = fake.runs
    assert run.agent == "main"
    assert tomllib.loads(place.config.read_text())["gateways"]["agent"]["token_file"] == str(token)
    assert "hookrouter skill --for openclaw --install" in flat(done.stdout)
    assert FakeOpenClaw.hook_token not in done.stdout + done.stderr + place.config.read_text()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "there is no terminal to ask on; say by options who answers (--command PROGRAM, --openclaw URL"),
        (["--command", "cat"], "add --yes to write without a question back"),
        (["--yes", "--command", "cat", "--person", "--openclaw", "x"], "found --command and --openclaw; allowed: one"),
        (["--yes", "--command", "no-such-program-x"], "--command: argv: program not found: no-such-program-x"),
        (
            ["--yes", "--command", "cat", "--preset", "pyton"],
            "--preset: there is no preset 'pyton'; did you mean 'python'",
        ),
        (["--yes", "--scope", "user", "--settings", "x"], "--settings and --scope name two files"),
    ],
)
def test_bad_options_write_nothing(arguments: list[str], said: str, place: Place) -> None:
    done = place.init(*arguments)
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert not place.config.exists()
    assert not place.settings.exists()


def test_files_that_cannot_be_used_stay_and_nothing_else_is_written(place: Place) -> None:
    place.config.write_text("[[agents]]\nid = 3\n")
    done = place.init("--yes", "--command", "./agent")
    assert (done.returncode, place.config.read_text()) == (2, "[[agents]]\nid = 3\n")
    assert "correct the file first: hookrouter config check" in done.stderr
    place.config.unlink()
    place.settings.parent.mkdir(parents=True)
    place.settings.write_text("{ no JSON")
    done = place.init("--yes", "--command", "./agent")
    assert (done.returncode, place.settings.read_text()) == (2, "{ no JSON")
    assert not place.config.exists()


def test_who_answers_must_be_said_to_change_a_file(place: Place) -> None:
    place.config.write_text('[[agents]]\nid = "ops"\n')
    done = place.init("--yes", "--sessions", "x")
    assert done.returncode == 2
    assert "who answers is not said; add --command, --openclaw, --webhook or --person" in done.stderr
