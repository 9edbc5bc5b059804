"""What the process does that brings this machine's documents and history to the engine. Imports no typer.

``hookrouter storage --share [--stay]`` runs it: see :mod:`hookrouter.sharing`.
"""

from __future__ import annotations

import os
import select
import time
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING

from hookrouter.shared_documents import shared_kinds
from hookrouter.sharing import machine_name, open_engine
from hookrouter.storage.history import history_of
from hookrouter.storage.home import ensure
from hookrouter.storage.interface import StoreError
from hookrouter.util.folder_watch import FolderWatch
from hookrouter.util.text import describe_error
from hookrouter_fleet import state
from hookrouter_fleet.adopting import Adopting, leave_taken
from hookrouter_fleet.errands import Errands
from hookrouter_fleet.history import HistoryBringer
from hookrouter_fleet.kinds import AREAS
from hookrouter_fleet.locks import SHARING, is_sharing
from hookrouter_fleet.progress import ProgressNotes
from hookrouter_fleet.pruning import Pruning
from hookrouter_fleet.replica import Brought, Replica

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from hookrouter.context import Services
    from hookrouter.storage.interface import DocumentWatch, Storage

__all__ = ["Process"]

IDLE_SECONDS = 60.0
"""Seconds without a change, and with nothing open, after which one ends that need not stay."""

FAILING_SECONDS = 600.0
"""The same while the engine cannot be used, for a process that has not reached it yet; what was not brought is brought
by the next one. A process that has reached it may have told what is no longer true, and goes on trying."""

ASK_SECONDS = 60.0
"""Seconds after which an engine that keeps no history is asked again: its tables may have been migrated."""

LOOK_SECONDS = 5.0
"""Seconds after which it looks at everything, whatever it was told; the journal, to which each hook run writes, tells
of nothing, so that a busy machine does not write to the engine at each."""

FIRST_PAUSE, LONGEST_PAUSE = 0.5, 5.0
"""Seconds before the engine is tried again after a failure: twice as many after each, up to this."""

SETTLING = 0.02
"""Seconds between the first change and the round that brings it: what is written together is brought together."""


