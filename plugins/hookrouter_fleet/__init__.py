"""Machines that share an engine of documents: each keeps its own in files, and brings them where the others look.

One process of each machine (:mod:`hookrouter_fleet.process`) brings what changes in the files to the engine of
``[storage]``, in transactions, and carries out what other machines ask of this one (:mod:`hookrouter_fleet.errands`).
Without an engine but files there is nothing to share.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter import hookimpl, stateless

if TYPE_CHECKING:
    from hookrouter.hookspecs.commands import Command
    from hookrouter.sharing import Sharing


@hookimpl
@stateless
def machines() -> Sharing:
    """Contribute what shares documents."""
    from hookrouter_fleet.fleet import Fleet

    return Fleet()


@hookimpl
@stateless
def cli_commands() -> list[Command]:
    """Contribute ``hookrouter storage``."""
    from hookrouter.hookspecs.commands import Command

    text = "Set up, check and fill the engine that keeps the documents."
    return [Command("storage", text, "hookrouter_fleet.command:app", "Set up")]
