"""Foreign text in markdown: each puts it where it cannot be taken for what stands around it."""

from __future__ import annotations

from hookrouter.util.text import printable

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["code", "code_block", "quoted"]


def quoted(text: str) -> str:
    """Return text as a block quote, every line of it behind ``> ``."""
    lines = printable(text, keep_newlines=True).split("\n")
    return "\n".join(f"> {line}".rstrip() if not line.strip() else f"> {line}" for line in lines)


def code(text: str) -> str:
    """Return text as inline code, with a fence that it cannot leave."""
    shown = printable(text)
    fence = "`" * (_longest_run(shown) + 1)
    # Two fences without a text between them would begin another span.
    pad = " " if not shown or shown.startswith("`") or shown.endswith("`") else ""
    return f"{fence}{pad}{shown}{pad}{fence}"


def code_block(lines: Sequence[str], language: str = "sh") -> str:
    """Return lines as a block of code, with a fence that they cannot leave."""
    fence = "`" * max(3, _longest_run("\n".join(lines)) + 1)
    return "\n".join([f"{fence}{language}", *lines, fence])


def _longest_run(text: str) -> int:
    """Return the length of the longest run of backticks."""
    longest = run = 0
    for character in text:
        run = run + 1 if character == "`" else 0
        longest = max(longest, run)
    return longest
