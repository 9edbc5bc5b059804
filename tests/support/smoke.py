"""A machine with nothing but Python: hookrouter installed for the client's stand-in, and an agent that it tells.

The stand-in has no terminal. What the agent is told comes into a folder, one file for each message; what it decides is
said by the test with the real ``hookrouter answer``.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import uuid
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar

from hookrouter._sandbox.processes import RUN_MARK, reap
from hookrouter._sandbox.stage import Stage
from hookrouter.testing import wait_until
from hookrouter.testing.plugins import write_plugin

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from hookrouter._sandbox.piped import PipedStandIn

__all__ = ["PATIENCE", "Hooked", "SmokeStage", "form", "question"]

T = TypeVar("T")

PATIENCE = 60.0
"""Seconds for anything that is waited for: a test that fails may take long, one that passes never does."""

_AGENT = """
[[agents]]
id = "smoke"
gateway = "told"

[gateways.told]
type = "command"
argv = {argv}
format = "json"

[answer]
channels = ["reply"]
"""

_TELL = 'cat > "$0/$HOOKROUTER_WAKE_ID"'


def question(text: str, *labels: str, multiple: bool = False, preview: bool = False) -> dict[str, Any]:
    """Return one question of a form, with these options; ``preview``: the dialog takes notes."""
    options = [{"label": label, "description": f"about {label}"} for label in labels]
    if preview:
        options = [{**option, "preview": f"looks like {option['label']}"} for option in options]
    return {"question": text, "header": text.split()[-1].rstrip("?"), "multiSelect": multiple, "options": options}


def form(*questions: Mapping[str, Any]) -> dict[str, Any]:
    """Return the input of AskUserQuestion."""
    return {"questions": list(questions)}


class Hooked(NamedTuple):
    """How a hook of settings.json ended."""

    code: int
    reply: dict[str, Any]
    """What it wrote on stdout; empty for nothing."""
    errors: str

    @property
    def decision(self) -> str:
        """What it decided on a tool call; empty for nothing."""
        return str(self.reply.get("hookSpecificOutput", {}).get("permissionDecision", ""))

    @property
    def reason(self) -> str:
        """Why it decided so."""
        return str(self.reply.get("hookSpecificOutput", {}).get("permissionDecisionReason", ""))


class SmokeStage(Stage):
    """A home of Claude Code and one of hookrouter, with an agent for all sessions; use it as a context manager."""

    def __init__(self, folder: Path, more: str = "") -> None:
        """Lay it out in ``folder``; ``more`` is added to config.toml."""
        self.told_folder = folder / "told"
        """Where messages to the agent come."""
        self.told_folder.mkdir(parents=True)
        self._site = folder / "site"
        self.agent = _AGENT.format(argv=json.dumps(["/bin/sh", "-c", _TELL, str(self.told_folder)]))
        """The part of config.toml that has the agent."""
        super().__init__(str(folder), self.agent + more)
        # What the user has installed beside hookrouter; what the tests run with stays on the path.
        self.variables["PYTHONPATH"] = os.pathsep.join(filter(None, [str(self._site), os.environ.get("PYTHONPATH")]))
        self._mark = self.variables[RUN_MARK] = uuid.uuid4().hex

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(self, *_: object) -> None:
        """End what commands have left to deliver later."""
        reap((), f"{RUN_MARK}={self._mark}")

    def plugin(self, name: str, source: str) -> None:
        """Put a third party's plugin beside hookrouter, as pip would."""
        write_plugin(self._site, name, source)

    def call(self, *arguments: str, code: int = 0, stdin: str | None = None) -> str:
        """Run a command that must end with ``code``; return what it wrote: on stderr if it failed and said no more."""
        done = self.run(*arguments, stdin=stdin)
        assert done.returncode == code, f"{arguments}: {done.returncode}\n{done.stdout}{done.stderr}{self.known()}"
        assert "Traceback" not in done.stderr, done.stderr
        return done.stdout or done.stderr

    def json(self, *arguments: str, code: int = 0) -> Any:
        """Run a command with ``--json`` that must end with ``code``; return its document."""
        return json.loads(self.call(*arguments, "--json", code=code))

    def answer(
        self, asked: Mapping[str, Any], *decisions: Mapping[str, Any], code: int = 0, wait: float = 40
    ) -> dict[str, Any]:
        """Answer what the agent was told of, as it is told to; return what came of it."""
        named = [f"--session={asked['session']}", f"--tool-use-id={asked['tool_use_id']}"]
        found: dict[str, Any] = self.json("answer", *named, f"--wait={wait}", json.dumps(decisions), code=code)
        assert found["exit_code"] == code
        return found

    def starts(
        self, forms: Mapping[str, Mapping[str, object]], calls: Mapping[str, Mapping[str, object]] | None = None
    ) -> PipedStandIn:
        """Return the stand-in for Claude Code, not yet started."""
        return self.piped_stand_in(forms, calls=calls, width=100, height=40)

    def told(self, kind: str = "question") -> list[dict[str, Any]]:
        """Return the messages of a kind that have come to the agent, oldest first."""
        found = []
        for name in os.listdir(self.told_folder):
            try:
                message = json.loads((self.told_folder / name).read_text(encoding="utf-8"))
            except ValueError:
                # It is being written.
                continue
            if message["kind"] == kind:
                found.append(message)
        return sorted(found, key=lambda message: str(message["created_at"]))

    def hears(self, kind: str = "question", count: int = 1) -> dict[str, Any]:
        """Wait until the agent was told so often; return the last message."""
        return self.wait(f"message to the agent: {kind}", lambda: self.told(kind)[count - 1 :])[0]

    def wait(self, what: str, probe: Callable[[], T | None]) -> T:
        """Wait for something; if it does not come, tell all that is known."""
        return wait_until(probe, PATIENCE, what, self.known)

    def turn_ends(self, count: int = 1) -> None:
        """Wait until so many turns of Claude's have ended."""
        self.wait("end of the turn", lambda: self.outcomes("Stop")[count - 1 :])

    def outcomes(self, event: str) -> list[str]:
        """Return what the journal says of each run of an event."""
        return [str(record.get("outcome")) for record in self.journal() if record.get("event") == event]

    def known(self) -> str:
        """Return what explains a failure."""
        return "\n".join(["", *(json.dumps(record) for record in self.journal()[-8:])])

    def hooks(self, event: str, tool: str, tool_input: Mapping[str, object]) -> list[Hooked]:
        """Run what settings.json registers for a tool call, as Claude Code does; return how each hook ended."""
        payload = {
            "session_id": "5e551011-0000-4000-8000-000000000000",
            "transcript_path": "",
            "cwd": self.client_home.project,
            "permission_mode": "default",
            "hook_event_name": event,
            "tool_name": tool,
            "tool_input": tool_input,
            "tool_use_id": f"toolu_{os.urandom(12).hex()}",
        }
        return [
            _hooked(command, json.dumps(payload), self.environ, self.client_home.project)
            for command in self._registered(event, tool)
        ]

    def _registered(self, event: str, tool: str) -> Sequence[str]:
        groups = self.client_home.read_settings().get("hooks", {}).get(event, [])
        fitting = [one for one in groups if re.fullmatch(one.get("matcher") or ".*", tool)]
        return [handler["command"] for group in fitting for handler in group["hooks"]]


def _hooked(command: str, payload: str, environ: Mapping[str, str], folder: str) -> Hooked:
    done = subprocess.run(
        ["/bin/sh", "-c", command],
        input=payload,
        env=dict(environ),
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    return Hooked(done.returncode, json.loads(done.stdout) if done.stdout else {}, done.stderr)
