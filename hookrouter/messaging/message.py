"""A message as the outbox keeps it: one class, and one codec between it and the document ``wake-<id>.json``."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hookrouter.messaging.gateway import Message, Sent
from hookrouter.util.clock import iso, now, seconds
from hookrouter.util.fields import record

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from hookrouter.messaging.gateway import ScheduledMessage
    from hookrouter.storage.interface import DocumentStore

__all__ = [
    "CLOSED",
    "FRESH",
    "LONGEST_WAIT",
    "GivenUp",
    "QueuedMessage",
    "WhileOpen",
    "closing",
    "decode",
    "encode",
    "new_document",
]

LONGEST_WAIT = 600.0
"""Upper limit in seconds of the wait between two tries, if the other side does not ask for a longer one."""

CLOSED = "closed"
"""The kind of a message that withdraws or edits an earlier one."""

VERSION = 1

_TEXTS = tuple(field for field in Message._fields if field not in ("data", "link"))
"""The fields of a message that every document has."""

_FOLLOWING, _CLOSING = "-then", "-closed"
_CENTURY = 100 * 365 * 86400.0


class GivenUp(NamedTuple):
    """That a message is not tried any more, and why."""

    reason: str
    """What happened last."""
    at: str
    """When, ISO 8601 in UTC."""
    settings: str
    """The fingerprint of all its gateways then; it is tried again when that changes."""


class WhileOpen(NamedTuple):
    """Which document in ``state/`` a message depends on: as long as it is there, what it is about is open."""

    kind: str
    """The document's kind."""
    names: tuple[str, ...]
    """The names that it may have."""
    fields: Mapping[str, object]
    """What must stand in it."""

    def is_met(self, store: DocumentStore) -> bool:
        """Whether the document is there. Raises hookrouter.storage.interface.StoreError if it cannot be read."""
        found = (store.read(self.kind, name) for name in self.names)
        return any(one is not None and self.fields.items() <= one.items() for one in found)

    def as_json(self) -> dict[str, object]:
        """Return it as the document has it."""
        return {"kind": self.kind, "names": list(self.names), "fields": dict(self.fields)}


