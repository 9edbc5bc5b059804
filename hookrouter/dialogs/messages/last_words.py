"""Reads from Claude Code's transcript what an agent should know before it answers: the last prompt, and Claude's words.

Read when a message is delivered, never in a hook. The transcript is foreign data: only its tail is read, what is not
understood is passed over, and what stands before the tail is left out.

As Claude Code 2.1.330 writes it: a prompt is a line of type ``user`` whose content is a text, and is repeated now and
then in a line of type ``last-prompt``; each block of Claude's is a line of type ``assistant`` of its own.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from hookrouter.dialogs.transcript import last_lines, parsed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["Said", "said_before"]

CONTEXT_BYTES = 4 * 1024 * 1024
"""How much of the transcript's end is looked through; a long turn's tool results may lie behind the prompt."""

_TYPES = (b'"user"', b'"assistant"')

_COMMAND = re.compile(r"<command-name>(.*?)</command-name>", re.DOTALL)
_ARGUMENTS = re.compile(r"<command-args>(.*?)</command-args>", re.DOTALL)
_MACHINE_TEXTS = ("<local-command-", "<bash-", "<system-reminder>", "<task-notification>", "[Request interrupted")
"""How texts begin that stand where prompts do, and that nobody typed."""


class Said(NamedTuple):
    """What was said last before a question."""

    prompt: str = ""
    """What the user, or whoever writes the prompts, said last."""
    words: str = ""
    """What Claude said after that, last before the question."""


def said_before(path: str, tool_use_id: str, *, subagent: bool = False) -> Said:
    """Return what the transcript shows of the time before a tool call; nothing of what it does not. Never raises.

    A call that is not in it yet is taken to come after its last line. Of a ``subagent``, whose words are in another
    transcript, only the session's prompt is told.
    """
    lines = last_lines(path, CONTEXT_BYTES)
    words = ""
    for entry in _entries(lines, _place(lines, tool_use_id)):
        if entry.get("type") == "assistant" and not words and not subagent:
            words = _words(entry)
        elif prompt := _prompt(entry):
            return Said(prompt, words)
    return Said(_repeated_prompt(lines), words)


def _repeated_prompt(lines: Sequence[bytes]) -> str:
    """Return the last prompt as the client repeats it, also behind a call that waits."""
    found = (parsed(line) for line in reversed(lines) if b'"last-prompt"' in line)
    return next((_stripped(entry.get("lastPrompt")) for entry in found if entry.get("type") == "last-prompt"), "")


def _place(lines: Sequence[bytes], tool_use_id: str) -> int:
    """Return the index of the line with the tool call; that behind the last line if it is not there."""
    needle = tool_use_id.encode("utf-8", "replace")
    for index in range(len(lines) - 1, -1, -1):
        if needle and needle in lines[index]:
            calls = (block for block in _blocks(parsed(lines[index])) if block.get("type") == "tool_use")
            if any(block.get("id") == tool_use_id for block in calls):
                return index
    return len(lines)


def _entries(lines: Sequence[bytes], before: int) -> Iterator[dict[str, Any]]:
    """Yield the lines of the main conversation before a place, the last one first, as far as they may matter."""
    for line in reversed(lines[:before]):
        if not any(word in line for word in _TYPES):
            continue
        entry = parsed(line)
        if not any(entry.get(mark) for mark in ("isSidechain", "isMeta", "isCompactSummary")):
            yield entry


def _prompt(entry: Mapping[str, Any]) -> str:
    """Return the prompt in a line; a slash command as it is typed. Empty for every other line."""
    if entry.get("type") != "user":
        return ""
    message = entry.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    texts = [content] if isinstance(content, str) else [block.get("text") for block in _blocks(entry)]
    for text in map(_stripped, texts):
        if name := _COMMAND.search(text):
            arguments = _ARGUMENTS.search(text)
            return " ".join(filter(None, (name[1].strip(), arguments[1].strip() if arguments else "")))
        if text and not text.startswith(_MACHINE_TEXTS):
            return text
    return ""


def _words(entry: Mapping[str, Any]) -> str:
    texts = [_stripped(block.get("text")) for block in _blocks(entry) if block.get("type") == "text"]
    return next(filter(None, reversed(texts)), "")


def _blocks(entry: Mapping[str, Any]) -> list[dict[str, Any]]:
    message = entry.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def _stripped(text: object) -> str:
    return text.strip() if isinstance(text, str) else ""
