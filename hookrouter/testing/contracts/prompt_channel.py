"""What every prompt channel must do, tried on the client, real or modelled, that its author gives."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Protocol

import pytest

from hookrouter.queue.channels import PromptChannel, PromptOutcome, PromptRequest, PromptStatus
from hookrouter.queue.items import new_item
from hookrouter.storage.interface import StoreError
from hookrouter.testing.contracts._optional import misspelt_methods
from hookrouter.util.text import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["ITEMS", "PromptChannelContract", "PromptedClient"]

ITEMS: Mapping[str, str] = {
    "prompt": "Go on with the third step",
    "question": "what is 2 + 2? -- answer; 'in one word' \"please\" $HOME `x` #{pane_id} %n ^A",
    "lines": "first line\n  second, indented\n\nfourth  with  blanks\n- fifth\n- sixth",
    "long": " ".join(f"word-{number:04d}" for number in range(500)),
    "many lines": "\n".join(f"{number}. what is to be done" for number in range(1, 31)),
    "cjk": "日本語のテキスト、" * 12 + "終わり",
    "emoji": "ok 👍 rocket 🚀 flag 🇩🇪 naïve “quoted” … end",
    "backslash": "it ends in a backslash \\",
    "file": "look at @readme",
    "hash": "# is no comment",
    "ampersand": "& runs nothing",
    "project command": "/hookrouter-contract one two",
    "bare command": "/hookrouter-contract",
    "clear": "/clear",
    "compact": "/compact keep the plan",
    "shell": "!echo of-the-contract",
}
"""Texts of items by name. The session has the command ``hookrouter-contract``."""

_STATUSES = (PromptStatus.SUBMITTED, PromptStatus.NOT_NOW, PromptStatus.REFUSED, PromptStatus.UNCERTAIN)
_ATTEMPTS = 6
_CALLS = 12
"""At how many of its calls a channel is killed, one after the other."""


class PromptedClient(Protocol):
    """The client that an author gives to the contract: one session, idle, with nothing in its box; its fixture ends it.

    It has the command ``/hookrouter-contract``, and something to compact.
    """

    def request(self) -> PromptRequest:
        """Return a request for the session as it is now, with any item and ``save_phase``, half a minute to go."""

    def submitted(self) -> list[str]:
        """Return what the session was given so far, oldest first, waiting for what may be on its way.

        A shell command is given with its ``!``. Ends of texts may be trimmed.
        """


class _Killed(BaseException):
    """The process is killed."""


class PromptChannelContract:
    """Subclass it, and give two fixtures, in the class or its module: ``channel``, and ``client``, a PromptedClient."""

    refused: ClassVar[Mapping[str, str]] = {}
    """What the channel cannot bring: the name of a text in ``ITEMS``, with a text that its reason holds."""

    def test_it_has_a_name(self, channel: PromptChannel) -> None:
        assert isinstance(channel, PromptChannel)
        assert isinstance(channel.name, str)
        assert channel.name == channel.name.strip() != ""

    def test_optional_methods_are_spelt_right(self, channel: PromptChannel) -> None:
        assert misspelt_methods(channel, PromptChannel) == []

    @pytest.mark.parametrize("name", ITEMS)
    def test_an_item_is_submitted_exactly_and_once(
        self, channel: PromptChannel, client: PromptedClient, name: str
    ) -> None:
        text = ITEMS[name]
        request = _for(client, text)
        why = channel.refusal(request)
        outcome = _checked(channel.submit(request))
        if name in self.refused:
            assert outcome.status == PromptStatus.REFUSED, outcome
            assert self.refused[name] in outcome.reason
            assert client.submitted() == []
            return
        assert why == "", "it refuses an item that is not named in `refused`"
        assert outcome.status == PromptStatus.SUBMITTED, outcome
        assert client.submitted() == [text]

    @pytest.mark.parametrize("name", ITEMS)
    def test_what_it_refuses_is_known_before_anything_is_done(
        self, channel: PromptChannel, client: PromptedClient, name: str
    ) -> None:
        phases: list[str] = []
        request = _for(client, ITEMS[name])._replace(save_phase=phases.append)
        why = channel.refusal(request)
        assert printable(why) == why
        if not why:
            return
        assert _checked(channel.submit(request)).status == PromptStatus.REFUSED
        assert phases == []
        assert client.submitted() == []

    def test_items_come_in_order(self, channel: PromptChannel, client: PromptedClient) -> None:
        texts = ["the first one", "the second one", "the third one"]
        for number, text in enumerate(texts, 1):
            assert _until_decided(channel, lambda text=text: _for(client, text)).status == PromptStatus.SUBMITTED  # type: ignore[misc]
            assert client.submitted() == texts[:number]

    def test_nothing_is_done_once_it_is_stopped(self, channel: PromptChannel, client: PromptedClient) -> None:
        request = _for(client, ITEMS["prompt"])._replace(stopped=lambda: "paused: I am at the keyboard")
        outcome = _checked(channel.submit(request))
        assert outcome.status == PromptStatus.NOT_NOW
        assert "I am at the keyboard" in outcome.reason
        assert client.submitted() == []
        # Nothing of it is left that would come to the next one.
        assert _until_decided(channel, lambda: _for(client, ITEMS["hash"])).status == PromptStatus.SUBMITTED
        assert client.submitted() == [ITEMS["hash"]]

    def test_it_may_be_stopped_between_its_acts(self, channel: PromptChannel, client: PromptedClient) -> None:
        asked = 0

        def stopped() -> str:
            nonlocal asked
            asked += 1
            return "held: another prompt came" if asked > 2 else ""

        outcome = _checked(channel.submit(_for(client, ITEMS["lines"])._replace(stopped=stopped)))
        assert asked, "it never asks whether it may continue"
        if outcome.status == PromptStatus.NOT_NOW:
            assert client.submitted() == []
            assert _until_decided(channel, lambda: _for(client, ITEMS["hash"])).status == PromptStatus.SUBMITTED
            assert client.submitted() == [ITEMS["hash"]]
        else:
            assert outcome.status == PromptStatus.SUBMITTED
            assert client.submitted() == [ITEMS["lines"]]

    def test_a_session_that_it_cannot_serve_is_left_to_the_next_channel(
        self, channel: PromptChannel, client: PromptedClient
    ) -> None:
        request = _for(client, ITEMS["prompt"])._replace(address=None, terminal=None, client_pid=0, transcript_path="")
        outcome = _checked(channel.submit(request))
        assert outcome.status in (PromptStatus.REFUSED, PromptStatus.SUBMITTED)
        assert (client.submitted() == [ITEMS["prompt"]]) == (outcome.status == PromptStatus.SUBMITTED)

    def test_nothing_is_done_that_could_not_be_saved_first(
        self, channel: PromptChannel, client: PromptedClient
    ) -> None:
        def save(phase: str) -> None:
            raise StoreError(f"the disk is full, so {phase!r} cannot be saved")

        outcome = _checked(channel.submit(_for(client, ITEMS["prompt"])._replace(save_phase=save)))
        if outcome.status == PromptStatus.SUBMITTED:
            return
        assert outcome.status in (PromptStatus.NOT_NOW, PromptStatus.REFUSED)
        assert client.submitted() == []

    @pytest.mark.parametrize("at", range(1, _CALLS + 1))
    def test_one_that_is_killed_never_leads_to_two(
        self, channel: PromptChannel, client: PromptedClient, at: int
    ) -> None:
        """It is killed while it calls back for the ``at``-th time: to save a phase, or to ask something."""
        phases: list[str] = []
        calls = 0

        def killed() -> None:
            nonlocal calls
            calls += 1
            if calls == at:
                raise _Killed

        def save(phase: str) -> None:
            # What is saved is there also if the process is killed while it saves.
            phases.append(phase)
            killed()

        def is_proven() -> bool:
            killed()
            return False

        def stopped() -> str:
            killed()
            return ""

        name = new_item(ITEMS["lines"], by="agent").id

        def request() -> PromptRequest:
            asked = _for(client, ITEMS["lines"], phases[-1] if phases else "", name)
            return asked._replace(save_phase=save, is_proven=is_proven, stopped=stopped)

        try:
            last = _checked(channel.submit(request()))
        except _Killed:
            client.submitted()
            last = _until_decided(channel, request)
        found = client.submitted()
        assert found in ([], [ITEMS["lines"]]), "it was submitted twice, or not as it is"
        if last.status == PromptStatus.SUBMITTED:
            assert found == [ITEMS["lines"]]
        if last.status in (PromptStatus.NOT_NOW, PromptStatus.REFUSED):
            assert found == []


def _for(client: PromptedClient, text: str, phase: str = "", name: str = "") -> PromptRequest:
    """Return the request for an item; ``name`` is its id, if it is one that was tried before."""
    item = new_item(text, by="agent")
    return client.request()._replace(item=item._replace(phase=phase, id=name or item.id))


def _until_decided(channel: PromptChannel, request: Callable[[], PromptRequest]) -> PromptOutcome:
    """Have an item submitted as the queue does: again while it is not the time for it."""
    for _ in range(_ATTEMPTS):
        outcome = _checked(channel.submit(request()))
        if outcome.status != PromptStatus.NOT_NOW:
            break
    return outcome


def _checked(outcome: PromptOutcome) -> PromptOutcome:
    assert isinstance(outcome, PromptOutcome)
    assert outcome.status in _STATUSES, outcome
    assert outcome.reason.strip(), "somebody must be told why"
    assert printable(outcome.reason) == outcome.reason
    assert "\n" not in outcome.reason
    assert not outcome.is_person or outcome.status == PromptStatus.NOT_NOW
    assert all(isinstance(step, str) for step in outcome.steps)
    return outcome
