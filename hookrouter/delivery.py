"""The deliverer: brings the outbox's messages to their agents, in a process that outlives the hook.

``python -m hookrouter deliver`` is started by hooks (:func:`hookrouter.outbox.spawn_delivery`), and a person may run
it too. One runs at a time; a second one leaves at once, because the first looks again for new messages after it has
let go of its lock.

Each pass over the outbox goes through the due messages oldest first, those that never failed before those that did:

- A gateway gets three tries for a new message, after 2 and then 4 seconds of waiting, and one try in each later pass.
  A gateway that raises, hangs or returns anything but a Woken has failed.
- Messages of one session stay in order: while one is not delivered, those behind it on the same gateway wait. After
  ten attempts it is passed over, so that one message that a gateway never takes does not silence a session for ever.
- A gateway that failed three messages in a row is left alone for the rest of the pass, and every attempt has an upper
  limit, so that the messages of other gateways wait for a stuck one for minutes at most.
- Nothing is removed but what was delivered. A message whose gateway is unknown, broken or badly configured stays.
"""

from __future__ import annotations

import hashlib
import os
import sys
import time
import warnings
from collections import Counter
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Any

import attrs

from hookrouter import _json
from hookrouter.answering import Woken
from hookrouter.clock import iso, now
from hookrouter.home import HOME_VARIABLE, Home
from hookrouter.limits import PluginTimeout, time_limit
from hookrouter.outbox import Outbox, wake_of
from hookrouter.store import StoreBusy, StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence

    from hookrouter.answering import Gateway, Wake
    from hookrouter.config import Config
    from hookrouter.journal import Journal

__all__ = ["Deliverer", "deliver_all", "main", "waits"]

TRIES = 3
"""Attempts that a new message gets in one pass."""

FIRST_WAIT = 2.0
"""Seconds between the first and the second attempt; each further wait is twice as long."""

BLOCKING_ATTEMPTS = 10
"""Attempts after which a message no longer holds up those behind it."""

FAILURES_IN_A_ROW = 3
"""Messages after whose failure a gateway is left alone for the rest of a pass."""

ATTEMPT_SECONDS = 900.0
"""Upper limit of one attempt, for a gateway without a working timeout of its own; a longer ``timeout`` extends it."""

LONGEST_PAUSE = 3600.0
"""Upper limit in seconds of the pause that the other side may ask for."""

LONGEST_WAIT = 30.0
"""A longer pause than this many seconds is not waited for, but left to a later deliverer."""

_DROPPED = Woken(delivered=False, reason="dropped meanwhile", retry=False)


