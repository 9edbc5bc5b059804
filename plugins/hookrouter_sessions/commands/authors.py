"""Who acts on a queue, and the journal's record of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hookrouter.cli.errors import CommandError
from hookrouter.cli.terminal import is_attended
from hookrouter.dialogs.answers.identity import AGENT, Author, author_option, is_person_there, login_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookrouter.cli.application import Application

__all__ = ["author_of", "record", "sender", "words_of"]


def sender(author: str | None) -> Author:
    """Return who sends: as ``--as`` says, else a person on a terminal, else an agent. Raises ValueError."""
    if author is not None:
        return author_option(author)
    is_person = is_person_there(at_terminal=is_attended())
    return Author("person", login_name()) if is_person else AGENT


def author_of(author: str | None) -> Author:
    """Return who does it; ``author`` is what ``--as`` says. Raises CommandError."""
    try:
        return sender(author)
    except ValueError as error:
        raise CommandError(str(error)) from None


def words_of(author: Author) -> str:
    """Return who did it, in words."""
    return f"{author.by} {author.name}".strip()


def record(services: Application, outcome: str, session: str, author: Author, names: Sequence[str]) -> None:
    """Journal what was done with a queue, by whom, and with which items."""
    done: dict[str, Any] = {"level": "info", "event": "queue", "outcome": outcome, "session": session}
    services.journal.write({**done, "by": author.by, "who": author.name, "items": list(names)}, None)
