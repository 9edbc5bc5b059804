"""Tries on one client whether a permission and a plan can be decided on by keys, and a server's form by reply."""

from __future__ import annotations

import json
import os
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from hookrouter._diagnostics.checks.check import ERROR, OK, Finding
from hookrouter._sandbox.client import ClientSession
from hookrouter._sandbox.mcp_server import NAME, server_config
from hookrouter._sandbox.scripted_model import ScriptedModel, ToolUse, bash
from hookrouter._sandbox.waiting import WaitTimeoutError, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookrouter._sandbox.panes import Terminal
    from hookrouter._sandbox.stage import Stage

__all__ = ["TRIED", "try_decisions"]

_SECONDS = 15.0


class _Trial(NamedTuple):
    """One dialog, and what is decided about it."""

    kind: str
    mode: str
    """The permission mode in which the client asks."""
    use: ToolUse
    decision: dict[str, Any]
    channel: str = "keys"
    has_server: bool = False
    """Whether the client gets an MCP server."""


_TRIALS = (
    _Trial("permission", "default", bash("touch trial"), {"action": "allow"}),
    _Trial("plan", "plan", ToolUse("ExitPlanMode", {}), {"action": "approve"}),
    _Trial(
        "elicitation",
        "default",
        ToolUse(f"mcp__{NAME}__form", {}),
        {"action": "submit", "content": {"name": "doctor"}},
        "reply",
        has_server=True,
    ),
)
TRIED = {"Bash": "agent", "ExitPlanMode": "agent", "Elicitation": "agent", f"mcp__{NAME}": "allow"}
"""Who decides in the trial, by tool; the call that leads to a form is allowed at once."""


def try_decisions(
    program: str,
    stage: Stage,
    terminal: Terminal,
    planner: str,
    size: tuple[int, int],
    screens: list[str],
    by_reply: str,
) -> Iterator[Finding]:
    """Have the client ask for a permission, offer a plan and show a server's form, decide, and yield how each ended.

    hookrouter must be installed on the stage, with the rules of :data:`TRIED`; ``by_reply`` is a config.toml for what
    is decided by reply. The last screen of each client is added to ``screens``.
    """
    for trial in _TRIALS:
        listed = os.path.join(stage.folder, "listed")
        if trial.channel == "reply":
            stage.configure(by_reply)
        with ScriptedModel({trial.kind: trial.use}) as model:
            environ = {**stage.environ, **stage.client_home.environ(model), "ENABLE_TOOL_SEARCH": "false"}
            words = [program, "--permission-mode", trial.mode]
            if trial.has_server:
                servers = os.path.join(stage.folder, "mcp.json")
                with open(servers, "w", encoding="utf-8") as file:
                    json.dump(server_config(listed), file)
                words += ["--mcp-config", servers]
            width, height = size
            with ClientSession(
                words,
                terminal,
                stage.client_home,
                environ,
                session=f"hookrouter-doctor-{trial.kind}",
                width=width,
                height=height,
            ) as client:
                if trial.has_server:
                    wait_until(partial(os.path.exists, listed), _SECONDS, "the MCP server's start", client.screen)
                yield _try(trial, stage, client, planner, screens)


def _try(trial: _Trial, stage: Stage, client: ClientSession, planner: str, screens: list[str]) -> Finding:
    fix = "leave such dialogs to a waiting hook or a person on this client, and report this one"
    client.submit(f"please ASK {trial.kind}")
    try:
        wait_until(lambda: stage.documents("question"), _SECONDS, "document of the dialog", client.screen)
    except WaitTimeoutError as error:
        screens.append(client.screen())
        return Finding(ERROR, trial.kind, f"no hook told of it: {str(error).partition('; last seen')[0]}", fix)
    arguments = ("answer", "--session", client.session, "--channel", trial.channel, "--json", "--wait", f"{_SECONDS:g}")
    done = stage.run(*arguments, json.dumps(trial.decision))
    screens.append(client.screen())
    try:
        said = json.loads(done.stdout)
    except ValueError:
        said = {"reason": done.stderr.strip() or done.stdout.strip()}
    steps = said.get("steps") or ()
    if trial.channel == "reply":
        if done.returncode == 0:
            # Hooks of the call's end still run.
            client.wait_idle(_SECONDS)
            return Finding(OK, trial.kind, "the values were given by reply, and taken")
        return Finding(ERROR, trial.kind, f"the reply was not taken: {said.get('reason')}", fix)
    if done.returncode == 0:
        return Finding(OK, trial.kind, f"the decision was entered with {len(steps)} keys, and came out as it was meant")
    if not steps:
        return Finding(ERROR, trial.kind, f"the planner {planner} did not read the dialog: {said.get('reason')}", fix)
    return Finding(ERROR, trial.kind, f"not verified after the keys {'; '.join(steps)}: {said.get('reason')}", fix)