class QueuedMessage(NamedTuple):
    """A message that waits for its delivery, and what became of it so far. Times are ISO 8601 in UTC."""

    id: str
    """The idempotency key. Ids sort in the order of creation."""
    kind: str
    """What it is about. This and the next eight: as :class:`hookrouter.messaging.gateway.Message` has them."""
    agent: str
    """The agent's id."""
    gateway: str
    """The gateway that is tried first."""
    session: str
    """The session's name."""
    session_id: str
    """Claude Code's id of the session."""
    tool_use_id: str
    """Claude Code's id of the tool call that asks."""
    subject: str
    """What it is about, in one line."""
    text: str
    """The whole message."""
    created_at: str
    """When it was put into the outbox."""
    data: Mapping[str, Any] = {}
    """As :class:`hookrouter.messaging.gateway.Message` has it; empty in a document of an older version."""
    link: str = ""
    """Likewise."""
    fallbacks: tuple[str, ...] = ()
    """The gateways that are tried after ``gateway``, in order."""
    environment: str = ""
    """The mark of the environment that it needs, see :mod:`hookrouter.messaging.environment`."""
    attempts: int = 0
    """How often a gateway was asked to deliver it, a try that runs now included."""
    failures: int = 0
    """How many times in a row it could not be delivered, since it was put in or a person had it retried."""
    tried_for: float = 0.0
    """The seconds for which it had been tried when the last try began; :meth:`tried_seconds` counts on."""
    last_attempt_at: str | None = None
    """When the last try began; None before the first."""
    last_error: str | None = None
    """Why it is still here; None before the first try."""
    next_attempt_at: str | None = None
    """It is not to be tried earlier than this; None for at once."""
    refused: Mapping[str, str] = {}
    """The gateways that said that trying again cannot help, each with the fingerprint of its configuration then."""
    unusable: str = ""
    """The fingerprint of all its gateways, if one could not even be asked, because of its table; empty if not. It is
    tried again at once when that changes."""
    given_up: GivenUp | None = None
    """Set if no gateway is left to try, or time was up."""
    not_before: str | None = None
    """When it is to go out at the earliest; None for at once."""
    while_open: WhileOpen | None = None
    """What must still be there when it goes out; else it is dropped unsent."""
    once_over: WhileOpen | None = None
    """What must be there no more: until then it is not to go out."""
    closes: Sent | None = None
    """The delivered message that it withdraws or edits; None for one that is delivered itself."""
    then: tuple[Mapping[str, Any], ...] = ()
    """The documents of the messages that follow it, each with ``seconds`` and ``after_delivery``."""
    delivered_at: str | None = None
    """When it was delivered, if it only waits for what follows it to be written."""
    fault: str = ""
    """What makes the document unusable, naming the field; empty for nothing."""
    document: Mapping[str, Any] = {}
    """What was read, with whatever this version does not know."""

    @property
    def gateways(self) -> list[str]:
        """All its gateways, in the order in which they are tried."""
        return list(dict.fromkeys([self.gateway, *self.fallbacks]))

    @property
    def is_early(self) -> bool:
        """Whether it is not to go out yet."""
        return self.not_before is not None and self.not_before > iso() and not self.failures

    @property
    def is_for_later(self) -> bool:
        """Whether it is not to go out yet, because of the time, or of what it waits for to be over."""
        return self.is_early or (self.once_over is not None and not self.failures)

    @property
    def may_have_arrived(self) -> bool:
        """Whether its agent may know of it: a try runs, was cut off, or has delivered it; not if all have failed."""
        return self.last_error == INTERRUPTED or self.delivered_at is not None

    @property
    def is_undecided(self) -> bool:
        """Whether a try has begun and not ended: it runs, or was cut off. Only its lane's lock tells which."""
        return self.last_error == INTERRUPTED and self.given_up is None and self.delivered_at is None

    def tried_seconds(self) -> float:
        """Return the seconds for which it has been tried by now.

        Between two tries no more counts than a deliverer waits: the machine may have slept, or the clock jumped.
        """
        last = seconds(self.last_attempt_at)
        if last is None or not self.failures:
            return self.tried_for
        return self.tried_for + max(0.0, min(now() - last, LONGEST_WAIT))

    def for_gateway(self, gateway: str) -> Message:
        """Return it as a gateway gets it. The message must have no :attr:`fault`."""
        return Message(**{field: getattr(self, field) for field in Message._fields})._replace(gateway=gateway)

    def following(self, *, after_delivery: bool, since: float | None) -> list[tuple[str, dict[str, Any]]]:
        """Return id and document of each message that follows this one, before or after its delivery.

        ``since`` is when their wait begins, in seconds since 1970; None for now.
        """
        moment = now()
        # One in the future was noted before the clock was set back.
        begin = moment if since is None or since > moment else since
        # One that closes it is added when it is delivered, and what follows is counted anew after a part went in.
        return [
            (
                name,
                {
                    **_DELIVERY,
                    **entry,
                    "environment": self.environment,
                    "version": VERSION,
                    "id": name,
                    "created_at": iso(moment),
                    "not_before": iso(begin + entry.get("seconds", 0)),
                },
            )
            for number, entry in enumerate(self.then)
            if entry.get("after_delivery", True) == after_delivery
            for name in [f"{self.id}{_CLOSING if entry.get('closes') else f'{_FOLLOWING}{number}'}"]
        ]

    def waits_for_delivery(self) -> tuple[Mapping[str, Any], ...]:
        """Return those that follow it only after its delivery."""
        return tuple(entry for entry in self.then if entry.get("after_delivery", True))


INTERRUPTED = "the attempt was interrupted before its result was known"
"""The ``last_error`` of a message from the beginning of a try to its end."""

FRESH: dict[str, Any] = {
    "failures": 0,
    "tried_for": 0.0,
    "next_attempt_at": None,
    "refused": {},
    "unusable": "",
    "given_up": None,
}
"""What a message has again that a person has retried."""

_DELIVERY: dict[str, Any] = {
    **FRESH,
    **{name: QueuedMessage._field_defaults[name] for name in ("attempts", "last_attempt_at", "last_error")},
    "fallbacks": [],
    "not_before": None,
    "while_open": None,
    "once_over": None,
    "closes": None,
    "then": [],
    "delivered_at": None,
}


def new_document(
    message: Message,
    *,
    environment: str = "",
    fallbacks: Sequence[str] = (),
    then: Sequence[ScheduledMessage] = (),
    while_open: Mapping[str, object] | None = None,
) -> dict[str, Any]:
    """Return the document of a message that nobody has tried yet. Arguments: as ``Outbox.put`` has them."""
    return {
        "version": VERSION,
        **message._asdict(),
        **_DELIVERY,
        "environment": environment,
        "fallbacks": list(fallbacks),
        "then": [_scheduled(one, while_open) for one in then],
        "while_open": while_open,
    }


