"""Types for the fields of a gateway's settings class: what they allow is checked when the table is read.

``timeout: Seconds = 20.0`` takes a number of seconds and names what is allowed for any other value. For own rules,
annotate a type with anything callable that takes the value and returns it, or calls :func:`refuse`::

    Port = Annotated[int, Within(above=0, most=65535)]
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Annotated

import attrs

from hookrouter._config.validation import Fault

if TYPE_CHECKING:
    from typing import NoReturn

__all__ = [
    "ADDRESS",
    "HOME_PATH",
    "OWN_HOSTS",
    "FilePath",
    "HomePath",
    "HostPort",
    "Line",
    "Matching",
    "Seconds",
    "VariableName",
    "Within",
    "absolute_path",
    "host_and_port",
    "refuse",
    "refuse_key",
    "variable_name",
]

LONGEST_TIMEOUT = 86_400.0
"""The longest ``timeout`` in seconds: a day."""

OWN_HOSTS = ("127.0.0.1", "[::1]", "localhost")
"""The hosts by which a machine names itself, so that no other one can connect."""

_LAST_PORT = 65535

ADDRESS = f"HOST:PORT, with a port from 1 to {_LAST_PORT}"
HOME_PATH = "an absolute path, or one that begins with ~/"
"""What :data:`HostPort` and :data:`HomePath` allow, in words."""


def refuse(found: object, allowed: str) -> NoReturn:
    """Refuse a value of the table; ``allowed`` says in words what may stand there."""
    text = f"{found:g}" if isinstance(found, float) else repr(found)
    raise Fault(text if len(text) <= 80 else f"{text[:80]}…", allowed)


def refuse_key(key: str, found: str, allowed: str) -> NoReturn:
    """Refuse a key of the table that is wrong beside others, in ``__attrs_post_init__``; both texts are words."""
    raise Fault(found, allowed, key=key)


@attrs.frozen
class Within:
    """A rule for numbers: above one, and up to another."""

    above: float
    most: float
    unit: str = "numbers"
    why: str = ""
    """Follows the limits in what a person reads."""

    def __call__(self, value: float) -> float:
        """Return the value. Raises ValueError if it is not allowed."""
        if not self.above < value <= self.most:
            refuse(value, f"{self.unit} above {self.above:g} and up to {self.most:g}{self.why}")
        return value


@attrs.frozen
class Matching:
    """A rule for texts: all of the text matches a regular expression."""

    pattern: str
    allowed: str
    """In words, for a person."""

    def __call__(self, value: str) -> str:
        """Return the value. Raises ValueError if it is not allowed."""
        if not re.fullmatch(self.pattern, value):
            refuse(value, self.allowed)
        return value


def _line(value: str) -> str:
    if not value.strip() or not value.isprintable():
        refuse(value, "one line of text that is not empty")
    return value


def absolute_path(value: str) -> str:
    """Return an absolute path with the user's home put in. Raises ValueError for a path that is not absolute."""
    path = os.path.expanduser(value)
    if "\0" in value or not os.path.isabs(path):
        refuse(value, "an absolute path, or one that begins with ~")
    return path


def variable_name(value: str) -> str:
    """Return the name of an environment variable. Raises ValueError for what is none."""
    if not value.isascii() or not value.isidentifier():
        refuse(value, "the name of an environment variable")
    return value


def host_and_port(value: str) -> str:
    """Return an address ``HOST:PORT``. Raises ValueError for what is none."""
    host, _, port = value.rpartition(":")
    is_host = host and (":" not in host or host.startswith("[")) and host.isprintable() and "/" not in host
    is_port = port.isascii() and port.isdigit() and len(port) <= len(str(_LAST_PORT)) and 1 <= int(port) <= _LAST_PORT
    if not is_host or not is_port:
        refuse(value, ADDRESS)
    return value


Line = Annotated[str, _line]
"""One line of text that is not empty."""

Seconds = Annotated[float, Within(0, LONGEST_TIMEOUT, "seconds")]
"""A number of seconds, up to a day."""

FilePath = Annotated[str, absolute_path]
"""An absolute path, or one that begins with ``~``; the object has it with the user's home put in."""

HomePath = Annotated[str, Matching(r"(/|~/).*", HOME_PATH)]
"""An absolute path, or one that begins with ``~/``, as it is written."""

HostPort = Annotated[str, host_and_port]
"""Where a server listens: ``HOST:PORT``, an IPv6 address in brackets."""

VariableName = Annotated[str, variable_name]
"""The name of an environment variable."""
