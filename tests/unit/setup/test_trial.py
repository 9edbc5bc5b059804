"""What the test message of `hookrouter init` says about its gateway."""

from __future__ import annotations

import pytest

from hookrouter._setup.trial import message_text
from hookrouter.config import Agent, AnswerConfig, Config

CONFIG = Config(
    agents=(
        Agent("night", gateway="wake", fallbacks=("chat", "both")),
        Agent("off", gateway="phone", enabled=False),
    ),
    answer=AnswerConfig(escalate_to="phone", escalate_after=5400.0),
)
BOTH = CONFIG._with(answer=AnswerConfig(escalate_to="both", escalate_after=7200.0))
FIRST = CONFIG._with(answer=AnswerConfig(escalate_to="wake"))


ALL = "Claude's questions will come the same way."
LATE = "are still open after"
SOME = "Of Claude's questions, those will come the same way that"


@pytest.mark.parametrize(
    ("config", "gateway", "arriving", "questions"),
    [
        (CONFIG, "wake", "messages for night", ALL),
        (FIRST, "wake", "messages for night", ALL),
        (CONFIG, "chat", "messages for night", f"{SOME} no gateway before it has taken."),
        (CONFIG, "phone", "messages", f"{SOME} {LATE} 90 min."),
        (
            BOTH,
            "both",
            "messages for night",
            f"{SOME} no gateway before it has taken, or that {LATE} 2 h.",
        ),
    ],
)
def test_it_says_which_questions_come_the_same_way(config: Config, gateway: str, arriving: str, questions: str) -> None:
    text = " ".join(message_text(config, "night", gateway).split())
    assert text.endswith(f"It shows that {arriving} arrive through the gateway {gateway}. {questions}")
