"""What ``hookrouter sessions`` does: lists them once, or stays and tells of changes."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hookrouter.cli.application import Application
from hookrouter.cli.errand import refuse_endless
from hookrouter.cli.fleet.asking import Kept, echo_others, with_others
from hookrouter.cli.fleet.option import on_any_machine
from hookrouter.cli.options import Json, echo_json
from hookrouter.queue.overview import overview, overview_elsewhere
from hookrouter.sessions.records import read_record, watch_records
from hookrouter.storage.interface import StoreError
from hookrouter.util.clock import local
from hookrouter.util.folder_watch import wait_while_read
from hookrouter.util.text import printable
from hookrouter_sessions.commands.options import known_sessions
from hookrouter_sessions.commands.showing import session_entry, session_lines

if TYPE_CHECKING:
    from hookrouter.queue.overview import SessionView
    from hookrouter.storage.interface import DocumentStore

__all__ = ["sessions"]

_LOOK_SECONDS = 1.0
"""How often to look although no hook has told of anything: the registry, a queue, a pause."""

_Key = tuple[str, int]


@on_any_machine("sessions")
def sessions(
    session: Annotated[
        str | None,
        typer.Option("--session", metavar="NAME", help="Only this session.", autocompletion=known_sessions),
    ] = None,
    to_watch: Annotated[
        bool, typer.Option("--watch", help="Keep running, and print a session again whenever it changes.")
    ] = False,
    every: Annotated[bool, typer.Option("--all", help="Also those whose client has ended long ago.")] = False,
    advice: Annotated[
        bool,
        typer.Option("--guidance", help="Show the advice on how to judge a finished turn, which an agent gets once."),
    ] = False,
    as_json: Json = False,
) -> int:
    """List the known sessions, and what each is doing.

    Of each session: its name; what it does and since when; the model and how much of its context is used; its folder;
    its agent; how much waits in its queue, what is under way and what holds it; a pause; the first line of what Claude
    said last. It is idle, busy, waiting (and for what: question, permission, plan, elicitation, blocked, or what Claude
    Code calls it), limited (until when, if that is known), stopped (its last turn ended in an error), gone (its client
    has ended; left out after an hour) or unknown (its client does not tell).

    This is weighed from hooks, from Claude Code's own registry of sessions and from the dialogs that are open. How much
    of the context is used is shown in percent only if the size of the model's window is known.

    With --watch this runs until it is interrupted (exit code 130) or nobody reads its output any more: first every
    session, then each again whenever its state, queue, hold, pause or model changes. With --json each line then is a
    JSON document: "event" is "session", or "left" for one that is not listed any more.

    \b
    With --json: {"sessions": [...]}, each with session, session_id, state, since, waiting_for, limited_until, error
    (of one that is stopped or limited), context (tokens, window, percent; the last two are null if the window is not
    known), model, cwd, permission_mode, client_pid, terminal, queue (length, under_way, hold), paused, agent,
    last_message and background. What is not known is null.

    With --guidance nothing is listed: the advice on how to judge a finished turn is shown, for the project of the
    session, or of the current folder.

    \b
    Examples:
      hookrouter sessions
      hookrouter sessions --json | jq -r '.sessions[] | select(.state == "idle") | .session'
      hookrouter sessions --watch --json | while read -r event; do ...; done

    Exit codes: 0 listed; 1 the state folder cannot be read; 2 wrong arguments.
    """
    if advice:
        return _show_guidance(session)
    return _list_sessions(session, every=every, to_watch=to_watch, as_json=as_json)


def _list_sessions(session: str | None, *, every: bool, to_watch: bool, as_json: bool) -> int:
    """List the sessions, or those of one name; return the exit code."""
    app = Application.from_environ()
    try:
        if to_watch:
            refuse_endless("sessions --watch")
            return _watch(app, session, every=every, as_json=as_json)
        found = [view for view in overview(app, every=every) if session in (None, view.session)]
    except (StoreError, OSError) as error:
        typer.echo(f"hookrouter sessions: {printable(str(error))}", err=True)
        return 1

    def elsewhere(store: DocumentStore) -> list[SessionView]:
        return [view for view in overview_elsewhere(app, store, every=every) if session in (None, view.session)]

    kept = Kept(
        lambda store: {"sessions": [session_entry(view) for view in elsewhere(store)]},
        lambda store: [line for view in elsewhere(store) for line in session_lines(view)],
    )
    words = ["sessions", *([] if session is None else [f"--session={session}"]), *(["--all"] if every else [])]
    if as_json:
        document = {"sessions": [session_entry(view) for view in found]}
        echo_json(with_others(app, document, [*words, "--json"], ["sessions"], kept=kept))
        return 0
    names = [view.session for view in found if not view.is_gone]
    for view in found:
        for line in session_lines(view, is_one_of_several=not view.is_gone and names.count(view.session) > 1):
            typer.echo(line)
    if not found:
        typer.echo("No session is known." if session is None else printable(f"No session {session} is known."))
    echo_others(app, words, kept=kept)
    return 0


def _show_guidance(session: str | None) -> int:
    """Show the advice for the project of a session, or of the current folder; return the exit code."""
    from hookrouter.queue.messages.guidance import guidance

    app = Application.from_environ()
    try:
        record = None if session is None else read_record(app.store, session)
    except StoreError as error:
        typer.echo(f"hookrouter sessions: {printable(str(error))}", err=True)
        return 1
    typer.echo(printable(guidance(app, os.getcwd() if record is None else record.cwd), keep_newlines=True))
    return 0


def _watch(app: Application, session: str | None, *, every: bool, as_json: bool) -> int:
    """Write each session, and again when it changes. Raises StoreError."""
    try:
        with watch_records(app.store) as changes:
            shown: dict[_Key, object] = {}
            while True:
                shown = _told(app, session, shown, every=every, as_json=as_json)
                wait_while_read(changes, _LOOK_SECONDS)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # What the interpreter still holds for stdout must not fail again when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _told(
    app: Application, session: str | None, shown: dict[_Key, object], *, every: bool, as_json: bool
) -> dict[_Key, object]:
    """Tell of what is not as it was shown; return what is shown now. Raises StoreError."""
    found = {(view.session, view.client_pid): view for view in overview(app, every=every)}
    views = {key: view for key, view in found.items() if session in (None, view.session)}
    for key, view in views.items():
        if shown.get(key) != _mark(view):
            _write(view, as_json=as_json)
    for name, _ in [key for key in shown if key not in views]:
        _say({"event": "left", "session": name}, [printable(f"{local()}  {name} is not listed any more")], as_json)
    return {key: _mark(view) for key, view in views.items()}


def _mark(view: SessionView) -> object:
    """Return what is compared: what a session does and what waits, and not what each answer changes."""
    return (view.session_id, view.state, view.model, view.queue, view.pause, view.agent, view.cwd)


def _write(view: SessionView, *, as_json: bool) -> None:
    first, *others = session_lines(view)
    _say({"event": "session", **session_entry(view)}, [f"{local()}  {first}", *others], as_json)


def _say(event: dict[str, Any], lines: list[str], as_json: bool) -> None:
    for line in [json.dumps(event)] if as_json else lines:
        sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
