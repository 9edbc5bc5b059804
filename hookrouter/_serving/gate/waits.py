"""The permission requests that wait, and what ends them: a person who answers first leaves the request open."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncio

__all__ = ["Waits"]

_TOOL_ENDS = ("PostToolUse", "PostToolUseFailure")
_AGENT_ENDS = ("Stop", "UserPromptSubmit", "SubagentStop")


class Waits:
    """The permission requests of all sessions that have no answer yet."""

    def __init__(self) -> None:
        """Begin with none."""
        self._waiting: dict[asyncio.Task[Any], dict[str, Any]] = {}

    def add(self, task: asyncio.Task[Any], payload: dict[str, Any]) -> None:
        """Remember a request, by its payload, until its task is done."""
        self._waiting[task] = payload
        task.add_done_callback(self._waiting.pop)

    def heard(self, event: str, payload: dict[str, Any]) -> None:
        """End the requests that an event shows to be answered already: their session goes on."""
        for task, waiting in list(self._waiting.items()):
            if waiting.get("session_id") == payload.get("session_id") and _is_over(waiting, event, payload):
                task.cancel()

    def __len__(self) -> int:
        """Return how many wait."""
        return len(self._waiting)


def _is_over(waiting: dict[str, Any], event: str, payload: dict[str, Any]) -> bool:
    if event == "SessionEnd":
        return True
    if waiting.get("agent_id") != payload.get("agent_id"):
        # Of two agents of a session, one goes on while the other one waits.
        return False
    if event in _AGENT_ENDS:
        return True
    return event in _TOOL_ENDS and _is_same_call(waiting, payload)


def _is_same_call(waiting: dict[str, Any], payload: dict[str, Any]) -> bool:
    """Whether a tool call that has ended is the one a request is about, which does not name it by an id.

    Several calls of a message may run at once. The ended one's input may hold more, such as answers.
    """
    asked, ended = waiting.get("tool_input"), payload.get("tool_input")
    if waiting.get("tool_name") != payload.get("tool_name") or not isinstance(asked, dict):
        return False
    return isinstance(ended, dict) and all(ended.get(name) == value for name, value in asked.items())
