"""The commands ``hookrouter pause`` and ``hookrouter resume``."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Annotated

import typer

from hookrouter.cli.application import Application
from hookrouter.cli.dialogs.history import story_lines
from hookrouter.cli.fleet.option import on_any_machine
from hookrouter.cli.fleet.routing import of_session
from hookrouter.dialogs import documents
from hookrouter.dialogs.answers.choosing import session_names
from hookrouter.dialogs.messages.outgoing import wake
from hookrouter.dialogs.stories.history import history
from hookrouter.dialogs.transcript import question_state, reason_of
from hookrouter.messaging import pauses as pauses_of
from hookrouter.messaging.spawn import spawn_delivery
from hookrouter.queue.documents import list_queues
from hookrouter.queue.editing import end_hold
from hookrouter.queue.spawn import start_queue
from hookrouter.storage.interface import StoreError
from hookrouter.util.clock import local, seconds
from hookrouter.util.text import did_you_mean, printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookrouter.dialogs.columns import Story
    from hookrouter.dialogs.documents import Dialog
    from hookrouter.messaging.pauses import Pause
    from hookrouter.queue.documents import Hold

__all__ = ["missed_since", "pause", "resume"]

STOP_SECONDS = 3.0
"""How long to wait for a running answer to stop; it looks before each key."""

_Session = Annotated[str | None, typer.Option("--session", metavar="NAME", help="This session.")]
_All = Annotated[bool, typer.Option("--all", help="Every session, those that start later too.")]
_Json = Annotated[bool, typer.Option("--json", help="Write one JSON document for programs.")]


@on_any_machine("pause", of_session)
def pause(
    session: _Session = None,
    every: _All = False,
    reason: Annotated[
        str, typer.Option("--reason", metavar="TEXT", help="Why; shown wherever the pause is in the way.")
    ] = "",
    as_json: _Json = False,
) -> int:
    """Keep hookrouter out of a session, or of all: nobody is woken, nothing is delivered, nothing is answered.

    While a session is paused its questions are left to the person at its terminal. They are noted as missed, and their
    agent is not woken; messages that wait for the session's agent stay in the outbox, reminders too; `hookrouter
    answer` refuses (exit code 4, outcome "paused"), and one that is running stops before its next key. This command
    waits a moment for that, and says where an answer still runs. Other plugins, such as guards, are not paused.

    A pause lasts until `hookrouter resume`. Pausing what is paused changes only its reason. A session that is not known
    yet is paused with a warning; one that no agent could ever manage is refused. Of machines that share an engine, the
    one that knows the session does it; --all means the sessions of this one.

    \b
    Examples:
      hookrouter pause --session work --reason "I am at the keyboard"
      hookrouter pause --all

    Exit codes: 0 paused; 1 the state folder cannot be written; 2 wrong arguments.
    """
    if problem := _problem(session, every):
        return _fail("pause", problem, 2)
    app = Application.from_environ()
    try:
        if session is not None and (unknown := _unknown(app, session)):
            if not app.config.may_manage(session):
                return _fail("pause", f"{unknown}, and no agent of config.toml manages one of this name", 2)
            typer.echo(printable(f"hookrouter pause: warning: {unknown}; it is paused anyway"), err=True)
        begun = pauses_of.begin(app.store, session, reason)
        running = _still_running(app, session)
    except StoreError as error:
        return _fail("pause", str(error), 1)
    _record(app, "paused", begun)
    if as_json:
        busy = [{"session": question.session, "tool_use_id": question.tool_use_id} for question in running]
        typer.echo(json.dumps({"paused": begun._asdict(), "still_answering": busy}, indent=2))
        return 0
    typer.echo(printable(_sentence(begun.described())))
    for question in running:
        what = f"an answer to {question.tool_use_id} in session {question.session} is still running"
        typer.echo(printable(f"{what}: it waits for what Claude Code records, or has yet to look"))
    return 0


@on_any_machine("resume", of_session)
def resume(session: _Session = None, every: _All = False, as_json: _Json = False) -> int:
    """End a pause, and the hold of a session's queue; list what was missed.

    Questions that were asked during the pause and are still open are listed, and their agents are woken now. Those that
    are over are listed with what became of them: answered by a person, declined, or left when the session ended.
    Messages that the outbox held back are delivered, and so are the items queued by `hookrouter send`.

    A session that is paused by --all is resumed by --all only, which ends every pause there is, and every hold of a
    queue. Of machines that share an engine, the one that knows the session does it; --all means this one.

    \b
    Examples:
      hookrouter resume --session work
      hookrouter resume --all --json

    With --json: {"resumed": [...], "missed": [...], "woken": [...], "released": [...]}; "missed" has what `hookrouter
    history --json` has, "released" session and hold of the queues that continue.

    Exit codes: 0 resumed; 1 it was not paused and its queue not held, or the state folder cannot be written; 2 wrong
    arguments.
    """
    if problem := _problem(session, every):
        return _fail("resume", f"{problem}; {_listing(Application.from_environ())}", 2)
    app = Application.from_environ()
    try:
        missed = missed_since(app, [one for one in pauses_of.pauses(app.store) if session in (None, one.session)])
        ended = pauses_of.end(app.store, session)
        released = _release(app, session)
        woken = _wake_missed(app)
    except StoreError as error:
        return _fail("resume", str(error), 1)
    for one in ended:
        _record(app, "resumed", one)
    _deliver(app)
    _deliver_queues(app, session)
    if not ended and not woken and not released:
        what = "nothing" if session is None else f"session {session} itself"
        return _fail("resume", f"{what} is {'' if session is None else 'not '}paused; {_listing(app)}", 1)
    if as_json:
        done = [one._asdict() for one in ended]
        names = [{"session": question.session, "tool_use_id": question.tool_use_id} for question in woken]
        holds = [{"session": name, "hold": hold._asdict()} for name, hold in released]
        typer.echo(json.dumps({"resumed": done, "missed": missed, "woken": names, "released": holds}, indent=2))
        return 0
    for one in ended:
        what = "every session" if one.session is None else f"session {one.session}"
        typer.echo(
            printable(f"Resumed {what}, paused since {local(one.since)}{f' ({one.reason})' if one.reason else ''}.")
        )
    for name, hold in released:
        still = pauses_of.is_paused(app.store, name)
        now = "goes on" if still is None else f"is not held any more, but {still.described()}"
        typer.echo(printable(f"The queue of session {name} {now}; it was held ({hold.cause}): {hold.reason}"))
    if ended or woken:
        typer.echo(f"Asked during the pause: {len(missed) or 'nothing'}")
    for story in missed:
        typer.echo("\n".join(f"  {line}" for line in story_lines(story)))
    for question in woken:
        typer.echo(printable(f"Agent {question.agent} is woken for {question.tool_use_id} in {question.session}."))
    return 0


def missed_since(app: Application, pauses: Sequence[Pause]) -> list[Story]:
    """Return what became of the questions that were asked during these pauses, as ``history`` tells it."""
    begun = [moment for one in pauses if (moment := seconds(one.since)) is not None]
    if not begun:
        return []
    found = []
    for story in history(app.journal, app.store, since=min(begun)):
        asked_at = story["asked_at"] or ""
        if story["missed"] and any(one.session in (None, story["session"]) and asked_at >= one.since for one in pauses):
            found.append(story)
    return found


def _problem(session: str | None, every: bool) -> str:
    if session is not None and every:
        return "give either --session NAME or --all, not both"
    if not session and not every:
        return "say what: --session NAME or --all"
    return ""


def _unknown(app: Application, session: str) -> str:
    """Return that no session of this name is known, with the one that may be meant; empty if it is known."""
    names = session_names(app)
    if session in names or any(one.session == session for one in pauses_of.pauses(app.store)):
        return ""
    hint = did_you_mean(session, sorted(names))
    return f"no session {session} is known{f', {hint}' if hint else ''}".rstrip("?")


def _listing(app: Application) -> str:
    try:
        found = pauses_of.pauses(app.store)
    except StoreError as error:
        return str(error)
    return "; ".join(one.described() for one in found) if found else "no session is paused"


def _still_running(app: Application, session: str | None) -> list[Dialog]:
    """Return the questions that are still being answered after a moment."""
    deadline = time.monotonic() + STOP_SECONDS
    questions = documents.list_questions(app.store)
    while True:
        running = [
            question
            for question in questions
            if session in (None, question.session) and documents.is_being_answered(app.store, question)
        ]
        if not running or time.monotonic() >= deadline:
            return running
        time.sleep(0.05)


def _wake_missed(app: Application) -> list[Dialog]:
    """Wake the agents of all missed questions whose sessions are not paused any more; return those questions."""
    woken = []
    for question in documents.list_questions(app.store):
        if not question.missed or not question.agent or pauses_of.is_paused(app.store, question.session) is not None:
            continue
        # Over already; the session's next event notes it.
        state = question_state(question.transcript_path, question.tool_use_id)
        if reason_of(state) or documents.is_client_gone(question):
            continue
        if documents.wake_missed(app.store, question, lambda one: wake(one, app)):
            woken.append(question)
    return woken


def _deliver(app: Application) -> None:
    app.outbox.look_again()
    try:
        if app.outbox.count():
            spawn_delivery(app.environ, app.home)
    except OSError as error:
        app.warn(f"no deliverer could be started: {error}")


def _release(app: Application, session: str | None) -> list[tuple[str, Hold]]:
    """End what holds the queue of a session, or of all; return by session what it was. Raises StoreError."""
    names = [queue.session for queue in list_queues(app.store) if queue.hold and session in (None, queue.session)]
    return [(name, hold) for name in names if (hold := end_hold(app.store, name)) is not None]


def _deliver_queues(app: Application, session: str | None) -> None:
    """Go on with the queues of a session, or of all, that nothing keeps from it any more."""
    try:
        for queue in list_queues(app.store):
            if not queue.items or queue.hold is not None or session not in (None, queue.session):
                continue
            if pauses_of.is_paused(app.store, queue.session) is None:
                start_queue(app, queue.session)
    except StoreError as error:
        app.warn(f"the queues could not be read: {error}")


def _record(app: Application, outcome: str, one: Pause) -> None:
    record = {"level": "info", "event": "pause", "outcome": outcome, "session": one.session, "since": one.since}
    app.journal.write({**record, "reason": one.reason}, None)


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _fail(command: str, text: str, code: int) -> int:
    typer.echo(printable(f"hookrouter {command}: {text}"), err=True)
    return code
