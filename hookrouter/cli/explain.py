"""``hookrouter explain``."""

from __future__ import annotations

import json
import os
import sys
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hookrouter._contract.hook_names import event_facts
from hookrouter._contract.tables import EVENT_NAMES, EVENTS
from hookrouter._diagnostics.dry_run import run_hook
from hookrouter._diagnostics.explain import explain as explain_call
from hookrouter._diagnostics.explain import session_folder
from hookrouter._routing.hook_call import MAX_PAYLOAD
from hookrouter.cli.application import Application
from hookrouter.cli.completion import event_words
from hookrouter.cli.errors import CommandError
from hookrouter.cli.options import Json, echo_json
from hookrouter.config import LAST
from hookrouter.samples import find
from hookrouter.util.text import did_you_mean, printable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrouter._diagnostics.dry_run import Result

__all__ = ["Patience", "call_lines", "explain", "result_document"]

Patience = Annotated[
    float,
    typer.Option(
        "--timeout", metavar="SECONDS", help="How long the run may take; a plugin may wait for somebody's answer."
    ),
]


_MAX_TEXT = 300
"""Characters of a reply's text that are shown."""


def explain(
    event: Annotated[
        str,
        typer.Argument(metavar="EVENT", help="The event: PreToolUse, or pre-tool-use.", autocompletion=event_words),
    ],
    tool: Annotated[
        str | None,
        typer.Option(
            "--tool",
            metavar="TOOL",
            help="The tool of an event about a tool call (default: Bash); for other events a value of what their "
            "matchers look at.",
        ),
    ] = None,
    payload: Annotated[
        str | None,
        typer.Option(
            "--payload",
            metavar="FILE",
            help="The call's payload, - for stdin. Default: what 'hookrouter sample' prints.",
        ),
    ] = None,
    session: Annotated[
        str | None,
        typer.Option(
            "--session",
            metavar="NAME",
            help="The session's name; its folder is the one in which it "
            "asked last, if the journal knows it, else this one. Default: that of this terminal.",
        ),
    ] = None,
    execute: Annotated[
        bool,
        typer.Option(
            "--execute",
            help="Run the plugins, for real but on a copy of hookrouter's state: what they do elsewhere is done, but "
            "no agent is woken, and nothing is journalled.",
        ),
    ] = False,
    timeout: Patience = 30.0,
    as_json: Json = False,
) -> int:
    """Show what a hook call sets in motion: which plugins are called, in which order, and which are not and why.

    Also shown are the entries of settings.json that start hookrouter for this call, what each plugin's failure means
    (on_error) and how long it may take, and the agent that manages the session. Plugins are imported, but nothing of
    them is called, unless --execute asks for it: then each plugin's outcome, time and reply are shown, what they saw
    and changed of the tool's input, and the answer that Claude Code would get. What the permission rules say to the
    call is shown too.

    \b
    With --json: event, tool, hooks, payload (errors, warnings), needed, registered (file, matcher, command),
    hooks_disabled, calls (plugin, hook, wrapper, place, order, waits, on_error, timeout, timeout_from, scripts: event,
    matcher, command, args, timeout, on_error), not_called (plugin, hooks, status, reason, fix, refuses), session (name,
    cwd, agent, gateway, fallbacks, paused), rule (what [[approvals.rules]] say to a call that is about to run: decide,
    rule, file, uncertain; else null), and with --execute result (outcome, by, reason, level, ms, plugins, scripts,
    warnings, tool_input_by, tool_response_by, exit_code, stdout, output, stderr).

    \b
    Examples:
      hookrouter explain PreToolUse --tool Edit
      hookrouter explain Stop --execute
      hookrouter sample PreToolUse Bash --set tool_input.command='rm -rf /' |
        hookrouter explain PreToolUse --payload - --execute --json

    Exit codes: 0 explained; 1 with --execute, the run failed or took too long; 2 wrong arguments, or a payload that
    does not fit the event; 130 interrupted.
    """
    document, data = _payload(event, tool, payload)
    folder = document.get("cwd")
    app = Application.from_environ(share=False, project=folder if isinstance(folder, str) else None)
    if session is not None and payload is None and (folder := session_folder(app, session)):
        document["cwd"] = folder
        data = json.dumps(document).encode()
    # Plugins are imported for this, and one may print.
    with redirect_stdout(sys.stderr):
        explained = explain_call(app, document, session)
    if payload is not None and explained["payload"]["errors"] and not execute:
        raise CommandError(
            f"the payload does not fit {explained['event']}: {'; '.join(explained['payload']['errors'])}"
        )
    result = None
    if execute:
        try:
            result = _executed(app, EVENT_NAMES[explained["event"]], data, document.get("cwd"), timeout)
        except KeyboardInterrupt:
            return 130
        explained["result"] = result_document(result)
    if as_json:
        echo_json(explained)
    else:
        typer.echo("\n".join(printable(line) for line in _lines(explained)))
        if result is not None:
            typer.echo("\n".join(printable(line) for line in _result_lines(explained["result"], timeout)))
    return 1 if result is not None and _is_failure(result) else 0


