"""The deliverer: brings the outbox's messages to their agents, in a process that outlives the hook.

``python -m hookrouter deliver`` is started by hooks (:func:`hookrouter.outbox.spawn_delivery`), and a person may run
it too. One runs at a time; a second one leaves at once, because the first looks again for new messages after it has
let go of its lock.

What can be tried is tried; the one that hooks start then stays until a later attempt is due, as long as there is one,
and is woken by changes of the outbox. Its times are those in the documents, so the next one goes on where a killed one
ended. It gives way to a new one after an hour, and when ``config.toml`` changes.

- A message that could not be delivered is tried again after a random time of at most 1, 2, 4 seconds and so on up to
  10 minutes (full jitter), for 24 hours of trying; then it is given up, until a person has it retried or the gateway's
  table changes. A gateway that asks for a longer pause gets it, up to an hour.
- A gateway that raises or hangs has failed. One that returns anything but a Woken may have delivered, and would do the
  same again: it is not asked again for this message until the gateway's table or its plugin changes.
- Where a message has several gateways, the first is asked. The next is asked too, in the same attempt, once the ones
  before have refused the message, or the message or the whole first gateway has failed for the agent's
  ``fallback_after`` seconds. Whichever takes it has delivered it.
- Messages of one session stay in order: while one is not delivered, those behind it on the same gateway wait. One that
  failed ten times may be passed, but is tried before those that pass it: so it must be the message that is at fault,
  not the gateway.
- A gateway that failed messages of three sessions, and delivered none meanwhile, is left alone for a time of its own,
  with the same backoff; then one message tries it. Once it takes what had failed before, all others are due.
- Each session's messages are delivered by a process of their own, up to four for one gateway: one that is frozen holds
  up nobody else, and one that does not heed the upper limit of an attempt is ended.
- While a session is paused (:mod:`hookrouter.pause`), its messages wait, and are not tried.
- Nothing is removed but what was delivered, or was to go out only while a document is there that is gone.
"""

from __future__ import annotations

import faulthandler
import hashlib
import os
import select
import signal
import sys
import time
import traceback
import warnings
from collections import defaultdict, deque
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING, Any

import attrs
from backoff import full_jitter

from hookrouter import _json, kept_payloads
from hookrouter import config as config_file
from hookrouter.answering import Woken
from hookrouter.checking import secret_stamps
from hookrouter.clock import iso, now, seconds
from hookrouter.discovery import file_stamp
from hookrouter.home import HOME_VARIABLE, Home, HomeError
from hookrouter.journal import Journal
from hookrouter.limits import time_limit
from hookrouter.outbox import LONGEST_PUSH_WAIT, LONGEST_WAIT, PUSH_WAIT, Outbox, spawn_delivery, tried_for, wake_of
from hookrouter.store import Store, StoreBusy, StoreError
from hookrouter.watch import FolderWatch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import NoReturn, Protocol

    from hookrouter.answering import Gateway, Wake
    from hookrouter.application import Application
    from hookrouter.config import Config

    Line = tuple[str, str]
    Message = dict[str, Any]
    Tell = Callable[[list[str]], None]

    class Workers(Protocol):
        """Where the messages of a line are delivered."""

        @property
        def running(self) -> int:
            """How many lines are being worked on."""

        def start(self, line: Line, work: Callable[[Tell], None]) -> None:
            """Let ``work`` run; what it tells is handed over by :meth:`wait`. Raises OSError."""

        def wait(self, timeout: float) -> list[tuple[Line, list[list[str]]]]:
            """Wait up to so many seconds for a line to end or the outbox to change; return the lines that ended."""

        def changed(self) -> bool:
            """Return whether the outbox is known to have changed since the last call."""


__all__ = ["KEEP_TRYING", "PLUGIN_FAULT", "Deliverer", "Inline", "Processes", "deliver_all", "longest_wait", "main"]

FIRST_WAIT = 1.0
"""Upper limit in seconds of the wait after the first failure; each further one is twice as long."""

KEEP_TRYING = 86400.0
"""Seconds of trying after which a message is given up."""

BLOCKING_FAILURES = 10
"""Failures after which a message no longer holds up those behind it."""

FAILING_LINES = 3
"""Sessions whose messages a gateway must fail, without a success between, to be left alone for a time."""

WORKERS = 4
"""How many sessions' messages are delivered at the same time through one gateway."""

ATTEMPT_SECONDS = 900.0
"""Upper limit of one attempt, for a gateway without a working timeout of its own; a longer ``timeout`` extends it."""

