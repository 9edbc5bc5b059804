"""What proves that the client took an item, what it became, and how a prompt that is ours is known.

Three kinds of things prove: an event of a hook, the client's transcript, and the start of the next session. All were
measured on clients, whose versions stand beside them; docs/how/queue.md has the table. Nothing here reads a screen:
that a box is empty proves nothing.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from hookrouter.queue.items import COMMAND, DONE, FAILED, SHELL, STARTED, command_of
from hookrouter.util import fastjson
from hookrouter.util.clock import seconds

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from hookrouter.queue.items import Item

__all__ = [
    "BEHIND_STOP",
    "CLEARING",
    "COMPACTING",
    "INTERRUPTED",
    "Proof",
    "doorbell_text",
    "is_altered",
    "is_interrupted",
    "is_same_text",
    "is_wake",
    "proof_by_compaction",
    "proof_by_prompt",
    "proof_by_records",
    "proof_by_reply",
    "proof_by_start",
    "unwrapped",
]

CLEARING = frozenset(["clear", "reset", "new"])
"""The names of the command that begins a new session in the same client: SessionEnd(clear) and SessionStart(clear)
prove it (2.0.76 to 2.1.330)."""

COMPACTING = "compact"
"""The command that PreCompact(manual) proves: its ``custom_instructions`` are what followed it (2.0.76 to 2.1.330)."""

INTERRUPTED = "[Request interrupted by user"
"""How the record begins that a person's Escape leaves in the transcript (2.0.76 to 2.1.330); no hook tells of it."""

BEHIND_STOP = "Stop hook feedback:\n"
"""What stands in the transcript before a text by which a Stop hook had Claude go on (2.1.330)."""

_WAKE = "<task-notification>"
"""How each prompt begins that the client gives itself: a task that has ended, a hook that wakes Claude (2.1.150 to
2.1.330)."""

_WAKE_END = "</system-reminder>"
"""What stands behind the text with which a hook wakes Claude (2.1.150 to 2.1.330)."""

_ESCAPED = re.compile(r"(?:<|&lt;)\\*")
"""What 2.1.330 makes of the beginning of its own tags in such a text: ``<\\task-id>``, ``&lt;/system-reminder>``."""

_PASTED = re.compile(r'<pasted_content id="([^"\n]*)">\n(.*?)\n</pasted_content id="\1">', re.DOTALL)
"""What a long paste becomes in the prompt of 2.1.330; 2.1.150 puts in the text itself."""

_UNKNOWN = ("Unknown command: /", "Unknown slash command: ", "Unknown skill: ")
"""What is recorded of a command that the session has not: 2.1.150 to 2.1.330, 2.0.76, 2.1.30."""

_NOT_FOR_USERS = "This slash command can only be invoked by Claude, not directly by users."
"""What 2.0.76 records behind the name of a skill that somebody has typed: it does nothing, whatever else is said."""

_NOTHING_DONE = ("Not enough messages to compact", "Error:")
"""How the output of a local command begins that did nothing."""

_ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")

_LONGEST_OUTPUT = 2000
"""Characters of a command's output that are kept as proof."""


class Proof(NamedTuple):
    """That the client took an item, and what is known of it since."""

    state: str
    """``started``, ``done`` or ``failed``."""
    said: Mapping[str, Any]
    """What proves it: ``event``, or ``record`` (the kind of line of the transcript) with its time ``at``, and what it
    said."""
    reason: str = ""
    """Why it failed, in one sentence."""


def is_same_text(text: str, prompt: str) -> bool:
    """Whether the client was given exactly ``text``, if it says that it was given ``prompt``.

    The client trims a prompt's ends, and wraps a long paste.
    """
    wanted = text.strip()
    return wanted in (prompt.strip(), unwrapped(prompt).strip())


def unwrapped(prompt: str) -> str:
    """Return a prompt with its pastes as they were pasted.

    A paste is set apart by two newlines before it, and one behind it.
    """

    def pasted(found: re.Match[str]) -> str:
        return found.group(2)

    found = _PASTED.search(prompt)
    if found is None:
        return prompt
    begin = prompt[: found.start()].removesuffix("\n").removesuffix("\n")
    rest = prompt[found.end() :]
    return begin + pasted(found) + unwrapped(rest.removeprefix("\n"))


def is_altered(text: str, prompt: str) -> bool:
    """Whether a prompt is ``text`` after the client has dropped invisible characters of it, or broken up a tag.

    Then nothing is missing but what is not ASCII, and nothing has come to it but backslashes.
    """
    import unicodedata

    shown = unicodedata.normalize("NFC", prompt.strip()).replace("\\", "")
    at, lost = 0, []
    for character in unicodedata.normalize("NFC", text.strip()).replace("\\", ""):
        if shown[at : at + 1] == character:
            at += 1
        else:
            lost.append(character)
    return at == len(shown) > 0 and not any(map(str.isascii, lost))


