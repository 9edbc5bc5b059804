"""What the client was seen to be given: by its hooks' payloads, by its transcripts, and by the model's requests.

Nothing here asks hookrouter.
"""

from __future__ import annotations

import collections
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from hookrouter.queue.proof import BEHIND_STOP, INTERRUPTED, unwrapped
from hookrouter.util.clock import seconds

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from hookrouter._sandbox.scripted_model import ScriptedModel
    from hookrouter._sandbox.stage import Stage

__all__ = ["Seen", "look"]

_WAKE = "<task-notification>"
"""How a prompt begins that the client gave itself."""
_OWN = ("<local-command", "<bash-stdout>", "<bash-stderr>", "Caveat:", "<task-notification>", INTERRUPTED)
"""How what the client writes itself begins."""
_NUMBERED = re.compile(r"\[queued prompt [^\]\n]+\]\n(.*?)(?:\n*</system-reminder>|\Z)", re.DOTALL)
_REMINDER = re.compile(r"<system-reminder>.*?</system-reminder>", re.DOTALL)


class Seen(NamedTuple):
    """Texts of prompts and commands, exactly as the client took them, ends trimmed."""

    by_hooks: tuple[str, ...]
    """In the order of the hooks: UserPromptSubmit, PreCompact(manual) and SessionStart(clear) with what they say."""
    by_transcript: tuple[str, ...]
    """In the order of time."""
    in_requests: Mapping[str, int]
    """How often a word stands in what the model got as the user's, in the request that has it most often."""


def look(stage: Stage, model: ScriptedModel, words: Iterable[str] = ()) -> Seen:
    """Return what was seen on a stage so far; ``words`` are those to look for in the requests."""
    return Seen(tuple(_by_hooks(stage)), tuple(_by_transcript(stage)), _in_requests(model, words))


def _by_hooks(stage: Stage) -> Iterator[str]:
    before = ""
    for payload in _payloads(stage):
        event, prompt = payload.get("hook_event_name"), str(payload.get("prompt", ""))
        if event == "UserPromptSubmit":
            # Escape while its hooks run has the client (2.1.330) put a wake back and call them once more: it is one
            # wake and one turn. What was woken with twice is in the transcript twice.
            if prompt != before or not prompt.lstrip().startswith(_WAKE):
                yield from _submitted(prompt)
            before = prompt
        elif event == "PreCompact" and payload.get("trigger") == "manual":
            yield f"/compact {payload.get('custom_instructions') or ''}".strip()
        elif event == "SessionStart" and payload.get("source") == "clear":
            yield "/clear"


def _payloads(stage: Stage) -> Iterator[dict[str, Any]]:
    path = Path(stage.payload_file)
    for line in path.read_bytes().splitlines() if path.exists() else ():
        try:
            yield json.loads(line)
        except ValueError:
            continue


def _submitted(prompt: str) -> Iterator[str]:
    if prompt.lstrip().startswith(_WAKE):
        # One that the client gave itself; a wake may carry an item.
        yield from (text.strip() for text in _NUMBERED.findall(prompt))
    else:
        yield unwrapped(prompt).strip()


def _by_transcript(stage: Stage) -> Iterator[str]:
    entries: dict[str, dict[str, Any]] = {}
    projects = Path(stage.client_home.home, ".claude", "projects")
    for path in sorted(projects.glob("*/*.jsonl")):
        for number, line in enumerate(path.read_bytes().splitlines()):
            try:
                entry = json.loads(line)
            except ValueError:
                continue
            if isinstance(entry, dict) and entry.get("timestamp") and entry.get("isSidechain") is not True:
                # A session that goes on in another file takes its records with it.
                entries.setdefault(str(entry.get("uuid") or f"{path} {number}"), entry)
    for entry in sorted(entries.values(), key=lambda one: seconds(one.get("timestamp")) or 0.0):
        text = _text_of(entry)
        if text and (taken := _taken(text, is_meta=bool(entry.get("isMeta")))):
            yield taken


def _text_of(entry: Mapping[str, Any]) -> str:
    if entry.get("isCompactSummary"):
        return ""
    message = entry.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if entry.get("type") == "system":
        # Where 2.1.150 and newer keep the commands that they run themselves.
        content = entry.get("content")
    elif entry.get("type") != "user":
        return ""
    if isinstance(content, list):
        content = "".join(str(one.get("text", "")) for one in content if one.get("type") == "text")
    return content.strip() if isinstance(content, str) else ""


def _taken(text: str, *, is_meta: bool) -> str:
    """Return what was submitted, by the text of a record; empty for a record of something else."""
    if "<command-name>" in text:
        return f"{_tag(text, 'command-name')} {_tag(text, 'command-args')}".strip()
    if "<bash-input>" in text:
        return f"!{_tag(text, 'bash-input')}"
    if text.startswith(BEHIND_STOP.strip()):
        return text.removeprefix(BEHIND_STOP.strip()).strip()
    numbered = _NUMBERED.findall(text)
    if numbered:
        return str(numbered[0]).strip()
    return "" if is_meta or text.startswith(_OWN) else unwrapped(text).strip()


def _tag(text: str, name: str) -> str:
    return text.partition(f"<{name}>")[2].partition(f"</{name}>")[0].strip()


def _in_requests(model: ScriptedModel, words: Iterable[str]) -> Mapping[str, int]:
    wanted = list(words)
    most: collections.Counter[str] = collections.Counter()
    for request in model.requests:
        if not request.body.get("tools"):
            # Titles and the like.
            continue
        said = "\n".join(_user_texts(request.body.get("messages") or []))
        for word in wanted:
            most[word] = max(most[word], said.count(word))
    return most


def _user_texts(messages: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    for message in messages:
        if message.get("role") != "user":
            continue
        content = message.get("content")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
        for block in blocks:
            if isinstance(block, dict) and block.get("type") == "text":
                yield _REMINDER.sub("", str(block.get("text", "")))
