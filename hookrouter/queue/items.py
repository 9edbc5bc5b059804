"""What a session's queue holds: prompts, slash commands and shell commands, and what became of each.

An item goes ``queued`` -> ``delivering`` -> ``started`` -> ``done``; or it ends as ``failed`` or ``dropped``. It is
``started`` only if an event or a record of the client has proven that it was submitted, exactly as it is.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from hookrouter.util.clock import iso
from hookrouter.util.errors import HookrouterError
from hookrouter.util.text import TRIMMED

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "COMMAND",
    "DELIVERING",
    "DONE",
    "DROPPED",
    "ENDED",
    "FAILED",
    "PROMPT",
    "QUEUED",
    "SHELL",
    "STARTED",
    "STATES",
    "Item",
    "ItemError",
    "command_of",
    "kind_of",
    "new_item",
]

PROMPT, COMMAND, SHELL = "prompt", "command", "shell"
"""The kinds of items: a text for Claude, a slash command, and ``!`` with a command for the shell."""

QUEUED, DELIVERING, STARTED, DONE, FAILED, DROPPED = "queued", "delivering", "started", "done", "failed", "dropped"
STATES = (QUEUED, DELIVERING, STARTED, DONE, FAILED, DROPPED)
ENDED = frozenset([DONE, FAILED, DROPPED])
"""The states in which nothing more becomes of an item."""

LONGEST = 1_000_000
"""Characters of an item's text."""


_BLANKS = f"{TRIMMED}\x1c\x1d\x1e\x1f\x85"
"""What is trimmed: all that is white space to the client, or to Python."""


class ItemError(HookrouterError):
    """A text cannot be queued; the message says what was found and what is allowed."""


class Item(NamedTuple):
    """One item of a queue. Times are ISO 8601 in UTC, empty before they have come."""

    id: str
    """Its name among all items of this home. Ids of one process sort in the order of creation."""
    kind: str
    """``prompt``, ``command`` or ``shell``."""
    text: str
    """What is to be submitted, exactly: ``/compact keep the plan``, ``!ls``."""
    by: str
    """``agent`` or ``person``."""
    who: str = ""
    """The login name of the person who sent it; empty for an agent's."""
    state: str = QUEUED
    """One of :data:`STATES`."""
    queued_at: str = ""
    """When it was put in."""
    delivering_at: str = ""
    """When its delivery began."""
    started_at: str = ""
    """When it was proven to be submitted."""
    ended_at: str = ""
    """When it ended."""
    channel: str = ""
    """The prompt channel that delivers it, or has."""
    phase: str = ""
    """What the channel had saved before its last act, see :class:`hookrouter.queue.channels.PromptRequest`."""
    exact: bool = False
    """Whether its channel can submit nothing but exactly this item: what else is submitted says nothing of it."""
    boot: str = ""
    """Which start of the machine and which client process the delivery was begun for: ``<boot id> <pid>``."""
    proof: Mapping[str, Any] = {}
    """What has proven it: ``event`` or ``record``, and what it said."""
    reason: str = ""
    """Why it failed, was dropped, or is not delivered yet, in one sentence."""
    repeats: str = ""
    """The id of the item that this one sends again, because nothing of it had been done; empty for all others."""

    @property
    def is_ended(self) -> bool:
        """Whether nothing more becomes of it."""
        return self.state in ENDED

    @property
    def is_under_way(self) -> bool:
        """Whether its delivery has begun, and it has not ended."""
        return self.state in (DELIVERING, STARTED)


def kind_of(text: str) -> str:
    """Return the kind of what the client makes of a text whose ends are trimmed."""
    return COMMAND if text.startswith("/") else SHELL if text.startswith("!") else PROMPT


def command_of(text: str) -> tuple[str, str]:
    """Return name (without its slash) and arguments of a slash command, as the client takes them apart."""
    name, *rest = text.removeprefix("/").split(None, 1)
    return name, rest[0] if rest else ""


def new_item(text: str, *, by: str, who: str = "", repeats: str = "") -> Item:
    """Return a new item of a text, whose ends are trimmed as the client trims them. Raises ItemError."""
    kept = text.strip(_BLANKS)
    if not kept:
        raise ItemError("there is no text; a prompt, /command or !command is needed")
    if len(kept) > LONGEST:
        raise ItemError(f"the text has {len(kept)} characters; at most {LONGEST} are taken")
    for place, character in enumerate(kept):
        code = ord(character)
        if character in "\n\t":
            continue
        if code < 0x20 or 0x7F <= code < 0xA0 or 0xD800 <= code < 0xE000:
            raise ItemError(
                f"character {place + 1} of the text is U+{code:04X}, a control character or half of a pair; "
                "text, newlines and tabs are allowed"
            )
    kind = kind_of(kept)
    if kind != PROMPT and not kept[1:].strip():
        raise ItemError(f"found {kept!r}: a {kept[0]} alone is not a command")
    if kind == COMMAND and kept[1].isspace():
        raise ItemError(f"found {kept[:20]!r}: a command's name comes directly after its slash")
    moment = iso()
    return Item(
        id=f"{moment[:19].replace('-', '').replace(':', '')}-{os.urandom(4).hex()}",
        kind=kind,
        text=kept,
        by=by,
        who=who,
        queued_at=moment,
        repeats=repeats,
    )
