"""A terminal for the stand-in of a client that is none."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hookrouter._sandbox.stand_in import PasteInput

__all__ = ["Display"]


class Display:
    """A terminal in which a prompt is typed and entered; what is shown goes into a file."""

    def __init__(self, prompt: str, path: Path) -> None:
        self.input: list[list[str | PasteInput]] = [[PasteInput(prompt)], ["Enter"]]
        self._path = path

    def size(self) -> tuple[int, int]:
        return 80, 24

    def draw(self, screen: str) -> None:
        self._path.write_text(screen, encoding="utf-8")

    def read(self, others: Sequence[int] = ()) -> list[str | PasteInput] | None:
        return self.input.pop(0) if self.input else []
