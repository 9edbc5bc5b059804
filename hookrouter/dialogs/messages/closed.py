"""What stands in the place of a message about a question once that is over: who answered what, and was it recorded.

For gateways that edit what they have delivered (:class:`hookrouter.messaging.gateway.ClosingGateway`), such as a chat
in which a person would else still see a question that somebody has answered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hookrouter.dialogs.messages.formatting import quoted
from hookrouter.util.field_docs import with_field_docs
from hookrouter.util.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hookrouter.dialogs.verdicts import Verdict

__all__ = ["ClosedWords", "closed_words"]

SUBJECT = 200
"""Characters of the subject at most."""


@with_field_docs
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
        reason = printable(verdict.reason)
        parts.append(f"{reason[:1].upper()}{reason[1:]}.")
    parts.append("There is nothing to answer any more.")
    subject = printable(f"{said}: session {verdict.session}")[:SUBJECT]
    return ClosedWords(subject, "\n\n".join(parts) + "\n")


def _said(verdict: Verdict) -> str:
    if verdict.outcome == "chat":
        return "Talked about instead of answered"
    if verdict.outcome == "unanswered":
        return "Ended without an answer"
    if verdict.outcome == "answered_by_person":
        return "Answered at the terminal"
    by = f"{verdict.who or 'a person'}" if verdict.by == "person" else f"the agent {verdict.agent}".rstrip()
    ending = {"mismatch": ", and recorded otherwise than meant", "unverified": ", and not compared"}
    return printable(f"Answered by {by}{ending.get(verdict.outcome, '')}")
