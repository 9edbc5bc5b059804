"""The real client as a session whose queue is typed into it: what is submitted, and what proves it."""

from __future__ import annotations

import contextlib
import glob
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hookrouter._sandbox.client import ClientSession as Client
from hookrouter._sandbox.client import find_client
from hookrouter._sandbox.scripted_model import ScriptedModel
from hookrouter._sandbox.stage import Stage
from hookrouter._sandbox.waiting import WaitTimeoutError, wait_until
from hookrouter.queue.channels import PromptOutcome, PromptRequest, PromptStatus
from hookrouter.queue.items import new_item
from hookrouter.terminals import TerminalAddress
from hookrouter_keystrokes.prompting.area import PromptArea, read_area
from hookrouter_keystrokes.prompting.channel import KeysPromptChannel
from hookrouter_tmux.backend import TmuxBackend
from support import prompt_process
from support.memory_storage import MemoryStore
from support.tested_client import VERSION

if TYPE_CHECKING:
    from hookrouter._sandbox.tmux_server import PrivateTmux

__all__ = ["COMMAND", "PromptSession", "prompt_session"]

COMMAND = "hookrouter-contract"
_EVENTS = ("UserPromptSubmit", "SessionEnd", "PreCompact", "Stop")
_TAKEN = 25.0
"""Seconds for the proof of what was submitted."""
_LATE = 0.5
"""Seconds for what should not come: how long a test looks for it."""

_LOST = 3
"""Seconds after which a key that has changed nothing is taken for lost."""

CONFIG = """\
[[agents]]
id = "tester"
gateway = "inbox"
"""


