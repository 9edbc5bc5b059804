"""The hook's side: waits beside the dialog, or in its place, until an answer is handed over or is not needed any more.

The client does not stop a waiting hook when a person answers first, and ignores what the hook says then; on Escape it
kills the hook (measured on 2.0.76 to 2.1.330). A client that was killed says nothing, so it is looked for.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any, TypeVar

from hookrouter.pause import is_paused
from hookrouter.store import StoreBusy
from hookrouter_hook_reply.handover import Handover

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrouter.context import Context
    from hookrouter.replies import PermissionRequestReply, PreToolUseReply

    R = TypeVar("R", PermissionRequestReply, PreToolUseReply)

__all__ = ["beside_the_dialog", "instead_of_a_dialog", "wait_for_answer"]

_LOOK = 5.0
"""Seconds after which it is looked whether the client still runs, and whether a message to an agent is due."""

_LOCK_SECONDS = 0.5
"""``answer`` may hold the lock for an instant, to see whether a hook waits; another hook holds it for long."""

_INTERACTIVE = "cli"
"""``CLAUDE_CODE_ENTRYPOINT`` of a session at a terminal; ``claude -p`` and the SDKs have others (seen on 2.1.330)."""


def beside_the_dialog(tool_input: Any, context: Context) -> PermissionRequestReply | None:
    """Wait for the answer to the question whose dialog is open, and return it as PermissionRequest's reply.

    None leaves the dialog as it is. Raises StoreError where the state folder fails.
    """
    from hookrouter.replies import PermissionRequestReply

    return _reply(PermissionRequestReply, tool_input, context)


def instead_of_a_dialog(tool_input: Any, context: Context) -> PreToolUseReply | None:
    """Wait for the answer to a question that draws no dialog, and return it as PreToolUse's reply.

    None, at once, in a session at a terminal; else where no answer came, and Claude Code then asks its permission host.
    Raises StoreError where the state folder fails.
    """
    from hookrouter.replies import PreToolUseReply

    if context.environ.get("CLAUDE_CODE_ENTRYPOINT", _INTERACTIVE) == _INTERACTIVE:
        return None
    return _reply(PreToolUseReply, tool_input, context)


def _reply(kind: type[R], tool_input: Any, context: Context) -> R | None:
    answer = wait_for_answer(tool_input, context)
    if answer is None:
        return None
    if "message" in answer:
        return kind.deny(answer["message"])
    return kind.allow(updated_input=_updated(tool_input, answer))


def wait_for_answer(tool_input: Any, context: Context) -> Mapping[str, Any] | None:
    """Wait for the answer to a question and return it: ``answers`` and ``annotations``, or ``message``.

    None, and a reason in the journal, where no agent is to answer, the question is over, the client is gone, or
    ``[answer] wait`` has passed. Raises StoreError where the state folder fails.
    """
    if context.agent is None:
        context.debug(f"unmanaged session {context.session}: no [[agents]] entry matches it and {context.cwd}")
        return None
    seconds = context.config.answer.wait
    if "reply" not in context.config.answer.channels or not seconds:
        context.debug("config.toml: [answer] does not let a hook wait for the answer")
        return None
    handover = Handover.of(context.store, context.session_id, tool_input)
    try:
        with handover.lock(_LOCK_SECONDS):
            handover.begin(context.session, context.session_id)
            try:
                answer = _wait(handover, context, seconds)
            finally:
                handover.end()
    except StoreBusy:
        handover.disputed()
        context.debug("another hook waits for an answer to the very same question")
        return None
    return None if answer is None else _checked(answer, context)


def _wait(handover: Handover, context: Context, seconds: float) -> Mapping[str, Any] | None:
    from hookrouter.outbox import push
    from hookrouter.watch import FolderWatch

    deadline = time.monotonic() + seconds
    client = _Client(context.environ)
    with FolderWatch(context.store.folder) as watch:
        while True:
            # A paused session's dialog is left alone, also by an answer that was given a moment ago.
            if is_paused(context.store, context.session) is None and (answer := handover.take()) is not None:
                return answer
            left = deadline - time.monotonic()
            if not handover.is_wanted():
                context.note("outcome", "not needed")
            elif left <= 0:
                context.note("outcome", "stepped aside")
                context.note("reason", f"no answer came within {seconds:g} s; the dialog is left as it is")
            elif client.is_gone():
                context.note("outcome", "client gone")
            else:
                if not watch.wait(min(left, _LOOK)):
                    # No other hook of this session runs while it waits.
                    push(context.environ, context.home)
                continue
            # Whoever handed an answer over at this moment takes it back, or learns that it is lost.
            return handover.take()


class _Client:
    """The Claude Code client whose hook this is."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._parent = os.getppid()
        text = environ.get("CLAUDE_PID", "")
        self._pid = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0

    def is_gone(self) -> bool:
        """Whether it has certainly ended."""
        if os.getppid() != self._parent:
            return True
        if not self._pid:
            return False
        try:
            os.kill(self._pid, 0)
        except ProcessLookupError:
            return True
        except OSError:
            return False
        return False


def _checked(answer: Mapping[str, Any], context: Context) -> Mapping[str, Any] | None:
    """Return an answer that can be used, and note what kind it is; None for any other."""
    if isinstance(answer.get("message"), str):
        context.note("outcome", "chat")
        return {"message": answer["message"]}
    answers, annotations = answer.get("answers"), answer.get("annotations")
    if not isinstance(answers, dict) or not isinstance(annotations, dict):
        context.warn("the answer that was handed over cannot be used: it has no answers")
        return None
    context.note("outcome", "replied")
    return {"answers": answers, "annotations": annotations}


def _updated(tool_input: Any, answer: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tool's input with the answers, and the annotations where there are any (older clients know none)."""
    return {**tool_input, **{key: value for key, value in answer.items() if value or key == "answers"}}
