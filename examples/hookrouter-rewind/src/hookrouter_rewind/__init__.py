"""The hookrouter plugin ``rewind``: agents decide on the Rewind list that was left open in a session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter import hookimpl, override
from hookrouter.hookspecs import AnswerSpecs, WatchSpecs

if TYPE_CHECKING:
    from hookrouter.answering.interfaces import KeystrokePlanner
    from hookrouter.dialogs.kinds import DialogKind
    from hookrouter.sessions.watching import SessionWatcher

__all__ = ["RewindPlugin"]


class RewindPlugin(AnswerSpecs, WatchSpecs):
    """Finds the list, and contributes its kind and the keys that decide on it."""

    @hookimpl
    @override
    def session_watcher(self) -> SessionWatcher:
        from hookrouter_rewind.watcher import RewindWatcher

        return RewindWatcher()

    @hookimpl
    @override
    def dialog_kinds(self) -> list[DialogKind]:
        from hookrouter_rewind.kind import RewindKind

        return [RewindKind()]

    @hookimpl
    @override
    def keystroke_planner(self) -> KeystrokePlanner:
        from hookrouter_rewind.planner import RewindPlanner

        return RewindPlanner()
