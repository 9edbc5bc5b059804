"""What a part of hookrouter says of the program or server that it needs."""

from __future__ import annotations

from typing import NamedTuple

from hookrouter.util.field_docs import with_field_docs

__all__ = ["Probe"]


@with_field_docs
class Probe(NamedTuple):
    """What a look at the other side of a gateway, or at a terminal's program, showed."""

    usable: bool
    """Whether it would work now, as far as can be seen without trying."""
    message: str
    """What answered, or what is wrong; one line."""
    fix: str = ""
    """What to do if it is not usable; one line."""
