"""The short commands for people: ``hookrouter allow``, ``deny``, ``approve`` and ``revise``.

Each is a decision of ``hookrouter answer``, said in words instead of JSON.
"""

from __future__ import annotations

from typing import Annotated, Any

import typer

from hookrouter.cli.answering import DryRun, Session, ToolUseId, Wait, Who, decide, where_the_dialog_is
from hookrouter.cli.options import Json  # noqa: TC001 - typer reads it
from hookrouter.cli.text_file import read_text

__all__ = ["allow", "approve", "deny", "revise"]


@where_the_dialog_is("allow")
def allow(
    session: Session = "",
    tool_use_id: ToolUseId = None,
    tool_input: Annotated[
        str | None, typer.Option("--input", metavar="JSON", help="Give the tool this input instead of its own.")
    ] = None,
    always: Annotated[
        int | None,
        typer.Option("--always", metavar="N", help="Take the client's own proposal too that is option N."),
    ] = None,
    wait: Wait = 10.0,
    dry_run: DryRun = False,
    author: Who = None,
    as_json: Json = False,
) -> int:
    """Allow the tool call that Claude asks permission for.

    \b
    Examples:
      hookrouter allow
      hookrouter allow --session work --always 1
      hookrouter allow --input '{"command": "git push origin main"}'

    Exit codes: 0 it happened as meant; 2 refused, by the decision or a rule; 3, 4, 5: as for `hookrouter answer`.
    """
    decision: dict[str, Any] = {"action": "allow"}
    if tool_input is not None:
        from hookrouter.dialogs.decisions import DecisionError, load_json

        try:
            decision["input"] = load_json(tool_input)
        except DecisionError as error:
            raise typer.BadParameter(str(error), param_hint="--input") from None
    if always is not None:
        decision["always"] = always
    return decide("allow", decision, session, tool_use_id, wait, author, dry_run=dry_run, as_json=as_json)


@where_the_dialog_is("deny")
def deny(
    text: Annotated[list[str] | None, typer.Argument(metavar="[TEXT]", help="A message to Claude.")] = None,
    session: Session = "",
    tool_use_id: ToolUseId = None,
    stop: Annotated[bool, typer.Option("--stop", help="End Claude's turn as well.")] = False,
    wait: Wait = 10.0,
    dry_run: DryRun = False,
    author: Who = None,
    as_json: Json = False,
) -> int:
    """Refuse the tool call that Claude asks permission for, and say why.

    \b
    Examples:
      hookrouter deny "use the staging database"
      hookrouter deny --session work --stop "wait for me"

    Exit codes: 0 it happened as meant; 2 refused, by the decision or a rule; 3, 4, 5: as for `hookrouter answer`.
    """
    said = " ".join(text or ()) or "The user does not want this."
    decision = {"action": "deny", "text": said, **({"stop": True} if stop else {})}
    return decide("deny", decision, session, tool_use_id, wait, author, dry_run=dry_run, as_json=as_json)


@where_the_dialog_is("approve")
def approve(
    session: Session = "",
    tool_use_id: ToolUseId = None,
    mode: Annotated[
        str | None, typer.Option("--mode", metavar="MODE", help="The mode that follows: default, acceptEdits or auto.")
    ] = None,
    plan: Annotated[
        str | None, typer.Option("--plan", metavar="FILE", help="Put the plan in this file in place of Claude's own.")
    ] = None,
    wait: Wait = 10.0,
    dry_run: DryRun = False,
    author: Who = None,
    as_json: Json = False,
) -> int:
    """Approve the plan that Claude has made.

    \b
    Examples:
      hookrouter approve
      hookrouter approve --session work --mode acceptEdits

    Exit codes: 0 it happened as meant; 2 refused, by the decision or a rule; 3, 4, 5: as for `hookrouter answer`.
    """
    decision = {"action": "approve", **({"mode": mode} if mode is not None else {})}
    if plan is not None:
        decision["plan"] = read_text(plan, "--plan")
    return decide("approve", decision, session, tool_use_id, wait, author, dry_run=dry_run, as_json=as_json)


@where_the_dialog_is("revise")
def revise(
    text: Annotated[list[str], typer.Argument(metavar="TEXT", help="What is missing in the plan.")],
    session: Session = "",
    tool_use_id: ToolUseId = None,
    wait: Wait = 10.0,
    dry_run: DryRun = False,
    author: Who = None,
    as_json: Json = False,
) -> int:
    """Send Claude's plan back, and say what is missing.

    \b
    Examples:
      hookrouter revise "add a step for the tests"

    Exit codes: 0 it happened as meant; 2 refused, by the decision or a rule; 3, 4, 5: as for `hookrouter answer`.
    """
    decision = {"action": "revise", "text": " ".join(text)}
    return decide("revise", decision, session, tool_use_id, wait, author, dry_run=dry_run, as_json=as_json)
