"""What every gateway must do, tried on the other side that its author gives."""

from __future__ import annotations

import copy
import os
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hookrouter._plugins.gateway_settings import read_gateway_settings
from hookrouter.messaging.gateway import Gateway, Message, Probe, SendResult, Sent
from hookrouter.testing.contracts._optional import overrides
from hookrouter.util.system import fork
from hookrouter.util.text import printable
from hookrouter.util.time_limit import time_limit

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

__all__ = ["Arrived", "GatewayContract", "GatewayHost"]

KINDS = ("question", "mismatch", "unanswered", "warning", "reminder", "escalation", "config", "test")
"""Every kind of message that hookrouter sends, those of ``hookrouter gateways test`` and ``hookrouter init`` too."""

TEXTS: Mapping[str, str] = {
    "plain": "hello",
    "markdown": '# Title\n\n> quoted\n\n```json\n[{"action": "select"}]\n```\n- item',
    "quotes": 'it\'s "quoted" `here` \\ $HOME $(whoami) %s {0} ${x} $text {{x}} <b>&amp;</b>',
    "unicode": "日本語 ✓ naïve 👍 👨‍👩‍👧‍👦 \u2028 line",
    "whitespace": "\n\n  first\n\tsecond\r\nthird  \n\n",
    "long": "a line of a long message; 日本\n" * 2000,
}
"""Texts by name; each must arrive exactly."""

NAME = "contract"
"""The name of the gateway's table."""

AT_ONCE = 4
"""How many messages of different sessions are delivered at the same time."""

_OPTIONAL = ("check", "close", "probe", "settings")
_KNOWN = (*_OPTIONAL, "deliver", "type", "gateway")

_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=5,
)


class Arrived(NamedTuple):
    """One message on the other side."""

    id: str
    """The message's id, however the gateway passes it on."""
    text: str
    """The message's text."""


class GatewayHost(Protocol):
    """The other side that an author gives to the contract; nothing of the user's, and ended by its fixture."""

    settings: Mapping[str, object]
    """A table ``[gateways.NAME]``, without ``type``, with which messages arrive."""
    secrets: Sequence[str]
    """What must be in no message for people: tokens, keys."""

    def arrived(self) -> Sequence[Arrived]:
        """Return what has arrived so far; a message that came twice may be here once or twice.

        One that was withdrawn is not here, one that was edited is here as edited.
        """

    def fail(self) -> None:
        """Take no message from now on, as in an outage that will end."""

    def work(self) -> None:
        """Take messages again."""


