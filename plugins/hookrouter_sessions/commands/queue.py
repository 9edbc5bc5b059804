"""The commands of ``hookrouter queue``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from hookrouter.cli.application import Application
from hookrouter.cli.errors import CommandError
from hookrouter.cli.fleet.option import on_any_machine
from hookrouter.cli.fleet.routing import of_items, of_session
from hookrouter.cli.options import Json, echo_json
from hookrouter.cli.text_file import read_text
from hookrouter.messaging.pauses import is_paused
from hookrouter.queue import editing
from hookrouter.queue.documents import end_many, ended_items, list_queues, read_queue
from hookrouter.util.text import printable
from hookrouter_sessions.commands.authors import author_of, record, words_of
from hookrouter_sessions.commands.changing import (
    changed,
    found_item,
    found_items,
    guarded,
    refuse,
    session_of,
    tell,
    tell_item,
)
from hookrouter_sessions.commands.options import AnySession, File, ItemId, ItemIds, OfSession, Who, item_ids

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookrouter.messaging.pauses import Pause
    from hookrouter.queue.documents import Queue
    from hookrouter.queue.items import Item
    from hookrouter.storage.interface import DocumentStore

__all__ = ["app"]

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    help="Show and change the prompts and commands queued for sessions.",
)


@app.command("list")
@on_any_machine("queue list")
def list_items(
    session: AnySession = None,
    every: Annotated[bool, typer.Option("--all", help="Also the items that have ended, of the last 14 days.")] = False,
    as_json: Json = False,
) -> None:
    """List the queues, with their items in the order of delivery, and what holds each.

    An item is queued, delivering (its delivery has begun), started (proven to be submitted), and then done, failed or
    dropped.

    With --json: {"queues": [...], "ended": [...]}; a queue has session, session_id, items, hold and paused; an item has
    id, kind, text, by, who, state, queued_at, delivering_at, started_at, ended_at, channel, proof and reason. "ended"
    is empty without --all. Of machines that share an engine, all are listed: a queue and an item that has ended then
    have machine, and machine_away for what a machine that cannot be asked had written; "machines" has the problem of
    each.

    \b
    Examples:
      hookrouter queue list --session work
      hookrouter queue list --all --json

    \b
    Exit codes:
      0  listed, even if there is nothing
      2  wrong arguments, or the state folder cannot be read
    """
    from hookrouter.cli.fleet.asking import Kept, echo_others, with_others

    services = Application.from_environ()
    kept = Kept(
        lambda store: _listed(store, session, every=every).document(),
        lambda store: _listed(store, session, every=every).lines(),
    )
    listed = guarded(lambda: _listed(services.store, session, every=every))
    options = [*([] if session is None else [f"--session={session}"]), *(["--all"] if every else [])]
    words = ["queue", "list", *options]
    if as_json:
        echo_json(with_others(services, listed.document(), [*words, "--json"], ["queues", "ended"], kept=kept))
        return
    for line in listed.lines():
        typer.echo(line)
    if not listed.queues:
        typer.echo("no queue holds anything" if session is None else printable(f"{session}: nothing waits"))
    echo_others(services, words, kept=kept)


class _Listed(NamedTuple):
    """What ``queue list`` shows of a machine."""

    queues: Sequence[tuple[Queue, Pause | None]]
    ended: Sequence[tuple[str, Item]]

    def document(self) -> dict[str, Any]:
        from hookrouter_sessions.commands.showing import item_entry, queue_entry

        queues = [queue_entry(queue, pause) for queue, pause in self.queues]
        return {"queues": queues, "ended": [item_entry(name, item) for name, item in self.ended]}

    def lines(self) -> list[str]:
        from hookrouter.queue.words import item_line
        from hookrouter_sessions.commands.showing import queue_lines

        found = [printable(f"{name}: ") + item_line(item) for name, item in self.ended]
        return found + [line for queue, pause in self.queues for line in queue_lines(queue, pause)]


def _listed(store: DocumentStore, session: str | None, *, every: bool) -> _Listed:
    """Return the queues of a machine, or of one session. Raises StoreError."""
    queues = [one for one in list_queues(store) if session in (None, one.session)]
    waiting = {item.id for queue in queues for item in queue.items}
    ended = [one for one in ended_items(store) if session in (None, one[0])] if every else []
    # One whose end was being written when its writer was killed is still in its queue.
    ended = [(name, item) for name, item in ended if item.id not in waiting]
    return _Listed([(queue, is_paused(store, queue.session)) for queue in queues], ended)


@app.command("show")
@on_any_machine("queue show", of_items)
def show(name: ItemId, as_json: Json = False) -> None:
    """Show one item with its whole text, its times and its proof, also one that has ended.

    \b
    Examples:
      hookrouter queue show 4f1c9a02

    \b
    Exit codes:
      0  shown
      2  there is no such item, several have such an id, or the state folder cannot be read
    """
    from hookrouter_sessions.commands.showing import item_entry, item_lines

    session, item = found_item(Application.from_environ(), name)
    if as_json:
        echo_json(item_entry(session, item))
        return
    for line in item_lines(session, item):
        typer.echo(line)


@app.command("edit")
@on_any_machine("queue edit", of_items)
def edit(
    name: ItemId,
    text: Annotated[str | None, typer.Argument(metavar="[TEXT]", help="The new text.")] = None,
    file: File = None,
    author: Who = None,
    as_json: Json = False,
) -> None:
    """Change the text of a waiting item. It is checked as a new one is, and keeps its place.

    \b
    Examples:
      hookrouter queue edit 4f1c9a02 "/gsd:plan-phase 4"
      hookrouter queue edit 4f1c9a02 --file prompt.md

    \b
    Exit codes:
      0  changed
      1  its delivery has begun, or it has ended: nothing was changed
      2  wrong arguments, the text is refused, there is no such item, or the state folder cannot be used
    """
    if (text is None) == (file is None):
        raise CommandError("give the new TEXT, or --file FILE")
    by = author_of(author)
    new = text or "" if file is None else read_text(file)
    services = Application.from_environ()
    session, item = found_item(services, name)
    changed(services, session, lambda queue: editing.edited(queue, item.id, new, by=by.by, who=by.name), as_json)
    tell_item(services, "edited", session, item.id, as_json)


@app.command("move")
@on_any_machine("queue move", of_items)
def move(
    name: ItemId,
    before: Annotated[
        str | None,
        typer.Option("--before", metavar="ID", help="Before this item, of the same queue.", autocompletion=item_ids),
    ] = None,
    first: Annotated[bool, typer.Option("--first", help="At the front of the queue.")] = False,
    last: Annotated[bool, typer.Option("--last", help="At the end of the queue.")] = False,
    as_json: Json = False,
) -> None:
    """Move a waiting item to another place in its queue.

    \b
    Examples:
      hookrouter queue move 4f1c9a02 --first
      hookrouter queue move 4f1c9a02 --before 20260101T120000-7b

    \b
    Exit codes:
      0  moved
      1  its delivery, or that of the other, has begun, or it has ended: nothing was changed
      2  wrong arguments, there is no such item, or the state folder cannot be used
    """
    if [before is not None, first, last].count(True) != 1:
        raise CommandError("say where to: --before ID, --first or --last")
    services = Application.from_environ()
    session, item = found_item(services, name)
    other = None if before is None else found_item(services, before)[1].id
    changed(services, session, lambda queue: editing.moved(queue, item.id, before=other, first=first), as_json)
    tell_item(services, "moved", session, item.id, as_json)


@app.command("drop")
@on_any_machine("queue drop", of_items)
def drop(names: ItemIds, author: Who = None, as_json: Json = False) -> None:
    """Remove waiting items from their queues without submitting them: all of them, or none if one cannot be removed.

    \b
    Examples:
      hookrouter queue drop 4f1c9a02
      hookrouter queue drop 4f1c9a02 7b31aa90 --json

    \b
    Exit codes:
      0  dropped
      1  the delivery of one has begun, or it has ended: nothing was changed
      2  wrong arguments, there is no such item, or the state folder cannot be used
    """
    by = author_of(author)
    services = Application.from_environ()
    found = found_items(services, names)
    queues = {session for session, _ in found}
    if len(queues) > 1:
        raise CommandError(f"these are items of several sessions: {', '.join(sorted(queues))}; drop them one by one")
    ids = list(dict.fromkeys(item.id for _, item in found))
    session = found[0][0]
    reason = f"dropped by {words_of(by)}"
    changed(services, session, lambda queue: editing.dropped(queue, ids, reason), as_json, by=end_many)
    record(services, "dropped", session, by, ids)
    tell("dropped", ids, as_json)


@app.command("hold")
@on_any_machine("queue hold", of_session)
def hold(
    session: OfSession,
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why; shown wherever it is in the way.")] = "",
    author: Who = None,
    as_json: Json = False,
) -> None:
    """Hold a session's queue until somebody resumes it. An item that is being delivered is not recalled.

    It still takes items. `hookrouter pause` also keeps agents from being woken and from answering.

    \b
    Examples:
      hookrouter queue hold --session work --reason "the tests are red"

    \b
    Exit codes:
      0  held, also if it was before
      2  wrong arguments, no such session, or the state folder cannot be used
    """
    from hookrouter.queue.words import hold_line

    by = author_of(author)
    services = Application.from_environ()
    name = session_of(services, session)
    queue = guarded(lambda: editing.hold(services.store, name, reason or f"{words_of(by)} has held it"))
    held = queue.hold
    record(services, "held", name, by, [])
    if as_json:
        echo_json({"session": name, "hold": None if held is None else held._asdict()})
    elif held is not None:
        typer.echo(printable(f"{name}: ") + hold_line(held))


@app.command("resume")
@on_any_machine("queue resume", of_session)
def resume(session: OfSession, author: Who = None, as_json: Json = False) -> None:
    """End the hold of a session's queue.

    Look first at why it was held: `hookrouter queue list`. `hookrouter resume` ends a pause, and this too.

    \b
    Examples:
      hookrouter queue resume --session work

    \b
    Exit codes:
      0  it continues
      1  nothing held it
      2  wrong arguments, no such session, or the state folder cannot be used
    """
    from hookrouter.queue.spawn import start_queue

    by = author_of(author)
    services = Application.from_environ()
    name = session_of(services, session)
    held = guarded(lambda: editing.end_hold(services.store, name))
    queue, pause = guarded(lambda: (read_queue(services.store, name), is_paused(services.store, name)))
    if queue.items and pause is None:
        start_queue(services, name)
    if held is None:
        refuse(f"nothing holds the queue of session {name}", as_json, 1)
    record(services, "resumed", name, by, [])
    if as_json:
        document = {"session": name, "resumed": held._asdict(), "length": len(queue.items)}
        echo_json({**document, "paused": None if pause is None else pause._asdict()})
        return
    typer.echo(printable(f"{name}: goes on; it was held ({held.cause}): {held.reason}"))
    if pause is not None:
        typer.echo(printable(f"{pause.described()}; 'hookrouter resume' ends that."))


@app.command("clear")
@on_any_machine("queue clear", of_session)
def clear(session: OfSession, author: Who = None, as_json: Json = False) -> None:
    """Drop every waiting item of a session's queue. One whose delivery has begun stays.

    A hold that was about these items ends with them; a hold that somebody asked for stays.

    \b
    Examples:
      hookrouter queue clear --session work

    \b
    Exit codes:
      0  cleared, also if nothing waited
      2  wrong arguments, no such session, or the state folder cannot be used
    """
    by = author_of(author)
    services = Application.from_environ()
    name = session_of(services, session)
    done: list[str] = []

    def change(queue: Queue) -> Queue:
        after = editing.cleared(queue, f"dropped by {words_of(by)}, who cleared the queue")
        done[:] = [item.id for item in after.items if item.is_ended]
        return after

    left = guarded(lambda: end_many(services.store, name, change))
    record(services, "dropped", name, by, done)
    if as_json:
        echo_json({"session": name, "dropped": done, "left": [item.id for item in left.items]})
        return
    tell("dropped", done, as_json)
    for item in left.items:
        typer.echo(printable(f"{item.id} stays: its delivery has begun (it is {item.state})"))
