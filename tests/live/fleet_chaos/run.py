"""Runs a fleet with its clients and its troubles, and judges what was seen."""

from __future__ import annotations

import collections
import math
import random
import shutil
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import attrs

from live.fleet_chaos.client import Session
from live.fleet_chaos.commands import Commands
from live.fleet_chaos.database import database
from live.fleet_chaos.events import Answered, Asked, Events, Sent, Submitted, Told, Tried
from live.fleet_chaos.gateway import Gateway
from live.fleet_chaos.judge import breaches
from live.fleet_chaos.machine import Machine
from live.fleet_chaos.trouble import Trouble
from support.chaos import front_command

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Result", "Size", "run"]

_NAMES = ("m1", "m2", "m3")
_PER_SESSION = 20
"""Questions of one session, at most."""
_TELL = 20.0
"""Seconds between two lines about how far it is."""
_MESSAGES_COME = 120.0
"""Seconds after the last question in which the last messages must come."""


@attrs.frozen
class Size:
    """How large a run is."""

    questions: int
    items: int
    at_once: int
    """Sessions that run at the same time."""
    minutes: float = 0
    """After so many nothing more is asked; 0 for no limit."""


@attrs.frozen
class Result:
    """What came of a run."""

    breaches: list[str]
    line: str
    """All figures, with the seed."""
    events: Events


def run(size: Size, seed: int, tell: Callable[[str], None], keep: Path | None = None) -> Result:
    """Have a fleet answer questions and take items in trouble; ``tell`` hears how far it is.

    If anything went wrong, what the machines have is copied to ``keep``.
    """
    events = Events()
    faults: list[str] = []
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="hookrouter-fleet-")))
        base = stack.enter_context(database())
        can_fill = stack.enter_context(base.small_disk())
        gateway = stack.enter_context(Gateway(events, seed))
        front = front_command("native" if shutil.which("cc") else "python", folder)
        commands = stack.enter_context(Commands())
        machines = [Machine(folder, name, gateway.url, base.dsn, front, commands) for name in _NAMES]
        for machine in machines:
            stack.callback(machine.close)
            machine.start()
        began = time.monotonic()
        with Trouble(base, machines, seed, can_fill=can_fill) as trouble:
            faults += _played(size, seed, machines, events, tell)
        took = time.monotonic() - began
        faults += [f"the run itself failed: {fault}" for fault in trouble.failed]
        _wait_for_messages(events)
        faults += breaches(events)
        if faults and keep is not None:
            # Sockets cannot be copied, and some files go meanwhile.
            with suppress(shutil.Error):
                shutil.copytree(folder, keep, symlinks=True, ignore=shutil.ignore_patterns("router", "native"))
    return Result(faults, _line(events, faults, seed, took, trouble.done, can_fill=can_fill), events)


def _played(size: Size, seed: int, machines: list[Machine], events: Events, tell: Callable[[str], None]) -> list[str]:
    """Play all sessions; return what broke in the clients themselves."""
    sessions = max(1, -(-size.questions // _PER_SESSION), min(size.at_once, size.questions // 4))
    end = time.monotonic() + size.minutes * 60 if size.minutes else math.inf

    def play(number: int) -> None:
        if time.monotonic() < end:
            chances = random.Random(f"session {number} {seed}")
            questions, items = (len(range(number, total, sessions)) for total in (size.questions, size.items))
            Session(machines, events, chances).play(questions, items, end)

    pool = ThreadPoolExecutor(size.at_once)
    try:
        futures = [pool.submit(play, number) for number in range(sessions)]
        left = set(futures)
        while left:
            _, left = wait(left, timeout=_TELL)
            tell(
                f"{sessions - len(left)} of {sessions} sessions, {len(events.of(Answered))} answers, "
                f"{len(events.of(Submitted))} items"
            )
    finally:
        # If it is interrupted, nobody waits for what is not there any more.
        pool.shutdown(wait=False, cancel_futures=True)
    errors = [error for future in futures if (error := future.exception()) is not None]
    return [f"a client broke: {type(error).__name__}: {error}" for error in errors]


def _wait_for_messages(events: Events) -> None:
    deadline = time.monotonic() + _MESSAGES_COME
    # Those that were answered before need none.
    missing = {asked.question for asked in events.of(Asked)} - {one.question for one in events.of(Answered)}
    while missing and time.monotonic() < deadline:
        missing = {question for question in missing if not events.is_told(question)}
        threading.Event().wait(0.2)


def _line(
    events: Events, faults: list[str], seed: int, took: float, done: collections.Counter[str], *, can_fill: bool
) -> str:
    answers, tried, told = events.of(Answered), events.of(Tried), events.of(Told)
    outcomes = collections.Counter(one.outcome or f"exit {one.code}" for one in tried)
    words = [
        f"seed {seed}",
        f"{len(events.of(Asked))} questions, {len(events.of(Submitted))} of {len(events.of(Sent))} sent items",
        f"{took:.0f} s, {len(answers) / took:.2f} questions/s",
        f"by a person {sum(one.by_person for one in answers)}",
        "tries: " + ", ".join(f"{name} {count}" for name, count in sorted(outcomes.items())),
        f"{len(told)} messages",
        "happened: " + ", ".join(f"{name} {count}" for name, count in sorted(done.items())),
        *([] if can_fill else ["the disk could not be filled: this user may not mount"]),
        f"{len(faults)} breaches",
    ]
    return "; ".join(words)
