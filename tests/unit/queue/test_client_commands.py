"""A command that would hold the session, or end it, is known before it is queued."""

from __future__ import annotations

import pytest

from hookrouter.queue.client_commands import NOT_RUN
from hookrouter.queue.documents import Queue
from hookrouter.queue.editing import edited, new_items
from hookrouter.queue.items import ItemError, new_item

ALWAYS = [f"/{name}" for rule in NOT_RUN if rule.until is None for name in rule.names]


@pytest.mark.parametrize("text", [*ALWAYS, "/add-dir /tmp", "/cost now", "/ide\tx"])
def test_it_is_not_queued(text: str) -> None:
    with pytest.raises(ItemError, match="so it is not queued"):
        new_items([text], by="agent")
    there = new_item("a prompt", by="agent")
    with pytest.raises(ItemError, match="so it is not queued"):
        edited(Queue("work", (there,)), there.id, text, by="agent")


@pytest.mark.parametrize("text", ["/doctor", "/diff", "/model opus", "/mcp list", "/clear", "/gsd:next a b", "/costs"])
def test_what_may_run_is_queued(text: str) -> None:
    assert [one.text for one in new_items([text], by="agent")] == [text]


@pytest.mark.parametrize("text", ["/ x", "/\tx", "/\nx"])
def test_a_slash_with_a_blank_behind_it_is_no_command(text: str) -> None:
    with pytest.raises(ItemError, match="directly after its slash"):
        new_item(text, by="agent")
