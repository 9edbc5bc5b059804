"""The deliverer: brings the outbox's messages to their agents, in a process that outlives the hook.

``python -m hookrouter deliver`` is started by hooks (:func:`hookrouter.messaging.spawn.spawn_delivery`), and a person
may run it too. For each environment one runs at a time (:mod:`hookrouter.messaging.environment`); a second one leaves
at once, because the first looks again for new messages after it has let go of its lock.

What can be tried is tried; the one that hooks start then stays until a later try is due, as long as there is one,
and is woken by changes of the outbox. Its times are those in the documents, so the next one goes on where a killed one
ended. It gives way to a new one after an hour, and when ``config.toml`` changes.

- A message that could not be delivered is tried again after a random time of at most 1, 2, 4 seconds and so on up to
  10 minutes (full jitter), for 24 hours of trying; then it is given up, until a person has it retried or the gateway's
  table changes. A gateway that asks for a longer pause gets it, up to an hour.
- A gateway that raises or hangs has failed. One that returns anything but a SendResult may have delivered, and would do
  the same again: it is not asked again for this message until the gateway's table or its plugin changes.
- A gateway whose table has mistakes cannot be asked, and has failed; a message that waits for it is due when the
  table has changed.
- If a message has several gateways, the first is asked. The next is asked too, in the same try, once the ones
  before have refused the message or could not be asked, or the message or the whole first gateway has failed for the
  agent's ``fallback_after`` seconds. Whichever takes it has delivered it.
- Messages of one session stay in order: while one is not delivered, those behind it on the same gateway wait. One that
  failed ten times may be passed, but is tried before those that pass it: so it must be the message that is at fault,
  not the gateway.
- A gateway that failed messages of three sessions, and delivered none meanwhile, is left alone for a time of its own,
  with the same backoff; then one message tries it. Once it takes what had failed before, all others are due.
- Each session's messages are delivered by a process of their own, up to four for one gateway: one that is frozen holds
  up nobody else, and one that does not heed the upper limit of a try is ended.
- A message that was put in with another environment is left to the deliverer that has it, while one is at work.
- While a session is paused (:mod:`hookrouter.messaging.pauses`), its messages wait, and are not tried.
- A message that is about an open document, and whose gateway can withdraw or edit it, is followed by one that closes it
  once the document is gone (:func:`hookrouter.messaging.message.closing`). It waits in the outbox until then, and what
  comes later does not wait for it.
- Nothing is removed but what was delivered, what was to go out only while a document is there that is gone, and what
  was to close a message and cannot.
"""

from __future__ import annotations

import time
from collections import defaultdict, deque
from contextlib import ExitStack
from typing import TYPE_CHECKING

import attrs

from hookrouter.messaging.delivery.attempt import Limits, Turn, as_it_is, nobody
from hookrouter.messaging.delivery.notes import Notes
from hookrouter.messaging.delivery.routes import Routes
from hookrouter.messaging.delivery.scheduler import Lane, Scheduler
from hookrouter.messaging.delivery.workers import Inline
from hookrouter.messaging.retry import RetryPolicy
from hookrouter.messaging.spawn import LONGEST_PUSH_WAIT, PUSH_WAIT
from hookrouter.storage.interface import StoreBusy, StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hookrouter.config import Config
    from hookrouter.messaging.delivery.attempt import Alarm, Compose
    from hookrouter.messaging.delivery.workers import Workers
    from hookrouter.messaging.gateway import Gateway
    from hookrouter.messaging.message import QueuedMessage
    from hookrouter.messaging.outbox import Outbox
    from hookrouter.storage.journal import Journal

__all__ = ["Deliverer", "deliver_all"]

WORKERS = 4
"""How many sessions' messages are delivered at the same time through one gateway."""

LOOK_SECONDS = 30.0
"""Seconds after which a deliverer that stays looks at the outbox and at config.toml, changed or not."""


