"""How hookrouter is started where something about another machine is read.

A command that a machine prints for its own agents names its program and its home, which are elsewhere, or somebody
else's, on the machine where it is read. So whoever asks another machine says how hookrouter is started here.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from hookrouter.dialogs.messages.formatting import start_words
from hookrouter.util.program import script_argv

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["READER_VARIABLE", "Start", "reader_value", "start_for", "start_of_reader"]

READER_VARIABLE = "HOOKROUTER_READER"
"""Set for a command that another machine asked for: a JSON list of the words that start hookrouter for this machine
where the output is read."""

_LONGEST = 4096

Start = tuple[list[str], "Mapping[str, str]"]
"""The words that start hookrouter, and the variables of which those count that name its home."""


def start_for(machine: str, environ: Mapping[str, str]) -> list[str]:
    """Return the words that start hookrouter here, with the home of ``environ``, for a session of another machine."""
    return [*start_words(script_argv(), environ), f"--machine={machine}"]


def reader_value(words: object) -> str:
    """Return the value of :data:`READER_VARIABLE`; empty for what is no list of words."""
    if not isinstance(words, list) or not words or not all(isinstance(word, str) for word in words):
        return ""
    text = json.dumps(words)
    return text if len(text) <= _LONGEST else ""


def start_of_reader(environ: Mapping[str, str] = os.environ) -> Start | None:
    """Return how hookrouter is started on the machine that has this process run; None if no other one has."""
    try:
        words = json.loads(environ.get(READER_VARIABLE, ""))
    except ValueError:
        return None
    return (words, {}) if reader_value(words) else None
