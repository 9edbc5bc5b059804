"""What every gateway must do, tried on the other side that its author gives."""

from __future__ import annotations

import copy
import os
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hookrouter.answering import Gateway, Probe, ProbingGateway, Wake, Woken
from hookrouter.names import printable

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

__all__ = ["Arrived", "GatewayContract", "GatewayHost"]

KINDS = ("question", "mismatch", "unanswered", "warning", "reminder", "escalation")
"""Every kind of message."""

TEXTS: Mapping[str, str] = {
    "plain": "hello",
    "markdown": '# Title\n\n> quoted\n\n```json\n[{"action": "select"}]\n```\n- item',
    "quotes": 'it\'s "quoted" `here` \\ $HOME $(whoami) %s {0} ${x} $text {{x}} <b>&amp;</b>',
    "unicode": "日本語 ✓ naïve 👍 👨‍👩‍👧‍👦 \u2028 line",
    "whitespace": "\n\n  first\n\tsecond\r\nthird  \n\n",
    "long": "a line of a long message; 日本\n" * 2000,
}
"""Texts by name; each must arrive exactly."""

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


class GatewayHost(Protocol):
    """The other side that an author gives to the contract; nothing of the user's, and ended by its fixture."""

    settings: Mapping[str, object]
    """A table ``[gateways.NAME]``, without ``type``, with which messages arrive."""
    secrets: Sequence[str]
    """What must be in no message for people: tokens, keys."""

    def arrived(self) -> Sequence[Arrived]:
        """Return what has arrived so far; a message that came twice may be here once or twice."""

    def fail(self) -> None:
        """Take no message from now on, as in an outage that will end."""

    def work(self) -> None:
        """Take messages again."""


class GatewayContract:
    """Subclass it, and give two fixtures, in the class or in its module: ``gateway``, and ``host``, a GatewayHost."""

    kept_elsewhere: ClassVar[Collection[str]] = ()
    """The kinds of messages of which nothing needs to arrive, because the agent finds them without it."""

    def test_it_has_a_type(self, gateway: Gateway) -> None:
        assert isinstance(gateway.type, str)
        assert gateway.type == gateway.type.strip() != ""

    def test_a_good_table_has_no_fault(self, gateway: Gateway, host: GatewayHost) -> None:
        assert gateway.check(host.settings) == []

    def test_an_unknown_key_is_a_fault_that_names_it(self, gateway: Gateway, host: GatewayHost) -> None:
        faults = gateway.check({**host.settings, "no_such_key": "x"})
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
        faults: Any = gateway.check(table)
        assert table == before
        assert isinstance(faults, list)
        assert all(isinstance(fault, str) and fault.strip() for fault in faults), faults

    @pytest.mark.parametrize("kind", KINDS)
    def test_every_kind_of_message_is_delivered(self, gateway: Gateway, host: GatewayHost, kind: str) -> None:
        wake = _wake(kind=kind)
        _delivered(gateway.deliver(wake, host.settings))
        if kind not in self.kept_elsewhere:
            assert list(host.arrived()) == [Arrived(wake.id, wake.text)]

    @pytest.mark.parametrize("name", TEXTS)
    def test_a_text_arrives_as_it_is(self, gateway: Gateway, host: GatewayHost, name: str) -> None:
        wake = _wake(text=TEXTS[name])
        _delivered(gateway.deliver(wake, host.settings))
        assert list(host.arrived()) == [Arrived(wake.id, TEXTS[name])]

    @pytest.mark.parametrize(
        "text", ["", "half a pair \ud800", "null \0 and \x1b[31m"], ids=["empty", "half", "control"]
    )
    def test_no_text_makes_it_raise(self, gateway: Gateway, host: GatewayHost, text: str) -> None:
        _checked(gateway.deliver(_wake(text=text, subject=text, session=text), host.settings))

    def test_the_same_message_again_has_the_same_id(self, gateway: Gateway, host: GatewayHost) -> None:
        first, other = _wake(id="1-1-1"), _wake(id="1-1-2")
        for wake in (first, first, other):
            _delivered(gateway.deliver(wake, host.settings))
        assert {message.id for message in host.arrived()} == {first.id, other.id}

    def test_an_outage_is_said_and_over_when_it_ends(self, gateway: Gateway, host: GatewayHost) -> None:
        host.fail()
        woken = _checked(gateway.deliver(_wake(), host.settings))
        assert not woken.delivered
        assert woken.retry, "an outage ends, so trying again can help"
        host.work()
        _delivered(gateway.deliver(_wake(), host.settings))
        assert [message.id for message in host.arrived()] == [_wake().id]

    def test_no_secret_is_told(self, gateway: Gateway, host: GatewayHost) -> None:
        said = [gateway.deliver(_wake(), host.settings).reason, *gateway.check({**host.settings, "no_such_key": 1})]
        host.fail()
        said.append(gateway.deliver(_wake(), host.settings).reason)
        if isinstance(gateway, ProbingGateway):
            said += [str(gateway.probe(host.settings))]
        assert not [secret for secret in host.secrets if any(secret in text for text in said)]

    def test_a_look_wakes_nobody(self, gateway: Gateway, host: GatewayHost) -> None:
        if not isinstance(gateway, ProbingGateway):
            return
        for break_it in (False, True):
            if break_it:
                host.fail()
            probe = gateway.probe(host.settings)
            assert isinstance(probe, Probe)
            assert _is_a_line(probe.message)
            assert probe.usable or break_it, probe
            assert probe.usable or probe.fix, "what to do is missing"
        assert list(host.arrived()) == []

    def test_it_leaves_this_process_as_it_is(self, gateway: Gateway, host: GatewayHost) -> None:
        table = copy.deepcopy(dict(host.settings))
        before = os.getcwd(), dict(os.environ)
        gateway.deliver(_wake(), table)
        assert (os.getcwd(), dict(os.environ)) == before
        assert table == host.settings


def _wake(**changes: str) -> Wake:
    made = Wake(
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


def _checked(woken: Woken) -> Woken:
    assert isinstance(woken, Woken)
    assert _is_a_line(woken.reason), woken
    assert woken.retry_after is None or woken.retry_after >= 0
    return woken


def _delivered(woken: Woken) -> None:
    assert _checked(woken).delivered, woken.reason