@attrs.define
class Deliverer:
    """Delivers what is due."""

    outbox: Outbox
    config: Config
    gateways: Mapping[str, Gateway]
    """The gateways by type."""
    journal: Journal
    workers: Workers = attrs.field(factory=Inline)
    limits: Limits = attrs.field(factory=Limits)
    retry: RetryPolicy = attrs.field(factory=RetryPolicy)
    compose: Compose = as_it_is
    """Makes of a message, and the number of a try, what a gateway gets."""
    alarm: Alarm = nobody
    """Hears which gateway cannot even be asked, and why. Raises nothing."""
    traces: bool = False
    """Whether messages hand a W3C trace context on."""
    environment: str = ""
    """The mark of this process's environment."""
    clock: Callable[[], float] = time.monotonic
    """Seconds that go on evenly, whatever is done to the time of day."""
    is_stale: Callable[[], bool] = lambda: False
    """Whether a new deliverer should take this one's place."""
    _routes: Routes = attrs.field(init=False)
    _scheduler: Scheduler = attrs.field(init=False)
    _notes: Notes = attrs.field(init=False)
    _messages: dict[str, QueuedMessage] = attrs.field(factory=dict, init=False)
    _stamps: dict[str, object] = attrs.field(factory=dict, init=False)
    _lanes: dict[Lane, list[QueuedMessage]] = attrs.field(factory=dict, init=False)
    _queues: dict[str, deque[Lane]] = attrs.field(factory=lambda: defaultdict(deque), init=False)
    _running: dict[Lane, tuple[str, list[str]]] = attrs.field(factory=dict, init=False)
    """The lanes that are being worked on, each with the gateway that it occupies and its messages."""
    _sent: set[str] = attrs.field(factory=set, init=False)
    """The messages that were delivered and could not be removed."""
    _changed: bool = attrs.field(default=True, init=False)
    _next_look: float = attrs.field(default=0.0, init=False)
    _next_due: float | None = attrs.field(default=None, init=False)

    def __attrs_post_init__(self) -> None:
        """Make the parts."""
        self._routes = Routes(self.config, self.gateways)
        self._scheduler = Scheduler(self._routes, self.retry, self.clock)
        self._notes = Notes(self.outbox, self.journal)

    def deliver_due(self) -> None:
        """Try once every message that is due, and those that are put in meanwhile.

        Raises StoreError if the outbox cannot be listed. Whatever happens with a single message or gateway is
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
            elif self._changed and not self._running and self.is_stale():
                return True

    def _look(self, tried: set[str]) -> None:
        """Read what has changed, and queue the lanes that can be worked on now."""
        started = self.clock()
        self._changed = False
        self._notes.look_again()
        self._routes.look_again()
        self._read()
        lanes, times = self._sorted(started)
        self._lanes = lanes
        self._queues.clear()
        for lane in sorted(lanes, key=lambda lane: (lanes[lane][0].last_attempt_at or "", lanes[lane][0].id)):
            first = lanes[lane][0]
            if lane in self._running or first.id in tried or self._notes.is_held(first):
                continue
            wait, gateway = self._scheduler.when(lane, lanes[lane])
            if wait > 0:
                times.append(started + wait)
            else:
                self._queues[gateway].append(lane)
        self._next_due = min(times, default=None)
        # A look takes as long as there are many messages, and must not come with each of them.
        self._next_look = self.clock() + 10 * (self.clock() - started)

    def _sorted(self, started: float) -> tuple[dict[Lane, list[QueuedMessage]], list[float]]:
        """Return the messages that may go out, by lane, and when others may."""
        lanes: dict[Lane, list[QueuedMessage]] = defaultdict(list)
        times = []
        served: dict[str, bool] = {}
        working = {name for _gateway, names in self._running.values() for name in names}
        for name in sorted(self._messages):
            message = self._messages[name]
            if name in self._sent:
                self._notes.delivered(message)
                times.append(started + LOOK_SECONDS)
                continue
            if self._routes.is_given_up(message) or self._is_anothers(message, served):
                continue
            # What a worker has in hand may be what ends the question: only the worker knows what came of it.
            if name not in working and self._notes.drop_unwanted(message):
                continue
            wait = self._scheduler.until_due(message)
            if wait > 0:
                times.append(started + wait)
                continue
            if not self._notes.is_over(message):
                # Whoever watches the documents looks again at once when one goes.
                times.append(started + LOOK_SECONDS)
                continue
            lanes[Lane.of(message)].append(message)
        return lanes, times

    def _is_anothers(self, message: QueuedMessage, served: dict[str, bool]) -> bool:
        """Whether a deliverer with the environment that a message needs is at work; remembered in ``served``."""
        mark = message.environment
        if mark == self.environment:
            return False
        if mark not in served:
            try:
                served[mark] = self.outbox.locks.is_delivering(mark)
            except StoreError:
                served[mark] = False
        return served[mark]

    def _read(self) -> None:
        stamps = self.outbox.stamps()
        for name in self._messages.keys() - stamps.keys():
            self._forget(name)
        for name, stamp in stamps.items():
            if self._stamps.get(name) != stamp:
                self._refresh(name, stamp)
        for name in [name for name, message in self._messages.items() if message.then]:
            self._unfold(name)

    def _refresh(self, name: str, stamp: object = None) -> None:
        try:
            message = self.outbox.get(name)
        except StoreError as error:
            self._forget(name)
            self._notes.complain(str(error))
            return
        if message is None:
            self._forget(name)
            return
        known = self._messages.get(name)
        if known is not None and known.attempts == message.attempts and _is_wanted_now(known, message):
            self._scheduler.trust(message.gateways)
        self._messages[name] = message
        if stamp is None:
            self._stamps.pop(name, None)
        else:
            self._stamps[name] = stamp

    def _forget(self, name: str) -> None:
        self._messages.pop(name, None)
        self._stamps.pop(name, None)
        self._scheduler.forget(name)
        self._sent.discard(name)

    def _unfold(self, name: str) -> None:
        message = self._messages[name]
        if message.delivered_at is not None:
            # Whoever delivered it was killed before it was removed.
            self._notes.delivered(message)
            self._forget(name)
            self._changed = True
            return
        if len(message.waits_for_delivery()) == len(message.then):
            return
        try:
            unfolded = self.outbox.tries.unfold(message)
        except StoreError as error:
            self._notes.complain(f"what follows the message {name} could not be put in yet: {error}")
            return
        self._changed = True
        if unfolded is None:
            self._forget(name)
        else:
            self._messages[name] = unfolded

    def _start(self, tried: set[str] | None) -> None:
        """Let workers begin with queued lanes, as far as their gateways have room."""
        for gateway in list(self._queues):
            queue = self._queues[gateway]
            while queue and self._has_room(gateway):
                lane = queue.popleft()
                if lane in self._running or self._scheduler.when(lane, self._lanes[lane])[0] > 0:
                    self._changed = True
                    continue
                messages = self._lanes[lane]
                if tried is not None:
                    messages = [message for message in messages if message.id not in tried]
                    tried.update(message.id for message in messages)
                self._running[lane] = gateway, [message.id for message in messages]
                try:
                    self.workers.start(lane, self._turn(lane, messages))
                except OSError as error:
                    del self._running[lane]
                    self._scheduler.busy(lane)
                    self._changed = True
                    self._notes.complain(f"no process could be started for the session {lane.session}: {error}")

    def _turn(self, lane: Lane, messages: list[QueuedMessage]) -> Turn:
        return Turn(
            lane,
            messages,
            self.outbox,
            self._routes,
            self._notes,
            self.retry,
            self.limits,
            paused=self._scheduler.paused_gateways(),
            traces=self.traces,
            patience_over=bool(messages) and self._scheduler.fallback_left(messages[0]) <= 0,
            replaceable=self._scheduler.replaceable_gateways(messages),
            compose=self.compose,
            alarm=self.alarm,
        )

    def _has_room(self, gateway: str) -> bool:
        occupied = sum(1 for one, _names in self._running.values() if one == gateway)
        return occupied < (1 if self._scheduler.health[gateway].is_down else WORKERS)

    def _collect(self, timeout: float) -> None:
        """Wait for workers, and note what they saw of the gateways and did with the messages."""
        for lane, events in self.workers.wait(timeout):
            _gateway, names = self._running.pop(lane)
            begun = None
            for what, gateway, _name in events:
                if what == "busy":
                    self._scheduler.busy(lane)
                elif what == "begin":
                    begun = gateway
                else:
                    begun = None
                    self._scheduler.judge(gateway, lane, what, self._messages.values())
            if begun is not None:
                # The worker died of it.
                self._scheduler.judge(begun, lane, "failed", ())
            before = self._messages.get(names[0])
            for name in names:
                self._refresh(name)
            self._sent.update(name for what, _, name in events if what == "delivered" and name in self._messages)
            if before is not None and before == self._messages.get(names[0]):
                self._scheduler.unnoted(lane)
            else:
                self._scheduler.noted(lane)
            self._changed = True
        if self.workers.changed():
            self._changed = True

    def _postpone(self) -> None:
        """Say when a push makes sense again."""
        given_up = all(message.given_up is not None for message in self._messages.values())
        self.outbox.postpone(LONGEST_PUSH_WAIT if given_up and self._messages else PUSH_WAIT)


def deliver_all(outbox: Outbox, deliver: Callable[[], object]) -> bool:
    """Call ``deliver`` until a look at the outbox shows no message that was not there at the look before.

    Returns False if another deliverer is at work for this environment. A message that is put in while this one works
    is found: its hook may have found the lock taken and started none, but then the message was there before the lock
    was released, and this one looks once more after releasing it.
    """
    seen: set[str] = set()
    while True:
        with ExitStack() as lock:
            try:
                lock.enter_context(outbox.locks.delivering())
            except StoreBusy:
                return False
            while (ids := set(outbox.ids())) - seen:
                seen |= ids
                deliver()
        if not set(outbox.ids()) - seen:
            return True


def _is_wanted_now(before: QueuedMessage, after: QueuedMessage) -> bool:
    """Whether a person made a message due that was waiting or given up."""
    waited = before.next_attempt_at is not None or before.given_up is not None
    return waited and after.next_attempt_at is None and after.given_up is None
