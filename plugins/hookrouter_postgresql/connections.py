"""Connections to the database: of one process, with limits on time, and none held longer than a transaction.

Behind a pooler the next transaction may go to another session of the server, so nothing is kept in one: no prepared
statements, no ``SET`` that outlives its transaction. psycopg_pool is not used: its threads do not survive a fork, and
hookrouter forks for every call that it contains.
"""

from __future__ import annotations

import logging
import os
import queue
import select
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeVar

import psycopg
from psycopg import sql
from psycopg.pq import TransactionStatus

from hookrouter.storage.interface import StoreError
from hookrouter_postgresql.dsn import read_target
from hookrouter_postgresql.failures import TimedOut, explain

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

    from hookrouter_postgresql.dsn import Target
    from hookrouter_postgresql.settings import PostgresqlSettings

    Row = tuple[Any, ...]
    Parameters = Sequence[object]

__all__ = ["Connections", "Session"]

T = TypeVar("T")

_KEPT_IDLE = 60.0
"""Seconds after which an unused connection is not trusted any more: a firewall may have forgotten it."""
_GRACE = 0.5
"""Seconds that the server gets to end a statement itself before its connection is given up."""

_IDLE = 30.0
"""Seconds that a transaction may do nothing: what it has written cannot be written by others until it ends."""

_LIMITS = (
    "SELECT set_config('statement_timeout', %s, true), set_config('lock_timeout', %s, true), "
    "set_config('idle_in_transaction_session_timeout', %s, true)"
)
_LAZY = f"{_LIMITS}, set_config('synchronous_commit', 'off', true)"


# Of a connection that breaks it warns on stderr, where a command says its own: errors tell what was not done.
logging.getLogger("psycopg").addHandler(logging.NullHandler())


class Session(psycopg.Connection["Row"]):
    """One connection. Whatever it waits for ends at :attr:`deadline`, whether the server lives or not."""

    deadline: float | None = None
    """A time of the monotonic clock."""
    unused_since = 0.0
    _pid = -1

    @classmethod
    def opened(cls, target: Target) -> Session:
        """Return a new one, which is this process's. Raises StoreError."""
        try:
            session = cls.connect("", autocommit=True, prepare_threshold=None, **target.parameters)  # type: ignore[arg-type]
        except psycopg.Error as error:
            raise explain(error, target) from None
        session._pid = os.getpid()
        # Behind a pooler it may hear what another process listens for, and psycopg would keep it.
        session.hear(lambda _payload: None)
        return session

    def hear(self, told: Callable[[bytes], None]) -> None:
        """Have the payloads of notifications told from now on, as they come: anybody may send any bytes."""
        # psycopg's own handlers get them decoded, which fails, and the statement that meets them with it.
        self.pgconn.notify_handler = lambda notice: told(notice.extra)

    def is_parents(self) -> bool:
        """Whether this is a forked child's copy, which must send nothing, not even that it ends."""
        return self._pid not in (os.getpid(), -1)

    def wait(self, gen: Generator[Any, Any, T], *arguments: Any, **options: Any) -> T:
        """Wait as psycopg does, until the deadline. Raises TimedOut.

        What is interrupted has an unknown end: the connection is given up, so that nobody waits for it again.
        """
        if self.is_parents():
            raise psycopg.InterfaceError("the connection is that of the process that this one was forked from")
        is_over = False
        try:
            done = super().wait(self._limited(gen), *arguments, **options)
            is_over = True
            return done
        except psycopg.Error as error:
            is_over = not isinstance(error, TimedOut)
            raise
        finally:
            if not is_over:
                self.pgconn.finish()

    def _limited(self, work: Generator[Any, Any, T]) -> Generator[Any, Any, T]:
        try:
            waits_for = next(work)
            while True:
                # Also resumed from time to time when nothing has come.
                ready = yield waits_for
                if not ready and self.deadline is not None and time.monotonic() > self.deadline:
                    raise TimedOut("no answer from the server")
                waits_for = work.send(ready)
        except StopIteration as done:
            result: T = done.value
            return result

    def __del__(self, *_arguments: object) -> None:
        """Say nothing of a connection that ends with its process."""

    def is_sound(self) -> bool:
        """Whether an unused connection can be used again: the server has neither closed it nor said anything."""
        if self.closed or time.monotonic() - self.unused_since > _KEPT_IDLE:
            return False
        poll = select.poll()
        poll.register(self.fileno(), select.POLLIN)
        return not poll.poll(0)


class _Open(threading.local):
    """The transaction that this thread has open over several calls."""

    session: Session | None = None
    pid = 0
    after: list[Callable[[], None]]


