"""``hookrouter queue deliver --session NAME``: the process that delivers a session's queue. Imports no typer."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from hookrouter._config.cache import file_key
from hookrouter.cli.application import Application
from hookrouter.queue.delivery.loop import QueueDeliverer
from hookrouter.storage.home import HOME_VARIABLE, HomeError
from hookrouter.storage.interface import StoreError
from hookrouter.util.process_log import begin, tell

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]

STAY_SECONDS = 3600.0
"""Seconds after which a deliverer gives way to a new one, which may be a newer version."""

_OPTION = "--session="


def main(argv: Sequence[str]) -> int:
    """Deliver what waits in a session's queue, and return once nothing can be done for it any more.

    Returns 0, also if another deliverer is at work; 1 if the state folder cannot be used; 2 for wrong arguments.
    """
    begin("queue")
    name = argv[0].removeprefix(_OPTION) if len(argv) == 1 and argv[0].startswith(_OPTION) else ""
    if not name:
        _warn(f"hookrouter queue deliver: takes {_OPTION}NAME and nothing else, found {' '.join(argv) or 'nothing'}")
        return 2
    with suppress(PermissionError):
        # Refused to a process that leads its own session already.
        os.setsid()
    # A signal ends this process as it is, which loses nothing.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        app = Application.from_environ()
    except HomeError as error:
        _warn(f"hookrouter queue deliver: {error}")
        return 1
    if os.environ.get(HOME_VARIABLE):
        os.environ[HOME_VARIABLE] = app.home.root
    # The folder of whoever started this may be a worktree that is about to be removed.
    os.chdir("/")
    begin("queue", lambda: app.config.storage.machine)
    key, end = file_key(app.home.config_file), time.monotonic() + STAY_SECONDS

    def is_outdated() -> bool:
        return time.monotonic() >= end or file_key(app.home.config_file) != key

    try:
        QueueDeliverer(app, name, is_outdated).run()
    except (StoreError, OSError) as error:
        _warn(str(error))
        return 1
    return 0


def _warn(text: str) -> None:
    tell(text, event="queue", level="error")
