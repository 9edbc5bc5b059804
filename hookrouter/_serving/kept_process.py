"""A resident process as the router keeps it: started as its plan says, and again, after growing pauses, if it ends."""

from __future__ import annotations

import os
import signal
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from hookrouter._serving.kept_sockets import KeptSockets, is_address
from hookrouter.serving.log import say
from hookrouter.serving.resident import ALWAYS, ON_CONNECTION, ON_ERRAND, Plan, State
from hookrouter.util.text import describe_error, describe_value
from hookrouter.util.time_limit import time_limit

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, TypeVar

    from hookrouter.serving.resident import Place, ResidentProcess

    T = TypeVar("T")

__all__ = ["GrowingPause", "KeptProcess"]

FIRST_PAUSE = 1.0
LONGEST_PAUSE = 60.0
"""Seconds before a process that has failed is begun anew: twice as many after each time, up to this."""

ADDRESS_PAUSE = 0.2
LONGEST_ADDRESS_PAUSE = 15.0
"""Seconds before an address is tried again that cannot be had, in the same way."""

WELL = 60.0
"""Seconds that a process must have run for its end to be taken as the first one."""

ASKING_SECONDS = 1.0
"""How long a plugin may take to say how its process is to run; meanwhile no call is taken."""

WORD = "--kept"
"""The first argument after ``serve`` of such a process: its name, its target, the router's process id and the
descriptors of its sockets follow."""


