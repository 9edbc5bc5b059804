"""Starts the process that delivers a session's queue: ``hookrouter queue deliver --session NAME``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter.storage.interface import StoreError

if TYPE_CHECKING:
    from hookrouter.context import Services
    from hookrouter.storage.interface import DocumentStore

__all__ = ["LOCK", "is_delivering", "start_queue"]

LOCK = "deliverer"
"""The kind of the lock that the deliverer of a session's queue holds while it works; its name is the session's."""

_LOG = "queue.log"
"""The file in ``logs/`` that gets what deliverers write to stderr."""


def start_queue(services: Services, session: str) -> None:
    """Have what waits in a session's queue delivered, in a process that outlives this one. Returns at once.

    One that is at work sees every item that was put in before. What keeps one from being started is a warning in the
    journal: the session's next hook starts it again.
    """
    try:
        if is_delivering(services.store, session):
            return
        _spawn(services, session)
    except (OSError, ValueError, StoreError) as error:
        # ValueError: a name that cannot be an argument.
        services.warn(f"no deliverer of the queue of session {session} could be started: {error}")


def is_delivering(store: DocumentStore, session: str) -> bool:
    """Whether a deliverer is at work for a session. Raises StoreError."""
    return store.lock_holder(LOCK, session) is not None


def _spawn(services: Services, session: str) -> None:
    # Most hooks find no queue.
    from hookrouter.messaging.spawn import deliverer_environment
    from hookrouter.storage.logs import LOG_FLAGS, prepare_log
    from hookrouter.util.detached import spawn_detached

    words = ["queue", "deliver", f"--session={session}"]
    log = prepare_log(services.home, _LOG)
    spawn_detached(words, deliverer_environment(services.environ, services.home), log, LOG_FLAGS)
