"""Where a person answers one dialog in a browser, as plugins offer it by the hook ``dialog_links``."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hookrouter.util.text import describe_error

if TYPE_CHECKING:
    from hookrouter.context import Services
    from hookrouter.dialogs.documents import Dialog

__all__ = ["DialogLinks", "Link", "dialog_link"]


class Link(NamedTuple):
    """A link to one dialog."""

    url: str
    """The address."""
    until: float
    """When it ceases to hold, in seconds since 1970."""


class DialogLinks:
    """Makes links for messages to people. A base class; runs in the process that delivers messages, never in a hook."""

    name: str
    """What it is known by."""

    def link(self, dialog: Dialog, services: Services, /) -> Link | None:
        """Return where a person decides on an open dialog, from now on; None if nowhere.

        What it raises is a warning, and the message goes out without a link.
        """
        raise NotImplementedError


def dialog_link(dialog: Dialog, services: Services) -> Link | None:
    """Return the first link to a dialog that an active plugin offers; None for none. Raises nothing."""
    for name, links in services.plugins.contributions("dialog_links", base=DialogLinks).items():
        try:
            found: object = links.link(dialog, services)
        except Exception as error:  # noqa: BLE001 - whatever a plugin raises costs the link alone
            services.warn(f"no link to the question could be made by {name}: {describe_error(error)}")
            continue
        if isinstance(found, Link):
            return found
    return None