CHECK_SECONDS = 10.0
"""Upper limit of a gateway's check of its table."""

GRACE_SECONDS = 30.0
"""Seconds after which a call that does not heed its upper limit ends the process that makes it."""

KEPT_SECONDS = 30 * 86400.0
"""Age at which journals of silent sessions, and documents that were set aside as corrupt, are removed."""

LONGEST_PAUSE = 3600.0
"""Upper limit in seconds of the pause that the other side may ask for."""

STAY_SECONDS = 3600.0
"""Seconds after which a deliverer that stays gives way to a new one, which may be a newer version."""

LOOK_SECONDS = 30.0
"""Seconds after which a deliverer that stays looks at the outbox and at config.toml, changed or not."""

BUSY_SECONDS = 2.0
"""Seconds until a line is tried again that a process of a killed deliverer is still working on."""

_DROPPED = Woken(delivered=False, reason="dropped meanwhile", retry=False)

PLUGIN_FAULT = "a fault of the plugin that brings the gateway type "
"""How the reason begins with which a message is given up because of the plugin, not of the gateway's table."""


def longest_wait(failures: int) -> float:
    """Return the upper limit in seconds of the wait after so many failures in a row."""
    return min(LONGEST_WAIT, FIRST_WAIT * 2.0 ** min(max(failures - 1, 0), 30))


@attrs.define
class _Health:
    """What this deliverer has seen of one gateway since its last success."""

    failing: set[Line] = attrs.field(factory=set)
    """The lines whose messages it failed."""
    since: float | None = None
    """When it began to fail; None while it works."""
    pauses: int = 0
    until: float = 0.0
    """When it may be asked again, where it is left alone."""

    @property
    def is_down(self) -> bool:
        return len(self.failing) >= FAILING_LINES


