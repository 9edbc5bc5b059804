"""Starts deliverers: processes that outlive the hook and bring the outbox's messages to their agents.

Every hook run asks :func:`push`, so this module imports next to nothing.
"""

from __future__ import annotations

import os
import time

from hookrouter.storage.engine import OUTBOX, may_hold, open_store
from hookrouter.storage.home import HOME_VARIABLE, DocumentKind
from hookrouter.storage.interface import StoreError
from hookrouter.storage.logs import LOG_FLAGS, prepare_log

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hookrouter.storage.home import Home
    from hookrouter.storage.interface import DocumentStore

    Start = Callable[[Mapping[str, str], Home], int]

__all__ = [
    "KIND",
    "LONGEST_PUSH_WAIT",
    "OF_ONE_COMMAND",
    "PUSH",
    "PUSH_WAIT",
    "deliverer_environment",
    "deliverer_lock",
    "delivery_log",
    "is_delivering",
    "postpone",
    "push",
    "spawn_delivery",
    "wake_deliverers",
]

KIND = DocumentKind("wake", shared=True, area=OUTBOX)
"""The kind of an outbox document in the store."""

PUSH_WAIT = 30.0
"""Seconds after a deliverer's work, or the start of one, in which a push starts no other one."""

LONGEST_PUSH_WAIT = 600.0
"""Upper limit of the longer wait that a deliverer sets if it leaves only what it has given up."""

PUSH = DocumentKind("push", area=OUTBOX)
"""The kind of the document that says when a push is due: ``due_at`` in seconds since 1970, and ``config_time``, the
modification time of config.toml when that was noted (null without a file)."""

OF_ONE_COMMAND = ("HOOKROUTER_THIS_MACHINE", "HOOKROUTER_READER")
"""Variables by which a command is for one machine of several (:mod:`hookrouter.machines`). What it starts works on, and
agents are to see all machines."""

_NAME = "next"


def deliverer_lock(environment: str) -> str:
    """Return the name of the lock (of kind ``outbox``) that the deliverer of one environment holds while it works.

    ``environment`` is a mark, see :mod:`hookrouter.messaging.environment`.
    """
    return f"delivery-{environment}" if environment else "delivery"


def push(environ: Mapping[str, str], home: Home, start: Start | None = None) -> bool:
    """Start a deliverer for what waits in the outbox, if one is due; return whether it was started.

    ``start`` starts it in another way than as a process of its own, and returns its pid, or anything above 0.

    One is due PUSH_WAIT seconds after the last one was started or ended its work, or later if that one left only
    what it had given up, or at once after a change of ``config.toml``; and none while one is at work for this
    environment. For an empty outbox this is one look at its folder. Raises nothing.
    """
    if not may_hold(home, OUTBOX, KIND):
        return False
    store = _store(home)
    try:
        if not _is_push_due(home, store) or is_delivering(store, _mark(environ, home)):
            return False
        # What cannot be noted would be tried by every hook run.
        return postpone(home, store, PUSH_WAIT) and (start or _spawn)(environ, home) > 0
    except (OSError, StoreError):
        return False


def spawn_delivery(environ: Mapping[str, str], home: Home, start: Start | None = None) -> int:
    """Start a deliverer that outlives this process, and return its pid at once; 0 if one is at work already.

    That one finds every message that was put in before this was called, and has the same values for all variables
    that the gateways' tables name. A new one runs in a session of its own, holds none of this process's descriptors
    (Claude Code waits for a hook's stdout to close, not for its exit), and writes to ``logs/delivery.log``. Raises
    OSError if it cannot be started; the messages then wait for the next one. ``start`` as in :func:`push`.
    """
    store = _store(home)
    try:
        # It lets go of its lock before its last look at the outbox.
        if is_delivering(store, _mark(environ, home)):
            return 0
    except StoreError as error:
        raise OSError(str(error)) from error
    postpone(home, store, PUSH_WAIT)
    return (start or _spawn)(environ, home)


def is_delivering(store: DocumentStore, environment: str) -> bool:
    """Return whether a deliverer is at work for the environment of this mark. ``store`` is the outbox's.

    Raises StoreError.
    """
    return store.lock_holder("outbox", deliverer_lock(environment)) is not None


def postpone(home: Home, store: DocumentStore, seconds: float) -> bool:
    """Let no push start a deliverer for so long; return whether that could be noted. ``store`` is the outbox's."""
    document = {"version": 1, "due_at": time.time() + seconds, "config_time": _config_time(home)}
    try:
        store.write(PUSH, _NAME, document, durable=False)
    except StoreError:
        return False
    return True


def wake_deliverers(home: Home, store: DocumentStore) -> None:
    """Have deliverers that stay look at every message, and let the next push start one. Raises nothing."""
    postpone(home, store, 0)


def _store(home: Home) -> DocumentStore:
    # What was put aside is found by whoever reads the messages.
    return open_store(home, lambda _text: None, OUTBOX)


def _mark(environ: Mapping[str, str], home: Home) -> str:
    # Not on the way of a hook run that finds nothing to deliver.
    from hookrouter._plugins.discovery import load_config
    from hookrouter.messaging.environment import environment_mark

    return environment_mark(environ, home, load_config(home, environ).gateways)


def _is_push_due(home: Home, store: DocumentStore) -> bool:
    document = store.read(PUSH, _NAME) or {}
    due = document.get("due_at")
    # A time that is too far away is one that was noted before the clock was set back.
    if not isinstance(due, (int, float)) or not 0 < due - time.time() <= LONGEST_PUSH_WAIT:
        return True
    return document.get("config_time") != _config_time(home)


def _config_time(home: Home) -> float | None:
    try:
        return os.stat(home.config_file).st_mtime
    except OSError:
        return None


def deliverer_environment(environ: Mapping[str, str], home: Home) -> dict[str, str]:
    """Return the environment of a deliverer that the process with this one starts."""
    from hookrouter.messaging.environment import CLAUDE_SECRETS, ERRAND_VARIABLE

    # An agent that is woken because of what another machine asked for is not the person who asked for it there.
    left_out = {*CLAUDE_SECRETS, ERRAND_VARIABLE, *environ.get(ERRAND_VARIABLE, "").split()}
    variables = {name: value for name, value in environ.items() if name not in left_out}
    if variables.get(HOME_VARIABLE):
        # The deliverer works in another folder.
        variables[HOME_VARIABLE] = home.root
    for name in OF_ONE_COMMAND:
        variables.pop(name, None)
    return variables


def delivery_log(home: Home) -> str:
    """Return the path of the file that gets what deliverers write to stderr; the null device if it cannot be made."""
    try:
        path = prepare_log(home, "delivery.log")
        os.close(os.open(path, LOG_FLAGS, 0o600))
    except OSError:
        # Messages can be delivered without a log.
        return os.devnull
    return path


def _spawn(environ: Mapping[str, str], home: Home) -> int:
    # Few hook runs start a deliverer.
    from hookrouter.util.detached import spawn_detached

    return spawn_detached(["deliver", "--detach"], deliverer_environment(environ, home), delivery_log(home), LOG_FLAGS)