class Process:
    """Brings documents of one home. For one thread."""

    def __init__(self, app: Services, *, stay: bool, is_outdated: Callable[[], bool]) -> None:
        """As :meth:`hookrouter.sharing.Sharing.bring` has them."""
        self._app = app
        self._config = app.config.storage
        self._machine = machine_name(self._config)
        self._stay = stay
        self._is_outdated = is_outdated
        self._last_change = time.monotonic()
        self._pause = FIRST_PAUSE
        self._has_reached = False
        self._errands: Errands | None = None
        self._replica: Replica | None = None
        self._history: HistoryBringer | None = None
        self._progress = ProgressNotes(app.home)
        self._woken, self._wake = os.pipe()
        for descriptor in (self._woken, self._wake):
            os.set_blocking(descriptor, False)

    def run(self) -> None:
        """Bring documents, and begin anew after each failure of the engine."""
        while not self._is_outdated():
            try:
                storage = open_engine(self._app)
                with ExitStack() as stack:
                    stack.callback(storage.close)
                    if self._served(storage, stack):
                        return
            except Exception as error:  # noqa: BLE001 - an engine of a third party may raise anything
                if not is_sharing(self._app.home):
                    # Else another process, with another environment, brings them.
                    self._progress.failed()
                self._note(str(error) if isinstance(error, StoreError) else describe_error(error))
                if not self._stay and not self._has_reached and self._is_idle(FAILING_SECONDS):
                    return
                self._rest()

    def _rest(self) -> None:
        """Wait before the engine is tried again, twice as long each time."""
        end = time.monotonic() + self._pause
        self._pause = min(2 * self._pause, LONGEST_PAUSE)
        while time.monotonic() < end and not self._is_outdated():
            time.sleep(FIRST_PAUSE)

    def _served(self, storage: Storage, stack: ExitStack) -> bool:
        """Bring documents until the process is to end; return whether it is. Raises StoreError."""
        if self._replica is None:
            self._replica = Replica(
                self._app.home, storage, self._machine, shared_kinds(self._app.plugins), self._app.warn
            )
        else:
            self._replica.go_on_with(storage)
        replica = self._replica
        # Of several processes with other environments one is enough.
        stack.enter_context(self._app.store.lock(*SHARING, 0))
        stack.enter_context(replica.lock())
        replica.settle()
        leave_taken(self._app, storage)
        adopting = Adopting(self._app, storage)
        if self._errands is None:
            self._errands = Errands(storage, os.environ, self._app.warn, self._nudge, self._app.home.state)
        errands = self._errands
        errands.go_on_with(storage)
        pruning = Pruning(storage, self._app.warn)
        watches = [stack.enter_context(watch) for watch in self._folders()]
        asked = stack.enter_context(errands.watch())
        stack.callback(self._progress.write)
        # Neither questions nor those who wait for a command wait for the history.
        is_all = self._attend(replica, None, errands)
        self._has_reached = True
        self._note("")
        history: HistoryBringer | None = None
        next_ask = 0.0
        while not self._is_outdated() or errands.are_running:
            self._pause = FIRST_PAUSE
            replica.check_lock()
            if history is None and time.monotonic() >= next_ask:
                history, next_ask = self._bringer(storage), time.monotonic() + ASK_SECONDS
            if not is_all:
                # Nor for its backlog.
                self._attend(replica, None, errands)
            is_all = self._attend(replica, history, errands)
            adopting.serve()
            pruning.serve()
            if not is_all or errands.ended():
                continue
            if not self._stay and self._is_idle(IDLE_SECONDS) and not errands.are_running:
                return True
            self._wait([*watches, asked])
        return True

    def _attend(self, replica: Replica, history: HistoryBringer | None, errands: Errands) -> bool:
        """Bring what has changed, then tell of commands that have ended and take new ones; return whether all came."""
        ended = errands.ended()
        is_all = self._round(replica, history)
        # Whoever asked finds what came of it: it has been brought before they hear that it is done.
        self._progress.reached(Brought(), errands.serve(ended))
        return is_all

    def _bringer(self, storage: Storage) -> HistoryBringer | None:
        """Return what brings the journal; None if the engine keeps no history. Raises StoreError."""
        history = history_of(storage)
        if history is None:
            return None
        if self._history is not None:
            self._history.go_on_with(history)
            return self._history
        app = self._app
        waiting = {(info.name, hook) for info in app.plugins.listing() for hook in info.waits}
        self._history = HistoryBringer(app.journal, app.store, history, self._machine, waiting)
        return self._history

    def _round(self, replica: Replica, history: HistoryBringer | None) -> bool:
        """Bring what has changed, in one transaction if it is not too much; return whether that was all."""
        if history is None:
            self._changed(replica.bring())
            return True
        is_more = history.read()
        self._changed(replica.bring(beside=history.write if is_more else None))
        history.written()
        history.prune()
        return not is_more

    def _folders(self) -> Iterable[FolderWatch]:
        for area in AREAS:
            folder = os.path.join(self._app.home.state, area)
            ensure(folder)
            yield FolderWatch(folder)

    def _wait(self, watches: Sequence[FolderWatch | DocumentWatch]) -> None:
        """Wait for a change in the files, an errand or the end of one."""
        poll = select.poll()
        poll.register(self._woken, select.POLLIN)
        for watch in watches:
            if watch.fileno() >= 0:
                poll.register(watch.fileno(), select.POLLIN)
        if poll.poll(LOOK_SECONDS * 1000):
            time.sleep(SETTLING)
        with suppress(BlockingIOError):
            os.read(self._woken, 4096)
        for watch in watches:
            watch.wait(0)

    def _nudge(self) -> None:
        with suppress(BlockingIOError):
            os.write(self._wake, b"x")

    def _changed(self, brought: Brought) -> None:
        self._progress.reached(brought, 0)
        if brought.written or brought.deleted:
            self._last_change = time.monotonic()

    def _is_idle(self, seconds: float) -> bool:
        if time.monotonic() - self._last_change < seconds:
            return False
        store = self._app.store
        return not any(store.stamps(kind) for kind in ("question", "queue")) and not self._app.outbox.count()

    def _note(self, problem: str) -> None:
        if problem and is_sharing(self._app.home):
            # Another process, with another environment, brings them.
            return
        if state.note(self._app.store, self._config.engine, self._machine, problem):
            record = {"event": "storage", "engine": self._config.engine, "machine": self._machine}
            if problem:
                self._app.journal.write({"level": "warning", **record, "reason": problem}, None)
            else:
                self._app.journal.write({**record, "outcome": "shared"}, None)
