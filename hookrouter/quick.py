"""Runs the commands that plugins offer in a quick form, before typer is imported."""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING

from hookrouter.commands import BUILT_IN, contributed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hookrouter.application import Application

__all__ = ["run_quick"]


def run_quick(name: str, words: Sequence[str]) -> int | None:
    """Run the command ``name`` with these words, and return its exit code.

    None, and nothing done, where it is not a plugin's, has no quick form, or leaves the words to its full form:
    whatever is wrong, with the words or with an environment that cannot be read, is told by the command line.
    """
    if any(command.name == name for command in BUILT_IN):
        return None
    from hookrouter.application import Application

    try:
        app = Application.from_environ()
        entry = contributed(app.plugins.cli_commands())[0].get(name)
        if entry is None or not entry.quick:
            return None
        module, _, attribute = entry.quick.partition(":")
        function: Callable[[Application, Sequence[str]], int | None] = getattr(
            importlib.import_module(module), attribute
        )
    except Exception:  # noqa: BLE001 - the command line meets the same fault, and says it
        return None
    try:
        return function(app, words)
    except KeyboardInterrupt:
        sys.stderr.write("hookrouter: aborted\n")
        return 1
