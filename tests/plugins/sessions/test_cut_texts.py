"""Channels whose texts hooks give to Claude refuse what the client would cut."""

from __future__ import annotations

import pytest

from hookrouter.queue.channels import PromptChannel, PromptRequest
from hookrouter.queue.items import new_item
from hookrouter_sessions.channels.bells import hand_out
from hookrouter_sessions.channels.ringing import DoorbellChannel
from hookrouter_sessions.channels.stop import StopChannel
from support.queue_world import World


def request(world: World, text: str) -> PromptRequest:
    return PromptRequest(
        item=new_item(text, by="agent"),
        session="work",
        session_id="of-the-session",
        client_pid=0,
        client_version=(2, 1, 330),
        folder="",
        transcript_path="",
        address=None,
        terminal=None,
        store=world.store,
        deadline=0.0,
        save_phase=lambda _phase: None,
        is_proven=lambda: False,
    )


@pytest.mark.parametrize(
    ("channel", "longest"), [(DoorbellChannel(), 99_000), (StopChannel(), 51_000)], ids=["doorbell", "stop"]
)
@pytest.mark.parametrize(
    ("character", "units"), [("x", 1), ("\U0001f680", 2), ("<", 4)], ids=["ascii", "beyond the BMP", "of a tag"]
)
def test_a_text_above_the_clients_limit_is_refused(
    world: World, channel: PromptChannel, longest: int, character: str, units: int
) -> None:
    hand_out(world.home, world.store, "of-the-session", "work")
    most = character * (longest // units)
    assert channel.refusal(request(world, most)) == ""
    for text in (f"{most}{character}", "x" * 120_000):
        assert f"{longest} arrive whole" in channel.refusal(request(world, text))
