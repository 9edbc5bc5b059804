"""A hookrouter plugin that shows on the page what git says of each session's folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter import hookimpl, override
from hookrouter.hookspecs import PageSpecs, SettingsSpecs

if TYPE_CHECKING:
    from hookrouter.pages import Contribution

    from hookrouter_git_state.settings import Settings


class GitState(PageSpecs, SettingsSpecs):
    """Adds a panel to each session in a repository, and a page over all of them."""

    @hookimpl
    @override
    def plugin_settings(self) -> type[Settings]:
        from hookrouter_git_state.settings import Settings

        return Settings

    @hookimpl
    @override
    def web_pages(self) -> list[Contribution]:
        from hookrouter.pages import Page, SessionPanel

        from hookrouter_git_state.showing import folders, repository

        return [SessionPanel("Git", repository), Page("folders", "Folders", folders)]
