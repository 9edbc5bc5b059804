"""A deliverer that a served call starts: forked from its warm process, not started anew.

It is forked as soon as something was put into the outbox, because the hook may then wait for an answer that only the
deliverer's agent can give. Whether what an earlier delivery has left is due is looked at once the reply is written. It
has the environment of the hook, as one that a cold run starts. The lock, the times between two pushes and all else are
those of :mod:`hookrouter.messaging.spawn`.
"""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from typing import TYPE_CHECKING

from hookrouter._serving.copied_pages import own_runs
from hookrouter.messaging.spawn import deliverer_environment, delivery_log, push, spawn_delivery
from hookrouter.storage.engine import OUTBOX, may_hold
from hookrouter.storage.logs import LOG_FLAGS
from hookrouter.util.system import fork

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hookrouter._plugins.registry import Plugins
    from hookrouter._serving.copied_pages import Runs
    from hookrouter.context import Services, Wiring
    from hookrouter.machines import Machines
    from hookrouter.messaging.outbox import Outbox
    from hookrouter.storage.home import Home
    from hookrouter.terminals import TerminalAddress

__all__ = ["WarmDelivery", "become_deliverer", "fork_apart", "replace_environment"]


class WarmDelivery:
    """The wiring of a served call: another one, but that deliverers are forked from this process."""

    def __init__(self, wiring: Wiring, deliver: Callable[[Sequence[str]], int]) -> None:
        """``wiring`` does all the rest; ``deliver`` runs a deliverer."""
        self._wiring = wiring
        self._deliver = deliver
        self._asked: tuple[Mapping[str, str], Home] | None = None
        """Whose outbox is to be looked at."""
        self._process = os.getpid()
        """A process that plugins are called in apart does not come to :meth:`push`."""
        self._wanted: tuple[Mapping[str, str], Home] | None = None
        """Whose outbox is to be delivered."""
        self.shared: Runs = []
        """The pages of memory that this process shares again, because a deliverer was forked from it."""

    def outbox(self, services: Services) -> Outbox:
        """See :class:`hookrouter.context.Wiring`."""
        return self._wiring.outbox(services)

    def locate_terminal(self, services: Services) -> tuple[TerminalAddress | None, str]:
        """See :class:`hookrouter.context.Wiring`."""
        return self._wiring.locate_terminal(services)

    def announce_problems(self, services: Services, *, has_screen: bool) -> str:
        """See :class:`hookrouter.context.Wiring`."""
        return self._wiring.announce_problems(services, has_screen=has_screen)

    def machines(self, services: Services) -> Machines:
        """See :class:`hookrouter.context.Wiring`."""
        return self._wiring.machines(services)

    def start_delivery(self, services: Services, *, after_reply: bool = False) -> None:
        """Start a deliverer, unless one is at work. Raises OSError.

        ``after_reply``: by :meth:`push`. If this process ends before, the router finds what is in the outbox.
        """
        if after_reply and os.getpid() == self._process:
            self._wanted = services.environ, services.home
        else:
            spawn_delivery(services.environ, services.home, self._fork)

    def push_outbox(self, environ: Mapping[str, str], home: Home) -> None:
        """Note that what was left behind is to be looked at, by :meth:`push`."""
        self._asked = environ, home

    def deliver_anew(self, environ: Mapping[str, str], home: Home, *, was_broken: bool) -> None:
        """See :class:`hookrouter.context.Wiring`."""
        self._wiring.deliver_anew(environ, home, was_broken=was_broken)

    def start_router(self, environ: Mapping[str, str], home: Home, idle: float, *, asked: bool = False) -> None:
        """Do nothing: the router is there."""

    def start_sharing(self, environ: Mapping[str, str], home: Home, plugins: Plugins) -> None:
        """Do nothing: the router sees to it."""

    def push(self) -> None:
        """Start the deliverer that was to follow the reply, or that of what was left behind. Raises nothing."""
        if self._wanted is not None:
            wanted, self._wanted = self._wanted, None
            # The router looks at the outbox, too.
            with suppress(OSError):
                spawn_delivery(*wanted, self._fork)
        if self._asked is None:
            return
        (environ, home), self._asked = self._asked, None
        if may_hold(home, OUTBOX):
            push(environ, home, self._fork)

    def _fork(self, environ: Mapping[str, str], home: Home) -> int:
        """Fork a deliverer, which is no child of this process: that may go on. Raises OSError."""
        self.shared = own_runs()
        between = fork()
        if between:
            os.waitpid(between, 0)
            return between
        try:
            become_deliverer(environ, home, self._deliver)
        finally:
            os._exit(0)


def become_deliverer(environ: Mapping[str, str], home: Home, deliver: Callable[[Sequence[str]], int]) -> int:
    """Fork a process that delivers the outbox and ends; return its pid. See :func:`fork_apart`."""
    return fork_apart(environ, home, lambda: deliver(["--detach"]))


def fork_apart(environ: Mapping[str, str], home: Home, work: Callable[[], object]) -> int:
    """Fork a process that does some work and ends; return its pid.

    It leads a session of its own, has the environment of a deliverer, and holds none of this process's descriptors but
    the deliverers' log. Raises OSError if the system makes no process.
    """
    child = fork()
    if child:
        return child
    try:
        os.setsid()
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGIO, signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        replace_environment(deliverer_environment(environ, home))
        _replace_descriptors(delivery_log(home))
        import gc

        gc.enable()
        work()
    finally:
        os._exit(0)


def replace_environment(environ: Mapping[str, str]) -> None:
    """Make this process's environment another one. Most of it is the same, and each change is a call of the system."""
    for name in [name for name in os.environ if name not in environ]:
        del os.environ[name]
    for name, value in environ.items():
        if os.environ.get(name) != value:
            os.environ[name] = value


def _replace_descriptors(log: str) -> None:
    nothing = os.open(os.devnull, os.O_RDWR)
    written = os.open(log, LOG_FLAGS, 0o600)
    for number, source in enumerate((nothing, nothing, written)):
        os.dup2(source, number)
    with suppress(ValueError, OSError):
        os.closerange(3, os.sysconf("SC_OPEN_MAX"))
