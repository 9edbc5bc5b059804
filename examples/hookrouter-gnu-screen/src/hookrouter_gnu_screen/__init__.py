"""A hookrouter plugin for GNU screen: contributes the terminal backend named ``screen``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter import hookimpl

if TYPE_CHECKING:
    from hookrouter.terminals import TerminalBackend

__all__ = ["terminal_backend"]


@hookimpl
def terminal_backend() -> TerminalBackend:
    """Contribute the backend. Hook processes call this too, so the backend imports what it needs when it needs it."""
    from hookrouter_gnu_screen.backend import ScreenBackend

    return ScreenBackend()
