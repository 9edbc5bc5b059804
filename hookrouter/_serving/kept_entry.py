"""``hookrouter serve --kept``: the beginning of a resident process. Imports nothing but what the process runs."""

from __future__ import annotations

import os
import socket
from importlib import import_module
from typing import TYPE_CHECKING

from hookrouter.serving.log import say
from hookrouter.serving.resident import NOT_THERE
from hookrouter.util.errors import HookrouterError
from hookrouter.util.process_log import begin, take_over_logging

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]


def main(argv: Sequence[str]) -> int:
    """Run a resident process: ``argv`` is as ``hookrouter._serving.kept_process.WORD`` says. Return its exit code."""
    name, target, router, *numbers = argv
    begin(name)
    take_over_logging()
    module, _, function = target.partition(":")
    try:
        run = getattr(import_module(module), function)
        code: int = run(int(router), [_listener(number) for number in numbers])
    except (HookrouterError, OSError) as error:
        say(f"{name}: {error}", event=name, level="error")
        return 1
    return code


def _listener(number: str) -> socket.socket | None:
    if number == NOT_THERE:
        return None
    os.set_inheritable(int(number), False)
    return socket.socket(fileno=int(number))
