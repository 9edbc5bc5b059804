"""``hookrouter deliver``: the process that delivers the outbox. Imports no typer, and no plugin without its lock."""

from __future__ import annotations

import os
import signal
import sys
import time
from contextlib import ExitStack, nullcontext, suppress
from functools import cache, partial
from typing import TYPE_CHECKING, TypeVar

from hookrouter._config.cache import file_key
from hookrouter._plugins.discovery import load_config
from hookrouter.composing import Composing, has_traces, message_composers
from hookrouter.config import FILES
from hookrouter.dialogs.documents import QUESTION
from hookrouter.messaging import notices
from hookrouter.messaging.delivery.attempt import ATTEMPT_SECONDS, Limits, exit_after
from hookrouter.messaging.delivery.deliverer import Deliverer, deliver_all
from hookrouter.messaging.delivery.workers import Processes
from hookrouter.messaging.environment import environment_mark
from hookrouter.messaging.gateway import gateways
from hookrouter.messaging.outbox import Outbox
from hookrouter.messaging.spawn import spawn_delivery
from hookrouter.storage import payload_log
from hookrouter.storage.engine import open_store
from hookrouter.storage.home import HOME_VARIABLE, Home, HomeError
from hookrouter.storage.interface import StoreError
from hookrouter.storage.journal import Journal
from hookrouter.util.process_log import begin, tell

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hookrouter.cli.application import Application

    T = TypeVar("T")

__all__ = ["main"]

KEPT_SECONDS = 30 * 86400.0
"""Age at which journals of silent sessions, notices, and documents that were set aside as corrupt, are removed."""

STAY_SECONDS = 3600.0
"""Seconds after which a deliverer that stays gives way to a new one, which may be a newer version."""


def main(argv: Sequence[str]) -> int:
    """Run ``hookrouter deliver``: deliver what waits in the outbox.

    ``--detach`` makes it leave the session of the process that started it. Returns 0, also if another deliverer
    is at work or messages are kept; 1 if the outbox cannot be used; 2 for a wrong argument.
    """
    begin("deliver")
    if list(argv) not in ([], ["--detach"]):
        _warn(f"hookrouter deliver: takes only --detach, found {' '.join(argv)}")
        return 2
    if argv:
        with suppress(PermissionError):
            # Refused to a process that leads its own session already.
            os.setsid()
    try:
        home = Home.from_environ(os.environ)
    except HomeError as error:
        _warn(f"hookrouter deliver: {error}")
        return 1
    if os.environ.get(HOME_VARIABLE):
        os.environ[HOME_VARIABLE] = home.root
    # The folder of whoever started this may be a worktree that is about to be removed.
    os.chdir("/")
    begin("deliver", lambda: load_config(home, os.environ).storage.machine)
    mark = cache(lambda: environment_mark(os.environ, home, load_config(home, os.environ).gateways))
    outbox = Outbox(home, _warn, mark)
    # Any exception in a plugin is the plugin's: a signal ends this process as it is, which loses nothing.
    interrupt = signal.signal(signal.SIGINT, signal.SIG_DFL)
    work = _Work(outbox, home, mark, stay=bool(argv))
    try:
        with work:
            if not outbox.count():
                work.catch_up()
            _leave_what_others_sent(home, outbox)
            done = not outbox.count() or deliver_all(outbox, work)
        if not argv and not done:
            # Whoever calls this wants it done now, by the deliverer that is at work.
            _hurry(outbox)
            _warn(_left_to_another(outbox))
        if work.is_over or work.is_outdated:
            spawn_delivery(os.environ, home)
        elif done:
            _clear_away(home, outbox)
    except (StoreError, OSError) as error:
        _warn(str(error))
        return 1
    finally:
        signal.signal(signal.SIGINT, interrupt)
    return 0


def _leave_what_others_sent(home: Home, outbox: Outbox) -> None:
    """See, if machines share an engine, that what others sent while this one was gone is not sent again."""
    if load_config(home, os.environ).storage.engine == FILES or not outbox.count():
        return
    from hookrouter.cli.application import Application

    # What cannot be asked is sent.
    with suppress(StoreError, OSError):
        Application.from_environ(share=False).machines().returned()


def _hurry(outbox: Outbox) -> None:
    for name in outbox.ids():
        # On a full disk, those that are due are delivered all the same.
        with suppress(StoreError):
            outbox.hurry(name)


