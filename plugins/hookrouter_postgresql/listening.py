"""The one process of a machine that hears from the server which documents have changed, and tells the others.

Each process that waits has a thread that looks from time to time whether somebody does this, and does it if not.
Notifications are hints, which anybody who may connect can send: at one it reads what has changed, as it does every few
seconds and after each connecting, and tells what it has read.
"""

from __future__ import annotations

import fcntl
import os
import random
import select
import threading
import time
from typing import TYPE_CHECKING

import psycopg
from psycopg import sql

from hookrouter.storage.interface import StoreError
from hookrouter_postgresql import names

if TYPE_CHECKING:
    from hookrouter_postgresql.connections import Connections, Session
    from hookrouter_postgresql.markers import Markers, Watched

__all__ = ["Listening"]

_TURN = 2.0
"""Seconds between two readings of what has changed, and about as many between two looks for a listener."""
_UNUSED = 1.0
"""Seconds after which a process that waits gives up a connection that it does not use: many may wait for long."""
_AGAIN = 1.0
"""Seconds until a connection that was lost is made again."""
_STALE = 10.0
"""Seconds after which a listener that gives no sign counts as stopped, and another process listens beside it."""
_PLACES = 4
"""How many may listen if those before them are stopped."""

_POSITION = "SELECT pg_current_snapshot()::text"
_ROW = "SELECT machine, area, kind, d.digest, version FROM {schema}.document d"
_SINCE = (
    f"{_ROW} WHERE machine = ANY(%s) AND written_by >= pg_snapshot_xmin(%s::pg_snapshot) "
    "AND NOT pg_visible_in_snapshot(written_by, %s::pg_snapshot) "
    # Rows of a restored backup may have numbers that this server has not come to.
    "AND written_by < pg_snapshot_xmax(pg_current_snapshot())"
)
_COLUMNS = ("machine", "area", "kind", "digest")
_EVERY = (
    f"{_ROW} JOIN unnest(%s::text[], %s::text[], %s::text[], %s::bytea[]) AS m (machine, area, kind, digest) "
    "USING (machine, area, kind) WHERE m.digest IS NULL OR m.digest = d.digest"
)


