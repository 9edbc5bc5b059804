"""The router's sockets, by their names in :attr:`hookrouter.storage.home.Home.router`.

That folder is this user's alone (0700), as are the sockets (0600).
"""

from hookrouter.storage.home import GATE

__all__ = ["BACKLOG", "CALLS", "CONTROL", "HTTP"]

CALLS = "calls"
"""The socket of the fronts."""

CONTROL = "control"
"""The socket for ``hookrouter serve --status`` and its kin."""

HTTP = GATE
"""The socket of the HTTP gate."""

BACKLOG = 512
"""How many connections may wait at each."""
