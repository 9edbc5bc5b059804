"""``hookrouter watch``: looks at sessions from outside, on a machine where no resident router does.

What is looked for: dialogs that could not be saved, and what the watchers of plugins know.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated

import typer

from hookrouter.cli.application import Application
from hookrouter.cli.errors import CommandError
from hookrouter.dialogs.unsaved import open_unsaved
from hookrouter.sessions.watching import WATCH_SECONDS
from hookrouter.storage.interface import StoreBusy, StoreError
from hookrouter.util.text import describe_error

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookrouter.context import Services

__all__ = ["have_looked", "watch"]

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


def have_looked(services: Services) -> None:
    """Look once for all that no hook tells of. What fails is a warning in the journal, and stops nothing else.

    Raises StoreError if the state folder cannot be used.
    """
    looks: dict[str, Callable[[Services], object]] = {"unsaved-dialogs": open_unsaved}
    looks |= {name: watcher.look for name, watcher in services.plugins.session_watchers().items()}
    try:
        with services.store.lock("watch", "look", 0.0):
            for name, look in looks.items():
                try:
                    look(services)
                except Exception as error:  # noqa: BLE001 - it may be a plugin's
                    services.warn(f"the watcher {name} failed: {describe_error(error)}")
    except StoreBusy:
        # Another process looks just now.
        return
