"""``hookrouter deliver`` as the help page shows it. A real delivery never comes here."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = ["deliver"]


def deliver(
    detach: Annotated[
        bool, typer.Option("--detach", help="Leave the session of the process that started it, as hooks do it.")
    ] = False,
) -> int:
    """Deliver every message of the outbox that is due, through its agent's gateway.

    Hooks start this in the background. Run it by hand once a gateway works again; 'hookrouter doctor' shows which
    messages wait, and why. What cannot be delivered stays in the outbox. One deliverer runs at a time for each
    set of values of the environment variables that the gateways' tables name; a second one says so on stderr, tells
    the first one to try waiting messages now, and leaves. What another one could not deliver for want of such a
    variable is tried with yours.

    \b
    Examples:
      hookrouter deliver

    \b
    Exit codes:
      0  done, also if messages are kept or another deliverer is at work
      1  the outbox cannot be used
      2  wrong arguments
    """
    from hookrouter.cli.deliver_process import main

    return main(["--detach"] if detach else [])
