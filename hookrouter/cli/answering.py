"""Decides on an open dialog as ``hookrouter answer`` does, for the short commands of plugins; and their options."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any, ParamSpec, TypeVar

import typer

from hookrouter.cli.completion import open_sessions
from hookrouter.cli.dialogs.answer_command import run, told
from hookrouter.cli.dialogs.answer_request import Request
from hookrouter.cli.fleet.option import on_any_machine
from hookrouter.cli.fleet.routing import of_the_dialog
from hookrouter.cli.terminal import is_attended
from hookrouter.dialogs.answers.identity import is_person_there

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["DryRun", "Session", "ToolUseId", "Wait", "Who", "decide", "where_the_dialog_is"]

P = ParamSpec("P")
R = TypeVar("R")


def _not_empty(context: typer.Context, name: str) -> str:
    """Refuse an empty name that was typed, as of a variable that is not set: without one any session is meant."""
    source = context.get_parameter_source("session")
    if not name and source is not None and source.name == "COMMANDLINE":
        raise typer.BadParameter("it is empty; name a session, or leave it out for the one with the only open dialog")
    return name


Session = Annotated[
    str,
    typer.Option(
        "--session",
        metavar="NAME",
        help="The session that asks; without it, the session with the only open dialog.",
        autocompletion=open_sessions,
        callback=_not_empty,
    ),
]
ToolUseId = Annotated[
    str | None, typer.Option("--tool-use-id", metavar="ID", help="Decide on this dialog and no other.")
]
Wait = Annotated[float, typer.Option("--wait", metavar="SECONDS", help="How long to wait for the proof; 0: not.")]
Who = Annotated[
    str | None,
    typer.Option(
        "--as", metavar="WHO", help="Who decides: agent, person, or person:NAME. By default a person on a terminal."
    ),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Check the decision and show the plan; do nothing.")]


def where_the_dialog_is(command: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Have a command that calls :func:`decide` run on the machine of the fleet whose dialog is meant.

    It has the parameters ``session``, ``tool_use_id`` and ``as_json``, and gets the option ``--machine``.
    """
    return on_any_machine(command, of_the_dialog, told=told)


def decide(
    command: str,
    decision: Mapping[str, Any],
    session: str = "",
    tool_use_id: str | None = None,
    wait: float = 10.0,
    author: str | None = None,
    *,
    dry_run: bool = False,
    as_json: bool = False,
) -> int:
    """Decide on the dialog that the options name, write the result as ``hookrouter answer`` does, return its exit code.

    ``command`` is what was typed, for what is written on stderr; ``decision`` the one decision, as an agent gives it.
    Without ``session`` and ``tool_use_id`` the one open dialog is meant. ``wait`` is in seconds. Without ``author`` a
    person at a terminal decides, else an agent. Nothing is raised: a decision that is refused is exit code 2.
    """
    if author is None and is_person_there(at_terminal=is_attended()):
        author = "person"
    return run(
        Request(
            words=(json.dumps([decision]),),
            session=session,
            any_session=not session and tool_use_id is None,
            tool_use_id=tool_use_id,
            wait=wait,
            dry_run=dry_run,
            as_json=as_json,
            author=author,
            command=command,
        )
    )
