"""``hookrouter demo``: it shows the loop, notices a wrong recording, and leaves nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from hookrouter.executable import script_argv
from hookrouter.testing.client import find_client
from hookrouter.testing.stage import Stage
from hookrouter.testing.terminal import PrivateTmux, wait_until
from hookrouter_ask_user_question.demo.rule_agent import decide
from hookrouter_ask_user_question.demo.scenes import SCENES
from hookrouter_ask_user_question.demo.show import SESSION, config, play


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
        [*script_argv(), "demo"], env=environ(tmp_path), capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"All {len(SCENES)} forms verified" in done.stdout
    for part in ("❯ 1. Rewrite it", "[✔] Driver path", "Review your answers", *(scene.title for scene in SCENES)):
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
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"All {len(SCENES)} forms verified" in done.stdout
    assert os.listdir(tmp_path) == []
    assert processes_of(tmp_path) == []
    assert not {path for path in folders_of_clients() - shared if "hookrouter-demo-" in path}


@pytest.mark.tmux
@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("exit 0", "is no Claude Code client: its --version says nothing"),
        ("echo 1.2.3", "is no Claude Code client: its --version says '1.2.3'"),
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


def test_without_tmux_the_demo_says_so(tmp_path: Path) -> None:
    done = subprocess.run(
        [*script_argv(), "demo"],
        env=environ(tmp_path, PATH=str(tmp_path)),
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 2
    assert "tmux" in done.stderr
    assert os.listdir(tmp_path) == []


@pytest.mark.tmux
def test_an_answer_that_is_not_as_meant_is_a_fault(tmp_path: Path, tmux_server: PrivateTmux) -> None:
    scene = SCENES[0]._replace(expected={SCENES[0].questions[0]["question"]: "Rewrite it"})
    stage = Stage(str(tmp_path), config(str(tmp_path)))
    stage.record("PostToolUse")
    stage.install()
    with stage.stand_in({scene.name: {"questions": scene.questions}}, tmux_server, session=SESSION) as client:
        faults = play(stage, client, [scene], lambda _: None)
    assert len(faults) == 1
    assert "meant" in faults[0]


def test_the_rules_of_the_agent() -> None:
    by_name = {scene.name: [decide(question)[0] for question in scene.questions] for scene in SCENES}
    assert by_name["single"] == [{"action": "select", "optionIndex": 1}]
    assert by_name["multi"] == [{"action": "multi-select", "selectedIndices": [0, 2]}]
    assert [decision["action"] for decision in by_name["tabs"]] == ["select", "multi-select", "type"]
