"""What a part of hookrouter says of the program or server that it needs."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Probe"]


class Probe(NamedTuple):
    """What a look at the other side of a gateway, or at a terminal's program, showed."""

    usable: bool
    """Whether it would work now, as far as can be seen without trying."""
    message: str
    """What answered, or what is wrong; one line."""
    fix: str = ""
    """What to do if it is not usable; one line."""
