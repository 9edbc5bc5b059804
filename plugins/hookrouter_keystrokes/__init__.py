"""Works through the keyboard: the planner ``grammar``, and the channels ``keys`` of answers and of prompts.

This module holds the hooks only. What they need is imported when they are called.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter.markers import hookimpl, stateless

if TYPE_CHECKING:
    from hookrouter.answering.interfaces import AnswerChannel, KeystrokePlanner
    from hookrouter.queue.channels import PromptChannel
    from hookrouter_keystrokes.settings import KeystrokesSettings

__all__ = ["answer_channel", "keystroke_planner", "plugin_settings", "prompt_channel"]


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


@hookimpl
@stateless
def prompt_channel() -> PromptChannel:
    """Contribute the prompt channel named ``keys``."""
    from hookrouter_keystrokes.prompting.channel import KeysPromptChannel

    return KeysPromptChannel()


@hookimpl
@stateless
def plugin_settings() -> type[KeystrokesSettings]:
    """Declare the settings of this plugin."""
    from hookrouter_keystrokes.settings import KeystrokesSettings

    return KeystrokesSettings
