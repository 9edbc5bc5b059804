"""``hookrouter run`` as the help page shows it. A real run never comes here."""

from __future__ import annotations

from typing import Annotated

import typer

from hookrouter.cli.completion import event_words

__all__ = ["run"]


def run(
    event: Annotated[
        str,
        typer.Argument(
            help="The event in kebab-case, for example pre-tool-use.", metavar="EVENT", autocompletion=event_words
        ),
    ],
) -> int:
    """Handle one hook event: the payload is read from stdin, the reply is written to stdout.

    Claude Code runs this for the events that 'hookrouter install' registers. Whatever the payload is, hookrouter never
    breaks a turn by itself; what was wrong is in the journal.

    With HOOKROUTER_TRACE=1 in its environment it tells each step, with its time and what was imported: on stderr if
    that is a terminal, else in trace.log beside the journal (HOOKROUTER_TRACE=stderr: on stderr in any case). The
    journal's record then has each plugin's reply, and the payload is kept for 'hookrouter replay'.

    \b
    Examples:
      hookrouter run stop < payload.json
      hookrouter sample PreToolUse Bash | HOOKROUTER_TRACE=1 hookrouter run pre-tool-use

    \b
    Exit codes:
      0  handled, or left alone because something was wrong with the payload or the config
      1  there is no folder for hookrouter's state, because HOME is not set
      2  no EVENT was given; or a plugin blocks an event that takes no other refusal, with the reason on stderr
    """
    from hookrouter import _wiring
    from hookrouter._routing.hook_process import main

    return main([event], _wiring)
