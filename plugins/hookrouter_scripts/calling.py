"""Which scripts run for a call, in which order, and what they say together.

Replies, and what reads them, are imported if a script says something: most say nothing, and pay for nothing.
"""

from __future__ import annotations

import os

from hookrouter.util import fastjson
from hookrouter.util.text import printable
from hookrouter_scripts.processes import Process, end_all, start, wait

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from hookrouter.config import Script
    from hookrouter.context import Context
    from hookrouter.events import Event
    from hookrouter.replies import Reply

__all__ = ["call_scripts"]

_SHELL = "/bin/sh"
"""What runs a command line: measured on Claude Code 2.1.332, whatever ``shell`` says and SHELL is."""

_PROJECT = "CLAUDE_PROJECT_DIR"
_ENV_FILE = "CLAUDE_ENV_FILE"
_SHOWN = 200
"""Characters of a command, and of what it said, that the journal keeps."""


def call_scripts(event: Event, context: Context) -> Reply | None:
    """Run the scripts for a call; return what they say together, None for nothing.

    At an event that can be refused one runs after the other, and sees the input that those before it have made of it;
    at any other all run side by side.
    """
    payload = dict(event.raw)
    scripts = context.config.scripts_for(context.event, payload, context.project)
    running: list[Process] = []
    replies: list[Reply] = []
    rows: list[dict[str, object]] = []
    one_by_one = len(scripts) > 1 and _can_refuse(context.event)
    try:
        for at, script in enumerate(scripts):
            running.append(_started(script, payload, context, f".{at}" if len(scripts) > 1 else ""))
            if one_by_one:
                replies += _ended([script], running[-1:], event, context, rows)
                payload = _rewritten(payload, replies)
        if not one_by_one:
            replies += _ended(scripts, running, event, context, rows)
    finally:
        end_all(running)
        if rows:
            context.note("scripts", rows)
    if len(replies) < 2:
        return replies[0] if replies else None
    from hookrouter.joined_replies import joined

    return joined(context.event, replies)


def _can_refuse(event: str) -> bool:
    from hookrouter.replies import closed

    return closed(event, "refused") is not None


def _started(script: Script, payload: Mapping[str, Any], context: Context, suffix: str) -> Process:
    environ = dict(context.environ)
    project = environ.get(_PROJECT, "")
    if script.args is None:
        argv = [_SHELL, "-c", script.command]
    else:
        argv = [word.replace("${CLAUDE_PROJECT_DIR}", project) for word in (script.command, *script.args)]
    kept = ""
    if suffix and environ.get(_ENV_FILE):
        # Claude Code has one for each hook: none writes over what another has written.
        kept = environ[_ENV_FILE]
        environ[_ENV_FILE] = kept + suffix
    return start(argv, environ, _text(payload), script.timeout, kept, environ.get(_ENV_FILE, ""))


def _text(payload: Mapping[str, Any]) -> bytes:
    """Return a payload as Claude Code writes it: compact, in UTF-8, lone surrogates as escapes, in one line."""
    text = fastjson.dumps(payload)
    if "\\u" in text:
        import json

        text = json.dumps(payload, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "backslashreplace") + b"\n"


def _ended(
    scripts: Sequence[Script],
    running: Sequence[Process],
    event: Event,
    context: Context,
    rows: list[dict[str, object]],
) -> list[Reply]:
    """Wait for scripts, and return what they say; add a row for each to the journal's."""
    wait(running)
    found = []
    for script, process in zip(scripts, running, strict=True):
        label = script.command if script.args is None else " ".join((script.command, *script.args))
        _keep_variables(process)
        reply, fault = _read(context.event, label, process)
        if reply is not None and event.raw.get("tool_name") == "Monitor" and not script.takes({}, "Monitor", ""):
            reply = _without_grant(reply)
        shown = printable(label)[:_SHOWN]
        row: dict[str, object] = {"event": script.event, "matcher": script.matcher, "command": shown}
        row |= {
            "ms": round(process.seconds * 1000, 2),
            "outcome": process.outcome,
            "says": _told(reply),
            "error": fault,
        }
        rows.append({key: value for key, value in row.items() if value != ""})
        if reply is not None:
            found.append(reply)
        if fault and (said := _failed(script, f"hookrouter: script [{shown}] {fault}", event, context)) is not None:
            found.append(said)
    return found


def _read(event: str, label: str, process: Process) -> tuple[Reply | None, str]:
    """Return what a script said, and what is wrong with it."""
    if process.is_left:
        return None, ""
    if process.fault:
        return None, printable(process.fault)
    if process.code == 0 and not process.out:
        return None, ""
    from hookrouter.hook_output import read_output

    outcome = read_output(event, label, process.code, process.text(process.out), process.text(process.err))
    return outcome.reply, printable(outcome.fault)


def _told(reply: Reply | None) -> str:
    """Return what a script said, for the journal: its verdict and why, and what else it said, without that itself."""
    if reply is None:
        return ""
    more = [*reply.output, *(["systemMessage"] if reply.system_message else [])]
    verdict = ": ".join(filter(None, (reply.verdict, (reply.reason or "").strip())))
    stops = f"stops: {reply.stop_reason}" if reply.stop_reason else ""
    return printable(", ".join(filter(None, (stops, verdict, *more))))[:_SHOWN]


def _failed(script: Script, fault: str, event: Event, context: Context) -> Reply | None:
    """Return the refusal for a script that is set to fail closed, or else what the user is shown."""
    from hookrouter.replies import closed, message

    context.warn(fault)
    # Claude goes on after a refused Stop, so refusing it again and again would never end.
    if script.on_error == "closed" and event.raw.get("stop_hook_active") is not True:
        refusal = closed(context.event, f"{fault}; it is set to fail closed, so this is refused")
        if refusal is not None:
            return refusal
    return message(context.event, fault)


def _without_grant(reply: Reply) -> Reply | None:
    """Return a reply of a script whose matcher takes Bash to a command of Monitor: it can refuse, and grant nothing."""
    output = {name: value for name, value in reply.output.items() if name not in ("updatedInput", "updatedPermissions")}
    verdict = None if reply.verdict == "allow" else reply.verdict
    return reply._deciding(verdict, reply.reason if verdict else None, output)


def _rewritten(payload: dict[str, Any], replies: Sequence[Reply]) -> dict[str, Any]:
    """Return the payload for the next script: with the input that the last one gave."""
    for reply in replies[-1:]:
        if isinstance(given := reply.output.get("updatedInput"), dict):
            return {**payload, "tool_input": given}
    return payload


def _keep_variables(process: Process) -> None:
    """Add what a script wrote into its own file of variables to that of the call."""
    if not process.kept:
        return
    try:
        with open(process.variables, "rb") as file:
            content = file.read()
        if content and not content.endswith(b"\n"):
            content += b"\n"
        with open(process.kept, "ab") as file:
            file.write(content)
        os.unlink(process.variables)
    except OSError:
        # What cannot be read is not there: most scripts write none.
        pass
