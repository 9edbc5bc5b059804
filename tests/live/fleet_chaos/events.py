"""What clients, agents and a gateway saw, each thing as it happened: all that the checker reads."""

from __future__ import annotations

import threading
from typing import TypeVar

import attrs

__all__ = ["Answered", "Asked", "Events", "Reported", "Seen", "Sent", "Submitted", "Told", "Tried"]


@attrs.frozen
class Asked:
    """A client asked, and the hooks of the question's beginning had ended."""

    session: str
    question: str
    """The id of the tool call."""


@attrs.frozen
class Answered:
    """The client took an answer, and said so to the hooks; or gave up."""

    question: str
    answer: str
    """The label; empty if the client was given none for too long."""
    by_person: bool = False
    """At the keyboard, because no hook waited any more."""


@attrs.frozen
class Tried:
    """A ``hookrouter answer`` of an agent ended."""

    question: str
    machine: str
    """Where it ran."""
    meant: str
    """The label that it was to choose."""
    code: int
    outcome: str
    """As its JSON says; empty without one."""
    said: str = ""
    """Why, and what it wrote beside that."""


@attrs.frozen
class Told:
    """The gateway took a message. It may have answered that it did not."""

    message: str
    """Its id."""
    kind: str
    session: str
    question: str


@attrs.frozen
class Sent:
    """A ``hookrouter send`` ended."""

    session: str
    text: str
    code: int
    said: str = ""


@attrs.frozen
class Submitted:
    """The client was given a prompt of a queue."""

    session: str
    text: str


@attrs.frozen
class Reported:
    """A command said what became of an item, when asked because it did not come."""

    session: str
    text: str
    state: str


Seen = Asked | Answered | Tried | Told | Sent | Submitted | Reported
One = TypeVar("One", bound=Seen)


class Events:
    """All of them, in their order, from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._all: list[Seen] = []
        self._told: set[str] = set()

    def add(self, event: Seen) -> None:
        """Note one."""
        with self._lock:
            self._all.append(event)
            if isinstance(event, Told):
                self._told.add(event.question)

    def of(self, kind: type[One]) -> list[One]:
        """Return those of a kind."""
        with self._lock:
            return [event for event in self._all if isinstance(event, kind)]

    def lines(self) -> list[str]:
        """Return each in words, in their order."""
        with self._lock:
            return [str(event) for event in self._all]

    def is_told(self, question: str) -> bool:
        """Whether the gateway took a message about a question."""
        return question in self._told
