"""``hookrouter demo``: it shows the loop, notices a wrong recording, and leaves nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from hookrouter._sandbox.client import find_client
from hookrouter._sandbox.stage import Stage
from hookrouter._sandbox.tmux_server import PrivateTmux
from hookrouter._sandbox.waiting import wait_until
from hookrouter.testing.plugins import write_plugin
from hookrouter.util.program import script_argv
from hookrouter_demo.queue_scene import ITEMS
from hookrouter_demo.rule_agent import decide
from hookrouter_demo.scenes import CALLS, SCENES
from hookrouter_demo.show import SESSION, config, play


def environ(folder: Path, **more: str) -> dict[str, str]:
    return {**os.environ, "TMPDIR": str(folder), **more}


def folders_of_clients() -> set[str]:
    """Return what clients without a TMPDIR of their own leave in the folder that all programs share."""
    return {str(path) for top in Path("/tmp").glob("claude-*") if top.is_dir() for path in top.iterdir()}


def processes_of(folder: Path) -> list[str]:
    found = []
    for entry in filter(str.isdecimal, os.listdir("/proc")):
        try:
            with open(f"/proc/{entry}/environ", "rb") as file:
                if os.fsencode(folder) in file.read():
                    found.append(entry)
        except OSError:
            continue
    return found


@pytest.mark.tmux
def test_the_demo_verifies_all_scenes_and_leaves_nothing(tmp_path: Path) -> None:
    done = subprocess.run(
        [*script_argv(), "demo"], env=environ(tmp_path), capture_output=True, text=True, timeout=150, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"All {len(SCENES) + len(CALLS) + 1} dialogs verified, and the queue is done, in" in done.stdout
    assert [line.split(": ")[0].strip() for line in done.stdout.splitlines() if ", submitted by keys" in line] == [
        repr(text) for text in ITEMS
    ]
    for part in (
        "By reply: ",
        "By keys: ",
        "❯ 1. Rewrite it",
        "[✔] Driver path",
        "Review your answers",
        *(scene.title for scene in SCENES),
    ):
        assert part in done.stdout
    assert os.listdir(tmp_path) == []
    assert processes_of(tmp_path) == []


@pytest.mark.live
def test_the_demo_does_the_same_on_the_real_client(tmp_path: Path) -> None:
    program = find_client()
    assert program is not None
    shared = folders_of_clients()
    done = subprocess.run(
        [*script_argv(), "demo", "--client", program],
        env=environ(tmp_path),
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"All {len(SCENES) + len(CALLS) + 1} dialogs verified, and the queue is done, in" in done.stdout
    assert os.listdir(tmp_path) == []
    assert processes_of(tmp_path) == []
    assert not {path for path in folders_of_clients() - shared if "hookrouter-demo-" in path}


@pytest.mark.tmux
@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("exit 0", "is not a Claude Code client: its --version says nothing"),
        ("echo 1.2.3", "is not a Claude Code client: its --version says '1.2.3'"),
        ('[ "$1" ] && echo "9.9.9 (Claude Code)" || echo "no license"', "ended instead of showing a prompt"),
    ],
)
def test_a_program_that_is_no_client_is_refused_at_once(tmp_path: Path, program: str, said: str) -> None:
    folder, client = tmp_path / "tmp", tmp_path / "client"
    folder.mkdir()
    client.write_text(f"#!/bin/sh\n{program}\n")
    client.chmod(0o755)
    done = subprocess.run(
        [*script_argv(), "demo", "--client", str(client)],
        env=environ(folder),
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 2
    assert said in done.stderr
    assert "\n\n" not in done.stderr
    assert os.listdir(folder) == []


@pytest.mark.tmux
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_demo_cleans_up(tmp_path: Path, number: int) -> None:
    demo = subprocess.Popen(
        [*script_argv(), "demo"], env=environ(tmp_path, PYTHONUNBUFFERED="1"), stdout=subprocess.PIPE, text=True
    )
    assert demo.stdout is not None
    with demo:
        for line in demo.stdout:
            if line.startswith("1. "):
                break
        demo.send_signal(number)
        demo.stdout.read()
        assert demo.wait(20) == 130
    assert os.listdir(tmp_path) == []
    wait_until(lambda: not processes_of(tmp_path), 5, "end of all processes", lambda: str(processes_of(tmp_path)))


def test_without_tmux_the_demo_shows_the_loop_by_reply(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "tmp").mkdir()
    done = subprocess.run(
        [*script_argv(), "demo"],
        env=environ(tmp_path / "tmp", PATH=str(tmp_path / "bin")),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"All {len(SCENES) + len(CALLS)} dialogs verified" in done.stdout
    assert "hands it to the PermissionRequest hook" in done.stdout
    assert "With tmux installed" in done.stdout
    for part in ("❯ 1. Rewrite it", *(scene.title for scene in SCENES)):
        assert part in done.stdout
    assert os.listdir(tmp_path / "tmp") == []
    assert processes_of(tmp_path / "tmp") == []


@pytest.mark.parametrize("option", [["--terminal", "tmux"], ["--client", "/bin/sh"]])
def test_what_needs_tmux_says_so_without_it(option: list[str], tmp_path: Path) -> None:
    done = subprocess.run(
        [*script_argv(), "demo", *option],
        env=environ(tmp_path, PATH=str(tmp_path)),
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 2
    assert "tmux" in done.stderr
    assert os.listdir(tmp_path) == []


BACKEND = """
import os