class GatewayContract:
    """Subclass it, and give two fixtures, in the class or in its module: ``gateway``, and ``host``, a GatewayHost."""

    kept_elsewhere: ClassVar[Collection[str]] = ()
    """The kinds of messages that need not arrive, because the agent finds them without the gateway: ``question`` and
    ``reminder`` for one whose agent reads ``hookrouter questions``."""
    seconds: ClassVar[float] = 60.0
    """Upper limit of each call of the gateway: one that blocks for longer fails the test instead of holding it up."""
    in_memory: ClassVar[bool] = False
    """Whether the other side lives in this process's memory, so that no other process can reach it."""

    def test_it_has_a_type(self, gateway: Gateway) -> None:
        assert isinstance(gateway.type, str)
        assert gateway.type == gateway.type.strip() != ""

    def test_what_it_offers_besides_has_its_right_name(self, gateway: Gateway) -> None:
        assert isinstance(gateway, Gateway)
        inherited = [name for name in dir(Gateway) if not overrides(gateway, Gateway, name)]
        offered = [name for name in dir(gateway) if not name.startswith("_") and name not in inherited]
        for name in _OPTIONAL:
            if name not in offered:
                meant = [one for one in get_close_matches(name, offered, cutoff=0.75) if one not in _KNOWN]
                assert not meant, f"{meant[0]!r} is never asked for: is it meant as {name!r}?"

    def test_a_good_table_has_no_fault(self, gateway: Gateway, host: GatewayHost) -> None:
        assert self._faults(gateway, host.settings) == []

    def test_an_unknown_key_is_a_fault_that_names_it(self, gateway: Gateway, host: GatewayHost) -> None:
        faults = self._faults(gateway, {**host.settings, "no_such_key": "x"})
        assert any("no_such_key" in fault for fault in faults), faults
        assert all(_is_a_line(fault) for fault in faults)

    @settings(deadline=None, suppress_health_check=list(HealthCheck))
    @given(changes=st.dictionaries(st.text(max_size=12), _VALUES, max_size=4), data=st.data())
    def test_any_table_is_checked_and_left_alone(
        self, gateway: Gateway, host: GatewayHost, changes: dict[str, Any], data: st.DataObject
    ) -> None:
        spoilt = data.draw(st.dictionaries(st.sampled_from([*host.settings, "url", "timeout"]), _VALUES, max_size=3))
        table = {**host.settings, **spoilt, **changes}
        before = copy.deepcopy(table)
        faults = self._faults(gateway, table)
        assert table == before
        assert all(fault.strip() for fault in faults), faults

    @pytest.mark.parametrize("kind", KINDS)
    def test_every_kind_of_message_is_delivered(self, gateway: Gateway, host: GatewayHost, kind: str) -> None:
        message = _message(kind=kind)
        _delivered(self._deliver(gateway, message, host))
        if kind not in self.kept_elsewhere:
            assert list(host.arrived()) == [Arrived(message.id, message.text)]

    @pytest.mark.parametrize("name", TEXTS)
    def test_a_text_arrives_as_it_is(self, gateway: Gateway, host: GatewayHost, name: str) -> None:
        message = _message(text=TEXTS[name])
        _delivered(self._deliver(gateway, message, host))
        assert list(host.arrived()) == [Arrived(message.id, TEXTS[name])]

    @pytest.mark.parametrize(
        "text", ["", "half a pair \ud800", "null \0 and \x1b[31m"], ids=["empty", "half", "control"]
    )
    def test_no_text_makes_it_raise(self, gateway: Gateway, host: GatewayHost, text: str) -> None:
        _checked(self._deliver(gateway, _message(text=text, subject=text, session=text), host))

    def test_the_same_message_again_has_the_same_id(self, gateway: Gateway, host: GatewayHost) -> None:
        first, other = _message(id="1-1-1"), _message(id="1-1-2")
        for message in (first, first, other):
            _delivered(self._deliver(gateway, message, host))
        assert {one.id for one in host.arrived()} == {first.id, other.id}

    def test_an_outage_is_said_and_over_when_it_ends(self, gateway: Gateway, host: GatewayHost) -> None:
        host.fail()
        result = _checked(self._deliver(gateway, _message(), host))
        assert not result.delivered
        assert result.retry, "an outage ends, so trying again can help"
        host.work()
        _delivered(self._deliver(gateway, _message(), host))
        assert [one.id for one in host.arrived()] == [_message().id]

    def test_no_secret_is_told(self, gateway: Gateway, host: GatewayHost) -> None:
        said = [
            self._deliver(gateway, _message(), host).reason,
            *self._faults(gateway, {**host.settings, "no_such_key": 1}),
        ]
        host.fail()
        said.append(self._deliver(gateway, _message(), host).reason)
        said += [str(gateway.probe(self._settings(gateway, host.settings)))]
        assert not [secret for secret in host.secrets if any(secret in text for text in said)]

    def test_a_look_wakes_nobody(self, gateway: Gateway, host: GatewayHost) -> None:
        for break_it in (False, True):
            if break_it:
                host.fail()
            probe = gateway.probe(self._settings(gateway, host.settings))
            if probe is None:
                return
            assert isinstance(probe, Probe)
            assert _is_a_line(probe.message)
            assert probe.usable or break_it, probe
            assert probe.usable or probe.fix, "what to do is missing"
        assert list(host.arrived()) == []

    def test_what_it_can_close_is_closed_again_and_again(self, gateway: Gateway, host: GatewayHost) -> None:
        message = _message(kind="question")
        result = self._deliver(gateway, message, host)
        if result.receipt is None:
            return
        assert overrides(gateway, Gateway, "close"), "a receipt is for close(), which is missing"
        over = _message(kind="closed", id=f"{message.id}-closed", text="over")
        for _ in range(2):
            with time_limit(self.seconds):
                closed = gateway.close(over, Sent(message.id, result.receipt), self._settings(gateway, host.settings))
            _delivered(_checked(closed))
        assert message.text not in [one.text for one in host.arrived() if one.id == message.id]

    def test_four_processes_may_deliver_at_once(self, gateway: Gateway, host: GatewayHost) -> None:
        if self.in_memory:
            pytest.skip("the other side lives in the memory of this process")
        messages = [_message(id=f"1-1-{number}", session=f"session {number}") for number in range(AT_ONCE)]
        settings = self._settings(gateway, host.settings)
        said = [_forked(gateway, message, settings, self.seconds) for message in messages]
        assert [read() for read in said] == ["delivered"] * AT_ONCE
        arrived = [one for one in host.arrived() if one.id in {message.id for message in messages}]
        assert sorted(set(arrived)) == [Arrived(message.id, message.text) for message in messages]

    def _settings(self, gateway: Gateway, table: Mapping[str, object]) -> Any:
        """Return what the gateway's methods take for a table."""
        with time_limit(self.seconds):
            settings, problems = read_gateway_settings(gateway, NAME, table)
        assert problems == []
        return settings

    def _faults(self, gateway: Gateway, table: Mapping[str, object]) -> list[str]:
        with time_limit(self.seconds):
            return [problem.line for problem in read_gateway_settings(gateway, NAME, table)[1]]

    def _deliver(self, gateway: Gateway, message: Message, host: GatewayHost) -> SendResult:
        settings = self._settings(gateway, host.settings)
        with time_limit(self.seconds):
            return gateway.deliver(message, settings)

    def test_it_leaves_this_process_as_it_is(self, gateway: Gateway, host: GatewayHost) -> None:
        table = copy.deepcopy(dict(host.settings))
        before = os.getcwd(), dict(os.environ)
        self._deliver(gateway, _message(), host)
        assert (os.getcwd(), dict(os.environ)) == before
        assert table == host.settings


