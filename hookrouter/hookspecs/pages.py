"""The hook by which plugins add to the page for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter.markers import hookspec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookrouter.pages import Contribution

__all__ = ["PageSpecs"]


class PageSpecs:
    """The hook of the page. Also a base class: override what the plugin implements."""

    @hookspec
    def web_pages(self) -> Sequence[Contribution] | None:
        """When: the page for people begins, and once more if other plugins are active; never in a hook process.

        Returns: ``None`` for nothing, or a list of the objects of ``hookrouter.pages``: a
        :class:`~hookrouter.pages.Page` is a page of its own, a :class:`~hookrouter.pages.SessionPanel` a part of each
        session's page, and a :class:`~hookrouter.pages.Link` a link in the navigation. The functions of pages and
        panels are called for each look, in threads, and return what is shown as data. One that fails, or takes longer
        than 5 seconds or the plugin's ``timeout``, costs its own part of the page and nothing else.

        Combined: All are shown, in plugin order. Of two pages with one address the first stays, and the other is
        reported with both names.

        Args:
            (none): The functions of pages and panels are given what they work on.

        Example::

            @hookimpl
            def web_pages():
                from hookrouter.pages import Page, Text

                return [Page("greeting", "Greeting", lambda request: [Text("Hello.")])]
        """
