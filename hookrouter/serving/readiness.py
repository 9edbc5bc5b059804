"""Whether a home can take hooks and answers now: what ``/readyz`` tells a probe, at the monitor and at the page.

Names states and nothing else: no path, no address, no text of an error, because probes have no login.
"""

from __future__ import annotations

import tempfile
import time
from typing import TYPE_CHECKING, NamedTuple

from hookrouter.config import FILES
from hookrouter.serving import control
from hookrouter.serving.log import say
from hookrouter.storage.progress import read_progress
from hookrouter.util.text import describe_error

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookrouter.config import Config
    from hookrouter.serving.resident import Place
    from hookrouter.storage.home import Home

__all__ = ["ENGINE_REQUIRED", "LIVE", "READY", "Readiness", "look", "probed"]

LIVE, READY = "/healthz", "/readyz"
"""The paths of the probes."""

ENGINE_REQUIRED = "engine=required"
"""The query by which a probe wants the engine to be reached, too."""

SILENT_SECONDS = 30.0
"""Seconds after which an engine that was not reached counts as away: it is asked every five at least."""

FRESH_SECONDS = 0.5
"""Seconds for which what was found holds, however many probes ask."""


class Readiness(NamedTuple):
    """How a home stands."""

    router: str
    """``answers`` or ``silent``."""
    state: str
    """``writable`` or ``not writable``: the state folder."""
    engine: str
    """``files``, ``reached``, or ``local`` while this machine works without the engine that it shares."""

    def is_ready(self, *, engine_required: bool = False) -> bool:
        """Whether hooks and answers are taken; with ``engine_required`` also whether other machines are seen."""
        return (
            self.router == "answers" and self.state == "writable" and not (engine_required and self.engine == "local")
        )

    def document(self, *, engine_required: bool = False) -> dict[str, object]:
        """Return what a probe is told."""
        return {"ready": self.is_ready(engine_required=engine_required), **self._asdict()}


_FAILING = {"ready": False, "program": "failing"}
"""What a probe is told if it cannot be looked."""

_last: tuple[float, str, Readiness] | None = None


def probed(place: Callable[[], Place], *, engine_required: bool) -> tuple[int, dict[str, object]]:
    """Return the HTTP status and the document for a probe; ``place`` returns the home and its
    configuration of now. Raises nothing.

    What cannot be read or imported, as while hookrouter is being installed anew, is said on stderr.
    """
    try:
        now = place()
        found = look(now.home, now.config)
    except Exception as error:  # noqa: BLE001 - whatever is broken, a probe is to hear that it is
        say(f"{READY}: {describe_error(error)}", event="probe", level="error")
        return 503, dict(_FAILING)
    status = 200 if found.is_ready(engine_required=engine_required) else 503
    return status, found.document(engine_required=engine_required)


def look(home: Home, config: Config) -> Readiness:
    """Return how a home stands. Takes three seconds if its router hangs; raises nothing."""
    global _last
    if _last is not None and _last[1] == home.state and time.monotonic() - _last[0] < FRESH_SECONDS:
        return _last[2]
    found = Readiness(_router(home), _state(home), _engine(home, config))
    _last = time.monotonic(), home.state, found
    return found


def _router(home: Home) -> str:
    try:
        control.ask(home.router)
    except control.NotServedError:
        return "silent"
    return "answers"


def _state(home: Home) -> str:
    """Try it: rights alone do not tell of a disk that is full."""
    try:
        with tempfile.TemporaryFile(dir=home.state) as file:
            file.write(b"x")
            file.flush()
    except OSError:
        return "not writable"
    return "writable"


def _engine(home: Home, config: Config) -> str:
    if config.storage.engine == FILES:
        return FILES
    progress = read_progress(home)
    age = progress.age()
    return "local" if age is None or age >= SILENT_SECONDS or progress.failing else "reached"
