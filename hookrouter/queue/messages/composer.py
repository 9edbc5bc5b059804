"""Completes the messages about sessions when they go out: the context used, what was done, what the message suggests.

What is read for it (the transcript, git's HEAD, the items that have ended, prompts) would cost a hook more time than
all the rest. So the hook puts in a message that is complete in itself, and the process that delivers it adds this.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hookrouter.composing import MessageComposer
from hookrouter.config import SESSION_KINDS
from hookrouter.dialogs.messages.surroundings import git_branch
from hookrouter.queue.documents import ended_items
from hookrouter.queue.messages.data import item_data
from hookrouter.queue.messages.formatting import message_text
from hookrouter.queue.messages.guidance import guidance_for
from hookrouter.queue.suggestions import suggested_commands
from hookrouter.sessions.usage import context_used
from hookrouter.storage.home import DocumentKind
from hookrouter.util.clock import iso, now, seconds

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrouter.context import Services
    from hookrouter.messaging.gateway import Message

__all__ = ["SessionComposer"]

KIND = DocumentKind("last-told", shared=True)
"""The kind of the documents that say up to which item an agent was told what became of a queue; their names are
``<session>:<agent>``."""

VERSION = 1

KEPT_SECONDS = 14 * 24 * 3600.0
"""How long that is remembered: as long as items that have ended."""

MOST_DONE = 30
"""Items that are told at most, the last ones."""

_FIRST_SECONDS = 24 * 3600.0
"""Of what ended longer ago an agent that was told nothing yet is not told."""


class SessionComposer(MessageComposer):
    """The composer of the messages about sessions."""

    name = "sessions"

    def catch_up(self, services: Services) -> None:
        """Forget what agents were told so long ago that it does not matter any more."""
        earliest = iso(now() - KEPT_SECONDS)
        for name, document in services.store.entries(KIND):
            if str(document.get("at") or "") < earliest:
                services.store.delete(KIND, name)

    def compose(self, message: Message, attempt: int, services: Services) -> Message | None:
        """Return the message with what is known now; None if it is none about a session."""
        if message.kind not in SESSION_KINDS or "commands" not in message.data:
            return None
        data: dict[str, Any] = dict(message.data)
        context = dict(data["context"])
        context["branch"] = git_branch(str(context["cwd"]))
        context["used"] = _used(str(context["transcript_path"]), str(context["model"]))
        suggestions = suggested_commands(str(data["message"]))
        data |= {
            "id": message.id,
            "attempt": attempt,
            "context": context,
            "suggestions": [one._asdict() for one in suggestions],
            "done": _done(services, message),
        }
        is_agent = data["answer_from"] == "agent"
        advice = guidance_for(services, message, message.agent, str(context["cwd"])) if is_agent else ""
        return message._replace(text=message_text(data, advice), data=data)


def _used(path: str, model: str) -> dict[str, Any] | None:
    found = context_used(path, model)
    if found is None:
        return None
    return {"tokens": found.tokens, "window": found.window, "percent": found.percent}


def _done(services: Services, message: Message) -> list[dict[str, Any]]:
    """Return what became of items since the agent was last told, this message's own among them; note that it is."""
    store, name = services.store, f"{message.session}:{message.agent}"
    told = store.read(KIND, name) or {}
    created = seconds(message.created_at)
    first = iso((now() if created is None else created) - _FIRST_SECONDS)
    # Tried again, a message says the same.
    since = str(told.get("from" if told.get("message") == message.id else "until") or first)
    own = {one["id"]: one for one in message.data["done"]}
    ended = [item for session, item in ended_items(store) if session == message.session and item.ended_at > since]
    items: Mapping[str, dict[str, Any]] = {**{item.id: item_data(item) for item in ended}, **own}
    done = sorted(items.values(), key=lambda one: (one["ended_at"], one["queued_at"]))[-MOST_DONE:]
    until = max((one["ended_at"] for one in done), default=since)
    document = {"version": VERSION, "message": message.id, "from": since, "until": max(since, until), "at": iso()}
    store.write(KIND, name, document, durable=False)
    return done
