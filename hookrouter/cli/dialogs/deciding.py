"""The short commands for people: ``hookrouter allow``, ``deny``, ``approve`` and ``revise``.

Each is a decision of ``hookrouter answer``, said in words instead of JSON.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hookrouter.cli.dialogs.commands import open_sessions
from hookrouter.cli.options import Machine  # noqa: TC001 - typer reads it

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["allow", "approve", "deny", "revise"]

_Session = Annotated[
    str,
    typer.Option(
        "--session",
        metavar="NAME",
        help="The session that asks; without it, whichever has the one open dialog.",
        autocompletion=open_sessions,
    ),
]
_ToolUseId = Annotated[
    str | None, typer.Option("--tool-use-id", metavar="ID", help="Decide on this dialog and no other.")
]
_Wait = Annotated[float, typer.Option("--wait", metavar="SECONDS", help="How long to wait for the proof; 0: not.")]
_As = Annotated[
    str | None,
    typer.Option(
        "--as", metavar="WHO", help="Who decides: agent, person, or person:NAME. By default a person on a terminal."
    ),
]
_Json = Annotated[bool, typer.Option("--json", help="Write one JSON document for programs.")]
_DryRun = Annotated[bool, typer.Option("--dry-run", help="Check the decision and show the plan; do nothing.")]


def allow(
    session: _Session = "",
    tool_use_id: _ToolUseId = None,
    tool_input: Annotated[
        str | None, typer.Option("--input", metavar="JSON", help="Have the tool get this, in place of its whole input.")
    ] = None,
    always: Annotated[
        int | None,
        typer.Option("--always", metavar="N", help="Take the client's own proposal too that is option N."),
    ] = None,
    wait: _Wait = 10.0,
    dry_run: _DryRun = False,
    author: _As = None,
    machine: Machine = None,
    as_json: _Json = False,
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
    return _decide("allow", decision, session, tool_use_id, wait, author, machine, dry_run=dry_run, as_json=as_json)


def deny(
    text: Annotated[list[str] | None, typer.Argument(metavar="[TEXT]", help="What Claude is told.")] = None,
    session: _Session = "",
    tool_use_id: _ToolUseId = None,
    stop: Annotated[bool, typer.Option("--stop", help="End Claude's turn as well.")] = False,
    wait: _Wait = 10.0,
    dry_run: _DryRun = False,
    author: _As = None,
    machine: Machine = None,
    as_json: _Json = False,
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
    return _decide("deny", decision, session, tool_use_id, wait, author, machine, dry_run=dry_run, as_json=as_json)


def approve(
    session: _Session = "",
    tool_use_id: _ToolUseId = None,
    mode: Annotated[
        str | None, typer.Option("--mode", metavar="MODE", help="The mode that follows: default, acceptEdits or auto.")
    ] = None,
    plan: Annotated[
        str | None, typer.Option("--plan", metavar="FILE", help="Put the plan in this file in place of Claude's own.")
    ] = None,
    wait: _Wait = 10.0,
    dry_run: _DryRun = False,
    author: _As = None,
    machine: Machine = None,
    as_json: _Json = False,
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
        try:
            with open(plan, encoding="utf-8") as file:
                decision["plan"] = file.read()
        except (OSError, ValueError) as error:
            raise typer.BadParameter(f"{plan}: {error}", param_hint="--plan") from None
    return _decide("approve", decision, session, tool_use_id, wait, author, machine, dry_run=dry_run, as_json=as_json)


def revise(
    text: Annotated[list[str], typer.Argument(metavar="TEXT", help="What is missing in the plan.")],
    session: _Session = "",
    tool_use_id: _ToolUseId = None,
    wait: _Wait = 10.0,
    dry_run: _DryRun = False,
    author: _As = None,
    machine: Machine = None,
    as_json: _Json = False,
) -> int:
    """Send Claude's plan back, and say what is missing.

    \b
    Examples:
      hookrouter revise "add a step for the tests"

    Exit codes: 0 it happened as meant; 2 refused, by the decision or a rule; 3, 4, 5: as for `hookrouter answer`.
    """
    decision = {"action": "revise", "text": " ".join(text)}
    return _decide("revise", decision, session, tool_use_id, wait, author, machine, dry_run=dry_run, as_json=as_json)


def _decide(
    command: str,
    decision: dict[str, Any],
    session: str,
    tool_use_id: str | None,
    wait: float,
    author: str | None,
    machine: str | None,
    *,
    dry_run: bool,
    as_json: bool,
) -> int:
    from hookrouter.cli.dialogs.answer_command import run
    from hookrouter.cli.dialogs.answer_request import Request
    from hookrouter.cli.dialogs.person.asking import Terminal
    from hookrouter.dialogs.answers.identity import is_person_there

    if author is None and is_person_there(at_terminal=Terminal.here(os.environ).can_ask):
        author = "person"
    words: Sequence[str] = (json.dumps([decision]),)
    return run(
        Request(
            words=words,
            session=session,
            any_session=not session and tool_use_id is None,
            tool_use_id=tool_use_id,
            wait=wait,
            dry_run=dry_run,
            as_json=as_json,
            author=author,
            command=command,
            machine=machine,
        )
    )
