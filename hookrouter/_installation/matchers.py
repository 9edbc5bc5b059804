"""What a matcher of Claude Code's settings takes, as measured on Claude Code 2.1.330."""

from __future__ import annotations

import re

from hookrouter._contract.tables import TOOL_ALIASES

__all__ = ["covers", "matches", "overlap"]

_EVERYTHING = ("", "*")
_NAMES = re.compile(r"[a-zA-Z0-9_|, -]+")
_FEWER_NAMES = re.compile(r"[a-zA-Z0-9_|]+")
_STRICT_MATCHERS = ("FileChanged", "StopFailure")
"""The events whose matchers are lists of names only without blanks, commas and dashes."""


def matches(event: str, matcher: str | None, value: str | None) -> bool:
    """Say whether a matcher of settings.json lets Claude Code start a hook, as measured on Claude Code 2.1.330.

    ``value`` is what matchers of the event look at; None if they look at nothing. None, ``""`` and ``"*"`` match
    everything; names are joined by ``|`` (or commas); all else is a regular expression that is searched for.
    """
    if matcher is None or matcher in _EVERYTHING or value is None:
        return True
    if (_FEWER_NAMES if event in _STRICT_MATCHERS else _NAMES).fullmatch(matcher):
        names = {name.strip() for name in re.split("[|,]", matcher)}
        return value in names or value in {TOOL_ALIASES.get(name) for name in names}
    try:
        return re.search(matcher, value) is not None
    except re.error:
        return False


def overlap(event: str, matcher: str | None, other: str | None) -> bool:
    """Say whether there may be a call of an event that two matchers take."""
    if matcher is None or other is None or matcher in _EVERYTHING or other in _EVERYTHING or matcher == other:
        return True
    names, others = _names(event, matcher), _names(event, other)
    if names is not None:
        return any(matches(event, other, name) for name in names)
    # Two expressions may always have a call in common.
    return others is None or any(matches(event, matcher, name) for name in others)


def covers(event: str, matcher: str | None, wanted: str | None) -> bool:
    """Say whether a matcher surely takes every call that ``wanted`` takes."""
    if matcher is None or matcher in _EVERYTHING or matcher == wanted:
        return True
    names = None if wanted is None else _names(event, wanted)
    return names is not None and all(matches(event, matcher, name) for name in names)


def _names(event: str, matcher: str) -> set[str] | None:
    """Return the names that a matcher lists; None for a regular expression."""
    if not (_FEWER_NAMES if event in _STRICT_MATCHERS else _NAMES).fullmatch(matcher):
        return None
    return {name.strip() for name in re.split("[|,]", matcher)}
