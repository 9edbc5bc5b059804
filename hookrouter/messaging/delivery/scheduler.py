"""When each lane of messages can be worked on, and what was seen of each gateway. Touches no document or process."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

import attrs

from hookrouter.messaging.retry import BLOCKING_FAILURES
from hookrouter.util.clock import now, seconds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from hookrouter.messaging.delivery.routes import Routes
    from hookrouter.messaging.message import QueuedMessage
    from hookrouter.messaging.retry import RetryPolicy

__all__ = ["FAILING_LANES", "Health", "Lane", "Scheduler"]

FAILING_LANES = 3
"""Sessions whose messages a gateway must fail, without a success between, to be left alone for a time."""

BUSY_SECONDS = 2.0
"""Seconds until a lane is tried again that a process of another deliverer is still working on."""


class Lane(NamedTuple):
    """What messages share that are kept in order."""

    gateway: str
    """The first gateway of the messages."""
    session: str
    """The session that they are about."""
    closes: bool = False
    """Whether they withdraw or edit what was delivered: nothing new waits for that."""

    @classmethod
    def of(cls, message: QueuedMessage) -> Lane:
        """Return the lane of a message."""
        return cls(message.gateway, message.session, message.closes is not None)


@attrs.define
class Health:
    """What this deliverer has seen of one gateway since its last success."""

    failing: set[Lane] = attrs.field(factory=set)
    """The lanes whose messages it failed."""
    since: float | None = None
    """When it began to fail; None while it works."""
    pauses: int = 0
    until: float = 0.0
    """When it may be asked again, if it is left alone."""

    @property
    def is_down(self) -> bool:
        """Whether it, not the messages, seems to be at fault."""
        return len(self.failing) >= FAILING_LANES


@attrs.define
class Scheduler:
    """Answers when, by a clock that goes on evenly, whatever is done to the time of day."""

    routes: Routes
    retry: RetryPolicy
    clock: Callable[[], float]
    health: dict[str, Health] = attrs.field(factory=lambda: defaultdict(Health), init=False)
    """By the gateway's name."""
    _deadlines: dict[str, tuple[str, float]] = attrs.field(factory=dict, init=False)
    """By message: the time that it was noted for, and when that is by the clock."""
    _busy: dict[Lane, float] = attrs.field(factory=dict, init=False)
    """When a lane may be tried again, if no document says so."""
    _unnoted: dict[Lane, int] = attrs.field(factory=dict, init=False)
    """How many times in a row nothing that came of a lane could be written."""

    def forget(self, name: str) -> None:
        """A message is gone."""
        self._deadlines.pop(name, None)

    def trust(self, gateways: Iterable[str]) -> None:
        """Forget what was seen of gateways, because a person wants a message of theirs tried now."""
        for gateway in gateways:
            self.health.pop(gateway, None)

    def until_due(self, message: QueuedMessage) -> float:
        """Return the seconds until a message is to go out at the earliest; at most 0 if it may now."""
        return self._left(message, message.not_before, message.created_at, "not_before")

    def _until_next_try(self, message: QueuedMessage) -> float:
        if self.routes.has_changed(message):
            return 0.0
        return self._left(message, message.next_attempt_at, message.last_attempt_at, "next_attempt_at")

    def _left(self, message: QueuedMessage, text: str | None, since: str | None, field: str) -> float:
        """Return the seconds until a time in a message, at most 0 if it has passed.

        It runs evenly from when it was first seen, whatever happens to the time of day meanwhile.
        """
        if text is None:
            return 0.0
        known = self._deadlines.get(message.id)
        if known is not None and known[0] == field + text:
            return known[1] - self.clock()
        due, begin, moment = seconds(text), seconds(since), now()
        if due is None:
            return 0.0
        if begin is None:
            begin = moment
        left = due - moment
        if begin > moment + 1:
            # The clock was set back since.
            left = due - begin if field == "not_before" else 0.0
        left = min(left, due - begin)
        self._deadlines[message.id] = (field + text, self.clock() + left)
        return left

    def when(self, lane: Lane, messages: Sequence[QueuedMessage]) -> tuple[float, str]:
        """Return the seconds until a lane can be worked on, and the gateway that it then asks first."""
        first = messages[0]
        waits = [self._until_next_try(first)]
        if first.failures >= BLOCKING_FAILURES:
            behind = next((one for one in messages if one.failures < BLOCKING_FAILURES), first)
            waits.append(self._until_next_try(behind))
        pauses = [(max(0.0, self.health[name].until - self.clock()), name) for name in self.routes.of(first)]
        wait, gateway = pauses[0]
        if len(pauses) > 1:
            alternative, other = min(pauses[1:], key=lambda pause: pause[0])
            alternative = max(alternative, self.fallback_left(first))
            if alternative < wait:
                wait, gateway = alternative, other
        wait = max(wait, min(waits), self._busy.get(lane, 0.0) - self.clock())
        return wait, gateway

    def fallback_left(self, message: QueuedMessage) -> float:
        """Return the seconds until the gateways behind the first one that is left are asked too."""
        patience = self.routes.fallback_after(message)
        left = patience - message.tried_seconds()
        since = self.health[self.routes.of(message)[0]].since
        return left if since is None else min(left, patience - (self.clock() - since))

    def paused_gateways(self) -> frozenset[str]:
        """Return the gateways that are left alone now."""
        return frozenset(name for name, health in self.health.items() if health.until > self.clock())

    def replaceable_gateways(self, messages: Sequence[QueuedMessage]) -> frozenset[str]:
        """Return the gateways that have failed for so long that the next ones of these messages may be asked."""
        patience = min(self.routes.fallback_after(message) for message in messages)
        return frozenset(
            name
            for name, health in self.health.items()
            if health.since is not None and self.clock() - health.since >= patience
        )

    def judge(self, gateway: str, lane: Lane, outcome: str, waiting: Iterable[QueuedMessage]) -> None:
        """Note what a gateway made of a message: ``failed``, ``delivered``, ``refused``, or anything else.

        If it works again, those of the ``waiting`` messages that wait for their next try of it are due at once.
        """
        health = self.health[gateway]
        if outcome == "failed":
            health.failing.add(lane)
            health.since = self.clock() if health.since is None else health.since
            if health.is_down:
                health.pauses += 1
                health.until = self.clock() + self.retry.wait(health.pauses)
        elif outcome in ("delivered", "refused"):
            if health.is_down or lane in health.failing:
                for message in waiting:
                    if message.next_attempt_at is not None and gateway in message.gateways:
                        self._deadlines[message.id] = "next_attempt_at" + message.next_attempt_at, self.clock()
            self.health[gateway] = Health()

    def busy(self, lane: Lane) -> None:
        """Somebody else works on a lane, or no process can be started for it: try it again shortly."""
        self._busy[lane] = self.clock() + BUSY_SECONDS

    def unnoted(self, lane: Lane) -> None:
        """Nothing that came of a lane could be written, so that no document says when to try again."""
        self._unnoted[lane] = self._unnoted.get(lane, 0) + 1
        self._busy[lane] = self.clock() + max(BUSY_SECONDS, self.retry.wait(self._unnoted[lane]))

    def noted(self, lane: Lane) -> None:
        """What came of a lane was written."""
        self._unnoted.pop(lane, None)
