"""Texts that the client cuts, changes or takes for an order of its own: brought whole by some channel, or refused."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hookrouter._sandbox.scripted_model import ScriptedModel
from hookrouter._sandbox.tmux_server import PrivateTmux
from hookrouter._sandbox.waiting import wait_until
from hookrouter.queue.channels import PromptStatus
from hookrouter_keystrokes.prompting.hidden import HIDDEN
from hookrouter_keystrokes.prompting.pieces import untypable
from support.prompt_session import PromptSession, prompt_session
from support.queued import Queued
from support.tested_client import VERSION

pytestmark = pytest.mark.live

IS_OLD = VERSION < (2, 1, 330)
LONG = "".join(f"word-{number:07d} " for number in range(12_000))
KEPT = {
    "the client's tag": "<task-notification> what does this tag mean? </task-notification>",
    "emoji": "\U0001f468\u200d\U0001f469\u200d\U0001f467 \U0001f469\U0001f3fd\u200d\U0001f4bb \u2764\ufe0f x",
    "persian": "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
    "indic": "\u0915\u094d\u200d\u0937 \u0dc1\u0dca\u200d\u0dbb\u0dd3",
}

MakeQueued = Callable[[str], Queued]


@pytest.fixture
def make(tmp_path: Path, tmux_server: PrivateTmux) -> Iterator[MakeQueued]:
    made: list[Queued] = []
    with ScriptedModel() as model:

        def make(channels: str) -> Queued:
            made.append(Queued(tmp_path, tmux_server, model, channels))
            return made[-1]

        yield make
        for one in made:
            one.close()


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PromptSession]:
    with PrivateTmux() as server, prompt_session(tmp_path_factory.mktemp("kept"), server) as session:
        yield session


def pasted(session: PromptSession, text: str) -> str:
    """Paste a text and press Enter, without any channel; return what was submitted."""
    session.begin()
    before = len(session.stage.payloads("UserPromptSubmit"))
    session.terminal.paste(session.address, text)
    session.wait_area(lambda area: text[-1] in "".join(area.rows), "the text")
    pressed = 0.0

    def submitted() -> bool:
        nonlocal pressed
        # A first Enter may only take something out, and say so.
        if time.monotonic() - pressed > 3 and session.area().rows:
            pressed = time.monotonic()
            session.terminal.press(session.address, "Enter")
        return len(session.stage.payloads("UserPromptSubmit")) > before

    wait_until(submitted, 30, "the prompt", session.client.screen)
    return str(session.stage.payloads("UserPromptSubmit")[before]["prompt"])


@pytest.mark.skipif(IS_OLD, reason="older clients drop nothing")
def test_the_client_drops_what_the_table_has(session: PromptSession) -> None:
    """The table is the client's own: each first and last character of it is gone from what was submitted."""
    hidden = sorted({code for pair in HIDDEN for code in pair} - {0x2028, 0x2029})
    text = "".join(f"a{chr(code)}" for code in hidden) + "b"
    assert pasted(session, text) == "a" * len(hidden) + "b"


def test_the_client_keeps_what_is_not_refused(session: PromptSession) -> None:
    text = " ".join(KEPT.values()) + " b"
    assert untypable(text) == ""
    assert pasted(session, text) == text


@pytest.mark.parametrize("text", ["exit", ":q", "a\u3164b", "k\ufe0fl", "a\U000e0101b", "<pasted_content>"], ids=ascii)
def test_what_it_would_not_keep_is_refused_untouched(session: PromptSession, text: str) -> None:
    session.begin()
    assert session.submit(text).status == PromptStatus.REFUSED
    assert session.area().is_empty
    assert session.submitted() == []


def test_what_keys_refuse_the_doorbell_brings(make: MakeQueued) -> None:
    queued = make("keys+doorbell")
    texts = ["exit", "a\u3164b k\ufe0fl", "see <pasted_content> and <task-notification>", KEPT["the client's tag"]]
    queued.send(*texts)
    queued.wait("end or hold", lambda: not queued.queue.items or queued.queue.hold is not None, 90)
    assert queued.queue.hold is None, queued.state()
    assert [(item.state, item.channel) for item in queued.ended().values()] == [
        ("done", "doorbell"),
        ("done", "doorbell"),
        ("done", "doorbell"),
        ("done", "keys"),
    ]


def test_a_text_above_the_limit_of_the_doorbell_is_refused_and_held(make: MakeQueued) -> None:
    queued = make("doorbell")
    fits, too_long = LONG[:99_000].strip(), LONG[:120_000].strip()
    queued.send(fits, too_long)
    hold = queued.held()
    ended = queued.ended()
    assert (ended[fits].state, ended[too_long].state, hold.cause) == ("done", "failed", "failed"), queued.state()
    assert "arrive whole" in hold.reason
    (given,) = queued.stage.payloads("UserPromptSubmit")
    assert fits in given["prompt"]
