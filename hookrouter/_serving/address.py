"""The names of the router's sockets, in :attr:`hookrouter.storage.home.Home.router`.

That folder is this user's alone (0700), as are the sockets (0600).
"""

__all__ = ["CALLS", "CONTROL", "HTTP"]

CALLS = "calls"
"""The socket of the fronts."""

CONTROL = "control"
"""The socket for ``hookrouter serve --status`` and its kin."""

HTTP = "http"
"""The socket of the HTTP gate."""