def _forked(gateway: Gateway, message: Message, settings: Any, seconds: float) -> Callable[[], str]:
    """Deliver in a process of its own; return what waits for it and says what came of it."""
    reading, writing = os.pipe()
    pid = fork()
    if pid == 0:
        said = "it ended without a result"
        try:
            with time_limit(seconds):
                result = gateway.deliver(message, settings)
            said = "delivered" if result.delivered else result.reason
        except BaseException as error:  # noqa: BLE001 - told by the parent
            said = f"{type(error).__name__}: {error}"
        finally:
            os.write(writing, said.encode("utf-8", "replace")[:4000])
            os._exit(0)
    os.close(writing)

    def read() -> str:
        with os.fdopen(reading, "rb") as file:
            said = file.read().decode("utf-8", "replace")
        os.waitpid(pid, 0)
        return said

    return read


def _message(**changes: Any) -> Message:
    made = Message(
        kind="warning",
        agent="night-shift",
        gateway="contract",
        session="work 1",
        session_id="11111111-2222-3333-4444-555555555555",
        tool_use_id="toolu_1",
        subject="Claude asks",
        text="a *message*\n",
        id="20261121T120000-1-0",
        created_at="2026-11-21T12:00:00.000Z",
    )
    return made._replace(**changes)


def _is_a_line(text: str) -> bool:
    return bool(text.strip()) and printable(text) == text and "\n" not in text


def _checked(result: SendResult) -> SendResult:
    assert isinstance(result, SendResult)
    assert _is_a_line(result.reason), result
    assert result.retry_after is None or result.retry_after >= 0
    return result


def _delivered(result: SendResult) -> None:
    assert _checked(result).delivered, result.reason