@attrs.define
class Deliverer:
    """Delivers what is due."""

    outbox: Outbox
    config: Config
    gateways: Mapping[str, Gateway]
    """The gateways by type."""
    journal: Journal
    workers: Workers = attrs.field(factory=lambda: Inline())
    attempt_seconds: float = ATTEMPT_SECONDS
    exit_when_stuck: bool = False
    """Whether a gateway that does not heed its time limit ends this process, with exit code 1."""
    jitter: Callable[[float], float] = full_jitter
    """Returns the wait, of the longest one in seconds."""
    clock: Callable[[], float] = time.monotonic
    """Seconds that go on evenly, whatever is done to the time of day."""
    is_stale: Callable[[], bool] = lambda: False
    """Whether a new deliverer should take this one's place."""
    _messages: dict[str, Message] = attrs.field(factory=dict, init=False)
    _stamps: dict[str, tuple[int, int]] = attrs.field(factory=dict, init=False)
    _deadlines: dict[str, tuple[str, float]] = attrs.field(factory=dict, init=False)
    _lines: dict[Line, list[Message]] = attrs.field(factory=dict, init=False)
    _queues: dict[str, deque[Line]] = attrs.field(factory=lambda: defaultdict(deque), init=False)
    _running: dict[Line, tuple[str, list[str]]] = attrs.field(factory=dict, init=False)
    """The lines that are being worked on, each with the gateway that it occupies and its messages."""
    _health: dict[str, _Health] = attrs.field(factory=lambda: defaultdict(_Health), init=False)
    _busy: dict[Line, float] = attrs.field(factory=dict, init=False)
    """When a line may be tried again, where no document says so."""
    _unnoted: dict[Line, int] = attrs.field(factory=dict, init=False)
    """How many times in a row nothing that came of a line could be written."""
    _sent: set[str] = attrs.field(factory=set, init=False)
    """The messages that were delivered and could not be removed."""
    _complaints: set[str] = attrs.field(factory=set, init=False)
    _marks: dict[tuple[str, ...], str] = attrs.field(factory=dict, init=False)
    _changed: bool = attrs.field(default=True, init=False)
    _next_look: float = attrs.field(default=0.0, init=False)
    _next_due: float | None = attrs.field(default=None, init=False)

    def deliver_due(self) -> None:
        """Try once every message that is due, and those that are put in meanwhile.

        Raises OSError where the outbox cannot be listed. Whatever happens with a single message or gateway is
        journalled, and raises nothing.
        """
        tried: set[str] = set()
        self._changed = True
        while True:
            if self._changed and (self.clock() >= self._next_look or not self._running):
                self._look(tried)
            self._start(tried)
            if not self._running and not self._changed:
                break
            self._collect(max(0.0, self._next_look - self.clock()) if self._changed else LOOK_SECONDS)
        self._postpone()

    def stay(self) -> bool:
        """Deliver what is due, and wait for what will be, until nothing is left or :attr:`is_stale` says so.

        Returns whether something is left to be tried. Raises as :meth:`deliver_due` does.
        """
        self._changed = True
        tick = self.clock() + LOOK_SECONDS
        while True:
            moment = self.clock()
            due = self._next_due is not None and moment >= self._next_due
            if (self._changed or due) and (moment >= self._next_look or not self._running):
                self._look(set())
            self._start(None)
            if not self._running and not self._changed and self._next_due is None:
                self._postpone()
                return False
            until = min(tick, tick if self._next_due is None else self._next_due)
            if self._changed:
                until = min(until, self._next_look)
            self._collect(max(0.0, until - self.clock()))
            if self.clock() >= tick:
                self._changed, tick = True, self.clock() + LOOK_SECONDS
                if self.is_stale():
                    return True

    def _look(self, tried: set[str]) -> None:
        """Read what has changed, and queue the lines that can be worked on now."""
        started = self.clock()
        self._changed = False
        self._complaints.clear()
        self._marks.clear()
        self._read()
        lines: dict[Line, list[Message]] = defaultdict(list)
        times = []
        for name in sorted(self._messages):
            message = self._messages[name]
            if name in self._sent:
                self._settle(message)
                times.append(started + LOOK_SECONDS)
                continue
            if self._still_given_up(message):
                continue
            if message["while_open"] is not None and self._drop_unwanted(message):
                continue
            wait = self._left(message, "not_before", "created_at")
            if wait > 0:
                times.append(started + wait)
                continue
            lines[_line(message)].append(message)
        self._lines = lines
        self._queues.clear()
        for line in sorted(lines, key=lambda line: (lines[line][0]["last_attempt_at"] or "", lines[line][0]["id"])):
            if line in self._running or lines[line][0]["id"] in tried or self._is_held(lines[line][0]):
                continue
            wait, gateway = self._when(line)
            if wait > 0:
                times.append(started + wait)
            else:
                self._queues[gateway].append(line)
        self._next_due = min(times, default=None)
        # A look takes as long as there are many messages, and must not come with each of them.
        self._next_look = self.clock() + 10 * (self.clock() - started)

    def _read(self) -> None:
        stamps = self.outbox.stamps()
        for name in self._messages.keys() - stamps.keys():
            self._forget(name)
        for name, stamp in stamps.items():
            if self._stamps.get(name) != stamp:
                self._refresh(name, stamp)
        for name in [name for name, message in self._messages.items() if message["then"]]:
            self._unfold(name)

    def _refresh(self, name: str, stamp: tuple[int, int] | None = None) -> None:
        try:
            message = self.outbox.get(name)
        except StoreError as error:
            self._forget(name)
            self._complain(str(error))
            return
        if message is None:
            self._forget(name)
            return
        known = self._messages.get(name)
        if known is not None and known["attempts"] == message["attempts"] and _is_wanted_now(known, message):
            for gateway in _names(message):
                self._health.pop(gateway, None)
        self._messages[name] = message
        if stamp is None:
            self._stamps.pop(name, None)
        else:
            self._stamps[name] = stamp

    def _forget(self, name: str) -> None:
        for known in (self._messages, self._stamps, self._deadlines):
            known.pop(name, None)
        self._sent.discard(name)

    def _unfold(self, name: str) -> None:
        message = self._messages[name]
        if message["delivered_at"] is not None:
            # Whoever delivered it was killed before it was removed.
            self._settle(message)
            self._forget(name)
            self._changed = True
            return
        if all(entry.get("after_delivery", True) for entry in message["then"]):
            return
        try:
            unfolded = self.outbox.unfold(message)
        except StoreError as error:
            self._complain(f"what follows the message {name} could not be put in yet: {error}")
            return
        self._changed = True
        if unfolded is None:
            self._forget(name)
        else:
            self._messages[name] = unfolded

    def _settle(self, message: Message) -> None:
        try:
            self.outbox.delivered(message)
        except StoreError as error:
            self._complain(f"the message {message['id']} was delivered, and this could not be noted: {error}")

    def _drop_unwanted(self, message: Message) -> bool:
        try:
            if self.outbox.is_wanted(message):
                return False
            self.outbox.remove(message["id"])
        except StoreError as error:
            self._complain(str(error))
            return False
        self._record(message, "dropped", "what it is about is over", level="info")
        return True

    def _is_held(self, message: Message) -> bool:
        try:
            return self.outbox.is_held(message)
        except StoreError as error:
            self._complain(str(error))
            return False

    def _left(self, message: Message, field: str, since: str) -> float:
        """Return the seconds until a time in a message, at most 0 where it is over.

        It runs evenly from when it was first seen, whatever happens to the time of day meanwhile.
        """
        text = message[field]
        if text is None:
            return 0.0
        known = self._deadlines.get(message["id"])
        if known is not None and known[0] == field + text:
            return known[1] - self.clock()
        due, begin, moment = seconds(text), seconds(message.get(since)), now()
        if due is None:
            return 0.0
        if begin is None:
            begin = moment
        left = due - moment
        if begin > moment + 1:
            # The clock was set back since.
            left = due - begin if field == "not_before" else 0.0
        left = min(left, due - begin)
        self._deadlines[message["id"]] = (field + text, self.clock() + left)
        return left

    def _when(self, line: Line) -> tuple[float, str]:
        """Return the seconds until a line can be worked on, and the gateway that it then asks first."""
        messages = self._lines[line]
        first = messages[0]
        waits = [self._left(first, "next_attempt_at", "last_attempt_at")]
        if first["failures"] >= BLOCKING_FAILURES:
            behind = next((one for one in messages if one["failures"] < BLOCKING_FAILURES), first)
            waits.append(self._left(behind, "next_attempt_at", "last_attempt_at"))
        routes = self._routes(first)
        pauses = [(max(0.0, self._health[name].until - self.clock()), name) for name in routes]
        wait, gateway = pauses[0]
        if len(pauses) > 1:
            alternative, other = min(pauses[1:], key=lambda pause: pause[0])
            alternative = max(alternative, self._fallback_left(first))
            if alternative < wait:
                wait, gateway = alternative, other
        wait = max(wait, min(waits), self._busy.get(line, 0.0) - self.clock())
        return wait, gateway

    def _routes(self, message: Message) -> list[str]:
        """Return the gateways of a message that have not refused it, in order; all where each has."""
        names = _names(message)
        refused = message["refused"]
        return [name for name in names if name not in refused or refused[name] != self._fingerprint([name])] or names

    def _fallback_after(self, message: Message) -> float:
        for agent in self.config.agents:
            if agent.id == message.get("agent"):
                return agent.fallback_after
        return config_file.FALLBACK_AFTER

    def _fallback_left(self, message: Message) -> float:
        """Return the seconds until the gateways behind the first one that is left are asked too."""
        patience = self._fallback_after(message)
        left = patience - tried_for(message)
        since = self._health[self._routes(message)[0]].since
        return left if since is None else min(left, patience - (self.clock() - since))

    def _start(self, tried: set[str] | None) -> None:
        """Let workers begin with queued lines, as far as their gateways have room."""
        for gateway in list(self._queues):
            queue = self._queues[gateway]
            while queue and self._has_room(gateway):
                line = queue.popleft()
                if line in self._running or self._when(line)[0] > 0:
                    self._changed = True
                    continue
                messages = self._lines[line]
                if tried is not None:
                    messages = [message for message in messages if message["id"] not in tried]
                    tried.update(message["id"] for message in messages)
                self._running[line] = gateway, [message["id"] for message in messages]
                try:
                    self.workers.start(line, self._turn(line, messages))
                except OSError as error:
                    del self._running[line]
                    self._busy[line] = self.clock() + BUSY_SECONDS
                    self._changed = True
                    self._complain(f"no process could be started for the session {line[1]}: {error}")

    def _has_room(self, gateway: str) -> bool:
        occupied = sum(1 for one, _names in self._running.values() if one == gateway)
        return occupied < (1 if self._health[gateway].is_down else WORKERS)

    def _collect(self, timeout: float) -> None:
        """Wait for workers, and note what they saw of the gateways and did with the messages."""
        for line, events in self.workers.wait(timeout):
            _gateway, names = self._running.pop(line)
            begun = None
            for what, gateway, _name in events:
                if what == "busy":
                    self._busy[line] = self.clock() + BUSY_SECONDS
                elif what == "begin":
                    begun = gateway
                else:
                    begun = None
                    self._judge(gateway, line, what)
            if begun is not None:
                # The worker died of it.
                self._judge(begun, line, "failed")
            before = self._messages.get(names[0])
            for name in names:
                self._refresh(name)
            self._sent.update(name for what, _, name in events if what == "delivered" and name in self._messages)
            if before is not None and before == self._messages.get(names[0]):
                # On a full disk no document says when to try again.
                self._unnoted[line] = self._unnoted.get(line, 0) + 1
                wait = max(BUSY_SECONDS, self.jitter(longest_wait(self._unnoted[line])))
                self._busy[line] = self.clock() + wait
            else:
                self._unnoted.pop(line, None)
            self._changed = True
        if self.workers.changed():
            self._changed = True

    def _judge(self, gateway: str, line: Line, what: str) -> None:
        health = self._health[gateway]
        if what == "failed":
            health.failing.add(line)
            health.since = self.clock() if health.since is None else health.since
            if health.is_down:
                health.pauses += 1
                health.until = self.clock() + self.jitter(longest_wait(health.pauses))
        elif what in ("delivered", "refused"):
            if health.is_down or line in health.failing:
                # It works again: nobody else need wait for an own attempt.
                for name, message in self._messages.items():
                    if message["next_attempt_at"] is not None and gateway in _names(message):
                        self._deadlines[name] = "next_attempt_at" + message["next_attempt_at"], self.clock()
            self._health[gateway] = _Health()

    def _turn(self, line: Line, messages: list[Message]) -> Callable[[Tell], None]:
        """Return what a worker does for one line: deliver its messages in order, as far as they can be."""
        paused = {name for name, health in self._health.items() if health.until > self.clock()}
        ready = {message["id"] for message in messages[:1] if self._fallback_left(message) <= 0}
        early = {
            name
            for name, health in self._health.items()
            if health.since is not None
            and self.clock() - health.since >= min([self._fallback_after(message) for message in messages])
        }

        def work(tell: Tell) -> None:
            with ExitStack() as lock:
                try:
                    lock.enter_context(self.outbox.line("\0".join(line)))
                except StoreBusy:
                    tell(["busy", "", ""])
                    return
                except StoreError as error:
                    # No room for a lock: delivering what is there is the only thing that helps.
                    self._complain(str(error))
                passed = False
                for message in messages:
                    if passed and message["failures"] >= BLOCKING_FAILURES:
                        continue
                    if self._is_held(message):
                        return
                    fallback = message["id"] in ready or _names(message)[0] in early
                    try:
                        outcome = self._bring(message, paused, tell, fallback=fallback)
                    except Exception as error:  # noqa: BLE001 - one message must not cost the others their turn
                        self._record(message, "kept", f"{type(error).__name__}: {error}", level="error")
                        outcome = "kept"
                    if outcome == "kept":
                        if passed or message["failures"] + 1 < BLOCKING_FAILURES:
                            return
                        passed = True

        return work

    def _bring(self, message: Message, paused: set[str], tell: Tell, *, fallback: bool) -> str:
        """Ask the gateways of one message in turn; return ``delivered``, ``dropped``, ``given_up`` or ``kept``."""
        name = message["id"]
        try:
            wake = wake_of(message)
        except ValueError as error:
            self._give_up(message, str(error))
            return "given_up"
        if message["while_open"] is not None and self._drop_unwanted(message):
            return "dropped"
        routes = self._routes(message)
        refused = {one: mark for one, mark in message["refused"].items() if one not in routes}
        reasons: list[tuple[str, str]] = []
        pause = self.jitter(longest_wait(message["failures"] + 1))
        asked_pauses: list[float] = []
        for number, gateway in enumerate(routes):
            if number and not (fallback or all(one in refused for one in routes[:number])):
                break
            if fallback and gateway in paused and any(one not in paused for one in routes):
                continue
            woken = self._attempt(wake._replace(gateway=gateway), pause, tell, fallback=bool(reasons))
            if woken is _DROPPED:
                return "dropped"
            if woken.delivered:
                return "delivered"
            reasons.append((gateway, woken.reason))
            if woken.retry:
                asked_pauses.append(min(woken.retry_after or 0.0, LONGEST_PAUSE))
            else:
                refused[gateway] = self._fingerprint([gateway])
        several = len(_names(message)) > 1
        reason = "; ".join(f"{gateway}: {text}" if several else text for gateway, text in reasons)
        if all(one in refused for one in routes):
            self._give_up(message, reason, refused)
            return "given_up"
        if tried_for(message) >= KEEP_TRYING:
            hours = KEEP_TRYING / 3600
            self._give_up(message, f"tried for {hours:g} hours; the last time: {reason}", refused)
            return "given_up"
        pause = max(pause, min(asked_pauses, default=0.0))
        if len(routes) > 1 and not fallback:
            pause = min(pause, max(0.0, self._fallback_after(message) - tried_for(message)))
        self._note_failure(name, reason, next_attempt_at=iso(now() + pause) if pause > 0 else None, refused=refused)
        self._record(message, "kept", reason, level="warning")
        return "kept"

    def _attempt(self, wake: Wake, pause: float, tell: Tell, *, fallback: bool) -> Woken:
        """Ask one gateway once, with the count before it, and record a delivery."""
        tell(["begin", wake.gateway, wake.id])
        found = self._gateway(wake.gateway)
        usable = not isinstance(found, str)
        try:
            message = self.outbox.record_attempt(wake.id, pause, fallback=fallback, asked=usable)
            if message is None:
                tell(["dropped", wake.gateway, wake.id])
                return _DROPPED
        except StoreError as error:
            # A full disk: delivering what is there is the only thing that helps.
            self._complain(f"the attempt could not be counted: {error}")
            message = {**wake._asdict(), "then": [], "delivered_at": None}
        if isinstance(found, str):
            tell(["failed", wake.gateway, wake.id])
            return Woken(delivered=False, reason=found)
        started = time.monotonic()
        woken = self._ask(wake, *found)
        if woken.delivered:
            self._settle(message)
            elapsed = round((time.monotonic() - started) * 1000, 1)
            self._record({**wake._asdict(), "ms": elapsed}, "delivered", woken.reason, level="info")
        tell(["delivered" if woken.delivered else "failed" if woken.retry else "refused", wake.gateway, wake.id])
        return woken

    def _give_up(self, message: Message, reason: str, refused: Mapping[str, str] | None = None) -> None:
        self._note_failure(message["id"], reason, given_up=self._fingerprint(_names(message)), refused=refused)
        self._record(message, "given_up", reason, level="error")

    def _ask(self, wake: Wake, gateway: Gateway, settings: Mapping[str, object]) -> Woken:
        timeout = settings.get("timeout")
        limit = max(self.attempt_seconds, timeout + 60) if isinstance(timeout, int | float) else self.attempt_seconds
        try:
            with self._limit(limit):
                woken: object = gateway.deliver(wake, settings)
                fault = _fault(woken)
        except BaseException as error:  # noqa: BLE001 - whatever a plugin raises is a failed try
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
        return given_up is not None and given_up.get("settings") == self._fingerprint(_names(message))

    def _fingerprint(self, names: Sequence[str]) -> str:
        """Return a text that changes with the gateways' tables, their secrets, and the files of their classes."""
        known = self._marks.get(tuple(names))
        if known is not None:
            return known
        pairs: list[object] = []
        for name in names:
            kind, settings = self.config.gateway(name) or ("", {})
            file = getattr(sys.modules.get(type(self.gateways.get(kind)).__module__), "__file__", None) or ""
            pairs += [kind, file_stamp(file), *sorted((key, repr(value)) for key, value in settings.items())]
            pairs += secret_stamps(settings, os.environ)
        mark = hashlib.sha256(_json.dumps(pairs).encode("utf-8", "surrogatepass")).hexdigest()[:16]
        self._marks[tuple(names)] = mark
        return mark

    def _note_failure(self, name: str, reason: str, **more: Any) -> None:
        """Keep with a message why it is still here; on a full disk the journal's record alone says so."""
        try:
            self.outbox.record_failure(name, reason, **more)
        except StoreError as error:
            self._complain(f"why the message {name} is kept could not be noted ({reason}): {error}")

    def _postpone(self) -> None:
        """Say when a push makes sense again."""
        given_up = all(message["given_up"] is not None for message in self._messages.values())
        self.outbox.postpone(LONGEST_PUSH_WAIT if given_up and self._messages else PUSH_WAIT)

    def _record(self, message: Mapping[str, Any], outcome: str, reason: str, *, level: str) -> None:
        session_id = message.get("session_id")
        record: dict[str, object] = {"level": level, "event": "delivery", "outcome": outcome, "reason": reason}
        record |= {"wake": message["id"], "pid": os.getpid()}
        for key in ("kind", "gateway", "agent", "session", "session_id", "tool_use_id", "ms"):
            record[key] = message.get(key)
        self.journal.write(record, session_id if isinstance(session_id, str) and session_id else None)

    def _complain(self, text: str) -> None:
        if text in self._complaints:
            return
        self._complaints.add(text)
        self.journal.write({"level": "error", "event": "delivery", "reason": text, "pid": os.getpid()}, None)