class Listening:
    """Has a thread listen while this process watches anything."""

    def __init__(self, connections: Connections, markers: Markers) -> None:
        """Begins nothing."""
        self._connections = connections
        self._markers = markers
        self._renew()

    def _renew(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._watches = 0
        self._thread: _Listener | None = None

    def begin(self) -> None:
        """Count one watch more."""
        if self._pid != os.getpid():
            self._renew()
        with self._lock:
            self._watches += 1
            if self._thread is None:
                self._thread = _Listener(self._connections, self._markers)
                self._thread.start()

    def end(self) -> None:
        """Count one watch less of this process. With the last one the thread ends."""
        with self._lock:
            self._watches -= 1
            thread = None if self._watches else self._thread
            if thread is not None:
                self._thread = None
        if thread is not None:
            thread.stop()


class _Listener:
    """The thread."""

    def __init__(self, connections: Connections, markers: Markers) -> None:
        self._connections = connections
        self._markers = markers
        self._schema = connections.settings.schema
        self._known: dict[str, Watched] = {}
        self._channels: set[str] = set()
        self._is_told = False
        self._place = -1
        self._stopping, self._stop = os.pipe()
        self._thread = threading.Thread(target=self._run, name="hookrouter-listener", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread, and wait until it has ended."""
        # Not by closing it: a child that was forked meanwhile holds it open.
        os.write(self._stop, b".")
        self._thread.join()
        os.close(self._stop)
        os.close(self._stopping)

    def _run(self) -> None:
        try:
            # Not all processes at once.
            while not self._stops_within(0 if self._is_needed() else _TURN * random.uniform(0.8, 1.2)):  # noqa: S311
                self._connections.close_unused(_UNUSED)
                if self._place >= 0:
                    self._serve()
        finally:
            self._leave()

    def _stops_within(self, seconds: float) -> bool:
        poll = select.poll()
        poll.register(self._stopping, select.POLLIN | select.POLLHUP)
        return bool(poll.poll(seconds * 1000))

    def _is_needed(self) -> bool:
        """Take the first free place, unless one before it is taken by a process that gives signs."""
        if self._place >= 0:
            return True
        for number in range(_PLACES):
            path = os.path.join(self._markers.folder, f"listener-{number}")
            try:
                self._markers.ensure()
                place = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            except OSError:
                return False
            try:
                # This kind of lock is not handed down to a forked child, with which it would stay.
                fcntl.lockf(place, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                status = os.fstat(place)
                os.close(place)
                if abs(time.time() - status.st_mtime) < _STALE:
                    return False
                continue
            self._place = place
            return True
        return False

    def _leave(self) -> None:
        place, self._place = self._place, -1
        if place >= 0:
            os.close(place)

    def _serve(self) -> None:
        """Listen until told to stop, or until the connection is lost."""
        session = None
        try:
            os.utime(self._place)
            session = self._connections.connect()
            self._listen(session)
        except (StoreError, psycopg.Error, OSError):
            # Whoever reads a document is told what is wrong; here it is tried again.
            self._stops_within(_AGAIN)
        finally:
            if session is not None:
                session.close()
            self._channels.clear()

    def _listen(self, session: Session) -> None:
        session.hear(self._told)
        position: str | None = None
        while True:
            self._is_told = False
            # Before the markers are read: what is written after this is read the next time.
            now = latest = self._position(session)
            watched = self._watched(session)
            self._tell_changes(session, watched, position)
            position = now
            os.utime(self._place)
            self._connections.close_unused(_UNUSED)
            deadline = time.monotonic() + _TURN
            while (left := deadline - time.monotonic()) > 0:
                poll = select.poll()
                poll.register(self._stopping, select.POLLIN | select.POLLHUP)
                poll.register(session.fileno(), select.POLLIN)
                ready = dict(poll.poll(0 if self._is_told else left * 1000))
                if self._stopping in ready:
                    return
                if ready:
                    self._take_notices(session)
                if self._is_told:
                    self._is_told = False
                    now = self._position(session)
                    # Not from here on at the next turn: what is watched since the last one may be another machine's.
                    self._tell_since(session, watched, latest)
                    latest = now

    def _position(self, session: Session) -> str:
        """Return where the changes are by now; what follows may take as long as one statement."""
        session.deadline = time.monotonic() + self._connections.settings.statement_timeout
        (now,) = session.execute(_POSITION).fetchone() or ("",)
        return str(now)

    def _take_notices(self, session: Session) -> None:
        session.pgconn.consume_input()
        while (notice := session.pgconn.notifies()) is not None:
            self._told(notice.extra)

    def _told(self, payload: bytes) -> None:
        """Take note if a notification is about anything that is watched here."""
        ids = names.ids_told(payload)
        if ids is not None and any(map(self._markers.is_watched, ids)):
            self._is_told = True

    def _watched(self, session: Session) -> list[Watched]:
        """Return what is watched on this machine, and listen for the machines that it is about."""
        ids = set(self._markers.ids())
        self._known = {marker: watched for marker, watched in self._known.items() if marker in ids}
        for marker in ids - self._known.keys():
            if (watched := self._markers.watched(marker)) is not None:
                self._known[marker] = watched
        for machine in {watched.machine for watched in self._known.values()}:
            channel = names.channel_of(self._schema, machine)
            if channel not in self._channels:
                session.execute(sql.SQL("LISTEN {}").format(sql.Identifier(channel)))
                self._channels.add(channel)
        return list(self._known.values())

    def _tell_changes(self, session: Session, watched: list[Watched], position: str | None) -> None:
        """Tell what was written since a position; without one, of the newest version of everything that is watched."""
        if not watched:
            return
        if position is not None:
            self._tell_since(session, watched, position)
            return
        self._tell(session, _EVERY, [[getattr(one, key) for one in watched] for key in _COLUMNS])

    def _tell_since(self, session: Session, watched: list[Watched], position: str) -> None:
        machines = sorted({one.machine for one in watched})
        self._tell(session, _SINCE, [machines, position, position])

    def _tell(self, session: Session, statement: str, values: list[object]) -> None:
        text = sql.SQL(statement).format(schema=sql.Identifier(self._schema))
        for machine, area, kind, digest, version in session.execute(text, values):
            whole = names.kind_id(machine, area, kind)
            self._markers.tell(whole, names.document_id(whole, digest), version)
