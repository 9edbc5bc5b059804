"""``hookrouter replay``."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from hookrouter._diagnostics.replay import ReplayError, choose
from hookrouter._diagnostics.replay import replay as run_again
from hookrouter.cli.application import Application
from hookrouter.cli.errors import CommandError
from hookrouter.cli.explain import Patience, call_lines, result_document
from hookrouter.cli.options import Json, echo_json
from hookrouter.cli.terminal import BOLD, GREEN, RED, Progress, Style
from hookrouter.storage.journal_query import calls, number, size
from hookrouter.util.fields import text
from hookrouter.util.text import printable

__all__ = ["replay"]

_COLOURS = {"+": GREEN, "-": RED, "@": BOLD}


def replay(
    record: Annotated[
        str,
        typer.Argument(
            metavar="RECORD",
            help="The record's id, as 'hookrouter logs' shows it, or its first digits; last: the newest hook run.",
        ),
    ],
    for_real: Annotated[
        bool,
        typer.Option("--for-real", help="Change hookrouter's state and wake agents, as any hook run does."),
    ] = False,
    timeout: Patience = 30.0,
    as_json: Json = False,
) -> int:
    """Run a journalled hook again with the current plugins, config and environment, and compare the results.

    The run gets the payload of then. Plugins run for real, but on a copy of hookrouter's state: what they do elsewhere
    is done again, but no agent is woken and nothing is journalled, unless --for-real asks for it. Shown is a diff of
    outcome, plugins and answer from then to now.

    Payloads are kept if config.toml has payloads = true in its table [journal], or Claude Code was started with
    HOOKROUTER_TRACE=1. They hold whatever Claude and its tools read and write, are readable by you alone, and go with
    the journal.

    \b
    With --json: {"id", "event", "tool", "at", "same", "then", "now", "result"}. then and now have outcome, by, reason,
    plugins, exit_code, output and stderr; result is what came of it now with times and replies, as in
    `hookrouter explain --execute`.

    \b
    Examples:
      hookrouter replay last
      hookrouter replay 60232c894e --json | jq .same

    Exit codes: 0 the same as then; 1 different, or it took too long; 2 there is no such record, or no payload of it;
    130 interrupted.
    """
    from hookrouter._sandbox.processes import ending_on_signals

    app = Application.from_environ(share=False)
    try:
        with Progress("reading the journal", size(app.journal)) as progress:
            entry, kept = choose(app, record, progress.add)
        with ending_on_signals():
            done = run_again(app, entry, kept, for_real=for_real, seconds=timeout)
    except ReplayError as error:
        raise CommandError(str(error)) from None
    except OSError as error:
        raise CommandError(f"the plugins cannot be run: {error}") from None
    except KeyboardInterrupt:
        return 130
    diff = done.diff()
    if as_json:
        named = {key: entry.record.get(key) for key in ("event", "tool", "at", "session_id")}
        sides = {"same": not diff, "then": done.then, "now": done.now, "result": result_document(done.result)}
        echo_json({"id": entry.id, **named, **sides})
        return 1 if diff else 0
    style = Style(sys.stdout, os.environ)
    name = " ".join(filter(None, (text(entry.record, "event"), text(entry.record, "tool"))))
    then, now = (number(one, "ms") for one in (entry.record, done.result.record))
    typer.echo(printable(f"{entry.id} {name}, {_ms(then)} then, {_ms(now)} now"))
    if done.result.exit_code is None:
        typer.echo(f"it was ended, because it took longer than {timeout:g} s")
    for call in calls(done.result.record):
        typer.echo("\n".join(printable(line) for line in call_lines(call)))
    for line in diff:
        typer.echo(style(printable(line), _COLOURS.get(line[:1], "")))
    if not diff:
        typer.echo("the same as then")
    return 1 if diff else 0


def _ms(amount: float | None) -> str:
    return "an unknown time" if amount is None else f"{amount:.1f} ms"