@contextmanager
def _exit_after(seconds: float) -> Iterator[None]:
    """End the process, with its tracebacks on stderr and exit code 1, where the block takes longer than this."""
    faulthandler.dump_traceback_later(seconds, exit=True, file=sys.__stderr__ or sys.stderr)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()


class Inline:
    """Works in this process, one line after the other."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._ended: list[tuple[Line, list[list[str]]]] = []

    @property
    def running(self) -> int:
        """How many lines have ended and were not yet asked for."""
        return len(self._ended)

    def start(self, line: Line, work: Callable[[Tell], None]) -> None:
        """Do the work at once."""
        events: list[list[str]] = []
        work(events.append)
        self._ended.append((line, events))

    def wait(self, timeout: float) -> list[tuple[Line, list[list[str]]]]:  # noqa: ARG002 - there is nothing to wait for
        """Return what has ended."""
        ended, self._ended = self._ended, []
        return ended

    def changed(self) -> bool:
        """Whether the outbox may have changed: always, as nobody watches it."""
        return False


class Processes:
    """Works in processes that are forked from this one, and watches the outbox meanwhile."""

    def __init__(self, outbox: Outbox, watch: FolderWatch | None = None) -> None:
        """``watch`` has been entered."""
        self._outbox = outbox
        self._watch = watch
        self._changed = False
        self._workers: dict[int, _Worker] = {}

    @property
    def running(self) -> int:
        """How many processes there are."""
        return len(self._workers)

    def start(self, line: Line, work: Callable[[Tell], None]) -> None:
        """Start a process for the work. Raises OSError."""
        reading, writing = os.pipe()
        try:
            with warnings.catch_warnings():
                # A plugin may have started threads; none of them is needed in the child.
                warnings.simplefilter("ignore", DeprecationWarning)
                pid = os.fork()
        except OSError:
            os.close(reading)
            os.close(writing)
            raise
        if pid == 0:
            self._work(work, writing)
        os.close(writing)
        self._workers[reading] = _Worker(line, pid)

    def _work(self, work: Callable[[Tell], None], writing: int) -> NoReturn:
        code = 1
        try:
            self._outbox.leave_delivery()
            work(lambda event: _tell(writing, event))
            code = 0
        except BaseException:  # noqa: BLE001 - the child ends here in any case
            traceback.print_exc()
        finally:
            os._exit(code)

    def wait(self, timeout: float) -> list[tuple[Line, list[list[str]]]]:
        """Wait up to ``timeout`` seconds for processes or the outbox; return the lines whose process has ended."""
        descriptors = list(self._workers)
        watched = -1 if self._watch is None else self._watch.fileno()
        if watched >= 0:
            descriptors.append(watched)
        elif self._watch is not None:
            timeout = min(timeout, _POLL_SECONDS)
        if self._workers:
            timeout = min(timeout, _POLL_SECONDS)
        ready = select.select(descriptors, [], [], timeout)[0]
        if self._watch is not None:
            self._changed = self._watch.wait(0) or self._changed
        ended = []
        for reading, worker in list(self._workers.items()):
            at_end = False
            if reading in ready:
                data = os.read(reading, 1 << 16)
                worker.said += data
                at_end = not data
            # A program that the worker started may keep its pipe open.
            if at_end or os.waitid(os.P_PID, worker.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
                worker.said += _rest(reading)
                os.close(reading)
                os.waitpid(worker.pid, 0)
                del self._workers[reading]
                ended.append((worker.line, worker.events()))
        return ended

    def changed(self) -> bool:
        """Whether the outbox has changed since the last call."""
        changed, self._changed = self._changed, False
        return changed


@attrs.define
class _Worker:
    line: Line
    pid: int
    said: bytes = b""

    def events(self) -> list[list[str]]:
        """Return what it said; the last line may be cut short by its death."""
        found = []
        for text in self.said.split(b"\n"):
            with suppress(ValueError):
                event = _json.loads(text)
                if isinstance(event, list):
                    found.append(event)
        return found


_POLL_SECONDS = 1.0


def _tell(descriptor: int, event: list[str]) -> None:
    # The deliverer may be gone; what matters is in the documents.
    with suppress(OSError):
        os.write(descriptor, _json.dumps(event).encode("ascii") + b"\n")


def _rest(descriptor: int) -> bytes:
    os.set_blocking(descriptor, False)
    said = b""
    with suppress(BlockingIOError):
        while data := os.read(descriptor, 1 << 16):
            said += data
    return said


def deliver_all(outbox: Outbox, deliver: Callable[[], object]) -> bool:
    """Call ``deliver`` until a look at the outbox shows no message that was not there at the look before.

    Returns False where another deliverer is at work. A message that is put in while this one works is found: its hook
    may have found the lock taken and started none, but then the message was there before the lock was released, and
    this one looks once more after releasing it.
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
                deliver()
        if not set(outbox.ids()) - seen:
            return True


