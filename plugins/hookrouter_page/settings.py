"""The table ``[page]`` of config.toml: where the page is, for whom, and how long logins and links hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

import attrs

from hookrouter.messaging.fields import ADDRESS, HOME_PATH, OWN_HOSTS, HomePath, HostPort, Matching, refuse, refuse_key
from hookrouter_page.addresses import base_url, origin_at

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["PageSettings"]

_HEADER = "the name of a header: letters, digits and dashes"
_URL = "http:// or https:// and a host, perhaps with a port, and no path"


def _url(value: str) -> str:
    try:
        parts = urlsplit(value)
        port = parts.port
    except ValueError:
        refuse(value, _URL)
    is_plain = value.isascii() and value.isprintable() and " " not in value
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment or not is_plain:
        refuse(value, _URL)
    if parts.path not in ("", "/") or "@" in parts.netloc or port == 0:
        refuse(value, _URL)
    # As browsers write it: in small letters, and without the port that goes without saying.
    return origin_at(parts.scheme, parts.netloc.removesuffix(":"))


def _between(unit: str, least: float, most: float) -> Callable[[float], float]:
    def rule(value: float) -> float:
        if not least <= value <= most:
            refuse(value, f"{unit}, at least {least:g} and at most {most:g}")
        return value

    return rule


_Header = Annotated[str, Matching("[A-Za-z0-9-]*[A-Za-z0-9][A-Za-z0-9-]*", _HEADER)]


@attrs.frozen
class PageSettings:
    """The page for people: open questions, answered from a browser or a phone. The resident router serves it, where the
    extra `hookrouter[serve]` is installed."""

    enabled: bool = attrs.field(default=True, metadata={"example": "false", "help": "`false`: it is not served."})
    address: HostPort = attrs.field(
        default="127.0.0.1:8790",
        metadata={
            "allowed": ADDRESS,
            "example": '"127.0.0.1:8790"',
            "help": "Where it is served. Another host than this one needs `certificate` or `user_header`.",
        },
    )
    url: Annotated[str, _url] = attrs.field(
        default="",
        metadata={
            "allowed": _URL,
            "example": '"https://claude.example.org"',
            "help": "How people reach it, if that is not its address: links in messages begin so. Messages have links "
            "if this is set, or if `address` is not this machine's to itself alone.",
        },
    )
    user_header: _Header = attrs.field(
        default="",
        metadata={
            "allowed": _HEADER,
            "example": '"X-Forwarded-User"',
            "help": "The header in which a proxy in front of it names the user. Requests without it are refused then.",
        },
    )
    certificate: HomePath = attrs.field(
        default="",
        metadata={"allowed": HOME_PATH, "example": '"~/page.pem"', "help": "The file of a TLS certificate."},
    )
    private_key: HomePath = attrs.field(
        default="",
        metadata={"allowed": HOME_PATH, "example": '"~/page.key"', "help": "The file of the certificate's key."},
    )
    secret_file: HomePath = attrs.field(
        default="",
        metadata={
            "allowed": HOME_PATH,
            "example": '"~/page.secret"',
            "help": "The file of a secret that signs logins and links, of 32 characters or more, mode 0600: the same "
            "for pages that are one to those who use them. Without it each home makes its own.",
        },
    )
    login_days: Annotated[float, _between("days", 0.01, 366)] = attrs.field(
        default=30.0,
        metadata={
            "allowed": "days, at least 0.01 and at most 366",
            "example": "7",
            "help": "How many days a login holds.",
        },
    )
    link_hours: Annotated[float, _between("hours", 0.1, 720)] = attrs.field(
        default=24.0,
        metadata={
            "allowed": "hours, at least 0.1 and at most 720",
            "example": "8",
            "help": "How many hours the link to one question holds that is in a message to a person.",
        },
    )

    def __attrs_post_init__(self) -> None:
        """Refuse what is wrong beside the other keys."""
        if bool(self.certificate) != bool(self.private_key):
            given = "certificate" if self.certificate else "private_key"
            refuse_key(given, f"{given} alone", "certificate and private_key, or none of the two")
        if self.address.rpartition(":")[0] not in OWN_HOSTS and not self.certificate and not self.user_header:
            allowed = f"{', '.join(OWN_HOSTS)}; others only with certificate and private_key, or with user_header"
            refuse_key("address", repr(self.address), allowed)

    @property
    def base_url(self) -> str:
        """How people reach it, without a slash at the end."""
        return base_url(self.url, self.address, tls=bool(self.certificate))
