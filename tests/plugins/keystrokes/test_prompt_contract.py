"""The prompt channel ``keys`` by the contract of all prompt channels, on models of two clients."""

from __future__ import annotations

import pytest

from hookrouter.queue.channels import PromptChannel, PromptOutcome, PromptRequest, PromptStatus
from hookrouter.queue.items import new_item
from hookrouter.testing.contracts import PromptChannelContract
from hookrouter_keystrokes.prompting.channel import KeysPromptChannel
from hookrouter_keystrokes.timing import Timing
from support.memory_storage import MemoryStore
from support.prompt_model import ADDRESS, Clock, PromptModel, UnstyledPromptModel


class Client:
    """A session whose terminal is a model."""

    def __init__(self, terminal: UnstyledPromptModel) -> None:
        self.terminal = terminal

    def request(self) -> PromptRequest:
        clock = self.terminal.clock
        return PromptRequest(
            item=new_item("any", by="agent"),
            session="work",
            session_id="11111111-2222-3333-4444-555555555555",
            client_pid=0,
            client_version=(2, 1, 330),
            folder="/project",
            transcript_path="",
            address=ADDRESS,
            terminal=self.terminal,
            store=MemoryStore(),
            deadline=clock() + 60,
            save_phase=lambda _phase: None,
            is_proven=lambda: False,
        )

    def submitted(self) -> list[str]:
        self.terminal.clock.sleep(1.0)
        self.terminal.capture(ADDRESS)
        return [text.strip() for text in self.terminal.submitted]


@pytest.fixture
def clock() -> Clock:
    return Clock()


class _Keys(PromptChannelContract):
    @pytest.fixture
    def channel(self, clock: Clock) -> KeysPromptChannel:
        return KeysPromptChannel(Timing(clock=clock, sleep=clock.sleep))


class TestKeys(_Keys):
    @pytest.fixture
    def client(self, clock: Clock) -> Client:
        return Client(PromptModel(clock))


class TestKeysInASmallPane(_Keys):
    @pytest.fixture
    def client(self, clock: Clock) -> Client:
        return Client(PromptModel(clock, width=60, height=20))


class TestKeysOnAnOldClient(_Keys):
    @pytest.fixture
    def client(self, clock: Clock) -> Client:
        return Client(PromptModel(clock, old=True))


class TestKeysWithoutStylesAndHold(_Keys):
    @pytest.fixture
    def client(self, clock: Clock) -> Client:
        return Client(UnstyledPromptModel(clock))


class Twice(KeysPromptChannel):
    """A channel that begins anew whatever an attempt that was killed has done."""

    def submit(self, request: PromptRequest) -> PromptOutcome:
        return super().submit(request._replace(item=request.item._replace(phase="")))


class Boasts(PromptChannel):
    """A channel that does nothing and says that it did."""

    name = "boasts"

    def refusal(self, request: PromptRequest) -> str:
        return ""

    def submit(self, request: PromptRequest) -> PromptOutcome:
        return PromptOutcome(PromptStatus.SUBMITTED, "done")


class Cuts(KeysPromptChannel):
    """A channel that submits a part."""

    def submit(self, request: PromptRequest) -> PromptOutcome:
        item = request.item._replace(text=request.item.text.splitlines()[0])
        return super().submit(request._replace(item=item))


def test_the_contract_catches_a_bad_channel(clock: Clock) -> None:
    contract = PromptChannelContract()
    with pytest.raises(AssertionError):
        contract.test_an_item_is_submitted_exactly_and_once(Boasts(), Client(PromptModel(clock)), "prompt")
    with pytest.raises(AssertionError):
        contract.test_nothing_is_done_once_it_is_stopped(Boasts(), Client(PromptModel(clock)))
    cuts = Cuts(Timing(clock=clock, sleep=clock.sleep))
    with pytest.raises(AssertionError):
        contract.test_an_item_is_submitted_exactly_and_once(cuts, Client(PromptModel(clock)), "lines")
    twice = Twice(Timing(clock=clock, sleep=clock.sleep))
    caught = 0
    for at in range(1, 13):
        try:
            contract.test_one_that_is_killed_never_leads_to_two(twice, Client(PromptModel(clock)), at)
        except AssertionError:
            caught += 1
    assert caught
