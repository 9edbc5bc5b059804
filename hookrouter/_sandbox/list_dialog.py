"""A model of the client's dialogs that are a list of rows: the permission for a command, and the approval of a plan.

Drawn as Claude Code 2.1.330 draws them, for the stand-in: rows with a cursor and numbers, without the row's texts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["PLAN_TOOL", "ListDialog", "Row"]

PLAN_TOOL = "ExitPlanMode"

_RULE, _DASHES, _CURSOR = "─", "╌", "❯"


class Row(NamedTuple):
    """One row, and what choosing it means."""

    text: str
    allows: bool
    mode: str = ""
    """The permission mode that follows; empty for the one before."""


_PERMISSION = (Row("Yes", True), Row("No", False))
_PLAN = (
    Row("Yes, and use auto mode", True, "auto"),
    Row("Yes, manually approve edits", True, "default"),
    Row("Tell Claude what to change", False),
)
_FEEDBACK = "shift+tab to approve with this feedback"


class ListDialog:
    """One open dialog about a tool call."""

    def __init__(self, tool: str, tool_input: Mapping[str, Any]) -> None:
        """Open it for a call of Bash, or of ExitPlanMode with a ``plan`` and its ``planFilePath``."""
        self._input = tool_input
        self._is_plan = tool == PLAN_TOOL
        self.rows = _PLAN if self._is_plan else _PERMISSION
        self._cursor = 0
        self.chosen: Row | None = None
        """The row that was chosen; None while the dialog is open, and if it was left."""
        self.is_closed = False

    def press(self, key: str) -> None:
        """Take one key, by tmux's name or as one character; after closing nothing has an effect."""
        if self.is_closed:
            return
        if key == "Escape":
            self.is_closed = True
        elif key == "Enter":
            self._choose(self._cursor)
        elif key in ("Up", "Down"):
            self._cursor = max(0, min(len(self.rows) - 1, self._cursor + (1 if key == "Down" else -1)))
        elif key.isdecimal() and 1 <= int(key) <= len(self.rows):
            self._choose(int(key) - 1)

    def _choose(self, index: int) -> None:
        self.chosen, self.is_closed = self.rows[index], True

    def render(self, width: int) -> list[str]:
        """Return its lines."""
        return self._plan(width) if self._is_plan else self._permission(width)

    def _permission(self, width: int) -> list[str]:
        command, about = (str(self._input.get(name, "")) for name in ("command", "description"))
        return [
            _RULE * width,
            " Bash command",
            f" {about}",
            _DASHES * width,
            *(f" {line}" for line in command.split("\n")),
            _DASHES * width,
            " Do you want to proceed?",
            *self._listed(" "),
            "",
            " Esc to cancel · Tab to amend",
        ]

    def _plan(self, width: int) -> list[str]:
        path = str(self._input.get("planFilePath", ""))
        return [
            "  Here is Claude's plan:",
            f"  {_DASHES * (width - 4)}",
            *(f"   {line}".rstrip() for line in str(self._input.get("plan", "")).split("\n")),
            f"  {_DASHES * (width - 4)}",
            "",
            f"  {_RULE * (width - 4)}",
            "   Claude has written up a plan and is ready to execute. Would you like to proceed?",
            "",
            *self._listed("   "),
            f"        {_FEEDBACK}",
            "",
            f"   ctrl+g to edit in Vim · {path}",
        ]

    def _listed(self, indent: str) -> list[str]:
        return [
            f"{indent}{_CURSOR if number == self._cursor else ' '} {number + 1}. {row.text}"
            for number, row in enumerate(self.rows)
        ]
