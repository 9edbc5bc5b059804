"""The demo's course: each scene is asked, answered by the rule agent through the real programs, and checked."""

from __future__ import annotations

import json
import os
import sys
import textwrap
import time
from typing import TYPE_CHECKING, Any, Protocol

from hookrouter.testing.sandbox import WaitTimeoutError, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hookrouter.testing.sandbox import Stage
    from hookrouter_demo.scenes import CallScene, Scene

__all__ = ["SESSION", "Client", "agent_log", "config", "play"]

SESSION = "hookrouter-demo"
"""The session in which the demo's Claude runs, in a terminal that lets others name sessions."""

_SCENE_TIMEOUT = 30.0
_AGENT_LOG = "agent.jsonl"
_REVIEW = "Review your answers"
_ASKS = ("Chat about this", _REVIEW, "Do you want to proceed?", "Would you like to proceed?", "Exit plan mode?")
"""What is on the screen while a dialog is."""
_DELIVERED = (0, 3, 5)
"""Exit codes of ``hookrouter answer`` after which PostToolUse comes, or has come."""


_DELIVERY = {
    "reply": "hands it to the PermissionRequest hook, which waits beside the dialog",
    "keys": "types it into the dialog, and looks before every key",
}
"""What each answer channel does, for the viewer."""


class Client(Protocol):
    """The demo's Claude: it takes prompts and shows a screen."""

    def submit(self, prompt: str) -> None:
        """Give it the next prompt."""

    def screen(self) -> str:
        """Return what it shows now."""


def config(folder: str, channel: str = "keys", terminal: str = "tmux", planner: str = "grammar") -> str:
    """Return the config.toml of the demo: one agent, woken by a program that knows a few rules, and one channel."""
    agent = [sys.executable, "-P", "-m", "hookrouter_demo.rule_agent"]
    # A TOML array of basic strings is written as JSON writes one.
    argv = json.dumps([*agent, os.path.join(os.path.realpath(folder), _AGENT_LOG)])
    return textwrap.dedent(f"""\
        [[agents]]
        id = "rules"
        gateway = "rules"

        [gateways.rules]
        type = "command"
        argv = {argv}
        format = "json"

        [sessions]
        channels = ["keys"]

        [answer]
        channels = ["{channel}"]
        terminal = {json.dumps(terminal)}
        planner = {json.dumps(planner)}

        [[approvals.rules]]
        tool = "Bash"
        decide = "agent"

        [[approvals.rules]]
        tool = "ExitPlanMode"
        decide = "agent"
        """)


def play(
    stage: Stage,
    client: Callable[[str], Client],
    scenes: Sequence[Scene | CallScene],
    say: Callable[[str], None],
    *,
    first: int = 1,
) -> list[str]:
    """Play ``scenes`` and return what went wrong, one line each; empty if all is well.

    ``client`` returns a started client in the permission mode that it is given. ``first`` is the number of the first
    scene among all that were played on this stage.
    """
    faults = []
    for number, scene in enumerate(scenes, start=first):
        say(f"\n{number}. {scene.title}")
        try:
            faults += [f"{scene.title}: {fault}" for fault in _play(stage, client(scene.mode), scene, number, say)]
        except WaitTimeoutError as error:
            faults.append(f"{scene.title}: {error}{_what_is_known(stage)}")
            break
    return faults


