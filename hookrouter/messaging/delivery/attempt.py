"""One turn of a lane: all that runs in a worker, which is a process forked from the deliverer.

A :class:`Turn` holds all that its worker needs; what it changes in memory is lost with the worker. What matters it
writes into the documents, and it tells the deliverer what it saw of the gateways: ``["begin", gateway, id]`` before
each try, then ``failed``, ``refused``, ``delivered`` or ``dropped``; and ``busy`` if somebody else works on the lane.
"""

from __future__ import annotations

import faulthandler
import os
import sys
import time
from collections.abc import Mapping
from contextlib import ExitStack, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

import attrs

from hookrouter._plugins.gateway_settings import GatewayFault, read_gateway_settings
from hookrouter.messaging.gateway import SendResult
from hookrouter.messaging.message import closing
from hookrouter.messaging.retry import BLOCKING_FAILURES, KEEP_TRYING
from hookrouter.messaging.trace_context import TraceContext, handed_on, span_id, trace_id
from hookrouter.storage.interface import StoreBusy, StoreError
from hookrouter.util.clock import iso, now
from hookrouter.util.time_limit import time_limit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from hookrouter.messaging.delivery.notes import Notes
    from hookrouter.messaging.delivery.routes import Routes
    from hookrouter.messaging.delivery.scheduler import Lane
    from hookrouter.messaging.delivery.workers import Tell
    from hookrouter.messaging.gateway import Gateway, Message, Sent
    from hookrouter.messaging.message import QueuedMessage
    from hookrouter.messaging.outbox import Outbox
    from hookrouter.messaging.retry import RetryPolicy

    Alarm = Callable[[str, str], object]
    Compose = Callable[[Message, int], Message]

__all__ = ["ATTEMPT_SECONDS", "CHECK_SECONDS", "PLUGIN_FAULT", "Limits", "Turn", "as_it_is", "exit_after", "nobody"]

ATTEMPT_SECONDS = 900.0
"""Upper limit of one try, for a gateway without a working timeout of its own; a longer ``timeout`` extends it."""

CHECK_SECONDS = 10.0
"""Upper limit of a gateway's check of its table."""

GRACE_SECONDS = 30.0
"""Seconds after which a call that does not heed its upper limit ends the process that makes it."""

PLUGIN_FAULT = "a fault of the plugin that provides the gateway type "
"""How the reason begins with which a message is given up because of the plugin, not of the gateway's table."""

_DROPPED = SendResult(delivered=False, reason="dropped meanwhile", retry=False)


@contextmanager
def exit_after(seconds: float) -> Iterator[None]:
    """End the process, with its tracebacks on stderr and exit code 1, if the block takes longer than this."""
    faulthandler.dump_traceback_later(seconds, exit=True, file=sys.__stderr__ or sys.stderr)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()


def as_it_is(message: Message, _attempt: int) -> Message:
    """Return the message as it was put into the outbox."""
    return message


def nobody(_gateway: str, _reason: str) -> None:
    """Tell nobody that a gateway cannot be asked."""


@attrs.frozen
class Limits:
    """How long a gateway may take."""

    attempt_seconds: float = attrs.field(factory=lambda: ATTEMPT_SECONDS)
    exit_when_stuck: bool = False
    """Whether a gateway that does not heed its time limit ends this process, with exit code 1."""

    @contextmanager
    def applied(self, seconds: float) -> Iterator[None]:
        """Raise in the block after so many seconds."""
        # A plugin may catch what the time limit raises, or hang where Python code does not run.
        with exit_after(seconds + GRACE_SECONDS) if self.exit_when_stuck else nullcontext(), time_limit(seconds):
            yield


