"""Items, holds and sessions as the commands about them show them, to programs and to people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hookrouter.queue.words import first_line, hold_line, item_line, state_words
from hookrouter.util.clock import local
from hookrouter.util.text import printable

if TYPE_CHECKING:
    from hookrouter.messaging.pauses import Pause
    from hookrouter.queue.documents import Queue
    from hookrouter.queue.items import Item
    from hookrouter.queue.overview import SessionView

__all__ = [
    "item_entry",
    "item_lines",
    "queue_entry",
    "queue_lines",
    "session_entry",
    "session_lines",
]


_TIMES = (
    ("queued", "queued_at"),
    ("delivery began", "delivering_at"),
    ("started", "started_at"),
    ("ended", "ended_at"),
)


def item_entry(session: str, item: Item) -> dict[str, Any]:
    """Return an item for a program."""
    return {"session": session, **item._asdict(), "proof": dict(item.proof)}


def item_lines(session: str, item: Item) -> list[str]:
    """Return all lines about an item, its whole text last."""
    by = f"person {item.who}" if item.who else item.by
    lines = [f"{item.id}  {item.state}", f"  session: {session}", f"  kind: {item.kind}", f"  by: {by}"]
    lines += [f"  {label}: {local(when)}" for label, name in _TIMES if (when := getattr(item, name))]
    lines += [f"  {label}: {text}" for label, text in (("channel", item.channel), ("why", item.reason)) if text]
    lines += [f"  sends again: {item.repeats}"] if item.repeats else []
    lines += [f"  proof, {key}: {first_line(str(value))}" for key, value in item.proof.items()]
    return [*map(printable, lines), "", printable(item.text, keep_newlines=True)]


def queue_entry(queue: Queue, pause: Pause | None) -> dict[str, Any]:
    """Return a queue for a program."""
    return {
        "session": queue.session,
        "session_id": queue.session_id,
        "items": [item_entry(queue.session, item) for item in queue.items],
        "hold": None if queue.hold is None else queue.hold._asdict(),
        "paused": None if pause is None else pause._asdict(),
    }


def queue_lines(queue: Queue, pause: Pause | None) -> list[str]:
    """Return the lines about a queue."""
    count = len(queue.items)
    lines = [printable(f"{queue.session}: {f'{count} item' if count == 1 else f'{count} items'}")]
    lines += [f"  {hold_line(queue.hold)}"] if queue.hold is not None else []
    lines += [printable(f"  {pause.described()}")] if pause is not None else []
    return [*lines, *(f"  {item_line(item)}" for item in queue.items)]


def session_entry(view: SessionView) -> dict[str, Any]:
    """Return a session for a program."""
    state, used, under_way = view.state, view.context, view.queue.under_way
    return {
        "session": view.session,
        "session_id": view.session_id,
        "state": state.state,
        "since": state.since or None,
        "waiting_for": state.waiting_for or None,
        "limited_until": state.until or None,
        "error": view.error or None,
        "context": None
        if used is None
        else {"tokens": used.tokens, "window": used.window or None, "percent": used.percent},
        "model": view.model or None,
        "cwd": view.cwd,
        "permission_mode": view.permission_mode or None,
        "client_pid": view.client_pid or None,
        "terminal": None if view.terminal is None else view.terminal._asdict(),
        "queue": {
            "length": len(view.queue.items),
            "under_way": None if under_way is None else item_entry(view.session, under_way),
            "hold": None if view.queue.hold is None else view.queue.hold._asdict(),
        },
        "paused": None if view.pause is None else view.pause._asdict(),
        "agent": view.agent or None,
        "last_message": first_line(view.last_message) or None,
        "background": list(view.background),
    }


def session_lines(view: SessionView, *, is_one_of_several: bool = False) -> list[str]:
    """Return the lines about a session; ``is_one_of_several``: it shares its name, so its process is named."""
    head = [
        f"process {view.client_pid or 'unknown'}" if is_one_of_several else "",
        state_words(view),
        f"in {view.cwd}" if view.cwd else "",
        f"agent {view.agent}" if view.agent else "no agent",
    ]
    lines = [printable(f"{view.session}  {', '.join(filter(None, head))}")]
    facts = [view.model, _context_words(view), view.permission_mode]
    lines += [printable(f"  {', '.join(filter(None, facts))}")] if any(facts) else []
    count, under_way = len(view.queue.items), view.queue.under_way
    if count:
        now_at = f", {under_way.state}: {first_line(under_way.text)}" if under_way is not None else ""
        lines.append(f"  queue: {count}{now_at}")
    lines += [f"  {hold_line(view.queue.hold)}"] if view.queue.hold is not None else []
    lines += [printable(f"  {view.pause.described()}")] if view.pause is not None else []
    lines += [f"  in the background: {first_line(one)}" for one in view.background]
    lines += [f"  Claude: {shown}"] if (shown := first_line(view.last_message)) else []
    return lines


def _context_words(view: SessionView) -> str:
    used = view.context
    if used is None:
        return ""
    if used.percent is None:
        return f"context {used.tokens:,} tokens"
    return f"context {used.percent} % ({used.tokens:,} of {used.window:,} tokens)"
