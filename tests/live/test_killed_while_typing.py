"""The client dies while keys type into it: nothing of them reaches the shell that started it.

Of a shell without job control that holds but for one act, as docs/limits/keys.md says.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hookrouter._sandbox.client import find_client
from hookrouter._sandbox.scripted_model import ScriptedModel
from hookrouter._sandbox.stage import Stage
from hookrouter._sandbox.tmux_server import PrivateTmux, TmuxPane
from hookrouter._sandbox.waiting import wait_until
from hookrouter.queue.channels import PromptOutcome, PromptRequest, PromptStatus
from hookrouter.queue.items import new_item
from hookrouter.terminals import TerminalAddress
from hookrouter.util.claude_process import is_gone
from hookrouter_keystrokes.prompting.area import read_area
from hookrouter_keystrokes.prompting.channel import KeysPromptChannel
from hookrouter_keystrokes.timing import Timing
from hookrouter_tmux.backend import TmuxBackend
from hookrouter_tmux.flushing import InputFlusher
from support.matrix import mostly_long
from support.memory_storage import MemoryStore
from support.tested_client import VERSION

pytestmark = pytest.mark.live

SHELLS = {"dash": ("dash", "-i"), "bash": ("bash", "--norc", "-i"), "zsh": ("zsh", "-f", "-i")}
WITHOUT_JOBS = "+m"
"""The option without which each of them has job control."""
LINES = 36
KILLS = 14 if os.environ.get("HOOKROUTER_LONG") else 2
WORD = "zqx"
"""Begins each line that is typed: a shell that runs one says that there is no such command."""

IN_AN_ACT = 3
"""The most lines that are typed at once."""

ASKED = "stty sane; echo DO''NE"


class Killing(TmuxBackend):
    """Has the client killed around one of its acts, as far from it as is said."""

    def __init__(self, pid: int, act: int, seconds: float) -> None:
        super().__init__()
        self._pid, self._act, self._seconds, self._acts = pid, act, seconds, 0
        self.timer = threading.Timer(seconds, self.kill)

    def kill(self) -> None:
        os.kill(self._pid, signal.SIGKILL)

    def _counted(self) -> None:
        if self._acts == self._act:
            self.timer.start()
        self._acts += 1

    def press(self, address: TerminalAddress, key: str) -> None:
        self._counted()
        super().press(address, key)

    def paste(self, address: TerminalAddress, text: str) -> None:
        self._counted()
        super().paste(address, text)


class Shell:
    """A shell in a pane of its own, from which the client is started."""

    def __init__(self, stage: Stage, server: PrivateTmux, model: ScriptedModel, name: str, *options: str) -> None:
        environ = {
            **stage.environ,
            **stage.client_home.environ(model),
            "PS1": "$ ",
            "PROMPT": "$ ",
            "TERM": "xterm-256color",
        }
        self.server, self.folder = server, stage.client_home.project
        words = [*SHELLS[name], *options]
        self.pane: TmuxPane = server.start(name, words, cwd=self.folder, environ=environ, width=100, height=30)
        address = TmuxBackend().locate(server.pane_environ(self.pane))
        assert address is not None
        self.address = address
        wait_until(lambda: "$" in self.pane.capture(), 20, "the prompt", self.pane.capture)

    def program(self) -> str:
        return self.server.run("display-message", "-p", "-t", self.pane.target, "#{pane_current_command}").strip()

    def enter(self, line: str) -> None:
        """Have the shell run a line; a terminal that the client has left raw takes no other end of it."""
        self.pane.type(line)
        self.pane.press("C-j")

    def start_client(self, program: str) -> int:
        """Start the client, wait for its box, and return its process id."""
        self.server.run("send-keys", "-R", "-t", self.pane.target)
        self.enter(f"'{program}'")

        def is_up() -> bool:
            styled = TmuxBackend().capture_styled(self.address)
            return read_area(styled.screen, styled.rows).is_empty

        wait_until(is_up, 60, "the prompt box", self.pane.capture)
        parent = int(self.server.run("display-message", "-p", "-t", self.pane.target, "#{pane_pid}"))
        (child,) = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
        return int(child)

    def reached(self) -> list[str]:
        """Return what the shell shows of what it was given while the client died: nothing else than what it is told."""
        wait_until(lambda: self.program() in SHELLS, 20, "the shell", self.pane.capture)
        self.server.run("send-keys", "-R", "-t", self.pane.target)
        self.pane.press("C-j")
        self.enter(ASKED)
        wait_until(lambda: "DONE" in self.pane.capture(), 20, "the shell's answer", self.pane.capture)
        lines = [line.strip("$% ") for line in self.pane.capture().splitlines()]
        return [line for line in lines if line not in ("", "DONE", ASKED) and "illed" not in line]


def submit(shell: Shell, terminal: TmuxBackend, pid: int) -> PromptOutcome:
    text = "\n".join(f"{WORD}{number:03d} ; {WORD} > ran-{number}" for number in range(LINES))
    request = PromptRequest(
        item=new_item(text, by="agent"),
        session="managed",
        session_id="",
        client_pid=pid,
        client_version=VERSION,
        folder=shell.folder,
        transcript_path="",
        address=shell.address,
        terminal=terminal,
        store=MemoryStore(),
        deadline=time.monotonic() + 60,
        save_phase=lambda _phase: None,
        is_proven=lambda: False,
    )
    # Whatever becomes of a text, the client is not waited for once it is dead.
    return KeysPromptChannel(Timing(stuck_seconds=5.0)).submit(request)


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(str(tmp_path), "")


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel() as model:
        yield model


@pytest.mark.parametrize("options", mostly_long([(), (WITHOUT_JOBS,)], ()), ids=["jobs", "no jobs"])
@pytest.mark.parametrize("name", SHELLS)
def test_nothing_reaches_the_shell(
    stage: Stage, tmux_server: PrivateTmux, model: ScriptedModel, name: str, options: tuple[str, ...]
) -> None:
    if shutil.which(name) is None:
        pytest.skip(f"no {name}")
    program = find_client()
    assert program is not None
    shell = Shell(stage, tmux_server, model, name, *options)
    chance = random.Random(os.environ.get("HOOKROUTER_TEST_SEED", name))
    for number in range(KILLS):
        pid = shell.start_client(program)
        terminal = Killing(pid, chance.randrange(13), chance.uniform(0, 0.08))
        outcome = submit(shell, terminal, pid)
        assert terminal.timer.ident is not None, f"kill {number}: it ended before that: {outcome}"
        terminal.timer.join()
        wait_until(lambda: is_gone(pid), 20, "the end of the client")  # noqa: B023 - called at once
        for thread in threading.enumerate():
            # What empties the terminal for the client that ends would take what is typed now, too.
            if isinstance(thread, InputFlusher):
                thread.join()
        case = f"kill {number}: {outcome}"
        print(name, case, flush=True)
        assert outcome.status in (PromptStatus.NOT_NOW, PromptStatus.UNCERTAIN), case
        reached, ran = shell.reached(), list(Path(shell.folder).glob("ran-*"))
        if options and reached:
            # Such a shell may get one act of the client that dies under it, and no more.
            assert all(WORD in line for line in reached), f"{case}\n{reached}"
            assert len(ran) <= IN_AN_ACT, case
            for path in ran:
                path.unlink()
        else:
            assert (reached, ran) == ([], []), f"{case}\n{shell.pane.capture()}"
