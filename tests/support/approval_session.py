"""A managed client of the real Claude Code that asks for permission, on a stage: rules, an agent, an MCP server."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hookrouter._sandbox.client import ClientSession, find_client
from hookrouter._sandbox.mcp_server import server_config
from hookrouter._sandbox.scripted_model import ScriptedModel, ToolUse, ToolUses
from hookrouter._sandbox.stage import Stage
from hookrouter._sandbox.waiting import wait_until
from hookrouter.util.clock import now, seconds
from support.cleared import clear
from support.managed_client import press_until
from support.plans import planned
from support.tested_client import kill_client

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hookrouter._sandbox.tmux_server import PrivateTmux
    from support.cleared import ForgetfulModel

__all__ = ["CONFIG", "ECHO", "FORM", "SUBAGENT", "ApprovalSession"]

ECHO, FORM = "mcp__demo__echo", "mcp__demo__form"

SUBAGENT = ToolUse(
    "Agent",
    {"description": "Look", "prompt": "RUN sub", "subagent_type": "general-purpose", "run_in_background": False},
)

CONFIG = """\
[[agents]]
id = "tester"
sessions = SESSIONS

[answer]
channels = CHANNELS

"""

STRICT = """\
[[approvals.rules]]
tool = "Bash(touch forbidden*)"
decide = "deny"

[[approvals.rules]]
tool = "Bash(* forbidden*)"
decide = "person"

[[approvals.rules]]
tool = "Bash(rmdir:*)"
decide = "person"

"""
"""Rules that refuse, or leave to a person."""

GRANTS = """\
[[approvals.rules]]
tool = "Bash(mkdir:*)"
decide = "allow"

[[approvals.rules]]
tool = "Bash"
decide = "agent"

[[approvals.rules]]
tool = "Write(/given/**)"
decide = "agent"

[[approvals.rules]]
tool = "Edit(/given/**)"
decide = "agent"

[[approvals.rules]]
tool = "mcp__demo"
decide = "agent"

[[approvals.rules]]
tool = "ExitPlanMode"
decide = "agent"

