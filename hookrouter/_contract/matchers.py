"""What a matcher of Claude Code's settings takes, as measured on Claude Code 2.1.330."""

from __future__ import annotations

import re
import warnings

from hookrouter._contract.tables import TOOL_ALIASES

__all__ = ["covers", "is_read_alike", "listed_names", "matches", "overlap"]

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
    names = listed_names(event, matcher)
    if names is not None:
        return value in names or value in {TOOL_ALIASES.get(name) for name in names}
    try:
        return re.search(matcher, value, re.ASCII) is not None
    except re.error:
        return False


def listed_names(event: str, matcher: str) -> tuple[str, ...] | None:
    """Return the names that a matcher lists, in order; None for an expression, and for one that takes everything."""
    if not (_FEWER_NAMES if event in _STRICT_MATCHERS else _NAMES).fullmatch(matcher):
        return None
    return tuple(dict.fromkeys(name.strip() for name in re.split("[|,]", matcher)))


_COUNT = r"(?:[*+?]|\{\d+(?:,\d*)?\})\??(?![*+?{])"
_ESCAPE = r"\\[dwsDWS.*+?^$()\[\]{}|/-]"
_COMMON = (
    rf"(?:[\w ,:/@#%&=!<>~`'\";-]|[.|^$]|\((?:\?[:=!])?|\)|\\[bB]|{_ESCAPE}|{_COUNT}"
    rf"|\[\^?(?:[\w ,:/@.*+?$()|%=!_-]|{_ESCAPE})+\])*"
)
"""What expressions are made of that JavaScript and Python read in the same way."""


def is_read_alike(event: str, matcher: str) -> bool:
    """Whether a matcher is surely read here as Claude Code reads it: JavaScript has other expressions than Python."""
    if matcher in _EVERYTHING or listed_names(event, matcher) is not None:
        return True
    if not re.fullmatch(_COMMON, matcher, re.ASCII):
        return False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            re.compile(matcher, re.ASCII)
    except (re.error, Warning, RecursionError, OverflowError):
        return False
    return True


def overlap(event: str, matcher: str | None, other: str | None) -> bool:
    """Say whether there may be a call of an event that two matchers take."""
    if matcher is None or other is None or matcher in _EVERYTHING or other in _EVERYTHING or matcher == other:
        return True
    names, others = listed_names(event, matcher), listed_names(event, other)
    if names is not None:
        return any(matches(event, other, name) for name in names)
    # Two expressions may always have a call in common.
    return others is None or any(matches(event, matcher, name) for name in others)


def covers(event: str, matcher: str | None, wanted: str | None) -> bool:
    """Say whether a matcher surely takes every call that ``wanted`` takes."""
    if matcher is None or matcher in _EVERYTHING or matcher == wanted:
        return True
    names = None if wanted is None else listed_names(event, wanted)
    return names is not None and all(matches(event, matcher, name) for name in names)
