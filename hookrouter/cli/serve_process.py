"""The process of ``hookrouter serve``: composes the router, and runs it. Imports no typer."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from hookrouter import _wiring
from hookrouter._plugins.index import read_cache
from hookrouter._plugins.registry import Plugins
from hookrouter._serving.built_in import built_in
from hookrouter._serving.child import Served
from hookrouter._serving.delivery import become_deliverer, fork_apart
from hookrouter._serving.home_config import load_config
from hookrouter._serving.learned import Learned
from hookrouter._serving.router import Router, begin_anew
from hookrouter._serving.sockets import AlreadyServed, RouterSockets
from hookrouter.cli.deliver_process import main as deliver
from hookrouter.config import FILES
from hookrouter.dialogs.looking import have_looked
from hookrouter.messaging.spawn import KIND, push
from hookrouter.serving.log import say
from hookrouter.sessions.watching import WATCH_SECONDS
from hookrouter.storage._exposure import exposed_folders
from hookrouter.storage.engine import OUTBOX, may_hold
from hookrouter.storage.home import HOME_VARIABLE, Home, HomeError
from hookrouter.util.process_log import begin
from hookrouter.util.program import script_argv

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["RESIDENT", "main"]

RESIDENT = "--resident"
"""The first argument after ``serve`` of the process itself; the idle time in seconds follows it."""

_LONGEST_LOOK = 60
"""Seconds after which a look at the sessions is ended."""


def main(argv: Sequence[str]) -> int:
    """Run the router: ``argv`` is the idle time in seconds, 0 for none.

    Returns 0 once it was stopped, or if another one serves the home; 1 if it cannot serve.
    """
    idle = float(argv[0]) if argv else 0.0
    begin("serve")
    try:
        home = Home.from_environ(os.environ)
    except HomeError as error:
        say(str(error), event="begin", level="error")
        return 1
    for folder, reason in exposed_folders(home).items():
        say(f"cannot serve: {folder} {reason}, who could take this home's place", event="begin", level="error")
        return 1
    if os.environ.get(HOME_VARIABLE):
        os.environ[HOME_VARIABLE] = home.root
    _leave_nothing_open()
    try:
        sockets = RouterSockets.open(home.router, os.environ)
    except AlreadyServed as error:
        say(str(error), event="begin")
        return 0
    except OSError as error:
        say(f"cannot serve: {error}", event="begin", level="error")
        return 1
    begin("serve", lambda: load_config(home).storage.machine)
    served = Served(home, script_argv(), _wiring, deliver)
    watch = _Watch(home)

    def tick() -> None:
        _deliver(home)
        _share(home)
        watch.tick()

    router = Router(served, sockets, idle=idle, tick=tick, learned=Learned(home), resident=built_in())
    # The folder of whoever started this may be a worktree that is about to be removed.
    os.chdir("/")
    if router.run() == "restart":
        try:
            begin_anew(os.environ, sockets, router)
        except OSError as error:
            say(f"cannot restart: {error}", event="restart", level="error")
    router.remove()
    sockets.remove()
    return 0


def _deliver(home: Home) -> None:
    """Have delivered what waits in the outbox, if that is due."""
    if may_hold(home, OUTBOX, KIND):
        push(os.environ, home, lambda environ, home: become_deliverer(environ, home, deliver))


def _share(home: Home) -> None:
    """Have documents brought to the engine of ``[storage]``, if there is one and nobody does."""
    config = load_config(home)
    if config.storage.engine == FILES:
        return
    # The next tick tries again.
    with suppress(OSError):
        plugins = Plugins(read_cache(home), config, lambda _plugin, _text: None)
        _wiring.start_sharing(os.environ, home, plugins, stay=True)


class _Watch:
    """Has the plugins' watchers look at sessions from outside, each time in a process of its own."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._due = 0.0

    def tick(self) -> None:
        """Have them look if it is time to, and leave them to it."""
        if time.monotonic() < self._due:
            return
        self._due = time.monotonic() + WATCH_SECONDS
        # The next tick tries again.
        with suppress(OSError):
            fork_apart(os.environ, self._home, _look)


def _look() -> None:
    # A terminal that hangs must not leave one process more each time.
    signal.alarm(_LONGEST_LOOK)
    from hookrouter.cli.application import Application

    have_looked(Application.from_environ())


def _leave_nothing_open() -> None:
    """Read from nowhere, and write to nowhere what is not open: children put a hook's descriptors in their place."""
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    for number in (1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.dup2(nothing, number)
    if nothing > 2:
        os.close(nothing)
