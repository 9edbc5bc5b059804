"""Looks for the list on the screens of managed sessions: a dialog is open as long as the list is there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter import override
from hookrouter.dialogs.messages.answer_schema import answer_schema
from hookrouter.dialogs.messages.ways import way
from hookrouter.dialogs.opening import Opening
from hookrouter.dialogs.watching import DialogWatcher

from hookrouter_rewind.planner import KIND
from hookrouter_rewind.screens import Confirmation, RewindList, read

if TYPE_CHECKING:
    from hookrouter.terminals import Screen

__all__ = ["RewindWatcher"]

_CLOSE = {"label": "Close the list", "description": "the conversation stays as it is"}


class RewindWatcher(DialogWatcher[RewindList | Confirmation]):
    """The watcher of this plugin."""

    name = KIND

    @override
    def read(self, screen: Screen) -> RewindList | Confirmation | None:
        """Return the list, or the page behind it that asks whether to restore."""
        return read(screen)

    @override
    def opening(self, own_id: str, seen: RewindList | Confirmation) -> Opening | None:
        """Return the choice among the prompts that are listed once; behind the list it is the person's already."""
        if isinstance(seen, Confirmation):
            return None
        once = [one for one in seen.prompts if seen.prompts.count(one) == 1]
        options = [*({"label": one, "description": "go back to before it"} for one in once), _CLOSE]
        form = {
            "header": "Rewind",
            "question": "The Rewind list was left open, and the session takes no prompt. Go back to before which prompt?",
            "multiSelect": False,
            "options": options,
        }
        how = [
            way(f'{{"action": "select", "optionIndex": {number}}}', option["description"], option["label"])
            for number, option in enumerate(options)
        ]
        request = {"prompts": once, "how": how, "answer_schema": answer_schema([form])}
        return Opening(tool_use_id=own_id, questions=[form], kind=KIND, request=request)
