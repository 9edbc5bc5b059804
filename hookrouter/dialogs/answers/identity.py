"""Who decided an answer: an agent, or a person with their login name."""

from __future__ import annotations

import os
from typing import NamedTuple

from hookrouter.util.field_docs import with_field_docs

__all__ = ["AGENT", "PERSON_VARIABLE", "Author", "author_option", "is_person_there", "login_name"]

PERSON_VARIABLE = "HOOKROUTER_PERSON"
"""Set to a login name for a command that a person at the terminal of another machine has this machine run."""

_KINDS = ("agent", "person")


@with_field_docs
class Author(NamedTuple):
    """Whoever decided an answer."""

    by: str = "agent"
    """``agent`` or ``person``."""
    name: str = ""
    """A person's login name; empty for an agent, or if it is not known."""

    is_present: bool = False
    """Whether a terminal shows that a person is there. Rules hold for whoever only says so (``--as``)."""

    @property
    def is_person(self) -> bool:
        """Whether a person decided."""
        return self.by == "person"


AGENT = Author()


def author_option(text: str) -> Author:
    """Return the author that ``--as`` names: ``agent``, ``person`` or ``person:NAME``. Raises ValueError."""
    by, separator, name = text.partition(":")
    if by not in _KINDS or (separator and (by == "agent" or not name.strip())):
        raise ValueError(f"--as: agent, person or person:NAME, not {text!r}")
    return AGENT if by == "agent" else Author(by, name.strip() or login_name())


def is_person_there(*, at_terminal: bool) -> bool:
    """Whether a terminal shows that a person is there: this process's own (``at_terminal``), or another machine's."""
    return at_terminal or bool(os.environ.get(PERSON_VARIABLE))


def login_name() -> str:
    """Return the login name of the user that runs this process, or has it run from another machine.

    Empty if the user has none.
    """
    if name := os.environ.get(PERSON_VARIABLE):
        return name
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        # A container's user that is in no list.
        return os.environ.get("LOGNAME") or os.environ.get("USER") or ""
