"""A chat goes by keys only if its text can be read back from the prompt box, where the client shows hints, too."""

from __future__ import annotations

import pytest

from hookrouter.answering.decisions import Chat
from hookrouter.answering.interfaces import AnswerStatus
from hookrouter.terminals import Screen
from hookrouter_keystrokes.grammar import PROMPT_HINTS
from hookrouter_keystrokes.screens.model import Prompt
from hookrouter_keystrokes.screens.reading import read

from .test_keys_channel import SINGLE, Run, form

ASKED = form(SINGLE)


@pytest.mark.parametrize("hint", [seen.text for seen in PROMPT_HINTS])
def test_a_chat_that_reads_as_an_empty_prompt_box_is_refused_before_the_first_key(hint: str) -> None:
    for text in (f"{hint}pytest -q", f"\n {hint}"):
        run = Run(ASKED)
        delivery = run.deliver(Chat(text))
        assert delivery.status == AnswerStatus.REFUSED
        assert "begins like a hint" in delivery.reason
        assert run.terminal.log == []
        assert run.planner.outline(ASKED, (Chat(text),)) == [f"nothing: {delivery.reason}"]
    rule = "─" * 80
    box = read(Screen((rule, f"❯ {hint} …", rule), 80, 3), ASKED)
    assert isinstance(box, Prompt)
    assert box.text == ""


def test_a_chat_that_only_holds_a_hint_is_sent() -> None:
    run = Run(ASKED)
    assert run.deliver(Chat('Please: Try "pytest -q" first')).status == AnswerStatus.DELIVERED
    assert run.terminal.prompts == ['Please: Try "pytest -q" first']
