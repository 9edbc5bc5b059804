"""Brings what Claude asks permission for to the session's agent: tool calls, plans and the forms of MCP servers.

``[[approvals.rules]]`` says who decides. A call that a rule gives to the agent is saved and told like a question
(:mod:`hookrouter.dialogs`), and this plugin's hook waits beside the dialog for the decision; the person at the terminal
may decide first. PostToolUse, or the transcript, says whether what was decided has happened.

This module holds the hooks only. What they need is imported when they are called.
"""

from __future__ import annotations

from hookrouter.markers import hookimpl, ruled, stateless, waits

TYPE_CHECKING = False

if TYPE_CHECKING:
    from hookrouter import events
    from hookrouter.context import Context
    from hookrouter.dialogs.kinds import DialogKind
    from hookrouter.hookspecs.commands import Command
    from hookrouter.replies import ElicitationReply, PermissionRequestReply
    from hookrouter.storage.home import DocumentKind
    from hookrouter_approvals.settings import ApprovalsSettings

__all__: list[str] = []

LONGEST_WAIT = 24 * 3600.0
"""Seconds for which a decision is waited for; ``[answer] wait`` can make it less."""


@hookimpl
@stateless
@ruled
def pre_tool_use(event: events.PreToolUse, context: Context) -> None:
    """Note the call: a permission request does not say which call it is about."""
    from hookrouter_approvals.noting import note_call

    note_call(event, context)


@hookimpl
@stateless
@ruled
@waits(LONGEST_WAIT)
def permission_request(event: events.PermissionRequest, context: Context) -> PermissionRequestReply | None:
    """Decide by the rules, or have somebody decide; None leaves the dialog as it is."""
    from hookrouter_approvals.requesting import permission_requested

    return permission_requested(event, context)


@hookimpl
@stateless
@ruled
@waits(LONGEST_WAIT)
def elicitation(event: events.Elicitation, context: Context) -> ElicitationReply | None:
    """Decide by the rules, or have somebody decide; None lets the dialog open."""
    from hookrouter_approvals.requesting import form_requested

    return form_requested(event, context)


@hookimpl
@stateless
@ruled
def elicitation_result(event: events.ElicitationResult, context: Context) -> None:
    """Note what a person has said to a form that nobody decided on in time."""
    from hookrouter_approvals.forms_left import form_answered

    form_answered(event, context)


@hookimpl
@stateless
@ruled
def post_tool_use(event: events.PostToolUse, context: Context) -> None:
    """Compare what ran with what was decided."""
    from hookrouter_approvals.ending import tool_ran

    tool_ran(event, context)


@hookimpl
@stateless
@ruled
def post_tool_use_failure(event: events.PostToolUseFailure, context: Context) -> None:
    """Compare what ran, and failed, with what was decided."""
    from hookrouter_approvals.ending import tool_ran

    tool_ran(event, context)


@hookimpl
@stateless
@ruled
def stop(event: events.Stop, context: Context) -> None:
    """Forget what was noted of the turn that has ended."""
    from hookrouter_approvals.ending import turn_ended

    turn_ended(event, context)


@hookimpl
@stateless
@ruled
def session_start(event: events.SessionStart, context: Context) -> None:
    """Forget what was noted of an earlier client in this place."""
    from hookrouter_approvals.ending import session_started

    session_started(event, context)


@hookimpl
@stateless
@ruled
def session_end(context: Context) -> None:
    """Forget what was noted of the session."""
    from hookrouter_approvals.ending import session_ended

    session_ended(context)


@hookimpl
@stateless
def cli_commands() -> list[Command]:
    """Contribute the short commands for people, and those about rules."""
    from hookrouter.hookspecs.commands import Command

    helps = {
        "allow": "Allow the tool call that Claude asks permission for.",
        "deny": "Refuse the tool call that Claude asks permission for.",
        "approve": "Approve the plan that Claude has made.",
        "revise": "Send Claude's plan back, and say what is missing.",
    }
    rules = Command(
        name="rules",
        help="Show what the permission rules do, and try them on past calls.",
        target="hookrouter_approvals.rules_command.command:app",
        group="Set up",
    )
    return [
        *(
            Command(name, told, f"hookrouter_approvals.deciding:{name}", "Answer Claude")
            for name, told in helps.items()
        ),
        rules,
    ]


@hookimpl
@stateless
def plugin_settings() -> type[ApprovalsSettings]:
    """Declare the settings."""
    from hookrouter_approvals.settings import ApprovalsSettings

    return ApprovalsSettings


@hookimpl
@stateless
def dialog_kinds() -> list[DialogKind]:
    """Contribute the kinds ``permission``, ``plan`` and ``elicitation``."""
    from hookrouter_approvals.kinds import ElicitationKind, PermissionKind, PlanKind

    return [PermissionKind(), PlanKind(), ElicitationKind()]


@hookimpl
@stateless
def document_kinds() -> list[DocumentKind]:
    """Share the forms that are left to a person."""
    from hookrouter_approvals.forms_left import LEFT

    return [LEFT]
