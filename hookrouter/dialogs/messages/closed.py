"""What stands in the place of a message about a question once that is over: who answered what, and was it recorded.

For gateways that edit what they have delivered (:class:`hookrouter.messaging.gateway.Gateway.close`), such as a chat
in which a person would else still see a question that somebody has answered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hookrouter.dialogs.messages.formatting import cut
from hookrouter.util.markdown import code, quoted

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hookrouter.dialogs.verdicts import Verdict

__all__ = ["ClosedWords", "closed_words"]

_NAME = 80
"""How many bytes of a name are shown."""


class ClosedWords(NamedTuple):
    """How a message reads that closes an earlier one."""

    subject: str
    """One line."""
    text: str
    """The whole, markdown, with what is recorded in block quotes."""


def closed_words(verdict: Verdict, recorded: Iterable[tuple[str, str]]) -> ClosedWords:
    """Return what to say of a question that has ended so; ``recorded`` has each question with its recorded answer."""
    said = _said(verdict)
    parts = [f"# {said}"]
    for question, answer in recorded:
        parts += [quoted(question), "Recorded:", quoted(answer)]
    if verdict.outcome == "verified":
        parts.append("Claude Code recorded exactly what was meant.")
    elif verdict.reason:
        parts += ["Why:", quoted(verdict.reason)]
    parts.append("There is nothing left to answer.")
    return ClosedWords(f"{said}: session {code(cut(verdict.session, _NAME))}", "\n\n".join(parts) + "\n")


def _said(verdict: Verdict) -> str:
    if verdict.outcome == "chat":
        return "Talked about instead of answered"
    if verdict.outcome == "unanswered":
        return "Ended without an answer"
    if verdict.outcome == "answered_by_person":
        return "Answered at the terminal"
    if verdict.by == "person":
        by = code(cut(verdict.who, _NAME)) if verdict.who else "a person"
    else:
        by = f"the agent {code(cut(verdict.agent, _NAME))}" if verdict.agent else "the agent"
    ending = {"mismatch": ", and recorded differently than meant", "unverified": ", and not compared"}
    return f"Answered by {by}{ending.get(verdict.outcome, '')}"
