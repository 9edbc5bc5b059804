"""The router's sockets, by their names in :attr:`hookrouter.storage.home.Home.router`.

That folder is this user's alone (0700), as are the sockets (0600).
"""

from hookrouter.storage.home import CONTROL, GATE

__all__ = ["BACKLOG", "CALLS", "CONTROL", "HTTP", "LOCK", "RESERVED"]

CALLS = "calls"
"""The socket of the fronts."""

HTTP = GATE
"""The socket of the HTTP gate."""

LOCK = "lock"
"""The file whose lock a router holds."""

RESERVED = (CALLS, CONTROL, HTTP, LOCK)
"""What no plugin's process may be called, because its sockets would be."""

BACKLOG = 512
"""How many connections may wait at each."""
