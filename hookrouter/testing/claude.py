"""The real Claude Code as the fixture of a plugin's tests: a scripted model says what it does, hooks see it do it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from hookrouter._contract.tables import TOOLS
from hookrouter._sandbox.client import ClientError, find_client
from hookrouter._sandbox.scripted_model import Reply, Say, ScriptedModel, ToolUse
from hookrouter._sandbox.stage import Stage
from hookrouter._sandbox.waiting import wait_until
from hookrouter.testing.hooks import PluginFailed, failures
from hookrouter.testing.plugins import write_plugin
from hookrouter.util.text import did_you_mean

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Mapping
    from types import TracebackType
    from typing import Self

    from hookrouter._sandbox.client import ClientSession
    from hookrouter._sandbox.tmux_server import PrivateTmux

__all__ = ["ScriptedClaude", "ToolOutcome"]

_EVENTS = (
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PermissionRequest",
    "PostToolUse",
    "PostToolUseFailure",
    "Notification",
    "Stop",
)
_ASKING = ("AskUserQuestion", "ExitPlanMode")
"""The tools that always draw a dialog."""


class ToolOutcome(NamedTuple):
    """What became of one tool call of Claude's."""

    tool_use_id: str
    """Claude Code's id of the call."""
    result: str
    """What Claude was told: the tool's output, or why it was not run."""
    records: tuple[Mapping[str, Any], ...]
    """The calls of plugins for it, as the journal keeps them: ``plugin``, ``hook``, ``outcome``, ``ms``, ``error``."""


