"""The hook's side of an answer: waits beside the dialog until one is handed over or is not needed any more.

The client does not stop a waiting hook when a person answers first, and ignores what the hook says then; on Escape it
kills the hook (measured on 2.0.76 to 2.1.330). A client that was killed says nothing, so it is looked for.
"""

from __future__ import annotations

import select
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, TypeVar

from hookrouter.dialogs.handover import ANSWER, WAITING, Handover
from hookrouter.messaging import pauses
from hookrouter.storage.interface import StoreBusy
from hookrouter.util.claude_process import client_pid, is_gone, parent_watch
from hookrouter.util.text import describe_error

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hookrouter.context import Context
    from hookrouter.storage.interface import DocumentStore, DocumentWatch

    R = TypeVar("R")

__all__ = ["may_wait", "wait_for_answer", "watches_of"]

_LOOK = 5.0
"""Seconds after which it is looked whether the client still runs, and whether a message to an agent is due."""

_UNTOLD_LOOK = 0.2
"""Seconds between two looks at the documents if the system does not tell of changes."""

_LOCK_SECONDS = 0.5
"""For how long an earlier hook of the same question may still be ending; another one that waits holds it for long."""

_ORPHAN_SECONDS = 5.0
"""The same for one whose client was killed, once it has been told to end."""


def may_wait(context: Context) -> bool:
    """Whether config.toml lets a hook wait for an answer; if not, the journal has the reason."""
    answer = context.config.answer
    if "reply" in answer.channels and answer.wait:
        return True
    context.debug("config.toml: [answer] does not let a hook wait for the answer")
    return False


def wait_for_answer(
    context: Context,
    handover: Handover,
    make: Callable[[Mapping[str, Any]], R | None],
    *,
    agent_id: str = "",
    longest: float = float("inf"),
    taken: Callable[[Mapping[str, Any]], None] | None = None,
) -> R | None:
    """Wait for the answer that is handed over here and return the reply that ``make`` makes of it.

    ``agent_id`` is of the subagent that asks, empty for the main conversation. ``make`` gets what ``hookrouter answer``
    handed over, and returns None for what cannot be used. ``taken`` is called with the answer that is given in
    the end. None, and a reason in the journal, if the dialog has ended, the client is gone, ``[answer] wait`` or
    ``longest`` seconds have passed, or another hook waits for the same. Raises StoreError if the state folder fails.
    """
    if not may_wait(context):
        return None
    seconds = min(context.config.answer.wait, longest)
    patience = _ORPHAN_SECONDS if handover.end_orphan() else _LOCK_SECONDS
    try:
        with ExitStack() as stack:
            stack.enter_context(handover.lock(patience))
            token = handover.begin(context.session, context.session_id, client_pid(context.environ), agent_id)
            stack.callback(handover.end)
            found = _wait(make, handover, token, context, seconds)
            reply = None
            if found is not None:
                reply, answer = found
                if taken is not None:
                    taken(answer)
                # Until then whoever handed the answer over can see whether it was given.
                stack.callback(handover.given)
                context.after_reply(stack.pop_all().close)
            return reply
    except StoreBusy:
        handover.disputed()
        context.debug("another hook waits for an answer to the very same question")
        return None


def _wait(
    make: Callable[[Mapping[str, Any]], R | None], handover: Handover, token: str, context: Context, seconds: float
) -> tuple[R, Mapping[str, Any]] | None:
    from hookrouter.messaging.spawn import push

    store, deadline = context.store, time.monotonic() + seconds
    client = _Client(context.environ)
    with ExitStack() as stack:
        watches = [stack.enter_context(watch) for watch in watches_of(store, handover.name)]
        while True:
            # Asked before anything is taken: nobody would hear the reply.
            gone = client.is_gone()
            answer = None if gone else handover.peek(token)
            # A paused session's dialog is left alone, also by an agent's answer that was given a moment ago.
            if answer is not None and (answer.get("by") == "person" or not pauses.is_paused(store, context.session)):
                reply = _made(make, answer, handover, token, context)
                # Taken once the reply is made: whatever fails before leaves the answer to who gave it.
                if reply is not None and handover.take(token, answer) is not None:
                    _note(answer, context)
                    return reply, answer
            left = deadline - time.monotonic()
            if not handover.is_wanted():
                context.note("outcome", "not needed")
            elif left <= 0:
                context.note("outcome", "stepped aside")
                context.note("reason", f"no answer came within {seconds:g} s; the dialog is left as it is")
            elif gone:
                context.note("outcome", "client gone")
            else:
                if not _is_changed(watches, min(left, _LOOK)):
                    # No other hook of this session runs while it waits.
                    push(context.environ, context.home)
                continue
            # Whoever handed an answer over at this moment takes it back.
            return None


def watches_of(store: DocumentStore, name: str) -> list[DocumentWatch]:
    """Return watches on whatever wakes the hook that waits for the answer to the question of this name."""
    return [store.watch(*watched) for watched in ((ANSWER, name), (WAITING, name), (pauses.KIND, pauses.NAME))]


def _is_changed(watches: Sequence[DocumentWatch], seconds: float) -> bool:
    """Wait up to ``seconds`` until one of the watched documents has changed; say whether one has."""
    deadline = time.monotonic() + seconds
    while True:
        if any(watch.wait(0) for watch in watches):
            return True
        left = deadline - time.monotonic()
        if left <= 0:
            return False
        poll = select.poll()
        descriptors = [watch.fileno() for watch in watches]
        for descriptor in descriptors:
            if descriptor >= 0:
                poll.register(descriptor, select.POLLIN)
        poll.poll(1000 * (left if min(descriptors) >= 0 else min(left, _UNTOLD_LOOK)))


class _Client:
    """The Claude Code client whose hook this is."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._is_orphan = parent_watch()
        self._pid = client_pid(environ)

    def is_gone(self) -> bool:
        """Whether it has certainly ended."""
        return self._is_orphan() or is_gone(self._pid)


def _made(
    make: Callable[[Mapping[str, Any]], R | None],
    answer: Mapping[str, Any],
    handover: Handover,
    token: str,
    context: Context,
) -> R | None:
    """Return the reply that an answer makes; None if it makes none, which whoever gave it is told."""
    try:
        reply, reason = make(answer), "it has no answers"
    except (LookupError, RecursionError, TypeError, ValueError) as error:
        # What other programs and versions hand over may be anything.
        reply, reason = None, describe_error(error)
    if reply is None:
        context.warn(f"the answer that was passed on cannot be used: {reason}")
        handover.refuse(token, reason)
    return reply


def _note(answer: Mapping[str, Any], context: Context) -> None:
    context.note("outcome", "chat" if "message" in answer else "replied")
    if isinstance(answer.get("tool_use_id"), str):
        context.note("answers", answer["tool_use_id"])
