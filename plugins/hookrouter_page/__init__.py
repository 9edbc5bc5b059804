"""The page for people: open questions, sessions with their queues, history and health, in a browser or on a phone.

It runs in a process of its own beside the resident router, begun when somebody connects, unless ``[page]`` of
config.toml switches it off, and needs the extra ``hookrouter[serve]``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter import hookimpl, stateless

if TYPE_CHECKING:
    from hookrouter.dialogs.linking import DialogLinks
    from hookrouter.hookspecs.commands import Command
    from hookrouter.serving.resident import ResidentProcess
    from hookrouter.storage.home import DocumentKind
    from hookrouter_page.settings import PageSettings


@hookimpl
@stateless
def resident_process() -> list[ResidentProcess]:
    """Contribute the process."""
    from hookrouter_page.resident import PageProcess

    return [PageProcess()]


@hookimpl
@stateless
def cli_commands() -> list[Command]:
    """Contribute ``hookrouter open``."""
    from hookrouter.hookspecs.commands import Command

    text = "Open the web page: answer questions from a browser or a phone."
    return [Command("open", text, "hookrouter_page.command:open_page", "Answer Claude")]


@hookimpl
@stateless
def document_kinds() -> list[DocumentKind]:
    """Share logins: pages that are one to those who use them read each other's."""
    from hookrouter_page.security.login_records import KIND

    return [KIND]


@hookimpl
@stateless
def plugin_settings() -> type[PageSettings]:
    """Declare what the table may hold."""
    from hookrouter_page.settings import PageSettings

    return PageSettings


@hookimpl
@stateless
def config_table() -> str:
    """Name the table."""
    return "page"


@hookimpl
@stateless
def dialog_links() -> DialogLinks:
    """Contribute links for messages to people."""
    from hookrouter_page.links import PageLinks

    return PageLinks()
