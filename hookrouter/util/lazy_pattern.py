"""Regular expressions that are compiled when they are first used.

A hook is a process of its own: what it compiles it compiles at every call, and of a module's patterns it needs few.
"""

from __future__ import annotations

TYPE_CHECKING = False

if TYPE_CHECKING:
    import re

    LazyPattern = re.compile
else:

    class LazyPattern:
        """What :func:`re.compile` returns, for the same arguments, compiled at its first use."""

        def __init__(self, pattern, flags=0):
            """Keep it."""
            self._source = (pattern, flags)

        def __getattr__(self, name):
            """Compile it: the methods become attributes, so this is called once."""
            import re

            compiled = re.compile(*self._source)
            for method in ("match", "fullmatch", "search", "sub", "findall", "finditer", "split"):
                setattr(self, method, getattr(compiled, method))
            return getattr(compiled, name)


IGNORECASE, MULTILINE, DOTALL, VERBOSE, ASCII = 2, 8, 16, 64, 256
"""The flags of :mod:`re`, which takes 5 ms to import."""

__all__ = ["ASCII", "DOTALL", "IGNORECASE", "MULTILINE", "VERBOSE", "LazyPattern"]
