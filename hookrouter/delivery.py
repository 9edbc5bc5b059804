"""The deliverer: brings the outbox's messages to their agents, in a process that outlives the hook.

``python -m hookrouter deliver`` is started by hooks (:func:`hookrouter.outbox.spawn_delivery`), and a person may run
it too. One runs at a time; a second one leaves at once, because the first looks again for new messages after it has
let go of its lock.

Each pass over the outbox goes through the due messages oldest first, those that never failed before those that did:

- A gateway gets three tries for a new message, after 2 and then 4 seconds of waiting, and one try in each later pass.
  A gateway that raises or hangs has failed; one that hangs is left alone for the rest of the pass.
- A gateway that returns anything but a Woken may have delivered, and would do the same again: its message is given up
  until the gateway's table or its plugin changes.
- Messages of one session stay in order: while one is not delivered, those behind it on the same gateway wait. After
  ten attempts it is passed over, so that one message that a gateway never takes does not silence a session for ever.
- A gateway that failed three messages in a row is left alone for the rest of the pass, and every attempt has an upper
  limit, so that the messages of other gateways wait for a stuck one for minutes at most. A gateway that does not heed
  its limit ends the whole deliverer, so that the next one can begin, with other messages first.
- Nothing is removed but what was delivered. A message whose gateway is unknown, broken or badly configured stays.

What stays is tried again when a new message starts a deliverer, or a push (:func:`hookrouter.outbox.push`), which is
due 30 seconds after a pass, and later the more often all that is left has failed.
"""

from __future__ import annotations

import faulthandler
import hashlib
import os
import signal
import sys
import time
import warnings
from collections import Counter
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any

import attrs

from hookrouter import _json
from hookrouter.answering import Woken
from hookrouter.clock import iso, now
from hookrouter.discovery import file_stamp
from hookrouter.home import HOME_VARIABLE, Home, HomeError
from hookrouter.journal import Journal
from hookrouter.limits import PluginTimeout, time_limit
from hookrouter.outbox import LONGEST_PUSH_WAIT, PUSH_WAIT, Outbox, wake_of
from hookrouter.store import Store, StoreBusy, StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping, Sequence

    from hookrouter.answering import Gateway, Wake
    from hookrouter.application import Application
    from hookrouter.config import Config

__all__ = ["PLUGIN_FAULT", "Deliverer", "deliver_all", "main", "waits"]

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

CHECK_SECONDS = 10.0
"""Upper limit of a gateway's check of its table."""

GRACE_SECONDS = 30.0
"""Seconds after which a call that does not heed its upper limit ends the deliverer."""

KEPT_SECONDS = 30 * 86400.0
"""Age at which journals of silent sessions, and documents that were set aside as corrupt, are removed."""

LONGEST_PAUSE = 3600.0
"""Upper limit in seconds of the pause that the other side may ask for."""

LONGEST_WAIT = 30.0
"""A longer pause than this many seconds is not waited for, but left to a later deliverer."""

