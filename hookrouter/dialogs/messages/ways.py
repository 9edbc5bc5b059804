"""How a dialog that is no question is decided on, as its document keeps it and an agent's message shows it.

A kind says it in its own words; what it has from Claude or the client stands apart, so that only this module brings it
into a message.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookrouter.util.markdown import code, quoted

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["way", "way_parts"]

_LONGEST = 2000
"""Characters of another's words that are shown in one line."""


def way(decision: str, about: str, theirs: str = "") -> dict[str, str]:
    """Return one way to decide: the decision as JSON with gaps, what it means, and behind it the words of another."""
    return {
        "decision": decision,
        "about": about,
        "theirs": theirs if len(theirs) <= _LONGEST else f"{theirs[:_LONGEST]} …",
    }


def way_parts(ways: Sequence[object]) -> list[str]:
    """Return the paragraphs about the ways to decide of a document.

    One that an older version has saved is a text in which anybody's words may stand: it is quoted.
    """
    lines, former = [], []
    for one in ways:
        if isinstance(one, dict):
            decision, about, theirs = (str(one.get(key) or "") for key in ("decision", "about", "theirs"))
            shown = f"{code(decision)}: {about}" if decision else about
            lines.append(f"- {shown} {code(theirs)}" if theirs else f"- {shown}")
        else:
            former.append(str(one))
    return [*(["\n".join(lines)] if lines else []), *([quoted("\n".join(former))] if former else [])]
