"""Who decided an answer: an agent, or a person with their login name."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = [
    "AGENT",
    "PERSON_VARIABLE",
    "PROOF_VARIABLE",
    "Author",
    "author_option",
    "is_person_there",
    "login_name",
    "person_elsewhere",
]

PERSON_VARIABLE = "HOOKROUTER_PERSON"
"""Set to a login name for a command that a person at the terminal of another machine has this machine run."""

PROOF_VARIABLE = "HOOKROUTER_PERSON_PROOF"
"""The file by which whoever started such a command says that it has set :data:`PERSON_VARIABLE`: without it that counts
for nothing, because anybody may set a variable."""

_PROOF = "errand-person-"
_LONGEST_PROOF = 4096

_KINDS = ("agent", "person")


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
    return at_terminal or bool(_person_elsewhere(os.environ))


@contextlib.contextmanager
def person_elsewhere(state: str, name: str) -> Iterator[dict[str, str]]:
    """Return the variables that tell a child of this process of a person at another machine's terminal.

    ``state`` is the home's state folder. They hold during the block. Empty for no name. Raises OSError.
    """
    if not name:
        yield {}
        return
    path = os.path.join(state, f"{_PROOF}{os.urandom(16).hex()}")
    os.makedirs(state, mode=0o700, exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with open(descriptor, "wb") as file:
            file.write(_proof(os.getpid(), name))
        yield {PERSON_VARIABLE: name, PROOF_VARIABLE: path}
    finally:
        with contextlib.suppress(OSError):
            os.unlink(path)


def _person_elsewhere(environ: Mapping[str, str]) -> str:
    """Return the name of the person at another machine's terminal that has this command run; empty if there is none.

    Only if the process that started this one has said so in this home's state folder.
    """
    from hookrouter.storage.home import Home
    from hookrouter.util.regular_file import read_end

    name, path = environ.get(PERSON_VARIABLE, ""), environ.get(PROOF_VARIABLE, "")
    folder, _, file = path.rpartition(os.sep)
    if not name or not file.startswith(_PROOF) or folder != Home.from_environ(environ).state:
        return ""
    try:
        said = read_end(path, _LONGEST_PROOF).data
    except ValueError:
        return ""
    return name if said == _proof(os.getppid(), name) else ""


def _proof(pid: int, name: str) -> bytes:
    return f"{pid} {name}\n".encode("utf-8", "surrogateescape")


def login_name() -> str:
    """Return the login name of the user that runs this process, or has it run from another machine.

    Empty if the user has none.
    """
    if name := _person_elsewhere(os.environ):
        return name
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        # A container's user that is in no list.
        return os.environ.get("LOGNAME") or os.environ.get("USER") or ""
