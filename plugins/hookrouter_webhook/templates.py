"""Templates of bodies and addresses: what they may name, how a value is escaped, and how a long text is cut."""

from __future__ import annotations

import json
import re
from html import escape
from string import Template
from typing import TYPE_CHECKING
from urllib.parse import quote, quote_plus, unquote, urlsplit

from hookrouter.messaging.gateway import Message
from hookrouter.util.errors import HookrouterError
from hookrouter.util.text import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

__all__ = ["FIELDS", "NAME", "AddressError", "fill_body", "fill_url", "message_values", "template_faults", "url_form"]

FIELDS = tuple(field for field in Message._fields if field not in ("gateway", "data"))
"""The fields of a message that a template may name, and that a body without a template has beside ``data``."""

ABOUT = "about"
"""What all messages about one question share: ``$about`` is the tool call's id, or the message's own without one."""

CLOSES = "closes"
"""The id of the message that is withdrawn or edited."""

NAME = re.compile(r"[a-z_][a-z0-9_]*")
"""How a name of one's own is written: of a secret, or of a part of an answer."""

ESCAPED_TYPES = "JSON, application/x-www-form-urlencoded, XML, HTML, text/plain and text/markdown, each in UTF-8"
"""The types of bodies of which it is known how a value is written in them."""

_CHARSET = re.compile(r";\s*charset\s*=\s*\"?([^\s;\"]*)", re.IGNORECASE)

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 has no way to write (its production Char); HTML takes none of it either."""

_CUT = "\n… (cut here; hookrouter has the whole)\n"


class AddressError(HookrouterError):
    """An address that a value would lead elsewhere."""


def message_values(message: Message, *, text_bytes: int | None, entities: bool, closes: str = "") -> dict[str, str]:
    """Return the values that a template may name of a message.

    Of the text at most ``text_bytes`` bytes of UTF-8 are taken, None for all. With ``entities`` the signs ``&``, ``<``
    and ``>`` are written as Slack wants them, so that no text mentions or links anything. ``closes`` is the id of the
    message that this one withdraws or edits.
    """
    values = {name: str(getattr(message, name)) for name in FIELDS}
    values[ABOUT] = message.tool_use_id or closes or message.id
    values[CLOSES] = closes
    if entities:
        # The link is hookrouter's own, and holds none of the three.
        values = {name: value if name == "link" else _as_entities(value) for name, value in values.items()}
    # Afterwards: the service counts what it gets.
    values["text"] = _cut(values["text"], text_bytes, entities=entities)
    return values


def fill_body(template: str, values: Mapping[str, str], content_type: str) -> bytes:
    """Return a template with its values, escaped as the content type wants it."""
    written = _writing(content_type) or str
    text = Template(template).substitute({name: written(value) for name, value in values.items()})
    # Half of a surrogate pair has no UTF-8 form, and the payload may hold one.
    return text.encode("utf-8", "backslashreplace")


def fill_url(template: str, values: Mapping[str, str]) -> str:
    """Return an address with its values, in which no value ends a part of it.

    Raises AddressError if they make one of ``.`` or ``..``, which stand for other folders.
    """
    filled = Template(template).substitute({name: url_form(value) for name, value in values.items()})
    if any(unquote(part) in (".", "..") for part in urlsplit(filled).path.split("/")):
        raise AddressError("a value would lead the address elsewhere: a part of it would be . or ..")
    return filled


def url_form(value: str) -> str:
    """Return a value as it stands in an address."""
    # A colon ends no part, and a bot's token of Telegram has one.
    return quote(value, safe=":", errors="backslashreplace")


def template_faults(
    key: str, template: str, names: Collection[str], content_type: str = "", numbers: Collection[str] = ()
) -> list[str]:
    """Return what is wrong with a template that may name ``names``, of which ``numbers`` may be whole numbers.

    With a JSON content type it must make JSON, with another one it must be known how values are written in it; empty:
    it is no body.
    """
    problems = []
    for name in Template(template).get_identifiers():
        if name not in names:
            hint = did_you_mean(name, names, f"known are {', '.join(names)}")
            problems.append(f"{key}: ${name} is unknown; {hint}")
    if not problems and _is_json(content_type):
        try:
            # A text outside of quotes is no JSON; a number is.
            json.loads(Template(template).substitute({name: "1" if name in numbers else "x" for name in names}))
        except ValueError as error:
            problems.append(f'{key}: the template makes no JSON: {error}; a text needs its quotes, as in "$text"')
    if content_type and _writing(content_type) is None:
        problems.append(
            f"{key}: it is not known how a value is written in {content_type!r}; allowed: {ESCAPED_TYPES}, "
            "or no body, for the message as JSON"
        )
    return problems


def _is_json(content_type: str) -> bool:
    return "json" in content_type.lower()


def _writing(content_type: str) -> Callable[[str], str] | None:
    """Return how a value is written in a body of a type so that it ends no part of it; None if that is not known."""
    kind = content_type.partition(";")[0].strip().lower()
    if any(charset.lower() not in ("utf-8", "utf8") for charset in _CHARSET.findall(content_type)):
        return None
    if _is_json(content_type):
        return lambda value: json.dumps(value)[1:-1]
    if kind == "application/x-www-form-urlencoded":
        return lambda value: quote_plus(value, errors="backslashreplace")
    if kind in ("application/xml", "text/xml", "text/html") or kind.endswith("+xml"):
        return lambda value: escape(_NOT_XML.sub("\ufffd", value))
    return str if kind in ("text/plain", "text/markdown") else None


def _as_entities(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _cut(text: str, limit: int | None, *, entities: bool) -> str:
    data = text.encode("utf-8", "backslashreplace")
    if limit is None or len(data) <= limit:
        return text
    kept = data[: max(0, limit - len(_CUT.encode()))].decode("utf-8", "ignore")
    # Every & begins an entity then, and half of one is none.
    kept = re.sub("&[a-z]*\\Z", "", kept) if entities else kept
    return f"{kept.rstrip()}{_CUT}"