def closing(message: QueuedMessage, gateway: str, receipt: Mapping[str, str]) -> dict[str, Any] | None:
    """Return what follows a delivered message in order to close it later, as :attr:`QueuedMessage.then` has it.

    ``receipt`` is what the gateway of this name has returned. None for a message that depends on nothing that ends.
    """
    if message.while_open is None:
        return None
    fields = message.for_gateway(gateway)._asdict()
    del fields["id"], fields["created_at"]
    return {
        **fields,
        "kind": CLOSED,
        "subject": f"Over: {message.subject}",
        "text": "What this was about is over; there is nothing to answer any more.",
        "data": {},
        "link": "",
        "seconds": 0,
        "after_delivery": True,
        "once_over": message.while_open.as_json(),
        "closes": Sent(message.id, receipt)._asdict(),
    }


def _scheduled(one: ScheduledMessage, while_open: Mapping[str, object] | None) -> dict[str, Any]:
    fields = one.message._asdict()
    del fields["id"], fields["created_at"]
    return {
        **fields,
        "seconds": one.seconds,
        "after_delivery": one.after_delivery,
        "fallbacks": list(one.fallbacks),
        "while_open": while_open,
        "then": [_scheduled(other, while_open) for other in one.then],
    }


def encode(message: QueuedMessage) -> dict[str, Any]:
    """Return the document of a message. What says whom it is for is written as it was read."""
    return {
        **message.document,
        "environment": message.environment,
        "fallbacks": list(message.fallbacks),
        "attempts": message.attempts,
        "failures": message.failures,
        "tried_for": message.tried_for,
        "last_attempt_at": message.last_attempt_at,
        "last_error": message.last_error,
        "next_attempt_at": message.next_attempt_at,
        "refused": dict(message.refused),
        "unusable": message.unusable,
        "given_up": None if message.given_up is None else message.given_up._asdict(),
        "not_before": message.not_before,
        "while_open": None if message.while_open is None else message.while_open.as_json(),
        "once_over": None if message.once_over is None else message.once_over.as_json(),
        "closes": None if message.closes is None else message.closes._asdict(),
        "then": list(message.then),
        "delivered_at": message.delivered_at,
    }


def decode(name: str, document: Mapping[str, Any]) -> QueuedMessage:
    """Return the message of a document, whatever an older version or an edit by hand left of it."""
    kept = {**document, "id": name}
    wrong = [field for field in _TEXTS if not isinstance(kept.get(field), str)]
    texts = {field: "" if field in wrong else kept[field] for field in _TEXTS}
    tried_for = kept.get("tried_for")
    sane = isinstance(tried_for, int | float) and 0 <= tried_for < _CENTURY
    return QueuedMessage(
        **texts,
        data=_table(kept, "data") or {},
        link=_text(kept, "link") or "",
        fallbacks=tuple(one for one in _list(kept.get("fallbacks")) if isinstance(one, str)),
        environment=_text(kept, "environment") or "",
        attempts=_count(kept, "attempts"),
        failures=_count(kept, "failures"),
        tried_for=float(tried_for) if sane and isinstance(tried_for, int | float) else 0.0,
        last_attempt_at=_text(kept, "last_attempt_at"),
        last_error=_text(kept, "last_error"),
        next_attempt_at=_text(kept, "next_attempt_at"),
        refused=_table(kept, "refused") or {},
        unusable=_text(kept, "unusable") or "",
        given_up=_given_up(_table(kept, "given_up")),
        not_before=_text(kept, "not_before"),
        while_open=_while_open(_table(kept, "while_open")),
        once_over=_while_open(_table(kept, "once_over")),
        closes=_sent(_table(kept, "closes")),
        then=tuple(one for one in _list(kept.get("then")) if isinstance(one, dict)),
        delivered_at=_text(kept, "delivered_at"),
        fault=f"{wrong[0]!r} of the message is {kept.get(wrong[0])!r}, not a text" if wrong else "",
        document=kept,
    )


def _given_up(table: dict[str, Any] | None) -> GivenUp | None:
    return None if table is None else record(GivenUp, table)


def _while_open(table: dict[str, Any] | None) -> WhileOpen | None:
    if table is None:
        return None
    kind, names, fields = _text(table, "kind"), table.get("names"), _table(table, "fields")
    if kind is None or fields is None or not isinstance(names, list):
        return None
    return WhileOpen(kind, tuple(names), fields) if all(isinstance(name, str) for name in names) else None


def _sent(table: dict[str, Any] | None) -> Sent | None:
    if table is None:
        return None
    receipt = _table(table, "receipt") or {}
    return Sent(_text(table, "id") or "", {key: value for key, value in receipt.items() if isinstance(value, str)})


def _text(document: Mapping[str, Any], field: str) -> str | None:
    value = document.get(field)
    return value if isinstance(value, str) else None


def _table(document: Mapping[str, Any], field: str) -> dict[str, Any] | None:
    value = document.get(field)
    return value if isinstance(value, dict) else None


def _count(document: Mapping[str, Any], field: str) -> int:
    value = document.get(field)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
