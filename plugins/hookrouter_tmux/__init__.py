"""The tmux terminal backend: reads a pane and presses keys in it, addressed by its pane id and its server's socket."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter.markers import hookimpl, stateless

if TYPE_CHECKING:
    from hookrouter.terminals import TerminalBackend

__all__ = ["terminal_backend"]


@hookimpl
@stateless
def terminal_backend() -> TerminalBackend:
    """Contribute the backend named ``tmux``."""
    from hookrouter_tmux.backend import TmuxBackend

    return TmuxBackend()