def _play(stage: Stage, client: Client, scene: Scene | CallScene, number: int, say: Callable[[str], None]) -> list[str]:
    started = time.monotonic()
    client.submit(f"please ASK {scene.name}")
    frames: list[str] = []

    def ended() -> tuple[dict[str, Any], dict[str, Any]] | None:
        frame = client.screen()
        if any(text in frame for text in _ASKS) and frame not in frames[-1:]:
            if not frames:
                say("   Claude asks; a hook has saved what it asks and woken the agent:")
                say(_quoted(frame))
            frames.append(frame)
        entry = next(iter(agent_log(stage)[number - 1 :]), None)
        payload = next(iter(stage.payloads("PostToolUse")[number - 1 :]), None)
        if entry is None or (payload is None and entry.get("exit") in _DELIVERED):
            return None
        return (payload or {}, entry)

    payload, entry = wait_until(ended, _SCENE_TIMEOUT, "answer", client.screen)
    taken = time.monotonic() - started
    for decision, reason in zip(entry.get("decisions", []), entry.get("reasons", []), strict=True):
        say(f"   The agent decides ({reason}): {json.dumps(decision, ensure_ascii=False)}")
    answer = entry.get("answer") or {}
    channel = answer.get("channel")
    if channel in _DELIVERY:
        say(f"   `hookrouter answer` {_DELIVERY[channel]}{':' if answer.get('steps') else '.'}")
        for step in answer.get("steps") or ():
            say(f"     {step}")
    for frame in _telling(frames):
        say(f"\n{_quoted(frame)}")
    recorded = json.dumps(scene.recorded(payload), ensure_ascii=False)
    say(f"   The PostToolUse hook compares what came of it: {recorded}")
    faults = _faults(stage, scene, payload, entry)
    say(f"   {'Verified' if not faults else 'NOT AS MEANT'}, {taken:.1f} s.")
    return faults


def _telling(frames: list[str]) -> list[str]:
    """Choose from the screens after the first: the last one of the questions, and the last one of all."""
    pages = [frame for frame in frames[1:] if _REVIEW not in frame]
    return list(dict.fromkeys([*pages[-1:], *frames[1:][-1:]]))


def _faults(stage: Stage, scene: Scene | CallScene, payload: dict[str, Any], entry: dict[str, Any]) -> list[str]:
    faults = []
    recorded = scene.recorded(payload)
    if recorded != scene.expected:
        faults.append(f"recorded {recorded!r}, meant {scene.expected!r}")
    if "error" in entry:
        faults.append(f"the question was over before the agent could list it: {entry['error']}")
    elif entry.get("exit") != 0:
        faults.append(f"hookrouter answer ended with {entry.get('exit')}: {entry.get('answer') or entry.get('stderr')}")
    outcomes = [
        record.get("outcome")
        for record in stage.journal()
        if record.get("event") == "PostToolUse" and record.get("tool_use_id") == payload.get("tool_use_id")
    ]
    if outcomes != ["verified"]:
        faults.append(f"the journal says {outcomes}, not ['verified']")
    left = stage.documents("question") + stage.documents("pending-answer")
    if left:
        faults.append(f"documents left behind: {', '.join(left)}")
    return faults


def agent_log(stage: Stage, kind: str = "question") -> list[dict[str, Any]]:
    """Return what the rule agent did for each message of a kind."""
    try:
        with open(os.path.join(stage.folder, _AGENT_LOG), encoding="utf-8") as file:
            entries = [json.loads(line) for line in file if line.endswith("\n")]
    except FileNotFoundError:
        return []
    return [entry for entry in entries if entry["wake"]["kind"] == kind]


def _what_is_known(stage: Stage) -> str:
    """Collect what explains a scene that did not end: the agent's last entry, warnings, and the logs' ends."""
    lines = []
    for entry in agent_log(stage)[-1:]:
        del entry["wake"]["text"]
        lines.append(f"\nagent: {json.dumps(entry)}")
    for record in stage.journal():
        if record.get("level") in ("warning", "error") or record.get("warnings"):
            lines.append(f"\njournal: {json.dumps(record)}")
    return "".join(lines[-5:])


def _quoted(screen: str) -> str:
    """Return the dialog's part of a screen, each row behind a bar."""
    rows = screen.rstrip().splitlines()
    # A dialog begins at the first rule that is followed by its title, or by a title of its own.
    start = next((number for number, row in enumerate(rows) if _begins(row, rows[number + 1 :])), 0)
    return "\n".join(f"   | {row.rstrip()}" for row in rows[start:])


def _begins(row: str, rest: Sequence[str]) -> bool:
    """Whether a dialog begins with this row of a screen; ``rest`` are the rows below."""
    if row.startswith("────"):
        return any(below.startswith(("← ", " ☐", " Bash command")) for below in rest[:1])
    return row.strip() in ("Here is Claude's plan:", "Exit plan mode?")
