"""How a command says that it cannot do its work. Imports nothing, because every command is started through this."""

from hookrouter.util.errors import HookrouterError

__all__ = ["CommandError"]


class CommandError(HookrouterError):
    """A command line or a file cannot be used. The message says why, for a person."""
