"""What a hook returned, checked and copied, so that nothing of it can fail or change later."""

from __future__ import annotations

from hookrouter import replies
from hookrouter.replies import REPLIES, Reply, expected_reply
from hookrouter.util import fastjson
from hookrouter.util.text import describe_value

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any

__all__ = ["checked_reply", "decode_reply", "encode_reply"]


_KINDS: dict[str, tuple[type, ...]] = {"output": (dict,), "is_exact": (bool,)}
"""The kinds of those fields of a reply that are no texts."""


def checked_reply(event_name: str, result: object) -> Reply | None:
    """Return a copy of what a hook returned, if it is a reply that fits the event; None for None.

    Raises TypeError or ValueError for anything else, and for a reply that cannot be written as JSON. A subclass, or an
    object that pretends to be a reply, may raise anything.
    """
    if result is None:
        return None
    expected = expected_reply(event_name)
    allowed = REPLIES[event_name].__name__ if event_name in REPLIES else "Reply"
    kind = type(result)
    if not issubclass(kind, Reply):
        raise TypeError(
            f"a hook about {event_name} returns None or a {allowed}, not a {kind.__name__}: {describe_value(result)}"
        )
    assert isinstance(result, Reply)  # noqa: S101 - for the type checker
    if event_name in REPLIES and issubclass(kind, expected):
        kind = expected
    elif kind is not Reply:
        raise TypeError(f"a hook about {event_name} returns None or a {allowed}, not a {kind.__name__}")
    else:
        for value, constructor in (
            (result.system_message, "message"),
            (result.stop_reason, "halt"),
            (result.terminal_sequence, "terminal"),
        ):
            if value is not None and not hasattr(expected, constructor):
                raise TypeError(f"Claude Code discards what Reply.{constructor}() says on {event_name}")
    said = fastjson.loads(fastjson.dumps([kind.__name__, *(getattr(result, name) for name in Reply.__slots__)]))
    return decode_reply(said)


def encode_reply(reply: Reply) -> list[Any]:
    """Return a reply as JSON values."""
    return [type(reply).__name__, *(getattr(reply, name) for name in Reply.__slots__)]


def decode_reply(told: Any) -> Reply:
    """Return the reply that :func:`encode_reply` made this of. Raises TypeError for fields of the wrong kind."""
    kind: type[Reply] = getattr(replies, told[0], Reply)
    fields = dict(zip(Reply.__slots__, told[1:], strict=False))
    for name, value in fields.items():
        allowed = _KINDS.get(name, (str, type(None)))
        if not isinstance(value, allowed):
            raise TypeError(f"the {name} of a reply must be a {allowed[0].__name__}, not a {type(value).__name__}")
    return kind._make(**fields)
