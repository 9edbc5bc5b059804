"""Which terminal pane a process runs in, asked of the terminal backends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter.terminals import TerminalError, terminal_backends

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookrouter.context import Services
    from hookrouter.terminals import TerminalAddress

__all__ = ["locate"]


def locate(services: Services, environ: Mapping[str, str] | None = None) -> tuple[TerminalAddress | None, str]:
    """Return the pane, from the first backend that knows one, and what kept it from being known.

    ``environ`` is the environment of the process that runs there, by default the one of ``services``.

    Asked are the configured backend, then the others by name. The second item is empty if a backend knows the pane, or
    if each of them says that this is outside its terminals. A backend that could not be asked is no such answer.
    """
    backends = terminal_backends(services.plugins)
    chosen = services.config.answer.terminal
    failures = []
    variables = services.environ if environ is None else environ
    for name in sorted(backends, key=lambda name: name != chosen):
        try:
            address = backends[name].locate(variables)
        except TerminalError as error:
            failures.append(f"terminal {name}: {error}")
            continue
        if address is not None:
            for failure in failures:
                services.warn(failure)
            return address, ""
    return None, "; ".join(failures)