PLUGIN_FAULT = "a fault of the plugin that brings the gateway type "
"""How the reason begins with which a message is given up because of the plugin, not of the gateway's table."""

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
    exit_when_stuck: bool = False
    """Whether a gateway that does not heed its time limit ends this process, with exit code 1."""
    _stuck: set[str] = attrs.field(factory=set, init=False)
    """The gateways that hung in this pass."""

    def deliver_due(self) -> None:
        """Go once through all messages that are due.

        Raises OSError where the outbox cannot be listed. Whatever happens with a single message or gateway is
        journalled, and raises nothing.
        """
        self._deliver([message for message in self._read_all() if not self._still_given_up(message)])
        self.outbox.postpone(_push_wait(self._read_all()))

    def _read_all(self) -> list[dict[str, Any]]:
        messages = []
        for name in self.outbox.ids():
            try:
                message = self.outbox.get(name)
            except StoreError as error:
                self._complain(str(error))
                continue
            if message is not None:
                messages.append(message)
        return messages

    def _deliver(self, messages: list[dict[str, Any]]) -> None:
        tried_lines: set[tuple[str, str]] = set()
        for message in reversed(messages):
            # The oldest message of a line decides, and it is the last one that this loop meets.
            (tried_lines.add if message["attempts"] else tried_lines.discard)(_line(message))
        messages.sort(key=lambda message: (_line(message) in tried_lines, message["id"]))

        self._stuck.clear()
        found_gateways: dict[str, tuple[Gateway, Mapping[str, object]] | str] = {}
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
            if name in self._stuck:
                left[name, "the gateway hung"] += 1
                continue
            if name not in found_gateways:
                found_gateways[name] = self._gateway(name)
            found = found_gateways[name]
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
            tries = 1 if message["attempts"] or failures[name] else TRIES
            try:
                woken = self._attempt(wake, *found, tries=tries)
            except Exception as error:  # noqa: BLE001 - one message must not cost the others their turn
                self._record(message, "kept", f"{type(error).__name__}: {error}", level="error")
                waiting_lines.add(_line(message))
                continue
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
        woken = self._with_backoff(lambda: self._try_once(wake, gateway, settings), tries, wake.gateway)
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
            self._note_failure(wake.id, woken.reason, next_attempt_at=next_attempt_at)
            self._record(message, "kept", woken.reason, level="warning")
        else:
            self._note_failure(wake.id, woken.reason, given_up=self._fingerprint(wake.gateway))
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
            with self._limit(limit):
                woken: object = gateway.deliver(wake, settings)
                fault = _fault(woken)
        except BaseException as error:  # noqa: BLE001 - whatever a plugin raises is a failed try
            if isinstance(error, PluginTimeout):
                self._stuck.add(wake.gateway)
            return Woken(delivered=False, reason=f"{type(error).__name__}: {error}")
        if fault or not isinstance(woken, Woken):
            kind = (self.config.gateway(wake.gateway) or ("", {}))[0]
            place = f"{type(gateway).__module__}.{type(gateway).__qualname__}"
            return Woken(
                delivered=False, reason=f"{PLUGIN_FAULT}{kind!r}: deliver() of {place} returned {fault}", retry=False
            )
        return woken

    @contextmanager
    def _limit(self, seconds: float) -> Iterator[None]:
        # A plugin may catch what the time limit raises, or hang where Python code does not run.
        with _exit_after(seconds + GRACE_SECONDS) if self.exit_when_stuck else nullcontext(), time_limit(seconds):
            yield

    def _with_backoff(self, attempt: Callable[[], Woken], tries: int, name: str) -> Woken:
        if tries == 1:
            return attempt()
        with warnings.catch_warnings():
            # backoff 2.2.1, its last release, calls a function of asyncio that Python 3.14 deprecates.
            warnings.filterwarnings("ignore", message=".*iscoroutinefunction", category=DeprecationWarning)
            import backoff

            retrying: Callable[[], Woken] = backoff.on_predicate(
                waits,
                lambda woken: _is_worth_waiting(woken) and name not in self._stuck,
                max_tries=tries,
                jitter=None,
                logger=None,
                first_wait=self.first_wait,
            )(attempt)
        return retrying()

    def _gateway(self, name: str) -> tuple[Gateway, Mapping[str, object]] | str:
        """Return a gateway with its settings, or why there is none."""
        table = self.config.gateway(name)
        if table is None:
            broken = f"; {self.config.problems[0]}" if self.config.problems else ""
            return f"config.toml has no [gateways.{name}]{broken}"
        kind, settings = table
        gateway = self.gateways.get(kind)
        if gateway is None:
            known = ", ".join(sorted(self.gateways)) or "none"
            return f"config.toml: gateways.{name}.type: no active plugin brings a gateway {kind!r}; there are: {known}"
        try:
            with self._limit(CHECK_SECONDS):
                problems: object = gateway.check(settings)
                if problems and not (isinstance(problems, list) and all(isinstance(one, str) for one in problems)):
                    return f"gateway {name!r}: check() returned {problems!r}, not a list of texts"
        except BaseException as error:  # noqa: BLE001 - whatever a plugin raises is that plugin's failure
            return f"gateway {name!r}: check() raised {type(error).__name__}: {error}"
        if isinstance(problems, list) and problems:
            return "; ".join(f"config.toml: gateways.{name}.{problem}" for problem in problems)
        return gateway, settings

    def _still_given_up(self, message: Mapping[str, Any]) -> bool:
        given_up = message["given_up"]
        if given_up is None:
            return False
        return bool(given_up.get("settings") == self._fingerprint(str(message.get("gateway"))))

    def _fingerprint(self, name: str) -> str:
        """Return a text that changes with the gateway's table and with the file of its class."""
        kind, settings = self.config.gateway(name) or ("", {})
        file = getattr(sys.modules.get(type(self.gateways.get(kind)).__module__), "__file__", None) or ""
        pairs = [kind, file_stamp(file), *sorted((key, repr(value)) for key, value in settings.items())]
        return hashlib.sha256(_json.dumps(pairs).encode("utf-8", "surrogatepass")).hexdigest()[:16]

    def _note_error(self, message: Mapping[str, Any], reason: str) -> None:
        """Keep the reason with a message that was not tried, unless it is there already."""
        if message["last_error"] != reason:
            self._note_failure(message["id"], reason)

    def _note_failure(self, name: str, reason: str, **more: str | None) -> None:
        """Keep with a message why it is still here; on a full disk the journal's record alone says so."""
        try:
            self.outbox.record_failure(name, reason, **more)
        except StoreError as error:
            self._complain(f"why the message {name} is kept could not be noted ({reason}): {error}")

    def _record(self, message: Mapping[str, Any], outcome: str, reason: str, *, level: str) -> None:
        session_id = message.get("session_id")
        record: dict[str, object] = {"level": level, "event": "delivery", "outcome": outcome, "reason": reason}
        record |= {"wake": message["id"], "pid": os.getpid()}
        for key in ("kind", "gateway", "agent", "session", "session_id", "tool_use_id", "ms"):
            record[key] = message.get(key)
        self.journal.write(record, session_id if isinstance(session_id, str) and session_id else None)

    def _complain(self, text: str) -> None:
        self.journal.write({"level": "error", "event": "delivery", "reason": text, "pid": os.getpid()}, None)