def _line(message: Mapping[str, Any]) -> Line:
    """Return what messages must share to be kept in order."""
    return str(message.get("gateway")), str(message.get("session"))


def _names(message: Mapping[str, Any]) -> list[str]:
    """Return the gateways of a message, in order."""
    return list(dict.fromkeys([str(message.get("gateway")), *message["fallbacks"]]))


def _is_wanted_now(before: Message, after: Message) -> bool:
    """Whether a person made a message due that was waiting or given up."""
    waited = before["next_attempt_at"] is not None or before["given_up"] is not None
    return waited and after["next_attempt_at"] is None and after["given_up"] is None


def _fault(woken: object) -> str:
    """Return what is wrong with a gateway's answer, empty for nothing."""
    if not isinstance(woken, Woken):
        return f"{woken!r}, not a Woken"
    kinds = {"delivered": bool, "reason": str, "retry": bool, "retry_after": int | float | None}
    wrong = [field for field, kind in kinds.items() if not isinstance(getattr(woken, field), kind)]
    return f"a Woken whose {wrong[0]} is {getattr(woken, wrong[0])!r}" if wrong else ""


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
    work = _Work(outbox, home, stay=bool(argv))
    try:
        if not argv:
            # A person who calls this wants it done now, by this process or by the one that is at work.
            _hurry(outbox)
        with work:
            done = not outbox.count() or deliver_all(outbox, work)
        if work.is_over:
            spawn_delivery(os.environ, home)
        elif done:
            _clear_away(home, outbox)
    except (StoreError, OSError) as error:
        _warn(str(error))
        return 1
    finally:
        signal.signal(signal.SIGINT, interrupt)
    return 0