@attrs.frozen
class Turn:
    """Delivers the messages of one lane in order, as far as they can be."""

    lane: Lane
    messages: Sequence[QueuedMessage]
    outbox: Outbox
    routes: Routes
    notes: Notes
    retry: RetryPolicy
    limits: Limits
    paused: frozenset[str]
    """Gateways that are left alone now, if another one can be asked instead."""
    traces: bool
    """Whether messages hand a trace context on."""
    patience_over: bool
    """Whether the first message has been tried for so long that its next gateways may be asked too."""
    replaceable: frozenset[str]
    """Gateways that have failed for so long that those behind them may be asked for every message."""
    compose: Compose = as_it_is
    """Makes of a message, and the number of this try, what a gateway gets."""
    alarm: Alarm = nobody
    """Hears which gateway cannot even be asked, and why. Raises nothing."""

    def __call__(self, tell: Tell) -> None:
        """Deliver; raises nothing that a plugin raised."""
        with ExitStack() as lock:
            try:
                lock.enter_context(self.outbox.locks.lane(*self.lane))
            except StoreBusy:
                tell(["busy", "", ""])
                return
            except StoreError as error:
                # No room for a lock: delivering what is there is the only thing that helps.
                self.notes.complain(str(error))
            passed = False
            for message in self.messages:
                if passed and message.failures >= BLOCKING_FAILURES:
                    continue
                if self.notes.is_held(message):
                    return
                outcome = self._guarded(message, tell)
                if outcome == "kept":
                    if passed or message.failures + 1 < BLOCKING_FAILURES:
                        return
                    passed = True

    def _guarded(self, message: QueuedMessage, tell: Tell) -> str:
        first = bool(self.messages) and message is self.messages[0]
        fallback = (first and self.patience_over) or message.gateway in self.replaceable
        try:
            return self._bring(message, tell, fallback=fallback)
        except Exception as error:  # noqa: BLE001 - one message must not cost the others their turn
            self.notes.record(message, "kept", f"{type(error).__name__}: {error}", level="error")
            return "kept"

    def _bring(self, message: QueuedMessage, tell: Tell, *, fallback: bool) -> str:
        """Ask the gateways of one message in turn; return ``delivered``, ``dropped``, ``given_up`` or ``kept``."""
        if message.fault:
            self._give_up(message, message.fault)
            return "given_up"
        if self.notes.drop_unwanted(message):
            return "dropped"
        routes = self.routes.of(message)
        refused = {one: mark for one, mark in message.refused.items() if one not in routes}
        unusable: set[str] = set()
        reasons: list[tuple[str, str]] = []
        pause = self.retry.wait(message.failures + 1)
        asked_pauses: list[float] = []
        for number, gateway in enumerate(routes):
            if number and not (fallback or all(one in refused or one in unusable for one in routes[:number])):
                break
            if fallback and gateway in self.paused and any(one not in self.paused for one in routes):
                continue
            tell(["begin", gateway, message.id])
            found = self._gateway(gateway)
            if isinstance(found, str):
                unusable.add(gateway)
                self.alarm(gateway, found)
            result = self._attempt(message, gateway, found, pause, tell, fallback=bool(reasons))
            if result is _DROPPED:
                return "dropped"
            if result.delivered:
                return "delivered"
            reasons.append((gateway, result.reason))
            if result.retry:
                asked_pauses.append(self.retry.asked(result.retry_after))
            else:
                refused[gateway] = self.routes.fingerprint([gateway])
        several = len(message.gateways) > 1
        reason = "; ".join(f"{gateway}: {text}" if several else text for gateway, text in reasons)
        if all(one in refused for one in routes):
            self._give_up(message, reason, refused)
            return "given_up"
        if self.retry.is_over(message.tried_seconds()):
            self._give_up(message, f"tried for {KEEP_TRYING / 3600:g} hours; the last time: {reason}", refused)
            return "given_up"
        pause = max(pause, min(asked_pauses, default=0.0))
        if len(routes) > 1 and not fallback:
            pause = min(pause, max(0.0, self.routes.fallback_after(message) - message.tried_seconds()))
        next_attempt_at = iso(now() + pause) if pause > 0 else None
        mark = self.routes.fingerprint(message.gateways) if unusable else ""
        self.notes.failed(message.id, reason, next_attempt_at=next_attempt_at, refused=refused, unusable=mark)
        self.notes.record(message, "kept", reason, level="warning")
        return "kept"

    def _attempt(
        self,
        message: QueuedMessage,
        gateway: str,
        found: tuple[Gateway, Any] | str,
        pause: float,
        tell: Tell,
        *,
        fallback: bool,
    ) -> SendResult:
        """Ask one gateway once, with the count before it, and record a delivery."""
        usable = not isinstance(found, str)
        try:
            counted = self.outbox.tries.begin(message.id, pause, fallback=fallback, asked=usable)
            if counted is None:
                tell(["dropped", gateway, message.id])
                return _DROPPED
        except StoreError as error:
            # A full disk: delivering what is there is the only thing that helps.
            self.notes.complain(f"the attempt could not be counted: {error}")
            counted = message._replace(then=())
        if isinstance(found, str):
            tell(["failed", gateway, message.id])
            return SendResult(delivered=False, reason=found)
        started = time.monotonic()
        result = self._ask(counted, gateway, *found)
        if result.delivered:
            counted = _with_closing(counted, gateway, result.receipt)
            self.notes.delivered(counted)
            elapsed = round((time.monotonic() - started) * 1000, 1)
            self.notes.record(message, "delivered", result.reason, level="info", gateway=gateway, ms=elapsed)
        tell(["delivered" if result.delivered else "failed" if result.retry else "refused", gateway, message.id])
        return result

    def _give_up(self, message: QueuedMessage, reason: str, refused: Mapping[str, str] | None = None) -> None:
        if message.closes is not None:
            self.notes.drop_unclosed(message, reason)
            return
        given_up = self.routes.fingerprint(message.gateways)
        self.notes.failed(message.id, reason, given_up=given_up, refused=refused)
        self.notes.record(message, "given_up", reason, level="error")

    def _ask(self, message: QueuedMessage, name: str, gateway: Gateway, settings: Any) -> SendResult:
        kind, table = self.routes.config.gateway(name) or ("", {})
        outgoing = self.compose(message.for_gateway(name), message.attempts)
        limit, timeout = self.limits.attempt_seconds, table.get("timeout")
        if isinstance(timeout, int | float):
            limit = max(limit, timeout + 60)
        try:
            with self.limits.applied(limit), handed_on(self._trace(message), os.environ):
                result: object = _asked(gateway, outgoing, message.closes, settings)
                fault = _fault(result)
        except BaseException as error:  # noqa: BLE001 - whatever a plugin raises is a failed try
            return SendResult(delivered=False, reason=f"{type(error).__name__}: {error}")
        if fault or not isinstance(result, SendResult):
            place = f"{type(gateway).__module__}.{type(gateway).__qualname__}"
            called = "deliver()" if message.closes is None else "close()"
            said = f"{PLUGIN_FAULT}{kind!r}: {called} of {place} returned {fault}"
            return SendResult(delivered=False, reason=said, retry=False)
        return result

    def _trace(self, message: QueuedMessage) -> TraceContext | None:
        """Return the trace context that goes with a message; None if it is not asked for, or the message has none."""
        if not self.traces or not message.tool_use_id:
            return None
        trace = trace_id(message.session_id, message.tool_use_id)
        return TraceContext(trace, span_id(trace, message.id))

    def _gateway(self, name: str) -> tuple[Gateway, Any] | str:
        """Return a gateway with its settings, or why there is none."""
        config = self.routes.config
        found = config.gateway(name)
        if found is None:
            broken = f"; {config.problems[0]}" if config.problems else ""
            return f"config.toml has no [gateways.{name}]{broken}"
        kind, table = found
        gateway = self.routes.gateways.get(kind)
        if gateway is None:
            known = ", ".join(sorted(self.routes.gateways)) or "none"
            return (
                f"config.toml: gateways.{name}.type: no active plugin provides a gateway {kind!r}; there are: {known}"
            )
        try:
            with self.limits.applied(CHECK_SECONDS):
                settings, problems = read_gateway_settings(gateway, name, table)
        except GatewayFault as error:
            return f"gateway {name!r}: {error}"
        except BaseException as error:  # noqa: BLE001 - whatever a plugin raises is that plugin's failure
            return f"gateway {name!r}: check() raised {type(error).__name__}: {error}"
        if problems:
            return "; ".join(f"config.toml: {problem.line}" for problem in problems)
        return gateway, settings