@attrs.define
class Deliverer:
    """Delivers what is due, pass by pass."""

    outbox: Outbox
    config: Config
    gateways: Mapping[str, Gateway]
    """The gateways by type."""
    journal: Journal
    first_wait: float = FIRST_WAIT
    attempt_seconds: float = ATTEMPT_SECONDS

    def deliver_due(self) -> None:
        """Go once through all messages that are due. Raises nothing for a gateway in any state."""
        messages = [message for message in self.outbox.pending() if not self._still_given_up(message)]
        tried_lines: set[tuple[str, str]] = set()
        for message in reversed(messages):
            # The oldest message of a line decides, and it is the last one that this loop meets.
            (tried_lines.add if message["attempts"] else tried_lines.discard)(_line(message))
        messages.sort(key=lambda message: (_line(message) in tried_lines, message["id"]))

        waiting_lines: set[tuple[str, str]] = set()
        failures: Counter[str] = Counter()
        left: Counter[tuple[str, str]] = Counter()
        for message in messages:
            name = str(message.get("gateway"))
            if _line(message) in waiting_lines:
                continue
            if not _is_due(message):
                waiting_lines.add(_line(message))
                continue
            if failures[name] >= FAILURES_IN_A_ROW:
                left[name, f"the gateway failed {FAILURES_IN_A_ROW} messages in a row"] += 1
                continue
            found = self._gateway(name)
            if isinstance(found, str):
                self._note_error(message, found)
                left[name, found] += 1
                continue
            try:
                wake = wake_of(message)
            except ValueError as error:
                self._note_error(message, str(error))
                self._record(message, "kept", str(error), level="error")
                continue
            woken = self._attempt(wake, *found, tries=1 if message["attempts"] or failures[name] else TRIES)
            if woken.delivered:
                failures[name] = 0
            elif woken.retry:
                failures[name] += 1
                if message["attempts"] + 1 < BLOCKING_ATTEMPTS:
                    waiting_lines.add(_line(message))
        for (name, reason), count in left.items():
            self.journal.write(
                {"level": "warning", "event": "delivery", "outcome": "kept", "gateway": name, "reason": reason}
                | {"messages": count, "pid": os.getpid()},
                None,
            )

    def _attempt(self, wake: Wake, gateway: Gateway, settings: Mapping[str, object], tries: int) -> Woken:
        """Try one message up to ``tries`` times, and record what came of it."""
        started = time.monotonic()
        woken = _with_backoff(lambda: self._try_once(wake, gateway, settings), tries, self.first_wait)
        elapsed = round((time.monotonic() - started) * 1000, 1)
        if woken is _DROPPED:
            return woken
        message = {**wake._asdict(), "ms": elapsed}
        if woken.delivered:
            try:
                self.outbox.remove(wake.id)
            except StoreError as error:
                self._complain(f"delivered, but it will be sent again under the same id {wake.id}: {error}")
            self._record(message, "delivered", woken.reason, level="info")
        elif woken.retry:
            pause = min(woken.retry_after or 0.0, LONGEST_PAUSE)
            next_attempt_at = iso(now() + pause) if pause > 0 else None
            self.outbox.record_failure(wake.id, woken.reason, next_attempt_at=next_attempt_at)
            self._record(message, "kept", woken.reason, level="warning")
        else:
            self.outbox.record_failure(wake.id, woken.reason, given_up=_fingerprint(settings))
            self._record(message, "given_up", woken.reason, level="error")
        return woken

    def _try_once(self, wake: Wake, gateway: Gateway, settings: Mapping[str, object]) -> Woken:
        try:
            if self.outbox.record_attempt(wake.id) is None:
                return _DROPPED
        except StoreError as error:
            # A full disk: delivering what is there is the only thing that helps.
            self._complain(f"the attempt could not be counted: {error}")
        timeout = settings.get("timeout")
        limit = max(self.attempt_seconds, timeout + 60) if isinstance(timeout, int | float) else self.attempt_seconds
        try:
            with time_limit(limit):
                woken: object = gateway.deliver(wake, settings)
        except (Exception, SystemExit, PluginTimeout) as error:  # noqa: BLE001 - a plugin's failure is a failed try
            return Woken(delivered=False, reason=f"{type(error).__name__}: {error}")
        if not isinstance(woken, Woken):
            return Woken(delivered=False, reason=f"the gateway returned {woken!r}, not a Woken")
        return woken

    def _gateway(self, name: str) -> tuple[Gateway, Mapping[str, object]] | str:
        """Return a gateway with its settings, or why there is none."""
        table = self._settings(name)
        if table is None:
            broken = f"; {self.config.problems[0]}" if self.config.problems else ""
            return f"config.toml has no [gateways.{name}]{broken}"
        settings = {key: value for key, value in table.items() if key != "type"}
        kind = table.get("type")
        gateway = self.gateways.get(str(kind))
        if gateway is None:
            known = ", ".join(sorted(self.gateways)) or "none"
            return f"config.toml: gateways.{name}.type: no active plugin brings a gateway {kind!r}; there are: {known}"
        try:
            problems = gateway.check(settings)
        except Exception as error:  # noqa: BLE001 - whatever a plugin raises is that plugin's failure
            return f"gateway {name!r}: check() raised {type(error).__name__}: {error}"
        if problems:
            return "; ".join(f"config.toml: gateways.{name}.{problem}" for problem in problems)
        return gateway, settings

    def _settings(self, name: str) -> Mapping[str, object] | None:
        return self.config.gateways.get(name)

    def _still_given_up(self, message: Mapping[str, Any]) -> bool:
        given_up = message["given_up"]
        if given_up is None:
            return False
        table = self._settings(str(message.get("gateway"))) or {}
        settings = {key: value for key, value in table.items() if key != "type"}
        return bool(given_up.get("settings") == _fingerprint(settings))

    def _note_error(self, message: Mapping[str, Any], reason: str) -> None:
        """Keep the reason with a message that was not tried, unless it is there already."""
        if message["last_error"] == reason:
            return
        try:
            self.outbox.record_failure(message["id"], reason)
        except StoreError as error:
            self._complain(str(error))

    def _record(self, message: Mapping[str, Any], outcome: str, reason: str, *, level: str) -> None:
        session_id = message.get("session_id")
        record: dict[str, object] = {"level": level, "event": "delivery", "outcome": outcome, "reason": reason}
        record |= {"wake": message["id"], "pid": os.getpid()}
        for key in ("kind", "gateway", "agent", "session", "session_id", "tool_use_id", "ms"):
            record[key] = message.get(key)
        self.journal.write(record, session_id if isinstance(session_id, str) and session_id else None)

    def _complain(self, text: str) -> None:
        self.journal.write({"level": "error", "event": "delivery", "reason": text, "pid": os.getpid()}, None)


