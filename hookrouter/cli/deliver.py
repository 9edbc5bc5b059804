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

    Hooks start this in the background. Run it by hand once a gateway works again; 'hookrouter doctor' shows what
    waits, and why. What cannot be delivered stays in the outbox. One deliverer runs at a time, a second one leaves at
    once.

    \b
    Examples:
      hookrouter deliver

    \b
    Exit codes:
      0  done, also where messages are kept or another deliverer is at work
      1  the outbox cannot be used
      2  wrong arguments
    """
    from hookrouter.delivery import main

    return main(["--detach"] if detach else [])
