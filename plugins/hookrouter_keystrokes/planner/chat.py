"""A chat: decline the form by its chat row, then send the text as the next prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter.answering.interfaces import Done, Effect, GiveUp, Paste, Press, Wait
from hookrouter_keystrokes.planner.pages import PagePlan
from hookrouter_keystrokes.planner.shown import is_folded, shows_text
from hookrouter_keystrokes.screens.model import Prompt, RowKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookrouter.answering.interfaces import Step, Taken
    from hookrouter_keystrokes.screens.model import Page

__all__ = ["ChatPlan"]

_NO_DIALOG = "the question's dialog is not on screen; the prompt box is"
_TRIES = 3
"""How often Enter is pressed on a text that it does not send."""


class ChatPlan(PagePlan):
    """What to do for a chat."""

    def choose(self, page: Page) -> Step:
        """Return the next step towards the page's chat row, and on it."""
        if page.notes is not None and page.notes.focused:
            return Press("Escape", "leave the notes field")
        if page.row(RowKind.CHAT) is None:
            return GiveUp("this client's dialog has no row for chat")
        return self.move(page, RowKind.CHAT) or Press("Enter", "choose chat, which declines the form", Effect.DECLINES)

    def say(self, prompt: Prompt, text: str) -> Step:
        """Return the next step that sends the text, once the form was declined for it."""
        after = self.history.since_declined()
        if after is None:
            return Wait(_NO_DIALOG)
        if not any(isinstance(each.step, Paste) for each in after):
            if prompt.text.strip():
                return Wait("the form was declined for the chat, but the prompt box holds another text")
            return Paste(text, "put the chat's text into the prompt box")
        if not prompt.text.strip():
            if isinstance(after[-1].step, Press) and after[-1].step.key == "Enter":
                return Done("the form was declined and the chat's text was sent")
            return Wait("the chat's text is not in the prompt box yet")
        if not shows_text(prompt.text, text) and not is_folded(prompt.text, text):
            return Wait("the prompt box does not hold the chat's text")
        return self._enter(prompt, after)

    def _enter(self, prompt: Prompt, after: Sequence[Taken]) -> Step:
        tries = [each.view.state for each in after if isinstance(each.step, Press) and each.step.key == "Enter"]
        if tries and isinstance(tries[0], Prompt) and prompt.text.count("\n") > tries[0].text.count("\n"):
            return GiveUp(
                "Enter makes a new line in this client's prompt box (see keybindings.json), so the chat's text is "
                "still "
                "there, unsent"
            )
        if len(tries) >= _TRIES:
            return GiveUp("Enter does not send the chat's text, which is in the prompt box")
        return Press("Enter", "send the chat's text")