def is_wake(prompt: str) -> bool:
    """Whether the client gave itself a prompt: nobody typed it."""
    return prompt.lstrip().startswith(_WAKE)


def doorbell_text(item: Item) -> str:
    """Return what a hook says that wakes Claude for an item; it names the item, so that its prompt is known again."""
    return f"[queued prompt {item.id}]\n{item.text}"


def proof_by_prompt(item: Item, prompt: str) -> Proof | None:
    """Return the proof by UserPromptSubmit; None if what it says is another prompt.

    It comes for prompts, and for commands that a project, a user or a plugin defines. In a client that has no shell
    mode for what is pasted (2.0.76, 2.1.30) it comes for ``!command`` too, as a prompt.
    """
    event = {"event": "UserPromptSubmit"}
    # First, because the item's own text may begin as what the client gives itself.
    if is_same_text(item.text, prompt):
        return Proof(STARTED, event)
    _, mark, woken = prompt.partition(f"[queued prompt {item.id}]\n")
    if not (mark and is_wake(prompt)):
        return None
    if _is_woken_by(woken, item.text):
        return Proof(STARTED, event)
    return Proof(FAILED, event, "Claude was woken with another text: the client has cut or changed this one")


def _is_woken_by(woken: str, text: str) -> bool:
    """Whether what stands behind an item's mark is its whole text, and then the end of the client's own words."""
    shown, wanted = _unescaped(woken), _unescaped(text).rstrip()
    return shown.startswith(wanted) and shown[len(wanted) :].lstrip().startswith(_WAKE_END)


def _unescaped(text: str) -> str:
    """Return a text with its tags as they were: newer clients see to it that it cannot end their own (2.1.330)."""
    return _ESCAPED.sub("<", text)


def proof_by_compaction(item: Item, instructions: str | None) -> Proof | None:
    """Return the proof by PreCompact with the trigger ``manual``; None if it is not this item's."""
    if item.kind != COMMAND:
        return None
    name, arguments = command_of(item.text)
    if name != COMPACTING or arguments.strip() != (instructions or "").strip():
        return None
    return Proof(STARTED, {"event": "PreCompact", "custom_instructions": instructions})


def proof_by_start(item: Item, session_id: str) -> Proof | None:
    """Return the proof by SessionStart(clear) in the same client; None if the item does not clear."""
    if item.kind != COMMAND or command_of(item.text)[0] not in CLEARING:
        return None
    return Proof(DONE, {"event": "SessionStart", "source": "clear", "session_id": session_id})


def proof_by_records(item: Item, lines: Sequence[bytes], since: str) -> Proof | None:
    """Return what a transcript's lines prove of an item that was submitted at ``since`` or later; None for nothing.

    ``since`` is ISO 8601; lines without a time, or from before it, count for nothing. That the client lets a prompt
    wait proves it if it was typed; a channel that hands prompts over hears from the client what becomes of them.
    """
    entries = _entries(lines, since)
    if item.kind == COMMAND:
        return _command(item, entries)
    if item.kind == SHELL and (found := _shell(item, entries)) is not None:
        return found
    return _prompt(item, entries)


def proof_by_reply(item: Item, lines: Sequence[bytes], since: str) -> Proof | None:
    """Return what a transcript's lines prove of an item that a Stop hook replied with at ``since`` or later.

    The client puts what is too long for it into a file, and tells Claude the beginning alone (2.1.332: of 52,000
    characters, not of 51,007). None if nothing that a Stop hook has replied is recorded.
    """
    given = [(entry, _text_of(entry)) for entry in _entries(lines, since) if entry.get("type") == "user"]
    given = [(entry, text.removeprefix(BEHIND_STOP)) for entry, text in given if text.startswith(BEHIND_STOP)]
    wanted = _unescaped(item.text).strip()
    for entry, text in given:
        # Other hooks may have replied too.
        if wanted in _unescaped(text):
            return Proof(STARTED, {"record": "prompt", "at": entry.get("timestamp")})
    if not given:
        return None
    entry, text = given[-1]
    said = {"record": "prompt", "at": entry.get("timestamp"), "submitted": _shown(text)}
    return Proof(FAILED, said, "Claude was given another text: the client has cut or changed this one")


