"""Reads the prompt box, and what the transcript above it says of the form."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hookrouter_keystrokes import grammar
from hookrouter_keystrokes.screens.header import is_rule
from hookrouter_keystrokes.screens.model import Closed, Prompt
from hookrouter_keystrokes.screens.text import key

if TYPE_CHECKING:
    from hookrouter.tools import AskUserQuestionInput

__all__ = ["is_hint", "prompt_box"]


_PROMPT_LINES = 6
_TITLED_RULE = re.compile(rf"{grammar.RULE}{{3,}}(?:.*{grammar.RULE})?")


def is_hint(text: str) -> bool:
    """Whether a text begins as the client's own hints in an empty box do, so that it reads as an empty box."""
    return text.lstrip().startswith(tuple(seen.text for seen in grammar.PROMPT_HINTS))


def prompt_box(lines: list[str], form: AskUserQuestionInput | None, width: int) -> Prompt | None:
    """Read the prompt box: between the last two rules, behind its glyph, with only status lines below.

    How ``form`` ended is read from what is above it; None for no form.
    """
    bottom = next((at for at in range(len(lines) - 1, 0, -1) if is_rule(lines[at], width)), None)
    if bottom is None or len(lines) - 1 - bottom > _PROMPT_LINES:
        return None
    # The upper rule may hold a word at its end, such as the model's name.
    top = next((at for at in range(bottom - 1, -1, -1) if _TITLED_RULE.fullmatch(lines[at])), None)
    if top is None:
        return None
    inside = lines[top + 1 : bottom]
    if not inside or inside[0][:1] not in grammar.PROMPTS or inside[0][1:2] not in ("", " "):
        return None
    text = "\n".join([inside[0][2:], *(line[2:] if not line[:2].strip() else line for line in inside[1:])])
    if is_hint(text):
        text = ""
    return Prompt(text, None if form is None else _closed(lines[:top], form))


def _closed(transcript: list[str], form: AskUserQuestionInput) -> str | None:
    """Return how the last form in the transcript ended, if it was this one."""
    asked = key(form.questions[0].question) if form.questions else ""
    for at in range(len(transcript) - 1, -1, -1):
        line = transcript[at]
        if line[:1] in grammar.PROMPTS and line[1:2] == " " and line[2:].strip():
            # The prompt that led to this form: what stands above it is about earlier ones.
            return None
        if not line.startswith((grammar.BULLET, grammar.RESULT)):
            continue
        said = line.lstrip(grammar.BULLET + grammar.RESULT + " ")
        shown = key("".join(transcript[at + 1 : at + 12]))
        if said.startswith(tuple(seen.text for seen in grammar.DECLINED)):
            # Older clients do not list the questions of the form that was declined.
            listed = "".join(transcript[at + 1 : at + 2]).startswith(grammar.RESULT)
            return None if listed and asked[:200] not in shown else Closed.DECLINED
        if said in [seen.text for seen in grammar.ANSWERED]:
            return Closed.ANSWERED if asked[:200] in shown else None
    return None
