"""The question loop on the real client: each test gets a client of its own, with hookrouter really installed."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from hookrouter.executable import script_argv
from hookrouter.testing.client import ClientSession, find_client
from hookrouter.testing.scripted_model import ScriptedModel, ToolUses, ask
from hookrouter.testing.stage import Stage
from hookrouter.testing.terminal import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from hookrouter.testing.terminal import PrivateTmux

CONFIG = """\
[[agents]]
id = "tester"
sessions = ["managed*"]
gateway = "file"

[gateways.file]
type = "command"
argv = {argv}
format = "json"
"""

APPEND = "import sys; open(sys.argv[1], 'a').write(sys.stdin.read() + chr(10))"


class Live:
    """One real client under hookrouter, and what its agent was told."""

    def __init__(self, stage: Stage, server: PrivateTmux, model: ScriptedModel, wakes: Path) -> None:
        self.stage = stage
        self.server = server
        self.model = model
        self._wakes = wakes
        self._turns = 0
        self._asked = 0
        self.client = self.start("managed")

    def start(self, session: str) -> ClientSession:
        """Start a client in the tmux session ``session``."""
        program = find_client()
        assert program is not None
        client = self.stage.client(program, self.server, self.model, session=session)
        client.start()
        return client

    def ask(self, *questions: dict[str, Any], client: ClientSession | None = None) -> str:
        """Have Claude ask a form, wait until its dialog is on screen, and return its tool_use_id."""
        self.start_turn([*questions], client=client)
        return self.asked(1, questions[0]["question"], client=client)

    def start_turn(self, *forms: list[dict[str, Any]], client: ClientSession | None = None) -> None:
        """Give Claude a prompt on which it asks these forms, one after the other, in one turn."""
        self._turns += 1
        self._asked = len(self.stage.payloads("PreToolUse"))
        self.model.script(f"turn-{self._turns}", [ask({"questions": form}) for form in forms])
        (client or self.client).submit(f"please ASK turn-{self._turns}")

    def ask_together(self, *forms: list[dict[str, Any]]) -> dict[str, str]:
        """Have Claude ask several forms in one message; return the tool_use_id of each by its first question."""
        self._turns += 1
        before = len(self.stage.payloads("PreToolUse"))
        calls = tuple(ask({"questions": form}, text="") for form in forms)
        self.model.script(f"turn-{self._turns}", ToolUses(calls))
        self.client.submit(f"please ASK turn-{self._turns}")
        self.stage.wait_payload("PreToolUse", before + len(forms))
        payloads = self.stage.payloads("PreToolUse")[before:]
        return {payload["tool_input"]["questions"][0]["question"]: payload["tool_use_id"] for payload in payloads}

    def asked(self, number: int, text: str, client: ClientSession | None = None) -> str:
        """Wait until the turn's form with this number, counted from 1, shows ``text``, and return its tool_use_id."""
        identifier: str = self.stage.wait_payload("PreToolUse", self._asked + number)["tool_use_id"]
        (client or self.client).wait_dialog(text[:40])
        return identifier

    def answer(self, *decisions: dict[str, Any], options: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
        """Run the real ``hookrouter answer`` from outside tmux, as an agent does."""
        arguments = ("answer", "--session", "managed", "--json", "--wait", "10", *options)
        return self.stage.run(*arguments, "--file", "-", stdin=json.dumps(decisions))

    def start_answer(self, *decisions: dict[str, Any]) -> subprocess.Popen[str]:
        """Start the real ``hookrouter answer`` and return at once."""
        arguments = ["answer", "--session", "managed", "--json", "--wait", "10", json.dumps(decisions)]
        return subprocess.Popen(
            [*script_argv(), *arguments],
            env=self.stage.environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def recorded(self, tool_use_id: str) -> dict[str, Any]:
        """Wait for PostToolUse of one question and return the tool's response."""

        def probe() -> dict[str, Any] | None:
            found = [entry for entry in self.stage.payloads("PostToolUse") if entry["tool_use_id"] == tool_use_id]
            return found[0] if found else None

        payload = wait_until(probe, 15, "PostToolUse", self.client.screen)
        response: dict[str, Any] = payload["tool_response"]
        return response

    def outcome(self, tool_use_id: str) -> dict[str, Any]:
        """Wait for the journal record of one question's PostToolUse and return it."""

        def probe() -> dict[str, Any] | None:
            for record in self.stage.journal():
                if record.get("event") == "PostToolUse" and record.get("tool_use_id") == tool_use_id:
                    return record
            return None

        return wait_until(probe, 15, "journal record of PostToolUse", lambda: str(self.stage.journal()))

    def wakes(self, kind: str) -> list[dict[str, Any]]:
        """Return the agent's messages of one kind so far."""
        text = self._wakes.read_text() if self._wakes.exists() else ""
        wakes = [json.loads(line) for line in text.splitlines() if line.endswith("}")]
        return [wake for wake in wakes if wake["kind"] == kind]

    def wait_wake(self, kind: str, tool_use_id: str) -> dict[str, Any]:
        """Wait until the agent got a message of one kind about one question, and return it."""

        def probe() -> list[dict[str, Any]]:
            return [wake for wake in self.wakes(kind) if wake["tool_use_id"] == tool_use_id]

        return wait_until(probe, 15, f"{kind} wake", lambda: f"{self._wakes}: {self.stage.journal()}")[0]


@pytest.fixture
def live(tmp_path: Path, tmux_server: PrivateTmux) -> Iterator[Live]:
    """Return a managed client whose settings hold hookrouter's hooks and hooks of the user's own."""
    wakes = tmp_path / "wakes.jsonl"
    argv = json.dumps([sys.executable, "-c", APPEND, str(wakes)])
    stage = Stage(str(tmp_path), CONFIG.format(argv=argv))
    stage.record("PreToolUse", "PostToolUse", "Stop", "UserPromptSubmit")
    stage.install()
    with ScriptedModel() as model:
        yield Live(stage, tmux_server, model, wakes)
