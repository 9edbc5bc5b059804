"""Reads from Claude Code's transcript how a question ended, if no hook says it.

While a dialog is open the transcript holds the tool call without a result; whatever ends it, declining included, adds
the result within 0.1 s (measured on Claude Code 2.0.76 and 2.1.330). The file is foreign data: only its tail is
read, and a line that is not what is looked for is passed over.
"""

from __future__ import annotations

import os
import time
from typing import Any, NamedTuple

from hookrouter.util.regular_file import last_lines, parsed
from hookrouter.util.text import version_numbers

__all__ = [
    "ANSWERED",
    "CHAT",
    "DECLINED",
    "FAILED",
    "OPEN",
    "UNKNOWN",
    "OpenCall",
    "client_version",
    "is_prompt_said",
    "last_lines",
    "open_calls",
    "parsed",
    "question_state",
    "reason_of",
    "result_text",
    "subagents_of",
    "transcript_of",
    "wait_for_state",
]

UNKNOWN = "unknown"
"""The transcript cannot be read, or does not show the question."""
OPEN = "open"
"""The tool call is there without a result."""
ANSWERED = "answered"
DECLINED = "declined"
"""Declined by a person: Esc, Cancel, or an empty free-text row."""
CHAT = "chat"
"""Declined with "Chat about this"."""
FAILED = "failed"
"""Ended with any other error, such as a hook's denial."""

_CHAT_TEXT = "The user wants to clarify these questions"
_DECLINE_TEXT = "The user doesn't want to"


def transcript_of(path: str, agent_id: str) -> str:
    """Return the transcript that has a subagent's calls; the session's own, ``path``, if that is none, or not there.

    It is beside the session's, in ``<session id>/subagents/agent-<agent id>.jsonl`` (seen on Claude Code 2.1.330).
    """
    if not agent_id.isalnum():
        return path
    own = os.path.join(path.removesuffix(".jsonl"), "subagents", f"agent-{agent_id}.jsonl")
    try:
        return own if os.path.isfile(own) else path
    except ValueError:
        return path


def question_state(path: str, tool_use_id: str) -> str:
    """Return how the question of this tool call stands, as one of this module's constants. Never raises."""
    state = UNKNOWN
    needle = tool_use_id.encode("utf-8", "replace")
    if not needle:
        return state
    for line in last_lines(path):
        if needle not in line:
            continue
        for block in _blocks(line):
            if block.get("type") == "tool_use" and block.get("id") == tool_use_id:
                state = OPEN
            elif block.get("type") == "tool_result" and block.get("tool_use_id") == tool_use_id:
                return _result_state(block)
    return state


class OpenCall(NamedTuple):
    """A tool call that has no result yet."""

    tool_use_id: str
    """Claude Code's id of the call."""
    tool: str
    """The tool's name."""
    tool_input: dict[str, Any]
    """What it was called with."""
    agent_id: str = ""
    """The subagent that has called it; empty for the main conversation."""


def open_calls(path: str, agent_id: str = "") -> list[OpenCall]:
    """Return the calls of the newest turn that have no result yet, the oldest first.

    Those of the subagent ``agent_id``; if that is empty, those of the main conversation. Never raises.
    """
    calls: dict[str, OpenCall] = {}
    for line in last_lines(transcript_of(path, agent_id)):
        if not agent_id and parsed(line).get("isSidechain") is True:
            continue
        if _prompts(line):
            # A turn in which a call was left open has ended.
            calls.clear()
        for block in _blocks(line):
            own_id, tool, tool_input = block.get("id"), block.get("name"), block.get("input")
            if block.get("type") == "tool_result":
                calls.pop(str(block.get("tool_use_id")), None)
            elif block.get("type") == "tool_use" and isinstance(own_id, str) and isinstance(tool, str):
                given = tool_input if isinstance(tool_input, dict) else {}
                calls[own_id] = OpenCall(own_id, tool, given, agent_id)
    return list(calls.values())


