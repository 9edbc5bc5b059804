"""Items of every kind, mixed by a seed: each with a number of its own in its text, if its kind can carry one."""

from __future__ import annotations

import random
import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["CLEAR", "COMPACT", "KINDS", "PLAIN", "Made", "marks_in", "mixed", "plain", "prompt_kinds"]

CLEAR, COMPACT = "/clear", "/compact"

_MARK = re.compile(r"\bn\d{4}\b")
_WORDS = ("river", "stone", "winter", "garden", "letter", "window", "morning", "paper", "silver", "corner", "bridge")
_MODELS = ("haiku", "sonnet", "opus")
_EFFORTS = ("low", "medium", "high")


class Made(NamedTuple):
    """One item."""

    number: int
    """Its place in the queue, from 0 on."""
    kind: str
    """A name of :data:`KINDS`."""
    text: str

    @property
    def mark(self) -> str:
        """The number in its text that no other text has; empty for a command that takes none."""
        return next(iter(marks_in(self.text)), "")


def marks_in(text: str) -> list[str]:
    """Return the numbers of items that a text holds."""
    return _MARK.findall(text)


def _words(number: int, count: int) -> str:
    chance = random.Random(number)
    return " ".join(chance.choice(_WORDS) for _ in range(count))


def _lines(mark: str, number: int) -> str:
    return "\n".join(
        (f"{mark} in many lines:", f"  - {_words(number, 4)}", "", f"\\{_words(number + 1, 6)}", "the end")
    )


_PROMPTS: dict[str, Callable[[str, int], str]] = {
    "prompt": lambda mark, number: f"{mark} {_words(number, 5)}",
    "long prompt": lambda mark, number: f"{mark} {_words(number, 450)} and the end",
    "prompt of many lines": _lines,
    "prompt with a backslash at its end": lambda mark, number: f"{mark} in C:\\{_words(number, 1)}\\",
    "prompt with @file": lambda mark, number: f"{mark} read @readme.txt",
    "prompt with @ at its end": lambda mark, number: f"{mark} sold {number} @",
    "prompt with # first": lambda mark, number: f"# {mark} {_words(number, 3)}",
    "prompt with a path at its end": lambda mark, number: f"{mark} look into /etc/hosts",
    "prompt with ! in it": lambda mark, number: f"{mark} stop! do !not go!",
    "prompt with emoji": lambda mark, number: f"{mark} 👍🏽 日本語 é {_words(number, 2)} 👨‍👩‍👧",
    "prompt like a dialog": lambda mark, number: f"{mark} ❯ 1. Yes\n  2. No (esc to interrupt)",
}
_OTHERS: dict[str, Callable[[str, int], str]] = {
    COMPACT: lambda mark, number: f"/compact keep {mark}",
    CLEAR: lambda mark, number: "/clear",
    "/model": lambda mark, number: f"/model {_MODELS[number % len(_MODELS)]}",
    "/rename": lambda mark, number: f"/rename name-{mark}",
    "/context": lambda mark, number: "/context",
    "/effort": lambda mark, number: f"/effort {_EFFORTS[number % len(_EFFORTS)]}",
    "project command with arguments": lambda mark, number: f"/phase:next {mark} one  two",
    "skill": lambda mark, number: f"/lookout {mark}",
    "!command": lambda mark, number: f"!echo {mark}",
}
KINDS = {**_PROMPTS, **_OTHERS}
"""What makes an item's text of its number, by the name of the kind."""

PLAIN = ("prompt", "long prompt", "prompt of many lines", "prompt with @file", "project command with arguments")
"""Kinds that begin a turn and change nothing else."""


def prompt_kinds() -> tuple[str, ...]:
    """Return the kinds that are prompts to every client."""
    return tuple(_PROMPTS)


def mixed(
    count: int,
    seed: int,
    kinds: Sequence[str] = tuple(KINDS),
    first: int = 0,
    more: Mapping[str, str] | None = None,
) -> list[Made]:
    """Return ``count`` items, each kind as often as another, shuffled; their numbers begin with ``first``.

    ``more`` are kinds of prompts beside :data:`KINDS`: the words that stand behind the number in each.

    A ``/compact`` has at least one turn before it since the last ``/clear`` or ``/compact``: without one it does
    nothing.
    """
    chance = random.Random(seed)
    names = [kinds[place % len(kinds)] for place in range(count)]
    chance.shuffle(names)
    _let_compact_have_something(names)
    return [_made(number, name, more or {}) for number, name in enumerate(names, first)]


def plain(count: int, seed: int, first: int = 0) -> list[Made]:
    """Return items that begin turns, and nothing else."""
    return mixed(count, seed, PLAIN, first)


def _made(number: int, kind: str, more: Mapping[str, str]) -> Made:
    mark = f"n{number:04d}"
    return Made(number, kind, f"{mark} {more[kind]}" if kind in more else KINDS[kind](mark, number))


def _let_compact_have_something(names: list[str]) -> None:
    has_turn = False
    for place, name in enumerate(names):
        if name == COMPACT and not has_turn:
            later = next((at for at in range(place + 1, len(names)) if names[at] in _PROMPTS), None)
            if later is None:
                names[place] = "prompt"
            else:
                names[place], names[later] = names[later], name
        has_turn = names[place] not in (CLEAR, COMPACT) and (has_turn or names[place] in _PROMPTS)