def _left_to_another(outbox: Outbox) -> str:
    count = outbox.count()
    messages = "1 message waits" if count == 1 else f"{count} messages wait"
    return (
        "hookrouter deliver: another deliverer is at work, so this one delivered nothing; "
        f"those that wait for another attempt are due now; {messages}, see: hookrouter outbox list"
    )


def _clear_away(home: Home, outbox: Outbox) -> None:
    """Remove what only grows: journals of sessions long gone, old notices, and corrupt documents nobody looked at."""
    Journal(home.logs).prune(KEPT_SECONDS)
    payload_log.prune(home.logs, KEPT_SECONDS)
    store = open_store(home, _warn)
    notices.prune(store, KEPT_SECONDS)
    store.prune(KEPT_SECONDS)
    outbox.prune(KEPT_SECONDS)


class _Work:
    """Builds the deliverer when it is first needed, so that one that finds the lock taken imports no plugin."""

    def __init__(self, outbox: Outbox, home: Home, mark: Callable[[], str], *, stay: bool) -> None:
        self._outbox = outbox
        self._home = home
        self._mark = mark
        self._stay = stay
        self._stack = ExitStack()
        self._deliverer: Deliverer | None = None
        self._end = time.monotonic() + STAY_SECONDS
        self._key: object = None
        self.is_over = False
        """Whether something is left, which a new deliverer should try."""

    def __enter__(self) -> _Work:
        return self

    def __exit__(self, *_error: object) -> None:
        self._stack.close()

    @property
    def is_outdated(self) -> bool:
        """Whether config.toml has changed since it was read for this work."""
        return self._deliverer is not None and file_key(self._home.config_file) != self._key

    def catch_up(self) -> None:
        """Have plugins put in what could not be put in before."""
        if self._deliverer is None:
            self._deliverer = self._build()

    def __call__(self) -> None:
        if self._deliverer is None:
            self._deliverer = self._build()
            if not self._stay:
                # With the lock in hand, so that messages of other environments are left to this one.
                _hurry(self._outbox)
        if not self._stay:
            self._deliverer.deliver_due()
        elif not self.is_over:
            self.is_over = self._deliverer.stay()

    def _build(self) -> Deliverer:
        """Return the deliverer, after plugins have put in what could not be put in before."""
        from hookrouter._config_alarm import tell_agents, tell_of_gateway
        from hookrouter.cli.application import Application
        from hookrouter.dialogs.composer import DialogComposer

        # Before the config is read, so that no change of it is missed.
        self._key = file_key(self._home.config_file)
        application = Application.from_environ()
        if application.config.problems:
            tell_agents(application)
        # Without a stderr there is nowhere to say why the process ends.
        exit_when_stuck = sys.__stderr__ is not None
        with exit_after(ATTEMPT_SECONDS) if exit_when_stuck else nullcontext():
            offered = _asked(application, "gateways", lambda: gateways(application.plugins))
            composers = _asked(application, "message composers", lambda: message_composers(application.plugins))
        limits = Limits(exit_when_stuck=exit_when_stuck)
        own = DialogComposer()
        composing = Composing({own.name: own, **composers}, application, limits)
        composing.catch_up()
        watches = []
        with suppress(StoreError):
            # A question that ends makes messages due that wait for it.
            wanted = [*self._outbox.watches(), application.store.watch(QUESTION)]
            watches = [self._stack.enter_context(watch) for watch in wanted]
        return Deliverer(
            self._outbox,
            application.config,
            offered,
            application.journal,
            workers=Processes(self._outbox, watches),
            limits=limits,
            compose=composing,
            alarm=partial(tell_of_gateway, application),
            traces=has_traces(application),
            environment=self._mark(),
            is_stale=self._is_stale,
        )

    def _is_stale(self) -> bool:
        return time.monotonic() >= self._end or file_key(self._home.config_file) != self._key


def _asked(application: Application, what: str, ask: Callable[[], dict[str, T]]) -> Mapping[str, T]:
    """Return what plugins contribute; nothing if they cannot be asked, which is journalled."""
    try:
        return ask()
    except BaseException as error:  # noqa: BLE001 - whatever a plugin raises is that plugin's failure
        reason = f"the plugins could not be asked for {what}: {type(error).__name__}: {error}"
        application.journal.write({"level": "error", "event": "delivery", "reason": reason, "pid": os.getpid()}, None)
        return {}


def _warn(text: str) -> None:
    tell(text, event="delivery", level="error")
