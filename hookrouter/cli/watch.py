"""``hookrouter watch``: looks at sessions from outside, on a machine where no resident router does."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from hookrouter.cli.application import Application
from hookrouter.cli.errors import CommandError
from hookrouter.dialogs.looking import have_looked
from hookrouter.sessions.watching import WATCH_SECONDS
from hookrouter.storage.interface import StoreError

__all__ = ["watch"]

_Once = Annotated[bool, typer.Option("--once", help="Look once, and end, as for a timer: two looks must see a dialog.")]


def watch(once: _Once = False) -> int:
    """Look every 10 seconds for sessions that a dialog has stopped and no hook tells of, and wake their agents.

    A resident router (hookrouter serve) does the same, so this is for machines without one. It runs until it is
    interrupted. A dialog counts once it has stayed for the seconds that [plugins.blocked.settings] after says, and two
    looks have seen it. What is found is listed by hookrouter questions.

    Examples:
      hookrouter watch
      hookrouter watch --once

    Exit codes:
      0  it has looked once
      1  the state folder cannot be used
      2  wrong arguments
    """
    while True:
        try:
            have_looked(Application.from_environ())
        except StoreError as error:
            # The disk may be full for a while.
            if once:
                raise CommandError(str(error)) from error
        if once:
            return 0
        time.sleep(WATCH_SECONDS)
