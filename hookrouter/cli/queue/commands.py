"""The commands ``hookrouter send``, ``hookrouter queue`` and ``hookrouter sessions``."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, NoReturn, TypeVar

import typer

from hookrouter.cli.application import Application
from hookrouter.cli.errors import CommandError
from hookrouter.cli.options import Json, echo_json, on_any_machine
from hookrouter.messaging.pauses import is_paused
from hookrouter.queue import editing
from hookrouter.queue.documents import change_queue, end_many, ended_items, list_queues, read_queue
from hookrouter.queue.editing import EditError, NotThereError, find_id
from hookrouter.queue.items import ItemError
from hookrouter.storage.interface import StoreError
from hookrouter.util.text import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hookrouter.dialogs.answers.identity import Author
    from hookrouter.messaging.pauses import Pause
    from hookrouter.queue.documents import Queue
    from hookrouter.queue.items import Item
    from hookrouter.storage.interface import DocumentStore

__all__ = ["app", "item_ids", "known_sessions", "send", "sessions"]

T = TypeVar("T")

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    help="Show what waits to be submitted in sessions, and change it.",
)


def _command(name: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add a function to the group; what it cannot do is a JSON document too, if one was asked for."""

    def add(function: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(function)
        def command(*arguments: Any, **options: Any) -> None:
            try:
                function(*arguments, **options)
            except CommandError as error:
                if options.get("as_json"):
                    echo_json({"error": printable(str(error))})
                raise

        app.command(name)(on_any_machine(command))
        return function

    return add


def known_sessions() -> list[str]:
    """Return the sessions that are known, for a shell that completes."""
    from hookrouter.cli.completion import plain
    from hookrouter.queue.overview import overview

    return plain(view.session for view in overview(Application.from_environ(), with_context=False))


def item_ids() -> list[str]:
    """Return the ids of the items that wait, for a shell that completes."""
    from hookrouter.cli.completion import plain

    return plain(item.id for queue in list_queues(Application.from_environ().store) for item in queue.items)


_Who = Annotated[
    str | None,
    typer.Option(
        "--as", metavar="WHO", help="Who does this: agent, person, or person:NAME. By default a person on a terminal."
    ),
]
_File = Annotated[
    str | None,
    typer.Option("--file", metavar="FILE", help="The whole of a file is one item; - is stdin."),
]


@on_any_machine
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
            help="The session; auto is the one that has a client, if no session is called so.",
            autocompletion=known_sessions,
        ),
    ] = "",
    any_session: Annotated[bool, typer.Option("--any", help="Whichever session has a client, if it is one.")] = False,
    file: _File = None,
    first: Annotated[
        bool, typer.Option("--next", help="Put them before all that wait, in this order; not behind.")
    ] = False,
    wait: Annotated[
        str | None,
        typer.Option(
            "--wait",
            metavar="started|done",
            help="Wait until each is proven to be submitted, or until what it began has ended.",
        ),
    ] = None,
    timeout: Annotated[float, typer.Option("--timeout", metavar="SECONDS", help="How long to wait at most.")] = 600.0,
    author: _Who = None,
    as_json: Json = False,
) -> int:
    """Put prompts and commands into a session's queue; they are submitted one by one, each when the session is idle.

    Nothing is queued unless every text can be. The ends of a text are trimmed, as Claude Code trims them; control
    characters are refused. A text of several lines is one prompt. What is submitted is proven by an event or a record
    of Claude Code, and nothing is submitted twice. A person at the session's terminal comes first: what they type
    holds the queue.

    A session that is paused, or whose queue is held, takes items all the same, and this says so; `hookrouter resume`
    goes on. A session that no agent manages has a queue too; then nobody is told of it.

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
      hookrouter send --session work "run the tests and mend what fails"
      hookrouter send --session work --next /clear "/gsd:plan-phase 3"
      hookrouter send --session work --wait done --timeout 900 '!make test'
      hookrouter send --any --file prompt.md --json
    """
    from hookrouter.cli.queue.sending import Sending, run

    return run(
        Sending(
            texts=tuple(texts or ()),
            session=session,
            any_session=any_session,
            file=file,
            first=first,
            wait=wait,
            timeout=timeout,
            author=author,
            as_json=as_json,
        )
    )


