"""A home whose config.toml is right or wrong, and the hooks that tell of it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from hookrouter import _wiring
from hookrouter._routing.hook_run import handle
from hookrouter.cli.application import Application
from hookrouter.storage.home import Home

__all__ = ["ALL_TOLD", "BROKEN", "GOOD", "Place"]


GOOD = """
[[agents]]
id = "night"
gateways = ["chat", "inbox"]

[[agents]]
id = "spare"
sessions = ["spare"]

[gateways.chat]
type = "command"
argv = ["true"]

[gateways.person]
type = "command"
argv = ["true"]

[answer]
escalate_to = "person"
"""
BROKEN = GOOD + "remind_aftr = 60\n"


class Place:
    """A home whose hooks run in this process, and start no deliverer."""

    def __init__(self, folder: Path) -> None:
        self.home = Home.in_folder(str(folder))
        self.file = Path(self.home.config_file)
        self.deliveries = 0

    def write(self, text: str) -> None:
        """Put a new file in the place of the old one, as editors do, so that no state of it is like another."""
        new = self.file.with_name("new")
        new.write_text(text)
        new.replace(self.file)

    def hook(self, event: str = "Stop", session: str = "s-1", **environ: str) -> str:
        """Run a hook of a session, and return what the user is shown."""
        own: dict[str, dict[str, Any]] = {"Stop": {"stop_hook_active": False}, "UserPromptSubmit": {"prompt": "hi"}}
        payload: dict[str, Any] = {"session_id": session, "transcript_path": "", "cwd": "/", "hook_event_name": event}
        payload |= own.get(event, {"source": "startup"})
        word = {"Stop": "stop", "UserPromptSubmit": "user-prompt-submit", "SessionStart": "session-start"}[event]
        variables = {"HOOKROUTER_HOME": self.home.root, "PATH": os.environ["PATH"], **environ}
        output = handle(word, json.dumps(payload).encode(), variables, _wiring)
        return str(json.loads(output.stdout).get("systemMessage", "")) if output.stdout else ""

    def told(self) -> list[tuple[str, str, str]]:
        """Return kind, agent and gateway of the messages that wait."""
        return [(one.kind, one.agent, one.gateway) for one in self.services().outbox.pending()]

    def services(self) -> Application:
        return Application.from_environ({"HOOKROUTER_HOME": self.home.root})


ALL_TOLD = [("config", "night", "chat"), ("config", "spare", "inbox"), ("config", "night", "person")]
