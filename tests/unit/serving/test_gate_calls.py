"""The sweep of the gate's calls: which are ended because nobody asks for them, and which are forgotten."""

from __future__ import annotations

import asyncio
import json

from hookrouter._serving.caller import BroughtCall, Outcome
from hookrouter._serving.gate.calls import FORGOTTEN, KEPT, MAX_KEPT, Calls
from hookrouter._serving.gate.messages import call_request


class Stage:
    """Calls that end when the test says so, by a clock that the test moves."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.go = asyncio.Event()
        self.calls = Calls(self._bring, lambda: self.now)

    async def _bring(self, _call: BroughtCall) -> Outcome:
        await self.go.wait()
        return Outcome(0, b"", b"")

    def begin(self, identifier: str) -> asyncio.Task[Outcome]:
        fields = {"id": identifier, "event": "stop", "cwd": "/", "environ": {}, "payload": {}}
        return self.calls.begin(call_request(json.dumps(fields).encode())).task

    def later(self, seconds: float) -> None:
        self.now += seconds
        self.calls.sweep()


def test_a_running_call_that_nobody_asks_for_is_ended() -> None:
    async def run() -> None:
        stage = Stage()
        task = stage.begin("one")
        stage.later(FORGOTTEN)
        assert not task.cancelling()
        stage.later(1)
        await asyncio.wait([task])
        assert task.cancelled()

    asyncio.run(run())


def test_a_call_that_is_asked_for_is_not_ended_however_long_it_runs() -> None:
    async def run() -> None:
        stage = Stage()
        stage.begin("one")
        entry = stage.calls.get("one")
        assert entry is not None
        asking = asyncio.ensure_future(entry.wait(60))
        await asyncio.sleep(0)
        stage.later(10 * FORGOTTEN)
        stage.go.set()
        outcome = await asking
        assert outcome is not None
        assert outcome.exit_code == 0

    asyncio.run(run())


def test_a_call_that_has_ended_is_remembered_for_a_while() -> None:
    async def run() -> None:
        stage = Stage()
        stage.go.set()
        await stage.begin("one")
        stage.later(KEPT)
        assert stage.calls.get("one") is not None
        stage.later(1)
        assert stage.calls.get("one") is None

    asyncio.run(run())


def test_of_many_that_have_ended_the_newest_are_remembered() -> None:
    async def run() -> None:
        stage = Stage()
        stage.go.set()
        for number in range(MAX_KEPT + 1):
            await stage.begin(str(number))
        stage.later(0)
        assert stage.calls.get("0") is None
        assert stage.calls.get("1") is not None
        assert stage.calls.get(str(MAX_KEPT)) is not None

    asyncio.run(run())