@on_any_machine
def sessions(
    session: Annotated[
        str | None,
        typer.Option("--session", metavar="NAME", help="Only this session.", autocompletion=known_sessions),
    ] = None,
    to_watch: Annotated[bool, typer.Option("--watch", help="Stay, and write a session again when it changes.")] = False,
    every: Annotated[bool, typer.Option("--all", help="Also those whose client has ended long ago.")] = False,
    advice: Annotated[
        bool,
        typer.Option("--guidance", help="Show the advice on how to judge a finished turn, which an agent gets once."),
    ] = False,
    as_json: Json = False,
) -> int:
    """List the sessions that are known, and what each does.

    Of each session: its name; what it does and since when; the model and how much of its context is used; its folder;
    its agent; how much waits in its queue, what is under way and what holds it; a pause; the first line of what Claude
    said last. It is idle, busy, waiting (and for what: question, permission, plan, elicitation, blocked, or what Claude
    Code calls it), limited (until when, if that is known), stopped (its last turn ended in an error), gone (its client
    has ended; left out after an hour) or unknown (its client does not tell).

    This is weighed from hooks, from Claude Code's own registry of sessions and from the dialogs that are open. How much
    of the context is used is shown in percent only if the size of the model's window is known.

    With --watch this goes on until it is interrupted (exit code 130) or nobody reads its output any more: first every
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
    from hookrouter.cli.queue.listing import list_sessions, show_guidance

    if advice:
        return show_guidance(session)
    return list_sessions(session, every=every, to_watch=to_watch, as_json=as_json)


_OfSession = Annotated[
    str,
    typer.Option("--session", metavar="NAME", help="The session whose queue it is.", autocompletion=known_sessions),
]
_AnySession = Annotated[
    str | None, typer.Option("--session", metavar="NAME", help="Only this session.", autocompletion=known_sessions)
]
_Id = Annotated[
    str,
    typer.Argument(
        metavar="ID", help="The item's id, or a part from its beginning or behind its dash.", autocompletion=item_ids
    ),
]
_Ids = Annotated[
    list[str],
    typer.Argument(
        metavar="ID...", help="Ids, or parts from their beginning or behind their dash.", autocompletion=item_ids
    ),
]


@_command("list")
def list_items(
    session: _AnySession = None,
    every: Annotated[bool, typer.Option("--all", help="Also the items that have ended, of the last 14 days.")] = False,
    as_json: Json = False,
) -> None:
    """List the queues, with their items in the order of delivery, and what holds each.

    An item is queued, delivering (its delivery has begun), started (proven to be submitted), and then done, failed or
    dropped.

    With --json: {"queues": [...], "ended": [...]}; a queue has session, session_id, items, hold and paused; an item has
    id, kind, text, by, who, state, queued_at, delivering_at, started_at, ended_at, channel, proof and reason. "ended"
    is empty without --all. Of machines that share an engine, all are listed: a queue and an item that has ended then
    have machine, and machine_away for what a machine had brought that cannot be asked; "machines" has the problem of
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
    listed = _guarded(lambda: _listed(services.store, session, every=every))
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
        from hookrouter.cli.queue.showing import item_entry, queue_entry

        queues = [queue_entry(queue, pause) for queue, pause in self.queues]
        return {"queues": queues, "ended": [item_entry(name, item) for name, item in self.ended]}

    def lines(self) -> list[str]:
        from hookrouter.cli.queue.showing import item_line, queue_lines

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