def _hurry(outbox: Outbox) -> None:
    for name in outbox.ids():
        # On a full disk, those that are due are delivered all the same.
        with suppress(StoreError):
            outbox.hurry(name)


def _clear_away(home: Home, outbox: Outbox) -> None:
    """Remove what only grows: journals of sessions long gone, and corrupt documents that nobody has looked at."""
    Journal(home.logs).prune(KEPT_SECONDS)
    kept_payloads.prune(home.logs, KEPT_SECONDS)
    Store(home.state, _warn).prune(KEPT_SECONDS)
    outbox.prune(KEPT_SECONDS)


class _Work:
    """Builds the deliverer when it is first needed, so that one that finds the lock taken imports no plugin."""

    def __init__(self, outbox: Outbox, home: Home, *, stay: bool) -> None:
        self._outbox = outbox
        self._home = home
        self._stay = stay
        self._stack = ExitStack()
        self._deliverer: Deliverer | None = None
        self._end = time.monotonic() + STAY_SECONDS
        self._key: object = None
        self.is_over = False
        """Whether something is left, which a new deliverer should try."""

    def __enter__(self) -> _Work:
        return self

    def __exit__(self, *_error: object) -> None:
        self._stack.close()

    def __call__(self) -> None:
        if self._deliverer is None:
            self._deliverer = self._build()
        if not self._stay:
            self._deliverer.deliver_due()
        elif not self.is_over:
            self.is_over = self._deliverer.stay()

    def _build(self) -> Deliverer:
        from hookrouter.application import Application

        # Before the config is read, so that no change of it is missed.
        self._key = config_file.file_key(self._home.config_file)
        application = Application.from_environ()
        # Without a stderr there is nowhere to say why the process ends.
        exit_when_stuck = sys.__stderr__ is not None
        with _exit_after(ATTEMPT_SECONDS) if exit_when_stuck else nullcontext():
            gateways = _gateways(application)
        watch = None
        with suppress(OSError):
            watch = self._stack.enter_context(FolderWatch(self._outbox.folder))
        return Deliverer(
            self._outbox,
            application.config,
            gateways,
            application.journal,
            workers=Processes(self._outbox, watch),
            attempt_seconds=ATTEMPT_SECONDS,
            exit_when_stuck=exit_when_stuck,
            is_stale=self._is_stale,
        )

    def _is_stale(self) -> bool:
        return time.monotonic() >= self._end or config_file.file_key(self._home.config_file) != self._key


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
