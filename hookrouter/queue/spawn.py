"""Starts the process that delivers a session's queue: ``hookrouter queue deliver --session NAME``."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from hookrouter.messaging.spawn import deliverer_environment
from hookrouter.storage.logs import LOG_FLAGS, prepare_log
from hookrouter.util.detached import spawn_detached

if TYPE_CHECKING:
    from hookrouter.context import Services

__all__ = ["start_queue"]

_DELIVERER = "hookrouter.queue.deliverer"


def start_queue(services: Services, session: str) -> None:
    """Have what waits in a session's queue delivered, in a process that outlives this one. Returns at once.

    Of several such processes for one session all but one end at once. What keeps it from being started is a warning in
    the journal: the session's next hook starts it again.
    """
    if find_spec(_DELIVERER) is None:
        return
    home = services.home
    try:
        log = prepare_log(home, "queue.log")
        words = ["queue", "deliver", f"--session={session}"]
        spawn_detached(words, deliverer_environment(services.environ, home), log, LOG_FLAGS)
    except (OSError, ValueError) as error:
        # ValueError: a name that cannot be an argument.
        services.warn(f"no deliverer of the queue of session {session} could be started: {error}")
