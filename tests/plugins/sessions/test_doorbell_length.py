"""The doorbell refuses what the client would cut."""

from __future__ import annotations

import pytest

from hookrouter.queue.channels import PromptRequest
from hookrouter.queue.items import new_item
from hookrouter_sessions.channels.bells import hand_out
from hookrouter_sessions.channels.ringing import DoorbellChannel
from support.queue_world import World


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ("x" * 99_000, True),
        ("x" * 99_001, False),
        ("x" * 120_000, False),
        ("\U0001f680" * 49_500, True),
        ("\U0001f680" * 49_501, False),
        ("<" * 24_750, True),
        ("<" * 24_751, False),
    ],
    ids=lambda value: str(len(value)) if isinstance(value, str) else str(value),
)
def test_a_text_above_the_clients_limit_is_refused(world: World, text: str, fits: bool) -> None:
    hand_out(world.home, world.store, "of-the-session", "work")
    request = PromptRequest(
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
    refusal = DoorbellChannel().refusal(request)
    assert (refusal == "") is fits
    assert fits or "99000 arrive whole" in refusal