def is_interrupted(lines: Sequence[bytes], since: str) -> bool:
    """Whether the transcript's lines say that a person has stopped Claude after ``since``."""
    return any(_text_of(entry).startswith(INTERRUPTED) for entry in _entries(lines, since))


def _prompt(item: Item, entries: Iterable[dict[str, Any]]) -> Proof | None:
    waiting: Proof | None = None
    for entry in entries:
        said = {"record": "prompt", "at": entry.get("timestamp")}
        if entry.get("type") == "queue-operation":
            content = entry.get("content")
            if isinstance(content, str) and (proof := proof_by_prompt(item, content)):
                # The client itself lets it wait; one that it throws away again, as Escape makes it do, was not taken.
                is_put_in = entry.get("operation") == "enqueue" and not item.exact
                waiting = proof._replace(said=said) if is_put_in else None
            continue
        text = _text_of(entry) if entry.get("type") == "user" else ""
        if text and (proof := proof_by_prompt(item, text) or proof_by_prompt(item, text.removeprefix(BEHIND_STOP))):
            return proof._replace(said=said)
    return waiting


def _command(item: Item, entries: Iterable[dict[str, Any]]) -> Proof | None:
    name, arguments = command_of(item.text)
    begun: Proof | None = None
    before = ""
    for entry in entries:
        text, at = _text_of(entry), entry.get("timestamp")
        is_named, before = before.strip() == f"/{name}", text
        if begun is None:
            if is_named and text.startswith(_NOT_FOR_USERS):
                return Proof(FAILED, {"record": "not for users", "at": at}, _shown(text))
            if _is_unknown(text, name):
                return Proof(FAILED, {"record": "unknown command", "at": at}, _shown(text))
            if _tag(text, "command-name") == f"/{name}" and (_tag(text, "command-args") or "").strip() == arguments:
                begun = Proof(STARTED, {"record": "command", "at": at})
        elif (output := _output(text, "local-command-stdout")) is not None:
            said = {**begun.said, "output": output}
            failed = output.startswith(_NOTHING_DONE)
            return Proof(FAILED, said, output) if failed else Proof(DONE, said)
        elif (output := _output(text, "local-command-stderr")) is not None:
            return Proof(FAILED, {**begun.said, "output": output}, output or f"/{name} failed and does not say why")
    return begun


def _shell(item: Item, entries: Iterable[dict[str, Any]]) -> Proof | None:
    begun: Proof | None = None
    for entry in entries:
        text = _text_of(entry)
        if begun is None:
            if (_tag(text, "bash-input") or "").strip() == item.text[1:].strip():
                begun = Proof(STARTED, {"record": "shell", "at": entry.get("timestamp")})
        elif (output := _output(text, "bash-stdout")) is not None:
            # Since 2.1.151 or later Claude is asked about it too (2.1.330), and Stop is its end.
            return Proof(STARTED, {**begun.said, "output": output})
    return begun


def _is_unknown(text: str, name: str) -> bool:
    for beginning in _UNKNOWN:
        if text.startswith(beginning):
            return re.match(re.escape(name) + r"(?![\w:/-])", text[len(beginning) :]) is not None
    return False


def _entries(lines: Iterable[bytes], since: str) -> list[dict[str, Any]]:
    earliest = seconds(since)
    found = []
    for line in lines:
        if b'"timestamp"' not in line or b'"api-request' in line[:40]:
            continue
        try:
            entry = fastjson.loads(line)
        except ValueError:
            continue
        if not isinstance(entry, dict) or entry.get("isSidechain") is True:
            continue
        at = seconds(entry.get("timestamp"))
        if at is not None and earliest is not None and at >= earliest:
            found.append(entry)
    return found


def _text_of(entry: Mapping[str, Any]) -> str:
    """Return the text that a line of the transcript holds; empty for none."""
    message = entry.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if entry.get("type") == "system":
        content = entry.get("content")
    elif entry.get("type") != "user":
        return ""
    if isinstance(content, list):
        texts = [part.get("text") for part in content if isinstance(part, dict) and part.get("type") == "text"]
        return "".join(text for text in texts if isinstance(text, str))
    return content if isinstance(content, str) else ""


def _tag(text: str, name: str) -> str | None:
    """Return what stands in a tag of a text; None without it."""
    _, begin, rest = text.partition(f"<{name}>")
    inner, end, _ = rest.rpartition(f"</{name}>")
    return inner if begin and end else None


def _output(text: str, name: str) -> str | None:
    inner = _tag(text, name)
    return None if inner is None else _shown(inner)


def _shown(text: str) -> str:
    return _ANSI.sub("", text).strip()[:_LONGEST_OUTPUT]
