"""What the commands of ``hookrouter queue`` have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn, TypeVar

import typer

from hookrouter.cli.errors import CommandError
from hookrouter.cli.options import echo_json
from hookrouter.queue.documents import change_queue, ended_items, list_queues, read_queue
from hookrouter.queue.editing import EditError, NotThereError, find_id
from hookrouter.queue.items import ItemError
from hookrouter.storage.interface import StoreError
from hookrouter.util.text import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hookrouter.cli.application import Application
    from hookrouter.queue.documents import Queue
    from hookrouter.queue.items import Item
    from hookrouter.storage.interface import DocumentStore

__all__ = [
    "changed",
    "found_item",
    "found_items",
    "guarded",
    "refuse",
    "session_of",
    "tell",
    "tell_item",
]

T = TypeVar("T")


def found_item(services: Application, name: str) -> tuple[str, Item]:
    """Return session and item of an id, or of the beginning of one. Raises CommandError."""
    return found_items(services, [name])[0]


def found_items(services: Application, names: Sequence[str]) -> list[tuple[str, Item]]:
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
        return guarded(look)
    except NotThereError as error:
        raise CommandError(str(error)) from None


def changed(
    services: Application,
    session: str,
    change: Callable[[Queue], Queue],
    as_json: bool,
    by: Callable[[DocumentStore, str, Callable[[Queue], Queue]], Queue] = change_queue,
) -> None:
    """Change a queue, or end the command if that is not allowed."""
    try:
        guarded(lambda: by(services.store, session, change))
    except ItemError as error:
        raise CommandError(str(error)) from None
    except EditError as error:
        refuse(str(error), as_json, 1)


def tell_item(services: Application, what: str, session: str, name: str, as_json: bool) -> None:
    """Write what was done with an item, and where it is now. Raises CommandError."""
    from hookrouter.queue.words import item_line
    from hookrouter_sessions.commands.showing import item_entry

    queue = guarded(lambda: read_queue(services.store, session))
    item = queue.item(name)
    if as_json:
        place = [one.id for one in queue.items].index(name) if item is not None else None
        echo_json({what: None if item is None else item_entry(session, item), "place": place})
    elif item is not None:
        typer.echo(f"{what}: {item_line(item)}")


def session_of(services: Application, name: str) -> str:
    """Return the session that is meant. Raises CommandError."""
    from hookrouter_sessions.commands.choosing import choose

    chosen = guarded(lambda: choose(services, name))
    if not chosen.session:
        raise CommandError(chosen.reason)
    return chosen.session


def tell(what: str, names: Sequence[str], as_json: bool) -> None:
    """Write what was done, and with which items."""
    if as_json:
        echo_json({what: list(names)})
    else:
        typer.echo(f"{what}: {', '.join(map(printable, names)) or 'nothing'}")


def refuse(reason: str, as_json: bool, code: int) -> NoReturn:
    """Write why nothing is done, and end with an exit code."""
    typer.echo(f"hookrouter: {printable(reason)}", err=True)
    if as_json:
        echo_json({"error": printable(reason)})
    raise typer.Exit(code)


def guarded(work: Callable[[], T]) -> T:
    """Return what ``work`` returns. Raises CommandError if the state folder cannot be used."""
    try:
        return work()
    except (StoreError, OSError) as error:
        raise CommandError(str(error)) from None
