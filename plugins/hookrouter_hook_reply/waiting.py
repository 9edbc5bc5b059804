"""The hook's side: waits beside the dialog, or in its place, until an answer is handed over or is not needed any more.

The client does not stop a waiting hook when a person answers first, and ignores what the hook says then; on Escape it
kills the hook (measured on 2.0.76 to 2.1.330). A client that was killed says nothing, so it is looked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from hookrouter.dialogs.handover import Handover
from hookrouter.dialogs.waiting import wait_for_answer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrouter.context import Context
    from hookrouter.replies import PermissionRequestReply, PreToolUseReply

    R = TypeVar("R", PermissionRequestReply, PreToolUseReply)

__all__ = ["beside_the_dialog", "instead_of_a_dialog"]

_WITHOUT_DIALOG = ("sdk-cli", "sdk-py", "sdk-ts")
"""``CLAUDE_CODE_ENTRYPOINT`` of ``claude -p`` and of the SDKs, which draw no dialog. In any other a person may be
able to answer: ``cli`` is a session at a terminal, and 2.1.330 knows several of editors and apps."""


def beside_the_dialog(tool_input: Any, context: Context, agent_id: str = "") -> PermissionRequestReply | None:
    """Wait for the answer to the question whose dialog is open, and return it as PermissionRequest's reply.

    None leaves the dialog as it is. Raises StoreError if the state folder fails.
    """
    from hookrouter.replies import PermissionRequestReply

    return _reply(PermissionRequestReply, tool_input, context, agent_id)


def instead_of_a_dialog(tool_input: Any, context: Context) -> PreToolUseReply | None:
    """Wait for the answer to a question that draws no dialog, and return it as PreToolUse's reply.

    None, at once, in a session that may draw one; else if no answer came, and Claude Code then asks its permission
    host. Raises StoreError if the state folder fails.
    """
    from hookrouter.replies import PreToolUseReply

    entrypoint = context.environ.get("CLAUDE_CODE_ENTRYPOINT", "")
    if entrypoint not in _WITHOUT_DIALOG:
        if entrypoint not in ("", "cli"):
            known = ", ".join(_WITHOUT_DIALOG)
            context.debug(f"CLAUDE_CODE_ENTRYPOINT {entrypoint}: known to draw no dialog are {known}")
        return None
    return _reply(PreToolUseReply, tool_input, context)


def _reply(kind: type[R], tool_input: Any, context: Context, agent_id: str = "") -> R | None:
    """Wait for the answer to a question and return it as a reply of this kind.

    None, and a reason in the journal, if no agent is to answer, or as :func:`wait_for_answer` says.
    """
    if context.agent is None:
        context.debug(f"unmanaged session {context.session}: no [[agents]] entry matches it and {context.cwd}")
        return None
    handover = Handover.of(context.store, context.session_id, tool_input)
    return wait_for_answer(context, handover, lambda answer: _made(kind, tool_input, answer), agent_id=agent_id)


def _made(kind: type[R], tool_input: Any, answer: Mapping[str, Any]) -> R | None:
    """Return the reply that gives an answer to Claude Code; None for an answer that cannot be used.

    It is the tool's input with the answers, and the annotations if there are any (older clients know none).
    """
    if isinstance(answer.get("message"), str):
        return kind.deny(answer["message"])
    answers, annotations = answer.get("answers"), answer.get("annotations")
    if not isinstance(answers, dict) or not isinstance(annotations, dict):
        return None
    given = {"answers": answers} | ({"annotations": annotations} if annotations else {})
    return kind.allow(updated_input={**tool_input, **given})