@_command("show")
def show(name: _Id, as_json: Json = False) -> None:
    """Show one item with its whole text, its times and its proof, also one that has ended.

    \b
    Examples:
      hookrouter queue show 4f1c9a02

    \b
    Exit codes:
      0  shown
      2  there is no such item, several have such an id, or the state folder cannot be read
    """
    from hookrouter.cli.queue.showing import item_entry, item_lines

    _items_elsewhere([name], lambda ids: ["show", *ids], as_json)
    session, item = _found(Application.from_environ(), name)
    if as_json:
        echo_json(item_entry(session, item))
        return
    for line in item_lines(session, item):
        typer.echo(line)


@_command("edit")
def edit(
    name: _Id,
    text: Annotated[str | None, typer.Argument(metavar="[TEXT]", help="What is to be submitted instead.")] = None,
    file: _File = None,
    author: _Who = None,
    as_json: Json = False,
) -> None:
    """Change the text of an item that waits. It is checked as a new one is, and keeps its place.

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
    from hookrouter.cli.queue.sending import read_text

    if (text is None) == (file is None):
        raise CommandError("give the new TEXT, or --file FILE")
    by = _author(author)
    try:
        wanted = text if file is None else read_text(file)
    except ValueError as error:
        raise CommandError(str(error)) from None
    new = wanted or ""
    _items_elsewhere([name], lambda ids: ["edit", *_as(author), "--file=-", *ids], as_json, new)
    services = Application.from_environ()
    session, item = _found(services, name)
    _changed(services, session, lambda queue: editing.edited(queue, item.id, new, by=by.by, who=by.name), as_json)
    _tell_item(services, "edited", session, item.id, as_json)


@_command("move")
def move(
    name: _Id,
    before: Annotated[
        str | None,
        typer.Option("--before", metavar="ID", help="Before this item, of the same queue.", autocompletion=item_ids),
    ] = None,
    first: Annotated[bool, typer.Option("--first", help="Before all that wait.")] = False,
    last: Annotated[bool, typer.Option("--last", help="Behind all that wait.")] = False,
    as_json: Json = False,
) -> None:
    """Move an item that waits to another place in its queue.

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
    _items_elsewhere([name] if before is None else [name, before], lambda ids: _moving(ids, first=first), as_json)
    services = Application.from_environ()
    session, item = _found(services, name)
    other = None if before is None else _found(services, before)[1].id
    _changed(services, session, lambda queue: editing.moved(queue, item.id, before=other, first=first), as_json)
    _tell_item(services, "moved", session, item.id, as_json)


