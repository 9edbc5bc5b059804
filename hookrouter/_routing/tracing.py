"""``HOOKROUTER_TRACE``: one hook run told step by step, with what each step took and imported.

Loaded only if the variable is set. Stdout is Claude Code's, so the lines go to stderr if that is a terminal, and
to ``logs/trace.log`` else; ``HOOKROUTER_TRACE=stderr`` means stderr whatever it is, for calls by hand: on the events
that block by exit code 2 Claude Code takes stderr for the reason.
"""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING

from hookrouter.storage.journal import cap
from hookrouter.storage.logs import LOG_FLAGS, prepare_log
from hookrouter.util import fastjson
from hookrouter.util.clock import iso
from hookrouter.util.text import printable

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from hookrouter.replies import Reply
    from hookrouter.storage.home import Home

__all__ = ["STDERR", "VARIABLE", "Trace", "shown", "start"]

VARIABLE = "HOOKROUTER_TRACE"
"""The environment variable: empty or missing for no trace."""

STDERR = "stderr"
"""The value that sends the trace to stderr."""

_LOG = "trace.log"
_MAX_STRING = 200
_MAX_MODULES = 12


def start(environ: Mapping[str, str], home: Home, stderr: int, began: float) -> Trace:
    """Open the trace of this run, which began at that time of :func:`time.perf_counter`.

    ``stderr`` is the descriptor of the process's own stderr. Raises OSError if the log cannot be opened.
    """
    if environ.get(VARIABLE) == STDERR or os.isatty(stderr):
        # One of its own, which stays open if plugins have a process of theirs.
        return Trace(os.dup(stderr), began)
    return Trace(os.open(prepare_log(home, _LOG), LOG_FLAGS, 0o600), began)


class Trace:
    """Writes the lines of one run, each at once, so that a run that is killed shows how far it came."""

    def __init__(self, descriptor: int, began: float) -> None:
        """Write to a descriptor; times count from ``began``, a time of :func:`time.perf_counter`."""
        self._descriptor = descriptor
        self._began = began
        self._known = set(sys.modules)
        self(f"{iso()} run begins in process {os.getpid()}, {len(self._known)} modules loaded")

    def __call__(self, text: str) -> None:
        """Write a line: the milliseconds since the run began, what happened, and what was imported meanwhile."""
        elapsed = (time.perf_counter() - self._began) * 1000
        fresh = [name for name in sys.modules if name not in self._known]
        self._known.update(fresh)
        line = f"[{os.getpid()}] {elapsed:9.2f} ms  {printable(text)}{_imports(fresh)}\n"
        try:
            os.write(self._descriptor, line.encode("utf-8", "backslashreplace"))
        except OSError:
            return

    def call(self, entry: Mapping[str, Any]) -> None:
        """Write what came of a plugin's call, as the journal has it."""
        facts = [f"{entry.get('plugin')} {entry.get('hook')}: {entry.get('outcome')} after {entry.get('ms')} ms"]
        facts += [f"{key} {entry[key]}" for key in ("error", "left") if entry.get(key)]
        self(", ".join(facts))

    def reply(self, plugin: str, reply: Mapping[str, Any]) -> None:
        """Write what a plugin replied."""
        self(f"{plugin} says {fastjson.dumps(cap(reply, _MAX_STRING))}")


def shown(reply: Reply) -> dict[str, Any]:
    """Return what a reply says, as JSON values for a record; what it leaves open is left out."""
    said = cap({name: value for name, value in reply._items() if value})
    return said if isinstance(said, dict) else {}


def _imports(modules: list[str]) -> str:
    """Return in words what was imported: hookrouter's own modules by name, of others the packages."""
    names = dict.fromkeys(
        name if name.startswith("hookrouter") else name.partition(".")[0] for name in modules if name[:1] != "_"
    )
    if not names:
        return ""
    listed = list(names)
    more = f" and {len(listed) - _MAX_MODULES} more" if len(listed) > _MAX_MODULES else ""
    return f"  [{len(modules)} modules: {', '.join(listed[:_MAX_MODULES])}{more}]"