[[approvals.rules]]
tool = "Elicitation"
decide = "agent"
"""


class ApprovalSession:
    """A managed client that asks for permission."""

    def __init__(
        self,
        folder: Path,
        server: PrivateTmux,
        model: ScriptedModel,
        mode: str,
        *,
        sessions: str = '["managed*"]',
        strict: bool = True,
        channel: str = "reply",
        also: Sequence[str] = (),
        size: tuple[int, int] = (120, 40),
        more: str = "",
        before: str = "",
        install: Sequence[str] = (),
        prepare: Callable[[Stage], dict[str, str]] | None = None,
    ) -> None:
        """``sessions`` are the agent's; with ``strict`` there are rules that no agent may overstep.

        Decisions go by ``channel``, and those that it cannot serve by the channels in ``also``.
        ``size`` is how many columns and rows the pane has. ``more`` is added to config.toml, and ``before`` are rules
        before all others. ``install`` are the options of ``hookrouter install``, and ``prepare`` returns more of the
        client's environment once the stage is there.
        """
        self.channel = channel
        self.model = model
        self._turns = 0
        self._began = 0.0
        config = CONFIG.replace("SESSIONS", sessions).replace("CHANNELS", json.dumps([channel, *also]))
        self._config = {said: config + before + (STRICT if said else "") + GRANTS + more for said in (True, False)}
        self.stage = Stage(str(folder), self._config[strict])
        self.stage.record("PostToolUse", "Stop")
        self.stage.install(*install)
        prepared = prepare(self.stage) if prepare is not None else {}
        self._listed = folder / "listed"
        servers = folder / "mcp.json"
        servers.write_text(json.dumps(server_config(str(self._listed))))
        client = find_client()
        assert client is not None
        environ = {**self.stage.environ, **self.stage.client_home.environ(model), "ENABLE_TOOL_SEARCH": "false"}
        environ |= prepared
        words = [client, "--mcp-config", str(servers), "--permission-mode", mode]
        width, height = size
        self.client = ClientSession(
            words, server, self.stage.client_home, environ, session="managed", width=width, height=height
        )

    def begin(self, model: ForgetfulModel) -> None:
        """Be as if new, for another test: nothing asked, counted or made, the project's folder empty.

        Only for a client in the mode in which it was started. ``model`` is the one that it has from the beginning.
        """
        clear(self.client, self.stage, model)
        for path in self.folder.iterdir():
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()
        self.use_rules(strict=True)
        self._began = now()

    def use_rules(self, *, strict: bool) -> None:
        """Have these rules hold from now on: see :meth:`__init__`."""
        self.stage.configure(self._config[strict])

    @property
    def folder(self) -> Path:
        return Path(self.stage.client_home.project)

    def has_servers_tools(self) -> bool:
        return self._listed.exists()

    def call(self, *uses: ToolUse) -> None:
        self._turns += 1
        self.model.script(f"t{self._turns}", uses[0] if len(uses) == 1 else ToolUses(uses))
        self.client.submit(f"please RUN t{self._turns}")

    def waiting(self, count: int = 1) -> list[dict[str, Any]]:
        """Return what waits for a decision, once so many hooks wait for one, or are open if it goes by keys."""

        def found() -> list[dict[str, Any]]:
            return [one for one in self.listed() if one["hook_waits"] or self.channel == "keys"]

        # To look at the files costs nothing; every listing is a process.
        kind = "question" if self.channel == "keys" else "reply-waiting"
        wait_until(lambda: len(self.stage.documents(kind)) >= count, 30, "what waits", self.told)
        return wait_until(lambda: one if len(one := found()) >= count else None, 30, "what waits", self.told)

    def listed(self) -> list[dict[str, Any]]:
        """Return what `hookrouter questions` lists."""
        found: list[dict[str, Any]] = json.loads(self.stage.run("questions", "--json").stdout)["questions"]
        return found

    def wait_ended(self, tool_use_id: str) -> None:
        wait_until(lambda: tool_use_id not in str(self.listed()), 30, "the end of the call", self.told)

    def decide(self, decision: Any, *options: str, code: int | None = 0) -> dict[str, Any]:
        """Have an agent decide, and return the result; ``code`` is how the command must exit, None for anyhow."""
        said = decision if isinstance(decision, str) else json.dumps(decision)
        done = self.stage.run("answer", "--session", "managed", "--json", "--wait", "30", *options, said)
        assert code in (done.returncode, None), (done.stdout, done.stderr, self.told())
        result: dict[str, Any] = json.loads(done.stdout)
        return result

    def decided(self, use: ToolUse, decision: Any, *options: str, code: int = 0) -> dict[str, Any]:
        """Have Claude call a tool, decide, and return the result once the turn has ended."""
        stops = self.count("Stop")
        self.call(use)
        self.waiting()
        result = self.decide(decision, *options, code=code)
        wait_until(lambda: self.count("Stop") > stops, 30, "the end of the turn", self.told)
        self.client.wait_idle()
        return result

    def press_by_hand(self, key: str) -> None:
        """Press a key on the client's own dialog, as a person does, once it is drawn, until it is gone."""
        wait_until(lambda: "Do you want" in self.client.screen(), 30, "the dialog", self.told)
        press_until(self.client, key, lambda: "Do you want" not in self.client.screen(), self.told)

    def deny_by_hand(self) -> None:
        """Leave the client's own dialog as a person does, and have the turn ended by the next prompt."""
        # What a dialog says may stand elsewhere on the screen, too.
        before = self.client.screen().count("Interrupted")
        press_until(self.client, "Escape", lambda: self.client.screen().count("Interrupted") > before, self.told)
        self.client.wait_idle()
        self.client.submit("go on")

    def kill_client(self) -> None:
        """Kill the client whose dialog is open; skips the test if the client does not say which process it is."""
        with open(os.path.join(self.stage.home.state, self.stage.documents("question")[0]), encoding="utf-8") as file:
            kill_client(json.load(file)["client_pid"])

    def planned(self, text: str) -> ToolUse:
        """Write the session's plan file, and return the call that offers it."""
        return planned(self.client, self.model, lambda: self.count("Stop"), text)

    def count(self, event: str) -> int:
        return len(self.stage.payloads(event))

    def said(self) -> str:
        """Return what Claude was told of its last call."""
        return list(self.model.tool_results().values())[-1]

    def told(self) -> str:
        return f"{self.client.screen()}\n{self.stage.journal()[-8:]}"

    def history(self) -> list[dict[str, Any]]:
        """Return the stories of what was asked since :meth:`begin`."""
        found: list[dict[str, Any]] = json.loads(self.stage.run("history", "--json").stdout)["questions"]
        return [one for one in found if (seconds(one["asked_at"] or one["ended_at"]) or 0.0) >= self._began]
