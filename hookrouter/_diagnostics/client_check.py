"""Tries one Claude Code client: does it call the hooks, and can its dialogs be read and answered?

The client runs in a terminal, a home and a project of its own, with a scripted model on 127.0.0.1 and a made-up
key, so that nothing of the user's is read by it or changed.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import tempfile
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from hookrouter._config.toml_edit import dotted, literal
from hookrouter._diagnostics.checks.check import ERROR, OK, WARNING, Finding
from hookrouter._diagnostics.checks.client import MINIMUM_CLIENT
from hookrouter._diagnostics.decision_check import TRIED, try_decisions
from hookrouter._sandbox.client import ClientError, ClientSession, check_client
from hookrouter._sandbox.panes import BackendTerminal, TerminalUnavailableError
from hookrouter._sandbox.processes import remove_folder
from hookrouter._sandbox.scripted_model import ScriptedModel, ask
from hookrouter._sandbox.stage import Stage
from hookrouter._sandbox.tmux_server import PrivateTmux, TmuxError
from hookrouter._sandbox.waiting import WaitTimeoutError, wait_until
from hookrouter.answering.interfaces import keystroke_planners
from hookrouter.terminals import TerminalError, terminal_backends

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from contextlib import AbstractContextManager

    from hookrouter._sandbox.panes import Terminal
    from hookrouter.config import Config
    from hookrouter.context import Services

__all__ = ["ClientReport", "try_client"]

TMUX = "tmux"
"""The terminal in which a client is tried unless another one is named."""

_SESSION = "hookrouter-doctor"
_PROMPT = "trial"
_WIDTH, _HEIGHT = 120, 40
_RECORD_SECONDS = 10.0

_QUESTIONS: list[dict[str, Any]] = [
    {
        "question": "Which database should the service use?",
        "header": "Database",
        "multiSelect": False,
        "options": [
            {"label": "SQLite", "description": "Embedded"},
            {"label": "Postgres (Recommended)", "description": "A server of its own"},
        ],
    },
    {
        "question": "Which features belong to this release?",
        "header": "Features",
        "multiSelect": True,
        "options": [
            {"label": "Search", "description": "Full text"},
            {"label": "Export", "description": "As CSV"},
            {"label": "Import", "description": "From CSV"},
        ],
    },
    {
        "question": "What should the command be called?",
        "header": "Name",
        "multiSelect": False,
        "options": [
            {"label": "refresh", "description": "As before"},
            {"label": "update", "description": "Taken already"},
        ],
    },
]
_DECISIONS = [
    {"action": "select", "optionIndex": 1},
    {"action": "multi-select", "selectedIndices": [0, 2]},
    {"action": "type", "text": "sync-state; it's what it does"},
]
_EXPECTED = {
    _QUESTIONS[0]["question"]: "Postgres (Recommended)",
    _QUESTIONS[1]["question"]: "Search, Import",
    _QUESTIONS[2]["question"]: "sync-state; it's what it does",
}


class ClientReport(NamedTuple):
    """How a client did."""

    findings: tuple[Finding, ...]
    """What was seen, in order, up to the first error: version, PreToolUse, dialog, answer, PostToolUse; with
    ``[[approvals.rules]]`` and a planner that knows them also permission, plan and elicitation."""
    screen: str
    """The client's last screen if something went wrong; empty otherwise."""


def try_client(program: str, app: Services, terminal: str = TMUX) -> ClientReport:
    """Run a scripted form on the client ``program`` and answer it with the planner that the configuration chooses.

    The plugins are switched on and off as configured; agents and gateways have no part in it. ``terminal`` is the
    name of a terminal backend: tmux, or one that can open a pane. Takes some seconds. What goes wrong is a finding;
    raises nothing else than KeyboardInterrupt.
    """
    config = app.config
    findings: list[Finding] = []
    screens: list[str] = []
    try:
        with contextlib.ExitStack() as stack:
            if os.path.isdir(program) or not os.access(program, os.X_OK):
                raise ClientError(f"{program} is not an executable file")
            folder = tempfile.mkdtemp(prefix="hookrouter-doctor-")
            # After the end of all that runs in the terminal, which may write there to the last.
            stack.callback(remove_folder, folder)
            server = stack.enter_context(_terminal(terminal, app))
            stage = Stage(folder, _config(config, terminal))
            path, planner = os.path.abspath(program), keystroke_planners(app.plugins).get(config.answer.planner)
            trials = _try(path, stage, server, stack, config, screens)
            if config.approvals.rules and planner is not None and planner.kinds:
                by_reply = _config(config, terminal, "reply")
                decisions = try_decisions(path, stage, server, planner.name, (_WIDTH, _HEIGHT), screens, by_reply)
                trials = chain(trials, decisions)
            for finding in trials:
                findings.append(finding)
                if finding.level == ERROR:
                    break
    except TmuxError as error:
        findings.append(Finding(ERROR, TMUX, str(error), "install tmux 3.2 or newer"))
    except (TerminalUnavailableError, TerminalError) as error:
        findings.append(Finding(ERROR, terminal, str(error), "choose another --terminal, or fix its plugin"))
    except ClientError as error:
        fix = "name the claude program itself: hookrouter doctor --client PATH"
        findings.append(Finding(ERROR, "client", str(error), fix))
    except (WaitTimeoutError, RuntimeError, OSError, subprocess.TimeoutExpired) as error:
        findings.append(Finding(ERROR, "client", f"the trial did not come to its end: {error}", "try it again"))
    failed = any(finding.level == ERROR for finding in findings)
    return ClientReport(tuple(findings), screens[-1] if failed and screens else "")


