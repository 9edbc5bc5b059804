"""Counts what comes often, in bounded memory."""

from __future__ import annotations

__all__ = ["LONGEST", "Tally"]

LONGEST = 200
"""Characters of a text that are kept."""


class Tally:
    """How often each text came, with an example. If there are too many, the rarer half is forgotten."""

    def __init__(self, most: int) -> None:
        """Keep at most so many texts."""
        self._most = most
        self._counts: dict[str, int] = {}
        self._examples: dict[str, str] = {}

    def add(self, text: str, example: str) -> None:
        """Count a text; the first example of it is kept. Of both, 200 characters."""
        text = text[:LONGEST]
        count = self._counts.get(text, 0)
        self._counts[text] = count + 1
        if not count:
            self._examples[text] = example[:LONGEST]
            if len(self._counts) > self._most:
                self._forget()

    def most(self, least: int = 1, limit: int | None = None) -> list[tuple[str, int, str]]:
        """Return the texts that came at least so often, with count and example, the most frequent first."""
        order = sorted(self._counts.items(), key=lambda one: (-one[1], one[0]))[:limit]
        return [(text, count, self._examples[text]) for text, count in order if count >= least]

    def _forget(self) -> None:
        kept = sorted(self._counts, key=lambda text: -self._counts[text])[: self._most // 2]
        self._counts = {text: self._counts[text] for text in kept}
        self._examples = {text: self._examples[text] for text in kept}
