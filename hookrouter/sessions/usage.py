"""How much of a session's context is used, from the end of its transcript.

What is used is what the newest request of the main conversation sent: its input tokens, those that were read from the
cache and those that were written to it. Output is not counted. That is what the client's own ``/context`` and its
status line say (measured on 2.1.330). The transcript does not hold the size of the context window: see
:func:`window_of`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from hookrouter.util.regular_file import TAIL_BYTES, parsed, read_end
from hookrouter.util.text import version_numbers

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TypeGuard

__all__ = ["ContextUsed", "context_used", "window_of"]

_MOST_BYTES = 16 * TAIL_BYTES
"""So much of a transcript is read if its end does not say what is used: one record may be large."""

_PARTS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")

_SHORT, _LONG = 200_000, 1_000_000
_LONG_MARK = "[1m]"
"""The end of a model's name that asks for the larger window. The client says it to hooks, and not in the transcript."""

_MEASURED = (2, 1, 330)
"""The client that :data:`WINDOWS` is about. Older ones give some of these models a smaller window (seen on 2.1.150)."""

WINDOWS = {
    "claude-fable-5": _LONG,
    "claude-fable-5-1": _LONG,
    "claude-fable-5-2": _LONG,
    "claude-haiku-4-5": _SHORT,
    "claude-haiku-5-5": _LONG,
    "claude-opus-4-5": _SHORT,
    "claude-opus-4-6": _SHORT,
    "claude-opus-4-7": _LONG,
    "claude-opus-4-8": _LONG,
    "claude-opus-5": _LONG,
    "claude-opus-5-5": _LONG,
    "claude-sonnet-4-0": _SHORT,
    "claude-sonnet-4-5": _SHORT,
    "claude-sonnet-4-6": _SHORT,
    "claude-sonnet-5": _LONG,
    "claude-sonnet-5-5": _LONG,
}
"""Tokens of the context window by the model's id: the ``context_window_size`` that Claude Code 2.1.330 gives to a
``statusLine`` command when it runs with ``--model ID`` against a scripted API. With ``--model ID[1m]`` all have the
larger one."""

_DATE = re.compile(r"-\d{8}$")


class ContextUsed(NamedTuple):
    """What a session's context holds."""

    tokens: int
    """How many tokens."""
    window: int
    """How many it can hold; 0 if that is not known."""
    model: str
    """The id of the model that answered last; empty before the first answer."""

    @property
    def percent(self) -> int | None:
        """How many hundredths of the window are used; None if its size is not known."""
        return None if not self.window else round(100 * self.tokens / self.window)


def context_used(path: str, told_model: str = "") -> ContextUsed | None:
    """Return what is used, by the session's transcript; None if that does not say.

    ``told_model`` is what a hook has called the session's model. Never raises.
    """
    for limit in (TAIL_BYTES, _MOST_BYTES):
        data, is_whole = read_end(path, limit)
        lines = data.splitlines()
        newest = _newest(reversed(lines if is_whole else lines[1:]))
        if newest.is_found or is_whole:
            break
    if not newest.is_found and is_whole and lines:
        # Nothing was sent since the session's start, or since /clear.
        newest = newest._replace(tokens=0)
    if newest.tokens is None:
        return None
    window = window_of(newest.model, told_model, newest.version)
    # With more tokens than that it is another window.
    return ContextUsed(newest.tokens, window if newest.tokens <= window else 0, newest.model)


def window_of(model: str, told_model: str, version: tuple[int, ...]) -> int:
    """Return the size of a model's context window in tokens; 0 if it is not known.

    ``model`` is its id, as the transcript has it; ``told_model`` what a hook has called it, with the mark of the larger
    window if that was asked for; ``version`` the client's. What a hook has said of another model does not count.
    """
    told, mark, _ = told_model.partition(_LONG_MARK)
    if mark and (not model or told == model):
        return _LONG
    window = WINDOWS.get(_DATE.sub("", model or told), 0)
    if version < _MEASURED or (window == _SHORT and told != (model or told)):
        return 0
    return window


class _Newest(NamedTuple):
    """What the newest records say."""

    is_found: bool = False
    """Whether any says how much is used, or that it is not known."""
    tokens: int | None = None
    model: str = ""
    version: tuple[int, ...] = ()


def _newest(lines: Iterable[bytes]) -> _Newest:
    """Look at the lines of a transcript, the newest first."""
    found = _Newest()
    for line in lines:
        entry = parsed(line)
        found = found._replace(version=found.version or version_numbers(entry.get("version")) or ())
        if not found.is_found and entry.get("subtype") == "compact_boundary":
            # What was sent before does not count; clients before 2.1.150 do not say what is left.
            counted = entry.get("compactMetadata")
            left = counted.get("postTokens") if isinstance(counted, dict) else None
            found = found._replace(is_found=True, tokens=left if _is_count(left) else None)
        message = entry.get("message")
        if entry.get("type") != "assistant" or entry.get("isSidechain") is True or not isinstance(message, dict):
            continue
        sent, model = _sent(message.get("usage")), message.get("model")
        # What the client writes in Claude's name, such as an error, has sent nothing.
        if sent and isinstance(model, str):
            return found._replace(is_found=True, tokens=found.tokens if found.is_found else sent, model=model)
    return found


def _sent(usage: object) -> int:
    counts = [usage.get(part) for part in _PARTS] if isinstance(usage, dict) else []
    return sum(count for count in counts if _is_count(count))


def _is_count(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
