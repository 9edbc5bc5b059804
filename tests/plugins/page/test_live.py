"""The stream of events: what has changed since the last one that a browser had, and no more."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from hookrouter_page.live import TOPICS, Live
from support.memory_storage import MemoryStore

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


async def names(stream: AsyncIterator[bytes], count: int) -> list[tuple[str, str]]:
    """Return name and id of the next events."""
    found = []
    async for chunk in stream:
        lines = dict(line.split(": ", 1) for line in chunk.decode().strip().splitlines())
        if "event" in lines:
            found.append((lines["event"], lines["id"]))
        if len(found) == count:
            return found
    return found


def test_a_new_page_is_told_of_everything_and_a_known_one_of_what_is_new() -> None:
    async def run() -> None:
        live = Live(MemoryStore(), lambda _kinds, _since: (None, set()))
        first = await names(live.stream(""), len(TOPICS))
        assert [name for name, _ in first] == list(TOPICS)
        live._tell(["history"])
        assert [name for name, _ in await names(live.stream(first[-1][1]), 1)] == ["history"]
        live._tell(["dialogs"])
        both = await names(live.stream(first[-1][1]), 2)
        assert {name for name, _ in both} == {"history", "dialogs"}
        [(name, _)] = await names(live.stream(both[-1][1]), 1)
        assert name == "beat"

    asyncio.run(run())


@pytest.mark.parametrize("last", ["", "other-7", "x", "-", "0-99999999999999999999"])
def test_a_number_of_another_process_counts_for_nothing(last: str) -> None:
    async def run() -> None:
        live = Live(MemoryStore(), lambda _kinds, _since: (None, set()))
        assert len(await names(live.stream(last), len(TOPICS))) == len(TOPICS)

    asyncio.run(run())


def test_a_stream_ends_with_the_page() -> None:
    async def run() -> None:
        live = Live(MemoryStore(), lambda _kinds, _since: (None, set()))
        stream = live.stream("")
        await names(stream, len(TOPICS))
        assert live.listeners == 1
        live.end()
        assert [chunk async for chunk in stream] == []
        assert live.listeners == 0

    asyncio.run(run())