class KeptProcess:
    """One resident process of a home; its parent is the process that makes this."""

    def __init__(
        self, process: ResidentProcess, folder: str, inherited: Mapping[str, int], *, may_name_sockets: bool = False
    ) -> None:
        """Take over the sockets that a former router has handed over; nothing is started.

        ``folder`` is where unix sockets are. ``may_name_sockets``: theirs need not begin with the name of the process.
        """
        self.process = process
        self.name = process.name
        self.pid = 0
        """0 while none runs."""
        self._sockets = KeptSockets(folder, inherited)
        self._may_name_sockets = may_name_sockets
        self._plan: Plan | None = None
        self._began = self._not_before = 0.0
        self._pause = GrowingPause(FIRST_PAUSE, LONGEST_PAUSE)
        self._address_pause = GrowingPause(ADDRESS_PAUSE, LONGEST_ADDRESS_PAUSE)
        self._problem = self._ended = self._told = ""

    @property
    def waits_for_connection(self) -> bool:
        """Whether it is of those that somebody's connection starts."""
        return self._plan is not None and self._plan.when == ON_CONNECTION

    def tend(self, place: Place) -> None:
        """Begin it if it is due, and end one that is planned otherwise by now. Raises nothing."""
        plan, is_new = self._asked(place)
        if is_new:
            self.stop()
            self._plan, self._not_before, self._problem, self._ended = plan, 0.0, "", ""
            self._pause.reset()
            self._address_pause.reset()
        if plan is None or plan.problem:
            self._sockets.remove()
            self._problem = plan.problem if plan is not None else ""
        elif time.monotonic() >= self._not_before and (not self.pid or self._problem):
            self._try(plan, place)
        self._tell()

    def next_due(self) -> float:
        """Return in how many seconds :meth:`tend` has something to do; infinity if it is left to the regular looks."""
        plan, now = self._plan, time.monotonic()
        if plan is None or plan.problem or (self.pid and not self._problem):
            return float("inf")
        if now < self._not_before:
            return self._not_before - now
        is_waiting = plan.when == ON_ERRAND or (plan.when == ON_CONNECTION and self._is_listening(plan))
        return float("inf") if is_waiting else 0.0

    def awaited(self) -> list[int]:
        """Return the descriptors of which one becomes readable when it is to begin."""
        if not self.waits_for_connection or self.pid or time.monotonic() < self._not_before:
            return []
        return self._sockets.descriptors()

    def begin(self) -> None:
        """Start it. Raises nothing."""
        if self._plan is None:
            return
        self._began = time.monotonic()
        try:
            with self._sockets.inheritable((*self._plan.addresses, *self._plan.sockets)) as numbers:
                words = ["serve", WORD, self.name, self.process.target, str(os.getpid()), *numbers]
                self.pid = os.posix_spawn(
                    sys.executable, [sys.executable, "-P", "-m", "hookrouter", *words], os.environ
                )
        except OSError as error:
            self._retry(describe_error(error))
            self._tell()

    def ended(self, pid: int, exit_code: int) -> bool:
        """Note that a child has ended; return whether it was this one."""
        if not pid or pid != self.pid:
            return False
        self.pid = 0
        if self._plan is not None and self._plan.when != ALWAYS and not exit_code:
            self._pause.reset()
            self._ended = ""
        else:
            self._retry(f"exit code {exit_code}")
        self._tell()
        return True

    def stop(self) -> None:
        """Have it take no new connection and end; forget it."""
        if self.pid:
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGTERM)
        self.pid = 0

    def status(self) -> dict[str, Any] | None:
        """Return what the router's status says of it; None if none is asked for. Raises nothing."""
        plan = self._plan
        if plan is None:
            return None
        try:
            return self._limited(lambda: self.process.status(plan, self._state()))
        except BaseException as error:  # noqa: BLE001 - it is a plugin's, and this is the router
            return {"pid": self.pid, "problem": f"its status() failed: {describe_error(error)}"}

    def hand_over(self) -> dict[str, int]:
        """Let the program that takes the place of this one have the sockets; return their descriptors."""
        return self._sockets.hand_over()

    def let_go(self) -> None:
        """Close the sockets in this process alone."""
        self._sockets.close()

    def remove(self) -> None:
        """Close the sockets; whoever connects is refused."""
        self._sockets.remove()

    def _state(self) -> State:
        return State(
            name=self.name, pid=self.pid, listens=self._sockets.places, problem=self._problem, ended=self._ended
        )

    def _asked(self, place: Place) -> tuple[Plan | None, bool]:
        """Return the plan of this moment, and whether it is another one. One that cannot be used is a problem."""
        try:
            plan = self._limited(lambda: self.process.plan(place))
            fault = "" if plan is None else self._fault(plan)
            if not fault:
                return plan, self._limited(lambda: bool(plan != self._plan))
        except BaseException as error:  # noqa: BLE001 - it is a plugin's, and this is the router
            fault = f"its plan() failed: {describe_error(error)}"
        return (unusable := Plan(problem=fault)), self._plan is None or self._plan.problem != unusable.problem

    def _fault(self, plan: object) -> str:
        if not isinstance(plan, Plan):
            return f"its plan() returned {describe_value(plan)}, which is no Plan"
        if plan.when not in (ALWAYS, ON_CONNECTION, ON_ERRAND):
            return f"its plan says when={describe_value(plan.when)}"
        depends = plan.depends
        # It is the plugin's, and compares as it likes. One that cannot be compared would be a new plan at each look.
        if not self._limited(lambda: bool(depends == depends)):
            return f"its plan depends on {describe_value(depends)}, which is not equal to itself"
        for one in plan.addresses:
            if not is_address(one):
                return f"its plan has the address {describe_value(one)}, which is no HOST:PORT"
        for one in plan.sockets:
            is_own = one == self.name or one.startswith(f"{self.name}-") or self._may_name_sockets
            if not is_own or is_address(one) or "/" in one:
                return f"its plan has the socket {describe_value(one)}; call it {self.name!r} or {self.name + '-...'!r}"
        return ""

    def _try(self, plan: Plan, place: Place) -> None:
        """Make the sockets that are missing, and begin it if it is due."""
        problems = self._sockets.make((*plan.addresses, *plan.sockets))
        had_problem, self._problem = bool(self._problem), "; ".join(problems)
        if problems:
            self._not_before = time.monotonic() + self._address_pause.take()
        else:
            self._address_pause.reset()
        if self.pid:
            if had_problem and not problems:
                # It was given its sockets when it began.
                self.stop()
            else:
                return
        if self._is_listening(plan) and self._is_wanted(plan, place):
            self.begin()

    def _is_listening(self, plan: Plan) -> bool:
        """Whether there is a socket by which it can be reached, or none is asked for; unix sockets are all needed."""
        there = self._sockets.places
        return set(plan.sockets) <= set(there) and bool(there or not plan.addresses)

    def _is_wanted(self, plan: Plan, place: Place) -> bool:
        if plan.when != ON_ERRAND:
            return plan.when == ALWAYS
        try:
            return bool(self._limited(lambda: self.process.is_due(place)))
        except BaseException as error:  # noqa: BLE001 - it is a plugin's, and this is the router
            self._problem = f"its is_due() failed: {describe_error(error)}"
            return False

    def _limited(self, ask: Callable[[], T]) -> T:
        with time_limit(ASKING_SECONDS):
            return ask()

    def _retry(self, how: str) -> None:
        """Note how it ended, and when it may begin again."""
        now = time.monotonic()
        if now - self._began >= WELL:
            self._pause.reset()
        self._ended = how
        if self._pause.has_grown:
            # It does not come up. Better refused than kept waiting.
            self._sockets.remove()
        self._not_before = now + self._pause.take()

    def _tell(self) -> None:
        """Say what is wrong, once."""
        trouble = self._state().trouble
        if trouble and trouble != self._told:
            say(f"{'' if self.pid else 'no '}{self.name}: {trouble}", event=self.name)
        self._told = trouble


class GrowingPause:
    """How long to wait before something is tried again: twice as long after each time."""

    def __init__(self, first: float, longest: float) -> None:
        """Both in seconds."""
        self._first = first
        self._longest = longest
        self._seconds = first

    @property
    def has_grown(self) -> bool:
        """Whether the next pause is not the first one."""
        return self._seconds > self._first

    def reset(self) -> None:
        """Begin with the first one again."""
        self._seconds = self._first

    def take(self) -> float:
        """Return the next pause in seconds."""
        seconds = self._seconds
        self._seconds = min(2 * seconds, self._longest)
        return seconds
