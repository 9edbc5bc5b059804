"""Starts the process that brings this machine's documents to the engine of ``[storage]``.

Every hook run asks, so this module imports next to nothing.
"""

from __future__ import annotations

from hookrouter.storage.engine import open_store
from hookrouter.storage.interface import StoreError

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrouter.storage.home import Home

__all__ = ["SHARING", "STAY", "WORDS", "is_sharing", "process_lock", "start_sharing"]

WORDS = ("storage", "--share")
"""How the command line of the process begins."""

STAY = "--stay"
"""The word behind them by which the process stays while there is nothing to bring."""

SHARING = "fleet", "sharing"
"""Kind and name of the local lock that a process holds while it brings documents."""

_LOG = "fleet.log"
"""The file in ``logs/`` that gets what it writes to stderr."""


def is_sharing(home: Home) -> bool:
    """Whether a process brings this home's documents to the engine. Raises StoreError."""
    return open_store(home, lambda _text: None).lock_holder(*SHARING) is not None


def process_lock(environ: Mapping[str, str], home: Home, settings: Mapping[str, object]) -> tuple[str, str]:
    """Return kind and name of the local lock of a process with this environment.

    ``settings`` are the keys of ``[storage]``. One whose environment lacks the variables that they name, or has other
    values, keeps none away that has the right ones.
    """
    from hookrouter.messaging.environment import environment_mark

    return "fleet", f"process-{environment_mark(environ, home, {'storage': settings})}"


def start_sharing(
    environ: Mapping[str, str], home: Home, settings: Mapping[str, object], *, stay: bool = False
) -> None:
    """Start a process with this environment if there is none; it outlives this one. Returns at once.

    ``settings`` are the keys of ``[storage]``. Raises OSError.
    """
    try:
        lock = process_lock(environ, home, settings)
        if open_store(home, lambda _text: None).lock_holder(*lock) is not None:
            return
    except StoreError as error:
        raise OSError(str(error)) from error
    from hookrouter.messaging.spawn import deliverer_environment
    from hookrouter.storage.logs import LOG_FLAGS, prepare_log
    from hookrouter.util.detached import spawn_detached

    words = [*WORDS, *([STAY] if stay else [])]
    spawn_detached(words, deliverer_environment(environ, home), prepare_log(home, _LOG), LOG_FLAGS)
