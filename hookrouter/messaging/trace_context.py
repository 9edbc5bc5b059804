"""The W3C trace context of a question: the same for whoever knows the question, so nobody has to keep or carry it.

The trace of a question is a digest of the session's id and the tool call's, the span of a message one of the message's
id as well. So a hook does nothing for it, and whoever exports spans later (``hookrouter traces``) finds the same ids
that an agent was given. An agent that goes on with it has its own spans below the message's.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, MutableMapping

__all__ = ["HEADER", "VARIABLE", "TraceContext", "current", "handed_on", "parsed", "span_id", "trace_id"]

HEADER = "traceparent"
"""The header of HTTP that carries it."""

VARIABLE = "TRACEPARENT"
"""The environment variable that carries it to a program."""

_FORM = re.compile(r"00-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}")


class TraceContext(NamedTuple):
    """A span, as another program is told of it."""

    trace: str
    """The trace's id: 32 hexadecimal digits."""
    span: str
    """The span's id: 16 of them."""

    def header(self) -> str:
        """Return the value of :data:`HEADER`: sampled, because whoever switches this on wants it."""
        return f"00-{self.trace}-{self.span}-01"


_current = ""


def trace_id(session_id: str, tool_use_id: str) -> str:
    """Return the id of a question's trace."""
    return blake2b(f"{session_id}\0{tool_use_id}".encode("utf-8", "replace"), digest_size=16).hexdigest()


def span_id(trace: str, name: str) -> str:
    """Return the id of a span of a trace, by a name that no other span of it has."""
    return blake2b(f"{trace}\0{name}".encode("utf-8", "replace"), digest_size=8).hexdigest()


def parsed(value: str) -> TraceContext | None:
    """Return what a header or variable says; None if it is of another form, or says that there is no trace."""
    found = _FORM.fullmatch(value)
    if found is None or not int(found[1], 16) or not int(found[2], 16):
        return None
    return TraceContext(found[1], found[2])


def current() -> str:
    """Return the header of the message that this process delivers at this moment; empty for none."""
    return _current


@contextmanager
def handed_on(context: TraceContext | None, environ: MutableMapping[str, str]) -> Iterator[None]:
    """Have gateways hand a context on in the block: :func:`current` and the variable say it. None changes nothing."""
    global _current
    if context is None:
        yield
        return
    former, known = _current, environ.get(VARIABLE)
    _current = environ[VARIABLE] = context.header()
    try:
        yield
    finally:
        _current = former
        if known is None:
            environ.pop(VARIABLE, None)
        else:
            environ[VARIABLE] = known
