"""Answers Claude Code's question dialog through the keyboard: the planner ``grammar`` and the channel ``keys``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter.markers import hookimpl, stateless

if TYPE_CHECKING:
    from hookrouter.answering.interfaces import AnswerChannel, KeystrokePlanner

__all__ = ["answer_channel", "keystroke_planner"]


@hookimpl
@stateless
def keystroke_planner() -> KeystrokePlanner:
    """Contribute the planner named ``grammar``."""
    from hookrouter_keystrokes.planner.grammar_planner import GrammarPlanner

    return GrammarPlanner()


@hookimpl
@stateless
def answer_channel() -> AnswerChannel:
    """Contribute the channel named ``keys``."""
    from hookrouter_keystrokes.channel import KeysChannel

    return KeysChannel()
