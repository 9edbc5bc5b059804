"""The options and arguments of the commands about sessions and their queues."""

from __future__ import annotations

from typing import Annotated

import typer

from hookrouter.cli.application import Application
from hookrouter.queue.documents import list_queues

__all__ = ["AnySession", "File", "ItemId", "ItemIds", "OfSession", "Who", "item_ids", "known_sessions"]


def known_sessions() -> list[str]:
    """Return the sessions that are known, for a shell that completes."""
    from hookrouter.cli.completion import plain
    from hookrouter.queue.overview import overview

    return plain(view.session for view in overview(Application.from_environ(), with_context=False))


def item_ids() -> list[str]:
    """Return the ids of the items that wait, for a shell that completes."""
    from hookrouter.cli.completion import plain

    return plain(item.id for queue in list_queues(Application.from_environ().store) for item in queue.items)


Who = Annotated[
    str | None,
    typer.Option(
        "--as", metavar="WHO", help="Who does this: agent, person, or person:NAME. By default a person on a terminal."
    ),
]
File = Annotated[
    str | None,
    typer.Option("--file", metavar="FILE", help="The whole of a file is one item; - is stdin."),
]
OfSession = Annotated[
    str,
    typer.Option("--session", metavar="NAME", help="The session whose queue it is.", autocompletion=known_sessions),
]
AnySession = Annotated[
    str | None, typer.Option("--session", metavar="NAME", help="Only this session.", autocompletion=known_sessions)
]
ItemId = Annotated[
    str,
    typer.Argument(
        metavar="ID", help="The item's id, or the beginning of either of its parts.", autocompletion=item_ids
    ),
]
ItemIds = Annotated[
    list[str],
    typer.Argument(metavar="ID...", help="Ids, or the beginning of either of their parts.", autocompletion=item_ids),
]
