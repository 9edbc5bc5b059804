"""What a client asks permission for, or fills in, and of which nothing could be saved: the disk was full.

The transcript shows the calls that have no result. Which of them the client asks about is certain if there is but one,
or if one alone has the dialog that is on the screen. What an MCP server asks stands in no transcript: only that its
call runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter import events
from hookrouter.answering.interfaces import AskedDialog, keystroke_planners
from hookrouter.dialogs.messages.answer_schema import action_schema
from hookrouter.dialogs.messages.ways import way
from hookrouter.dialogs.opening import Opening
from hookrouter.dialogs.transcript import open_calls, subagents_of
from hookrouter.dialogs.waiting import may_wait
from hookrouter.sessions.running_clients import INPUT_NEEDED, PERMISSION_PROMPT
from hookrouter.terminals import TerminalError, terminal_backends
from hookrouter_approvals.calls import note_unsaved
from hookrouter_approvals.forms_left import forms_left
from hookrouter_approvals.names import ELICITATION, PERMISSION, PLAN, QUESTION_TOOL
from hookrouter_approvals.requesting import PLAN_TOOL, is_decidable, placed, ruled
from hookrouter_approvals.requests import permission_request, plan_request
from hookrouter_approvals.rules import AGENT, PERSON

if TYPE_CHECKING:
    from hookrouter.dialogs.kinds import Stalled
    from hookrouter.dialogs.transcript import OpenCall

__all__ = ["unsaved_call", "unsaved_form"]

_SUBAGENT_TOOLS = ("Agent", "Task")
"""The tools whose calls have no result as long as a subagent works (``Task`` before 2.1.63)."""

_LEAVE = {"label": "Leave it to a person", "description": "it can only be answered at the session's terminal"}


def unsaved_call(stalled: Stalled) -> Opening | None:
    """Return the permission, or the plan, that a session waits for and that a rule gives to somebody; None for none.

    All calls that the transcript shows open are noted then, as their hooks would have. Raises StoreError.
    """
    calls, context = _open_calls(stalled), stalled.context
    call = _asked_about(calls, stalled)
    if call is None or call.tool == QUESTION_TOOL:
        return None
    found = ruled(context, call.tool, call.tool_input)
    if found is None or found.decide not in (AGENT, PERSON) or not is_decidable(context):
        return None
    note_unsaved(calls, context)
    event = events.PermissionRequest.from_json(
        {
            "session_id": context.session_id,
            "cwd": context.cwd,
            "hook_event_name": "PermissionRequest",
            "tool_name": call.tool,
            "tool_input": call.tool_input,
            **({"agent_id": call.agent_id} if call.agent_id else {}),
        }
    )
    build = plan_request if call.tool == PLAN_TOOL else permission_request
    return placed(build(event, call.tool_use_id, found.rule, context.config.approvals.rules), found, context)


def unsaved_form(stalled: Stalled) -> Opening | None:
    """Return that a server's form is open which a rule gives to the session's agent; None if none is.

    Nobody but the person at the terminal can answer it: what it asks was not saved. Raises StoreError.
    """
    context, calls = stalled.context, _open_calls(stalled)
    asking = [call for call in calls if call.tool.startswith("mcp__") and call.tool.count("__") > 1]
    if stalled.waiting_for != INPUT_NEEDED or not asking or any(call.tool == QUESTION_TOOL for call in calls):
        return None
    # The servers whose calls run; mostly it is one.
    for call in asking:
        server = call.tool.split("__")[1]
        found = ruled(context, "Elicitation", {"server": server})
        if found is None or found.decide not in (AGENT, PERSON) or not may_wait(context) or forms_left(context):
            continue
        text = (
            f"The MCP server {server} asks something. It could not be saved when it was asked, so only a person can "
            "answer it, at the session's terminal."
        )
        opening = Opening(
            tool_use_id=f"{ELICITATION}_{call.tool_use_id}",
            questions=[{"header": server, "question": text, "multiSelect": False, "options": [_LEAVE]}],
            agent_id=call.agent_id,
            kind=ELICITATION,
            request={
                "server": server,
                "unsaved": True,
                "rule": found.rule,
                "how": [way("", "nothing: what the server asks could not be saved; a person has to, at the terminal")],
                "answer_schema": action_schema(
                    {"submit": {"content": {"type": "object"}}, "decline": {}, "cancel": {}}
                ),
            },
        )
        return placed(opening, found, context)
    return None


def _open_calls(stalled: Stalled) -> list[OpenCall]:
    path = stalled.transcript_path
    agents = ["", *subagents_of(path)]
    found = [call for agent_id in agents for call in open_calls(path, agent_id)]
    return [call for call in found if call.tool not in _SUBAGENT_TOOLS]


def _asked_about(calls: list[OpenCall], stalled: Stalled) -> OpenCall | None:
    """Return the call whose dialog the client shows; None if that is not certain."""
    # A session whose call runs may wait for something else, such as the form of a server.
    if len(calls) > 1 or stalled.waiting_for != PERMISSION_PROMPT:
        calls = _on_screen(calls, stalled)
    return calls[0] if len(calls) == 1 else None


def _on_screen(calls: list[OpenCall], stalled: Stalled) -> list[OpenCall]:
    context = stalled.context
    planner = keystroke_planners(context.plugins).get(context.config.answer.planner)
    address = context.terminal
    backend = None if address is None else terminal_backends(context.plugins).get(address.backend)
    if address is None or backend is None or planner is None:
        return []
    try:
        screen = backend.capture(address)
    except TerminalError:
        return []
    asked = [(call, _asked(call, context.project)) for call in calls]
    return [call for call, one in asked if one.kind in planner.kinds and planner.read_dialog(screen, one).shown]


def _asked(call: OpenCall, folder: str) -> AskedDialog:
    kind, action = (PLAN, "approve") if call.tool == PLAN_TOOL else (PERMISSION, "allow")
    return AskedDialog(kind, {"tool": call.tool, "input": call.tool_input}, {"action": action}, folder)
