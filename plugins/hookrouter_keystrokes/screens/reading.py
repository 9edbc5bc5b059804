"""Reads a captured pane into a typed state of the AskUserQuestion dialog.

The screen is matched against the saved form instead of being searched for words: a question page is recognised only
if the last block of the screen is built like the dialog *and* its question, option labels and descriptions are the
form's. Text from outside (labels, descriptions, Claude's prose, what was typed) can therefore hold anything, also
pictures of the dialog itself. What does not match completely is :class:`Unknown`, never a guess.

Texts are compared without white space (:func:`hookrouter_keystrokes.screens.text.key`), because the client wraps them
anywhere."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hookrouter_keystrokes import grammar
from hookrouter_keystrokes.screens.footer import MORE_ABOVE, above_footer, without_queued
from hookrouter_keystrokes.screens.model import UNSURE, DialogState, Unknown
from hookrouter_keystrokes.screens.other import other_dialog
from hookrouter_keystrokes.screens.page import question_page
from hookrouter_keystrokes.screens.prompt import prompt_box
from hookrouter_keystrokes.screens.review import review_rows, review_screen, review_tail

if TYPE_CHECKING:
    from hookrouter.terminals import Screen
    from hookrouter.tools import AskUserQuestionInput

__all__ = ["client_version", "read", "read_any"]


def read(screen: Screen, form: AskUserQuestionInput) -> DialogState:
    """Return what ``screen`` shows, seen with ``form`` in mind. Never raises."""
    whole = _lines(screen)
    lines = without_queued(whole)
    if not lines:
        return Unknown("the screen is empty")
    review = review_screen(lines, form) or review_tail(lines, form)
    if review is not None:
        return review
    if review_rows(lines) is not None:
        cut_off = len(lines) > 2 and MORE_ABOVE.fullmatch(lines[-3])
        why = UNSURE if cut_off else "the review on screen is not this form's"
        return Unknown(why, dialog=True, fits=bool(cut_off))
    body = above_footer(lines)
    if body is not None:
        return question_page(body, form, screen.width)
    other = other_dialog(lines) or other_dialog(whole)
    if other is not None:
        return other
    prompt = prompt_box(lines, form, screen.width)
    return prompt or Unknown("neither a dialog nor the prompt box is on screen")


def read_any(screen: Screen) -> DialogState:
    """Return what ``screen`` shows if no question is looked for: another dialog, or the prompt box. Never raises."""
    whole = _lines(screen)
    lines = without_queued(whole)
    if not lines:
        return Unknown("the screen is empty")
    if review_rows(lines) is not None or above_footer(lines) is not None:
        return Unknown("a question is on screen", dialog=True)
    # The rows of the shortest dialog of plans look like prompts that wait (2.1.150).
    found = other_dialog(lines) or other_dialog(whole) or prompt_box(lines, None, screen.width)
    return found or Unknown("neither a dialog nor the prompt box is on screen")


def _lines(screen: Screen) -> list[str]:
    lines = [line.replace("\u00a0", " ").rstrip() for line in screen.lines]
    while lines and not lines[-1]:
        lines.pop()
    return lines


_VERSION = re.compile(rf"\W*{grammar.BANNER} v(\d+)\.(\d+)\.(\d+)(?: {grammar.RULE}+╮)?")


def client_version(screen: Screen) -> tuple[int, int, int] | None:
    """Return the version in the client's banner, if that has not been scrolled away."""
    for line in screen.lines[:12]:
        found = _VERSION.fullmatch(line.rstrip())
        if found:
            return int(found[1]), int(found[2]), int(found[3])
    return None