class ScriptedClaude:
    """One Claude Code session, with every plugin that is installed in this environment; use it as a context manager.

    The client starts with the first prompt, so configure before. Its home, hookrouter's home and the project lie below
    one folder; nothing reaches a network.
    """

    def __init__(self, folder: str, server: PrivateTmux, program: str | None = None) -> None:
        """Lay out ``folder``; ``program`` is the client, by default the one that :func:`find_client` finds.

        Raises ClientError if there is none.
        """
        found = program or find_client()
        if found is None:
            raise ClientError("there is no Claude Code client; name one in HOOKROUTER_CLAUDE")
        os.makedirs(folder, mode=0o700, exist_ok=True)
        self.stage = Stage(folder)
        self.model = ScriptedModel()
        self.settings: dict[str, Any] = {
            # In the default mode nothing asks a server whether a command is safe.
            "permissions": {"defaultMode": "default", "allow": [name for name in TOOLS if name not in _ASKING]}
        }
        """The user's settings.json, to which ``hookrouter install`` adds. By default no tool asks for permission."""
        self._program = found
        self._server = server
        self._client: ClientSession | None = None
        self._turns = 0

    def __enter__(self) -> Self:
        """Start the scripted model."""
        self.model.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the client and the model."""
        if self._client is not None:
            self._client.stop()
        self.model.__exit__(kind, error, trace)

    @property
    def project(self) -> Path:
        """The folder in which Claude works."""
        return Path(self.stage.client_home.project)

    @property
    def client(self) -> ClientSession:
        """The running client, which this starts; its ``screen()`` is what a person would see."""
        if self._client is None:
            self.stage.client_home.write_settings(self.settings)
            self.stage.record(*_EVENTS)
            self.stage.install()
            client = self.stage.client(self._program, self._server, self.model)
            client.start()
            self._client = client
        return self._client

    def configure(self, text: str) -> None:
        """Write hookrouter's config.toml; before the first prompt, so that the hooks are registered by it."""
        self.stage.configure(text)

    def add_plugin(self, name: str, source: str, attribute: str = "") -> None:
        """Give the session a plugin that is not installed: a module's source; ``attribute`` is the plugin in it."""
        site = Path(self.stage.folder) / "site"
        write_plugin(site, name, source, attribute=attribute)
        paths = [str(site), *filter(None, [os.environ.get("PYTHONPATH")])]
        self.stage.variables["PYTHONPATH"] = os.pathsep.join(paths)

    def prompt(self, text: str, *replies: Reply, timeout: float = 30.0, check: bool = True) -> None:
        """Type a prompt, let the model reply with ``replies`` one after the other, and wait until Claude has stopped.

        ``timeout`` is in seconds. Raises PluginFailed if a plugin failed meanwhile, unless ``check`` is False, and
        WaitTimeoutError, with what is on screen, if Claude does not stop: it may be asking for something.
        """
        stops, records = len(self.payloads("Stop")), len(self.journal())
        journalled = self._stops_in_journal()
        self._submit(text, *(replies or (Say("Understood."),)))
        wait_until(lambda: len(self.payloads("Stop")) > stops, timeout, "the end of the turn", self.client.screen)
        if " run stop" in json.dumps(self.stage.client_home.read_settings().get("hooks", {}).get("Stop", [])):
            # The hooks of an event run beside each other, so hookrouter's may still be at work.
            wait_until(lambda: self._stops_in_journal() > journalled, timeout, "the journal record of Stop")
        if check:
            self._check(records)

    def use_tool(
        self, name: str, tool_input: Mapping[str, Any], *, timeout: float = 30.0, check: bool = True
    ) -> ToolOutcome:
        """Have Claude call one tool, wait until it has stopped, and return what became of the call.

        Raises as :meth:`prompt` does.
        """
        before = set(self.model.tool_results())
        self.prompt(f"please use {name}", ToolUse(name, tool_input), timeout=timeout, check=check)
        found = [(key, result) for key, result in self.model.tool_results().items() if key not in before]
        if not found:
            raise ClientError(f"Claude did not call {name}; on its screen:\n{self.client.screen()}")
        identifier, result = found[0]
        records = [record for record in self.journal() if record.get("tool_use_id") == identifier]
        return ToolOutcome(identifier, result, tuple(call for each in records for call in each.get("plugins", ())))

    def ask(self, *questions: Mapping[str, Any], timeout: float = 30.0) -> str:
        """Have Claude ask a form of AskUserQuestion; return its tool_use_id once its dialog is on screen.

        Raises WaitTimeoutError after ``timeout`` seconds.
        """
        asked = len(self.payloads("PreToolUse"))
        self._submit("please ask", ToolUse("AskUserQuestion", {"questions": list(questions)}))
        payload = self.stage.wait_payload("PreToolUse", asked + 1, timeout)
        self.client.wait_dialog(str(questions[0]["question"])[:40], timeout)
        return str(payload["tool_use_id"])

    def answer(self, *decisions: Mapping[str, Any], wait: float = 10.0) -> dict[str, Any]:
        """Answer the open form with the real ``hookrouter answer``; return the document of its ``--json``.

        ``wait`` is how many seconds it waits for Claude Code's confirmation.
        """
        arguments = ("answer", "--session", "auto", "--json", "--wait", str(wait), "--file", "-")
        done = self.run(*arguments, stdin=json.dumps(list(decisions)))
        try:
            document: dict[str, Any] = json.loads(done.stdout)
        except ValueError:
            raise ClientError(f"hookrouter answer ended with {done.returncode}: {done.stderr.strip()}") from None
        return document

    def run(self, *arguments: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
        """Run the real ``hookrouter`` program in this session's homes, and return how it ended."""
        return self.stage.run(*arguments, stdin=stdin)

    def payloads(self, event: str) -> list[dict[str, Any]]:
        """Return the payloads that Claude Code sent to hooks of one event, oldest first.

        Recorded are SessionStart, UserPromptSubmit, PreToolUse, PermissionRequest, PostToolUse, PostToolUseFailure,
        Notification and Stop; ValueError for any other.
        """
        if event not in _EVENTS:
            hint = did_you_mean(event, _EVENTS, f"recorded are {', '.join(_EVENTS)}")
            raise ValueError(f"{event} is not recorded; {hint}")
        return self.stage.payloads(event)

    def journal(self) -> list[dict[str, Any]]:
        """Return hookrouter's journal records, oldest first."""
        return self.stage.journal()

    def _submit(self, text: str, *replies: Reply) -> None:
        self._turns += 1
        name = f"turn-{self._turns}"
        self.model.script(name, list(replies))
        self.client.submit(f"{text} (RUN {name})")

    def _stops_in_journal(self) -> int:
        return sum(record.get("event") == "Stop" for record in self.journal())

    def _check(self, first: int) -> None:
        failed = failures(call for record in self.journal()[first:] for call in record.get("plugins", ()))
        if failed:
            raise PluginFailed("\n  ".join(["a plugin failed while Claude worked:", *failed]))