def _executed(app: Application, word: str, data: bytes, folder: str | None, seconds: float) -> Result:
    """Run the plugins on a copy of the state. Raises CommandError, and KeyboardInterrupt on a signal."""
    from hookrouter._sandbox.processes import ending_on_signals

    try:
        with ending_on_signals():
            return run_hook(app.home, app.environ, word, data, folder=folder, seconds=seconds)
    except OSError as error:
        raise CommandError(f"the plugins cannot be run: {error}") from None


def result_document(result: Result) -> dict[str, Any]:
    """Return what a run came to, as a program reads it; ``output`` is stdout as JSON, None if it is none."""
    kept = (
        "outcome",
        "by",
        "reason",
        "level",
        "ms",
        "tool_input_by",
        "tool_response_by",
        "warnings",
        "plugins",
        "scripts",
    )
    try:
        output = json.loads(result.stdout)
    except ValueError:
        output = None
    return {
        **{key: result.record.get(key) for key in kept},
        "exit_code": result.exit_code,
        "stdout": result.stdout,
        "output": output,
        "stderr": result.stderr,
    }


def _is_failure(result: Result) -> bool:
    return result.exit_code is None or not result.record or result.record.get("level") == "error"


def _payload(event: str, tool: str | None, file: str | None) -> tuple[dict[str, Any], bytes]:
    """Return the payload as JSON and as bytes."""
    if file is None:
        try:
            sample = find(event, tool).payload
        except ValueError as error:
            raise CommandError(str(error)) from None
        # The recorded session's folder is not here.
        sample["cwd"] = os.getcwd()
        return sample, json.dumps(sample).encode()
    record = event_facts(event)
    if record is None:
        names = [known.name for known in EVENTS.values()]
        hint = did_you_mean(event, names, "'hookrouter sample' takes the same names")
        raise CommandError(f"there is no event {event!r}; {hint}")
    try:
        if file == "-":
            data = sys.stdin.buffer.read(MAX_PAYLOAD + 1)
        else:
            with open(file, "rb") as stream:
                data = stream.read(MAX_PAYLOAD + 1)
    except OSError as error:
        raise CommandError(f"--payload {file}: {error.strerror or error}") from None
    try:
        document = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise CommandError(f"--payload {file}: not JSON: {error}") from None
    if not isinstance(document, dict) or document.get("hook_event_name") != record.name:
        found = document.get("hook_event_name") if isinstance(document, dict) else document
        raise CommandError(
            f"--payload {file}: hook_event_name: found {str(found)[:80]!r}, allowed here is {record.name!r}"
        )
    if tool is not None and document.get("tool_name") != tool:
        raise CommandError(f"--payload {file}: tool_name: found {document.get('tool_name')!r}, --tool says {tool!r}")
    return document, data


def _lines(explained: Mapping[str, Any]) -> list[str]:
    lines = [" ".join(filter(None, (explained["event"], explained["tool"])))]
    lines += [f"  payload: {fault}; the call would be refused" for fault in explained["payload"]["errors"]]
    lines += [f"  payload: {fault}" for fault in explained["payload"]["warnings"]]
    lines.append(f"  looked up: {', '.join(explained['hooks'])}")
    lines += _registration_lines(explained)
    lines.append(f"  session: {_session(explained['session'])}")
    lines += _rule_lines(explained["rule"])
    if not explained["calls"]:
        lines.append("  no plugin is called")
    for number, call in enumerate(explained["calls"], 1):
        lines.append(f"  {number}. {call['plugin']} ({call['hook']}): {_how(call)}")
        lines += [
            f"     {_script(one)}: timeout {one['timeout']:g} s, on_error {one['on_error']}" for one in call["scripts"]
        ]
    for entry in explained["not_called"]:
        lines.append(f"  not called: {entry['plugin']}, {entry['status']}: {entry['reason']}")
        if entry["refuses"]:
            lines.append("    it is set to fail closed, so the call is refused in its name")
        if entry["fix"]:
            lines.append(f"    fix: {entry['fix']}")
    return lines


def _script(script: Mapping[str, Any]) -> str:
    """Return how a script is named: its event, its matcher if it has one, and its command line."""
    matcher = f" ({script['matcher']})" if script.get("matcher") else ""
    return f"{script.get('event')}{matcher}: {' '.join((script['command'], *(script.get('args') or ())))}"


