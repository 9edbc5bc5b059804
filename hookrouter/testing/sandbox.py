"""A home, a terminal, a client and a scripted model of their own, apart from the user's: what tests and demos play in.

The fixture ``claude`` is made of it; a program that is no test puts the parts together itself, in a
:class:`~hookrouter.testing.sandbox.Stage`.
"""

from __future__ import annotations

from hookrouter._sandbox.client import ClientError, ClientSession, check_client
from hookrouter._sandbox.panes import BackendTerminal, Terminal, TerminalUnavailableError
from hookrouter._sandbox.processes import ending_on_signals, remove_folder
from hookrouter._sandbox.scripted_model import ScriptedModel, ToolUse, ask
from hookrouter._sandbox.stage import Stage
from hookrouter._sandbox.tmux_server import PrivateTmux, TmuxError, find_tmux
from hookrouter._sandbox.waiting import WaitTimeoutError, wait_until

__all__ = [
    "BackendTerminal",
    "ClientError",
    "ClientSession",
    "PrivateTmux",
    "ScriptedModel",
    "Stage",
    "Terminal",
    "TerminalUnavailableError",
    "TmuxError",
    "ToolUse",
    "WaitTimeoutError",
    "ask",
    "check_client",
    "ending_on_signals",
    "find_tmux",
    "remove_folder",
    "wait_until",
]
