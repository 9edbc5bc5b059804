"""``hookrouter run`` as the help page shows it. A real run never comes here."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = ["run"]


def run(
    event: Annotated[str, typer.Argument(help="The event in kebab-case, for example pre-tool-use.", metavar="EVENT")],
) -> int:
    """Handle one hook event: the payload is read from stdin, the reply is written to stdout.

    Claude Code runs this for the events that 'hookrouter install' registers. It exits 0 whatever the payload is, so
    that hookrouter never breaks a turn by itself; what was wrong is in the journal. To try a plugin by hand:
    hookrouter run stop < payload.json
    """
    from hookrouter.run import main

    return main([event])
