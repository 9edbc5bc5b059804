"""A chat goes by keys only if its text can be read back from the prompt box, and stays a prompt there."""

from __future__ import annotations

import pytest

from hookrouter.answering.decisions import Chat
from hookrouter.answering.interfaces import AnswerStatus
from hookrouter.terminals import Screen
from hookrouter_keystrokes.grammar import PROMPT_HINTS
from hookrouter_keystrokes.prompting.facts import ENDS
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


@pytest.mark.parametrize(
    ("text", "why"),
    [
        *((word, "ends the client") for word in ENDS),
        (" exit\n", "ends the client"),
        ("\u200bquit", "ends the client"),
        ("\ufeff/clear", "is a slash command"),
        ("\u200b !ls", "is a shell command"),
        ("\u00ad# note", "is a memory note"),
        ("\u200b\u2060", "is empty"),
        ('\u200bTry "pytest -q"', "begins like a hint"),
    ],
)
def test_a_chat_that_the_client_takes_for_no_prompt_is_refused_before_the_first_key(text: str, why: str) -> None:
    run = Run(ASKED)
    delivery = run.deliver(Chat(text))
    assert delivery.status == AnswerStatus.REFUSED
    assert why in delivery.reason
    assert run.terminal.log == []


@pytest.mark.parametrize("text", ["exit now", "a\u200bb", "\u200bgo on", "❤️"])
def test_a_chat_that_stays_a_prompt_is_sent(text: str) -> None:
    run = Run(ASKED)
    assert run.deliver(Chat(text)).status == AnswerStatus.DELIVERED
    assert run.terminal.prompts == [text]


def test_a_chat_that_only_holds_a_hint_is_sent() -> None:
    run = Run(ASKED)
    assert run.deliver(Chat('Please: Try "pytest -q" first')).status == AnswerStatus.DELIVERED
    assert run.terminal.prompts == ['Please: Try "pytest -q" first']