def subagents_of(path: str) -> list[str]:
    """Return the ids of the subagents that have a transcript beside the session's own, ``path``. Never raises."""
    try:
        names = os.listdir(os.path.join(path.removesuffix(".jsonl"), "subagents"))
    except (OSError, ValueError):
        return []
    ids = (name.removeprefix("agent-").removesuffix(".jsonl") for name in names if name.endswith(".jsonl"))
    return sorted(filter(str.isalnum, ids))


def result_text(path: str, tool_use_id: str) -> str:
    """Return what Claude was told as the result of this tool call; empty if the transcript shows none. Never raises."""
    needle = tool_use_id.encode("utf-8", "replace")
    for line in last_lines(path) if needle else []:
        for block in _blocks(line) if needle in line else []:
            if block.get("type") == "tool_result" and block.get("tool_use_id") == tool_use_id:
                return _content(block) or ""
    return ""


def is_prompt_said(path: str, tool_use_id: str, text: str) -> bool:
    """Whether the client has taken ``text`` as a prompt after this tool call had its result. Never raises.

    A prompt is written as it was given, but for blanks at its ends; one that is given while Claude works is written as
    queued at once (both seen on Claude Code 2.1.330).
    """
    over, wanted = False, text.strip()
    for line in last_lines(path):
        if not over:
            over = tool_use_id.encode("utf-8", "replace") in line and any(
                block.get("type") == "tool_result" and block.get("tool_use_id") == tool_use_id
                for block in _blocks(line)
            )
        elif wanted in _prompts(line):
            return True
    return False


def reason_of(state: str) -> str:
    """Return in words why a question in this state has no answer; empty if it may have or get one."""
    return {
        DECLINED: "the dialog was closed without an answer",
        CHAT: 'the dialog was closed with "Chat about this"',
        FAILED: "the tool call ended with an error instead of an answer",
    }.get(state, "")


def wait_for_state(path: str, tool_use_id: str, seconds: float) -> str:
    """Return the question's state, giving the client up to ``seconds`` to write a result that is due."""
    deadline = time.monotonic() + seconds
    while (state := question_state(path, tool_use_id)) == OPEN and time.monotonic() < deadline:
        time.sleep(0.05)
    return state


def client_version(path: str) -> tuple[int, ...] | None:
    """Return the version of the client that wrote the transcript's last lines, or None where they do not say."""
    for line in reversed(last_lines(path)):
        if (version := version_numbers(parsed(line).get("version"))) is not None:
            return version
    return None


def _blocks(line: bytes) -> list[dict[str, Any]]:
    message = parsed(line).get("message")
    content = message.get("content") if isinstance(message, dict) else None
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def _prompts(line: bytes) -> list[str]:
    """Return the texts that a line of the transcript shows as said by the user, or to be said after Claude's step."""
    entry = parsed(line)
    if entry.get("type") == "queue-operation" and entry.get("operation") == "enqueue":
        queued = entry.get("content")
        return [queued.strip()] if isinstance(queued, str) else []
    message = entry.get("message")
    if entry.get("type") != "user" or not isinstance(message, dict):
        return []
    content = message.get("content")
    texts = [content] if isinstance(content, str) else [block.get("text") for block in _blocks(line)]
    return [text.strip() for text in texts if isinstance(text, str)]


def _result_state(block: dict[str, Any]) -> str:
    if not block.get("is_error"):
        return ANSWERED
    content = _content(block)
    if content is None:
        return FAILED
    if _CHAT_TEXT in content:
        return CHAT
    return DECLINED if content.startswith(_DECLINE_TEXT) else FAILED


def _content(block: dict[str, Any]) -> str | None:
    """Return the text of a result; None if it has none."""
    content = block.get("content")
    if isinstance(content, list):
        return "".join(part["text"] for part in content if isinstance(part, dict) and isinstance(part.get("text"), str))
    return content if isinstance(content, str) else None
