"""What several replies to one event say together: of several plugins, or of several scripts of one."""

from __future__ import annotations

from hookrouter.replies import MAX_CLASSIFIER_CONTEXT, MAX_TERMINAL_SEQUENCE, WAKE, expected_reply, utf16_units

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hookrouter.replies import Reply

__all__ = ["gravest", "joined", "joined_output", "joined_sequence", "joined_text"]


def joined(event_name: str, replies: Sequence[Reply]) -> Reply | None:
    """Return what several replies to an event say together, as one reply; None for none.

    As the replies of several plugins are merged: the gravest verdict wins, with the reasons of all who gave it, one in
    each line, and context and messages of all are kept.
    """
    if len(replies) < 2:
        return replies[0] if replies else None
    verdict = gravest(replies)
    return expected_reply(event_name)._make(
        verdict,
        joined_text("\n", (one.reason for one in replies if one.verdict == verdict is not None)) or None,
        joined_output(replies, verdict),
        system_message=joined_text("\n", (one.system_message for one in replies)) or None,
        stop_reason=joined_text("\n", (one.stop_reason for one in replies)) or None,
        terminal_sequence=joined_sequence(replies) or None,
        is_exact=any(one.is_exact for one in replies),
    )


_GRAVEST_FIRST = ("cancel", "deny", "block", "decline", "defer", "ask", "accept", "allow", WAKE)


def gravest(replies: Sequence[Reply]) -> str | None:
    """Return the verdict that counts of those of several replies; None if none has one."""
    return next((one for one in _GRAVEST_FIRST if any(reply.verdict == one for reply in replies)), None)


_SEPARATORS = {"additionalContext": "\n\n", "initialUserMessage": "\n\n", "text": "\n\n", "classifierContext": "\n"}

_LISTS = ("watchPaths", "updatedPermissions")

_WITH_VERDICT = ("updatedPermissions", "interrupt", "content", "suppressOriginalPrompt")
"""Fields that belong to the verdict of their own reply, and go if that loses."""


def joined_output(replies: Iterable[Reply], verdict: str | None) -> dict[str, object]:
    """Return the fields of the event's own output that survive the verdict, without the verdict itself."""
    merged: dict[str, object] = {}
    for reply in replies:
        for name, value in reply.output.items():
            if _dropped(name, reply, verdict):
                continue
            former = merged.get(name)
            if name in _LISTS and isinstance(former, list) and isinstance(value, list):
                merged[name] = [*former, *(item for item in value if item not in former)]
            elif isinstance(former, str) and isinstance(value, str) and name in _SEPARATORS:
                merged[name] = former + _SEPARATORS[name] + value
            else:
                merged[name] = value
    context = merged.get("classifierContext")
    if isinstance(context, str):
        while (excess := utf16_units(context) - MAX_CLASSIFIER_CONTEXT) > 0:
            # A character is one or two units.
            context = context[: -((excess + 1) // 2)]
        merged["classifierContext"] = context
    return merged


def _dropped(name: str, reply: Reply, verdict: str | None) -> bool:
    if name == "updatedInput":
        return verdict in ("deny", "defer")
    return name in _WITH_VERDICT and reply.verdict != verdict


def joined_text(separator: str, texts: Iterable[str | None]) -> str:
    """Return the texts that there are as one."""
    return separator.join(text for text in texts if text)


def joined_sequence(replies: Iterable[Reply]) -> str:
    """Return the terminal sequences one after the other, as many as Claude Code passes on."""
    joined = ""
    for reply in replies:
        longer = joined + (reply.terminal_sequence or "")
        if len(longer.encode("utf-8", "surrogatepass")) <= MAX_TERMINAL_SEQUENCE:
            joined = longer
    return joined
