"""What a gateway must do, and the records that it takes and returns.

A gateway brings messages to agents. A plugin contributes it through the hook ``gateway``
(:mod:`hookrouter.hookspecs.answering`); it runs in a process of its own, never inside a hook. Its table in
``config.toml`` is declared as an attrs class, as a plugin's settings are: see :class:`Gateway`. What gateways share is
in :mod:`hookrouter.messaging.fields`, :mod:`hookrouter.messaging.secrets` and :mod:`hookrouter.messaging.http`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from hookrouter.util.probe import Probe

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrouter._plugins.registry import Plugins

__all__ = [
    "Gateway",
    "Message",
    "Probe",
    "ScheduledMessage",
    "SendResult",
    "Sent",
    "gateways",
]


class Message(NamedTuple):
    """One message to an agent."""

    kind: str
    """What it is about, one of:

    - ``question``: Claude asks, and waits for the agent's answer;
    - ``reminder``: a question that was sent before still waits;
    - ``escalation``: nobody has answered a question in time, so another agent or a person is told;
    - ``mismatch``: Claude Code recorded another answer than the agent gave;
    - ``unanswered``: a question ended without an answer;
    - ``warning``: what became of an answer is not known;
    - ``turn_ended``, ``queue_done``, ``queue_held``, ``failed``, ``limited``, ``idle``, ``session_started``,
      ``session_ended``, ``subagent_ended``: what became of a turn, of a session's queue, or of a session;
    - ``closed``: what an earlier message was about is over, so that message is withdrawn or edited; only a gateway that
      can do so gets it (:meth:`Gateway.close`);
    - ``config``: config.toml has problems, and what it said before holds, or a gateway cannot be used; about no
      session, and nothing is asked;
    - ``test``: ``hookrouter init`` tries the gateway; nothing is to be done or answered.

    Plugins may send kinds of their own."""
    agent: str
    """The agent's id in config.toml."""
    gateway: str
    """The name of the gateway's table in config.toml."""
    session: str
    """The name of the session that it is about; the messages of one session arrive in order."""
    session_id: str
    """Claude Code's id of that session."""
    tool_use_id: str
    """Claude Code's id of the tool call that asks; empty if it is about none."""
    subject: str
    """What it is about, in one line."""
    text: str
    """The whole message, markdown, with Claude's words quoted as data."""
    id: str = ""
    """The message's id, which is its idempotency key: a message that is sent again has the same one. Given by the
    outbox; letters, digits and dashes."""
    created_at: str = ""
    """ISO 8601, UTC; given by the outbox."""
    data: Mapping[str, Any] = {}
    """The message for programs, as JSON; empty if whoever sent it has none. What a message about a question has is in
    ``hookrouter/dialogs/schemas/message.json``, one about a session in
    ``hookrouter/queue/schemas/session_message.json``."""
    link: str = ""
    """Where a person answers the question that it is about, in a browser and without a login; holds for ``[page]
    link_hours``. Empty if there is none: the message is for an agent, or other machines do not reach the page. Added
    when the message goes out."""


class ScheduledMessage(NamedTuple):
    """A message that goes out some time after another one, if it still matters then."""

    message: Message
    """What goes out; the outbox gives it an id and a creation time then."""
    seconds: float
    """How long to wait."""
    after_delivery: bool = True
    """Whether the wait begins when the other message was delivered, or already when it was put into the outbox."""
    fallbacks: tuple[str, ...] = ()
    """Gateways that are tried if ``message.gateway`` fails, in order."""
    then: tuple[ScheduledMessage, ...] = ()
    """What follows this one in turn."""


class SendResult(NamedTuple):
    """What came of one try to deliver a message."""

    delivered: bool
    """Whether the other side has the message. It is then removed from the outbox, and not sent again."""
    reason: str
    """What happened, in one line, for people and the journal; holds no secret."""
    retry: bool = True
    """Whether trying again can help, if it was not delivered. True for an outage: the message is tried again after a
    wait that doubles with each failure, for 24 hours. False for a fault that only a change of config.toml mends: the
    message is kept, and this gateway is not asked again for it before its table, a secret of it or the plugin
    changes."""
    retry_after: float | None = None
    """Seconds that the other side asked to wait before the next try; None if it did not. Counts if it is longer than
    the usual wait and ``retry`` is true, and up to an hour."""
    receipt: Mapping[str, str] | None = None
    """What :meth:`Gateway.close` needs to withdraw or edit the delivered message, such as the number that the
    other side gave it; empty if it needs nothing. None if the message is to stay as it is. Kept in the outbox, so it
    may hold no secret."""


class Sent(NamedTuple):
    """A message that was delivered, and is to be withdrawn or edited."""

    id: str
    """The id that it was delivered with."""
    receipt: Mapping[str, str]
    """What its delivery returned as :attr:`SendResult.receipt`."""


class Gateway:
    """Delivers messages. Runs in a process of its own, never inside a hook; may block up to its own timeout.

    A gateway derives from it and must have ``type`` and ``deliver``. What else it can, it says by overriding the rest.

    The messages of one session come one after the other; those of up to four sessions come at the same time, each in
    a process of its own, so that nothing that is kept in memory reaches the others, or lasts.
    """

    type: str
    """The value of ``type`` in ``[gateways.NAME]``."""

    settings: Any = None
    """The keys of its table: an attrs class, whose fields are the keys with their types and defaults.

    ``hookrouter config check`` and the deliverer then name every unknown key and every value that does not fit, and
    the methods get an object of that class, with every value checked. With None they get the table as it is, a mapping
    without ``type``, and all is for ``check`` to find. A key ``timeout`` with a number of seconds extends the upper
    limit of one try, which is 15 minutes."""

    def deliver(self, message: Message, settings: Any, /) -> SendResult:
        """Bring one message to its agent. Must be safe to repeat with the same ``message.id``.

        ``settings`` is an object of the declared class, or the table. An exception counts as a failure that is tried
        again.
        """
        raise NotImplementedError

    def check(self, settings: Any, /) -> list[str]:  # noqa: ARG002 - for those that override it
        """Return what the types of the settings do not tell, one line each: the key, a colon, what was found.

        For two keys that exclude each other, a file that is not there, a secret that cannot be read. ``settings`` is an
        object of the declared class, or the table. Called before each try, and by ``hookrouter config check``; must not
        ask the other side. Lines say what is allowed, and hold no secret.
        """
        return []

    def probe(self, settings: Any, /) -> Probe | None:  # noqa: ARG002 - for those that override it
        """Look, within seconds and without waking anybody, whether the other side is there; None if that is not known.

        ``hookrouter doctor`` asks it. ``settings`` have passed all checks.
        """
        return None

    def close(self, message: Message, sent: Sent, settings: Any, /) -> SendResult:  # noqa: ARG002 - as above
        """Withdraw what was delivered, or put the subject and text of ``message`` in its place.

        For what people are shown, such as a notification on a phone: an answer that somebody else gave makes it wrong.
        It is asked only for messages whose delivery returned a :attr:`SendResult.receipt`, and that go out only while
        what they are about is open: a question, a wake of a session.

        ``message`` has the kind ``closed`` and an id of its own. Must be safe to repeat, as ``deliver`` must. Delivered
        means here that the other side shows the earlier message no more, or as edited. What cannot be closed is
        dropped, and the journal says why: one that a person has deleted is not worth a warning.
        """
        return SendResult(delivered=False, reason="the gateway closes no messages", retry=False)


def gateways(plugins: Plugins) -> dict[str, Gateway]:
    """Return the gateways that active plugins contribute, by type."""
    return plugins.contributions("gateway", "type", base=Gateway)