def _script_lines(scripts: object) -> list[str]:
    """Return the lines that tell of the scripts that ran, as the journal has them; other plugins may note others."""
    lines = []
    for one in scripts if isinstance(scripts, list) else ():
        if isinstance(one, dict) and isinstance(one.get("command"), str):
            lines.append(f"  {_script(one)}: {one.get('outcome')}, {one.get('ms')} ms")
            lines += [f"    {label}: {one[label]}" for label in ("says", "error") if one.get(label)]
    return lines


def _rule_lines(rule: Mapping[str, Any] | None) -> list[str]:
    if rule is None:
        return []
    where = f" of {rule['file']}" if rule["file"] else ""
    by = f"by {rule['rule']}{where}" if rule["rule"] else "no rule is about all of it"
    doubts = f"; not certain: {', '.join(rule['uncertain'])}" if rule["uncertain"] else ""
    return [f"  rules: {rule['decide']}, {by}{doubts} (hookrouter rules check shows each part)"]


def _registration_lines(explained: Mapping[str, Any]) -> list[str]:
    if explained["hooks_disabled"]:
        return [f"  started by: nothing, disableAllHooks is true in {', '.join(explained['hooks_disabled'])}"]
    if explained["registered"]:
        return [
            f"  started by: {entry['file']}" + (f", matcher {entry['matcher']}" if entry["matcher"] else "")
            for entry in explained["registered"]
        ]
    if explained["needed"]:
        return ["  started by: nothing, no settings.json registers hookrouter for this call; fix: hookrouter install"]
    if explained["calls"]:
        event, hook = explained["event"], explained["hooks"][0]
        why = f"a hook of {event} takes the place of what Claude Code does itself"
        return [
            f"  started by: nothing; {why}: not raw_event is registered for it, but a plugin that implements {hook}"
        ]
    return ["  started by: nothing, and no plugin listens"]


def _session(session: Mapping[str, Any]) -> str:
    if session["agent"] is None:
        return f"{session['name']} in {session['cwd']}, which no [[agents]] entry of config.toml manages"
    gateways = " then ".join([session["gateway"], *session["fallbacks"]])
    managed = f"{session['name']} in {session['cwd']}, managed by agent {session['agent']} through {gateways}"
    return f"{managed}; {session['paused']}" if session["paused"] else managed


def _how(call: Mapping[str, Any]) -> str:
    is_last = call["place"] == LAST
    facts = [f"a wrapper around those {'above' if is_last else 'below'} it"] if call["wrapper"] else []
    if is_last:
        facts.append("in last, so it sees the final input")
    elif call["place"]:
        facts.append("in order")
    if call["order"]:
        facts.append(call["order"])
    if call["waits"] is not None:
        facts.append(f"waits up to {call['waits']:g} s, after all others and only if nobody has decided")
    else:
        facts.append(f"timeout {call['timeout']:g} s ({call['timeout_from']})")
    return ", ".join([*facts, f"on_error {call['on_error']}"])


def _result_lines(result: Mapping[str, Any], timeout: float) -> list[str]:
    if result["exit_code"] is None:
        return [f"run: ended, because it took longer than {timeout:g} s"]
    lines = [f"run: {result['outcome']}" + (f" by {result['by']}" if result["by"] else "") + f", {result['ms']} ms"]
    if result["reason"]:
        lines.append(f"  why: {result['reason']}")
    lines += [line for call in result["plugins"] or () for line in call_lines(call)]
    lines += _script_lines(result["scripts"])
    for part in ("tool_input", "tool_response"):
        if result[f"{part}_by"]:
            lines.append(f"  {part} changed: {json.dumps(result[f'{part}_by'])}")
    lines += [f"  warning: {warning}" for warning in result["warnings"] or ()]
    lines.append(f"answer: exit code {result['exit_code']}, {result['stdout'] or 'nothing on stdout'}")
    if result["stderr"]:
        lines.append(f"  stderr: {result['stderr'].rstrip()}")
    return lines


def call_lines(call: Mapping[str, Any]) -> list[str]:
    """Return the lines that tell of one plugin's call, as the journal has it."""
    again = ", once more" if call.get("again") else ""
    lines = [f"  {call.get('plugin')} ({call.get('hook')}{again}): {call.get('outcome')}, {call.get('ms')} ms"]
    shown_keys = {"error": "error", "left": "left changed", "saw": "saw", "reply": "says", "values": "changed"}
    for key, label in shown_keys.items():
        if call.get(key):
            value = call[key]
            shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            lines.append(f"    {label}: {shown if len(shown) <= _MAX_TEXT else shown[:_MAX_TEXT] + '…'}")
    return lines
