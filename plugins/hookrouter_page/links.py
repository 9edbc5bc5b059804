"""The links of messages to people that lead to the page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter.dialogs.linking import DialogLinks, Link
from hookrouter.util.clock import now
from hookrouter_page.security.answer_link import answer_link
from hookrouter_page.settings import PageSettings

if TYPE_CHECKING:
    from hookrouter.context import Services
    from hookrouter.dialogs.documents import Dialog

__all__ = ["PageLinks"]


class PageLinks(DialogLinks):
    """Leads to one dialog, without a login."""

    name = "page"

    def link(self, dialog: Dialog, services: Services, /) -> Link | None:
        """Return a link that holds from now for ``link_hours``; None if other machines do not reach the page."""
        page, begun = services.settings(PageSettings), now()
        url = answer_link(services.home, page, dialog)
        return Link(url, begun + page.link_hours * 3600) if url else None
