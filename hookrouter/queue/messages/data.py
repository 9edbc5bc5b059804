"""The message for programs: what ``Message.data`` holds about a session, as ``schemas/session_message.json`` says.

It is made in two steps. A hook puts in what it knows at once; the process that delivers it adds what is to be read for
it (:mod:`hookrouter.queue.messages.composer`). The text for an agent or a person is made of it, and of nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from hookrouter.dialogs.messages.formatting import start_words
from hookrouter.util.clock import iso
from hookrouter.util.text import printable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hookrouter.queue.documents import Queue
    from hookrouter.queue.items import Item
    from hookrouter.sessions.limits import Failure
    from hookrouter.sessions.records import SessionRecord

__all__ = ["LONGEST_MESSAGE", "News", "item_data", "session_data"]

VERSION = 1

LONGEST_MESSAGE = 20_000
"""Characters of Claude's last message that are handed on, from its end."""

_LONGEST_TEXT = 2_000
"""Characters of an item's text that are handed on."""

_MOST_ITEMS = 20
"""Items that wait of which the texts are handed on; there may be more."""


class News(NamedTuple):
    """What has happened in a session. What an event has nothing to do with is left out."""

    reason: str = ""
    """Why, in one sentence: of a hold, of a session's end."""
    ended: tuple[Item, ...] = ()
    """The items of the queue that have ended with it."""
    failure: Failure | None = None
    """The error in which the turn has ended."""
    until: str = ""
    """When the queue goes on by itself, ISO 8601 in UTC."""
    repeats: bool = False
    """Whether the prompt that was cut off is sent again then."""
    message: str | None = None
    """What Claude said last, if it is not the session's last message: a subagent's."""
    status: str = ""
    """What the client's registry says of the session, if that was asked."""
    screen: tuple[str, ...] = ()
    """What its pane shows, if that was looked at."""


def session_data(
    kind: str,
    agent: str,
    record: SessionRecord,
    queue: Queue,
    news: News,
    argv: Sequence[str],
    environ: Mapping[str, str],
    *,
    to_person: bool,
) -> dict[str, Any]:
    """Return the data of a message as a hook puts it in.

    ``argv`` starts hookrouter by its absolute path; of ``environ`` only what says where its home is is used.
    """
    message = record.last_message if news.message is None else news.message
    hold = queue.hold
    return {
        "version": VERSION,
        "kind": kind,
        "id": "",
        "session": record.session,
        "session_id": record.session_id,
        "agent": agent,
        "at": iso(),
        "attempt": 0,
        "answer_from": "person" if to_person else "agent",
        "state": record.state,
        "since": record.since,
        "reason": printable(news.reason),
        "message": printable(message[-LONGEST_MESSAGE:], keep_newlines=True),
        "suggestions": [],
        "done": [item_data(item) for item in news.ended],
        "queue": {
            "length": len(queue.items),
            "items": [item_data(item) for item in queue.items[:_MOST_ITEMS]],
            "hold": None if hold is None else {**hold._asdict(), "reason": printable(hold.reason)},
        },
        "background": [printable(line) for line in record.background],
        "error": _error(news),
        "until": news.until or None,
        "status": printable(news.status),
        "screen": [printable(line) for line in news.screen],
        "context": {
            "cwd": record.cwd,
            "branch": "",
            "transcript_path": record.transcript_path,
            "model": printable(record.model),
            "permission_mode": record.permission_mode,
            "used": None,
        },
        "commands": _commands(record.session, argv, environ, to_person=to_person),
    }


def item_data(item: Item) -> dict[str, Any]:
    """Return what is told of an item of a queue."""
    text = printable(item.text, keep_newlines=True)
    return {
        "id": item.id,
        "kind": item.kind,
        "text": text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}…",
        "state": item.state,
        "reason": printable(item.reason),
        "by": item.by,
        "repeats": item.repeats,
        "queued_at": item.queued_at,
        "ended_at": item.ended_at,
    }


def _error(news: News) -> dict[str, Any] | None:
    failure = news.failure
    if failure is None:
        return None
    return {
        "kind": printable(failure.error),
        "text": printable(failure.text),
        "helps": failure.policy,
        "limit": printable(failure.limit),
        "until": None if failure.until is None else iso(failure.until),
        "sent_again": news.repeats,
    }


def _commands(
    session: str, argv: Sequence[str], environ: Mapping[str, str], *, to_person: bool
) -> dict[str, list[str]]:
    """Return the words of the commands by which the session goes on, for a program that needs no shell.

    Behind those of ``send`` and ``send_next`` come the texts, one word each, or ``--file=-`` for one on stdin.
    """
    start, named = start_words(argv, environ), f"--session={session}"
    author = [] if to_person else ["--as=agent", "--json"]
    return {
        "send": [*start, "send", named, *author],
        "send_next": [*start, "send", named, "--next", *author],
        "resume": [*start, "queue", "resume", named, *author],
        "hold": [*start, "queue", "hold", named, *author],
        "list": [*start, "queue", "list", named, *author[1:]],
        "guidance": [*start, "sessions", "--guidance", named],
    }
