"""What ``hookrouter send`` does: checks every text, puts all of them into the queue or none, and waits if asked to."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from hookrouter.cli.application import Application
from hookrouter.cli.errors import CommandError
from hookrouter.cli.text_file import read_text
from hookrouter.dialogs.answers.identity import AGENT, Author
from hookrouter.dialogs.answers.result import ExitCode
from hookrouter.messaging.pauses import is_paused
from hookrouter.queue.documents import Queue, change_queue
from hookrouter.queue.editing import added, new_items
from hookrouter.queue.items import ItemError
from hookrouter.queue.spawn import start_queue
from hookrouter.queue.words import hold_line
from hookrouter.storage.interface import StoreError
from hookrouter.util.text import printable
from hookrouter_sessions.commands.authors import author_of, record
from hookrouter_sessions.commands.choosing import choose
from hookrouter_sessions.commands.outcomes import Sent, Waiting
from hookrouter_sessions.commands.showing import item_entry

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hookrouter.messaging.pauses import Pause
    from hookrouter.queue.items import Item
    from hookrouter_sessions.commands.choosing import Chosen
    from hookrouter_sessions.commands.outcomes import ItemOutcome

__all__ = ["Sending", "not_delivered", "run"]

_INTERRUPTED = 130


class Sending(NamedTuple):
    """How ``hookrouter send`` is to send; see its ``--help``."""

    session: str = ""
    any_session: bool = False
    first: bool = False
    wait: str | None = None
    timeout: float = 600.0
    author: str | None = None
    as_json: bool = False


class _Result(NamedTuple):
    outcome: str
    exit_code: int
    session: str
    reason: str = ""
    author: Author = AGENT
    sent: tuple[tuple[Sent, ItemOutcome | None], ...] = ()
    queue: Queue | None = None
    pause: Pause | None = None
    notes: tuple[str, ...] = ()
    candidates: tuple[str, ...] = ()

    def document(self) -> dict[str, Any]:
        hold = None if self.queue is None else self.queue.hold
        return {
            "ok": self.exit_code == ExitCode.OK,
            "outcome": self.outcome,
            "exit_code": self.exit_code,
            "session": self.session,
            "reason": self.reason,
            "by": self.author.by,
            "who": self.author.name,
            "items": [
                {
                    **item_entry(sent.session, sent.item),
                    "outcome": "queued" if outcome is None else outcome.outcome,
                    "outcome_reason": "" if outcome is None else outcome.reason,
                }
                for sent, outcome in self.sent
            ],
            "hold": None if hold is None else hold._asdict(),
            "paused": None if self.pause is None else self.pause._asdict(),
            "notes": list(self.notes),
            "candidates": list(self.candidates),
        }

    def lines(self) -> Iterator[str]:
        for sent, outcome in self.sent:
            said = "queued" if outcome is None else outcome.outcome.replace("_", " ")
            why = f": {outcome.reason}" if outcome is not None and outcome.reason else ""
            yield printable(f"{sent.item.id}  {said}{why}")
        if self.queue is not None and self.queue.hold is not None:
            yield f"The queue is {hold_line(self.queue.hold)}; 'hookrouter queue resume' goes on."
        if self.pause is not None:
            yield printable(f"{self.pause.described()}; 'hookrouter resume' ends that.")
        yield from (printable(f"Note: {note}.") for note in self.notes)


def run(texts: Sequence[str], file: str | None, sending: Sending) -> int:
    """Send, write the result to stdout (a failure to stderr, unless it is JSON), and return the exit code.

    Each of ``texts`` is one item, or the whole of ``file``; ``-`` alone is stdin in both.
    """
    try:
        _check(sending)
        result = _sent(_given(texts, file), sending)
    except (CommandError, ItemError) as error:
        result = _Result("invalid", ExitCode.BAD_INPUT, sending.session, str(error))
    except StoreError as error:
        result = _Result("not_delivered", ExitCode.NOT_DELIVERED, sending.session, str(error))
    return _told(result, as_json=sending.as_json)


def not_delivered(session: str, reason: str, *, as_json: bool) -> int:
    """Write that nothing was queued, and why; return the exit code."""
    return _told(_Result("not_delivered", ExitCode.NOT_DELIVERED, session, reason), as_json=as_json)


def _told(result: _Result, *, as_json: bool) -> int:
    if as_json:
        typer.echo(json.dumps(result.document()))
        return result.exit_code
    for line in result.lines():
        typer.echo(line)
    if result.reason:
        shown = printable(f"{result.outcome.replace('_', ' ')}: {result.reason}", keep_newlines=True)
        typer.echo(f"hookrouter send: {shown}", err=True)
    return result.exit_code


def _check(sending: Sending) -> None:
    """Refuse options that contradict each other. Raises CommandError."""
    if sending.session and sending.any_session:
        raise CommandError("give either --session or --any, not both")
    if not sending.session and not sending.any_session:
        raise CommandError("say which session: --session NAME, or --any for the one that has a client")
    if sending.wait not in (None, "started", "done"):
        raise CommandError(f"--wait: started or done, not {sending.wait!r}")
    if not 0 <= sending.timeout < float("inf"):
        raise CommandError("--timeout: a number of seconds, 0 or more")


def _given(texts: Sequence[str], file: str | None) -> Sequence[str]:
    """Return the texts. Raises CommandError."""
    if texts and file is not None:
        raise CommandError("give the texts either as arguments or with --file, not both")
    if file is None and tuple(texts) == ("-",):
        file = "-"
    if file is not None:
        return [read_text(file)]
    if not texts:
        raise CommandError("nothing to send: give one TEXT for each item, or --file FILE")
    return texts


def _sent(texts: Sequence[str], sending: Sending) -> _Result:
    """Send. Raises CommandError, ItemError, StoreError."""
    author = author_of(sending.author)
    items = new_items(texts, by=author.by, who=author.name)
    app = Application.from_environ()
    chosen = choose(app, sending.session, any_session=sending.any_session)
    if not chosen.session:
        return _Result(
            "not_delivered",
            ExitCode.NOT_DELIVERED,
            sending.session,
            chosen.reason,
            author,
            candidates=chosen.candidates,
        )
    session = chosen.session
    queue = change_queue(app.store, session, lambda queue: added(queue, items, first=sending.first))
    pause = is_paused(app.store, session)
    record(app, "sent", session, author, [item.id for item in items])
    if queue.hold is None and pause is None:
        start_queue(app, session)
    result = _Result(
        "queued",
        ExitCode.OK,
        session,
        author=author,
        sent=tuple((Sent(session, item), None) for item in items),
        queue=queue,
        pause=pause,
        notes=tuple(_notes(app, chosen, author)),
    )
    return result if sending.wait is None else _awaited(app, sending, result, items)


def _notes(app: Application, chosen: Chosen, author: Author) -> Iterator[str]:
    """Return what the sender has to know."""
    view = chosen.view
    cwd = "" if view is None else view.cwd
    if view is None or view.is_gone:
        yield f"no client runs in session {chosen.session} now, so nothing is delivered before one starts there"
    elif chosen.called:
        yield (
            f"the terminal session of this client is called {chosen.called} now; until its next hook it has the queue "
            "of the old name"
        )
    elif chosen.others:
        processes = ", ".join(str(one.client_pid or "unknown") for one in chosen.others)
        yield (
            f"{len(chosen.others) + 1} clients run in session {chosen.session}: this goes to process "
            f"{view.client_pid or 'unknown'}, and not to {processes}"
        )
    if app.config.agent_for(chosen.session, cwd) is None and not author.is_person:
        yield (
            f"no agent of config.toml manages session {chosen.session}: nobody is told when a turn ends there, or that "
            "its queue is held or done; look with 'hookrouter queue list' and 'hookrouter sessions'"
        )


def _awaited(app: Application, sending: Sending, result: _Result, items: Sequence[Item]) -> _Result:
    """Return the result once it is known what became of the items. Raises StoreError."""
    waiting = Waiting(app, result.session, items)
    try:
        found = waiting.wait(sending.wait or "", sending.timeout)
    except KeyboardInterrupt:
        reason = "what has not ended stays in the queue; 'hookrouter queue drop' takes it out"
        sent = tuple((one, None) for one in waiting.now())
        return result._replace(outcome="interrupted", exit_code=_INTERRUPTED, reason=reason, sent=sent)
    worst = next((outcome for _, outcome in found if not outcome.is_ok), None)
    told = worst or found[-1][1]
    last = found[-1][0]
    return result._replace(
        outcome=told.outcome,
        exit_code=told.exit_code,
        reason=told.reason,
        sent=tuple(found),
        session=last.session,
        queue=result.queue and result.queue._replace(hold=last.hold),
        pause=last.pause,
    )
