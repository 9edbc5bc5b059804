"""``hookrouter storage --share [--stay]``: the process in which a plugin brings documents to the engine.

Started by hooks and commands, and by the resident router with ``--stay``. Imports no typer.
"""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from hookrouter._config.cache import file_key
from hookrouter.cli.application import Application
from hookrouter.config import FILES
from hookrouter.sharing import STAY, process_lock, sharing, start_sharing
from hookrouter.storage.home import HOME_VARIABLE, HomeError
from hookrouter.storage.interface import StoreBusy, StoreError
from hookrouter.util.process_log import begin, tell

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]

STAY_SECONDS = 3600.0
"""Seconds after which the process gives way to a new one, which may be a newer version."""


def main(argv: Sequence[str]) -> int:
    """Have documents brought until there is no more use in it.

    Returns 0, also if another one is at work or files are the engine; 1 if the state folder cannot be used, or no
    plugin can share.
    """
    with suppress(PermissionError):
        # Refused to a process that leads its own session already.
        os.setsid()
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    begin("storage")
    try:
        app = Application.from_environ(share=False)
    except HomeError as error:
        _warn(f"hookrouter storage: {error}")
        return 1
    storage = app.config.storage
    if storage.engine == FILES:
        return 0
    begin("storage", lambda: storage.machine)
    if os.environ.get(HOME_VARIABLE):
        os.environ[HOME_VARIABLE] = app.home.root
    # The folder of whoever started this may be a worktree that is about to be removed.
    os.chdir("/")
    try:
        with app.store.lock(*process_lock(os.environ, app.home, storage.settings), 0):
            key, end = file_key(app.home.config_file), time.monotonic() + STAY_SECONDS

            def is_outdated() -> bool:
                return time.monotonic() >= end or file_key(app.home.config_file) != key

            sharing(app.plugins).bring(app, stay=STAY in argv, is_outdated=is_outdated)
        if is_outdated():
            # Something may be open, and then nobody else starts one. It ends if there is no use in it.
            start_sharing(os.environ, app.home, Application.from_environ(share=False).plugins)
    except StoreBusy:
        return 0
    except (StoreError, OSError) as error:
        _warn(str(error))
        return 1
    return 0


def _warn(text: str) -> None:
    tell(text, event="storage", level="error")