@contextmanager
def _exit_after(seconds: float) -> Iterator[None]:
    """End the process, with its tracebacks on stderr and exit code 1, where the block takes longer than this."""
    faulthandler.dump_traceback_later(seconds, exit=True, file=sys.__stderr__ or sys.stderr)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()


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


def _is_worth_waiting(woken: Woken) -> bool:
    return not woken.delivered and woken.retry and (woken.retry_after or 0.0) <= LONGEST_WAIT


def _line(message: Mapping[str, Any]) -> tuple[str, str]:
    """Return what messages must share to be kept in order."""
    return str(message.get("gateway")), str(message.get("session"))


def _is_due(message: Mapping[str, Any]) -> bool:
    due, last = message["next_attempt_at"], message["last_attempt_at"]
    # A last attempt in the future: the clock was set back, and the pause with it means nothing.
    return due is None or due <= iso() or (last is not None and last > iso())


def _fault(woken: object) -> str:
    """Return what is wrong with a gateway's answer, empty for nothing."""
    if not isinstance(woken, Woken):
        return f"{woken!r}, not a Woken"
    kinds = {"delivered": bool, "reason": str, "retry": bool, "retry_after": int | float | None}
    wrong = [field for field, kind in kinds.items() if not isinstance(getattr(woken, field), kind)]
    return f"a Woken whose {wrong[0]} is {getattr(woken, wrong[0])!r}" if wrong else ""


def _push_wait(messages: list[dict[str, Any]]) -> float:
    """Return the seconds until a push for the first of these messages makes sense."""
    return min((_message_wait(message) for message in messages), default=PUSH_WAIT)


def _message_wait(message: Mapping[str, Any]) -> float:
    if message["given_up"] is not None:
        return LONGEST_PUSH_WAIT
    if message["next_attempt_at"] is not None and not _is_due(message):
        with suppress(ValueError):
            pause = datetime.fromisoformat(message["next_attempt_at"]).timestamp() - now()
            return max(PUSH_WAIT, min(pause, LONGEST_PUSH_WAIT))
    doublings: int = min(max(0, message["attempts"] - TRIES), 10)
    return min(PUSH_WAIT * 2.0**doublings, LONGEST_PUSH_WAIT)


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
    try:
        home = Home.from_environ(os.environ)
    except HomeError as error:
        _warn(f"hookrouter deliver: {error}")
        return 1
    if os.environ.get(HOME_VARIABLE):
        os.environ[HOME_VARIABLE] = home.root
    # The folder of whoever started this may be a worktree that is about to be removed.
    os.chdir("/")
    outbox = Outbox(home, _warn)
    # Any exception in a plugin is the plugin's: a signal ends this process as it is, which loses nothing.
    interrupt = signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        if not outbox.count() or deliver_all(outbox, _Passes(outbox)):
            _clear_away(home, outbox)
    except (StoreError, OSError) as error:
        _warn(str(error))
        return 1
    finally:
        signal.signal(signal.SIGINT, interrupt)
    return 0


def _clear_away(home: Home, outbox: Outbox) -> None:
    """Remove what only grows: journals of sessions long gone, and corrupt documents that nobody has looked at."""
    Journal(home.logs).prune(KEPT_SECONDS)
    Store(home.state, _warn).prune(KEPT_SECONDS)
    outbox.prune(KEPT_SECONDS)


class _Passes:
    """Builds the deliverer for the first pass, so that one that finds the lock taken imports no plugin."""

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox
        self._deliverer: Deliverer | None = None

    def __call__(self) -> None:
        if self._deliverer is None:
            from hookrouter.application import Application

            application = Application.from_environ()
            # Without a stderr there is nowhere to say why the process ends.
            exit_when_stuck = sys.__stderr__ is not None
            with _exit_after(ATTEMPT_SECONDS) if exit_when_stuck else nullcontext():
                gateways = _gateways(application)
            self._deliverer = Deliverer(
                self._outbox,
                application.config,
                gateways,
                application.journal,
                attempt_seconds=ATTEMPT_SECONDS,
                exit_when_stuck=exit_when_stuck,
            )
        self._deliverer.deliver_due()


def _gateways(application: Application) -> Mapping[str, Gateway]:
    """Return the gateways by type; none where the plugins cannot be asked, which is journalled."""
    try:
        return application.plugins.gateways()
    except BaseException as error:  # noqa: BLE001 - whatever a plugin raises is that plugin's failure
        reason = f"the plugins could not be asked for gateways: {type(error).__name__}: {error}"
        application.journal.write({"level": "error", "event": "delivery", "reason": reason, "pid": os.getpid()}, None)
        return {}


def _warn(text: str) -> None:
    print(f"{iso()} {text}", file=sys.stderr)  # noqa: T201
