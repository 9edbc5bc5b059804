"""The questions that wait, on the screen, for a person to choose one: a value, like :mod:`form`."""

from __future__ import annotations

from typing import NamedTuple

from hookrouter.cli.dialogs.person.view import Body, Writer, wrapped
from hookrouter.util.text import printable

__all__ = ["Menu"]


class Menu(NamedTuple):
    """Several entries, of which one is chosen. Entries count from 1, as questions do everywhere."""

    entries: tuple[tuple[str, ...], ...]
    """The lines of each entry."""
    row: int = 0
    end: str = ""
    """``take`` once one is chosen, ``leave`` if none is."""
    notice: str = ""

    @property
    def page(self) -> int:
        """There is one page only."""
        return 0

    @property
    def asks_to_send(self) -> bool:
        """Nothing is sent from here."""
        return False

    def pressed(self, key: str) -> Menu:
        """Return the menu after one of the keys of :mod:`form`."""
        if key in ("leave", "escape"):
            return self._replace(end="leave")
        if key == "enter":
            return self._replace(end="take")
        step = {"up": -1, "back-tab": -1, "down": 1, "tab": 1}.get(key, 0)
        return self._replace(row=min(max(self.row + step, 0), len(self.entries) - 1), notice="")

    def typed(self, text: str) -> Menu:
        """Return the menu after a person has typed a number."""
        number = int(text) if len(text) == 1 and text.isascii() and text.isdecimal() else 0
        if not 1 <= number <= len(self.entries):
            return self._replace(notice=f"there are 1 to {len(self.entries)}")
        return self._replace(row=number - 1, end="take")

    def head(self, width: int) -> str:  # noqa: ARG002 - it is short
        """Return the line above."""
        return "questions that wait"

    def body(self, width: int) -> Body:
        """Return the entries."""
        writer = Writer(width)
        for number, lines in enumerate(self.entries, 1):
            writer.row("\n".join(lines), f"{number}  ", has_cursor=self.row == number - 1)
        return writer.done()

    def foot(self, width: int, hidden: str = "") -> list[str]:
        """Return the lines below."""
        said = f"! {printable(self.notice)}" if self.notice else hidden
        return [*wrapped(said, width), *wrapped("Number or Enter choose | Ctrl-C leave", width)]