def _asked(gateway: Gateway, message: Message, closes: Sent | None, settings: Any) -> SendResult:
    """Have a gateway deliver a message, or close another one with it."""
    if closes is None:
        return gateway.deliver(message, settings)
    return gateway.close(message, closes, settings)


def _with_closing(message: QueuedMessage, gateway: str, receipt: Mapping[str, str] | None) -> QueuedMessage:
    """Return a delivered message with what closes it later, if its gateway can."""
    entry = None if receipt is None else closing(message, gateway, receipt)
    return message if entry is None else message._replace(then=(*message.then, entry))


def _fault(result: object) -> str:
    """Return what is wrong with a gateway's answer, empty for nothing."""
    if not isinstance(result, SendResult):
        return f"{result!r}, not a SendResult"
    kinds = {"delivered": bool, "reason": str, "retry": bool, "retry_after": int | float | None}
    wrong = [field for field, kind in kinds.items() if not isinstance(getattr(result, field), kind)]
    receipt: object = result.receipt
    if receipt is not None and not (
        isinstance(receipt, Mapping) and all(isinstance(one, str) for pair in receipt.items() for one in pair)
    ):
        wrong.append("receipt")
    return f"a SendResult whose {wrong[0]} is {getattr(result, wrong[0])!r}" if wrong else ""