@_command("drop")
def drop(names: _Ids, author: _Who = None, as_json: Json = False) -> None:
    """Take items that wait out of their queues, without submitting them. All of them, or none if one cannot be.

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
    by = _author(author)
    _items_elsewhere(names, lambda ids: ["drop", *_as(author), *ids], as_json)
    services = Application.from_environ()
    found = _found_all(services, names)
    queues = {session for session, _ in found}
    if len(queues) > 1:
        raise CommandError(f"these are items of several sessions: {', '.join(sorted(queues))}; drop them one by one")
    ids = list(dict.fromkeys(item.id for _, item in found))
    session = found[0][0]
    reason = f"dropped by {_words(by)}"
    _changed(services, session, lambda queue: editing.dropped(queue, ids, reason), as_json, by=end_many)
    _record(services, "dropped", session, by, ids)
    _tell("dropped", ids, as_json)


@_command("hold")
def hold(
    session: _OfSession,
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why; shown wherever it is in the way.")] = "",
    author: _Who = None,
    as_json: Json = False,
) -> None:
    """Keep a session's queue from going on until somebody resumes it. What is being delivered is not called back.

    It goes on taking items. `hookrouter pause` also keeps agents from being woken and from answering.

    \b
    Examples:
      hookrouter queue hold --session work --reason "the tests are red"

    \b
    Exit codes:
      0  held, also if it was before
      2  wrong arguments, no such session, or the state folder cannot be used
    """
    from hookrouter.cli.queue.showing import hold_line

    by = _author(author)
    _elsewhere("hold", session, [*([f"--reason={reason}"] if reason else []), *_as(author)], as_json)
    services = Application.from_environ()
    name = _session(services, session)
    queue = _guarded(lambda: editing.hold(services.store, name, reason or f"{_words(by)} has held it"))
    held = queue.hold
    _record(services, "held", name, by, [])
    if as_json:
        echo_json({"session": name, "hold": None if held is None else held._asdict()})
    elif held is not None:
        typer.echo(printable(f"{name}: ") + hold_line(held))


@_command("resume")
def resume(session: _OfSession, author: _Who = None, as_json: Json = False) -> None:
    """End what holds a session's queue, and go on with it.

    Look first at why it was held: `hookrouter queue list`. `hookrouter resume` ends a pause, and this too.

    \b
    Examples:
      hookrouter queue resume --session work

    \b
    Exit codes:
      0  it goes on
      1  nothing held it
      2  wrong arguments, no such session, or the state folder cannot be used
    """
    from hookrouter.queue.spawn import start_queue

    by = _author(author)
    _elsewhere("resume", session, _as(author), as_json)
    services = Application.from_environ()
    name = _session(services, session)
    held = _guarded(lambda: editing.end_hold(services.store, name))
    queue, pause = _guarded(lambda: (read_queue(services.store, name), is_paused(services.store, name)))
    if queue.items and pause is None:
        start_queue(services, name)
    if held is None:
        _refuse(f"nothing holds the queue of session {name}", as_json, 1)
    _record(services, "resumed", name, by, [])
    if as_json:
        document = {"session": name, "resumed": held._asdict(), "length": len(queue.items)}
        echo_json({**document, "paused": None if pause is None else pause._asdict()})
        return
    typer.echo(printable(f"{name}: goes on; it was held ({held.cause}): {held.reason}"))
    if pause is not None:
        typer.echo(printable(f"{pause.described()}; 'hookrouter resume' ends that."))


@_command("clear")
def clear(session: _OfSession, author: _Who = None, as_json: Json = False) -> None:
    """Drop every item of a session's queue that waits. One whose delivery has begun stays.

    What held nothing but these items ends with them; a hold that somebody has asked for stays.

    \b
    Examples:
      hookrouter queue clear --session work

    \b
    Exit codes:
      0  cleared, also if nothing waited
      2  wrong arguments, no such session, or the state folder cannot be used
    """
    by = _author(author)
    _elsewhere("clear", session, _as(author), as_json)
    services = Application.from_environ()
    name = _session(services, session)
    done: list[str] = []

    def change(queue: Queue) -> Queue:
        after = editing.cleared(queue, f"dropped by {_words(by)}, who cleared the queue")
        done[:] = [item.id for item in after.items if item.is_ended]
        return after

    left = _guarded(lambda: end_many(services.store, name, change))
    _record(services, "dropped", name, by, done)
    if as_json:
        echo_json({"session": name, "dropped": done, "left": [item.id for item in left.items]})
        return
    _tell("dropped", done, as_json)
    for item in left.items:
        typer.echo(printable(f"{item.id} stays: its delivery has begun (it is {item.state})"))


def _elsewhere(command: str, session: str, options: list[str], as_json: bool) -> None:
    """Have the machine do it that alone knows the session, and end with its exit code, unless that is this one."""
    from hookrouter.cli.fleet.routing import done_elsewhere

    words = ["queue", command, f"--session={session}", *options, *(["--json"] if as_json else [])]
    _end(done_elsewhere(session, lambda: (words, "")))


def _items_elsewhere(
    names: Sequence[str], line: Callable[[list[str]], list[str]], as_json: bool, given: str = ""
) -> None:
    """The same for what is done with items; ``line`` gets their whole ids, and returns the words behind ``queue``."""
    from hookrouter.cli.fleet.routing import item_done_elsewhere

    json_words = ["--json"] if as_json else []
    _end(item_done_elsewhere(names, lambda ids: (["queue", *line(ids), *json_words], given)))


def _moving(ids: list[str], *, first: bool) -> list[str]:
    item, *before = ids
    where = f"--before={before[0]}" if before else "--first" if first else "--last"
    return ["move", where, item]


def _end(code: int | None) -> None:
    if code is not None:
        raise typer.Exit(code)


def _as(author: str | None) -> list[str]:
    return [] if author is None else [f"--as={author}"]


def _found(services: Application, name: str) -> tuple[str, Item]:
    """Return session and item of an id, or of the beginning of one. Raises CommandError."""
    return _found_all(services, [name])[0]


def _found_all(services: Application, names: Sequence[str]) -> list[tuple[str, Item]]:
    """The same of several."""

    def look() -> list[tuple[str, Item]]:
        known = {item.id: (queue.session, item) for queue in list_queues(services.store) for item in queue.items}
        try:
            # What waits is meant before what has ended.
            return [known[find_id(name, known)] for name in names]
        except NotThereError:
            ended = {item.id: (session, item) for session, item in ended_items(services.store)}
            everything = {**ended, **known}
            return [known[name] if name in known else everything[find_id(name, everything)] for name in names]

    try:
        return _guarded(look)
    except NotThereError as error:
        raise CommandError(str(error)) from None


def _changed(
    services: Application,
    session: str,
    change: Callable[[Queue], Queue],
    as_json: bool,
    by: Callable[[DocumentStore, str, Callable[[Queue], Queue]], Queue] = change_queue,
) -> None:
    """Change a queue, or end the command if that is not allowed."""
    try:
        _guarded(lambda: by(services.store, session, change))
    except ItemError as error:
        raise CommandError(str(error)) from None
    except EditError as error:
        _refuse(str(error), as_json, 1)


def _tell_item(services: Application, what: str, session: str, name: str, as_json: bool) -> None:
    from hookrouter.cli.queue.showing import item_entry, item_line

    queue = _guarded(lambda: read_queue(services.store, session))
    item = queue.item(name)
    if as_json:
        place = [one.id for one in queue.items].index(name) if item is not None else None
        echo_json({what: None if item is None else item_entry(session, item), "place": place})
    elif item is not None:
        typer.echo(f"{what}: {item_line(item)}")


def _session(services: Application, name: str) -> str:
    """Return the session that is meant. Raises CommandError."""
    from hookrouter.cli.queue.choosing import choose

    chosen = _guarded(lambda: choose(services, name))
    if not chosen.session:
        raise CommandError(chosen.reason)
    return chosen.session


def _author(author: str | None) -> Author:
    from hookrouter.cli.queue.sending import sender

    try:
        return sender(author)
    except ValueError as error:
        raise CommandError(str(error)) from None


def _words(author: Author) -> str:
    return f"{author.by} {author.name}".strip()


def _tell(what: str, names: Sequence[str], as_json: bool) -> None:
    if as_json:
        echo_json({what: list(names)})
    else:
        typer.echo(f"{what}: {', '.join(map(printable, names)) or 'nothing'}")


def _refuse(reason: str, as_json: bool, code: int) -> NoReturn:
    typer.echo(f"hookrouter: {printable(reason)}", err=True)
    if as_json:
        echo_json({"error": printable(reason)})
    raise typer.Exit(code)


def _record(services: Application, outcome: str, session: str, author: Author, names: Sequence[str]) -> None:
    record: dict[str, Any] = {"level": "info", "event": "queue", "outcome": outcome, "session": session}
    services.journal.write({**record, "by": author.by, "who": author.name, "items": list(names)}, None)


def _guarded(work: Callable[[], T]) -> T:
    try:
        return work()
    except (StoreError, OSError) as error:
        raise CommandError(str(error)) from None
