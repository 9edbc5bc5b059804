"""Puts together what plugins add to the page: which address belongs to whom, and what cannot be taken."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING, NamedTuple

from hookrouter.pages import LONGEST_TITLE, Link, Page, SessionPanel
from hookrouter.util.text import describe_value, printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hookrouter.pages import Contribution

__all__ = ["MOST_EACH", "Contributed", "PluginPage", "PluginPanel", "address_part", "offered", "put_together"]

MOST_EACH = 20
"""Pages, panels and links that one plugin may add."""

_UNSAFE = re.compile(r"[^a-z0-9._-]+")


class PluginPage(NamedTuple):
    """A page of a plugin."""

    plugin: str
    address: str
    page: Page


class PluginPanel(NamedTuple):
    """A part of each session's page, of a plugin."""

    plugin: str
    panel: SessionPanel


class Contributed(NamedTuple):
    """What all plugins add, in plugin order."""

    pages: Mapping[str, PluginPage]
    """By address."""
    panels: tuple[PluginPanel, ...]
    links: tuple[Link, ...]
    """What the navigation has more: pages and links."""
    problems: tuple[str, ...]
    """What could not be taken, one line each, with the plugin's name."""


def address_part(name: str) -> str:
    """Return a name as a part of an address: small ASCII letters, digits, ``.``, ``_`` and ``-``.

    Empty if nothing of it is left, cut if it is long; never ``.`` or ``..``.
    """
    return _UNSAFE.sub("-", name.lower())[:LONGEST_TITLE].strip("-.")


def offered(given: object) -> tuple[Contribution, ...]:
    """Return what a plugin's ``web_pages`` has returned. Raises TypeError for what cannot be taken, and what it raises.

    ``given`` may be anything.
    """
    if given is None:
        return ()
    if isinstance(given, str) or not hasattr(given, "__iter__"):
        raise TypeError(f"web_pages() returned {describe_value(given)}, which is not a list")
    found = tuple(itertools.islice(given, MOST_EACH + 1))
    for one in found:
        if type(one) not in (Page, SessionPanel, Link):
            raise TypeError(f"web_pages() returned {describe_value(one)}, which is not a Page, SessionPanel or Link")
    if len(found) > MOST_EACH:
        raise TypeError(f"web_pages() returned more than {MOST_EACH} pages, panels and links")
    return found


def put_together(given: Iterable[tuple[str, tuple[Contribution, ...]]]) -> Contributed:
    """Return what the plugins, in their order, have offered. Of two pages with one address the first stays."""
    pages: dict[str, PluginPage] = {}
    panels: list[PluginPanel] = []
    links: list[Link] = []
    problems: list[str] = []
    for plugin, one in ((plugin, one) for plugin, offers in given for one in offers):
        match one:
            case Link():
                links.append(one)
            case SessionPanel():
                panels.append(PluginPanel(plugin, one))
            case Page():
                address, problem = _place(plugin, one, pages)
                if problem:
                    problems.append(printable(f"plugin {plugin}: the page {one.title!r} {problem}"))
                else:
                    pages[address] = PluginPage(plugin, address, one)
                    links.append(Link(one.title, address))
    return Contributed(pages, tuple(panels), tuple(links), tuple(problems))


def _place(plugin: str, page: Page, taken: Mapping[str, PluginPage]) -> tuple[str, str]:
    """Return the address of a page, and why it cannot have it; empty if it can."""
    folder, segment = address_part(plugin), address_part(page.segment)
    if not folder or not segment:
        what = f"segment {page.segment!r}" if folder else "plugin's name"
        return "", f"is not shown: nothing of the {what} can be part of an address"
    address = f"/plugins/{folder}/{segment}"
    first = taken.get(address)
    if first is None:
        return address, ""
    return "", f"is not shown: {address} is {first.page.title!r} of the plugin {first.plugin} already"
