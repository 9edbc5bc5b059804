"""What plugins add to the page for people: pages of their own, panels of a session's page, and links.

A plugin returns :class:`Page`, :class:`SessionPanel` and :class:`Link` from the hook ``web_pages``, see
:class:`hookrouter.hookspecs.PageSpecs`. What they show is data, made of the blocks below, and never markup: the page
draws each text as a text, with control and invisible characters made visible, so words of Claude's or of a repository
can be handed on as they are. Import this module inside the hook: it loads attrs, which a hook run does not need.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import quote, urlsplit

import attrs

from hookrouter.util.errors import HookrouterError
from hookrouter.util.text import describe_value, printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from hookrouter.context import Services
    from hookrouter.queue.overview import SessionView

__all__ = [
    "LONGEST_TITLE",
    "Block",
    "Cell",
    "ContentError",
    "Contribution",
    "Facts",
    "Heading",
    "Link",
    "Page",
    "PageRequest",
    "Preformatted",
    "SessionPanel",
    "Table",
    "Text",
]

LONGEST_TITLE = 100
"""Characters of a title at most."""

LONGEST_ADDRESS = 8000
"""Characters of a link's address at most."""


class ContentError(HookrouterError):
    """What a plugin wants to be shown cannot be; the message says why."""


def _text(value: str) -> str:
    if not isinstance(value, str):
        raise ContentError(f"a text is needed, not {describe_value(value)}")
    # A subclass of str may bring markup of its own.
    return str.__str__(value)


def _title(value: str) -> str:
    text = _text(value)
    if not text.strip() or len(text) > LONGEST_TITLE:
        raise ContentError(f"a title has 1 to {LONGEST_TITLE} characters, unlike {describe_value(value)}")
    return text


def _address(value: str) -> str:
    text = _text(value)
    if not _is_allowed(text):
        raise ContentError(
            f"the address of a link begins with http:// or https://, or is a path of the page, such as /sessions; "
            f"found {describe_value(value)}"
        )
    return text


def _is_allowed(address: str) -> bool:
    # Browsers leave out some characters, and take a backslash for a slash.
    if printable(address) != address or any(one.isspace() or one == "\\" for one in address):
        return False
    if address.startswith("/"):
        return len(address) <= LONGEST_ADDRESS and not address.startswith("//")
    try:
        parts = urlsplit(address)
        return len(address) <= LONGEST_ADDRESS and parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        return False


@attrs.frozen
class Link:
    """A link: in the page's navigation if the hook returns it, else where it stands among the blocks."""

    title: str = attrs.field(converter=_title)
    """The words of it, in one line."""
    address: str = attrs.field(converter=_address)
    """Where it leads: ``http://...``, ``https://...``, or a path of the page itself (``/sessions/work``).

    Anything else is a ContentError.
    """

    @classmethod
    def to_session(cls, session: str) -> Link:
        """Return the link to a session's page, by the session's name."""
        name = _text(session)
        return cls(name.strip()[:LONGEST_TITLE] or "(no name)", f"/sessions/{quote(name, safe='', errors='replace')}")

    @property
    def is_elsewhere(self) -> bool:
        """Whether it leaves the page."""
        return not self.address.startswith("/")


Cell: TypeAlias = str | Link
"""What a table and facts hold: a text, whose lines are kept, or a link."""


def _cell(value: Cell) -> Cell:
    return value if type(value) is Link else _text(value)  # type: ignore[arg-type] # it is a text, or an error


def _texts(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(_text(value) for value in values)


def _facts(pairs: Iterable[tuple[str, Cell]]) -> tuple[tuple[str, Cell], ...]:
    return tuple((_text(name), _cell(value)) for name, value in pairs)


def _rows(rows: Iterable[Iterable[Cell]]) -> tuple[tuple[Cell, ...], ...]:
    return tuple(tuple(_cell(value) for value in row) for row in rows)


@attrs.frozen
class Text:
    """A paragraph; its lines are kept."""

    text: str = attrs.field(converter=_text)


@attrs.frozen
class Preformatted:
    """Text whose columns matter, such as a program's output."""

    text: str = attrs.field(converter=_text)


@attrs.frozen
class Heading:
    """A heading inside a page or panel."""

    text: str = attrs.field(converter=_title)


@attrs.frozen
class Facts:
    """Names, each with what there is to say of it."""

    items: tuple[tuple[str, Cell], ...] = attrs.field(converter=_facts)


@attrs.frozen
class Table:
    """A table. A row that has more or fewer cells than the header is a ContentError."""

    header: tuple[str, ...] = attrs.field(converter=_texts)
    """The names of the columns; an empty one is a column without a name."""
    rows: tuple[tuple[Cell, ...], ...] = attrs.field(converter=_rows)

    def __attrs_post_init__(self) -> None:
        """Compare the rows with the header."""
        for number, row in enumerate(self.rows, 1):
            if len(row) != len(self.header):
                raise ContentError(f"row {number} has {len(row)} cells, and the header {len(self.header)}")


Block: TypeAlias = Text | Preformatted | Heading | Facts | Table | Link
"""What pages and panels are made of."""


@attrs.frozen
class PageRequest:
    """What is asked for, and by whom."""

    query: Mapping[str, str]
    """What stands behind the ``?`` of the address: texts of whoever has written it, the last of each name."""
    role: str
    """The role of the login: ``full``, or ``view`` for who may look and change nothing."""
    services: Services
    """The services of the home: config, documents, journal, the plugin's own settings. A page changes nothing."""


@attrs.frozen
class Page:
    """A page of its own, with a link to it in the page's navigation."""

    segment: str = attrs.field(converter=_title)
    """The last part of its address, ``/plugins/PLUGIN/SEGMENT``: in both, what is not an ASCII letter, digit, ``.``,
    ``_`` or ``-`` becomes a dash, and letters become small."""
    title: str = attrs.field(converter=_title)
    """Its heading, and the words of the link."""
    content: Callable[[PageRequest], Iterable[Block] | None] = attrs.field(validator=attrs.validators.is_callable())
    """Called for each look at it, in a thread; what it returns is shown."""


@attrs.frozen
class SessionPanel:
    """A part of each session's page."""

    title: str = attrs.field(converter=_title)
    """Its heading."""
    content: Callable[[SessionView, PageRequest], Iterable[Block] | None] = attrs.field(
        validator=attrs.validators.is_callable()
    )
    """Called with the session for each look at its page, in a thread. None, or no block: this session has no such
    panel."""


Contribution: TypeAlias = Page | SessionPanel | Link
"""What the hook ``web_pages`` returns a list of."""