class Connections:
    """The connections of one process to one database; a forked child makes its own."""

    def __init__(self, settings: PostgresqlSettings) -> None:
        """Makes no connection."""
        self.settings = settings
        self._target: Target | None = None
        self._open = _Open()
        self._parents: list[object] = []
        self._renew()

    def _renew(self) -> None:
        self._pid = os.getpid()
        self._places: queue.LifoQueue[Session | None] = queue.LifoQueue()
        # The unused places lie below: a connection that is there is taken first.
        for _ in range(self.settings.pool):
            self._places.put(None)

    def target(self) -> Target:
        """Return where the database is. Raises StoreError."""
        if self._target is None:
            self._target = read_target(self.settings)
        return self._target

    def connect(self) -> Session:
        """Return a new connection that is the caller's own. Raises StoreError."""
        return Session.opened(self.target())

    def run(
        self,
        statement: str,
        parameters: Parameters = (),
        *,
        durable: bool = True,
        seconds: float | None = None,
    ) -> list[Row]:
        """Run one statement in a transaction of its own, or in the one that is open; return its rows.

        In the statement ``{schema}`` stands for the schema; ``seconds`` is its limit instead of the settings'. Raises
        StoreError.
        """
        text = sql.SQL(statement).format(schema=sql.Identifier(self.settings.schema))
        if (session := self._mine()) is not None:
            with self._explained():
                return _rows(self._limit(session).execute(text, parameters or None))
        with self._taken(seconds) as session:
            # One journey to the server and back.
            with session.pipeline(), session.transaction():
                self._begin(session, seconds, durable=durable)
                cursor = session.execute(text, parameters or None)
            return _rows(cursor)

    @contextmanager
    def apart(self) -> Iterator[None]:
        """In the block :meth:`run` takes no part in the open transaction of this thread."""
        held, self._open.session = self._open.session, None
        try:
            yield
        finally:
            self._open.session = held

    @contextmanager
    def together(self, seconds: float | None = None) -> Iterator[None]:
        """Return a block whose statements are one transaction; within another one, part of that. Raises StoreError."""
        if self._mine() is not None:
            yield
            return
        after: list[Callable[[], None]] = []
        with self._taken(seconds) as session, session.transaction():
            self._begin(session, seconds, durable=True)
            self._open.session, self._open.pid, self._open.after = session, os.getpid(), after
            try:
                yield
            finally:
                self._open.session = None
                # The block may have taken longer; the end of the transaction has a time of its own.
                self._limit(session)
            if session.info.transaction_status is not TransactionStatus.INTRANS:
                raise StoreError(
                    f"PostgreSQL, {self.target().place}: nothing of what belongs together was saved, "
                    "because a part of it had failed"
                )
        for one in after:
            one()

    def once_saved(self, action: Callable[[], None]) -> None:
        """Do something as soon as what was written is there for others: now, or at the end of the transaction."""
        if self._mine() is not None:
            self._open.after.append(action)
        else:
            action()

    def close_unused(self, seconds: float = 0.0) -> None:
        """Close the connections of this process that were not used for so long; those in use are left alone."""
        if self._pid != os.getpid():
            return
        taken: list[Session | None] = []
        with suppress(queue.Empty):
            while True:
                taken.append(self._places.get_nowait())
        for session in reversed(taken):
            if session is not None and time.monotonic() - session.unused_since >= seconds:
                session.close()
            self._places.put(None if session is None or session.closed else session)

    def _mine(self) -> Session | None:
        """Return the session of the open transaction; None in a child that was forked in the middle of one."""
        return self._open.session if self._open.pid == os.getpid() else None

    def _begin(self, session: Session, seconds: float | None, *, durable: bool) -> None:
        limit = _milliseconds(seconds or self.settings.statement_timeout)
        session.execute(_LIMITS if durable else _LAZY, (limit, limit, _milliseconds(_IDLE)))

    def _limit(self, session: Session, seconds: float | None = None) -> Session:
        session.deadline = time.monotonic() + (seconds or self.settings.statement_timeout) + _GRACE
        return session

    @contextmanager
    def _taken(self, seconds: float | None) -> Iterator[Session]:
        """Take a connection for a block. One that is left in the middle of anything is closed, not used again."""
        if self._pid != os.getpid():
            # Never closed here: that would end the parent's sessions on the server.
            self._parents.append(self._places)
            self._renew()
        places = self._places
        try:
            session = places.get(timeout=self.settings.statement_timeout)
        except queue.Empty:
            raise StoreError(
                f"PostgreSQL, {self.target().place}: it timed out: all {self.settings.pool} connections of this "
                "process are in use; raise pool in [storage]"
            ) from None
        try:
            if session is not None and not session.is_sound():
                session.close()
                session = None
            if session is None:
                session = self.connect()
            with self._explained():
                yield self._limit(session, seconds)
        finally:
            if session is not None and not session.is_parents():
                if session.closed or session.info.transaction_status is not TransactionStatus.IDLE:
                    session.close()
                session.unused_since = time.monotonic()
            places.put(None if session is None or session.closed else session)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except psycopg.Error as error:
            raise explain(error, self.target(), is_sent=True) from None


def _milliseconds(seconds: float) -> str:
    """Return a time in a form of the server's, above 0, which would be no limit."""
    return f"{max(int(seconds * 1000), 1)}ms"


def _rows(cursor: psycopg.Cursor[Row]) -> list[Row]:
    return cursor.fetchall() if cursor.description else []
