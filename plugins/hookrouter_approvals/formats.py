"""The formats that the Model Context Protocol names for texts in a form: email, uri, date and date-time.

Each is checked by the whole grammar of the RFC that JSON Schema names for it. Of any other format the protocol says
nothing, so no value is refused for it.
"""

from __future__ import annotations

import ipaddress
import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["format_fault"]

_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_DATE_TIME = re.compile(
    r"(?P<date>[0-9]{4}-[0-9]{2}-[0-9]{2})[Tt](?P<hour>[0-9]{2}):(?P<minute>[0-9]{2}):(?P<second>[0-9]{2})(?:\.[0-9]+)?"
    r"(?:[Zz]|(?P<sign>[+-])(?P<hours>[0-9]{2}):(?P<minutes>[0-9]{2}))"
)

_ATOM = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
_QUOTED = r'"(?:[ !#-\[\]-~]|\\[ -~])*"'
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_MAILBOX = re.compile(
    rf"(?P<local>{_ATOM}(?:\.{_ATOM})*|{_QUOTED})@(?:(?P<domain>{_LABEL}(?:\.{_LABEL})*)|\[(?P<literal>[!-Z^-~]+)\])"
)

_LETTER = r"(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})"
_USER = r"(?:[A-Za-z0-9._~!$&'()*+,;=:-]|%[0-9A-Fa-f]{2})*"
_HOST = r"(?:[A-Za-z0-9._~!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*"
_URI = re.compile(
    rf"[A-Za-z][A-Za-z0-9+.-]*:"
    rf"(?://(?:{_USER}@)?(?:\[(?P<literal>[0-9A-Za-z._~!$&'()*+,;=:-]+)\]|{_HOST})(?::[0-9]*)?(?:/{_LETTER}*)*"
    rf"|/(?:{_LETTER}+(?:/{_LETTER}*)*)?"
    rf"|{_LETTER}+(?:/{_LETTER}*)*)?"
    rf"(?:\?(?:{_LETTER}|[/?])*)?(?:#(?:{_LETTER}|[/?])*)?"
)
_FUTURE_ADDRESS = re.compile(r"[vV][0-9A-Fa-f]+\.[A-Za-z0-9._~!$&'()*+,;=:-]+")


def format_fault(name: object, text: str) -> str:
    """Return what a text of this format must be; empty if it is, or if the protocol knows no such format."""
    check, allowed = _FORMATS.get(name, (None, "")) if isinstance(name, str) else (None, "")
    return "" if check is None or check(text) else allowed


def _is_date(text: str) -> bool:
    """RFC 3339, full-date."""
    if not _DATE.fullmatch(text):
        return False
    # Python knows no year 0; it has the days of the year 400.
    return _is_day(f"0400{text[4:]}" if text.startswith("0000") else text)


def _is_day(text: str) -> bool:
    try:
        datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC)
    except ValueError:
        return False
    return True


def _is_date_time(text: str) -> bool:
    """RFC 3339, date-time. A leap second ends a day in UTC; whether that day had one is not looked up."""
    found = _DATE_TIME.fullmatch(text)
    if found is None or not _is_date(found["date"]):
        return False
    hour, minute, second = int(found["hour"]), int(found["minute"]), int(found["second"])
    hours, minutes = int(found["hours"] or 0), int(found["minutes"] or 0)
    if hour > 23 or minute > 59 or second > 60 or hours > 23 or minutes > 59:
        return False
    offset = timedelta(hours=hours, minutes=minutes) * (-1 if found["sign"] == "-" else 1)
    return second < 60 or (timedelta(hours=hour, minutes=minute) - offset) % timedelta(days=1) == timedelta(
        minutes=1439
    )


def _is_email(text: str) -> bool:
    """RFC 5321, Mailbox."""
    found = _MAILBOX.fullmatch(text)
    if found is None or len(found["local"]) > 64:
        return False
    if found["literal"] is None:
        return len(found["domain"]) <= 255
    tag, colon, address = found["literal"].partition(":")
    if not colon:
        return _is_address(tag, ipaddress.IPv4Address)
    # Others than IPv6 have to be registered, and none is.
    return tag.lower() == "ipv6" and _is_address(address, ipaddress.IPv6Address)


def _is_uri(text: str) -> bool:
    """RFC 3986, URI."""
    found = _URI.fullmatch(text)
    if found is None:
        return False
    literal = found["literal"]
    if literal is None or _FUTURE_ADDRESS.fullmatch(literal):
        return True
    return _is_address(literal, ipaddress.IPv6Address)


def _is_address(text: str, kind: type[ipaddress.IPv4Address | ipaddress.IPv6Address]) -> bool:
    try:
        kind(text)
    except ValueError:
        return False
    return "%" not in text


_FORMATS: dict[str, tuple[Callable[[str], bool], str]] = {
    "email": (_is_email, "an e-mail address, such as user@example.com"),
    "uri": (_is_uri, "a URI, such as https://example.com/page"),
    "date": (_is_date, "a date, such as 2024-03-15"),
    "date-time": (_is_date_time, "a date and time with its zone, such as 2024-03-15T14:30:00Z"),
}