def _terminal(name: str, app: Services) -> AbstractContextManager[Terminal]:
    return PrivateTmux() if name == TMUX else BackendTerminal(name, terminal_backends(app.plugins))


def _config(config: Config, terminal: str, channel: str = "keys") -> str:
    """Return the trial's config.toml: the user's planner and plugins, and rules of its own if the user has any."""
    tables = {"answer": {"channels": [channel], "planner": config.answer.planner, "terminal": terminal}}
    lines = [f"{name} = {literal(table)}" for name, table in tables.items()]
    if config.approvals.rules:
        rules = [{"tool": tool, "decide": decide} for tool, decide in TRIED.items()]
        lines.append(f"approvals.rules = {literal(rules)}")
    lines.append(f"plugins.order = {literal(config.plugin_order)}")
    for name, entry in config.plugins.items():
        table: dict[str, object] = {"enabled": entry.enabled, "on_error": entry.on_error}
        if entry.timeout is not None:
            table["timeout"] = entry.timeout
        lines.append(f"{dotted(('plugins', name))} = {literal({**table, 'settings': entry.settings})}")
    return "\n".join(lines) + "\n"


def _try(
    program: str,
    stage: Stage,
    server: Terminal,
    stack: contextlib.ExitStack,
    config: Config,
    screens: list[str],
) -> Iterator[Finding]:
    stage.record("PreToolUse", "PostToolUse")
    stage.install()
    model = stack.enter_context(ScriptedModel({_PROMPT: ask({"questions": _QUESTIONS})}))
    version = check_client(program, {**stage.environ, **stage.client_home.environ(model)})
    yield _version(version, program)
    client = stage.client(program, server, model, session=_SESSION, width=_WIDTH, height=_HEIGHT)
    stack.enter_context(client)
    try:
        client.submit(f"please ASK {_PROMPT}")
        identifier = _saved(stage, client)
    except WaitTimeoutError as error:
        screens.append(client.screen())
        said = str(error).partition("; last seen")[0]
        yield Finding(ERROR, "PreToolUse", f"the hook did not save the question: {said}", "use another client version")
        return
    yield Finding(OK, "PreToolUse", "the hook was called, and the question was saved")
    yield from _answer(stage, client, identifier, config, screens)


def _version(said: str, program: str) -> Finding:
    found = re.search(r"(\d+)\.(\d+)\.(\d+)", said)
    minimum = ".".join(map(str, MINIMUM_CLIENT))
    if found is None or tuple(map(int, found.groups())) >= MINIMUM_CLIENT:
        return Finding(OK, "client", f"{said} at {program}")
    return Finding(WARNING, "client", f"{said} at {program} is older than {minimum}", "claude update")


def _saved(stage: Stage, client: ClientSession) -> str:
    """Wait until the form's hook has been called and hookrouter has saved its question; return the tool_use_id."""
    identifier: str = stage.wait_payload("PreToolUse")["tool_use_id"]
    wait_until(lambda: stage.documents("question"), _RECORD_SECONDS, "question of hookrouter", client.screen)
    return identifier


def _answer(
    stage: Stage, client: ClientSession, identifier: str, config: Config, screens: list[str]
) -> Iterator[Finding]:
    planner = config.answer.planner
    fix = "use a client version of the manual's table, or another planner ([answer] planner), and report this one"
    arguments = ("answer", "--session", client.session, "--tool-use-id", identifier, "--channel", "keys", "--json")
    # Whatever is on screen, `answer` waits for the dialog, and says what it saw instead.
    done = stage.run(*arguments, "--wait", str(_RECORD_SECONDS), "--file", "-", stdin=json.dumps(_DECISIONS))
    screens.append(client.screen())
    said = _document(done)
    reason, steps = said.get("reason"), said.get("steps") or ()
    if not steps:
        yield Finding(ERROR, "dialog", f"the planner {planner} did not read it: {reason}", fix)
        return
    yield Finding(OK, "dialog", f"read by the planner {planner}")
    response = _recorded(stage, identifier)
    if response is None:
        keys = f"after {len(steps)} keys, the last one {steps[-1]!r}"
        yield Finding(ERROR, "answer", f"not delivered {keys}: {reason}", fix)
        return
    yield Finding(OK, "answer", f"a form of {len(_QUESTIONS)} questions was answered with {len(steps)} keys")
    if response.get("answers") != _EXPECTED or done.returncode != 0:
        recorded = json.dumps(response.get("answers"), ensure_ascii=False)
        what = f"Claude Code recorded {recorded}, meant was {json.dumps(_EXPECTED, ensure_ascii=False)}"
        yield Finding(ERROR, "PostToolUse", f"not verified: {what}; hookrouter says: {reason}", fix)
        return
    yield Finding(OK, "PostToolUse", "the hook was called, and the record is what was meant")


def _document(done: subprocess.CompletedProcess[str]) -> Mapping[str, Any]:
    try:
        said = json.loads(done.stdout)
    except ValueError:
        said = None
    ended = {"reason": f"hookrouter answer ended with {done.returncode}: {done.stderr.strip() or done.stdout.strip()}"}
    return said if isinstance(said, dict) else ended


def _recorded(stage: Stage, identifier: str) -> Mapping[str, Any] | None:
    for payload in stage.payloads("PostToolUse"):
        if payload["tool_use_id"] == identifier and isinstance(payload.get("tool_response"), dict):
            return dict(payload["tool_response"])
    return None