def deliver_all(outbox: Outbox, deliver_due: Callable[[], None]) -> bool:
    """Call ``deliver_due`` until a look at the outbox shows no message that was not there at the look before.

    Returns False where another deliverer is at work. A message that is put in while this one works is found: its hook
    may have started a second deliverer that met the lock and left, but then the message was there before the lock was
    released, and this one looks once more after releasing it.
    """
    seen: set[str] = set()
    while True:
        with ExitStack() as lock:
            try:
                lock.enter_context(outbox.delivering())
            except StoreBusy:
                return False
            while (ids := set(outbox.ids())) - seen:
                seen |= ids
                deliver_due()
        if not set(outbox.ids()) - seen:
            return True


def waits(first_wait: float) -> Generator[float, Any, None]:
    """Yield the seconds to wait after each failed try, as backoff's wait generators do.

    Doubling from ``first_wait``, or as long as the other side asked, whichever is more.
    """
    seconds = first_wait
    woken: Woken = yield 0.0
    while True:
        woken = yield max(seconds, woken.retry_after or 0.0)
        seconds *= 2


def _with_backoff(attempt: Callable[[], Woken], tries: int, first_wait: float) -> Woken:
    if tries == 1:
        return attempt()
    with warnings.catch_warnings():
        # backoff 2.2.1, its last release, calls a function of asyncio that Python 3.14 deprecates.
        warnings.filterwarnings("ignore", message=".*iscoroutinefunction", category=DeprecationWarning)
        import backoff

        retrying: Callable[[], Woken] = backoff.on_predicate(
            waits, _is_worth_waiting, max_tries=tries, jitter=None, logger=None, first_wait=first_wait
        )(attempt)
    return retrying()


def _is_worth_waiting(woken: Woken) -> bool:
    return not woken.delivered and woken.retry and (woken.retry_after or 0.0) <= LONGEST_WAIT


def _line(message: Mapping[str, Any]) -> tuple[str, str]:
    """Return what messages must share to be kept in order."""
    return str(message.get("gateway")), str(message.get("session"))


def _is_due(message: Mapping[str, Any]) -> bool:
    due, last = message["next_attempt_at"], message["last_attempt_at"]
    # A last attempt in the future: the clock was set back, and the pause with it means nothing.
    return due is None or due <= iso() or (last is not None and last > iso())


def _fingerprint(settings: Mapping[str, object]) -> str:
    pairs = sorted((key, repr(value)) for key, value in settings.items())
    return hashlib.sha256(_json.dumps(pairs).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def main(argv: Sequence[str]) -> int:
    """Run ``hookrouter deliver``: deliver what waits in the outbox.

    ``--detach`` makes it leave the session of the process that started it. Returns 0, also where another deliverer
    is at work or messages are kept; 1 where the outbox cannot be used; 2 for a wrong argument.
    """
    if list(argv) not in ([], ["--detach"]):
        _warn(f"hookrouter deliver: takes only --detach, found {' '.join(argv)}")
        return 2
    if argv:
        with suppress(PermissionError):
            # Refused to a process that leads its own session already.
            os.setsid()
    home = Home.from_environ(os.environ)
    if os.environ.get(HOME_VARIABLE):
        os.environ[HOME_VARIABLE] = os.path.dirname(home.config_file)
    # The folder of whoever started this may be a worktree that is about to be removed.
    os.chdir("/")
    outbox = Outbox(home, _warn)
    try:
        if outbox.count():
            deliver_all(outbox, _Passes(outbox))
    except StoreError as error:
        _warn(str(error))
        return 1
    return 0


class _Passes:
    """Builds the deliverer for the first pass, so that one that finds the lock taken imports no plugin."""

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox
        self._deliverer: Deliverer | None = None

    def __call__(self) -> None:
        if self._deliverer is None:
            from hookrouter.application import Application

            application = Application.from_environ()
            gateways = application.plugins.gateways()
            self._deliverer = Deliverer(self._outbox, application.config, gateways, application.journal)
        self._deliverer.deliver_due()


def _warn(text: str) -> None:
    print(f"{iso()} {text}", file=sys.stderr)  # noqa: T201
