"""The lines that processes in the background write to stderr: for people, or as JSON for a collector of logs.

``HOOKROUTER_LOG_FORMAT=json`` asks for JSON: one object in a line, with ``at``, ``level``, ``process``, ``event``,
``machine``, ``pid`` and ``text``. The same lines go into files of ``logs/`` or to where a container's output is read.
"""

from __future__ import annotations

import os
import sys

from hookrouter.util import fastjson
from hookrouter.util.clock import iso
from hookrouter.util.text import printable

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["FORMAT_VARIABLE", "JSON", "begin", "is_structured", "take_over_logging", "tell"]

FORMAT_VARIABLE = "HOOKROUTER_LOG_FORMAT"
JSON = "json"


def _no_name() -> str:
    return ""


_process = ""
_machine: Callable[[], str] = _no_name
_is_json = False


def begin(process: str, machine: Callable[[], str] = _no_name) -> None:
    """Say what this process is called in its lines, and how to find what config.toml calls the machine, if it does.

    A process that was forked from one that writes JSON does so, too: its environment may be a hook's.
    """
    global _process, _machine, _is_json
    _process, _machine = process, machine
    _is_json = _is_json or os.environ.get(FORMAT_VARIABLE) == JSON


def is_structured() -> bool:
    """Whether this process writes JSON."""
    return _is_json


def tell(text: str, *, event: str, level: str = "warning", name: str = "") -> None:
    """Write one line; raises nothing.

    ``event`` is a word for what the line is about; ``name`` stands before the text if it is for people.
    """
    try:
        sys.stderr.write(f"{_line(printable(text), event, level) if _is_json else _plain(printable(text), name)}\n")
        sys.stderr.flush()
    except (OSError, ValueError, AttributeError):
        # Whoever read it is gone, and what is said is no reason to end.
        return


def take_over_logging() -> None:
    """Have what libraries log, at warning and above, written as JSON too; nothing is changed for people."""
    if not _is_json:
        return
    import logging

    class _Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            tell(record.getMessage(), event=f"library {record.name}", level=record.levelname.lower())

    logging.getLogger().addHandler(_Handler(logging.WARNING))


def _plain(text: str, name: str) -> str:
    return f"{iso()} {name}: {text}" if name else f"{iso()} {text}"


def _line(text: str, event: str, level: str) -> str:
    try:
        machine = _machine()
    except Exception:  # noqa: BLE001 - whatever keeps the name from being known keeps no line from being written
        machine = ""
    return fastjson.dumps(
        {
            "at": iso(),
            "level": level,
            "process": _process,
            "event": event,
            "machine": machine or os.uname().nodename,
            "pid": os.getpid(),
            "text": text,
        }
    )