from hookrouter import hookimpl
from hookrouter._sandbox.tmux_server import PrivateTmux
from hookrouter_tmux.backend import TmuxBackend


class Shed(TmuxBackend):
    name = "shed"
    can_open = True

    def locate(self, environ):
        found = super().locate(environ)
        return None if found is None else found._replace(backend="shed")

    def open_pane(self, command, environ, folder, size):
        self.server = PrivateTmux()
        pane = self.server.start("in-the-shed", command, cwd=folder, environ=environ, width=size[0], height=size[1])
        return self.locate(self.server.pane_environ(pane))

    def close_pane(self, address):
        self.server.stop()


@hookimpl
def terminal_backend():
    return Shed()
"""


@pytest.fixture
def shed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Install a plugin with a terminal backend that opens panes; return its name."""
    write_plugin(tmp_path / "site", "shed", BACKEND)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"))
    return "shed"


@pytest.mark.tmux
@pytest.mark.long
def test_another_terminal_can_be_chosen(tmp_path: Path, shed: str) -> None:
    folder = tmp_path / "tmp"
    folder.mkdir()
    done = subprocess.run(
        [*script_argv(), "demo", "--terminal", shed],
        env=environ(folder),
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "in a shed of its own" in done.stdout
    assert "[✔] Driver path" in done.stdout
    assert f"All {len(SCENES) + len(CALLS) + 1} dialogs verified" in done.stdout
    assert os.listdir(folder) == []
    assert processes_of(folder) == []


@pytest.mark.tmux
def test_a_pane_that_is_not_located_is_named_with_what_to_do(tmp_path: Path, shed: str) -> None:
    # The program does not get the variables of its terminal.
    blind = BACKEND.replace('"in-the-shed", command', '"in-the-shed", ["env", "-u", "TMUX", *command]')
    assert blind != BACKEND
    write_plugin(tmp_path / "site", shed, blind)
    folder = tmp_path / "tmp"
    folder.mkdir()
    done = subprocess.run(
        [*script_argv(), "demo", "--terminal", shed],
        env=environ(folder),
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "the terminal 'shed' opened a pane, but its locate() did not find it" in done.stderr
    assert "TerminalBackendContract" in done.stderr
    assert os.listdir(folder) == []


@pytest.mark.parametrize(
    ("name", "said"),
    [("barn", "no active plugin offers the terminal 'barn'; there are: tmux"), ("", "offers the terminal ''")],
)
def test_a_terminal_that_is_not_there_is_refused(name: str, said: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [*script_argv(), "demo", "--terminal", name],
        env=environ(tmp_path),
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert (done.returncode, said in done.stderr) == (2, True), done.stderr
    assert os.listdir(tmp_path) == []


PLANNER = """
from hookrouter import hookimpl
from hookrouter_keystrokes.planner.grammar_planner import GrammarPlanner


class Single(GrammarPlanner):
    name = "single"

    def outline(self, form, decisions):
        lines = super().outline(form, decisions)
        return lines if len(form.questions) == 1 else ["nothing: it answers one question"]


@hookimpl
def keystroke_planner():
    return Single()
"""


@pytest.mark.tmux
@pytest.mark.long
def test_forms_that_a_planner_refuses_are_skipped(tmp_path: Path) -> None:
    write_plugin(tmp_path / "site", "single", PLANNER)
    done = subprocess.run(
        [*script_argv(), "demo", "--planner", "single"],
        env={**os.environ, "PYTHONPATH": str(tmp_path / "site")},
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"All {len(SCENES) + len(CALLS)} dialogs verified" in done.stdout
    assert f"Skipped, as the planner single refuses it: {SCENES[-1].title} (it answers one question)" in done.stdout


def test_a_planner_that_is_not_there_is_refused(tmp_path: Path) -> None:
    done = subprocess.run(
        [*script_argv(), "demo", "--planner", "gramar"],
        env=environ(tmp_path),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert "no active plugin offers the planner 'gramar'; did you mean 'grammar'" in done.stderr
    assert os.listdir(tmp_path) == []


@pytest.mark.tmux
def test_an_answer_that_is_not_as_meant_is_a_fault(tmp_path: Path, tmux_server: PrivateTmux) -> None:
    scene = SCENES[0]._replace(expected={SCENES[0].questions[0]["question"]: "Rewrite it"})
    stage = Stage(str(tmp_path), config(str(tmp_path)))
    stage.record("PostToolUse")
    stage.install()
    with stage.stand_in({scene.name: {"questions": scene.questions}}, tmux_server, session=SESSION) as client:
        faults = play(stage, lambda _mode: client, [scene], lambda _: None)
    assert len(faults) == 1
    assert "meant" in faults[0]


def test_the_rules_of_the_agent() -> None:
    by_name = {scene.name: [decide(question)[0] for question in scene.questions] for scene in SCENES}
    assert by_name["single"] == [{"action": "select", "optionIndex": 1}]
    assert by_name["multi"] == [{"action": "multi-select", "selectedIndices": [0, 2]}]
    assert [decision["action"] for decision in by_name["tabs"]] == ["select", "multi-select", "type"]
