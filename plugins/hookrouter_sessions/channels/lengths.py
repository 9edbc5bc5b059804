"""How long a text may be that a hook gives to Claude: the client cuts a longer one."""

from __future__ import annotations

__all__ = ["too_long"]


def too_long(text: str, longest: int) -> str:
    """Return why the client would cut a text; empty if it does not. ``longest`` is in UTF-16's units, as it counts."""
    # A tag's beginning may be escaped, as "&lt;".
    length = len(text.encode("utf-16-le", "surrogatepass")) // 2 + 3 * text.count("<")
    if length <= longest:
        return ""
    return f"the client cuts a text as long as this: it has {length} characters, and {longest} arrive whole"
