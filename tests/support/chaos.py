"""Everything that can happen to the router while forms are answered through it."""

from __future__ import annotations

import collections
import contextlib
import json
import os
import random
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import hookrouter
from hookrouter import _fronts
from hookrouter._sandbox.stage import Stage
from hookrouter._serving import address
from hookrouter.serving import control
from hookrouter.util.program import script_argv
from support.resident import Resident

__all__ = ["Chaos", "front_command", "through_front"]

_FILLER = "filler"


def front_command(kind: str, folder: Path) -> list[str]:
    """Return the words that start a front; the native one is compiled in ``folder``. Raises RuntimeError."""
    sources = Path(_fronts.__path__[0])
    if kind == "python":
        return [sys.executable, "-SP", str(sources / "python_front.py")]
    compiler = shutil.which("cc")
    if compiler is None:
        raise RuntimeError("no C compiler")
    program = folder / "native"
    subprocess.run([compiler, "-std=c11", "-O2", "-o", program, sources / "native.c"], check=True)
    return [str(program)]


def through_front(stage: Stage, front: Sequence[str]) -> None:
    """Put a front before every command of hookrouter's in the stage's settings."""
    cold = shlex.join([*script_argv(), "run"])
    words = shlex.join([*front, stage.home.router])
    settings = stage.client_home.read_settings()
    for groups in settings["hooks"].values():
        for handler in (handler for group in groups for handler in group["hooks"]):
            handler["command"] = handler["command"].replace(cold, f"{words} {cold}")
    stage.client_home.write_settings(settings)


class Chaos:
    """A router of a stage, and a thread that does one thing to it after the other, for one ``with`` block."""

    def __init__(
        self, stage: Stage, front: Sequence[str], seed: int, *, disk: str = "", moves_clock: bool = False
    ) -> None:
        """``seed`` decides what happens, but not when: that is up to the machine.

        ``disk`` is the folder of a file system of the stage's own, which may be filled. ``moves_clock``: the machine's
        clock may be set, and is set back.
        """
        self._stage = stage
        self._random = random.Random(seed)
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._go_on)
        self._moves_clock = moves_clock
        self._disk = disk
        self._calls = 0
        self._counted: dict[str, int] = {}
        self.done: collections.Counter[str] = collections.Counter()
        """How often each thing was done."""
        self.faults: list[str] = []
        """What went wrong with the router itself, or was handled twice or lost."""
        through_front(stage, front)
        self._router = Resident(stage.environ)
        self._front = list(front)

    def __enter__(self) -> Chaos:
        """Start the router, and the thread."""
        self._router.start()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End both, and look at what the hooks have written."""
        self._is_over.set()
        self._thread.join()
        with contextlib.suppress(OSError):
            self._router.send_signal(signal.SIGCONT)
        self._note_calls()
        self._router.kill()
        self.faults += handled_wrongly(self._stage)

    @property
    def served(self) -> int:
        """How many calls the routers have served, as far as they could be asked before they ended."""
        return self._calls

    def between_forms(self) -> None:
        """Now and then, fill the disk, and have a hook run on it."""
        if self._random.random() > 0.15 or not self._disk:
            return
        self.done["disk full"] += 1
        filler = os.path.join(self._disk, _FILLER)
        with contextlib.suppress(OSError), open(filler, "wb", buffering=0) as file:
            while True:
                file.write(b"x" * 65536)
        payload = {"session_id": "disk", "transcript_path": "", "cwd": "/", "hook_event_name": "Stop"}
        words = [*self._front, self._stage.home.router, *script_argv(), "run", "stop"]
        ran = subprocess.run(
            words, input=json.dumps(payload).encode(), env=self._stage.environ, capture_output=True, check=False
        )
        os.unlink(filler)
        if ran.returncode or ran.stdout:
            self.faults.append(f"a hook on a full disk: {ran}")

    def _go_on(self) -> None:
        actions: dict[str, Callable[[], object]] = {
            "killed": self._kill,
            "stood still": self._stop,
            "told to end": self._end,
            "restarted": lambda: self._router.send_signal(signal.SIGHUP),
            "socket removed": lambda: os.unlink(os.path.join(self._router.folder, address.CALLS)),
            "folder removed": lambda: shutil.rmtree(self._router.folder),
            "upgraded": self._upgrade,
        }
        if self._moves_clock:
            actions["clock moved"] = self._move_clock
        while not self._is_over.wait(self._random.uniform(0.1, 2.5)):
            name = self._random.choice(sorted(actions))
            self._note_calls()
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                try:
                    actions[name]()
                except TimeoutError as error:
                    self.faults.append(f"{name}: {error}")
                self.done[name] += 1

    def _kill(self) -> None:
        self._router.kill()
        self._is_over.wait(self._random.uniform(0, 2))
        self._router.start()

    def _end(self) -> None:
        self._router.kill(signal.SIGTERM)
        self._is_over.wait(self._random.uniform(0, 1))
        self._router.start()

    def _stop(self) -> None:
        self._router.send_signal(signal.SIGSTOP)
        self._is_over.wait(self._random.uniform(0.1, 4))
        self._router.send_signal(signal.SIGCONT)

    def _upgrade(self) -> None:
        """Write a file of hookrouter's again, as an installer does; it says the same."""
        file = os.path.join(os.path.dirname(hookrouter.__file__), "replies.py")
        with open(file, "ab"):
            os.utime(file)

    def _move_clock(self) -> None:
        began, real = time.monotonic(), time.clock_gettime(time.CLOCK_REALTIME)
        time.clock_settime(time.CLOCK_REALTIME, real + self._random.choice([-3600, 3600]))
        self._is_over.wait(self._random.uniform(0.1, 3))
        time.clock_settime(time.CLOCK_REALTIME, real + time.monotonic() - began)

    def _note_calls(self) -> None:
        """Add up what the router has served: a new boot counts from zero."""
        with contextlib.suppress(control.NotServedError):
            status = control.ask(self._router.folder)
            boot, calls = status["boot"], status["calls"]
            self._calls += calls - self._counted.get(boot, 0)
            self._counted[boot] = calls


def handled_wrongly(stage: Stage) -> list[str]:
    """Return which questions of a stage were saved, brought to their agent or compared not exactly once."""
    asked = {payload["tool_use_id"] for payload in stage.payloads("PreToolUse")}
    answered = {payload["tool_use_id"] for payload in stage.payloads("PostToolUse")}
    journal = [record for record in stage.journal() if record.get("tool_use_id") in asked]

    def counted(**wanted: Any) -> collections.Counter[str]:
        found = (one for one in journal if all(one.get(key) == value for key, value in wanted.items()))
        return collections.Counter(str(one["tool_use_id"]) for one in found)

    counts = {
        "saved": (counted(event="PreToolUse", outcome="asked"), asked),
        "brought to the agent": (counted(event="delivery", outcome="delivered", kind="question"), asked),
        "compared": (counted(event="PostToolUse", outcome="verified"), answered),
    }
    return [
        f"{identifier} was {what} {count[identifier]} times"
        for what, (count, wanted) in counts.items()
        for identifier in sorted(wanted)
        if count[identifier] != 1
    ]
