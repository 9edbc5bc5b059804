"""A dialog that was seen from outside, as its document has it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from hookrouter.dialogs.messages.answer_schema import action_schema
from hookrouter.dialogs.messages.ways import way
from hookrouter.dialogs.opening import Opening
from hookrouter.util import fastjson
from hookrouter.util.filenames import digest
from hookrouter.util.text import printable

if TYPE_CHECKING:
    from hookrouter.answering.interfaces import SeenDialog
    from hookrouter.terminals import Screen, TerminalAddress

__all__ = ["BLOCKED", "UNKNOWN", "Stopped", "is_same", "request_of"]

BLOCKED = "blocked"
"""The kind of the documents."""

UNKNOWN = "a dialog that is not known"

_LEAVE = {"label": "Leave it to a person", "description": "no row of this dialog can be chosen from here"}


class Stopped(NamedTuple):
    """A session that a dialog has stopped."""

    key: str
    """What tells it from others that are stopped: its pane, or its process outside every known terminal."""
    pid: int
    """The client's process id; 0 before its session has begun."""
    session_id: str
    """Claude Code's id of the session; empty before it has begun."""
    folder: str
    """The client's working folder."""
    address: TerminalAddress | None
    """Where the dialog is drawn; None outside every known terminal."""
    dialog: SeenDialog | None
    """What is on the screen; None for a dialog that is not known."""
    screen: Screen | None
    """The screen; None if it cannot be seen."""

    @property
    def name(self) -> str:
        """What the dialog is, in words."""
        return UNKNOWN if self.dialog is None else self.dialog.kind

    @property
    def mark(self) -> str:
        """What stays the same while it is the same dialog: its cursor may move, and an unknown one is drawn anew."""
        seen = self.dialog
        return digest(fastjson.dumps([self.session_id, self.name, *([seen.rows, seen.body] if seen else [])]))[:16]

    def opening(self, own_id: str) -> Opening:
        """Return what is to be saved and told of it."""
        rows = [] if self.dialog is None else list(self.dialog.rows)
        shown = _lines(self.screen)
        what = f"Claude Code shows {self.name}, of which no hook tells, and the session waits."
        text = "\n".join([what, *(["", "On its screen:", "", *shown] if shown else [])])
        options = [{"label": row, "description": ""} for row in rows] or [_LEAVE]
        form = {"header": "Blocked", "question": text, "multiSelect": False, "options": options}
        how = [way(f'{{"action": "row", "index": {number}}}', "the row", row) for number, row in enumerate(rows)]
        none = [way("", "nothing: no row of this dialog can be chosen from here; a person has to, at the terminal")]
        return Opening(
            tool_use_id=own_id,
            questions=[form],
            kind=BLOCKED,
            request={
                **request_of(self.dialog),
                "key": self.key,
                "mark": self.mark,
                "screen": shown,
                "how": how or none,
                "answer_schema": action_schema({"row": {"index": {"type": "integer", "enum": list(range(len(rows)))}}}),
            },
        )


def request_of(dialog: SeenDialog | None) -> dict[str, Any]:
    """Return of a dialog what a planner compares with the screen before each key."""
    if dialog is None:
        return {"dialog": UNKNOWN, "rows": [], "body": []}
    return {"dialog": dialog.kind, "rows": list(dialog.rows), "body": list(dialog.body)}


def is_same(dialog: SeenDialog | None, request: object) -> bool:
    """Whether what is seen now is the dialog of a document."""
    return isinstance(request, dict) and request_of(dialog) == {name: request.get(name) for name in request_of(None)}


def _lines(screen: Screen | None) -> list[str]:
    lines = [] if screen is None else [printable(line) for line in screen.lines]
    while lines and not lines[-1].strip():
        lines.pop()
    while lines and not lines[0].strip():
        lines.pop(0)
    return lines
