"""The command ``hookrouter send``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from hookrouter.cli.fleet.option import SeveralMachinesError, on_any_machine
from hookrouter.cli.fleet.routing import of_session
from hookrouter.cli.options import Json  # noqa: TC001 - typer reads it
from hookrouter_sessions.commands.options import File, Who, known_sessions

if TYPE_CHECKING:
    from hookrouter.cli.fleet.option import Call

__all__ = ["send"]


def _told(call: Call, error: Exception) -> int | None:
    """Say as this command does that several machines have such a session; return the exit code."""
    if not isinstance(error, SeveralMachinesError):
        return None
    from hookrouter_sessions.commands.sending import not_delivered

    return not_delivered(call.options["session"], str(error), as_json=call.options["as_json"])


@on_any_machine("send", of_session, told=_told)
def send(
    texts: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[TEXT...]",
            help="Each is one item: a prompt, a /command, or ! with a command for the shell; - alone is stdin.",
        ),
    ] = None,
    session: Annotated[
        str,
        typer.Option(
            "--session",
            metavar="NAME",
            help="The session; auto: the only one with a client, if no session has that name.",
            autocompletion=known_sessions,
        ),
    ] = "",
    any_session: Annotated[bool, typer.Option("--any", help="The only session with a client.")] = False,
    file: File = None,
    first: Annotated[bool, typer.Option("--next", help="Put them at the front of the queue, in this order.")] = False,
    wait: Annotated[
        str | None,
        typer.Option(
            "--wait",
            metavar="started|done",
            help="Wait until each is proven to be submitted, or until what it began has ended.",
        ),
    ] = None,
    timeout: Annotated[float, typer.Option("--timeout", metavar="SECONDS", help="How long to wait at most.")] = 600.0,
    author: Who = None,
    as_json: Json = False,
) -> int:
    """Put prompts and commands into a session's queue; they are submitted one by one, each when the session is idle.

    Nothing is queued unless every text can be. The ends of a text are trimmed, as Claude Code trims them; control
    characters are refused. A text of several lines is one prompt. What is submitted is proven by an event or a record
    of Claude Code, and nothing is submitted twice. A person at the session's terminal comes first: what they type
    holds the queue.

    A session that is paused, or whose queue is held, still takes items, and this says so; `hookrouter resume` continues
    it. A session that no agent manages has a queue too; then nobody is told of it.

    \b
    Exit codes, and "outcome" in the --json result:
      0  queued         without --wait
         started        with --wait started: each was proven to be submitted, exactly as it is
         done           with --wait done: and what it began has ended
      1  failed         it was submitted, and what it began ended in an error
      2  invalid        a text or an argument is refused, with the reason: nothing was queued
      3  different      something else was submitted in its place
      4  not_delivered  no such session; it was dropped, or could not be submitted
         held           it waits, and the queue is held
         paused         it waits, and the session is paused
      5  not_confirmed  nothing has proven it in time; it may still be submitted
      130  interrupted  while this waited; the items stay in the queue

    \b
    Of several items the first one that is not as wanted decides. With --json, the result has ok, outcome, exit_code,
    session, reason, by, who, items (each with id, kind, text, state, times, channel, proof, outcome), hold, paused,
    notes (what the sender has to know) and candidates (if it is not known which session is meant).

    \b
    Examples:
      hookrouter send --session work "run the tests and fix what fails"
      hookrouter send --session work --next /clear "/gsd:plan-phase 3"
      hookrouter send --session work --wait done --timeout 900 '!make test'
      hookrouter send --any --file prompt.md --json
    """
    from hookrouter_sessions.commands.sending import Sending, run

    return run(
        texts or (),
        file,
        Sending(
            session=session,
            any_session=any_session,
            first=first,
            wait=wait,
            timeout=timeout,
            author=author,
            as_json=as_json,
        ),
    )
