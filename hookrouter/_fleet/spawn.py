"""Starts the process that brings this machine's documents to the engine of ``[storage]``.

Every hook run asks, so this module imports next to nothing.
"""

from __future__ import annotations

from hookrouter.storage.engine import open_store
from hookrouter.storage.interface import StoreError

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hookrouter.storage.home import Home

__all__ = ["LOCK", "STAY", "WORDS", "is_sharing", "start_sharing"]

WORDS = ("storage", "--share")
"""How the command line of the process begins."""

STAY = "--stay"
"""The word behind them by which the process stays while there is nothing to bring."""

LOCK = "fleet", "process"
"""Kind and name of the local lock that the process holds."""

_LOG = "fleet.log"
"""The file in ``logs/`` that gets what it writes to stderr."""


def is_sharing(home: Home) -> bool:
    """Whether the process is at work. Raises StoreError."""
    return open_store(home, lambda _text: None).lock_holder(*LOCK) is not None


def start_sharing(
    environ: Mapping[str, str],
    home: Home,
    *,
    stay: bool = False,
    start: Callable[[list[str]], object] | None = None,
) -> None:
    """Start the process if none is at work; it outlives this one. Returns at once.

    ``start`` starts it in another way than as a program of its own, given its words. Raises OSError.
    """
    try:
        if is_sharing(home):
            return
    except StoreError as error:
        raise OSError(str(error)) from error
    words = [*WORDS, *([STAY] if stay else [])]
    if start is not None:
        start(words)
        return
    from hookrouter.messaging.spawn import deliverer_environment
    from hookrouter.storage.logs import LOG_FLAGS, prepare_log
    from hookrouter.util.detached import spawn_detached

    spawn_detached(words, deliverer_environment(environ, home), prepare_log(home, _LOG), LOG_FLAGS)