class PromptSession:
    """One real client; each test begins with :meth:`begin`, which brings it to an empty box."""

    def __init__(self, stage: Stage, model: ScriptedModel, client: Client, server: PrivateTmux) -> None:
        self.stage, self.model, self.client, self.server = stage, model, client, server
        self.terminal = TmuxBackend()
        pane = client.pane.target  # type: ignore[attr-defined]
        address = self.terminal.locate({"TMUX_PANE": pane, "TMUX": f"{server.socket},1,0"})
        assert address is not None
        self.address: TerminalAddress = address
        self.version = VERSION
        self.phases: list[str] = []
        self.last = ""
        """How the last attempt ended."""
        self._seen: list[str] = []
        self._count = 0

    # What the queue's side of a channel is

    def request(self) -> PromptRequest:
        return PromptRequest(
            item=new_item("any", by="agent")._replace(phase=self.phases[-1] if self.phases else ""),
            session="managed",
            session_id="",
            client_pid=0,
            client_version=self.version,
            folder=self.stage.client_home.project,
            transcript_path="",
            address=self.address,
            terminal=self.terminal,
            store=MemoryStore(),
            deadline=time.monotonic() + 60,
            save_phase=self.phases.append,
            is_proven=lambda: False,
        )

    def submit(self, text: str, *, drafts: str = "wait", **changes: Any) -> PromptOutcome:
        request = self.request()
        item = new_item(text, by="agent")._replace(phase=request.item.phase)
        changes = {"item": item, "settings": lambda kind: kind(drafts=drafts), **changes}
        outcome = KeysPromptChannel().submit(request._replace(**changes))
        self.last = outcome.status
        return outcome

    def attempt(self, text: str, kill: list[Any] | None = None, drafts: str = "wait") -> PromptOutcome | None:
        """Submit in a process of its own; None if it was killed, at the act that ``kill`` names."""
        phase_file = Path(self.stage.folder) / "phase"
        asked = {
            "text": text,
            "phase": phase_file.read_text(encoding="utf-8") if phase_file.exists() else "",
            "phase_file": str(phase_file),
            "address": self.address,
            "version": self.version,
            "drafts": drafts,
            "kill": kill,
        }
        paths = [str(Path(prompt_process.__file__).parents[1]), *sys.path]
        done = subprocess.run(
            [sys.executable, prompt_process.__file__],
            input=json.dumps(asked),
            env={**self.stage.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        if done.returncode == -9:
            return None
        assert done.returncode == 0, done.stderr
        outcome = PromptOutcome(**json.loads(done.stdout))
        self.last = outcome.status
        return outcome

    # What the client was given

    def proofs(self) -> list[str]:
        """Return all that was submitted so far, by events and, of shell commands, by the transcripts."""
        found = []
        for event in _EVENTS:
            for payload in self.stage.payloads(event):
                if event == "UserPromptSubmit":
                    found.append(str(payload["prompt"]).strip())
                elif event == "SessionEnd" and payload.get("reason") == "clear":
                    found.append("/clear")
                elif event == "PreCompact" and payload.get("trigger") == "manual":
                    found.append(f"/compact {payload.get('custom_instructions') or ''}".strip())
        return found + [f"!{command}" for command in self._shell_commands()]

    def _shell_commands(self) -> Iterator[str]:
        for path in glob.glob(os.path.join(self.stage.client_home.home, ".claude", "projects", "*", "*.jsonl")):
            with open(path, encoding="utf-8", errors="replace") as file:
                for line in file:
                    with contextlib.suppress(ValueError):
                        content = json.loads(line).get("message", {}).get("content", "")
                        if isinstance(content, str) and content.startswith("<bash-input>"):
                            yield content.removeprefix("<bash-input>").partition("</bash-input>")[0]

    def submitted(self) -> list[str]:
        """Return what was submitted since :meth:`begin`, waiting for what may be on its way."""
        wanted = self._count + (self.last == PromptStatus.SUBMITTED)
        with contextlib.suppress(WaitTimeoutError):
            wait_until(lambda: len(self.proofs()) >= wanted, _TAKEN, "the proof")
        self._let_come(wanted)
        self.last = ""
        found = self.proofs()
        self._count = len(found)
        for text in self._seen:
            found.remove(text)
        return found

    def _let_come(self, wanted: int) -> None:
        """Give what should not come the time to: more than so many proofs."""
        end = time.monotonic() + _LATE
        while time.monotonic() < end and len(self.proofs()) <= wanted:
            time.sleep(0.05)

    # What a person sees and does

    def area(self) -> PromptArea:
        styled = self.terminal.capture_styled(self.address)
        return read_area(styled.screen, styled.rows)

    def wait_area(self, is_there: Any, what: str) -> PromptArea:
        def probe() -> PromptArea | None:
            area = self.area()
            return area if is_there(area) else None

        return wait_until(probe, 20, what, self.client.screen)

    def write(self, text: str) -> None:
        """Type as a person does, and see that it stands in the box."""
        self.client.pane.type(text)
        self.wait_area(lambda area: text.split("\n")[-1][-20:] in "".join(area.rows), f"{text!r} in the box")

    def resize(self, width: int, height: int) -> None:
        target = self.client.pane.target  # type: ignore[attr-defined]
        self.server.run("resize-window", "-t", target, "-x", str(width), "-y", str(height))
        wait_until(lambda: self.terminal.capture(self.address)[1:3] == (width, height), 20, "the size")

    def begin(self) -> None:
        """Bring the client to an empty box, whatever the test before has left, and forget what was submitted."""

        left, again = "", 0.0

        def is_free() -> bool:
            nonlocal left, again
            area = self.area()
            if area.is_empty and not area.is_busy and not area.is_stashed:
                return True
            if area.is_box and not area.is_busy:
                key = "C-s" if area.is_empty else "C-u" if area.rows and area.rows[-1] else "BSpace"
                self.client.pane.press(key)
                time.sleep(0.1)
            # Once for what is shown: a second Escape that finds the box already there would open the rewind picker.
            elif not area.is_busy and ((screen := self.client.screen()) != left or time.monotonic() > again):
                self.client.pane.press("Escape")
                left, again = screen, time.monotonic() + _LOST
            return False

        wait_until(is_free, 40, "an empty box", self.client.screen)
        (Path(self.stage.folder) / "phase").unlink(missing_ok=True)
        self.phases.clear()
        self.last = ""
        # What is late of the test before, such as an event of a turn that was interrupted.
        self._let_come(len(self.proofs()))
        self._seen = self.proofs()
        self._count = len(self._seen)


@contextlib.contextmanager
def prompt_session(
    folder: Path,
    server: PrivateTmux,
    *,
    settings: Mapping[str, object] | None = None,
    size: tuple[int, int] = (100, 30),
) -> Iterator[PromptSession]:
    """Start the client with the command ``/hookrouter-contract`` and a file ``readme.txt`` in its project."""
    program = find_client()
    assert program is not None
    stage = Stage(str(folder), CONFIG)
    project = Path(stage.client_home.project)
    (project / ".claude" / "commands").mkdir(parents=True)
    (project / ".claude" / "commands" / f"{COMMAND}.md").write_text(
        "---\ndescription: of a test\n---\nGo on: $ARGUMENTS\n"
    )
    (project / "readme.txt").write_text("hello\n")
    # No permission mode among them: 2.1.330 would ask about it at some moment after its start.
    stage.client_home.write_settings(dict(settings or {}))
    if settings is not None and "editorMode" in settings:
        # Where older clients keep it.
        path = Path(stage.client_home.home) / ".claude.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), "editorMode": settings["editorMode"]}))
    stage.record(*_EVENTS)
    stage.install()
    with ScriptedModel() as model:
        client = stage.client(program, server, model, session="managed", width=size[0], height=size[1])
        with client:
            session = PromptSession(stage, model, client, server)
            session.begin()
            yield session
